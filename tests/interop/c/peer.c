/* The C side of the interoperability tests: the lock and the queue that ship with ZooKeeper, by lines on
 * stdin; tests/interop/README.md is the protocol. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zoo_lock.h>
#include <zoo_queue.h>
#include <zookeeper.h>

enum { MAX_OWNERS = 256, MAX_WORD = 256 };

struct owner {
  char name[MAX_WORD];
  zhandle_t *client;
  zkr_lock_mutex_t lock;
  char path[MAX_WORD];
  /* The acquire that waits for its answer; 0 when none does. */
  long waiting;
};

static struct owner owners[MAX_OWNERS];
static int owner_count;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t connected = PTHREAD_COND_INITIALIZER;

static void answer(long number, const char *text) {
  printf("%ld %s\n", number, text);
  fflush(stdout);
}

static void session_event(zhandle_t *client, int type, int state, const char *path, void *context) {
  (void)client, (void)path, (void)context;
  if (type != ZOO_SESSION_EVENT || state != ZOO_CONNECTED_STATE) return;
  pthread_mutex_lock(&guard);
  pthread_cond_broadcast(&connected);
  pthread_mutex_unlock(&guard);
}

/* The recipe's news: 0 when the lock was acquired, 1 when it was released. */
static void lock_event(int what, void *context) {
  struct owner *owner = context;
  pthread_mutex_lock(&guard);
  long number = what == 0 ? owner->waiting : 0;
  if (number) owner->waiting = 0;
  pthread_mutex_unlock(&guard);
  if (number) answer(number, "ok");
}

static struct owner *find(const char *name) {
  for (int i = 0; i < owner_count; i++)
    if (strcmp(owners[i].name, name) == 0) return &owners[i];
  return NULL;
}

static const char *connect_owner(const char *name, const char *hosts, const char *timeout) {
  if (owner_count == MAX_OWNERS) return "error too many owners";
  struct owner *owner = &owners[owner_count++];
  snprintf(owner->name, sizeof owner->name, "%s", name);
  owner->client = zookeeper_init(hosts, session_event, atoi(timeout), NULL, NULL, 0);
  if (!owner->client) return "error no client";
  pthread_mutex_lock(&guard);
  while (zoo_state(owner->client) != ZOO_CONNECTED_STATE) pthread_cond_wait(&connected, &guard);
  pthread_mutex_unlock(&guard);
  return "ok";
}

/* Answers later, from the recipe's completion. */
static void acquire(struct owner *owner, const char *path, long number) {
  if (strcmp(owner->path, path) != 0) {
    snprintf(owner->path, sizeof owner->path, "%s", path);
    zkr_lock_init_cb(&owner->lock, owner->client, owner->path, &ZOO_OPEN_ACL_UNSAFE, lock_event, owner);
  }
  pthread_mutex_lock(&guard);
  owner->waiting = number;
  pthread_mutex_unlock(&guard);
  zkr_lock_lock(&owner->lock);
}

/* One use of the queue recipe, on a thread of its own where it may wait. */
struct taking {
  zhandle_t *client;
  char path[MAX_WORD];
  bool may_wait;
  long number;
};

static const char *put(struct owner *owner, char *path, const char *item) {
  zkr_queue_t queue;
  zkr_queue_init(&queue, owner->client, path, &ZOO_OPEN_ACL_UNSAFE);
  int status = zkr_queue_offer(&queue, item, (int)strlen(item));
  zkr_queue_destroy(&queue);
  return status == ZOK ? "ok" : "error not put";
}

static void *take(void *argument) {
  struct taking *taking = argument;
  /* Stays: its watches refer to it for as long as the session lives. */
  zkr_queue_t *queue = malloc(sizeof *queue);
  char item[MAX_WORD], text[MAX_WORD + 3];
  int length = sizeof item;
  zkr_queue_init(queue, taking->client, taking->path, &ZOO_OPEN_ACL_UNSAFE);
  int status = taking->may_wait ? zkr_queue_take(taking->client, queue, item, &length)
                                : zkr_queue_remove(queue, item, &length);
  if (status != ZOK)
    snprintf(text, sizeof text, "error %s", zerror(status));
  else if (length < 0)
    snprintf(text, sizeof text, "error TIMEOUT");
  else
    snprintf(text, sizeof text, "ok %.*s", length, item);
  answer(taking->number, text);
  return NULL;
}

/* Answers later, from a thread. */
static void begin_to_take(struct owner *owner, const char *path, const char *limit, long number) {
  struct taking *taking = malloc(sizeof *taking);
  *taking = (struct taking){.client = owner->client, .may_wait = strcmp(limit, "-") == 0, .number = number};
  snprintf(taking->path, sizeof taking->path, "%s", path);
  pthread_t thread;
  if (pthread_create(&thread, NULL, take, taking) == 0)
    pthread_detach(thread);
  else
    answer(number, "error no thread");
}

int main(void) {
  zoo_set_debug_level(0);
  char line[4 * MAX_WORD], name[MAX_WORD], verb[MAX_WORD], first[MAX_WORD], second[MAX_WORD], third[MAX_WORD];
  long number;
  while (fgets(line, sizeof line, stdin)) {
    first[0] = second[0] = third[0] = '\0';
    if (sscanf(line, "%ld %255s %255s %255s %255s %255s", &number, name, verb, first, second, third) < 3)
      continue;
    struct owner *owner = find(name);
    if (strcmp(verb, "connect") == 0) {
      answer(number, connect_owner(name, first, third));
    } else if (!owner) {
      answer(number, "error no such owner");
    } else if (strcmp(verb, "acquire") == 0) {
      acquire(owner, second, number);
    } else if (strcmp(verb, "release") == 0) {
      answer(number, zkr_lock_unlock(&owner->lock) == 0 ? "ok" : "error not released");
    } else if (strcmp(verb, "put") == 0) {
      answer(number, put(owner, second, third));
    } else if (strcmp(verb, "take") == 0) {
      begin_to_take(owner, second, third, number);
    } else if (strcmp(verb, "close") == 0) {
      if (owner->client) zookeeper_close(owner->client);
      owner->client = NULL;
      answer(number, "ok");
    } else {
      answer(number, "error no such verb");
    }
  }
  /* Sessions that are still open end with the process. */
  _Exit(0);
}
