/* SPDX-License-Identifier: Apache-2.0
 *
 * The testing kit: the clock, the request log, the proxy and the ensemble.
 */

#include <stdio.h>
#include <string.h>

#include "harness.h"

void the_test_servers_clock_can_be_moved(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  zkr_client *client = connected(zkr_test_server_connect_string(server), "a");
  zkr_lock *lock = lock_on(client, "/clock");

  OK(zkr_lock_acquire(lock, 5000, NULL, &error));
  OK(zkr_test_server_freeze_clock(server, &error));
  OK(zkr_test_server_stop(server, &error)); /* nothing keeps the session alive but the clock */
  OK(zkr_test_server_restart(server, &error));
  CHECK(zkr_test_server_session_count(server) == 1);
  OK(zkr_test_server_pause(server, &error));
  OK(zkr_test_server_advance_clock(server, 60000, &error));
  OK(zkr_test_server_resume(server, &error));
  EVENTUALLY(!zkr_lock_is_held(lock));
  OK(zkr_test_server_thaw_clock(server, &error));
  REFUSED(zkr_test_server_advance_clock(server, -1, &error), ZKR_INVALID, "ms");

  zkr_lock_free(lock);
  zkr_client_free(client);
  zkr_test_server_free(server);
}

void the_request_log_says_what_where_and_whose(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  zkr_client *client = connected(zkr_test_server_connect_string(server), "a");
  zkr_test_requests *log = NULL;
  const zkr_test_request *found = NULL;

  OK(zkr_test_server_clear_log(server, &error));
  OK(zkr_nodes_create(client, "/logged", "12", 2, ZKR_PERSISTENT, NULL, &error));
  REFUSED(zkr_nodes_delete(client, "/none", -1, &error), ZKR_NO_NODE, "");
  OK(zkr_test_server_log(server, &log, &error));
  bool refused = false;
  for (size_t i = 0; i < zkr_test_requests_count(log); i++) {
    const zkr_test_request *one = zkr_test_requests_get(log, i);
    if (strncmp(one->kind, "create", 6) == 0) found = one;
    refused |= strcmp(one->kind, "delete") == 0 && one->error == -101;
  }
  CHECK(found != NULL && refused);
  CHECK(strcmp(found->path, "/logged") == 0 && found->session_id == zkr_client_session_id(client));
  CHECK(found->outcome == ZKR_TEST_ANSWERED && found->error == 0 && found->zxid > 0);
  CHECK(found->bytes_in > 0 && found->bytes_out > 0);
  CHECK(zkr_test_requests_get(log, zkr_test_requests_count(log)) == NULL);
  CHECK(zkr_test_server_count(server, "create*", "/logged") == 1);
  CHECK(zkr_test_server_connection_count(server) == 1);
  REFUSED(zkr_test_server_log(server, NULL, &error), ZKR_INVALID, "requests");

  zkr_test_requests_free(log);
  zkr_test_requests_free(log);
  CHECK(zkr_test_requests_count(log) == 0 && zkr_test_requests_get(log, 0) == NULL);
  zkr_client_free(client);
  zkr_test_server_free(server);
}

void a_proxy_brings_faults_before_a_server(void) {
  zkr_error *error = NULL;
  char upstream[256];
  snprintf(upstream, sizeof upstream, "%.*s", (int)strcspn(hosts(), ",/"), hosts());
  zkr_test_proxy *proxy = NULL;
  zkr_test_requests *log = NULL;
  uint64_t fault = 0;

  OK(zkr_test_proxy_start(upstream, &proxy, &error));
  CHECK(zkr_test_proxy_port(proxy) > 0);
  zkr_client *client = connected(zkr_test_proxy_connect_string(proxy), "a");
  const char *at = path("proxied");
  zkr_lock *lock = lock_on(client, at);
  OK(zkr_nodes_ensure(client, at, &error));
  CHECK(zkr_test_proxy_session_count(proxy) == 1 && zkr_test_proxy_connection_count(proxy) == 1);

  OK(zkr_test_proxy_clear_log(proxy, &error));
  OK(zkr_test_proxy_inject(proxy, "drop_after create2", &fault, &error));
  CHECK(!zkr_test_proxy_fault_fired(proxy, fault));
  OK(zkr_lock_acquire(lock, 20000, NULL, &error));
  CHECK(zkr_test_proxy_fault_fired(proxy, fault) && children_of(client, at) == 1);
  CHECK(zkr_test_proxy_count(proxy, "create2", "/c-tests-*/**") >= 1);
  OK(zkr_test_proxy_log(proxy, &log, &error));
  bool unanswered = false;
  for (size_t i = 0; i < zkr_test_requests_count(log); i++)
    unanswered |= zkr_test_requests_get(log, i)->outcome == ZKR_TEST_UNANSWERED;
  CHECK(unanswered);
  zkr_test_requests_free(log);

  OK(zkr_test_proxy_drop_connections(proxy, &error));
  OK(zkr_lock_verify(lock, &error));
  OK(zkr_test_proxy_pause(proxy, &error));
  OK(zkr_test_proxy_resume(proxy, &error));
  OK(zkr_test_proxy_clear_faults(proxy, &error));
  OK(zkr_test_proxy_expire(proxy, zkr_client_session_id(client), &error));
  EVENTUALLY(!zkr_lock_is_held(lock));
  REFUSED(zkr_test_proxy_expire(proxy, 1, &error), ZKR_INVALID, "session_id");
  REFUSED(zkr_test_proxy_inject(proxy, "no such fault", NULL, &error), ZKR_INVALID, "text");

  zkr_lock_free(lock);
  zkr_client_free(client);
  zkr_test_proxy_free(proxy);
  proxy = NULL;
  REFUSED(zkr_test_proxy_start(NULL, &proxy, &error), ZKR_INVALID, "upstream");
  REFUSED(zkr_test_proxy_start("no port", &proxy, &error), ZKR_INVALID, "upstream");
  CHECK(proxy == NULL);
}

void the_followers_of_an_ensemble_can_be_cut_off(void) {
  zkr_error *error = NULL;
  zkr_test_ensemble *ensemble = NULL;

  REFUSED(zkr_test_ensemble_start(0, NULL, &ensemble, &error), ZKR_INVALID, "members");
  REFUSED(zkr_test_ensemble_start((size_t)-1, NULL, &ensemble, &error), ZKR_INVALID, "members");
  REFUSED(zkr_test_ensemble_start(3, NULL, NULL, &error), ZKR_INVALID, "ensemble");
  OK(zkr_test_ensemble_start(3, NULL, &ensemble, &error));
  CHECK(zkr_test_ensemble_size(ensemble) == 3 && zkr_test_ensemble_member(ensemble, 3) == NULL);
  zkr_test_server *all = zkr_test_ensemble_server(ensemble);
  CHECK(strchr(zkr_test_server_connect_string(all), ',') != NULL);
  zkr_client *leading = connected(zkr_test_ensemble_member(ensemble, 0), "a");
  zkr_client *following = connected(zkr_test_ensemble_member(ensemble, 1), "b");
  bool exists = true;

  OK(zkr_test_ensemble_hold(ensemble, 1, &error));
  OK(zkr_nodes_create(leading, "/new", "", 0, ZKR_PERSISTENT, NULL, &error));
  CHECK(zkr_test_ensemble_behind(ensemble, 1) >= 1 && zkr_test_ensemble_behind(ensemble, 0) == 0);
  OK(zkr_nodes_exists(following, "/new", &exists, NULL, &error));
  CHECK(!exists);
  OK(zkr_test_ensemble_release(ensemble, 1, &error));
  EVENTUALLY(zkr_test_ensemble_behind(ensemble, 1) == 0);
  OK(zkr_test_ensemble_lag(ensemble, 2, 20, &error));
  OK(zkr_test_ensemble_isolate(ensemble, 1, &error));
  REFUSED(zkr_test_ensemble_isolate(ensemble, 2, &error), ZKR_INVALID, "follower"); /* no majority then */
  OK(zkr_test_ensemble_heal(ensemble, 1, &error));
  REFUSED(zkr_test_ensemble_heal(ensemble, 1, &error), ZKR_INVALID, "follower");
  REFUSED(zkr_test_ensemble_hold(ensemble, 0, &error), ZKR_INVALID, "follower");
  REFUSED(zkr_test_ensemble_lag(ensemble, 9, 1, &error), ZKR_INVALID, "follower");
  REFUSED(zkr_test_ensemble_lag(ensemble, 1, -1, &error), ZKR_INVALID, "ms");

  zkr_client_free(leading);
  zkr_client_free(following);
  zkr_test_server_free(all); /* nothing to free */
  CHECK(zkr_test_server_port(all) > 0);
  zkr_test_ensemble_free(ensemble);
  zkr_test_ensemble_free(ensemble);
  CHECK(zkr_test_server_port(all) == 0);
}
