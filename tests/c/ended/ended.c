/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that ends the library before it ends itself: valgrind finds nothing lost, not even possibly, and
 * needs to be told nothing. Its server is in another process, as real ones are.
 */

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zkrecipes.h>
#include <zkrecipes_testing.h>

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      printf("%s:%d: does not hold: %s (%s)\n", __FILE__, __LINE__, #condition, said(&error)); \
      return 1;                                                                                \
    }                                                                                          \
  } while (0)

static const char *said(zkr_error **error) { return *error ? zkr_error_message(*error) : "no error"; }

static int entries(const char *folder) {
  int found = 0;
  DIR *open = opendir(folder);
  if (!open) return -1;
  while (readdir(open)) found++;
  closedir(open);
  return found;
}

static atomic_int told;
static zkr_client *late;
static pid_t server;

static void on_state(zkr_state state, void *user_data) { (void)state, (void)user_data, told++; }
static void on_done(zkr_status status, const zkr_error *error, void *user_data) {
  (void)status, (void)error, (void)user_data, told++;
}
static void on_held(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data) {
  (void)status, (void)error, (void)user_data, told++;
  zkr_held_free(held);
}
static void on_log(zkr_log_level level, const char *event, const char *message, const zkr_log_field *fields,
                   size_t count, void *user_data) {
  (void)level, (void)event, (void)message, (void)fields, (void)count, (void)user_data;
}

static int use(const char *hosts) {
  zkr_error *error = NULL;
  zkr_client *client = NULL, *closing = NULL;
  zkr_lock *lock = NULL, *waiting = NULL;
  zkr_held *held = NULL;
  zkr_election *election = NULL;
  zkr_counter *counter = NULL;
  int64_t value = 0;

  CHECK(zkr_client_connect(hosts, NULL, &client, &error) == ZKR_OK);
  CHECK(zkr_client_on_state(client, on_state, NULL, NULL, &error) == ZKR_OK);
  CHECK(zkr_lock_new(client, "/ended/lock", NULL, &lock, &error) == ZKR_OK);
  CHECK(zkr_lock_new(client, "/ended/lock", NULL, &waiting, &error) == ZKR_OK);
  CHECK(zkr_lock_acquire(lock, 20000, &held, &error) == ZKR_OK);
  CHECK(zkr_lock_acquire_async(waiting, -1, on_held, NULL) == ZKR_OK);
  CHECK(zkr_lock_verify_async(lock, on_done, NULL) == ZKR_OK);
  CHECK(zkr_counter_new(client, "/ended/counter", NULL, &counter, &error) == ZKR_OK);
  CHECK(zkr_counter_add(counter, 1, &value, &error) == ZKR_OK);
  CHECK(zkr_election_new(client, "/ended/leader", "x", 1, NULL, &election, &error) == ZKR_OK);
  CHECK(zkr_election_campaign(election, 20000, NULL, &error) == ZKR_OK);
  CHECK(zkr_client_connect(hosts, NULL, &closing, &error) == ZKR_OK);
  zkr_counter_free(counter);
  CHECK(zkr_client_close_async(closing, 5000, on_done, NULL) == ZKR_OK);
  /* What is held is given back in the background. */
  zkr_client_free(client);
  CHECK(zkr_library_shutdown(30000, &error) == ZKR_OK);
  zkr_election_free(election);
  zkr_held_free(held);
  zkr_lock_free(lock);
  zkr_lock_free(waiting);
  zkr_client_free(closing);
  return 0;
}

static void *shuts_down(void *user_data) {
  *(zkr_status *)user_data = zkr_library_shutdown(30000, NULL);
  return NULL;
}

static int uses(const char *hosts) {
  zkr_error *error = NULL;
  zkr_subscription *log = NULL;
  zkr_status both[2] = {ZKR_INTERNAL, ZKR_INTERNAL};
  pthread_t threads[2];
  int threads_before = entries("/proc/self/task"), files_before = entries("/proc/self/fd");

  CHECK(zkr_library_shutdown(0, &error) == ZKR_OK);
  CHECK(zkr_on_log(ZKR_LOG_DEBUG, on_log, NULL, &log, &error) == ZKR_OK);
  for (int round = 0; round < 3; round++) {
    CHECK(use(hosts) == 0);
    CHECK(zkr_library_shutdown(0, &error) == ZKR_OK);
    CHECK(entries("/proc/self/task") == threads_before);
    CHECK(entries("/proc/self/fd") == files_before);
  }
  zkr_subscription_free(log);
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, shuts_down, &both[i]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  CHECK(both[0] == ZKR_OK && both[1] == ZKR_OK);
  CHECK(entries("/proc/self/task") == threads_before);
  return 0;
}

/* Once more at the very end, where this thread has lost what it had of its own. */
static void at_exit(void) {
  zkr_error *error = NULL;
  zkr_client_free(late);
  zkr_status status = zkr_library_shutdown(30000, &error);
  kill(server, SIGKILL);
  waitpid(server, NULL, 0);
  /* This thread, and the names of the folder and of the one above it. */
  if (status != ZKR_OK || entries("/proc/self/task") != 3) {
    printf("at the exit: %s\n", said(&error));
    fflush(stdout);
    _exit(1);
  }
}

/* In a process of its own, until that is killed. */
static void serve(int to) {
  zkr_test_server *server = NULL;
  zkr_test_server_options options = ZKR_TEST_SERVER_OPTIONS_INIT;
  if (zkr_test_server_start(&options, &server, NULL) != ZKR_OK) _exit(1);
  const char *hosts = zkr_test_server_connect_string(server);
  if (write(to, hosts, strlen(hosts) + 1) < 0) _exit(1);
  close(to);
  for (;;) pause();
}

int main(void) {
  char hosts[256] = "";
  int ends[2];
  alarm(200);
  if (pipe(ends) != 0) return 1;
  server = fork();
  if (server == 0) {
    alarm(200);
    serve(ends[1]);
  }
  close(ends[1]);
  ssize_t got = read(ends[0], hosts, sizeof hosts - 1);
  close(ends[0]);
  /* Before the library does: so it comes after what that does at an exit. */
  atexit(at_exit);
  int failed = got <= 0 || uses(hosts) != 0 || zkr_client_connect(hosts, NULL, &late, NULL) != ZKR_OK;
  printf("%d passed, %d failed\n", !failed, failed);
  return failed;
}
