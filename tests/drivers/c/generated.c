/* SPDX-License-Identifier: Apache-2.0
 *
 * The words and options of scenarios that are described. Generated from api/ by api/generate; do not edit.
 */

#include <string.h>

#include "driver.h"
#include "generated.h"

static void do_barrier(command *c) {
  zkr_error *error = NULL;
  zkr_barrier *handle = NULL;
  zkr_status status = zkr_barrier_new(c->client->handle, text(c, 2), &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.barrier = handle}, text(c, 1), "");
  answer(c, status, error);
}

static void do_barrier_create(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_barrier_create(named(c)->barrier, &error);
  answer(c, status, error);
}

static void do_barrier_remove(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_barrier_remove(named(c)->barrier, &error);
  answer(c, status, error);
}

static void do_barrier_up(command *c) {
  zkr_error *error = NULL;
  bool said = false;
  zkr_status status = zkr_barrier_is_up(named(c)->barrier, &said, &error);
  answer_bool(c, status, said, error);
}

static void do_barrier_wait(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_barrier_wait_cancellable(named(c)->barrier, timeout(c, 2), c->token, &error);
  answer(c, status, error);
}

static void do_config(command *c) {
  zkr_error *error = NULL;
  zkr_config *handle = NULL;
  zkr_status status = zkr_config_new(c->client->handle, text(c, 2), &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.config = handle}, text(c, 1), "");
  answer(c, status, error);
}

static void do_config_get(command *c) {
  zkr_error *error = NULL;
  zkr_buffer *said = NULL;
  int32_t version = 0;
  zkr_status status = zkr_config_get(named(c)->config, &said, &version, &error);
  answer_versioned(c, status, said, version, error);
}

static void do_config_set(command *c) {
  zkr_error *error = NULL;
  int32_t said = 0;
  zkr_status status = zkr_config_set(named(c)->config, text(c, 2), strlen(text(c, 2)),
                                     word(c, 3) ? (int32_t)integer(c, 3) : -1, &said, &error);
  answer_number(c, status, said, error);
}

static void do_config_create(command *c) {
  zkr_error *error = NULL;
  int32_t said = 0;
  zkr_status status = zkr_config_create(named(c)->config, text(c, 2), strlen(text(c, 2)), &said, &error);
  answer_number(c, status, said, error);
}

static void do_config_compare_and_set(command *c) {
  zkr_error *error = NULL;
  bool said = false;
  zkr_status status = zkr_config_compare_and_set(named(c)->config, text(c, 2), strlen(text(c, 2)),
                                                 word(c, 3) ? (int32_t)integer(c, 3) : -1, &said, &error);
  answer_bool(c, status, said, error);
}

static void do_counter(command *c) {
  zkr_error *error = NULL;
  zkr_counter *handle = NULL;
  zkr_counter_options options = counter_options_of(c);
  zkr_status status = zkr_counter_new(c->client->handle, text(c, 2), &options, &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.counter = handle}, text(c, 1), "");
  answer(c, status, error);
}

static void do_value(command *c) {
  zkr_error *error = NULL;
  int64_t said = 0;
  zkr_status status = zkr_counter_get(named(c)->counter, &said, &error);
  answer_number(c, status, said, error);
}

static void do_add(command *c) {
  zkr_error *error = NULL;
  int64_t said = 0;
  zkr_status status = zkr_counter_add(named(c)->counter, integer(c, 2), &said, &error);
  answer_number(c, status, said, error);
}

static void do_set_value(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_counter_set(named(c)->counter, integer(c, 2), &error);
  answer(c, status, error);
}

static void do_compare_and_set(command *c) {
  zkr_error *error = NULL;
  bool said = false;
  zkr_status status =
      zkr_counter_compare_and_set(named(c)->counter, integer(c, 2), integer(c, 3), &said, &error);
  answer_bool(c, status, said, error);
}

static void do_discovery(command *c) {
  zkr_error *error = NULL;
  zkr_discovery *handle = NULL;
  zkr_status status = zkr_discovery_new(c->client->handle, text(c, 2), &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.discovery = handle}, text(c, 1), "");
  answer(c, status, error);
}

static void do_services(command *c) {
  zkr_error *error = NULL;
  zkr_strings *said = NULL;
  zkr_status status = zkr_discovery_names(named(c)->discovery, &said, &error);
  answer_names(c, status, said, error);
}

static void do_failed(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_discovery_failed(named(c)->discovery, text(c, 2), text(c, 3), &error);
  answer(c, status, error);
}

static void do_double_barrier(command *c) {
  zkr_error *error = NULL;
  zkr_double_barrier *handle = NULL;
  zkr_status status = zkr_double_barrier_new(c->client->handle, text(c, 2), (size_t)integer(c, 3), word(c, 4),
                                             &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.double_barrier = handle}, text(c, 1), "");
  answer(c, status, error);
}

static void do_barrier_entered(command *c) {
  answer_bool(c, ZKR_OK, zkr_double_barrier_has_entered(named(c)->double_barrier), NULL);
}

static void do_barrier_enter(command *c) {
  zkr_error *error = NULL;
  zkr_status status =
      zkr_double_barrier_enter_cancellable(named(c)->double_barrier, timeout(c, 2), c->token, &error);
  answer(c, status, error);
}

static void do_barrier_leave(command *c) {
  zkr_error *error = NULL;
  zkr_status status =
      zkr_double_barrier_leave_cancellable(named(c)->double_barrier, timeout(c, 2), c->token, &error);
  answer(c, status, error);
}

static void do_barrier_withdraw(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_double_barrier_withdraw(named(c)->double_barrier, &error);
  answer(c, status, error);
}

static void do_group(command *c) {
  zkr_error *error = NULL;
  zkr_group *handle = NULL;
  zkr_group_options options = group_options_of(c);
  zkr_status status = zkr_group_new(c->client->handle, text(c, 2), &options, &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.group = handle}, text(c, 1), "");
  answer(c, status, error);
}

static void do_join(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_group_join(named(c)->group, text(c, 2), text(c, 3), strlen(text(c, 3)), &error);
  answer(c, status, error);
}

static void do_leave(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_group_leave(named(c)->group, &error);
  answer(c, status, error);
}

static void do_update(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_group_update(named(c)->group, text(c, 2), strlen(text(c, 2)), &error);
  answer(c, status, error);
}

static void do_members(command *c) {
  zkr_error *error = NULL;
  zkr_entries *said = NULL;
  zkr_status status = zkr_group_members(named(c)->group, &said, &error);
  answer_entries(c, status, said, error);
}

static void do_wait_for(command *c) {
  zkr_error *error = NULL;
  zkr_entries *said = NULL;
  zkr_status status = zkr_group_wait_for_cancellable(named(c)->group, (size_t)integer(c, 2), timeout(c, 3),
                                                     c->token, &said, &error);
  answer_entries(c, status, said, error);
}

static void do_latch(command *c) {
  zkr_error *error = NULL;
  zkr_latch *handle = NULL;
  zkr_status status = zkr_latch_new(c->client->handle, text(c, 2), (size_t)integer(c, 3), &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.latch = handle}, text(c, 1), "");
  answer(c, status, error);
}

static void do_count_down(command *c) {
  zkr_error *error = NULL;
  size_t said = 0;
  zkr_status status = zkr_latch_count_down(named(c)->latch, (size_t)integer(c, 2), &said, &error);
  answer_number(c, status, (int64_t)said, error);
}

static void do_remaining(command *c) {
  zkr_error *error = NULL;
  size_t said = 0;
  zkr_status status = zkr_latch_remaining(named(c)->latch, &said, &error);
  answer_number(c, status, (int64_t)said, error);
}

static void do_latch_reset(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_latch_reset(named(c)->latch, (size_t)integer(c, 2), &error);
  answer(c, status, error);
}

static void do_latch_wait(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_latch_wait_cancellable(named(c)->latch, timeout(c, 2), c->token, &error);
  answer(c, status, error);
}

static void do_names(command *c) {
  zkr_error *error = NULL;
  zkr_names *handle = NULL;
  zkr_status status = zkr_names_new(c->client->handle, text(c, 2), &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.names = handle}, text(c, 1), "");
  answer(c, status, error);
}

static void do_bind(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_names_bind(named(c)->names, text(c, 2), text(c, 3), strlen(text(c, 3)),
                                     has_word(c, "ephemeral"), &error);
  answer(c, status, error);
}

static void do_lookup(command *c) {
  zkr_error *error = NULL;
  zkr_buffer *said = NULL;
  zkr_status status = zkr_names_lookup(named(c)->names, text(c, 2), &said, &error);
  answer_data(c, status, said, error);
}

static void do_unbind(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_names_unbind(named(c)->names, text(c, 2), &error);
  answer(c, status, error);
}

static void do_list(command *c) {
  zkr_error *error = NULL;
  zkr_strings *said = NULL;
  zkr_status status = zkr_names_list(named(c)->names, &said, &error);
  answer_names(c, status, said, error);
}

static void do_partitioner(command *c) {
  zkr_error *error = NULL;
  zkr_partitioner *handle = NULL;
  zkr_partitioner_options options = partitioner_options_of(c);
  zkr_status status = zkr_partitioner_new(c->client->handle, text(c, 2), partitions_of(text(c, 3)).names,
                                          partitions_of(text(c, 3)).count, &options, &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.partitioner = handle}, text(c, 1), "");
  answer(c, status, error);
}

static void do_leave_partitions(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_partitioner_leave(named(c)->partitioner, &error);
  answer(c, status, error);
}

static void do_owners(command *c) {
  zkr_error *error = NULL;
  zkr_entries *said = NULL;
  zkr_status status = zkr_partitioner_owners(named(c)->partitioner, &said, &error);
  answer_entries(c, status, said, error);
}

static void do_partition_members(command *c) {
  zkr_error *error = NULL;
  zkr_entries *said = NULL;
  zkr_status status = zkr_partitioner_members(named(c)->partitioner, &said, &error);
  answer_entries(c, status, said, error);
}

const verb described_verbs[] = {
    {"barrier", do_barrier, false},
    {"barrier-create", do_barrier_create, true},
    {"barrier-remove", do_barrier_remove, true},
    {"barrier-up", do_barrier_up, true},
    {"barrier-wait", do_barrier_wait, true},
    {"config", do_config, false},
    {"config-get", do_config_get, true},
    {"config-set", do_config_set, true},
    {"config-create", do_config_create, true},
    {"config-compare-and-set", do_config_compare_and_set, true},
    {"counter", do_counter, false},
    {"value", do_value, true},
    {"add", do_add, true},
    {"set-value", do_set_value, true},
    {"compare-and-set", do_compare_and_set, true},
    {"discovery", do_discovery, false},
    {"services", do_services, true},
    {"failed", do_failed, false},
    {"double-barrier", do_double_barrier, false},
    {"barrier-entered", do_barrier_entered, false},
    {"barrier-enter", do_barrier_enter, true},
    {"barrier-leave", do_barrier_leave, true},
    {"barrier-withdraw", do_barrier_withdraw, false},
    {"group", do_group, false},
    {"join", do_join, true},
    {"leave", do_leave, true},
    {"update", do_update, true},
    {"members", do_members, true},
    {"wait-for", do_wait_for, true},
    {"latch", do_latch, false},
    {"count-down", do_count_down, true},
    {"remaining", do_remaining, true},
    {"latch-reset", do_latch_reset, true},
    {"latch-wait", do_latch_wait, true},
    {"names", do_names, false},
    {"bind", do_bind, true},
    {"lookup", do_lookup, true},
    {"unbind", do_unbind, true},
    {"list", do_list, true},
    {"partitioner", do_partitioner, false},
    {"leave-partitions", do_leave_partitions, true},
    {"owners", do_owners, true},
    {"partition-members", do_partition_members, true},
    {NULL, NULL, false},
};
