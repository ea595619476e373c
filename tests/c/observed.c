/* SPDX-License-Identifier: Apache-2.0
 *
 * Logs and metrics: what happened at night can be told from them alone.
 */

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

/* What was said of one session or path, an event behind the other: " connected suspended". */
typedef struct story {
  pthread_mutex_t lock;
  char of[2][64];
  char events[2000];
  char server[64];
  char reason[64];
  int64_t lease_ms;
} story;

static void note_story(zkr_log_level level, const char *event, const char *message,
                       const zkr_log_field *fields, size_t count, void *user_data) {
  story *told = user_data;
  bool is_ours = false;
  pthread_mutex_lock(&told->lock);
  for (size_t i = 0; i < count; i++)
    is_ours |= strcmp(fields[i].value, told->of[0]) == 0 || strcmp(fields[i].value, told->of[1]) == 0;
  for (size_t i = 0; is_ours && i < count; i++) {
    if (strcmp(event, "reconnected") == 0 && strcmp(fields[i].name, "server") == 0)
      snprintf(told->server, sizeof told->server, "%s", fields[i].value);
    if (strcmp(event, "lost") == 0 && strcmp(fields[i].name, "reason") == 0)
      snprintf(told->reason, sizeof told->reason, "%s", fields[i].value);
    if (strcmp(event, "suspended") == 0 && fields[i].is_number && strcmp(fields[i].name, "lease_ms") == 0)
      told->lease_ms = fields[i].number;
  }
  size_t used = strlen(told->events);
  if (is_ours && level <= ZKR_LOG_INFO && message[0] != '\0')
    snprintf(told->events + used, sizeof told->events - used, " %s", event);
  pthread_mutex_unlock(&told->lock);
}

static bool tells(story *told, const char *events) {
  pthread_mutex_lock(&told->lock);
  const char *at = told->events;
  char word[64];
  int length = 0;
  while (at && sscanf(events, "%63s%n", word, &length) == 1) {
    events += length;
    at = strstr(at, word);
  }
  pthread_mutex_unlock(&told->lock);
  return at != NULL;
}

void a_partition_can_be_told_from_logs_and_metrics_alone(void) {
  zkr_error *error = NULL;
  zkr_test_proxy *proxy = NULL;
  zkr_subscription *log = NULL;
  zkr_client *client = NULL;
  zkr_options options = ZKR_OPTIONS_INIT;
  static story told = {.lock = PTHREAD_MUTEX_INITIALIZER, .of = {"?"}};

  options.session_timeout_ms = 3000;
  snprintf(told.of[1], sizeof told.of[1], "%s", path("partition"));
  OK(zkr_test_proxy_start(hosts(), &proxy, &error));
  OK(zkr_on_log(ZKR_LOG_INFO, note_story, &told, &log, &error));
  OK(zkr_client_connect(zkr_test_proxy_connect_string(proxy), &options, &client, &error));
  pthread_mutex_lock(&told.lock);
  snprintf(told.of[0], sizeof told.of[0], "%#llx", (unsigned long long)zkr_client_session_id(client));
  pthread_mutex_unlock(&told.lock);
  zkr_lock *lock = lock_on(client, told.of[1]);
  OK(zkr_lock_acquire(lock, 5000, NULL, &error));
  CHECK(metric(client, "acquisitions") == 1 && metric(client, "holding") == 1);

  OK(zkr_test_proxy_drop_connections(proxy, &error));
  EVENTUALLY(metric(client, "reconnections") >= 1);
  OK(zkr_test_proxy_pause(proxy, &error));
  EVENTUALLY(!zkr_lock_is_held(lock) && metric(client, "sessions_lost") == 1);
  OK(zkr_test_proxy_resume(proxy, &error));
  EVENTUALLY(tells(&told, "suspended reconnected suspended session_lost session_renewed"));
  EVENTUALLY(tells(&told, "lease_low lost"));
  pthread_mutex_lock(&told.lock);
  const char *server_of_it = zkr_test_proxy_connect_string(proxy);
  bool is_told = strcmp(told.server, server_of_it) == 0 && strcmp(told.reason, "session") == 0;
  is_told &= told.lease_ms > 0;
  pthread_mutex_unlock(&told.lock);
  CHECK(is_told);
  CHECK(metric(client, "losses.session") == 1 && metric(client, "sessions") == 2);
  CHECK(metric(client, "holds.count") == 1 && metric(client, "lease_margin_min_ms") == 0);
  CHECK(isnan(metric(client, "no such metric")) && isnan(metric(client, NULL)));

  zkr_buffer *text = NULL;
  OK(zkr_client_prometheus(client, &text, &error));
  CHECK(strstr(zkr_buffer_text(text), "\nzkrecipes_losses_total{reason=\"session\"} 1\n") != NULL);
  zkr_buffer_free(text);

  /* From here on nothing is told. */
  zkr_subscription_free(log);
  told.events[0] = '\0';
  zkr_log(ZKR_LOG_ERROR, "own", told.of[1]);
  zkr_lock_free(lock);
  zkr_client_free(client);
  CHECK(told.events[0] == '\0');
  zkr_test_proxy_free(proxy);
}

void what_cannot_be_listened_with_is_refused(void) {
  zkr_error *error = NULL;
  REFUSED(zkr_on_log(ZKR_LOG_INFO, NULL, NULL, NULL, &error), ZKR_INVALID, "callback");
  REFUSED(zkr_on_log((zkr_log_level)17, note_story, NULL, NULL, &error), ZKR_INVALID, "level");
  REFUSED(zkr_client_metrics(NULL, NULL, &error), ZKR_INVALID, "metrics");
  zkr_metrics *metrics = NULL;
  REFUSED(zkr_client_metrics(NULL, &metrics, &error), ZKR_INVALID, "client");
  REFUSED(zkr_client_skipped(NULL, NULL, &error), ZKR_INVALID, "nodes");
  zkr_entries *nodes = NULL;
  REFUSED(zkr_client_skipped(NULL, &nodes, &error), ZKR_INVALID, "client");
  CHECK(nodes == NULL);
  CHECK(metrics == NULL && zkr_metrics_count(NULL) == 0 && isnan(zkr_metrics_value(NULL, "sessions")));
  CHECK(strcmp(zkr_log_level_name(ZKR_LOG_WARN), "warn") == 0);
}

/* What was said about a path. */
typedef struct said {
  const char *path;
  atomic_int about_it;
  atomic_bool is_over;
} said;

static void note_said(zkr_log_level level, const char *event, const char *message,
                      const zkr_log_field *fields, size_t count, void *user_data) {
  said *said = user_data;
  (void)level, (void)message;
  for (size_t i = 0; i < count; i++)
    if (strcmp(fields[i].value, said->path) == 0) said->about_it++;
  if (strcmp(event, "is_over") == 0) said->is_over = true;
}

/* In C nothing is collected: to free what is held, or its client, is a way to release it. */
void freeing_what_is_held_is_no_warning(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *observer = connected(hosts(), "observer");
  static said told;
  const char *at = path("freed-in-silence");
  zkr_lock *lock = lock_on(client, at);
  zkr_held *held = NULL;
  zkr_subscription *log = NULL;

  told.path = at;
  OK(zkr_on_log(ZKR_LOG_WARN, note_said, &told, &log, &error));
  OK(zkr_lock_acquire(lock, 5000, &held, &error));
  zkr_lock_free(lock);
  zkr_held_free(held);
  EVENTUALLY(children_of(observer, at) == 0);
  lock = lock_on(client, at);
  OK(zkr_lock_acquire(lock, 5000, &held, &error));
  zkr_client_free(client);
  EVENTUALLY(children_of(observer, at) == 0);
  zkr_held_free(held);
  zkr_lock_free(lock);
  zkr_log(ZKR_LOG_WARN, "is_over", "the test");
  EVENTUALLY(told.is_over);
  zkr_subscription_free(log);
  CHECK(told.about_it == 0);
  zkr_client_free(observer);
}
