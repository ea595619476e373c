/* SPDX-License-Identifier: Apache-2.0
 *
 * Who holds and who waits, and asking for it.
 */

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kinds.h"

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
  zkr_lock *impatient = lock_on(second, path("waiting"));
  zkr_subscription *subscription = NULL, *ended = NULL;
  wait_news news = {0}, unheard = {0};
  ending waiting = {0};

  OK(zkr_lock_on_wait(waiter, note_wait, &news, &subscription, &error));
  OK(zkr_lock_on_wait(waiter, note_wait, &unheard, &ended, &error));
  zkr_subscription_free(ended);
  OK(zkr_lock_acquire(holder, 5000, NULL, &error));
  REFUSED(zkr_lock_acquire(impatient, 1000, NULL, &error), ZKR_TIMEOUT, "within 1s: first holds it");
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
  zkr_lock_free(impatient);
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
