/* Numbers every order in the whole ensemble, without a gap and without a double.
 *
 *   cc -o counter counter.c $(pkg-config --cflags --libs zkrecipes)
 *   ./counter zk1:2181,zk2:2181        or, without a server anywhere:  ./counter embedded:
 */

#include <inttypes.h>
#include <stdio.h>
#include <zkrecipes.h>

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_counter *orders = NULL;
  int64_t number = 0;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_counter_new(client, "/counters/orders", NULL, &orders, &error) != ZKR_OK) goto fail;

  /* Exactly once, also if the connection breaks before the answer is there. */
  if (zkr_counter_add(orders, 1, &number, &error) != ZKR_OK) goto fail;
  printf("this is order %" PRId64 "\n", number);
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_client_close(client, 2000, NULL);
  zkr_counter_free(orders);
  zkr_client_free(client);
  return status;
}
