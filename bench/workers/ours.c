/* zkrecipes in C: ours HOSTS SESSION_MS. */

#include <pthread.h>
#include <zkrecipes.h>

#include "line.h"

enum { FOR_EVER = -1, MAX_PATH = 256 };

static zkr_client *client;

static void must(zkr_status status, const zkr_error *error, const char *what) {
  if (status == ZKR_OK) return;
  printf("error %s: %s\n", what, error ? zkr_error_message(error) : "");
  exit(1);
}

static zkr_lock *handle(const char *path) {
  zkr_error *error = NULL;
  zkr_lock *lock = NULL;
  must(zkr_lock_new(client, path, NULL, &lock, &error), error, "a lock");
  return lock;
}

static zkr_held *acquire(zkr_lock *lock) {
  zkr_error *error = NULL;
  zkr_held *held = NULL;
  must(zkr_lock_acquire(lock, FOR_EVER, &held, &error), error, "acquire");
  return held;
}

static void release(zkr_held *held) {
  zkr_error *error = NULL;
  must(zkr_held_release(held, &error), error, "release");
  zkr_held_free(held);
}

static void in_background(zkr_held *held) {
  zkr_error *error = NULL;
  must(zkr_held_release_in_background(held, &error), error, "release");
  zkr_held_free(held);
}

static void free_lock(const char *path, long ops, void (*let_go)(zkr_held *)) {
  zkr_lock *lock = handle(path);
  int64_t *acquired = malloc(2 * ops * sizeof *acquired), *both = acquired + ops;
  for (long i = 0; i < ops; i++) {
    int64_t begun = now();
    zkr_held *held = acquire(lock);
    acquired[i] = now() - begun;
    let_go(held);
    both[i] = now() - begun;
  }
  printf("ok");
  list("acquire", acquired, ops);
  list("both", both, ops);
  puts("");
  free(acquired);
  zkr_lock_free(lock);
}

struct caller {
  pthread_t thread;
  char path[MAX_PATH + 24];
  long pairs;
};

static void *pairs(void *argument) {
  struct caller *caller = argument;
  zkr_lock *lock = handle(caller->path);
  for (long i = 0; i < caller->pairs; i++) release(acquire(lock));
  zkr_lock_free(lock);
  return NULL;
}

static void disjoint(const char *path, long paths, long ops) {
  struct caller *callers = calloc(paths, sizeof *callers);
  int64_t begun = now();
  for (long i = 0; i < paths; i++) {
    snprintf(callers[i].path, sizeof callers[i].path, "%s/%ld", path, i);
    callers[i].pairs = ops / paths;
    pthread_create(&callers[i].thread, NULL, pairs, &callers[i]);
  }
  for (long i = 0; i < paths; i++) pthread_join(callers[i].thread, NULL);
  printf("ok took=%" PRId64 "\n", now() - begun);
  free(callers);
}

/* Waiters have no threads: each goes on in its callback. */
struct waiter {
  zkr_lock *lock;
  long left;
};

static struct waiter *waiters;
static long waiter_count, ended, stamp_count;
static int64_t *stamps;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void acquired(zkr_status status, zkr_held *held, const zkr_error *error, void *argument);

static void next(struct waiter *waiter) {
  must(zkr_lock_acquire_async(waiter->lock, FOR_EVER, acquired, waiter), NULL, "acquire");
}

static void released(zkr_status status, const zkr_error *error, void *argument) {
  struct waiter *waiter = argument;
  must(status, error, "release");
  if (--waiter->left > 0) return next(waiter);
  pthread_mutex_lock(&guard);
  ended++;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&guard);
}

static void acquired(zkr_status status, zkr_held *held, const zkr_error *error, void *argument) {
  int64_t at = now();
  must(status, error, "acquire");
  pthread_mutex_lock(&guard);
  stamps[stamp_count++] = at;
  pthread_mutex_unlock(&guard);
  must(zkr_held_release_async(held, released, argument), NULL, "release");
  zkr_held_free(held);
}

static void queue(const char *path, long count, long times) {
  waiters = calloc(count, sizeof *waiters);
  stamps = calloc(count * times, sizeof *stamps);
  waiter_count = count;
  ended = stamp_count = 0;
  for (long i = 0; i < count; i++) {
    waiters[i] = (struct waiter){handle(path), times};
    next(&waiters[i]);
  }
  puts("ok");
}

static void finish(void) {
  pthread_mutex_lock(&guard);
  while (ended < waiter_count) pthread_cond_wait(&changed, &guard);
  pthread_mutex_unlock(&guard);
  printf("ok");
  list("at", stamps, stamp_count);
  puts("");
  for (long i = 0; i < waiter_count; i++) zkr_lock_free(waiters[i].lock);
  free(waiters);
  free(stamps);
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  zkr_error *error = NULL;
  zkr_options options = ZKR_OPTIONS_INIT;
  options.session_timeout_ms = atol(arguments[2]);
  must(zkr_client_connect(arguments[1], &options, &client, &error), error, "connect");
  printf("ready version=%s\n", zkr_version());
  char line[1024], path[MAX_PATH];
  zkr_held *held = NULL;
  while (fgets(line, sizeof line, stdin)) {
    text(line, "path", path, sizeof path);
    if (is(line, "lock")) {
      free_lock(path, number(line, "ops"), release);
    } else if (is(line, "background")) {
      free_lock(path, number(line, "ops"), in_background);
    } else if (is(line, "disjoint")) {
      disjoint(path, number(line, "paths"), number(line, "ops"));
    } else if (is(line, "hold")) {
      zkr_lock *lock = handle(path);
      held = acquire(lock);
      zkr_lock_free(lock);
      puts("ok");
    } else if (is(line, "drop")) {
      int64_t begun = now();
      in_background(held);
      printf("ok at=%" PRId64 "\n", begun);
    } else if (is(line, "queue")) {
      queue(path, number(line, "waiters"), number(line, "times"));
    } else if (is(line, "finish")) {
      finish();
    } else {
      puts("unsupported");
    }
  }
  _Exit(0);
}
