/* A daemon on GLib's main loop: it works while it holds the lock, stops when that is lost, and ends in order
 * on SIGTERM.
 *
 *   cc -o glib glib.c $(pkg-config --cflags --libs zkrecipes glib-2.0)
 *   ./glib embedded:
 */

#include <glib-unix.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <zkrecipes.h>

typedef struct service {
  zkr_client *client;
  zkr_lock *lock;
  zkr_held *held;
  GMainLoop *loop;
  guint work;
} service;

static void on_acquired(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data);

static gboolean step(gpointer user_data) {
  (void)user_data; /* of the work */
  return G_SOURCE_CONTINUE;
}

static void stop_working(service *self) {
  if (self->work) g_source_remove(self->work);
  self->work = 0;
}

static void on_lost(const zkr_error *error, void *user_data) {
  service *self = user_data;
  stop_working(self);
  zkr_held_free(self->held);
  self->held = NULL;
  printf("stop working: %s\n", zkr_error_message(error));
  zkr_lock_acquire_async(self->lock, -1, on_acquired, self); /* and again */
}

static void on_acquired(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data) {
  service *self = user_data;
  if (status != ZKR_OK) { /* also when the client is closed meanwhile */
    printf("not acquired: %s\n", zkr_error_message(error));
    return;
  }
  printf("working with fencing token %" PRIu64 "\n", zkr_held_fencing_token(held));
  self->held = held; /* ours now: zkr_held_free releases it */
  zkr_held_on_lost(held, on_lost, self, NULL, NULL);
  self->work = g_timeout_add(100, step, self);
}

/* The last callback: every other one has come before it. */
static void on_closed(zkr_status status, const zkr_error *error, void *user_data) {
  service *self = user_data;
  printf("closed: %s\n", status == ZKR_OK ? "in order" : zkr_error_message(error));
  g_main_loop_quit(self->loop);
}

static gboolean on_events(gint fd, GIOCondition what, gpointer user_data) {
  service *self = user_data;
  (void)fd, (void)what;
  zkr_client_dispatch(self->client, 0, 0);
  return G_SOURCE_CONTINUE;
}

static gboolean on_term(gpointer user_data) {
  service *self = user_data;
  stop_working(self);
  zkr_client_close_async(self->client, 2000, on_closed, self); /* releases, and ends what waits */
  return G_SOURCE_REMOVE;
}

int main(int count, char **words) {
  zkr_error *error = NULL;
  service self = {0};
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (zkr_client_connect(count > 1 ? words[1] : NULL, NULL, &self.client, &error) != ZKR_OK) goto end;
  if (zkr_lock_new(self.client, "/locks/daemon", NULL, &self.lock, &error) != ZKR_OK) goto end;

  /* From here on callbacks run in zkr_client_dispatch and nowhere else. */
  self.loop = g_main_loop_new(NULL, FALSE);
  guint events = g_unix_fd_add(zkr_client_event_fd(self.client), G_IO_IN, on_events, &self);
  g_unix_signal_add(SIGTERM, on_term, &self);
  zkr_lock_acquire_async(self.lock, -1, on_acquired, &self);
  g_main_loop_run(self.loop);
  g_source_remove(events);
  g_main_loop_unref(self.loop);
end:
  if (error) fprintf(stderr, "%s\n", zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_held_free(self.held);
  zkr_lock_free(self.lock);
  zkr_client_free(self.client);
  return status;
}
