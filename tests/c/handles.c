/* SPDX-License-Identifier: Apache-2.0
 *
 * What the handle of every recipe says of what it holds.
 */

#include <stdio.h>

#include "kinds.h"

void a_handle_speaks_for_what_it_holds(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  char base[256], written[300];
  snprintf(base, sizeof base, "%s", path("forwarded"));

  for (int i = 0; i < KINDS; i++) {
    const kind *kind = &kinds[i];
    void *handle = made(kind, client, base);
    zkr_held *held = NULL;
    zkr_transaction *writes = NULL, *late = NULL;
    zkr_subscription *subscription = NULL;
    losses lost = {0};
    ending verified = {0};
    atomic_int asked = 0, unheard = 0;
    snprintf(written, sizeof written, "%s/written-%s", base, kind->name);

    CHECK(!kind->is_held(handle) && kind->fencing_token(handle) == 0);
    REFUSED(kind->release(handle, &error), ZKR_NOT_HELD, "");
    REFUSED(kind->release_in_background(handle, &error), ZKR_NOT_HELD, "");
    REFUSED(kind->verify(handle, &error), ZKR_NOT_HELD, "");
    REFUSED(kind->guarded(handle, &writes, &error), ZKR_NOT_HELD, "");
    REFUSED(kind->on_lost(handle, &lost, &subscription, &error), ZKR_NOT_HELD, "");
    REFUSED(kind->on_revoke(handle, &asked, &subscription, &error), ZKR_NOT_HELD, "");
    CHECK(writes == NULL && subscription == NULL);
    REFUSED(kind->guarded(handle, NULL, &error), ZKR_INVALID, "transaction");
    REFUSED(kind->contenders(handle, NULL, &error), ZKR_INVALID, "contenders");

    OK(kind->acquire(handle, &held, &error));
    CHECK(kind->is_held(handle));
    CHECK(kind->fencing_token(handle) > 0 && kind->fencing_token(handle) == zkr_held_fencing_token(held));
    OK(kind->verify(handle, &error));
    CHECK(kind->verify_async(handle, &verified) == ZKR_OK);
    EVENTUALLY(verified.calls == 1);
    CHECK(verified.status == ZKR_OK);
    OK(kind->guarded(handle, &writes, &error));
    OK(zkr_transaction_create(writes, written, "", 0, ZKR_PERSISTENT, &error));
    OK(zkr_transaction_commit(writes, &error));
    OK(kind->guarded(handle, &late, &error));
    OK(zkr_transaction_set(late, written, "x", 1, -1, &error));
    OK(kind->on_revoke(handle, &unheard, &subscription, &error));
    zkr_subscription_free(subscription);
    OK(kind->on_revoke(handle, &asked, NULL, &error));
    OK(kind->revoke(handle, NULL, -1, NULL, &error));
    EVENTUALLY(asked == 1);
    CHECK(kind->is_held(handle) && unheard == 0); /* asking takes nothing away */
    OK(kind->on_lost(handle, &lost, &subscription, &error));
    OK(kind->release(handle, &error));
    REFUSED(zkr_transaction_commit(late, &error), ZKR_NOT_HELD, "");
    CHECK(!kind->is_held(handle) && kind->fencing_token(handle) == 0 && lost.calls == 0);

    zkr_subscription_free(subscription);
    zkr_transaction_free(writes);
    zkr_transaction_free(late);
    zkr_held_free(held);
    kind->free(handle);
  }
  zkr_client_free(client);
}

void a_semaphore_speaks_for_what_was_acquired_last(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_semaphore *semaphore = semaphore_on(client, path("latest"), 2);

  OK(zkr_semaphore_acquire(semaphore, 1, 5000, NULL, &error));
  uint64_t earlier = zkr_semaphore_fencing_token(semaphore);
  OK(zkr_semaphore_acquire(semaphore, 1, 5000, NULL, &error));
  CHECK(earlier > 0 && zkr_semaphore_fencing_token(semaphore) != earlier);
  OK(zkr_semaphore_release_in_background(semaphore, &error));
  CHECK(zkr_semaphore_is_held(semaphore) && zkr_semaphore_fencing_token(semaphore) == earlier);
  OK(zkr_semaphore_verify(semaphore, &error));

  zkr_semaphore_free(semaphore);
  zkr_client_free(client);
}

void release_in_background_asks_no_server(void) {
  zkr_error *error = NULL;
  zkr_test_server *server = own_server();
  zkr_client *client = connected(zkr_test_server_connect_string(server), "a");
  void *handles[KINDS];

  for (int i = 0; i < KINDS; i++) {
    handles[i] = made(&kinds[i], client, "/background");
    OK(kinds[i].acquire(handles[i], NULL, &error));
  }
  OK(zkr_test_server_pause(server, &error)); /* whoever waited for an answer now would wait for long */
  int64_t begun = now_ms();
  for (int i = 0; i < KINDS; i++) {
    OK(kinds[i].release_in_background(handles[i], &error));
    CHECK(!kinds[i].is_held(handles[i]));
  }
  CHECK(now_ms() - begun < 5000);
  OK(zkr_test_server_resume(server, &error));
  for (int i = 0; i < KINDS; i++) {
    EVENTUALLY(count_of(&kinds[i], handles[i]) == 0);
    kinds[i].free(handles[i]);
  }
  zkr_client_free(client);
  zkr_test_server_free(server);
}

/* Seeing ------------------------------------------------------------------------------------------------- */

void every_recipe_of_a_closed_client_answers_closed(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  char base[256];
  snprintf(base, sizeof base, "%s", path("closed-recipes"));
  void *handles[KINDS];

  for (int i = 0; i < KINDS; i++) {
    handles[i] = made(&kinds[i], client, base);
    OK(kinds[i].acquire(handles[i], NULL, &error));
  }
  OK(zkr_client_close(client, 5000, &error));
  for (int i = 0; i < KINDS; i++) {
    const kind *kind = &kinds[i];
    zkr_contenders *list = NULL;
    zkr_transaction *writes = NULL;
    zkr_subscription *subscription = NULL;
    losses lost = {0};
    ending never = {0};

    CHECK(!kind->is_held(handles[i]) && kind->fencing_token(handles[i]) == 0);
    REFUSED(kind->acquire(handles[i], NULL, &error), ZKR_CLOSED, "closed");
    REFUSED(kind->release(handles[i], &error), ZKR_CLOSED, "closed");
    REFUSED(kind->release_in_background(handles[i], &error), ZKR_CLOSED, "closed");
    REFUSED(kind->verify(handles[i], &error), ZKR_CLOSED, "closed");
    REFUSED(kind->guarded(handles[i], &writes, &error), ZKR_CLOSED, "closed");
    REFUSED(kind->on_lost(handles[i], &lost, &subscription, &error), ZKR_CLOSED, "closed");
    REFUSED(kind->on_wait(handles[i], &subscription, &error), ZKR_CLOSED, "closed");
    REFUSED(kind->contenders(handles[i], &list, &error), ZKR_CLOSED, "closed");
    REFUSED(kind->revoke(handles[i], NULL, 0, NULL, &error), ZKR_CLOSED, "closed");
    CHECK(kind->verify_async(handles[i], &never) == ZKR_CLOSED);
    CHECK(kind->contenders_async(handles[i], &never) == ZKR_CLOSED);
    CHECK(kind->revoke_async(handles[i], NULL, 0, &never) == ZKR_CLOSED);
    CHECK(!list && !writes && !subscription && never.calls == 0);
    kind->free(handles[i]);
  }
  zkr_client_free(client);
}
