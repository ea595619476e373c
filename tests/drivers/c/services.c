/* SPDX-License-Identifier: Apache-2.0
 *
 * The scenario driver for C: service discovery.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

static zkr_discovery *discovery(const command *c) { return named(c)->discovery; }

static lock *registered(const command *c) {
  char name[MAX_NAME];
  snprintf(name, sizeof name, "%s:%s", text(c, 1), text(c, 2));
  return find(c->client, name);
}

/* What the words of a command say; a word that is no number is no port either. */
static void read_service(const command *c, zkr_service *service) {
  const char *types[] = {"dynamic", "static", "permanent", "dynamic_sequential"};
  const char *given = option(c, "address");
  if (given) service->address = given;
  if ((given = option(c, "port"))) service->port = atoi(given);
  if ((given = option(c, "ssl-port"))) service->ssl_port = atoi(given);
  if ((given = option(c, "payload"))) service->payload = given;
  if ((given = option(c, "uri"))) service->uri_spec = given;
  if (has_word(c, "enabled")) service->enabled = true;
  if (has_word(c, "disabled")) service->enabled = false;
  if ((given = option(c, "type"))) {
    int type = 0;
    while (type < 4 && strcmp(given, types[type]) != 0) type++;
    service->type = (zkr_service_type)type;
  }
}

static void do_register(command *c) {
  zkr_error *error = NULL;
  zkr_registration *registration = NULL;
  zkr_service service = ZKR_SERVICE_INIT;
  service.name = text(c, 2);
  service.id = text(c, 3);
  service.address = text(c, 4);
  read_service(c, &service);
  zkr_status status = zkr_discovery_register(discovery(c), &service, &registration, &error);
  if (status == ZKR_OK) {
    char side[MAX_NAME];
    snprintf(side, sizeof side, ":%s", text(c, 3));
    add(c->client, (lock){.registration = registration, .service = service}, text(c, 1), side);
  }
  answer(c, status, error);
}

static void do_update(command *c) {
  zkr_error *error = NULL;
  lock *of = registered(c);
  if (!of) {
    invalid(c);
    return;
  }
  zkr_service service = of->service;
  read_service(c, &service);
  zkr_status status = zkr_registration_update(of->registration, &service, &error);
  if (status == ZKR_OK) of->service = service;
  answer(c, status, error);
}

static void do_unregister(command *c) {
  zkr_error *error = NULL;
  const lock *of = registered(c);
  zkr_status status = zkr_registration_unregister(of ? of->registration : NULL, &error);
  answer(c, status, error);
}

static const char *port(int32_t port, char room[16]) {
  if (port < 0) return "-";
  snprintf(room, 16, "%d", port);
  return room;
}

static const char *shown(const zkr_instances *all, const char *between, char *line, size_t room) {
  size_t used = 0;
  line[0] = '\0';
  for (size_t i = 0; i < zkr_instances_count(all) && used < room; i++) {
    const zkr_instance *one = zkr_instances_get(all, i);
    char number[16];
    used += (size_t)snprintf(line + used, room - used, "%s%s=%s:%s%s", i ? between : "", one->id,
                             one->address, port(one->port, number), one->enabled ? "" : "!");
  }
  return line;
}

static void do_instances(command *c) {
  zkr_error *error = NULL;
  zkr_instances *all = NULL;
  char line[4096];
  zkr_status status = zkr_discovery_instances(discovery(c), text(c, 2), &all, &error);
  if (status != ZKR_OK)
    fail(c, status, error);
  else if (zkr_instances_count(all) == 0)
    say("%s ok", c->seq);
  else
    say("%s ok %s", c->seq, shown(all, " ", line, sizeof line));
  zkr_instances_free(all);
}

static void do_instance(command *c) {
  zkr_error *error = NULL;
  zkr_instances *all = NULL;
  zkr_status status = zkr_discovery_instances(discovery(c), text(c, 2), &all, &error);
  const zkr_instance *one = NULL;
  for (size_t i = 0; i < zkr_instances_count(all); i++)
    if (strcmp(zkr_instances_get(all, i)->id, text(c, 3)) == 0) one = zkr_instances_get(all, i);
  char number[16], ssl_number[16];
  if (status != ZKR_OK)
    fail(c, status, error);
  else if (!one)
    say("%s ok none", c->seq);
  else
    say("%s ok %s %s %s %s %s %s", c->seq, one->address, port(one->port, number),
        port(one->ssl_port, ssl_number), zkr_service_type_name(one->type), one->uri ? one->uri : "-",
        one->payload ? one->payload : "-");
  zkr_instances_free(all);
}

static void do_registered(command *c) {
  zkr_error *error = NULL;
  zkr_instances *service = NULL;
  const lock *of = registered(c);
  zkr_status status = zkr_registration_service(of ? of->registration : NULL, &service, &error);
  if (status != ZKR_OK) {
    fail(c, status, error);
    return;
  }
  const zkr_instance *one = zkr_instances_get(service, 0);
  char number[16], ssl_number[16];
  say("%s ok %s/%s %s %s %s %s %s %s %s", c->seq, one->name, one->id, one->address, port(one->port, number),
      port(one->ssl_port, ssl_number), zkr_service_type_name(one->type), one->uri_spec ? one->uri_spec : "-",
      one->payload ? one->payload : "-", one->enabled ? "enabled" : "disabled");
  zkr_instances_free(service);
}

static void do_pick(command *c) {
  zkr_error *error = NULL;
  zkr_instances *picked = NULL;
  lock *of = find_lock(c);
  const char *words[] = {"round_robin", "random", "sticky"};
  int by = 0;
  const char *given = word(c, 3);
  while (given && by < 3 && strcmp(given, words[by]) != 0) by++;
  zkr_status status = zkr_discovery_pick(discovery(c), text(c, 2), (zkr_pick_by)by, &picked, &error);
  if (status != ZKR_OK) {
    fail(c, status, error);
    return;
  }
  // Before it is said: the next command may use it at once.
  zkr_instances *before = of->picked;
  of->picked = picked;
  zkr_instances_free(before);
  const zkr_instance *one = zkr_instances_get(picked, 0);
  say("%s ok %s", c->seq, one ? one->id : "none");
}

static void do_picked_failed(command *c) {
  zkr_instances_failed(named(c)->picked, 0);
  say("%s ok", c->seq);
}

static void do_watch_service(command *c) {
  const lock *of = find(c->client, text(c, 2));
  if (!of) {
    invalid(c);
    return;
  }
  add(c->client, (lock){.service_of = of, .node = text(c, 3)}, text(c, 1), "");
  say("%s ok", c->seq);
}

static void on_instances(zkr_status status, zkr_instances *all, const zkr_error *error, void *user_data) {
  const lock *of = user_data;
  char line[4096];
  (void)error;
  if (status != ZKR_OK)
    ended(of, status);
  else
    say("event %s told %s %s", of->of->name, of->name,
        zkr_instances_count(all) ? shown(all, ",", line, sizeof line) : "-");
  zkr_instances_free(all);
}

zkr_status follow_service(lock *of, zkr_error **error) {
  return zkr_discovery_watch(of->service_of->discovery, of->node, on_instances, of, &of->followed, error);
}

const verb service_verbs[] = {
    {"register", do_register, true},
    {"update-service", do_update, true},
    {"unregister", do_unregister, true},
    {"registered", do_registered, false},
    {"instances", do_instances, true},
    {"instance", do_instance, true},
    {"pick", do_pick, true},
    {"picked-failed", do_picked_failed, false},
    {"watch-service", do_watch_service, false},
    {NULL, NULL, false},
};
