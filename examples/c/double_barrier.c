/* All parties begin a step together and end it together.
 *
 *   cc -o double_barrier double_barrier.c $(pkg-config --cflags --libs zkrecipes)
 *   ./double_barrier zk1:2181,zk2:2181 3        or, alone and without a server:  ./double_barrier embedded: 1
 */

#include <stdio.h>
#include <stdlib.h>
#include <zkrecipes.h>

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_double_barrier *step = NULL;
  size_t parties = count > 2 ? (size_t)strtoull(arguments[2], NULL, 10) : 1;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_double_barrier_new(client, "/barriers/step", parties, NULL, &step, &error) != ZKR_OK) goto fail;

  if (zkr_double_barrier_enter(step, 60000, &error) != ZKR_OK) goto fail;
  printf("all %zu are here\n", parties); /* if the work fails: zkr_double_barrier_withdraw */
  if (zkr_double_barrier_leave(step, 60000, &error) != ZKR_OK) goto fail;
  printf("all are done\n");
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_double_barrier_free(step);
  zkr_client_close(client, 2000, NULL);
  zkr_client_free(client);
  return status;
}
