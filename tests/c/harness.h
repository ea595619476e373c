/* SPDX-License-Identifier: Apache-2.0
 *
 * A tiny test harness. A test is a function of the list; it declares `zkr_error *error = NULL;` and returns
 * at the first check that fails.
 */

#ifndef HARNESS_H
#define HARNESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zkrecipes.h>
#include <zkrecipes_testing.h>

#include "list.h"

#define DECLARE(name) void name(void);
TESTS(DECLARE)

/* Fails the test unless the condition holds. */
#define CHECK(condition)                                             \
  do {                                                               \
    if (!holds((condition), #condition, __FILE__, __LINE__)) return; \
  } while (0)

/* Fails the test unless the call, which reports into `error`, succeeds. */
#define OK(call)                                                      \
  do {                                                                \
    if (!succeeds((call), &error, #call, __FILE__, __LINE__)) return; \
  } while (0)

/* Fails the test unless the call is refused with this status and a message that has this word ("" for any).
 */
#define REFUSED(call, status, word)                                                       \
  do {                                                                                    \
    if (!is_refused((call), &error, (status), (word), #call, __FILE__, __LINE__)) return; \
  } while (0)

/* Waits for up to ten seconds until the condition holds; what it asks must be safe to ask again. */
#define EVENTUALLY(condition)                       \
  do {                                              \
    int tries_ = 0;                                 \
    while (!(condition) && tries_++ < 2000) nap(5); \
    CHECK(condition);                               \
  } while (0)

bool holds(bool condition, const char *text, const char *file, int line);
bool succeeds(zkr_status status, zkr_error **error, const char *text, const char *file, int line);
bool is_refused(zkr_status status, zkr_error **error, zkr_status expected, const char *word, const char *text,
                const char *file, int line);

void nap(int64_t ms);
int64_t now_ms(void);

/* The server under test: ZKR_HOSTS, or one inside this process. */
const char *hosts(void);
/* A server of the test's own, which it can make misbehave; sessions may be short. */
zkr_test_server *own_server(void);
/* A client that is connected, or the end of the program. */
zkr_client *connected(const char *to, const char *identity);
/* A path that no other test uses. Valid until the next call with another name. */
const char *path(const char *name);
/* A lock on such a path, or the end of the program. */
zkr_lock *lock_on(zkr_client *client, const char *path);
/* A semaphore on such a path, or the end of the program. */
zkr_semaphore *semaphore_on(zkr_client *client, const char *path, size_t permits);
/* How many children a node has; 0 if there is no such node. */
size_t children_of(zkr_client *client, const char *path);
/* What the client says of itself, by name; NaN if there is no such metric. */
double metric(zkr_client *client, const char *name);

/* What the end of an asynchronous verb said; `calls` is counted last. */
typedef struct ending {
  zkr_status status;
  zkr_held *held;
  bool answer;
  size_t listed;
  atomic_int calls;
} ending;

void note_done(zkr_status status, const zkr_error *error, void *ending);
void note_held(zkr_status status, zkr_held *held, const zkr_error *error, void *ending);
void note_answer(zkr_status status, bool answer, const zkr_error *error, void *ending);
void note_contenders(zkr_status status, zkr_contenders *list, const zkr_error *error, void *ending);

/* The losses told so far, and the reason of the latest. */
typedef struct losses {
  zkr_status status;
  zkr_reason reason;
  atomic_int calls;
} losses;

void note_loss(const zkr_error *error, void *losses);

/* What the program is run as in exiting.c: it takes a lock of these hosts and ends in one of several ways. */
int exiting(const char *way, const char *hosts);
/* How this program was called. */
extern const char *this_program;

/* Counts in an atomic_int. */
void note_call(void *counter);

#endif
