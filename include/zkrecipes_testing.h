/* SPDX-License-Identifier: Apache-2.0
 *
 * zkrecipes: the testing kit, a library of its own (-lzkrecipes_testing -lzkrecipes, pkg-config zkrecipes_testing) for
 * tests of code that uses zkrecipes. Generated from the sources; do not edit.
 *
 *   zkr_test_server *server = NULL;
 *   if (zkr_test_server_start(NULL, &server, &error) != ZKR_OK) goto fail;
 *   if (zkr_client_connect(zkr_test_server_connect_string(server), NULL, &client, &error) != ZKR_OK) goto fail;
 *   zkr_test_server_expire(server, zkr_client_session_id(client), &error);
 *
 * Errors, ownership, handles and threads are as in zkrecipes.h. */

#ifndef ZKRECIPES_TESTING_H
#define ZKRECIPES_TESTING_H

#include "zkrecipes.h"

/** The defaults of zkr_test_server_options. */
#define ZKR_TEST_SERVER_OPTIONS_INIT { sizeof(zkr_test_server_options), 0, {0}, 0, 0, 0, 0, false, {0} }

/** What became of a request. */
typedef enum zkr_test_outcome {
  /** Carried out and answered. */
  ZKR_TEST_ANSWERED = 0,
  /** Carried out, but a fault kept the answer back. */
  ZKR_TEST_UNANSWERED = 1,
  /** Kept away from the server by a fault. */
  ZKR_TEST_LOST = 2,
} zkr_test_outcome;

/**
 * Several servers that are one ensemble, with followers that lag and can be cut off, as real ones do. Member 0 leads.
 * A follower answers reads and pings by itself from what it knows so far, and passes writes on to the leader.
 */
typedef struct zkr_test_ensemble zkr_test_ensemble;

/** A proxy that brings the faults of a zkr_test_server between clients and a real server. */
typedef struct zkr_test_proxy zkr_test_proxy;

/** A list of requests. */
typedef struct zkr_test_requests zkr_test_requests;

/** A ZooKeeper server inside this process, in memory only, for development and tests. */
typedef struct zkr_test_server zkr_test_server;

/** How a test server behaves. Start from ZKR_TEST_SERVER_OPTIONS_INIT, which has the defaults. */
typedef struct zkr_test_server_options {
  /** sizeof(zkr_test_server_options), as ZKR_TEST_SERVER_OPTIONS_INIT sets it. */
  size_t size;
  /** The port on the loopback interface (0: any free one). */
  uint16_t port;
  /** Zero. */
  uint8_t reserved[6];
  /** The tick, and the bounds of session timeouts, in milliseconds (0: the server's own defaults). */
  int64_t tick_ms;
  int64_t min_session_timeout_ms;
  int64_t max_session_timeout_ms;
  /** The packet limit in bytes (0: the server's own default). */
  size_t data_limit;
  /** Whether it takes nodes with a time to live (false), as a real one does with zookeeper.extendedTypesEnabled=true. */
  bool extended_types;
  /** Zero. */
  uint8_t reserved_2[7];
} zkr_test_server_options;

/** One request. */
typedef struct zkr_test_request {
  /** "create2", "getData", "multi", "ping", "connect", … */
  const char *kind;
  /**
   * As it was asked for, without the suffix of a sequential node; "" for a request that has none. For a multi, the
   * path of its first operation.
   */
  const char *path;
  /** Whose it is; 0 before the handshake. */
  uint64_t session_id;
  /** Numbers connections in the order in which they were made. */
  uint64_t connection;
  /** The last transaction when it was answered; 0 if it was lost. */
  int64_t zxid;
  /** 0 or the error code of ZooKeeper. */
  int32_t error;
  /** What became of it. */
  zkr_test_outcome outcome;
  /** The sizes of the request and of its answer. */
  size_t bytes_in;
  size_t bytes_out;
} zkr_test_request;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* Servers --------------------------------------------------------------------------------------------- */

/**
 * Starts a server on a free port of the loopback interface. options may be NULL for the defaults. On success *server
 * belongs to the caller: zkr_test_server_free ends it.
 */
zkr_status zkr_test_server_start(const zkr_test_server_options *options,
                                 zkr_test_server **server,
                                 zkr_error **error);

/** What to connect to; NULL for a handle that cannot be used. Valid until the server is freed. */
const char *zkr_test_server_connect_string(const zkr_test_server *server);

/** The port; 0 for a handle that cannot be used. */
uint16_t zkr_test_server_port(const zkr_test_server *server);

/** Breaks every connection; sessions go on. */
zkr_status zkr_test_server_drop_connections(zkr_test_server *server, zkr_error **error);

/** Answers nothing until zkr_test_server_resume, as if the network swallowed everything. */
zkr_status zkr_test_server_pause(zkr_test_server *server, zkr_error **error);

/** Answers again. */
zkr_status zkr_test_server_resume(zkr_test_server *server, zkr_error **error);

/**
 * Prepares a fault that strikes once, such as "drop_after create2 nth=2", "drop_before delete" or "delay_reply getData
 * by=500ms". fault may be NULL; otherwise it is for the number that zkr_test_server_fault_fired takes.
 */
zkr_status zkr_test_server_inject(zkr_test_server *server,
                                  const char *text,
                                  uint64_t *fault,
                                  zkr_error **error);

/** Whether the fault has struck. */
bool zkr_test_server_fault_fired(const zkr_test_server *server, uint64_t fault);

/** Forgets the faults that have not struck. */
zkr_status zkr_test_server_clear_faults(zkr_test_server *server, zkr_error **error);

/**
 * How many requests of an operation ("create2", "getData", …; "*" for any) the server has seen for paths that match
 * glob (one star: within a component, two: across; NULL: any) since it started or zkr_test_server_clear_log.
 */
size_t zkr_test_server_count(const zkr_test_server *server,
                             const char *operation,
                             const char *glob);

/**
 * The requests that the server has seen, oldest first, since it started or zkr_test_server_clear_log; it keeps the
 * last million. On success *requests belongs to the caller: free it with zkr_test_requests_free.
 */
zkr_status zkr_test_server_log(const zkr_test_server *server,
                               zkr_test_requests **requests,
                               zkr_error **error);

/** Forgets the requests seen so far. */
zkr_status zkr_test_server_clear_log(zkr_test_server *server, zkr_error **error);

/** How many sessions live. */
size_t zkr_test_server_session_count(const zkr_test_server *server);

/** How many clients are connected. */
size_t zkr_test_server_connection_count(const zkr_test_server *server);

/** Ends a server and forgets its data. NULL, freed ones and the server of a zkr_test_ensemble are ignored. */
void zkr_test_server_free(zkr_test_server *server);

/** Stops serving: connections break and new ones are refused. Data and sessions are kept for zkr_test_server_restart. */
zkr_status zkr_test_server_stop(zkr_test_server *server,
                                zkr_error **error);

/** Serves again, on the same port, with the data and sessions of before. */
zkr_status zkr_test_server_restart(zkr_test_server *server, zkr_error **error);

/** Ends a session, as its expiry does. ZKR_INVALID if there is no such session. */
zkr_status zkr_test_server_expire(zkr_test_server *server, uint64_t session_id, zkr_error **error);

/** Stops the server's clock: no session expires by itself until zkr_test_server_thaw_clock. */
zkr_status zkr_test_server_freeze_clock(zkr_test_server *server, zkr_error **error);

/** Moves the server's clock on. */
zkr_status zkr_test_server_advance_clock(zkr_test_server *server, int64_t ms, zkr_error **error);

/** Lets the server's clock run again. */
zkr_status zkr_test_server_thaw_clock(zkr_test_server *server, zkr_error **error);

/** Sets the number that the next sequential child of a node gets. ZKR_NO_NODE if there is no such node. */
zkr_status zkr_test_server_set_next_sequence(zkr_test_server *server,
                                             const char *path,
                                             int32_t next,
                                             zkr_error **error);

/** How many watches are set. */
size_t zkr_test_server_watch_count(const zkr_test_server *server);

/** The paths of all nodes. On success *paths belongs to the caller: free it with zkr_strings_free. */
zkr_status zkr_test_server_nodes(const zkr_test_server *server, zkr_strings **paths, zkr_error **error);

/** zkr_test_server_nodes under its first name. */
zkr_status zkr_test_server_paths(const zkr_test_server *server, zkr_strings **paths, zkr_error **error);

/* Requests -------------------------------------------------------------------------------------------- */

/** How many there are. */
size_t zkr_test_requests_count(const zkr_test_requests *requests);

/** One of them, or NULL past the end. Valid until the list is freed. */
const zkr_test_request *zkr_test_requests_get(const zkr_test_requests *requests, size_t index);

/** Frees a list. NULL and freed ones are ignored. */
void zkr_test_requests_free(zkr_test_requests *requests);

/* In front of a real server --------------------------------------------------------------------------- */

/**
 * Starts a proxy on a free port of the loopback interface in front of one server, "host:port", which need not be up
 * yet. On success *proxy belongs to the caller: zkr_test_proxy_free ends it.
 */
zkr_status zkr_test_proxy_start(const char *upstream,
                                zkr_test_proxy **proxy,
                                zkr_error **error);

/** What to connect to; NULL for a handle that cannot be used. Valid until the proxy is freed. */
const char *zkr_test_proxy_connect_string(const zkr_test_proxy *proxy);

/** The port; 0 for a handle that cannot be used. */
uint16_t zkr_test_proxy_port(const zkr_test_proxy *proxy);

/** Breaks every connection, on both sides; sessions go on. */
zkr_status zkr_test_proxy_drop_connections(zkr_test_proxy *proxy, zkr_error **error);

/** Passes nothing on, either way, until zkr_test_proxy_resume. */
zkr_status zkr_test_proxy_pause(zkr_test_proxy *proxy, zkr_error **error);

/** Passes everything on again. */
zkr_status zkr_test_proxy_resume(zkr_test_proxy *proxy, zkr_error **error);

/**
 * Prepares a fault that strikes once, such as "drop_after create2 nth=2", "drop_before delete" or "delay_reply getData
 * by=500ms". fault may be NULL; otherwise it is for the number that zkr_test_proxy_fault_fired takes.
 */
zkr_status zkr_test_proxy_inject(zkr_test_proxy *proxy,
                                 const char *text,
                                 uint64_t *fault,
                                 zkr_error **error);

/** Whether the fault has struck. */
bool zkr_test_proxy_fault_fired(const zkr_test_proxy *proxy, uint64_t fault);

/** Forgets the faults that have not struck. */
zkr_status zkr_test_proxy_clear_faults(zkr_test_proxy *proxy, zkr_error **error);

/**
 * How many requests of an operation ("create2", "getData", …; "*" for any) went to the server for paths that match
 * glob (one star: within a component, two: across; NULL: any) since it started or zkr_test_proxy_clear_log.
 */
size_t zkr_test_proxy_count(const zkr_test_proxy *proxy,
                            const char *operation,
                            const char *glob);

/**
 * The requests, in the order of their answers, since it started or zkr_test_proxy_clear_log; it keeps the last
 * million. On success *requests belongs to the caller: free it with zkr_test_requests_free.
 */
zkr_status zkr_test_proxy_log(const zkr_test_proxy *proxy,
                              zkr_test_requests **requests,
                              zkr_error **error);

/** Forgets the requests seen so far. */
zkr_status zkr_test_proxy_clear_log(zkr_test_proxy *proxy, zkr_error **error);

/** How many sessions went by and have not been seen to end. */
size_t zkr_test_proxy_session_count(const zkr_test_proxy *proxy);

/** How many clients are connected. */
size_t zkr_test_proxy_connection_count(const zkr_test_proxy *proxy);

/** Ends a proxy and breaks what goes through it. NULL and freed ones are ignored. */
void zkr_test_proxy_free(zkr_test_proxy *proxy);

/**
 * Ends a session at the server for real: attaches to it with the password that went by, and closes it. ZKR_INVALID if
 * no such session went by or it had ended, ZKR_CONNECTION_LOST if the server does not answer.
 */
zkr_status zkr_test_proxy_expire(zkr_test_proxy *proxy,
                                 uint64_t session_id,
                                 zkr_error **error);

/* Several servers ------------------------------------------------------------------------------------- */

/**
 * Starts so many servers as one ensemble. options may be NULL for the defaults; their port is the first member's, the
 * others take free ones. On success *ensemble belongs to the caller: zkr_test_ensemble_free ends it.
 */
zkr_status zkr_test_ensemble_start(size_t members,
                                   const zkr_test_server_options *options,
                                   zkr_test_ensemble **ensemble,
                                   zkr_error **error);

/** Ends an ensemble and forgets its data. NULL and freed ones are ignored. */
void zkr_test_ensemble_free(zkr_test_ensemble *ensemble);

/**
 * All members at once, for everything that a server can do: its connect string names all of them, stopping stops all
 * of them. NULL for a handle that cannot be used. It is a part of the ensemble and goes with it: there is nothing to
 * free.
 */
zkr_test_server *zkr_test_ensemble_server(const zkr_test_ensemble *ensemble);

/** How many members there are; 0 for a handle that cannot be used. */
size_t zkr_test_ensemble_size(const zkr_test_ensemble *ensemble);

/** What clients of one member connect to, or NULL past the end. Valid until the ensemble is freed. */
const char *zkr_test_ensemble_member(const zkr_test_ensemble *ensemble, size_t member);

/**
 * Sets how late a follower learns of transactions, and of answers to what it passed on. ZKR_INVALID if there is no such
 * follower.
 */
zkr_status zkr_test_ensemble_lag(zkr_test_ensemble *ensemble,
                                 size_t follower,
                                 int64_t ms,
                                 zkr_error **error);

/**
 * Keeps everything from a follower until zkr_test_ensemble_release: its clients get no answers to writes, and old ones to
 * reads.
 */
zkr_status zkr_test_ensemble_hold(zkr_test_ensemble *ensemble,
                                  size_t follower,
                                  zkr_error **error);

/** Lets a follower catch up. */
zkr_status zkr_test_ensemble_release(zkr_test_ensemble *ensemble, size_t follower, zkr_error **error);

/**
 * Cuts a follower off from the leader. It goes on answering reads and pings, but its clients' sessions may expire; after
 * five ticks it sends them away, until zkr_test_ensemble_heal. ZKR_INVALID if there is no such follower, or the leader
 * would be left without a majority.
 */
zkr_status zkr_test_ensemble_isolate(zkr_test_ensemble *ensemble,
                                     size_t follower,
                                     zkr_error **error);

/** Connects a follower again: it learns what it missed. ZKR_INVALID if it was not cut off. */
zkr_status zkr_test_ensemble_heal(zkr_test_ensemble *ensemble, size_t follower, zkr_error **error);

/** How many transactions a member is behind the leader; 0 for one that there is not. */
int64_t zkr_test_ensemble_behind(const zkr_test_ensemble *ensemble, size_t member);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ZKRECIPES_TESTING_H */
