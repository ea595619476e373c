/* Takes a lock, by a verb that waits and by an event loop: lock HOSTS. With a word behind it, it ends while
 * it holds the lock, and the library ends the session. */

#include <stdio.h>
#include <zkrecipes.h>

#ifdef _WIN32
#include <winsock2.h>
#else
#include <sys/select.h>
#endif

enum { WAIT_MS = 3000 }; /* less than a session lasts that nobody ends */

static bool is_taken;

static void taken(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data) {
  (void)user_data;
  is_taken = status == ZKR_OK;
  if (error) fprintf(stderr, "%s\n", zkr_error_message(error));
  zkr_held_free(held);
}

static bool takes_it_in_a_loop(zkr_client *client, zkr_lock *lock) {
  int fd = zkr_client_event_fd(client);
  if (fd < 0 || zkr_lock_acquire_async(lock, WAIT_MS, taken, NULL) != ZKR_OK) return false;
  for (int turn = 0; turn < 100 && !is_taken; turn++) {
    struct timeval limit = {1, 0};
    fd_set readable;
    FD_ZERO(&readable);
#ifdef _WIN32
    FD_SET((SOCKET)fd, &readable);
#else
    FD_SET(fd, &readable);
#endif
    if (select(fd + 1, &readable, NULL, NULL, &limit) > 0) zkr_client_dispatch(client, 0, 0);
  }
  return is_taken;
}

int main(int argc, char **argv) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_lock *lock = NULL;
  if (zkr_client_connect(argv[1], NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_lock_new(client, "/elsewhere/c", NULL, &lock, &error) != ZKR_OK) goto fail;
  if (zkr_lock_acquire(lock, WAIT_MS, NULL, &error) != ZKR_OK) goto fail;
  if (!zkr_lock_is_held(lock) || !zkr_lock_fencing_token(lock)) return 1;
  printf("C %s, with fencing token %llu\n", zkr_version(), (unsigned long long)zkr_lock_fencing_token(lock));
  if (argc > 2) return 0;
  if (zkr_lock_release(lock, &error) != ZKR_OK) goto fail;
  if (!takes_it_in_a_loop(client, lock)) return 1;
  if (zkr_client_close(client, WAIT_MS, &error) != ZKR_OK) goto fail;
  zkr_lock_free(lock);
  zkr_client_free(client);
  return 0;
fail:
  fprintf(stderr, "%s\n", zkr_error_message(error));
  return 1;
}
