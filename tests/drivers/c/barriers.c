/* SPDX-License-Identifier: Apache-2.0
 *
 * The scenario driver for C: barriers and double barriers.
 */

#include <stdlib.h>

#include "driver.h"

static void do_barrier(command *c) {
  zkr_error *error = NULL;
  zkr_barrier *handle = NULL;
  zkr_status status = zkr_barrier_new(c->client->handle, text(c, 2), &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.barrier = handle}, text(c, 1), "");
  answer(c, status, error);
}

static void do_double_barrier(command *c) {
  zkr_error *error = NULL;
  zkr_double_barrier *handle = NULL;
  size_t parties = (size_t)strtoull(text(c, 3), NULL, 10);
  zkr_status status =
      zkr_double_barrier_new(c->client->handle, text(c, 2), parties, word(c, 4), &handle, &error);
  if (status == ZKR_OK) add(c->client, (lock){.double_barrier = handle}, text(c, 1), "");
  answer(c, status, error);
}

static void do_create(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_barrier_create(named(c)->barrier, &error);
  answer(c, status, error);
}

static void do_remove(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_barrier_remove(named(c)->barrier, &error);
  answer(c, status, error);
}

static void do_up(command *c) {
  zkr_error *error = NULL;
  bool is_up = false;
  zkr_status status = zkr_barrier_is_up(named(c)->barrier, &is_up, &error);
  answer_bool(c, status, is_up, error);
}

static void do_wait(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_barrier_wait_cancellable(named(c)->barrier, timeout(c, 2), c->token, &error);
  answer(c, status, error);
}

static void do_enter(command *c) {
  zkr_error *error = NULL;
  zkr_status status =
      zkr_double_barrier_enter_cancellable(named(c)->double_barrier, timeout(c, 2), c->token, &error);
  answer(c, status, error);
}

static void do_leave(command *c) {
  zkr_error *error = NULL;
  zkr_status status =
      zkr_double_barrier_leave_cancellable(named(c)->double_barrier, timeout(c, 2), c->token, &error);
  answer(c, status, error);
}

static void do_withdraw(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_double_barrier_withdraw(named(c)->double_barrier, &error);
  answer(c, status, error);
}

static void do_entered(command *c) {
  answer_bool(c, ZKR_OK, zkr_double_barrier_has_entered(named(c)->double_barrier), NULL);
}

const verb barrier_verbs[] = {
    {"barrier", do_barrier, false},
    {"double-barrier", do_double_barrier, false},
    {"barrier-create", do_create, true},
    {"barrier-remove", do_remove, true},
    {"barrier-up", do_up, true},
    {"barrier-wait", do_wait, true},
    {"barrier-enter", do_enter, true},
    {"barrier-leave", do_leave, true},
    {"barrier-withdraw", do_withdraw, false},
    {"barrier-entered", do_entered, false},
    {NULL, NULL, false},
};
