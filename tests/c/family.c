/* SPDX-License-Identifier: Apache-2.0
 *
 * The rest of the lock family: read/write locks, several locks as one, semaphores, and sequencers.
 */

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

static zkr_read_write_lock *read_write_lock_on(zkr_client *client, const char *path) {
  zkr_read_write_lock *lock = NULL;
  zkr_read_write_lock_new(client, path, &lock, NULL);
  return lock;
}

/* Read/write locks --------------------------------------------------------------------------------------- */

void the_sides_of_a_read_write_lock_go_with_it(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  const char *at = path("sides");
  zkr_read_write_lock *lock = read_write_lock_on(client, at);
  zkr_lock *write = zkr_read_write_lock_write(lock);
  zkr_held *held = NULL;

  OK(zkr_lock_acquire(write, 5000, &held, &error));
  zkr_lock_free(write); /* nothing to free */
  CHECK(zkr_lock_is_held(write));
  zkr_read_write_lock_free(lock);
  zkr_read_write_lock_free(lock);
  REFUSED(zkr_lock_release(write, &error), ZKR_INVALID, "lock");
  CHECK(zkr_read_write_lock_read(lock) == NULL && zkr_read_write_lock_write(lock) == NULL);
  CHECK(zkr_read_write_lock_path(lock) == NULL);
  CHECK(zkr_held_is_held(held)); /* which owns it from then on */
  zkr_held_free(held);
  EVENTUALLY(children_of(client, at) == 0);
  zkr_client_free(client);
}

/* Several locks as one ----------------------------------------------------------------------------------- */

void bad_sets_of_locks_are_refused(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  zkr_lock *a = lock_on(first, path("set-a")), *again = lock_on(first, path("set-a"));
  zkr_lock *foreign = lock_on(second, path("set-b"));
  zkr_read_write_lock *sides = read_write_lock_on(first, path("set-c"));
  zkr_multi_lock *multi = NULL;

  REFUSED(zkr_multi_lock_new(first, NULL, 0, &multi, &error), ZKR_INVALID, "locks");
  REFUSED(zkr_multi_lock_new(first, NULL, 2, &multi, &error), ZKR_INVALID, "locks");
  REFUSED(zkr_multi_lock_new(first, (zkr_lock *[]){a, NULL}, 2, &multi, &error), ZKR_INVALID, "locks");
  REFUSED(zkr_multi_lock_new(first, (zkr_lock *[]){a, again}, 2, &multi, &error), ZKR_INVALID, "twice");
  REFUSED(zkr_multi_lock_new(first, (zkr_lock *[]){a, foreign}, 2, &multi, &error), ZKR_INVALID, "locks");
  zkr_lock *read = zkr_read_write_lock_read(sides);
  REFUSED(zkr_multi_lock_new(first, (zkr_lock *[]){a, read}, 2, &multi, &error), ZKR_INVALID, "locks");
  REFUSED(zkr_multi_lock_new(first, &a, (size_t)-1, &multi, &error), ZKR_INVALID, "locks");
  REFUSED(zkr_multi_lock_new(first, &a, 1, NULL, &error), ZKR_INVALID, "multi_lock");
  CHECK(multi == NULL);

  zkr_read_write_lock_free(sides);
  zkr_lock_free(a);
  zkr_lock_free(again);
  zkr_lock_free(foreign);
  zkr_client_free(first);
  zkr_client_free(second);
}

/* Semaphores --------------------------------------------------------------------------------------------- */

void a_semaphore_has_so_many_permits(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  const char *at = path("semaphore");
  zkr_semaphore *one = semaphore_on(first, at, 3), *two = semaphore_on(second, at, 3);
  zkr_held *held = NULL;
  zkr_contenders *holders = NULL;

  CHECK(zkr_semaphore_permits(one) == 3 && strcmp(zkr_semaphore_path(one), at) == 0);
  OK(zkr_semaphore_acquire(one, 2, 5000, &held, &error));
  CHECK(zkr_held_permits(held) == 2 && zkr_semaphore_is_held(one));
  REFUSED(zkr_semaphore_acquire(two, 2, 0, NULL, &error), ZKR_TIMEOUT, "");
  OK(zkr_semaphore_acquire(two, 1, 5000, NULL, &error));
  OK(zkr_semaphore_holders(one, &holders, &error));
  CHECK(zkr_contenders_count(holders) == 3);
  CHECK(strcmp(zkr_contenders_get(holders, 0)->identity, "first") == 0);
  CHECK(strcmp(zkr_contenders_get(holders, 2)->identity, "second") == 0);
  CHECK(strcmp(zkr_contenders_get(holders, 0)->kind, "lease") == 0);
  zkr_contenders_free(holders);

  OK(zkr_semaphore_release(two, &error));
  OK(zkr_semaphore_acquire(one, 1, 5000, NULL, &error)); /* the same handle, again */
  OK(zkr_semaphore_release(one, &error));                /* the latest: one permit */
  CHECK(zkr_held_is_held(held));
  OK(zkr_held_release(held, &error));
  CHECK(!zkr_semaphore_is_held(one));
  REFUSED(zkr_semaphore_release(one, &error), ZKR_NOT_HELD, "");
  REFUSED(zkr_semaphore_release_in_background(one, &error), ZKR_NOT_HELD, "");

  OK(zkr_semaphore_resize(one, 1, &error));
  CHECK(zkr_semaphore_permits(one) == 1);
  REFUSED(zkr_semaphore_acquire(two, 1, 5000, NULL, &error), ZKR_MISMATCH, "");
  OK(zkr_semaphore_acquire(one, 1, 5000, NULL, &error));
  OK(zkr_semaphore_release_in_background(one, &error));
  OK(zkr_semaphore_acquire(one, 1, 5000, NULL, &error));

  zkr_held_free(held);
  zkr_semaphore_free(one); /* releases */
  zkr_semaphore_free(two);
  char leases[300];
  snprintf(leases, sizeof leases, "%s/leases", at);
  EVENTUALLY(children_of(first, leases) == 0);
  zkr_client_free(first);
  zkr_client_free(second);
}

void bad_numbers_of_permits_are_refused(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  const char *at = path("permits");
  zkr_semaphore *semaphore = NULL;

  REFUSED(zkr_semaphore_new(client, at, 0, &semaphore, &error), ZKR_INVALID, "permits");
  REFUSED(zkr_semaphore_new(client, at, (size_t)-1, &semaphore, &error), ZKR_INVALID,
          "permits: -1 is negative");
  REFUSED(zkr_semaphore_new(client, "relative", 1, &semaphore, &error), ZKR_INVALID, "path");
  REFUSED(zkr_semaphore_new(client, at, 1, NULL, &error), ZKR_INVALID, "semaphore");
  CHECK(semaphore == NULL);
  OK(zkr_semaphore_new(client, at, 2, &semaphore, &error));
  REFUSED(zkr_semaphore_acquire(semaphore, 0, -1, NULL, &error), ZKR_INVALID, "n:");
  REFUSED(zkr_semaphore_acquire(semaphore, 3, -1, NULL, &error), ZKR_INVALID, "n:");
  REFUSED(zkr_semaphore_acquire(semaphore, (size_t)-1, -1, NULL, &error), ZKR_INVALID, "n:");
  REFUSED(zkr_semaphore_resize(semaphore, 0, &error), ZKR_INVALID, "permits");
  REFUSED(zkr_semaphore_resize(semaphore, (size_t)-1, &error), ZKR_INVALID, "permits");
  REFUSED(zkr_semaphore_holders(semaphore, NULL, &error), ZKR_INVALID, "holders");
  zkr_semaphore_free(semaphore);
  zkr_client_free(client);
}

typedef struct cancelling {
  zkr_semaphore *semaphore;
  zkr_multi_lock *multi_lock;
  zkr_cancel_token *token;
  zkr_status status;
} cancelling;

static void *wait_for_permits(void *argument) {
  cancelling *self = argument;
  self->status = zkr_semaphore_acquire_cancellable(self->semaphore, 1, -1, self->token, NULL, NULL);
  return NULL;
}

static void *wait_for_all(void *argument) {
  cancelling *self = argument;
  self->status = zkr_multi_lock_acquire_cancellable(self->multi_lock, -1, self->token, NULL, NULL);
  return NULL;
}

void waits_of_the_family_can_be_withdrawn(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  const char *at = path("family-withdrawn");
  char queue[300], single[300];
  snprintf(queue, sizeof queue, "%s/locks", at);
  snprintf(single, sizeof single, "%s-lock", at);
  zkr_semaphore *full = semaphore_on(first, at, 1), *waiting = semaphore_on(second, at, 1);
  zkr_lock *holder = lock_on(first, single), *lock = lock_on(second, single);
  zkr_multi_lock *multi = NULL;
  zkr_cancel_token *token = zkr_cancel_token_new();
  cancelling by_token = {.semaphore = waiting, .token = token}, by_handle = {.semaphore = waiting}, all = {0};
  pthread_t one, other, third;

  OK(zkr_semaphore_acquire(full, 1, 5000, NULL, &error));
  pthread_create(&one, NULL, wait_for_permits, &by_token);
  EVENTUALLY(children_of(first, queue) == 1);
  zkr_cancel_token_cancel(token);
  pthread_join(one, NULL);
  CHECK(by_token.status == ZKR_CANCELLED);
  EVENTUALLY(children_of(first, queue) == 0);
  pthread_create(&other, NULL, wait_for_permits, &by_handle);
  EVENTUALLY(children_of(first, queue) == 1);
  OK(zkr_semaphore_cancel(waiting, &error));
  pthread_join(other, NULL);
  CHECK(by_handle.status == ZKR_CANCELLED);

  OK(zkr_multi_lock_new(second, &lock, 1, &multi, &error));
  OK(zkr_lock_acquire(holder, 5000, NULL, &error));
  all.multi_lock = multi;
  pthread_create(&third, NULL, wait_for_all, &all);
  EVENTUALLY(children_of(first, single) == 2);
  OK(zkr_multi_lock_cancel(multi, &error));
  pthread_join(third, NULL);
  CHECK(all.status == ZKR_CANCELLED);
  EVENTUALLY(children_of(first, queue) == 0 && children_of(first, single) == 1);

  zkr_cancel_token_free(token);
  zkr_multi_lock_free(multi);
  zkr_lock_free(holder);
  zkr_lock_free(lock);
  zkr_semaphore_free(full);
  zkr_semaphore_free(waiting);
  zkr_client_free(first);
  zkr_client_free(second);
}

/* All of it in the background ---------------------------------------------------------------------------- */

void the_family_works_asynchronously(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_semaphore *semaphore = semaphore_on(client, path("async-semaphore"), 2);
  zkr_lock *lock = lock_on(client, path("async-multi"));
  zkr_multi_lock *multi = NULL;
  zkr_cancel_token *token = zkr_cancel_token_new();
  ending permits = {0}, listed = {0}, resized = {0}, all = {0}, valid = {0}, watched = {0}, withdrawn = {0};
  ending revoked = {0}, released = {0}, let_go = {0}, bad = {0}, waiting = {0};
  ending at_once = {0}, in_time = {0};

  OK(zkr_multi_lock_new(client, &lock, 1, &multi, &error));
  CHECK(zkr_semaphore_acquire_async(semaphore, 2, 5000, note_held, &permits) == ZKR_OK);
  CHECK(zkr_multi_lock_acquire_async(multi, 5000, note_held, &all) == ZKR_OK);
  EVENTUALLY(permits.calls == 1 && all.calls == 1);
  CHECK(zkr_held_permits(permits.held) == 2 && zkr_held_is_held(all.held));
  CHECK(zkr_semaphore_holders_async(semaphore, note_contenders, &listed) == ZKR_OK);
  CHECK(zkr_client_check_sequencer_async(client, zkr_held_sequencer(all.held), note_answer, &valid) ==
        ZKR_OK);
  CHECK(zkr_client_watch_sequencer_async(client, zkr_held_sequencer(all.held), -1, note_done, &watched) ==
        ZKR_OK);
  CHECK(zkr_client_watch_sequencer_cancellable_async(client, zkr_held_sequencer(all.held), -1, token,
                                                     note_done, &withdrawn) == ZKR_OK);
  CHECK(zkr_client_watch_sequencer_async(client, zkr_held_sequencer(all.held), 0, note_done, &at_once) ==
        ZKR_OK);
  CHECK(zkr_client_watch_sequencer_async(client, zkr_held_sequencer(all.held), 50, note_done, &in_time) ==
        ZKR_OK);
  EVENTUALLY(at_once.calls == 1 && in_time.calls == 1);
  CHECK(at_once.status == ZKR_TIMEOUT && in_time.status == ZKR_TIMEOUT);
  CHECK(zkr_lock_revoke_async(lock, NULL, -1, note_answer, &revoked) == ZKR_OK);
  CHECK(zkr_semaphore_acquire_cancellable_async(semaphore, 1, -1, token, note_held, &waiting) == ZKR_OK);
  EVENTUALLY(listed.calls == 1 && valid.calls == 1 && revoked.calls == 1);
  CHECK(listed.listed == 2 && valid.answer && revoked.answer && watched.calls == 0);
  zkr_cancel_token_cancel(token);
  EVENTUALLY(withdrawn.calls == 1 && waiting.calls == 1);
  CHECK(withdrawn.status == ZKR_CANCELLED && waiting.status == ZKR_CANCELLED && waiting.held == NULL);
  CHECK(zkr_multi_lock_release_async(multi, note_done, &released) == ZKR_OK);
  CHECK(zkr_semaphore_release_async(semaphore, note_done, &let_go) == ZKR_OK);
  CHECK(!zkr_multi_lock_is_held(multi) && !zkr_semaphore_is_held(semaphore));
  EVENTUALLY(released.calls == 1 && let_go.calls == 1 && watched.calls == 1);
  CHECK(released.status == ZKR_OK && let_go.status == ZKR_OK && watched.status == ZKR_OK);
  CHECK(zkr_semaphore_resize_async(semaphore, 5, note_done, &resized) == ZKR_OK);
  CHECK(zkr_client_check_sequencer_async(client, "nonsense", note_answer, &bad) == ZKR_OK);
  EVENTUALLY(resized.calls == 1 && bad.calls == 1);
  CHECK(resized.status == ZKR_OK && zkr_semaphore_permits(semaphore) == 5 && bad.status == ZKR_INVALID);

  zkr_held_free(permits.held);
  zkr_held_free(all.held);
  zkr_cancel_token_free(token);
  zkr_multi_lock_free(multi);
  zkr_semaphore_free(semaphore);
  zkr_lock_free(lock);
  zkr_client_free(client);
}

void a_turn_passed_on_inside_the_process_is_counted(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  const char *at = path("passes");
  zkr_lock_options options = ZKR_LOCK_OPTIONS_INIT;
  options.local_handoff = 10;
  zkr_lock *one = NULL, *two = NULL;
  zkr_held *first = NULL;
  ending next = {0};

  OK(zkr_lock_new(client, at, &options, &one, &error));
  OK(zkr_lock_new(client, at, &options, &two, &error));
  OK(zkr_lock_acquire(one, 5000, &first, &error));
  CHECK(zkr_lock_acquire_async(two, 5000, note_held, &next) == ZKR_OK);
  nap(100); /* it waits inside the process: no node says so */
  CHECK(children_of(client, at) == 1);
  OK(zkr_lock_release(one, &error));
  EVENTUALLY(next.calls == 1);
  CHECK(zkr_held_fencing_token(next.held) == zkr_held_fencing_token(first));
  CHECK(zkr_held_passes(first) == 0 && zkr_held_passes(next.held) == 1);
  OK(zkr_held_release(next.held, &error));

  zkr_held_free(first);
  zkr_held_free(next.held);
  zkr_lock_free(one);
  zkr_lock_free(two);
  zkr_client_free(client);
}
