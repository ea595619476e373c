/* SPDX-License-Identifier: Apache-2.0 */

#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool failed;
static zkr_test_server *server;

static const struct {
  const char *name;
  void (*run)(void);
} tests[] = {
#define ENTRY(name) {#name, name},
    TESTS(ENTRY)};

bool holds(bool condition, const char *text, const char *file, int line) {
  if (!condition) {
    printf("  %s:%d: does not hold: %s\n", file, line, text);
    failed = true;
  }
  return condition;
}

bool succeeds(zkr_status status, zkr_error **error, const char *text, const char *file, int line) {
  if (status == ZKR_OK && !*error) return true;
  printf("  %s:%d: %s: %s: %s\n", file, line, text, zkr_status_name(status), zkr_error_message(*error));
  failed = true;
  zkr_error_free(*error);
  return false;
}

bool is_refused(zkr_status status, zkr_error **error, zkr_status expected, const char *word, const char *text,
                const char *file, int line) {
  bool as_expected = status == expected && *error && zkr_error_code(*error) == expected &&
                     strstr(zkr_error_message(*error), word);
  if (!as_expected) {
    printf("  %s:%d: %s: expected %s with \"%s\", got %s: %s\n", file, line, text, zkr_status_name(expected),
           word, zkr_status_name(status), zkr_error_message(*error));
    failed = true;
  }
  zkr_error_free(*error);
  *error = NULL;
  return as_expected;
}

void nap(int64_t ms) {
  struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
  nanosleep(&time, NULL);
}

int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void give_up(const char *what, const zkr_error *error) {
  printf("%s: %s\n", what, zkr_error_message(error));
  exit(2);
}

const char *hosts(void) {
  const char *given = getenv("ZKR_HOSTS");
  if (given && *given) return given;
  if (!server) server = own_server();
  return zkr_test_server_connect_string(server);
}

zkr_test_server *own_server(void) {
  zkr_error *error = NULL;
  zkr_test_server *made = NULL;
  zkr_test_server_options options = ZKR_TEST_SERVER_OPTIONS_INIT;
  options.min_session_timeout_ms = 200;
  if (zkr_test_server_start(&options, &made, &error) != ZKR_OK) give_up("no server", error);
  return made;
}

zkr_client *connected(const char *to, const char *identity) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_options options = ZKR_OPTIONS_INIT;
  options.identity = identity;
  if (zkr_client_connect(to, &options, &client, &error) != ZKR_OK) give_up("cannot connect", error);
  return client;
}

const char *path(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "/c-tests-%d/%s", (int)getpid(), name);
  return path;
}

zkr_lock *lock_on(zkr_client *client, const char *path) {
  zkr_error *error = NULL;
  zkr_lock *lock = NULL;
  if (zkr_lock_new(client, path, NULL, &lock, &error) != ZKR_OK) give_up("no lock", error);
  return lock;
}

zkr_semaphore *semaphore_on(zkr_client *client, const char *path, size_t permits) {
  zkr_error *error = NULL;
  zkr_semaphore *semaphore = NULL;
  if (zkr_semaphore_new(client, path, permits, &semaphore, &error) != ZKR_OK) give_up("no semaphore", error);
  return semaphore;
}

double metric(zkr_client *client, const char *name) {
  zkr_metrics *metrics = NULL;
  if (zkr_client_metrics(client, &metrics, NULL) != ZKR_OK) return NAN;
  double value = zkr_metrics_value(metrics, name);
  zkr_metrics_free(metrics);
  return value;
}

size_t children_of(zkr_client *client, const char *path) {
  zkr_strings *names = NULL;
  zkr_nodes_children(client, path, &names, NULL);
  size_t count = zkr_strings_count(names);
  zkr_strings_free(names);
  return count;
}

void note_done(zkr_status status, const zkr_error *error, void *user_data) {
  ending *end = user_data;
  (void)error;
  end->status = status;
  end->calls++;
}

void note_held(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data) {
  ((ending *)user_data)->held = held;
  note_done(status, error, user_data);
}

void note_answer(zkr_status status, bool answer, const zkr_error *error, void *user_data) {
  ((ending *)user_data)->answer = answer;
  note_done(status, error, user_data);
}

void note_contenders(zkr_status status, zkr_contenders *list, const zkr_error *error, void *user_data) {
  ((ending *)user_data)->listed = zkr_contenders_count(list);
  zkr_contenders_free(list);
  note_done(status, error, user_data);
}

void note_loss(const zkr_error *error, void *user_data) {
  losses *seen = user_data;
  seen->status = zkr_error_code(error);
  seen->reason = zkr_error_reason(error);
  seen->calls++;
}

void note_call(void *user_data) { atomic_fetch_add((atomic_int *)user_data, 1); }

const char *this_program;

int main(int count, char **arguments) {
  int passed = 0, not_passed = 0;
  this_program = arguments[0];
  if (count == 4 && strcmp(arguments[1], "--exiting") == 0) return exiting(arguments[2], arguments[3]);
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    if (count > 1 && !strstr(tests[i].name, arguments[1])) continue;
    failed = false;
    alarm(120); /* a test that hangs ends the program */
    int64_t begun = now_ms();
    tests[i].run();
    alarm(0);
    printf("%-6s %s (%d ms)\n", failed ? "FAILED" : "ok", tests[i].name, (int)(now_ms() - begun));
    *(failed ? &not_passed : &passed) += 1;
  }

  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "cleaner");
  char root[64];
  snprintf(root, sizeof root, "/c-tests-%d", (int)getpid());
  if (zkr_nodes_delete_all(client, root, &error) != ZKR_OK) give_up("cannot clean up", error);
  zkr_client_close(client, 5000, NULL);
  zkr_client_free(client);
  zkr_test_server_free(server);

  printf("%d passed, %d failed\n", passed, not_passed);
  return not_passed > 0;
}
