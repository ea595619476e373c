/* SPDX-License-Identifier: Apache-2.0
 *
 * Transactions, counters, configs and streams. What they promise is played as scenarios; here is what is
 * particular to C.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

/* The end of a verb that answers a number; `calls` is counted last. */
typedef struct counted {
  zkr_status status;
  int64_t number;
  atomic_int calls;
} counted;

static void note_number(zkr_status status, int64_t number, const zkr_error *error, void *user_data) {
  counted *end = user_data;
  end->status = error ? zkr_error_code(error) : status;
  end->number = number;
  atomic_fetch_add(&end->calls, 1);
}

void a_transaction_tells_what_became_of_its_parts(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  const char *at = path("parts");
  char created[600], expected[600];
  zkr_transaction *writes = NULL;
  zkr_part_results *results = NULL;

  OK(zkr_nodes_ensure(client, at, &error));
  snprintf(created, sizeof created, "%s/a-", at);
  snprintf(expected, sizeof expected, "%s/a-0000000000", at);
  OK(zkr_nodes_transaction(client, &writes, &error));
  OK(zkr_transaction_create(writes, created, "1", 1, ZKR_PERSISTENT_SEQUENTIAL, &error));
  OK(zkr_transaction_set(writes, at, "22", 2, 0, &error));
  OK(zkr_transaction_delete(writes, expected, -1, &error));
  OK(zkr_transaction_check(writes, at, 1, &error));
  OK(zkr_transaction_commit_results(writes, &results, &error));
  CHECK(zkr_part_results_count(results) == 4 && zkr_part_results_get(results, 4) == NULL);
  const zkr_part_result *one = zkr_part_results_get(results, 0);
  CHECK(one->part == ZKR_PART_CREATED && strcmp(one->path, expected) == 0);
  one = zkr_part_results_get(results, 1);
  CHECK(one->part == ZKR_PART_SET && one->path == NULL && one->stat.data_length == 2);
  CHECK(zkr_part_results_get(results, 2)->part == ZKR_PART_DELETED);
  CHECK(zkr_part_results_get(results, 3)->part == ZKR_PART_CHECKED);
  zkr_part_results_free(results);
  REFUSED(zkr_transaction_commit_results(writes, &results, &error), ZKR_INVALID, "committed");
  CHECK(results == NULL && zkr_part_results_count(results) == 0);
  REFUSED(zkr_transaction_commit_results(writes, NULL, &error), ZKR_INVALID, "results");
  zkr_transaction_free(writes);
  zkr_client_free(client);
}

void a_counter_counts_in_both_forms(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_counter *counter = NULL, *other = NULL;
  zkr_counter_options options = ZKR_COUNTER_OPTIONS_INIT;
  counted got = {0}, added = {0}, refused = {0};
  ending swapped = {0};
  int64_t value = 7;
  bool was_set = true;

  OK(zkr_counter_new(client, path("counter"), NULL, &counter, &error));
  CHECK(strcmp(zkr_counter_path(counter), path("counter")) == 0);
  OK(zkr_counter_get(counter, &value, &error));
  CHECK(value == 0);
  OK(zkr_counter_add(counter, 5, NULL, &error));
  OK(zkr_counter_compare_and_set(counter, 4, 9, &was_set, &error));
  CHECK(!was_set);
  CHECK(zkr_counter_add_async(counter, -7, note_number, &added) == ZKR_OK);
  EVENTUALLY(added.calls == 1);
  CHECK(added.status == ZKR_OK && added.number == -2);
  CHECK(zkr_counter_compare_and_set_async(counter, -2, INT64_MAX, note_answer, &swapped) == ZKR_OK);
  EVENTUALLY(swapped.calls == 1);
  CHECK(swapped.status == ZKR_OK && swapped.answer);
  CHECK(zkr_counter_add_async(counter, 1, note_number, &refused) == ZKR_OK);
  CHECK(zkr_counter_get_async(counter, note_number, &got) == ZKR_OK);
  EVENTUALLY(refused.calls == 1 && got.calls == 1);
  CHECK(refused.status == ZKR_INVALID && refused.number == 0);
  CHECK(got.status == ZKR_OK && got.number == INT64_MAX);

  options.layout = (zkr_counter_layout)99;
  REFUSED(zkr_counter_new(client, path("counter"), &options, &other, &error), ZKR_INVALID, "layout");
  options.layout = ZKR_COUNTER_LAYOUT_SHARED;
  options.reserved = 1;
  REFUSED(zkr_counter_new(client, path("counter"), &options, &other, &error), ZKR_INVALID, "options");
  options.reserved = 0;
  OK(zkr_counter_new(client, path("shared-counter"), &options, &other, &error));
  REFUSED(zkr_counter_add(other, INT64_MAX, &value, &error), ZKR_INVALID, "n");
  REFUSED(zkr_counter_get(counter, NULL, &error), ZKR_INVALID, "value");
  zkr_counter_free(counter);
  REFUSED(zkr_counter_get(counter, &value, &error), ZKR_INVALID, "freed");
  CHECK(zkr_counter_path(counter) == NULL && value == 0);
  zkr_counter_free(other);
  zkr_client_free(client);
}

/* What a config has told; `calls` is counted last. */
typedef struct told {
  zkr_status status;
  bool is_there;
  char value[64];
  int32_t version;
  atomic_int calls;
} told;

static void note_versioned(zkr_status status, const zkr_buffer *value, int32_t version,
                           const zkr_error *error, void *user_data) {
  told *seen = user_data;
  seen->status = error ? zkr_error_code(error) : status;
  seen->is_there = value != NULL;
  snprintf(seen->value, sizeof seen->value, "%s", zkr_buffer_text(value));
  seen->version = version;
  atomic_fetch_add(&seen->calls, 1);
}

static zkr_config *config_on(zkr_client *client, const char *path) {
  zkr_error *error = NULL;
  zkr_config *config = NULL;
  if (zkr_config_new(client, path, &config, &error) != ZKR_OK) {
    printf("no config: %s\n", zkr_error_message(error));
    exit(2);
  }
  return config;
}

static void append(const void *value, size_t size, zkr_update *update, void *suffix) {
  char longer[64];
  int length = snprintf(longer, sizeof longer, "%.*s%s", (int)size, value ? (const char *)value : "",
                        (const char *)suffix);
  zkr_update_set(update, longer, (size_t)length);
}

static void leave(const void *value, size_t size, zkr_update *update, void *calls) {
  (void)value, (void)size, (void)update;
  ++*(int *)calls;
}

static void set_nonsense(const void *value, size_t size, zkr_update *update, void *unused) {
  (void)value, (void)size, (void)unused;
  zkr_update_set(update, NULL, 5);
}

/* Somebody else is faster the first time. */
static void set_late(const void *value, size_t size, zkr_update *update, void *config) {
  zkr_error *error = NULL;
  if (size == 1) OK(zkr_config_set(config, "xyz", 3, -1, NULL, &error));
  append(value, size, update, "!");
}

void a_value_is_updated_by_a_function(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_config *config = config_on(client, path("updated"));
  zkr_buffer *value = NULL;
  zkr_stat stat = {0};
  int32_t version = -7;
  int calls = 0;
  bool is_set = true;
  ending set = {0};

  OK(zkr_config_update(config, leave, &calls, &value, &version, &error));
  CHECK(calls == 1 && value == NULL && version == 0);
  OK(zkr_config_update(config, append, "a", NULL, NULL, &error));
  OK(zkr_config_update(config, set_late, config, &value, &version, &error));
  CHECK(strcmp(zkr_buffer_text(value), "xyz!") == 0 && version == 2);
  zkr_buffer_free(value);
  OK(zkr_config_update(config, leave, &calls, &value, &version, &error));
  CHECK(calls == 2 && strcmp(zkr_buffer_text(value), "xyz!") == 0 && version == 2);
  zkr_buffer_free(value);
  REFUSED(zkr_config_update(config, NULL, NULL, NULL, NULL, &error), ZKR_INVALID, "change");
  REFUSED(zkr_config_update(config, set_nonsense, NULL, NULL, NULL, &error), ZKR_INVALID, "data");
  REFUSED(zkr_config_update(NULL, append, "a", NULL, NULL, &error), ZKR_INVALID, "config");
  zkr_update_set(NULL, "a", 1);
  OK(zkr_config_compare_and_set(config, "b", 1, 1, &is_set, &error));
  CHECK(!is_set);
  CHECK(zkr_config_compare_and_set_async(config, "b", 1, 2, note_answer, &set) == ZKR_OK);
  EVENTUALLY(set.calls == 1);
  CHECK(set.status == ZKR_OK && set.answer);

  OK(zkr_nodes_update(client, path("updated"), append, "c", &stat, &error));
  CHECK(stat.version == 4 && stat.data_length == 2);
  OK(zkr_nodes_update(client, path("updated"), leave, &calls, NULL, &error));
  REFUSED(zkr_nodes_update(client, path("none"), append, "c", NULL, &error), ZKR_NO_NODE, "none");
  REFUSED(zkr_nodes_update(client, path("updated"), NULL, NULL, NULL, &error), ZKR_INVALID, "change");
  zkr_config_free(config);
  zkr_client_free(client);
}

static void note_paths(zkr_status status, zkr_strings *paths, const zkr_error *error, void *seen) {
  (void)error;
  if (status == ZKR_OK) atomic_fetch_add((atomic_int *)seen, (int)zkr_strings_count(paths));
  zkr_strings_free(paths);
}

static void note_cache(zkr_status status, zkr_node_cache *cache, const zkr_error *error, void *made) {
  (void)error;
  if (status == ZKR_OK) atomic_store((_Atomic(zkr_node_cache *) *)made, cache);
}

void a_tree_is_kept_in_both_forms(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_node_cache *cache = NULL;
  _Atomic(zkr_node_cache *) later = NULL;
  zkr_subscription *subscription = NULL;
  zkr_strings *names = NULL, *known_as = NULL;
  zkr_buffer *data = NULL;
  zkr_stat stat = {0};
  int64_t age_ms = -1;
  bool exists = false;
  atomic_int seen = 0;

  OK(zkr_nodes_ensure(client, path("kept/a"), &error));
  OK(zkr_nodes_cache(client, path("kept"), &cache, &error));
  CHECK(strcmp(zkr_node_cache_path(cache), path("kept")) == 0);
  OK(zkr_node_cache_children(cache, path("kept"), &exists, &names, &error));
  CHECK(exists && zkr_strings_count(names) == 1 && strcmp(zkr_strings_get(names, 0), "a") == 0);
  zkr_strings_free(names);
  OK(zkr_node_cache_get(cache, path("kept/a"), &exists, &data, &stat, &error));
  CHECK(exists && zkr_buffer_size(data) == 0 && stat.version == 0);
  zkr_buffer_free(data);
  data = (zkr_buffer *)1, names = (zkr_strings *)1;
  OK(zkr_node_cache_get(cache, path("kept/b"), &exists, &data, NULL, &error));
  CHECK(!exists && data == NULL);
  OK(zkr_node_cache_children(cache, path("kept/b"), &exists, &names, &error));
  CHECK(!exists && names == NULL);
  OK(zkr_node_cache_age(cache, &age_ms, &error));
  CHECK(age_ms >= 0 && age_ms < 10000);
  REFUSED(zkr_node_cache_get(cache, "/", &exists, NULL, NULL, &error), ZKR_INVALID, "not below");
  OK(zkr_node_cache_changes(cache, note_paths, &seen, &subscription, &error));
  EVENTUALLY(seen == 2);
  OK(zkr_nodes_ensure(client, path("kept/b"), &error));
  EVENTUALLY(seen >= 3);
  OK(zkr_node_cache_get(cache, path("kept/b"), &exists, NULL, NULL, &error));
  CHECK(exists);
  zkr_subscription_free(subscription);
  CHECK(zkr_nodes_cache_async(client, path("kept"), note_cache, &later) == ZKR_OK);
  EVENTUALLY(later != NULL);
  zkr_node_cache_free(later);
  zkr_node_cache_free(cache);
  zkr_node_cache_free(NULL);

  OK(zkr_client_whoami(client, &known_as, &error));
  CHECK(zkr_strings_count(known_as) == 1 && strncmp(zkr_strings_get(known_as, 0), "ip:", 3) == 0);
  zkr_strings_free(known_as);
  zkr_client_free(client);
}

void a_config_is_read_and_set_in_both_forms(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_config *config = config_on(client, path("config"));
  zkr_buffer *value = (zkr_buffer *)1;
  told missing = {0}, got = {0};
  counted set = {0}, late = {0};
  int32_t version = -7;
  int64_t age_ms = -1;
  bool is_known = true;

  CHECK(strcmp(zkr_config_path(config), path("config")) == 0);
  OK(zkr_config_cached(config, &is_known, &value, &version, &age_ms, &error));
  CHECK(!is_known && value == NULL);
  OK(zkr_config_get(config, &value, NULL, &error));
  CHECK(value == NULL);
  OK(zkr_config_cached(config, &is_known, &value, &version, &age_ms, &error));
  CHECK(is_known && value == NULL && age_ms >= 0);
  CHECK(zkr_config_get_async(config, note_versioned, &missing) == ZKR_OK);
  EVENTUALLY(missing.calls == 1);
  CHECK(missing.status == ZKR_OK && !missing.is_there);

  OK(zkr_config_create(config, "blue", 4, &version, &error));
  CHECK(version == 0);
  REFUSED(zkr_config_create(config, "red", 3, NULL, &error), ZKR_EXISTS, "config");
  CHECK(zkr_config_set_async(config, "green", 5, 0, note_number, &set) == ZKR_OK);
  EVENTUALLY(set.calls == 1);
  CHECK(set.status == ZKR_OK && set.number == 1);
  CHECK(zkr_config_set_async(config, "red", 3, 0, note_number, &late) == ZKR_OK);
  EVENTUALLY(late.calls == 1);
  CHECK(late.status == ZKR_BAD_VERSION);
  REFUSED(zkr_config_set(config, "red", 3, -5, &version, &error), ZKR_INVALID, "version");
  OK(zkr_config_get(config, &value, &version, &error));
  CHECK(strcmp(zkr_buffer_text(value), "green") == 0 && version == 1);
  zkr_buffer_free(value);
  CHECK(zkr_config_get_async(config, note_versioned, &got) == ZKR_OK);
  EVENTUALLY(got.calls == 1);
  CHECK(got.is_there && got.version == 1 && strcmp(got.value, "green") == 0);
  OK(zkr_config_cached(config, &is_known, &value, NULL, NULL, &error));
  CHECK(is_known && strcmp(zkr_buffer_text(value), "green") == 0);
  zkr_buffer_free(value);
  zkr_config_free(config);
  zkr_client_free(client);
}

void a_config_tells_its_latest_value_until_it_is_no_longer_followed(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *other = connected(hosts(), "b");
  zkr_config *config = config_on(client, path("watched")), *same = config_on(other, path("watched"));
  zkr_subscription *subscription = NULL;
  told seen = {0};

  REFUSED(zkr_config_watch(config, NULL, &seen, &subscription, &error), ZKR_INVALID, "callback");
  OK(zkr_config_watch(config, note_versioned, &seen, &subscription, &error));
  EVENTUALLY(seen.calls == 1);
  CHECK(!seen.is_there);
  OK(zkr_config_set(same, "one", 3, -1, NULL, &error));
  EVENTUALLY(seen.calls == 2);
  CHECK(seen.is_there && seen.version == 0 && strcmp(seen.value, "one") == 0);
  zkr_config_free(config); /* its subscription goes on */
  OK(zkr_config_set(same, "two", 3, -1, NULL, &error));
  EVENTUALLY(seen.calls == 3);
  CHECK(seen.version == 1 && strcmp(seen.value, "two") == 0);
  zkr_subscription_free(subscription);
  OK(zkr_config_set(same, "three", 5, -1, NULL, &error));
  /* A new follower hears of it, the old one no more. */
  told fresh = {0};
  OK(zkr_config_watch(same, note_versioned, &fresh, &subscription, &error));
  EVENTUALLY(fresh.calls == 1);
  CHECK(fresh.version == 2 && seen.calls == 3);
  zkr_subscription_free(subscription);
  zkr_config_free(same);
  zkr_client_free(client);
  zkr_client_free(other);
}

void a_stream_ends_with_its_client(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_config *config = config_on(client, path("ending"));
  told seen = {0};

  OK(zkr_config_watch(config, note_versioned, &seen, NULL, &error));
  EVENTUALLY(seen.calls == 1);
  OK(zkr_client_close(client, 5000, &error));
  CHECK(seen.calls == 2 && seen.status == ZKR_CLOSED);
  REFUSED(zkr_config_watch(config, note_versioned, &seen, NULL, &error), ZKR_CLOSED, "");
  zkr_config_free(config);
  zkr_client_free(client);
}

void a_stream_goes_through_the_callers_loop(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *other = connected(hosts(), "b");
  zkr_config *config = config_on(client, path("looped")), *same = config_on(other, path("looped"));
  zkr_subscription *subscription = NULL;
  told seen = {0};

  CHECK(zkr_client_event_fd(client) >= 0);
  OK(zkr_config_watch(config, note_versioned, &seen, &subscription, &error));
  OK(zkr_config_set(same, "one", 3, -1, NULL, &error));
  OK(zkr_config_set(same, "two", 3, -1, NULL, &error));
  /* Nothing is told outside the loop, and a slow one is told the latest. */
  CHECK(seen.calls == 0);
  CHECK(zkr_client_dispatch(client, 1, 10000) == 1 && seen.calls == 1);
  while (seen.version < 1) CHECK(zkr_client_dispatch(client, 1, 10000) == 1);
  CHECK(strcmp(seen.value, "two") == 0 && seen.calls <= 3);
  zkr_subscription_free(subscription);
  zkr_config_free(config);
  zkr_config_free(same);
  zkr_client_free(client);
  zkr_client_free(other);
}
