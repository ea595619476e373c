/* SPDX-License-Identifier: Apache-2.0
 *
 * The scenario driver for C: elections, and what is followed.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "generated.h"

/* Elections ---------------------------------------------------------------------------------------------- */

static void do_election(command *c) {
  zkr_error *error = NULL;
  zkr_election *handle = NULL;
  zkr_election_options options = election_options_of(c);
  const char *data = option(c, "data");
  zkr_status status = zkr_election_new(c->client->handle, text(c, 2), data, data ? strlen(data) : 0, &options,
                                       &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.election = handle}, text(c, 1), "");
  answer(c, status, error);
}

static void do_campaign(command *c) {
  zkr_error *error = NULL;
  zkr_leadership *leadership = NULL;
  lock *of = find_lock(c);
  int64_t timeout_ms = word(c, 2) ? integer(c, 2) : -1;
  zkr_status status =
      zkr_election_campaign_cancellable(named(c)->election, timeout_ms, c->token, &leadership, &error);
  if (status != ZKR_OK) {
    fail(c, status, error);
    return;
  }
  zkr_leadership *before = of->leadership;
  of->leadership = leadership;
  zkr_leadership_free(before);
  say("%s ok %" PRIu64, c->seq, zkr_leadership_epoch(leadership));
}

static void do_leads(command *c) { answer_bool(c, ZKR_OK, zkr_election_is_leader(named(c)->election), NULL); }

static void do_set_healthy(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_election_set_healthy(named(c)->election, strcmp(text(c, 2), "yes") == 0, &error);
  answer(c, status, error);
}

static void do_transfer(command *c) {
  zkr_error *error = NULL;
  bool leads = false;
  zkr_status status = zkr_election_transfer(named(c)->election, text(c, 2), &leads, &error);
  answer_bool(c, status, leads, error);
}

static void do_acknowledge(command *c) {
  zkr_error *error = NULL;
  const char *data = text(c, 2);
  zkr_status status = zkr_leadership_acknowledge(named(c)->leadership, data, strlen(data), &error);
  answer(c, status, error);
}

static const char *leader_of(const zkr_leader *leader, char *line, size_t room) {
  if (leader)
    snprintf(line, room, "%s %" PRIu64 " %s %s", zkr_leader_identity(leader), zkr_leader_epoch(leader),
             zkr_leader_acknowledged(leader) ? "acknowledged" : "elected",
             zkr_leader_size(leader) ? (const char *)zkr_leader_data(leader) : "-");
  else
    snprintf(line, room, "none");
  return line;
}

static void do_leader(command *c) {
  zkr_error *error = NULL;
  zkr_leader *leader = NULL;
  char line[4096];
  zkr_status status = zkr_election_leader(named(c)->election, &leader, &error);
  if (status == ZKR_OK)
    say("%s ok %s", c->seq, leader_of(leader, line, sizeof line));
  else
    fail(c, status, error);
  zkr_leader_free(leader);
}

/* Partitions --------------------------------------------------------------------------------------------- */

partition_names partitions_of(const char *text) {
  static _Thread_local char line[4096];
  static _Thread_local const char *names[MAX_WORDS];
  char *rest = NULL;
  size_t count = strtoul(text, &rest, 10);
  if (*rest == 0) return (partition_names){NULL, count};
  snprintf(line, sizeof line, "%s", text);
  count = 0;
  for (char *at = strtok_r(line, ",", &rest); at && count < MAX_WORDS; at = strtok_r(NULL, ",", &rest))
    names[count++] = at;
  return (partition_names){names, count};
}

static void on_partition_revoked(void *user_data) {
  const partition *won = user_data;
  say("event %s revoked %s %s", won->of->of->name, won->of->name, won->name);
}

static void on_partition_lost(const zkr_error *error, void *user_data) {
  const partition *won = user_data;
  say("event %s lost %s %s %s", won->of->of->name, won->of->name, won->name,
      zkr_reason_name(zkr_error_reason(error)));
}

static void do_next_partition(command *c) {
  zkr_error *error = NULL;
  zkr_held *held = NULL;
  lock *of = find_lock(c);
  zkr_status status =
      zkr_partitioner_next_cancellable(named(c)->partitioner, timeout(c, 2), c->token, &held, &error);
  if (status != ZKR_OK) {
    fail(c, status, error);
    return;
  }
  partition *won = calloc(1, sizeof *won);
  snprintf(won->name, sizeof won->name, "%s", zkr_held_name(held));
  won->of = of;
  won->held = held;
  of->won[of->won_count++ % MAX_WORDS] = won;
  zkr_held_on_revoke(held, on_partition_revoked, won, NULL, NULL);
  zkr_held_on_lost(held, on_partition_lost, won, NULL, NULL);
  say("%s ok %s", c->seq, won->name);
}

static zkr_held *partition_of(command *c) {
  const lock *of = find_lock(c);
  for (size_t i = of ? of->won_count : 0; i-- > 0;)
    if (strcmp(of->won[i % MAX_WORDS]->name, text(c, 2)) == 0) return of->won[i % MAX_WORDS]->held;
  return NULL;
}

static void do_has_partition(command *c) { answer_bool(c, ZKR_OK, zkr_held_is_held(partition_of(c)), NULL); }

static void do_release_partition(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_held_release(partition_of(c), &error);
  answer(c, status, error);
}

/* Following ---------------------------------------------------------------------------------------------- */

static const char *list_of(const zkr_strings *all, char *line, size_t room) {
  size_t used = 0;
  snprintf(line, room, "-");
  for (size_t i = 0; i < zkr_strings_count(all) && used < room; i++)
    used += (size_t)snprintf(line + used, room - used, "%s%s", i ? "," : "", zkr_strings_get(all, i));
  return line;
}

static void do_watch_node(command *c) {
  const char *kind = text(c, 3);
  if (strcmp(kind, "data") != 0 && strcmp(kind, "children") != 0 && strcmp(kind, "subtree") != 0) {
    invalid(c);
    return;
  }
  zkr_watch_kind watch_kind = strcmp(kind, "children") == 0  ? ZKR_WATCH_KIND_CHILDREN
                              : strcmp(kind, "subtree") == 0 ? ZKR_WATCH_KIND_SUBTREE
                                                             : ZKR_WATCH_KIND_DATA;
  add(c->client, (lock){.node = text(c, 2), .watch_kind = watch_kind}, text(c, 1), "");
  say("%s ok", c->seq);
}

void ended(const lock *of, zkr_status status) {
  say("event %s ended %s %s", of->of->name, of->name,
      status == ZKR_CLOSED ? "closed" : zkr_status_name(status));
}

static void on_config(zkr_status status, const zkr_buffer *value, int32_t version, const zkr_error *error,
                      void *user_data) {
  const lock *of = user_data;
  (void)error;
  if (status != ZKR_OK)
    ended(of, status);
  else if (value)
    say("event %s told %s %" PRId32 " %s", of->of->name, of->name, version, zkr_buffer_text(value));
  else
    say("event %s told %s none", of->of->name, of->name);
}

static void on_leader(zkr_status status, const zkr_leader *leader, const zkr_error *error, void *user_data) {
  const lock *of = user_data;
  char line[4096];
  (void)error;
  if (status != ZKR_OK)
    ended(of, status);
  else
    say("event %s told %s %s", of->of->name, of->name, leader_of(leader, line, sizeof line));
}

static void on_names(zkr_status status, zkr_entries *all, const zkr_error *error, void *user_data) {
  const lock *of = user_data;
  char map[4096];
  (void)error;
  if (status != ZKR_OK)
    ended(of, status);
  else
    say("event %s told %s %s", of->of->name, of->name, map_of(all, map, sizeof map));
  zkr_entries_free(all);
}

static void on_number(zkr_status status, int64_t number, const zkr_error *error, void *user_data) {
  const lock *of = user_data;
  (void)error;
  if (status != ZKR_OK)
    ended(of, status);
  else
    say("event %s told %s %lld", of->of->name, of->name, (long long)number);
}

static void on_group(zkr_status status, const zkr_group_event *event, const zkr_error *error,
                     void *user_data) {
  const lock *of = user_data;
  char map[4096];
  const char *client = of->of->name;
  (void)error;
  if (status != ZKR_OK)
    ended(of, status);
  else if (event->kind == ZKR_GROUP_EVENT_SNAPSHOT)
    say("event %s told %s snapshot %s", client, of->name, map_of(event->members, map, sizeof map));
  else if (event->kind == ZKR_GROUP_EVENT_LEFT)
    say("event %s told %s left %s", client, of->name, event->name);
  else
    say("event %s told %s %s %s %s", client, of->name,
        event->kind == ZKR_GROUP_EVENT_JOINED ? "joined" : "changed", event->name, (const char *)event->data);
}

static void on_node(zkr_status status, const zkr_node_state *state, const zkr_error *error, void *user_data) {
  const lock *of = user_data;
  char line[4096];
  const char *client = of->of->name;
  (void)error;
  if (status != ZKR_OK)
    ended(of, status);
  else if (state->kind == ZKR_WATCH_KIND_SUBTREE)
    say("event %s told %s %s", client, of->name, map_of(state->subtree, line, sizeof line));
  else if (state->data)
    say("event %s told %s %" PRId32 " %s", client, of->name, state->stat.version,
        zkr_buffer_text(state->data));
  else if (state->children)
    say("event %s told %s %s", client, of->name, list_of(state->children, line, sizeof line));
  else
    say("event %s told %s none", client, of->name);
}

static void do_follow(command *c) {
  zkr_error *error = NULL;
  lock *of = find_lock(c);
  if (!of) {
    invalid(c);
    return;
  }
  zkr_subscription **place = &of->followed;
  zkr_status status =
      of->election      ? zkr_election_observe(of->election, on_leader, of, place, &error)
      : of->names       ? zkr_names_watch(of->names, on_names, of, place, &error)
      : of->group       ? zkr_group_watch(of->group, on_group, of, place, &error)
      : of->counter     ? zkr_counter_watch(of->counter, on_number, of, place, &error)
      : of->service_of  ? follow_service(of, &error)
      : of->partitioner ? zkr_partitioner_watch(of->partitioner, on_names, of, place, &error)
      : of->node ? zkr_nodes_watch(c->client->handle, of->node, of->watch_kind, on_node, of, place, &error)
                 : zkr_config_watch(of->config, on_config, of, place, &error);
  answer(c, status, error);
}

static void append(const void *value, size_t size, zkr_update *update, void *suffix) {
  char longer[1024];
  int length = snprintf(longer, sizeof longer, "%.*s%s", (int)size, value ? (const char *)value : "",
                        (const char *)suffix);
  zkr_update_set(update, longer, (size_t)length);
}

static void do_config_update(command *c) {
  zkr_error *error = NULL;
  zkr_buffer *value = NULL;
  int32_t version = 0;
  zkr_status status =
      zkr_config_update(named(c)->config, append, (void *)text(c, 2), &value, &version, &error);
  if (status != ZKR_OK) {
    answer(c, status, error);
    return;
  }
  say("%s ok %d %s", c->seq, version, (const char *)zkr_buffer_data(value));
  zkr_buffer_free(value);
}

static void do_bind_ttl(command *c) {
  zkr_error *error = NULL;
  zkr_status status =
      zkr_names_bind_ttl(named(c)->names, text(c, 2), text(c, 3), strlen(text(c, 3)), integer(c, 4), &error);
  answer(c, status, error);
}

static void do_unfollow(command *c) {
  lock *of = find_lock(c);
  if (!of) {
    invalid(c);
    return;
  }
  zkr_subscription_free(of->followed);
  of->followed = NULL;
  say("%s ok", c->seq);
}

const verb recipe_verbs[] = {
    {"election", do_election, false},
    {"campaign", do_campaign, true},
    {"resign", do_release, true},
    {"leads", do_leads, false},
    {"acknowledge", do_acknowledge, true},
    {"run", do_run, false},
    {"set-healthy", do_set_healthy, false},
    {"transfer", do_transfer, true},
    {"end-term", do_end_term, false},
    {"leader", do_leader, true},
    {"candidates", do_contenders, true},
    {"next-partition", do_next_partition, true},
    {"has-partition", do_has_partition, false},
    {"release-partition", do_release_partition, true},
    {"config-update", do_config_update, true},
    {"bind-ttl", do_bind_ttl, true},
    {"watch-node", do_watch_node, false},
    {"follow", do_follow, false},
    {"unfollow", do_unfollow, false},
    {NULL, NULL, false},
};
