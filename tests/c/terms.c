/* SPDX-License-Identifier: Apache-2.0
 *
 * Leading: one term, and term after term.
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

/* The term that was told last, and why there will be no other; `calls` and `ends` are counted last. */
typedef struct terms {
  zkr_election *election;
  zkr_leadership *leadership;
  bool keeps; /* the last leadership, also when it has ended */
  zkr_status status;
  atomic_int calls;
  atomic_int ends;
} terms;

static void note_term(zkr_status status, zkr_leadership *leadership, const zkr_error *error,
                      void *user_data) {
  terms *seen = user_data;
  if (leadership || !seen->keeps) seen->leadership = leadership;
  seen->status = error ? zkr_error_code(error) : status;
  atomic_fetch_add(status == ZKR_OK ? &seen->calls : &seen->ends, 1);
}

/* One that cannot serve, and gives up the third time. */
static void refuse_term(zkr_status status, zkr_leadership *leadership, const zkr_error *error,
                        void *user_data) {
  terms *seen = user_data;
  seen->status = error ? zkr_error_code(error) : status;
  zkr_leadership_free(leadership);
  if (status != ZKR_OK)
    atomic_fetch_add(&seen->ends, 1);
  else if (atomic_fetch_add(&seen->calls, 1) == 2)
    zkr_election_cancel(seen->election, NULL);
}

/* Partitions that were told, and how it ended; a partition that is asked for goes at once. */
typedef struct shares {
  zkr_held *won[8];
  zkr_status status;
  atomic_int calls;
  atomic_int ends;
} shares;

static void free_share(void *user_data) { zkr_held_free(user_data); }

static void note_share(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data) {
  shares *seen = user_data;
  seen->status = error ? zkr_error_code(error) : status;
  if (status != ZKR_OK) {
    atomic_fetch_add(&seen->ends, 1);
    return;
  }
  seen->won[atomic_load(&seen->calls)] = held;
  zkr_held_on_revoke(held, free_share, held, NULL, NULL);
  atomic_fetch_add(&seen->calls, 1);
}

static zkr_partitioner *partitioner_on(zkr_client *client, const char *path, const char *name) {
  zkr_error *error = NULL;
  zkr_partitioner *partitioner = NULL;
  zkr_partitioner_options options = ZKR_PARTITIONER_OPTIONS_INIT;
  options.name = name;
  if (zkr_partitioner_new(client, path, NULL, 2, &options, &partitioner, &error) != ZKR_OK) {
    printf("no partitioner: %s\n", zkr_error_message(error));
    exit(2);
  }
  return partitioner;
}

void a_run_hands_out_partitions_until_it_leaves(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  zkr_client *client = connected(zkr_test_server_connect_string(server), "a");
  zkr_client *other = connected(zkr_test_server_connect_string(server), "b");
  zkr_partitioner *one = partitioner_on(client, "/shares", "one");
  zkr_partitioner *two = partitioner_on(other, "/shares", "two");
  zkr_subscription *subscription = NULL;
  shares ones = {0}, twos = {0}, again = {0};

  REFUSED(zkr_partitioner_run(one, NULL, NULL, NULL, &error), ZKR_INVALID, "callback");
  OK(zkr_partitioner_run(one, note_share, &ones, NULL, &error));
  EVENTUALLY(ones.calls == 2);
  CHECK(zkr_held_is_held(ones.won[0]) && zkr_held_is_held(ones.won[1]));

  /* One of them moves, and comes back when the other one's subscription has gone. */
  OK(zkr_partitioner_run(two, note_share, &twos, &subscription, &error));
  EVENTUALLY(twos.calls == 1);
  CHECK(zkr_held_is_held(twos.won[0]));
  zkr_subscription_free(subscription);
  EVENTUALLY(ones.calls == 3);
  CHECK(twos.ends == 0 && zkr_held_is_held(ones.won[2]));

  OK(zkr_partitioner_leave(one, &error));
  EVENTUALLY(ones.ends == 1);
  CHECK(ones.status == ZKR_CANCELLED);
  OK(zkr_partitioner_run(one, note_share, &again, NULL, &error));
  EVENTUALLY(again.ends == 1);
  CHECK(again.status == ZKR_CANCELLED && again.calls == 0);
  EVENTUALLY(children_of(other, "/shares/members") == 0);

  zkr_partitioner_free(one);
  zkr_partitioner_free(two);
  zkr_client_free(client);
  zkr_client_free(other);
  zkr_test_server_free(server);
}

static zkr_election *election_on(zkr_client *client, const char *path) {
  zkr_error *error = NULL;
  zkr_election *election = NULL;
  if (zkr_election_new(client, path, NULL, 0, NULL, &election, &error) != ZKR_OK) {
    printf("no election: %s\n", zkr_error_message(error));
    exit(2);
  }
  return election;
}

void a_candidate_leads_term_after_term(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  zkr_client *client = connected(zkr_test_server_connect_string(server), "a");
  zkr_client *other = connected(zkr_test_server_connect_string(server), "b");
  zkr_election *election = election_on(client, "/terms");
  zkr_subscription *subscription = NULL;
  zkr_leadership *before = NULL;
  terms led = {0}, closed = {0};

  REFUSED(zkr_election_run(election, NULL, NULL, NULL, &error), ZKR_INVALID, "callback");
  OK(zkr_election_run(election, note_term, &led, &subscription, &error));
  EVENTUALLY(led.calls == 1);
  CHECK(zkr_leadership_is_held(led.leadership) && zkr_election_is_leader(election));
  uint64_t first = zkr_leadership_epoch(led.leadership);
  zkr_leadership_free(led.leadership);
  EVENTUALLY(led.calls == 2);
  uint64_t second = zkr_leadership_epoch(led.leadership);
  CHECK(second > first);
  before = led.leadership;
  OK(zkr_leadership_release(before, &error));
  EVENTUALLY(led.calls == 3);
  CHECK(zkr_leadership_epoch(led.leadership) > second);
  zkr_leadership_free(before);
  before = led.leadership;
  OK(zkr_test_server_expire(server, zkr_client_session_id(client), &error));
  EVENTUALLY(led.calls == 4);
  CHECK(!zkr_leadership_is_held(before) && zkr_leadership_is_held(led.leadership));
  zkr_leadership_free(before);

  before = led.leadership;
  OK(zkr_election_cancel(election, &error));
  EVENTUALLY(led.ends == 1);
  CHECK(led.status == ZKR_CANCELLED && led.leadership == NULL && led.calls == 4);
  CHECK(!zkr_leadership_is_held(before) && !zkr_election_is_leader(election));
  EVENTUALLY(children_of(other, "/terms") == 0);
  zkr_leadership_free(before);
  zkr_subscription_free(subscription);

  OK(zkr_election_run(election, note_term, &closed, NULL, &error));
  EVENTUALLY(closed.calls == 1);
  before = closed.leadership;
  OK(zkr_client_close(client, 10000, &error));
  EVENTUALLY(closed.ends == 1);
  CHECK(closed.status == ZKR_CLOSED && !zkr_leadership_is_held(before));
  EVENTUALLY(children_of(other, "/terms") == 0);
  zkr_leadership_free(before);
  zkr_election_free(election);
  zkr_client_free(client);
  zkr_client_free(other);
  zkr_test_server_free(server);
}

void a_leader_hears_that_it_is_asked_for(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *other = connected(hosts(), "b");
  zkr_election *election = election_on(client, path("asked")), *asker = election_on(other, path("asked"));
  zkr_leadership *leadership = NULL;
  zkr_subscription *subscription = NULL;
  atomic_int by_election = 0, by_term = 0, unheard = 0, late = 0;
  bool asked = true;

  REFUSED(zkr_election_on_revoke(election, note_call, &by_election, &subscription, &error), ZKR_NOT_HELD, "");
  OK(zkr_election_revoke(asker, NULL, -1, &asked, &error));
  CHECK(!asked);
  OK(zkr_election_campaign(election, 10000, &leadership, &error));
  OK(zkr_election_on_revoke(election, note_call, &by_election, NULL, &error));
  OK(zkr_leadership_on_revoke(leadership, note_call, &by_term, NULL, &error));
  OK(zkr_leadership_on_revoke(leadership, note_call, &unheard, &subscription, &error));
  zkr_subscription_free(subscription);
  OK(zkr_election_revoke(asker, NULL, -1, &asked, &error));
  EVENTUALLY(by_election == 1 && by_term == 1);
  CHECK(asked && unheard == 0 && zkr_leadership_is_held(leadership));       /* asking takes nothing away */
  OK(zkr_leadership_on_revoke(leadership, note_call, &late, NULL, &error)); /* at once */
  EVENTUALLY(late == 1);
  OK(zkr_leadership_release(leadership, &error));
  REFUSED(zkr_election_on_revoke(election, note_call, &late, &subscription, &error), ZKR_NOT_HELD, "");
  CHECK(late == 1 && by_election == 1 && by_term == 1);
  zkr_leadership_free(leadership);
  zkr_election_free(election);
  zkr_election_free(asker);
  zkr_client_free(client);
  zkr_client_free(other);
}

void a_candidate_that_cannot_serve_stands_again_after_a_pause(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  terms refused = {.election = election_on(client, path("refused"))};

  int64_t began = now_ms();
  OK(zkr_election_run(refused.election, refuse_term, &refused, NULL, &error));
  EVENTUALLY(refused.ends == 1);
  CHECK(refused.status == ZKR_CANCELLED && refused.calls == 3);
  CHECK(now_ms() - began >= 50 + 100); /* between three terms */
  EVENTUALLY(children_of(client, path("refused")) == 0);
  zkr_election_free(refused.election);
  zkr_client_free(client);
}

static bool is_readable(int fd) {
  struct pollfd waiting = {.fd = fd, .events = POLLIN};
  return poll(&waiting, 1, 10000) == 1;
}

void terms_go_through_the_callers_loop(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *other = connected(hosts(), "b");
  zkr_election *election = election_on(client, path("looped-terms"));
  zkr_subscription *subscription = NULL;
  terms led = {.keeps = true}, dropped = {.keeps = true};

  int fd = zkr_client_event_fd(client);
  OK(zkr_election_run(election, note_term, &led, NULL, &error));
  CHECK(is_readable(fd) && led.calls == 0);
  CHECK(zkr_client_dispatch(client, 0, 0) == 1 && led.calls == 1);
  CHECK(zkr_leadership_is_held(led.leadership));
  zkr_leadership_free(led.leadership);
  while (led.calls < 2) CHECK(zkr_client_dispatch(client, 1, 10000) == 1);
  OK(zkr_election_cancel(election, &error));
  while (led.ends == 0) CHECK(zkr_client_dispatch(client, 1, 10000) == 1);
  CHECK(led.status == ZKR_CANCELLED && led.calls == 2);
  zkr_leadership_free(led.leadership);
  EVENTUALLY(children_of(other, path("looped-terms")) == 0);

  /* A term on its way that is wanted no more is resigned without anybody dispatching it. */
  OK(zkr_election_run(election, note_term, &dropped, &subscription, &error));
  CHECK(is_readable(fd) && zkr_election_is_leader(election));
  zkr_subscription_free(subscription);
  EVENTUALLY(children_of(other, path("looped-terms")) == 0);
  CHECK(zkr_client_dispatch(client, 0, 0) >= 0 && dropped.calls == 0 && dropped.ends == 0);

  /* So is one that was handed over. */
  OK(zkr_election_run(election, note_term, &dropped, &subscription, &error));
  while (dropped.calls == 0) CHECK(zkr_client_dispatch(client, 1, 10000) == 1);
  zkr_subscription_free(subscription);
  EVENTUALLY(children_of(other, path("looped-terms")) == 0);
  CHECK(!zkr_leadership_is_held(dropped.leadership) && dropped.ends == 0);
  zkr_leadership_free(dropped.leadership);

  /* And one that was cancelled on its way. */
  zkr_client_dispatch(client, 0, 0);
  OK(zkr_election_run(election, note_term, &dropped, NULL, &error));
  CHECK(is_readable(fd) && zkr_election_is_leader(election));
  zkr_election_free(election);
  EVENTUALLY(children_of(other, path("looped-terms")) == 0);
  while (dropped.ends == 0) CHECK(zkr_client_dispatch(client, 1, 10000) == 1);
  CHECK(dropped.calls == 2 && dropped.status == ZKR_CANCELLED);
  zkr_leadership_free(dropped.leadership);
  zkr_client_free(client);
  zkr_client_free(other);
}
