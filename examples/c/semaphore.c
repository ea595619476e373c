/* At most three exports at a time, whoever runs them.
 *
 *   cc -o semaphore semaphore.c $(pkg-config --cflags --libs zkrecipes)
 *   ./semaphore zk1:2181,zk2:2181        or, without a server anywhere:  ./semaphore embedded:
 */

#include <stdio.h>
#include <zkrecipes.h>

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_semaphore *exports = NULL;
  zkr_contenders *holders = NULL;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_semaphore_new(client, "/limits/exports", 3, &exports, &error) != ZKR_OK) goto fail;

  /* A big export counts twice: both permits in one step. */
  if (zkr_semaphore_acquire(exports, 2, 5000, NULL, &error) != ZKR_OK) goto fail;
  if (zkr_semaphore_holders(exports, &holders, &error) != ZKR_OK) goto fail;
  for (size_t i = 0; i < zkr_contenders_count(holders); i++)
    printf("a permit is with %s\n", zkr_contenders_get(holders, i)->identity);

  zkr_semaphore_release(exports, &error);
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_client_close(client, 2000, NULL); /* gives back what a failure left held, and waits until it is free */
  zkr_contenders_free(holders);
  zkr_semaphore_free(exports);
  zkr_client_free(client);
  return status;
}
