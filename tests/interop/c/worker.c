/* The C worker of the crowd; ../README.md says what a worker is. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <zkrecipes.h>

enum { FOR_EVER = -1, BILLION = 1000000000 };

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * BILLION + time.tv_nsec;
}

/* Counts up, with nothing but the lock to keep others from doing the same. */
static int work(const char *name, const char *folder, uint64_t token) {
  int64_t enter = now();
  char path[512];
  long count;
  snprintf(path, sizeof path, "%s/counter", folder);
  FILE *counter = fopen(path, "r");
  if (!counter || fscanf(counter, "%ld", &count) != 1) return 0;
  fclose(counter);
  counter = fopen(path, "w");
  if (!counter || fprintf(counter, "%ld\n", count + 1) < 0 || fclose(counter) != 0) return 0;
  snprintf(path, sizeof path, "%s/log", folder);
  FILE *log = fopen(path, "a");
  if (!log) return 0;
  fprintf(log, "%s %" PRIu64 " %" PRId64 " %" PRId64 "\n", name, token, enter, now());
  return fclose(log) == 0;
}

int main(int count, char **arguments) {
  if (count != 6) return 2;
  const char *name = arguments[1], *hosts = arguments[2], *path = arguments[3], *folder = arguments[4];
  int64_t end = now() + atoll(arguments[5]) * BILLION;
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_lock *lock = NULL;
  int status = 1;
  if (zkr_client_connect(hosts, NULL, &client, &error) != ZKR_OK) goto out;
  if (zkr_lock_new(client, path, NULL, &lock, &error) != ZKR_OK) goto out;
  while (now() < end) {
    if (zkr_lock_acquire(lock, FOR_EVER, NULL, &error) != ZKR_OK) goto out;
    if (!work(name, folder, zkr_lock_fencing_token(lock))) goto out;
    if (zkr_lock_release(lock, &error) != ZKR_OK) goto out;
  }
  status = 0;
out:
  if (error) fprintf(stderr, "%s\n", zkr_error_message(error));
  zkr_error_free(error);
  zkr_lock_free(lock);
  zkr_client_free(client);
  return status;
}
