/* SPDX-License-Identifier: Apache-2.0
 *
 * The scenario driver for C: commands on stdin, one a line, answers and events on stdout.
 *
 * What can block gets a thread of its own; everything else is answered by the reading thread, in order.
 * Memory is kept until the process ends, so a command still outstanding never outlives what it points to.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zkrecipes.h>

#include "driver.h"
#include "generated.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static client *clients;
static command *commands;

/* Answers ------------------------------------------------------------------------------------------------ */

void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  flockfile(stdout);
  vprintf(format, arguments);
  putchar('\n');
  fflush(stdout);
  funlockfile(stdout);
  va_end(arguments);
}

void fail(const command *command, zkr_status status, zkr_error *error) {
  fprintf(stderr, "%s %s: %s\n", command->seq, command->words[0], zkr_error_message(error));
  if (status == ZKR_LOST)
    say("%s error %s %s", command->seq, zkr_status_name(status), zkr_reason_name(zkr_error_reason(error)));
  else
    say("%s error %s", command->seq, zkr_status_name(status));
  zkr_error_free(error);
}

void answer(const command *command, zkr_status status, zkr_error *error) {
  if (status == ZKR_OK)
    say("%s ok", command->seq);
  else
    fail(command, status, error);
}

void answer_bool(const command *command, zkr_status status, bool found, zkr_error *error) {
  if (status == ZKR_OK)
    say("%s ok %s", command->seq, found ? "true" : "false");
  else
    fail(command, status, error);
}

void answer_number(const command *command, zkr_status status, int64_t found, zkr_error *error) {
  if (status == ZKR_OK)
    say("%s ok %" PRId64, command->seq, found);
  else
    fail(command, status, error);
}

void answer_data(const command *command, zkr_status status, zkr_buffer *found, zkr_error *error) {
  if (status == ZKR_OK)
    say("%s ok %s", command->seq, found ? zkr_buffer_text(found) : "none");
  else
    fail(command, status, error);
  zkr_buffer_free(found);
}

void answer_versioned(const command *command, zkr_status status, zkr_buffer *found, int32_t version,
                      zkr_error *error) {
  if (status == ZKR_OK && found)
    say("%s ok %" PRId32 " %s", command->seq, version, zkr_buffer_text(found));
  else if (status == ZKR_OK)
    say("%s ok none", command->seq);
  else
    fail(command, status, error);
  zkr_buffer_free(found);
}

void answer_names(const command *command, zkr_status status, zkr_strings *found, zkr_error *error) {
  if (status == ZKR_OK) {
    flockfile(stdout);
    printf("%s ok", command->seq);
    for (size_t i = 0; i < zkr_strings_count(found); i++) printf(" %s", zkr_strings_get(found, i));
    putchar('\n');
    fflush(stdout);
    funlockfile(stdout);
  } else
    fail(command, status, error);
  zkr_strings_free(found);
}

const char *map_of(const zkr_entries *all, char *line, size_t room) {
  size_t used = 0;
  snprintf(line, room, "-");
  for (size_t i = 0; i < zkr_entries_count(all) && used < room; i++) {
    const zkr_entry *one = zkr_entries_get(all, i);
    used += (size_t)snprintf(line + used, room - used, "%s%s=%s", i ? "," : "", one->name,
                             one->data ? (const char *)one->data : "-");
  }
  return line;
}

void answer_entries(const command *command, zkr_status status, zkr_entries *found, zkr_error *error) {
  char map[4096];
  if (status == ZKR_OK)
    say("%s ok %s", command->seq, map_of(found, map, sizeof map));
  else
    fail(command, status, error);
  zkr_entries_free(found);
}

void invalid(const command *command) { say("%s error INVALID", command->seq); }

/* Names -------------------------------------------------------------------------------------------------- */

const char *word(const command *command, int index) {
  if (index >= command->count || strcmp(command->words[index], "-") == 0) return NULL;
  return command->words[index];
}

const char *text(const command *command, int index) {
  const char *found = word(command, index);
  return found ? found : "";
}

int64_t integer(const command *command, int index) { return strtoll(text(command, index), NULL, 10); }

const char *option(const command *command, const char *name) {
  size_t length = strlen(name);
  for (int i = 1; i < command->count; i++)
    if (strncmp(command->words[i], name, length) == 0 && command->words[i][length] == '=')
      return command->words[i] + length + 1;
  return NULL;
}

bool has_word(const command *command, const char *wanted) {
  for (int i = 3; i < command->count; i++)
    if (strcmp(command->words[i], wanted) == 0) return true;
  return false;
}

int64_t timeout(const command *command, int index) {
  const char *given = word(command, index);
  return given ? strtoll(given, NULL, 10) : -1;
}

static client *find_client(const char *name) {
  pthread_mutex_lock(&mutex);
  client *found = clients;
  while (found && strcmp(found->name, name) != 0) found = found->next;
  if (!found) {
    found = calloc(1, sizeof *found);
    if (!found) abort();
    snprintf(found->name, sizeof found->name, "%s", name);
    found->next = clients;
    clients = found;
  }
  pthread_mutex_unlock(&mutex);
  return found;
}

lock *find(const client *client, const char *name) {
  pthread_mutex_lock(&mutex);
  lock *found = client->locks;
  while (found && strcmp(found->name, name) != 0) found = found->next;
  pthread_mutex_unlock(&mutex);
  return found;
}

lock *find_lock(const command *command) { return find(command->client, text(command, 1)); }

void add(client *client, lock what, const char *name, const char *side) {
  lock *made = malloc(sizeof *made);
  if (!made) abort();
  *made = what;
  snprintf(made->name, sizeof made->name, "%s%s", name, side);
  made->of = client;
  pthread_mutex_lock(&mutex);
  made->next = client->locks;
  client->locks = made;
  pthread_mutex_unlock(&mutex);
}

zkr_held *replace_held(lock *of, zkr_held *held) {
  pthread_mutex_lock(&mutex);
  zkr_held *before = of->held;
  of->held = held;
  pthread_mutex_unlock(&mutex);
  return before;
}

const lock *named(const command *command) {
  static const lock nothing;
  const lock *found = find_lock(command);
  return found ? found : &nothing;
}

/* Events ------------------------------------------------------------------------------------------------- */

static void on_state(zkr_state state, void *user_data) {
  const client *of = user_data;
  say("event %s state %s", of->name, zkr_state_name(state));
}

/* Verbs that cannot block -------------------------------------------------------------------------------- */

static void do_update_hosts(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_client_update_hosts(c->client->handle, word(c, 1), &error);
  answer(c, status, error);
}

static void do_state(command *c) {
  say("%s ok %s", c->seq, zkr_state_name(zkr_client_state(c->client->handle)));
}

static void do_session(command *c) {
  say("%s ok %" PRIu64, c->seq, zkr_client_session_id(c->client->handle));
}

static void do_lease(command *c) {
  say("%s ok %" PRId64, c->seq, zkr_client_lease_remaining(c->client->handle));
}

static void do_waiting(command *c) {
  zkr_error *error = NULL;
  zkr_metrics *metrics = NULL;
  zkr_status status = zkr_client_metrics(c->client->handle, &metrics, &error);
  if (status == ZKR_OK) {
    say("%s ok %.0f", c->seq, zkr_metrics_value(metrics, "waiting"));
    zkr_metrics_free(metrics);
  } else {
    answer(c, status, error);
  }
}

static void do_skipped(command *c) {
  zkr_error *error = NULL;
  zkr_entries *nodes = NULL;
  zkr_status status = zkr_client_skipped(c->client->handle, &nodes, &error);
  answer_entries(c, status, nodes, error);
}

static void do_watch_state(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_client_on_state(c->client->handle, on_state, c->client, NULL, &error);
  answer(c, status, error);
}

static void do_withdraw(command *c) {
  pthread_mutex_lock(&mutex);
  command *found = commands;
  while (found && strcmp(found->seq, text(c, 1)) != 0) found = found->next;
  pthread_mutex_unlock(&mutex);
  if (!found) {
    invalid(c);
    return;
  }
  zkr_cancel_token_cancel(found->token);
  say("%s ok", c->seq);
}

static void do_free(command *c) {
  lock *found = find_lock(c);
  if (!found) {
    invalid(c);
    return;
  }
  zkr_lock_free(found->handle);
  zkr_read_write_lock_free(found->whole); /* and its other side, as sides go together in C */
  free_queue(found);
  zkr_subscription_free(found->followed);
#define FREE(recipe) zkr_##recipe##_free(found->recipe);
  RECIPES(FREE)
#undef FREE
  zkr_held_free(found->held);
  for (size_t i = 0; i < found->won_count && i < MAX_WORDS; i++) zkr_held_free(found->won[i]->held);
  say("%s ok", c->seq);
}

/* Verbs that may block ----------------------------------------------------------------------------------- */

static void do_connect(command *c) {
  zkr_options options = client_options_of(c);
  zkr_error *error = NULL;
  zkr_status status =
      zkr_client_connect_cancellable(word(c, 1), &options, c->token, &c->client->handle, &error);
  answer(c, status, error);
}

static void do_close(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_client_close(c->client->handle, timeout(c, 1), &error);
  answer(c, status, error);
}

static void do_create(command *c) {
  zkr_error *error = NULL;
  const char *data = text(c, 2);
  zkr_status status =
      zkr_nodes_create(c->client->handle, text(c, 1), data, strlen(data), ZKR_PERSISTENT, NULL, &error);
  answer(c, status, error);
}

static void do_set(command *c) {
  zkr_error *error = NULL;
  const char *data = text(c, 2);
  zkr_status status = zkr_nodes_set(c->client->handle, text(c, 1), data, strlen(data), -1, NULL, &error);
  answer(c, status, error);
}

static void do_delete(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_nodes_delete(c->client->handle, text(c, 1), -1, &error);
  answer(c, status, error);
}

static void do_get(command *c) {
  zkr_error *error = NULL;
  zkr_buffer *data = NULL;
  zkr_status status = zkr_nodes_get(c->client->handle, text(c, 1), &data, NULL, &error);
  answer_data(c, status, data, error);
}

static void do_exists(command *c) {
  zkr_error *error = NULL;
  bool exists = false;
  zkr_status status = zkr_nodes_exists(c->client->handle, text(c, 1), &exists, NULL, &error);
  answer_bool(c, status, exists, error);
}

static void do_children(command *c) {
  zkr_error *error = NULL;
  zkr_strings *names = NULL;
  zkr_status status = zkr_nodes_children(c->client->handle, text(c, 1), &names, &error);
  answer_names(c, status, names, error);
}

static void do_ephemerals(command *c) {
  zkr_error *error = NULL;
  zkr_strings *nodes = NULL;
  zkr_status status = zkr_nodes_ephemerals(c->client->handle, text(c, 1), &nodes, &error);
  answer_names(c, status, nodes, error);
}

/* Reading ------------------------------------------------------------------------------------------------ */

static const verb verbs[] = {
    {"connect", do_connect, true},
    {"close", do_close, true},
    {"update-hosts", do_update_hosts, false},
    {"state", do_state, false},
    {"session", do_session, false},
    {"lease", do_lease, false},
    {"waiting", do_waiting, false},
    {"skipped", do_skipped, false},
    {"watch-state", do_watch_state, false},
    {"withdraw", do_withdraw, false},
    {"free", do_free, false},
    {"create", do_create, true},
    {"set", do_set, true},
    {"delete", do_delete, true},
    {"get", do_get, true},
    {"exists", do_exists, true},
    {"children", do_children, true},
    {"ephemerals", do_ephemerals, true},
    {NULL, NULL, false},
};

typedef struct task {
  void (*run)(command *);
  command *command;
} task;

static void *run(void *argument) {
  task *task = argument;
  task->run(task->command);
  free(task);
  return NULL;
}

static void start(void (*run_it)(command *), command *of) {
  task *made = malloc(sizeof *made);
  if (!made) abort();
  made->run = run_it;
  made->command = of;
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  int trouble = pthread_create(&thread, &attributes, run, made);
  pthread_attr_destroy(&attributes);
  if (trouble) {
    fprintf(stderr, "no thread: %s\n", strerror(trouble));
    exit(1);
  }
}

/* "<seq> <client> <verb> [args…]", cut up in place. */
static command *parse(char *line) {
  command *made = calloc(1, sizeof *made);
  if (!made) abort();
  char *rest = NULL;
  made->seq = strtok_r(line, " ", &rest);
  char *name = strtok_r(NULL, " ", &rest);
  if (!made->seq || !name) {
    free(made);
    return NULL;
  }
  made->client = find_client(name);
  while (made->count < MAX_WORDS && (made->words[made->count] = strtok_r(NULL, " ", &rest))) made->count++;
  made->token = zkr_cancel_token_new();
  pthread_mutex_lock(&mutex);
  made->next = commands;
  commands = made;
  pthread_mutex_unlock(&mutex);
  return made;
}

static const verb *verb_of(const verb *all, const char *name) {
  while (all->name && strcmp(all->name, name) != 0) all++;
  return all->name ? all : NULL;
}

int main(void) {
  for (;;) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length = getline(&line, &room, stdin);
    if (length < 0) break;
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) line[--length] = '\0';
    if (length == 0) continue;
    if (strcmp(line, "quit") == 0) break;

    command *made = parse(line);
    if (!made || made->count == 0) {
      fprintf(stderr, "not a command\n");
      continue;
    }
    const verb *found = verb_of(verbs, made->words[0]);
    if (!found) found = verb_of(family_verbs, made->words[0]);
    if (!found) found = verb_of(recipe_verbs, made->words[0]);
    if (!found) found = verb_of(queue_verbs, made->words[0]);
    if (!found) found = verb_of(described_verbs, made->words[0]);
    if (!found) found = verb_of(commit_verbs, made->words[0]);
    if (!found) found = verb_of(service_verbs, made->words[0]);
    if (!found)
      invalid(made);
    else if (found->blocks)
      start(found->run, made);
    else
      found->run(made);
  }
  fflush(stdout);
  _Exit(0); /* without waiting for what is outstanding */
}
