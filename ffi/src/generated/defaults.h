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
