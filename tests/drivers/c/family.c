/* SPDX-License-Identifier: Apache-2.0
 *
 * The scenario driver for C: what is acquired, and what can be asked of it.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "generated.h"

/* The same verb of whatever it is. */
#define OF_ANY(of, verb, ...)                                               \
  ((of)->multi_lock  ? zkr_multi_lock_##verb((of)->multi_lock, __VA_ARGS__) \
   : (of)->election  ? zkr_election_##verb((of)->election, __VA_ARGS__)     \
   : (of)->semaphore ? zkr_semaphore_##verb((of)->semaphore, __VA_ARGS__)   \
                     : zkr_lock_##verb((of)->handle, __VA_ARGS__))
#define SAID_BY_ANY(of, question)                                  \
  ((of)->multi_lock  ? zkr_multi_lock_##question((of)->multi_lock) \
   : (of)->election  ? zkr_election_##question((of)->election)     \
   : (of)->semaphore ? zkr_semaphore_##question((of)->semaphore)   \
                     : zkr_lock_##question((of)->handle))

/* The same where an item can do it, too: that claimed last. */
#define OF_HELD(of, verb, ...) \
  (is_queue(of) ? zkr_item_##verb(item_of(of), __VA_ARGS__) : OF_ANY(of, verb, __VA_ARGS__))

static void on_revoke(void *user_data) {
  const lock *asked = user_data;
  say("event %s revoked %s", asked->of->name, asked->name);
}

static void on_lost(const zkr_error *error, void *user_data) {
  const lock *lost = user_data;
  say("event %s lost %s %s", lost->of->name, lost->name, zkr_reason_name(zkr_error_reason(error)));
}

static void do_lock(command *c) {
  zkr_error *error = NULL;
  zkr_lock *handle = NULL;
  zkr_lock_options options = lock_options_of(c);
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
  if (is_queue(named(c))) {
    say("%s ok %s", c->seq, zkr_item_is_held(item_of(named(c))) ? "true" : "false");
    return;
  }
  say("%s ok %s", c->seq, SAID_BY_ANY(named(c), is_held) ? "true" : "false");
}

/* The latest acquisition, for what only an acquisition can tell. */
static zkr_held *latest(const command *command) {
  const lock *of = find_lock(command);
  return of ? of->held : NULL;
}

static void do_token(command *c) {
  uint64_t token =
      is_queue(named(c)) ? zkr_item_fencing_token(item_of(named(c))) : SAID_BY_ANY(named(c), fencing_token);
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
  lock *of = find_lock(c);
  if (of && of->leadership) {
    answer(c, zkr_leadership_on_revoke(of->leadership, on_revoke, of, NULL, NULL), NULL);
    return;
  }
  if (!latest(c)) {
    say("%s error NOT_HELD", c->seq);
    return;
  }
  zkr_status status = zkr_held_on_revoke(latest(c), on_revoke, of, NULL, &error);
  answer(c, status, error);
}

static void do_cancel(command *c) {
  zkr_error *error = NULL;
  zkr_status status = is_queue(named(c)) ? cancel_queue(named(c), &error) : OF_ANY(named(c), cancel, &error);
  answer(c, status, error);
}

static void do_watch_lost(command *c) {
  zkr_error *error = NULL;
  zkr_status status = OF_HELD(named(c), on_lost, on_lost, find_lock(c), NULL, &error);
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
  zkr_held_free(replace_held(of, held)); /* the lock keeps it, if it is still held */
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

/* What it leads to is held by the read side. */
static void do_downgrade(command *c) {
  zkr_error *error = NULL;
  zkr_held *held = NULL;
  zkr_status status = zkr_lock_downgrade(named(c)->handle, &held, &error);
  if (status != ZKR_OK) {
    fail(c, status, error);
    return;
  }
  char readers[256];
  const char *writers = text(c, 1);
  snprintf(readers, sizeof readers, "%.*s.read", (int)(strlen(writers) - strlen(".write")), writers);
  zkr_held_free(replace_held(find(c->client, readers), held));
  say("%s ok %" PRIu64, c->seq, zkr_held_fencing_token(held));
}

void do_release(command *c) {
  zkr_error *error = NULL;
  const char *how = word(c, 2);
  if (is_queue(named(c))) {
    do_nack(c); /* releasing a claim is giving the item back */
    return;
  }
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
  answer_bool(c, status, asked, error);
}

static void do_check_sequencer(command *c) {
  zkr_error *error = NULL;
  bool valid = false;
  zkr_status status = zkr_client_check_sequencer(c->client->handle, text(c, 1), &valid, &error);
  answer_bool(c, status, valid, error);
}

static void do_watch_sequencer(command *c) {
  zkr_error *error = NULL;
  zkr_status status =
      zkr_client_watch_sequencer_cancellable(c->client->handle, text(c, 1), -1, c->token, &error);
  answer(c, status, error);
}

static void do_verify(command *c) {
  zkr_error *error = NULL;
  zkr_status status = OF_HELD(named(c), verify, &error);
  answer(c, status, error);
}

void do_contenders(command *c) {
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
  zkr_status status = OF_HELD(named(c), guarded, &writes, &error);
  if (status == ZKR_OK)
    status = create ? zkr_transaction_create(writes, path, data, strlen(data), ZKR_PERSISTENT, &error)
                    : zkr_transaction_set(writes, path, data, strlen(data), -1, &error);
  if (status == ZKR_OK) status = zkr_transaction_commit(writes, &error);
  zkr_transaction_free(writes);
  answer(c, status, error);
}

static void do_guarded_set(command *c) { guarded(c, false); }
static void do_guarded_create(command *c) { guarded(c, true); }

const verb family_verbs[] = {
    {"lock", do_lock, false},
    {"rwlock", do_rwlock, false},
    {"multilock", do_multilock, false},
    {"semaphore", do_semaphore, false},
    {"acquire", do_acquire, true},
    {"try", do_try, true},
    {"downgrade", do_downgrade, true},
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
    {"watch-lost", do_watch_lost, false},
    {"contenders", do_contenders, true},
    {"guarded-set", do_guarded_set, true},
    {"guarded-create", do_guarded_create, true},
    {NULL, NULL, false},
};
