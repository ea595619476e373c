/* SPDX-License-Identifier: Apache-2.0
 *
 * Plain node operations, and the test server.
 */

#include <stdio.h>
#include <string.h>

#include "harness.h"

static const char *below(const char *parent, const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", parent, name);
  return path;
}

void nodes_are_created_read_written_and_deleted(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  const char *at = path("nodes");
  zkr_buffer *data = NULL, *created = NULL;
  zkr_strings *names = NULL;
  zkr_stat stat, again;
  bool exists = true;

  OK(zkr_nodes_exists(client, at, &exists, NULL, &error));
  CHECK(!exists);
  OK(zkr_nodes_ensure(client, at, &error));
  OK(zkr_nodes_ensure(client, at, &error));
  OK(zkr_nodes_create(client, below(at, "b"), "a\0b", 3, ZKR_PERSISTENT, NULL, &error));
  OK(zkr_nodes_create(client, below(at, "a-"), NULL, 0, ZKR_EPHEMERAL_SEQUENTIAL, &created, &error));
  CHECK(zkr_buffer_size(created) == strlen(at) + strlen("/a-0000000000"));
  OK(zkr_nodes_exists(client, zkr_buffer_text(created), &exists, &stat, &error));
  CHECK(exists && (uint64_t)stat.ephemeral_owner == zkr_client_session_id(client));

  OK(zkr_nodes_get(client, below(at, "b"), &data, &stat, &error));
  CHECK(zkr_buffer_size(data) == 3 && memcmp(zkr_buffer_data(data), "a\0b", 4) == 0);
  CHECK(stat.version == 0 && stat.data_length == 3 && stat.czxid > 0 && stat.ephemeral_owner == 0);
  OK(zkr_nodes_set(client, below(at, "b"), "", 0, 0, &again, &error));
  CHECK(again.version == 1 && again.data_length == 0 && again.czxid == stat.czxid &&
        again.mzxid > stat.mzxid);

  OK(zkr_nodes_children(client, at, &names, &error));
  CHECK(zkr_strings_count(names) == 2);
  CHECK(strncmp(zkr_strings_get(names, 0), "a-", 2) == 0 && strcmp(zkr_strings_get(names, 1), "b") == 0);
  CHECK(zkr_strings_get(names, 2) == NULL);
  OK(zkr_nodes_delete(client, below(at, "b"), 1, &error));
  OK(zkr_nodes_delete_all(client, at, &error));
  OK(zkr_nodes_delete_all(client, at, &error));
  OK(zkr_nodes_exists(client, at, &exists, NULL, &error));
  CHECK(!exists);

  zkr_buffer_free(data);
  zkr_buffer_free(created);
  zkr_strings_free(names);
  zkr_client_free(client);
}

void node_errors_are_typed(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  const char *at = path("typed");
  zkr_buffer *data = NULL;
  zkr_strings *names = NULL;

  OK(zkr_nodes_ensure(client, below(at, "child"), &error));
  REFUSED(zkr_nodes_create(client, at, "", 0, ZKR_PERSISTENT, NULL, &error), ZKR_EXISTS, at);
  REFUSED(zkr_nodes_delete(client, at, -1, &error), ZKR_NOT_EMPTY, at);
  REFUSED(zkr_nodes_set(client, at, "", 0, 7, NULL, &error), ZKR_BAD_VERSION, at);
  REFUSED(zkr_nodes_delete(client, below(at, "child"), 7, &error), ZKR_BAD_VERSION, at);
  REFUSED(zkr_nodes_get(client, below(at, "none"), &data, NULL, &error), ZKR_NO_NODE, at);
  REFUSED(zkr_nodes_children(client, below(at, "none"), &names, &error), ZKR_NO_NODE, at);
  REFUSED(zkr_nodes_create(client, below(at, "none/x"), "", 0, ZKR_PERSISTENT, NULL, &error), ZKR_NO_NODE,
          at);
  CHECK(data == NULL && names == NULL);
  zkr_client_free(client);
}

typedef struct answer {
  zkr_status status;
  zkr_buffer *buffer;
  zkr_strings *strings;
  zkr_stat stat;
  bool has_stat;
  int calls;
} answer;

static void finish(answer *answer, zkr_status status, const zkr_stat *stat) {
  answer->status = status;
  answer->has_stat = stat != NULL;
  if (stat) answer->stat = *stat;
  __atomic_fetch_add(&answer->calls, 1, __ATOMIC_SEQ_CST);
}

static void on_buffer(zkr_status status, zkr_buffer *buffer, const zkr_stat *stat, const zkr_error *error,
                      void *user_data) {
  (void)error;
  ((answer *)user_data)->buffer = buffer;
  finish(user_data, status, stat);
}

static void on_stat(zkr_status status, const zkr_stat *stat, const zkr_error *error, void *user_data) {
  (void)error;
  finish(user_data, status, stat);
}

static void on_strings(zkr_status status, zkr_strings *strings, const zkr_error *error, void *user_data) {
  (void)error;
  ((answer *)user_data)->strings = strings;
  finish(user_data, status, NULL);
}

static void on_done(zkr_status status, const zkr_error *error, void *user_data) {
  (void)error;
  finish(user_data, status, NULL);
}

#define ANSWERED(answer) EVENTUALLY(__atomic_load_n(&(answer).calls, __ATOMIC_SEQ_CST) == 1)

void node_verbs_work_asynchronously(void) {
  zkr_client *client = connected(hosts(), "a");
  const char *at = path("async-nodes");
  answer ensured = {0}, created = {0}, set = {0}, got = {0}, there = {0}, missing = {0}, listed = {0};
  answer deleted = {0}, refused = {0}, gone = {0};

  CHECK(zkr_nodes_ensure_async(client, at, on_done, &ensured) == ZKR_OK);
  ANSWERED(ensured);
  CHECK(zkr_nodes_create_async(client, below(at, "x"), "1", 1, ZKR_PERSISTENT, on_buffer, &created) ==
        ZKR_OK);
  ANSWERED(created);
  CHECK(created.status == ZKR_OK && strcmp(zkr_buffer_text(created.buffer), below(at, "x")) == 0);
  CHECK(zkr_nodes_set_async(client, below(at, "x"), "22", 2, -1, on_stat, &set) == ZKR_OK);
  ANSWERED(set);
  CHECK(set.status == ZKR_OK && set.stat.version == 1);
  CHECK(zkr_nodes_get_async(client, below(at, "x"), on_buffer, &got) == ZKR_OK);
  CHECK(zkr_nodes_exists_async(client, at, on_stat, &there) == ZKR_OK);
  CHECK(zkr_nodes_exists_async(client, below(at, "none"), on_stat, &missing) == ZKR_OK);
  CHECK(zkr_nodes_children_async(client, at, on_strings, &listed) == ZKR_OK);
  CHECK(zkr_nodes_delete_async(client, at, -1, on_done, &refused) == ZKR_OK);
  ANSWERED(got);
  ANSWERED(there);
  ANSWERED(missing);
  ANSWERED(listed);
  ANSWERED(refused);
  CHECK(strcmp(zkr_buffer_text(got.buffer), "22") == 0 && got.has_stat && got.stat.data_length == 2);
  CHECK(there.has_stat && there.stat.num_children == 1);
  CHECK(missing.status == ZKR_OK && !missing.has_stat);
  CHECK(zkr_strings_count(listed.strings) == 1);
  CHECK(refused.status == ZKR_NOT_EMPTY);
  CHECK(zkr_nodes_delete_async(client, below(at, "x"), -1, on_done, &deleted) == ZKR_OK);
  ANSWERED(deleted);
  CHECK(zkr_nodes_delete_all_async(client, at, on_done, &gone) == ZKR_OK);
  ANSWERED(gone);
  CHECK(deleted.status == ZKR_OK && gone.status == ZKR_OK);
  zkr_buffer_free(created.buffer);
  zkr_buffer_free(got.buffer);
  zkr_strings_free(listed.strings);
  zkr_client_free(client);
}

/* Whether the node is there; the server's clock goes on. */
static bool stays(zkr_test_server *server, const char *node) {
  zkr_strings *paths = NULL;
  bool found = zkr_test_server_advance_clock(server, 60000, NULL) != ZKR_OK ||
               zkr_test_server_nodes(server, &paths, NULL) != ZKR_OK;
  for (size_t i = 0; i < zkr_strings_count(paths); i++) found |= strcmp(zkr_strings_get(paths, i), node) == 0;
  zkr_strings_free(paths);
  return found;
}

void a_node_with_a_time_to_live_is_removed_by_the_server(void) {
  zkr_error *error = NULL;
  zkr_test_server_options options = ZKR_TEST_SERVER_OPTIONS_INIT;
  zkr_test_server *server = NULL, *without = own_server();
  options.extended_types = true;
  OK(zkr_test_server_start(&options, &server, &error));
  zkr_client *client = connected(zkr_test_server_connect_string(server), "a");
  zkr_client *refused = connected(zkr_test_server_connect_string(without), "b");
  const int64_t minute = 60000, day = 24 * 60 * minute;
  const zkr_create_mode many = ZKR_PERSISTENT_SEQUENTIAL;
  zkr_transaction *writes = NULL;
  zkr_buffer *created = NULL;
  answer made = {0}, bad = {0};

  OK(zkr_nodes_create_ttl(client, "/short", "1", 1, ZKR_PERSISTENT, 1, NULL, &error));
  OK(zkr_nodes_create_ttl(client, "/long-", "2", 1, many, day, &created, &error));
  CHECK(strcmp(zkr_buffer_text(created), "/long-0000000001") == 0);
  OK(zkr_nodes_transaction(client, &writes, &error));
  OK(zkr_transaction_create_ttl(writes, "/other", "3", 1, ZKR_PERSISTENT, minute, &error));
  OK(zkr_transaction_commit(writes, &error));
  CHECK(zkr_nodes_create_ttl_async(client, "/later", "", 0, ZKR_PERSISTENT, 1, on_buffer, &made) == ZKR_OK);
  ANSWERED(made);
  CHECK(made.status == ZKR_OK && strcmp(zkr_buffer_text(made.buffer), "/later") == 0);
  EVENTUALLY(!stays(server, "/short") && !stays(server, "/other") && !stays(server, "/later"));
  CHECK(stays(server, "/long-0000000001"));

  const int64_t never[] = {0, -1, (int64_t)1 << 40};
  for (int i = 0; i < 3; i++) {
    REFUSED(zkr_nodes_create_ttl(client, "/a", "", 0, many, never[i], NULL, &error), ZKR_INVALID, "ttl");
  }
  const zkr_create_mode other[] = {ZKR_EPHEMERAL, ZKR_EPHEMERAL_SEQUENTIAL, ZKR_CONTAINER};
  for (int i = 0; i < 3; i++) {
    REFUSED(zkr_nodes_create_ttl(client, "/a", "", 0, other[i], day, NULL, &error), ZKR_INVALID,
            "persistent");
    REFUSED(zkr_transaction_create_ttl(writes, "/a", "", 0, other[i], day, &error), ZKR_INVALID,
            "persistent");
  }
  CHECK(zkr_nodes_create_ttl_async(client, "/a", "", 0, ZKR_CONTAINER, day, on_buffer, &bad) == ZKR_OK);
  ANSWERED(bad);
  CHECK(bad.status == ZKR_INVALID);
  REFUSED(zkr_nodes_create_ttl(refused, "/a", "", 0, ZKR_PERSISTENT, day, NULL, &error), ZKR_INVALID,
          "extendedTypesEnabled");

  zkr_buffer_free(created);
  zkr_buffer_free(made.buffer);
  zkr_transaction_free(writes);
  zkr_client_free(client);
  zkr_client_free(refused);
  zkr_test_server_free(server);
  zkr_test_server_free(without);
}

void a_transaction_is_all_or_nothing(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  const char *at = path("transaction");
  zkr_transaction *writes = NULL;
  answer committed = {0};

  OK(zkr_nodes_ensure(client, at, &error));
  OK(zkr_nodes_transaction(client, &writes, &error));
  OK(zkr_transaction_check(writes, at, 0, &error));
  OK(zkr_transaction_create(writes, below(at, "a"), "1", 1, ZKR_PERSISTENT, &error));
  OK(zkr_transaction_create(writes, below(at, "b"), "1", 1, ZKR_PERSISTENT, &error));
  OK(zkr_transaction_delete(writes, below(at, "a"), -1, &error));
  CHECK(zkr_transaction_commit_async(writes, on_done, &committed) == ZKR_OK);
  ANSWERED(committed);
  CHECK(committed.status == ZKR_OK && children_of(client, at) == 1);
  REFUSED(zkr_transaction_commit(writes, &error), ZKR_INVALID, "");
  zkr_transaction_free(writes);

  OK(zkr_nodes_transaction(client, &writes, &error));
  OK(zkr_transaction_delete(writes, below(at, "b"), -1, &error));
  OK(zkr_transaction_set(writes, below(at, "none"), "", 0, -1, &error));
  REFUSED(zkr_transaction_commit(writes, &error), ZKR_NO_NODE, "none");
  CHECK(children_of(client, at) == 1);
  zkr_transaction_free(writes);
  zkr_client_free(client);
}

void the_test_server_misbehaves_on_demand(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  zkr_client *client = connected(zkr_test_server_connect_string(server), "a");
  zkr_lock *lock = lock_on(client, "/faulty/lock");
  zkr_strings *paths = NULL;
  uint64_t fault = 0;

  CHECK(zkr_test_server_port(server) > 0);
  REFUSED(zkr_test_server_inject(server, "no such fault", NULL, &error), ZKR_INVALID, "text");
  REFUSED(zkr_test_server_inject(server, NULL, NULL, &error), ZKR_INVALID, "text");
  REFUSED(zkr_test_server_expire(server, 12345, &error), ZKR_INVALID, "session_id");
  REFUSED(zkr_test_server_set_next_sequence(server, "/none", 5, &error), ZKR_NO_NODE, "");
  REFUSED(zkr_test_server_advance_clock(server, -1, &error), ZKR_INVALID, "ms");

  OK(zkr_nodes_ensure(client, "/faulty/lock", &error));
  OK(zkr_test_server_set_next_sequence(server, "/faulty/lock", 41, &error));
  OK(zkr_test_server_clear_log(server, &error));
  OK(zkr_test_server_inject(server, "drop_after create2", &fault, &error)); /* the reply is lost */
  OK(zkr_lock_acquire(lock, 20000, NULL, &error));
  CHECK(zkr_test_server_fault_fired(server, fault));
  CHECK(zkr_test_server_count(server, "create2", "/faulty/lock/**") >= 1);
  OK(zkr_test_server_nodes(server, &paths, &error));
  bool found = false;
  for (size_t i = 0; i < zkr_strings_count(paths); i++) {
    const char *one = zkr_strings_get(paths, i);
    found |= strncmp(one, "/faulty/lock/", 13) == 0 && strstr(one, "0000000041");
  }
  CHECK(found);
  CHECK(children_of(client, "/faulty/lock") == 1);
  CHECK(zkr_test_server_session_count(server) == 1);
  OK(zkr_lock_release(lock, &error));

  OK(zkr_test_server_pause(server, &error));
  REFUSED(zkr_lock_acquire(lock, 200, NULL, &error), ZKR_TIMEOUT, "");
  OK(zkr_test_server_resume(server, &error));
  OK(zkr_test_server_clear_faults(server, &error));
  zkr_strings_free(paths);
  zkr_lock_free(lock);
  zkr_client_free(client);
  zkr_test_server_free(server);
}
