/* SPDX-License-Identifier: Apache-2.0
 *
 * A plug-in that uses the library, and is unloaded while its program goes on.
 */

#include <stdatomic.h>
#include <time.h>
#include <zkrecipes.h>

static atomic_int told;

static void on_state(zkr_state state, void *user_data) {
  (void)state, (void)user_data;
  atomic_fetch_add(&told, 1);
}

static void on_verified(zkr_status status, const zkr_error *error, void *user_data) {
  (void)status, (void)error, (void)user_data;
  atomic_fetch_add(&told, 1);
}

/* 0, or which step has failed. */
int plugin_run(const char *hosts) {
  zkr_client *client = NULL;
  zkr_lock *lock = NULL;
  int failed = 0;

  if (zkr_client_connect(hosts, NULL, &client, NULL) != ZKR_OK) return 1;
  if (zkr_client_on_state(client, on_state, NULL, NULL, NULL) != ZKR_OK) failed = 2;
  if (zkr_lock_new(client, "/plugin", NULL, &lock, NULL) != ZKR_OK) failed = 3;
  if (zkr_lock_acquire(lock, 5000, NULL, NULL) != ZKR_OK) failed = 4;
  if (zkr_lock_verify_async(lock, on_verified, NULL) != ZKR_OK) failed = 5;
  /* Somebody is open, and says so. */
  if (zkr_library_shutdown(0, NULL) != ZKR_INVALID) failed = 6;
  zkr_lock_free(lock);
  /* Closed in the background: that is waited for. */
  zkr_client_free(client);
  if (zkr_library_shutdown(10000, NULL) != ZKR_OK) failed = 7;
  /* Freed or called back: whatever came, came before. */
  return failed;
}
