/* SPDX-License-Identifier: Apache-2.0
 *
 * fork().
 */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kinds.h"

static zkr_client *client;
static zkr_lock *lock;
static zkr_held *held;
static char servers[256], parents_path[256], own_path[256];
static uint64_t parents_token;

static void ignore_revoke(void *user_data) { (void)user_data; }

static bool is_forked(zkr_status status, zkr_error **error) {
  bool as_expected = status == ZKR_FORKED && zkr_error_code(*error) == ZKR_FORKED;
  zkr_error_free(*error);
  *error = NULL;
  return as_expected;
}

/* A child connects as any other process does, and finds taken what its parent holds. */
static int of_its_own(void) {
#if defined(__SANITIZE_THREAD__)
  return 0; /* ThreadSanitizer does not support threads that begin in a child of a process which has threads.
             */
#else
  zkr_error *error = NULL;
  zkr_client *mine = NULL;
  zkr_lock *own = NULL, *parents = NULL;

  if (zkr_client_connect(servers, NULL, &mine, &error) != ZKR_OK) return 20;
  if (zkr_lock_new(mine, parents_path, NULL, &parents, &error) != ZKR_OK) return 21;
  if (zkr_lock_acquire(parents, 0, NULL, &error) != ZKR_TIMEOUT) return 22;
  zkr_error_free(error);
  error = NULL;
  if (zkr_lock_new(mine, own_path, NULL, &own, &error) != ZKR_OK) return 23;
  if (zkr_lock_acquire(own, 5000, NULL, &error) != ZKR_OK) return 24;
  if (zkr_lock_fencing_token(own) <= parents_token || zkr_lock_verify(own, &error) != ZKR_OK) return 25;
  if (zkr_lock_release(own, &error) != ZKR_OK) return 26;
  zkr_lock_free(own);
  zkr_lock_free(parents);
  if (zkr_client_close(mine, 5000, &error) != ZKR_OK) return 27;
  zkr_client_free(mine);
  return 0;
#endif
}

/* What the child finds; the number of the first thing that is not as promised, or 0. */
static int in_child(void) {
  zkr_error *error = NULL;
  zkr_lock *other = NULL;
  zkr_strings *names = NULL;

  alarm(20);
  if (!is_forked(zkr_lock_acquire(lock, -1, NULL, &error), &error)) return 1;
  if (!is_forked(zkr_lock_release(lock, &error), &error)) return 2;
  if (!is_forked(zkr_held_verify(held, &error), &error)) return 3;
  if (!is_forked(zkr_held_downgrade(held, NULL, &error), &error)) return 6;
  if (!is_forked(zkr_nodes_children(client, "/", &names, &error), &error)) return 4;
  if (!is_forked(zkr_lock_new(client, "/a", NULL, &other, &error), &error)) return 5;
  if (!is_forked(zkr_client_close(client, -1, &error), &error)) return 7;
  if (zkr_client_dispatch(client, 0, -1) != -ZKR_FORKED) return 8;
  if (zkr_lock_is_held(lock) || zkr_held_is_held(held) || zkr_lock_fencing_token(lock) != 0) return 9;
  if (zkr_client_state(client) != ZKR_STATE_CLOSED) return 10;
  if (zkr_held_fencing_token(held) != 0 || zkr_held_fencing_tokens(held, NULL, 0) != 0) return 11;
  if (zkr_held_node(held) || zkr_held_sequencer(held)) return 12;
  if (zkr_held_permits(held) != 0 || zkr_held_passes(held) != 0) return 13;
  if (!is_forked(zkr_held_on_revoke(held, ignore_revoke, NULL, NULL, &error), &error)) return 14;
  int own = of_its_own();
  zkr_held_free(held);
  zkr_lock_free(lock);
  zkr_client_free(client);
  return own == 0 ? of_its_own() : own;
}

static zkr_election *election;
static zkr_leadership *leadership;
static zkr_leader *leader;

static int leader_in_child(void) {
  zkr_leader *found = NULL;

  alarm(20);
  if (zkr_election_campaign(election, -1, NULL, NULL) != ZKR_FORKED) return 1;
  if (zkr_election_leader(election, &found, NULL) != ZKR_FORKED || found) return 2;
  if (zkr_leadership_acknowledge(leadership, "", 0, NULL) != ZKR_FORKED) return 3;
  if (zkr_leadership_is_held(leadership) || zkr_election_is_leader(election)) return 4;
  if (zkr_leader_identity(leader) || zkr_leader_data(leader) || zkr_leader_size(leader) != 0) return 5;
  if (zkr_leader_epoch(leader) != 0 || zkr_leader_acknowledged(leader)) return 6;
  zkr_leader_free(leader);
  zkr_leadership_free(leadership);
  zkr_election_free(election);
  return 0;
}

static void *handles[KINDS];

static int recipes_in_child(void) {
  alarm(20);
  for (int i = 0; i < KINDS; i++) {
    const kind *kind = &kinds[i];
    zkr_contenders *list = NULL;
    zkr_transaction *writes = NULL;
    losses lost = {0};
    ending never = {0};
    int at = 20 * (i + 1);

    if (kind->acquire(handles[i], NULL, NULL) != ZKR_FORKED) return at;
    if (kind->release(handles[i], NULL) != ZKR_FORKED) return at + 1;
    if (kind->release_in_background(handles[i], NULL) != ZKR_FORKED) return at + 2;
    if (kind->verify(handles[i], NULL) != ZKR_FORKED) return at + 3;
    if (kind->verify_async(handles[i], &never) != ZKR_FORKED) return at + 4;
    if (kind->guarded(handles[i], &writes, NULL) != ZKR_FORKED) return at + 5;
    if (kind->on_lost(handles[i], &lost, NULL, NULL) != ZKR_FORKED) return at + 6;
    if (kind->contenders(handles[i], &list, NULL) != ZKR_FORKED) return at + 7;
    if (kind->contenders_async(handles[i], &never) != ZKR_FORKED) return at + 8;
    if (kind->revoke(handles[i], NULL, 0, NULL, NULL) != ZKR_FORKED) return at + 9;
    if (kind->revoke_async(handles[i], NULL, 0, &never) != ZKR_FORKED) return at + 10;
    if (kind->is_held(handles[i]) || kind->fencing_token(handles[i]) != 0) return at + 11;
    kind->free(handles[i]);
  }
  return 0;
}

static int on_its_own(void) {
  zkr_error *error = NULL;
  zkr_client *mine = NULL;
  zkr_lock *own = NULL;

  alarm(20);
  if (zkr_client_connect("embedded:", NULL, &mine, &error) != ZKR_OK) return 1;
  if (zkr_lock_new(mine, "/own", NULL, &own, &error) != ZKR_OK) return 2;
  if (zkr_lock_acquire(own, 5000, NULL, &error) != ZKR_OK) return 3;
  if (zkr_lock_release(own, &error) != ZKR_OK) return 4;
  zkr_lock_free(own);
  return zkr_client_close(mine, 5000, &error) == ZKR_OK ? 0 : 5;
}

/* What `body` answers in a forked child; -1 if it does not. */
static int answer_of_child(int (*body)(void)) {
  int answer = -1, ends[2];
  if (pipe(ends) != 0) return -1;
  pid_t child = fork();
  if (child == 0) {
    answer = body();
    ssize_t written = write(ends[1], &answer, sizeof answer);
    (void)written;
    kill(getpid(), SIGKILL); /* no exit handlers, and no leak check on half a process */
  }
  close(ends[1]);
  if (child < 0 || read(ends[0], &answer, sizeof answer) != sizeof answer) answer = -1;
  close(ends[0]);
  waitpid(child, NULL, 0);
  return answer;
}

void a_child_forked_before_the_first_use_is_on_its_own(void) {
  zkr_cancel_token *token = zkr_cancel_token_new(); /* needs no runtime, and so is no use */
  CHECK(answer_of_child(on_its_own) == 0);
  zkr_cancel_token_free(token);
}

void a_forked_child_is_told_at_once(void) {
  zkr_error *error = NULL;
  snprintf(servers, sizeof servers, "%s", hosts()); /* the server is the parent's */
  client = connected(servers, "parent");
  snprintf(parents_path, sizeof parents_path, "%s", path("forked"));
  snprintf(own_path, sizeof own_path, "%s", path("forked-own"));
  lock = lock_on(client, parents_path);

  OK(zkr_lock_acquire(lock, 5000, &held, &error));
  parents_token = zkr_lock_fencing_token(lock);
  for (int i = 0; i < 5; i++) {
    int64_t begun = now_ms();
    CHECK(answer_of_child(in_child) == 0);
    CHECK(now_ms() - begun < 10000);
    CHECK(zkr_lock_is_held(lock));
    OK(zkr_lock_verify(lock, &error));
  }
  OK(zkr_lock_release(lock, &error));
  zkr_held_free(held);
  zkr_lock_free(lock);
  zkr_client_free(client);
}

void every_recipe_of_the_parent_is_told_in_a_child(void) {
  zkr_error *error = NULL;
  char base[256];
  snprintf(base, sizeof base, "%s", path("forked-recipes"));
  client = connected(hosts(), "parent");

  for (int i = 0; i < KINDS; i++) {
    handles[i] = made(&kinds[i], client, base);
    OK(kinds[i].acquire(handles[i], NULL, &error));
  }
  CHECK(answer_of_child(recipes_in_child) == 0);
  for (int i = 0; i < KINDS; i++) {
    OK(kinds[i].verify(handles[i], &error)); /* what the child did was nothing */
    kinds[i].free(handles[i]);
  }
  zkr_client_free(client);
}

void a_leader_of_the_parent_is_none_in_a_child(void) {
  zkr_error *error = NULL;
  client = connected(hosts(), "parent");

  OK(zkr_election_new(client, path("forked-election"), "data", 4, NULL, &election, &error));
  OK(zkr_election_campaign(election, 10000, &leadership, &error));
  OK(zkr_election_leader(election, &leader, &error));
  CHECK(answer_of_child(leader_in_child) == 0);
  CHECK(zkr_leader_size(leader) == 4 && zkr_leader_epoch(leader) == zkr_leadership_epoch(leadership));
  OK(zkr_leadership_verify(leadership, &error)); /* what the child did was nothing */
  zkr_leader_free(leader);
  zkr_leadership_free(leadership);
  zkr_election_free(election);
  zkr_client_free(client);
}
