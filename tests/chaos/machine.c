/* What a process is told of its clock and its disk. machine.py builds this, names it in LD_PRELOAD, and
   writes into the file that ZKR_MACHINE names: all of it may change while the process runs. The monotonic
   clock stays as it is, as it does when somebody sets the clock of a machine. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* As machine.py writes it. */
struct machine {
  _Atomic int64_t clock_ahead_ms;
  _Atomic int64_t sync_takes_ms;
  _Atomic int64_t disk_is_full;
};

static struct machine well;
static struct machine *machine = &well;
static int (*real_clock)(clockid_t, struct timespec *);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);

__attribute__((constructor)) static void attach(void) {
  const char *name = getenv("ZKR_MACHINE");
  int file = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
  real_clock = dlsym(RTLD_NEXT, "clock_gettime");
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite");
  if (file < 0) return;
  void *seen = mmap(NULL, sizeof(struct machine), PROT_READ, MAP_SHARED, file, 0);
  if (seen != MAP_FAILED) machine = seen;
  close(file);
}

int clock_gettime(clockid_t which, struct timespec *now) {
  /* Before this has been loaded completely, somebody may ask. */
  int status = real_clock ? real_clock(which, now) : (int)syscall(SYS_clock_gettime, which, now);
  if (status == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) {
    int64_t ms = atomic_load(&machine->clock_ahead_ms), rest = now->tv_nsec + ms % 1000 * 1000000;
    now->tv_sec += ms / 1000 + (rest >= 1000000000) - (rest < 0);
    now->tv_nsec = (rest + 1000000000) % 1000000000;
  }
  return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec told;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &told);
  *now = (struct timeval){.tv_sec = told.tv_sec, .tv_usec = told.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *now) {
  struct timespec told;
  clock_gettime(CLOCK_REALTIME, &told);
  if (now) *now = told.tv_sec;
  return told.tv_sec;
}

/* Nothing is written through: who is killed loses nothing that the system has, and the disk is not what is
 * tried. */
static int sync_file(void) {
  int64_t ms = atomic_load(&machine->sync_takes_ms);
  struct timespec takes = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  while (ms && nanosleep(&takes, &takes) != 0 && errno == EINTR) continue;
  return 0;
}

int fsync(int file) { return (void)file, sync_file(); }
int fdatasync(int file) { return (void)file, sync_file(); }

/* Not of the log, which is what the process prints, nor of sockets. */
static int finds_no_space(int file) {
  struct stat found;
  if (!atomic_load(&machine->disk_is_full) || file <= 2) return 0;
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) return 0;
  errno = ENOSPC;
  return 1;
}

ssize_t write(int file, const void *data, size_t length) {
  if (finds_no_space(file)) return -1;
  return real_write ? real_write(file, data, length) : syscall(SYS_write, file, data, length);
}

ssize_t pwrite(int file, const void *data, size_t length, off_t at) {
  if (finds_no_space(file)) return -1;
  return real_pwrite ? real_pwrite(file, data, length, at) : syscall(SYS_pwrite64, file, data, length, at);
}

ssize_t pwrite64(int file, const void *data, size_t length, off_t at) {
  return pwrite(file, data, length, at);
}
