/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of version 0.1: compiled against the header of then, and run with the library of today. Compiled
 * against today's header as well, it says at once what has moved.
 */

#include ZKR_HEADER
#include ZKR_TESTING_HEADER

#include <stdio.h>
#include <string.h>

#include "layout.h"

#if ZKR_VERSION_MAJOR != 0
#error "another major version has a layout of its own, and another soname"
#endif

#if UINTPTR_MAX == UINT64_MAX
#define STANDS(type, field, at, bytes)                                      \
  _Static_assert(offsetof(type, field) == (at), #type "." #field " moved"); \
  _Static_assert(sizeof(((type *)0)->field) == (bytes), #type "." #field " has another size");
OPTIONS_0_1(STANDS)
LOCK_OPTIONS_0_1(STANDS)
TEST_SERVER_OPTIONS_0_1(STANDS)
RESULTS_0_1(STANDS)
_Static_assert(sizeof(zkr_options) >= 160, "zkr_options has shrunk");
_Static_assert(sizeof(zkr_lock_options) >= 16, "zkr_lock_options has shrunk");
_Static_assert(sizeof(zkr_test_server_options) >= 48, "zkr_test_server_options has shrunk");
/* What callers make room for never grows. */
_Static_assert(sizeof(zkr_stat) == 72, "zkr_stat has another size");
#endif

static int acquired;

static void on_held(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data) {
  (void)error;
  *(int *)user_data = status == ZKR_OK && zkr_held_fencing_token(held) > 0;
  zkr_held_free(held);
}

int main(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = NULL;
  zkr_client *client = NULL;
  zkr_lock *lock = NULL;
  zkr_test_server_options serving = ZKR_TEST_SERVER_OPTIONS_INIT;
  zkr_options options = ZKR_OPTIONS_INIT;
  zkr_lock_options locking = ZKR_LOCK_OPTIONS_INIT;
  zkr_stat stat;
  zkr_buffer *data = NULL;
  char older[32];

  /* The library may be newer than the header, but of the same major version. */
  snprintf(older, sizeof older, "%d.", ZKR_VERSION_MAJOR);
  if (strncmp(zkr_version(), older, strlen(older)) != 0) return 1;
  serving.min_session_timeout_ms = 1000;
  options.session_timeout_ms = 5000;
  options.identity = "of version 0.1";
  options.read_only = false;
  locking.reentrant = true;
  if (zkr_test_server_start(&serving, &server, &error) != ZKR_OK) goto fail;
  if (zkr_client_connect(zkr_test_server_connect_string(server), &options, &client, &error) != ZKR_OK)
    goto fail;
  if (zkr_client_session_timeout(client) != 5000 || zkr_client_event_fd(client) < 0) goto fail;
  if (zkr_lock_new(client, "/abi", &locking, &lock, &error) != ZKR_OK) goto fail;
  if (zkr_lock_acquire(lock, 5000, NULL, &error) != ZKR_OK) goto fail;
  if (zkr_lock_acquire_async(lock, 5000, on_held, &acquired) != ZKR_OK) goto fail;
  if (zkr_client_dispatch(client, 1, 5000) != 1 || !acquired) goto fail;
  if (zkr_nodes_get(client, "/abi", &data, &stat, &error) != ZKR_OK || stat.num_children != 1) goto fail;
  zkr_buffer_free(data);
  zkr_client_close(client, 5000, NULL);
  zkr_lock_free(lock);
  zkr_client_free(client);
  zkr_test_server_free(server);
  return 0;
fail:
  fprintf(stderr, "%s\n", zkr_error_message(error));
  return 2;
}
