/* Follows a setting that any process in the ensemble may change.
 *
 *   cc -o config config.c $(pkg-config --cflags --libs zkrecipes)
 *   ./config zk1:2181,zk2:2181        or, without a server anywhere:  ./config embedded:
 */

#include <stdio.h>
#include <zkrecipes.h>

static int told;

static void on_change(zkr_status status, const zkr_buffer *value, int32_t version, const zkr_error *error,
                      void *user_data) {
  (void)user_data;
  told++;
  if (status != ZKR_OK)
    fprintf(stderr, "no more will be told: %s\n", zkr_error_message(error));
  else if (value)
    printf("the limit is %s (change %d)\n", zkr_buffer_text(value), (int)version);
  else
    printf("nobody has set a limit\n");
}

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_config *limit = NULL;
  zkr_subscription *subscription = NULL;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_config_new(client, "/config/limit", &limit, &error) != ZKR_OK) goto fail;
  /* The callback is told the present value first. Here it runs on this thread, inside zkr_client_dispatch. */
  if (zkr_client_event_fd(client) < 0) goto fail;
  if (zkr_config_watch(limit, on_change, NULL, &subscription, &error) != ZKR_OK) goto fail;
  while (told < 1) zkr_client_dispatch(client, 1, -1);

  if (zkr_config_set(limit, "10", 2, -1, NULL, &error) != ZKR_OK) goto fail;
  while (told < 2) zkr_client_dispatch(client, 1, -1);
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_subscription_free(subscription);
  zkr_config_free(limit);
  zkr_client_close(client, 2000, NULL);
  zkr_client_free(client);
  return status;
}
