/* A long job gives its lock back when somebody asks for it.
 *
 *   cc -o revoke revoke.c $(pkg-config --cflags --libs zkrecipes) -pthread
 *   ./revoke zk1:2181,zk2:2181        or, without a server anywhere:  ./revoke embedded:
 */

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <zkrecipes.h>

static void on_revoke(void *is_wanted) { *(atomic_bool *)is_wanted = true; }

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_lock *lock = NULL, *operators = NULL;
  zkr_held *held = NULL;
  zkr_subscription *subscription = NULL;
  zkr_contenders *contenders = NULL;
  atomic_bool is_wanted = false;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_lock_new(client, "/locks/reindex", NULL, &lock, &error) != ZKR_OK) goto fail;
  if (zkr_lock_acquire(lock, 5000, &held, &error) != ZKR_OK) goto fail;
  if (zkr_held_on_revoke(held, on_revoke, &is_wanted, &subscription, &error) != ZKR_OK) goto fail;

  /* What an operator does, elsewhere: sees who has it, and asks. A force_after_ms that is not negative would
   * delete the holder's node if it had not gone by then. Semaphores and multi-locks have the same verbs. */
  if (zkr_lock_new(client, "/locks/reindex", NULL, &operators, &error) != ZKR_OK) goto fail;
  if (zkr_lock_contenders(operators, &contenders, &error) != ZKR_OK) goto fail;
  for (size_t i = 0; i < zkr_contenders_count(contenders); i++) {
    const zkr_contender *one = zkr_contenders_get(contenders, i);
    printf("%s %s %s\n", one->identity, one->holds ? "holds" : "waits at", one->node);
  }
  if (zkr_lock_revoke(operators, NULL, -1, NULL, &error) != ZKR_OK) goto fail;

  while (!is_wanted) nanosleep(&(struct timespec){0, 10000000}, NULL); /* a piece of the job */
  printf("somebody wants the lock: stopping between two pieces\n");
  zkr_lock_release(lock, &error);
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_client_close(client, 2000, NULL); /* gives back what a failure left held, and waits until it is free */
  zkr_contenders_free(contenders);
  zkr_subscription_free(subscription);
  zkr_held_free(held);
  zkr_lock_free(lock);
  zkr_lock_free(operators);
  zkr_client_free(client);
  return status;
}
