/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a lock.
 */

#include <pthread.h>
#include <string.h>

#include "harness.h"

void a_lock_is_acquired_and_released(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  const char *at = path("lifecycle");
  zkr_lock *lock = lock_on(client, at);
  zkr_held *held = NULL;

  CHECK(strcmp(zkr_lock_path(lock), at) == 0);
  CHECK(!zkr_lock_is_held(lock));
  CHECK(zkr_lock_fencing_token(lock) == 0);
  OK(zkr_lock_acquire(lock, -1, &held, &error));
  CHECK(zkr_lock_is_held(lock));
  CHECK(zkr_held_is_held(held));
  CHECK(zkr_lock_fencing_token(lock) > 0);
  CHECK(zkr_held_fencing_token(held) == zkr_lock_fencing_token(lock));
  CHECK(zkr_client_lease_remaining(client) > 0);
  CHECK(strcmp(zkr_held_path(held), at) == 0);
  CHECK(strncmp(zkr_held_node(held), at, strlen(at)) == 0);
  CHECK(strstr(zkr_held_sequencer(held), at) != NULL);
  OK(zkr_lock_verify(lock, &error));
  OK(zkr_held_verify(held, &error));
  CHECK(children_of(client, at) == 1);

  OK(zkr_lock_release(lock, &error));
  CHECK(!zkr_lock_is_held(lock));
  CHECK(!zkr_held_is_held(held));
  CHECK(zkr_held_fencing_token(held) > 0);
  CHECK(children_of(client, at) == 0);
  REFUSED(zkr_held_verify(held, &error), ZKR_NOT_HELD, "");

  zkr_held_free(held);
  zkr_lock_free(lock);
  zkr_client_free(client);
}

typedef struct waiter {
  zkr_lock *lock;
  int64_t timeout_ms;
  zkr_cancel_token *token;
  zkr_status status;
  pthread_t thread;
} waiter;

static void *wait_for_lock(void *argument) {
  waiter *self = argument;
  self->status = zkr_lock_acquire_cancellable(self->lock, self->timeout_ms, self->token, NULL, NULL);
  return NULL;
}

static void start_waiting(waiter *self, zkr_lock *lock, int64_t timeout_ms, zkr_cancel_token *token) {
  *self = (waiter){.lock = lock, .timeout_ms = timeout_ms, .token = token};
  pthread_create(&self->thread, NULL, wait_for_lock, self);
}

static zkr_status end_of(waiter *self) {
  pthread_join(self->thread, NULL);
  return self->status;
}

void a_timeout_of_zero_is_one_attempt(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  const char *at = path("attempt");
  zkr_lock *holder = lock_on(first, at), *other = lock_on(second, at);

  OK(zkr_lock_acquire(holder, 0, NULL, &error));
  REFUSED(zkr_lock_acquire(other, 0, NULL, &error), ZKR_TIMEOUT, "");
  REFUSED(zkr_lock_acquire(holder, 0, NULL, &error), ZKR_TIMEOUT, ""); /* not reentrant */
  OK(zkr_lock_release(holder, &error));
  OK(zkr_lock_acquire(other, 0, NULL, &error));
  OK(zkr_lock_release(other, &error));

  zkr_lock_free(holder);
  zkr_lock_free(other);
  zkr_client_free(first);
  zkr_client_free(second);
}

void a_held_lock_that_is_freed_is_released(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  const char *at = path("freed");
  zkr_lock *lock = lock_on(client, at);
  zkr_held *held = NULL;

  OK(zkr_lock_acquire(lock, 5000, NULL, &error));
  zkr_lock_free(lock);
  EVENTUALLY(children_of(client, at) == 0);

  lock = lock_on(client, at);
  OK(zkr_lock_acquire(lock, 5000, &held, &error));
  zkr_held_free(held); /* the lock keeps it */
  CHECK(zkr_lock_is_held(lock));
  zkr_lock_free(lock);
  EVENTUALLY(children_of(client, at) == 0);
  zkr_client_free(client);
}

void an_acquisition_outlives_its_lock_handle(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  const char *at = path("outlives");
  zkr_lock *lock = lock_on(client, at);
  zkr_held *held = NULL;

  OK(zkr_lock_acquire(lock, 5000, &held, &error));
  zkr_lock_free(lock);
  CHECK(zkr_held_is_held(held));
  OK(zkr_held_verify(held, &error));
  zkr_held_free(held);
  EVENTUALLY(children_of(client, at) == 0);
  zkr_client_free(client);
}

void freeing_the_client_releases_what_it_held(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *observer = connected(hosts(), "observer");
  const char *at = path("client-freed");
  zkr_lock *lock = lock_on(client, at);

  OK(zkr_lock_acquire(lock, 5000, NULL, &error));
  zkr_client_free(client);
  EVENTUALLY(children_of(observer, at) == 0);
  CHECK(!zkr_lock_is_held(lock));
  REFUSED(zkr_lock_acquire(lock, 0, NULL, &error), ZKR_CLOSED, "");
  zkr_lock_free(lock);
  zkr_client_free(observer);
}

void contenders_are_listed_in_order(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  const char *at = path("contenders");
  zkr_lock *holder = lock_on(first, at), *next = lock_on(second, at);
  zkr_contenders *list = NULL;
  waiter waiter;

  OK(zkr_lock_contenders(holder, &list, &error));
  CHECK(zkr_contenders_count(list) == 0);
  zkr_contenders_free(list);

  OK(zkr_lock_acquire(holder, 5000, NULL, &error));
  start_waiting(&waiter, next, 20000, NULL);
  EVENTUALLY(children_of(first, at) == 2);
  OK(zkr_lock_contenders(next, &list, &error));
  CHECK(zkr_contenders_count(list) == 2);
  const zkr_contender *one = zkr_contenders_get(list, 0), *two = zkr_contenders_get(list, 1);
  CHECK(strcmp(one->identity, "first") == 0 && one->holds);
  CHECK(strcmp(two->identity, "second") == 0 && !two->holds);
  CHECK(one->session_id == zkr_client_session_id(first));
  CHECK(two->session_id == zkr_client_session_id(second));
  CHECK(strcmp(one->kind, "lock") == 0 && strlen(one->node) > 0);
  CHECK(one->since_ms > 1600000000000 && one->since_ms <= two->since_ms);
  CHECK(zkr_contenders_get(list, 2) == NULL);
  zkr_contenders_free(list);
  CHECK(zkr_contenders_count(list) == 0);

  OK(zkr_lock_release(holder, &error));
  CHECK(end_of(&waiter) == ZKR_OK);
  OK(zkr_lock_release(next, &error));
  zkr_lock_free(holder);
  zkr_lock_free(next);
  zkr_client_free(first);
  zkr_client_free(second);
}

/* Losing ------------------------------------------------------------------------------------------------- */

void an_expired_session_is_lost_with_its_reason(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  zkr_client *client = connected(zkr_test_server_connect_string(server), "a");
  zkr_lock *lock = lock_on(client, "/expired");
  zkr_held *held = NULL;
  losses early = {0}, late = {0}, unheard = {0};
  zkr_subscription *subscription = NULL, *ended = NULL;

  OK(zkr_lock_acquire(lock, 5000, &held, &error));
  uint64_t token = zkr_held_fencing_token(held);
  OK(zkr_held_on_lost(held, note_loss, &early, &subscription, &error));
  OK(zkr_lock_on_lost(lock, note_loss, &unheard, &ended, &error));
  zkr_subscription_free(ended);
  OK(zkr_test_server_expire(server, zkr_client_session_id(client), &error));
  EVENTUALLY(early.calls == 1);
  CHECK(early.status == ZKR_LOST && early.reason == ZKR_REASON_SESSION);
  CHECK(!zkr_held_is_held(held) && !zkr_lock_is_held(lock));
  CHECK(zkr_held_fencing_token(held) == token && zkr_lock_fencing_token(lock) == 0);
  OK(zkr_held_on_lost(held, note_loss, &late, NULL, &error));
  EVENTUALLY(late.calls == 1);
  CHECK(unheard.calls == 0);
  REFUSED(zkr_held_verify(held, &error), ZKR_NOT_HELD, "");

  OK(zkr_lock_acquire(lock, 10000, NULL, &error)); /* the client has a new session by itself */
  CHECK(zkr_lock_fencing_token(lock) > token);
  OK(zkr_lock_release(lock, &error));
  CHECK(early.calls == 1);
  zkr_subscription_free(subscription);
  zkr_held_free(held);
  zkr_lock_free(lock);
  zkr_client_free(client);
  zkr_test_server_free(server);
}

/* Withdrawing -------------------------------------------------------------------------------------------- */

void a_cancel_token_withdraws_one_call(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  const char *at = path("withdrawn");
  zkr_lock *holder = lock_on(first, at), *one = lock_on(second, at), *two = lock_on(second, at);
  zkr_cancel_token *token = zkr_cancel_token_new(), *other = zkr_cancel_token_new();
  waiter withdrawn, staying;

  OK(zkr_lock_acquire(holder, 5000, NULL, &error));
  start_waiting(&withdrawn, one, -1, token);
  start_waiting(&staying, two, -1, other);
  EVENTUALLY(children_of(first, at) == 3);
  CHECK(zkr_cancel_token_cancel(token) == ZKR_OK);
  CHECK(end_of(&withdrawn) == ZKR_CANCELLED);
  EVENTUALLY(children_of(first, at) == 2);
  zkr_cancel_token_free(token);
  zkr_cancel_token_free(other); /* the call goes on without it */
  OK(zkr_lock_release(holder, &error));
  CHECK(end_of(&staying) == ZKR_OK);
  OK(zkr_lock_release(two, &error));
  CHECK(children_of(first, at) == 0);

  zkr_lock_free(holder);
  zkr_lock_free(one);
  zkr_lock_free(two);
  zkr_client_free(first);
  zkr_client_free(second);
}

void a_cancelled_token_ends_a_call_at_once(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *never = NULL;
  const char *at = path("cancelled-before");
  zkr_lock *lock = lock_on(client, at);
  zkr_cancel_token *token = zkr_cancel_token_new();

  zkr_cancel_token_cancel(token);
  REFUSED(zkr_lock_acquire_cancellable(lock, -1, token, NULL, &error), ZKR_CANCELLED, "");
  REFUSED(zkr_client_connect_cancellable(hosts(), NULL, token, &never, &error), ZKR_CANCELLED, "");
  CHECK(never == NULL);
  EVENTUALLY(children_of(client, at) == 0);
  zkr_cancel_token_free(token);
  zkr_lock_free(lock);
  zkr_client_free(client);
}

void freeing_a_lock_ends_its_waits(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  const char *at = path("freed-while-waiting");
  zkr_lock *holder = lock_on(first, at), *other = lock_on(second, at);
  waiter waiter;

  OK(zkr_lock_acquire(holder, 5000, NULL, &error));
  start_waiting(&waiter, other, -1, NULL);
  EVENTUALLY(children_of(first, at) == 2);
  zkr_lock_free(other);
  CHECK(end_of(&waiter) == ZKR_CANCELLED);
  EVENTUALLY(children_of(first, at) == 1);
  OK(zkr_lock_release(holder, &error));

  zkr_lock_free(holder);
  zkr_client_free(first);
  zkr_client_free(second);
}

/* Whose turn comes next, and whether it came before the release had its answer. */
typedef struct turn {
  ending next, released;
  bool is_first;
} turn;

static void note_turn(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data) {
  turn *turn = user_data;
  turn->is_first = atomic_load(&turn->released.calls) == 0;
  note_held(status, held, error, &turn->next);
}

/* Others may know who holds by its node; then it is gone before the next one holds. */
static void pass_on(void (*asked)(const zkr_held *), bool before_the_answer) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  zkr_client *client = connected(zkr_test_server_connect_string(server), "a");
  zkr_lock *lock = lock_on(client, "/passed/on"), *other = lock_on(client, "/passed/on");
  zkr_held *held = NULL;
  turn turn = {0};

  OK(zkr_lock_acquire(lock, -1, &held, &error));
  CHECK(zkr_lock_acquire_async(other, -1, note_turn, &turn) == ZKR_OK);
  EVENTUALLY(metric(client, "queue_depth") == 1);
  asked(held);
  OK(zkr_test_server_inject(server, "delay_reply delete by=2000ms", NULL, &error));
  int64_t since = now_ms();
  CHECK(zkr_lock_release_async(lock, note_done, &turn.released) == ZKR_OK);
  EVENTUALLY(atomic_load(&turn.next.calls) == 1);
  CHECK(turn.next.status == ZKR_OK);
  CHECK(before_the_answer ? turn.is_first : now_ms() - since >= 2000);
  EVENTUALLY(atomic_load(&turn.released.calls) == 1);
  CHECK(turn.released.status == ZKR_OK);

  zkr_held_free(turn.next.held);
  zkr_held_free(held);
  zkr_lock_free(other);
  zkr_lock_free(lock);
  zkr_client_free(client);
  zkr_test_server_free(server);
}

static void ask_path(const zkr_held *held) { (void)zkr_held_path(held); }
static void ask_node(const zkr_held *held) { (void)zkr_held_node(held); }

void who_was_asked_for_its_path_alone_passes_the_turn_on(void) {
  pass_on(ask_path, true);
  pass_on(ask_node, false);
}
