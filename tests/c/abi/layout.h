/* SPDX-License-Identifier: Apache-2.0
 *
 * What version 0.1 fixed, field by field: X(struct, field, offset, size) on machines with pointers of 64
 * bits. A later version may only add fields at the end of structs that begin with their size. There is no
 * padding in those: each field begins where the one before it ends.
 */

#define OPTIONS_0_1(X)                           \
  X(zkr_options, size, 0, 8)                     \
  X(zkr_options, session_timeout_ms, 8, 8)       \
  X(zkr_options, connect_timeout_ms, 16, 8)      \
  X(zkr_options, identity, 24, 8)                \
  X(zkr_options, auth, 32, 8)                    \
  X(zkr_options, auth_count, 40, 8)              \
  X(zkr_options, acl, 48, 4)                     \
  X(zkr_options, reserved_1, 52, 4)              \
  X(zkr_options, acl_list, 56, 8)                \
  X(zkr_options, acl_count, 64, 8)               \
  X(zkr_options, tls, 72, 1)                     \
  X(zkr_options, tls_verify_hostname, 73, 1)     \
  X(zkr_options, reserved_2, 74, 6)              \
  X(zkr_options, tls_ca, 80, 8)                  \
  X(zkr_options, tls_cert, 88, 8)                \
  X(zkr_options, tls_key, 96, 8)                 \
  X(zkr_options, sasl_user, 104, 8)              \
  X(zkr_options, sasl_password, 112, 8)          \
  X(zkr_options, naming, 120, 4)                 \
  X(zkr_options, lease, 124, 4)                  \
  X(zkr_options, retry_base_ms, 128, 8)          \
  X(zkr_options, retry_max_ms, 136, 8)           \
  X(zkr_options, retry_give_up_after_ms, 144, 8) \
  X(zkr_options, read_only, 152, 1)              \
  X(zkr_options, reserved_3, 153, 7)

#define LOCK_OPTIONS_0_1(X)            \
  X(zkr_lock_options, size, 0, 8)      \
  X(zkr_lock_options, reentrant, 8, 1) \
  X(zkr_lock_options, reserved, 9, 3)  \
  X(zkr_lock_options, local_handoff, 12, 4)

#define TEST_SERVER_OPTIONS_0_1(X)                          \
  X(zkr_test_server_options, size, 0, 8)                    \
  X(zkr_test_server_options, port, 8, 2)                    \
  X(zkr_test_server_options, reserved, 10, 6)               \
  X(zkr_test_server_options, tick_ms, 16, 8)                \
  X(zkr_test_server_options, min_session_timeout_ms, 24, 8) \
  X(zkr_test_server_options, max_session_timeout_ms, 32, 8) \
  X(zkr_test_server_options, data_limit, 40, 8)

/* What the library fills; it owns all of them but zkr_stat. */
#define RESULTS_0_1(X)                   \
  X(zkr_stat, czxid, 0, 8)               \
  X(zkr_stat, mzxid, 8, 8)               \
  X(zkr_stat, pzxid, 16, 8)              \
  X(zkr_stat, ctime, 24, 8)              \
  X(zkr_stat, mtime, 32, 8)              \
  X(zkr_stat, version, 40, 4)            \
  X(zkr_stat, cversion, 44, 4)           \
  X(zkr_stat, aversion, 48, 4)           \
  X(zkr_stat, data_length, 52, 4)        \
  X(zkr_stat, num_children, 56, 4)       \
  X(zkr_stat, ephemeral_owner, 64, 8)    \
  X(zkr_contender, node, 0, 8)           \
  X(zkr_contender, identity, 8, 8)       \
  X(zkr_contender, kind, 16, 8)          \
  X(zkr_contender, session_id, 24, 8)    \
  X(zkr_contender, since_ms, 32, 8)      \
  X(zkr_contender, holds, 40, 1)         \
  X(zkr_auth, scheme, 0, 8)              \
  X(zkr_auth, credential, 8, 8)          \
  X(zkr_auth, credential_size, 16, 8)    \
  X(zkr_acl_entry, scheme, 0, 8)         \
  X(zkr_acl_entry, id, 8, 8)             \
  X(zkr_acl_entry, permissions, 16, 8)   \
  X(zkr_test_request, kind, 0, 8)        \
  X(zkr_test_request, path, 8, 8)        \
  X(zkr_test_request, session_id, 16, 8) \
  X(zkr_test_request, connection, 24, 8) \
  X(zkr_test_request, zxid, 32, 8)       \
  X(zkr_test_request, error, 40, 4)      \
  X(zkr_test_request, outcome, 44, 4)    \
  X(zkr_test_request, bytes_in, 48, 8)   \
  X(zkr_test_request, bytes_out, 56, 8)
