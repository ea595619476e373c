// SPDX-License-Identifier: Apache-2.0
//
// What the C++ tests share. A test is a function of a list; it throws a Failure at the first check that
// fails.

#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>
#include <zkrecipes.hpp>
#include <zkrecipes_testing.hpp>

using namespace std::chrono_literals;

/* Those of cpp_family.cpp. */
#define FAMILY_TESTS(X)                                      \
  X(a_shared_lock_reads_and_a_unique_lock_writes)            \
  X(threads_that_share_a_read_write_lock_exclude_each_other) \
  X(a_multi_lock_takes_all_or_none)                          \
  X(a_semaphore_gives_permits_as_values)                     \
  X(a_wait_is_told_for_whom_and_how_long)                    \
  X(a_holder_can_be_asked_and_forced)                        \
  X(every_recipe_speaks_for_what_it_holds)                   \
  X(release_in_background_asks_no_server)                    \
  X(who_never_gives_up_outlasts_an_outage)                   \
  X(permits_and_who_waits_for_them_are_listed)               \
  X(holders_of_permits_can_be_asked_and_forced)              \
  X(holders_of_several_locks_can_be_asked_and_forced)        \
  X(asking_by_force_can_be_withdrawn)                        \
  X(a_turn_passed_on_shares_its_token)

/* Those of cpp_kit.cpp. */
#define KIT_TESTS(X)                                     \
  X(a_proxy_and_an_ensemble_misbehave_too)               \
  X(a_partition_can_be_told_from_logs_and_metrics_alone) \
  X(the_testing_server_misbehaves_on_demand)

/* Those of cpp_recipes.cpp. */
#define RECIPE_TESTS(X)                            \
  X(a_transaction_tells_what_became_of_its_parts)  \
  X(a_counter_counts_for_everybody)                \
  X(what_a_function_makes_of_a_value_is_set_once)  \
  X(a_config_is_followed_for_a_scope)              \
  X(a_leadership_is_a_value)                       \
  X(a_leader_can_be_asked)                         \
  X(a_term_lasts_as_long_as_its_leadership)        \
  X(a_partition_is_held_as_long_as_its_held)       \
  X(names_groups_and_nodes_are_followed_as_values) \
  X(instances_are_values_that_can_fail)            \
  X(a_node_may_have_a_time_to_live)

/* Those of cpp_input.cpp. */
#define INPUT_TESTS(X)                   \
  X(a_function_that_is_empty_is_refused) \
  X(text_with_a_nul_is_refused)          \
  X(values_show_their_names)

/* Those of cpp_queues.cpp. */
#define QUEUE_TESTS(X)                             \
  X(items_are_put_and_taken_as_values)             \
  X(an_item_is_given_back_at_the_end_of_its_scope) \
  X(priority_and_delay_queues_have_an_order_of_their_own)

/* Those of cpp_barriers.cpp. */
#define BARRIER_TESTS(X)                        \
  X(a_barrier_stops_who_waits)                  \
  X(waits_at_barriers_and_queues_are_told)      \
  X(a_scope_enters_and_leaves_a_double_barrier) \
  X(a_scope_that_cannot_leave_says_so_in_the_log)

/* Those of cpp_commits.cpp. */
#define COMMIT_TESTS(X)              \
  X(sites_commit_together_as_values) \
  X(what_a_coordinator_leaves_is_taken_over)

/* Those of cpp_coro.cpp. */
#define CORO_TESTS(X)                \
  X(a_coroutine_may_ask_a_temporary) \
  X(what_is_given_up_before_its_answer_is_dispatched_takes_no_item)

#define DECLARE(name) void name();
FAMILY_TESTS(DECLARE)
KIT_TESTS(DECLARE)
RECIPE_TESTS(DECLARE)
INPUT_TESTS(DECLARE)
QUEUE_TESTS(DECLARE)
BARRIER_TESTS(DECLARE)
COMMIT_TESTS(DECLARE)
CORO_TESTS(DECLARE)

struct Failure {
  std::string text;
};

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      std::ostringstream text;                                                  \
      text << __FILE__ << ":" << __LINE__ << ": does not hold: " << #condition; \
      throw Failure{text.str()};                                                \
    }                                                                           \
  } while (0)

#define THROWS(statement, kind)                                                                  \
  do {                                                                                           \
    zkr_status got = ZKR_OK;                                                                     \
    try {                                                                                        \
      static_cast<void>(statement);                                                              \
    } catch (const zkr::Error &error) {                                                          \
      got = error.code();                                                                        \
    }                                                                                            \
    if (got != (kind)) {                                                                         \
      std::ostringstream text;                                                                   \
      text << __FILE__ << ":" << __LINE__ << ": " << #statement << ": " << zkr_status_name(got); \
      throw Failure{text.str()};                                                                 \
    }                                                                                            \
  } while (0)

template <typename Condition>
bool eventually(Condition condition) {
  for (int tries = 0; tries < 2000; tries++) {
    if (condition()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return condition();
}

inline zkr::testing::Server &shared_server() {
  static zkr::testing::Server server;
  return server;
}

inline std::string hosts() {
  const char *given = std::getenv("ZKR_HOSTS");
  return given && *given ? given : shared_server().connect_string();
}

inline zkr::Options named(const std::string &identity) {
  zkr::Options options;
  options.identity = identity;
  return options;
}

inline std::string root() { return "/cpp-tests-" + std::to_string(getpid()); }
inline std::string path(const std::string &name) { return root() + "/" + name; }

inline std::size_t children_of(zkr::Client &client, const std::string &path) {
  try {
    return client.nodes().children(path).size();
  } catch (const zkr::Error &error) {
    if (error.code() == zkr::ErrorKind::NoNode) return 0;
    throw;
  }
}
