/* A daemon on systemd's loop: it works while it holds the lock, stops when that is lost, and ends in order on
 * SIGTERM.
 *
 *   cc -o sd_event sd_event.c $(pkg-config --cflags --libs zkrecipes libsystemd)
 *   ./sd_event embedded:
 */

#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <systemd/sd-event.h>
#include <zkrecipes.h>

typedef struct service {
  zkr_client *client;
  zkr_lock *lock;
  zkr_held *held;
  sd_event *loop;
  sd_event_source *work;
} service;

static void on_acquired(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data);

static int step(sd_event_source *timer, uint64_t now, void *user_data) {
  (void)now, (void)user_data; /* of the work; then the next one in 100 ms */
  sd_event_source_set_time_relative(timer, 100000);
  return sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static void on_lost(const zkr_error *error, void *user_data) {
  service *self = user_data;
  self->work = sd_event_source_disable_unref(self->work);
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
  sd_event_add_time_relative(self->loop, &self->work, CLOCK_MONOTONIC, 0, 0, step, self);
}

/* The last callback: every other one has come before it. */
static void on_closed(zkr_status status, const zkr_error *error, void *user_data) {
  service *self = user_data;
  printf("closed: %s\n", status == ZKR_OK ? "in order" : zkr_error_message(error));
  sd_event_exit(self->loop, 0);
}

static int on_events(sd_event_source *source, int fd, uint32_t what, void *user_data) {
  service *self = user_data;
  (void)source, (void)fd, (void)what;
  zkr_client_dispatch(self->client, 0, 0);
  return 0;
}

static int on_term(sd_event_source *source, const struct signalfd_siginfo *told, void *user_data) {
  service *self = user_data;
  (void)source, (void)told;
  self->work = sd_event_source_disable_unref(self->work);
  zkr_client_close_async(self->client, 2000, on_closed, self); /* releases, and ends what waits */
  return 0;
}

int main(int count, char **words) {
  zkr_error *error = NULL;
  service self = {0};
  setvbuf(stdout, NULL, _IOLBF, 0);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, NULL); /* the loop reads it from a signalfd */
  if (zkr_client_connect(count > 1 ? words[1] : NULL, NULL, &self.client, &error) != ZKR_OK) goto end;
  if (zkr_lock_new(self.client, "/locks/daemon", NULL, &self.lock, &error) != ZKR_OK) goto end;

  /* From here on callbacks run in zkr_client_dispatch and nowhere else. */
  sd_event_default(&self.loop);
  sd_event_add_io(self.loop, NULL, zkr_client_event_fd(self.client), EPOLLIN, on_events, &self);
  sd_event_add_signal(self.loop, NULL, SIGTERM, on_term, &self);
  zkr_lock_acquire_async(self.lock, -1, on_acquired, &self);
  sd_event_loop(self.loop);
  sd_event_unref(self.loop);
end:
  if (error) fprintf(stderr, "%s\n", zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_held_free(self.held);
  zkr_lock_free(self.lock);
  zkr_client_free(self.client);
  return status;
}
