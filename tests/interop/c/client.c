/* The ZooKeeper C client against the server given: prints a line per check, its name and "ok" or what went
 * wrong. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zoo_lock.h>
#include <zookeeper.h>

enum { PATIENCE_SECONDS = 30, SESSION_MS = 15000 };

static const char *program, *hosts;
static const char *wrong;

#define EXPECT(condition)                                            \
  do {                                                               \
    if (!(condition) && !wrong) wrong = #condition " does not hold"; \
    if (wrong) return;                                               \
  } while (0)

/* ---- waiting for what the client tells on its own thread */

struct news {
  pthread_mutex_t guard;
  pthread_cond_t changed;
  int type, state, count;
  char path[256];
};

#define NEWS \
  { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, "" }

static void watch(zhandle_t *client, int type, int state, const char *path, void *context) {
  (void)client;
  struct news *news = context;
  /* What the session goes through is told to every watch; only the client's own wants to know. */
  if (type == ZOO_SESSION_EVENT && news->type != ZOO_SESSION_EVENT) return;
  pthread_mutex_lock(&news->guard);
  news->type = type;
  news->state = state;
  news->count++;
  snprintf(news->path, sizeof news->path, "%s", path ? path : "");
  pthread_cond_broadcast(&news->changed);
  pthread_mutex_unlock(&news->guard);
}

static bool heard(struct news *news, int count) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += PATIENCE_SECONDS;
  pthread_mutex_lock(&news->guard);
  int late = 0;
  while (news->count < count && !late) late = pthread_cond_timedwait(&news->changed, &news->guard, &end);
  bool in_time = news->count >= count;
  pthread_mutex_unlock(&news->guard);
  return in_time;
}

static zhandle_t *join(const clientid_t *id) {
  struct news *session = calloc(1, sizeof *session);
  pthread_mutex_init(&session->guard, NULL);
  pthread_cond_init(&session->changed, NULL);
  session->type = ZOO_SESSION_EVENT;
  zhandle_t *client = zookeeper_init(hosts, watch, SESSION_MS, id, session, 0);
  for (int count = 1; client && zoo_state(client) != ZOO_CONNECTED_STATE; count++)
    if (!heard(session, count) || zoo_state(client) == ZOO_EXPIRED_SESSION_STATE) break;
  /* The news stay: the client may use them until it is closed. */
  return client;
}

static int make(zhandle_t *client, const char *path, int mode, char *made, int size) {
  return zoo_create(client, path, "data", 4, &ZOO_OPEN_ACL_UNSAFE, mode, made, size);
}

/* ---- checks */

static void nodes(zhandle_t *client, const char *path) {
  struct Stat stat;
  char data[16];
  int length = sizeof data;
  EXPECT(zoo_get(client, path, 0, data, &length, &stat) == ZOK && length == 4 &&
         memcmp(data, "data", 4) == 0);
  EXPECT(zoo_create(client, path, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0) == ZNODEEXISTS);
  EXPECT(zoo_set2(client, path, "more data", 9, stat.version, &stat) == ZOK && stat.version == 1);
  EXPECT(zoo_set(client, path, "x", 1, 0) == ZBADVERSION);
  EXPECT(zoo_exists(client, path, 0, &stat) == ZOK && stat.dataLength == 9 && stat.numChildren == 0);
  char child[256];
  snprintf(child, sizeof child, "%s/child", path);
  EXPECT(zoo_create(client, child, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0) == ZOK);
  length = sizeof data;
  EXPECT(zoo_get(client, child, 0, data, &length, &stat) == ZOK && length == -1);
  EXPECT(zoo_delete(client, path, -1) == ZNOTEMPTY);
  struct String_vector names = {0, NULL};
  EXPECT(zoo_get_children2(client, path, 0, &names, &stat) == ZOK);
  EXPECT(names.count == 1 && strcmp(names.data[0], "child") == 0 && stat.numChildren == 1);
  deallocate_String_vector(&names);
  EXPECT(zoo_delete(client, child, 0) == ZOK);
  EXPECT(zoo_get(client, child, 0, data, &length, &stat) == ZNONODE);
}

static void modes(zhandle_t *client, const char *path) {
  char first[256], second[256], child[256];
  struct Stat stat;
  snprintf(child, sizeof child, "%s/s-", path);
  EXPECT(make(client, child, ZOO_PERSISTENT_SEQUENTIAL, first, sizeof first) == ZOK);
  EXPECT(zoo_create2(client, child, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, second,
                     sizeof second, &stat) == ZOK);
  EXPECT(strcmp(first + strlen(first) - 10, "0000000000") == 0);
  EXPECT(strcmp(second + strlen(second) - 10, "0000000001") == 0);
  EXPECT(stat.ephemeralOwner == zoo_client_id(client)->client_id);
  EXPECT(make(client, strcat(second, "/below"), 0, NULL, 0) == ZNOCHILDRENFOREPHEMERALS);
  snprintf(child, sizeof child, "%s/container", path);
  EXPECT(make(client, child, ZOO_CONTAINER, NULL, 0) == ZOK);
  snprintf(child, sizeof child, "%s/ttl", path);
  EXPECT(zoo_create_ttl(client, child, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT_WITH_TTL, 60000, NULL,
                        0) == ZOK);
}

static void watches(zhandle_t *client, const char *path) {
  zhandle_t *other = join(NULL);
  EXPECT(other);
  struct news data = NEWS, children = NEWS, absent = NEWS;
  struct String_vector names = {0, NULL};
  char child[256], value[16];
  int length = sizeof value;
  snprintf(child, sizeof child, "%s/child", path);
  EXPECT(zoo_wget(client, path, watch, &data, value, &length, NULL) == ZOK);
  EXPECT(zoo_wget_children(client, path, watch, &children, &names) == ZOK);
  deallocate_String_vector(&names);
  EXPECT(zoo_wexists(client, child, watch, &absent, NULL) == ZNONODE);
  EXPECT(zoo_set(other, path, "new", 3, -1) == ZOK);
  EXPECT(heard(&data, 1) && data.type == ZOO_CHANGED_EVENT && strcmp(data.path, path) == 0);
  EXPECT(make(other, child, ZOO_EPHEMERAL, NULL, 0) == ZOK);
  EXPECT(heard(&absent, 1) && absent.type == ZOO_CREATED_EVENT && strcmp(absent.path, child) == 0);
  EXPECT(heard(&children, 1) && children.type == ZOO_CHILD_EVENT && strcmp(children.path, path) == 0);
  /* Its session takes the node with it. */
  EXPECT(zoo_wexists(client, child, watch, &absent, NULL) == ZOK);
  EXPECT(zookeeper_close(other) == ZOK);
  EXPECT(heard(&absent, 2) && absent.type == ZOO_DELETED_EVENT);
  length = sizeof value;
  EXPECT(zoo_wget(client, path, watch, &data, value, &length, NULL) == ZOK);
  EXPECT(zoo_remove_watches(client, path, ZWATCHTYPE_DATA, watch, &data, 0) == ZOK);
  EXPECT(zoo_remove_watches(client, path, ZWATCHTYPE_DATA, watch, &data, 0) == ZNOWATCHER);
}

static void transactions(zhandle_t *client, const char *path) {
  char child[256], made[256];
  struct Stat stat;
  zoo_op_t ops[4];
  zoo_op_result_t results[4];
  snprintf(child, sizeof child, "%s/child", path);
  zoo_create_op_init(&ops[0], child, "data", 4, &ZOO_OPEN_ACL_UNSAFE, 0, made, sizeof made);
  zoo_set_op_init(&ops[1], child, "more", 4, 0, &stat);
  zoo_check_op_init(&ops[2], child, 1);
  zoo_delete_op_init(&ops[3], child, 1);
  EXPECT(zoo_multi(client, 4, ops, results) == ZOK && stat.version == 1 && strcmp(made, child) == 0);
  EXPECT(zoo_exists(client, child, 0, NULL) == ZNONODE);
  zoo_check_op_init(&ops[1], child, 7);
  EXPECT(zoo_multi(client, 4, ops, results) == ZBADVERSION);
  EXPECT(results[0].err == ZOK && results[1].err == ZBADVERSION);
  EXPECT(results[2].err == ZRUNTIMEINCONSISTENCY && results[3].err == ZRUNTIMEINCONSISTENCY);
  EXPECT(zoo_exists(client, child, 0, NULL) == ZNONODE);
}

static void done(int status, const void *context) {
  watch(NULL, ZOO_NOTWATCHING_EVENT, status, NULL, (void *)context);
}

static void synced(int status, const char *path, const void *context) {
  watch(NULL, ZOO_NOTWATCHING_EVENT, status, path, (void *)context);
}

static void permissions(zhandle_t *client, const char *path) {
  zhandle_t *stranger = join(NULL);
  EXPECT(stranger);
  struct news auth = NEWS, sync = NEWS;
  EXPECT(zoo_add_auth(client, "digest", "me:secret", 9, done, &auth) == ZOK);
  EXPECT(heard(&auth, 1) && auth.state == ZOK);
  EXPECT(zoo_set_acl(client, path, -1, &ZOO_CREATOR_ALL_ACL) == ZOK);
  struct ACL_vector acl = {0, NULL};
  struct Stat stat;
  EXPECT(zoo_get_acl(client, path, &acl, &stat) == ZOK && acl.count == 1 && stat.aversion == 1);
  EXPECT(strcmp(acl.data[0].id.scheme, "digest") == 0 && acl.data[0].perms == ZOO_PERM_ALL);
  deallocate_ACL_vector(&acl);
  EXPECT(zoo_async(stranger, path, synced, &sync) == ZOK && heard(&sync, 1) && strcmp(sync.path, path) == 0);
  EXPECT(zoo_set(stranger, path, "x", 1, -1) == ZNOAUTH);
  EXPECT(zoo_set(client, path, "x", 1, -1) == ZOK);
  EXPECT(zookeeper_close(stranger) == ZOK);
}

/* Another process makes a node and ends without closing its session. */
static int leave(const char *path) {
  zhandle_t *client = join(NULL);
  if (!client || make(client, path, ZOO_EPHEMERAL, NULL, 0) != ZOK) return 1;
  fwrite(zoo_client_id(client), sizeof(clientid_t), 1, stdout);
  fflush(stdout);
  _Exit(0);
}

/* The session of a process that ended is taken over, its ephemeral nodes included. */
static void sessions(zhandle_t *client, const char *path) {
  char child[256], command[1024];
  clientid_t id;
  snprintf(child, sizeof child, "%s/ephemeral", path);
  snprintf(command, sizeof command, "'%s' '%s' leave '%s'", program, hosts, child);
  FILE *other = popen(command, "r");
  EXPECT(other && fread(&id, sizeof id, 1, other) == 1);
  EXPECT(pclose(other) == 0);
  zhandle_t *heir = join(&id);
  EXPECT(heir && zoo_state(heir) == ZOO_CONNECTED_STATE && zoo_client_id(heir)->client_id == id.client_id);
  EXPECT(zoo_recv_timeout(heir) == SESSION_MS);
  EXPECT(zoo_exists(heir, child, 0, NULL) == ZOK);
  EXPECT(zookeeper_close(heir) == ZOK);
  EXPECT(zoo_exists(client, child, 0, NULL) == ZNONODE);
  zhandle_t *late = join(&id);
  EXPECT(late && zoo_state(late) == ZOO_EXPIRED_SESSION_STATE);
  zookeeper_close(late);
}

/* ---- the lock that ships with ZooKeeper, among itself */

enum { CONTENDERS = 4, ROUNDS = 10 };

static atomic_int inside, most, rounds;

struct contender {
  const char *path;
  struct news acquired;
};

static void lock_event(int what, void *context) {
  if (what == 0) watch(NULL, ZOO_NOTWATCHING_EVENT, 0, NULL, context);
}

static void *contend(void *argument) {
  struct contender *contender = argument;
  zhandle_t *client = join(NULL);
  zkr_lock_mutex_t lock;
  zkr_lock_init_cb(&lock, client, (char *)contender->path, &ZOO_OPEN_ACL_UNSAFE, lock_event,
                   &contender->acquired);
  for (int round = 1; round <= ROUNDS; round++) {
    contender->acquired.count = 0;
    zkr_lock_lock(&lock);
    if (!heard(&contender->acquired, 1)) break;
    int now = ++inside;
    if (now > most) most = now;
    rounds++;
    inside--;
    zkr_lock_unlock(&lock);
  }
  zookeeper_close(client);
  return NULL;
}

static void locks(zhandle_t *client, const char *path) {
  (void)client;
  pthread_t threads[CONTENDERS];
  struct contender contenders[CONTENDERS];
  for (int i = 0; i < CONTENDERS; i++) {
    contenders[i] = (struct contender){path, NEWS};
    pthread_create(&threads[i], NULL, contend, &contenders[i]);
  }
  for (int i = 0; i < CONTENDERS; i++) pthread_join(threads[i], NULL);
  EXPECT(most == 1);
  EXPECT(rounds == CONTENDERS * ROUNDS);
}

int main(int count, char **arguments) {
  if (count < 2) return 2;
  program = arguments[0];
  hosts = arguments[1];
  zoo_set_debug_level(0);
  if (count == 4 && strcmp(arguments[2], "leave") == 0) return leave(arguments[3]);
  static const struct {
    const char *name;
    void (*run)(zhandle_t *client, const char *path);
  } checks[] = {{"nodes", nodes},
                {"modes", modes},
                {"watches", watches},
                {"transactions", transactions},
                {"permissions", permissions},
                {"sessions", sessions},
                {"locks", locks}};
  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
    char path[64];
    snprintf(path, sizeof path, "/c-%s", checks[i].name);
    zhandle_t *client = join(NULL);
    wrong = client && make(client, path, 0, NULL, 0) == ZOK ? NULL : "no session";
    if (!wrong) checks[i].run(client, path);
    printf("%s %s\n", checks[i].name, wrong ? wrong : "ok");
    fflush(stdout);
    zookeeper_close(client);
  }
  return 0;
}
