/* Two sites pay together or not at all. Here both are in one process; in life each is a process of its own.
 *
 *   cc -o two_phase_commit two_phase_commit.c $(pkg-config --cflags --libs zkrecipes)
 *   ./two_phase_commit zk1:2181,zk2:2181        or, without a server:  ./two_phase_commit embedded:
 */

#include <stdio.h>
#include <zkrecipes.h>

static const char *const names[] = {"bank", "shop"};

static zkr_status vote(zkr_two_phase_commit *site, zkr_proposal **proposal, zkr_error **error) {
  zkr_status status = zkr_two_phase_commit_next(site, 30000, proposal, error);
  if (status != ZKR_OK) return status;
  /* A real site first writes down, on its own disk, all that it needs to commit whatever happens. If it
   * cannot: zkr_proposal_vote_abort. */
  printf("asked for %s\n", (const char *)zkr_proposal_payload(*proposal));
  return zkr_proposal_vote_commit(*proposal, error);
}

/* May be done twice, so it is done before it is acknowledged. */
static zkr_status finish(zkr_proposal *proposal, const char *name, zkr_error **error) {
  zkr_outcome outcome = ZKR_OUTCOME_NONE;
  zkr_status status = zkr_proposal_outcome(proposal, -1, &outcome, error);
  if (status != ZKR_OK) return status;
  printf("%s does: %s\n", name, zkr_outcome_name(outcome));
  return zkr_proposal_acknowledge(proposal, error);
}

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_two_phase_commit *sites[2] = {NULL, NULL};
  zkr_proposal *proposals[2] = {NULL, NULL};
  zkr_commit_transaction *payment = NULL;
  zkr_outcome outcome = ZKR_OUTCOME_NONE;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  for (int i = 0; i < 2; i++) {
    const char *path = "/examples/payments";
    if (zkr_two_phase_commit_new(client, path, ZKR_COMMIT_MODE_COORDINATOR, &sites[i], &error) != ZKR_OK)
      goto fail;
    if (zkr_two_phase_commit_join(sites[i], names[i], &error) != ZKR_OK) goto fail;
  }
  /* Whoever has a handle can begin one: the bank, here. */
  if (zkr_two_phase_commit_begin(sites[0], "p-4711", names, 2, "100 EUR", 7, 30000, &payment, &error) !=
      ZKR_OK)
    goto fail;
  for (int i = 0; i < 2; i++)
    if (vote(sites[i], &proposals[i], &error) != ZKR_OK) goto fail;
  if (zkr_commit_transaction_outcome(payment, -1, &outcome, &error) != ZKR_OK) goto fail;
  printf("decided: %s\n", zkr_outcome_name(outcome));
  for (int i = 0; i < 2; i++)
    if (finish(proposals[i], names[i], &error) != ZKR_OK) goto fail;
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_client_close(client, 2000, NULL);
  for (int i = 0; i < 2; i++) {
    zkr_proposal_free(proposals[i]);
    zkr_two_phase_commit_free(sites[i]);
  }
  zkr_commit_transaction_free(payment);
  zkr_client_free(client);
  return status;
}
