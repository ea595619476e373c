/* A daemon with an event loop of its own: once connected, no thread waits, and all callbacks run in
 * the loop.
 *
 *   cc -o epoll epoll.c $(pkg-config --cflags --libs zkrecipes)
 *   ./epoll embedded:
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <zkrecipes.h>

typedef struct service {
  zkr_lock *lock;
  bool done, closed;
} service;

static void on_released(zkr_status status, const zkr_error *error, void *user_data) {
  service *self = user_data;
  printf("released: %s\n", status == ZKR_OK ? "confirmed" : zkr_error_message(error));
  self->done = true;
}

static void on_lost(const zkr_error *error, void *user_data) {
  service *self = user_data;
  printf("stop working: %s\n", zkr_error_message(error));
  self->done = true;
}

static void on_acquired(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data) {
  service *self = user_data;
  if (status != ZKR_OK) {
    printf("not acquired: %s\n", zkr_error_message(error));
    self->done = true;
    return;
  }
  printf("working with fencing token %" PRIu64 "\n", zkr_held_fencing_token(held));
  zkr_held_on_lost(held, on_lost, self, NULL, NULL);
  zkr_held_release_async(held, on_released, self);
  zkr_held_free(held);
}

/* The last callback: every other one has come before it. */
static void on_closed(zkr_status status, const zkr_error *error, void *user_data) {
  service *self = user_data;
  if (status != ZKR_OK) printf("closed: %s\n", zkr_error_message(error));
  self->closed = true;
}

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  service self = {0};
  int loop = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_lock_new(client, "/locks/daemon", NULL, &self.lock, &error) != ZKR_OK) goto fail;

  /* From here on callbacks run in zkr_client_dispatch and nowhere else. */
  epoll_ctl(loop, EPOLL_CTL_ADD, zkr_client_event_fd(client), &event);
  zkr_lock_acquire_async(self.lock, -1, on_acquired, &self);
  while (!self.done) {
    epoll_wait(loop, &event, 1, -1); /* a real daemon waits for its other descriptors here as well */
    zkr_client_dispatch(client, 0, 0);
  }
  zkr_client_close_async(client, 2000, on_closed, &self);
  while (!self.closed) zkr_client_dispatch(client, 0, -1);
fail:
  if (error) fprintf(stderr, "%s\n", zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_lock_free(self.lock);
  zkr_client_free(client);
  close(loop);
  return status;
}
