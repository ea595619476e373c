/* SPDX-License-Identifier: Apache-2.0
 *
 * Two-phase commit. What it promises is played as scenarios; here is what is particular to C.
 */

#include <poll.h>
#include <string.h>

#include "harness.h"

static const char *const both[] = {"bank", "shop"};

typedef struct decision {
  zkr_status status;
  zkr_outcome outcome;
  atomic_int calls;
} decision;

static void note_outcome(zkr_status status, zkr_outcome outcome, const zkr_error *error, void *user_data) {
  decision *told = user_data;
  (void)error;
  told->status = status;
  told->outcome = outcome;
  told->calls++;
}

typedef struct asked {
  zkr_status status;
  zkr_proposal *proposal;
  atomic_int calls;
} asked;

static void note_proposal(zkr_status status, zkr_proposal *proposal, const zkr_error *error,
                          void *user_data) {
  asked *told = user_data;
  (void)error;
  told->status = status;
  told->proposal = proposal;
  told->calls++;
}

static zkr_two_phase_commit *commits_on(zkr_client *client, const char *path) {
  zkr_two_phase_commit *made = NULL;
  zkr_two_phase_commit_new(client, path, ZKR_COMMIT_MODE_COORDINATOR, &made, NULL);
  return made;
}

void two_sites_commit_in_both_forms(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *other = connected(hosts(), "b");
  zkr_two_phase_commit *bank = commits_on(client, path("both")), *shop = commits_on(other, path("both"));
  zkr_commit_transaction *payment = NULL;
  zkr_proposal *proposal = NULL;
  zkr_strings *sites = NULL;
  zkr_outcome outcome = ZKR_OUTCOME_ABORT;
  ending joined = {0}, voted = {0};
  asked told = {0};
  decision decided = {0}, learnt = {0};

  CHECK(strcmp(zkr_two_phase_commit_path(bank), path("both")) == 0);
  CHECK(zkr_two_phase_commit_mode(bank) == ZKR_COMMIT_MODE_COORDINATOR);
  OK(zkr_two_phase_commit_join(bank, "bank", &error));
  CHECK(zkr_two_phase_commit_join_async(shop, "shop", note_done, &joined) == ZKR_OK);
  EVENTUALLY(joined.calls == 1);
  CHECK(joined.status == ZKR_OK);
  CHECK(zkr_two_phase_commit_next_async(shop, -1, note_proposal, &told) == ZKR_OK);
  OK(zkr_two_phase_commit_begin(bank, "p-1", both, 2, "1\0002", 3, 30000, &payment, &error));
  CHECK(strcmp(zkr_commit_transaction_id(payment), "p-1") == 0 && zkr_commit_transaction_size(payment) == 3);
  REFUSED(zkr_commit_transaction_outcome(payment, 0, &outcome, &error), ZKR_TIMEOUT, "");
  CHECK(outcome == ZKR_OUTCOME_NONE);
  CHECK(zkr_commit_transaction_outcome_async(payment, -1, note_outcome, &decided) == ZKR_OK);

  OK(zkr_two_phase_commit_next(bank, 10000, &proposal, &error));
  CHECK(zkr_proposal_size(proposal) == 3 && memcmp(zkr_proposal_payload(proposal), "1\0002", 4) == 0);
  OK(zkr_proposal_sites(proposal, &sites, &error));
  CHECK(zkr_strings_count(sites) == 2 && strcmp(zkr_strings_get(sites, 1), "shop") == 0);
  zkr_strings_free(sites);
  CHECK(!zkr_proposal_has_voted(proposal));
  REFUSED(zkr_proposal_acknowledge(proposal, &error), ZKR_NOT_HELD, "");
  OK(zkr_proposal_vote_commit(proposal, &error));
  EVENTUALLY(told.calls == 1);
  CHECK(told.status == ZKR_OK && strcmp(zkr_proposal_id(told.proposal), "p-1") == 0);
  CHECK(decided.calls == 0);
  CHECK(zkr_proposal_vote_commit_async(told.proposal, note_done, &voted) == ZKR_OK);
  EVENTUALLY(voted.calls == 1 && decided.calls == 1);
  CHECK(voted.status == ZKR_OK && decided.status == ZKR_OK && decided.outcome == ZKR_OUTCOME_COMMIT);
  OK(zkr_proposal_outcome(proposal, 10000, &outcome, &error));
  CHECK(strcmp(zkr_outcome_name(outcome), "commit") == 0);
  CHECK(zkr_proposal_outcome_async(told.proposal, -1, note_outcome, &learnt) == ZKR_OK);
  EVENTUALLY(learnt.calls == 1);
  CHECK(learnt.outcome == ZKR_OUTCOME_COMMIT);
  OK(zkr_proposal_acknowledge(proposal, &error));
  OK(zkr_proposal_acknowledge(told.proposal, &error));
  OK(zkr_two_phase_commit_leave(shop, &error));
  REFUSED(zkr_two_phase_commit_leave(shop, &error), ZKR_NOT_HELD, "");

  zkr_proposal_free(proposal);
  zkr_proposal_free(told.proposal);
  zkr_commit_transaction_free(payment);
  zkr_two_phase_commit_free(bank);
  zkr_two_phase_commit_free(shop);
  zkr_client_free(client);
  zkr_client_free(other);
}

void what_is_open_is_listed_and_shown(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *other = connected(hosts(), "b");
  zkr_two_phase_commit *bank = commits_on(client, path("open")), *shop = commits_on(other, path("open"));
  zkr_commit_transaction *one = NULL, *two = NULL, *recovered = NULL;
  zkr_commit_transactions *transactions = NULL;
  zkr_proposals *proposals = NULL;
  zkr_proposal *first = NULL, *again = NULL;
  zkr_commit_statuses *statuses = NULL;
  zkr_outcome outcome = ZKR_OUTCOME_NONE;

  OK(zkr_two_phase_commit_join(shop, "shop", &error));
  OK(zkr_two_phase_commit_begin(bank, "one", both, 2, NULL, 0, 60000, &one, &error));
  OK(zkr_two_phase_commit_begin(bank, "two", both + 1, 1, "x", 1, 60000, &two, &error));
  OK(zkr_two_phase_commit_pending(shop, &proposals, &error));
  CHECK(zkr_proposals_count(proposals) == 2);
  CHECK((first = zkr_proposals_take(proposals, 0)) && (again = zkr_proposals_take(proposals, 0)));
  CHECK(!zkr_proposals_take(proposals, 2));
  zkr_proposals_free(proposals); /* what was taken stays */
  CHECK(!zkr_proposals_take(proposals, 0) && zkr_proposals_count(proposals) == 0);
  CHECK(strcmp(zkr_proposal_id(first), "one") == 0);
  zkr_proposal_free(first);
  CHECK(!zkr_proposal_id(first));
  OK(zkr_proposal_vote_commit(again, &error));

  OK(zkr_two_phase_commit_history(shop, &statuses, &error));
  CHECK(zkr_commit_statuses_count(statuses) == 2 && !zkr_commit_statuses_get(statuses, 2));
  const zkr_commit_status *status = zkr_commit_statuses_get(statuses, 0);
  CHECK(strcmp(status->id, "one") == 0 && status->size == 0 && status->payload && *status->reason == '\0');
  CHECK(*status->problem == '\0');
  CHECK(status->mode == ZKR_COMMIT_MODE_COORDINATOR && status->outcome == ZKR_OUTCOME_NONE);
  CHECK(strcmp(zkr_coordinator_state_name(status->coordinator), "present") == 0);
  CHECK(status->timeout_ms == 60000 && status->age_ms < 60000 && status->site_count == 2);
  CHECK(strcmp(status->sites[1].site, "shop") == 0 && status->sites[1].is_present);
  CHECK(status->sites[1].has_voted && !status->sites[1].has_acknowledged);
  CHECK(!status->sites[0].is_present && !status->sites[0].has_voted);
  zkr_commit_statuses_free(statuses);

  OK(zkr_two_phase_commit_decide_abort(shop, "one", "by hand", &outcome, &error));
  CHECK(outcome == ZKR_OUTCOME_ABORT);
  CHECK(zkr_proposal_reason(again) && *zkr_proposal_reason(again) == '\0' && !zkr_proposal_reason(NULL));
  OK(zkr_proposal_outcome(again, -1, &outcome, &error));
  const char *reason = zkr_proposal_reason(again);
  CHECK(strcmp(reason, "by hand") == 0 && zkr_proposal_reason(again) == reason);
  REFUSED(zkr_two_phase_commit_decide_abort(shop, "none", "", &outcome, &error), ZKR_NO_NODE, "");
  OK(zkr_two_phase_commit_show(shop, "one", &statuses, &error));
  CHECK(zkr_commit_statuses_count(statuses) == 1);
  CHECK(strcmp(zkr_commit_statuses_get(statuses, 0)->reason, "by hand") == 0);
  zkr_commit_statuses_free(statuses);
  OK(zkr_two_phase_commit_show(shop, "none", &statuses, &error));
  CHECK(zkr_commit_statuses_count(statuses) == 0);
  zkr_commit_statuses_free(statuses);

  OK(zkr_two_phase_commit_recover(shop, &transactions, &error));
  CHECK(zkr_commit_transactions_count(transactions) == 0); /* as their coordinator is there */
  zkr_commit_transactions_free(transactions);
  zkr_client_close(client, 5000, NULL);
  OK(zkr_two_phase_commit_recover(shop, &transactions, &error));
  CHECK((recovered =
             zkr_commit_transactions_take(transactions, zkr_commit_transactions_count(transactions) - 1)));
  zkr_commit_transactions_free(transactions);
  CHECK(strcmp(zkr_commit_transaction_id(recovered), "two") == 0);
  REFUSED(zkr_commit_transaction_outcome(two, 0, &outcome, &error), ZKR_CLOSED, "");

  zkr_proposal_free(again);
  zkr_commit_transaction_free(one);
  zkr_commit_transaction_free(two);
  zkr_commit_transaction_free(recovered);
  zkr_two_phase_commit_free(bank);
  zkr_two_phase_commit_free(shop);
  zkr_client_free(client);
  zkr_client_free(other);
}

void bad_commits_are_refused_and_waits_withdrawn(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_two_phase_commit *commits = NULL, *bad = NULL;
  zkr_commit_transaction *transaction = NULL;
  zkr_proposal *proposal = NULL;
  zkr_cancel_token *token = zkr_cancel_token_new();
  const char *const twice[] = {"shop", "shop"}, *const none[] = {NULL};
  asked told = {0};

  REFUSED(zkr_two_phase_commit_new(client, path("bad"), (zkr_commit_mode)7, &bad, &error), ZKR_INVALID,
          "mode");
  REFUSED(zkr_two_phase_commit_new(client, "x", ZKR_COMMIT_MODE_PEER, &bad, &error), ZKR_INVALID, "path");
  OK(zkr_two_phase_commit_new(client, path("bad"), ZKR_COMMIT_MODE_PEER, &commits, &error));
  CHECK(strcmp(zkr_commit_mode_name(zkr_two_phase_commit_mode(commits)), "peer") == 0);
  REFUSED(zkr_two_phase_commit_begin(commits, "t", twice, 2, "", 0, 1000, &transaction, &error), ZKR_INVALID,
          "sites");
  REFUSED(zkr_two_phase_commit_begin(commits, "t", none, 1, "", 0, 1000, &transaction, &error), ZKR_INVALID,
          "sites");
  REFUSED(zkr_two_phase_commit_begin(commits, "t", NULL, 1, "", 0, 1000, &transaction, &error), ZKR_INVALID,
          "sites");
  REFUSED(zkr_two_phase_commit_begin(commits, "t", both, 2, "", 0, -1, &transaction, &error), ZKR_INVALID,
          "timeout_ms");
  REFUSED(zkr_two_phase_commit_next(commits, 0, &proposal, &error), ZKR_NOT_HELD, "");
  OK(zkr_two_phase_commit_join(commits, "shop", &error));
  REFUSED(zkr_two_phase_commit_join(commits, "bank", &error), ZKR_EXISTS, "");
  REFUSED(zkr_two_phase_commit_next(commits, 20, &proposal, &error), ZKR_TIMEOUT, "");
  CHECK(zkr_two_phase_commit_next_cancellable_async(commits, -1, token, note_proposal, &told) == ZKR_OK);
  zkr_cancel_token_cancel(token);
  EVENTUALLY(told.calls == 1);
  CHECK(told.status == ZKR_CANCELLED && !told.proposal);

  /* What nobody has been given is told again. */
  OK(zkr_two_phase_commit_begin(commits, "t", both + 1, 1, "", 0, 60000, &transaction, &error));
  REFUSED(zkr_two_phase_commit_next(commits, 0, NULL, &error), ZKR_INVALID, "proposal");
  OK(zkr_two_phase_commit_next(commits, 10000, &proposal, &error));
  OK(zkr_proposal_vote_abort(proposal, NULL, &error));
  REFUSED(zkr_proposal_vote_commit(proposal, &error), ZKR_EXISTS, "");
  REFUSED(zkr_proposal_vote_commit(NULL, &error), ZKR_INVALID, "proposal");
  REFUSED(zkr_commit_transaction_outcome(NULL, 0, NULL, &error), ZKR_INVALID, "decided");
  CHECK(!zkr_proposal_payload(NULL) && zkr_proposal_size(NULL) == 0);

  zkr_two_phase_commit_free(commits);
  REFUSED(zkr_two_phase_commit_leave(commits, &error), ZKR_INVALID, "two_phase_commit");
  OK(zkr_proposal_acknowledge(proposal, &error)); /* on its own */
  zkr_proposal_free(proposal);
  zkr_commit_transaction_free(transaction);
  zkr_cancel_token_free(token);
  zkr_client_free(client);
}

void a_proposal_that_was_not_dispatched_is_told_again(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_two_phase_commit *commits = commits_on(client, path("undispatched-commits"));
  zkr_commit_transaction *transaction = NULL;
  zkr_proposal *proposal = NULL;
  zkr_cancel_token *token = zkr_cancel_token_new();
  struct pollfd dispatches = {.fd = zkr_client_event_fd(client), .events = POLLIN};
  asked told = {0};

  OK(zkr_two_phase_commit_join(commits, "shop", &error));
  OK(zkr_two_phase_commit_begin(commits, "t", both + 1, 1, "", 0, 60000, &transaction, &error));
  CHECK(zkr_two_phase_commit_next_cancellable_async(commits, -1, token, note_proposal, &told) == ZKR_OK);
  CHECK(poll(&dispatches, 1, 10000) == 1);
  CHECK(zkr_cancel_token_cancel(token) == ZKR_OK);
  CHECK(zkr_client_dispatch(client, 0, 0) == 1);
  CHECK(told.calls == 1 && told.status == ZKR_CANCELLED && !told.proposal);
  OK(zkr_two_phase_commit_next(commits, 10000, &proposal, &error));
  OK(zkr_proposal_vote_abort(proposal, NULL, &error));

  zkr_proposal_free(proposal);
  zkr_commit_transaction_free(transaction);
  zkr_two_phase_commit_free(commits);
  zkr_cancel_token_free(token);
  zkr_client_free(client);
}
