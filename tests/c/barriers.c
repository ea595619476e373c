/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers and double barriers. What they promise is played as scenarios; here is what is particular to C.
 */

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

void a_barrier_is_put_up_and_lifted_in_both_forms(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *other = connected(hosts(), "b");
  zkr_barrier *barrier = NULL, *same = NULL, *bad = NULL;
  zkr_cancel_token *token = zkr_cancel_token_new();
  bool is_up = true;
  ending created = {0}, removed = {0}, asked = {0}, waited = {0}, withdrawn = {0};

  OK(zkr_barrier_new(client, path("barrier"), &barrier, &error));
  OK(zkr_barrier_new(other, path("barrier"), &same, &error));
  REFUSED(zkr_barrier_new(client, "relative", &bad, &error), ZKR_INVALID, "path");
  CHECK(strcmp(zkr_barrier_path(barrier), path("barrier")) == 0);
  OK(zkr_barrier_is_up(barrier, &is_up, &error));
  CHECK(!is_up);
  OK(zkr_barrier_wait(barrier, 0, &error));
  OK(zkr_barrier_remove(barrier, &error));
  OK(zkr_barrier_create(barrier, &error));
  CHECK(zkr_barrier_create_async(barrier, note_done, &created) == ZKR_OK);
  CHECK(zkr_barrier_is_up_async(same, note_answer, &asked) == ZKR_OK);
  EVENTUALLY(created.calls == 1 && asked.calls == 1);
  CHECK(created.status == ZKR_OK && asked.answer);
  REFUSED(zkr_barrier_wait(same, 20, &error), ZKR_TIMEOUT, "");
  CHECK(zkr_barrier_wait_async(same, -1, note_done, &waited) == ZKR_OK);
  CHECK(zkr_barrier_wait_cancellable_async(same, -1, token, note_done, &withdrawn) == ZKR_OK);
  zkr_cancel_token_cancel(token);
  EVENTUALLY(withdrawn.calls == 1);
  CHECK(withdrawn.status == ZKR_CANCELLED && waited.calls == 0);
  CHECK(zkr_barrier_remove_async(barrier, note_done, &removed) == ZKR_OK);
  EVENTUALLY(removed.calls == 1 && waited.calls == 1);
  CHECK(removed.status == ZKR_OK && waited.status == ZKR_OK);

  zkr_barrier_free(barrier);
  zkr_barrier_free(barrier);
  REFUSED(zkr_barrier_wait(barrier, 0, &error), ZKR_INVALID, "barrier");
  REFUSED(zkr_barrier_create(barrier, &error), ZKR_INVALID, "barrier");
  REFUSED(zkr_barrier_is_up(same, NULL, &error), ZKR_INVALID, "is_up");
  CHECK(zkr_barrier_remove_async(NULL, note_done, &removed) == ZKR_INVALID && removed.calls == 1);
  zkr_barrier_free(same);
  zkr_cancel_token_free(token);
  zkr_client_free(client);
  zkr_client_free(other);
}

void parties_enter_and_leave_together(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a"), *other = connected(hosts(), "b");
  zkr_double_barrier *one = NULL, *two = NULL, *bad = NULL;
  zkr_buffer *name = NULL;
  ending entered = {0}, left = {0};

  REFUSED(zkr_double_barrier_new(client, path("double"), 0, NULL, &bad, &error), ZKR_INVALID, "parties");
  REFUSED(zkr_double_barrier_new(client, path("double"), (size_t)-3, NULL, &bad, &error), ZKR_INVALID,
          "parties: -3 is negative");
  OK(zkr_double_barrier_new(client, path("double"), 2, NULL, &one, &error));
  OK(zkr_double_barrier_new(other, path("double"), 2, "two", &two, &error));
  CHECK(strcmp(zkr_double_barrier_path(one), path("double")) == 0 && zkr_double_barrier_parties(one) == 2);
  OK(zkr_double_barrier_name(two, &name, &error));
  CHECK(strcmp(zkr_buffer_text(name), "two") == 0);
  zkr_buffer_free(name);
  REFUSED(zkr_double_barrier_enter(one, 20, &error), ZKR_TIMEOUT, "");
  REFUSED(zkr_double_barrier_leave(one, 0, &error), ZKR_NOT_HELD, "");
  REFUSED(zkr_double_barrier_withdraw(one, &error), ZKR_NOT_HELD, "");

  for (int round = 1; round <= 2; round++) {
    CHECK(zkr_double_barrier_enter_async(one, -1, note_done, &entered) == ZKR_OK);
    OK(zkr_double_barrier_enter(two, 10000, &error));
    EVENTUALLY(entered.calls == round);
    CHECK(entered.status == ZKR_OK && zkr_double_barrier_has_entered(one));
    CHECK(zkr_double_barrier_leave_async(one, -1, note_done, &left) == ZKR_OK);
    CHECK(left.calls == round - 1);
    OK(zkr_double_barrier_leave(two, 10000, &error));
    EVENTUALLY(left.calls == round);
    CHECK(left.status == ZKR_OK && !zkr_double_barrier_has_entered(one));
  }

  CHECK(zkr_double_barrier_enter_async(one, -1, note_done, &entered) == ZKR_OK);
  OK(zkr_double_barrier_enter(two, 10000, &error));
  EVENTUALLY(entered.calls == 3);
  OK(zkr_double_barrier_withdraw(one, &error));
  OK(zkr_double_barrier_leave(two, 10000, &error)); /* whoever gives up holds up nobody */
  zkr_double_barrier_free(one);
  REFUSED(zkr_double_barrier_enter(one, 0, &error), ZKR_INVALID, "double_barrier");
  CHECK(!zkr_double_barrier_has_entered(one) && zkr_double_barrier_parties(one) == 0);
  zkr_double_barrier_free(two);
  zkr_client_free(client);
  zkr_client_free(other);
}

/* Waiting ------------------------------------------------------------------------------------------------ */

typedef struct wait_news {
  char path[200];
  char holder[40];
  int64_t waited_ms, ahead;
  atomic_int calls;
} wait_news;

static void note_wait(const zkr_wait_progress *progress, void *user_data) {
  wait_news *news = user_data;
  if (atomic_load(&news->calls) == 0) {
    snprintf(news->path, sizeof news->path, "%s", progress->path);
    snprintf(news->holder, sizeof news->holder, "%s", progress->holder ? progress->holder->identity : "");
    news->waited_ms = progress->waited_ms;
    news->ahead = progress->ahead;
  }
  atomic_fetch_add(&news->calls, 1);
}

static void note_data(zkr_status status, zkr_buffer *data, const zkr_stat *stat, const zkr_error *error,
                      void *user_data) {
  ending *ending = user_data;
  (void)stat;
  (void)error;
  ending->status = status;
  zkr_buffer_free(data);
  atomic_fetch_add(&ending->calls, 1);
}

void waits_at_barriers_and_queues_are_told(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "keeper");
  zkr_barrier *barrier = NULL;
  zkr_double_barrier *party = NULL;
  zkr_queue *queue = NULL;
  zkr_cancel_token *token = zkr_cancel_token_new();
  wait_news at_barrier = {0}, at_round = {0}, at_queue = {0};
  ending lifted = {0}, entered = {0}, got = {0};

  OK(zkr_barrier_new(client, path("told"), &barrier, &error));
  OK(zkr_double_barrier_new(client, path("round"), 3, NULL, &party, &error));
  OK(zkr_queue_new(client, path("empty"), NULL, &queue, &error));
  OK(zkr_barrier_on_wait(barrier, note_wait, &at_barrier, NULL, &error));
  OK(zkr_double_barrier_on_wait(party, note_wait, &at_round, NULL, &error));
  OK(zkr_queue_on_wait(queue, note_wait, &at_queue, NULL, &error));
  OK(zkr_barrier_create(barrier, &error));
  CHECK(zkr_barrier_wait_async(barrier, -1, note_done, &lifted) == ZKR_OK);
  CHECK(zkr_double_barrier_enter_cancellable_async(party, -1, token, note_done, &entered) == ZKR_OK);
  CHECK(zkr_queue_get_async(queue, -1, note_data, &got) == ZKR_OK);
  REFUSED(zkr_barrier_wait(barrier, 2000, &error), ZKR_TIMEOUT, "within 2s: keeper has put it up");
  EVENTUALLY(at_barrier.calls >= 1 && at_round.calls >= 1 && at_queue.calls >= 1);
  CHECK(strcmp(at_barrier.path, path("told")) == 0 && strcmp(at_barrier.holder, "keeper") == 0);
  CHECK(at_barrier.ahead == -1 && at_barrier.waited_ms >= 1000);
  CHECK(strcmp(at_round.path, path("round")) == 0 && at_round.ahead == 2 && !*at_round.holder);
  CHECK(strcmp(at_queue.path, path("empty")) == 0 && at_queue.ahead == -1 && !*at_queue.holder);
  REFUSED(zkr_queue_on_wait(queue, NULL, NULL, NULL, &error), ZKR_INVALID, "callback");
  OK(zkr_barrier_remove(barrier, &error));
  OK(zkr_queue_put(queue, "one", 3, -1, &error));
  zkr_cancel_token_cancel(token);
  EVENTUALLY(lifted.calls == 1 && entered.calls == 1 && got.calls == 1);
  CHECK(lifted.status == ZKR_OK && entered.status == ZKR_CANCELLED && got.status == ZKR_OK);

  zkr_barrier_free(barrier);
  zkr_double_barrier_free(party);
  zkr_queue_free(queue);
  zkr_cancel_token_free(token);
  zkr_client_free(client);
}

void an_entry_that_was_not_dispatched_can_be_withdrawn(void) {
  zkr_error *error = NULL;
  zkr_client *client = connected(hosts(), "a");
  zkr_double_barrier *party = NULL;
  zkr_cancel_token *token = zkr_cancel_token_new();
  struct pollfd dispatches = {.fd = zkr_client_event_fd(client), .events = POLLIN};
  ending entered = {0};

  OK(zkr_double_barrier_new(client, path("undispatched-round"), 1, NULL, &party, &error));
  CHECK(zkr_double_barrier_enter_cancellable_async(party, -1, token, note_done, &entered) == ZKR_OK);
  CHECK(poll(&dispatches, 1, 10000) == 1 && zkr_double_barrier_has_entered(party));
  CHECK(zkr_cancel_token_cancel(token) == ZKR_OK);
  CHECK(zkr_client_dispatch(client, 0, 0) == 1);
  CHECK(entered.calls == 1 && entered.status == ZKR_CANCELLED && !zkr_double_barrier_has_entered(party));

  zkr_double_barrier_free(party);
  zkr_cancel_token_free(token);
  zkr_client_free(client);
}
