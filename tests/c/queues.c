/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues. What they promise is played as scenarios; here is what is particular to C.
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

/* What a verb in the background found; `calls` is counted last. */
typedef struct found {
  zkr_status status;
  zkr_buffer *data;
  zkr_item *item;
  int64_t number;
  size_t listed;
  atomic_int calls;
} found;

static void note_data(zkr_status status, zkr_buffer *data, const zkr_stat *stat, const zkr_error *error,
                      void *user_data) {
  found *end = user_data;
  (void)error, (void)stat;
  end->status = status;
  end->data = data;
  atomic_fetch_add(&end->calls, 1);
}

static void note_item(zkr_status status, zkr_item *item, const zkr_error *error, void *user_data) {
  found *end = user_data;
  (void)error;
  end->status = status;
  end->item = item;
  atomic_fetch_add(&end->calls, 1);
}

static void note_number(zkr_status status, int64_t number, const zkr_error *error, void *user_data) {
  found *end = user_data;
  (void)error;
  end->status = status;
  end->number = number;
  atomic_fetch_add(&end->calls, 1);
}

static void note_payloads(zkr_status status, zkr_payloads *items, const zkr_error *error, void *user_data) {
  found *end = user_data;
  (void)error;
  end->status = status;
  end->listed = zkr_payloads_count(items);
  zkr_payloads_free(items);
  atomic_fetch_add(&end->calls, 1);
}

static zkr_queue *queue_on(zkr_client *client, const char *path, int64_t max_attempts) {
  zkr_error *error = NULL;
  zkr_queue *queue = NULL;
  zkr_queue_options options = ZKR_QUEUE_OPTIONS_INIT;
  options.max_attempts = max_attempts;
  if (zkr_queue_new(client, path, &options, &queue, &error) != ZKR_OK) {
    printf("no queue: %s\n", zkr_error_message(error));
    exit(2);
  }
  return queue;
}

static bool is_text(zkr_buffer *data, const char *text) {
  bool is_it = data && zkr_buffer_size(data) == strlen(text) && strcmp(zkr_buffer_text(data), text) == 0;
  zkr_buffer_free(data);
  return is_it;
}

void a_queue_is_filled_and_emptied_in_both_forms(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_queue *queue = queue_on(client, path("queue"), -1);
  zkr_buffer *data = NULL;
  zkr_payloads *items = NULL;
  const void *const several[] = {"two", "", "four"};
  const size_t sizes[] = {3, 0, 4};
  size_t length = 9;
  ending put = {0}, put_many = {0};
  found got = {0}, peeked = {0}, counted = {0}, listed = {0};

  CHECK(strcmp(zkr_queue_path(queue), path("queue")) == 0);
  REFUSED(zkr_queue_get(queue, 0, &data, &error), ZKR_TIMEOUT, "");
  OK(zkr_queue_peek(queue, &data, &error));
  CHECK(data == NULL);
  OK(zkr_queue_put(queue, "one", 3, 0, &error));
  OK(zkr_queue_put_many(queue, several, sizes, 3, -1, &error));
  OK(zkr_queue_len(queue, &length, &error));
  CHECK(length == 4);
  OK(zkr_queue_peek(queue, &data, &error));
  CHECK(is_text(data, "one"));
  OK(zkr_queue_items(queue, &items, &error));
  CHECK(zkr_payloads_count(items) == 4 && zkr_payloads_get(items, 4) == NULL);
  CHECK(zkr_payloads_get(items, 2)->size == 0 && strcmp(zkr_payloads_get(items, 3)->data, "four") == 0);
  zkr_payloads_free(items);
  OK(zkr_queue_get(queue, -1, &data, &error));
  CHECK(is_text(data, "one"));

  CHECK(zkr_queue_put_async(queue, "five", 4, -1, note_done, &put) == ZKR_OK);
  CHECK(zkr_queue_put_many_async(queue, several, sizes, 2, -1, note_done, &put_many) == ZKR_OK);
  EVENTUALLY(put.calls == 1 && put_many.calls == 1);
  CHECK(put.status == ZKR_OK && put_many.status == ZKR_OK);
  CHECK(zkr_queue_peek_async(queue, note_data, &peeked) == ZKR_OK);
  CHECK(zkr_queue_len_async(queue, note_number, &counted) == ZKR_OK);
  CHECK(zkr_queue_items_async(queue, note_payloads, &listed) == ZKR_OK);
  EVENTUALLY(peeked.calls == 1 && counted.calls == 1 && listed.calls == 1);
  CHECK(is_text(peeked.data, "two") && counted.number == 6 && listed.listed == 6);
  CHECK(zkr_queue_get_async(queue, -1, note_data, &got) == ZKR_OK);
  EVENTUALLY(got.calls == 1);
  CHECK(got.status == ZKR_OK && is_text(got.data, "two"));
  zkr_queue_free(queue);
  zkr_client_free(client);
}

void puts_of_one_thread_go_in_in_order(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_payloads *items = NULL;
  char name[32];

  for (int round = 0; round < 10; round++) {
    ending puts[8] = {0};
    snprintf(name, sizeof name, "puts-%d", round); /* a path that is not there yet */
    zkr_queue *queue = queue_on(client, path(name), -1);
    for (int i = 0; i < 8; i++)
      CHECK(zkr_queue_put_async(queue, &"01234567"[i], 1, -1, note_done, &puts[i]) == ZKR_OK);
    for (int i = 0; i < 8; i++) {
      EVENTUALLY(puts[i].calls == 1);
      CHECK(puts[i].status == ZKR_OK);
    }
    OK(zkr_queue_items(queue, &items, &error));
    CHECK(zkr_payloads_count(items) == 8);
    for (size_t i = 0; i < 8; i++) CHECK(*(const char *)zkr_payloads_get(items, i)->data == "01234567"[i]);
    zkr_payloads_free(items);
    zkr_queue_free(queue);
  }
  zkr_client_free(client);
}

void an_item_is_settled_or_given_back(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *other = connected(hosts(), "b");
  zkr_queue *queue = queue_on(client, path("items"), -1), *same = queue_on(other, path("items"), -1);
  zkr_item *item = NULL, *again = NULL;
  zkr_transaction *writes = NULL;
  char bill[600];
  size_t length = 9;
  bool stands = false;
  ending done = {0};
  found claimed = {0};
  losses lost = {0};

  snprintf(bill, sizeof bill, "%s-bill", path("items"));
  OK(zkr_queue_put(queue, "tea\0pot", 7, -1, &error));
  OK(zkr_queue_claim(queue, 10000, &item, &error));
  CHECK(zkr_item_size(item) == 7 && memcmp(zkr_item_data(item), "tea\0pot", 8) == 0);
  CHECK(zkr_item_attempts(item) == 1 && zkr_item_is_held(item) && zkr_item_fencing_token(item) > 0);
  CHECK(strcmp(zkr_item_path(item), path("items")) == 0 && zkr_item_node(item) != NULL);
  OK(zkr_item_verify(item, &error));
  OK(zkr_client_check_sequencer(other, zkr_item_sequencer(item), &stands, &error));
  CHECK(stands);
  REFUSED(zkr_queue_claim(same, 0, &again, &error), ZKR_TIMEOUT, "");
  CHECK(again == NULL);
  OK(zkr_item_on_lost(item, note_loss, &lost, NULL, &error));
  zkr_item_free(item); /* gives it back */
  OK(zkr_queue_claim(same, 10000, &again, &error));
  CHECK(zkr_item_attempts(again) == 2 && zkr_item_data(item) == NULL && lost.calls == 0);
  CHECK(zkr_item_sequencer(item) == NULL);
  OK(zkr_item_nack(again, &error));
  REFUSED(zkr_item_nack(again, &error), ZKR_NOT_HELD, "");
  REFUSED(zkr_item_ack(again, &error), ZKR_NOT_HELD, "");
  zkr_item_free(again);

  CHECK(zkr_queue_claim_async(queue, -1, note_item, &claimed) == ZKR_OK);
  EVENTUALLY(claimed.calls == 1);
  CHECK(claimed.status == ZKR_OK && zkr_item_attempts(claimed.item) == 3);
  OK(zkr_item_guarded(claimed.item, &writes, &error));
  OK(zkr_transaction_set(writes, bill, "", 0, -1, &error));
  REFUSED(zkr_item_ack_with(claimed.item, writes, &error), ZKR_NO_NODE, "");
  CHECK(zkr_item_is_held(claimed.item)); /* what is refused settles nothing */
  REFUSED(zkr_item_ack_with(claimed.item, writes, &error), ZKR_INVALID, "");
  zkr_transaction_free(writes);
  REFUSED(zkr_item_ack_with(claimed.item, writes, &error), ZKR_INVALID, "transaction");
  OK(zkr_nodes_transaction(client, &writes, &error));
  OK(zkr_transaction_create(writes, bill, "paid", 4, ZKR_PERSISTENT, &error));
  CHECK(zkr_item_ack_with_async(claimed.item, writes, note_done, &done) == ZKR_OK);
  EVENTUALLY(done.calls == 1);
  CHECK(done.status == ZKR_OK && !zkr_item_is_held(claimed.item));
  OK(zkr_nodes_delete(client, bill, 0, &error));
  OK(zkr_queue_len(queue, &length, &error));
  CHECK(length == 0);
  zkr_transaction_free(writes);
  zkr_item_free(claimed.item);
  zkr_queue_free(queue);
  zkr_queue_free(same);
  zkr_client_free(client);
  zkr_client_free(other);
}

void a_key_puts_once(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_queue_options options = ZKR_QUEUE_OPTIONS_INIT;
  zkr_queue *queue = NULL;
  size_t count = 9;

  CHECK(options.key_window_ms == 600000);
  OK(zkr_queue_new(client, path("keys"), &options, &queue, &error));
  for (int i = 0; i < 2; i++) OK(zkr_queue_put_with(queue, "tea", 3, "order-1", 10000, &error));
  OK(zkr_queue_put_with(queue, "milk", 4, "order-2", 0, &error));
  OK(zkr_queue_len(queue, &count, &error));
  CHECK(count == 2);
  REFUSED(zkr_queue_put_with(queue, "x", 1, "", -1, &error), ZKR_INVALID, "key");
  REFUSED(zkr_queue_put_with(queue, "x", 1, NULL, -1, &error), ZKR_INVALID, "key");
  options.key_window_ms = 0;
  zkr_queue *none = NULL;
  REFUSED(zkr_queue_new(client, path("keys"), &options, &none, &error), ZKR_INVALID, "key_window");
  zkr_queue_free(queue);
  zkr_client_free(client);
}

void what_fails_too_often_can_be_replayed(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_queue *queue = queue_on(client, path("mortal"), 1), *dead = NULL;
  zkr_dead_letters *letters = NULL;
  const zkr_dead_letter *letter = NULL;
  zkr_item *item = NULL;
  size_t count = 9;

  OK(zkr_queue_put(queue, "spam", 4, -1, &error));
  OK(zkr_queue_claim(queue, 10000, &item, &error));
  OK(zkr_item_nack_with(item, 0, "nobody lives there", &error));
  zkr_item_free(item);
  OK(zkr_queue_dead(queue, &dead, &error));
  OK(zkr_queue_len(dead, &count, &error));
  CHECK(count == 1);
  OK(zkr_queue_dead_letters(queue, &letters, &error));
  CHECK(zkr_dead_letters_count(letters) == 1);
  letter = zkr_dead_letters_get(letters, 0);
  CHECK(strcmp(letter->data, "spam") == 0 && letter->size == 4 && letter->attempts == 1 &&
        letter->died_at_ms > 0);
  CHECK(strcmp(letter->reason, "nobody lives there") == 0 && letter->problem == NULL && *letter->id);
  zkr_dead_letters_free(letters);
  OK(zkr_queue_dead_letters(dead, &letters, &error)); /* the same */
  CHECK(zkr_dead_letters_count(letters) == 1);
  zkr_dead_letters_free(letters);
  REFUSED(zkr_queue_put(dead, "x", 1, -1, &error), ZKR_INVALID, "dead letters");
  REFUSED(zkr_queue_put_with(dead, "x", 1, "key", -1, &error), ZKR_INVALID, "dead letters");
  OK(zkr_queue_replay(queue, &count, &error));
  CHECK(count == 1);
  OK(zkr_queue_replay(queue, NULL, &error));
  OK(zkr_queue_claim(queue, 10000, &item, &error));
  OK(zkr_item_ack(item, &error));
  zkr_item_free(item);
  zkr_queue_free(dead);
  zkr_queue_free(queue);
  zkr_client_free(client);
}

void waits_for_items_can_be_withdrawn(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_queue *queue = queue_on(client, path("withdrawn-items"), -1);
  zkr_cancel_token *token = zkr_cancel_token_new();
  zkr_buffer *data = NULL;
  zkr_item *item = NULL;
  found got = {0}, claimed = {0}, freed = {0};

  CHECK(zkr_queue_get_cancellable_async(queue, -1, token, note_data, &got) == ZKR_OK);
  zkr_cancel_token_cancel(token);
  EVENTUALLY(got.calls == 1);
  CHECK(got.status == ZKR_CANCELLED && got.data == NULL);
  REFUSED(zkr_queue_claim_cancellable(queue, -1, token, &item, &error), ZKR_CANCELLED, "");
  REFUSED(zkr_queue_put_cancellable(queue, "no", 2, -1, token, &error), ZKR_CANCELLED, "");
  CHECK(zkr_queue_claim_async(queue, -1, note_item, &claimed) == ZKR_OK);
  OK(zkr_queue_cancel(queue, &error));
  EVENTUALLY(claimed.calls == 1);
  CHECK(claimed.status == ZKR_CANCELLED && claimed.item == NULL);
  OK(zkr_queue_put(queue, "tea", 3, -1, &error));
  OK(zkr_queue_get(queue, 10000, &data, &error));
  CHECK(is_text(data, "tea"));
  CHECK(zkr_queue_get_async(queue, -1, note_data, &freed) == ZKR_OK);
  zkr_queue_free(queue);
  EVENTUALLY(freed.calls == 1);
  CHECK(freed.status == ZKR_CANCELLED);
  zkr_cancel_token_free(token);
  zkr_client_free(client);
}

void bad_queues_and_items_are_refused(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_queue_options options = ZKR_QUEUE_OPTIONS_INIT;
  zkr_queue *queue = NULL, *freed = queue_on(client, path("refused-items"), -1), *dead = NULL;
  zkr_delay_queue *delay = NULL;
  zkr_buffer *data = NULL;
  zkr_item *item = NULL;
  zkr_payloads *items = NULL;
  ending done = {0};
  found got = {0};
  size_t count = 9;

  options.layout = (zkr_queue_layout)9;
  REFUSED(zkr_queue_new(client, path("bad"), &options, &queue, &error), ZKR_INVALID, "layout");
  options = (zkr_queue_options)ZKR_QUEUE_OPTIONS_INIT;
  options.shards = 0;
  REFUSED(zkr_queue_new(client, path("bad"), &options, &queue, &error), ZKR_INVALID, "shards");
  options = (zkr_queue_options)ZKR_QUEUE_OPTIONS_INIT;
  options.reserved[2] = 1;
  REFUSED(zkr_queue_new(client, path("bad"), &options, &queue, &error), ZKR_INVALID,
          "ZKR_QUEUE_OPTIONS_INIT");
  options = (zkr_queue_options)ZKR_QUEUE_OPTIONS_INIT;
  options.layout = ZKR_QUEUE_LAYOUT_DISTRIBUTED;
  REFUSED(zkr_delay_queue_new(client, path("bad"), &options, &delay, &error), ZKR_INVALID, "layout");
  REFUSED(zkr_queue_new(client, "relative", NULL, &queue, &error), ZKR_INVALID, "path");
  REFUSED(zkr_queue_get(freed, 0, NULL, &error), ZKR_INVALID, "data");
  REFUSED(zkr_queue_claim(freed, 0, NULL, &error), ZKR_INVALID, "item");
  REFUSED(zkr_queue_put(freed, NULL, 1, 0, &error), ZKR_INVALID, "data");
  REFUSED(zkr_queue_put_many(freed, NULL, NULL, 1, 0, &error), ZKR_INVALID, "sizes");

  zkr_queue_free(freed);
  zkr_queue_free(freed);
  zkr_queue_free(NULL);
  zkr_item_free(NULL);
  REFUSED(zkr_queue_get(freed, 0, &data, &error), ZKR_INVALID, "queue");
  REFUSED(zkr_queue_claim(freed, 0, &item, &error), ZKR_INVALID, "queue");
  REFUSED(zkr_queue_put(freed, "", 0, 0, &error), ZKR_INVALID, "queue");
  REFUSED(zkr_queue_len(freed, &count, &error), ZKR_INVALID, "queue");
  REFUSED(zkr_queue_peek(freed, &data, &error), ZKR_INVALID, "queue");
  REFUSED(zkr_queue_items(freed, &items, &error), ZKR_INVALID, "queue");
  REFUSED(zkr_queue_dead(freed, &dead, &error), ZKR_INVALID, "queue");
  REFUSED(zkr_queue_replay(freed, &count, &error), ZKR_INVALID, "queue");
  REFUSED(zkr_queue_cancel(freed, &error), ZKR_INVALID, "queue");
  CHECK(zkr_queue_get_async(freed, 0, note_data, &got) == ZKR_INVALID && zkr_queue_path(freed) == NULL);
  REFUSED(zkr_item_ack((zkr_item *)client, &error), ZKR_INVALID, "zkr_client");
  REFUSED(zkr_item_nack(NULL, &error), ZKR_INVALID, "item");
  REFUSED(zkr_item_verify(NULL, &error), ZKR_INVALID, "item");
  CHECK(zkr_item_ack_async(NULL, note_done, &done) == ZKR_INVALID && done.calls == 0 && got.calls == 0);
  CHECK(zkr_item_size(NULL) == 0 && zkr_item_attempts(NULL) == 0 && !zkr_item_is_held(NULL));
  CHECK(zkr_error_put(NULL) == -1);
  zkr_client_free(client);
}

/* What goes wrong between two transactions of a put_many says how many items are in. */
void an_error_says_how_many_items_went_in(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_queue *queue = queue_on(client, path("partly"), -1);
  size_t size = 2 << 20, count = 9;
  char *huge = calloc(1, size);
  const void *several[] = {"one", huge};
  const size_t sizes[] = {3, size};

  CHECK(huge != NULL);
  CHECK(zkr_queue_put_many(queue, several, sizes, 2, -1, &error) == ZKR_TOO_LARGE);
  CHECK(zkr_queue_len(queue, &count, NULL) == ZKR_OK);
  CHECK(zkr_error_put(error) == (int64_t)count);
  zkr_error_free(error);
  free(huge);
  zkr_queue_free(queue);
  zkr_client_free(client);
}

/* Each is answered before it is withdrawn, and dispatched after that. */
void what_was_not_dispatched_can_be_withdrawn(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *other = connected(hosts(), "b");
  zkr_queue *queue = queue_on(client, path("undispatched"), 1),
            *same = queue_on(other, path("undispatched"), 1);
  zkr_cancel_token *tokens[3] = {zkr_cancel_token_new(), zkr_cancel_token_new(), zkr_cancel_token_new()};
  struct pollfd dispatches = {.fd = zkr_client_event_fd(client), .events = POLLIN};
  zkr_buffer *data = NULL;
  zkr_item *item = NULL;
  size_t length = 9;
  found got = {0}, claimed = {0};
  ending put = {0};

  OK(zkr_queue_put(same, "one", 3, -1, &error));
  CHECK(zkr_queue_get_cancellable_async(queue, -1, tokens[0], note_data, &got) == ZKR_OK);
  CHECK(poll(&dispatches, 1, 10000) == 1);
  OK(zkr_queue_len(same, &length, &error));
  CHECK(length == 0);
  CHECK(zkr_cancel_token_cancel(tokens[0]) == ZKR_OK);
  CHECK(zkr_client_dispatch(client, 0, 0) == 1);
  CHECK(got.calls == 1 && got.status == ZKR_CANCELLED && !got.data);
  OK(zkr_queue_get(same, 10000, &data, &error));
  CHECK(is_text(data, "one"));

  /* With an attempt that counts, it would be a dead letter. */
  OK(zkr_queue_put(same, "two", 3, -1, &error));
  CHECK(zkr_queue_claim_cancellable_async(queue, -1, tokens[1], note_item, &claimed) == ZKR_OK);
  CHECK(poll(&dispatches, 1, 10000) == 1);
  CHECK(zkr_cancel_token_cancel(tokens[1]) == ZKR_OK);
  CHECK(zkr_client_dispatch(client, 0, 0) == 1);
  CHECK(claimed.calls == 1 && claimed.status == ZKR_CANCELLED && !claimed.item);
  OK(zkr_queue_claim(same, 10000, &item, &error));
  OK(zkr_item_ack(item, &error));
  zkr_item_free(item);

  CHECK(zkr_queue_put_cancellable_async(queue, "three", 5, -1, tokens[2], note_done, &put) == ZKR_OK);
  CHECK(poll(&dispatches, 1, 10000) == 1);
  OK(zkr_queue_len(same, &length, &error));
  CHECK(length == 1);
  CHECK(zkr_cancel_token_cancel(tokens[2]) == ZKR_OK);
  CHECK(zkr_client_dispatch(client, 0, 0) == 1);
  CHECK(put.calls == 1 && put.status == ZKR_CANCELLED);
  EVENTUALLY(zkr_queue_len(same, &length, NULL) == ZKR_OK && length == 0);

  for (int i = 0; i < 3; i++) zkr_cancel_token_free(tokens[i]);
  zkr_queue_free(queue);
  zkr_queue_free(same);
  zkr_client_free(client);
  zkr_client_free(other);
}
