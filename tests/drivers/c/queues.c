/* SPDX-License-Identifier: Apache-2.0
 *
 * The scenario driver for C: queues, and the items claimed through them.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "generated.h"

bool is_queue(const lock *of) { return of->queue || of->priority_queue || of->delay_queue; }

zkr_item *item_of(const lock *of) { return of->claimed ? of->items[of->claimed - 1] : NULL; }

/* The same verb of whichever queue it is. */
#define OF_QUEUE(of, verb, ...)                                                        \
  ((of)->priority_queue ? zkr_priority_queue_##verb((of)->priority_queue, __VA_ARGS__) \
   : (of)->delay_queue  ? zkr_delay_queue_##verb((of)->delay_queue, __VA_ARGS__)       \
                        : zkr_queue_##verb((of)->queue, __VA_ARGS__))

zkr_status cancel_queue(const lock *of, zkr_error **error) { return OF_QUEUE(of, cancel, error); }

void free_queue(lock *of) {
  zkr_queue_free(of->queue);
  zkr_priority_queue_free(of->priority_queue);
  zkr_delay_queue_free(of->delay_queue);
  while (of->claimed) zkr_item_free(of->items[--of->claimed]);
}

static void made(command *c, lock what, zkr_status status, zkr_error *error) {
  if (status == ZKR_OK) add(c->client, what, text(c, 1), "");
  answer(c, status, error);
}

static void do_queue(command *c) {
  zkr_error *error = NULL;
  zkr_queue *queue = NULL;
  zkr_queue_options options = queue_options_of(c);
  zkr_status status = zkr_queue_new(c->client->handle, text(c, 2), &options, &queue, &error);
  made(c, (lock){.queue = queue}, status, error);
}

static void do_priority_queue(command *c) {
  zkr_error *error = NULL;
  zkr_priority_queue *queue = NULL;
  zkr_queue_options options = queue_options_of(c);
  zkr_status status = zkr_priority_queue_new(c->client->handle, text(c, 2), &options, &queue, &error);
  made(c, (lock){.priority_queue = queue}, status, error);
}

static void do_delay_queue(command *c) {
  zkr_error *error = NULL;
  zkr_delay_queue *queue = NULL;
  zkr_queue_options options = queue_options_of(c);
  zkr_status status = zkr_delay_queue_new(c->client->handle, text(c, 2), &options, &queue, &error);
  made(c, (lock){.delay_queue = queue}, status, error);
}

static void do_dead(command *c) {
  zkr_error *error = NULL;
  zkr_queue *dead = NULL;
  zkr_status status = OF_QUEUE(named(c), dead, &dead, &error);
  if (status == ZKR_OK) add(c->client, (lock){.queue = dead}, text(c, 2), "");
  answer(c, status, error);
}

/* Putting ------------------------------------------------------------------------------------------------ */

static void do_put(command *c) {
  zkr_error *error = NULL;
  const lock *of = named(c);
  const char *data = text(c, 2), *priority = option(c, "priority"), *delay = option(c, "delay");
  const char *key = option(c, "key");
  const int32_t first = priority ? (int32_t)strtol(priority, NULL, 10) : 0;
  const int64_t later = delay ? strtoll(delay, NULL, 10) : 0;
  const size_t size = strlen(data);
  const int64_t within = timeout(c, 3);
  zkr_status status;
  if (of->priority_queue && key)
    status = zkr_priority_queue_put_with_cancellable(of->priority_queue, data, size, first, key, within,
                                                     c->token, &error);
  else if (of->priority_queue)
    status =
        zkr_priority_queue_put_cancellable(of->priority_queue, data, size, first, within, c->token, &error);
  else if (of->delay_queue && key)
    status = zkr_delay_queue_put_with_cancellable(of->delay_queue, data, size, later, key, within, c->token,
                                                  &error);
  else if (of->delay_queue)
    status = zkr_delay_queue_put_cancellable(of->delay_queue, data, size, later, within, c->token, &error);
  else if (key)
    status = zkr_queue_put_with_cancellable(of->queue, data, size, key, within, c->token, &error);
  else
    status = zkr_queue_put_cancellable(of->queue, data, size, within, c->token, &error);
  answer(c, status, error);
}

static void do_put_many(command *c) {
  zkr_error *error = NULL;
  const void *items[MAX_WORDS];
  size_t sizes[MAX_WORDS], count = 0;
  for (int i = 2; i < c->count; i++, count++) {
    items[count] = c->words[i];
    sizes[count] = strlen(c->words[i]);
  }
  zkr_status status =
      zkr_queue_put_many_cancellable(named(c)->queue, items, sizes, count, -1, c->token, &error);
  answer(c, status, error);
}

/* Taking ------------------------------------------------------------------------------------------------- */

static void do_get_item(command *c) {
  zkr_error *error = NULL;
  zkr_buffer *data = NULL;
  zkr_status status = OF_QUEUE(named(c), get_cancellable, timeout(c, 2), c->token, &data, &error);
  answer_data(c, status, data, error);
}

static void do_peek(command *c) {
  zkr_error *error = NULL;
  zkr_buffer *data = NULL;
  zkr_status status = OF_QUEUE(named(c), peek, &data, &error);
  answer_data(c, status, data, error);
}

static void do_claim(command *c) {
  zkr_error *error = NULL;
  zkr_item *item = NULL;
  lock *of = find_lock(c);
  zkr_status status = OF_QUEUE(named(c), claim_cancellable, timeout(c, 2), c->token, &item, &error);
  if (status != ZKR_OK || of->claimed == MAX_WORDS) {
    fail(c, status, error);
    return;
  }
  of->items[of->claimed++] = item;
  say("%s ok %s %" PRIu32, c->seq, (const char *)zkr_item_data(item), zkr_item_attempts(item));
}

static void do_claim_many(command *c) {
  zkr_error *error = NULL;
  zkr_items *items = NULL;
  lock *of = find_lock(c);
  char line[4096] = "";
  size_t used = 0;
  zkr_status status = OF_QUEUE(named(c), claim_many_cancellable, (size_t)integer(c, 2), timeout(c, 3),
                               c->token, &items, &error);
  if (status != ZKR_OK || of->claimed + zkr_items_count(items) > MAX_WORDS) {
    zkr_items_free(items);
    fail(c, status, error);
    return;
  }
  for (size_t i = 0; i < zkr_items_count(items) && used < sizeof line; i++) {
    zkr_item *item = of->items[of->claimed++] = zkr_items_take(items, i);
    used += (size_t)snprintf(line + used, sizeof line - used, " %s", (const char *)zkr_item_data(item));
  }
  zkr_items_free(items);
  say("%s ok%s", c->seq, line);
}

static void do_ack_many(command *c) {
  zkr_error *error = NULL;
  lock *of = find_lock(c);
  zkr_status status = OF_QUEUE(named(c), ack_many, of->items, (size_t)of->claimed, &error);
  while (status == ZKR_OK && of->claimed) zkr_item_free(of->items[--of->claimed]);
  answer(c, status, error);
}

/* Lets the one claimed before be the last, if this one is settled. */
static void settled(command *c, zkr_status status, zkr_error *error) {
  lock *of = find_lock(c);
  if (status == ZKR_OK && of && of->claimed) zkr_item_free(of->items[--of->claimed]);
  answer(c, status, error);
}

/* Without an item nothing is held. */
static bool has_item(command *c) {
  if (item_of(named(c))) return true;
  say("%s error NOT_HELD", c->seq);
  return false;
}

static void do_ack(command *c) {
  zkr_error *error = NULL;
  if (!has_item(c)) return;
  zkr_status status = zkr_item_ack(item_of(named(c)), &error);
  settled(c, status, error);
}

void do_nack(command *c) {
  zkr_error *error = NULL;
  if (!has_item(c)) return;
  const char *delay = option(c, "delay");
  zkr_status status = zkr_item_nack_with(item_of(named(c)), delay ? strtoll(delay, NULL, 10) : -1,
                                         option(c, "reason"), &error);
  settled(c, status, error);
}

/* A scope of C ends with freeing, which gives back what was not acknowledged. */
static void do_leave_item(command *c) {
  zkr_error *error = NULL;
  zkr_item *item = item_of(named(c));
  bool failed = strcmp(text(c, 2), "fail") == 0;
  zkr_status status = item && !failed ? zkr_item_ack(item, &error) : ZKR_OK;
  settled(c, status, error);
}

static void ack_with(command *c, bool create) {
  zkr_error *error = NULL;
  zkr_transaction *writes = NULL;
  const char *path = text(c, 2), *data = text(c, 3);
  if (!has_item(c)) return;
  zkr_status status = zkr_item_guarded(item_of(named(c)), &writes, &error);
  if (status == ZKR_OK)
    status = create ? zkr_transaction_create(writes, path, data, strlen(data), ZKR_PERSISTENT, &error)
                    : zkr_transaction_set(writes, path, data, strlen(data), -1, &error);
  if (status == ZKR_OK) status = zkr_item_ack_with(item_of(named(c)), writes, &error);
  zkr_transaction_free(writes);
  settled(c, status, error);
}

static void do_ack_with_set(command *c) { ack_with(c, false); }
static void do_ack_with_create(command *c) { ack_with(c, true); }

/* Looking ------------------------------------------------------------------------------------------------ */

static void do_length(command *c) {
  zkr_error *error = NULL;
  size_t length = 0;
  zkr_status status = OF_QUEUE(named(c), len, &length, &error);
  answer_number(c, status, (int64_t)length, error);
}

static void do_stats(command *c) {
  zkr_error *error = NULL;
  zkr_queue_counts stats = {0};
  zkr_status status = OF_QUEUE(named(c), stats, &stats, &error);
  if (status != ZKR_OK) {
    answer(c, status, error);
    return;
  }
  say("%s ok %zu %zu %zu %zu", c->seq, stats.ready, stats.delayed, stats.claimed, stats.dead);
}

static void do_replay(command *c) {
  zkr_error *error = NULL;
  size_t replayed = 0;
  const char *id = word(c, 2);
  zkr_status status = id ? OF_QUEUE(named(c), replay_one, id, &replayed, &error)
                         : OF_QUEUE(named(c), replay, &replayed, &error);
  answer_number(c, status, (int64_t)replayed, error);
}

static void do_purge(command *c) {
  zkr_error *error = NULL;
  size_t purged = 0;
  zkr_status status = OF_QUEUE(named(c), purge, integer(c, 2), &purged, &error);
  answer_number(c, status, (int64_t)purged, error);
}

static void do_items(command *c) {
  zkr_error *error = NULL;
  zkr_payloads *items = NULL;
  char line[4096] = "";
  size_t used = 0;
  zkr_status status = OF_QUEUE(named(c), items, &items, &error);
  for (size_t i = 0; i < zkr_payloads_count(items) && used < sizeof line; i++)
    used += (size_t)snprintf(line + used, sizeof line - used, " %s",
                             (const char *)zkr_payloads_get(items, i)->data);
  if (status == ZKR_OK)
    say("%s ok%s", c->seq, line);
  else
    fail(c, status, error);
  zkr_payloads_free(items);
}

static void do_letters(command *c) {
  zkr_error *error = NULL;
  zkr_dead_letters *letters = NULL;
  char line[4096] = "";
  size_t used = 0;
  zkr_status status = OF_QUEUE(named(c), dead_letters, &letters, &error);
  for (size_t i = 0; i < zkr_dead_letters_count(letters) && used < sizeof line; i++) {
    const zkr_dead_letter *one = zkr_dead_letters_get(letters, i);
    used += (size_t)snprintf(line + used, sizeof line - used, " %s/%" PRIu32 "/%s",
                             one->problem ? "unreadable" : (const char *)one->data, one->attempts,
                             one->reason ? one->reason : "-");
  }
  if (status == ZKR_OK)
    say("%s ok%s", c->seq, line);
  else
    fail(c, status, error);
  zkr_dead_letters_free(letters);
}

const verb queue_verbs[] = {
    {"queue", do_queue, false},
    {"priority-queue", do_priority_queue, false},
    {"delay-queue", do_delay_queue, false},
    {"dead", do_dead, false},
    {"put", do_put, true},
    {"put-many", do_put_many, true},
    {"get-item", do_get_item, true},
    {"claim", do_claim, true},
    {"ack", do_ack, true},
    {"nack", do_nack, true},
    {"leave-item", do_leave_item, true},
    {"ack-with-set", do_ack_with_set, true},
    {"ack-with-create", do_ack_with_create, true},
    {"peek", do_peek, true},
    {"length", do_length, true},
    {"items", do_items, true},
    {"letters", do_letters, true},
    {"claim-many", do_claim_many, true},
    {"ack-many", do_ack_many, true},
    {"stats", do_stats, true},
    {"replay", do_replay, true},
    {"purge", do_purge, true},
    {NULL, NULL, false},
};
