/* SPDX-License-Identifier: Apache-2.0
 *
 * The scenario driver for C: leading term after term.
 */

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "driver.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

struct term {
  lock *of;
  zkr_leadership *leadership;
};

static term *current(lock *of) {
  pthread_mutex_lock(&mutex);
  term *found = of->term;
  pthread_mutex_unlock(&mutex);
  return found;
}

/* Ends a term, unless that was done before. */
static bool end(term *over) {
  pthread_mutex_lock(&mutex);
  bool is_ours = over && over->of->term == over;
  if (is_ours) over->of->term = NULL;
  pthread_mutex_unlock(&mutex);
  if (!is_ours) return false;
  say("event %s over %s %" PRIu64, over->of->of->name, over->of->name,
      zkr_leadership_epoch(over->leadership));
  zkr_leadership_free(over->leadership);
  return true;
}

static void on_lost(const zkr_error *error, void *user_data) {
  (void)error;
  end(user_data);
}

static void on_term(zkr_status status, zkr_leadership *leadership, const zkr_error *error, void *user_data) {
  const command *run = user_data;
  lock *of = find_lock(run);
  (void)error;
  end(current(of)); /* resigned, or cancelled */
  if (status != ZKR_OK) {
    if (status == ZKR_CANCELLED)
      say("%s ok", run->seq);
    else
      say("%s error %s", run->seq, zkr_status_name(status));
    return;
  }
  term *begun = malloc(sizeof *begun);
  if (!begun) abort();
  *begun = (term){.of = of, .leadership = leadership};
  pthread_mutex_lock(&mutex);
  of->term = begun;
  pthread_mutex_unlock(&mutex);
  say("event %s term %s %" PRIu64, of->of->name, of->name, zkr_leadership_epoch(leadership));
  zkr_leadership_on_lost(leadership, on_lost, begun, NULL, NULL);
}

void do_run(command *c) {
  zkr_error *error = NULL;
  zkr_status status = zkr_election_run(named(c)->election, on_term, c, NULL, &error);
  if (status != ZKR_OK) fail(c, status, error);
}

void do_end_term(command *c) {
  lock *of = find_lock(c);
  if (of && end(current(of)))
    say("%s ok", c->seq);
  else
    invalid(c);
}
