/* SPDX-License-Identifier: Apache-2.0
 *
 * Every recipe with the same verbs, whatever its handle is: for promises that all of them make.
 */

#ifndef KINDS_H
#define KINDS_H

#include "harness.h"

typedef struct kind {
  const char *name;
  zkr_status (*acquire)(void *, zkr_held **, zkr_error **);
  zkr_status (*release)(void *, zkr_error **);
  zkr_status (*release_in_background)(void *, zkr_error **);
  bool (*is_held)(void *);
  uint64_t (*fencing_token)(void *);
  zkr_status (*verify)(void *, zkr_error **);
  zkr_status (*verify_async)(void *, ending *);
  zkr_status (*guarded)(void *, zkr_transaction **, zkr_error **);
  zkr_status (*on_lost)(void *, losses *, zkr_subscription **, zkr_error **);
  zkr_status (*on_revoke)(void *, atomic_int *, zkr_subscription **, zkr_error **);
  zkr_status (*on_wait)(void *, zkr_subscription **, zkr_error **);
  zkr_status (*contenders)(void *, zkr_contenders **, zkr_error **);
  zkr_status (*contenders_async)(void *, ending *);
  zkr_status (*revoke)(void *, const char *, int64_t, bool *, zkr_error **);
  zkr_status (*revoke_async)(void *, const char *, int64_t, ending *);
  zkr_status (*revoke_cancellable)(void *, const char *, int64_t, zkr_cancel_token *, bool *, zkr_error **);
  zkr_status (*revoke_cancellable_async)(void *, const char *, int64_t, zkr_cancel_token *, ending *);
  void (*free)(void *);
} kind;

enum { LOCK, MULTI_LOCK, SEMAPHORE, KINDS };
extern const kind kinds[KINDS];

/* A recipe with room for one holder, on paths of its own below `base`, or the end of the program. */
void *made(const kind *kind, zkr_client *client, const char *base);
/* A multi-lock of two paths, or the end of the program. */
zkr_multi_lock *multi_lock_on(zkr_client *client, const char *a, const char *b);
/* How many contenders it has. */
size_t count_of(const kind *kind, void *handle);

#endif
