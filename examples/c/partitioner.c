/* Regions that are copied by whoever is there: start it several times, and stop one.
 *
 *   cc -std=c11 -o partitioner partitioner.c $(pkg-config --cflags --libs zkrecipes)
 *   ./partitioner zk1:2181,zk2:2181        or, without a server anywhere:  ./partitioner embedded:
 */

#include <stdatomic.h>
#include <stdio.h>
#include <zkrecipes.h>

/* What this process has to copy. */
static struct {
  zkr_held *held;
  atomic_bool moves;
} regions[3];

/* On the library's thread: somebody else is to have it. */
static void asked(void *moves) { atomic_store((atomic_bool *)moves, true); }

/* Copies the next piece of one region, and lets go of what is to move. */
static zkr_status copy_next(size_t i, zkr_error **error) {
  zkr_held *held = regions[i].held;
  if (!zkr_held_is_held(held)) { /* lost, as with a lock */
    zkr_held_free(held);
    regions[i].held = NULL;
  } else if (atomic_load(&regions[i].moves)) {
    printf("%s is to move\n", zkr_held_name(held));
    if (zkr_held_release(held, error) != ZKR_OK) return zkr_error_code(*error);
    zkr_held_free(held);
    regions[i].held = NULL;
  } else {
    printf("a piece of %s, with token %llu\n", zkr_held_name(held),
           (unsigned long long)zkr_held_fencing_token(held));
  }
  return ZKR_OK;
}

int main(int count, char **arguments) {
  const char *names[] = {"eu", "us", "asia"};
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_partitioner *partitioner = NULL;
  zkr_held *won = NULL;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_partitioner_new(client, "/examples/regions", names, 3, NULL, &partitioner, &error) != ZKR_OK)
    goto fail;

  for (int pieces = 0; pieces < 10; pieces++) { /* a service goes on until it is told to stop */
    zkr_status status = zkr_partitioner_next(partitioner, 100, &won, &error);
    if (status == ZKR_OK) {
      size_t i = 0;
      while (regions[i].held) i++;
      regions[i].held = won;
      atomic_store(&regions[i].moves, false);
      if (zkr_held_on_revoke(won, asked, &regions[i].moves, NULL, &error) != ZKR_OK) goto fail;
    } else if (status == ZKR_TIMEOUT) { /* nothing more is ours now */
      zkr_error_free(error);
      error = NULL;
    } else {
      goto fail;
    }
    for (size_t i = 0; i < 3; i++)
      if (regions[i].held && copy_next(i, &error) != ZKR_OK) goto fail;
  }
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  for (size_t i = 0; i < 3; i++) zkr_held_free(regions[i].held);
  zkr_partitioner_free(partitioner);
  zkr_client_close(client, 2000, NULL); /* leaves, and waits until all is let go of */
  zkr_client_free(client);
  return status;
}
