/* SPDX-License-Identifier: Apache-2.0 */

#include "kinds.h"

#include <stdio.h>
#include <stdlib.h>

static void note_nothing(const zkr_wait_progress *progress, void *user_data) {
  (void)progress;
  (void)user_data;
}

#define FORWARDERS(recipe)                                                                                 \
  static zkr_status recipe##_release(void *handle, zkr_error **error) {                                    \
    return zkr_##recipe##_release(handle, error);                                                          \
  }                                                                                                        \
  static zkr_status recipe##_release_in_background(void *handle, zkr_error **error) {                      \
    return zkr_##recipe##_release_in_background(handle, error);                                            \
  }                                                                                                        \
  static bool recipe##_is_held(void *handle) { return zkr_##recipe##_is_held(handle); }                    \
  static uint64_t recipe##_fencing_token(void *handle) { return zkr_##recipe##_fencing_token(handle); }    \
  static zkr_status recipe##_verify(void *handle, zkr_error **error) {                                     \
    return zkr_##recipe##_verify(handle, error);                                                           \
  }                                                                                                        \
  static zkr_status recipe##_verify_async(void *handle, ending *end) {                                     \
    return zkr_##recipe##_verify_async(handle, note_done, end);                                            \
  }                                                                                                        \
  static zkr_status recipe##_guarded(void *handle, zkr_transaction **writes, zkr_error **error) {          \
    return zkr_##recipe##_guarded(handle, writes, error);                                                  \
  }                                                                                                        \
  static zkr_status recipe##_on_lost(void *handle, losses *seen, zkr_subscription **subscription,          \
                                     zkr_error **error) {                                                  \
    return zkr_##recipe##_on_lost(handle, note_loss, seen, subscription, error);                           \
  }                                                                                                        \
  static zkr_status recipe##_on_revoke(void *handle, atomic_int *calls, zkr_subscription **subscription,   \
                                       zkr_error **error) {                                                \
    return zkr_##recipe##_on_revoke(handle, note_call, calls, subscription, error);                        \
  }                                                                                                        \
  static zkr_status recipe##_on_wait(void *handle, zkr_subscription **subscription, zkr_error **error) {   \
    return zkr_##recipe##_on_wait(handle, note_nothing, NULL, subscription, error);                        \
  }                                                                                                        \
  static zkr_status recipe##_contenders(void *handle, zkr_contenders **list, zkr_error **error) {          \
    return zkr_##recipe##_contenders(handle, list, error);                                                 \
  }                                                                                                        \
  static zkr_status recipe##_contenders_async(void *handle, ending *end) {                                 \
    return zkr_##recipe##_contenders_async(handle, note_contenders, end);                                  \
  }                                                                                                        \
  static zkr_status recipe##_revoke(void *handle, const char *node, int64_t force_after_ms, bool *asked,   \
                                    zkr_error **error) {                                                   \
    return zkr_##recipe##_revoke(handle, node, force_after_ms, asked, error);                              \
  }                                                                                                        \
  static zkr_status recipe##_revoke_async(void *handle, const char *node, int64_t force_after_ms,          \
                                          ending *end) {                                                   \
    return zkr_##recipe##_revoke_async(handle, node, force_after_ms, note_answer, end);                    \
  }                                                                                                        \
  static zkr_status recipe##_revoke_cancellable(void *handle, const char *node, int64_t force_after_ms,    \
                                                zkr_cancel_token *token, bool *asked, zkr_error **error) { \
    return zkr_##recipe##_revoke_cancellable(handle, node, force_after_ms, token, asked, error);           \
  }                                                                                                        \
  static zkr_status recipe##_revoke_cancellable_async(                                                     \
      void *handle, const char *node, int64_t force_after_ms, zkr_cancel_token *token, ending *end) {      \
    return zkr_##recipe##_revoke_cancellable_async(handle, node, force_after_ms, token, note_answer, end); \
  }                                                                                                        \
  static void recipe##_free(void *handle) { zkr_##recipe##_free(handle); }

FORWARDERS(lock)
FORWARDERS(multi_lock)
FORWARDERS(semaphore)

static zkr_status lock_acquire(void *handle, zkr_held **held, zkr_error **error) {
  return zkr_lock_acquire(handle, 10000, held, error);
}

static zkr_status multi_lock_acquire(void *handle, zkr_held **held, zkr_error **error) {
  return zkr_multi_lock_acquire(handle, 10000, held, error);
}

static zkr_status semaphore_acquire(void *handle, zkr_held **held, zkr_error **error) {
  return zkr_semaphore_acquire(handle, 1, 10000, held, error);
}

#define KIND(recipe)                                                                                        \
  {                                                                                                         \
#recipe, recipe##_acquire, recipe##_release, recipe##_release_in_background, recipe##_is_held,          \
        recipe##_fencing_token, recipe##_verify, recipe##_verify_async, recipe##_guarded, recipe##_on_lost, \
        recipe##_on_revoke, recipe##_on_wait, recipe##_contenders, recipe##_contenders_async,               \
        recipe##_revoke, recipe##_revoke_async, recipe##_revoke_cancellable,                                \
        recipe##_revoke_cancellable_async, recipe##_free                                                    \
  }

const kind kinds[KINDS] = {KIND(lock), KIND(multi_lock), KIND(semaphore)};

zkr_multi_lock *multi_lock_on(zkr_client *client, const char *a, const char *b) {
  zkr_lock *locks[] = {lock_on(client, b), lock_on(client, a)};
  zkr_multi_lock *made = NULL;
  if (zkr_multi_lock_new(client, locks, 2, &made, NULL) != ZKR_OK) {
    printf("no multi-lock on %s and %s\n", a, b);
    exit(2);
  }
  zkr_lock_free(locks[0]);
  zkr_lock_free(locks[1]);
  return made;
}

void *made(const kind *kind, zkr_client *client, const char *base) {
  char one[300], other[300];
  snprintf(one, sizeof one, "%s/%s", base, kind->name);
  snprintf(other, sizeof other, "%s/%s-too", base, kind->name);
  if (kind == &kinds[LOCK]) return lock_on(client, one);
  if (kind == &kinds[MULTI_LOCK]) return multi_lock_on(client, one, other);
  return semaphore_on(client, one, 1);
}

size_t count_of(const kind *kind, void *handle) {
  zkr_contenders *list = NULL;
  kind->contenders(handle, &list, NULL);
  size_t count = zkr_contenders_count(list);
  zkr_contenders_free(list);
  return count;
}
