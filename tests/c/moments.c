/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues, double barriers and two-phase commits at moments that nobody chooses: inside callbacks, while a
 * client closes, when other handles are gone already, and on several threads at once.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { ROUNDS = 40 };

static zkr_queue *queue_at(zkr_client *client, const char *path) {
  zkr_queue *queue = NULL;
  zkr_queue_new(client, path, NULL, &queue, NULL);
  return queue;
}

/* What a client that is closing has taken and nobody got is put back in the background. */
static bool is_left_by_all(zkr_queue *queue, size_t expected) {
  size_t length = expected + 1;
  zkr_item *item = NULL;
  for (int tries = 0; length != expected && tries < 2000; tries++) {
    nap(tries ? 5 : 0);
    if (zkr_queue_len(queue, &length, NULL) != ZKR_OK) return false;
  }
  for (size_t left = length; left > 0; left--) {
    if (zkr_queue_claim(queue, 10000, &item, NULL) != ZKR_OK) return false;
    zkr_item_ack(item, NULL);
    zkr_item_free(item);
  }
  return length == expected;
}

/* What a callback frees, and what it then found. */
typedef struct rubbish {
  zkr_client *client;
  zkr_queue *queue;
  zkr_item *item;
  zkr_status blocking;
  atomic_int calls;
} rubbish;

static void free_item_first(zkr_status status, zkr_item *item, const zkr_error *error, void *user_data) {
  rubbish *all = user_data;
  (void)status, (void)error;
  all->blocking = zkr_item_ack(item, NULL);
  zkr_item_free(item);
  zkr_queue_free(all->queue);
  zkr_client_free(all->client);
  atomic_fetch_add(&all->calls, 1);
}

static void free_item_last(zkr_status status, zkr_item *item, const zkr_error *error, void *user_data) {
  rubbish *all = user_data;
  (void)status, (void)error;
  zkr_client_free(all->client);
  zkr_queue_free(all->queue);
  all->blocking = zkr_item_ack(item, NULL);
  zkr_item_free(item);
  zkr_item_free(item);
  atomic_fetch_add(&all->calls, 1);
}

void a_callback_may_free_its_item_queue_and_client(void) {
  zkr_client *other = connected(hosts(), "b");
  zkr_queue *same = queue_at(other, path("free-in-callback"));
  zkr_item_callback both[] = {free_item_first, free_item_last};

  for (int round = 0; round < 2; round++) {
    rubbish all = {.client = connected(hosts(), "a")};
    all.queue = queue_at(all.client, path("free-in-callback"));
    CHECK(zkr_queue_put(same, "tea", 3, -1, NULL) == ZKR_OK);
    CHECK(zkr_queue_claim_async(all.queue, -1, both[round], &all) == ZKR_OK);
    EVENTUALLY(all.calls == 1);
    CHECK(all.blocking == ZKR_DEADLOCK || all.blocking == ZKR_CLOSED);
    CHECK(is_left_by_all(same, 1));
  }
  zkr_queue_free(same);
  zkr_client_free(other);
}

static void free_what_is_lost(const zkr_error *error, void *user_data) {
  rubbish *all = user_data;
  all->blocking = zkr_error_code(error);
  zkr_item_free(all->item);
  zkr_queue_free(all->queue);
  zkr_client_free(all->client);
  atomic_fetch_add(&all->calls, 1);
}

void the_loss_of_an_item_may_free_it(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  zkr_client *other = connected(zkr_test_server_connect_string(server), "b");
  rubbish all = {.client = connected(zkr_test_server_connect_string(server), "a")};
  zkr_queue *same = queue_at(other, "/lost-items");

  all.queue = queue_at(all.client, "/lost-items");
  OK(zkr_queue_put(all.queue, "tea", 3, -1, &error));
  OK(zkr_queue_claim(all.queue, 10000, &all.item, &error));
  OK(zkr_item_on_lost(all.item, free_what_is_lost, &all, NULL, &error));
  OK(zkr_nodes_delete(other, zkr_item_node(all.item), -1, &error));
  EVENTUALLY(all.calls == 1);
  CHECK(all.blocking == ZKR_LOST && is_left_by_all(same, 1));
  zkr_queue_free(same);
  zkr_client_free(other);
  zkr_test_server_free(server);
}

/* What came of many calls at once. */
typedef struct tally {
  atomic_int items, closed, others;
} tally;

static void count_item(zkr_status status, zkr_item *item, const zkr_error *error, void *user_data) {
  tally *all = user_data;
  (void)error;
  /* Its client may be closed; it is given back all the same. */
  zkr_item_free(item);
  atomic_fetch_add(status == ZKR_OK ? &all->items : status == ZKR_CLOSED ? &all->closed : &all->others, 1);
}

static void count_data(zkr_status status, zkr_buffer *data, const zkr_stat *stat, const zkr_error *error,
                       void *user_data) {
  tally *all = user_data;
  (void)error, (void)stat;
  zkr_buffer_free(data);
  atomic_fetch_add(status == ZKR_OK ? &all->items : status == ZKR_CLOSED ? &all->closed : &all->others, 1);
}

/* However far each of them was: nothing stays claimed, and what nobody got is there. */
void closing_during_claims_and_gets_loses_nothing(void) {
  zkr_error *error = NULL;
  zkr_client *other = connected(hosts(), "b");
  const void *const items[] = {"1", "2", "3", "4"};
  const size_t sizes[] = {1, 1, 1, 1};

  for (int round = 0; round < ROUNDS; round++) {
    char name[40];
    tally claims = {0}, gets = {0};
    snprintf(name, sizeof name, "closing-%d", round);
    zkr_client *client = connected(hosts(), "a");
    zkr_queue *queue = queue_at(client, path(name)), *same = queue_at(other, path(name));
    OK(zkr_queue_put_many(same, items, sizes, 4, -1, &error));
    for (int each = 0; each < 3; each++) {
      CHECK(zkr_queue_claim_async(queue, -1, count_item, &claims) == ZKR_OK);
      CHECK(zkr_queue_get_async(queue, -1, count_data, &gets) == ZKR_OK);
    }
    nap(round / 8);
    if (round % 2) OK(zkr_client_close(client, 10000, &error));
    zkr_client_free(client);
    EVENTUALLY(claims.items + claims.closed == 3 && gets.items + gets.closed == 3);
    CHECK(claims.others == 0 && gets.others == 0 && is_left_by_all(same, 4 - (size_t)gets.items));
    zkr_queue_free(queue);
    zkr_queue_free(same);
  }
  zkr_client_free(other);
}

void an_item_outlives_its_client(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *other = connected(hosts(), "b");
  zkr_queue *queue = queue_at(client, path("outlived")), *same = queue_at(other, path("outlived"));
  zkr_transaction *writes = NULL;
  zkr_item *item = NULL;
  ending done = {0};

  OK(zkr_queue_put(queue, "tea", 3, -1, &error));
  OK(zkr_queue_claim(queue, 10000, &item, &error));
  OK(zkr_item_guarded(item, &writes, &error));
  zkr_client_free(client);
  zkr_queue_free(queue);
  CHECK(strcmp(zkr_item_data(item), "tea") == 0 && zkr_item_node(item) != NULL && !zkr_item_is_held(item));
  REFUSED(zkr_item_ack(item, &error), ZKR_CLOSED, "");
  REFUSED(zkr_item_nack(item, &error), ZKR_CLOSED, "");
  REFUSED(zkr_item_verify(item, &error), ZKR_CLOSED, "");
  REFUSED(zkr_item_ack_with(item, writes, &error), ZKR_CLOSED, "");
  CHECK(zkr_item_ack_async(item, note_done, &done) == ZKR_CLOSED && done.calls == 0);
  zkr_transaction_free(writes);
  zkr_item_free(item);
  CHECK(is_left_by_all(same, 1));
  zkr_queue_free(same);
  zkr_client_free(other);
}

typedef struct shared {
  zkr_item *item;
  atomic_int settled, refused, freed;
} shared;

static void *settle(void *argument) {
  shared *all = argument;
  switch (zkr_item_ack(all->item, NULL)) {
    case ZKR_OK:
      atomic_fetch_add(&all->settled, 1);
      break;
    case ZKR_NOT_HELD:
      atomic_fetch_add(&all->refused, 1);
      break;
    /* The fourth has freed it. */
    case ZKR_INVALID:
      atomic_fetch_add(&all->freed, 1);
      break;
    default:
      break;
  }
  return NULL;
}

static void *let_go(void *argument) {
  shared *all = argument;
  zkr_item_free(all->item);
  return NULL;
}

void threads_may_settle_and_free_one_item(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_queue *queue = queue_at(client, path("shared-item"));

  for (int round = 0; round < ROUNDS; round++) {
    shared all = {0};
    pthread_t threads[4];
    OK(zkr_queue_put(queue, "tea", 3, -1, &error));
    OK(zkr_queue_claim(queue, 10000, &all.item, &error));
    for (int each = 0; each < 3; each++) pthread_create(&threads[each], NULL, settle, &all);
    nap(round / 10);
    pthread_create(&threads[3], NULL, let_go, &all);
    for (int each = 0; each < 4; each++) pthread_join(threads[each], NULL);
    CHECK(all.settled <= 1 && all.settled + all.refused + all.freed == 3);
    if (!all.settled) {
      OK(zkr_queue_claim(queue, 10000, &all.item, &error));
      OK(zkr_item_ack(all.item, &error));
      zkr_item_free(all.item);
    }
  }
  zkr_queue_free(queue);
  zkr_client_free(client);
}

typedef struct withdrawing {
  zkr_cancel_token *token;
  int64_t after;
} withdrawing;

static void *withdraw_later(void *argument) {
  withdrawing *it = argument;
  nap(it->after);
  zkr_cancel_token_cancel(it->token);
  return NULL;
}

void a_claim_withdrawn_at_any_moment_leaves_nothing(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *other = connected(hosts(), "b");
  zkr_queue *queue = queue_at(client, path("any-moment")), *same = queue_at(other, path("any-moment"));

  for (int round = 0; round < ROUNDS; round++) {
    withdrawing it = {zkr_cancel_token_new(), round % 4};
    zkr_item *item = NULL;
    zkr_buffer *data = NULL;
    pthread_t thread;
    OK(zkr_queue_put(same, "tea", 3, -1, &error));
    pthread_create(&thread, NULL, withdraw_later, &it);
    zkr_status status = round % 2 ? zkr_queue_claim_cancellable(queue, -1, it.token, &item, NULL)
                                  : zkr_queue_get_cancellable(queue, -1, it.token, &data, NULL);
    CHECK(status == ZKR_OK || status == ZKR_CANCELLED);
    CHECK((status == ZKR_OK) == (item != NULL || data != NULL));
    pthread_join(thread, NULL);
    zkr_item_free(item);
    CHECK(is_left_by_all(same, data ? 0 : 1));
    zkr_buffer_free(data);
    zkr_cancel_token_free(it.token);
  }
  zkr_queue_free(queue);
  zkr_queue_free(same);
  zkr_client_free(client);
  zkr_client_free(other);
}

static void free_barrier(zkr_status status, const zkr_error *error, void *user_data) {
  rubbish *all = user_data;
  (void)error;
  all->blocking = status;
  zkr_client_free(all->client);
  atomic_fetch_add(&all->calls, 1);
}

/* While it is entered, and while it enters. */
void a_double_barrier_that_is_freed_keeps_nobody(void) {
  zkr_error *error = NULL;
  zkr_client *other = connected(hosts(), "b");
  zkr_double_barrier *mine = NULL, *yours = NULL;
  ending entered = {0}, waiting = {0};
  zkr_cancel_token *token = zkr_cancel_token_new();

  for (int round = 0; round < 2; round++) {
    zkr_client *client = connected(hosts(), "a");
    OK(zkr_double_barrier_new(client, path("freed-round"), 2, "one", &mine, &error));
    OK(zkr_double_barrier_new(other, path("freed-round"), 2, "two", &yours, &error));
    entered.calls = 0;
    CHECK(zkr_double_barrier_enter_async(mine, -1, note_done, &entered) == ZKR_OK);
    OK(zkr_double_barrier_enter(yours, 10000, &error));
    EVENTUALLY(entered.calls == 1);
    if (round) zkr_client_free(client);
    zkr_double_barrier_free(mine);
    OK(zkr_double_barrier_leave(yours, 10000, &error));
    if (!round) zkr_client_free(client);
    zkr_double_barrier_free(yours);
  }
  rubbish all = {.client = connected(hosts(), "a")};
  OK(zkr_double_barrier_new(all.client, path("freed-round"), 1, NULL, &mine, &error));
  CHECK(zkr_double_barrier_enter_async(mine, -1, free_barrier, &all) == ZKR_OK);
  EVENTUALLY(all.calls == 1);
  REFUSED(zkr_double_barrier_leave(mine, 0, &error), ZKR_CLOSED, "");
  zkr_double_barrier_free(mine);

  /* Who waits at a barrier that was freed goes on waiting. */
  OK(zkr_double_barrier_new(other, path("freed-round"), 2, NULL, &mine, &error));
  CHECK(zkr_double_barrier_enter_cancellable_async(mine, -1, token, note_done, &waiting) == ZKR_OK);
  zkr_double_barrier_free(mine);
  zkr_cancel_token_cancel(token);
  EVENTUALLY(waiting.calls == 1);
  CHECK(waiting.status == ZKR_CANCELLED);
  zkr_cancel_token_free(token);
  zkr_client_free(other);
}

static void acknowledge_and_free(zkr_status status, zkr_proposal *proposal, const zkr_error *error,
                                 void *user_data) {
  rubbish *all = user_data;
  (void)status, (void)error;
  all->blocking = zkr_proposal_vote_commit(proposal, NULL);
  zkr_client_free(all->client);
  zkr_proposal_free(proposal);
  atomic_fetch_add(&all->calls, 1);
}

void a_proposal_may_be_the_last_that_is_freed(void) {
  zkr_error *error = NULL;
  zkr_client *other = connected(hosts(), "b");
  zkr_two_phase_commit *site = NULL, *coordinator = NULL;
  zkr_commit_transaction *begun = NULL;
  zkr_proposal *proposal = NULL;
  const char *const sites[] = {"one"};
  rubbish all = {.client = connected(hosts(), "a")};

  OK(zkr_two_phase_commit_new(other, path("freed-site"), ZKR_COMMIT_MODE_PEER, &coordinator, &error));
  OK(zkr_two_phase_commit_new(all.client, path("freed-site"), ZKR_COMMIT_MODE_PEER, &site, &error));
  OK(zkr_two_phase_commit_join(site, "one", &error));
  CHECK(zkr_two_phase_commit_next_async(site, -1, acknowledge_and_free, &all) == ZKR_OK);
  OK(zkr_two_phase_commit_begin(coordinator, "it", sites, 1, "", 0, 60000, &begun, &error));
  EVENTUALLY(all.calls == 1);
  CHECK(all.blocking == ZKR_DEADLOCK);
  zkr_two_phase_commit_free(site);

  /* What its site has not voted on is there for whoever is the site now. */
  zkr_status joined = ZKR_EXISTS;
  EVENTUALLY(joined == ZKR_OK || (joined = zkr_two_phase_commit_join(coordinator, "one", NULL)) == ZKR_OK);
  OK(zkr_two_phase_commit_next(coordinator, 10000, &proposal, &error));
  zkr_two_phase_commit_free(coordinator);
  OK(zkr_proposal_vote_commit(proposal, &error));
  OK(zkr_proposal_acknowledge(proposal, &error));
  zkr_client_free(other);
  CHECK(strcmp(zkr_proposal_id(proposal), "it") == 0);
  REFUSED(zkr_proposal_acknowledge(proposal, &error), ZKR_CLOSED, "");
  zkr_proposal_free(proposal);
  zkr_commit_transaction_free(begun);
}
