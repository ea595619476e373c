/* Readers share, a writer is alone, and a writer may go on as a reader.
 *
 *   cc -o read_write_lock read_write_lock.c $(pkg-config --cflags --libs zkrecipes)
 *   ./read_write_lock zk1:2181,zk2:2181        or, without a server anywhere:  ./read_write_lock embedded:
 */

#include <stdio.h>
#include <zkrecipes.h>

int main(int count, char **arguments) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_read_write_lock *catalogue = NULL;

  if (zkr_client_connect(count > 1 ? arguments[1] : NULL, NULL, &client, &error) != ZKR_OK) goto fail;
  if (zkr_read_write_lock_new(client, "/locks/catalogue", &catalogue, &error) != ZKR_OK) goto fail;

  /* Each side is a zkr_lock with all its verbs; they belong to the read/write lock. */
  zkr_lock *read = zkr_read_write_lock_read(catalogue), *write = zkr_read_write_lock_write(catalogue);
  if (zkr_lock_acquire(write, 5000, NULL, &error) != ZKR_OK) goto fail;
  printf("rebuilding the catalogue, nobody reads\n");

  /* From writing to reading; nobody writes in between. */
  if (zkr_lock_downgrade(write, NULL, &error) != ZKR_OK) goto fail;
  printf("checking what was built, others may read too\n");

  zkr_lock_release(read, &error);
fail:
  if (error) fprintf(stderr, "%s: %s\n", zkr_status_name(zkr_error_code(error)), zkr_error_message(error));
  int status = error != NULL;
  zkr_error_free(error);
  zkr_client_close(client, 2000, NULL); /* gives back what a failure left held, and waits until it is free */
  zkr_read_write_lock_free(catalogue);
  zkr_client_free(client);
  return status;
}
