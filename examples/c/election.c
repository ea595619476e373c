/* One of many processes leads; everybody can know who.
 *
 *   cc -o election election.c $(pkg-config --cflags --libs zkrecipes)
 *   ./election zk1:2181,zk2:2181        or, without a server anywhere:  ./election embedded:
 */

#include <inttypes.h>
#include <stdio.h>
#include <zkrecipes.h>

static void on_lost(const zkr_error *error, void *user_data) {
  (void)user_data;
  fprintf(stderr, "we lead no more: %s\n", zkr_error_message(error));
}

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_election *election = NULL;
  zkr_leadership *leadership = NULL;
  zkr_leader *leader = NULL;
  zkr_election_options options = ZKR_ELECTION_OPTIONS_INIT;

  options.priority = 1; /* of all who stand the one with the highest leads */
  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_election_new(client, "/leader", "10.0.0.7:80", 11, &options, &election, &error) != ZKR_OK)
    goto fail;
  if (zkr_election_campaign(election, 5000, &leadership, &error) != ZKR_OK) goto fail;
  if (zkr_leadership_on_lost(leadership, on_lost, NULL, NULL, &error) != ZKR_OK) goto fail;

  /* Whoever asks for the leader sees that it has begun its work. */
  if (zkr_leadership_acknowledge(leadership, "ready", 5, &error) != ZKR_OK) goto fail;
  if (zkr_election_leader(election, &leader, &error) != ZKR_OK) goto fail;
  printf("%s leads in epoch %" PRIu64 ": %s\n", zkr_leader_identity(leader), zkr_leader_epoch(leader),
         (const char *)zkr_leader_data(leader));

  zkr_leadership_release(leadership, &error);
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_client_close(client, 2000, NULL); /* resigns what a failure left held */
  zkr_leader_free(leader);
  zkr_leadership_free(leadership);
  zkr_election_free(election);
  zkr_client_free(client);
  return status;
}
