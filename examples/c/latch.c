/* A report that is made when all parts have been imported, whoever imports them.
 *
 *   cc -o latch latch.c $(pkg-config --cflags --libs zkrecipes)
 *   ./latch zk1:2181,zk2:2181        or, without a server anywhere:  ./latch embedded:
 */

#include <stdio.h>
#include <zkrecipes.h>

int main(int count, char **arguments) {
  const char *parts[] = {"north", "south", "west"};
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_latch *imports = NULL;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_latch_new(client, "/examples/imports", 3, &imports, &error) != ZKR_OK) goto fail;
  /* It may be open from the last time. */
  if (zkr_latch_reset(imports, 3, &error) != ZKR_OK) goto fail;

  for (size_t i = 0; i < 3; i++) {
    size_t left = 0;
    if (zkr_latch_count_down(imports, 1, &left, &error) != ZKR_OK) goto fail;
    printf("%s is in, %zu are left\n", parts[i], left);
  }

  /* Usually in another process. */
  if (zkr_latch_wait(imports, 30000, &error) != ZKR_OK) goto fail;
  printf("all parts are in: the report can be made\n");
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_client_close(client, 2000, NULL);
  zkr_latch_free(imports);
  zkr_client_free(client);
  return status;
}
