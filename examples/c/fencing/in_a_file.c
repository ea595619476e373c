/* A report in a file that only the holder of a lock writes, also when an earlier holder wakes up late. The
 * file beside it is that of examples/python/fencing/in_a_file.py, so that programs in both languages may
 * share a report.
 *
 *   cc -o in_a_file in_a_file.c $(pkg-config --cflags --libs zkrecipes)
 *   echo "one line more" | ZKRECIPES_HOSTS=zk1:2181 ./in_a_file /var/lib/report
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <zkrecipes.h>

/* STALE: another holder has come since, what we know is old, and nothing was written. */
enum result { DONE, STALE, FAILED };

/* Beside the file, in NAME.fence, stands the highest token. It is never deleted, and is locked while the file
 * is read or replaced: until the descriptor is closed, or its process has ended. */
static enum result enter(const char *path, uint64_t token, int *fence) {
  char name[4096], text[32] = "";
  snprintf(name, sizeof name, "%s.fence", path);
  *fence = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (*fence < 0 || flock(*fence, LOCK_EX) != 0 || pread(*fence, text, sizeof text - 1, 0) < 0) return FAILED;
  if (strtoull(text, NULL, 10) > token) return STALE;
  /* Before the file is changed, and always as long, so that a crash never leaves a lower one. */
  int length = snprintf(text, sizeof text, "%020" PRIu64 "\n", token);
  return pwrite(*fence, text, (size_t)length, 0) == length && fsync(*fence) == 0 ? DONE : FAILED;
}

static void leave(int fence) {
  if (fence >= 0) close(fence);
}

/* The first call of a new holder: writes the token, then reads. From here on no earlier holder writes. */
static enum result take_over(const char *path, uint64_t token, char *body, size_t size) {
  int fence = -1;
  enum result result = enter(path, token, &fence);
  FILE *file = result == DONE ? fopen(path, "r") : NULL;
  size_t length = file ? fread(body, 1, size, file) : 0;
  if (result == DONE && !file && errno != ENOENT) result = FAILED;
  if (file && (ferror(file) || length == size)) {
    errno = length == size ? EFBIG : EIO; /* what does not fit would be lost */
    result = FAILED;
  }
  body[length < size ? length : 0] = '\0';
  if (file) fclose(file);
  leave(fence);
  return result;
}

static enum result replace(const char *path, uint64_t token, const char *body) {
  char name[4096];
  int fence = -1;
  snprintf(name, sizeof name, "%s.new", path);
  enum result result = enter(path, token, &fence);
  FILE *file = result == DONE ? fopen(name, "w") : NULL;
  if (file) {
    int is_written = fputs(body, file) >= 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    is_written = fclose(file) == 0 && is_written;
    /* Whoever reads meanwhile has the old one or the new one, whole. */
    result = is_written && rename(name, path) == 0 ? DONE : FAILED;
  } else if (result == DONE) {
    result = FAILED;
  }
  leave(fence);
  return result;
}

int main(int count, char **arguments) {
  const char *path = count > 1 ? arguments[1] : "report";
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_lock *lock = NULL;
  enum result result = FAILED;
  char body[65536], line[1024] = "";

  if (zkr_client_connect(NULL, NULL, &client, &error) != ZKR_OK) goto end; /* ZKRECIPES_HOSTS */
  if (zkr_lock_new(client, "/locks/report", NULL, &lock, &error) != ZKR_OK) goto end;
  if (zkr_lock_acquire(lock, -1, NULL, &error) != ZKR_OK) goto end;
  uint64_t token = zkr_lock_fencing_token(lock);

  result = take_over(path, token, body, sizeof body - sizeof line);
  if (result == DONE) {
    printf("taken over with token %" PRIu64 "\n", token);
    fflush(stdout);
    if (fgets(line, sizeof line, stdin)) strcat(body, line); /* the work: it takes as long as it takes */
    result = replace(path, token, body);
  }
  if (result == DONE) printf("written with token %" PRIu64 "\n", token);
  if (result == STALE)
    fprintf(stderr, "nothing was written: a token above %" PRIu64 " has come since\n", token);
  if (result == FAILED) perror(path);
end:
  if (error) fprintf(stderr, "%s\n", zkr_error_message(error));
  zkr_error_free(error);
  zkr_client_close(client, 2000, NULL); /* gives back what is held */
  zkr_lock_free(lock);
  zkr_client_free(client);
  return result == DONE ? 0 : 1;
}
