/* A worker at a queue in C, with threads; ../README.md says what a worker does. */

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zkrecipes.h>

enum { BATCH = 100, SIZE = 100 };

static const char *path, *counter;
static int told;
static bool claims;
static zkr_client *client;
static atomic_bool failed;

static void report(const char *what, zkr_error *error) {
  fprintf(stderr, "%s: %s\n", what, error ? zkr_error_message(error) : "?");
  zkr_error_free(error);
  failed = true;
}

static zkr_status put(zkr_queue *queue, long first, long last, zkr_error **error) {
  static char items[BATCH][SIZE + 1];
  const void *data[BATCH];
  size_t sizes[BATCH];
  zkr_status status = ZKR_OK;
  while (first < last && status == ZKR_OK) {
    size_t count = 0;
    for (; count < BATCH && first < last; count++, first++) {
      snprintf(items[count], sizeof items[count], "%-*ld", SIZE, first);
      data[count] = items[count];
      sizes[count] = SIZE;
    }
    status = zkr_queue_put_many(queue, data, sizes, count, -1, error);
  }
  return status;
}

/* What was done is told in one piece, so that threads do not mix their lines. */
static void tell(const void *data) {
  char line[32];
  int length = snprintf(line, sizeof line, "%ld\n", strtol(data, NULL, 10));
  if (write(told, line, (size_t)length) != length) failed = true;
}

static zkr_status get(zkr_queue *queue, zkr_error **error) {
  zkr_buffer *data = NULL;
  zkr_status status = zkr_queue_get(queue, -1, &data, error);
  if (status == ZKR_OK) tell(zkr_buffer_data(data));
  zkr_buffer_free(data);
  return status;
}

static zkr_status claim(zkr_queue *queue, zkr_error **error) {
  zkr_item *item = NULL;
  zkr_transaction *done = NULL;
  zkr_status status = zkr_queue_claim(queue, -1, &item, error);
  if (status == ZKR_OK) status = zkr_nodes_transaction(client, &done, error);
  if (status == ZKR_OK) status = zkr_transaction_set(done, counter, "", 0, -1, error);
  if (status == ZKR_OK) status = zkr_item_ack_with(item, done, error);
  if (status == ZKR_OK) tell(zkr_item_data(item));
  zkr_transaction_free(done);
  zkr_item_free(item);
  return status;
}

static void *consume(void *nothing) {
  zkr_queue *queue = NULL;
  zkr_error *error = NULL;
  zkr_status status = zkr_queue_new(client, path, NULL, &queue, &error);
  while (status == ZKR_OK || status == ZKR_CONNECTION_LOST || status == ZKR_NOT_HELD) {
    if (status == ZKR_CONNECTION_LOST && write(told, "?\n", 2) != 2) failed = true;
    zkr_error_free(error);
    error = NULL;
    status = claims ? claim(queue, &error) : get(queue, &error);
  }
  if (status == ZKR_CLOSED)
    zkr_error_free(error);
  else
    report("a consumer", error);
  zkr_queue_free(queue);
  return nothing;
}

static void consume_all(size_t calls, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  told = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(told, (struct sockaddr *)&address, sizeof address) != 0) {
    report("the register", NULL);
    return;
  }
  pthread_t *threads = calloc(calls, sizeof *threads);
  for (size_t i = 0; i < calls; i++) pthread_create(&threads[i], NULL, consume, NULL);
  while (getchar() != EOF) continue;
  zkr_client_close(client, -1, NULL);
  for (size_t i = 0; i < calls; i++) pthread_join(threads[i], NULL);
  free(threads);
  close(told);
}

int main(int count, char **arguments) {
  if (count < 8) return 2;
  path = arguments[2];
  claims = strcmp(arguments[5], "claim") == 0;
  counter = count > 8 ? arguments[8] : NULL;
  zkr_options options = ZKR_OPTIONS_INIT;
  options.session_timeout_ms = atoi(arguments[3]);
  options.connect_timeout_ms = 60000;
  zkr_error *error = NULL;
  if (zkr_client_connect(arguments[1], &options, &client, &error) != ZKR_OK) {
    report("connecting", error);
    return 1;
  }
  if (strcmp(arguments[5], "put") == 0) {
    zkr_queue *queue = NULL;
    zkr_queue_options bounded = ZKR_QUEUE_OPTIONS_INIT;
    bounded.max_items = atol(arguments[4]);
    if (zkr_queue_new(client, path, &bounded, &queue, &error) != ZKR_OK ||
        put(queue, atol(arguments[6]), atol(arguments[7]), &error) != ZKR_OK)
      report("putting", error);
    zkr_queue_free(queue);
    zkr_client_close(client, -1, NULL);
  } else {
    consume_all((size_t)atol(arguments[6]), atoi(arguments[7]));
  }
  zkr_client_free(client);
  return failed;
}
