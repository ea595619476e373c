/* The C worker of the crowd; ../README.md says what a worker is. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zkrecipes.h>

enum { FOR_EVER = -1, BILLION = 1000000000 };

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * BILLION + time.tv_nsec;
}

/* Counts up, with nothing but the recipe to keep others from doing the same. */
static int work(const char *name, const char *counter_path, const char *log_path, long stay, uint64_t token) {
  int64_t enter = now();
  long count;
  FILE *counter = fopen(counter_path, "r");
  if (!counter || fscanf(counter, "%ld", &count) != 1) return 0;
  fclose(counter);
  counter = fopen(counter_path, "w");
  if (!counter || fprintf(counter, "%ld\n", count + 1) < 0 || fclose(counter) != 0) return 0;
  nanosleep(&(struct timespec){stay / 1000, stay % 1000 * 1000000}, NULL);
  FILE *log = fopen(log_path, "a");
  if (!log) return 0;
  fprintf(log, "%s %" PRIu64 " %" PRId64 " %" PRId64 "\n", name, token, enter, now());
  return fclose(log) == 0;
}

static const char *const NAMINGS[] = {
    [ZKR_NAMING_CURATOR] = "curator", [ZKR_NAMING_KAZOO] = "kazoo", [ZKR_NAMING_ZOOKEEPER] = "zookeeper"};

int main(int count, char **arguments) {
  if (count != 10) return 2;
  const char *name = arguments[1], *kind = arguments[4], *path = arguments[5];
  zkr_options options = ZKR_OPTIONS_INIT;
  while (strcmp(NAMINGS[options.naming], arguments[3]) != 0) options.naming++;
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_lock *lock = NULL;
  zkr_semaphore *semaphore = NULL;
  int permits = 0;
  int status = 1;
  if (zkr_client_connect(arguments[2], &options, &client, &error) != ZKR_OK) goto out;
  if (sscanf(kind, "semaphore:%d", &permits) == 1) {
    if (zkr_semaphore_new(client, path, permits, &semaphore, &error) != ZKR_OK) goto out;
  } else {
    if (zkr_lock_new(client, path, NULL, &lock, &error) != ZKR_OK) goto out;
  }
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) continue;
  int64_t end = now() + atoll(arguments[8]) * BILLION;
  do {
    zkr_held *held = NULL;
    zkr_status acquired = semaphore ? zkr_semaphore_acquire(semaphore, 1, FOR_EVER, &held, &error)
                                    : zkr_lock_acquire(lock, FOR_EVER, &held, &error);
    if (acquired != ZKR_OK) goto out;
    int worked = work(name, arguments[6], arguments[7], atol(arguments[9]), zkr_held_fencing_token(held));
    int released = zkr_held_release(held, &error) == ZKR_OK;
    zkr_held_free(held);
    if (!worked || !released) goto out;
  } while (now() < end);
  status = 0;
out:
  if (error) fprintf(stderr, "%s\n", zkr_error_message(error));
  zkr_error_free(error);
  zkr_semaphore_free(semaphore);
  zkr_lock_free(lock);
  zkr_client_free(client);
  return status;
}
