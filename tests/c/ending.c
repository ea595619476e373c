/* SPDX-License-Identifier: Apache-2.0
 *
 * Ending callbacks, from everywhere: outside callbacks it returns when they are over, inside any callback it
 * never waits. What callbacks write here is plain memory, which the sanitizers watch.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

/* A client of a server of its own, and a callback of it that stays inside until it is told to go. */
typedef struct scene {
  zkr_test_server *server;
  zkr_client *client, *other;
  zkr_lock *lock;
  zkr_subscription *subscription;
  struct slow *slow;
  bool dispatched;
  pthread_t loop;
  atomic_bool over;
} scene;

/* The user_data of the slow callback; freed as soon as that is allowed. */
typedef struct slow {
  atomic_int inside;
  atomic_bool go;
  void (*act)(scene *);
  scene *scene;
  atomic_bool *freed;
  int written;
} slow;

static void on_state(zkr_state state, void *user_data) {
  slow *self = user_data;
  (void)state;
  if (atomic_fetch_add(&self->inside, 1) > 0) return;
  if (self->act) self->act(self->scene);
  while (!self->go) nap(1);
  self->written = 42;
}

static void free_slow(void *user_data) {
  slow *self = user_data;
  atomic_bool *freed = self->freed;
  free(self);
  *freed = true;
}

static void *dispatching(void *user_data) {
  scene *self = user_data;
  while (!self->over) zkr_client_dispatch(self->client, 0, 20);
  return NULL;
}

static bool set_up(scene *self, bool dispatched, void (*act)(scene *), atomic_bool *freed) {
  zkr_error *error = NULL;
  memset(self, 0, sizeof *self);
  self->server = own_server();
  self->client = connected(zkr_test_server_connect_string(self->server), "ended");
  self->other = connected(hosts(), "other");
  self->lock = lock_on(self->client, "/ending");
  self->slow = calloc(1, sizeof *self->slow);
  *self->slow = (slow){.act = act, .scene = self, .freed = freed};
  self->dispatched = dispatched;
  if (dispatched) {
    zkr_client_event_fd(self->client);
    pthread_create(&self->loop, NULL, dispatching, self);
  }
  zkr_client_on_state(self->client, on_state, self->slow, &self->subscription, &error);
  zkr_test_server_stop(self->server, &error);
  for (int tries = 0; self->slow->inside == 0 && tries < 2000; tries++) nap(5);
  zkr_test_server_restart(self->server, &error);
  return !error && self->slow->inside > 0;
}

static void tear_down(scene *self) {
  self->over = true;
  if (self->dispatched) pthread_join(self->loop, NULL);
  zkr_subscription_free(self->subscription);
  zkr_lock_free(self->lock);
  zkr_client_free(self->client);
  zkr_client_free(self->other);
  zkr_test_server_free(self->server);
}

static atomic_bool slow_freed;
static ending closing;

static void unsubscribe(scene *self) { zkr_subscription_free(self->subscription); }
static void unsubscribe_with(scene *self) { zkr_subscription_free_with(self->subscription, free_slow); }
static void free_client(scene *self) { zkr_client_free(self->client); }
static void free_lock(scene *self) { zkr_lock_free(self->lock); }
static void close_client(scene *self) { zkr_client_close(self->client, -1, NULL); }
static void close_client_async(scene *self) { zkr_client_close_async(self->client, -1, note_done, &closing); }

static const struct act {
  void (*run)(scene *);
  /* Whether it ends the callback, and so waits for it outside callbacks; whether it frees what that uses. */
  bool waits, frees;
} acts[] = {
    {unsubscribe, true, false}, {unsubscribe_with, true, true},     {free_client, true, false},
    {free_lock, false, false},  {close_client_async, false, false},
};
#define ACTS (sizeof acts / sizeof *acts)

/* Runs one act on a thread of its own, outside callbacks. */
typedef struct outside {
  void (*run)(scene *);
  scene *scene;
  pthread_t thread;
  atomic_bool returned;
} outside;

static void *run_outside(void *user_data) {
  outside *self = user_data;
  self->run(self->scene);
  self->returned = true;
  return NULL;
}

static void ends_outside(const struct act *act, bool dispatched) {
  scene scene;
  outside out = {.run = act->run, .scene = &scene};
  atomic_store(&slow_freed, false);
  CHECK(set_up(&scene, dispatched, NULL, &slow_freed));
  slow *slow = scene.slow;
  pthread_create(&out.thread, NULL, run_outside, &out);
  if (act->waits) {
    nap(50);
    CHECK(!out.returned);
  } else {
    EVENTUALLY(out.returned);
  }
  CHECK(!slow_freed);
  slow->go = true;
  pthread_join(out.thread, NULL);
  if (act->frees) CHECK(slow_freed);
  if (act->waits && !act->frees) CHECK(slow->written == 42); /* it is over, and what it did is seen */
  tear_down(&scene);
  if (!act->frees) free(slow);
}

void outside_callbacks_ending_returns_when_the_callback_is_over(void) {
  for (size_t i = 0; i < ACTS; i++) {
    ends_outside(&acts[i], false);
    ends_outside(&acts[i], true);
  }
  const struct act close = {close_client, true, false};
  ends_outside(&close, false);
}

/* In a callback of another client, while the slow one is inside. */
static void run_elsewhere(zkr_status status, const zkr_error *error, void *user_data) {
  (void)status, (void)error;
  run_outside(user_data);
}

static void ends_in_anothers(const struct act *act, bool dispatched) {
  scene scene;
  outside out = {.run = act->run, .scene = &scene};
  atomic_store(&slow_freed, false);
  CHECK(set_up(&scene, dispatched, NULL, &slow_freed));
  slow *slow = scene.slow;
  CHECK(zkr_client_event_fd(scene.other) >= 0);
  CHECK(zkr_nodes_ensure_async(scene.other, "/", run_elsewhere, &out) == ZKR_OK);
  CHECK(zkr_client_dispatch(scene.other, 1, 10000) == 1);
  CHECK(out.returned && !slow_freed && slow->inside == 1);
  slow->go = true;
  if (act->frees) EVENTUALLY(slow_freed);
  tear_down(&scene);
  if (!act->frees) free(slow);
}

void inside_a_callback_of_another_client_ending_never_waits(void) {
  for (size_t i = 0; i < ACTS; i++) {
    ends_in_anothers(&acts[i], false);
    ends_in_anothers(&acts[i], true);
  }
}

static void ends_in_its_own(const struct act *act, bool dispatched) {
  scene scene;
  atomic_store(&slow_freed, false);
  CHECK(set_up(&scene, dispatched, act->run, &slow_freed));
  slow *slow = scene.slow;
  CHECK(!slow_freed); /* it is still inside */
  slow->go = true;
  if (act->frees) EVENTUALLY(slow_freed);
  tear_down(&scene);
  if (!act->frees) free(slow);
}

void inside_its_own_callback_ending_never_waits(void) {
  for (size_t i = 0; i < ACTS; i++) {
    ends_in_its_own(&acts[i], false);
    ends_in_its_own(&acts[i], true);
  }
}

/* A loss does not wait for other callbacks of its client, so it may meet the slow one. */
static void on_lost(const zkr_error *error, void *user_data) {
  (void)error;
  run_outside(user_data);
}

void inside_a_loss_ending_never_waits_for_other_callbacks(void) {
  zkr_error *error = NULL;
  for (size_t i = 0; i < ACTS; i++) {
    scene scene;
    outside out = {.run = acts[i].run, .scene = &scene};
    atomic_store(&slow_freed, false);
    CHECK(set_up(&scene, false, NULL, &slow_freed));
    slow *slow = scene.slow;
    OK(zkr_lock_acquire(scene.lock, 10000, NULL, &error));
    OK(zkr_lock_on_lost(scene.lock, on_lost, &out, NULL, &error));
    OK(zkr_test_server_expire(scene.server, zkr_client_session_id(scene.client), &error));
    EVENTUALLY(out.returned);
    CHECK(!slow_freed && slow->inside == 1);
    slow->go = true;
    if (acts[i].frees) EVENTUALLY(slow_freed);
    tear_down(&scene);
    if (!acts[i].frees) free(slow);
  }
}

/* Two callbacks, each of which ends the other's subscription while both run. */
typedef struct rival {
  zkr_client *client;
  zkr_subscription *subscription;
  struct rival *other;
  atomic_bool inside;
  int written;
} rival;

static void end_the_other(zkr_state state, void *user_data) {
  rival *self = user_data;
  (void)state;
  self->inside = true;
  while (!self->other->inside) nap(1);
  zkr_subscription_free(self->other->subscription);
  self->written++;
}

static void *dispatch_one(void *user_data) {
  zkr_client_dispatch(((rival *)user_data)->client, 1, 10000);
  return NULL;
}

void two_callbacks_may_end_each_other(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  rival rivals[2] = {{.other = &rivals[1]}, {.other = &rivals[0]}};
  pthread_t threads[2];

  for (int i = 0; i < 2; i++) {
    rivals[i].client = connected(zkr_test_server_connect_string(server), "rival");
    CHECK(zkr_client_event_fd(rivals[i].client) >= 0);
    OK(zkr_client_on_state(rivals[i].client, end_the_other, &rivals[i], &rivals[i].subscription, &error));
  }
  OK(zkr_test_server_stop(server, &error));
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, dispatch_one, &rivals[i]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  CHECK(rivals[0].written == 1 && rivals[1].written == 1);
  for (int i = 0; i < 2; i++) {
    CHECK(zkr_client_dispatch(rivals[i].client, 0, 100) == 0 || rivals[i].written == 1);
    zkr_client_free(rivals[i].client);
  }
  zkr_test_server_free(server);
}

/* Plain counts of what was told, in memory that goes with the client. */
typedef struct told {
  int ends, closed, losses, states, last_at;
} told;

static int all_told(const told *told) { return told->ends + told->losses + told->states; }

static void on_end(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data) {
  told *told = user_data;
  (void)error;
  zkr_held_free(held);
  told->ends++;
  if (status == ZKR_CLOSED) told->closed++;
}

static void count_loss(const zkr_error *error, void *user_data) {
  (void)error;
  ((told *)user_data)->losses++;
}

static void count_state(zkr_state state, void *user_data) {
  (void)state;
  ((told *)user_data)->states++;
}

static void on_closed(zkr_status status, const zkr_error *error, void *user_data) {
  told *told = user_data;
  (void)status, (void)error;
  told->last_at = 1 + all_told(told);
}

#define WAITERS 60

/* A client with everything that can still be told when it goes: a loss, changes of state, many waits. Losses
 * do not wait for other callbacks, so they have a count of their own. */
static zkr_client *busy(bool with_fd, told *told_in_turn, told *told_lost) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "busy");
  static atomic_int worlds;
  char name[32];
  snprintf(name, sizeof name, "busy-%d", atomic_fetch_add(&worlds, 1));
  zkr_lock *held = lock_on(client, path(name)), *waiting;

  if (with_fd) zkr_client_event_fd(client);
  zkr_client_on_state(client, count_state, told_in_turn, NULL, &error);
  zkr_lock_acquire(held, 10000, NULL, &error);
  zkr_lock_on_lost(held, count_loss, told_lost, NULL, &error);
  for (int i = 0; i < WAITERS; i++) {
    waiting = lock_on(client, path(name));
    zkr_lock_acquire_async(waiting, -1, on_end, told_in_turn);
  }
  if (!error) return client;
  zkr_error_free(error);
  return NULL;
}

void a_client_that_is_freed_has_told_everything(void) {
  told *in_turn = calloc(1, sizeof *in_turn), *lost = calloc(1, sizeof *lost);
  zkr_client *client = busy(false, in_turn, lost);

  CHECK(client);
  zkr_client_free(client);
  CHECK(in_turn->ends == WAITERS && in_turn->closed == WAITERS && lost->losses == 1);
  free(in_turn);
  free(lost);
}

void a_freed_client_with_an_event_fd_tells_nothing_more(void) {
  told *in_turn = calloc(1, sizeof *in_turn), *lost = calloc(1, sizeof *lost);
  zkr_client *client = busy(true, in_turn, lost);

  CHECK(client);
  zkr_client_free(client);
  CHECK(all_told(in_turn) == 0 && lost->losses == 0);
  free(in_turn);
  free(lost);
}

void closing_tells_everything_before_it_returns(void) {
  zkr_error *error = NULL;
  told *in_turn = calloc(1, sizeof *in_turn), *lost = calloc(1, sizeof *lost);
  zkr_client *client = busy(false, in_turn, lost);

  CHECK(client);
  OK(zkr_client_close(client, -1, &error));
  CHECK(in_turn->closed == WAITERS && in_turn->states == 1 && lost->losses == 1);
  free(in_turn);
  free(lost);
  zkr_client_free(client);
}

void the_end_of_closing_is_the_last_callback_of_a_loop(void) {
  told told = {0};
  zkr_client *client = busy(true, &told, &told);

  CHECK(client);
  CHECK(zkr_client_close_async(client, -1, on_closed, &told) == ZKR_OK);
  while (!told.last_at) CHECK(zkr_client_dispatch(client, 1, 10000) == 1);
  CHECK(told.closed == WAITERS && told.losses == 1 && told.states == 1);
  CHECK(told.last_at == WAITERS + 3);
  CHECK(zkr_client_dispatch(client, 0, 100) == 0 && all_told(&told) == WAITERS + 2);
  zkr_client_free(client);
}

static void note_last(zkr_status status, const zkr_error *error, void *user_data) {
  note_done(status, error, user_data);
}

/* A loss waits for nobody, so it may still run when all that is told in turn has been. */
static void count_loss_slowly(const zkr_error *error, void *user_data) {
  nap(300);
  count_loss(error, user_data);
}

void the_end_of_closing_is_the_last_callback_of_a_delivery_thread(void) {
  zkr_error *error = NULL;
  told in_turn = {0}, lost = {0}, slowly = {0};
  ending end = {0};
  zkr_client *client = busy(false, &in_turn, &lost);
  zkr_lock *lock;

  CHECK(client);
  lock = lock_on(client, path("busy-slowly"));
  OK(zkr_lock_acquire(lock, 10000, NULL, &error));
  OK(zkr_lock_on_lost(lock, count_loss_slowly, &slowly, NULL, &error));
  CHECK(zkr_client_close_async(client, -1, note_last, &end) == ZKR_OK);
  EVENTUALLY(end.calls == 1);
  CHECK(end.status == ZKR_OK && in_turn.closed == WAITERS && in_turn.states == 1);
  CHECK(lost.losses == 1 && slowly.losses == 1);
  zkr_lock_free(lock);
  zkr_client_free(client);
}

void closing_does_not_wait_for_a_server_that_is_silent(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  told told = {0};
  zkr_client *client = connected(zkr_test_server_connect_string(server), "silent");
  zkr_lock *lock = lock_on(client, "/silent");

  CHECK(zkr_client_event_fd(client) >= 0);
  OK(zkr_test_server_pause(server, &error));
  for (int i = 0; i < WAITERS; i++) CHECK(zkr_lock_acquire_async(lock, -1, on_end, &told) == ZKR_OK);
  CHECK(zkr_client_close_async(client, 100, on_closed, &told) == ZKR_OK);
  while (!told.last_at) CHECK(zkr_client_dispatch(client, 1, 5000) == 1);
  CHECK(told.closed == WAITERS && told.last_at == WAITERS + told.states + 1);
  zkr_lock_free(lock);
  zkr_client_free(client);
  zkr_test_server_free(server);
}

/* What a lock protects is plain memory, too. */
typedef struct worker {
  pthread_t thread;
  const char *path;
  int *shared;
} worker;

static void *work(void *user_data) {
  worker *self = user_data;
  zkr_client *client = connected(hosts(), "worker");
  zkr_lock *lock = lock_on(client, self->path);
  for (int i = 0; i < 10; i++) {
    if (zkr_lock_acquire(lock, -1, NULL, NULL) != ZKR_OK) break;
    (*self->shared)++;
    if (i % 2)
      zkr_lock_release(lock, NULL);
    else
      zkr_lock_release_in_background(lock, NULL);
  }
  zkr_lock_free(lock);
  zkr_client_free(client);
  return NULL;
}

void a_holder_sees_what_the_holder_before_it_wrote(void) {
  worker workers[4];
  int shared = 0;
  char at[256];

  strcpy(at, path("plain"));
  hosts(); /* the server is there before the threads are */
  for (int i = 0; i < 4; i++) {
    workers[i] = (worker){.path = at, .shared = &shared};
    pthread_create(&workers[i].thread, NULL, work, &workers[i]);
  }
  for (int i = 0; i < 4; i++) pthread_join(workers[i].thread, NULL);
  CHECK(shared == 40);
}

void a_subscription_frees_its_data_at_once_when_nothing_runs(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  atomic_int freed = 0;
  zkr_subscription *subscription = NULL;

  OK(zkr_client_on_state(client, count_state, &freed, &subscription, &error));
  zkr_subscription_free_with(subscription, note_call);
  CHECK(freed == 1);
  zkr_subscription_free_with(subscription, note_call);
  zkr_subscription_free_with(NULL, note_call);
  CHECK(freed == 1);
  zkr_subscription *other = NULL;
  OK(zkr_client_on_state(client, count_state, &freed, &other, &error));
  zkr_subscription_free_with(other, NULL);
  CHECK(freed == 1);
  zkr_client_free(client);
}
