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
 * the sessions still open within a second; what is killed or calls _exit leaves them to their timeout.
 *
 * Errors. A verb returns a zkr_status. Its last argument, zkr_error **error, may be NULL; otherwise *error must be
 * NULL on entry and is set only on failure. An error that stands there already is left alone.
 *
 * Ownership. Inputs are copied during the call. Every handle and every result that a call hands over has a _free,
 * which takes NULL. Results are emptied first, so a failed call leaves nothing to free.
 *
 * Handles. A handle that is NULL, freed, freed twice or of another kind is recognised and answered with ZKR_INVALID;
 * one whose client is closed with ZKR_CLOSED; one of the parent process with ZKR_FORKED. So a handle is not an
 * address: compare it with NULL, pass it on, nothing else.
 *
 * Threads. Every function may be called from any thread. Callbacks of one client run one at a time, losses apart, on
 * delivery threads of the library; once the client was asked for zkr_client_event_fd, all of them run inside
 * zkr_client_dispatch. A callback must not block: blocking verbs inside one return ZKR_DEADLOCK, their _async forms work
 * everywhere.
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
  { sizeof(zkr_options), 10000, 10000, NULL, NULL, 0, ZKR_ACL_DEFAULT, 0, NULL, 0, false, true, {0}, NULL, NULL, NULL, \
    NULL, NULL, ZKR_NAMING_CURATOR, ZKR_LEASE_STRICT, 50, 5000, -1, false, {0} }

/** The defaults of zkr_lock_options. */
#define ZKR_LOCK_OPTIONS_INIT { sizeof(zkr_lock_options), false, {0}, 0 }

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
  /** The participants disagree about how many they are. */
  ZKR_MISMATCH = 13,
  /** The client was closed. */
  ZKR_CLOSED = 14,
  /** A blocking verb inside a callback. Use its _async form there. */
  ZKR_DEADLOCK = 15,
  /** Used in a child process after fork(). Nothing was done and nothing hangs; the parent is undisturbed. */
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

/** What the heartbeat of a holder proves. */
typedef enum zkr_lease {
  /** That the quorum still honours the session. */
  ZKR_LEASE_STRICT = 0,
  /**
   * Less: around a partition two clients may both believe that they hold for a few seconds. It saves the servers a
   * write per quarter of the session timeout.
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

/** Bytes that the library hands over; a NUL that does not count follows them. */
typedef struct zkr_buffer zkr_buffer;

/**
 * Withdraws one call, or several that were given the same token, from any other thread.
 *
 * A cancelled call returns ZKR_CANCELLED and leaves nothing behind; what it had acquired when the cancel arrived is
 * released. A token stays cancelled: a later call that is given it returns at once. Make one per call.
 */
typedef struct zkr_cancel_token zkr_cancel_token;

/**
 * A session with ZooKeeper, shared by any number of recipes and threads. After the session expired it opens a new one
 * by itself; what was held is lost for good then, what waits queues again.
 */
typedef struct zkr_client zkr_client;

/** A list of those who hold and wait. */
typedef struct zkr_contenders zkr_contenders;

/**
 * What went wrong, in full. Belongs to whoever received it: free it with zkr_error_free. An error passed to a
 * callback is the exception; it is only lent for the duration of the callback.
 */
typedef struct zkr_error zkr_error;

/**
 * One acquisition: what it says never comes to mean another one. It is held until it is released, or until both it
 * and the lock that it came from are freed.
 */
typedef struct zkr_held zkr_held;

/**
 * A lock that at most one holder in the whole ensemble has at a time.
 *
 * A handle is used by one owner at a time: a second acquire on a held handle waits, whichever thread makes it.
 */
typedef struct zkr_lock zkr_lock;

/** Several locks that are acquired all or none, in an order in which nobody waits for each other. Losing one loses all. */
typedef struct zkr_multi_lock zkr_multi_lock;

/**
 * A lock that many readers share and writers have for themselves, in the order of arrival.
 *
 * Its two sides are a zkr_lock each, for every verb of a lock. Who holds write may take read too and then release
 * write, so that nobody gets in between; who holds read may not take write, which is ZKR_INVALID: two who tried would
 * wait for each other for ever. Like a zkr_lock, a handle has one owner; readers who read at the same time have a
 * handle each.
 */
typedef struct zkr_read_write_lock zkr_read_write_lock;

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
  /** How long the server keeps the session of a silent client (10,000); the server may negotiate it. */
  int64_t session_timeout_ms;
  /** How long connecting may take before ZKR_CONNECTION_LOST (10,000); any negative is for ever. */
  int64_t connect_timeout_ms;
  /** Written into contender nodes so that people see who holds what; NULL is "host:pid". */
  const char *identity;
  /** Credentials to present to the server. */
  const zkr_auth *auth;
  size_t auth_count;
  /** Who may touch the nodes that we create. */
  zkr_acl acl;
  /** Zero. */
  uint32_t reserved_1;
  /** The entries for ZKR_ACL_LIST. */
  const zkr_acl_entry *acl_list;
  size_t acl_count;
  /** Speak TLS to the servers. */
  bool tls;
  /** Whether the server's certificate must name its host (true). */
  bool tls_verify_hostname;
  /** Zero. */
  uint8_t reserved_2[6];
  /** PEM files: the authorities to trust, our own certificate, its key. */
  const char *tls_ca;
  const char *tls_cert;
  const char *tls_key;
  /** SASL DIGEST-MD5; NULL is none. */
  const char *sasl_user;
  const char *sasl_password;
  /** Whose node names to use (ZKR_NAMING_CURATOR). */
  zkr_naming naming;
  /** What the heartbeat of a holder proves (ZKR_LEASE_STRICT). */
  zkr_lease lease;
  /**
   * When the connection breaks: the first pause before trying again (50), the longest (5,000), and when to give up
   * with ZKR_CONNECTION_LOST (any negative: after connect_timeout_ms).
   */
  int64_t retry_base_ms;
  int64_t retry_max_ms;
  int64_t retry_give_up_after_ms;
  /** Accept a server that lost its quorum and only reads. */
  bool read_only;
  /** Zero. */
  uint8_t reserved_3[7];
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

/** How a lock behaves. Start from ZKR_LOCK_OPTIONS_INIT, which has the defaults. */
typedef struct zkr_lock_options {
  /** sizeof(zkr_lock_options), as ZKR_LOCK_OPTIONS_INIT sets it. */
  size_t size;
  /**
   * The handle is the owner: nested acquisitions count. Never share such a handle between threads that must exclude
   * each other.
   */
  bool reentrant;
  /** Zero. */
  uint8_t reserved[3];
  /** How many times waiters of this process may pass the turn on in memory before they let others in (0: never). */
  uint32_t local_handoff;
} zkr_lock_options;

/** The end of acquiring. On ZKR_OK the zkr_held belongs to the callback, otherwise it is NULL; the error is only lent. */
typedef void (*zkr_held_callback)(zkr_status status, zkr_held *held, const zkr_error *error, void *user_data);

/** What is lost, with the reason in the error, which is only lent for the callback. */
typedef void (*zkr_lost_callback)(const zkr_error *error, void *user_data);

/** Somebody asks for what is held. */
typedef void (*zkr_revoke_callback)(void *user_data);

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

/** The end of a verb that hands over a stat, NULL where there is no node. stat and error are only lent. */
typedef void (*zkr_stat_callback)(zkr_status status,
                                  const zkr_stat *stat,
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

/** Frees what was given as user_data; free() of the C library is one. */
typedef void (*zkr_free_callback)(void *user_data);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* Errors ---------------------------------------------------------------------------------------------- */

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
 * Connects to ZooKeeper.
 *
 * hosts is a connect string with an optional chroot ("h1:2181,h2:2181/app"), or "embedded:" for a server inside this
 * process (memory only, for development and tests). NULL or "" takes ZKRECIPES_HOSTS from the environment. options
 * may be NULL for the defaults. On success *client belongs to the caller: free it with zkr_client_free.
 *
 * Running out of connect time is ZKR_CONNECTION_LOST. Warnings of the library go to stderr; ZKRECIPES_LOG in the
 * environment says how much: off, error, warn (the default), info, debug.
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
 * Closes the session: waiters get ZKR_CLOSED, what is held is released, deletions under way are awaited for up to
 * timeout_ms (any negative: for ever). The handle stays valid, for dispatching the last callbacks and for
 * zkr_client_free, but every further verb on it or on its recipes is ZKR_CLOSED.
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
 * A file descriptor for poll, epoll, libuv, glib: readable while callbacks wait for zkr_client_dispatch.
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

/* Locks ----------------------------------------------------------------------------------------------- */

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
 * Acquires the lock, waiting up to timeout_ms: 0 is one attempt, any negative is for ever.
 *
 * ZKR_TIMEOUT if somebody else has it for all that time. held may be NULL when zkr_lock_release and the other verbs
 * of the lock are enough; otherwise *held belongs to the caller: free it with zkr_held_free.
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

/**
 * zkr_lock_acquire in the background. ZKR_OK says that the callback will be called exactly once; any other status
 * says that it never will be.
 */
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
 * Releases the innermost acquisition and leaves the confirmation to the background: never blocks, fit for
 * destructors and callbacks. ZKR_NOT_HELD if nothing is held.
 */
zkr_status zkr_lock_release_in_background(zkr_lock *lock, zkr_error **error);

/**
 * Whether this handle certainly holds the lock at this moment: a comparison of clocks, no request. Never true again
 * for an acquisition once lost.
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
 * then release. ZKR_NOT_HELD if nothing is held. subscription may be NULL; otherwise end it with zkr_subscription_free.
 */
zkr_status zkr_lock_on_revoke(zkr_lock *lock,
                              zkr_revoke_callback callback,
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
 * ask. ZKR_INVALID for what cannot be a contender of this lock. Cancelling while it waits: zkr_lock_cancel
 * or zkr_lock_revoke_cancellable.
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

/* Contenders ------------------------------------------------------------------------------------------ */

/** How many there are. */
size_t zkr_contenders_count(const zkr_contenders *contenders);

/** One of them, or NULL past the end. Valid until the list is freed. */
const zkr_contender *zkr_contenders_get(const zkr_contenders *contenders, size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_contenders_free(zkr_contenders *contenders);

/* Acquisitions ---------------------------------------------------------------------------------------- */

/**
 * Frees a zkr_held. It is released in the background unless it was released before or the lock that it came from
 * still keeps it. Never blocks. NULL and freed ones are ignored.
 */
void zkr_held_free(zkr_held *held);

/**
 * The path of what is held, for a zkr_multi_lock its paths with spaces between; NULL for a handle that cannot be used.
 * Valid until it is freed.
 */
const char *zkr_held_path(const zkr_held *held);

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
 * The fencing token: it rises strictly from one acquisition of a path to the next. Stays the same after release and
 * loss. 0, which is never a token, for a handle that cannot be used.
 */
uint64_t zkr_held_fencing_token(const zkr_held *held);

/**
 * The fencing tokens of everything that is held together: several for a zkr_multi_lock, in the order of its paths.
 * Writes as many as there is room for and returns how many there are; tokens may be NULL to ask for that alone. 0 for
 * a handle that cannot be used.
 */
size_t zkr_held_fencing_tokens(const zkr_held *held,
                               uint64_t *tokens,
                               size_t room);

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
 * Whether this acquisition certainly stands at this moment: a comparison of clocks, no request. Never true again once
 * false.
 */
bool zkr_held_is_held(const zkr_held *held);

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
 * Releases. From the call on it counts as not held. A second release is ZKR_NOT_HELD. ZKR_CONNECTION_LOST means that
 * the server did not confirm; the deletion goes on in the background until it does or the session has ended.
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
 * The fencing tokens of what is held, in the order of the paths. Writes as many as there is room for and returns how
 * many there are, 0 when nothing is held; tokens may be NULL to ask for that alone.
 */
size_t zkr_multi_lock_fencing_tokens(const zkr_multi_lock *multi_lock,
                                     uint64_t *tokens,
                                     size_t room);

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

/**
 * A transaction that the server applies only while what this handle holds stands. Free it with
 * zkr_transaction_free.
 */
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
 * Calls back once when somebody asks for what is held now (zkr_multi_lock_revoke), at once if somebody already has: finish,
 * then release. ZKR_NOT_HELD if nothing is held. subscription may be NULL; otherwise end it with zkr_subscription_free.
 */
zkr_status zkr_multi_lock_on_revoke(zkr_multi_lock *multi_lock,
                                    zkr_revoke_callback callback,
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

/* Semaphores ------------------------------------------------------------------------------------------ */

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
 * Calls back once when somebody asks for what is held now (zkr_semaphore_revoke), at once if somebody already has: finish,
 * then release. ZKR_NOT_HELD if nothing is held. subscription may be NULL; otherwise end it with zkr_subscription_free.
 */
zkr_status zkr_semaphore_on_revoke(zkr_semaphore *semaphore,
                                   zkr_revoke_callback callback,
                                   void *user_data,
                                   zkr_subscription **subscription,
                                   zkr_error **error);

/** Wakes all acquisitions that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks. */
zkr_status zkr_semaphore_cancel(zkr_semaphore *semaphore,
                                zkr_error **error);

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

/* Transactions ---------------------------------------------------------------------------------------- */

/** A transaction under no guard. Free it with zkr_transaction_free. */
zkr_status zkr_nodes_transaction(zkr_client *client, zkr_transaction **transaction, zkr_error **error);

/** Adds the creation of a node. */
zkr_status zkr_transaction_create(zkr_transaction *transaction,
                                  const char *path,
                                  const void *data,
                                  size_t size,
                                  zkr_create_mode mode,
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

/** Frees a transaction; what was not committed is never sent. NULL and freed ones are ignored. */
void zkr_transaction_free(zkr_transaction *transaction);

/* Nodes ----------------------------------------------------------------------------------------------- */

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

/** How many strings there are. */
size_t zkr_strings_count(const zkr_strings *strings);

/** One string, or NULL past the end. Valid until the list is freed. */
const char *zkr_strings_get(const zkr_strings *strings, size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_strings_free(zkr_strings *strings);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ZKRECIPES_H */
