/* SPDX-License-Identifier: Apache-2.0
 *
 * Names, groups, followed nodes and elections. What they promise is played as scenarios; here is what is
 * particular to C.
 */

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

/* What a names, a group or a node has told last, as text; `calls` is counted last. */
typedef struct heard {
  zkr_status status;
  char text[512];
  atomic_int calls;
} heard;

/* A callback may come while the test looks. */
static pthread_mutex_t hearing = PTHREAD_MUTEX_INITIALIZER;

static void note_text(heard *seen, zkr_status status, const char *format, const char *name,
                      const void *data) {
  pthread_mutex_lock(&hearing);
  seen->status = status;
  snprintf(seen->text, sizeof seen->text, format, name ? name : "", data ? (const char *)data : "");
  atomic_fetch_add(&seen->calls, 1);
  pthread_mutex_unlock(&hearing);
}

static bool is_heard(heard *seen, const char *text) {
  pthread_mutex_lock(&hearing);
  bool is_it = seen->calls > 0 && strcmp(seen->text, text) == 0;
  pthread_mutex_unlock(&hearing);
  return is_it;
}

static void note_entries(zkr_status status, zkr_entries *all, const zkr_error *error, void *user_data) {
  const zkr_entry *first = zkr_entries_get(all, 0);
  (void)error;
  note_text(user_data, status, "%s=%s", first ? first->name : NULL, first ? first->data : NULL);
  zkr_entries_free(all);
}

static void note_group(zkr_status status, const zkr_group_event *event, const zkr_error *error,
                       void *user_data) {
  static const char *const formats[] = {"snapshot%s%s", "joined %s %s", "left %s%s", "changed %s %s"};
  (void)error;
  if (status != ZKR_OK)
    note_text(user_data, status, "%s%s", NULL, NULL);
  else
    note_text(user_data, status, formats[event->kind], event->name, event->data);
}

static void note_node(zkr_status status, const zkr_node_state *state, const zkr_error *error,
                      void *user_data) {
  (void)error;
  if (status != ZKR_OK)
    note_text(user_data, status, "%s%s", NULL, NULL);
  else if (state->kind == ZKR_WATCH_KIND_SUBTREE)
    note_text(user_data, status, "%s%s",
              zkr_entries_count(state->subtree) ? zkr_entries_get(state->subtree, 0)->data : "none", NULL);
  else if (state->data)
    note_text(user_data, status, "%s%s", zkr_buffer_text(state->data), NULL);
  else
    note_text(user_data, status, "%s%s", state->children ? zkr_strings_get(state->children, 0) : "none",
              NULL);
}

typedef struct looked {
  zkr_status status;
  zkr_buffer *data;
  atomic_int calls;
} looked;

static void note_buffer(zkr_status status, zkr_buffer *data, const zkr_stat *stat, const zkr_error *error,
                        void *user_data) {
  looked *end = user_data;
  (void)error;
  (void)stat;
  end->status = status;
  end->data = data;
  atomic_fetch_add(&end->calls, 1);
}

#define HEARS(seen, what) EVENTUALLY(is_heard(&(seen), what))

void names_are_bound_and_looked_up_in_both_forms(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_names *names = NULL;
  zkr_subscription *subscription = NULL;
  zkr_buffer *data = NULL;
  zkr_strings *bound = NULL;
  ending done = {0};
  looked found = {0}, missing = {0};
  heard seen = {0};

  OK(zkr_names_new(client, path("names"), &names, &error));
  CHECK(strcmp(zkr_names_path(names), path("names")) == 0);
  OK(zkr_names_watch(names, note_entries, &seen, &subscription, &error));
  HEARS(seen, "=");
  OK(zkr_names_bind(names, "billing", "10.0.0.7", 8, true, &error));
  HEARS(seen, "billing=10.0.0.7");
  REFUSED(zkr_names_bind(names, "billing", "", 0, false, &error), ZKR_EXISTS, "");
  REFUSED(zkr_names_bind(names, "a/b", "", 0, false, &error), ZKR_INVALID, "name");
  OK(zkr_names_lookup(names, "billing", &data, &error));
  CHECK(strcmp(zkr_buffer_text(data), "10.0.0.7") == 0);
  zkr_buffer_free(data);
  OK(zkr_names_lookup(names, "nobody", &data, &error));
  CHECK(data == NULL);
  CHECK(zkr_names_lookup_async(names, "billing", note_buffer, &found) == ZKR_OK);
  CHECK(zkr_names_lookup_async(names, "nobody", note_buffer, &missing) == ZKR_OK);
  EVENTUALLY(found.calls == 1 && missing.calls == 1);
  CHECK(zkr_buffer_size(found.data) == 8 && missing.status == ZKR_OK && missing.data == NULL);
  zkr_buffer_free(found.data);
  OK(zkr_names_list(names, &bound, &error));
  CHECK(zkr_strings_count(bound) == 1 && strcmp(zkr_strings_get(bound, 0), "billing") == 0);
  zkr_strings_free(bound);
  CHECK(zkr_names_unbind_async(names, "billing", note_done, &done) == ZKR_OK);
  EVENTUALLY(done.calls == 1);
  CHECK(done.status == ZKR_OK);
  HEARS(seen, "=");
  REFUSED(zkr_names_unbind(names, "billing", &error), ZKR_NO_NODE, "");
  zkr_subscription_free(subscription);
  zkr_names_free(names);
  zkr_client_free(client);
}

void a_group_tells_who_comes_changes_and_goes(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_group *group = NULL, *party = NULL;
  zkr_group_options options = ZKR_GROUP_OPTIONS_INIT;
  zkr_subscription *subscription = NULL;
  zkr_entries *members = NULL;
  heard seen = {0}, listed = {0};

  OK(zkr_group_new(client, path("group"), NULL, &group, &error));
  OK(zkr_group_watch(group, note_group, &seen, &subscription, &error));
  HEARS(seen, "snapshot");
  REFUSED(zkr_group_leave(group, &error), ZKR_NOT_HELD, "");
  OK(zkr_group_join(group, "worker", "idle", 4, &error));
  HEARS(seen, "joined worker idle");
  OK(zkr_group_update(group, "busy", 4, &error));
  HEARS(seen, "changed worker busy");
  OK(zkr_group_members(group, &members, &error));
  CHECK(zkr_entries_count(members) == 1 && zkr_entries_get(members, 1) == NULL);
  CHECK(strcmp(zkr_entries_get(members, 0)->name, "worker") == 0 && zkr_entries_get(members, 0)->size == 4);
  zkr_entries_free(members);
  CHECK(zkr_group_members_async(group, note_entries, &listed) == ZKR_OK);
  HEARS(listed, "worker=busy");
  OK(zkr_group_leave(group, &error));
  HEARS(seen, "left worker");
  zkr_subscription_free(subscription);

  options.layout = (zkr_group_layout)99;
  REFUSED(zkr_group_new(client, path("party"), &options, &party, &error), ZKR_INVALID, "layout");
  options.layout = ZKR_GROUP_LAYOUT_PARTY;
  OK(zkr_group_new(client, path("party"), &options, &party, &error));
  REFUSED(zkr_group_join(party, "guest", "data", 4, &error), ZKR_INVALID, "");
  OK(zkr_group_join(party, "guest", NULL, 0, &error));
  zkr_group_free(party); /* leaves */
  OK(zkr_group_new(client, path("party"), &options, &party, &error));
  EVENTUALLY(children_of(client, path("party")) == 0);
  zkr_group_free(party);
  zkr_group_free(group);
  zkr_client_free(client);
}

void a_node_is_followed_in_every_way(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_subscription *subscriptions[3] = {NULL};
  heard data = {0}, children = {0}, subtree = {0};
  char at[512], child[600];

  snprintf(at, sizeof at, "%s", path("followed"));
  snprintf(child, sizeof child, "%s/child", at);
  OK(zkr_nodes_watch(client, at, ZKR_WATCH_KIND_DATA, note_node, &data, &subscriptions[0], &error));
  OK(zkr_nodes_watch(client, at, ZKR_WATCH_KIND_CHILDREN, note_node, &children, &subscriptions[1], &error));
  OK(zkr_nodes_watch(client, at, ZKR_WATCH_KIND_SUBTREE, note_node, &subtree, &subscriptions[2], &error));
  HEARS(data, "none");
  HEARS(children, "none");
  HEARS(subtree, "none");
  OK(zkr_nodes_ensure(client, at, &error));
  OK(zkr_nodes_set(client, at, "one", 3, -1, NULL, &error));
  HEARS(data, "one");
  HEARS(subtree, "one");
  OK(zkr_nodes_create(client, child, "", 0, ZKR_PERSISTENT, NULL, &error));
  HEARS(children, "child");
  OK(zkr_nodes_delete_all(client, at, &error));
  HEARS(data, "none");
  HEARS(children, "none");
  HEARS(subtree, "none");
  for (int i = 0; i < 3; i++) zkr_subscription_free(subscriptions[i]);
  REFUSED(zkr_nodes_watch(client, at, (zkr_watch_kind)9, note_node, &data, NULL, &error), ZKR_INVALID,
          "kind");
  REFUSED(zkr_nodes_watch(client, "relative", ZKR_WATCH_KIND_DATA, note_node, &data, NULL, &error),
          ZKR_INVALID, "path");
  zkr_client_free(client);
}

/* The end of registering, or of picking; `calls` is counted last. */
typedef struct served {
  zkr_status status;
  zkr_registration *registration;
  zkr_instances *found;
  atomic_int calls;
} served;

static void note_registration(zkr_status status, zkr_registration *registration, const zkr_error *error,
                              void *user_data) {
  served *end = user_data;
  (void)error;
  end->status = status;
  end->registration = registration;
  atomic_fetch_add(&end->calls, 1);
}

static void note_instances(zkr_status status, zkr_instances *found, const zkr_error *error, void *user_data) {
  served *end = user_data;
  (void)error;
  end->status = status;
  end->found = found;
  atomic_fetch_add(&end->calls, 1);
}

static void note_services(zkr_status status, zkr_instances *all, const zkr_error *error, void *user_data) {
  const zkr_instance *first = zkr_instances_get(all, 0);
  (void)error;
  note_text(user_data, status, "%s=%s", first ? first->id : NULL, first ? first->address : NULL);
  zkr_instances_free(all);
}

void a_service_is_registered_and_picked_in_both_forms(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_discovery *discovery = NULL;
  zkr_registration *registration = NULL;
  zkr_instances *found = NULL;
  zkr_subscription *subscription = NULL;
  zkr_service service = ZKR_SERVICE_INIT;
  served registered = {0}, picked = {0};
  heard seen = {0};

  OK(zkr_discovery_new(client, path("services"), &discovery, &error));
  OK(zkr_discovery_watch(discovery, "web", note_services, &seen, &subscription, &error));
  HEARS(seen, "=");
  service.name = "web";
  REFUSED(zkr_discovery_register(discovery, &service, &registration, &error), ZKR_INVALID, "address");
  REFUSED(zkr_discovery_register(discovery, NULL, &registration, &error), ZKR_INVALID, "service");
  service.address = "10.0.0.7";
  service.port = 65536;
  REFUSED(zkr_discovery_register(discovery, &service, &registration, &error), ZKR_INVALID, "port");
  service.port = 80;
  service.payload = "{";
  REFUSED(zkr_discovery_register(discovery, &service, &registration, &error), ZKR_INVALID, "payload");
  service.payload = "{\"zone\":\"b\"}";
  service.uri_spec = "{scheme}://{address}:{port}";
  service.type = (zkr_service_type)7;
  REFUSED(zkr_discovery_register(discovery, &service, &registration, &error), ZKR_INVALID, "type");
  service.type = ZKR_SERVICE_TYPE_DYNAMIC;
  service.reserved[1] = 1;
  REFUSED(zkr_discovery_register(discovery, &service, &registration, &error), ZKR_INVALID,
          "ZKR_SERVICE_INIT");
  service.reserved[1] = 0;
  OK(zkr_discovery_register(discovery, &service, &registration, &error));
  CHECK(strlen(zkr_registration_id(registration)) == 36);
  service.id = "two";
  service.enabled = false;
  OK(zkr_discovery_register_async(discovery, &service, note_registration, &registered));
  EVENTUALLY(registered.calls == 1);
  CHECK(registered.status == ZKR_OK && strcmp(zkr_registration_id(registered.registration), "two") == 0);

  OK(zkr_discovery_instances(discovery, "web", &found, &error));
  CHECK(zkr_instances_count(found) == 2 && zkr_instances_get(found, 2) == NULL);
  zkr_instances_failed(found, 2);
  zkr_instances_free(found);
  zkr_instances_failed(found, 0);
  OK(zkr_discovery_pick_async(discovery, "web", ZKR_PICK_BY_STICKY, note_instances, &picked));
  EVENTUALLY(picked.calls == 1);
  CHECK(picked.status == ZKR_OK && zkr_instances_count(picked.found) == 1);
  const zkr_instance *one = zkr_instances_get(picked.found, 0);
  CHECK(strcmp(one->id, zkr_registration_id(registration)) == 0 &&
        strcmp(one->payload, service.payload) == 0);
  CHECK(strcmp(one->uri, "http://10.0.0.7:80") == 0 && one->port == 80 && one->ssl_port == -1 &&
        one->enabled);
  CHECK(one->registered_at_ms > 0 && strcmp(zkr_service_type_name(one->type), "dynamic") == 0);
  zkr_instances_failed(picked.found, 0);
  zkr_instances_free(picked.found);
  OK(zkr_discovery_pick(discovery, "web", ZKR_PICK_BY_RANDOM, &found, &error));
  CHECK(zkr_instances_count(found) == 0 && zkr_instances_get(found, 0) == NULL);
  zkr_instances_free(found);
  REFUSED(zkr_discovery_pick(discovery, "web", (zkr_pick_by)3, &found, &error), ZKR_INVALID, "by");
  REFUSED(zkr_discovery_failed(discovery, "web", "", &error), ZKR_INVALID, "id");

  service.address = "10.0.0.9";
  OK(zkr_registration_update(registered.registration, &service, &error));
  service.id = NULL;
  OK(zkr_registration_update(registration, &service, &error));
  OK(zkr_registration_service(registration, &found, &error));
  one = zkr_instances_get(found, 0);
  CHECK(zkr_instances_count(found) == 1 && strcmp(one->id, zkr_registration_id(registration)) == 0);
  CHECK(strcmp(one->address, "10.0.0.9") == 0 && one->uri == NULL && one->registered_at_ms == 0);
  zkr_instances_failed(found, 0);
  zkr_instances_free(found);
  REFUSED(zkr_registration_service(registration, NULL, &error), ZKR_INVALID, "service");
  REFUSED(zkr_registration_service(NULL, &found, &error), ZKR_INVALID, "NULL");
  service.id = "three";
  REFUSED(zkr_registration_update(registration, &service, &error), ZKR_INVALID, "id");
  OK(zkr_registration_unregister(registration, &error));
  REFUSED(zkr_registration_unregister(registration, &error), ZKR_NOT_HELD, "unregistered");
  HEARS(seen, "two=10.0.0.9");
  zkr_registration_free(registration);
  zkr_registration_free(registered.registration);
  zkr_subscription_free(subscription);
  zkr_discovery_free(discovery);
  REFUSED(zkr_discovery_failed(discovery, "web", "two", &error), ZKR_INVALID, "zkr_discovery");
  zkr_client_free(client);
}

typedef struct won {
  zkr_status status;
  zkr_leadership *leadership;
  atomic_int calls;
} won;

static void note_leadership(zkr_status status, zkr_leadership *leadership, const zkr_error *error,
                            void *user_data) {
  won *end = user_data;
  (void)error;
  end->status = status;
  end->leadership = leadership;
  atomic_fetch_add(&end->calls, 1);
}

static void note_leader(zkr_status status, const zkr_leader *leader, const zkr_error *error,
                        void *user_data) {
  (void)error;
  if (status != ZKR_OK)
    note_text(user_data, status, "%s%s", NULL, NULL);
  else if (leader)
    note_text(user_data, status, zkr_leader_acknowledged(leader) ? "%s serves: %s" : "%s leads: %s",
              zkr_leader_identity(leader), zkr_leader_data(leader));
  else
    note_text(user_data, status, "%s%s", "nobody", NULL);
}

void an_election_is_won_observed_and_resigned(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *other = connected(hosts(), "b");
  zkr_election *first = NULL, *second = NULL;
  zkr_leadership *leadership = NULL;
  zkr_leader *leader = NULL;
  zkr_contenders *candidates = NULL;
  zkr_subscription *subscription = NULL;
  heard seen = {0}, asked = {0};
  losses lost = {0};
  won late = {0};

  OK(zkr_election_new(client, path("election"), "port 80", 7, NULL, &first, &error));
  OK(zkr_election_new(other, path("election"), NULL, 0, NULL, &second, &error));
  OK(zkr_election_observe(second, note_leader, &seen, &subscription, &error));
  HEARS(seen, "nobody");
  OK(zkr_election_leader(second, &leader, &error));
  CHECK(leader == NULL && zkr_leader_epoch(leader) == 0 && !zkr_election_is_leader(first));
  OK(zkr_election_campaign(first, 10000, &leadership, &error));
  CHECK(zkr_election_is_leader(first) && zkr_leadership_is_held(leadership));
  CHECK(zkr_leadership_epoch(leadership) > 0 &&
        zkr_leadership_epoch(leadership) == zkr_leadership_fencing_token(leadership));
  HEARS(seen, "a leads: port 80");
  OK(zkr_leadership_acknowledge(leadership, "ready", 5, &error));
  HEARS(seen, "a serves: ready");
  OK(zkr_election_leader(second, &leader, &error));
  CHECK(zkr_leader_epoch(leader) == zkr_leadership_epoch(leadership) && zkr_leader_size(leader) == 5);
  zkr_leader_free(leader);
  CHECK(zkr_leader_identity(leader) == NULL);
  CHECK(zkr_election_leader_async(second, note_leader, &asked) == ZKR_OK);
  HEARS(asked, "a serves: ready");

  REFUSED(zkr_election_campaign(second, 0, NULL, &error), ZKR_TIMEOUT, "");
  CHECK(zkr_election_campaign_async(second, 20000, note_leadership, &late) == ZKR_OK);
  EVENTUALLY(children_of(client, path("election")) == 2);
  OK(zkr_election_candidates(first, &candidates, &error));
  CHECK(zkr_contenders_count(candidates) == 2 && zkr_contenders_get(candidates, 0)->holds);
  zkr_contenders_free(candidates);
  OK(zkr_leadership_on_lost(leadership, note_loss, &lost, NULL, &error));
  OK(zkr_election_resign(first, &error));
  REFUSED(zkr_election_resign(first, &error), ZKR_NOT_HELD, "");
  REFUSED(zkr_leadership_acknowledge(leadership, "", 0, &error), ZKR_NOT_HELD, "");
  EVENTUALLY(late.calls == 1);
  CHECK(late.status == ZKR_OK && zkr_leadership_epoch(late.leadership) > zkr_leadership_epoch(leadership));
  HEARS(seen, "b leads: ");
  CHECK(lost.calls == 0);
  OK(zkr_leadership_release(late.leadership, &error));
  HEARS(seen, "nobody");
  zkr_subscription_free(subscription);
  zkr_leadership_free(late.leadership);
  zkr_leadership_free(leadership);
  zkr_election_free(first);
  zkr_election_free(second);
  zkr_client_free(client);
  zkr_client_free(other);
}
