/* Follows the children of a node, over reconnections and new sessions.
 *
 *   cc -o watch watch.c $(pkg-config --cflags --libs zkrecipes)
 *   ./watch zk1:2181,zk2:2181        or, without a server anywhere:  ./watch embedded:
 */

#include <stdio.h>
#include <zkrecipes.h>

static int told;

static void on_change(zkr_status status, const zkr_node_state *state, const zkr_error *error,
                      void *user_data) {
  (void)user_data;
  told++;
  if (status != ZKR_OK) {
    fprintf(stderr, "no more will be told: %s\n", zkr_error_message(error));
    return;
  }
  printf("there is");
  for (size_t i = 0; i < zkr_strings_count(state->children); i++)
    printf(" %s", zkr_strings_get(state->children, i));
  printf("%s\n", zkr_strings_count(state->children) ? "" : " nobody");
}

int main(int count, char **arguments) {
  const char *path = "/examples/watched", *child = "/examples/watched/first";
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_subscription *subscription = NULL;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_nodes_ensure(client, path, &error) != ZKR_OK) goto fail;
  /* The callback is told the present state first. Here it runs on this thread, inside zkr_client_dispatch. */
  if (zkr_client_event_fd(client) < 0) goto fail;
  if (zkr_nodes_watch(client, path, ZKR_WATCH_KIND_CHILDREN, on_change, NULL, &subscription, &error) !=
      ZKR_OK)
    goto fail;
  while (told < 1) zkr_client_dispatch(client, 1, -1);
  if (zkr_nodes_create(client, child, NULL, 0, ZKR_EPHEMERAL, NULL, &error) != ZKR_OK) goto fail;
  while (told < 2) zkr_client_dispatch(client, 1, -1);
  if (zkr_nodes_delete(client, child, -1, &error) != ZKR_OK) goto fail;
  while (told < 3) zkr_client_dispatch(client, 1, -1);
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_subscription_free(subscription);
  zkr_client_close(client, 2000, NULL);
  zkr_client_free(client);
  return status;
}
