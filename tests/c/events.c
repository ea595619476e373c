/* SPDX-License-Identifier: Apache-2.0
 *
 * Asynchronous verbs, callbacks and the threads that they run on.
 */

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "harness.h"

/* What a callback saw; `calls` is counted last. */
typedef struct seen {
  zkr_status status;
  char message[256];
  zkr_held *held;
  pthread_t thread;
  zkr_lock *lock;
  zkr_client *client;
  zkr_status inner;
  int dispatched;
  int calls;
} seen;

static int calls(const seen *seen) { return __atomic_load_n(&seen->calls, __ATOMIC_SEQ_CST); }

static void note(seen *seen, zkr_status status, const zkr_error *error) {
  seen->status = status;
  seen->thread = pthread_self();
  strncpy(seen->message, zkr_error_message(error), sizeof seen->message - 1);
  __atomic_fetch_add(&seen->calls, 1, __ATOMIC_SEQ_CST);
}

static void on_held(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data) {
  seen *seen = user_data;
  seen->held = held;
  note(seen, status, error);
}

static void on_done(zkr_status status, const zkr_error *error, void *user_data) {
  note(user_data, status, error);
}

static void on_contenders(zkr_status status, zkr_contenders *list, const zkr_error *error, void *user_data) {
  seen *seen = user_data;
  seen->dispatched = (int)zkr_contenders_count(list);
  zkr_contenders_free(list);
  note(seen, status, error);
}

void async_verbs_call_back_once(void) {
  zkr_client *client = connected(hosts(), "a");
  zkr_lock *lock = lock_on(client, path("async"));
  seen acquired = {0}, listed = {0}, verified = {0}, released = {0}, again = {0}, closed = {0};

  CHECK(zkr_lock_acquire_async(lock, 5000, on_held, &acquired) == ZKR_OK);
  EVENTUALLY(calls(&acquired) == 1);
  CHECK(acquired.status == ZKR_OK && zkr_held_is_held(acquired.held));
  CHECK(!pthread_equal(acquired.thread, pthread_self()));
  CHECK(zkr_held_verify_async(acquired.held, on_done, &verified) == ZKR_OK);
  CHECK(zkr_lock_contenders_async(lock, on_contenders, &listed) == ZKR_OK);
  EVENTUALLY(calls(&verified) == 1 && calls(&listed) == 1);
  CHECK(verified.status == ZKR_OK && listed.status == ZKR_OK && listed.dispatched == 1);
  CHECK(zkr_held_release_async(acquired.held, on_done, &released) == ZKR_OK);
  EVENTUALLY(calls(&released) == 1);
  CHECK(released.status == ZKR_OK && !zkr_lock_is_held(lock));
  CHECK(zkr_lock_release_async(lock, on_done, &again) == ZKR_OK);
  EVENTUALLY(calls(&again) == 1);
  CHECK(again.status == ZKR_NOT_HELD);
  zkr_held_free(acquired.held);
  zkr_lock_free(lock);
  CHECK(zkr_client_close_async(client, 5000, on_done, &closed) == ZKR_OK);
  EVENTUALLY(calls(&closed) == 1);
  CHECK(closed.status == ZKR_OK);
  CHECK(calls(&acquired) == 1 && calls(&released) == 1);
  zkr_client_free(client);
}

void async_verbs_report_bad_arguments(void) {
  zkr_client *client = connected(hosts(), "a");
  seen bad_path = {0}, bad_bytes = {0}, bad_version = {0};

  CHECK(zkr_nodes_ensure_async(client, "relative", on_done, &bad_path) == ZKR_OK);
  CHECK(zkr_nodes_ensure_async(client, "/\xff", on_done, &bad_bytes) == ZKR_OK);
  CHECK(zkr_nodes_delete_async(client, "/a", -7, on_done, &bad_version) == ZKR_OK);
  EVENTUALLY(calls(&bad_path) == 1 && calls(&bad_bytes) == 1 && calls(&bad_version) == 1);
  CHECK(bad_path.status == ZKR_INVALID && strstr(bad_path.message, "path"));
  CHECK(bad_bytes.status == ZKR_INVALID && strstr(bad_bytes.message, "path"));
  CHECK(bad_version.status == ZKR_INVALID && strstr(bad_version.message, "version"));
  zkr_client_free(client);
}

void async_waits_can_be_withdrawn(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  const char *at = path("async-withdrawn");
  zkr_lock *holder = lock_on(first, at), *other = lock_on(second, at);
  zkr_cancel_token *token = zkr_cancel_token_new();
  seen by_token = {0}, by_lock = {0}, timed_out = {0}, by_close = {0};

  OK(zkr_lock_acquire(holder, 5000, NULL, &error));
  CHECK(zkr_lock_acquire_cancellable_async(other, -1, token, on_held, &by_token) == ZKR_OK);
  EVENTUALLY(children_of(first, at) == 2);
  CHECK(zkr_cancel_token_cancel(token) == ZKR_OK);
  EVENTUALLY(calls(&by_token) == 1);
  CHECK(by_token.status == ZKR_CANCELLED && by_token.held == NULL);
  EVENTUALLY(children_of(first, at) == 1);

  CHECK(zkr_lock_acquire_async(other, -1, on_held, &by_lock) == ZKR_OK);
  EVENTUALLY(children_of(first, at) == 2);
  OK(zkr_lock_cancel(other, &error));
  EVENTUALLY(calls(&by_lock) == 1);
  CHECK(by_lock.status == ZKR_CANCELLED);

  CHECK(zkr_lock_acquire_async(other, 100, on_held, &timed_out) == ZKR_OK);
  EVENTUALLY(calls(&timed_out) == 1);
  CHECK(timed_out.status == ZKR_TIMEOUT);

  EVENTUALLY(children_of(first, at) == 1);
  CHECK(zkr_lock_acquire_async(other, -1, on_held, &by_close) == ZKR_OK);
  EVENTUALLY(children_of(first, at) == 2);
  OK(zkr_client_close(second, 5000, &error));
  EVENTUALLY(calls(&by_close) == 1);
  CHECK(by_close.status == ZKR_CLOSED);
  EVENTUALLY(children_of(first, at) == 1);

  zkr_cancel_token_free(token);
  zkr_lock_free(other);
  zkr_lock_free(holder);
  zkr_client_free(second);
  zkr_client_free(first);
}

/* What a callback held for a moment; `calls` is counted last. */
typedef struct turn {
  zkr_status status;
  uint64_t token;
  atomic_int calls;
} turn;

static void take_turn(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data) {
  turn *turn = user_data;
  (void)error;
  turn->status = status;
  turn->token = zkr_held_fencing_token(held);
  zkr_held_release_in_background(held, NULL);
  zkr_held_free(held);
  turn->calls++;
}

void acquires_of_one_thread_are_served_in_order(void) {
  zkr_client *client = connected(hosts(), "a");
  zkr_lock *locks[8];
  char name[32];

  for (int round = 0; round < 10; round++) {
    turn turns[8] = {0};
    snprintf(name, sizeof name, "async-order-%d", round); /* a path that is not there yet */
    for (int i = 0; i < 8; i++) locks[i] = lock_on(client, path(name));
    for (int i = 0; i < 8; i++) CHECK(zkr_lock_acquire_async(locks[i], -1, take_turn, &turns[i]) == ZKR_OK);
    for (int i = 0; i < 8; i++) {
      EVENTUALLY(turns[i].calls == 1);
      CHECK(turns[i].status == ZKR_OK && (i == 0 || turns[i - 1].token < turns[i].token));
    }
    for (int i = 0; i < 8; i++) zkr_lock_free(locks[i]);
  }
  zkr_client_free(client);
}

static void on_state(zkr_state state, void *user_data) {
  (void)state;
  note(user_data, ZKR_OK, NULL);
}

void callbacks_run_only_on_the_dispatching_thread(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  zkr_client *client = connected(zkr_test_server_connect_string(server), "a");
  zkr_lock *lock = lock_on(client, "/dispatched");
  seen acquired = {0}, verified = {0}, states = {0};
  struct epoll_event event = {.events = EPOLLIN};

  int fd = zkr_client_event_fd(client), loop = epoll_create1(0);
  CHECK(fd >= 0 && loop >= 0);
  CHECK(zkr_client_event_fd(client) == fd);
  CHECK(epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) == 0);
  CHECK(epoll_wait(loop, &event, 1, 0) == 0);

  CHECK(zkr_lock_acquire_async(lock, 5000, on_held, &acquired) == ZKR_OK);
  CHECK(epoll_wait(loop, &event, 1, 10000) == 1);
  CHECK(calls(&acquired) == 0); /* it waits for whoever dispatches */
  CHECK(epoll_wait(loop, &event, 1, 0) == 1);
  CHECK(zkr_client_dispatch(client, 0, 0) == 1);
  CHECK(calls(&acquired) == 1 && acquired.status == ZKR_OK);
  CHECK(pthread_equal(acquired.thread, pthread_self()));
  CHECK(epoll_wait(loop, &event, 1, 0) == 0);

  OK(zkr_client_on_state(client, on_state, &states, NULL, &error));
  CHECK(zkr_held_verify_async(acquired.held, on_done, &verified) == ZKR_OK);
  CHECK(epoll_wait(loop, &event, 1, 10000) == 1);
  CHECK(zkr_client_dispatch(client, 0, 0) == 1);
  CHECK(calls(&verified) == 1 && verified.status == ZKR_OK);
  for (int told = 1; told <= 2; told++) { /* suspended, connected */
    OK(told == 1 ? zkr_test_server_stop(server, &error) : zkr_test_server_restart(server, &error));
    while (calls(&states) < told) {
      CHECK(epoll_wait(loop, &event, 1, 10000) == 1);
      CHECK(zkr_client_dispatch(client, 0, 0) >= 1);
    }
  }
  CHECK(pthread_equal(states.thread, pthread_self()));

  OK(zkr_held_release(acquired.held, &error)); /* blocking verbs need no dispatching */
  zkr_held_free(acquired.held);
  zkr_client_free(client);
  CHECK(fcntl(fd, F_GETFD) == -1); /* freed with its client, also while others still know the session */
  zkr_lock_free(lock);
  close(loop);
  zkr_test_server_free(server);
}

void dispatch_waits_and_counts(void) {
  zkr_client *client = connected(hosts(), "a");
  zkr_lock *lock = lock_on(client, path("counted"));
  seen one = {0}, two = {0}, three = {0};

  int64_t begun = now_ms();
  CHECK(zkr_client_dispatch(client, 0, 100) == 0);
  CHECK(now_ms() - begun >= 100);
  CHECK(zkr_lock_verify_async(lock, on_done, &one) == ZKR_OK);
  CHECK(zkr_client_dispatch(client, 1, -1) == 1);
  CHECK(calls(&one) == 1 && one.status == ZKR_NOT_HELD);
  CHECK(zkr_lock_verify_async(lock, on_done, &two) == ZKR_OK);
  CHECK(zkr_lock_verify_async(lock, on_done, &three) == ZKR_OK);
  CHECK(zkr_client_dispatch(client, 1, 10000) == 1);
  CHECK(calls(&two) + calls(&three) == 1);
  CHECK(zkr_client_dispatch(client, 1, 10000) == 1);
  CHECK(calls(&two) == 1 && calls(&three) == 1);
  CHECK(zkr_client_dispatch(client, 0, 0) == 0);
  zkr_lock_free(lock);
  zkr_client_free(client);
}

static void ignore_done(zkr_status status, const zkr_error *error, void *user_data) {
  (void)status, (void)error, (void)user_data;
}

static void block_in_callback(zkr_status status, const zkr_error *error, void *user_data) {
  seen *seen = user_data;
  seen->inner = zkr_lock_acquire(seen->lock, 0, NULL, NULL);
  seen->dispatched = zkr_client_dispatch(seen->client, 0, 0);
  if (zkr_client_close(seen->client, 0, NULL) != ZKR_DEADLOCK) seen->inner = ZKR_OK;
  if (zkr_lock_verify_async(seen->lock, ignore_done, NULL) != ZKR_OK) seen->inner = ZKR_OK;
  note(seen, status, error);
}

void a_blocking_verb_in_a_callback_is_a_deadlock(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_lock *lock = lock_on(client, path("deadlock"));
  seen delivered = {.lock = lock, .client = client}, dispatched = {.lock = lock, .client = client};

  CHECK(zkr_lock_verify_async(lock, block_in_callback, &delivered) == ZKR_OK);
  EVENTUALLY(calls(&delivered) == 1);
  CHECK(delivered.inner == ZKR_DEADLOCK && delivered.dispatched == -ZKR_DEADLOCK);

  CHECK(zkr_client_event_fd(client) >= 0);
  CHECK(zkr_lock_verify_async(lock, block_in_callback, &dispatched) == ZKR_OK);
  while (calls(&dispatched) == 0) CHECK(zkr_client_dispatch(client, 0, 10000) >= 0);
  CHECK(dispatched.inner == ZKR_DEADLOCK && dispatched.dispatched == -ZKR_DEADLOCK);

  OK(zkr_lock_acquire(lock, 5000, NULL, &error)); /* outside it blocks as ever */
  OK(zkr_lock_release(lock, &error));
  zkr_lock_free(lock);
  zkr_client_free(client);
}

typedef struct states {
  int count;
  zkr_state last;
  zkr_subscription *own;
} states;

static void note_state(zkr_state state, void *user_data) {
  states *seen = user_data;
  seen->last = state;
  __atomic_fetch_add(&seen->count, 1, __ATOMIC_SEQ_CST);
}

static void note_once(zkr_state state, void *user_data) {
  states *seen = user_data;
  note_state(state, seen);
  zkr_subscription_free(seen->own); /* from inside: returns at once */
}

static int told(const states *seen) { return __atomic_load_n(&seen->count, __ATOMIC_SEQ_CST); }

void state_changes_are_told_until_unsubscribed(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  zkr_client *client = connected(zkr_test_server_connect_string(server), "a");
  states all = {0}, none = {0}, one = {0};
  zkr_subscription *subscription = NULL;

  CHECK(zkr_client_state(client) == ZKR_STATE_CONNECTED);
  OK(zkr_client_on_state(client, note_state, &all, NULL, &error));
  OK(zkr_client_on_state(client, note_state, &none, &subscription, &error));
  OK(zkr_client_on_state(client, note_once, &one, &one.own, &error));
  zkr_subscription_free(subscription);
  OK(zkr_test_server_stop(server, &error));
  EVENTUALLY(zkr_client_state(client) == ZKR_STATE_SUSPENDED && told(&all) >= 1);
  OK(zkr_test_server_restart(server, &error));
  EVENTUALLY(zkr_client_state(client) == ZKR_STATE_CONNECTED && told(&all) >= 2);
  CHECK(all.last == ZKR_STATE_CONNECTED);
  CHECK(told(&one) == 1);
  OK(zkr_client_close(client, 5000, &error));
  EVENTUALLY(told(&all) >= 3);
  CHECK(all.last == ZKR_STATE_CLOSED);
  CHECK(told(&none) == 0 && told(&one) == 1);
  zkr_client_free(client);
  zkr_test_server_free(server);
}

typedef struct connection {
  zkr_status status;
  zkr_client *client;
  int calls;
} connection;

static void on_client(zkr_status status, zkr_client *client, const zkr_error *error, void *user_data) {
  (void)error;
  connection *seen = user_data;
  seen->status = status;
  seen->client = client;
  __atomic_fetch_add(&seen->calls, 1, __ATOMIC_SEQ_CST);
}

void connecting_can_be_asynchronous(void) {
  zkr_error *error = NULL;
  connection good = {0}, bad = {0};

  CHECK(zkr_client_connect_async(hosts(), NULL, on_client, &good) == ZKR_OK);
  CHECK(zkr_client_connect_async("h:port", NULL, on_client, &bad) == ZKR_OK);
  EVENTUALLY(__atomic_load_n(&good.calls, __ATOMIC_SEQ_CST) == 1);
  EVENTUALLY(__atomic_load_n(&bad.calls, __ATOMIC_SEQ_CST) == 1);
  CHECK(good.status == ZKR_OK && zkr_client_session_id(good.client) != 0);
  CHECK(bad.status == ZKR_INVALID && bad.client == NULL);
  OK(zkr_client_close(good.client, 5000, &error));
  zkr_client_free(good.client);
}
