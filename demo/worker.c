/* A worker of the demo in C: takes the lock, works inside for a moment, gives it back, until told to stop. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <zkrecipes.h>

static const char *identity;

static int64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void note(const char *what, uint64_t token) {
  char line[256];
  int64_t now = monotonic_ns();
  int length = snprintf(line, sizeof line, "%s %s %" PRIu64 " %" PRId64 "\n", what, identity, token, now);
  int journal = open("journal", O_WRONLY | O_APPEND);
  if (journal < 0 || write(journal, line, (size_t)length) != length) abort();
  close(journal);
}

static int read_counter(void) {
  int value = 0;
  FILE *file = fopen("counter", "r");
  if (file == NULL || fscanf(file, "%d", &value) != 1) abort();
  fclose(file);
  return value;
}

/* At once: whoever is killed meanwhile leaves the old value. */
static void write_counter(int value) {
  FILE *file = fopen("counter.new", "w");
  if (file == NULL || fprintf(file, "%d", value) < 0 || fclose(file) != 0) abort();
  if (rename("counter.new", "counter") != 0) abort();
}

static void work_inside(uint64_t token) {
  int marker = open("inside", O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (marker < 0) {
    note("collision", token);
    return;
  }
  if (write(marker, identity, strlen(identity)) < 0) abort();
  close(marker);
  note("enter", token);
  int counter = read_counter();
  usleep((useconds_t)(60000 + rand() % 120000));
  write_counter(counter + 1);
  note("leave", token);
  unlink("inside");
}

int main(int argc, char **argv) {
  if (argc != 6 || chdir(argv[4]) != 0) {
    fprintf(stderr, "usage: worker HOSTS PATH IDENTITY DIRECTORY SESSION_MS\n");
    return 2;
  }
  identity = argv[3];
  srand((unsigned)getpid());

  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_lock *lock = NULL;
  zkr_options options = ZKR_OPTIONS_INIT;
  options.identity = identity;
  options.session_timeout_ms = atoi(argv[5]);
  if (zkr_client_connect(argv[1], &options, &client, &error) != ZKR_OK) goto fail;
  if (zkr_lock_new(client, argv[2], NULL, &lock, &error) != ZKR_OK) goto fail;
  while (access("stop", F_OK) != 0) {
    if (zkr_lock_acquire(lock, -1, NULL, &error) != ZKR_OK) goto fail;
    if (access("stop", F_OK) != 0) work_inside(zkr_lock_fencing_token(lock));
    if (zkr_lock_release(lock, &error) != ZKR_OK) goto fail;
  }
fail:
  if (error != NULL) fprintf(stderr, "%s\n", zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_lock_free(lock);
  zkr_client_free(client);
  return status;
}
