/* SPDX-License-Identifier: Apache-2.0
 *
 * A race of a callback with the program: ThreadSanitizer must see it, for all that it is kept from looking
 * at.
 */

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include <zkrecipes.h>

static int raced;
static atomic_bool called;

static void race(zkr_status status, const zkr_error *error, void *user_data) {
  (void)status, (void)error, (void)user_data;
  raced++;
  atomic_store_explicit(&called, true, memory_order_relaxed); /* relaxed: it orders nothing */
}

int main(void) {
  zkr_client *client = NULL;
  zkr_lock *lock = NULL;

  if (zkr_client_connect("embedded:", NULL, &client, NULL) != ZKR_OK) return 1;
  if (zkr_lock_new(client, "/race", NULL, &lock, NULL) != ZKR_OK) return 2;
  if (zkr_lock_acquire(lock, -1, NULL, NULL) != ZKR_OK) return 3;
  if (zkr_lock_verify_async(lock, race, NULL) != ZKR_OK) return 4;
  while (!atomic_load_explicit(&called, memory_order_relaxed)) usleep(1000);
  raced++;
  zkr_client_close(client, 2000, NULL);
  zkr_lock_free(lock);
  zkr_client_free(client);
  return 0;
}
