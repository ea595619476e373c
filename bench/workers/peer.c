/* ZooKeeper's C client with the lock recipe that is shipped beside it: peer HOSTS SESSION_MS. */

#include <pthread.h>
#include <zoo_lock.h>
#include <zookeeper.h>

#include "line.h"

enum { MAX_PATH = 256 };

static zhandle_t *client;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void session_event(zhandle_t *handle, int type, int state, const char *path, void *context) {
  (void)handle, (void)type, (void)state, (void)path, (void)context;
  pthread_mutex_lock(&guard);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&guard);
}

struct lock {
  zkr_lock_mutex_t mutex;
  pthread_mutex_t guard;
  pthread_cond_t changed;
  int owned;
  char path[MAX_PATH + 24];
};

/* 0 when it was acquired, 1 when it was released. */
static void lock_event(int what, void *context) {
  struct lock *lock = context;
  pthread_mutex_lock(&lock->guard);
  lock->owned = what == 0;
  pthread_cond_signal(&lock->changed);
  pthread_mutex_unlock(&lock->guard);
}

static const char *hosts;
static int session_ms;

static zhandle_t *join(void) {
  zhandle_t *session = zookeeper_init(hosts, session_event, session_ms, NULL, NULL, 0);
  pthread_mutex_lock(&guard);
  while (session && zoo_state(session) != ZOO_CONNECTED_STATE) pthread_cond_wait(&changed, &guard);
  pthread_mutex_unlock(&guard);
  return session;
}

static struct lock *make(zhandle_t *session, const char *path) {
  struct lock *lock = calloc(1, sizeof *lock);
  snprintf(lock->path, sizeof lock->path, "%s", path);
  pthread_mutex_init(&lock->guard, NULL);
  pthread_cond_init(&lock->changed, NULL);
  zkr_lock_init_cb(&lock->mutex, session, lock->path, &ZOO_OPEN_ACL_UNSAFE, lock_event, lock);
  return lock;
}

static void acquire(struct lock *lock) {
  zkr_lock_lock(&lock->mutex);
  pthread_mutex_lock(&lock->guard);
  while (!lock->owned) pthread_cond_wait(&lock->changed, &lock->guard);
  pthread_mutex_unlock(&lock->guard);
}

static void release(struct lock *lock) { zkr_lock_unlock(&lock->mutex); }

static void ensure(const char *path) {
  char part[MAX_PATH + 24];
  for (size_t i = 1; i <= strlen(path); i++)
    if (path[i] == '/' || path[i] == '\0') {
      snprintf(part, sizeof part, "%.*s", (int)i, path);
      zoo_create(client, part, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
    }
}

static void free_lock(const char *path, long ops) {
  ensure(path);
  struct lock *lock = make(client, path);
  int64_t *acquired = malloc(2 * ops * sizeof *acquired), *both = acquired + ops;
  for (long i = 0; i < ops; i++) {
    int64_t begun = now();
    acquire(lock);
    acquired[i] = now() - begun;
    release(lock);
    both[i] = now() - begun;
  }
  printf("ok");
  list("acquire", acquired, ops);
  list("both", both, ops);
  puts("");
  free(acquired);
}

/* A thread that takes a lock so many times, and says when. */
struct caller {
  pthread_t thread;
  struct lock *lock;
  zhandle_t *session;
  long times;
  int64_t *at;
};

static struct caller *callers;
static long caller_count;
static int64_t *stamps;

static void *body(void *argument) {
  struct caller *caller = argument;
  for (long i = 0; i < caller->times; i++) {
    acquire(caller->lock);
    caller->at[i] = now();
    release(caller->lock);
  }
  return NULL;
}

/* The recipe knows a session by its node: of those who wait for one lock, each needs a session of its own. */
static void begin(const char *path, long count, long times, int apart) {
  callers = calloc(count, sizeof *callers);
  stamps = calloc(count * times, sizeof *stamps);
  caller_count = count;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 * 1024);
  char own[MAX_PATH + 24];
  for (long i = 0; i < count; i++) {
    snprintf(own, sizeof own, "%s/%ld", path, i);
    zhandle_t *session = apart ? client : join();
    struct lock *lock = make(session, apart ? own : path);
    callers[i] = (struct caller){.lock = lock, .session = session, .times = times, .at = stamps + i * times};
    pthread_create(&callers[i].thread, &small, body, &callers[i]);
  }
}

static void end(void) {
  for (long i = 0; i < caller_count; i++) {
    pthread_join(callers[i].thread, NULL);
    if (callers[i].session != client) zookeeper_close(callers[i].session);
  }
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  zoo_set_debug_level(0);
  hosts = arguments[1];
  session_ms = atoi(arguments[2]);
  client = join();
  printf("ready version=%s\n", ZOO_VERSION);
  char line[1024], path[MAX_PATH];
  struct lock *held = NULL;
  while (fgets(line, sizeof line, stdin)) {
    text(line, "path", path, sizeof path);
    if (is(line, "lock")) {
      free_lock(path, number(line, "ops"));
    } else if (is(line, "disjoint")) {
      long paths = number(line, "paths"), times = number(line, "ops") / paths;
      for (long i = 0; i < paths; i++) {
        char own[MAX_PATH + 24];
        snprintf(own, sizeof own, "%s/%ld", path, i);
        ensure(own);
      }
      int64_t begun = now();
      begin(path, paths, times, 1);
      end();
      printf("ok took=%" PRId64 "\n", now() - begun);
      free(stamps);
    } else if (is(line, "hold")) {
      ensure(path);
      held = make(client, path);
      acquire(held);
      puts("ok");
    } else if (is(line, "drop")) {
      int64_t begun = now();
      release(held);
      printf("ok at=%" PRId64 "\n", begun);
    } else if (is(line, "queue")) {
      ensure(path);
      begin(path, number(line, "waiters"), number(line, "times"), 0);
      puts("ok");
    } else if (is(line, "finish")) {
      end();
      printf("ok");
      list("at", stamps, caller_count * callers[0].times);
      puts("");
      free(stamps);
    } else {
      puts("unsupported");
    }
  }
  _Exit(0);
}
