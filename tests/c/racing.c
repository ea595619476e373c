/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles that are freed in one thread while others use them.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "harness.h"

/* The handles that all threads of the race use, whether they are still good or not. */
static _Atomic(zkr_client *) raced_client;
static _Atomic(zkr_lock *) raced_lock;
static atomic_bool race_is_on;

static void *use_whatever_is_there(void *unexpected) {
  while (race_is_on) {
    zkr_lock *lock = raced_lock;
    zkr_held *held = NULL;
    zkr_error *error = NULL;
    zkr_status status = zkr_lock_acquire(lock, 20, &held, &error);
    if (status == ZKR_INTERNAL || status == ZKR_LOST) atomic_fetch_add((atomic_int *)unexpected, 1);
    (void)zkr_lock_is_held(lock);
    (void)zkr_lock_fencing_token(lock);
    zkr_held_release(held, NULL);
    zkr_client_session_id(raced_client);
    zkr_held_free(held);
    zkr_error_free(error);
  }
  return NULL;
}

void handles_may_be_freed_while_others_use_them(void) {
  pthread_t threads[4];
  atomic_int unexpected = 0;
  const char *at = path("race");

  race_is_on = true;
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, use_whatever_is_there, &unexpected);
  for (int round = 0; round < 20; round++) {
    zkr_client *client = connected(hosts(), "a");
    raced_client = client;
    for (int i = 0; i < 10; i++) {
      zkr_lock *lock = lock_on(client, at);
      raced_lock = lock;
      nap(1);
      zkr_lock_free(lock);
      zkr_lock_free(lock);
    }
    zkr_client_free(client);
    zkr_client_free(client);
  }
  race_is_on = false;
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  CHECK(unexpected == 0);

  zkr_client *observer = connected(hosts(), "observer");
  EVENTUALLY(children_of(observer, at) == 0);
  zkr_client_free(observer);
}

/* A thread that is cancelled while it waits for a lock, and what it got nevertheless. */
typedef struct cancelled {
  zkr_lock *lock;
  atomic_bool has_begun;
  zkr_status acquired, released;
} cancelled;

static void *wait_for_a_lock(void *user_data) {
  cancelled *self = user_data;
  zkr_held *held = NULL;

  self->has_begun = true;
  self->acquired = zkr_lock_acquire(self->lock, -1, &held, NULL);
  self->released = zkr_held_release(held, NULL);
  zkr_held_free(held);
  pthread_testcancel();
  return NULL;
}

void a_thread_that_is_cancelled_ends_behind_its_call(void) {
  zkr_error *error = NULL;
  zkr_held *held = NULL;
  pthread_t thread;
  void *result = NULL;
  zkr_client *client = connected(hosts(), "holder"), *other = connected(hosts(), "waiter");
  const char *at = path("cancelled-thread");
  zkr_lock *lock = lock_on(client, at);
  cancelled waiter = {.lock = lock_on(other, at), .acquired = ZKR_INTERNAL, .released = ZKR_INTERNAL};

  OK(zkr_lock_acquire(lock, -1, &held, &error));
  pthread_create(&thread, NULL, wait_for_a_lock, &waiter);
  EVENTUALLY(waiter.has_begun && children_of(client, at) == 2);
  CHECK(pthread_cancel(thread) == 0);
  OK(zkr_held_release(held, &error));
  CHECK(pthread_join(thread, &result) == 0);
  CHECK(result == PTHREAD_CANCELED);
  CHECK(waiter.acquired == ZKR_OK && waiter.released == ZKR_OK);
  CHECK(children_of(client, at) == 0);

  zkr_held_free(held);
  zkr_lock_free(lock);
  zkr_lock_free(waiter.lock);
  zkr_client_free(other);
  zkr_client_free(client);
}
