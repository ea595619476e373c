/* What a name stands for: one process binds it, others look it up.
 *
 *   cc -o names names.c $(pkg-config --cflags --libs zkrecipes)
 *   ./names zk1:2181,zk2:2181        or, without a server anywhere:  ./names embedded:
 */

#include <stdio.h>
#include <zkrecipes.h>

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_names *services = NULL;
  zkr_buffer *address = NULL;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_names_new(client, "/examples/services", &services, &error) != ZKR_OK) goto fail;
  /* For as long as this client lives, over all its sessions. */
  if (zkr_names_bind(services, "billing", "10.0.0.7:443", 12, true, &error) != ZKR_OK) goto fail;
  if (zkr_names_bind(services, "billing", "10.0.0.8:443", 12, true, &error) == ZKR_EXISTS) {
    printf("one binding at a time\n");
    zkr_error_free(error);
    error = NULL;
  }

  if (zkr_names_lookup(services, "billing", &address, &error) != ZKR_OK) goto fail;
  if (address) printf("billing is at %s\n", (const char *)zkr_buffer_data(address));
  if (zkr_names_unbind(services, "billing", &error) != ZKR_OK) goto fail;
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_client_close(client, 2000, NULL);
  zkr_buffer_free(address);
  zkr_names_free(services);
  zkr_client_free(client);
  return status;
}
