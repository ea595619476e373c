/* A daemon on libuv's loop: it works while it holds the lock, stops when that is lost, and ends in order on
 * SIGTERM.
 *
 *   cc -o libuv libuv.c $(pkg-config --cflags --libs zkrecipes libuv)
 *   ./libuv embedded:
 */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <uv.h>
#include <zkrecipes.h>

typedef struct service {
  zkr_client *client;
  zkr_lock *lock;
  zkr_held *held;
  uv_loop_t loop;
  uv_poll_t events;
  uv_signal_t term;
  uv_timer_t work;
} service;

static void on_acquired(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data);

static void step(uv_timer_t *timer) { (void)timer; /* of the work */ }

static void on_lost(const zkr_error *error, void *user_data) {
  service *self = user_data;
  uv_timer_stop(&self->work);
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
  uv_timer_start(&self->work, step, 0, 100);
}

/* The last callback: every other one has come before it. */
static void on_closed(zkr_status status, const zkr_error *error, void *user_data) {
  service *self = user_data;
  printf("closed: %s\n", status == ZKR_OK ? "in order" : zkr_error_message(error));
  uv_close((uv_handle_t *)&self->events, NULL);
  uv_close((uv_handle_t *)&self->work, NULL);
  uv_close((uv_handle_t *)&self->term, NULL); /* nothing is left to wait for: the loop ends */
}

static void on_events(uv_poll_t *events, int status, int what) {
  service *self = events->data;
  (void)status, (void)what;
  zkr_client_dispatch(self->client, 0, 0);
}

static void on_term(uv_signal_t *term, int number) {
  service *self = term->data;
  (void)number;
  uv_signal_stop(term);
  uv_timer_stop(&self->work);
  zkr_client_close_async(self->client, 2000, on_closed, self); /* releases, and ends what waits */
}

int main(int count, char **words) {
  zkr_error *error = NULL;
  service self = {0};
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (zkr_client_connect(count > 1 ? words[1] : NULL, NULL, &self.client, &error) != ZKR_OK) goto end;
  if (zkr_lock_new(self.client, "/locks/daemon", NULL, &self.lock, &error) != ZKR_OK) goto end;

  /* From here on callbacks run in zkr_client_dispatch and nowhere else. */
  uv_loop_init(&self.loop);
  uv_timer_init(&self.loop, &self.work);
  uv_signal_init(&self.loop, &self.term);
  uv_poll_init(&self.loop, &self.events, zkr_client_event_fd(self.client));
  self.events.data = self.term.data = &self;
  uv_poll_start(&self.events, UV_READABLE, on_events);
  uv_signal_start(&self.term, on_term, SIGTERM);
  zkr_lock_acquire_async(self.lock, -1, on_acquired, &self);
  uv_run(&self.loop, UV_RUN_DEFAULT);
  uv_loop_close(&self.loop);
end:
  if (error) fprintf(stderr, "%s\n", zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_held_free(self.held);
  zkr_lock_free(self.lock);
  zkr_client_free(self.client);
  return status;
}
