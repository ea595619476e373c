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

enum { MAX_WORDS = 64, MAX_NAME = 128 };

typedef struct client client;
typedef struct lock lock;
typedef struct command command;

/* What can be acquired: exactly one of the handles is set. */
struct lock {
  char name[MAX_NAME];
  client *of;
  zkr_lock *handle;
  zkr_multi_lock *multi_lock;
  zkr_semaphore *semaphore;
  zkr_held *held;             /* the latest acquisition */
  zkr_read_write_lock *whole; /* what it is a side of */
  lock *next;
};

struct client {
  char name[MAX_NAME];
  zkr_client *handle;
  lock *locks;
  client *next;
};

struct command {
  char *seq;
  client *client;
  char *words[MAX_WORDS]; /* the verb and its arguments */
  int count;
  zkr_cancel_token *token;
  command *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static client *clients;
static command *commands;

/* Answers ------------------------------------------------------------------------------------------------ */

static void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  flockfile(stdout);
  vprintf(format, arguments);
  putchar('\n');
  fflush(stdout);
  funlockfile(stdout);
  va_end(arguments);
}

static void fail(const command *command, zkr_status status, zkr_error *error) {
  fprintf(stderr, "%s %s: %s\n", command->seq, command->words[0], zkr_error_message(error));
  if (status == ZKR_LOST)
    say("%s error %s %s", command->seq, zkr_status_name(status), zkr_reason_name(zkr_error_reason(error)));
  else
    say("%s error %s", command->seq, zkr_status_name(status));
  zkr_error_free(error);
}

static void answer(const command *command, zkr_status status, zkr_error *error) {
  if (status == ZKR_OK)
    say("%s ok", command->seq);
  else
    fail(command, status, error);
}

static void invalid(const command *command) { say("%s error INVALID", command->seq); }

/* Names -------------------------------------------------------------------------------------------------- */

static const char *word(const command *command, int index) {
  if (index >= command->count || strcmp(command->words[index], "-") == 0) return NULL;
  return command->words[index];
}

static const char *text(const command *command, int index) {
  const char *found = word(command, index);
  return found ? found : "";
}

static int64_t timeout(const command *command, int index) {
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

static lock *find(const client *client, const char *name) {
  pthread_mutex_lock(&mutex);
  lock *found = client->locks;
  while (found && strcmp(found->name, name) != 0) found = found->next;
  pthread_mutex_unlock(&mutex);
  return found;
}

static lock *find_lock(const command *command) { return find(command->client, text(command, 1)); }

/* A later lock of the same name hides the earlier one. */
static void add(client *client, lock what, const char *name, const char *side) {
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

/* What a command names; something without any handle, which every verb refuses, if there is no such thing. */
static const lock *named(const command *command) {
  static const lock nothing;
  const lock *found = find_lock(command);
  return found ? found : &nothing;
}

/* The same verb of whatever it is. */
#define OF_ANY(of, verb, ...)                                               \
  ((of)->multi_lock  ? zkr_multi_lock_##verb((of)->multi_lock, __VA_ARGS__) \
   : (of)->semaphore ? zkr_semaphore_##verb((of)->semaphore, __VA_ARGS__)   \
                     : zkr_lock_##verb((of)->handle, __VA_ARGS__))
#define SAID_BY_ANY(of, question)                                  \
  ((of)->multi_lock  ? zkr_multi_lock_##question((of)->multi_lock) \
   : (of)->semaphore ? zkr_semaphore_##question((of)->semaphore)   \
                     : zkr_lock_##question((of)->handle))

/* Events ------------------------------------------------------------------------------------------------- */

static void on_state(zkr_state state, void *user_data) {
  const client *of = user_data;
  say("event %s state %s", of->name, zkr_state_name(state));
}

static void on_revoke(void *user_data) {
  const lock *asked = user_data;
  say("event %s revoked %s", asked->of->name, asked->name);
}

static void on_lost(const zkr_error *error, void *user_data) {
  const lock *lost = user_data;
  say("event %s lost %s %s", lost->of->name, lost->name, zkr_reason_name(zkr_error_reason(error)));
}

/* Verbs that cannot block -------------------------------------------------------------------------------- */

static void do_state(command *c) {
  say("%s ok %s", c->seq, zkr_state_name(zkr_client_state(c->client->handle)));
}

static void do_session(command *c) {
  say("%s ok %" PRIu64, c->seq, zkr_client_session_id(c->client->handle));
}

static void do_lease(command *c) {
  say("%s ok %" PRId64, c->seq, zkr_client_lease_remaining(c->client->handle));
}

static void do_watch_state(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_client_on_state(c->client->handle, on_state, c->client, NULL, &error);
  answer(c, status, error);
}

static void do_lock(command *c) {
  zkr_error *error = NULL;
  zkr_lock *handle = NULL;
  zkr_lock_options options = ZKR_LOCK_OPTIONS_INIT;
  for (int i = 3; i < c->count; i++) {
    if (strcmp(c->words[i], "reentrant") == 0) options.reentrant = true;
    if (strncmp(c->words[i], "handoff=", 8) == 0)
      options.local_handoff = (uint32_t)strtoul(c->words[i] + 8, NULL, 10);
  }
  zkr_status status = zkr_lock_new(c->client->handle, text(c, 2), &options, &handle, &error);
  if (status != ZKR_OK) {
    fail(c, status, error);
    return;
  }
  add(c->client, (lock){.handle = handle}, text(c, 1), "");
  say("%s ok", c->seq);
}

static void do_rwlock(command *c) {
  zkr_error *error = NULL;
  zkr_read_write_lock *handle = NULL;
  zkr_status status = zkr_read_write_lock_new(c->client->handle, text(c, 2), &handle, &error);
  if (status == ZKR_OK) {
    add(c->client, (lock){.handle = zkr_read_write_lock_read(handle), .whole = handle}, text(c, 1), ".read");
    add(c->client, (lock){.handle = zkr_read_write_lock_write(handle), .whole = handle}, text(c, 1),
        ".write");
  }
  answer(c, status, error);
}

static void do_multilock(command *c) {
  zkr_error *error = NULL;
  zkr_lock *locks[MAX_WORDS];
  zkr_multi_lock *handle = NULL;
  size_t count = 0;
  for (int i = 2; i < c->count; i++) {
    const lock *found = find(c->client, c->words[i]);
    locks[count++] = found ? found->handle : NULL;
  }
  zkr_status status = zkr_multi_lock_new(c->client->handle, locks, count, &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.multi_lock = handle}, text(c, 1), "");
  answer(c, status, error);
}

/* A number of things; what is none, or negative, is refused by the verb that gets it. */
static size_t number(const command *command, int index) {
  const char *given = word(command, index);
  char *end = NULL;
  long long parsed = given ? strtoll(given, &end, 10) : 1;
  return given && (*end || parsed < 0) ? 0 : (size_t)parsed;
}

static void do_semaphore(command *c) {
  zkr_error *error = NULL;
  zkr_semaphore *handle = NULL;
  zkr_status status = zkr_semaphore_new(c->client->handle, text(c, 2), number(c, 3), &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.semaphore = handle}, text(c, 1), "");
  answer(c, status, error);
}

static void do_held(command *c) {
  say("%s ok %s", c->seq, SAID_BY_ANY(named(c), is_held) ? "true" : "false");
}

/* The latest acquisition, for what only an acquisition can tell. */
static zkr_held *latest(const command *command) {
  const lock *of = find_lock(command);
  return of ? of->held : NULL;
}

static void do_token(command *c) {
  uint64_t token = SAID_BY_ANY(named(c), fencing_token);
  if (token == 0)
    say("%s error NOT_HELD", c->seq);
  else
    say("%s ok %" PRIu64, c->seq, token);
}

static void do_tokens(command *c) {
  uint64_t tokens[MAX_WORDS];
  size_t count = zkr_held_is_held(latest(c)) ? zkr_held_fencing_tokens(latest(c), tokens, MAX_WORDS) : 0;
  if (count == 0) {
    say("%s error NOT_HELD", c->seq);
    return;
  }
  flockfile(stdout);
  printf("%s ok", c->seq);
  for (size_t i = 0; i < count; i++) printf(" %" PRIu64, tokens[i]);
  putchar('\n');
  fflush(stdout);
  funlockfile(stdout);
}

static void do_passes(command *c) {
  if (latest(c))
    say("%s ok %" PRIu32, c->seq, zkr_held_passes(latest(c)));
  else
    say("%s error NOT_HELD", c->seq);
}

static void do_sequencer(command *c) {
  const char *sequencer = zkr_held_sequencer(latest(c));
  if (sequencer)
    say("%s ok %s", c->seq, sequencer);
  else
    say("%s error NOT_HELD", c->seq);
}

static void do_watch_revoke(command *c) {
  zkr_error *error = NULL;
  if (!latest(c)) {
    say("%s error NOT_HELD", c->seq);
    return;
  }
  zkr_status status = zkr_held_on_revoke(latest(c), on_revoke, find_lock(c), NULL, &error);
  answer(c, status, error);
}

static void do_cancel(command *c) {
  zkr_error *error = NULL;
  zkr_status status = OF_ANY(named(c), cancel, &error);
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

static void do_watch_lost(command *c) {
  zkr_error *error = NULL;
  zkr_status status = OF_ANY(named(c), on_lost, on_lost, find_lock(c), NULL, &error);
  answer(c, status, error);
}

static void do_free(command *c) {
  lock *found = find_lock(c);
  if (!found) {
    invalid(c);
    return;
  }
  zkr_lock_free(found->handle);
  zkr_read_write_lock_free(found->whole); /* and its other side, as sides go together in C */
  zkr_multi_lock_free(found->multi_lock);
  zkr_semaphore_free(found->semaphore);
  zkr_held_free(found->held);
  say("%s ok", c->seq);
}

/* Verbs that may block ----------------------------------------------------------------------------------- */

static void do_connect(command *c) {
  zkr_options options = ZKR_OPTIONS_INIT;
  for (int i = 2; i < c->count; i++) {
    const char *value = strchr(c->words[i], '=');
    if (!value) continue;
    size_t name = (size_t)(value++ - c->words[i]);
    if (strncmp(c->words[i], "session_timeout", name) == 0)
      options.session_timeout_ms = strtoll(value, NULL, 10);
    if (strncmp(c->words[i], "connect_timeout", name) == 0)
      options.connect_timeout_ms = strtoll(value, NULL, 10);
    if (strncmp(c->words[i], "identity", name) == 0) options.identity = value;
  }
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

static zkr_status acquire(command *c, int64_t timeout_ms, size_t n, zkr_held **held, zkr_error **error) {
  const lock *of = named(c);
  if (of->multi_lock)
    return zkr_multi_lock_acquire_cancellable(of->multi_lock, timeout_ms, c->token, held, error);
  if (of->semaphore)
    return zkr_semaphore_acquire_cancellable(of->semaphore, n, timeout_ms, c->token, held, error);
  return zkr_lock_acquire_cancellable(of->handle, timeout_ms, c->token, held, error);
}

static void acquired(command *c, zkr_status status, zkr_held *held, zkr_error *error) {
  if (status != ZKR_OK) {
    fail(c, status, error);
    return;
  }
  lock *of = find_lock(c);
  pthread_mutex_lock(&mutex);
  zkr_held *before = of->held;
  of->held = held;
  pthread_mutex_unlock(&mutex);
  zkr_held_free(before); /* the lock keeps it, if it is still held */
  say("%s ok %" PRIu64, c->seq, zkr_held_fencing_token(held));
}

static void do_acquire(command *c) {
  zkr_error *error = NULL;
  zkr_held *held = NULL;
  zkr_status status = acquire(c, timeout(c, 2), number(c, 3), &held, &error);
  acquired(c, status, held, error);
}

static void do_try(command *c) {
  zkr_error *error = NULL;
  zkr_held *held = NULL;
  zkr_status status = acquire(c, 0, number(c, 2), &held, &error);
  if (status == ZKR_TIMEOUT) {
    say("%s ok none", c->seq);
    zkr_error_free(error);
    return;
  }
  acquired(c, status, held, error);
}

static void do_release(command *c) {
  zkr_error *error = NULL;
  const char *how = word(c, 2);
  if (how && strcmp(how, "nowait") != 0) {
    invalid(c);
    return;
  }
  zkr_status status =
      how ? OF_ANY(named(c), release_in_background, &error) : OF_ANY(named(c), release, &error);
  answer(c, status, error);
}

static void do_resize(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_semaphore_resize(named(c)->semaphore, number(c, 2), &error);
  answer(c, status, error);
}

static void do_revoke(command *c) {
  zkr_error *error = NULL;
  bool asked = false;
  zkr_status status =
      OF_ANY(named(c), revoke_cancellable, word(c, 2), timeout(c, 3), c->token, &asked, &error);
  if (status == ZKR_OK)
    say("%s ok %s", c->seq, asked ? "true" : "false");
  else
    fail(c, status, error);
}

static void do_check_sequencer(command *c) {
  zkr_error *error = NULL;
  bool valid = false;
  zkr_status status = zkr_client_check_sequencer(c->client->handle, text(c, 1), &valid, &error);
  if (status == ZKR_OK)
    say("%s ok %s", c->seq, valid ? "true" : "false");
  else
    fail(c, status, error);
}

static void do_watch_sequencer(command *c) {
  zkr_error *error = NULL;
  zkr_status status =
      zkr_client_watch_sequencer_cancellable(c->client->handle, text(c, 1), -1, c->token, &error);
  answer(c, status, error);
}

static void do_verify(command *c) {
  zkr_error *error = NULL;
  zkr_status status = OF_ANY(named(c), verify, &error);
  answer(c, status, error);
}

static void do_contenders(command *c) {
  zkr_error *error = NULL;
  zkr_contenders *list = NULL;
  zkr_status status = OF_ANY(named(c), contenders, &list, &error);
  if (status != ZKR_OK) {
    fail(c, status, error);
    return;
  }
  flockfile(stdout);
  printf("%s ok", c->seq);
  for (size_t i = 0; i < zkr_contenders_count(list); i++) {
    const zkr_contender *one = zkr_contenders_get(list, i);
    printf(" %s%s", one->identity, one->holds ? "*" : "");
  }
  putchar('\n');
  fflush(stdout);
  funlockfile(stdout);
  zkr_contenders_free(list);
}

static void do_holders(command *c) {
  zkr_error *error = NULL;
  zkr_contenders *list = NULL;
  zkr_status status = zkr_semaphore_holders(named(c)->semaphore, &list, &error);
  if (status != ZKR_OK) {
    fail(c, status, error);
    return;
  }
  flockfile(stdout);
  printf("%s ok", c->seq);
  for (size_t i = 0; i < zkr_contenders_count(list); i++)
    printf(" %s", zkr_contenders_get(list, i)->identity);
  putchar('\n');
  fflush(stdout);
  funlockfile(stdout);
  zkr_contenders_free(list);
}

static void guarded(command *c, bool create) {
  zkr_error *error = NULL;
  zkr_transaction *writes = NULL;
  const char *path = text(c, 2), *data = text(c, 3);
  zkr_status status = OF_ANY(named(c), guarded, &writes, &error);
  if (status == ZKR_OK)
    status = create ? zkr_transaction_create(writes, path, data, strlen(data), ZKR_PERSISTENT, &error)
                    : zkr_transaction_set(writes, path, data, strlen(data), -1, &error);
  if (status == ZKR_OK) status = zkr_transaction_commit(writes, &error);
  zkr_transaction_free(writes);
  answer(c, status, error);
}

static void do_guarded_set(command *c) { guarded(c, false); }
static void do_guarded_create(command *c) { guarded(c, true); }

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
  if (status == ZKR_OK)
    say("%s ok %s", c->seq, zkr_buffer_text(data));
  else
    fail(c, status, error);
  zkr_buffer_free(data);
}

static void do_exists(command *c) {
  zkr_error *error = NULL;
  bool exists = false;
  zkr_status status = zkr_nodes_exists(c->client->handle, text(c, 1), &exists, NULL, &error);
  if (status == ZKR_OK)
    say("%s ok %s", c->seq, exists ? "true" : "false");
  else
    fail(c, status, error);
}

static void do_children(command *c) {
  zkr_error *error = NULL;
  zkr_strings *names = NULL;
  zkr_status status = zkr_nodes_children(c->client->handle, text(c, 1), &names, &error);
  if (status != ZKR_OK) {
    fail(c, status, error);
    return;
  }
  flockfile(stdout);
  printf("%s ok", c->seq);
  for (size_t i = 0; i < zkr_strings_count(names); i++) printf(" %s", zkr_strings_get(names, i));
  putchar('\n');
  fflush(stdout);
  funlockfile(stdout);
  zkr_strings_free(names);
}

/* Reading ------------------------------------------------------------------------------------------------ */

static const struct {
  const char *name;
  void (*run)(command *);
  bool blocks;
} verbs[] = {
    {"connect", do_connect, true},
    {"close", do_close, true},
    {"state", do_state, false},
    {"session", do_session, false},
    {"lease", do_lease, false},
    {"watch-state", do_watch_state, false},
    {"lock", do_lock, false},
    {"rwlock", do_rwlock, false},
    {"multilock", do_multilock, false},
    {"semaphore", do_semaphore, false},
    {"acquire", do_acquire, true},
    {"try", do_try, true},
    {"release", do_release, true},
    {"verify", do_verify, true},
    {"cancel", do_cancel, false},
    {"held", do_held, false},
    {"token", do_token, false},
    {"tokens", do_tokens, false},
    {"passes", do_passes, false},
    {"sequencer", do_sequencer, false},
    {"check-sequencer", do_check_sequencer, true},
    {"watch-sequencer", do_watch_sequencer, true},
    {"revoke", do_revoke, true},
    {"watch-revoke", do_watch_revoke, false},
    {"holders", do_holders, true},
    {"resize", do_resize, true},
    {"withdraw", do_withdraw, false},
    {"watch-lost", do_watch_lost, false},
    {"contenders", do_contenders, true},
    {"free", do_free, false},
    {"guarded-set", do_guarded_set, true},
    {"guarded-create", do_guarded_create, true},
    {"create", do_create, true},
    {"set", do_set, true},
    {"delete", do_delete, true},
    {"get", do_get, true},
    {"exists", do_exists, true},
    {"children", do_children, true},
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

static void start(void (*verb)(command *), command *of) {
  task *made = malloc(sizeof *made);
  if (!made) abort();
  made->run = verb;
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
    size_t i = 0;
    while (i < sizeof verbs / sizeof *verbs && strcmp(verbs[i].name, made->words[0]) != 0) i++;
    if (i == sizeof verbs / sizeof *verbs)
      invalid(made);
    else if (verbs[i].blocks)
      start(verbs[i].run, made);
    else
      verbs[i].run(made);
  }
  fflush(stdout);
  _Exit(0); /* without waiting for what is outstanding */
}
