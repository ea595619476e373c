/* The lines that a worker written in C obeys; bench/README.md says what a worker is. */

#ifndef ZKR_BENCH_LINE_H
#define ZKR_BENCH_LINE_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The monotonic clock in nanoseconds, which all processes of a machine share. */
static inline int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The value of a parameter, copied; empty if it is not there. */
static inline const char *text(const char *line, const char *name, char *value, size_t size) {
  char key[64];
  snprintf(key, sizeof key, " %s=", name);
  const char *found = strstr(line, key);
  size_t length = found ? strcspn(found + strlen(key), " \n") : 0;
  if (length >= size) length = size - 1;
  if (found) memcpy(value, found + strlen(key), length);
  value[length] = '\0';
  return value;
}

static inline long number(const char *line, const char *name) {
  char value[32];
  return atol(text(line, name, value, sizeof value));
}

static inline int is(const char *line, const char *verb) {
  size_t length = strlen(verb);
  return strncmp(line, verb, length) == 0 && strchr(" \n", line[length]);
}

static inline void list(const char *name, const int64_t *numbers, long count) {
  printf(" %s=", name);
  for (long i = 0; i < count; i++) printf(i ? ",%" PRId64 : "%" PRId64, numbers[i]);
}

#endif
