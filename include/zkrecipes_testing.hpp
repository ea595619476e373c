/* SPDX-License-Identifier: Apache-2.0
 *
 * The testing kit of zkrecipes for C++17: servers for tests of code that uses zkrecipes. Header only, over
 * zkrecipes_testing.h; link what pkg-config says of zkrecipes_testing.
 */

#ifndef ZKRECIPES_TESTING_HPP
#define ZKRECIPES_TESTING_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "zkrecipes.hpp"
#include "zkrecipes_testing.h"

namespace zkr {

namespace testing {

/** What became of a request. */
struct Outcome : detail::Reported<zkr_test_outcome> {
  using Reported::Reported;
  static const Outcome Answered, Unanswered, Lost;
};
inline constexpr Outcome Outcome::Answered{ZKR_TEST_ANSWERED};
inline constexpr Outcome Outcome::Unanswered{ZKR_TEST_UNANSWERED};
inline constexpr Outcome Outcome::Lost{ZKR_TEST_LOST};

/** How a test server behaves; 0 is the server's own default. */
struct ServerOptions {
  std::uint16_t port = 0;
  Milliseconds tick{0}, min_session_timeout{0}, max_session_timeout{0};
  std::size_t data_limit = 0;
  /** Whether it takes nodes with a time to live, as a real one does with zookeeper.extendedTypesEnabled=true.
   */
  bool extended_types = false;
};

/** One request that a server or a proxy has seen. */
struct Request {
  std::string kind, path;
  std::uint64_t session_id, connection;
  std::int64_t zxid;
  std::int32_t error;
  Outcome outcome;
  std::size_t bytes_in, bytes_out;
};

}  // namespace testing

namespace detail {

inline std::string to_string(const testing::Outcome &outcome) {
  const char *const names[] = {"answered", "unanswered", "lost"};
  const unsigned number = static_cast<unsigned>(static_cast<zkr_test_outcome>(outcome));
  return number < 3U ? names[number] : "unknown";
}

/** A stream shows the name. */
template <typename Traits>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out,
                                             const testing::Outcome &outcome) {
  return out << to_string(outcome);
}

inline zkr_test_server_options convert(const testing::ServerOptions &options) {
  zkr_test_server_options c = ZKR_TEST_SERVER_OPTIONS_INIT;
  c.port = options.port;
  c.tick_ms = options.tick.count();
  c.min_session_timeout_ms = options.min_session_timeout.count();
  c.max_session_timeout_ms = options.max_session_timeout.count();
  c.data_limit = options.data_limit;
  c.extended_types = options.extended_types;
  return c;
}

inline std::vector<testing::Request> requests(zkr_test_requests *list) {
  return listed(list, zkr_test_requests_count, zkr_test_requests_get, zkr_test_requests_free,
                [](const zkr_test_request &one) {
                  return testing::Request{one.kind,
                                          one.path,
                                          one.session_id,
                                          one.connection,
                                          one.zxid,
                                          one.error,
                                          testing::Outcome(one.outcome),
                                          one.bytes_in,
                                          one.bytes_out};
                });
}

/** What can be done to a server as to a proxy. The destructor ends it. */
template <typename Verbs>
class Control {
  using CHandle = typename Verbs::CHandle;

 public:
  // --- generated from api: testing/control

  /** What to connect to. */
  std::string connect_string() const { return detail::text(Verbs::connect_string(get())); }

  std::uint16_t port() const noexcept { return Verbs::port(get()); }

  /** Breaks every connection, a proxy's on both sides; sessions go on. */
  void drop_connections() {
    detail::Outcome outcome;
    outcome.check(Verbs::drop_connections(get(), outcome.place()));
  }

  /** Answers nothing and passes nothing on until resume(). */
  void pause() {
    detail::Outcome outcome;
    outcome.check(Verbs::pause(get(), outcome.place()));
  }

  void resume() {
    detail::Outcome outcome;
    outcome.check(Verbs::resume(get(), outcome.place()));
  }

  /** Prepares a fault that strikes once; fault_fired() tells whether it has. */
  std::uint64_t inject(const std::string &text) {
    detail::Outcome outcome;
    std::uint64_t fault = 0;
    outcome.check(Verbs::inject(get(), detail::c_text("text", text), &fault, outcome.place()));
    return fault;
  }

  bool fault_fired(std::uint64_t fault) const noexcept { return Verbs::fault_fired(get(), fault); }

  void clear_faults() {
    detail::Outcome outcome;
    outcome.check(Verbs::clear_faults(get(), outcome.place()));
  }

  /**
   * How many requests of an operation a server has seen, or went through a proxy to its own, for paths
   * that match glob; "" is any path.
   */
  std::size_t count(const std::string &operation, const std::string &glob = "") const {
    return Verbs::count(get(), detail::c_text("operation", operation), detail::c_text_if_any("glob", glob));
  }

  /** The requests so far, oldest first; a proxy has them in the order of their answers. */
  std::vector<testing::Request> log() const {
    detail::Outcome outcome;
    zkr_test_requests *requests = nullptr;
    outcome.check(Verbs::log(get(), &requests, outcome.place()));
    return detail::requests(requests);
  }

  void clear_log() {
    detail::Outcome outcome;
    outcome.check(Verbs::clear_log(get(), outcome.place()));
  }

  /** How many sessions live at this moment, as far as a proxy has seen them. */
  std::size_t sessions() const noexcept { return Verbs::session_count(get()); }

  /** How many clients are connected. */
  std::size_t connections() const noexcept { return Verbs::connection_count(get()); }

  // --- end of generated

  CHandle *get() const noexcept { return handle_.get(); }

 protected:
  explicit Control(CHandle *handle) : handle_(handle) {}

 private:
  Handle<CHandle, Verbs::free> handle_;
};

// --- generated from api: tables

struct ProxyVerbs {
  using CHandle = zkr_test_proxy;
  static constexpr auto free = zkr_test_proxy_free;
  static constexpr auto connect_string = zkr_test_proxy_connect_string;
  static constexpr auto port = zkr_test_proxy_port;
  static constexpr auto drop_connections = zkr_test_proxy_drop_connections;
  static constexpr auto pause = zkr_test_proxy_pause;
  static constexpr auto resume = zkr_test_proxy_resume;
  static constexpr auto inject = zkr_test_proxy_inject;
  static constexpr auto fault_fired = zkr_test_proxy_fault_fired;
  static constexpr auto clear_faults = zkr_test_proxy_clear_faults;
  static constexpr auto count = zkr_test_proxy_count;
  static constexpr auto log = zkr_test_proxy_log;
  static constexpr auto clear_log = zkr_test_proxy_clear_log;
  static constexpr auto session_count = zkr_test_proxy_session_count;
  static constexpr auto connection_count = zkr_test_proxy_connection_count;
};

struct ServerVerbs {
  using CHandle = zkr_test_server;
  static constexpr auto free = zkr_test_server_free;
  static constexpr auto connect_string = zkr_test_server_connect_string;
  static constexpr auto port = zkr_test_server_port;
  static constexpr auto drop_connections = zkr_test_server_drop_connections;
  static constexpr auto pause = zkr_test_server_pause;
  static constexpr auto resume = zkr_test_server_resume;
  static constexpr auto inject = zkr_test_server_inject;
  static constexpr auto fault_fired = zkr_test_server_fault_fired;
  static constexpr auto clear_faults = zkr_test_server_clear_faults;
  static constexpr auto count = zkr_test_server_count;
  static constexpr auto log = zkr_test_server_log;
  static constexpr auto clear_log = zkr_test_server_clear_log;
  static constexpr auto session_count = zkr_test_server_session_count;
  static constexpr auto connection_count = zkr_test_server_connection_count;
};

// --- end of generated

}  // namespace detail

namespace testing {

/** A ZooKeeper server inside this process, for tests of code that uses zkrecipes. The destructor ends it. */
class Server : public detail::Control<detail::ServerVerbs> {
 public:
  explicit Server(const ServerOptions &options = ServerOptions()) : Control(start(options)) {}

  // --- generated from api: testing/server

  /** Stops serving; data and sessions are kept for restart(). */
  void stop() {
    detail::Outcome outcome;
    outcome.check(zkr_test_server_stop(get(), outcome.place()));
  }

  void restart() {
    detail::Outcome outcome;
    outcome.check(zkr_test_server_restart(get(), outcome.place()));
  }

  /** Ends a session, as its expiry does. */
  void expire(std::uint64_t session_id) {
    detail::Outcome outcome;
    outcome.check(zkr_test_server_expire(get(), session_id, outcome.place()));
  }

  void freeze_clock() {
    detail::Outcome outcome;
    outcome.check(zkr_test_server_freeze_clock(get(), outcome.place()));
  }

  void advance_clock(Milliseconds ms) {
    detail::Outcome outcome;
    outcome.check(zkr_test_server_advance_clock(get(), ms.count(), outcome.place()));
  }

  void thaw_clock() {
    detail::Outcome outcome;
    outcome.check(zkr_test_server_thaw_clock(get(), outcome.place()));
  }

  /** Sets the number that the next sequential child of a node gets. */
  void set_next_sequence(const std::string &path, std::int32_t next) {
    detail::Outcome outcome;
    outcome.check(
        zkr_test_server_set_next_sequence(get(), detail::c_text("path", path), next, outcome.place()));
  }

  /** How many watches are set. */
  std::size_t watch_count() const noexcept { return zkr_test_server_watch_count(get()); }

  /** The paths of all nodes. */
  std::vector<std::string> nodes() const {
    detail::Outcome outcome;
    zkr_strings *paths = nullptr;
    outcome.check(zkr_test_server_nodes(get(), &paths, outcome.place()));
    return detail::strings(paths);
  }

  // --- end of generated

 private:
  friend class Ensemble;
  explicit Server(zkr_test_server *part) : Control(part) {}

  static zkr_test_server *start(const ServerOptions &options) {
    const zkr_test_server_options c = detail::convert(options);
    detail::Outcome outcome;
    zkr_test_server *server = nullptr;
    outcome.check(zkr_test_server_start(&c, &server, outcome.place()));
    return server;
  }
};

/** Brings the faults of a Server between clients and a real server, "host:port". The destructor ends it. */
class Proxy : public detail::Control<detail::ProxyVerbs> {
 public:
  explicit Proxy(const std::string &upstream) : Control(start(upstream)) {}

  // --- generated from api: testing/proxy

  /** Ends a session at the server, for real. */
  void expire(std::uint64_t session_id) {
    detail::Outcome outcome;
    outcome.check(zkr_test_proxy_expire(get(), session_id, outcome.place()));
  }

  // --- end of generated

 private:
  static zkr_test_proxy *start(const std::string &upstream) {
    detail::Outcome outcome;
    zkr_test_proxy *proxy = nullptr;
    outcome.check(zkr_test_proxy_start(detail::c_text("upstream", upstream), &proxy, outcome.place()));
    return proxy;
  }
};

/** Several servers that are one ensemble, whose followers can lag and be cut off. Member 0 leads. */
class Ensemble {
 public:
  explicit Ensemble(std::size_t members, const ServerOptions &options = {})
      : handle_(start(members, options)), server_(zkr_test_ensemble_server(get())) {}

  /** All members at once. It goes with this object. */
  Server &server() noexcept { return server_; }

  std::size_t size() const noexcept { return zkr_test_ensemble_size(get()); }

  /** What clients of one member connect to; "" past the end. */
  std::string member(std::size_t member) const {
    const char *at = zkr_test_ensemble_member(get(), member);
    return at ? at : "";
  }

  /** How late a follower learns of transactions. */
  void lag(std::size_t follower, Milliseconds by) {
    detail::Outcome outcome;
    outcome.check(zkr_test_ensemble_lag(get(), follower, by.count(), outcome.place()));
  }

  /** Keeps everything from a follower until release(). */
  void hold(std::size_t follower) { act(zkr_test_ensemble_hold, follower); }
  void release(std::size_t follower) { act(zkr_test_ensemble_release, follower); }
  /** Cuts a follower off from the leader until heal(). */
  void isolate(std::size_t follower) { act(zkr_test_ensemble_isolate, follower); }
  void heal(std::size_t follower) { act(zkr_test_ensemble_heal, follower); }

  /** How many transactions a member is behind the leader. */
  std::int64_t behind(std::size_t member) const noexcept { return zkr_test_ensemble_behind(get(), member); }

  zkr_test_ensemble *get() const noexcept { return handle_.get(); }

 private:
  static zkr_test_ensemble *start(std::size_t members, const ServerOptions &options) {
    const zkr_test_server_options c = detail::convert(options);
    detail::Outcome outcome;
    zkr_test_ensemble *ensemble = nullptr;
    outcome.check(zkr_test_ensemble_start(members, &c, &ensemble, outcome.place()));
    return ensemble;
  }

  void act(zkr_status (*verb)(zkr_test_ensemble *, std::size_t, zkr_error **), std::size_t follower) {
    detail::Outcome outcome;
    outcome.check(verb(get(), follower, outcome.place()));
  }

  detail::Handle<zkr_test_ensemble, zkr_test_ensemble_free> handle_;
  Server server_;
};

}  // namespace testing

}  // namespace zkr

#endif  // ZKRECIPES_TESTING_HPP
