/* A gate that one process closes and opens for all.
 *
 *   cc -o barrier barrier.c $(pkg-config --cflags --libs zkrecipes)
 *   ./barrier zk1:2181,zk2:2181        or, without a server anywhere:  ./barrier embedded:
 */

#include <stdio.h>
#include <zkrecipes.h>

static void opened(zkr_status status, const zkr_error *error, void *name) {
  if (status == ZKR_OK)
    printf("%s goes on\n", (const char *)name);
  else
    fprintf(stderr, "%s: %s\n", (const char *)name, zkr_error_message(error));
}

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_barrier *maintenance = NULL;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_barrier_new(client, "/examples/maintenance", &maintenance, &error) != ZKR_OK) goto fail;
  if (zkr_barrier_create(maintenance, &error) != ZKR_OK) goto fail;

  /* Any process may wait for it. */
  zkr_barrier_wait_async(maintenance, 60000, opened, "the first one");
  zkr_barrier_wait_async(maintenance, 60000, opened, "the second one");

  printf("nobody works on the files: now they can be moved\n");
  if (zkr_barrier_remove(maintenance, &error) != ZKR_OK) goto fail;
  if (zkr_barrier_wait(maintenance, 60000, &error) != ZKR_OK) goto fail;
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_client_close(client, 2000, NULL);
  zkr_barrier_free(maintenance);
  zkr_client_free(client);
  return status;
}
