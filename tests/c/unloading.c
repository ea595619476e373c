/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of the library before that of its program.
 */

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

/* How many threads of the library there are. */
static int threads_of_the_library(void) {
  int found = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) return -1;
  for (const struct dirent *one; (one = readdir(tasks));) {
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", one->d_name);
    FILE *said = fopen(path, "r");
    if (!said) continue;
    if (fgets(name, sizeof name, said)) {
      found += strncmp(name, "zkrecipes-io", 12) == 0 || strncmp(name, "zkrecipes-call", 14) == 0 ||
               strncmp(name, "zkrecipes-lease", 15) == 0 || strncmp(name, "zkrecipes-log", 13) == 0;
    }
    fclose(said);
  }
  closedir(tasks);
  return found;
}

static void end_the_library(zkr_status status, const zkr_error *error, void *user_data) {
  (void)status, (void)error;
  ending *end = user_data;
  end->status = zkr_library_shutdown(0, NULL);
  atomic_fetch_add(&end->calls, 1);
}

void the_library_ends_its_threads_and_starts_anew(void) {
  zkr_error *error = NULL;
  for (int round = 0; round < 3; round++) {
    ending end = {0};
    zkr_client *client = connected(hosts(), "unloaded");
    zkr_lock *lock = lock_on(client, path("shutdown"));
    OK(zkr_lock_acquire(lock, 5000, NULL, &error));
    CHECK(threads_of_the_library() > 0);
    REFUSED(zkr_library_shutdown(1000, &error), ZKR_INVALID, "open");
    CHECK(zkr_lock_verify_async(lock, end_the_library, &end) == ZKR_OK);
    EVENTUALLY(atomic_load(&end.calls) == 1);
    CHECK(end.status == ZKR_DEADLOCK);
    /* What is closed in the background is waited for. */
    if (round == 0) OK(zkr_client_close(client, 5000, &error));
    zkr_client_free(client);
    OK(zkr_library_shutdown(10000, &error));
    CHECK(threads_of_the_library() == 0);
    /* Nothing is to do any more, and what is left can be freed. */
    OK(zkr_library_shutdown(0, &error));
    zkr_lock_free(lock);
  }
}

void a_plug_in_is_unloaded_while_its_program_goes_on(void) {
  const char *name = strrchr(this_program, '/');
  char where[4096];
  CHECK(name != NULL);
  snprintf(where, sizeof where, "%.*s/plugin.so", (int)(name - this_program), this_program);
  for (int round = 0; round < 3; round++) {
    int (*run)(const char *) = NULL;
    void *plugin = dlopen(where, RTLD_NOW | RTLD_LOCAL);
    CHECK(plugin != NULL);
    void *found = dlsym(plugin, "plugin_run");
    memcpy(&run, &found, sizeof run);
    CHECK(run != NULL);
    int failed_at = run(hosts());
    CHECK(failed_at == 0);
    CHECK(threads_of_the_library() == 0);
    CHECK(dlclose(plugin) == 0);
    CHECK(dlopen(where, RTLD_NOW | RTLD_NOLOAD) == NULL);
  }
}
