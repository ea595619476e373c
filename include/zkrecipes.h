/* SPDX-License-Identifier: Apache-2.0
 *
 * zkrecipes: distributed-coordination recipes on Apache ZooKeeper. Generated from the sources; do not edit.
 *
 *   zkr_error *error = NULL;
 *   zkr_client *client = NULL;
 *   zkr_lock *lock = NULL;
 *   if (zkr_client_connect("zk1:2181", NULL, &client, &error) != ZKR_OK) goto fail;
 *   if (zkr_lock_new(client, "/locks/report", NULL, &lock, &error) != ZKR_OK) goto fail;
 *   if (zkr_lock_acquire(lock, 5000, NULL, &error) != ZKR_OK) goto fail;
 *   if (!publish(zkr_lock_fencing_token(lock))) goto fail;
 *   zkr_lock_release(lock, &error);
 * fail:
 *   if (error) fprintf(stderr, "%s\n", zkr_error_message(error));
 *   zkr_error_free(error);
 *   zkr_client_close(client, 2000, NULL);
 *   zkr_lock_free(lock);
 *   zkr_client_free(client);
 *
 * That is the order to copy: closing gives back what a failure on the way left held, and is sure of it when it returns.
 * Freeing alone leaves that to the background. A process that ends in between, by exit or by returning from main, ends
 * the sessions still open within a second; what is killed or calls _exit or quick_exit leaves them to their timeout.
 *
 * Errors. A verb returns a zkr_status. Its last argument, zkr_error **error, may be NULL; otherwise *error must be
 * NULL on entry and is set only on failure. An error that stands there already is left alone.
 *
 * Ownership. Inputs are copied during the call. Every handle and every result that a call hands over has a _free,
 * which takes NULL. Results are emptied first, so a failed call leaves nothing to free. To free what is held is a way to
 * release it, as is to free or to close its client: no warning is logged.
 *
 * Handles. A handle that is NULL, freed, freed twice or of another kind is recognised and answered with ZKR_INVALID;
 * one whose client is closed with ZKR_CLOSED; one of the parent process with ZKR_FORKED. So a handle is not an
 * address: compare it with NULL, pass it on, nothing else.
 *
 * Forks. A child process may connect clients of its own, whatever its parent did. Every handle that the parent made
 * answers ZKR_FORKED there at once, whatever its threads were doing when it forked; freeing it frees the copy alone, and
 * the parent is undisturbed. Errors and lists already fetched stay readable.
 *
 * Threads. Every function may be called from any thread at any time; zkr_library_shutdown alone only when no other thread
 * uses the library. Callbacks of one client run one at a time, losses apart, on
 * delivery threads of the library; once the client was asked for zkr_client_event_fd, all of them run inside
 * zkr_client_dispatch. A callback must not block: blocking verbs inside one return ZKR_DEADLOCK, their _async forms work
 * everywhere. A thread that pthread_cancel is called for while it is in a function of the library goes on until that has
 * returned, and ends at its next cancellation point. To withdraw a call that blocks, cancel its zkr_cancel_token.
 *
 * Ending callbacks. One rule for zkr_subscription_free and zkr_client_free: outside callbacks they return when the
 * callbacks that they end are over, and none of them comes afterwards, so what those use may be freed next; hold no lock
 * that they take. Inside a callback, any callback of any client, they never wait: what they end does not begin any more,
 * but what is running on another thread goes on for as long as it takes, and what it uses must stay for so long.
 * zkr_subscription_free_with frees that at the right moment from everywhere. No other _free waits for callbacks, and each
 * call with _async still has its one.
 *
 * Time is in milliseconds. A timeout of 0 is one attempt without waiting, any negative one is for ever.
 *
 * Async. A verb with _async returns at once. If it returns ZKR_OK its callback is called exactly once, also if an
 * argument turns out to be bad; if it returns anything else, the callback is never called. */

#ifndef ZKRECIPES_H
#define ZKRECIPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The version of this header; zkr_version() is that of the library in use. */
#define ZKR_VERSION_MAJOR 0
#define ZKR_VERSION_MINOR 1
#define ZKR_VERSION_PATCH 0

/** The defaults of zkr_options. */
#define ZKR_OPTIONS_INIT \
  { sizeof(zkr_options), 10000, 10000, NULL, NULL, 0, ZKR_ACL_DEFAULT, 0, NULL, 0, false, true, {0}, NULL, \
    NULL, NULL, NULL, NULL, ZKR_NAMING_CURATOR, ZKR_LEASE_STRICT, 50, 5000, -1, false, {0}, false, {0}, 0, \
    false, {0}, 1000, 0, false, {0} }

/** The defaults of zkr_counter_options. */
#define ZKR_COUNTER_OPTIONS_INIT { sizeof(zkr_counter_options), ZKR_COUNTER_LAYOUT_ATOMIC, 0 }

/** The defaults of zkr_election_options. */
#define ZKR_ELECTION_OPTIONS_INIT { sizeof(zkr_election_options), ZKR_ELECTION_LAYOUT_LATCH, 0, 0, 0, 1000 }

/** The defaults of zkr_group_options. */
#define ZKR_GROUP_OPTIONS_INIT { sizeof(zkr_group_options), ZKR_GROUP_LAYOUT_DEFAULT, 0, false, {0} }

/** The defaults of zkr_lock_options. */
#define ZKR_LOCK_OPTIONS_INIT { sizeof(zkr_lock_options), false, {0}, 0 }

/** The defaults of zkr_partitioner_options. */
#define ZKR_PARTITIONER_OPTIONS_INIT { sizeof(zkr_partitioner_options), 1, 0, NULL, 30000 }

/** The defaults of zkr_queue_options. */
#define ZKR_QUEUE_OPTIONS_INIT \
    { sizeof(zkr_queue_options), -1, -1, 1, ZKR_QUEUE_LAYOUT_SIMPLE, false, {0}, 600000 }

/** A service of which nothing is known yet. */
#define ZKR_SERVICE_INIT \
  { sizeof(zkr_service), NULL, NULL, NULL, NULL, NULL, -1, -1, ZKR_SERVICE_TYPE_DYNAMIC, true, {0} }

/** What a verb answers. Everything but ZKR_OK has a sentence to go with it in the zkr_error. */
typedef enum zkr_status {
  /** Done. */
  ZKR_OK = 0,
  /**
   * The time given ran out. Nothing of ours is left waiting in ZooKeeper: our node is deleted, in the background
   * if the server is slow.
   */
  ZKR_TIMEOUT = 1,
  /** The caller withdrew, through a zkr_cancel_token, zkr_lock_cancel or by freeing the handle. */
  ZKR_CANCELLED = 2,
  /** No server answered within the retry budget. The outcome of a write is unknown. */
  ZKR_CONNECTION_LOST = 3,
  /** What was held is gone; zkr_error_reason says why. Stop the work that it protected. */
  ZKR_LOST = 4,
  /** Release, verify or a guarded write without holding. */
  ZKR_NOT_HELD = 5,
  /** Refused by an ACL, by authentication, TLS or SASL. */
  ZKR_DENIED = 6,
  /**
   * An argument that cannot be used: a bad path or option, NULL, bytes that are not UTF-8, a handle of the wrong
   * kind or freed. The message names the argument.
   */
  ZKR_INVALID = 7,
  /** The request would pass the server's packet limit. It was refused before anything was sent. */
  ZKR_TOO_LARGE = 8,
  /** A node of that path exists already. */
  ZKR_EXISTS = 9,
  /** There is no node at that path. */
  ZKR_NO_NODE = 10,
  /** The node has another version than the one named. */
  ZKR_BAD_VERSION = 11,
  /** The node has children. */
  ZKR_NOT_EMPTY = 12,
  /** Those who use the path disagree: about a number, the partitions or the layout. */
  ZKR_MISMATCH = 13,
  /** The client was closed. */
  ZKR_CLOSED = 14,
  /** A blocking verb inside a callback. Use its _async form there. */
  ZKR_DEADLOCK = 15,
  /**
   * A handle of the parent, used in a child process after fork(). Nothing was done and nothing hangs; the parent is
   * undisturbed. Connect a client in the child.
   */
  ZKR_FORKED = 16,
  /** A bug of zkrecipes. Please report it with the message. */
  ZKR_INTERNAL = 17,
} zkr_status;

/** Why something that was held is gone. */
typedef enum zkr_reason {
  /** Not a matter of losing. */
  ZKR_REASON_NONE = 0,
  /** The session ended, or the server could not be reached for so long that it may have ended. */
  ZKR_REASON_SESSION = 1,
  /** Somebody revoked it by force. */
  ZKR_REASON_REVOKED = 2,
  /** Its node was deleted by somebody else. */
  ZKR_REASON_DELETED = 3,
  /** The client was closed under it. */
  ZKR_REASON_CLOSED = 4,
} zkr_reason;

/** What a client knows about its session. */
typedef enum zkr_state {
  /** A server answers. */
  ZKR_STATE_CONNECTED = 0,
  /** No server answers at the moment; the session may still live. */
  ZKR_STATE_SUSPENDED = 1,
  /** The session has ended; a new one is being opened. */
  ZKR_STATE_LOST = 2,
  /** The client was closed. */
  ZKR_STATE_CLOSED = 3,
} zkr_state;

/** How much what is said matters; as a limit, each includes those before it. */
typedef enum zkr_log_level {
  /** Nothing: only as a limit. */
  ZKR_LOG_OFF = 0,
  /** Something is lost, or does not work. */
  ZKR_LOG_ERROR = 1,
  /** Something is about to be lost, or somebody should look. */
  ZKR_LOG_WARN = 2,
  /** What happened, once for each thing that happens now and then. */
  ZKR_LOG_INFO = 3,
  /** Each acquisition and each retry. */
  ZKR_LOG_DEBUG = 4,
  /** Whatever else there is. */
  ZKR_LOG_TRACE = 5,
} zkr_log_level;

/** What a transaction came to. */
typedef enum zkr_outcome {
  /** Nothing is decided. */
  ZKR_OUTCOME_NONE = 0,
  /** All sites do it. */
  ZKR_OUTCOME_COMMIT = 1,
  /** None does. */
  ZKR_OUTCOME_ABORT = 2,
} zkr_outcome;

/** Who decides a transaction before its deadline. */
typedef enum zkr_commit_mode {
  /** The coordinator, while it waits for the outcome. */
  ZKR_COMMIT_MODE_COORDINATOR = 0,
  /** The site whose vote is the last. */
  ZKR_COMMIT_MODE_PEER = 1,
} zkr_commit_mode;

/** What happened in a group. */
typedef enum zkr_group_event_kind {
  /** All members, at first. */
  ZKR_GROUP_EVENT_SNAPSHOT = 0,
  /** Somebody came. */
  ZKR_GROUP_EVENT_JOINED = 1,
  /** Somebody has gone. */
  ZKR_GROUP_EVENT_LEFT = 2,
  /** A member says something else of itself. */
  ZKR_GROUP_EVENT_CHANGED = 3,
} zkr_group_event_kind;

/** What of a node is to be followed. */
typedef enum zkr_watch_kind {
  /** Its data. */
  ZKR_WATCH_KIND_DATA = 0,
  /** The names of its children. */
  ZKR_WATCH_KIND_CHILDREN = 1,
  /** The node and all that is below it. */
  ZKR_WATCH_KIND_SUBTREE = 2,
} zkr_watch_kind;

/** What a part of a transaction did. */
typedef enum zkr_part {
  /** A node was created. */
  ZKR_PART_CREATED = 0,
  /** The data of a node was replaced. */
  ZKR_PART_SET = 1,
  /** A node was deleted. */
  ZKR_PART_DELETED = 2,
  /** A condition was met. */
  ZKR_PART_CHECKED = 3,
} zkr_part;

/** What is known of a coordinator. */
typedef enum zkr_coordinator_state {
  /** It is there. */
  ZKR_COORDINATOR_STATE_PRESENT = 0,
  /** It died; zkr_two_phase_commit_recover takes its transactions over. */
  ZKR_COORDINATOR_STATE_ABSENT = 1,
  /** It knows what was decided. */
  ZKR_COORDINATOR_STATE_DONE = 2,
} zkr_coordinator_state;

/** How long the registration of a service lasts. */
typedef enum zkr_service_type {
  /** As long as the client that has registered it. */
  ZKR_SERVICE_TYPE_DYNAMIC = 0,
  /** Until it is unregistered. */
  ZKR_SERVICE_TYPE_STATIC = 1,
  /** Until it is unregistered; for services that are there for good. */
  ZKR_SERVICE_TYPE_PERMANENT = 2,
  /** As long as the client; the server appends a number of ten digits to the name of the node. */
  ZKR_SERVICE_TYPE_DYNAMIC_SEQUENTIAL = 3,
} zkr_service_type;

/** Who may touch the nodes that we create. */
typedef enum zkr_acl {
  /** ZKR_ACL_CREATOR when credentials are given, else ZKR_ACL_OPEN. */
  ZKR_ACL_DEFAULT = 0,
  /** Everybody may do everything. */
  ZKR_ACL_OPEN = 1,
  /** Only whoever presents the same credentials. */
  ZKR_ACL_CREATOR = 2,
  /** The entries of acl_list. */
  ZKR_ACL_LIST = 3,
} zkr_acl;

/** How a counter keeps its value where the naming is Curator's. */
typedef enum zkr_counter_layout {
  /** Curator's DistributedAtomicLong: 64 bits. */
  ZKR_COUNTER_LAYOUT_ATOMIC = 0,
  /** Curator's SharedCount: 32 bits. */
  ZKR_COUNTER_LAYOUT_SHARED = 1,
} zkr_counter_layout;

/** What kind of node to create. */
typedef enum zkr_create_mode {
  /** Stays until it is deleted. */
  ZKR_PERSISTENT = 0,
  /** Goes with the session. */
  ZKR_EPHEMERAL = 1,
  /** Stays; the server appends a number of ten digits to the name. */
  ZKR_PERSISTENT_SEQUENTIAL = 2,
  /** Goes with the session; the server appends a number of ten digits to the name. */
  ZKR_EPHEMERAL_SEQUENTIAL = 3,
  /** Goes some time after its last child. */
  ZKR_CONTAINER = 4,
} zkr_create_mode;

/** Whose election it takes part in where the naming is Curator's. */
typedef enum zkr_election_layout {
  /** Curator's LeaderLatch. */
  ZKR_ELECTION_LAYOUT_LATCH = 0,
  /** Curator's LeaderSelector. */
  ZKR_ELECTION_LAYOUT_SELECTOR = 1,
} zkr_election_layout;

/** How a group keeps its members. */
typedef enum zkr_group_layout {
  /** As the naming of the client has it: ZKR_GROUP_LAYOUT_PARTY for kazoo's, else ZKR_GROUP_LAYOUT_MEMBER. */
  ZKR_GROUP_LAYOUT_DEFAULT = 0,
  /** Curator's GroupMember: the node has the name of the member. */
  ZKR_GROUP_LAYOUT_MEMBER = 1,
  /** kazoo's Party: the name of the member is the data of its node, so it has no other data. */
  ZKR_GROUP_LAYOUT_PARTY = 2,
  /** kazoo's ShallowParty: the name of the member is in that of its node, so it has no other data. */
  ZKR_GROUP_LAYOUT_SHALLOW_PARTY = 3,
} zkr_group_layout;

/** What the heartbeat of a holder proves. */
typedef enum zkr_lease {
  /** That the quorum still honours the session. */
  ZKR_LEASE_STRICT = 0,
  /**
   * Less: around a partition two clients may both believe that they hold for a few seconds. It saves the servers a
   * write per eighth of the session timeout.
   */
  ZKR_LEASE_RELAXED = 1,
} zkr_lease;

/** Whose node names to use, so that others on the same path take part. */
typedef enum zkr_naming {
  /** Apache Curator's. */
  ZKR_NAMING_CURATOR = 0,
  /** kazoo's. */
  ZKR_NAMING_KAZOO = 1,
  /** The recipes that ship with ZooKeeper. */
  ZKR_NAMING_ZOOKEEPER = 2,
} zkr_naming;

/** Which of the instances of a service is picked. */
typedef enum zkr_pick_by {
  /** One after the other. */
  ZKR_PICK_BY_ROUND_ROBIN = 0,
  /** Any. */
  ZKR_PICK_BY_RANDOM = 1,
  /** The same as before, as long as it is there. */
  ZKR_PICK_BY_STICKY = 2,
} zkr_pick_by;

/** Whose queue it takes part in. */
typedef enum zkr_queue_layout {
  /** Curator's SimpleDistributedQueue, which is ZooKeeper's own recipe; kazoo's Queue where the naming is kazoo's. */
  ZKR_QUEUE_LAYOUT_SIMPLE = 0,
  /** Curator's DistributedQueue, with its item encoding. */
  ZKR_QUEUE_LAYOUT_DISTRIBUTED = 1,
  /** kazoo's LockingQueue, where the naming is kazoo's. */
  ZKR_QUEUE_LAYOUT_LOCKING = 2,
} zkr_queue_layout;

/** Stops everybody who waits at it until it is lifted, shared with everybody who uses that path, in any language. */
typedef struct zkr_barrier zkr_barrier;

/** Bytes that the library hands over; a NUL that does not count follows them. */
typedef struct zkr_buffer zkr_buffer;

/**
 * Withdraws one call, or several that were given the same token, from any other thread.
 *
 * A cancelled call returns ZKR_CANCELLED and leaves nothing behind; what it had acquired when the cancel arrived is
 * released. So does one in the background until its callback begins, also while that waits to be dispatched. A token
 * stays cancelled: a later call that is given it returns at once. Make one per call.
 */
typedef struct zkr_cancel_token zkr_cancel_token;

/**
 * A session with ZooKeeper, shared by any number of recipes and threads. After the session expired it opens a new one
 * by itself; what was held is lost for good then, what waits queues again.
 */
typedef struct zkr_client zkr_client;

/** How transactions of two-phase commit stand, the oldest first. */
typedef struct zkr_commit_statuses zkr_commit_statuses;

/** A transaction that a coordinator has begun or taken over. */
typedef struct zkr_commit_transaction zkr_commit_transaction;

/** Transactions that were taken over, the oldest first. */
typedef struct zkr_commit_transactions zkr_commit_transactions;

/**
 * A value at a path, shared with everybody who reads or sets it, in any language. A version counts its changes; 0 is
 * that of its creation.
 */
typedef struct zkr_config zkr_config;

/** A list of those who hold and wait. */
typedef struct zkr_contenders zkr_contenders;

/**
 * A number that many count on. Every change is applied exactly once, also when its answer gets lost; where that cannot
 * be known any more, it is ZKR_CONNECTION_LOST. A counter that does not exist is 0, and the first change creates it.
 *
 * As long as changes come, one node of ours stands below the counter for each client. It goes within a minute of the
 * last, a second after it once the client has no handle on this counter any more, and when the client closes.
 */
typedef struct zkr_counter zkr_counter;

/** Items that are over, in order. */
typedef struct zkr_dead_letters zkr_dead_letters;

/** Items that are taken when they are due, the first due first, by the clocks of those who put and take them. */
typedef struct zkr_delay_queue zkr_delay_queue;

/** Services below a path, and their instances, shared with everybody who uses that path, Curator's users too. */
typedef struct zkr_discovery zkr_discovery;

/**
 * Lets its parties begin together and end together, round after round. A handle is one member, which enters and
 * leaves; a member that dies frees the others.
 */
typedef struct zkr_double_barrier zkr_double_barrier;

/**
 * One candidate in the election of a leader. What it wins is a zkr_leadership; zkr_election_release,
 * zkr_election_is_held and their like speak of the one won last.
 */
typedef struct zkr_election zkr_election;

/** Names and their data, sorted by name. */
typedef struct zkr_entries zkr_entries;

/**
 * What went wrong, in full. Belongs to whoever received it: free it with zkr_error_free. An error passed to a
 * callback is the exception; it is only lent for the duration of the callback.
 */
typedef struct zkr_error zkr_error;

/** A group of members that know each other by name. A handle is one member, once it has joined. */
typedef struct zkr_group zkr_group;

/**
 * One acquisition: what it says never comes to mean another one. It is held until it is released, or until both it
 * and the lock that it came from are freed.
 */
typedef struct zkr_held zkr_held;

/** Instances of a service, by the names of their nodes. */
typedef struct zkr_instances zkr_instances;

/** An item that was claimed. It stays claimed until it is settled, lost or freed. */
typedef struct zkr_item zkr_item;

/**
 * Items that were claimed, in order, each of which can be taken once. Freeing it gives back those that nobody has
 * taken.
 */
typedef struct zkr_items zkr_items;

/**
 * Closed until it was counted down as often as it says, by whomever, and open from then on. Every count is made
 * exactly once, also when its answer gets lost; where that cannot be known any more, it is ZKR_CONNECTION_LOST.
 */
typedef struct zkr_latch zkr_latch;

/** Who leads an election. In a forked child, one of the parent is a handle that cannot be used. */
typedef struct zkr_leader zkr_leader;

/**
 * One term of a leader, which never comes to mean another one. It lasts until it is released or lost, or until both it and
 * the election that it came from are freed; one of zkr_election_run until it is freed itself.
 */
typedef struct zkr_leadership zkr_leadership;

/**
 * A lock that at most one holder in the whole ensemble has at a time.
 *
 * A handle is used by one owner at a time: a second acquire on a held handle waits, whichever thread makes it.
 */
typedef struct zkr_lock zkr_lock;

/** What a client has counted, a number each. */
typedef struct zkr_metrics zkr_metrics;

/** Several locks that are acquired all or none, in an order in which nobody waits for each other. Losing one loses all. */
typedef struct zkr_multi_lock zkr_multi_lock;

/** Names below a path, and what they stand for, shared with everybody who uses that path. */
typedef struct zkr_names zkr_names;

/**
 * A node and all that is below it, kept by the library: reading it asks nobody. Made by zkr_nodes_cache. It is
 * followed over reconnections and new sessions until it is freed, and so are its subscriptions.
 */
typedef struct zkr_node_cache zkr_node_cache;

/** What became of the parts of a transaction, in the order in which they were added. */
typedef struct zkr_part_results zkr_part_results;

/**
 * Partitions shared among the members who are there. A handle is one member once it has asked for its first partition.
 * Each partition is a turn of its own: two members never have one at the same time, and its tokens rise.
 */
typedef struct zkr_partitioner zkr_partitioner;

/** The data of items, in order. */
typedef struct zkr_payloads zkr_payloads;

/**
 * Items of which the one with the lowest number is taken first, and of those with the same number the one that came
 * first.
 */
typedef struct zkr_priority_queue zkr_priority_queue;

/** A transaction on which a site has to vote. */
typedef struct zkr_proposal zkr_proposal;

/** What a site was asked, the oldest first. */
typedef struct zkr_proposals zkr_proposals;

/**
 * A queue at a path: items are taken in the order in which they came, by anybody who uses that path. Those of one
 * producer keep their order. What puts items is further below.
 */
typedef struct zkr_queue zkr_queue;

/**
 * A lock that many readers share and writers have for themselves, in the order of arrival.
 *
 * Its two sides are a zkr_lock each, for every verb of a lock. zkr_lock_downgrade of the write side goes from writing to
 * reading, so that nobody writes in between. Threads may share a handle: each side has one owner at a time, like every
 * zkr_lock, and waits for what the other one holds. So readers who read at the same time have a handle each, and who asks
 * for write with read in hand waits for itself.
 */
typedef struct zkr_read_write_lock zkr_read_write_lock;

/** A registered instance of a service. Freeing it ends nothing. */
typedef struct zkr_registration zkr_registration;

/**
 * At most so many permits at once in the whole ensemble, in the order of arrival. A handle may be acquired again and
 * again: each acquisition has permits of its own.
 */
typedef struct zkr_semaphore zkr_semaphore;

/** A list of strings. */
typedef struct zkr_strings zkr_strings;

/** A callback that stays in place until it is freed. */
typedef struct zkr_subscription zkr_subscription;

/**
 * Writes that the server applies together or not at all, from zkr_nodes_transaction, zkr_lock_guarded or
 * zkr_held_guarded. Adding to it sends nothing; zkr_transaction_commit sends all of it as one request.
 */
typedef struct zkr_transaction zkr_transaction;

/**
 * Transactions that all sites commit, or none, shared with everybody who uses that path, in any language. The decision
 * is made once and survives everybody's crash. A handle is a coordinator, a site, or both.
 */
typedef struct zkr_two_phase_commit zkr_two_phase_commit;

/** What becomes of a value; lent to a zkr_update_callback. */
typedef struct zkr_update zkr_update;

/** A credential to present to the server, such as scheme "digest" and credential "user:password". */
typedef struct zkr_auth {
  const char *scheme;
  const void *credential;
  size_t credential_size;
} zkr_auth;

/** One entry of an explicit access list. */
typedef struct zkr_acl_entry {
  /** "world", "auth", "digest", "ip", "x509" or "sasl". */
  const char *scheme;
  /** The identity under that scheme, "anyone" for "world". */
  const char *id;
  /** Letters of "rwcda": read, write, create, delete, admin. */
  const char *permissions;
} zkr_acl_entry;

/** How a client connects and behaves. Start from ZKR_OPTIONS_INIT, which has the defaults. */
typedef struct zkr_options {
  /** sizeof(zkr_options), as ZKR_OPTIONS_INIT sets it. */
  size_t size;
  /**
   * How long the servers keep the session of a client that they do not hear from. After that, what it held is free for
   * others. The servers may grant more or less: zkr_client_session_timeout tells. Unless told: 10,000.
   */
  int64_t session_timeout_ms;
  /** How long connecting may take before ZKR_CONNECTION_LOST. Any negative is for ever. Unless told: 10,000. */
  int64_t connect_timeout_ms;
  /** Written into contender nodes so that people see who holds what; host:pid when not given. */
  const char *identity;
  /** Credentials to present to the servers: a scheme such as digest, and a credential such as user:password. */
  const zkr_auth *auth;
  /** How many credentials there are at auth. */
  size_t auth_count;
  /**
   * Who may touch the nodes that we create: everybody (ZKR_ACL_OPEN), whoever presents the same credentials
   * (ZKR_ACL_CREATOR), or a list of scheme, id and letters of rwcda. By default ZKR_ACL_CREATOR if credentials are
   * given, else ZKR_ACL_OPEN.
   */
  zkr_acl acl;
  /** Zero. */
  uint32_t reserved_1;
  /** The entries, for ZKR_ACL_LIST. */
  const zkr_acl_entry *acl_list;
  /** How many entries there are at acl_list. */
  size_t acl_count;
  /** TLS towards the servers. Set it to true together with what it needs. */
  bool tls;
  /** Whether the server's certificate must name the host of the connect string. Unless told: true. */
  bool tls_verify_hostname;
  /** Zero. */
  uint8_t reserved_2[6];
  /** The authorities to trust, and their revocation lists if there are any. It must be given. */
  const char *tls_ca;
  /** Our own certificate and what leads from it to an authority, for servers that ask who we are; together with tls_key. */
  const char *tls_cert;
  /** The private key of tls_cert, without a passphrase. */
  const char *tls_key;
  /** Who we are. */
  const char *sasl_user;
  /** How we prove it; it does not travel itself. */
  const char *sasl_password;
  /**
   * Whose node names to use, so that others on the same path take part: Curator's (ZKR_NAMING_CURATOR), kazoo's
   * (ZKR_NAMING_KAZOO), or those of the recipes that ship with ZooKeeper (ZKR_NAMING_ZOOKEEPER). Unless told:
   * ZKR_NAMING_CURATOR.
   */
  zkr_naming naming;
  /**
   * What the heartbeat of a holder proves. ZKR_LEASE_STRICT: that a majority of the servers still honours the session.
   * ZKR_LEASE_RELAXED: less, for less work of the servers; for a few seconds around a partition two clients may both
   * believe that they hold. Unless told: ZKR_LEASE_STRICT.
   */
  zkr_lease lease;
  /** The first pause before a call tries again. Unless told: 50. */
  int64_t retry_base_ms;
  /** The longest pause; pauses double up to it. Unless told: 5,000. */
  int64_t retry_max_ms;
  /**
   * How long a call goes without a server before ZKR_CONNECTION_LOST; connect_timeout_ms if it is not given. Any
   * negative is not given.
   */
  int64_t retry_give_up_after_ms;
  /** Accept a server that has lost its majority and only reads. */
  bool read_only;
  /** Zero. */
  uint8_t reserved_3[7];
  /**
   * Whether auth and sasl may travel over plain text, where everybody on the way can read the one, and guess the
   * password of the other. Without it, they travel over TLS and to servers on this machine (localhost, 127.0.0.0/8, ::1)
   * only.
   */
  bool allow_plaintext_auth;
  /** Zero. */
  uint8_t reserved_4[7];
  /**
   * The largest tickTime of every server that may lead; doubled for clients of an observer that follows a follower
   * (observerMasterPort). With a quarter of the session timeout or less, a pause of half of that costs nothing that is
   * held; without it, of three tenths. zkrecipes doctor says what to give. 0: nobody knows.
   */
  int64_t server_tick_ms;
  /**
   * Whether to refuse (ZKR_DENIED) a path that somebody else has made so that everybody may delete below it, where nodes
   * of ours are not everybody's. Without it there is a warning in the log, once per path.
   */
  bool refuse_open_parents;
  /** Zero. */
  uint8_t reserved_5[7];
  /**
   * How many requests may be on their way at once. What comes on top waits for an answer, and can be withdrawn
   * meanwhile; heartbeats, pings and deletions do not wait. Unless told: 1,000.
   */
  uint32_t max_in_flight;
  /** Zero. */
  uint32_t reserved_6;
  /**
   * Whether a revocation list in tls_ca still counts when its time has passed (its nextUpdate). Without it, the
   * certificates that the list is about are refused then: nobody says which were revoked since.
   */
  bool tls_allow_expired_crls;
  /** Zero. */
  uint8_t reserved_7[7];
} zkr_options;

/** The end of connecting. On ZKR_OK the client belongs to the callback, otherwise it is NULL; the error is only lent. */
typedef void (*zkr_client_callback)(zkr_status status,
                                    zkr_client *client,
                                    const zkr_error *error,
                                    void *user_data);

/** The end of a verb that has nothing to hand over. The error is NULL on success and only lent for the callback. */
typedef void (*zkr_done_callback)(zkr_status status, const zkr_error *error, void *user_data);

/** A change of state. */
typedef void (*zkr_state_callback)(zkr_state state, void *user_data);

/** A detail of what is said. */
typedef struct zkr_log_field {
  /** What it tells, such as "session" or "waited_ms". */
  const char *name;
  /** As text. */
  const char *value;
  /** The value where it is a number or a truth; otherwise 0. */
  int64_t number;
  /** Whether it is one. */
  bool is_number;
  /** Zero. */
  uint8_t reserved[7];
} zkr_log_field;

/**
 * One thing that the library says. event is a word of the table in docs/observability.md, message a sentence, and there are
 * count fields. All of it is only lent.
 */
typedef void (*zkr_log_callback)(zkr_log_level level,
                                 const char *event,
                                 const char *message,
                                 const zkr_log_field *fields,
                                 size_t count,
                                 void *user_data);

/** The end of acquiring, and each partition of zkr_partitioner_run. On ZKR_OK the zkr_held belongs to the callback, otherwise it is NULL; the error is only lent. */
typedef void (*zkr_held_callback)(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data);

/** What is lost, with the reason in the error, which is only lent for the callback. */
typedef void (*zkr_lost_callback)(const zkr_error *error, void *user_data);

/** Somebody asks for what is held. */
typedef void (*zkr_revoke_callback)(void *user_data);

/** Somebody who holds or waits. */
typedef struct zkr_contender {
  /**
   * Its node: the path below that of the recipe, or the whole path for a zkr_multi_lock. It can be given to the
   * revoke verb of the handle that the list is from.
   */
  const char *node;
  /** Who it says it is: the identity option of its client. */
  const char *identity;
  /** What it wants: "lock", "read", "write" or "lease", which is a permit of a semaphore. */
  const char *kind;
  /** The session that its node belongs to. */
  uint64_t session_id;
  /** Since when it contends, in milliseconds since 1970 by the server's clock. */
  int64_t since_ms;
  /** Whether it holds. */
  bool holds;
} zkr_contender;

/** How a wait stands that goes on. It is lent for the callback; a later version may add members at its end. */
typedef struct zkr_wait_progress {
  /** What is waited for. */
  const char *path;
  /** How long already. */
  int64_t waited_ms;
  /**
   * How many are waited for: in a line those ahead, when it was looked last; at a double barrier those who have yet to come,
   * or to leave. -1 if nobody counts them: it waits for its own handle, for permits, for an item.
   */
  int64_t ahead;
  /** Who holds, or one of them; of a barrier, who has put it up. NULL if that is not known at the moment. */
  const zkr_contender *holder;
} zkr_wait_progress;

/** A wait goes on. */
typedef void (*zkr_wait_callback)(const zkr_wait_progress *progress, void *user_data);

/**
 * The end of zkr_lock_contenders_async and the like. On ZKR_OK the list belongs to the callback, otherwise it is NULL;
 * the error is only lent.
 */
typedef void (*zkr_contenders_callback)(zkr_status status,
                                        zkr_contenders *contenders,
                                        const zkr_error *error,
                                        void *user_data);

/**
 * The end of a question that is answered with yes or no; false on failure. The error is NULL on success and only lent
 * for the callback.
 */
typedef void (*zkr_answer_callback)(zkr_status status, bool answer, const zkr_error *error, void *user_data);

/** How a lock behaves. Start from ZKR_LOCK_OPTIONS_INIT, which has the defaults. */
typedef struct zkr_lock_options {
  /** sizeof(zkr_lock_options), as ZKR_LOCK_OPTIONS_INIT sets it. */
  size_t size;
  /**
   * The handle is the owner: nested acquisitions count. Never share such a handle between threads or tasks that must
   * exclude each other.
   */
  bool reentrant;
  /** Zero. */
  uint8_t reserved[3];
  /**
   * How many times waiters of one client may pass the turn on in memory before others get theirs. They then share a
   * fencing token, and only the pair of token and passes rises strictly.
   */
  uint32_t local_handoff;
} zkr_lock_options;

/** How a counter behaves. Start from ZKR_COUNTER_OPTIONS_INIT, which has the defaults. */
typedef struct zkr_counter_options {
  /** sizeof(zkr_counter_options), as ZKR_COUNTER_OPTIONS_INIT sets it. */
  size_t size;
  /**
   * Whose counter it takes part in: Curator's DistributedAtomicLong, 64 bits (ZKR_COUNTER_LAYOUT_ATOMIC), or
   * SharedCount, 32 bits (ZKR_COUNTER_LAYOUT_SHARED). kazoo has one layout of its own, which naming chooses. Unless
   * told: ZKR_COUNTER_LAYOUT_ATOMIC.
   */
  zkr_counter_layout layout;
  /** Zero. */
  uint32_t reserved;
} zkr_counter_options;

/**
 * The end of a verb that answers a number, or every change of one that is watched; 0 on failure. A status other than ZKR_OK is the
 * end: the error says why. It is only lent for the callback, and NULL on success.
 */
typedef void (*zkr_number_callback)(zkr_status status, int64_t number, const zkr_error *error, void *user_data);

/** How an election behaves. Start from ZKR_ELECTION_OPTIONS_INIT, which has the defaults. */
typedef struct zkr_election_options {
  /** sizeof(zkr_election_options), as ZKR_ELECTION_OPTIONS_INIT sets it. */
  size_t size;
  /**
   * Whose election it takes part in: Curator's LeaderLatch (ZKR_ELECTION_LAYOUT_LATCH) or LeaderSelector
   * (ZKR_ELECTION_LAYOUT_SELECTOR). kazoo has one layout of its own, which naming chooses. Unless told:
   * ZKR_ELECTION_LAYOUT_LATCH.
   */
  zkr_election_layout layout;
  /** Zero. */
  uint32_t reserved;
  /**
   * How much it is to lead: of all who stand the one with the highest priority. A leader with a lower one is asked to
   * hand over. Peers that know of no priorities stand in the order in which they came, as those of one priority do.
   */
  int32_t priority;
  /** Zero. */
  uint32_t reserved_2;
  /**
   * How long the work of a term of run may go on that somebody has asked for, such as a candidate with a higher
   * priority. Then the leadership is lost. Unless told: 1,000.
   */
  int64_t drain_ms;
} zkr_election_options;

/**
 * The end of campaigning, and each term of zkr_election_run. On ZKR_OK the leadership belongs to the callback, otherwise it
 * is NULL; the error is only lent.
 */
typedef void (*zkr_leadership_callback)(zkr_status status,
                                        zkr_leadership *leadership,
                                        const zkr_error *error,
                                        void *user_data);

/**
 * Who leads, NULL while nobody does: the end of asking, and every change while an election is observed. A status other than
 * ZKR_OK is the end: the error says why. leader and error are only lent for the callback.
 */
typedef void (*zkr_leader_callback)(zkr_status status,
                                    const zkr_leader *leader,
                                    const zkr_error *error,
                                    void *user_data);

/** The end of waiting for what is decided; ZKR_OUTCOME_NONE if the status is not ZKR_OK. The error is only lent. */
typedef void (*zkr_outcome_callback)(zkr_status status,
                                     zkr_outcome outcome,
                                     const zkr_error *error,
                                     void *user_data);

/** The end of beginning. On ZKR_OK the transaction belongs to the callback, otherwise it is NULL; the error is only lent. */
typedef void (*zkr_commit_transaction_callback)(zkr_status status,
                                                zkr_commit_transaction *transaction,
                                                const zkr_error *error,
                                                void *user_data);

/**
 * The end of zkr_two_phase_commit_recover_async. On ZKR_OK the list belongs to the callback, otherwise it is NULL; the
 * error is only lent.
 */
typedef void (*zkr_commit_transactions_callback)(zkr_status status,
                                                 zkr_commit_transactions *commit_transactions,
                                                 const zkr_error *error,
                                                 void *user_data);

/** The end of waiting for a proposal. On ZKR_OK it belongs to the callback, otherwise it is NULL; the error is only lent. */
typedef void (*zkr_proposal_callback)(zkr_status status,
                                      zkr_proposal *proposal,
                                      const zkr_error *error,
                                      void *user_data);

/**
 * The end of zkr_two_phase_commit_pending_async. On ZKR_OK the list belongs to the callback, otherwise it is NULL; the
 * error is only lent.
 */
typedef void (*zkr_proposals_callback)(zkr_status status,
                                       zkr_proposals *proposals,
                                       const zkr_error *error,
                                       void *user_data);

/**
 * The end of zkr_two_phase_commit_history_async and the like. On ZKR_OK the list belongs to the callback, otherwise it
 * is NULL; the error is only lent.
 */
typedef void (*zkr_commit_statuses_callback)(zkr_status status,
                                             zkr_commit_statuses *commit_statuses,
                                             const zkr_error *error,
                                             void *user_data);

/** What the server knows about a node besides its data. */
typedef struct zkr_stat {
  /** The transaction that created it, the one that last set its data, the one that last changed its children. */
  int64_t czxid;
  int64_t mzxid;
  int64_t pzxid;
  /** When it was created and last set, in milliseconds since 1970 by the server's clock. */
  int64_t ctime;
  int64_t mtime;
  /** How often its data, its children and its access list were changed. */
  int32_t version;
  int32_t cversion;
  int32_t aversion;
  int32_t data_length;
  int32_t num_children;
  /** The session that it belongs to if it is ephemeral, else 0. */
  int64_t ephemeral_owner;
} zkr_stat;

/**
 * The end of a verb that hands over bytes; stat is NULL where there is none. On ZKR_OK the buffer belongs to the
 * callback, otherwise it is NULL; stat and error are only lent.
 */
typedef void (*zkr_buffer_callback)(zkr_status status,
                                    zkr_buffer *buffer,
                                    const zkr_stat *stat,
                                    const zkr_error *error,
                                    void *user_data);

/** The end of claiming. On ZKR_OK the item belongs to the callback, otherwise it is NULL; the error is only lent. */
typedef void (*zkr_item_callback)(zkr_status status, zkr_item *item, const zkr_error *error, void *user_data);

/**
 * The end of zkr_queue_claim_many_async and the like. On ZKR_OK the list belongs to the callback, otherwise it is
 * NULL; the error is only lent.
 */
typedef void (*zkr_items_callback)(zkr_status status,
                                   zkr_items *items,
                                   const zkr_error *error,
                                   void *user_data);

/** How many items a queue has. It stays as it is: what is counted besides in later versions will have a function of its own. */
typedef struct zkr_queue_counts {
  /** Those that can be taken now, or have failed for the last time and go to the dead letters next. */
  size_t ready;
  /** Those that were given back and step aside, or that are not due yet. */
  size_t delayed;
  /** Those that somebody works on. */
  size_t claimed;
  /** The dead letters. */
  size_t dead;
} zkr_queue_counts;

/** The end of a verb that counts the items of a queue. stats is NULL on failure; it and the error are only lent. */
typedef void (*zkr_queue_counts_callback)(zkr_status status,
                                          const zkr_queue_counts *stats,
                                          const zkr_error *error,
                                          void *user_data);

/**
 * The end of zkr_queue_items_async and the like. On ZKR_OK the list belongs to the callback, otherwise it is NULL; the
 * error is only lent.
 */
typedef void (*zkr_payloads_callback)(zkr_status status,
                                      zkr_payloads *payloads,
                                      const zkr_error *error,
                                      void *user_data);

/**
 * The end of zkr_queue_dead_letters_async and the like. On ZKR_OK the list belongs to the callback, otherwise it is
 * NULL; the error is only lent.
 */
typedef void (*zkr_dead_letters_callback)(zkr_status status,
                                          zkr_dead_letters *dead_letters,
                                          const zkr_error *error,
                                          void *user_data);

/**
 * How a queue behaves, in whichever order its items are taken. Start from ZKR_QUEUE_OPTIONS_INIT, which has the
 * defaults.
 */
typedef struct zkr_queue_options {
  /** sizeof(zkr_queue_options), as ZKR_QUEUE_OPTIONS_INIT sets it. */
  size_t size;
  /**
   * How many items there may be; without it there is no bound. All who put have to give the same number; a full queue
   * makes them wait. Any negative: there is no bound.
   */
  int64_t max_items;
  /**
   * How often an item is claimed before it goes to the dead letters, 16 times unless told; 0 for no end. Any negative is
   * the default.
   */
  int64_t max_attempts;
  /**
   * Over how many nodes the items are spread. More than one is faster, and keeps the order only within each. Unless
   * told: 1.
   */
  size_t shards;
  /**
   * Whose queue it takes part in: Curator's SimpleDistributedQueue and ZooKeeper's own, or kazoo's Queue where naming is
   * kazoo's (ZKR_QUEUE_LAYOUT_SIMPLE); Curator's DistributedQueue (ZKR_QUEUE_LAYOUT_DISTRIBUTED); kazoo's LockingQueue
   * (ZKR_QUEUE_LAYOUT_LOCKING). Priority and delay queues have one layout with each naming. Unless told:
   * ZKR_QUEUE_LAYOUT_SIMPLE.
   */
  zkr_queue_layout layout;
  /** Whether an item goes when the session of the client that put it ends. */
  bool ephemeral;
  /** Zero. */
  uint8_t reserved[3];
  /**
   * For how long the key of a put counts, by the servers' clock: the same key within that time puts once. All who put
   * with keys should give the same. Unless told: 600,000.
   */
  int64_t key_window_ms;
} zkr_queue_options;

/**
 * A value with its version, which is NULL where there is none: the end of reading it, and every change while it is
 * watched. A status other than ZKR_OK is the end: the error says why no more will be told. value and error are only lent
 * for the callback.
 */
typedef void (*zkr_versioned_callback)(zkr_status status,
                                       const zkr_buffer *value,
                                       int32_t version,
                                       const zkr_error *error,
                                       void *user_data);

/**
 * The end of a verb that hands over a list. On ZKR_OK the list belongs to the callback, otherwise it is NULL; the
 * error is only lent.
 */
typedef void (*zkr_strings_callback)(zkr_status status,
                                     zkr_strings *strings,
                                     const zkr_error *error,
                                     void *user_data);

/**
 * The end of zkr_group_members_async, or what zkr_names_watch tells. On ZKR_OK the list belongs to the callback,
 * otherwise it is NULL; the error is only lent.
 */
typedef void (*zkr_entries_callback)(zkr_status status,
                                     zkr_entries *entries,
                                     const zkr_error *error,
                                     void *user_data);

/** How a group behaves. Start from ZKR_GROUP_OPTIONS_INIT, which has the defaults. */
typedef struct zkr_group_options {
  /** sizeof(zkr_group_options), as ZKR_GROUP_OPTIONS_INIT sets it. */
  size_t size;
  /**
   * Whose group it takes part in: Curator's GroupMember (ZKR_GROUP_LAYOUT_MEMBER), kazoo's Party
   * (ZKR_GROUP_LAYOUT_PARTY) or ShallowParty (ZKR_GROUP_LAYOUT_SHALLOW_PARTY). By default ZKR_GROUP_LAYOUT_PARTY where
   * naming is kazoo's, else ZKR_GROUP_LAYOUT_MEMBER.
   */
  zkr_group_layout layout;
  /** Zero. */
  uint32_t reserved;
  /**
   * Whether join takes its name at once from a member that has it, such as the one that this process was before it
   * crashed, which would keep the name until its session timeout. Of two processes that are both there the one that
   * joins last is the member.
   */
  bool replace;
  /** Zero. */
  uint8_t reserved_2[7];
} zkr_group_options;

/** An event of a group. */
typedef struct zkr_group_event {
  /** All members, for ZKR_GROUP_EVENT_SNAPSHOT; else NULL. */
  const zkr_entries *members;
  /** Who, for the others; else NULL. */
  const char *name;
  /** What they say of themselves, followed by a NUL that does not count; NULL for a snapshot and for who left. */
  const void *data;
  size_t size;
  /** What happened. */
  zkr_group_event_kind kind;
} zkr_group_event;

/**
 * An event of a group. A status other than ZKR_OK is the end: the event is NULL, and the error says why. Both are only
 * lent for the callback.
 */
typedef void (*zkr_group_callback)(zkr_status status,
                                   const zkr_group_event *event,
                                   const zkr_error *error,
                                   void *user_data);

/** How a member of a partitioner behaves. Start from ZKR_PARTITIONER_OPTIONS_INIT, which has the defaults. */
typedef struct zkr_partitioner_options {
  /** sizeof(zkr_partitioner_options), as ZKR_PARTITIONER_OPTIONS_INIT sets it. */
  size_t size;
  /** How much of the partitions this member is to have, beside the weights of the others. Unless told: 1. */
  uint32_t weight;
  /** Zero. */
  uint32_t reserved;
  /** What the member is called. A process that is started again under the same name gets what it had, and nothing moves. */
  const char *name;
  /** How long a partition that is to move may still be worked on. Then it is taken away: it is lost. Unless told: 30,000. */
  int64_t drain_ms;
} zkr_partitioner_options;

/** A service to register. Start from ZKR_SERVICE_INIT; name and address have to be given. */
typedef struct zkr_service {
  /** sizeof(zkr_service), as ZKR_SERVICE_INIT sets it. */
  size_t size;
  /** Of which service it is an instance. */
  const char *name;
  /** What tells it from the other instances; NULL for a random one. */
  const char *id;
  /** Where it is: a host name or an address. */
  const char *address;
  /** What else is to be known of it, as JSON; NULL for nothing. */
  const char *payload;
  /** How its URI is made, such as {scheme}://{address}:{port}; NULL if it has none. */
  const char *uri_spec;
  /** Its port; -1 if it has none. */
  int32_t port;
  /** Its port for TLS; -1 if it has none. */
  int32_t ssl_port;
  /** How long its registration lasts. Unless told: ZKR_SERVICE_TYPE_DYNAMIC. */
  zkr_service_type type;
  /** Whether it is to be picked. Unless told: true. */
  bool enabled;
  /** Zero. */
  uint8_t reserved[3];
} zkr_service;

/** The end of registering. On ZKR_OK the registration belongs to the callback, otherwise it is NULL; the error is only lent. */
typedef void (*zkr_registration_callback)(zkr_status status,
                                          zkr_registration *registration,
                                          const zkr_error *error,
                                          void *user_data);

/**
 * The end of zkr_discovery_instances_async and the like, or what zkr_discovery_watch tells. On ZKR_OK the list belongs
 * to the callback, otherwise it is NULL; the error is only lent.
 */
typedef void (*zkr_instances_callback)(zkr_status status,
                                       zkr_instances *instances,
                                       const zkr_error *error,
                                       void *user_data);

/**
 * The end of zkr_transaction_commit_results_async. On ZKR_OK the list belongs to the callback, otherwise it is NULL;
 * the error is only lent.
 */
typedef void (*zkr_part_results_callback)(zkr_status status,
                                          zkr_part_results *part_results,
                                          const zkr_error *error,
                                          void *user_data);

/** The end of a verb that hands over a stat, NULL where there is no node. stat and error are only lent. */
typedef void (*zkr_stat_callback)(zkr_status status,
                                  const zkr_stat *stat,
                                  const zkr_error *error,
                                  void *user_data);

/** The end of zkr_nodes_cache_async. On ZKR_OK the cache belongs to the callback, otherwise it is NULL; the error is only lent. */
typedef void (*zkr_node_cache_callback)(zkr_status status,
                                        zkr_node_cache *cache,
                                        const zkr_error *error,
                                        void *user_data);

/** How what is followed stands. A missing node is a state, too. */
typedef struct zkr_node_state {
  /** The data, for ZKR_WATCH_KIND_DATA; NULL while there is no such node. */
  const zkr_buffer *data;
  /** The names of the children, sorted, for ZKR_WATCH_KIND_CHILDREN; NULL while there is no such node. */
  const zkr_strings *children;
  /** The node and all that is below it, sorted by path, for ZKR_WATCH_KIND_SUBTREE; empty while there is no such node. */
  const zkr_entries *subtree;
  /** What the server knows about the node, beside data. */
  zkr_stat stat;
  /** What is followed. */
  zkr_watch_kind kind;
} zkr_node_state;

/**
 * The state of a node. A status other than ZKR_OK is the end: the state is NULL, and the error says why. Both are only
 * lent for the callback.
 */
typedef void (*zkr_node_callback)(zkr_status status,
                                  const zkr_node_state *state,
                                  const zkr_error *error,
                                  void *user_data);

/**
 * Changes a value: calls zkr_update_set with the new one, or returns without, and then nothing is set. value is NULL where there
 * is none; it is only lent, and followed by a NUL that does not count. Called on the thread of the caller, again whenever somebody
 * else has changed the value meanwhile.
 */
typedef void (*zkr_update_callback)(const void *value, size_t size, zkr_update *update, void *user_data);

/** Frees what was given as user_data; free() of the C library is one. */
typedef void (*zkr_free_callback)(void *user_data);

/** What became of one part of a transaction. */
typedef struct zkr_part_result {
  /** The path of a node that was created, with the number that the server appended if the mode is sequential; else NULL. */
  const char *path;
  /** What the server knows about a node that was set; else zeros. */
  zkr_stat stat;
  /** What the part did. */
  zkr_part part;
} zkr_part_result;

/** A name and its data. */
typedef struct zkr_entry {
  /** The name; of a node, its path. */
  const char *name;
  /** The data, followed by a NUL that does not count; never NULL. */
  const void *data;
  size_t size;
  /** Of a node that zkr_nodes_watch tells of, what the server knows about it; else zeros. */
  zkr_stat stat;
} zkr_entry;

/** The data of one item. */
typedef struct zkr_payload {
  /** What was put, followed by a NUL that does not count; never NULL. */
  const void *data;
  size_t size;
} zkr_payload;

/** An item that is over. */
typedef struct zkr_dead_letter {
  /** The name of its node among the dead letters. */
  const char *id;
  /** What was put, followed by a NUL that does not count; never NULL. Of a letter with a problem what stands in its node. */
  const void *data;
  size_t size;
  /** What was said with the last nack, or what the library knows of it; NULL if nothing was. */
  const char *reason;
  /** When it came to the dead letters, in milliseconds since 1970, by the server's clock. */
  int64_t died_at_ms;
  /** Why it cannot be read; NULL if it can. It stands in nobody's way, and nobody takes it. */
  const char *problem;
  /** How often it was claimed; 0 if that is not known. */
  uint32_t attempts;
} zkr_dead_letter;

/** What is known of a site in one transaction. */
typedef struct zkr_site_status {
  /** Its name. */
  const char *site;
  /** Whether it is there. */
  bool is_present;
  /** Whether it has voted. */
  bool has_voted;
  /** Whether it has done what was decided. */
  bool has_acknowledged;
} zkr_site_status;

/** How a transaction stands. */
typedef struct zkr_commit_status {
  /** By which name it began. */
  const char *id;
  /** What it is about, followed by a NUL that does not count; never NULL. */
  const void *payload;
  size_t size;
  /** Who votes. */
  const zkr_site_status *sites;
  size_t site_count;
  /** Why it was aborted; never NULL. */
  const char *reason;
  /** How long ago it began, as far as this machine's clock agrees with the server's. */
  int64_t age_ms;
  /** How long there is to vote. */
  int64_t timeout_ms;
  /** Who decides it before its deadline. */
  zkr_commit_mode mode;
  /** What was decided. */
  zkr_outcome outcome;
  /** Whether its coordinator will decide it. */
  zkr_coordinator_state coordinator;
  /**
   * Why only its id is known: it may not be read with the identities of this client, or what it says is not understood. Empty
   * if it is known how it stands; never NULL.
   */
  const char *problem;
} zkr_commit_status;

/** An instance of a service, as it was found. */
typedef struct zkr_instance {
  /** Of which service it is an instance. */
  const char *name;
  /** What tells it from the other instances. */
  const char *id;
  /** Where it is; empty where it has not said so, never NULL. */
  const char *address;
  /** What else it says of itself, as JSON; NULL for nothing. */
  const char *payload;
  /** How its URI is made; NULL if it has none. */
  const char *uri_spec;
  /** Its URI; NULL if it has none. */
  const char *uri;
  /** When it was registered, by the clock of who did that: milliseconds since 1970. */
  int64_t registered_at_ms;
  /** Its port; -1 if it has none. */
  int32_t port;
  /** Its port for TLS; -1 if it has none. */
  int32_t ssl_port;
  /** How long its registration lasts. */
  zkr_service_type type;
  /** Whether it is to be picked. */
  bool enabled;
} zkr_instance;

/** One number of a client. */
typedef struct zkr_metric {
  /**
   * Such as "acquisitions", "losses.session", "waits.count", "waits.sum_ms", "waits.le_500" (how many took no longer than 500
   * ms) and "lease_margin_min_ms" (-1 while nothing was held). docs/observability.md has all of them.
   */
  const char *name;
  double value;
} zkr_metric;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* Errors ---------------------------------------------------------------------------------------------- */

/**
 * Makes an error, for libraries that report theirs as this one does. path may be NULL. Free it with zkr_error_free;
 * NULL for ZKR_OK, which is no error.
 */
zkr_error *zkr_error_new(zkr_status status,
                         const char *message,
                         const char *path);

/** The status that the error stands for; ZKR_OK for NULL. */
zkr_status zkr_error_code(const zkr_error *error);

/** One sentence that says what happened and what to do; never NULL. Valid until the error is freed. */
const char *zkr_error_message(const zkr_error *error);

/** The path concerned, or NULL when there is none. Valid until the error is freed. */
const char *zkr_error_path(const zkr_error *error);

/** Whether the same call may succeed when it is made again. */
bool zkr_error_retryable(const zkr_error *error);

/** Why it is gone, for ZKR_LOST. */
zkr_reason zkr_error_reason(const zkr_error *error);

/**
 * How many items went into the queue before this happened, from the first on, where several were put; -1 otherwise.
 * After ZKR_CLOSED and ZKR_CONNECTION_LOST it may be more: what was on its way may still go in.
 */
int64_t zkr_error_put(const zkr_error *error);

/** Frees an error. NULL and errors already freed are ignored. */
void zkr_error_free(zkr_error *error);

/** The name of a status, the same in every language of zkrecipes: "TIMEOUT", "NOT_HELD"; "OK" for ZKR_OK. */
const char *zkr_status_name(zkr_status status);

/**
 * The name of a reason, the same in every language of zkrecipes: "session", "revoked", "deleted", "closed"; "" for
 * none.
 */
const char *zkr_reason_name(zkr_reason reason);

/* Clients --------------------------------------------------------------------------------------------- */

/** The version of the library, such as "0.1.0". */
const char *zkr_version(void);

/**
 * Ends the threads of the library and closes its descriptors, for a plug-in that is unloaded from a program that goes on, and for
 * tools that count what is left at the end. Nobody has to call it: a process may simply end.
 *
 * First close or free every client: ZKR_INVALID says how many are open, or that one with an event fd has callbacks to be
 * dispatched. What they have left to do is waited for, and so are callbacks, each done that is owed, and what callbacks begin, for
 * up to timeout_ms (any negative: for ever). ZKR_TIMEOUT says what goes on; call it again. Inside a callback it is ZKR_DEADLOCK.
 *
 * When it has answered ZKR_OK, nothing of the library is left but a server of "embedded:" and what handles keep that are not freed,
 * such as an event fd, and none of the program's callbacks is called any more. Handles may be freed later. The next client that is
 * connected starts everything anew.
 *
 * No other thread may use the library meanwhile, unless it calls this, too: what it begins may never end. The shared library itself
 * stays in memory when it is unloaded: dlclose of what uses it is safe after this.
 */
zkr_status zkr_library_shutdown(int64_t timeout_ms,
                                zkr_error **error);

/**
 * Connects to ZooKeeper.
 *
 * hosts is a connect string with an optional chroot ("h1:2181,h2:2181/app"), or "embedded:" for a server inside this
 * process (memory only, for development and tests). NULL or "" takes ZKRECIPES_HOSTS from the environment. options
 * may be NULL for the defaults. On success *client belongs to the caller: free it with zkr_client_free.
 *
 * Running out of connect time is ZKR_CONNECTION_LOST. What the library has to say of itself goes to those who listen
 * (zkr_on_log), and to stderr if ZKRECIPES_LOG in the environment is error, warn, info or debug.
 */
zkr_status zkr_client_connect(const char *hosts,
                              const zkr_options *options,
                              zkr_client **client,
                              zkr_error **error);

/** zkr_client_connect that another thread can withdraw; token may be NULL. */
zkr_status zkr_client_connect_cancellable(const char *hosts,
                                          const zkr_options *options,
                                          zkr_cancel_token *token,
                                          zkr_client **client,
                                          zkr_error **error);

/**
 * zkr_client_connect in the background. The callback comes on the library's delivery thread, as there is no client
 * yet that could have been asked for its event fd.
 *
 * ZKR_OK says that the callback will be called exactly once, with what is wrong with the arguments too; any other
 * status says that it never will be.
 */
zkr_status zkr_client_connect_async(const char *hosts,
                                    const zkr_options *options,
                                    zkr_client_callback callback,
                                    void *user_data);

/** zkr_client_connect_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_client_connect_cancellable_async(const char *hosts,
                                                const zkr_options *options,
                                                zkr_cancel_token *token,
                                                zkr_client_callback callback,
                                                void *user_data);

/**
 * Replaces the list of servers, as when some are moved. A connection with a server of the new list stays; otherwise it goes
 * on with another one in the same session, as after a break. hosts is as for zkr_client_connect, and its chroot has to be
 * that of the client. A list that cannot be used is ZKR_INVALID, and changes nothing. It waits for no server.
 */
zkr_status zkr_client_update_hosts(zkr_client *client,
                                   const char *hosts,
                                   zkr_error **error);

/**
 * Closes the session: waiters get ZKR_CLOSED, what is held is released, deletions under way are awaited for up to
 * timeout_ms (any negative: for ever). ZKR_TIMEOUT: no server has confirmed the end of the session by then; the client is
 * closed all the same, and the servers end the session after its timeout. The handle stays valid, for dispatching the last
 * callbacks and for zkr_client_free, but every further verb on it or on its recipes is ZKR_CLOSED.
 *
 * Without an event fd it returns, within timeout_ms, when the last callback of the client is over too. With one, go on
 * dispatching to have the last ones called, or call zkr_client_close_async, whose callback is the last.
 */
zkr_status zkr_client_close(zkr_client *client,
                            int64_t timeout_ms,
                            zkr_error **error);

/**
 * zkr_client_close in the background. ZKR_OK says that the callback will be called exactly once; ZKR_CLOSED that the
 * client is closed already.
 *
 * Its callback is the last one of the client: it comes after the ends of all other calls, which are ZKR_CLOSED for
 * those that were still waiting, and after every loss and change of state. So an event loop dispatches until it has
 * come, and frees the client then.
 */
zkr_status zkr_client_close_async(zkr_client *client,
                                  int64_t timeout_ms,
                                  zkr_done_callback callback,
                                  void *user_data);

/**
 * Frees a client, closing it in the background if zkr_client_close was not called. NULL and freed ones are ignored. Its
 * locks and so on stay valid handles, but every verb on them is ZKR_CLOSED. It never waits for a server.
 *
 * Calls in progress end with ZKR_CLOSED. Outside callbacks it returns when the last callback of the client is over, and
 * none comes afterwards; hold no lock that a callback takes. Inside a callback, of whichever client, it never waits:
 * callbacks that are running go on, and those that are owed still come, each once. If the client was asked for its
 * event fd, those that wait to be dispatched are dropped in both cases, with what they would have handed over, and the
 * fd is closed: to see the last ones, call zkr_client_close_async and dispatch until its callback has come.
 */
void zkr_client_free(zkr_client *client);

/** What the client knows about its session, without asking. ZKR_STATE_CLOSED for a handle that cannot be used. */
zkr_state zkr_client_state(const zkr_client *client);

/** The name of a state, the same in every language of zkrecipes: "connected", "suspended", "lost", "closed". */
const char *zkr_state_name(zkr_state state);

/** The id of the session; 0 for a handle that cannot be used. */
uint64_t zkr_client_session_id(const zkr_client *client);

/** The session timeout in milliseconds, as negotiated with the server; 0 for a handle that cannot be used. */
int64_t zkr_client_session_timeout(const zkr_client *client);

/** For how many milliseconds the server certainly still honours this session; 0 while nothing is held. */
int64_t zkr_client_lease_remaining(const zkr_client *client);

/**
 * Calls back at every change of state. subscription may be NULL to leave the callback in place for good; otherwise
 * end it with zkr_subscription_free.
 */
zkr_status zkr_client_on_state(zkr_client *client,
                               zkr_state_callback callback,
                               void *user_data,
                               zkr_subscription **subscription,
                               zkr_error **error);

/**
 * A file descriptor for poll, epoll, libuv, glib: readable while callbacks wait for zkr_client_dispatch. On Windows it is a
 * socket, for select, WSAPoll and libuv.
 *
 * From the first call on, all callbacks of this client run inside zkr_client_dispatch and nowhere else; ask before
 * starting anything asynchronous. The descriptor belongs to the client: do not read or close it. A negative number is
 * an error, -ZKR_INVALID and so on.
 */
int zkr_client_event_fd(zkr_client *client);

/**
 * Runs up to max waiting callbacks on this thread (all that wait if max is 0 or negative) and returns how many it ran.
 * If none waits, it waits for the first one up to timeout_ms; 0 does not wait, any negative is for ever.
 *
 * Works without an event fd too, as the loop of a thread of its own. Callbacks run one at a time, also if several
 * threads dispatch. A negative number is an error, -ZKR_DEADLOCK inside a callback and so on.
 */
int zkr_client_dispatch(zkr_client *client,
                        int max,
                        int64_t timeout_ms);

/* Metrics --------------------------------------------------------------------------------------------- */

/**
 * What the client has done and seen since it connected, and how it stands, as a list of numbers with names. Asks no server,
 * and works for a closed client, too. Free it with zkr_metrics_free.
 */
zkr_status zkr_client_metrics(const zkr_client *client,
                              zkr_metrics **metrics,
                              zkr_error **error);

/** The same as the text that Prometheus reads, in which times are in seconds. Free it with zkr_buffer_free. */
zkr_status zkr_client_prometheus(const zkr_client *client, zkr_buffer **text, zkr_error **error);

/** The number of that name; NaN if there is none. */
double zkr_metrics_value(const zkr_metrics *metrics, const char *name);

/**
 * The nodes that recipes of this client went on without since it connected, because they may not be read or what they say is not
 * understood: the path of each as its name, and as its data why, "denied", "encoding", "children" of an item that somebody has
 * made nodes below, or "size" of one that is too large to be taken. The last thousand at most; one that can be read again stays
 * among them. Asks no server. On success *nodes belongs to the caller: free it with zkr_entries_free.
 */
zkr_status zkr_client_skipped(const zkr_client *client,
                              zkr_entries **nodes,
                              zkr_error **error);

/* Logs ------------------------------------------------------------------------------------------------ */

/**
 * Calls back with what the library says of itself, up to a level: about connections, sessions, leases, waits and losses of
 * all clients of this process. Nothing is said before somebody listens, and without this nothing is written anywhere, unless
 * ZKRECIPES_LOG in the environment (error, warn, info, debug) has it written to stderr.
 *
 * The callback comes on a thread of the library that does nothing else: it may take its time, but what it does not come to
 * is dropped and counted. subscription may be NULL to leave it in place for good; otherwise end it with
 * zkr_subscription_free. Each call of this takes a few hundred bytes that are never freed: listen once, not again and again.
 */
zkr_status zkr_on_log(zkr_log_level most,
                      zkr_log_callback callback,
                      void *user_data,
                      zkr_subscription **subscription,
                      zkr_error **error);

/** Says something to whoever listens (zkr_on_log, ZKRECIPES_LOG), as the C++ interface does where it cannot throw. */
void zkr_log(zkr_log_level level_of_it,
             const char *event,
             const char *message);

/** The name of a level: "off", "error", "warn", "info", "debug", "trace". */
const char *zkr_log_level_name(zkr_log_level level);

/* Locks ----------------------------------------------------------------------------------------------- */

/**
 * Acquires the lock, waiting up to timeout_ms: 0 is one attempt, any negative is for ever.
 *
 * ZKR_TIMEOUT if somebody else has it for all that time. held may be NULL when zkr_lock_release and the other verbs of
 * the lock are enough; otherwise *held belongs to the caller: free it with zkr_held_free.
 *
 * Cancelling: zkr_lock_cancel, zkr_lock_free or, for one call, zkr_lock_acquire_cancellable. In every case, and after
 * a timeout, nothing of ours stays in ZooKeeper.
 */
zkr_status zkr_lock_acquire(zkr_lock *lock,
                            int64_t timeout_ms,
                            zkr_held **held,
                            zkr_error **error);

/** zkr_lock_acquire that another thread can withdraw; token may be NULL. */
zkr_status zkr_lock_acquire_cancellable(zkr_lock *lock,
                                        int64_t timeout_ms,
                                        zkr_cancel_token *token,
                                        zkr_held **held,
                                        zkr_error **error);

/** zkr_lock_acquire in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_lock_acquire_async(zkr_lock *lock,
                                  int64_t timeout_ms,
                                  zkr_held_callback callback,
                                  void *user_data);

/** zkr_lock_acquire_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_lock_acquire_cancellable_async(zkr_lock *lock,
                                              int64_t timeout_ms,
                                              zkr_cancel_token *token,
                                              zkr_held_callback callback,
                                              void *user_data);

/**
 * Releases the innermost acquisition of this handle. From the call on the lock counts as not held.
 *
 * ZKR_NOT_HELD if nothing is held. ZKR_CONNECTION_LOST means that the server did not confirm; the deletion goes on in
 * the background until it does or the session has ended.
 */
zkr_status zkr_lock_release(zkr_lock *lock,
                            zkr_error **error);

/** zkr_lock_release in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_lock_release_async(zkr_lock *lock, zkr_done_callback callback, void *user_data);

/**
 * Releases the innermost acquisition and leaves the confirmation to the background: never blocks, fit for destructors
 * and callbacks. ZKR_NOT_HELD if nothing is held.
 */
zkr_status zkr_lock_release_in_background(zkr_lock *lock,
                                          zkr_error **error);

/**
 * Whether the lock is certainly held through this handle at this moment: a comparison of clocks, no request. Never
 * true again for an acquisition once lost.
 */
bool zkr_lock_is_held(const zkr_lock *lock);

/**
 * The fencing token of what this handle holds: it rises strictly from one acquisition of a path to the next. 0, which
 * is never a token, when nothing is held.
 */
uint64_t zkr_lock_fencing_token(const zkr_lock *lock);

/** Asks the server whether the lock is held. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it cannot be known. */
zkr_status zkr_lock_verify(zkr_lock *lock,
                           zkr_error **error);

/** zkr_lock_verify in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_lock_verify_async(zkr_lock *lock, zkr_done_callback callback, void *user_data);

/**
 * A transaction that the server applies only while the current acquisition stands: the exact protection, where
 * zkr_lock_is_held cannot foresee a deletion by force. Free it with zkr_transaction_free.
 */
zkr_status zkr_lock_guarded(zkr_lock *lock,
                            zkr_transaction **transaction,
                            zkr_error **error);

/**
 * Calls back once when the current acquisition is lost, at once if it already is, never on its own release.
 * subscription may be NULL; otherwise end it with zkr_subscription_free.
 */
zkr_status zkr_lock_on_lost(zkr_lock *lock,
                            zkr_lost_callback callback,
                            void *user_data,
                            zkr_subscription **subscription,
                            zkr_error **error);

/**
 * Calls back once when somebody asks for what is held now (zkr_lock_revoke), at once if somebody already has: finish,
 * then release. ZKR_NOT_HELD if nothing is held. subscription may be NULL; otherwise end it with
 * zkr_subscription_free.
 */
zkr_status zkr_lock_on_revoke(zkr_lock *lock,
                              zkr_revoke_callback callback,
                              void *user_data,
                              zkr_subscription **subscription,
                              zkr_error **error);

/**
 * Calls back while an acquisition through this handle waits: after a second, and then ever less often, up to once a
 * minute. Each time it is looked who holds, which is one read in general. subscription may be NULL; otherwise end it
 * with zkr_subscription_free.
 */
zkr_status zkr_lock_on_wait(zkr_lock *lock,
                            zkr_wait_callback callback,
                            void *user_data,
                            zkr_subscription **subscription,
                            zkr_error **error);

/** Wakes all acquisitions that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks. */
zkr_status zkr_lock_cancel(zkr_lock *lock,
                           zkr_error **error);

/**
 * Who holds the lock and who waits, in order. On success *contenders belongs to the caller: free it with
 * zkr_contenders_free.
 */
zkr_status zkr_lock_contenders(zkr_lock *lock, zkr_contenders **contenders, zkr_error **error);

/** zkr_lock_contenders in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_lock_contenders_async(zkr_lock *lock, zkr_contenders_callback callback, void *user_data);

/**
 * Asks for the lock: whoever holds it, or the contender whose node is named as in a zkr_contender (NULL: whoever
 * holds), hears of it through zkr_held_on_revoke and lets go when it can.
 *
 * With force_after_ms, exactly the nodes that were asked are deleted if they have not gone by then; any negative is
 * never. A holder that cannot be reached at that moment does not know that it lost until its lease runs out: only
 * guarded writes and fencing tokens protect from it. asked may be NULL; otherwise it says whether there was anybody to
 * ask. ZKR_INVALID for what cannot be a contender of this lock. Cancelling while it waits: zkr_lock_cancel or
 * zkr_lock_revoke_cancellable.
 */
zkr_status zkr_lock_revoke(zkr_lock *lock,
                           const char *contender,
                           int64_t force_after_ms,
                           bool *asked,
                           zkr_error **error);

/**
 * zkr_lock_revoke that another thread can withdraw; token may be NULL. Withdrawn while it waits, it has asked, but
 * deletes nothing.
 */
zkr_status zkr_lock_revoke_cancellable(zkr_lock *lock,
                                       const char *contender,
                                       int64_t force_after_ms,
                                       zkr_cancel_token *token,
                                       bool *asked,
                                       zkr_error **error);

/**
 * zkr_lock_revoke in the background; the answer is whether there was anybody to ask. ZKR_OK says that the callback
 * will be called exactly once.
 */
zkr_status zkr_lock_revoke_async(zkr_lock *lock,
                                 const char *contender,
                                 int64_t force_after_ms,
                                 zkr_answer_callback callback,
                                 void *user_data);

/** zkr_lock_revoke_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_lock_revoke_cancellable_async(zkr_lock *lock,
                                             const char *contender,
                                             int64_t force_after_ms,
                                             zkr_cancel_token *token,
                                             zkr_answer_callback callback,
                                             void *user_data);

/**
 * Makes a handle of a lock. Validates, but sends nothing. options may be NULL for the defaults. On success *lock
 * belongs to the caller: free it with zkr_lock_free.
 */
zkr_status zkr_lock_new(zkr_client *client,
                        const char *path,
                        const zkr_lock_options *options,
                        zkr_lock **lock,
                        zkr_error **error);

/**
 * Frees a lock. Waits in progress on it end with ZKR_CANCELLED. If it is held, it is released in the background,
 * unless a zkr_held of it is still around, which owns it from then on. Never blocks. NULL, freed ones and the sides of
 * a zkr_read_write_lock are ignored.
 */
void zkr_lock_free(zkr_lock *lock);

/** The path of the lock; NULL for a handle that cannot be used. Valid until the lock is freed. */
const char *zkr_lock_path(const zkr_lock *lock);

/**
 * From writing to reading, for the write side of a zkr_read_write_lock, as zkr_held_downgrade of its current
 * acquisition. What stands for it is held by the read side: zkr_lock_release of that one ends it. reading may be NULL
 * when that is enough; otherwise *reading belongs to the caller: free it with zkr_held_free.
 *
 * ZKR_INVALID for any other lock, ZKR_NOT_HELD if nothing is held. On an error write is still held, unless it is lost.
 */
zkr_status zkr_lock_downgrade(zkr_lock *lock,
                              zkr_held **reading,
                              zkr_error **error);

/** zkr_lock_downgrade in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_lock_downgrade_async(zkr_lock *lock, zkr_held_callback callback, void *user_data);

/* Acquisitions ---------------------------------------------------------------------------------------- */

/**
 * The fencing tokens of everything that is held together: several for a zkr_multi_lock, in the order of its paths.
 * Writes as many as there is room for and returns how many there are; tokens may be NULL to ask for that alone. 0 for
 * a handle that cannot be used.
 */
size_t zkr_held_fencing_tokens(const zkr_held *held,
                               uint64_t *tokens,
                               size_t room);

/**
 * Releases. From the call on it counts as not held. A second release is ZKR_NOT_HELD, and so is one of what was lost:
 * there is nothing left to release. ZKR_CONNECTION_LOST means that the server did not confirm; the deletion goes on in
 * the background until it does or the session has ended.
 */
zkr_status zkr_held_release(zkr_held *held,
                            zkr_error **error);

/** zkr_held_release in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_held_release_async(zkr_held *held, zkr_done_callback callback, void *user_data);

/**
 * Releases and leaves the confirmation to the background: never blocks, fit for destructors. ZKR_NOT_HELD if it was
 * released before.
 */
zkr_status zkr_held_release_in_background(zkr_held *held,
                                          zkr_error **error);

/**
 * Whether this acquisition certainly stands at this moment: a comparison of clocks, no request. Never true again once
 * false.
 */
bool zkr_held_is_held(const zkr_held *held);

/**
 * The fencing token: it rises strictly from one acquisition of a path to the next. Stays the same after release and
 * loss. 0, which is never a token, for a handle that cannot be used.
 */
uint64_t zkr_held_fencing_token(const zkr_held *held);

/** Asks the server whether it stands. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it cannot be known. */
zkr_status zkr_held_verify(zkr_held *held, zkr_error **error);

/** zkr_held_verify in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_held_verify_async(zkr_held *held, zkr_done_callback callback, void *user_data);

/** A transaction that the server applies only while this acquisition stands. Free it with zkr_transaction_free. */
zkr_status zkr_held_guarded(zkr_held *held,
                            zkr_transaction **transaction,
                            zkr_error **error);

/**
 * Calls back once when this acquisition is lost, at once if it already is, never on its own release. subscription may
 * be NULL; otherwise end it with zkr_subscription_free.
 */
zkr_status zkr_held_on_lost(zkr_held *held,
                            zkr_lost_callback callback,
                            void *user_data,
                            zkr_subscription **subscription,
                            zkr_error **error);

/**
 * Calls back once when somebody asks for what is held (zkr_lock_revoke and the like), at once if somebody already has:
 * finish, then release. Never after its own release. subscription may be NULL; otherwise end it with
 * zkr_subscription_free.
 */
zkr_status zkr_held_on_revoke(zkr_held *held,
                              zkr_revoke_callback callback,
                              void *user_data,
                              zkr_subscription **subscription,
                              zkr_error **error);

/**
 * Frees a zkr_held. It is released in the background unless it was released before or the lock that it came from still
 * keeps it. Never blocks. NULL and freed ones are ignored.
 */
void zkr_held_free(zkr_held *held);

/**
 * The path of what is held, for a zkr_multi_lock its paths with spaces between; NULL for a handle that cannot be used.
 * Valid until it is freed.
 */
const char *zkr_held_path(const zkr_held *held);

/**
 * The last part of the path of what is held: of a partition, its name. NULL for a handle that cannot be used. Valid
 * until it is freed.
 */
const char *zkr_held_name(const zkr_held *held);

/**
 * The path of our own node, the first one if there are several; NULL for a handle that cannot be used. Valid until it
 * is freed.
 */
const char *zkr_held_node(const zkr_held *held);

/**
 * A text that names this acquisition, for others to check; NULL for a handle that cannot be used. Valid until it is
 * freed.
 */
const char *zkr_held_sequencer(const zkr_held *held);

/**
 * How often the turn was passed on inside this process since it was won from the others. With local_handoff,
 * acquisitions share a fencing token; the pair of the token and this number rises strictly.
 */
uint32_t zkr_held_passes(const zkr_held *held);

/**
 * How many permits it is, for an acquisition of a zkr_semaphore; 1 for a lock, the number of its locks for a
 * zkr_multi_lock, 0 for a handle that cannot be used.
 */
size_t zkr_held_permits(const zkr_held *held);

/**
 * From writing to reading, for what the write side of a zkr_read_write_lock acquired: nobody writes in between, and
 * the fencing token stays. This acquisition is over then, as after a release. What stands for it is held by the read
 * side: zkr_lock_release of that one ends it. reading may be NULL when that is enough; otherwise *reading belongs to
 * the caller: free it with zkr_held_free.
 *
 * ZKR_INVALID for what was acquired otherwise, ZKR_NOT_HELD if it was released or lost. On an error write is still
 * held, unless it is lost.
 */
zkr_status zkr_held_downgrade(zkr_held *held,
                              zkr_held **reading,
                              zkr_error **error);

/** zkr_held_downgrade in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_held_downgrade_async(zkr_held *held, zkr_held_callback callback, void *user_data);

/* Read/write locks ------------------------------------------------------------------------------------ */

/**
 * Makes a handle of a read/write lock. Validates, but sends nothing. On success *lock belongs to the caller: free it
 * with zkr_read_write_lock_free.
 */
zkr_status zkr_read_write_lock_new(zkr_client *client,
                                   const char *path,
                                   zkr_read_write_lock **lock,
                                   zkr_error **error);

/**
 * Frees a read/write lock and both its sides. Waits in progress on them end with ZKR_CANCELLED. What is held is
 * released in the background, unless a zkr_held of it is still around, which owns it from then on. Never blocks. NULL
 * and freed ones are ignored.
 */
void zkr_read_write_lock_free(zkr_read_write_lock *lock);

/** The path of the lock; NULL for a handle that cannot be used. Valid until the lock is freed. */
const char *zkr_read_write_lock_path(const zkr_read_write_lock *lock);

/**
 * The side that readers share; NULL for a handle that cannot be used. It is a part of the read/write lock and goes
 * with it: there is nothing to free.
 */
zkr_lock *zkr_read_write_lock_read(const zkr_read_write_lock *lock);

/**
 * The side that a writer has alone; NULL for a handle that cannot be used. It is a part of the read/write lock and
 * goes with it: there is nothing to free.
 */
zkr_lock *zkr_read_write_lock_write(const zkr_read_write_lock *lock);

/* Several locks as one -------------------------------------------------------------------------------- */

/**
 * Makes one lock of several. Validates, but sends nothing. The locks must be plain ones of this client, no two of one
 * path; they are only read and stay the caller's. On success *multi_lock belongs to the caller: free it with
 * zkr_multi_lock_free.
 */
zkr_status zkr_multi_lock_new(zkr_client *client,
                              zkr_lock *const *locks,
                              size_t count,
                              zkr_multi_lock **multi_lock,
                              zkr_error **error);

/**
 * The fencing tokens of what is held, in the order of the paths. Writes as many as there is room for and returns how
 * many there are, 0 when nothing is held; tokens may be NULL to ask for that alone.
 */
size_t zkr_multi_lock_fencing_tokens(const zkr_multi_lock *multi_lock,
                                     uint64_t *tokens,
                                     size_t room);

/**
 * Acquires all of them, waiting up to timeout_ms: 0 is one attempt, any negative is for ever.
 *
 * ZKR_TIMEOUT if somebody else has one of them for all that time; nothing is held then. held may be NULL when
 * zkr_multi_lock_release is enough; otherwise *held, which stands for all of them, belongs to the caller: free it with
 * zkr_held_free. Cancelling: zkr_multi_lock_cancel, zkr_multi_lock_free or, for one call,
 * zkr_multi_lock_acquire_cancellable.
 */
zkr_status zkr_multi_lock_acquire(zkr_multi_lock *multi_lock,
                                  int64_t timeout_ms,
                                  zkr_held **held,
                                  zkr_error **error);

/** zkr_multi_lock_acquire that another thread can withdraw; token may be NULL. */
zkr_status zkr_multi_lock_acquire_cancellable(zkr_multi_lock *multi_lock,
                                              int64_t timeout_ms,
                                              zkr_cancel_token *token,
                                              zkr_held **held,
                                              zkr_error **error);

/** zkr_multi_lock_acquire in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_multi_lock_acquire_async(zkr_multi_lock *multi_lock,
                                        int64_t timeout_ms,
                                        zkr_held_callback callback,
                                        void *user_data);

/** zkr_multi_lock_acquire_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_multi_lock_acquire_cancellable_async(zkr_multi_lock *multi_lock,
                                                    int64_t timeout_ms,
                                                    zkr_cancel_token *token,
                                                    zkr_held_callback callback,
                                                    void *user_data);

/**
 * Releases all of them. From the call on they count as not held.
 *
 * ZKR_NOT_HELD if nothing is held. ZKR_CONNECTION_LOST means that the server did not confirm; the deletion goes on in
 * the background until it does or the session has ended.
 */
zkr_status zkr_multi_lock_release(zkr_multi_lock *multi_lock,
                                  zkr_error **error);

/** zkr_multi_lock_release in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_multi_lock_release_async(zkr_multi_lock *multi_lock,
                                        zkr_done_callback callback,
                                        void *user_data);

/**
 * The same, with the confirmation left to the background: never blocks, fit for destructors and callbacks.
 * ZKR_NOT_HELD if nothing is held.
 */
zkr_status zkr_multi_lock_release_in_background(zkr_multi_lock *multi_lock, zkr_error **error);

/**
 * Whether all of them are certainly held through this handle at this moment: a comparison of clocks, no request. Never
 * true again for an acquisition once lost.
 */
bool zkr_multi_lock_is_held(const zkr_multi_lock *multi_lock);

/**
 * The fencing token of the first of the paths; see zkr_multi_lock_fencing_tokens for all. 0, which is never a token,
 * when nothing is held.
 */
uint64_t zkr_multi_lock_fencing_token(const zkr_multi_lock *multi_lock);

/**
 * Asks the server whether what this handle holds is held. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it
 * cannot be known.
 */
zkr_status zkr_multi_lock_verify(zkr_multi_lock *multi_lock,
                                 zkr_error **error);

/** zkr_multi_lock_verify in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_multi_lock_verify_async(zkr_multi_lock *multi_lock,
                                       zkr_done_callback callback,
                                       void *user_data);

/** A transaction that the server applies only while what this handle holds stands. Free it with zkr_transaction_free. */
zkr_status zkr_multi_lock_guarded(zkr_multi_lock *multi_lock,
                                  zkr_transaction **transaction,
                                  zkr_error **error);

/**
 * Calls back once when what this handle holds is lost, at once if it already is, never on its own release.
 * subscription may be NULL; otherwise end it with zkr_subscription_free.
 */
zkr_status zkr_multi_lock_on_lost(zkr_multi_lock *multi_lock,
                                  zkr_lost_callback callback,
                                  void *user_data,
                                  zkr_subscription **subscription,
                                  zkr_error **error);

/**
 * Calls back once when somebody asks for what is held now (zkr_multi_lock_revoke), at once if somebody already has:
 * finish, then release. ZKR_NOT_HELD if nothing is held. subscription may be NULL; otherwise end it with
 * zkr_subscription_free.
 */
zkr_status zkr_multi_lock_on_revoke(zkr_multi_lock *multi_lock,
                                    zkr_revoke_callback callback,
                                    void *user_data,
                                    zkr_subscription **subscription,
                                    zkr_error **error);

/**
 * Calls back while an acquisition through this handle waits: after a second, and then ever less often, up to once a
 * minute. Each time it is looked who holds, which is one read in general. subscription may be NULL; otherwise end it
 * with zkr_subscription_free.
 */
zkr_status zkr_multi_lock_on_wait(zkr_multi_lock *multi_lock,
                                  zkr_wait_callback callback,
                                  void *user_data,
                                  zkr_subscription **subscription,
                                  zkr_error **error);

/** Wakes all acquisitions that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks. */
zkr_status zkr_multi_lock_cancel(zkr_multi_lock *multi_lock,
                                 zkr_error **error);

/**
 * Who holds the locks and who waits for them, in the order of the paths; the node of a contender is a whole path. On
 * success *contenders belongs to the caller: free it with zkr_contenders_free.
 */
zkr_status zkr_multi_lock_contenders(zkr_multi_lock *multi_lock,
                                     zkr_contenders **contenders,
                                     zkr_error **error);

/** zkr_multi_lock_contenders in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_multi_lock_contenders_async(zkr_multi_lock *multi_lock,
                                           zkr_contenders_callback callback,
                                           void *user_data);

/**
 * Asks for the locks: whoever holds any of them, or the contender whose node is named as in a zkr_contender (NULL:
 * whoever holds), hears of it through zkr_held_on_revoke and lets go when it can. force_after_ms, asked and
 * ZKR_INVALID are as for zkr_lock_revoke.
 */
zkr_status zkr_multi_lock_revoke(zkr_multi_lock *multi_lock,
                                 const char *contender,
                                 int64_t force_after_ms,
                                 bool *asked,
                                 zkr_error **error);

/**
 * zkr_multi_lock_revoke that another thread can withdraw; token may be NULL. Withdrawn while it waits, it has asked,
 * but deletes nothing.
 */
zkr_status zkr_multi_lock_revoke_cancellable(zkr_multi_lock *multi_lock,
                                             const char *contender,
                                             int64_t force_after_ms,
                                             zkr_cancel_token *token,
                                             bool *asked,
                                             zkr_error **error);

/**
 * zkr_multi_lock_revoke in the background; the answer is whether there was anybody to ask. ZKR_OK says that the
 * callback will be called exactly once.
 */
zkr_status zkr_multi_lock_revoke_async(zkr_multi_lock *multi_lock,
                                       const char *contender,
                                       int64_t force_after_ms,
                                       zkr_answer_callback callback,
                                       void *user_data);

/** zkr_multi_lock_revoke_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_multi_lock_revoke_cancellable_async(zkr_multi_lock *multi_lock,
                                                   const char *contender,
                                                   int64_t force_after_ms,
                                                   zkr_cancel_token *token,
                                                   zkr_answer_callback callback,
                                                   void *user_data);

/**
 * Frees a multi-lock, not the locks that it was made of. Waits in progress on it end with ZKR_CANCELLED. If it is
 * held, it is released in the background, unless a zkr_held of it is still around, which owns it from then on. Never
 * blocks. NULL and freed ones are ignored.
 */
void zkr_multi_lock_free(zkr_multi_lock *multi_lock);

/**
 * The paths that are locked, in the order in which they are acquired and in which the tokens come. On success *paths
 * belongs to the caller: free it with zkr_strings_free.
 */
zkr_status zkr_multi_lock_paths(const zkr_multi_lock *multi_lock,
                                zkr_strings **paths,
                                zkr_error **error);

/* Semaphores ------------------------------------------------------------------------------------------ */

/**
 * Acquires n permits in one step, waiting up to timeout_ms: 0 is one attempt, any negative is for ever.
 *
 * ZKR_TIMEOUT if they are not free in all that time, ZKR_INVALID if there are never that many, ZKR_MISMATCH if others
 * say another number of permits. held may be NULL when zkr_semaphore_release is enough; otherwise *held belongs to the
 * caller: free it with zkr_held_free. Cancelling: zkr_semaphore_cancel, zkr_semaphore_free or, for one call,
 * zkr_semaphore_acquire_cancellable.
 */
zkr_status zkr_semaphore_acquire(zkr_semaphore *semaphore,
                                 size_t n,
                                 int64_t timeout_ms,
                                 zkr_held **held,
                                 zkr_error **error);

/** zkr_semaphore_acquire that another thread can withdraw; token may be NULL. */
zkr_status zkr_semaphore_acquire_cancellable(zkr_semaphore *semaphore,
                                             size_t n,
                                             int64_t timeout_ms,
                                             zkr_cancel_token *token,
                                             zkr_held **held,
                                             zkr_error **error);

/** zkr_semaphore_acquire in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_semaphore_acquire_async(zkr_semaphore *semaphore,
                                       size_t n,
                                       int64_t timeout_ms,
                                       zkr_held_callback callback,
                                       void *user_data);

/** zkr_semaphore_acquire_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_semaphore_acquire_cancellable_async(zkr_semaphore *semaphore,
                                                   size_t n,
                                                   int64_t timeout_ms,
                                                   zkr_cancel_token *token,
                                                   zkr_held_callback callback,
                                                   void *user_data);

/**
 * Releases the acquisition made last through this handle, all its permits. From the call on it counts as not held.
 *
 * ZKR_NOT_HELD if nothing is held. ZKR_CONNECTION_LOST means that the server did not confirm; the deletion goes on in
 * the background until it does or the session has ended.
 */
zkr_status zkr_semaphore_release(zkr_semaphore *semaphore,
                                 zkr_error **error);

/** zkr_semaphore_release in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_semaphore_release_async(zkr_semaphore *semaphore, zkr_done_callback callback, void *user_data);

/**
 * The same, with the confirmation left to the background: never blocks, fit for destructors and callbacks.
 * ZKR_NOT_HELD if nothing is held.
 */
zkr_status zkr_semaphore_release_in_background(zkr_semaphore *semaphore, zkr_error **error);

/**
 * Whether permits are certainly held through this handle at this moment: a comparison of clocks, no request. Never
 * true again for an acquisition once lost.
 */
bool zkr_semaphore_is_held(const zkr_semaphore *semaphore);

/**
 * The fencing token of the acquisition made last through this handle. Those of permits held at the same time are in no
 * order. 0, which is never a token, when nothing is held.
 */
uint64_t zkr_semaphore_fencing_token(const zkr_semaphore *semaphore);

/**
 * Asks the server whether the acquisition made last through this handle is held. ZKR_OK, or ZKR_NOT_HELD, or
 * ZKR_CONNECTION_LOST when it cannot be known.
 */
zkr_status zkr_semaphore_verify(zkr_semaphore *semaphore, zkr_error **error);

/** zkr_semaphore_verify in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_semaphore_verify_async(zkr_semaphore *semaphore, zkr_done_callback callback, void *user_data);

/**
 * A transaction that the server applies only while the acquisition made last through this handle stands. Free it with
 * zkr_transaction_free.
 */
zkr_status zkr_semaphore_guarded(zkr_semaphore *semaphore,
                                 zkr_transaction **transaction,
                                 zkr_error **error);

/**
 * Calls back once when the acquisition made last through this handle is lost, at once if it already is, never on its
 * own release. subscription may be NULL; otherwise end it with zkr_subscription_free.
 */
zkr_status zkr_semaphore_on_lost(zkr_semaphore *semaphore,
                                 zkr_lost_callback callback,
                                 void *user_data,
                                 zkr_subscription **subscription,
                                 zkr_error **error);

/**
 * Calls back once when somebody asks for what is held now (zkr_semaphore_revoke), at once if somebody already has:
 * finish, then release. ZKR_NOT_HELD if nothing is held. subscription may be NULL; otherwise end it with
 * zkr_subscription_free.
 */
zkr_status zkr_semaphore_on_revoke(zkr_semaphore *semaphore,
                                   zkr_revoke_callback callback,
                                   void *user_data,
                                   zkr_subscription **subscription,
                                   zkr_error **error);

/**
 * Calls back while an acquisition through this handle waits: after a second, and then ever less often, up to once a
 * minute. Each time it is looked who holds, which is one read in general. subscription may be NULL; otherwise end it
 * with zkr_subscription_free.
 */
zkr_status zkr_semaphore_on_wait(zkr_semaphore *semaphore,
                                 zkr_wait_callback callback,
                                 void *user_data,
                                 zkr_subscription **subscription,
                                 zkr_error **error);

/** Wakes all acquisitions that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks. */
zkr_status zkr_semaphore_cancel(zkr_semaphore *semaphore,
                                zkr_error **error);

/**
 * Who holds permits, one entry for each permit, and then who waits for some, in order. On success *contenders belongs
 * to the caller: free it with zkr_contenders_free.
 */
zkr_status zkr_semaphore_contenders(zkr_semaphore *semaphore,
                                    zkr_contenders **contenders,
                                    zkr_error **error);

/** zkr_semaphore_contenders in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_semaphore_contenders_async(zkr_semaphore *semaphore,
                                          zkr_contenders_callback callback,
                                          void *user_data);

/**
 * Asks for permits: everybody who holds some, or the contender whose node is named as in a zkr_contender (NULL:
 * everybody who holds), hears of it through zkr_held_on_revoke and lets go when it can. force_after_ms, asked and
 * ZKR_INVALID are as for zkr_lock_revoke; an acquisition that loses one of its permits loses all.
 */
zkr_status zkr_semaphore_revoke(zkr_semaphore *semaphore,
                                const char *contender,
                                int64_t force_after_ms,
                                bool *asked,
                                zkr_error **error);

/**
 * zkr_semaphore_revoke that another thread can withdraw; token may be NULL. Withdrawn while it waits, it has asked,
 * but deletes nothing.
 */
zkr_status zkr_semaphore_revoke_cancellable(zkr_semaphore *semaphore,
                                            const char *contender,
                                            int64_t force_after_ms,
                                            zkr_cancel_token *token,
                                            bool *asked,
                                            zkr_error **error);

/**
 * zkr_semaphore_revoke in the background; the answer is whether there was anybody to ask. ZKR_OK says that the
 * callback will be called exactly once.
 */
zkr_status zkr_semaphore_revoke_async(zkr_semaphore *semaphore,
                                      const char *contender,
                                      int64_t force_after_ms,
                                      zkr_answer_callback callback,
                                      void *user_data);

/** zkr_semaphore_revoke_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_semaphore_revoke_cancellable_async(zkr_semaphore *semaphore,
                                                  const char *contender,
                                                  int64_t force_after_ms,
                                                  zkr_cancel_token *token,
                                                  zkr_answer_callback callback,
                                                  void *user_data);

/**
 * Makes a handle of a semaphore with so many permits. Validates, but sends nothing; acquiring is ZKR_MISMATCH if
 * others say another number. On success *semaphore belongs to the caller: free it with zkr_semaphore_free.
 */
zkr_status zkr_semaphore_new(zkr_client *client,
                             const char *path,
                             size_t permits,
                             zkr_semaphore **semaphore,
                             zkr_error **error);

/**
 * Frees a semaphore. Waits in progress on it end with ZKR_CANCELLED. What is held through it is released in the
 * background, but for acquisitions whose zkr_held is still around, which owns it from then on. Never blocks. NULL and
 * freed ones are ignored.
 */
void zkr_semaphore_free(zkr_semaphore *semaphore);

/** The path of the semaphore; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_semaphore_path(const zkr_semaphore *semaphore);

/** How many permits there are, as far as this handle knows; 0 for a handle that cannot be used. */
size_t zkr_semaphore_permits(const zkr_semaphore *semaphore);

/**
 * Who holds permits, one entry for each permit. On success *holders belongs to the caller: free it with
 * zkr_contenders_free.
 */
zkr_status zkr_semaphore_holders(zkr_semaphore *semaphore, zkr_contenders **holders, zkr_error **error);

/** zkr_semaphore_holders in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_semaphore_holders_async(zkr_semaphore *semaphore,
                                       zkr_contenders_callback callback,
                                       void *user_data);

/**
 * Changes how many permits there are, for everybody: handles that still say the old number get ZKR_MISMATCH. If it is
 * fewer than are held now, that takes effect as they are released.
 */
zkr_status zkr_semaphore_resize(zkr_semaphore *semaphore,
                                size_t permits,
                                zkr_error **error);

/** zkr_semaphore_resize in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_semaphore_resize_async(zkr_semaphore *semaphore,
                                      size_t permits,
                                      zkr_done_callback callback,
                                      void *user_data);

/* Counters -------------------------------------------------------------------------------------------- */

/**
 * Makes a handle of a counter. Validates, but sends nothing. options may be NULL for the defaults. On success *counter
 * belongs to the caller: free it with zkr_counter_free.
 */
zkr_status zkr_counter_new(zkr_client *client,
                           const char *path,
                           const zkr_counter_options *options,
                           zkr_counter **counter,
                           zkr_error **error);

/** Frees a counter. Calls in progress on it go on. NULL and freed ones are ignored. */
void zkr_counter_free(zkr_counter *counter);

/** The path of the counter; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_counter_path(const zkr_counter *counter);

/** The value, no older than this call. */
zkr_status zkr_counter_get(zkr_counter *counter, int64_t *value, zkr_error **error);

/**
 * zkr_counter_get in the background; the number is the value. ZKR_OK says that the callback will be called exactly
 * once.
 */
zkr_status zkr_counter_get_async(zkr_counter *counter,
                                 zkr_number_callback callback,
                                 void *user_data);

/**
 * Adds n, which may be negative. value may be NULL; otherwise it is for the new value. ZKR_INVALID if that would be
 * beyond the range of the layout; nothing is added then.
 */
zkr_status zkr_counter_add(zkr_counter *counter,
                           int64_t n,
                           int64_t *value,
                           zkr_error **error);

/**
 * zkr_counter_add in the background; the number is the new value. ZKR_OK says that the callback will be called exactly
 * once.
 */
zkr_status zkr_counter_add_async(zkr_counter *counter,
                                 int64_t n,
                                 zkr_number_callback callback,
                                 void *user_data);

/** Sets the value, whatever it was. ZKR_INVALID if that is beyond the range of the layout; nothing is changed then. */
zkr_status zkr_counter_set(zkr_counter *counter,
                           int64_t value,
                           zkr_error **error);

/** zkr_counter_set in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_counter_set_async(zkr_counter *counter,
                                 int64_t value,
                                 zkr_done_callback callback,
                                 void *user_data);

/** Sets the value to new_value if it is old_value, in one step; *was_set says whether it was. */
zkr_status zkr_counter_compare_and_set(zkr_counter *counter,
                                       int64_t old_value,
                                       int64_t new_value,
                                       bool *was_set,
                                       zkr_error **error);

/**
 * zkr_counter_compare_and_set in the background; the answer is whether it was set. ZKR_OK says that the callback will
 * be called exactly once.
 */
zkr_status zkr_counter_compare_and_set_async(zkr_counter *counter,
                                             int64_t old_value,
                                             int64_t new_value,
                                             zkr_answer_callback callback,
                                             void *user_data);

/**
 * Tells the value now, and whenever it has changed: always the latest, over reconnections and new sessions. The next
 * value is asked for when the callback has returned, so a slow one misses values, but never the latest.
 *
 * subscription may be NULL to leave the callback in place for good; otherwise end it with zkr_subscription_free. If it
 * ends by itself, that is told by a status: ZKR_CLOSED with the client, ZKR_DENIED and the like where it cannot go on.
 */
zkr_status zkr_counter_watch(zkr_counter *counter,
                             zkr_number_callback callback,
                             void *user_data,
                             zkr_subscription **subscription,
                             zkr_error **error);

/* Leaderships ----------------------------------------------------------------------------------------- */

/**
 * Releases. From the call on it counts as not held. A second release is ZKR_NOT_HELD, and so is one of what was lost:
 * there is nothing left to release. ZKR_CONNECTION_LOST means that the server did not confirm; the deletion goes on in
 * the background until it does or the session has ended.
 */
zkr_status zkr_leadership_release(zkr_leadership *leadership,
                                  zkr_error **error);

/** zkr_leadership_release in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_leadership_release_async(zkr_leadership *leadership,
                                        zkr_done_callback callback,
                                        void *user_data);

/**
 * Releases and leaves the confirmation to the background: never blocks, fit for destructors. ZKR_NOT_HELD if it was
 * released before.
 */
zkr_status zkr_leadership_release_in_background(zkr_leadership *leadership,
                                                zkr_error **error);

/**
 * Whether this acquisition certainly stands at this moment: a comparison of clocks, no request. Never true again once
 * false.
 */
bool zkr_leadership_is_held(const zkr_leadership *leadership);

/**
 * The fencing token: it rises strictly from one acquisition of a path to the next. Stays the same after release and
 * loss. 0, which is never a token, for a handle that cannot be used.
 */
uint64_t zkr_leadership_fencing_token(const zkr_leadership *leadership);

/** Asks the server whether it stands. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it cannot be known. */
zkr_status zkr_leadership_verify(zkr_leadership *leadership, zkr_error **error);

/** zkr_leadership_verify in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_leadership_verify_async(zkr_leadership *leadership,
                                       zkr_done_callback callback,
                                       void *user_data);

/** A transaction that the server applies only while this leadership stands. Free it with zkr_transaction_free. */
zkr_status zkr_leadership_guarded(zkr_leadership *leadership,
                                  zkr_transaction **transaction,
                                  zkr_error **error);

/**
 * Calls back once when this leadership is lost, at once if it already is, never on its own release. subscription may
 * be NULL; otherwise end it with zkr_subscription_free.
 */
zkr_status zkr_leadership_on_lost(zkr_leadership *leadership,
                                  zkr_lost_callback callback,
                                  void *user_data,
                                  zkr_subscription **subscription,
                                  zkr_error **error);

/**
 * Calls back once when somebody asks for what is held (zkr_lock_revoke and the like), at once if somebody already has:
 * finish, then release. Never after its own release. subscription may be NULL; otherwise end it with
 * zkr_subscription_free.
 */
zkr_status zkr_leadership_on_revoke(zkr_leadership *leadership,
                                    zkr_revoke_callback callback,
                                    void *user_data,
                                    zkr_subscription **subscription,
                                    zkr_error **error);

/**
 * Frees a leadership. It is resigned in the background unless it was released before or the election that it came from
 * still keeps it, as it does for zkr_election_campaign but not for zkr_election_run. Never blocks. NULL and freed ones
 * are ignored.
 */
void zkr_leadership_free(zkr_leadership *leadership);

/** The path of the election; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_leadership_path(const zkr_leadership *leadership);

/**
 * The last part of the path of what is held: of a partition, its name. NULL for a handle that cannot be used. Valid
 * until it is freed.
 */
const char *zkr_leadership_name(const zkr_leadership *leadership);

/** The path of our candidate; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_leadership_node(const zkr_leadership *leadership);

/**
 * A text that names this acquisition, for others to check; NULL for a handle that cannot be used. Valid until it is
 * freed.
 */
const char *zkr_leadership_sequencer(const zkr_leadership *leadership);

/**
 * Rises strictly from one leader to the next: the fencing token. 0, which is never one, for a handle that cannot be
 * used.
 */
uint64_t zkr_leadership_epoch(const zkr_leadership *leadership);

/**
 * Tells everybody that this leader has begun its work, and data: zkr_leader_acknowledged. The server refuses it once
 * we lead no more, which is ZKR_NOT_HELD. Doing it again replaces the data.
 */
zkr_status zkr_leadership_acknowledge(zkr_leadership *leadership,
                                      const void *data,
                                      size_t size,
                                      zkr_error **error);

/** zkr_leadership_acknowledge in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_leadership_acknowledge_async(zkr_leadership *leadership,
                                            const void *data,
                                            size_t size,
                                            zkr_done_callback callback,
                                            void *user_data);

/* Leaders --------------------------------------------------------------------------------------------- */

/** Who it says it is: the identity option of its client. NULL for a handle that cannot be used. */
const char *zkr_leader_identity(const zkr_leader *leader);

/**
 * What it says: as a candidate, or, once it has begun its work, when it said so. A NUL that does not count follows;
 * NULL for a handle that cannot be used.
 */
const void *zkr_leader_data(const zkr_leader *leader);

/** How many bytes of data there are. */
size_t zkr_leader_size(const zkr_leader *leader);

/** Rises from one leader to the next; 0, which is never one, for a handle that cannot be used. */
uint64_t zkr_leader_epoch(const zkr_leader *leader);

/** Whether it has begun its work: zkr_leadership_acknowledge. */
bool zkr_leader_acknowledged(const zkr_leader *leader);

/** Frees a leader. NULL and freed ones are ignored. */
void zkr_leader_free(zkr_leader *leader);

/* Elections ------------------------------------------------------------------------------------------- */

/**
 * Resigns: the next candidate leads. From the call on this one counts as not leading.
 *
 * ZKR_NOT_HELD if nothing is held. ZKR_CONNECTION_LOST means that the server did not confirm; the deletion goes on in
 * the background until it does or the session has ended.
 */
zkr_status zkr_election_release(zkr_election *election,
                                zkr_error **error);

/** zkr_election_release in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_election_release_async(zkr_election *election, zkr_done_callback callback, void *user_data);

/**
 * The same, with the confirmation left to the background: never blocks, fit for destructors and callbacks.
 * ZKR_NOT_HELD if nothing is held.
 */
zkr_status zkr_election_release_in_background(zkr_election *election, zkr_error **error);

/**
 * Whether the leadership is certainly held through this handle at this moment: a comparison of clocks, no request.
 * Never true again for an acquisition once lost.
 */
bool zkr_election_is_held(const zkr_election *election);

/** The epoch of the leadership; 0, which is never one, while this candidate does not lead. */
uint64_t zkr_election_fencing_token(const zkr_election *election);

/**
 * Asks the server whether the leadership is held. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it cannot be
 * known.
 */
zkr_status zkr_election_verify(zkr_election *election,
                               zkr_error **error);

/** zkr_election_verify in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_election_verify_async(zkr_election *election, zkr_done_callback callback, void *user_data);

/** A transaction that the server applies only while the leadership stands. Free it with zkr_transaction_free. */
zkr_status zkr_election_guarded(zkr_election *election, zkr_transaction **transaction, zkr_error **error);

/**
 * Calls back once when the leadership is lost, at once if it already is, never on its own release. subscription may be
 * NULL; otherwise end it with zkr_subscription_free.
 */
zkr_status zkr_election_on_lost(zkr_election *election,
                                zkr_lost_callback callback,
                                void *user_data,
                                zkr_subscription **subscription,
                                zkr_error **error);

/**
 * Calls back once when somebody asks for what is held now (zkr_election_revoke), at once if somebody already has:
 * finish, then release. ZKR_NOT_HELD if nothing is held. subscription may be NULL; otherwise end it with
 * zkr_subscription_free.
 */
zkr_status zkr_election_on_revoke(zkr_election *election,
                                  zkr_revoke_callback callback,
                                  void *user_data,
                                  zkr_subscription **subscription,
                                  zkr_error **error);

/**
 * Calls back while an acquisition through this handle waits: after a second, and then ever less often, up to once a
 * minute. Each time it is looked who holds, which is one read in general. subscription may be NULL; otherwise end it
 * with zkr_subscription_free.
 */
zkr_status zkr_election_on_wait(zkr_election *election,
                                zkr_wait_callback callback,
                                void *user_data,
                                zkr_subscription **subscription,
                                zkr_error **error);

/** Wakes all acquisitions that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks. */
zkr_status zkr_election_cancel(zkr_election *election,
                               zkr_error **error);

/**
 * All who stand, in the order in which they will lead: as zkr_election_candidates. On success *contenders belongs to
 * the caller: free it with zkr_contenders_free.
 */
zkr_status zkr_election_contenders(zkr_election *election,
                                   zkr_contenders **contenders,
                                   zkr_error **error);

/** zkr_election_contenders in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_election_contenders_async(zkr_election *election,
                                         zkr_contenders_callback callback,
                                         void *user_data);

/**
 * Asks the leader to resign, or the candidate whose node is named as in a zkr_contender (NULL: the leader), which
 * moves behind all others if it does not lead, and otherwise hears of it through zkr_held_on_revoke and lets go when
 * it can. force_after_ms, asked and ZKR_INVALID are as for zkr_lock_revoke.
 */
zkr_status zkr_election_revoke(zkr_election *election,
                               const char *contender,
                               int64_t force_after_ms,
                               bool *asked,
                               zkr_error **error);

/**
 * zkr_election_revoke that another thread can withdraw; token may be NULL. Withdrawn while it waits, it has asked, but
 * deletes nothing.
 */
zkr_status zkr_election_revoke_cancellable(zkr_election *election,
                                           const char *contender,
                                           int64_t force_after_ms,
                                           zkr_cancel_token *token,
                                           bool *asked,
                                           zkr_error **error);

/**
 * zkr_election_revoke in the background; the answer is whether there was anybody to ask. ZKR_OK says that the callback
 * will be called exactly once.
 */
zkr_status zkr_election_revoke_async(zkr_election *election,
                                     const char *contender,
                                     int64_t force_after_ms,
                                     zkr_answer_callback callback,
                                     void *user_data);

/** zkr_election_revoke_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_election_revoke_cancellable_async(zkr_election *election,
                                                 const char *contender,
                                                 int64_t force_after_ms,
                                                 zkr_cancel_token *token,
                                                 zkr_answer_callback callback,
                                                 void *user_data);

/**
 * Makes a handle of an election, for a candidate that says data to whoever asks for the leader. Validates, but sends
 * nothing. options may be NULL for the defaults. On success *election belongs to the caller: free it with
 * zkr_election_free.
 */
zkr_status zkr_election_new(zkr_client *client,
                            const char *path,
                            const void *data,
                            size_t size,
                            const zkr_election_options *options,
                            zkr_election **election,
                            zkr_error **error);

/**
 * Frees an election. Campaigns in progress on it end with ZKR_CANCELLED, and so does zkr_election_run. If it leads, it
 * resigns in the background, unless a zkr_leadership of it is still around, which owns it from then on. Never blocks.
 * NULL and freed ones are ignored.
 */
void zkr_election_free(zkr_election *election);

/** The path of the election; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_election_path(const zkr_election *election);

/**
 * Stands, and waits up to timeout_ms until this candidate leads: 0 is one attempt, any negative is for ever.
 *
 * ZKR_TIMEOUT if somebody else leads for all that time; the candidate is gone then. leadership may be NULL when
 * zkr_election_resign is enough; otherwise *leadership belongs to the caller: free it with zkr_leadership_free.
 * Cancelling: zkr_election_cancel, zkr_election_free or, for one call, zkr_election_campaign_cancellable.
 */
zkr_status zkr_election_campaign(zkr_election *election,
                                 int64_t timeout_ms,
                                 zkr_leadership **leadership,
                                 zkr_error **error);

/** zkr_election_campaign that another thread can withdraw; token may be NULL. */
zkr_status zkr_election_campaign_cancellable(zkr_election *election,
                                             int64_t timeout_ms,
                                             zkr_cancel_token *token,
                                             zkr_leadership **leadership,
                                             zkr_error **error);

/** zkr_election_campaign in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_election_campaign_async(zkr_election *election,
                                       int64_t timeout_ms,
                                       zkr_leadership_callback callback,
                                       void *user_data);

/** zkr_election_campaign_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_election_campaign_cancellable_async(zkr_election *election,
                                                   int64_t timeout_ms,
                                                   zkr_cancel_token *token,
                                                   zkr_leadership_callback callback,
                                                   void *user_data);

/**
 * Leads term after term: stands, calls back with the leadership once this candidate leads, stands again, behind all
 * others, when that term is over, and so on over reconnections and new sessions.
 *
 * The leadership belongs to the callback, which hands it to whoever does the work and returns: like every callback it
 * must not block. The term is over when the leadership is released, freed or lost; zkr_leadership_on_lost tells of a
 * loss. zkr_leadership_on_revoke tells that somebody else is to lead: finish, then release. After the time for
 * draining it is lost. A callback that has let go of the leadership when it returns could not serve: the next campaign
 * begins after a pause, which grows.
 *
 * zkr_election_cancel and zkr_election_free end it, as does closing the client, and so does what trying again cannot
 * help. A term in progress is resigned then, and a last call says why it ended: ZKR_CANCELLED, ZKR_CLOSED, ZKR_DENIED
 * and the like, with no leadership. subscription may be NULL; otherwise zkr_subscription_free ends it as well, without
 * that last call.
 */
zkr_status zkr_election_run(zkr_election *election,
                            zkr_leadership_callback callback,
                            void *user_data,
                            zkr_subscription **subscription,
                            zkr_error **error);

/**
 * Says whether this candidate can do the work of a leader, for a zkr_election_run of it. While it is false it does not
 * stand; a term in progress ends as if somebody had asked for the leadership. True, which it is unless told, lets it
 * stand again.
 */
zkr_status zkr_election_set_healthy(zkr_election *election,
                                    bool healthy,
                                    zkr_error **error);

/**
 * Hands the leadership over to a candidate: its node, as in a zkr_contender, or an identity. Those who stand before it
 * are asked to move behind, then this one resigns. *leads says whether the other one leads. It is false if there is no
 * such candidate, or if others stand before it that do not go within five seconds: nothing has changed for the leader
 * then, and who was asked may stand further back. ZKR_NOT_HELD without leading.
 */
zkr_status zkr_election_transfer(zkr_election *election,
                                 const char *to,
                                 bool *leads,
                                 zkr_error **error);

/** zkr_election_transfer in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_election_transfer_async(zkr_election *election,
                                       const char *to,
                                       zkr_answer_callback callback,
                                       void *user_data);

/**
 * Resigns: at once, and the server confirms it. ZKR_NOT_HELD without leading. ZKR_CONNECTION_LOST means unconfirmed,
 * and it goes on in the background.
 */
zkr_status zkr_election_resign(zkr_election *election,
                               zkr_error **error);

/** zkr_election_resign in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_election_resign_async(zkr_election *election, zkr_done_callback callback, void *user_data);

/** Whether this candidate certainly leads at this moment: a comparison of clocks, no request. */
bool zkr_election_is_leader(const zkr_election *election);

/**
 * Asks who leads, whether or not we stand. *leader is NULL while nobody does; otherwise it belongs to the caller: free
 * it with zkr_leader_free.
 */
zkr_status zkr_election_leader(zkr_election *election,
                               zkr_leader **leader,
                               zkr_error **error);

/** zkr_election_leader in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_election_leader_async(zkr_election *election, zkr_leader_callback callback, void *user_data);

/**
 * All who stand, in the order in which they will lead; the first one leads. On success *candidates belongs to the
 * caller: free it with zkr_contenders_free.
 */
zkr_status zkr_election_candidates(zkr_election *election,
                                   zkr_contenders **candidates,
                                   zkr_error **error);

/** zkr_election_candidates in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_election_candidates_async(zkr_election *election,
                                         zkr_contenders_callback callback,
                                         void *user_data);

/**
 * Tells who leads, now and whenever that changes, and that a leader has begun its work. Epochs never fall, and no two
 * leaders are told of one epoch. subscription and the end are as for zkr_config_watch.
 */
zkr_status zkr_election_observe(zkr_election *election,
                                zkr_leader_callback callback,
                                void *user_data,
                                zkr_subscription **subscription,
                                zkr_error **error);

/* Barriers -------------------------------------------------------------------------------------------- */

/**
 * Makes a handle of a barrier. Validates, but sends nothing: zkr_barrier_create puts the barrier up. On success
 * *barrier belongs to the caller: free it with zkr_barrier_free.
 */
zkr_status zkr_barrier_new(zkr_client *client,
                           const char *path,
                           zkr_barrier **barrier,
                           zkr_error **error);

/** Frees a barrier, which stays up if it is. Calls in progress on it go on. NULL and freed ones are ignored. */
void zkr_barrier_free(zkr_barrier *barrier);

/** The path of the barrier; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_barrier_path(const zkr_barrier *barrier);

/** Puts the barrier up. It is no matter if it is up already. */
zkr_status zkr_barrier_create(zkr_barrier *barrier, zkr_error **error);

/** zkr_barrier_create in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_barrier_create_async(zkr_barrier *barrier, zkr_done_callback callback, void *user_data);

/** Lifts the barrier: all who wait go on. It is no matter if it is not up. */
zkr_status zkr_barrier_remove(zkr_barrier *barrier, zkr_error **error);

/** zkr_barrier_remove in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_barrier_remove_async(zkr_barrier *barrier, zkr_done_callback callback, void *user_data);

/** Asks whether the barrier is up. */
zkr_status zkr_barrier_is_up(zkr_barrier *barrier, bool *is_up, zkr_error **error);

/**
 * zkr_barrier_is_up in the background; the answer is whether it is up. ZKR_OK says that the callback will be called
 * exactly once.
 */
zkr_status zkr_barrier_is_up_async(zkr_barrier *barrier,
                                   zkr_answer_callback callback,
                                   void *user_data);

/**
 * Calls back while a wait through this handle goes on: after a second, and then ever less often, up to once a minute.
 * The holder is who has put the barrier up. subscription may be NULL; otherwise end it with zkr_subscription_free.
 */
zkr_status zkr_barrier_on_wait(zkr_barrier *barrier,
                               zkr_wait_callback callback,
                               void *user_data,
                               zkr_subscription **subscription,
                               zkr_error **error);

/**
 * Waits until the barrier is lifted, up to timeout_ms: 0 is one look, any negative is for ever. Returns at once if it
 * is not up. ZKR_TIMEOUT if it is still up then.
 */
zkr_status zkr_barrier_wait(zkr_barrier *barrier,
                            int64_t timeout_ms,
                            zkr_error **error);

/** zkr_barrier_wait that another thread can withdraw; token may be NULL. */
zkr_status zkr_barrier_wait_cancellable(zkr_barrier *barrier,
                                        int64_t timeout_ms,
                                        zkr_cancel_token *token,
                                        zkr_error **error);

/** zkr_barrier_wait in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_barrier_wait_async(zkr_barrier *barrier,
                                  int64_t timeout_ms,
                                  zkr_done_callback callback,
                                  void *user_data);

/** zkr_barrier_wait_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_barrier_wait_cancellable_async(zkr_barrier *barrier,
                                              int64_t timeout_ms,
                                              zkr_cancel_token *token,
                                              zkr_done_callback callback,
                                              void *user_data);

/* Double barriers ------------------------------------------------------------------------------------- */

/**
 * Makes a handle of a member of a double barrier for so many parties. Validates, but sends nothing. name tells the
 * members apart; NULL is the identity of the client. On success *double_barrier belongs to the caller: free it with
 * zkr_double_barrier_free.
 */
zkr_status zkr_double_barrier_new(zkr_client *client,
                                  const char *path,
                                  size_t parties,
                                  const char *name,
                                  zkr_double_barrier **double_barrier,
                                  zkr_error **error);

/**
 * Frees a double barrier. If it has entered, it gives the round up in the background, as by
 * zkr_double_barrier_withdraw. Calls in progress on it go on. Never blocks. NULL and freed ones are ignored.
 */
void zkr_double_barrier_free(zkr_double_barrier *double_barrier);

/** The path of the barrier; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_double_barrier_path(const zkr_double_barrier *double_barrier);

/** How many parties it is for; 0 for a handle that cannot be used. */
size_t zkr_double_barrier_parties(const zkr_double_barrier *double_barrier);

/** The name of this member. On success *name belongs to the caller: free it with zkr_buffer_free. */
zkr_status zkr_double_barrier_name(const zkr_double_barrier *double_barrier,
                                   zkr_buffer **name,
                                   zkr_error **error);

/** Whether this handle has entered and not left. Asks no server. */
bool zkr_double_barrier_has_entered(const zkr_double_barrier *double_barrier);

/**
 * Calls back while this handle enters or leaves: after a second, and then ever less often, up to once a minute. The
 * number ahead is of those who have yet to come, or to leave. subscription may be NULL; otherwise end it with
 * zkr_subscription_free.
 */
zkr_status zkr_double_barrier_on_wait(zkr_double_barrier *double_barrier,
                                      zkr_wait_callback callback,
                                      void *user_data,
                                      zkr_subscription **subscription,
                                      zkr_error **error);

/**
 * Enters, and waits up to timeout_ms until all parties have: 0 is one attempt, any negative is for ever.
 *
 * ZKR_TIMEOUT if not all came; it counts for nobody then. ZKR_MISMATCH if others say another number of parties,
 * ZKR_EXISTS if this handle has entered already.
 */
zkr_status zkr_double_barrier_enter(zkr_double_barrier *double_barrier,
                                    int64_t timeout_ms,
                                    zkr_error **error);

/**
 * zkr_double_barrier_enter that another thread can withdraw; token may be NULL. It counts for nobody then, unless no
 * server has answered for a quarter of a second.
 */
zkr_status zkr_double_barrier_enter_cancellable(zkr_double_barrier *double_barrier,
                                                int64_t timeout_ms,
                                                zkr_cancel_token *token,
                                                zkr_error **error);

/** zkr_double_barrier_enter in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_double_barrier_enter_async(zkr_double_barrier *double_barrier,
                                          int64_t timeout_ms,
                                          zkr_done_callback callback,
                                          void *user_data);

/** zkr_double_barrier_enter_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_double_barrier_enter_cancellable_async(zkr_double_barrier *double_barrier,
                                                      int64_t timeout_ms,
                                                      zkr_cancel_token *token,
                                                      zkr_done_callback callback,
                                                      void *user_data);

/**
 * Leaves, and waits up to timeout_ms until all others have: 0 is one look, any negative is for ever.
 *
 * ZKR_TIMEOUT if not all others have left; this one has. ZKR_LOST if our session or our node went since we entered,
 * ZKR_NOT_HELD without having entered.
 */
zkr_status zkr_double_barrier_leave(zkr_double_barrier *double_barrier,
                                    int64_t timeout_ms,
                                    zkr_error **error);

/** zkr_double_barrier_leave that another thread can withdraw; token may be NULL. This one has left then. */
zkr_status zkr_double_barrier_leave_cancellable(zkr_double_barrier *double_barrier,
                                                int64_t timeout_ms,
                                                zkr_cancel_token *token,
                                                zkr_error **error);

/** zkr_double_barrier_leave in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_double_barrier_leave_async(zkr_double_barrier *double_barrier,
                                          int64_t timeout_ms,
                                          zkr_done_callback callback,
                                          void *user_data);

/** zkr_double_barrier_leave_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_double_barrier_leave_cancellable_async(zkr_double_barrier *double_barrier,
                                                      int64_t timeout_ms,
                                                      zkr_cancel_token *token,
                                                      zkr_done_callback callback,
                                                      void *user_data);

/**
 * Gives the round up in the background and waits for nobody: for when the work failed. ZKR_NOT_HELD without having
 * entered. Never blocks.
 */
zkr_status zkr_double_barrier_withdraw(zkr_double_barrier *double_barrier,
                                       zkr_error **error);

/** The name of a mode, the same in every language of zkrecipes: "coordinator", "peer". */
const char *zkr_commit_mode_name(zkr_commit_mode mode);

/** The name of an outcome, the same in every language of zkrecipes: "commit", "abort"; "none" for ZKR_OUTCOME_NONE. */
const char *zkr_outcome_name(zkr_outcome outcome);

/** The name of a coordinator's state, the same in every language of zkrecipes: "present", "absent", "done". */
const char *zkr_coordinator_state_name(zkr_coordinator_state state);

/* Transactions of two-phase commit -------------------------------------------------------------------- */

/** By which name it began; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_commit_transaction_id(const zkr_commit_transaction *commit_transaction);

/** Who votes. On success *sites belongs to the caller: free it with zkr_strings_free. */
zkr_status zkr_commit_transaction_sites(const zkr_commit_transaction *commit_transaction,
                                        zkr_strings **sites,
                                        zkr_error **error);

/** What it is about. A NUL that does not count follows; NULL for a handle that cannot be used. Valid until it is freed. */
const void *zkr_commit_transaction_payload(const zkr_commit_transaction *commit_transaction);

/** How many bytes the payload has. */
size_t zkr_commit_transaction_size(const zkr_commit_transaction *commit_transaction);

/**
 * Why it was aborted: which site voted for that and what it said, or that not all had voted in time. Empty of a
 * commit, and as long as the outcome is not known here: ask for that first. Empty, too, where no more is left of it
 * than that it was aborted. NULL for a handle that cannot be used. Valid until it is freed.
 */
const char *zkr_commit_transaction_reason(const zkr_commit_transaction *commit_transaction);

/**
 * Waits up to timeout_ms until it is decided: 0 is one look, any negative is for ever. Past its deadline whoever waits
 * decides. It is the true outcome, whoever decided it, also if others took the transaction over and are done with it.
 * ZKR_TIMEOUT if it is not decided then; ask again. ZKR_NO_NODE if this client was cut off for more than a day, for so
 * long it is kept.
 */
zkr_status zkr_commit_transaction_outcome(zkr_commit_transaction *commit_transaction,
                                          int64_t timeout_ms,
                                          zkr_outcome *decided,
                                          zkr_error **error);

/** zkr_commit_transaction_outcome that another thread can withdraw; token may be NULL. */
zkr_status zkr_commit_transaction_outcome_cancellable(zkr_commit_transaction *commit_transaction,
                                                      int64_t timeout_ms,
                                                      zkr_cancel_token *token,
                                                      zkr_outcome *decided,
                                                      zkr_error **error);

/** zkr_commit_transaction_outcome in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_commit_transaction_outcome_async(zkr_commit_transaction *commit_transaction,
                                                int64_t timeout_ms,
                                                zkr_outcome_callback callback,
                                                void *user_data);

/**
 * zkr_commit_transaction_outcome_async with a token that withdraws it; token may be NULL, and may be freed before the
 * end.
 */
zkr_status zkr_commit_transaction_outcome_cancellable_async(zkr_commit_transaction *commit_transaction,
                                                            int64_t timeout_ms,
                                                            zkr_cancel_token *token,
                                                            zkr_outcome_callback callback,
                                                            void *user_data);

/** Frees a transaction, which goes on. Calls in progress on it go on, too. NULL and freed ones are ignored. */
void zkr_commit_transaction_free(zkr_commit_transaction *commit_transaction);

/* Proposals ------------------------------------------------------------------------------------------- */

/** By which name it began; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_proposal_id(const zkr_proposal *proposal);

/** Who votes. On success *sites belongs to the caller: free it with zkr_strings_free. */
zkr_status zkr_proposal_sites(const zkr_proposal *proposal, zkr_strings **sites, zkr_error **error);

/** What it is about. A NUL that does not count follows; NULL for a handle that cannot be used. Valid until it is freed. */
const void *zkr_proposal_payload(const zkr_proposal *proposal);

/** How many bytes the payload has. */
size_t zkr_proposal_size(const zkr_proposal *proposal);

/**
 * Why it was aborted: which site voted for that and what it said, or that not all had voted in time. Empty of a
 * commit, and as long as the outcome is not known here: ask for that first. Empty, too, where no more is left of it
 * than that it was aborted. NULL for a handle that cannot be used. Valid until it is freed.
 */
const char *zkr_proposal_reason(const zkr_proposal *proposal);

/**
 * Waits up to timeout_ms until it is decided: 0 is one look, any negative is for ever. Past its deadline whoever waits
 * decides. ZKR_TIMEOUT if it is not decided then, ZKR_NOT_HELD if this site has acknowledged it elsewhere and it is
 * over.
 */
zkr_status zkr_proposal_outcome(zkr_proposal *proposal,
                                int64_t timeout_ms,
                                zkr_outcome *decided,
                                zkr_error **error);

/** zkr_proposal_outcome that another thread can withdraw; token may be NULL. */
zkr_status zkr_proposal_outcome_cancellable(zkr_proposal *proposal,
                                            int64_t timeout_ms,
                                            zkr_cancel_token *token,
                                            zkr_outcome *decided,
                                            zkr_error **error);

/** zkr_proposal_outcome in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_proposal_outcome_async(zkr_proposal *proposal,
                                      int64_t timeout_ms,
                                      zkr_outcome_callback callback,
                                      void *user_data);

/** zkr_proposal_outcome_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_proposal_outcome_cancellable_async(zkr_proposal *proposal,
                                                  int64_t timeout_ms,
                                                  zkr_cancel_token *token,
                                                  zkr_outcome_callback callback,
                                                  void *user_data);

/**
 * Frees a proposal, on which the site has to vote all the same: zkr_two_phase_commit_pending tells of it. Calls in
 * progress on it go on. NULL and freed ones are ignored.
 */
void zkr_proposal_free(zkr_proposal *proposal);

/** Whether this site had voted when it was told. */
bool zkr_proposal_has_voted(const zkr_proposal *proposal);

/**
 * Votes for the commit, which has to be possible from now on, also after a crash. May be repeated, and may come after
 * the abort: the outcome tells. ZKR_EXISTS if this site has voted for the abort.
 */
zkr_status zkr_proposal_vote_commit(zkr_proposal *proposal,
                                    zkr_error **error);

/** zkr_proposal_vote_commit in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_proposal_vote_commit_async(zkr_proposal *proposal,
                                          zkr_done_callback callback,
                                          void *user_data);

/** Decides the abort. reason is for people, and may be NULL. ZKR_EXISTS if this site has voted for the commit. */
zkr_status zkr_proposal_vote_abort(zkr_proposal *proposal, const char *reason, zkr_error **error);

/** zkr_proposal_vote_abort in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_proposal_vote_abort_async(zkr_proposal *proposal,
                                         const char *reason,
                                         zkr_done_callback callback,
                                         void *user_data);

/** What was decided is applied here, and needed no more. May be repeated. ZKR_NOT_HELD if nothing is decided yet. */
zkr_status zkr_proposal_acknowledge(zkr_proposal *proposal,
                                    zkr_error **error);

/** zkr_proposal_acknowledge in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_proposal_acknowledge_async(zkr_proposal *proposal,
                                          zkr_done_callback callback,
                                          void *user_data);

/* Two-phase commits ----------------------------------------------------------------------------------- */

/**
 * Makes a handle of the transactions at a path. Validates, but sends nothing. mode says who decides those that this
 * handle begins. On success *two_phase_commit belongs to the caller: free it with zkr_two_phase_commit_free.
 */
zkr_status zkr_two_phase_commit_new(zkr_client *client,
                                    const char *path,
                                    zkr_commit_mode mode,
                                    zkr_two_phase_commit **two_phase_commit,
                                    zkr_error **error);

/**
 * Frees a two-phase commit. Calls in progress on it go on. Once its transactions and proposals are freed too, its site
 * leaves, and what it coordinates can be recovered by others. Never blocks. NULL and freed ones are ignored.
 */
void zkr_two_phase_commit_free(zkr_two_phase_commit *two_phase_commit);

/** Where the transactions are; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_two_phase_commit_path(const zkr_two_phase_commit *two_phase_commit);

/** Who decides the transactions that it begins; ZKR_COMMIT_MODE_COORDINATOR for a handle that cannot be used. */
zkr_commit_mode zkr_two_phase_commit_mode(const zkr_two_phase_commit *two_phase_commit);

/**
 * Begins a transaction: every site is asked, also one that is not there now. It is decided in the background, whether
 * or not somebody waits for the outcome, as long as the client is there: the commit when all have voted for it, the
 * abort when timeout_ms are over. On success *transaction belongs to the caller: free it with
 * zkr_commit_transaction_free.
 *
 * ZKR_EXISTS if there is one of that id, ZKR_INVALID without sites or with one of them twice. ZKR_TOO_LARGE if the
 * payload is, or if 10,000 wait in the inbox of one of its sites, which the error names, or as many transactions are
 * not over. After ZKR_CONNECTION_LOST it may have begun: it is aborted in the background, unless all sites have voted
 * before that arrives. zkr_two_phase_commit_recover of the same handle waits for that, and answers it if it was
 * committed.
 */
zkr_status zkr_two_phase_commit_begin(zkr_two_phase_commit *two_phase_commit,
                                      const char *id,
                                      const char *const *sites,
                                      size_t count,
                                      const void *payload,
                                      size_t size,
                                      int64_t timeout_ms,
                                      zkr_commit_transaction **transaction,
                                      zkr_error **error);

/** zkr_two_phase_commit_begin in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_two_phase_commit_begin_async(zkr_two_phase_commit *two_phase_commit,
                                            const char *id,
                                            const char *const *sites,
                                            size_t count,
                                            const void *payload,
                                            size_t size,
                                            int64_t timeout_ms,
                                            zkr_commit_transaction_callback callback,
                                            void *user_data);

/**
 * Takes over the transactions whose coordinator is not there any more, the oldest first, and sees to it that they are
 * decided: at once if all have voted, the abort when the time is over, of which half at least is left from now on. Ask
 * each for its outcome. A coordinator that has crashed is there until its session timeout. On success *transactions
 * belongs to the caller: free it with zkr_commit_transactions_free.
 */
zkr_status zkr_two_phase_commit_recover(zkr_two_phase_commit *two_phase_commit,
                                        zkr_commit_transactions **transactions,
                                        zkr_error **error);

/** zkr_two_phase_commit_recover in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_two_phase_commit_recover_async(zkr_two_phase_commit *two_phase_commit,
                                              zkr_commit_transactions_callback callback,
                                              void *user_data);

/**
 * Becomes a site, and is one over all sessions of the client until it leaves, this handle and its proposals are freed,
 * or the client is closed. ZKR_EXISTS if this handle has joined already, or another that is there is that site.
 */
zkr_status zkr_two_phase_commit_join(zkr_two_phase_commit *two_phase_commit,
                                     const char *site,
                                     zkr_error **error);

/** zkr_two_phase_commit_join in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_two_phase_commit_join_async(zkr_two_phase_commit *two_phase_commit,
                                           const char *site,
                                           zkr_done_callback callback,
                                           void *user_data);

/** Is that site no longer. What it was asked stays. ZKR_NOT_HELD if it has not joined. */
zkr_status zkr_two_phase_commit_leave(zkr_two_phase_commit *two_phase_commit, zkr_error **error);

/** zkr_two_phase_commit_leave in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_two_phase_commit_leave_async(zkr_two_phase_commit *two_phase_commit,
                                            zkr_done_callback callback,
                                            void *user_data);

/**
 * Waits up to timeout_ms for the next transaction on which this site has to vote: 0 is one look, any negative is for
 * ever. Each is told once, in the order in which they began. On success *proposal belongs to the caller: free it with
 * zkr_proposal_free.
 *
 * ZKR_TIMEOUT if there was none, ZKR_NOT_HELD if this handle has not joined.
 */
zkr_status zkr_two_phase_commit_next(zkr_two_phase_commit *two_phase_commit,
                                     int64_t timeout_ms,
                                     zkr_proposal **proposal,
                                     zkr_error **error);

/**
 * zkr_two_phase_commit_next that another thread can withdraw; token may be NULL. What it would have told is told
 * again.
 */
zkr_status zkr_two_phase_commit_next_cancellable(zkr_two_phase_commit *two_phase_commit,
                                                 int64_t timeout_ms,
                                                 zkr_cancel_token *token,
                                                 zkr_proposal **proposal,
                                                 zkr_error **error);

/** zkr_two_phase_commit_next in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_two_phase_commit_next_async(zkr_two_phase_commit *two_phase_commit,
                                           int64_t timeout_ms,
                                           zkr_proposal_callback callback,
                                           void *user_data);

/** zkr_two_phase_commit_next_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_two_phase_commit_next_cancellable_async(zkr_two_phase_commit *two_phase_commit,
                                                       int64_t timeout_ms,
                                                       zkr_cancel_token *token,
                                                       zkr_proposal_callback callback,
                                                       void *user_data);

/**
 * Everything that this site has not acknowledged, voted on or not, the oldest first: what a site asks for after a
 * restart. On success *proposals belongs to the caller: free it with zkr_proposals_free. ZKR_NOT_HELD if it has not
 * joined.
 */
zkr_status zkr_two_phase_commit_pending(zkr_two_phase_commit *two_phase_commit,
                                        zkr_proposals **proposals,
                                        zkr_error **error);

/** zkr_two_phase_commit_pending in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_two_phase_commit_pending_async(zkr_two_phase_commit *two_phase_commit,
                                              zkr_proposals_callback callback,
                                              void *user_data);

/**
 * How all transactions stand that are not over, the oldest first. On success *statuses belongs to the caller: free it
 * with zkr_commit_statuses_free.
 */
zkr_status zkr_two_phase_commit_history(zkr_two_phase_commit *two_phase_commit,
                                        zkr_commit_statuses **statuses,
                                        zkr_error **error);

/** zkr_two_phase_commit_history in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_two_phase_commit_history_async(zkr_two_phase_commit *two_phase_commit,
                                              zkr_commit_statuses_callback callback,
                                              void *user_data);

/**
 * How one transaction stands: a list of one, which is empty if there is none of that id. On success *statuses belongs
 * to the caller: free it with zkr_commit_statuses_free.
 */
zkr_status zkr_two_phase_commit_show(zkr_two_phase_commit *two_phase_commit,
                                     const char *id,
                                     zkr_commit_statuses **statuses,
                                     zkr_error **error);

/** zkr_two_phase_commit_show in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_two_phase_commit_show_async(zkr_two_phase_commit *two_phase_commit,
                                           const char *id,
                                           zkr_commit_statuses_callback callback,
                                           void *user_data);

/**
 * Decides the abort, unless something is decided already; *decided is what is, by whomever. ZKR_NO_NODE if there is
 * none of that id.
 */
zkr_status zkr_two_phase_commit_decide_abort(zkr_two_phase_commit *two_phase_commit,
                                             const char *id,
                                             const char *reason,
                                             zkr_outcome *decided,
                                             zkr_error **error);

/** zkr_two_phase_commit_decide_abort in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_two_phase_commit_decide_abort_async(zkr_two_phase_commit *two_phase_commit,
                                                   const char *id,
                                                   const char *reason,
                                                   zkr_outcome_callback callback,
                                                   void *user_data);

/* Queues ---------------------------------------------------------------------------------------------- */

/**
 * Frees a queue, not what is in it. Waits in progress on it end with ZKR_CANCELLED. Items that were claimed through it
 * stay claimed. Never blocks. NULL and freed ones are ignored.
 */
void zkr_queue_free(zkr_queue *queue);

/** The path of the queue; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_queue_path(const zkr_queue *queue);

/**
 * Takes the item that came first, waiting for one up to timeout_ms: 0 is one attempt, any negative is for ever. On
 * success *data belongs to the caller: free it with zkr_buffer_free.
 *
 * At most once: the item is removed before it is returned, so who crashes then takes it along; zkr_queue_claim is for
 * items that must not be lost. ZKR_TIMEOUT if there was none for all that time. ZKR_CONNECTION_LOST says that one may
 * have been removed that nobody has.
 */
zkr_status zkr_queue_get(zkr_queue *queue,
                         int64_t timeout_ms,
                         zkr_buffer **data,
                         zkr_error **error);

/**
 * zkr_queue_get that another thread can withdraw; token may be NULL. An item whose removal is on its way goes back to
 * its old place.
 */
zkr_status zkr_queue_get_cancellable(zkr_queue *queue,
                                     int64_t timeout_ms,
                                     zkr_cancel_token *token,
                                     zkr_buffer **data,
                                     zkr_error **error);

/** zkr_queue_get in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_queue_get_async(zkr_queue *queue,
                               int64_t timeout_ms,
                               zkr_buffer_callback callback,
                               void *user_data);

/** zkr_queue_get_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_queue_get_cancellable_async(zkr_queue *queue,
                                           int64_t timeout_ms,
                                           zkr_cancel_token *token,
                                           zkr_buffer_callback callback,
                                           void *user_data);

/**
 * Claims the item that came first, waiting for one up to timeout_ms: 0 is one attempt, any negative is for ever. On
 * success *item belongs to the caller: settle it with zkr_item_ack or zkr_item_nack, and free it with zkr_item_free,
 * which gives back what is not settled.
 *
 * At least once: nobody else has the item until it is acknowledged, given back, or our session ends; then the next one
 * gets it. ZKR_TIMEOUT if there was none for all that time.
 */
zkr_status zkr_queue_claim(zkr_queue *queue,
                           int64_t timeout_ms,
                           zkr_item **item,
                           zkr_error **error);

/** zkr_queue_claim that another thread can withdraw; token may be NULL. A claim that is on its way is taken back. */
zkr_status zkr_queue_claim_cancellable(zkr_queue *queue,
                                       int64_t timeout_ms,
                                       zkr_cancel_token *token,
                                       zkr_item **item,
                                       zkr_error **error);

/** zkr_queue_claim in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_queue_claim_async(zkr_queue *queue,
                                 int64_t timeout_ms,
                                 zkr_item_callback callback,
                                 void *user_data);

/** zkr_queue_claim_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_queue_claim_cancellable_async(zkr_queue *queue,
                                             int64_t timeout_ms,
                                             zkr_cancel_token *token,
                                             zkr_item_callback callback,
                                             void *user_data);

/**
 * Claims up to n at once: waits for the item that came first as zkr_queue_claim does, and takes the next ones along
 * that are there already. On success *items belongs to the caller: free it with zkr_items_free when each item was
 * taken. What was not is given back.
 */
zkr_status zkr_queue_claim_many(zkr_queue *queue,
                                size_t n,
                                int64_t timeout_ms,
                                zkr_items **items,
                                zkr_error **error);

/**
 * zkr_queue_claim_many that another thread can withdraw; token may be NULL. Claims that are on their way are taken
 * back.
 */
zkr_status zkr_queue_claim_many_cancellable(zkr_queue *queue,
                                            size_t n,
                                            int64_t timeout_ms,
                                            zkr_cancel_token *token,
                                            zkr_items **items,
                                            zkr_error **error);

/** zkr_queue_claim_many in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_queue_claim_many_async(zkr_queue *queue,
                                      size_t n,
                                      int64_t timeout_ms,
                                      zkr_items_callback callback,
                                      void *user_data);

/** zkr_queue_claim_many_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_queue_claim_many_cancellable_async(zkr_queue *queue,
                                                  size_t n,
                                                  int64_t timeout_ms,
                                                  zkr_cancel_token *token,
                                                  zkr_items_callback callback,
                                                  void *user_data);

/**
 * Acknowledges several at once, each as by zkr_item_ack: the requests leave together, and one that fails holds up no
 * other. The error is that of the first of them that failed. The items still have to be freed.
 */
zkr_status zkr_queue_ack_many(zkr_queue *queue,
                              zkr_item *const *items,
                              size_t count,
                              zkr_error **error);

/** zkr_queue_ack_many in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_queue_ack_many_async(zkr_queue *queue,
                                    zkr_item *const *items,
                                    size_t count,
                                    zkr_done_callback callback,
                                    void *user_data);

/**
 * Calls back while a verb of this handle waits, for an item or for room: after a second, and then ever less often, up
 * to once a minute. subscription may be NULL; otherwise end it with zkr_subscription_free.
 */
zkr_status zkr_queue_on_wait(zkr_queue *queue,
                             zkr_wait_callback callback,
                             void *user_data,
                             zkr_subscription **subscription,
                             zkr_error **error);

/**
 * Reads the next item that nobody has claimed, which stays. *data is NULL if there is none; otherwise it belongs to
 * the caller: free it with zkr_buffer_free.
 */
zkr_status zkr_queue_peek(zkr_queue *queue,
                          zkr_buffer **data,
                          zkr_error **error);

/**
 * zkr_queue_peek in the background: the callback's buffer is NULL if there is no item, its stat always. ZKR_OK says
 * that the callback will be called exactly once.
 */
zkr_status zkr_queue_peek_async(zkr_queue *queue,
                                zkr_buffer_callback callback,
                                void *user_data);

/** How many items there are, claimed ones included. */
zkr_status zkr_queue_len(zkr_queue *queue, size_t *items, zkr_error **error);

/**
 * zkr_queue_len in the background; the number is that of the items. ZKR_OK says that the callback will be called
 * exactly once.
 */
zkr_status zkr_queue_len_async(zkr_queue *queue,
                               zkr_number_callback callback,
                               void *user_data);

/**
 * How many items can be taken, step aside, or are claimed, and how many dead letters there are; counted by the lists
 * of items and claims. Of dead letters none is dead.
 */
zkr_status zkr_queue_stats(zkr_queue *queue,
                           zkr_queue_counts *stats,
                           zkr_error **error);

/** zkr_queue_stats in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_queue_stats_async(zkr_queue *queue, zkr_queue_counts_callback callback, void *user_data);

/**
 * Reads all items in order, claimed ones included; what cannot be read is left out, and the log names it. On success
 * *items belongs to the caller: free it with zkr_payloads_free.
 */
zkr_status zkr_queue_items(zkr_queue *queue,
                           zkr_payloads **items,
                           zkr_error **error);

/** zkr_queue_items in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_queue_items_async(zkr_queue *queue, zkr_payloads_callback callback, void *user_data);

/**
 * Makes a handle of the dead letters: the items that were claimed max_attempts times in vain. It sends nothing, and is
 * a queue that nothing can be put into. On success *dead belongs to the caller: free it with zkr_queue_free.
 */
zkr_status zkr_queue_dead(zkr_queue *queue,
                          zkr_queue **dead,
                          zkr_error **error);

/**
 * Reads the dead letters in order, with what is known of their end: of the queue, or of its dead letters, which is the
 * same. One that cannot be read hides no other: its problem says why. On success *letters belongs to the caller: free
 * it with zkr_dead_letters_free.
 */
zkr_status zkr_queue_dead_letters(zkr_queue *queue,
                                  zkr_dead_letters **letters,
                                  zkr_error **error);

/** zkr_queue_dead_letters in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_queue_dead_letters_async(zkr_queue *queue,
                                        zkr_dead_letters_callback callback,
                                        void *user_data);

/**
 * Puts the dead letters back into their queue, as new items: of the queue, or of its dead letters, which is the same.
 * Each moves in one transaction, so none is lost or doubled. replayed may be NULL; otherwise it is for how many.
 */
zkr_status zkr_queue_replay(zkr_queue *queue,
                            size_t *replayed,
                            zkr_error **error);

/**
 * zkr_queue_replay in the background; the number is that of the items. ZKR_OK says that the callback will be called
 * exactly once.
 */
zkr_status zkr_queue_replay_async(zkr_queue *queue,
                                  zkr_number_callback callback,
                                  void *user_data);

/**
 * Puts one dead letter back into its queue, as a new item: the one with that id, of those that zkr_queue_dead_letters
 * tells. replayed may be NULL; otherwise it is for how many, which is 1, or 0 if there is none or somebody else has
 * it.
 */
zkr_status zkr_queue_replay_one(zkr_queue *queue,
                                const char *id,
                                size_t *replayed,
                                zkr_error **error);

/**
 * zkr_queue_replay_one in the background; the number is 1, or 0 if there is none. ZKR_OK says that the callback will
 * be called exactly once.
 */
zkr_status zkr_queue_replay_one_async(zkr_queue *queue,
                                      const char *id,
                                      zkr_number_callback callback,
                                      void *user_data);

/**
 * Deletes the dead letters that have been there for older_than_ms, 0 for all: of the queue, or of its dead letters,
 * which is the same. What somebody has claimed stays, and nothing else of the queue goes. purged may be NULL;
 * otherwise it is for how many.
 */
zkr_status zkr_queue_purge(zkr_queue *queue,
                           int64_t older_than_ms,
                           size_t *purged,
                           zkr_error **error);

/**
 * zkr_queue_purge in the background; the number is that of the items. ZKR_OK says that the callback will be called
 * exactly once.
 */
zkr_status zkr_queue_purge_async(zkr_queue *queue,
                                 int64_t older_than_ms,
                                 zkr_number_callback callback,
                                 void *user_data);

/** Wakes all calls that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks. */
zkr_status zkr_queue_cancel(zkr_queue *queue,
                            zkr_error **error);

/**
 * Makes a handle of a queue. Validates, but sends nothing. options may be NULL for the defaults. On success *queue
 * belongs to the caller: free it with zkr_queue_free.
 */
zkr_status zkr_queue_new(zkr_client *client,
                         const char *path,
                         const zkr_queue_options *options,
                         zkr_queue **queue,
                         zkr_error **error);

/**
 * Puts an item at the end, waiting up to timeout_ms while the queue is full (max_items). It is put once, also if the
 * answer gets lost; ZKR_CONNECTION_LOST says that nobody can know. ZKR_TIMEOUT: it was not put and will not be; for an
 * item that is on its way then, it waits half a second more for the answer. ZKR_INVALID for dead letters.
 */
zkr_status zkr_queue_put(zkr_queue *queue,
                         const void *data,
                         size_t size,
                         int64_t timeout_ms,
                         zkr_error **error);

/**
 * zkr_queue_put that another thread can withdraw; token may be NULL. What is on its way already is taken back, unless
 * somebody has it by then.
 */
zkr_status zkr_queue_put_cancellable(zkr_queue *queue,
                                     const void *data,
                                     size_t size,
                                     int64_t timeout_ms,
                                     zkr_cancel_token *token,
                                     zkr_error **error);

/** zkr_queue_put in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_queue_put_async(zkr_queue *queue,
                               const void *data,
                               size_t size,
                               int64_t timeout_ms,
                               zkr_done_callback callback,
                               void *user_data);

/** zkr_queue_put_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_queue_put_cancellable_async(zkr_queue *queue,
                                           const void *data,
                                           size_t size,
                                           int64_t timeout_ms,
                                           zkr_cancel_token *token,
                                           zkr_done_callback callback,
                                           void *user_data);

/**
 * The same with a key that names this put, such as the id of a request: within key_window the same key puts once,
 * whoever puts with it, and the others succeed as the first one did, also if the item was taken since. So after
 * ZKR_CONNECTION_LOST it is safe to put again with the same key, which is text of at most 1,000 bytes.
 */
zkr_status zkr_queue_put_with(zkr_queue *queue,
                              const void *data,
                              size_t size,
                              const char *key,
                              int64_t timeout_ms,
                              zkr_error **error);

/**
 * zkr_queue_put_with that another thread can withdraw; token may be NULL. What is on its way with a key stays; put it
 * again with that key to be certain.
 */
zkr_status zkr_queue_put_with_cancellable(zkr_queue *queue,
                                          const void *data,
                                          size_t size,
                                          const char *key,
                                          int64_t timeout_ms,
                                          zkr_cancel_token *token,
                                          zkr_error **error);

/** zkr_queue_put_with in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_queue_put_with_async(zkr_queue *queue,
                                    const void *data,
                                    size_t size,
                                    const char *key,
                                    int64_t timeout_ms,
                                    zkr_done_callback callback,
                                    void *user_data);

/** zkr_queue_put_with_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_queue_put_with_cancellable_async(zkr_queue *queue,
                                                const void *data,
                                                size_t size,
                                                const char *key,
                                                int64_t timeout_ms,
                                                zkr_cancel_token *token,
                                                zkr_done_callback callback,
                                                void *user_data);

/**
 * Puts several items, of which each is sizes[i] bytes at items[i], in as few transactions as carry them, each of which
 * is applied as a whole or not at all. zkr_error_put says how many went in, from the first on, where not all did;
 * after ZKR_CONNECTION_LOST and ZKR_CLOSED it may be more.
 */
zkr_status zkr_queue_put_many(zkr_queue *queue,
                              const void *const *items,
                              const size_t *sizes,
                              size_t count,
                              int64_t timeout_ms,
                              zkr_error **error);

/**
 * zkr_queue_put_many that another thread can withdraw; token may be NULL. What is on its way already is taken back,
 * unless somebody has it by then.
 */
zkr_status zkr_queue_put_many_cancellable(zkr_queue *queue,
                                          const void *const *items,
                                          const size_t *sizes,
                                          size_t count,
                                          int64_t timeout_ms,
                                          zkr_cancel_token *token,
                                          zkr_error **error);

/** zkr_queue_put_many in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_queue_put_many_async(zkr_queue *queue,
                                    const void *const *items,
                                    const size_t *sizes,
                                    size_t count,
                                    int64_t timeout_ms,
                                    zkr_done_callback callback,
                                    void *user_data);

/** zkr_queue_put_many_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_queue_put_many_cancellable_async(zkr_queue *queue,
                                                const void *const *items,
                                                const size_t *sizes,
                                                size_t count,
                                                int64_t timeout_ms,
                                                zkr_cancel_token *token,
                                                zkr_done_callback callback,
                                                void *user_data);

/* Priority queues ------------------------------------------------------------------------------------- */

/**
 * Frees a queue, not what is in it. Waits in progress on it end with ZKR_CANCELLED. Items that were claimed through it
 * stay claimed. Never blocks. NULL and freed ones are ignored.
 */
void zkr_priority_queue_free(zkr_priority_queue *priority_queue);

/** The path of the queue; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_priority_queue_path(const zkr_priority_queue *priority_queue);

/**
 * Takes the item with the lowest number, waiting for one up to timeout_ms: 0 is one attempt, any negative is for ever.
 * On success *data belongs to the caller: free it with zkr_buffer_free.
 *
 * At most once: the item is removed before it is returned, so who crashes then takes it along;
 * zkr_priority_queue_claim is for items that must not be lost. ZKR_TIMEOUT if there was none for all that time.
 * ZKR_CONNECTION_LOST says that one may have been removed that nobody has.
 */
zkr_status zkr_priority_queue_get(zkr_priority_queue *priority_queue,
                                  int64_t timeout_ms,
                                  zkr_buffer **data,
                                  zkr_error **error);

/**
 * zkr_priority_queue_get that another thread can withdraw; token may be NULL. An item whose removal is on its way goes
 * back to its old place.
 */
zkr_status zkr_priority_queue_get_cancellable(zkr_priority_queue *priority_queue,
                                              int64_t timeout_ms,
                                              zkr_cancel_token *token,
                                              zkr_buffer **data,
                                              zkr_error **error);

/** zkr_priority_queue_get in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_priority_queue_get_async(zkr_priority_queue *priority_queue,
                                        int64_t timeout_ms,
                                        zkr_buffer_callback callback,
                                        void *user_data);

/** zkr_priority_queue_get_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_priority_queue_get_cancellable_async(zkr_priority_queue *priority_queue,
                                                    int64_t timeout_ms,
                                                    zkr_cancel_token *token,
                                                    zkr_buffer_callback callback,
                                                    void *user_data);

/**
 * Claims the item with the lowest number, waiting for one up to timeout_ms: 0 is one attempt, any negative is for
 * ever. On success *item belongs to the caller: settle it with zkr_item_ack or zkr_item_nack, and free it with
 * zkr_item_free, which gives back what is not settled.
 *
 * At least once: nobody else has the item until it is acknowledged, given back, or our session ends; then the next one
 * gets it. ZKR_TIMEOUT if there was none for all that time.
 */
zkr_status zkr_priority_queue_claim(zkr_priority_queue *priority_queue,
                                    int64_t timeout_ms,
                                    zkr_item **item,
                                    zkr_error **error);

/**
 * zkr_priority_queue_claim that another thread can withdraw; token may be NULL. A claim that is on its way is taken
 * back.
 */
zkr_status zkr_priority_queue_claim_cancellable(zkr_priority_queue *priority_queue,
                                                int64_t timeout_ms,
                                                zkr_cancel_token *token,
                                                zkr_item **item,
                                                zkr_error **error);

/** zkr_priority_queue_claim in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_priority_queue_claim_async(zkr_priority_queue *priority_queue,
                                          int64_t timeout_ms,
                                          zkr_item_callback callback,
                                          void *user_data);

/** zkr_priority_queue_claim_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_priority_queue_claim_cancellable_async(zkr_priority_queue *priority_queue,
                                                      int64_t timeout_ms,
                                                      zkr_cancel_token *token,
                                                      zkr_item_callback callback,
                                                      void *user_data);

/**
 * Claims up to n at once: waits for the item with the lowest number as zkr_priority_queue_claim does, and takes the
 * next ones along that are there already. On success *items belongs to the caller: free it with zkr_items_free when
 * each item was taken. What was not is given back.
 */
zkr_status zkr_priority_queue_claim_many(zkr_priority_queue *priority_queue,
                                         size_t n,
                                         int64_t timeout_ms,
                                         zkr_items **items,
                                         zkr_error **error);

/**
 * zkr_priority_queue_claim_many that another thread can withdraw; token may be NULL. Claims that are on their way are
 * taken back.
 */
zkr_status zkr_priority_queue_claim_many_cancellable(zkr_priority_queue *priority_queue,
                                                     size_t n,
                                                     int64_t timeout_ms,
                                                     zkr_cancel_token *token,
                                                     zkr_items **items,
                                                     zkr_error **error);

/** zkr_priority_queue_claim_many in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_priority_queue_claim_many_async(zkr_priority_queue *priority_queue,
                                               size_t n,
                                               int64_t timeout_ms,
                                               zkr_items_callback callback,
                                               void *user_data);

/**
 * zkr_priority_queue_claim_many_async with a token that withdraws it; token may be NULL, and may be freed before the
 * end.
 */
zkr_status zkr_priority_queue_claim_many_cancellable_async(zkr_priority_queue *priority_queue,
                                                           size_t n,
                                                           int64_t timeout_ms,
                                                           zkr_cancel_token *token,
                                                           zkr_items_callback callback,
                                                           void *user_data);

/**
 * Acknowledges several at once, each as by zkr_item_ack: the requests leave together, and one that fails holds up no
 * other. The error is that of the first of them that failed. The items still have to be freed.
 */
zkr_status zkr_priority_queue_ack_many(zkr_priority_queue *priority_queue,
                                       zkr_item *const *items,
                                       size_t count,
                                       zkr_error **error);

/** zkr_priority_queue_ack_many in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_priority_queue_ack_many_async(zkr_priority_queue *priority_queue,
                                             zkr_item *const *items,
                                             size_t count,
                                             zkr_done_callback callback,
                                             void *user_data);

/**
 * Calls back while a verb of this handle waits, for an item or for room: after a second, and then ever less often, up
 * to once a minute. subscription may be NULL; otherwise end it with zkr_subscription_free.
 */
zkr_status zkr_priority_queue_on_wait(zkr_priority_queue *priority_queue,
                                      zkr_wait_callback callback,
                                      void *user_data,
                                      zkr_subscription **subscription,
                                      zkr_error **error);

/**
 * Reads the next item that nobody has claimed, which stays. *data is NULL if there is none; otherwise it belongs to
 * the caller: free it with zkr_buffer_free.
 */
zkr_status zkr_priority_queue_peek(zkr_priority_queue *priority_queue,
                                   zkr_buffer **data,
                                   zkr_error **error);

/**
 * zkr_priority_queue_peek in the background: the callback's buffer is NULL if there is no item, its stat always.
 * ZKR_OK says that the callback will be called exactly once.
 */
zkr_status zkr_priority_queue_peek_async(zkr_priority_queue *priority_queue,
                                         zkr_buffer_callback callback,
                                         void *user_data);

/** How many items there are, claimed ones included. */
zkr_status zkr_priority_queue_len(zkr_priority_queue *priority_queue, size_t *items, zkr_error **error);

/**
 * zkr_priority_queue_len in the background; the number is that of the items. ZKR_OK says that the callback will be
 * called exactly once.
 */
zkr_status zkr_priority_queue_len_async(zkr_priority_queue *priority_queue,
                                        zkr_number_callback callback,
                                        void *user_data);

/**
 * How many items can be taken, step aside, or are claimed, and how many dead letters there are; counted by the lists
 * of items and claims. Of dead letters none is dead.
 */
zkr_status zkr_priority_queue_stats(zkr_priority_queue *priority_queue,
                                    zkr_queue_counts *stats,
                                    zkr_error **error);

/** zkr_priority_queue_stats in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_priority_queue_stats_async(zkr_priority_queue *priority_queue,
                                          zkr_queue_counts_callback callback,
                                          void *user_data);

/**
 * Reads all items in order, claimed ones included; what cannot be read is left out, and the log names it. On success
 * *items belongs to the caller: free it with zkr_payloads_free.
 */
zkr_status zkr_priority_queue_items(zkr_priority_queue *priority_queue,
                                    zkr_payloads **items,
                                    zkr_error **error);

/** zkr_priority_queue_items in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_priority_queue_items_async(zkr_priority_queue *priority_queue,
                                          zkr_payloads_callback callback,
                                          void *user_data);

/**
 * Makes a handle of the dead letters: the items that were claimed max_attempts times in vain. It sends nothing, and is
 * a queue that nothing can be put into. On success *dead belongs to the caller: free it with zkr_queue_free.
 */
zkr_status zkr_priority_queue_dead(zkr_priority_queue *priority_queue,
                                   zkr_queue **dead,
                                   zkr_error **error);

/**
 * Reads the dead letters in order, with what is known of their end: of the queue, or of its dead letters, which is the
 * same. One that cannot be read hides no other: its problem says why. On success *letters belongs to the caller: free
 * it with zkr_dead_letters_free.
 */
zkr_status zkr_priority_queue_dead_letters(zkr_priority_queue *priority_queue,
                                           zkr_dead_letters **letters,
                                           zkr_error **error);

/** zkr_priority_queue_dead_letters in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_priority_queue_dead_letters_async(zkr_priority_queue *priority_queue,
                                                 zkr_dead_letters_callback callback,
                                                 void *user_data);

/**
 * Puts the dead letters back into their queue, as new items: of the queue, or of its dead letters, which is the same.
 * Each moves in one transaction, so none is lost or doubled. replayed may be NULL; otherwise it is for how many.
 */
zkr_status zkr_priority_queue_replay(zkr_priority_queue *priority_queue,
                                     size_t *replayed,
                                     zkr_error **error);

/**
 * zkr_priority_queue_replay in the background; the number is that of the items. ZKR_OK says that the callback will be
 * called exactly once.
 */
zkr_status zkr_priority_queue_replay_async(zkr_priority_queue *priority_queue,
                                           zkr_number_callback callback,
                                           void *user_data);

/**
 * Puts one dead letter back into its queue, as a new item: the one with that id, of those that zkr_queue_dead_letters
 * tells. replayed may be NULL; otherwise it is for how many, which is 1, or 0 if there is none or somebody else has
 * it.
 */
zkr_status zkr_priority_queue_replay_one(zkr_priority_queue *priority_queue,
                                         const char *id,
                                         size_t *replayed,
                                         zkr_error **error);

/**
 * zkr_priority_queue_replay_one in the background; the number is 1, or 0 if there is none. ZKR_OK says that the
 * callback will be called exactly once.
 */
zkr_status zkr_priority_queue_replay_one_async(zkr_priority_queue *priority_queue,
                                               const char *id,
                                               zkr_number_callback callback,
                                               void *user_data);

/**
 * Deletes the dead letters that have been there for older_than_ms, 0 for all: of the queue, or of its dead letters,
 * which is the same. What somebody has claimed stays, and nothing else of the queue goes. purged may be NULL;
 * otherwise it is for how many.
 */
zkr_status zkr_priority_queue_purge(zkr_priority_queue *priority_queue,
                                    int64_t older_than_ms,
                                    size_t *purged,
                                    zkr_error **error);

/**
 * zkr_priority_queue_purge in the background; the number is that of the items. ZKR_OK says that the callback will be
 * called exactly once.
 */
zkr_status zkr_priority_queue_purge_async(zkr_priority_queue *priority_queue,
                                          int64_t older_than_ms,
                                          zkr_number_callback callback,
                                          void *user_data);

/** Wakes all calls that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks. */
zkr_status zkr_priority_queue_cancel(zkr_priority_queue *priority_queue,
                                     zkr_error **error);

/**
 * Makes a handle of a priority queue. Validates, but sends nothing. options may be NULL for the defaults. On success
 * *priority_queue belongs to the caller: free it with zkr_priority_queue_free.
 */
zkr_status zkr_priority_queue_new(zkr_client *client,
                                  const char *path,
                                  const zkr_queue_options *options,
                                  zkr_priority_queue **priority_queue,
                                  zkr_error **error);

/**
 * Puts an item; what has a lower priority is taken first. timeout_ms and the end are as for zkr_queue_put. Where the
 * naming is kazoo's, the priority is between 0 and 999.
 */
zkr_status zkr_priority_queue_put(zkr_priority_queue *priority_queue,
                                  const void *data,
                                  size_t size,
                                  int32_t priority,
                                  int64_t timeout_ms,
                                  zkr_error **error);

/**
 * zkr_priority_queue_put that another thread can withdraw; token may be NULL. What is on its way already is taken
 * back, unless somebody has it by then.
 */
zkr_status zkr_priority_queue_put_cancellable(zkr_priority_queue *priority_queue,
                                              const void *data,
                                              size_t size,
                                              int32_t priority,
                                              int64_t timeout_ms,
                                              zkr_cancel_token *token,
                                              zkr_error **error);

/** zkr_priority_queue_put in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_priority_queue_put_async(zkr_priority_queue *priority_queue,
                                        const void *data,
                                        size_t size,
                                        int32_t priority,
                                        int64_t timeout_ms,
                                        zkr_done_callback callback,
                                        void *user_data);

/** zkr_priority_queue_put_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_priority_queue_put_cancellable_async(zkr_priority_queue *priority_queue,
                                                    const void *data,
                                                    size_t size,
                                                    int32_t priority,
                                                    int64_t timeout_ms,
                                                    zkr_cancel_token *token,
                                                    zkr_done_callback callback,
                                                    void *user_data);

/** The same with a key that names this put, as zkr_queue_put_with. */
zkr_status zkr_priority_queue_put_with(zkr_priority_queue *priority_queue,
                                       const void *data,
                                       size_t size,
                                       int32_t priority,
                                       const char *key,
                                       int64_t timeout_ms,
                                       zkr_error **error);

/**
 * zkr_priority_queue_put_with that another thread can withdraw; token may be NULL. What is on its way with a key
 * stays; put it again with that key to be certain.
 */
zkr_status zkr_priority_queue_put_with_cancellable(zkr_priority_queue *priority_queue,
                                                   const void *data,
                                                   size_t size,
                                                   int32_t priority,
                                                   const char *key,
                                                   int64_t timeout_ms,
                                                   zkr_cancel_token *token,
                                                   zkr_error **error);

/** zkr_priority_queue_put_with in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_priority_queue_put_with_async(zkr_priority_queue *priority_queue,
                                             const void *data,
                                             size_t size,
                                             int32_t priority,
                                             const char *key,
                                             int64_t timeout_ms,
                                             zkr_done_callback callback,
                                             void *user_data);

/**
 * zkr_priority_queue_put_with_async with a token that withdraws it; token may be NULL, and may be freed before the
 * end.
 */
zkr_status zkr_priority_queue_put_with_cancellable_async(zkr_priority_queue *priority_queue,
                                                         const void *data,
                                                         size_t size,
                                                         int32_t priority,
                                                         const char *key,
                                                         int64_t timeout_ms,
                                                         zkr_cancel_token *token,
                                                         zkr_done_callback callback,
                                                         void *user_data);

/* Delay queues ---------------------------------------------------------------------------------------- */

/**
 * Frees a queue, not what is in it. Waits in progress on it end with ZKR_CANCELLED. Items that were claimed through it
 * stay claimed. Never blocks. NULL and freed ones are ignored.
 */
void zkr_delay_queue_free(zkr_delay_queue *delay_queue);

/** The path of the queue; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_delay_queue_path(const zkr_delay_queue *delay_queue);

/**
 * Takes the item that was due first, waiting for one up to timeout_ms: 0 is one attempt, any negative is for ever. On
 * success *data belongs to the caller: free it with zkr_buffer_free.
 *
 * At most once: the item is removed before it is returned, so who crashes then takes it along; zkr_delay_queue_claim
 * is for items that must not be lost. ZKR_TIMEOUT if there was none for all that time. ZKR_CONNECTION_LOST says that
 * one may have been removed that nobody has.
 */
zkr_status zkr_delay_queue_get(zkr_delay_queue *delay_queue,
                               int64_t timeout_ms,
                               zkr_buffer **data,
                               zkr_error **error);

/**
 * zkr_delay_queue_get that another thread can withdraw; token may be NULL. An item whose removal is on its way goes
 * back to its old place.
 */
zkr_status zkr_delay_queue_get_cancellable(zkr_delay_queue *delay_queue,
                                           int64_t timeout_ms,
                                           zkr_cancel_token *token,
                                           zkr_buffer **data,
                                           zkr_error **error);

/** zkr_delay_queue_get in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_delay_queue_get_async(zkr_delay_queue *delay_queue,
                                     int64_t timeout_ms,
                                     zkr_buffer_callback callback,
                                     void *user_data);

/** zkr_delay_queue_get_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_delay_queue_get_cancellable_async(zkr_delay_queue *delay_queue,
                                                 int64_t timeout_ms,
                                                 zkr_cancel_token *token,
                                                 zkr_buffer_callback callback,
                                                 void *user_data);

/**
 * Claims the item that was due first, waiting for one up to timeout_ms: 0 is one attempt, any negative is for ever. On
 * success *item belongs to the caller: settle it with zkr_item_ack or zkr_item_nack, and free it with zkr_item_free,
 * which gives back what is not settled.
 *
 * At least once: nobody else has the item until it is acknowledged, given back, or our session ends; then the next one
 * gets it. ZKR_TIMEOUT if there was none for all that time.
 */
zkr_status zkr_delay_queue_claim(zkr_delay_queue *delay_queue,
                                 int64_t timeout_ms,
                                 zkr_item **item,
                                 zkr_error **error);

/** zkr_delay_queue_claim that another thread can withdraw; token may be NULL. A claim that is on its way is taken back. */
zkr_status zkr_delay_queue_claim_cancellable(zkr_delay_queue *delay_queue,
                                             int64_t timeout_ms,
                                             zkr_cancel_token *token,
                                             zkr_item **item,
                                             zkr_error **error);

/** zkr_delay_queue_claim in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_delay_queue_claim_async(zkr_delay_queue *delay_queue,
                                       int64_t timeout_ms,
                                       zkr_item_callback callback,
                                       void *user_data);

/** zkr_delay_queue_claim_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_delay_queue_claim_cancellable_async(zkr_delay_queue *delay_queue,
                                                   int64_t timeout_ms,
                                                   zkr_cancel_token *token,
                                                   zkr_item_callback callback,
                                                   void *user_data);

/**
 * Claims up to n at once: waits for the item that was due first as zkr_delay_queue_claim does, and takes the next ones
 * along that are there already. On success *items belongs to the caller: free it with zkr_items_free when each item
 * was taken. What was not is given back.
 */
zkr_status zkr_delay_queue_claim_many(zkr_delay_queue *delay_queue,
                                      size_t n,
                                      int64_t timeout_ms,
                                      zkr_items **items,
                                      zkr_error **error);

/**
 * zkr_delay_queue_claim_many that another thread can withdraw; token may be NULL. Claims that are on their way are
 * taken back.
 */
zkr_status zkr_delay_queue_claim_many_cancellable(zkr_delay_queue *delay_queue,
                                                  size_t n,
                                                  int64_t timeout_ms,
                                                  zkr_cancel_token *token,
                                                  zkr_items **items,
                                                  zkr_error **error);

/** zkr_delay_queue_claim_many in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_delay_queue_claim_many_async(zkr_delay_queue *delay_queue,
                                            size_t n,
                                            int64_t timeout_ms,
                                            zkr_items_callback callback,
                                            void *user_data);

/** zkr_delay_queue_claim_many_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_delay_queue_claim_many_cancellable_async(zkr_delay_queue *delay_queue,
                                                        size_t n,
                                                        int64_t timeout_ms,
                                                        zkr_cancel_token *token,
                                                        zkr_items_callback callback,
                                                        void *user_data);

/**
 * Acknowledges several at once, each as by zkr_item_ack: the requests leave together, and one that fails holds up no
 * other. The error is that of the first of them that failed. The items still have to be freed.
 */
zkr_status zkr_delay_queue_ack_many(zkr_delay_queue *delay_queue,
                                    zkr_item *const *items,
                                    size_t count,
                                    zkr_error **error);

/** zkr_delay_queue_ack_many in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_delay_queue_ack_many_async(zkr_delay_queue *delay_queue,
                                          zkr_item *const *items,
                                          size_t count,
                                          zkr_done_callback callback,
                                          void *user_data);

/**
 * Calls back while a verb of this handle waits, for an item or for room: after a second, and then ever less often, up
 * to once a minute. subscription may be NULL; otherwise end it with zkr_subscription_free.
 */
zkr_status zkr_delay_queue_on_wait(zkr_delay_queue *delay_queue,
                                   zkr_wait_callback callback,
                                   void *user_data,
                                   zkr_subscription **subscription,
                                   zkr_error **error);

/**
 * Reads the next item that nobody has claimed, which stays. *data is NULL if there is none; otherwise it belongs to
 * the caller: free it with zkr_buffer_free.
 */
zkr_status zkr_delay_queue_peek(zkr_delay_queue *delay_queue,
                                zkr_buffer **data,
                                zkr_error **error);

/**
 * zkr_delay_queue_peek in the background: the callback's buffer is NULL if there is no item, its stat always. ZKR_OK
 * says that the callback will be called exactly once.
 */
zkr_status zkr_delay_queue_peek_async(zkr_delay_queue *delay_queue,
                                      zkr_buffer_callback callback,
                                      void *user_data);

/** How many items there are, claimed ones included. */
zkr_status zkr_delay_queue_len(zkr_delay_queue *delay_queue, size_t *items, zkr_error **error);

/**
 * zkr_delay_queue_len in the background; the number is that of the items. ZKR_OK says that the callback will be called
 * exactly once.
 */
zkr_status zkr_delay_queue_len_async(zkr_delay_queue *delay_queue,
                                     zkr_number_callback callback,
                                     void *user_data);

/**
 * How many items can be taken, step aside, or are claimed, and how many dead letters there are; counted by the lists
 * of items and claims. Of dead letters none is dead.
 */
zkr_status zkr_delay_queue_stats(zkr_delay_queue *delay_queue,
                                 zkr_queue_counts *stats,
                                 zkr_error **error);

/** zkr_delay_queue_stats in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_delay_queue_stats_async(zkr_delay_queue *delay_queue,
                                       zkr_queue_counts_callback callback,
                                       void *user_data);

/**
 * Reads all items in order, claimed ones included; what cannot be read is left out, and the log names it. On success
 * *items belongs to the caller: free it with zkr_payloads_free.
 */
zkr_status zkr_delay_queue_items(zkr_delay_queue *delay_queue,
                                 zkr_payloads **items,
                                 zkr_error **error);

/** zkr_delay_queue_items in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_delay_queue_items_async(zkr_delay_queue *delay_queue,
                                       zkr_payloads_callback callback,
                                       void *user_data);

/**
 * Makes a handle of the dead letters: the items that were claimed max_attempts times in vain. It sends nothing, and is
 * a queue that nothing can be put into. On success *dead belongs to the caller: free it with zkr_queue_free.
 */
zkr_status zkr_delay_queue_dead(zkr_delay_queue *delay_queue,
                                zkr_queue **dead,
                                zkr_error **error);

/**
 * Reads the dead letters in order, with what is known of their end: of the queue, or of its dead letters, which is the
 * same. One that cannot be read hides no other: its problem says why. On success *letters belongs to the caller: free
 * it with zkr_dead_letters_free.
 */
zkr_status zkr_delay_queue_dead_letters(zkr_delay_queue *delay_queue,
                                        zkr_dead_letters **letters,
                                        zkr_error **error);

/** zkr_delay_queue_dead_letters in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_delay_queue_dead_letters_async(zkr_delay_queue *delay_queue,
                                              zkr_dead_letters_callback callback,
                                              void *user_data);

/**
 * Puts the dead letters back into their queue, as new items: of the queue, or of its dead letters, which is the same.
 * Each moves in one transaction, so none is lost or doubled. replayed may be NULL; otherwise it is for how many.
 */
zkr_status zkr_delay_queue_replay(zkr_delay_queue *delay_queue,
                                  size_t *replayed,
                                  zkr_error **error);

/**
 * zkr_delay_queue_replay in the background; the number is that of the items. ZKR_OK says that the callback will be
 * called exactly once.
 */
zkr_status zkr_delay_queue_replay_async(zkr_delay_queue *delay_queue,
                                        zkr_number_callback callback,
                                        void *user_data);

/**
 * Puts one dead letter back into its queue, as a new item: the one with that id, of those that zkr_queue_dead_letters
 * tells. replayed may be NULL; otherwise it is for how many, which is 1, or 0 if there is none or somebody else has
 * it.
 */
zkr_status zkr_delay_queue_replay_one(zkr_delay_queue *delay_queue,
                                      const char *id,
                                      size_t *replayed,
                                      zkr_error **error);

/**
 * zkr_delay_queue_replay_one in the background; the number is 1, or 0 if there is none. ZKR_OK says that the callback
 * will be called exactly once.
 */
zkr_status zkr_delay_queue_replay_one_async(zkr_delay_queue *delay_queue,
                                            const char *id,
                                            zkr_number_callback callback,
                                            void *user_data);

/**
 * Deletes the dead letters that have been there for older_than_ms, 0 for all: of the queue, or of its dead letters,
 * which is the same. What somebody has claimed stays, and nothing else of the queue goes. purged may be NULL;
 * otherwise it is for how many.
 */
zkr_status zkr_delay_queue_purge(zkr_delay_queue *delay_queue,
                                 int64_t older_than_ms,
                                 size_t *purged,
                                 zkr_error **error);

/**
 * zkr_delay_queue_purge in the background; the number is that of the items. ZKR_OK says that the callback will be
 * called exactly once.
 */
zkr_status zkr_delay_queue_purge_async(zkr_delay_queue *delay_queue,
                                       int64_t older_than_ms,
                                       zkr_number_callback callback,
                                       void *user_data);

/** Wakes all calls that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks. */
zkr_status zkr_delay_queue_cancel(zkr_delay_queue *delay_queue,
                                  zkr_error **error);

/**
 * Makes a handle of a delay queue. Validates, but sends nothing. options may be NULL for the defaults. On success
 * *delay_queue belongs to the caller: free it with zkr_delay_queue_free.
 */
zkr_status zkr_delay_queue_new(zkr_client *client,
                               const char *path,
                               const zkr_queue_options *options,
                               zkr_delay_queue **delay_queue,
                               zkr_error **error);

/** Puts an item that nobody gets before delay_ms have passed. timeout_ms and the end are as for zkr_queue_put. */
zkr_status zkr_delay_queue_put(zkr_delay_queue *delay_queue,
                               const void *data,
                               size_t size,
                               int64_t delay_ms,
                               int64_t timeout_ms,
                               zkr_error **error);

/**
 * zkr_delay_queue_put that another thread can withdraw; token may be NULL. What is on its way already is taken back,
 * unless somebody has it by then.
 */
zkr_status zkr_delay_queue_put_cancellable(zkr_delay_queue *delay_queue,
                                           const void *data,
                                           size_t size,
                                           int64_t delay_ms,
                                           int64_t timeout_ms,
                                           zkr_cancel_token *token,
                                           zkr_error **error);

/** zkr_delay_queue_put in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_delay_queue_put_async(zkr_delay_queue *delay_queue,
                                     const void *data,
                                     size_t size,
                                     int64_t delay_ms,
                                     int64_t timeout_ms,
                                     zkr_done_callback callback,
                                     void *user_data);

/** zkr_delay_queue_put_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_delay_queue_put_cancellable_async(zkr_delay_queue *delay_queue,
                                                 const void *data,
                                                 size_t size,
                                                 int64_t delay_ms,
                                                 int64_t timeout_ms,
                                                 zkr_cancel_token *token,
                                                 zkr_done_callback callback,
                                                 void *user_data);

/** The same with a key that names this put, as zkr_queue_put_with. */
zkr_status zkr_delay_queue_put_with(zkr_delay_queue *delay_queue,
                                    const void *data,
                                    size_t size,
                                    int64_t delay_ms,
                                    const char *key,
                                    int64_t timeout_ms,
                                    zkr_error **error);

/**
 * zkr_delay_queue_put_with that another thread can withdraw; token may be NULL. What is on its way with a key stays;
 * put it again with that key to be certain.
 */
zkr_status zkr_delay_queue_put_with_cancellable(zkr_delay_queue *delay_queue,
                                                const void *data,
                                                size_t size,
                                                int64_t delay_ms,
                                                const char *key,
                                                int64_t timeout_ms,
                                                zkr_cancel_token *token,
                                                zkr_error **error);

/** zkr_delay_queue_put_with in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_delay_queue_put_with_async(zkr_delay_queue *delay_queue,
                                          const void *data,
                                          size_t size,
                                          int64_t delay_ms,
                                          const char *key,
                                          int64_t timeout_ms,
                                          zkr_done_callback callback,
                                          void *user_data);

/** zkr_delay_queue_put_with_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_delay_queue_put_with_cancellable_async(zkr_delay_queue *delay_queue,
                                                      const void *data,
                                                      size_t size,
                                                      int64_t delay_ms,
                                                      const char *key,
                                                      int64_t timeout_ms,
                                                      zkr_cancel_token *token,
                                                      zkr_done_callback callback,
                                                      void *user_data);

/* Items ----------------------------------------------------------------------------------------------- */

/**
 * Whether this acquisition certainly stands at this moment: a comparison of clocks, no request. Never true again once
 * false.
 */
bool zkr_item_is_held(const zkr_item *item);

/**
 * The fencing token of the claim: it rises from one claim of an item to the next. Stays the same when the item is
 * settled or lost. 0, which is never a token, for a handle that cannot be used.
 */
uint64_t zkr_item_fencing_token(const zkr_item *item);

/** Asks the server whether it stands. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it cannot be known. */
zkr_status zkr_item_verify(zkr_item *item, zkr_error **error);

/** zkr_item_verify in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_item_verify_async(zkr_item *item, zkr_done_callback callback, void *user_data);

/** A transaction that the server applies only while this claim stands. Free it with zkr_transaction_free. */
zkr_status zkr_item_guarded(zkr_item *item, zkr_transaction **transaction, zkr_error **error);

/**
 * Calls back once when this claim is lost, at once if it already is, never on its own release. subscription may be
 * NULL; otherwise end it with zkr_subscription_free.
 */
zkr_status zkr_item_on_lost(zkr_item *item,
                            zkr_lost_callback callback,
                            void *user_data,
                            zkr_subscription **subscription,
                            zkr_error **error);

/**
 * Frees an item. Unless it was settled before it is given back in the background, as by zkr_item_nack. Never blocks.
 * NULL and freed ones are ignored.
 */
void zkr_item_free(zkr_item *item);

/** The path of the queue; NULL for a handle that cannot be used. Valid until the item is freed. */
const char *zkr_item_path(const zkr_item *item);

/**
 * The last part of the path of what is held: of a partition, its name. NULL for a handle that cannot be used. Valid
 * until it is freed.
 */
const char *zkr_item_name(const zkr_item *item);

/** The path of our claim; NULL for a handle that cannot be used. Valid until the item is freed. */
const char *zkr_item_node(const zkr_item *item);

/**
 * A text that names this claim, for others to check (zkr_client_check_sequencer); NULL for a handle that cannot be
 * used. Valid until the item is freed.
 */
const char *zkr_item_sequencer(const zkr_item *item);

/**
 * What was put. A NUL that does not count follows; NULL for a handle that cannot be used. Valid until the item is
 * freed.
 */
const void *zkr_item_data(const zkr_item *item);

/** How many bytes of data there are. */
size_t zkr_item_size(const zkr_item *item);

/** How often it was claimed, this time included; 0 for a handle that cannot be used. */
uint32_t zkr_item_attempts(const zkr_item *item);

/**
 * It is done: removes it from the queue, if our claim still stands; ZKR_NOT_HELD if not, and then it is somebody
 * else's. A lost answer is looked for; ZKR_CONNECTION_LOST says that it could not be found out.
 */
zkr_status zkr_item_ack(zkr_item *item,
                        zkr_error **error);

/** zkr_item_ack in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_item_ack_async(zkr_item *item, zkr_done_callback callback, void *user_data);

/**
 * The same, together with the writes of a transaction, which are applied exactly if the item is done. It may come from
 * zkr_item_guarded or zkr_nodes_transaction, and is used up in any case; free it nevertheless. Writes that are refused
 * leave the item claimed.
 */
zkr_status zkr_item_ack_with(zkr_item *item,
                             zkr_transaction *transaction,
                             zkr_error **error);

/** zkr_item_ack_with in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_item_ack_with_async(zkr_item *item,
                                   zkr_transaction *transaction,
                                   zkr_done_callback callback,
                                   void *user_data);

/**
 * The work has failed: gives it back, and lets it step aside for the others, for a second after the first attempt and
 * twice as long after each further one, up to five minutes. Then it is at its old place again. After the last of
 * max_attempts it goes to the dead letters. ZKR_NOT_HELD if it is gone already.
 */
zkr_status zkr_item_nack(zkr_item *item,
                         zkr_error **error);

/** zkr_item_nack in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_item_nack_async(zkr_item *item, zkr_done_callback callback, void *user_data);

/**
 * The same with a pause of one's own: 0 is none, any negative grows by itself. reason may be NULL; it is kept with the
 * dead letter if this was the last attempt.
 */
zkr_status zkr_item_nack_with(zkr_item *item,
                              int64_t delay_ms,
                              const char *reason,
                              zkr_error **error);

/** zkr_item_nack_with in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_item_nack_with_async(zkr_item *item,
                                    int64_t delay_ms,
                                    const char *reason,
                                    zkr_done_callback callback,
                                    void *user_data);

/* Configs --------------------------------------------------------------------------------------------- */

/**
 * Makes a handle of a config. Validates, but sends nothing. On success *config belongs to the caller: free it with
 * zkr_config_free.
 */
zkr_status zkr_config_new(zkr_client *client,
                          const char *path,
                          zkr_config **config,
                          zkr_error **error);

/** Frees a config. Calls in progress on it go on, and so do its subscriptions. NULL and freed ones are ignored. */
void zkr_config_free(zkr_config *config);

/** The path of the config; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_config_path(const zkr_config *config);

/**
 * Reads the value. *value is NULL if nobody has set it; otherwise it belongs to the caller: free it with
 * zkr_buffer_free. version may be NULL.
 */
zkr_status zkr_config_get(zkr_config *config, zkr_buffer **value, int32_t *version, zkr_error **error);

/** zkr_config_get in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_config_get_async(zkr_config *config, zkr_versioned_callback callback, void *user_data);

/**
 * Sets the value if it has the version, -1 for whichever it has or none at all. new_version may be NULL.
 *
 * ZKR_BAD_VERSION if somebody has changed it since, ZKR_NO_NODE if there is no value that could have a version. A lost
 * answer is resolved by looking; ZKR_CONNECTION_LOST says that it could not be, and that the value may or may not have
 * been set.
 */
zkr_status zkr_config_set(zkr_config *config,
                          const void *value,
                          size_t size,
                          int32_t version,
                          int32_t *new_version,
                          zkr_error **error);

/**
 * zkr_config_set in the background; the number is the new version. ZKR_OK says that the callback will be called
 * exactly once.
 */
zkr_status zkr_config_set_async(zkr_config *config,
                                const void *value,
                                size_t size,
                                int32_t version,
                                zkr_number_callback callback,
                                void *user_data);

/**
 * Sets the value if nobody has set it yet. new_version is that of a new value, 0, and may be NULL.
 *
 * ZKR_EXISTS if there is one. A lost answer is resolved by looking; ZKR_CONNECTION_LOST says that it could not be, and
 * that the value may or may not have been set.
 */
zkr_status zkr_config_create(zkr_config *config,
                             const void *value,
                             size_t size,
                             int32_t *new_version,
                             zkr_error **error);

/**
 * zkr_config_create in the background; the number is the version. ZKR_OK says that the callback will be called exactly
 * once.
 */
zkr_status zkr_config_create_async(zkr_config *config,
                                   const void *value,
                                   size_t size,
                                   zkr_number_callback callback,
                                   void *user_data);

/**
 * Sets the value if it still has that version, -1 for if there still is none: *is_set says whether it did. A step of
 * what zkr_config_update does, for who does the others alone. It is made once, also where the answer got lost;
 * ZKR_CONNECTION_LOST says that nobody can know whether it was.
 */
zkr_status zkr_config_compare_and_set(zkr_config *config,
                                      const void *value,
                                      size_t size,
                                      int32_t version,
                                      bool *is_set,
                                      zkr_error **error);

/**
 * zkr_config_compare_and_set in the background; the answer is whether it was set. ZKR_OK says that the callback will
 * be called exactly once.
 */
zkr_status zkr_config_compare_and_set_async(zkr_config *config,
                                            const void *value,
                                            size_t size,
                                            int32_t version,
                                            zkr_answer_callback callback,
                                            void *user_data);

/**
 * Tells the value now, and whenever it has changed: always the latest, over reconnections and new sessions. The next
 * value is asked for when the callback has returned, so a slow one misses values, but never the latest.
 *
 * subscription may be NULL to leave the callback in place for good; otherwise end it with zkr_subscription_free. If it
 * ends by itself, that is told by a status: ZKR_CLOSED with the client, ZKR_DENIED and the like where it cannot go on.
 */
zkr_status zkr_config_watch(zkr_config *config,
                            zkr_versioned_callback callback,
                            void *user_data,
                            zkr_subscription **subscription,
                            zkr_error **error);

/**
 * What this handle was told last, by zkr_config_get or zkr_config_watch, without asking anybody: *is_known says
 * whether it was told anything. *value is NULL if nobody had set it; otherwise it belongs to the caller: free it with
 * zkr_buffer_free. age_ms is how old this may be: so long ago it was certainly still so. While it is watched through
 * this handle and servers answer, that is less than half of the session timeout; otherwise it counts from when the
 * value was asked for.
 */
zkr_status zkr_config_cached(zkr_config *config,
                             bool *is_known,
                             zkr_buffer **value,
                             int32_t *version,
                             int64_t *age_ms,
                             zkr_error **error);

/* Names ----------------------------------------------------------------------------------------------- */

/**
 * Makes a handle of the names below a path. Validates, but sends nothing. On success *names belongs to the caller:
 * free it with zkr_names_free.
 */
zkr_status zkr_names_new(zkr_client *client,
                         const char *path,
                         zkr_names **names,
                         zkr_error **error);

/**
 * Frees names. Calls in progress on them go on, what was bound stays bound, and subscriptions go on. NULL and freed
 * ones are ignored.
 */
void zkr_names_free(zkr_names *names);

/** The path of the names; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_names_path(const zkr_names *names);

/**
 * Binds a name to data. ZKR_EXISTS if it is bound already, by whomever. An ephemeral binding lasts as long as the
 * client, over all its sessions, and is made again when somebody deletes it; any other until it is unbound.
 */
zkr_status zkr_names_bind(zkr_names *names,
                          const char *name,
                          const void *data,
                          size_t size,
                          bool ephemeral,
                          zkr_error **error);

/** zkr_names_bind in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_names_bind_async(zkr_names *names,
                                const char *name,
                                const void *data,
                                size_t size,
                                bool ephemeral,
                                zkr_done_callback callback,
                                void *user_data);

/**
 * Binds a name to data for a time: the servers unbind it once nobody has changed it for ttl_ms, which is at least 1,
 * whatever became of the client. ZKR_EXISTS if it is bound already, by whomever. ZKR_INVALID if the servers do not
 * take that: they need zookeeper.extendedTypesEnabled=true.
 */
zkr_status zkr_names_bind_ttl(zkr_names *names,
                              const char *name,
                              const void *data,
                              size_t size,
                              int64_t ttl_ms,
                              zkr_error **error);

/** zkr_names_bind_ttl in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_names_bind_ttl_async(zkr_names *names,
                                    const char *name,
                                    const void *data,
                                    size_t size,
                                    int64_t ttl_ms,
                                    zkr_done_callback callback,
                                    void *user_data);

/**
 * What a name stands for. *data is NULL if it is not bound; otherwise it belongs to the caller: free it with
 * zkr_buffer_free.
 */
zkr_status zkr_names_lookup(zkr_names *names, const char *name, zkr_buffer **data, zkr_error **error);

/**
 * zkr_names_lookup in the background: the callback's buffer is NULL if the name is not bound, its stat always. ZKR_OK
 * says that the callback will be called exactly once.
 */
zkr_status zkr_names_lookup_async(zkr_names *names,
                                  const char *name,
                                  zkr_buffer_callback callback,
                                  void *user_data);

/**
 * Unbinds a name, whoever has bound it. ZKR_NO_NODE if it is not bound. What another client keeps bound as ephemeral
 * is bound again by it at once.
 */
zkr_status zkr_names_unbind(zkr_names *names,
                            const char *name,
                            zkr_error **error);

/** zkr_names_unbind in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_names_unbind_async(zkr_names *names,
                                  const char *name,
                                  zkr_done_callback callback,
                                  void *user_data);

/** The names that are bound, sorted. On success *names_bound belongs to the caller: free it with zkr_strings_free. */
zkr_status zkr_names_list(zkr_names *names,
                          zkr_strings **names_bound,
                          zkr_error **error);

/** zkr_names_list in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_names_list_async(zkr_names *names, zkr_strings_callback callback, void *user_data);

/**
 * Tells all names and what they stand for, now and whenever that has changed: always the latest. One that may not be
 * read is left out: zkr_client_skipped names its node. The entries belong to the callback. subscription and the end
 * are as for zkr_config_watch.
 */
zkr_status zkr_names_watch(zkr_names *names,
                           zkr_entries_callback callback,
                           void *user_data,
                           zkr_subscription **subscription,
                           zkr_error **error);

/* Groups ---------------------------------------------------------------------------------------------- */

/**
 * Makes a handle of a group. Validates, but sends nothing. options may be NULL for the defaults. On success *group
 * belongs to the caller: free it with zkr_group_free.
 */
zkr_status zkr_group_new(zkr_client *client,
                         const char *path,
                         const zkr_group_options *options,
                         zkr_group **group,
                         zkr_error **error);

/** Frees a group. A member leaves in the background. NULL and freed ones are ignored. */
void zkr_group_free(zkr_group *group);

/** The path of the group; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_group_path(const zkr_group *group);

/**
 * Becomes a member, and stays one over all sessions of the client until it leaves, the group is freed, or the client
 * is closed. ZKR_EXISTS if this handle has joined already, or another member has that name. (That may be the one that
 * a crashed process has left: its name is free after its session timeout, or at once with the option replace.)
 */
zkr_status zkr_group_join(zkr_group *group,
                          const char *name,
                          const void *data,
                          size_t size,
                          zkr_error **error);

/** zkr_group_join in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_group_join_async(zkr_group *group,
                                const char *name,
                                const void *data,
                                size_t size,
                                zkr_done_callback callback,
                                void *user_data);

/**
 * Ends the membership. ZKR_NOT_HELD if there is none. ZKR_CONNECTION_LOST means unconfirmed, and the deletion goes on
 * in the background.
 */
zkr_status zkr_group_leave(zkr_group *group,
                           zkr_error **error);

/** zkr_group_leave in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_group_leave_async(zkr_group *group, zkr_done_callback callback, void *user_data);

/**
 * Replaces what this member says of itself. ZKR_NOT_HELD if it has not joined. ZKR_CONNECTION_LOST means not yet, and
 * it goes on in the background.
 */
zkr_status zkr_group_update(zkr_group *group,
                            const void *data,
                            size_t size,
                            zkr_error **error);

/** zkr_group_update in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_group_update_async(zkr_group *group,
                                  const void *data,
                                  size_t size,
                                  zkr_done_callback callback,
                                  void *user_data);

/**
 * The members and what they say of themselves, sorted by name. One that may not be read is left out:
 * zkr_client_skipped names it. On success *members belongs to the caller: free it with zkr_entries_free.
 */
zkr_status zkr_group_members(zkr_group *group, zkr_entries **members, zkr_error **error);

/** zkr_group_members in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_group_members_async(zkr_group *group, zkr_entries_callback callback, void *user_data);

/**
 * Waits until there are at least n members, whoever they are, up to timeout_ms: 0 is one look, any negative is for
 * ever. On success *members belongs to the caller, and says who is there: free it with zkr_entries_free. ZKR_TIMEOUT
 * if they are fewer then.
 */
zkr_status zkr_group_wait_for(zkr_group *group,
                              size_t n,
                              int64_t timeout_ms,
                              zkr_entries **members,
                              zkr_error **error);

/** zkr_group_wait_for that another thread can withdraw; token may be NULL. */
zkr_status zkr_group_wait_for_cancellable(zkr_group *group,
                                          size_t n,
                                          int64_t timeout_ms,
                                          zkr_cancel_token *token,
                                          zkr_entries **members,
                                          zkr_error **error);

/** zkr_group_wait_for in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_group_wait_for_async(zkr_group *group,
                                    size_t n,
                                    int64_t timeout_ms,
                                    zkr_entries_callback callback,
                                    void *user_data);

/** zkr_group_wait_for_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_group_wait_for_cancellable_async(zkr_group *group,
                                                size_t n,
                                                int64_t timeout_ms,
                                                zkr_cancel_token *token,
                                                zkr_entries_callback callback,
                                                void *user_data);

/**
 * Tells all members at first, then who joins, who leaves and whose data changes; after a gap, what differs. One that
 * may not be read is left out: zkr_client_skipped names it. The event is only lent for the callback. subscription and
 * the end are as for zkr_config_watch.
 */
zkr_status zkr_group_watch(zkr_group *group,
                           zkr_group_callback callback,
                           void *user_data,
                           zkr_subscription **subscription,
                           zkr_error **error);

/* Latches --------------------------------------------------------------------------------------------- */

/**
 * Makes a handle of a latch that has to be counted down count times, at least 1. Who counts first decides: a latch
 * that is there keeps what is left of it. Validates, but sends nothing. On success *latch belongs to the caller: free
 * it with zkr_latch_free.
 */
zkr_status zkr_latch_new(zkr_client *client,
                         const char *path,
                         size_t count,
                         zkr_latch **latch,
                         zkr_error **error);

/** Frees a latch. Calls in progress on it go on. NULL and freed ones are ignored. */
void zkr_latch_free(zkr_latch *latch);

/** The path of the latch; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_latch_path(const zkr_latch *latch);

/**
 * Counts it down by n, at least 1. remaining may be NULL; otherwise it is for how much is left, and 0 is open.
 * ZKR_CONNECTION_LOST says that it cannot be known whether it was counted down.
 */
zkr_status zkr_latch_count_down(zkr_latch *latch,
                                size_t n,
                                size_t *remaining,
                                zkr_error **error);

/**
 * zkr_latch_count_down in the background; the number is how much is left. ZKR_OK says that the callback will be called
 * exactly once.
 */
zkr_status zkr_latch_count_down_async(zkr_latch *latch,
                                      size_t n,
                                      zkr_number_callback callback,
                                      void *user_data);

/** How much is left until it is open, no older than this call. */
zkr_status zkr_latch_remaining(zkr_latch *latch, size_t *remaining, zkr_error **error);

/**
 * zkr_latch_remaining in the background; the number is how much is left. ZKR_OK says that the callback will be called
 * exactly once.
 */
zkr_status zkr_latch_remaining_async(zkr_latch *latch,
                                     zkr_number_callback callback,
                                     void *user_data);

/** Sets how much is left to count, at least 1: it is closed. Who waits for it goes on waiting. */
zkr_status zkr_latch_reset(zkr_latch *latch, size_t count, zkr_error **error);

/** zkr_latch_reset in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_latch_reset_async(zkr_latch *latch, size_t count, zkr_done_callback callback, void *user_data);

/**
 * Waits until it is open, up to timeout_ms: 0 is one look, any negative is for ever. Returns at once if it is open.
 * ZKR_TIMEOUT if it is still closed then, ZKR_NO_NODE if somebody deletes it meanwhile. Who has seen it closed when it
 * is opened goes on, also if it is reset at once.
 */
zkr_status zkr_latch_wait(zkr_latch *latch,
                          int64_t timeout_ms,
                          zkr_error **error);

/** zkr_latch_wait that another thread can withdraw; token may be NULL. */
zkr_status zkr_latch_wait_cancellable(zkr_latch *latch,
                                      int64_t timeout_ms,
                                      zkr_cancel_token *token,
                                      zkr_error **error);

/** zkr_latch_wait in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_latch_wait_async(zkr_latch *latch,
                                int64_t timeout_ms,
                                zkr_done_callback callback,
                                void *user_data);

/** zkr_latch_wait_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_latch_wait_cancellable_async(zkr_latch *latch,
                                            int64_t timeout_ms,
                                            zkr_cancel_token *token,
                                            zkr_done_callback callback,
                                            void *user_data);

/* Partitioners ---------------------------------------------------------------------------------------- */

/**
 * Makes a handle of a member of those who share partitions. Their names are partitions, count of them; NULL names them
 * "0", "1" and so on. All members have to name the same. Validates, but sends nothing. options may be NULL for the
 * defaults. On success *partitioner belongs to the caller: free it with zkr_partitioner_free.
 */
zkr_status zkr_partitioner_new(zkr_client *client,
                               const char *path,
                               const char *const *partitions,
                               size_t count,
                               const zkr_partitioner_options *options,
                               zkr_partitioner **partitioner,
                               zkr_error **error);

/**
 * Frees a partitioner. It leaves in the background as soon as none of its partitions is around any more. Calls in
 * progress on it go on. NULL and freed ones are ignored.
 */
void zkr_partitioner_free(zkr_partitioner *partitioner);

/** Where the partitions are shared; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_partitioner_path(const zkr_partitioner *partitioner);

/** The name of this member. On success *name belongs to the caller: free it with zkr_buffer_free. */
zkr_status zkr_partitioner_name(const zkr_partitioner *partitioner, zkr_buffer **name, zkr_error **error);

/**
 * Waits up to timeout_ms for the next partition that this member wins: 0 is one look, any negative is for ever. The
 * first call joins the others. The partition is the caller's until it lets go of it or loses it; zkr_held_name says
 * which it is.
 *
 * zkr_held_on_revoke tells that it is to move: finish, then release. After the time for draining it is lost. What was
 * released unasked comes again, after a pause.
 *
 * ZKR_TIMEOUT if none is won; it stays a member. ZKR_MISMATCH if the others share other partitions, ZKR_CANCELLED if
 * this handle leaves meanwhile. partition may not be NULL; *partition belongs to the caller: free it with
 * zkr_held_free.
 */
zkr_status zkr_partitioner_next(zkr_partitioner *partitioner,
                                int64_t timeout_ms,
                                zkr_held **partition,
                                zkr_error **error);

/** zkr_partitioner_next that another thread can withdraw; token may be NULL. */
zkr_status zkr_partitioner_next_cancellable(zkr_partitioner *partitioner,
                                            int64_t timeout_ms,
                                            zkr_cancel_token *token,
                                            zkr_held **partition,
                                            zkr_error **error);

/** zkr_partitioner_next in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_partitioner_next_async(zkr_partitioner *partitioner,
                                      int64_t timeout_ms,
                                      zkr_held_callback callback,
                                      void *user_data);

/** zkr_partitioner_next_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_partitioner_next_cancellable_async(zkr_partitioner *partitioner,
                                                  int64_t timeout_ms,
                                                  zkr_cancel_token *token,
                                                  zkr_held_callback callback,
                                                  void *user_data);

/**
 * Works on all partitions that this member wins: calls back with each one, as soon as it is won, which joins the
 * others first.
 *
 * The partition belongs to the callback, which hands it to whoever does the work and returns: like every callback it
 * must not block. zkr_held_on_revoke tells that it is to move: finish, then release. After the time for draining it is
 * lost; zkr_held_on_lost tells of a loss. What was released or freed unasked comes again, after a pause, as long as it
 * is this member's.
 *
 * zkr_partitioner_leave ends it, as does closing the client, and so does what trying again cannot help: a last call
 * says why, ZKR_CANCELLED, ZKR_CLOSED, ZKR_MISMATCH and the like, with no partition. subscription may be NULL;
 * otherwise zkr_subscription_free ends it as well, without that last call, and leaves in the background.
 * zkr_partitioner_free does not end it.
 */
zkr_status zkr_partitioner_run(zkr_partitioner *partitioner,
                               zkr_held_callback callback,
                               void *user_data,
                               zkr_subscription **subscription,
                               zkr_error **error);

/**
 * Takes part no more: what it has is asked for, and taken from it after the time for draining. Returns when all is let
 * go of. ZKR_NOT_HELD if it is no member.
 */
zkr_status zkr_partitioner_leave(zkr_partitioner *partitioner,
                                 zkr_error **error);

/** zkr_partitioner_leave in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_partitioner_leave_async(zkr_partitioner *partitioner,
                                       zkr_done_callback callback,
                                       void *user_data);

/**
 * Who has which partition now, no older than this call: an entry for each, with the identity of its owner, or with
 * data that is NULL where nobody has it. On success *owners belongs to the caller: free it with zkr_entries_free.
 */
zkr_status zkr_partitioner_owners(zkr_partitioner *partitioner,
                                  zkr_entries **owners,
                                  zkr_error **error);

/** zkr_partitioner_owners in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_partitioner_owners_async(zkr_partitioner *partitioner,
                                        zkr_entries_callback callback,
                                        void *user_data);

/**
 * Tells who has which partition, now and whenever one has another owner: always the latest, as zkr_partitioner_owners
 * does. A change costs one or two requests, however many partitions there are. The entries belong to the callback:
 * free them with zkr_entries_free. subscription and the end are as for zkr_config_watch.
 */
zkr_status zkr_partitioner_watch(zkr_partitioner *partitioner,
                                 zkr_entries_callback callback,
                                 void *user_data,
                                 zkr_subscription **subscription,
                                 zkr_error **error);

/**
 * Who shares the partitions now, no older than this call: an entry for each by name, with its weight as a decimal
 * number for data. On success *members belongs to the caller: free it with zkr_entries_free.
 */
zkr_status zkr_partitioner_members(zkr_partitioner *partitioner,
                                   zkr_entries **members,
                                   zkr_error **error);

/** zkr_partitioner_members in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_partitioner_members_async(zkr_partitioner *partitioner,
                                         zkr_entries_callback callback,
                                         void *user_data);

/** The name of a type, the same in every language of zkrecipes: "dynamic", "static", "permanent", "dynamic_sequential". */
const char *zkr_service_type_name(zkr_service_type kind);

/**
 * One of them did not serve: for 30 seconds the handle that has found it does not pick it. Asks no server, and tells nobody else.
 * Past the end of the list it does nothing.
 */
void zkr_instances_failed(const zkr_instances *instances,
                          size_t index);

/* Registrations --------------------------------------------------------------------------------------- */

/** Frees a registration, which ends nothing. NULL and freed ones are ignored. */
void zkr_registration_free(zkr_registration *registration);

/**
 * What tells it from the other instances of the service; NULL for a handle that cannot be used. Valid until it is
 * freed.
 */
const char *zkr_registration_id(const zkr_registration *registration);

/**
 * What was registered, as it is to be after the last update: a list of one, without its URI and its time. On success
 * *service belongs to the caller: free it with zkr_instances_free.
 */
zkr_status zkr_registration_service(const zkr_registration *registration,
                                    zkr_instances **service,
                                    zkr_error **error);

/**
 * Replaces what is to be known of it. id may be NULL, and has to be the same otherwise, as have name and type.
 * ZKR_NOT_HELD if it was unregistered. ZKR_CONNECTION_LOST: of a dynamic one it goes on in the background, of another
 * one it is unconfirmed; the next update goes on from there. ZKR_NO_NODE if somebody has deleted the node of a static
 * or permanent one, or put one of their own in its place.
 */
zkr_status zkr_registration_update(zkr_registration *registration,
                                   const zkr_service *service,
                                   zkr_error **error);

/** zkr_registration_update in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_registration_update_async(zkr_registration *registration,
                                         const zkr_service *service,
                                         zkr_done_callback callback,
                                         void *user_data);

/**
 * Takes it back. ZKR_NOT_HELD if it was unregistered already. ZKR_CONNECTION_LOST means unconfirmed: of a dynamic one
 * the deletion goes on in the background, another one may still be there.
 */
zkr_status zkr_registration_unregister(zkr_registration *registration,
                                       zkr_error **error);

/** zkr_registration_unregister in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_registration_unregister_async(zkr_registration *registration,
                                             zkr_done_callback callback,
                                             void *user_data);

/* Service discovery ----------------------------------------------------------------------------------- */

/**
 * Makes a handle of the services below a path. Validates, but sends nothing. On success *discovery belongs to the
 * caller: free it with zkr_discovery_free.
 */
zkr_status zkr_discovery_new(zkr_client *client,
                             const char *path,
                             zkr_discovery **discovery,
                             zkr_error **error);

/**
 * Frees a discovery. Calls in progress on it go on, what was registered stays registered, and subscriptions go on.
 * NULL and freed ones are ignored.
 */
void zkr_discovery_free(zkr_discovery *discovery);

/** Where the services are; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_discovery_path(const zkr_discovery *discovery);

/**
 * Registers an instance of a service. A dynamic one is kept over all sessions of the client until it is unregistered
 * or the client is closed; a static or permanent one stays until it is unregistered. On success *registration belongs
 * to the caller: free it with zkr_registration_free, which ends nothing.
 *
 * ZKR_EXISTS if there is one of that id. (That may be the one that a crashed process has left: its id is free after
 * its session timeout.) Only a static or permanent one takes the place of another such one.
 */
zkr_status zkr_discovery_register(zkr_discovery *discovery,
                                  const zkr_service *service,
                                  zkr_registration **registration,
                                  zkr_error **error);

/** zkr_discovery_register in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_discovery_register_async(zkr_discovery *discovery,
                                        const zkr_service *service,
                                        zkr_registration_callback callback,
                                        void *user_data);

/**
 * The instances of a service; none if there is no such service. On success *found belongs to the caller: free it with
 * zkr_instances_free.
 */
zkr_status zkr_discovery_instances(zkr_discovery *discovery,
                                   const char *name,
                                   zkr_instances **found,
                                   zkr_error **error);

/** zkr_discovery_instances in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_discovery_instances_async(zkr_discovery *discovery,
                                         const char *name,
                                         zkr_instances_callback callback,
                                         void *user_data);

/**
 * The services that there are, sorted. One whose last instance has gone is there for a while. On success *services
 * belongs to the caller: free it with zkr_strings_free.
 */
zkr_status zkr_discovery_names(zkr_discovery *discovery,
                               zkr_strings **services,
                               zkr_error **error);

/** zkr_discovery_names in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_discovery_names_async(zkr_discovery *discovery,
                                     zkr_strings_callback callback,
                                     void *user_data);

/**
 * Tells the instances of a service, now and whenever they are others: always the latest. The list belongs to the
 * callback. subscription and the end are as for zkr_config_watch.
 */
zkr_status zkr_discovery_watch(zkr_discovery *discovery,
                               const char *name,
                               zkr_instances_callback callback,
                               void *user_data,
                               zkr_subscription **subscription,
                               zkr_error **error);

/**
 * One of the instances of a service: a list of one, which is empty if there is none that may be picked. Disabled ones
 * are not picked, nor for 30 seconds those that have failed. Only the first call for a service asks a server: from
 * then on it is followed until the handle is freed. On success *picked belongs to the caller: free it with
 * zkr_instances_free.
 */
zkr_status zkr_discovery_pick(zkr_discovery *discovery,
                              const char *name,
                              zkr_pick_by by,
                              zkr_instances **picked,
                              zkr_error **error);

/** zkr_discovery_pick in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_discovery_pick_async(zkr_discovery *discovery,
                                    const char *name,
                                    zkr_pick_by by,
                                    zkr_instances_callback callback,
                                    void *user_data);

/**
 * An instance did not serve: for 30 seconds this handle does not pick it. Asks no server, and tells nobody else. The
 * same as zkr_instances_failed, for who has nothing but its name and id.
 */
zkr_status zkr_discovery_failed(zkr_discovery *discovery,
                                const char *name,
                                const char *id,
                                zkr_error **error);

/* Sequencers ------------------------------------------------------------------------------------------ */

/**
 * Asks whether the acquisition that a sequencer (zkr_held_sequencer) stands for still stands, as the quorum sees it.
 * ZKR_INVALID for what is no sequencer.
 */
zkr_status zkr_client_check_sequencer(zkr_client *client,
                                      const char *sequencer,
                                      bool *valid,
                                      zkr_error **error);

/**
 * zkr_client_check_sequencer in the background; the answer is whether it stands. ZKR_OK says that the callback will be
 * called exactly once.
 */
zkr_status zkr_client_check_sequencer_async(zkr_client *client,
                                            const char *sequencer,
                                            zkr_answer_callback callback,
                                            void *user_data);

/**
 * Waits until the acquisition that a sequencer stands for no longer stands, up to timeout_ms: 0 is one look, any
 * negative is for ever. ZKR_TIMEOUT if it still stands then.
 */
zkr_status zkr_client_watch_sequencer(zkr_client *client,
                                      const char *sequencer,
                                      int64_t timeout_ms,
                                      zkr_error **error);

/** zkr_client_watch_sequencer that another thread can withdraw; token may be NULL. */
zkr_status zkr_client_watch_sequencer_cancellable(zkr_client *client,
                                                  const char *sequencer,
                                                  int64_t timeout_ms,
                                                  zkr_cancel_token *token,
                                                  zkr_error **error);

/** zkr_client_watch_sequencer in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_client_watch_sequencer_async(zkr_client *client,
                                            const char *sequencer,
                                            int64_t timeout_ms,
                                            zkr_done_callback callback,
                                            void *user_data);

/** zkr_client_watch_sequencer_async with a token that withdraws it; token may be NULL, and may be freed before the end. */
zkr_status zkr_client_watch_sequencer_cancellable_async(zkr_client *client,
                                                        const char *sequencer,
                                                        int64_t timeout_ms,
                                                        zkr_cancel_token *token,
                                                        zkr_done_callback callback,
                                                        void *user_data);

/**
 * As whom the server knows this client, each as scheme:id, which is what an access list names: by the address it comes
 * from, by its credentials and by its certificate. Of digest credentials it is the user alone. On success *identities
 * belongs to the caller: free it with zkr_strings_free. ZKR_INVALID from servers before 3.7, which do not tell.
 */
zkr_status zkr_client_whoami(zkr_client *client,
                             zkr_strings **identities,
                             zkr_error **error);

/** zkr_client_whoami in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_client_whoami_async(zkr_client *client, zkr_strings_callback callback, void *user_data);

/* Transactions ---------------------------------------------------------------------------------------- */

/** Adds the creation of a node. */
zkr_status zkr_transaction_create(zkr_transaction *transaction,
                                  const char *path,
                                  const void *data,
                                  size_t size,
                                  zkr_create_mode mode,
                                  zkr_error **error);

/** Adds the creation of a node with a time to live: see zkr_nodes_create_ttl. */
zkr_status zkr_transaction_create_ttl(zkr_transaction *transaction,
                                      const char *path,
                                      const void *data,
                                      size_t size,
                                      zkr_create_mode mode,
                                      int64_t ttl_ms,
                                      zkr_error **error);

/** Adds the replacement of a node's data; version is the version that it must have, -1 for any. */
zkr_status zkr_transaction_set(zkr_transaction *transaction,
                               const char *path,
                               const void *data,
                               size_t size,
                               int32_t version,
                               zkr_error **error);

/** Adds the deletion of a node; version is the version that it must have, -1 for any. */
zkr_status zkr_transaction_delete(zkr_transaction *transaction,
                                  const char *path,
                                  int32_t version,
                                  zkr_error **error);

/** Adds the condition that a node exists and has the version, -1 for any. */
zkr_status zkr_transaction_check(zkr_transaction *transaction,
                                 const char *path,
                                 int32_t version,
                                 zkr_error **error);

/**
 * Sends everything. If it is guarded and the acquisition no longer stands, nothing is applied and the status is
 * ZKR_NOT_HELD. ZKR_CONNECTION_LOST means that the outcome is unknown; it is never sent twice. A second commit is
 * ZKR_INVALID.
 */
zkr_status zkr_transaction_commit(zkr_transaction *transaction,
                                  zkr_error **error);

/** zkr_transaction_commit in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_transaction_commit_async(zkr_transaction *transaction,
                                        zkr_done_callback callback,
                                        void *user_data);

/**
 * zkr_transaction_commit that tells what became of each part, in the order in which they were added. On success
 * *results belongs to the caller: free it with zkr_part_results_free.
 */
zkr_status zkr_transaction_commit_results(zkr_transaction *transaction,
                                          zkr_part_results **results,
                                          zkr_error **error);

/** zkr_transaction_commit_results in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_transaction_commit_results_async(zkr_transaction *transaction,
                                                zkr_part_results_callback callback,
                                                void *user_data);

/** Frees a transaction; what was not committed is never sent. NULL and freed ones are ignored. */
void zkr_transaction_free(zkr_transaction *transaction);

/* Nodes ----------------------------------------------------------------------------------------------- */

/** A transaction under no guard. Free it with zkr_transaction_free. */
zkr_status zkr_nodes_transaction(zkr_client *client, zkr_transaction **transaction, zkr_error **error);

/**
 * Creates a node. created may be NULL; otherwise it is for the path that the node got, as text: free it with
 * zkr_buffer_free.
 */
zkr_status zkr_nodes_create(zkr_client *client,
                            const char *path,
                            const void *data,
                            size_t size,
                            zkr_create_mode mode,
                            zkr_buffer **created,
                            zkr_error **error);

/** zkr_nodes_create in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_nodes_create_async(zkr_client *client,
                                  const char *path,
                                  const void *data,
                                  size_t size,
                                  zkr_create_mode mode,
                                  zkr_buffer_callback callback,
                                  void *user_data);

/**
 * zkr_nodes_create of a node with a time to live: the server removes it once it has had neither children nor changes
 * for ttl_ms. mode is ZKR_PERSISTENT or ZKR_PERSISTENT_SEQUENTIAL, ttl_ms is at least 1; other ones are ZKR_INVALID,
 * and so is a server that does not take such nodes: they need zookeeper.extendedTypesEnabled=true.
 */
zkr_status zkr_nodes_create_ttl(zkr_client *client,
                                const char *path,
                                const void *data,
                                size_t size,
                                zkr_create_mode mode,
                                int64_t ttl_ms,
                                zkr_buffer **created,
                                zkr_error **error);

/** zkr_nodes_create_ttl in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_nodes_create_ttl_async(zkr_client *client,
                                      const char *path,
                                      const void *data,
                                      size_t size,
                                      zkr_create_mode mode,
                                      int64_t ttl_ms,
                                      zkr_buffer_callback callback,
                                      void *user_data);

/** Reads a node. On success *data belongs to the caller: free it with zkr_buffer_free. stat may be NULL. */
zkr_status zkr_nodes_get(zkr_client *client,
                         const char *path,
                         zkr_buffer **data,
                         zkr_stat *stat,
                         zkr_error **error);

/** zkr_nodes_get in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_nodes_get_async(zkr_client *client,
                               const char *path,
                               zkr_buffer_callback callback,
                               void *user_data);

/** Replaces a node's data; version is the version that it must have, -1 for any. stat may be NULL. */
zkr_status zkr_nodes_set(zkr_client *client,
                         const char *path,
                         const void *data,
                         size_t size,
                         int32_t version,
                         zkr_stat *stat,
                         zkr_error **error);

/** zkr_nodes_set in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_nodes_set_async(zkr_client *client,
                               const char *path,
                               const void *data,
                               size_t size,
                               int32_t version,
                               zkr_stat_callback callback,
                               void *user_data);

/** Deletes a node without children; version is the version that it must have, -1 for any. */
zkr_status zkr_nodes_delete(zkr_client *client, const char *path, int32_t version, zkr_error **error);

/** zkr_nodes_delete in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_nodes_delete_async(zkr_client *client,
                                  const char *path,
                                  int32_t version,
                                  zkr_done_callback callback,
                                  void *user_data);

/** Asks whether a node exists. stat may be NULL; it is only filled if the node exists. */
zkr_status zkr_nodes_exists(zkr_client *client,
                            const char *path,
                            bool *exists,
                            zkr_stat *stat,
                            zkr_error **error);

/**
 * zkr_nodes_exists in the background: the callback's stat is NULL if there is no node. ZKR_OK says that the callback
 * will be called exactly once.
 */
zkr_status zkr_nodes_exists_async(zkr_client *client,
                                  const char *path,
                                  zkr_stat_callback callback,
                                  void *user_data);

/** The names of a node's children, sorted. On success *children belongs to the caller: free it with zkr_strings_free. */
zkr_status zkr_nodes_children(zkr_client *client,
                              const char *path,
                              zkr_strings **children,
                              zkr_error **error);

/** zkr_nodes_children in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_nodes_children_async(zkr_client *client,
                                    const char *path,
                                    zkr_strings_callback callback,
                                    void *user_data);

/**
 * The paths of the ephemeral nodes that the session of this client has at path and below it, sorted. On success
 * *ephemerals belongs to the caller: free it with zkr_strings_free. ZKR_INVALID if the server is older than 3.6.
 */
zkr_status zkr_nodes_ephemerals(zkr_client *client,
                                const char *path,
                                zkr_strings **ephemerals,
                                zkr_error **error);

/** zkr_nodes_ephemerals in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_nodes_ephemerals_async(zkr_client *client,
                                      const char *path,
                                      zkr_strings_callback callback,
                                      void *user_data);

/** Creates a node and all that is missing above it; no matter if it exists. */
zkr_status zkr_nodes_ensure(zkr_client *client, const char *path, zkr_error **error);

/** zkr_nodes_ensure in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_nodes_ensure_async(zkr_client *client,
                                  const char *path,
                                  zkr_done_callback callback,
                                  void *user_data);

/** Deletes a node and everything below it; no matter if it is gone. */
zkr_status zkr_nodes_delete_all(zkr_client *client, const char *path, zkr_error **error);

/** zkr_nodes_delete_all in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_nodes_delete_all_async(zkr_client *client,
                                      const char *path,
                                      zkr_done_callback callback,
                                      void *user_data);

/**
 * Keeps a node and all that is below it in a cache: waits until all of it is known, and follows it from then on. The
 * node need not exist; what we may not read is left out. It costs two requests for each node at first, then one or two
 * for each change. On success *cache belongs to the caller: free it with zkr_node_cache_free.
 */
zkr_status zkr_nodes_cache(zkr_client *client,
                           const char *path,
                           zkr_node_cache **cache,
                           zkr_error **error);

/** zkr_nodes_cache in the background. ZKR_OK says that the callback will be called exactly once. */
zkr_status zkr_nodes_cache_async(zkr_client *client,
                                 const char *path,
                                 zkr_node_cache_callback callback,
                                 void *user_data);

/**
 * Tells the state of a node now, and whenever it has changed: always the latest, over reconnections, new sessions,
 * deletion and re-creation. The node need not exist. The state is only lent for the callback. A subtree is watched
 * node by node: it costs two requests for each node at first, then one or two for each change. subscription and the
 * end are as for zkr_config_watch.
 */
zkr_status zkr_nodes_watch(zkr_client *client,
                           const char *path,
                           zkr_watch_kind kind,
                           zkr_node_callback callback,
                           void *user_data,
                           zkr_subscription **subscription,
                           zkr_error **error);

/* Caches of nodes ------------------------------------------------------------------------------------- */

/**
 * Frees a cache, which ends the following unless a subscription of zkr_node_cache_changes goes on. NULL and freed ones
 * are ignored.
 */
void zkr_node_cache_free(zkr_node_cache *node_cache);

/** The path of the topmost node; NULL for a handle that cannot be used. Valid until it is freed. */
const char *zkr_node_cache_path(const zkr_node_cache *node_cache);

/**
 * What is known of a node at or below the path of the cache, without asking anybody: *exists says whether there is
 * one. If so, *data belongs to the caller: free it with zkr_buffer_free. ZKR_INVALID for another path.
 */
zkr_status zkr_node_cache_get(zkr_node_cache *node_cache,
                              const char *path,
                              bool *exists,
                              zkr_buffer **data,
                              zkr_stat *stat,
                              zkr_error **error);

/**
 * The names of the children of such a node, sorted, without asking anybody: *exists says whether there is such a node.
 * If so, *names belongs to the caller: free it with zkr_strings_free.
 */
zkr_status zkr_node_cache_children(zkr_node_cache *node_cache,
                                   const char *path,
                                   bool *exists,
                                   zkr_strings **names,
                                   zkr_error **error);

/**
 * How old what is known may be: so long ago, for certain, it was still so. While servers answer, less than half of the
 * session timeout.
 */
zkr_status zkr_node_cache_age(zkr_node_cache *node_cache,
                              int64_t *age_ms,
                              zkr_error **error);

/**
 * Tells the paths of what has come, has gone or is different; at first of all that is there. The cache knows it by
 * then. The list belongs to the callback. A slow one is told of a path once, however often it has changed.
 * subscription and the end are as for zkr_config_watch.
 */
zkr_status zkr_node_cache_changes(zkr_node_cache *node_cache,
                                  zkr_strings_callback callback,
                                  void *user_data,
                                  zkr_subscription **subscription,
                                  zkr_error **error);

/** Gives the new value, within a zkr_update_callback; the data is copied. What cannot be taken is the error of the update. */
void zkr_update_set(zkr_update *update,
                    const void *data,
                    size_t size);

/**
 * Replaces the value of a config by what change makes of it: reads it, calls change, sets it if nobody has changed it meanwhile, else
 * once more. Each change is made once, also where an answer got lost; ZKR_CONNECTION_LOST says that nobody can know whether it was.
 *
 * On success *value and *version are what is there then, as for zkr_config_get; both may be NULL. There is no form in the background:
 * zkr_config_get_async and zkr_config_compare_and_set_async are its two steps.
 */
zkr_status zkr_config_update(zkr_config *config,
                             zkr_update_callback change,
                             void *user_data,
                             zkr_buffer **value,
                             int32_t *version,
                             zkr_error **error);

/**
 * The same with the data of a node, which has to exist: ZKR_NO_NODE. ZKR_CONNECTION_LOST: it may have been replaced, or not. stat may
 * be NULL. There is no form in the background: zkr_nodes_get_async and zkr_nodes_set_async are its two steps.
 */
zkr_status zkr_nodes_update(zkr_client *client,
                            const char *path,
                            zkr_update_callback change,
                            void *user_data,
                            zkr_stat *stat,
                            zkr_error **error);

/* Cancelling ------------------------------------------------------------------------------------------ */

/** A new token; free it with zkr_cancel_token_free. */
zkr_cancel_token *zkr_cancel_token_new(void);

/**
 * Withdraws every call that was given this token. Never blocks; any thread may do it, also inside a callback, but not
 * a signal handler.
 */
zkr_status zkr_cancel_token_cancel(zkr_cancel_token *token);

/** Frees a token. Calls that were given it go on undisturbed. NULL and freed ones are ignored. */
void zkr_cancel_token_free(zkr_cancel_token *token);

/* Subscriptions --------------------------------------------------------------------------------------- */

/**
 * Ends a subscription and frees it: no call of its callback begins any more.
 *
 * Outside callbacks it returns when the callback is not running either, so its user_data may go; hold no lock that the
 * callback takes. Inside a callback it never waits: if that is the ended one, its user_data may go when it returns;
 * if it is another one, the ended one may be running on another thread, so leave its user_data to
 * zkr_subscription_free_with. NULL and freed ones are ignored.
 */
void zkr_subscription_free(zkr_subscription *subscription);

/**
 * zkr_subscription_free that frees the user_data of the callback as well: free_data is called with it once, when the
 * callback is not running and never will again. Outside callbacks that is before this returns; inside one, if the ended
 * one is running, it is on the thread that runs it, right after it. free_data must not block. It is not called for NULL
 * and freed subscriptions.
 */
void zkr_subscription_free_with(zkr_subscription *subscription,
                                zkr_free_callback free_data);

/* Bytes ----------------------------------------------------------------------------------------------- */

/** The bytes; never NULL, also when there are none. Valid until the buffer is freed. */
const void *zkr_buffer_data(const zkr_buffer *buffer);

/** How many bytes there are. */
size_t zkr_buffer_size(const zkr_buffer *buffer);

/** The bytes as a string, for text such as a path. Valid until the buffer is freed. */
const char *zkr_buffer_text(const zkr_buffer *buffer);

/** Frees a buffer. NULL and freed ones are ignored. */
void zkr_buffer_free(zkr_buffer *buffer);

/* Lists ----------------------------------------------------------------------------------------------- */

/**
 * Makes a list of copies of these strings, for libraries that answer as this one does. Free it with zkr_strings_free; NULL
 * if one of them is NULL or not UTF-8.
 */
zkr_strings *zkr_strings_new(const char *const *texts,
                             size_t count);

/** How many strings there are. */
size_t zkr_strings_count(const zkr_strings *strings);

/** One string, or NULL past the end. Valid until the list is freed. */
const char *zkr_strings_get(const zkr_strings *strings, size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_strings_free(zkr_strings *strings);

/** How many there are. */
size_t zkr_contenders_count(const zkr_contenders *contenders);

/** One of them, or NULL past the end. Valid until the list is freed. */
const zkr_contender *zkr_contenders_get(const zkr_contenders *contenders, size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_contenders_free(zkr_contenders *contenders);

/** How many there are. */
size_t zkr_part_results_count(const zkr_part_results *part_results);

/** One of them, or NULL past the end. Valid until the list is freed. */
const zkr_part_result *zkr_part_results_get(const zkr_part_results *part_results, size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_part_results_free(zkr_part_results *part_results);

/* Lists of entries ------------------------------------------------------------------------------------ */

/** How many there are. */
size_t zkr_entries_count(const zkr_entries *entries);

/** One of them, or NULL past the end. Valid until the list is freed. */
const zkr_entry *zkr_entries_get(const zkr_entries *entries, size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_entries_free(zkr_entries *entries);

/* Lists of payloads ----------------------------------------------------------------------------------- */

/** How many there are. */
size_t zkr_payloads_count(const zkr_payloads *payloads);

/** One of them, or NULL past the end. Valid until the list is freed. */
const zkr_payload *zkr_payloads_get(const zkr_payloads *payloads, size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_payloads_free(zkr_payloads *payloads);

/** How many there are. */
size_t zkr_dead_letters_count(const zkr_dead_letters *dead_letters);

/** One of them, or NULL past the end. Valid until the list is freed. */
const zkr_dead_letter *zkr_dead_letters_get(const zkr_dead_letters *dead_letters, size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_dead_letters_free(zkr_dead_letters *dead_letters);

/** How many there are. */
size_t zkr_items_count(const zkr_items *items);

/** One of them, which is the caller's: free it with zkr_item_free. NULL past the end. */
zkr_item *zkr_items_take(const zkr_items *items, size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_items_free(zkr_items *items);

/* Lists of two-phase commits -------------------------------------------------------------------------- */

/** How many there are. */
size_t zkr_commit_statuses_count(const zkr_commit_statuses *commit_statuses);

/** One of them, or NULL past the end. Valid until the list is freed. */
const zkr_commit_status *zkr_commit_statuses_get(const zkr_commit_statuses *commit_statuses, size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_commit_statuses_free(zkr_commit_statuses *commit_statuses);

/** How many there are. */
size_t zkr_commit_transactions_count(const zkr_commit_transactions *commit_transactions);

/** One of them, which is the caller's: free it with zkr_commit_transaction_free. NULL past the end. */
zkr_commit_transaction *zkr_commit_transactions_take(const zkr_commit_transactions *commit_transactions,
                                                     size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_commit_transactions_free(zkr_commit_transactions *commit_transactions);

/** How many there are. */
size_t zkr_proposals_count(const zkr_proposals *proposals);

/** One of them, which is the caller's: free it with zkr_proposal_free. NULL past the end. */
zkr_proposal *zkr_proposals_take(const zkr_proposals *proposals, size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_proposals_free(zkr_proposals *proposals);

/** How many there are. */
size_t zkr_instances_count(const zkr_instances *instances);

/** One of them, or NULL past the end. Valid until the list is freed. */
const zkr_instance *zkr_instances_get(const zkr_instances *instances, size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_instances_free(zkr_instances *instances);

/** How many there are. */
size_t zkr_metrics_count(const zkr_metrics *metrics);

/** One of them, or NULL past the end. Valid until the list is freed. */
const zkr_metric *zkr_metrics_get(const zkr_metrics *metrics, size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_metrics_free(zkr_metrics *metrics);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ZKRECIPES_H */
