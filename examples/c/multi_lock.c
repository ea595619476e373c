/* Several locks as one: all or none, and nobody waits in a circle.
 *
 *   cc -o multi_lock multi_lock.c $(pkg-config --cflags --libs zkrecipes)
 *   ./multi_lock zk1:2181,zk2:2181        or, without a server anywhere:  ./multi_lock embedded:
 */

#include <inttypes.h>
#include <stdio.h>
#include <zkrecipes.h>

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_lock *accounts[2] = {NULL, NULL};
  zkr_multi_lock *both = NULL;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_lock_new(client, "/accounts/bob", NULL, &accounts[0], &error) != ZKR_OK) goto fail;
  if (zkr_lock_new(client, "/accounts/alice", NULL, &accounts[1], &error) != ZKR_OK) goto fail;
  if (zkr_multi_lock_new(client, accounts, 2, &both, &error) != ZKR_OK) goto fail;
  if (zkr_multi_lock_acquire(both, 5000, NULL, &error) != ZKR_OK) goto fail;

  uint64_t tokens[2]; /* in the order of zkr_multi_lock_paths */
  if (zkr_multi_lock_fencing_tokens(both, tokens, 2) == 2)
    printf("moving money with fencing tokens %" PRIu64 " and %" PRIu64 "\n", tokens[0], tokens[1]);

  zkr_multi_lock_release(both, &error);
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_client_close(client, 2000, NULL); /* gives back what a failure left held, and waits until it is free */
  zkr_multi_lock_free(both);
  zkr_lock_free(accounts[0]);
  zkr_lock_free(accounts[1]);
  zkr_client_free(client);
  return status;
}
