/* Three instances of a service, and somebody who calls them in turn and leaves out the one that does not
 * answer.
 *
 *   cc -o discovery discovery.c $(pkg-config --cflags --libs zkrecipes)
 *   ./discovery zk1:2181,zk2:2181        or, without a server anywhere:  ./discovery embedded:
 */

#include <stdio.h>
#include <string.h>
#include <zkrecipes.h>

static bool call(const char *uri) {
  if (strcmp(uri, "http://10.0.0.2:8080/hello") == 0) return false;
  printf("called %s\n", uri);
  return true;
}

int main(int count, char **arguments) {
  const char *addresses[] = {"10.0.0.1", "10.0.0.2", "10.0.0.3"};
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_discovery *discovery = NULL;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_discovery_new(client, "/examples/services", &discovery, &error) != ZKR_OK) goto fail;
  for (size_t i = 0; i < 3; i++) {
    zkr_service service = ZKR_SERVICE_INIT;
    zkr_registration *registration = NULL;
    service.name = "hello";
    service.address = addresses[i];
    service.port = 8080;
    service.uri_spec = "{scheme}://{address}:{port}/{name}";
    if (zkr_discovery_register(discovery, &service, &registration, &error) != ZKR_OK) goto fail;
    /* It stays registered until it is unregistered or the client is closed. */
    zkr_registration_free(registration);
  }

  for (size_t i = 0; i < 6; i++) {
    /* Only the first one asks the server. The list has the one that was picked, or none. */
    zkr_instances *picked = NULL;
    if (zkr_discovery_pick(discovery, "hello", ZKR_PICK_BY_ROUND_ROBIN, &picked, &error) != ZKR_OK) goto fail;
    const zkr_instance *instance = zkr_instances_get(picked, 0);
    if (instance && !call(instance->uri)) {
      printf("%s does not answer; for a while others are picked\n", instance->address);
      zkr_instances_failed(picked, 0);
    }
    zkr_instances_free(picked);
  }
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_client_close(client, 2000, NULL); /* takes back what is dynamic */
  zkr_discovery_free(discovery);
  zkr_client_free(client);
  return status;
}
