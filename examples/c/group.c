/* Workers that know each other by name, and names that clients look up.
 *
 *   cc -o group group.c $(pkg-config --cflags --libs zkrecipes)
 *   ./group zk1:2181,zk2:2181        or, without a server anywhere:  ./group embedded:
 *   ./group zk1:2181 list            lists who is there for ever
 */

#include <stdio.h>
#include <string.h>
#include <zkrecipes.h>

/* All members at first, then every change; the event is only lent. */
static void on_event(zkr_status status, const zkr_group_event *event, const zkr_error *error,
                     void *user_data) {
  const char *happened[] = {"is there", "joined", "left", "changed"};
  bool *over = user_data;
  *over = status != ZKR_OK;
  if (*over) {
    fprintf(stderr, "no more will be told: %s\n", zkr_error_message(error));
    return;
  }
  for (size_t i = 0; event->members && i < zkr_entries_count(event->members); i++)
    printf("%s is there\n", zkr_entries_get(event->members, i)->name);
  if (event->name) printf("%s %s\n", event->name, happened[event->kind]);
  fflush(stdout);
}

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_group *workers = NULL;
  zkr_names *services = NULL;
  zkr_entries *members = NULL;
  zkr_buffer *address = NULL;
  zkr_subscription *subscription = NULL;
  bool over = false;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;

  /* A member for as long as this process lives, whatever becomes of its connections and sessions. */
  if (zkr_group_new(client, "/groups/workers", NULL, &workers, &error) != ZKR_OK) goto fail;
  if (count > 2 && strcmp(arguments[2], "list") == 0) {
    /* The callback runs on this thread, inside zkr_client_dispatch. */
    if (zkr_client_event_fd(client) < 0) goto fail;
    if (zkr_group_watch(workers, on_event, &over, &subscription, &error) != ZKR_OK) goto fail;
    while (!over) zkr_client_dispatch(client, 1, -1);
    goto fail;
  }
  if (zkr_group_join(workers, "worker-1", "idle", 4, &error) != ZKR_OK) goto fail;
  if (zkr_group_update(workers, "busy", 4, &error) != ZKR_OK) goto fail;
  if (zkr_group_members(workers, &members, &error) != ZKR_OK) goto fail;
  for (size_t i = 0; i < zkr_entries_count(members); i++) {
    const zkr_entry *one = zkr_entries_get(members, i);
    printf("%s is %s\n", one->name, (const char *)one->data);
  }

  if (zkr_names_new(client, "/names/services", &services, &error) != ZKR_OK) goto fail;
  if (zkr_names_bind(services, "billing", "10.0.0.7:443", 12, true, &error) != ZKR_OK) goto fail;
  if (zkr_names_lookup(services, "billing", &address, &error) != ZKR_OK) goto fail;
  if (address) printf("billing is at %s\n", zkr_buffer_text(address));
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_subscription_free(subscription);
  zkr_client_close(client, 2000, NULL); /* leaves the group and unbinds what is ephemeral */
  zkr_buffer_free(address);
  zkr_entries_free(members);
  zkr_names_free(services);
  zkr_group_free(workers);
  zkr_client_free(client);
  return status;
}
