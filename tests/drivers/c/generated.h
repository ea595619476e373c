/* SPDX-License-Identifier: Apache-2.0
 *
 * The words and options of scenarios that are described. Generated from api/ by api/generate; do not edit.
 */

#include <stdlib.h>
#include <string.h>

#include "driver.h"

static inline zkr_options client_options_of(const command *c) {
  zkr_options options = ZKR_OPTIONS_INIT;
  const char *value = NULL;
  if ((value = option(c, "session_timeout"))) options.session_timeout_ms = strtoll(value, NULL, 10);
  if ((value = option(c, "connect_timeout"))) options.connect_timeout_ms = strtoll(value, NULL, 10);
  if ((value = option(c, "identity"))) options.identity = value;
  options.allow_plaintext_auth = has_word(c, "allow_plaintext_auth");
  options.refuse_open_parents = has_word(c, "refuse_open_parents");
  if ((value = option(c, "naming")))
    options.naming = strcmp(value, "curator") == 0     ? ZKR_NAMING_CURATOR
                     : strcmp(value, "kazoo") == 0     ? ZKR_NAMING_KAZOO
                     : strcmp(value, "zookeeper") == 0 ? ZKR_NAMING_ZOOKEEPER
                                                       : (zkr_naming)99;
  if ((value = option(c, "lease")))
    options.lease = strcmp(value, "strict") == 0    ? ZKR_LEASE_STRICT
                    : strcmp(value, "relaxed") == 0 ? ZKR_LEASE_RELAXED
                                                    : (zkr_lease)99;
  options.read_only = has_word(c, "read_only");
  if ((value = option(c, "server_tick"))) options.server_tick_ms = strtoll(value, NULL, 10);
  if ((value = option(c, "max_in_flight"))) options.max_in_flight = (uint32_t)strtoll(value, NULL, 10);
  return options;
}

static inline zkr_counter_options counter_options_of(const command *c) {
  zkr_counter_options options = ZKR_COUNTER_OPTIONS_INIT;
  const char *value = NULL;
  if ((value = option(c, "layout")))
    options.layout = strcmp(value, "atomic") == 0   ? ZKR_COUNTER_LAYOUT_ATOMIC
                     : strcmp(value, "shared") == 0 ? ZKR_COUNTER_LAYOUT_SHARED
                                                    : (zkr_counter_layout)99;
  return options;
}

static inline zkr_election_options election_options_of(const command *c) {
  zkr_election_options options = ZKR_ELECTION_OPTIONS_INIT;
  const char *value = NULL;
  if ((value = option(c, "layout")))
    options.layout = strcmp(value, "latch") == 0      ? ZKR_ELECTION_LAYOUT_LATCH
                     : strcmp(value, "selector") == 0 ? ZKR_ELECTION_LAYOUT_SELECTOR
                                                      : (zkr_election_layout)99;
  if ((value = option(c, "priority"))) options.priority = (int32_t)strtoll(value, NULL, 10);
  if ((value = option(c, "drain"))) options.drain_ms = strtoll(value, NULL, 10);
  return options;
}

static inline zkr_group_options group_options_of(const command *c) {
  zkr_group_options options = ZKR_GROUP_OPTIONS_INIT;
  const char *value = NULL;
  if ((value = option(c, "layout")))
    options.layout = strcmp(value, "member") == 0          ? ZKR_GROUP_LAYOUT_MEMBER
                     : strcmp(value, "party") == 0         ? ZKR_GROUP_LAYOUT_PARTY
                     : strcmp(value, "shallow_party") == 0 ? ZKR_GROUP_LAYOUT_SHALLOW_PARTY
                                                           : (zkr_group_layout)99;
  options.replace = has_word(c, "replace");
  return options;
}

static inline zkr_lock_options lock_options_of(const command *c) {
  zkr_lock_options options = ZKR_LOCK_OPTIONS_INIT;
  const char *value = NULL;
  options.reentrant = has_word(c, "reentrant");
  if ((value = option(c, "local_handoff"))) options.local_handoff = (uint32_t)strtoll(value, NULL, 10);
  return options;
}

static inline zkr_partitioner_options partitioner_options_of(const command *c) {
  zkr_partitioner_options options = ZKR_PARTITIONER_OPTIONS_INIT;
  const char *value = NULL;
  if ((value = option(c, "weight"))) options.weight = (uint32_t)strtoll(value, NULL, 10);
  if ((value = option(c, "name"))) options.name = value;
  if ((value = option(c, "drain"))) options.drain_ms = strtoll(value, NULL, 10);
  return options;
}

static inline zkr_queue_options queue_options_of(const command *c) {
  zkr_queue_options options = ZKR_QUEUE_OPTIONS_INIT;
  const char *value = NULL;
  if ((value = option(c, "max_items"))) options.max_items = strtoll(value, NULL, 10);
  options.ephemeral = has_word(c, "ephemeral");
  if ((value = option(c, "shards"))) options.shards = (size_t)strtoll(value, NULL, 10);
  if ((value = option(c, "max_attempts"))) options.max_attempts = strtoll(value, NULL, 10);
  if ((value = option(c, "layout")))
    options.layout = strcmp(value, "simple") == 0        ? ZKR_QUEUE_LAYOUT_SIMPLE
                     : strcmp(value, "distributed") == 0 ? ZKR_QUEUE_LAYOUT_DISTRIBUTED
                     : strcmp(value, "locking") == 0     ? ZKR_QUEUE_LAYOUT_LOCKING
                                                         : (zkr_queue_layout)99;
  if ((value = option(c, "key_window"))) options.key_window_ms = strtoll(value, NULL, 10);
  return options;
}
