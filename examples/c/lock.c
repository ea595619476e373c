/* Take a lock, work, give it back.
 *
 *   cc -o lock lock.c $(pkg-config --cflags --libs zkrecipes)
 *   ./lock zk1:2181,zk2:2181        or, without a server anywhere:  ./lock embedded:
 */

#include <inttypes.h>
#include <stdio.h>
#include <zkrecipes.h>

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_lock *lock = NULL;

  /* Without an argument the servers come from ZKRECIPES_HOSTS. */
  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_lock_new(client, "/locks/report", NULL, &lock, &error) != ZKR_OK) goto fail;
  if (zkr_lock_acquire(lock, 5000, NULL, &error) != ZKR_OK) goto fail;

  /* Whatever the token goes to can refuse older ones, and so is safe even from a holder that does not know
   * yet that it lost the lock. */
  printf("publishing with fencing token %" PRIu64 "\n", zkr_lock_fencing_token(lock));

  zkr_lock_release(lock, &error);
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_client_close(client, 2000, NULL); /* gives back what a failure left held, and waits until it is free */
  zkr_lock_free(lock);
  zkr_client_free(client);
  return status;
}
