/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the scenario driver share.
 */

#ifndef DRIVER_H
#define DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zkrecipes.h>

#include "generated_recipes.h"

enum { MAX_WORDS = 64, MAX_NAME = 128 };

typedef struct client client;
typedef struct lock lock;
typedef struct command command;
typedef struct term term;

/* A partition that was won. */
typedef struct partition {
  char name[MAX_NAME];
  lock *of;
  zkr_held *held;
} partition;

/* The recipes whose handle is a field of that name, and is freed as such. */
#define RECIPES(X) \
  X(multi_lock)    \
  X(semaphore)     \
  X(election)      \
  X(leadership)    \
  GENERATED_RECIPES(X)

/* Whatever a name stands for: exactly one of the handles is set, but for an election's latest leadership. */
struct lock {
  char name[MAX_NAME];
  client *of;
#define FIELD(recipe) zkr_##recipe *recipe;
  RECIPES(FIELD)
#undef FIELD
  zkr_lock *handle;
  term *term; /* that `run` leads in now */
  zkr_two_phase_commit *commits;
  zkr_commit_transaction *transaction;
  zkr_proposal *proposal;
  zkr_queue *queue;
  zkr_priority_queue *priority_queue;
  zkr_delay_queue *delay_queue;
  zkr_registration *registration;
  zkr_service service; /* as it is registered */
  zkr_instances *picked;
  const lock *service_of;     /* the discovery of which a service is to be followed */
  zkr_item *items[MAX_WORDS]; /* claimed through it and not settled, the last one last */
  size_t claimed;
  const char *node; /* that is to be followed, and what of it */
  zkr_watch_kind watch_kind;
  zkr_subscription *followed; /* who follows it */
  zkr_held *held;             /* the latest acquisition */
  zkr_read_write_lock *whole; /* what it is a side of */
  partition *won[MAX_WORDS];  /* partitions, the last one last */
  size_t won_count;
  lock *next;
};

struct client {
  char name[MAX_NAME];
  zkr_client *handle;
  lock *locks;
  client *next;
};

struct command {
  char *seq;
  client *client;
  char *words[MAX_WORDS]; /* the verb and its arguments */
  int count;
  zkr_cancel_token *token;
  command *next;
};

/* Writes one line. */
void say(const char *format, ...);
/* Answers with the error, and frees it. */
void fail(const command *command, zkr_status status, zkr_error *error);
/* Answers "ok", or with the error. */
void answer(const command *command, zkr_status status, zkr_error *error);
/* The same with what was found. */
void answer_bool(const command *command, zkr_status status, bool found, zkr_error *error);
void invalid(const command *command);
void answer_number(const command *command, zkr_status status, int64_t found, zkr_error *error);
/* The same, and frees that: "none" if it is NULL. */
void answer_data(const command *command, zkr_status status, zkr_buffer *found, zkr_error *error);
void answer_versioned(const command *command, zkr_status status, zkr_buffer *found, int32_t version,
                      zkr_error *error);
void answer_names(const command *command, zkr_status status, zkr_strings *found, zkr_error *error);
void answer_entries(const command *command, zkr_status status, zkr_entries *found, zkr_error *error);
/* Names, or how many: what they are of lives as long as the command. */
typedef struct {
  const char *const *names;
  size_t count;
} partition_names;
partition_names partitions_of(const char *text);
/* "a=1,b=2", or "-" when there is nothing. */
const char *map_of(const zkr_entries *all, char *line, size_t room);

/* An argument: NULL if it is left out or "-", or "" then. */
const char *word(const command *command, int index);
const char *text(const command *command, int index);
int64_t integer(const command *command, int index);
/* In milliseconds; for ever if it is left out. */
int64_t timeout(const command *command, int index);
/* The value of an option NAME=VALUE, NULL if it is not given. */
const char *option(const command *command, const char *name);
/* Whether a word is there that has no value. */
bool has_word(const command *command, const char *wanted);

/* What a command names; something without any handle, which every verb refuses, if there is no such thing. */
const lock *named(const command *command);
/* The same to change it; NULL if there is no such thing. */
lock *find_lock(const command *command);
/* The same by its name. */
lock *find(const client *client, const char *name);
/* Makes this the latest acquisition; returns the one before. */
zkr_held *replace_held(lock *of, zkr_held *held);
/* Gives a thing a name; a later one of the same name hides the earlier. */
void add(client *client, lock what, const char *name, const char *side);

/* A word, and what it does. */
typedef struct verb {
  const char *name;
  void (*run)(command *);
  bool blocks;
} verb;

extern const verb family_verbs[];
extern const verb recipe_verbs[];
extern const verb queue_verbs[];
extern const verb described_verbs[];
extern const verb commit_verbs[];
extern const verb service_verbs[];

/* The item claimed last through a queue; NULL if there is none. */
zkr_item *item_of(const lock *of);
/* Whether it is a queue of whatever kind. */
bool is_queue(const lock *of);
/* Of queues, in queues.c. */
zkr_status cancel_queue(const lock *of, zkr_error **error);
void free_queue(lock *of);
void do_nack(command *);

/* Of elections, in terms.c. */
void do_run(command *);
void do_end_term(command *);

/* What is followed ends. */
void ended(const lock *of, zkr_status status);
/* Of services, in services.c. */
zkr_status follow_service(lock *of, zkr_error **error);

/* Verbs that have another name for an election. */
void do_contenders(command *);
void do_release(command *);

#endif
