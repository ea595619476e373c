/* Work that waits: whoever crashes in the middle of an item leaves it to the next.
 *
 *   cc -o queue queue.c $(pkg-config --cflags --libs zkrecipes)
 *   ./queue zk1:2181,zk2:2181        or, without a server anywhere:  ./queue embedded:
 */

#include <stdio.h>
#include <zkrecipes.h>

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_queue *mails = NULL;
  zkr_item *mail = NULL;
  zkr_queue_options options = ZKR_QUEUE_OPTIONS_INIT;

  options.max_attempts = 5; /* then it goes to the dead letters: zkr_queue_dead */
  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_queue_new(client, "/queues/mails", &options, &mails, &error) != ZKR_OK) goto fail;
  /* A request that is made again, after whatever failed, puts nothing twice. */
  if (zkr_queue_put_with(mails, "hello", 5, "request-1042", 5000, &error) != ZKR_OK) goto fail;

  if (zkr_queue_claim(mails, 5000, &mail, &error) != ZKR_OK) goto fail;
  printf("sending: %s\n", (const char *)zkr_item_data(mail));
  if (zkr_item_ack(mail, &error) != ZKR_OK) goto fail; /* done; without this the next one gets it */
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_item_free(mail);
  zkr_client_close(client, 2000, NULL);
  zkr_queue_free(mails);
  zkr_client_free(client);
  return status;
}
