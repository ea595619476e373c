/* SPDX-License-Identifier: Apache-2.0
 *
 * The scenario driver for C: two-phase commit.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

static zkr_two_phase_commit *commits(const command *c) { return named(c)->commits; }

/* What is known under a name and an id: ":" for what was begun or recovered, "?" for what was asked. */
static const lock *part(const command *c, const char *of) {
  static const lock nothing;
  char name[MAX_NAME];
  snprintf(name, sizeof name, "%s%s%s", text(c, 1), of, text(c, 2));
  const lock *found = find(c->client, name);
  return found ? found : &nothing;
}

static void keep(const command *c, lock what, const char *of, const char *id) {
  char side[MAX_NAME];
  snprintf(side, sizeof side, "%s%s", of, id);
  add(c->client, what, text(c, 1), side);
}

static void begun(const command *c, zkr_commit_transaction *transaction) {
  keep(c, (lock){.transaction = transaction}, ":", zkr_commit_transaction_id(transaction));
}

static void asked(const command *c, zkr_proposal *proposal) {
  keep(c, (lock){.proposal = proposal}, "?", zkr_proposal_id(proposal));
}

/* A line of several words. */
typedef struct line {
  char text[4096];
  size_t used;
} line;

static void append(line *to, const char *before, const char *text) {
  if (to->used < sizeof to->text)
    to->used += (size_t)snprintf(to->text + to->used, sizeof to->text - to->used, "%s%s", before, text);
}

static void answer_line(const command *c, zkr_status status, const line *found, zkr_error *error) {
  if (status == ZKR_OK)
    say("%s ok%s", c->seq, found->text);
  else
    fail(c, status, error);
}

static void answer_outcome(const command *c, zkr_status status, zkr_outcome outcome, zkr_error *error) {
  line said = {0};
  append(&said, " ", zkr_outcome_name(outcome));
  answer_line(c, status, &said, error);
}

static void do_commits(command *c) {
  zkr_error *error = NULL;
  zkr_two_phase_commit *handle = NULL;
  const char *given = word(c, 3);
  int mode = ZKR_COMMIT_MODE_COORDINATOR;
  if (given) mode = strcmp(given, "peer") == 0 ? ZKR_COMMIT_MODE_PEER : -1;
  if (given && strcmp(given, "coordinator") == 0) mode = ZKR_COMMIT_MODE_COORDINATOR;
  zkr_status status =
      zkr_two_phase_commit_new(c->client->handle, text(c, 2), (zkr_commit_mode)mode, &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.commits = handle}, text(c, 1), "");
  answer(c, status, error);
}

static void do_begin(command *c) {
  zkr_error *error = NULL;
  zkr_commit_transaction *transaction = NULL;
  const char *sites[MAX_WORDS];
  size_t count = 0;
  char given[MAX_NAME], *rest = NULL;
  snprintf(given, sizeof given, "%s", text(c, 3));
  for (char *site = strtok_r(given, ",", &rest); site && count < MAX_WORDS; site = strtok_r(NULL, ",", &rest))
    sites[count++] = site;
  const char *payload = text(c, 4);
  zkr_status status = zkr_two_phase_commit_begin(commits(c), text(c, 2), sites, count, payload,
                                                 strlen(payload), integer(c, 5), &transaction, &error);
  if (status == ZKR_OK) begun(c, transaction);
  answer(c, status, error);
}

static void do_outcome(command *c) {
  zkr_error *error = NULL;
  zkr_outcome outcome = ZKR_OUTCOME_NONE;
  zkr_status status = zkr_commit_transaction_outcome_cancellable(part(c, ":")->transaction, timeout(c, 3),
                                                                 c->token, &outcome, &error);
  answer_outcome(c, status, outcome, error);
}

static void do_recover(command *c) {
  zkr_error *error = NULL;
  zkr_commit_transactions *all = NULL;
  line ids = {0};
  zkr_status status = zkr_two_phase_commit_recover(commits(c), &all, &error);
  for (size_t i = 0; i < zkr_commit_transactions_count(all); i++) {
    zkr_commit_transaction *one = zkr_commit_transactions_take(all, i);
    append(&ids, " ", zkr_commit_transaction_id(one));
    begun(c, one);
  }
  zkr_commit_transactions_free(all);
  answer_line(c, status, &ids, error);
}

static void do_join(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_two_phase_commit_join(commits(c), text(c, 2), &error);
  answer(c, status, error);
}

static void do_leave(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_two_phase_commit_leave(commits(c), &error);
  answer(c, status, error);
}

static void do_next(command *c) {
  zkr_error *error = NULL;
  zkr_proposal *proposal = NULL;
  line said = {0};
  zkr_status status =
      zkr_two_phase_commit_next_cancellable(commits(c), timeout(c, 2), c->token, &proposal, &error);
  if (status == ZKR_OK) {
    append(&said, " ", zkr_proposal_id(proposal));
    append(&said, " ", zkr_proposal_size(proposal) ? zkr_proposal_payload(proposal) : "-");
    asked(c, proposal);
  }
  answer_line(c, status, &said, error);
}

static void do_pending(command *c) {
  zkr_error *error = NULL;
  zkr_proposals *all = NULL;
  line ids = {0};
  zkr_status status = zkr_two_phase_commit_pending(commits(c), &all, &error);
  for (size_t i = 0; i < zkr_proposals_count(all); i++) {
    zkr_proposal *one = zkr_proposals_take(all, i);
    append(&ids, " ", zkr_proposal_id(one));
    if (zkr_proposal_has_voted(one)) append(&ids, "=", "voted");
    asked(c, one);
  }
  zkr_proposals_free(all);
  answer_line(c, status, &ids, error);
}

static void do_vote(command *c) {
  zkr_error *error = NULL;
  zkr_proposal *proposal = part(c, "?")->proposal;
  zkr_status status = strcmp(text(c, 3), "commit") == 0
                          ? zkr_proposal_vote_commit(proposal, &error)
                          : zkr_proposal_vote_abort(proposal, word(c, 4), &error);
  answer(c, status, error);
}

static void do_learn(command *c) {
  zkr_error *error = NULL;
  zkr_outcome outcome = ZKR_OUTCOME_NONE;
  zkr_status status =
      zkr_proposal_outcome_cancellable(part(c, "?")->proposal, timeout(c, 3), c->token, &outcome, &error);
  answer_outcome(c, status, outcome, error);
}

static void do_acknowledge(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_proposal_acknowledge(part(c, "?")->proposal, &error);
  answer(c, status, error);
}

static const char *decided(const zkr_commit_status *status) {
  return status->outcome == ZKR_OUTCOME_NONE ? "open" : zkr_outcome_name(status->outcome);
}

static void do_history(command *c) {
  zkr_error *error = NULL;
  zkr_commit_statuses *all = NULL;
  line said = {0};
  zkr_status status = zkr_two_phase_commit_history(commits(c), &all, &error);
  for (size_t i = 0; i < zkr_commit_statuses_count(all); i++) {
    const zkr_commit_status *one = zkr_commit_statuses_get(all, i);
    append(&said, " ", one->id);
    append(&said, "=", decided(one));
  }
  zkr_commit_statuses_free(all);
  answer_line(c, status, &said, error);
}

static void append_site(line *to, const zkr_site_status *site) {
  const bool is_so[] = {site->is_present, site->has_voted, site->has_acknowledged};
  static const char *const marks[] = {"there", "voted", "done"};
  const char *before = "";
  append(to, " ", site->site);
  append(to, "=", "");
  for (size_t i = 0; i < 3; i++) {
    if (!is_so[i]) continue;
    append(to, before, marks[i]);
    before = ",";
  }
}

static void do_show(command *c) {
  zkr_error *error = NULL;
  zkr_commit_statuses *found = NULL;
  line said = {0};
  zkr_status status = zkr_two_phase_commit_show(commits(c), text(c, 2), &found, &error);
  const zkr_commit_status *one = zkr_commit_statuses_get(found, 0);
  append(&said, " ", one ? decided(one) : "none");
  if (one) append(&said, " ", zkr_coordinator_state_name(one->coordinator));
  for (size_t i = 0; one && i < one->site_count; i++) append_site(&said, &one->sites[i]);
  zkr_commit_statuses_free(found);
  answer_line(c, status, &said, error);
}

static void do_decide(command *c) {
  zkr_error *error = NULL;
  zkr_outcome outcome = ZKR_OUTCOME_NONE;
  zkr_status status = zkr_two_phase_commit_decide_abort(commits(c), text(c, 2), "by hand", &outcome, &error);
  answer_outcome(c, status, outcome, error);
}

const verb commit_verbs[] = {
    {"2pc", do_commits, false},        {"2pc-begin", do_begin, true},     {"2pc-outcome", do_outcome, true},
    {"2pc-recover", do_recover, true}, {"2pc-join", do_join, true},       {"2pc-leave", do_leave, true},
    {"2pc-next", do_next, true},       {"2pc-pending", do_pending, true}, {"2pc-vote", do_vote, true},
    {"2pc-learn", do_learn, true},     {"2pc-ack", do_acknowledge, true}, {"2pc-history", do_history, true},
    {"2pc-show", do_show, true},       {"2pc-decide", do_decide, true},   {NULL, NULL, false},
};
