/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client is made with, bad options and hosts, and what errors say.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define REFUSED_OPTION(change, word)                                                    \
  do {                                                                                  \
    zkr_options options = ZKR_OPTIONS_INIT;                                             \
    change;                                                                             \
    REFUSED(zkr_client_connect(hosts(), &options, &client, &error), ZKR_INVALID, word); \
  } while (0)

void bad_options_are_refused_and_named(void) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_lock *lock = NULL;
  zkr_auth auth = {"digest", "a:b", 3}, no_scheme = {NULL, "a:b", 3}, no_password = {"digest", "a", 1};
  zkr_acl_entry entry = {"world", "anyone", "rx"}, no_id = {"world", NULL, "r"};
  unsigned char three = 3;

  REFUSED_OPTION(options.size = 0, "ZKR_OPTIONS_INIT");
  REFUSED_OPTION(options.size = 7, "size");
  REFUSED_OPTION(options.size = (size_t)-1, "size");
  REFUSED_OPTION(options.session_timeout_ms = -1, "session_timeout_ms");
  REFUSED_OPTION(options.session_timeout_ms = 0, "session_timeout_ms");
  REFUSED_OPTION(options.session_timeout_ms = INT64_MAX, "session_timeout_ms");
  REFUSED_OPTION(options.connect_timeout_ms = 0, "connect_timeout_ms");
  REFUSED_OPTION(options.retry_base_ms = -1, "retry_base_ms");
  REFUSED_OPTION(options.retry_max_ms = 1, "invalid retry_max_ms: must not be shorter than retry_base_ms");
  REFUSED_OPTION(options.server_tick_ms = -1, "server_tick_ms");
  REFUSED_OPTION(options.server_tick_ms = 5001, "at most half of session_timeout_ms");
  REFUSED_OPTION(options.max_in_flight = 0, "max_in_flight");
  REFUSED_OPTION(options.identity = "", "identity");
  REFUSED_OPTION(options.identity = "\xff", "identity");
  REFUSED_OPTION(options.acl = (zkr_acl)9, "acl");
  REFUSED_OPTION(options.acl = ZKR_ACL_CREATOR, "acl");
  REFUSED_OPTION(options.acl = ZKR_ACL_LIST, "acl");
  REFUSED_OPTION((options.acl = ZKR_ACL_LIST, options.acl_list = &entry, options.acl_count = 1), "acl");
  REFUSED_OPTION((options.acl = ZKR_ACL_LIST, options.acl_list = &no_id, options.acl_count = 1),
                 "acl_list.id");
  REFUSED_OPTION((options.acl = ZKR_ACL_LIST, options.acl_count = 1), "acl_list");
  REFUSED_OPTION(options.auth_count = 1, "auth");
  REFUSED_OPTION((options.auth = &auth, options.auth_count = (size_t)-1), "auth");
  REFUSED_OPTION((options.auth = &no_password, options.auth_count = 1), "user:password");
  REFUSED_OPTION((options.auth = &no_scheme, options.auth_count = 1), "auth.scheme");
  REFUSED_OPTION(options.naming = (zkr_naming)9, "naming");
  REFUSED_OPTION(options.lease = (zkr_lease)-1, "lease");
  REFUSED_OPTION(memcpy(&options.read_only, &three, 1), "read_only");
  REFUSED_OPTION(options.reserved_1 = 1, "options");
  REFUSED_OPTION(options.reserved_2[0] = 1, "options");
  REFUSED_OPTION(options.reserved_3[6] = 1, "options");
  REFUSED_OPTION(options.reserved_4[6] = 1, "options");
  REFUSED_OPTION(options.reserved_6 = 1, "options");
  REFUSED_OPTION(memcpy(&options.allow_plaintext_auth, &three, 1), "allow_plaintext_auth");
  REFUSED_OPTION(memcpy(&options.tls_allow_expired_crls, &three, 1), "tls_allow_expired_crls");
  REFUSED_OPTION(memcpy(&options.refuse_open_parents, &three, 1), "refuse_open_parents");
  REFUSED_OPTION(options.size = 152, "options");
  REFUSED_OPTION(options.tls_ca = "/ca.pem", "tls");
  REFUSED_OPTION(options.sasl_user = "user", "sasl_password");
  REFUSED_OPTION(options.sasl_password = "secret", "sasl_user");
  CHECK(client == NULL);

  client = connected(hosts(), "a");
  zkr_lock_options options = ZKR_LOCK_OPTIONS_INIT;
  options.size = 0;
  REFUSED(zkr_lock_new(client, path("options"), &options, &lock, &error), ZKR_INVALID,
          "ZKR_LOCK_OPTIONS_INIT");
  options.size = sizeof options;
  options.reserved[2] = 1;
  REFUSED(zkr_lock_new(client, path("options"), &options, &lock, &error), ZKR_INVALID, "options");
  options.reserved[2] = 0;
  memcpy(&options.reentrant, &three, 1);
  REFUSED(zkr_lock_new(client, path("options"), &options, &lock, &error), ZKR_INVALID, "reentrant");
  zkr_client_free(client);
}

void the_header_has_the_version_of_the_library(void) {
  char version[64];
  snprintf(version, sizeof version, "%d.%d.%d", ZKR_VERSION_MAJOR, ZKR_VERSION_MINOR, ZKR_VERSION_PATCH);
  CHECK(strcmp(version, zkr_version()) == 0);
}

void options_of_other_versions_are_understood(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_lock *lock = NULL;
  struct {
    zkr_lock_options known;
    uint64_t added;
  } newer = {ZKR_LOCK_OPTIONS_INIT, 0};

  newer.known.size = sizeof newer;
  OK(zkr_lock_new(client, path("newer"), &newer.known, &lock, &error));
  zkr_lock_free(lock);
  newer.added = 1;
  REFUSED(zkr_lock_new(client, path("newer"), &newer.known, &lock, &error), ZKR_INVALID, "options");
  CHECK(lock == NULL);
  zkr_client_free(client);
}

void bad_hosts_are_refused_and_named(void) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  const char *bad[] = {"h:port", "h:99999", ":2181", "h:1/relative//", ",", "\xff:1"};

  unsetenv("ZKRECIPES_HOSTS");
  REFUSED(zkr_client_connect(NULL, NULL, &client, &error), ZKR_INVALID, "ZKRECIPES_HOSTS");
  REFUSED(zkr_client_connect("", NULL, &client, &error), ZKR_INVALID, "embedded:");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    REFUSED(zkr_client_connect(bad[i], NULL, &client, &error), ZKR_INVALID, "hosts");
  CHECK(client == NULL);

  setenv("ZKRECIPES_HOSTS", hosts(), 1);
  OK(zkr_client_connect(NULL, NULL, &client, &error));
  unsetenv("ZKRECIPES_HOSTS");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    REFUSED(zkr_client_update_hosts(client, bad[i], &error), ZKR_INVALID, "hosts");
  OK(zkr_client_update_hosts(client, hosts(), &error));
  CHECK(zkr_client_state(client) == ZKR_STATE_CONNECTED);
  zkr_client_free(client);
}

void no_server_is_connection_lost_in_time(void) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_options options = ZKR_OPTIONS_INIT;
  options.connect_timeout_ms = 300;

  int64_t begun = now_ms();
  REFUSED(zkr_client_connect("127.0.0.1:1", &options, &client, &error), ZKR_CONNECTION_LOST, "");
  CHECK(now_ms() - begun < 5000);
  CHECK(client == NULL);
}

/* Errors ------------------------------------------------------------------------------------------------- */

void errors_have_a_code_a_message_and_a_path(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  const char *at = path("missing");

  CHECK(zkr_nodes_delete(client, at, -1, &error) == ZKR_NO_NODE);
  CHECK(zkr_error_code(error) == ZKR_NO_NODE);
  CHECK(strcmp(zkr_error_path(error), at) == 0);
  CHECK(strlen(zkr_error_message(error)) > 10);
  CHECK(!zkr_error_retryable(error));
  CHECK(zkr_error_reason(error) == ZKR_REASON_NONE);
  zkr_error_free(error);

  CHECK(zkr_error_code(NULL) == ZKR_OK);
  CHECK(zkr_error_message(NULL) != NULL && zkr_error_path(NULL) == NULL);
  CHECK(strcmp(zkr_status_name(ZKR_OK), "OK") == 0);
  CHECK(strcmp(zkr_status_name(ZKR_CONNECTION_LOST), "CONNECTION_LOST") == 0);
  CHECK(strcmp(zkr_status_name((zkr_status)99), "UNKNOWN") == 0);
  CHECK(strcmp(zkr_reason_name(ZKR_REASON_REVOKED), "revoked") == 0);
  CHECK(strcmp(zkr_state_name(ZKR_STATE_SUSPENDED), "suspended") == 0);
  CHECK(strlen(zkr_version()) >= 5);
  zkr_client_free(client);
}

void an_error_that_stands_is_left_alone(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");

  CHECK(zkr_nodes_delete(client, path("missing"), -1, &error) == ZKR_NO_NODE);
  zkr_error *first = error;
  CHECK(zkr_nodes_delete(client, "relative", -1, &error) == ZKR_INVALID);
  CHECK(error == first && zkr_error_code(error) == ZKR_NO_NODE);
  zkr_error_free(error);
  zkr_client_free(client);
}
