/* Candidates in threads of a C program; README.md says what a worker does. */

#include <arpa/inet.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zkrecipes.h>

static const char *path, *name;
static int port;
static zkr_client *client;
static atomic_bool failed;

/* Tells the resource that somebody leads; 0 if it refuses. */
static int act(int resource, uint64_t epoch, const char *candidate) {
  char line[256];
  int length = snprintf(line, sizeof line, "%" PRIu64 " %s\n", epoch, candidate);
  return write(resource, line, (size_t)length) == length && read(resource, line, sizeof line) == 3;
}

static void lead(zkr_leadership *leadership, const char *candidate) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int resource = socket(AF_INET, SOCK_STREAM, 0);
  uint64_t epoch = zkr_leadership_epoch(leadership);
  if (connect(resource, (struct sockaddr *)&address, sizeof address) == 0 &&
      zkr_leadership_acknowledge(leadership, candidate, strlen(candidate), NULL) == ZKR_OK)
    for (uint64_t acts = 1 + epoch % 5; acts > 0 && zkr_leadership_is_held(leadership); acts--)
      if (!act(resource, epoch, candidate)) break;
  close(resource);
}

static void *stand(void *number) {
  char candidate[64];
  snprintf(candidate, sizeof candidate, "%s-%zu", name, (size_t)number);
  zkr_election *election = NULL;
  zkr_error *error = NULL;
  zkr_status status = zkr_election_new(client, path, candidate, strlen(candidate), NULL, &election, &error);
  while (status == ZKR_OK || status == ZKR_CONNECTION_LOST) {
    zkr_leadership *leadership = NULL;
    zkr_error_free(error);
    error = NULL;
    status = zkr_election_campaign(election, -1, &leadership, &error);
    if (status != ZKR_OK) continue;
    lead(leadership, candidate);
    zkr_leadership_release(leadership, NULL);
    zkr_leadership_free(leadership);
  }
  if (status != ZKR_CLOSED) {
    fprintf(stderr, "%s: %s\n", candidate, error ? zkr_error_message(error) : "?");
    failed = true;
  }
  zkr_error_free(error);
  zkr_election_free(election);
  return NULL;
}

int main(int count, char **arguments) {
  if (count != 7) return 2;
  path = arguments[2];
  name = arguments[3];
  port = atoi(arguments[5]);
  size_t candidates = (size_t)atoi(arguments[4]);
  zkr_options options = ZKR_OPTIONS_INIT;
  options.session_timeout_ms = atoi(arguments[6]);
  options.connect_timeout_ms = 60000;
  zkr_error *error = NULL;
  if (zkr_client_connect(arguments[1], &options, &client, &error) != ZKR_OK) {
    fprintf(stderr, "%s\n", zkr_error_message(error));
    return 1;
  }
  pthread_t *threads = calloc(candidates, sizeof *threads);
  for (size_t i = 0; i < candidates; i++) pthread_create(&threads[i], NULL, stand, (void *)(i + 1));
  while (getchar() != EOF) continue;
  zkr_client_close(client, -1, NULL);
  for (size_t i = 0; i < candidates; i++) pthread_join(threads[i], NULL);
  zkr_client_free(client);
  free(threads);
  return failed;
}
