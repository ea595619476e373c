/* SPDX-License-Identifier: Apache-2.0
 *
 * Bad input of every kind: a typed error that names the argument, no crash, nothing sent.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static void ignore_done(zkr_status status, const zkr_error *error, void *user_data) {
  (void)status, (void)error, (void)user_data;
}

static void ignore_held(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data) {
  (void)status, (void)error, (void)user_data;
  zkr_held_free(held);
}

static void ignore_answer(zkr_status status, bool answer, const zkr_error *error, void *user_data) {
  (void)status, (void)answer, (void)error, (void)user_data;
}

static void ignore_contenders(zkr_status status, zkr_contenders *list, const zkr_error *error,
                              void *user_data) {
  (void)status, (void)error, (void)user_data;
  zkr_contenders_free(list);
}

static void ignore_revoke(void *user_data) { (void)user_data; }
static void ignore_lost(const zkr_error *error, void *user_data) { (void)error, (void)user_data; }
static void ignore_state(zkr_state state, void *user_data) { (void)state, (void)user_data; }

void bad_paths_are_refused_before_anything_is_sent(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  zkr_client *client = connected(zkr_test_server_connect_string(server), "a");
  zkr_lock *lock = NULL;
  zkr_buffer *data = NULL;
  zkr_transaction *writes = NULL;
  static const char *bad[] = {NULL,
                              "",
                              "a",
                              "a/b",
                              "//",
                              "/a//b",
                              "/a/",
                              "/.",
                              "/..",
                              "/a/.",
                              "/a/../b",
                              "/\xff",
                              "/a\xc3(",
                              "/\x01",
                              "/\x7f",
                              "/a\nb",
                              "/\xed\xa0\x80",
                              "relative/",
                              "/a\xf0\x9f\x98\x80",
                              "/\xf0\x90\x80\x80/b",
                              "/\xef\xbf\xbf"};
  size_t size = 2 << 20;
  char *huge = malloc(size + 1);

  CHECK(huge != NULL);
  memset(huge, 'x', size);
  huge[0] = '/';
  huge[size] = '\0';
  OK(zkr_nodes_transaction(client, &writes, &error));
  OK(zkr_test_server_clear_log(server, &error));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    REFUSED(zkr_lock_new(client, bad[i], NULL, &lock, &error), ZKR_INVALID, "path");
    REFUSED(zkr_nodes_create(client, bad[i], "", 0, ZKR_PERSISTENT, NULL, &error), ZKR_INVALID, "path");
    REFUSED(zkr_nodes_get(client, bad[i], &data, NULL, &error), ZKR_INVALID, "path");
    REFUSED(zkr_nodes_set(client, bad[i], "", 0, -1, NULL, &error), ZKR_INVALID, "path");
    REFUSED(zkr_nodes_delete(client, bad[i], -1, &error), ZKR_INVALID, "path");
    REFUSED(zkr_nodes_ensure(client, bad[i], &error), ZKR_INVALID, "path");
    REFUSED(zkr_nodes_delete_all(client, bad[i], &error), ZKR_INVALID, "path");
    REFUSED(zkr_transaction_create(writes, bad[i], "", 0, ZKR_PERSISTENT, &error), ZKR_INVALID, "path");
    REFUSED(zkr_transaction_check(writes, bad[i], -1, &error), ZKR_INVALID, "path");
  }
  REFUSED(zkr_lock_new(client, "/", NULL, &lock, &error), ZKR_INVALID, "path");
  REFUSED(zkr_nodes_create(client, "/", "", 0, ZKR_PERSISTENT, NULL, &error), ZKR_INVALID, "root");
  REFUSED(zkr_nodes_delete(client, "/", -1, &error), ZKR_INVALID, "root");
  REFUSED(zkr_nodes_delete_all(client, "/", &error), ZKR_INVALID, "root");
  REFUSED(zkr_transaction_create(writes, "/", "", 0, ZKR_PERSISTENT, &error), ZKR_INVALID, "root");
  REFUSED(zkr_transaction_delete(writes, "/", -1, &error), ZKR_INVALID, "root");
  REFUSED(zkr_lock_new(client, huge, NULL, &lock, &error), ZKR_TOO_LARGE, "");
  REFUSED(zkr_nodes_create(client, huge, "", 0, ZKR_PERSISTENT, NULL, &error), ZKR_TOO_LARGE, "");
  REFUSED(zkr_nodes_create(client, "/a", huge, size, ZKR_PERSISTENT, NULL, &error), ZKR_TOO_LARGE, "");
  CHECK(lock == NULL && data == NULL);
  CHECK(zkr_test_server_count(server, "create*", NULL) == 0);
  CHECK(zkr_test_server_count(server, "getData", NULL) == 0);

  free(huge);
  zkr_transaction_free(writes);
  zkr_client_free(client);
  zkr_test_server_free(server);
}

/* Calls every verb on the handles of this set; what is no handle at all stays of the wrong kind for every
 * verb. */
typedef struct handles {
  zkr_client *client;
  zkr_lock *lock;
  zkr_held *held;
  zkr_transaction *transaction;
  zkr_cancel_token *token;
  zkr_test_server *server;
  zkr_read_write_lock *read_write_lock;
  zkr_multi_lock *multi_lock;
  zkr_semaphore *semaphore;
  zkr_test_proxy *proxy;
  zkr_test_ensemble *ensemble;
} handles;

/* The same for the rest of the lock family and of the testing kit. */
static void every_other_verb_refuses(handles with) {
  zkr_error *error = NULL;
  zkr_read_write_lock *read_write_lock = NULL;
  zkr_multi_lock *multi_lock = NULL;
  zkr_semaphore *semaphore = NULL;
  zkr_held *held = NULL;
  zkr_subscription *subscription = NULL;
  zkr_contenders *contenders = NULL;
  zkr_strings *strings = NULL;
  zkr_transaction *writes = NULL;
  zkr_test_requests *requests = NULL;
  bool flag = true;
  uint64_t number = 0;

  REFUSED(zkr_lock_revoke(with.lock, NULL, -1, &flag, &error), ZKR_INVALID, "lock");
  CHECK(zkr_lock_revoke_async(with.lock, NULL, -1, ignore_answer, NULL) == ZKR_INVALID);
  REFUSED(zkr_lock_revoke_cancellable(with.lock, NULL, -1, NULL, &flag, &error), ZKR_INVALID, "lock");
  CHECK(zkr_lock_revoke_cancellable_async(with.lock, NULL, -1, NULL, ignore_answer, NULL) == ZKR_INVALID);
  CHECK(zkr_lock_contenders_async(with.lock, ignore_contenders, NULL) == ZKR_INVALID);
  REFUSED(zkr_held_on_revoke(with.held, ignore_revoke, NULL, &subscription, &error), ZKR_INVALID, "held");
  CHECK(zkr_held_fencing_tokens(with.held, &number, 1) == 0 && zkr_held_permits(with.held) == 0);
  CHECK(zkr_held_passes(with.held) == 0);

  REFUSED(zkr_read_write_lock_new(with.client, "/a", &read_write_lock, &error), ZKR_INVALID, "client");
  CHECK(zkr_read_write_lock_path(with.read_write_lock) == NULL);
  CHECK(zkr_read_write_lock_read(with.read_write_lock) == NULL);
  CHECK(zkr_read_write_lock_write(with.read_write_lock) == NULL);

  REFUSED(zkr_multi_lock_new(with.client, &with.lock, 1, &multi_lock, &error), ZKR_INVALID, "client");
  REFUSED(zkr_multi_lock_paths(with.multi_lock, &strings, &error), ZKR_INVALID, "multi_lock");
  REFUSED(zkr_multi_lock_acquire(with.multi_lock, 0, &held, &error), ZKR_INVALID, "multi_lock");
  REFUSED(zkr_multi_lock_release(with.multi_lock, &error), ZKR_INVALID, "multi_lock");
  REFUSED(zkr_multi_lock_release_in_background(with.multi_lock, &error), ZKR_INVALID, "multi_lock");
  REFUSED(zkr_multi_lock_cancel(with.multi_lock, &error), ZKR_INVALID, "multi_lock");
  CHECK(zkr_multi_lock_acquire_async(with.multi_lock, 0, ignore_held, NULL) == ZKR_INVALID);
  CHECK(zkr_multi_lock_release_async(with.multi_lock, ignore_done, NULL) == ZKR_INVALID);
  CHECK(!zkr_multi_lock_is_held(with.multi_lock));
  REFUSED(zkr_multi_lock_verify(with.multi_lock, &error), ZKR_INVALID, "multi_lock");
  REFUSED(zkr_multi_lock_guarded(with.multi_lock, &writes, &error), ZKR_INVALID, "multi_lock");
  REFUSED(zkr_multi_lock_on_lost(with.multi_lock, ignore_lost, NULL, &subscription, &error), ZKR_INVALID,
          "multi_lock");
  REFUSED(zkr_multi_lock_contenders(with.multi_lock, &contenders, &error), ZKR_INVALID, "multi_lock");
  REFUSED(zkr_multi_lock_revoke(with.multi_lock, NULL, 0, &flag, &error), ZKR_INVALID, "multi_lock");
  REFUSED(zkr_multi_lock_revoke_cancellable(with.multi_lock, NULL, 0, NULL, &flag, &error), ZKR_INVALID,
          "multi_lock");
  CHECK(zkr_multi_lock_verify_async(with.multi_lock, ignore_done, NULL) == ZKR_INVALID);
  CHECK(zkr_multi_lock_contenders_async(with.multi_lock, ignore_contenders, NULL) == ZKR_INVALID);
  CHECK(zkr_multi_lock_revoke_async(with.multi_lock, NULL, 0, ignore_answer, NULL) == ZKR_INVALID);
  CHECK(zkr_multi_lock_revoke_cancellable_async(with.multi_lock, NULL, 0, NULL, ignore_answer, NULL) ==
        ZKR_INVALID);
  CHECK(zkr_multi_lock_fencing_token(with.multi_lock) == 0);
  CHECK(zkr_multi_lock_fencing_tokens(with.multi_lock, &number, 1) == 0);

  REFUSED(zkr_semaphore_new(with.client, "/a", 1, &semaphore, &error), ZKR_INVALID, "client");
  REFUSED(zkr_semaphore_acquire(with.semaphore, 1, 0, &held, &error), ZKR_INVALID, "semaphore");
  REFUSED(zkr_semaphore_release(with.semaphore, &error), ZKR_INVALID, "semaphore");
  REFUSED(zkr_semaphore_release_in_background(with.semaphore, &error), ZKR_INVALID, "semaphore");
  REFUSED(zkr_semaphore_cancel(with.semaphore, &error), ZKR_INVALID, "semaphore");
  REFUSED(zkr_semaphore_holders(with.semaphore, &contenders, &error), ZKR_INVALID, "semaphore");
  REFUSED(zkr_semaphore_resize(with.semaphore, 1, &error), ZKR_INVALID, "semaphore");
  CHECK(zkr_semaphore_acquire_async(with.semaphore, 1, 0, ignore_held, NULL) == ZKR_INVALID);
  CHECK(zkr_semaphore_release_async(with.semaphore, ignore_done, NULL) == ZKR_INVALID);
  CHECK(zkr_semaphore_resize_async(with.semaphore, 1, ignore_done, NULL) == ZKR_INVALID);
  CHECK(zkr_semaphore_holders_async(with.semaphore, ignore_contenders, NULL) == ZKR_INVALID);
  REFUSED(zkr_semaphore_verify(with.semaphore, &error), ZKR_INVALID, "semaphore");
  REFUSED(zkr_semaphore_guarded(with.semaphore, &writes, &error), ZKR_INVALID, "semaphore");
  REFUSED(zkr_semaphore_on_lost(with.semaphore, ignore_lost, NULL, &subscription, &error), ZKR_INVALID,
          "semaphore");
  REFUSED(zkr_semaphore_contenders(with.semaphore, &contenders, &error), ZKR_INVALID, "semaphore");
  REFUSED(zkr_semaphore_revoke(with.semaphore, NULL, 0, &flag, &error), ZKR_INVALID, "semaphore");
  REFUSED(zkr_semaphore_revoke_cancellable(with.semaphore, NULL, 0, NULL, &flag, &error), ZKR_INVALID,
          "semaphore");
  CHECK(zkr_semaphore_verify_async(with.semaphore, ignore_done, NULL) == ZKR_INVALID);
  CHECK(zkr_semaphore_contenders_async(with.semaphore, ignore_contenders, NULL) == ZKR_INVALID);
  CHECK(zkr_semaphore_revoke_async(with.semaphore, NULL, 0, ignore_answer, NULL) == ZKR_INVALID);
  CHECK(zkr_semaphore_revoke_cancellable_async(with.semaphore, NULL, 0, NULL, ignore_answer, NULL) ==
        ZKR_INVALID);
  CHECK(zkr_semaphore_fencing_token(with.semaphore) == 0);
  CHECK(!zkr_semaphore_is_held(with.semaphore) && zkr_semaphore_permits(with.semaphore) == 0);
  CHECK(zkr_semaphore_path(with.semaphore) == NULL);

  REFUSED(zkr_client_check_sequencer(with.client, "1:1:/a", &flag, &error), ZKR_INVALID, "client");
  REFUSED(zkr_client_watch_sequencer(with.client, "1:1:/a", 0, &error), ZKR_INVALID, "client");
  CHECK(zkr_client_check_sequencer_async(with.client, "1:1:/a", ignore_answer, NULL) == ZKR_INVALID);
  CHECK(zkr_client_watch_sequencer_async(with.client, "1:1:/a", 0, ignore_done, NULL) == ZKR_INVALID);

  REFUSED(zkr_test_server_log(with.server, &requests, &error), ZKR_INVALID, "server");
  REFUSED(zkr_test_server_freeze_clock(with.server, &error), ZKR_INVALID, "server");
  REFUSED(zkr_test_server_advance_clock(with.server, 1, &error), ZKR_INVALID, "server");
  REFUSED(zkr_test_server_thaw_clock(with.server, &error), ZKR_INVALID, "server");
  CHECK(zkr_test_server_connection_count(with.server) == 0);
  REFUSED(zkr_test_proxy_drop_connections(with.proxy, &error), ZKR_INVALID, "proxy");
  REFUSED(zkr_test_proxy_pause(with.proxy, &error), ZKR_INVALID, "proxy");
  REFUSED(zkr_test_proxy_resume(with.proxy, &error), ZKR_INVALID, "proxy");
  REFUSED(zkr_test_proxy_expire(with.proxy, 1, &error), ZKR_INVALID, "proxy");
  REFUSED(zkr_test_proxy_inject(with.proxy, "drop_before *", &number, &error), ZKR_INVALID, "proxy");
  REFUSED(zkr_test_proxy_log(with.proxy, &requests, &error), ZKR_INVALID, "proxy");
  CHECK(zkr_test_proxy_connect_string(with.proxy) == NULL && zkr_test_proxy_port(with.proxy) == 0);
  CHECK(zkr_test_proxy_count(with.proxy, "*", NULL) == 0 && !zkr_test_proxy_fault_fired(with.proxy, 1));
  REFUSED(zkr_test_ensemble_lag(with.ensemble, 1, 1, &error), ZKR_INVALID, "ensemble");
  REFUSED(zkr_test_ensemble_isolate(with.ensemble, 1, &error), ZKR_INVALID, "ensemble");
  CHECK(zkr_test_ensemble_server(with.ensemble) == NULL && zkr_test_ensemble_size(with.ensemble) == 0);
  CHECK(zkr_test_ensemble_member(with.ensemble, 0) == NULL);

  CHECK(!read_write_lock && !multi_lock && !semaphore && !held && !subscription);
  CHECK(!contenders && !strings && !writes && !requests);
}

static void every_verb_refuses(handles with) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_lock *lock = NULL;
  zkr_held *held = NULL;
  zkr_transaction *transaction = NULL;
  zkr_subscription *subscription = NULL;
  zkr_contenders *contenders = NULL;
  zkr_buffer *buffer = NULL;
  zkr_strings *strings = NULL;
  zkr_stat stat;
  bool flag;
  uint64_t number;

  REFUSED(zkr_client_close(with.client, 0, &error), ZKR_INVALID, "client");
  REFUSED(zkr_client_on_state(with.client, ignore_state, NULL, &subscription, &error), ZKR_INVALID, "client");
  CHECK(zkr_client_close_async(with.client, 0, ignore_done, NULL) == ZKR_INVALID);
  CHECK(zkr_client_event_fd(with.client) == -ZKR_INVALID);
  CHECK(zkr_client_dispatch(with.client, 0, 0) == -ZKR_INVALID);
  CHECK(zkr_client_state(with.client) == ZKR_STATE_CLOSED);
  CHECK(zkr_client_session_id(with.client) == 0);
  CHECK(zkr_client_session_timeout(with.client) == 0);
  CHECK(zkr_client_lease_remaining(with.client) == 0);

  REFUSED(zkr_lock_new(with.client, "/a", NULL, &lock, &error), ZKR_INVALID, "client");
  REFUSED(zkr_lock_acquire(with.lock, 0, &held, &error), ZKR_INVALID, "lock");
  REFUSED(zkr_lock_acquire_cancellable(with.lock, 0, NULL, &held, &error), ZKR_INVALID, "lock");
  REFUSED(zkr_lock_release(with.lock, &error), ZKR_INVALID, "lock");
  REFUSED(zkr_lock_release_in_background(with.lock, &error), ZKR_INVALID, "lock");
  REFUSED(zkr_lock_verify(with.lock, &error), ZKR_INVALID, "lock");
  REFUSED(zkr_lock_guarded(with.lock, &transaction, &error), ZKR_INVALID, "lock");
  REFUSED(zkr_lock_on_lost(with.lock, ignore_lost, NULL, &subscription, &error), ZKR_INVALID, "lock");
  REFUSED(zkr_lock_cancel(with.lock, &error), ZKR_INVALID, "lock");
  REFUSED(zkr_lock_contenders(with.lock, &contenders, &error), ZKR_INVALID, "lock");
  CHECK(zkr_lock_acquire_async(with.lock, 0, ignore_held, NULL) == ZKR_INVALID);
  CHECK(zkr_lock_release_async(with.lock, ignore_done, NULL) == ZKR_INVALID);
  CHECK(zkr_lock_verify_async(with.lock, ignore_done, NULL) == ZKR_INVALID);
  REFUSED(zkr_lock_downgrade(with.lock, &held, &error), ZKR_INVALID, "lock");
  CHECK(zkr_lock_downgrade_async(with.lock, ignore_held, NULL) == ZKR_INVALID);
  CHECK(!zkr_lock_is_held(with.lock));
  CHECK(zkr_lock_fencing_token(with.lock) == 0);
  CHECK(zkr_lock_path(with.lock) == NULL);

  REFUSED(zkr_held_verify(with.held, &error), ZKR_INVALID, "held");
  REFUSED(zkr_held_release(with.held, &error), ZKR_INVALID, "held");
  REFUSED(zkr_held_release_in_background(with.held, &error), ZKR_INVALID, "held");
  REFUSED(zkr_held_guarded(with.held, &transaction, &error), ZKR_INVALID, "held");
  REFUSED(zkr_held_on_lost(with.held, ignore_lost, NULL, &subscription, &error), ZKR_INVALID, "held");
  CHECK(zkr_held_verify_async(with.held, ignore_done, NULL) == ZKR_INVALID);
  REFUSED(zkr_held_downgrade(with.held, &held, &error), ZKR_INVALID, "held");
  CHECK(zkr_held_downgrade_async(with.held, ignore_held, NULL) == ZKR_INVALID);
  CHECK(zkr_held_release_async(with.held, ignore_done, NULL) == ZKR_INVALID);
  CHECK(!zkr_held_is_held(with.held));
  CHECK(zkr_held_fencing_token(with.held) == 0);
  CHECK(zkr_held_path(with.held) == NULL && zkr_held_node(with.held) == NULL);
  CHECK(zkr_held_sequencer(with.held) == NULL);

  REFUSED(zkr_nodes_create(with.client, "/a", "", 0, ZKR_PERSISTENT, &buffer, &error), ZKR_INVALID, "client");
  REFUSED(zkr_nodes_get(with.client, "/a", &buffer, &stat, &error), ZKR_INVALID, "client");
  REFUSED(zkr_nodes_set(with.client, "/a", "", 0, -1, &stat, &error), ZKR_INVALID, "client");
  REFUSED(zkr_nodes_delete(with.client, "/a", -1, &error), ZKR_INVALID, "client");
  REFUSED(zkr_nodes_exists(with.client, "/a", &flag, &stat, &error), ZKR_INVALID, "client");
  REFUSED(zkr_nodes_children(with.client, "/a", &strings, &error), ZKR_INVALID, "client");
  REFUSED(zkr_nodes_ensure(with.client, "/a", &error), ZKR_INVALID, "client");
  REFUSED(zkr_nodes_delete_all(with.client, "/a", &error), ZKR_INVALID, "client");
  REFUSED(zkr_nodes_transaction(with.client, &transaction, &error), ZKR_INVALID, "client");
  CHECK(zkr_nodes_ensure_async(with.client, "/a", ignore_done, NULL) == ZKR_INVALID);

  REFUSED(zkr_transaction_create(with.transaction, "/a", "", 0, ZKR_PERSISTENT, &error), ZKR_INVALID,
          "transaction");
  REFUSED(zkr_transaction_set(with.transaction, "/a", "", 0, -1, &error), ZKR_INVALID, "transaction");
  REFUSED(zkr_transaction_delete(with.transaction, "/a", -1, &error), ZKR_INVALID, "transaction");
  REFUSED(zkr_transaction_check(with.transaction, "/a", -1, &error), ZKR_INVALID, "transaction");
  REFUSED(zkr_transaction_commit(with.transaction, &error), ZKR_INVALID, "transaction");
  CHECK(zkr_transaction_commit_async(with.transaction, ignore_done, NULL) == ZKR_INVALID);

  CHECK(zkr_cancel_token_cancel(with.token) == ZKR_INVALID);
  if (with.token)
    REFUSED(zkr_client_connect_cancellable("embedded:", NULL, with.token, &client, &error), ZKR_INVALID,
            "token");

  REFUSED(zkr_test_server_stop(with.server, &error), ZKR_INVALID, "server");
  REFUSED(zkr_test_server_restart(with.server, &error), ZKR_INVALID, "server");
  REFUSED(zkr_test_server_expire(with.server, 1, &error), ZKR_INVALID, "server");
  REFUSED(zkr_test_server_inject(with.server, "drop_before *", &number, &error), ZKR_INVALID, "server");
  REFUSED(zkr_test_server_nodes(with.server, &strings, &error), ZKR_INVALID, "server");
  REFUSED(zkr_test_server_paths(with.server, &strings, &error), ZKR_INVALID, "server");
  CHECK(zkr_test_server_connect_string(with.server) == NULL);
  CHECK(zkr_test_server_port(with.server) == 0);
  CHECK(zkr_test_server_count(with.server, "*", NULL) == 0);

  CHECK(!client && !lock && !held && !transaction && !subscription && !contenders && !buffer && !strings);
  every_other_verb_refuses(with);
}

void null_is_refused_by_every_verb(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_lock *lock = lock_on(client, path("null"));

  every_verb_refuses((handles){0});
  REFUSED(zkr_client_connect(hosts(), NULL, NULL, &error), ZKR_INVALID, "client");
  REFUSED(zkr_lock_new(client, "/a", NULL, NULL, &error), ZKR_INVALID, "lock");
  REFUSED(zkr_lock_contenders(lock, NULL, &error), ZKR_INVALID, "contenders");
  REFUSED(zkr_lock_guarded(lock, NULL, &error), ZKR_INVALID, "transaction");
  REFUSED(zkr_nodes_get(client, "/", NULL, NULL, &error), ZKR_INVALID, "data");
  REFUSED(zkr_nodes_exists(client, "/", NULL, NULL, &error), ZKR_INVALID, "exists");
  REFUSED(zkr_nodes_children(client, "/", NULL, &error), ZKR_INVALID, "children");
  REFUSED(zkr_nodes_create(client, "/a", NULL, 1, ZKR_PERSISTENT, NULL, &error), ZKR_INVALID, "data");
  REFUSED(zkr_nodes_create(client, "/a", "", (size_t)-1, ZKR_PERSISTENT, NULL, &error), ZKR_INVALID, "data");
  REFUSED(zkr_nodes_create(client, "/a", "", 0, (zkr_create_mode)77, NULL, &error), ZKR_INVALID, "mode");
  REFUSED(zkr_nodes_set(client, "/a", "", 0, -2, NULL, &error), ZKR_INVALID, "version");
  REFUSED(zkr_nodes_delete(client, "/a", -2, &error), ZKR_INVALID, "version");
  REFUSED(zkr_client_on_state(client, NULL, NULL, NULL, &error), ZKR_INVALID, "callback");
  REFUSED(zkr_lock_on_lost(lock, NULL, NULL, NULL, &error), ZKR_INVALID, "callback");
  CHECK(zkr_lock_acquire_async(lock, 0, NULL, NULL) == ZKR_INVALID);
  CHECK(zkr_lock_release_async(lock, NULL, NULL) == ZKR_INVALID);
  CHECK(zkr_client_connect_async(hosts(), NULL, NULL, NULL) == ZKR_INVALID);
  CHECK(zkr_lock_acquire(NULL, 0, NULL, NULL) == ZKR_INVALID); /* without a place for the error either */
  zkr_lock_free(lock);
  zkr_client_free(client);
}

static handles fresh(void) {
  zkr_error *error = NULL;
  handles made = {0};
  made.server = own_server();
  made.client = connected(zkr_test_server_connect_string(made.server), "a");
  made.lock = lock_on(made.client, "/handles");
  made.token = zkr_cancel_token_new();
  zkr_lock_acquire(made.lock, 5000, &made.held, &error);
  zkr_held_guarded(made.held, &made.transaction, &error);
  zkr_read_write_lock_new(made.client, "/sides", &made.read_write_lock, &error);
  zkr_multi_lock_new(made.client, &made.lock, 1, &made.multi_lock, &error);
  zkr_semaphore_new(made.client, "/semaphore", 1, &made.semaphore, &error);
  zkr_test_proxy_start(zkr_test_server_connect_string(made.server), &made.proxy, &error);
  zkr_test_ensemble_start(3, NULL, &made.ensemble, &error);
  return made;
}

static void free_all(handles all) {
  zkr_read_write_lock_free(all.read_write_lock);
  zkr_multi_lock_free(all.multi_lock);
  zkr_semaphore_free(all.semaphore);
  zkr_test_proxy_free(all.proxy);
  zkr_test_ensemble_free(all.ensemble);
  zkr_transaction_free(all.transaction);
  zkr_held_free(all.held);
  zkr_lock_free(all.lock);
  zkr_client_free(all.client);
  zkr_cancel_token_free(all.token);
  zkr_test_server_free(all.server);
}

void freed_handles_are_refused_by_every_verb(void) {
  handles used = fresh();
  CHECK(used.held != NULL && used.transaction != NULL && used.read_write_lock != NULL);
  CHECK(used.multi_lock != NULL && used.semaphore != NULL && used.proxy != NULL && used.ensemble != NULL);
  free_all(used);
  every_verb_refuses(used);
  handles successors = fresh(); /* in the same places, but not the same handles */
  every_verb_refuses(used);
  free_all(successors);
}

void a_handle_of_another_kind_is_refused_by_every_verb(void) {
  handles right = fresh();
  handles wrong = {.client = (zkr_client *)right.lock,
                   .lock = (zkr_lock *)right.held,
                   .held = (zkr_held *)right.transaction,
                   .transaction = (zkr_transaction *)right.token,
                   .token = (zkr_cancel_token *)right.server,
                   .server = (zkr_test_server *)right.client,
                   .read_write_lock = (zkr_read_write_lock *)right.lock,
                   .multi_lock = (zkr_multi_lock *)right.semaphore,
                   .semaphore = (zkr_semaphore *)right.multi_lock,
                   .proxy = (zkr_test_proxy *)right.ensemble,
                   .ensemble = (zkr_test_ensemble *)right.server};
  every_verb_refuses(wrong);

  int local = 0;
  void *foreign[] = {&local, (void *)1, (void *)-1, (void *)0x7fffffffffff, "text"};
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    void *one = foreign[i];
    every_verb_refuses((handles){one, one, one, one, one, one, one, one, one, one, one});
  }
  CHECK(zkr_held_is_held(right.held));
  free_all(right);
}

void every_free_takes_null_and_a_second_time(void) {
  zkr_error *error = NULL;
  handles all = fresh();
  zkr_subscription *subscription = NULL;
  zkr_buffer *buffer = NULL;
  zkr_strings *strings = NULL;
  zkr_contenders *contenders = NULL;

  OK(zkr_client_on_state(all.client, ignore_state, NULL, &subscription, &error));
  OK(zkr_nodes_get(all.client, "/", &buffer, NULL, &error));
  OK(zkr_nodes_children(all.client, "/", &strings, &error));
  OK(zkr_lock_contenders(all.lock, &contenders, &error));
  zkr_status status = zkr_nodes_delete(all.client, "/none", -1, &error);
  CHECK(status == ZKR_NO_NODE);
  for (int i = 0; i < 2; i++) {
    zkr_subscription_free(subscription);
    zkr_buffer_free(buffer);
    zkr_strings_free(strings);
    zkr_contenders_free(contenders);
    zkr_error_free(error);
    free_all(all);
  }
  free_all((handles){0});
  zkr_subscription_free(NULL);
  zkr_buffer_free(NULL);
  zkr_strings_free(NULL);
  zkr_contenders_free(NULL);
  zkr_error_free(NULL);
  zkr_lock_free((zkr_lock *)&all);
  CHECK(zkr_buffer_size(buffer) == 0 && zkr_strings_count(strings) == 0 &&
        zkr_contenders_count(contenders) == 0);
  CHECK(zkr_buffer_size(NULL) == 0 && strcmp(zkr_buffer_text(NULL), "") == 0);
  CHECK(zkr_error_code(error) == ZKR_OK && zkr_error_path(error) == NULL);
}

void closed_clients_answer_closed(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_lock *lock = lock_on(client, path("closed")), *never = NULL;
  zkr_held *held = NULL;
  zkr_transaction *writes = NULL;

  OK(zkr_nodes_transaction(client, &writes, &error));
  OK(zkr_transaction_check(writes, "/", -1, &error));
  OK(zkr_lock_acquire(lock, 5000, &held, &error));
  OK(zkr_client_close(client, 5000, &error));
  OK(zkr_client_close(client, 0, &error));
  CHECK(zkr_client_state(client) == ZKR_STATE_CLOSED);
  REFUSED(zkr_lock_acquire(lock, -1, NULL, &error), ZKR_CLOSED, "closed");
  REFUSED(zkr_lock_contenders(lock, &(zkr_contenders *){NULL}, &error), ZKR_CLOSED, "");
  REFUSED(zkr_lock_new(client, path("closed"), NULL, &never, &error), ZKR_CLOSED, "");
  REFUSED(zkr_nodes_ensure(client, path("closed"), &error), ZKR_CLOSED, "");
  REFUSED(zkr_transaction_commit(writes, &error), ZKR_CLOSED, "");
  CHECK(zkr_lock_verify_async(lock, ignore_done, NULL) == ZKR_CLOSED);
  REFUSED(zkr_client_on_state(client, ignore_state, NULL, NULL, &error), ZKR_CLOSED, "closed");
  REFUSED(zkr_lock_on_revoke(lock, ignore_revoke, NULL, NULL, &error), ZKR_CLOSED, "closed");
  REFUSED(zkr_held_on_revoke(held, ignore_revoke, NULL, NULL, &error), ZKR_CLOSED, "closed");
  CHECK(!zkr_lock_is_held(lock));
  zkr_held_free(held);
  zkr_transaction_free(writes);
  zkr_lock_free(lock);
  zkr_client_free(client);
}

/* Options ------------------------------------------------------------------------------------------------ */
