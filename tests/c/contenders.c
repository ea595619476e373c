/* SPDX-License-Identifier: Apache-2.0
 *
 * Who holds and who waits, and asking for it.
 */

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kinds.h"

static bool is(const zkr_contender *one, const char *identity, const char *kind, bool holds,
               const char *node) {
  return strcmp(one->identity, identity) == 0 && strcmp(one->kind, kind) == 0 && one->holds == holds &&
         strncmp(one->node, node, strlen(node)) == 0 && one->since_ms > 0;
}

/* What is held ------------------------------------------------------------------------------------------- */

void permits_and_who_waits_for_them_are_listed(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  const char *at = path("permits-listed");
  zkr_semaphore *one = semaphore_on(first, at, 2), *two = semaphore_on(second, at, 2);
  zkr_contenders *list = NULL;
  ending waiting = {0}, listed = {0};

  OK(zkr_semaphore_contenders(one, &list, &error));
  CHECK(zkr_contenders_count(list) == 0);
  zkr_contenders_free(list);
  OK(zkr_semaphore_acquire(one, 2, 5000, NULL, &error));
  CHECK(zkr_semaphore_acquire_async(two, 1, -1, note_held, &waiting) == ZKR_OK);
  EVENTUALLY(count_of(&kinds[SEMAPHORE], one) == 3);
  OK(zkr_semaphore_contenders(one, &list, &error));
  CHECK(is(zkr_contenders_get(list, 0), "first", "lease", true, "leases/"));
  CHECK(is(zkr_contenders_get(list, 1), "first", "lease", true, "leases/"));
  CHECK(is(zkr_contenders_get(list, 2), "second", "lock", false, "locks/"));
  CHECK(zkr_contenders_get(list, 2)->session_id == zkr_client_session_id(second));
  CHECK(zkr_semaphore_contenders_async(two, note_contenders, &listed) == ZKR_OK);
  EVENTUALLY(listed.calls == 1);
  CHECK(listed.status == ZKR_OK && listed.listed == 3 && waiting.calls == 0);
  OK(zkr_semaphore_release(one, &error));
  EVENTUALLY(waiting.calls == 1);
  CHECK(waiting.status == ZKR_OK);

  zkr_contenders_free(list);
  zkr_held_free(waiting.held);
  zkr_semaphore_free(one);
  zkr_semaphore_free(two);
  zkr_client_free(first);
  zkr_client_free(second);
}

void everybody_at_the_paths_of_a_multi_lock_is_listed(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  char a[256], b[256];
  snprintf(a, sizeof a, "%s", path("listed-a"));
  snprintf(b, sizeof b, "%s", path("listed-b"));
  zkr_multi_lock *both = multi_lock_on(first, a, b);
  zkr_lock *other = lock_on(second, b);
  zkr_contenders *list = NULL;
  ending waiting = {0}, listed = {0};

  OK(zkr_multi_lock_acquire(both, 5000, NULL, &error));
  CHECK(zkr_lock_acquire_async(other, -1, note_held, &waiting) == ZKR_OK);
  EVENTUALLY(count_of(&kinds[MULTI_LOCK], both) == 3);
  OK(zkr_multi_lock_contenders(both, &list, &error));
  CHECK(is(zkr_contenders_get(list, 0), "first", "lock", true, a));
  CHECK(is(zkr_contenders_get(list, 1), "first", "lock", true, b));
  CHECK(is(zkr_contenders_get(list, 2), "second", "lock", false, b));
  CHECK(zkr_multi_lock_contenders_async(both, note_contenders, &listed) == ZKR_OK);
  EVENTUALLY(listed.calls == 1);
  CHECK(listed.status == ZKR_OK && listed.listed == 3 && waiting.calls == 0);
  OK(zkr_multi_lock_release(both, &error));
  EVENTUALLY(waiting.calls == 1);
  CHECK(waiting.status == ZKR_OK);

  zkr_contenders_free(list);
  zkr_held_free(waiting.held);
  zkr_multi_lock_free(both);
  zkr_lock_free(other);
  zkr_client_free(first);
  zkr_client_free(second);
}

/* Waiting ------------------------------------------------------------------------------------------------ */

typedef struct wait_news {
  zkr_wait_progress progress;
  bool is_right;
  atomic_int calls;
} wait_news;

static void note_wait(const zkr_wait_progress *progress, void *user_data) {
  wait_news *news = user_data;
  news->progress = *progress;
  news->is_right = progress->holder && progress->holder->holds && progress->holder->since_ms > 0 &&
                   strcmp(progress->holder->identity, "first") == 0 &&
                   strcmp(progress->path, path("waiting")) == 0;
  atomic_fetch_add(&news->calls, 1);
}

void a_wait_is_told_for_whom_and_how_long(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  zkr_lock *holder = lock_on(first, path("waiting")), *waiter = lock_on(second, path("waiting"));
  zkr_subscription *subscription = NULL, *ended = NULL;
  wait_news news = {0}, unheard = {0};
  ending waiting = {0};

  OK(zkr_lock_on_wait(waiter, note_wait, &news, &subscription, &error));
  OK(zkr_lock_on_wait(waiter, note_wait, &unheard, &ended, &error));
  zkr_subscription_free(ended);
  OK(zkr_lock_acquire(holder, 5000, NULL, &error));
  REFUSED(zkr_lock_acquire(waiter, 250, NULL, &error), ZKR_TIMEOUT, "within 250ms: first holds it");
  CHECK(zkr_lock_acquire_async(waiter, -1, note_held, &waiting) == ZKR_OK);
  EVENTUALLY(news.calls == 1);
  CHECK(news.is_right && news.progress.waited_ms >= 1000 && news.progress.ahead == 1);
  OK(zkr_lock_release(holder, &error));
  EVENTUALLY(waiting.calls == 1);
  CHECK(waiting.status == ZKR_OK && unheard.calls == 0);
  REFUSED(zkr_lock_on_wait(waiter, NULL, NULL, NULL, &error), ZKR_INVALID, "callback");

  zkr_subscription_free(subscription);
  zkr_held_free(waiting.held);
  zkr_lock_free(holder);
  zkr_lock_free(waiter);
  zkr_client_free(first);
  zkr_client_free(second);
}

/* Asking ------------------------------------------------------------------------------------------------- */

void a_holder_hears_that_it_is_asked_for(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  const char *at = path("revoked");
  zkr_lock *holder = lock_on(first, at), *asker = lock_on(second, at);
  zkr_held *held = NULL;
  zkr_subscription *subscription = NULL;
  atomic_int asked = 0, again = 0, unheard = 0;
  bool anybody = true;

  OK(zkr_lock_revoke(asker, NULL, -1, &anybody, &error));
  CHECK(!anybody);
  OK(zkr_lock_acquire(holder, 5000, &held, &error));
  OK(zkr_held_on_revoke(held, note_call, &asked, NULL, &error));
  OK(zkr_held_on_revoke(held, note_call, &unheard, &subscription, &error));
  zkr_subscription_free(subscription);
  OK(zkr_lock_revoke(asker, NULL, -1, &anybody, &error));
  CHECK(anybody);
  EVENTUALLY(asked == 1);
  OK(zkr_held_on_revoke(held, note_call, &again, NULL, &error)); /* at once, as somebody has asked already */
  EVENTUALLY(again == 1);
  CHECK(zkr_held_is_held(held)); /* asking takes nothing away */
  OK(zkr_held_release(held, &error));
  CHECK(asked == 1 && unheard == 0);

  REFUSED(zkr_lock_revoke(asker, "nonsense", -1, NULL, &error), ZKR_INVALID, "contender");
  REFUSED(zkr_lock_revoke(asker, "a/b", -1, NULL, &error), ZKR_INVALID, "contender");
  REFUSED(zkr_lock_revoke(asker, "\xff", -1, NULL, &error), ZKR_INVALID, "contender");
  REFUSED(zkr_held_on_revoke(held, NULL, NULL, NULL, &error), ZKR_INVALID, "callback");

  zkr_held_free(held);
  zkr_lock_free(holder);
  zkr_lock_free(asker);
  zkr_client_free(first);
  zkr_client_free(second);
}

void a_holder_that_does_not_let_go_can_be_forced(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  const char *at = path("forced");
  zkr_lock *holder = lock_on(first, at), *asker = lock_on(second, at);
  zkr_contenders *list = NULL;
  zkr_held *held = NULL;
  losses lost = {0};
  bool anybody = false;

  OK(zkr_lock_acquire(holder, 5000, &held, &error));
  OK(zkr_held_on_lost(held, note_loss, &lost, NULL, &error));
  OK(zkr_lock_contenders(asker, &list, &error));
  OK(zkr_lock_revoke(asker, zkr_contenders_get(list, 0)->node, 100, &anybody, &error));
  CHECK(anybody);
  EVENTUALLY(lost.calls == 1);
  CHECK(lost.reason == ZKR_REASON_REVOKED && !zkr_held_is_held(held));
  OK(zkr_lock_acquire(asker, 5000, NULL, &error));
  REFUSED(zkr_held_verify(held, &error), ZKR_NOT_HELD, "");

  zkr_contenders_free(list);
  zkr_held_free(held);
  zkr_lock_free(holder);
  zkr_lock_free(asker);
  zkr_client_free(first);
  zkr_client_free(second);
}

void whoever_holds_permits_is_asked_for_them(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  const char *at = path("permits-asked");
  zkr_semaphore *holder = semaphore_on(first, at, 3), *asker = semaphore_on(second, at, 3);
  zkr_held *two = NULL, *one = NULL;
  zkr_contenders *list = NULL;
  losses lost = {0}, spared = {0};
  atomic_int two_asked = 0, one_asked = 0;
  bool anybody = true;

  OK(zkr_semaphore_revoke(asker, NULL, -1, &anybody, &error));
  CHECK(!anybody);
  OK(zkr_semaphore_acquire(holder, 2, 5000, &two, &error));
  OK(zkr_semaphore_on_lost(holder, note_loss, &lost, NULL, &error));
  OK(zkr_semaphore_acquire(holder, 1, 5000, &one, &error));
  OK(zkr_semaphore_on_lost(holder, note_loss, &spared, NULL, &error));
  OK(zkr_held_on_revoke(two, note_call, &two_asked, NULL, &error));
  OK(zkr_held_on_revoke(one, note_call, &one_asked, NULL, &error));

  /* One of them by name, and no other. */
  OK(zkr_semaphore_holders(asker, &list, &error));
  OK(zkr_semaphore_revoke(asker, zkr_contenders_get(list, 0)->node, -1, &anybody, &error));
  CHECK(anybody);
  EVENTUALLY(two_asked == 1);
  CHECK(one_asked == 0 && zkr_held_is_held(two));
  /* Everybody. */
  OK(zkr_semaphore_revoke(asker, NULL, -1, NULL, &error));
  EVENTUALLY(one_asked == 1);
  CHECK(zkr_held_is_held(two) && zkr_held_is_held(one));
  /* By force: both permits of that acquisition are free then, and the other acquisition stands. */
  OK(zkr_semaphore_revoke(asker, zkr_contenders_get(list, 1)->node, 50, &anybody, &error));
  EVENTUALLY(lost.calls == 1);
  CHECK(anybody && lost.status == ZKR_LOST && lost.reason == ZKR_REASON_REVOKED && !zkr_held_is_held(two));
  OK(zkr_semaphore_acquire(asker, 2, 5000, NULL, &error));
  OK(zkr_held_verify(one, &error));
  CHECK(two_asked == 1 && one_asked == 1 && spared.calls == 0);
  OK(zkr_semaphore_revoke(asker, zkr_contenders_get(list, 0)->node, 0, &anybody, &error));
  CHECK(!anybody); /* it has gone */

  zkr_contenders_free(list);
  zkr_held_free(two);
  zkr_held_free(one);
  zkr_semaphore_free(holder);
  zkr_semaphore_free(asker);
  zkr_client_free(first);
  zkr_client_free(second);
}

void permits_in_kazoos_layout_are_listed_and_asked_too(void) {
  zkr_error *error = NULL;
  zkr_options options = ZKR_OPTIONS_INIT;
  options.naming = ZKR_NAMING_KAZOO;
  options.identity = "a";
  zkr_client *client = NULL;
  OK(zkr_client_connect(hosts(), &options, &client, &error));
  const char *at = path("permits-of-kazoo");
  zkr_semaphore *holder = semaphore_on(client, at, 1), *waiter = semaphore_on(client, at, 1);
  zkr_contenders *list = NULL;
  losses lost = {0};
  ending waiting = {0};

  OK(zkr_semaphore_acquire(holder, 1, 5000, NULL, &error));
  OK(zkr_semaphore_on_lost(holder, note_loss, &lost, NULL, &error));
  CHECK(zkr_semaphore_acquire_async(waiter, 1, -1, note_held, &waiting) == ZKR_OK);
  EVENTUALLY(count_of(&kinds[SEMAPHORE], holder) == 2);
  OK(zkr_semaphore_contenders(waiter, &list, &error));
  CHECK(is(zkr_contenders_get(list, 0), "a", "lease", true, ""));
  CHECK(strlen(zkr_contenders_get(list, 0)->node) == 32);
  CHECK(is(zkr_contenders_get(list, 1), "a", "lock", false, ""));
  CHECK(strstr(zkr_contenders_get(list, 1)->node, "__lock__"));
  REFUSED(zkr_semaphore_revoke(waiter, "/elsewhere/x", -1, NULL, &error), ZKR_INVALID, "contender");
  OK(zkr_semaphore_revoke(waiter, zkr_contenders_get(list, 0)->node, 0, NULL, &error));
  EVENTUALLY(lost.calls == 1 && waiting.calls == 1);
  CHECK(lost.reason == ZKR_REASON_REVOKED && waiting.status == ZKR_OK);
  OK(zkr_semaphore_release(waiter, &error));

  zkr_contenders_free(list);
  zkr_held_free(waiting.held);
  zkr_semaphore_free(holder);
  zkr_semaphore_free(waiter);
  zkr_client_free(client);
}

void whoever_holds_any_of_several_locks_is_asked(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  char a[256], b[256];
  snprintf(a, sizeof a, "%s", path("asked-a"));
  snprintf(b, sizeof b, "%s", path("asked-b"));
  zkr_multi_lock *holder = multi_lock_on(first, a, b), *asker = multi_lock_on(second, a, b);
  zkr_held *held = NULL;
  zkr_contenders *list = NULL;
  losses lost = {0};
  atomic_int asked = 0;
  bool anybody = true;

  OK(zkr_multi_lock_revoke(asker, NULL, -1, &anybody, &error));
  CHECK(!anybody);
  OK(zkr_multi_lock_acquire(holder, 5000, &held, &error));
  OK(zkr_held_on_revoke(held, note_call, &asked, NULL, &error));
  OK(zkr_multi_lock_on_lost(holder, note_loss, &lost, NULL, &error));
  OK(zkr_multi_lock_contenders(asker, &list, &error));
  OK(zkr_multi_lock_revoke(asker, zkr_contenders_get(list, 1)->node, -1, &anybody, &error));
  CHECK(anybody);
  EVENTUALLY(asked == 1);
  CHECK(zkr_multi_lock_is_held(holder));
  OK(zkr_multi_lock_revoke(asker, NULL, 50, &anybody, &error));
  EVENTUALLY(lost.calls == 1);
  CHECK(anybody && lost.reason == ZKR_REASON_REVOKED && !zkr_multi_lock_is_held(holder));
  OK(zkr_multi_lock_acquire(asker, 5000, NULL, &error));
  CHECK(asked == 1);

  zkr_contenders_free(list);
  zkr_held_free(held);
  zkr_multi_lock_free(holder);
  zkr_multi_lock_free(asker);
  zkr_client_free(first);
  zkr_client_free(second);
}

void only_contenders_can_be_asked(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  char base[256];
  snprintf(base, sizeof base, "%s", path("no-contender"));
  static const char *bad[] = {"",         "nonsense", "leases",  "locks/x",
                              "../locks", "a/b",      "/leases", "/elsewhere/_c_x-lock-0000000001",
                              "\xff"};

  for (int i = 0; i < KINDS; i++) {
    void *handle = made(&kinds[i], client, base);
    OK(kinds[i].acquire(handle, NULL, &error));
    for (size_t j = 0; j < sizeof bad / sizeof *bad; j++) {
      ending end = {0};
      bool anybody = true;
      REFUSED(kinds[i].revoke(handle, bad[j], 0, &anybody, &error), ZKR_INVALID, "contender");
      CHECK(!anybody);
      CHECK(kinds[i].revoke_async(handle, bad[j], 0, &end) == ZKR_OK);
      EVENTUALLY(end.calls == 1);
      CHECK(end.status == ZKR_INVALID && !end.answer);
    }
    OK(kinds[i].verify(handle, &error));
    kinds[i].free(handle);
  }
  zkr_client_free(client);
}

typedef struct forcing {
  const kind *kind;
  void *handle;
  zkr_cancel_token *token;
  zkr_status status;
} forcing;

static void *force(void *argument) {
  forcing *self = argument;
  self->status = self->kind->revoke_cancellable(self->handle, NULL, 600000, self->token, NULL, NULL);
  return NULL;
}

void asking_by_force_can_be_withdrawn(void) {
  zkr_error *error = NULL;
  zkr_client *first = connected(hosts(), "first"), *second = connected(hosts(), "second");
  char base[256];
  snprintf(base, sizeof base, "%s", path("withdrawn-force"));

  for (int i = 0; i < KINDS; i++) {
    const kind *kind = &kinds[i];
    void *holder = made(kind, first, base), *asker = made(kind, second, base);
    zkr_held *held = NULL, *again = NULL;
    zkr_cancel_token *token = zkr_cancel_token_new(), *other = zkr_cancel_token_new();
    atomic_int asked = 0;
    forcing blocking = {kind, asker, token, ZKR_OK};
    ending background = {0}, late = {0}, forced = {0};
    pthread_t thread;

    OK(kind->acquire(holder, &held, &error));
    OK(zkr_held_on_revoke(held, note_call, &asked, NULL, &error));
    pthread_create(&thread, NULL, force, &blocking);
    EVENTUALLY(asked == 1);
    zkr_cancel_token_cancel(token);
    pthread_join(thread, NULL);
    CHECK(blocking.status == ZKR_CANCELLED);
    OK(kind->verify(holder, &error)); /* asked, but not taken away */
    REFUSED(kind->revoke_cancellable(asker, NULL, 0, token, NULL, &error), ZKR_CANCELLED, "");
    OK(kind->release(holder, &error));

    OK(kind->acquire(holder, &again, &error));
    OK(zkr_held_on_revoke(again, note_call, &asked, NULL, &error));
    CHECK(kind->revoke_cancellable_async(asker, NULL, 600000, other, &background) == ZKR_OK);
    EVENTUALLY(asked == 2);
    CHECK(background.calls == 0);
    zkr_cancel_token_cancel(other);
    EVENTUALLY(background.calls == 1);
    CHECK(background.status == ZKR_CANCELLED && !background.answer);
    OK(kind->verify(holder, &error));

    zkr_cancel_token_free(other);
    CHECK(kind->revoke_cancellable_async(asker, NULL, 0, other, &late) == ZKR_INVALID); /* a freed token */
    CHECK(kind->revoke_cancellable_async(asker, NULL, 0, NULL, &forced) == ZKR_OK);
    EVENTUALLY(forced.calls == 1);
    CHECK(forced.status == ZKR_OK && forced.answer && late.calls == 0);
    EVENTUALLY(!kind->is_held(holder));
    REFUSED(kind->verify(holder, &error), ZKR_NOT_HELD, "");

    zkr_cancel_token_free(token);
    zkr_held_free(held);
    zkr_held_free(again);
    kind->free(holder);
    kind->free(asker);
  }
  zkr_client_free(first);
  zkr_client_free(second);
}
