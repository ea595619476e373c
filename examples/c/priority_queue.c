/* What is urgent comes first, and what is for later does not come before its time.
 *
 *   cc -o priority_queue priority_queue.c $(pkg-config --cflags --libs zkrecipes)
 *   ./priority_queue zk1:2181,zk2:2181        or, without a server anywhere:  ./priority_queue embedded:
 */

#include <stdio.h>
#include <zkrecipes.h>

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_priority_queue *calls = NULL;
  zkr_delay_queue *reminders = NULL;
  zkr_buffer *data = NULL;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_priority_queue_new(client, "/examples/calls", NULL, &calls, &error) != ZKR_OK) goto fail;
  if (zkr_priority_queue_put(calls, "the newsletter", 14, 10, 5000, &error) != ZKR_OK) goto fail;
  if (zkr_priority_queue_put(calls, "the doctor", 10, -1, 5000, &error) != ZKR_OK) goto fail;
  for (int i = 0; i < 2; i++) {
    if (zkr_priority_queue_get(calls, 5000, &data, &error) != ZKR_OK) goto fail;
    printf("%s\n", (const char *)zkr_buffer_data(data));
    zkr_buffer_free(data);
    data = NULL;
  }

  if (zkr_delay_queue_new(client, "/examples/reminders", NULL, &reminders, &error) != ZKR_OK) goto fail;
  if (zkr_delay_queue_put(reminders, "the tea is ready", 16, 300, 5000, &error) != ZKR_OK) goto fail;
  if (zkr_delay_queue_get(reminders, 5000, &data, &error) != ZKR_OK) goto fail;
  printf("%s, 300 ms later\n", (const char *)zkr_buffer_data(data));
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_client_close(client, 2000, NULL);
  zkr_buffer_free(data);
  zkr_priority_queue_free(calls);
  zkr_delay_queue_free(reminders);
  zkr_client_free(client);
  return status;
}
