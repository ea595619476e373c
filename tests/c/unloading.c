/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of the library before that of its program.
 */

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

/* How many threads of the library there are. */
static int threads_of_the_library(void) {
  int found = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) return -1;
  for (const struct dirent *one; (one = readdir(tasks));) {
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", one->d_name);
    FILE *said = fopen(path, "r");
    if (!said) continue;
    if (fgets(name, sizeof name, said)) {
      found += strncmp(name, "zkrecipes-io", 12) == 0 || strncmp(name, "zkrecipes-call", 14) == 0 ||
               strncmp(name, "zkrecipes-lease", 15) == 0 || strncmp(name, "zkrecipes-log", 13) == 0;
    }
    fclose(said);
  }
  closedir(tasks);
  return found;
}

/* How many descriptors this process has open. */
static int descriptors(void) {
  int found = 0;
  DIR *open = opendir("/proc/self/fd");
  if (!open) return -1;
  while (readdir(open)) found++;
  closedir(open);
  return found;
}

static void end_the_library(zkr_status status, const zkr_error *error, void *user_data) {
  (void)status, (void)error;
  ending *end = user_data;
  end->status = zkr_library_shutdown(0, NULL);
  atomic_fetch_add(&end->calls, 1);
}

void the_library_ends_its_threads_and_starts_anew(void) {
  zkr_error *error = NULL;
  for (int round = 0; round < 3; round++) {
    ending end = {0};
    zkr_client *client = connected(hosts(), "unloaded");
    zkr_lock *lock = lock_on(client, path("shutdown"));
    OK(zkr_lock_acquire(lock, 5000, NULL, &error));
    CHECK(threads_of_the_library() > 0);
    REFUSED(zkr_library_shutdown(1000, &error), ZKR_INVALID, "open");
    CHECK(zkr_lock_verify_async(lock, end_the_library, &end) == ZKR_OK);
    EVENTUALLY(atomic_load(&end.calls) == 1);
    CHECK(end.status == ZKR_DEADLOCK);
    /* What is closed in the background is waited for. */
    if (round == 0) OK(zkr_client_close(client, 5000, &error));
    zkr_client_free(client);
    OK(zkr_library_shutdown(10000, &error));
    CHECK(threads_of_the_library() == 0);
    /* Nothing is to do any more, and what is left can be freed. */
    OK(zkr_library_shutdown(0, &error));
    zkr_lock_free(lock);
  }
}

void a_plug_in_is_unloaded_while_its_program_goes_on(void) {
  const char *name = strrchr(this_program, '/');
  char where[4096];
  CHECK(name != NULL);
  snprintf(where, sizeof where, "%.*s/plugin.so", (int)(name - this_program), this_program);
  for (int round = 0; round < 3; round++) {
    int (*run)(const char *) = NULL;
    void *plugin = dlopen(where, RTLD_NOW | RTLD_LOCAL);
    CHECK(plugin != NULL);
    void *found = dlsym(plugin, "plugin_run");
    memcpy(&run, &found, sizeof run);
    CHECK(run != NULL);
    int failed_at = run(hosts());
    CHECK(failed_at == 0);
    CHECK(threads_of_the_library() == 0);
    CHECK(dlclose(plugin) == 0);
    CHECK(dlopen(where, RTLD_NOW | RTLD_NOLOAD) == NULL);
  }
}

/* A callback that stays inside until it may go, and begins something then. */
typedef struct busy_callback {
  zkr_client *client;
  atomic_bool inside, go;
  ending connected;
} busy_callback;

static void note_client(zkr_status status, zkr_client *client, const zkr_error *error, void *user_data) {
  zkr_client_free(client);
  note_done(status, error, user_data);
}

static void begin_late(zkr_status status, const zkr_error *error, void *user_data) {
  busy_callback *busy = user_data;
  zkr_options options = ZKR_OPTIONS_INIT;
  (void)status, (void)error;
  options.connect_timeout_ms = 300;
  zkr_client_free(busy->client);
  busy->inside = true;
  while (!busy->go) nap(1);
  /* Nobody listens there. */
  if (zkr_client_connect_async("127.0.0.1:1", &options, note_client, &busy->connected) != ZKR_OK)
    busy->connected.calls = -100;
}

static void *let_go(void *user_data) {
  busy_callback *busy = user_data;
  nap(100);
  busy->go = true;
  return NULL;
}

void a_shutdown_waits_for_callbacks_and_for_what_they_begin(void) {
  zkr_error *error = NULL;
  busy_callback busy = {.client = connected(hosts(), "busy")};
  zkr_lock *lock = lock_on(busy.client, path("shutdown-busy"));
  pthread_t other;

  CHECK(zkr_nodes_ensure_async(busy.client, "/", begin_late, &busy) == ZKR_OK);
  EVENTUALLY(busy.inside);
  zkr_lock_free(lock);
  REFUSED(zkr_library_shutdown(0, &error), ZKR_TIMEOUT, "within");
  REFUSED(zkr_library_shutdown(500, &error), ZKR_TIMEOUT, "did not return");
  CHECK(pthread_create(&other, NULL, let_go, &busy) == 0);
  OK(zkr_library_shutdown(20000, &error));
  CHECK(threads_of_the_library() == 0);
  CHECK(busy.connected.calls == 1 && busy.connected.status == ZKR_CONNECTION_LOST);
  pthread_join(other, NULL);
}

static void lose_slowly(const zkr_error *error, void *user_data) {
  nap(200);
  note_loss(error, user_data);
}

void a_shutdown_waits_for_the_end_of_closing(void) {
  zkr_error *error = NULL;
  ending end = {0};
  losses lost = {0};
  zkr_client *client = connected(hosts(), "closing");
  zkr_lock *lock = lock_on(client, path("shutdown-closing"));
  zkr_held *held = NULL;
  zkr_subscription *subscription = NULL;

  OK(zkr_lock_acquire(lock, 5000, &held, &error));
  OK(zkr_held_on_lost(held, lose_slowly, &lost, &subscription, &error));
  CHECK(zkr_client_close_async(client, 5000, note_done, &end) == ZKR_OK);
  OK(zkr_library_shutdown(20000, &error));
  CHECK(end.calls == 1 && end.status == ZKR_OK && lost.calls == 1);
  CHECK(threads_of_the_library() == 0);
  /* What is freed afterwards starts nothing. */
  zkr_subscription_free(subscription);
  zkr_held_free(held);
  zkr_lock_free(lock);
  zkr_client_free(client);
  CHECK(threads_of_the_library() == 0);
}

void a_shutdown_does_not_wait_for_whoever_calls_it_to_dispatch(void) {
  zkr_error *error = NULL;
  for (int frees = 0; frees < 2; frees++) {
    ending end = {0};
    zkr_client *client = connected(hosts(), "dispatched");
    CHECK(zkr_client_event_fd(client) >= 0);
    CHECK(zkr_client_close_async(client, 5000, note_done, &end) == ZKR_OK);
    REFUSED(zkr_library_shutdown(-1, &error), ZKR_INVALID, "dispatch");
    if (!frees) {
      while (!end.calls) CHECK(zkr_client_dispatch(client, 1, 10000) == 1);
      OK(zkr_library_shutdown(10000, &error));
    }
    zkr_client_free(client);
    OK(zkr_library_shutdown(10000, &error));
    CHECK(end.calls == !frees && threads_of_the_library() == 0);
  }
}

void a_shutdown_keeps_no_descriptor(void) {
  zkr_error *error = NULL;
  OK(zkr_library_shutdown(20000, &error));
  int before = descriptors();
  for (int round = 0; round < 5; round++) {
    zkr_client *client = connected(hosts(), "described");
    zkr_lock *lock = lock_on(client, path("shutdown-described"));
    OK(zkr_lock_acquire(lock, 5000, NULL, &error));
    zkr_lock_free(lock);
    zkr_client_free(client);
    OK(zkr_library_shutdown(20000, &error));
  }
  /* The server, which may be in this process, closes its ends. */
  EVENTUALLY(descriptors() <= before);
}

void a_shutdown_without_time_is_done_when_nothing_goes_on(void) {
  zkr_error *error = NULL;
  for (int round = 0; round < 5; round++) {
    zkr_client *client = connected(hosts(), "soon");
    OK(zkr_client_close(client, 5000, &error));
    zkr_client_free(client);
    EVENTUALLY(zkr_library_shutdown(0, NULL) == ZKR_OK);
    CHECK(threads_of_the_library() == 0);
  }
}

static void *shuts_down(void *user_data) {
  *(zkr_status *)user_data = zkr_library_shutdown(20000, NULL);
  return NULL;
}

void a_shutdown_may_be_called_by_two_threads(void) {
  for (int round = 0; round < 10; round++) {
    zkr_status said[2] = {ZKR_INTERNAL, ZKR_INTERNAL};
    pthread_t both[2];
    zkr_client_free(connected(hosts(), "twice"));
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&both[i], NULL, shuts_down, &said[i]) == 0);
    for (int i = 0; i < 2; i++) pthread_join(both[i], NULL);
    CHECK(said[0] == ZKR_OK && said[1] == ZKR_OK);
    CHECK(threads_of_the_library() == 0);
  }
}

static void end_while_listening(zkr_log_level level, const char *event, const char *message,
                                const zkr_log_field *fields, size_t count, void *user_data) {
  (void)level, (void)event, (void)message, (void)fields, (void)count;
  end_the_library(ZKR_OK, NULL, user_data);
}

static atomic_int refused_while_freeing;

static void end_while_freeing(void *user_data) {
  (void)user_data;
  if (zkr_library_shutdown(-1, NULL) == ZKR_DEADLOCK) refused_while_freeing++;
}

static void ignore_state(zkr_state state, void *user_data) { (void)state, (void)user_data; }

void a_shutdown_inside_any_callback_is_refused(void) {
  zkr_error *error = NULL;
  ending dispatched = {0}, listening = {0};
  zkr_subscription *subscription = NULL, *log = NULL;
  zkr_client *client = connected(hosts(), "inside");

  CHECK(zkr_client_event_fd(client) >= 0);
  CHECK(zkr_nodes_ensure_async(client, "/", end_the_library, &dispatched) == ZKR_OK);
  CHECK(zkr_client_dispatch(client, 1, 10000) == 1);
  CHECK(dispatched.status == ZKR_DEADLOCK);
  OK(zkr_client_on_state(client, ignore_state, NULL, &subscription, &error));
  zkr_subscription_free_with(subscription, end_while_freeing);
  CHECK(refused_while_freeing == 1);
  OK(zkr_on_log(ZKR_LOG_INFO, end_while_listening, &listening, &log, &error));
  OK(zkr_client_close(client, 5000, &error));
  zkr_client_free(client);
  EVENTUALLY(listening.calls > 0);
  CHECK(listening.status == ZKR_DEADLOCK);
  zkr_subscription_free(log);
  OK(zkr_library_shutdown(20000, &error));
  CHECK(threads_of_the_library() == 0);
}

static atomic_int said;

/* What listens may begin something, too; and what that says is heard. */
static void begin_while_listening(zkr_log_level level, const char *event, const char *message,
                                  const zkr_log_field *fields, size_t count, void *user_data) {
  (void)level, (void)event, (void)message, (void)fields, (void)count;
  zkr_options options = ZKR_OPTIONS_INIT;
  options.connect_timeout_ms = 100;
  if (atomic_fetch_add(&said, 1) == 0)
    zkr_client_connect_async("127.0.0.1:1", &options, note_client, user_data);
}

void a_shutdown_waits_for_those_who_listen(void) {
  zkr_error *error = NULL;
  for (int round = 0; round < 20; round++) {
    ending connecting = {0};
    zkr_subscription *log = NULL;
    zkr_client *client = connected(hosts(), "listened");

    said = 0;
    OK(zkr_on_log(ZKR_LOG_DEBUG, begin_while_listening, &connecting, &log, &error));
    zkr_client_free(client);
    OK(zkr_library_shutdown(20000, &error));
    zkr_subscription_free(log);
    CHECK(threads_of_the_library() == 0);
    CHECK(said > 0);
    CHECK(connecting.calls == 1);
    CHECK(connecting.status == ZKR_CONNECTION_LOST);
  }
}

/* Freed when the library has ended: nothing starts. */
void a_shutdown_may_come_before_what_is_closed_is_freed(void) {
  zkr_error *error = NULL;
  ending queued = {0};
  losses lost = {0};
  zkr_client *client = connected(hosts(), "freed late");
  zkr_lock *lock = lock_on(client, path("shutdown-late")), *waiting = lock_on(client, path("shutdown-late"));
  zkr_semaphore *semaphore = semaphore_on(client, path("shutdown-late-permits"), 2);
  zkr_held *held = NULL, *permit = NULL;
  zkr_subscription *on_lost = NULL, *on_state = NULL;
  zkr_queue *queue = NULL;
  zkr_item *item = NULL;
  zkr_group *group = NULL;
  zkr_election *election = NULL;
  zkr_cancel_token *token = NULL;

  OK(zkr_lock_acquire(lock, 5000, &held, &error));
  OK(zkr_held_on_lost(held, note_loss, &lost, &on_lost, &error));
  OK(zkr_client_on_state(client, ignore_state, NULL, &on_state, &error));
  token = zkr_cancel_token_new();
  CHECK(zkr_lock_acquire_cancellable_async(waiting, -1, token, note_held, &queued) == ZKR_OK);
  OK(zkr_semaphore_acquire(semaphore, 1, 5000, &permit, &error));
  OK(zkr_queue_new(client, path("shutdown-late-queue"), NULL, &queue, &error));
  OK(zkr_queue_put(queue, "tea", 3, 5000, &error));
  OK(zkr_queue_claim(queue, 5000, &item, &error));
  OK(zkr_group_new(client, path("shutdown-late-group"), NULL, &group, &error));
  OK(zkr_group_join(group, "me", "", 0, &error));
  OK(zkr_election_new(client, path("shutdown-late-leader"), "x", 1, NULL, &election, &error));
  OK(zkr_election_campaign(election, 5000, NULL, &error));
  OK(zkr_client_close(client, 5000, &error));
  OK(zkr_library_shutdown(20000, &error));
  CHECK(queued.calls == 1 && queued.status == ZKR_CLOSED && lost.calls == 1);
  zkr_cancel_token_cancel(token);
  zkr_cancel_token_free(token);
  zkr_subscription_free(on_lost);
  zkr_subscription_free(on_state);
  zkr_item_free(item);
  zkr_queue_free(queue);
  zkr_group_free(group);
  zkr_election_free(election);
  zkr_held_free(permit);
  zkr_semaphore_free(semaphore);
  zkr_held_free(held);
  zkr_lock_free(waiting);
  zkr_lock_free(lock);
  zkr_client_free(client);
  CHECK(threads_of_the_library() == 0);
}

/* What the newest recipes have open, and all of it freed in one callback while their calls run. */
typedef struct opened {
  zkr_client *client;
  zkr_partitioner *partitioner;
  zkr_subscription *running;
  zkr_latch *latch;
  zkr_node_cache *cache;
  zkr_discovery *discovery;
  zkr_registration *registration;
  zkr_queue *queue;
  zkr_item *item;
  atomic_bool ready;
  atomic_int freed;
  ending waited;
} opened;

static void free_everything(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data) {
  opened *all = user_data;
  (void)status, (void)error;
  while (!all->ready) nap(1);
  if (atomic_fetch_add(&all->freed, 1) == 0) {
    zkr_subscription_free(all->running);
    zkr_partitioner_free(all->partitioner);
    zkr_latch_free(all->latch);
    zkr_node_cache_free(all->cache);
    zkr_discovery_free(all->discovery);
    zkr_registration_free(all->registration);
    zkr_item_free(all->item);
    zkr_queue_free(all->queue);
    zkr_client_free(all->client);
  }
  zkr_held_free(held);
}

void a_shutdown_follows_a_callback_that_frees_all(void) {
  zkr_error *error = NULL;
  for (int round = 0; round < 3; round++) {
    opened all = {.client = connected(hosts(), "opened")};
    zkr_service service = ZKR_SERVICE_INIT;
    service.name = "reports", service.address = "here";

    OK(zkr_latch_new(all.client, path("opened-latch"), 1, &all.latch, &error));
    CHECK(zkr_latch_wait_async(all.latch, -1, note_done, &all.waited) == ZKR_OK);
    OK(zkr_nodes_ensure(all.client, path("opened"), &error));
    OK(zkr_nodes_cache(all.client, path("opened"), &all.cache, &error));
    OK(zkr_discovery_new(all.client, path("opened-services"), &all.discovery, &error));
    OK(zkr_discovery_register(all.discovery, &service, &all.registration, &error));
    OK(zkr_queue_new(all.client, path("opened-queue"), NULL, &all.queue, &error));
    OK(zkr_queue_put(all.queue, "tea", 3, 5000, &error));
    OK(zkr_queue_claim(all.queue, 5000, &all.item, &error));
    OK(zkr_partitioner_new(all.client, path("opened-partitions"), NULL, 2, NULL, &all.partitioner, &error));
    OK(zkr_partitioner_run(all.partitioner, free_everything, &all, &all.running, &error));
    all.ready = true;
    EVENTUALLY(all.freed > 0);
    /* The callback may be running, and what it frees has yet to be told. */
    EVENTUALLY(zkr_library_shutdown(20000, NULL) == ZKR_OK);
    CHECK(threads_of_the_library() == 0);
    CHECK(all.freed == 1 && all.waited.calls == 1 && all.waited.status == ZKR_CLOSED);
  }
}
