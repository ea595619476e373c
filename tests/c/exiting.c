/* SPDX-License-Identifier: Apache-2.0
 *
 * The ends of processes that hold a lock. Each is a run of this program of its own.
 */

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#define LOCK "/exiting"
#define QUEUE "/exiting-queue"
/* Nobody here lives for so long: whoever gets the lock earlier did not wait for the session to expire. */
#define SESSION_TIMEOUT 30000

static void exit_in_callback(zkr_status status, const zkr_error *error, void *user_data) {
  (void)status, (void)error, (void)user_data;
  exit(0);
}

static void *exit_on_thread(void *user_data) {
  (void)user_data;
  exit(0);
}

static void is_dispatched(zkr_status status, zkr_buffer *data, const zkr_stat *stat, const zkr_error *error,
                          void *user_data) {
  (void)status, (void)data, (void)stat, (void)error, (void)user_data;
  _exit(7);
}

int exiting(const char *way, const char *hosts) {
  zkr_client *client = NULL;
  zkr_lock *lock = NULL;
  zkr_options options = ZKR_OPTIONS_INIT;
  pthread_t thread;

  options.session_timeout_ms = SESSION_TIMEOUT;
  if (zkr_client_connect(hosts, &options, &client, NULL) != ZKR_OK) return 1;
  if (zkr_lock_new(client, LOCK, NULL, &lock, NULL) != ZKR_OK) return 2;
  if (zkr_lock_acquire(lock, 5000, NULL, NULL) != ZKR_OK) return 3;
  if (strcmp(way, "told") == 0) {
    char word;
    if (write(STDOUT_FILENO, "!", 1) != 1 || read(STDIN_FILENO, &word, 1) != 1) return 4;
  }
  if (strcmp(way, "frees all") == 0) {
    zkr_lock_free(lock);
    zkr_client_free(client);
  }
  if (strcmp(way, "frees the client") == 0) zkr_client_free(client);
  if (strcmp(way, "frees the lock") == 0) zkr_lock_free(lock);
  if (strcmp(way, "exits in a callback") == 0) zkr_lock_verify_async(lock, exit_in_callback, NULL);
  if (strcmp(way, "exits in dispatch") == 0) {
    zkr_client_event_fd(client);
    zkr_lock_verify_async(lock, exit_in_callback, NULL);
    zkr_client_dispatch(client, 1, -1);
  }
  if (strcmp(way, "dispatches no item") == 0) {
    struct pollfd events = {.fd = zkr_client_event_fd(client), .events = POLLIN};
    zkr_queue *queue = NULL;
    if (zkr_queue_new(client, QUEUE, NULL, &queue, NULL) != ZKR_OK) return 5;
    if (zkr_queue_get_async(queue, -1, is_dispatched, NULL) != ZKR_OK || poll(&events, 1, 5000) != 1)
      return 6;
  }
  if (strcmp(way, "exits on a thread") == 0) pthread_create(&thread, NULL, exit_on_thread, NULL);
  if (strncmp(way, "exits", 5) == 0) pause();
  return 0;
}

/* A process of this program that ends in some way, with its ends of two pipes. */
typedef struct process {
  pid_t id;
  int to, from;
} process;

static process started(const char *way, const char *hosts) {
  int in[2], out[2];
  process made = {.id = -1};
  if (pipe(in) != 0 || pipe(out) != 0) return made;
  made = (process){.id = fork(), .to = in[1], .from = out[0]};
  if (made.id == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execl(this_program, this_program, "--exiting", way, hosts, (char *)NULL);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  return made;
}

static int ended(process *process) {
  int status = -1;
  waitpid(process->id, &status, 0);
  close(process->to);
  close(process->from);
  return status;
}

void a_process_that_exits_lets_go_of_its_lock(void) {
  static const char *const ways[] = {"frees all",        "frees the client",    "frees the lock",
                                     "frees nothing",    "exits in a callback", "exits in dispatch",
                                     "exits on a thread"};
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  zkr_client *client = connected(zkr_test_server_connect_string(server), "next");
  zkr_lock *lock = lock_on(client, LOCK);

  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    process process = started(ways[i], zkr_test_server_connect_string(server));
    CHECK(ended(&process) == 0);
    /* A process waits for a second until the server has heard of its end; a busy server may take longer. */
    for (int tries = 0; zkr_test_server_session_count(server) != 1 && tries < 2000; tries++) nap(5);
    if (zkr_test_server_session_count(server) != 1) printf("  a process that %s\n", ways[i]);
    CHECK(zkr_test_server_session_count(server) == 1);
    OK(zkr_lock_acquire(lock, SESSION_TIMEOUT / 3, NULL, &error));
    OK(zkr_lock_release(lock, &error));
  }
  zkr_lock_free(lock);
  zkr_client_free(client);
  zkr_test_server_free(server);
}

void an_item_that_waits_to_be_dispatched_at_an_exit_goes_back(void) {
  zkr_error *error = NULL;
  zkr_buffer *item = NULL;
  zkr_queue *queue = NULL;
  zkr_test_server *server = own_server();
  zkr_client *client = connected(zkr_test_server_connect_string(server), "next");

  OK(zkr_queue_new(client, QUEUE, NULL, &queue, &error));
  OK(zkr_queue_put(queue, "one", 3, -1, &error));
  process process = started("dispatches no item", zkr_test_server_connect_string(server));
  CHECK(ended(&process) == 0);
  OK(zkr_queue_get(queue, 5000, &item, &error));
  zkr_buffer_free(item);
  zkr_queue_free(queue);
  zkr_client_free(client);
  zkr_test_server_free(server);
}

void an_exit_is_not_held_up_by_a_silent_server(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  process process = started("told", zkr_test_server_connect_string(server));
  char word;

  CHECK(read(process.from, &word, 1) == 1);
  OK(zkr_test_server_pause(server, &error));
  int64_t begun = now_ms();
  CHECK(write(process.to, "!", 1) == 1);
  CHECK(ended(&process) == 0);
  CHECK(now_ms() - begun < 5000); /* a second, and what a busy machine adds */
  zkr_test_server_free(server);
}
