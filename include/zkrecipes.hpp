/* SPDX-License-Identifier: Apache-2.0
 *
 * zkrecipes for C++17: the C interface with destructors, exceptions and std::chrono. Header only. For C++20
 * there is std::stop_token besides, and co_await in zkrecipes_coro.hpp.
 *
 *   zkr::Client client("zk1:2181");
 *   auto lock = client.lock("/locks/report");
 *   {
 *     std::lock_guard<zkr::Lock> guard(lock);      // waits; released on leaving the scope
 *     publish(lock.fencing_token());
 *   }
 *   if (auto held = lock.try_acquire()) { ... }    // an acquisition as a value
 *
 * Everything throws zkr::Error, except destructors and unlock(). Objects may be used from any thread;
 * callbacks run one at a time on the library's delivery threads, or inside Client::dispatch once event_fd()
 * was asked for.
 */

#ifndef ZKRECIPES_HPP
#define ZKRECIPES_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_jthread
#include <stop_token>
#endif

#include "zkrecipes.h"

namespace zkr {

class Lock;
class ReadWriteLock;

namespace detail {

/** A constant of C under names of its own. Each becomes the other where it is asked for, so both may be
 * mixed. */
template <typename C>
class Choice {
 public:
  constexpr Choice(C value = C{}) noexcept : value_(value) {}
  constexpr operator C() const noexcept { return value_; }

 private:
  C value_;
};

/** The same for what the library tells and nobody gives it: it becomes the constant of C, and not the other
 * way round, so that `c ? client.state() : ZKR_STATE_CLOSED` has a type. */
template <typename C>
class Reported {
 public:
  constexpr Reported() noexcept : value_{} {}
  constexpr explicit Reported(C value) noexcept : value_(value) {}
  constexpr operator C() const noexcept { return value_; }

 private:
  C value_;
};

}  // namespace detail

// --- generated from api: enums
/** What a client's session is doing. */
struct State : detail::Reported<zkr_state> {
  using Reported::Reported;
  static const State Connected, Suspended, Lost, Closed;
};
inline constexpr State State::Connected{ZKR_STATE_CONNECTED};
inline constexpr State State::Suspended{ZKR_STATE_SUSPENDED};
inline constexpr State State::Lost{ZKR_STATE_LOST};
inline constexpr State State::Closed{ZKR_STATE_CLOSED};

/** Why something is gone. */
struct LostReason : detail::Reported<zkr_reason> {
  using Reported::Reported;
  static const LostReason None, Session, Revoked, Deleted, Closed;
};
inline constexpr LostReason LostReason::None{ZKR_REASON_NONE};
inline constexpr LostReason LostReason::Session{ZKR_REASON_SESSION};
inline constexpr LostReason LostReason::Revoked{ZKR_REASON_REVOKED};
inline constexpr LostReason LostReason::Deleted{ZKR_REASON_DELETED};
inline constexpr LostReason LostReason::Closed{ZKR_REASON_CLOSED};

/** What kind of node is created. */
struct CreateMode : detail::Choice<zkr_create_mode> {
  using Choice::Choice;
  static const CreateMode Persistent, Ephemeral, PersistentSequential, EphemeralSequential, Container;
};
inline constexpr CreateMode CreateMode::Persistent{ZKR_PERSISTENT};
inline constexpr CreateMode CreateMode::Ephemeral{ZKR_EPHEMERAL};
inline constexpr CreateMode CreateMode::PersistentSequential{ZKR_PERSISTENT_SEQUENTIAL};
inline constexpr CreateMode CreateMode::EphemeralSequential{ZKR_EPHEMERAL_SEQUENTIAL};
inline constexpr CreateMode CreateMode::Container{ZKR_CONTAINER};

/** What of a node is followed. */
struct WatchKind : detail::Choice<zkr_watch_kind> {
  using Choice::Choice;
  static const WatchKind Data, Children, Subtree;
};
inline constexpr WatchKind WatchKind::Data{ZKR_WATCH_KIND_DATA};
inline constexpr WatchKind WatchKind::Children{ZKR_WATCH_KIND_CHILDREN};
inline constexpr WatchKind WatchKind::Subtree{ZKR_WATCH_KIND_SUBTREE};

/** What one write of a transaction did. */
struct PartKind : detail::Reported<zkr_part> {
  using Reported::Reported;
  static const PartKind Created, Set, Deleted, Checked;
};
inline constexpr PartKind PartKind::Created{ZKR_PART_CREATED};
inline constexpr PartKind PartKind::Set{ZKR_PART_SET};
inline constexpr PartKind PartKind::Deleted{ZKR_PART_DELETED};
inline constexpr PartKind PartKind::Checked{ZKR_PART_CHECKED};

/** What happened in a group. */
struct GroupEventKind : detail::Reported<zkr_group_event_kind> {
  using Reported::Reported;
  static const GroupEventKind Snapshot, Joined, Left, Changed;
};
inline constexpr GroupEventKind GroupEventKind::Snapshot{ZKR_GROUP_EVENT_SNAPSHOT};
inline constexpr GroupEventKind GroupEventKind::Joined{ZKR_GROUP_EVENT_JOINED};
inline constexpr GroupEventKind GroupEventKind::Left{ZKR_GROUP_EVENT_LEFT};
inline constexpr GroupEventKind GroupEventKind::Changed{ZKR_GROUP_EVENT_CHANGED};

/** Who decides a two-phase commit before its deadline. */
struct CommitMode : detail::Choice<zkr_commit_mode> {
  using Choice::Choice;
  static const CommitMode Coordinator, Peer;
};
inline constexpr CommitMode CommitMode::Coordinator{ZKR_COMMIT_MODE_COORDINATOR};
inline constexpr CommitMode CommitMode::Peer{ZKR_COMMIT_MODE_PEER};

/** What came of a two-phase commit. */
struct Decision : detail::Reported<zkr_outcome> {
  using Reported::Reported;
  static const Decision None, Commit, Abort;
};
inline constexpr Decision Decision::None{ZKR_OUTCOME_NONE};
inline constexpr Decision Decision::Commit{ZKR_OUTCOME_COMMIT};
inline constexpr Decision Decision::Abort{ZKR_OUTCOME_ABORT};

/** Whether the coordinator of a transaction is there. */
struct CoordinatorState : detail::Reported<zkr_coordinator_state> {
  using Reported::Reported;
  static const CoordinatorState Present, Absent, Done;
};
inline constexpr CoordinatorState CoordinatorState::Present{ZKR_COORDINATOR_STATE_PRESENT};
inline constexpr CoordinatorState CoordinatorState::Absent{ZKR_COORDINATOR_STATE_ABSENT};
inline constexpr CoordinatorState CoordinatorState::Done{ZKR_COORDINATOR_STATE_DONE};

/** Who may use the nodes that are made. */
struct AclChoice : detail::Choice<zkr_acl> {
  using Choice::Choice;
  static const AclChoice Default, Open, Creator, List;
};
inline constexpr AclChoice AclChoice::Default{ZKR_ACL_DEFAULT};
inline constexpr AclChoice AclChoice::Open{ZKR_ACL_OPEN};
inline constexpr AclChoice AclChoice::Creator{ZKR_ACL_CREATOR};
inline constexpr AclChoice AclChoice::List{ZKR_ACL_LIST};

/** Whose node names are used. */
struct Naming : detail::Choice<zkr_naming> {
  using Choice::Choice;
  static const Naming Curator, Kazoo, Zookeeper;
};
inline constexpr Naming Naming::Curator{ZKR_NAMING_CURATOR};
inline constexpr Naming Naming::Kazoo{ZKR_NAMING_KAZOO};
inline constexpr Naming Naming::Zookeeper{ZKR_NAMING_ZOOKEEPER};

/** What the heartbeat of a holder proves. */
struct LeaseMode : detail::Choice<zkr_lease> {
  using Choice::Choice;
  static const LeaseMode Strict, Relaxed;
};
inline constexpr LeaseMode LeaseMode::Strict{ZKR_LEASE_STRICT};
inline constexpr LeaseMode LeaseMode::Relaxed{ZKR_LEASE_RELAXED};

/** How much what the library says of itself matters; as a limit, each includes those before it. */
struct LogLevel : detail::Choice<zkr_log_level> {
  using Choice::Choice;
  static const LogLevel Off, Error, Warn, Info, Debug, Trace;
};
inline constexpr LogLevel LogLevel::Off{ZKR_LOG_OFF};
inline constexpr LogLevel LogLevel::Error{ZKR_LOG_ERROR};
inline constexpr LogLevel LogLevel::Warn{ZKR_LOG_WARN};
inline constexpr LogLevel LogLevel::Info{ZKR_LOG_INFO};
inline constexpr LogLevel LogLevel::Debug{ZKR_LOG_DEBUG};
inline constexpr LogLevel LogLevel::Trace{ZKR_LOG_TRACE};

/** How long the registration of a service lasts. */
struct ServiceType : detail::Choice<zkr_service_type> {
  using Choice::Choice;
  static const ServiceType Dynamic, Static, Permanent, DynamicSequential;
};
inline constexpr ServiceType ServiceType::Dynamic{ZKR_SERVICE_TYPE_DYNAMIC};
inline constexpr ServiceType ServiceType::Static{ZKR_SERVICE_TYPE_STATIC};
inline constexpr ServiceType ServiceType::Permanent{ZKR_SERVICE_TYPE_PERMANENT};
inline constexpr ServiceType ServiceType::DynamicSequential{ZKR_SERVICE_TYPE_DYNAMIC_SEQUENTIAL};

/** Which of the instances of a service is picked. */
struct PickBy : detail::Choice<zkr_pick_by> {
  using Choice::Choice;
  static const PickBy RoundRobin, Random, Sticky;
};
inline constexpr PickBy PickBy::RoundRobin{ZKR_PICK_BY_ROUND_ROBIN};
inline constexpr PickBy PickBy::Random{ZKR_PICK_BY_RANDOM};
inline constexpr PickBy PickBy::Sticky{ZKR_PICK_BY_STICKY};

/** Which of Curator's counters takes part. */
struct CounterLayout : detail::Choice<zkr_counter_layout> {
  using Choice::Choice;
  static const CounterLayout Atomic, Shared;
};
inline constexpr CounterLayout CounterLayout::Atomic{ZKR_COUNTER_LAYOUT_ATOMIC};
inline constexpr CounterLayout CounterLayout::Shared{ZKR_COUNTER_LAYOUT_SHARED};

/** Which of its peers an election takes part with. */
struct ElectionLayout : detail::Choice<zkr_election_layout> {
  using Choice::Choice;
  static const ElectionLayout Latch, Selector;
};
inline constexpr ElectionLayout ElectionLayout::Latch{ZKR_ELECTION_LAYOUT_LATCH};
inline constexpr ElectionLayout ElectionLayout::Selector{ZKR_ELECTION_LAYOUT_SELECTOR};

/** Where the members of a group are. */
struct GroupLayout : detail::Choice<zkr_group_layout> {
  using Choice::Choice;
  static const GroupLayout Default, Member, Party, ShallowParty;
};
inline constexpr GroupLayout GroupLayout::Default{ZKR_GROUP_LAYOUT_DEFAULT};
inline constexpr GroupLayout GroupLayout::Member{ZKR_GROUP_LAYOUT_MEMBER};
inline constexpr GroupLayout GroupLayout::Party{ZKR_GROUP_LAYOUT_PARTY};
inline constexpr GroupLayout GroupLayout::ShallowParty{ZKR_GROUP_LAYOUT_SHALLOW_PARTY};

/** Which of its peers a queue takes part with. */
struct QueueLayout : detail::Choice<zkr_queue_layout> {
  using Choice::Choice;
  static const QueueLayout Simple, Distributed, Locking;
};
inline constexpr QueueLayout QueueLayout::Simple{ZKR_QUEUE_LAYOUT_SIMPLE};
inline constexpr QueueLayout QueueLayout::Distributed{ZKR_QUEUE_LAYOUT_DISTRIBUTED};
inline constexpr QueueLayout QueueLayout::Locking{ZKR_QUEUE_LAYOUT_LOCKING};
// --- end of generated

// --- generated from api: kinds of errors
/** What Error::code() can be. The names are those of every other language. */
struct ErrorKind : detail::Reported<zkr_status> {
  using Reported::Reported;
  static const ErrorKind Timeout, Cancelled, ConnectionLost, Lost, NotHeld, Denied, Invalid, TooLarge, Exists,
      NoNode, BadVersion, NotEmpty, Mismatch, Closed, Deadlock, Forked, Internal;
};
inline constexpr ErrorKind ErrorKind::Timeout{ZKR_TIMEOUT};
inline constexpr ErrorKind ErrorKind::Cancelled{ZKR_CANCELLED};
inline constexpr ErrorKind ErrorKind::ConnectionLost{ZKR_CONNECTION_LOST};
inline constexpr ErrorKind ErrorKind::Lost{ZKR_LOST};
inline constexpr ErrorKind ErrorKind::NotHeld{ZKR_NOT_HELD};
inline constexpr ErrorKind ErrorKind::Denied{ZKR_DENIED};
inline constexpr ErrorKind ErrorKind::Invalid{ZKR_INVALID};
inline constexpr ErrorKind ErrorKind::TooLarge{ZKR_TOO_LARGE};
inline constexpr ErrorKind ErrorKind::Exists{ZKR_EXISTS};
inline constexpr ErrorKind ErrorKind::NoNode{ZKR_NO_NODE};
inline constexpr ErrorKind ErrorKind::BadVersion{ZKR_BAD_VERSION};
inline constexpr ErrorKind ErrorKind::NotEmpty{ZKR_NOT_EMPTY};
inline constexpr ErrorKind ErrorKind::Mismatch{ZKR_MISMATCH};
inline constexpr ErrorKind ErrorKind::Closed{ZKR_CLOSED};
inline constexpr ErrorKind ErrorKind::Deadlock{ZKR_DEADLOCK};
inline constexpr ErrorKind ErrorKind::Forked{ZKR_FORKED};
inline constexpr ErrorKind ErrorKind::Internal{ZKR_INTERNAL};
// --- end of generated

namespace detail {

/** What each of them is called, in words such as "suspended"; of an error its code, such as
 * "TIMEOUT". */
inline const char *name_of(zkr_status kind) noexcept { return zkr_status_name(kind); }
inline const char *name_of(zkr_state state) noexcept { return zkr_state_name(state); }
inline const char *name_of(zkr_reason reason) noexcept { return zkr_reason_name(reason); }
inline const char *name_of(zkr_log_level level) noexcept { return zkr_log_level_name(level); }
inline const char *name_of(zkr_commit_mode mode) noexcept { return zkr_commit_mode_name(mode); }
inline const char *name_of(zkr_service_type type) noexcept { return zkr_service_type_name(type); }
inline const char *name_of(zkr_outcome outcome) noexcept { return zkr_outcome_name(outcome); }
inline const char *name_of(zkr_coordinator_state state) noexcept { return zkr_coordinator_state_name(state); }

inline const char *name_of(zkr_part part) noexcept {
  const char *const names[] = {"created", "set", "deleted", "checked"};
  const unsigned number = static_cast<unsigned>(part);
  return number < 4U ? names[number] : "unknown";
}

inline const char *name_of(zkr_group_event_kind kind) noexcept {
  const char *const names[] = {"snapshot", "joined", "left", "changed"};
  const unsigned number = static_cast<unsigned>(kind);
  return number < 4U ? names[number] : "unknown";
}

template <typename C>
std::string to_string(const Choice<C> &value) {
  return name_of(static_cast<C>(value));
}

template <typename C>
std::string to_string(const Reported<C> &value) {
  return name_of(static_cast<C>(value));
}

/** A stream shows the name. */
template <typename C, typename Traits, typename = decltype(name_of(C{}))>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, const Choice<C> &value) {
  return out << name_of(static_cast<C>(value));
}

template <typename C, typename Traits, typename = decltype(name_of(C{}))>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out,
                                             const Reported<C> &value) {
  return out << name_of(static_cast<C>(value));
}

}  // namespace detail

/** The name of a value, such as "TIMEOUT" of an ErrorKind, or "suspended" of a State. */
using detail::to_string;

namespace detail {

/** What a zkr_error says, with the options and arguments of C under the names that they have here. */
inline std::string message_of(zkr_status code, const zkr_error *error) {
  std::string message = error ? zkr_error_message(error) : zkr_status_name(code);
  const std::pair<const char *, const char *> names[] = {
      // --- generated from api: names in C
      {"connect_timeout_ms", "connect_timeout"},
      {"delay_ms", "delay"},
      {"drain_ms", "drain"},
      {"force_after_ms", "force_after"},
      {"key_window_ms", "key_window"},
      {"older_than_ms", "older_than"},
      {"retry_base_ms", "retry.base"},
      {"retry_give_up_after_ms", "retry.give_up_after"},
      {"retry_max_ms", "retry.max"},
      {"sasl_password", "sasl.password"},
      {"sasl_user", "sasl.user"},
      {"server_tick_ms", "server_tick"},
      {"session_timeout_ms", "session_timeout"},
      {"timeout_ms", "timeout"},
      {"tls_allow_expired_crls", "tls.allow_expired_crls"},
      {"tls_ca", "tls.ca"},
      {"tls_cert", "tls.cert"},
      {"tls_key", "tls.key"},
      {"tls_verify_hostname", "tls.verify_hostname"},
      {"ttl_ms", "ttl"},
      // --- end of generated
  };
  // A part of a longer name, or of a path, is none.
  const auto goes_on = [&message](std::size_t at) {
    const char c = at < message.size() ? message[at] : ' ';
    return c == '_' || c == '-' || c == '/' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  };
  for (const auto &[in_c, here] : names) {
    const std::string name = in_c, ours = here;
    for (auto at = message.find(name); at != std::string::npos; at = message.find(name, at + 1))
      if (!(at > 0 && goes_on(at - 1)) && !goes_on(at + name.size())) message.replace(at, name.size(), ours);
  }
  return message;
}

}  // namespace detail

/**
 * What went wrong: what() says what happened and what to do. What is thrown, and what callbacks get, is of
 * the class of its kind, such as zkr::Timeout or zkr::Lost, and can be caught as that.
 */
class Error : public std::runtime_error {
 public:
  Error(zkr_status code, const std::string &message) : std::runtime_error(message), code_(code) {}

  /** Takes over what a zkr_error says; the zkr_error stays the caller's. */
  Error(zkr_status code, const zkr_error *error)
      : std::runtime_error(detail::message_of(code, error)),
        code_(code),
        reason_(zkr_error_reason(error)),
        retryable_(zkr_error_retryable(error)),
        path_(zkr_error_path(error) ? zkr_error_path(error) : "") {
    if (const std::int64_t put = zkr_error_put(error); put >= 0) put_ = static_cast<std::size_t>(put);
  }

  /** One of ErrorKind. It becomes the zkr_status of C where one is asked for. */
  ErrorKind code() const noexcept { return ErrorKind(code_); }
  /** The path concerned; empty when there is none. */
  const std::string &path() const noexcept { return path_; }
  /** Whether the same call may succeed when it is made again. */
  bool retryable() const noexcept { return retryable_; }
  /** Why it is gone, for ErrorKind::Lost. */
  LostReason reason() const noexcept { return reason_; }
  /**
   * How many items went into the queue before this happened, from the first on, where several were put. After
   * ConnectionLost and Closed it may be more.
   */
  std::optional<std::size_t> put() const noexcept { return put_; }

 private:
  zkr_status code_;
  LostReason reason_ = LostReason::None;
  bool retryable_ = false;
  std::string path_;
  std::optional<std::size_t> put_;
};

namespace detail {

/** An Error of one kind, which can be caught by itself. */
template <zkr_status Code>
class ErrorOf : public Error {
 public:
  explicit ErrorOf(const std::string &message) : Error(Code, message) {}
  explicit ErrorOf(const zkr_error *error) : Error(Code, error) {}
};

}  // namespace detail

// --- generated from api: exceptions
/** The time given ran out. Nothing of ours is left waiting in ZooKeeper. */
class Timeout : public detail::ErrorOf<ZKR_TIMEOUT> {
  using ErrorOf::ErrorOf;
};

/** The caller withdrew. */
class Cancelled : public detail::ErrorOf<ZKR_CANCELLED> {
  using ErrorOf::ErrorOf;
};

/** No server answered within the retry budget. The outcome of a write is unknown. */
class ConnectionLost : public detail::ErrorOf<ZKR_CONNECTION_LOST> {
  using ErrorOf::ErrorOf;
};

/** What was held is gone; reason() says why. Stop the work that it protected. */
class Lost : public detail::ErrorOf<ZKR_LOST> {
  using ErrorOf::ErrorOf;
};

/** Release, verify or a guarded write without holding. */
class NotHeld : public detail::ErrorOf<ZKR_NOT_HELD> {
  using ErrorOf::ErrorOf;
};

/** Refused by an ACL, by authentication, TLS or SASL. */
class Denied : public detail::ErrorOf<ZKR_DENIED> {
  using ErrorOf::ErrorOf;
};

/** An argument that cannot be used; what() names it. */
class Invalid : public detail::ErrorOf<ZKR_INVALID> {
  using ErrorOf::ErrorOf;
};

/** The request would pass the server's packet limit; it was refused before anything was sent. */
class TooLarge : public detail::ErrorOf<ZKR_TOO_LARGE> {
  using ErrorOf::ErrorOf;
};

/** A node of that path exists already. */
class Exists : public detail::ErrorOf<ZKR_EXISTS> {
  using ErrorOf::ErrorOf;
};

/** There is no node at that path. */
class NoNode : public detail::ErrorOf<ZKR_NO_NODE> {
  using ErrorOf::ErrorOf;
};

/** The node has another version than the one named. */
class BadVersion : public detail::ErrorOf<ZKR_BAD_VERSION> {
  using ErrorOf::ErrorOf;
};

/** The node has children. */
class NotEmpty : public detail::ErrorOf<ZKR_NOT_EMPTY> {
  using ErrorOf::ErrorOf;
};

/** Those who use the path disagree: about a number, the partitions or the layout. */
class Mismatch : public detail::ErrorOf<ZKR_MISMATCH> {
  using ErrorOf::ErrorOf;
};

/** The client was closed. */
class Closed : public detail::ErrorOf<ZKR_CLOSED> {
  using ErrorOf::ErrorOf;
};

/** A blocking verb inside a callback. Await it there, with zkr::coro, or use a thread. */
class Deadlock : public detail::ErrorOf<ZKR_DEADLOCK> {
  using ErrorOf::ErrorOf;
};

/** A handle of the parent, used in a child process after fork(). */
class Forked : public detail::ErrorOf<ZKR_FORKED> {
  using ErrorOf::ErrorOf;
};

/** A bug of zkrecipes; please report it with the message. */
class Internal : public detail::ErrorOf<ZKR_INTERNAL> {
  using ErrorOf::ErrorOf;
};
// --- end of generated

namespace detail {

/** Hands over what was said, as an error of the class of its kind. */
template <typename Said, typename Take>
void hand_over(zkr_status code, const Said &said, Take &&take) {
  switch (code) {
      // --- generated from api: cases of errors
    case ZKR_TIMEOUT:
      return take(Timeout(said));
    case ZKR_CANCELLED:
      return take(Cancelled(said));
    case ZKR_CONNECTION_LOST:
      return take(ConnectionLost(said));
    case ZKR_LOST:
      return take(Lost(said));
    case ZKR_NOT_HELD:
      return take(NotHeld(said));
    case ZKR_DENIED:
      return take(Denied(said));
    case ZKR_INVALID:
      return take(Invalid(said));
    case ZKR_TOO_LARGE:
      return take(TooLarge(said));
    case ZKR_EXISTS:
      return take(Exists(said));
    case ZKR_NO_NODE:
      return take(NoNode(said));
    case ZKR_BAD_VERSION:
      return take(BadVersion(said));
    case ZKR_NOT_EMPTY:
      return take(NotEmpty(said));
    case ZKR_MISMATCH:
      return take(Mismatch(said));
    case ZKR_CLOSED:
      return take(Closed(said));
    case ZKR_DEADLOCK:
      return take(Deadlock(said));
    case ZKR_FORKED:
      return take(Forked(said));
    case ZKR_INTERNAL:
      return take(Internal(said));
    // --- end of generated
    default:
      return take(Error(code, said));
  }
}

/** Throws the class of its kind. */
template <typename Said>
[[noreturn]] void raise(zkr_status code, const Said &said) {
  hand_over(code, said, [](const auto &error) { throw error; });
  std::terminate();  // never: the compiler cannot see that it has thrown
}

}  // namespace detail

using Milliseconds = std::chrono::milliseconds;
using Stat = zkr_stat;
using QueueStats = zkr_queue_counts;

/** A timeout that never runs out. A negative one does not wait, as everywhere in C++: it is time that has
 * passed. */
inline constexpr Milliseconds forever = Milliseconds::max();

namespace detail {

/** The zkr_error of one call, and the exception that it becomes. */
class Outcome {
 public:
  Outcome() = default;
  Outcome(const Outcome &) = delete;
  Outcome &operator=(const Outcome &) = delete;
  ~Outcome() { zkr_error_free(error_); }

  zkr_error **place() noexcept { return &error_; }

  void check(zkr_status status) const {
    if (status != ZKR_OK) raise(status, error_);
  }

  const char *message() const noexcept { return zkr_error_message(error_); }

 private:
  zkr_error *error_ = nullptr;
};

template <typename T, void (*Free)(T *)>
struct Freed {
  void operator()(T *handle) const noexcept { Free(handle); }
};

template <typename T, void (*Free)(T *)>
using Handle = std::unique_ptr<T, Freed<T, Free>>;

/** Milliseconds for C, rounded up so that no wait is shorter than asked for. What is past is one attempt. */
template <typename Rep, typename Period>
std::int64_t wait_ms(const std::chrono::duration<Rep, Period> &duration) {
  using Wide = std::chrono::duration<double, std::milli>;
  const double ms = Wide(duration).count();
  if (ms != ms) throw Invalid("timeout: is not a number; give a duration");
  if (ms <= 0) return 0;
  if (ms >= 9e15) return -1;
  const auto whole = static_cast<std::int64_t>(ms);
  return static_cast<double>(whole) < ms ? whole + 1 : whole;
}

/** The same until a time. Counted in floating point, in which no time is too far away. */
template <typename Clock, typename Duration>
std::int64_t wait_ms_until(const std::chrono::time_point<Clock, Duration> &deadline) {
  using Wide = std::chrono::duration<double, std::milli>;
  return wait_ms(Wide(deadline.time_since_epoch()) - Wide(Clock::now().time_since_epoch()));
}

/** The same for an option of which a negative says in C that it is not given. */
inline std::int64_t limit_ms(Milliseconds limit) {
  const std::int64_t ms = wait_ms(limit);
  return ms < 0 ? (std::numeric_limits<std::int64_t>::max)() : ms;
}

/** A pause, which a negative leaves out in C. */
inline std::int64_t pause_ms(const char *argument, const std::optional<Milliseconds> &pause) {
  if (!pause) return -1;
  if (pause->count() < 0)
    throw Invalid(std::string(argument) + ": is negative; leave it out for the default");
  return pause->count();
}

/** Something for the time of a call, also what was made for it. */
template <typename T>
struct Lent {
  Lent(const T &lent) : it(lent) {}
  const T &it;
};

inline std::string text(const char *text) { return text ? text : ""; }

/** Text for C, which would take a NUL for its end. */
inline const char *c_text(const char *argument, const std::string &text) {
  const std::size_t at = text.find('\0');
  if (at == std::string::npos) return text.c_str();
  throw Invalid(std::string(argument) + ": has a NUL at byte " + std::to_string(at) +
                ", where C ends a text; leave it out");
}

/** The same, with NULL for what is empty and so left out. */
inline const char *c_text_if_any(const char *argument, const std::string &text) {
  return text.empty() ? nullptr : c_text(argument, text);
}

struct Calls;
struct Inside;

/** Where nobody is there to throw to: to whoever listens to the log. */
inline void log(const char *event, const char *problem) noexcept { zkr_log(ZKR_LOG_ERROR, event, problem); }

/** Runs a user's callback: an exception in it is reported and stops nothing, as it may not unwind into C. */
template <typename Body>
void contain(Body &&body) noexcept {
  try {
    body();
  } catch (const std::exception &thrown) {
    log("callback_threw", thrown.what());
  } catch (...) {
    log("callback_threw", "not a std::exception");
  }
}

}  // namespace detail

/** Somebody who holds or waits. */
struct Contender {
  /** Its node: the path below that of the recipe, or the whole path for a MultiLock; fit for revoke(). */
  std::string node;
  /** Who it says it is: Options::identity of its client. */
  std::string identity;
  /** What it wants: "lock", "read", "write" or "lease", which is a permit of a Semaphore. */
  std::string kind;
  std::uint64_t session_id;
  /** Since when it contends, by the server's clock. */
  std::chrono::system_clock::time_point since;
  bool holds;
};

/** How a wait stands that goes on. */
struct WaitProgress {
  /** What is waited for. */
  std::string path;
  Milliseconds waited;
  /** How many are waited for: in a line those ahead, when it was looked last; at a double barrier those who
   * have yet to come, or to leave. Nothing if nobody counts them: it waits for its own handle, for permits,
   * for an item. */
  std::optional<std::size_t> ahead;
  /** Who holds, or one of them; of a barrier, who has put it up. Nothing if that is not known at the moment.
   */
  std::optional<Contender> holder;
};

/**
 * A callback in place: it stays there as long as this lives. Once this is gone the callback is not running
 * any more; inside a callback, any callback, letting this go does not wait, and what runs on another thread
 * ends by itself.
 */
class [[nodiscard]] Subscription {
 public:
  Subscription() = default;
  Subscription(Subscription &&other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), drop_(other.drop_) {}
  Subscription &operator=(Subscription &&other) noexcept {
    if (this != &other) {
      unsubscribe();
      handle_ = std::exchange(other.handle_, nullptr);
      drop_ = other.drop_;
    }
    return *this;
  }
  ~Subscription() { unsubscribe(); }

  /** Ends it now. */
  void unsubscribe() noexcept { zkr_subscription_free_with(std::exchange(handle_, nullptr), drop_); }

 private:
  friend struct detail::Calls;

  zkr_subscription *handle_ = nullptr;
  zkr_free_callback drop_ = nullptr;
};

/** One thing that the library says of itself. */
struct LogRecord {
  LogLevel level;
  /** A word of the table in docs/observability.md. */
  std::string event;
  std::string message;
  std::map<std::string, std::string> fields;
};

/** A value and how often it has been changed. */
struct Versioned {
  std::string value;
  /** 0 when the value was created, one more with every change of it. */
  std::int32_t version;
};

/** Who leads an election. */
struct Leader {
  /** Who it says it is: Options::identity of its client. */
  std::string identity;
  /** What it says: as a candidate, or, once it has begun its work, when it said so. */
  std::string data;
  /** Rises from one leader to the next. */
  std::uint64_t epoch;
  /** Whether it has begun its work: Leadership::acknowledge. */
  bool acknowledged;
};

/** An event of a Group. */
struct GroupEvent {
  /** What happened. */
  GroupEventKind kind;
  /** All members and what they say of themselves, for a snapshot. */
  std::map<std::string, std::string> members;
  /** Who joined, left or changed, and what they say of themselves now. */
  std::string name, data;
};

/** How what Nodes::watch follows stands. A missing node is a state, too. */
struct NodeState {
  /** What is followed. */
  WatchKind kind;
  /** For WatchKind::Data; nothing while there is no such node. */
  std::optional<std::pair<std::string, Stat>> data;
  /** The names of the children, for WatchKind::Children; nothing while there is no such node. */
  std::optional<std::vector<std::string>> children;
  /** By path, the node and all that is below it, for WatchKind::Subtree. */
  std::map<std::string, std::pair<std::string, Stat>> subtree;
};

/** A service to register: Discovery::register. */
struct Service {
  /** Of which service it is an instance. */
  std::string name;
  /** Where it is: a host name or an address. */
  std::string address;
  /** Its port, if it has one. */
  std::optional<std::uint16_t> port = std::nullopt;
  /** Its port for TLS, if it has one. */
  std::optional<std::uint16_t> ssl_port = std::nullopt;
  /** What else is to be known of it, as JSON; empty for nothing. */
  std::string payload = "";
  /** How long its registration lasts. */
  ServiceType type = ServiceType::Dynamic;
  /** How its URI is made, such as {scheme}://{address}:{port}; empty if it has none. */
  std::string uri_spec = "";
  /** Whether it is to be picked. */
  bool enabled = true;
  /** What tells it from the other instances; empty for a random one. */
  std::string id = "";
};

/** An instance of a service, as it was found. */
struct Instance {
  /** Of which service it is an instance. */
  std::string name;
  /** What tells it from the other instances. */
  std::string id;
  /** Where it is; empty where it has not said so. */
  std::string address;
  /** Its port, if it has one. */
  std::optional<std::uint16_t> port;
  /** Its port for TLS, if it has one. */
  std::optional<std::uint16_t> ssl_port;
  /** What else it says of itself, as JSON; nothing if it says nothing. */
  std::optional<std::string> payload;
  /** How long its registration lasts. */
  ServiceType type;
  /** How its URI is made. */
  std::optional<std::string> uri_spec;
  /** Whether it is to be picked. */
  bool enabled;
  /** When it was registered, by the clock of who did that. */
  std::chrono::system_clock::time_point registered_at;
  /** Its URI, where it has said how that is made. */
  std::optional<std::string> uri;
  /** Where it was found; of no interest to users. */
  std::pair<std::shared_ptr<const zkr_instances>, std::size_t> found;

  /** It did not serve: for 30 seconds the object that has found it does not pick it. Asks no server, and
   * tells nobody else. */
  void failed() const noexcept { zkr_instances_failed(found.first.get(), found.second); }
};

/** What was known last, without asking anybody. */
struct Cached {
  /** Nothing where there was none. */
  std::optional<Versioned> value;
  /** How old this may be: so long ago a server was asked that said it. */
  Milliseconds age;
};

namespace detail {

/** How a callback gets an item: what there is one of is handed over. */
template <typename Item>
using Told = std::conditional_t<std::is_copy_constructible_v<Item>, const Item &, Item>;

/** What a subscription to a stream calls. */
template <typename Item>
struct Following {
  std::function<void(Told<Item>)> changed;
  std::function<void(const Error &)> ended;
};

inline std::string copied(const zkr_buffer *buffer) {
  return std::string(static_cast<const char *>(zkr_buffer_data(buffer)), zkr_buffer_size(buffer));
}

/** Copies entries that are lent. */
inline std::map<std::string, std::string> copied(const zkr_entries *lent) {
  std::map<std::string, std::string> all;
  for (std::size_t i = 0; i < zkr_entries_count(lent); i++) {
    const zkr_entry *one = zkr_entries_get(lent, i);
    all.emplace(one->name, std::string(static_cast<const char *>(one->data), one->size));
  }
  return all;
}

inline std::map<std::string, std::string> entries(zkr_entries *list) {
  const Handle<zkr_entries, zkr_entries_free> freed(list);
  return copied(list);
}

/** Of partitions, the identities of those who have them. */
inline std::map<std::string, std::optional<std::string>> owners(zkr_entries *list) {
  const Handle<zkr_entries, zkr_entries_free> freed(list);
  std::map<std::string, std::optional<std::string>> all;
  for (std::size_t i = 0; i < zkr_entries_count(list); i++) {
    const zkr_entry *one = zkr_entries_get(list, i);
    auto &owner = all[one->name];
    if (one->data) owner.emplace(static_cast<const char *>(one->data), one->size);
  }
  return all;
}

/** Of members, their weights. */
inline std::map<std::string, std::uint32_t> weights(zkr_entries *list) {
  std::map<std::string, std::uint32_t> all;
  for (const auto &[name, weight] : entries(list)) all[name] = static_cast<std::uint32_t>(std::stoul(weight));
  return all;
}

inline GroupEvent copied(const zkr_group_event &lent) {
  const std::string data(lent.data ? static_cast<const char *>(lent.data) : "", lent.size);
  return {GroupEventKind(lent.kind), copied(lent.members), text(lent.name), data};
}

inline NodeState copied(const zkr_node_state &lent) {
  NodeState state{lent.kind, std::nullopt, std::nullopt, {}};
  if (lent.data) state.data.emplace(copied(lent.data), lent.stat);
  if (lent.children) {
    state.children.emplace();
    for (std::size_t i = 0; i < zkr_strings_count(lent.children); i++)
      state.children->emplace_back(zkr_strings_get(lent.children, i));
  }
  for (std::size_t i = 0; i < zkr_entries_count(lent.subtree); i++) {
    const zkr_entry *one = zkr_entries_get(lent.subtree, i);
    const std::string data(static_cast<const char *>(one->data), one->size);
    state.subtree.emplace(one->name, std::make_pair(data, one->stat));
  }
  return state;
}

/** Copies a leader that is lent. */
inline std::optional<Leader> copied(const zkr_leader *lent) {
  if (!lent) return std::nullopt;
  const std::string data(static_cast<const char *>(zkr_leader_data(lent)), zkr_leader_size(lent));
  return Leader{text(zkr_leader_identity(lent)), data, zkr_leader_epoch(lent), zkr_leader_acknowledged(lent)};
}

inline std::optional<Leader> leader(zkr_leader *handle) {
  const Handle<zkr_leader, zkr_leader_free> freed(handle);
  return copied(handle);
}

/** A service for C, which stays that of the caller. */
inline zkr_service given(const Service &service) {
  zkr_service given = ZKR_SERVICE_INIT;
  given.name = c_text("name", service.name);
  given.id = c_text_if_any("id", service.id);
  given.address = c_text("address", service.address);
  given.payload = c_text_if_any("payload", service.payload);
  given.uri_spec = c_text_if_any("uri_spec", service.uri_spec);
  if (service.port) given.port = *service.port;
  if (service.ssl_port) given.ssl_port = *service.ssl_port;
  given.type = service.type;
  given.enabled = service.enabled;
  return given;
}

inline std::vector<Instance> instances(zkr_instances *list) {
  const std::shared_ptr<const zkr_instances> found(
      list, [](const zkr_instances *list) { zkr_instances_free(const_cast<zkr_instances *>(list)); });
  const auto text = [](const char *text) { return text ? std::optional<std::string>(text) : std::nullopt; };
  const auto port = [](std::int32_t port) {
    return port < 0 ? std::nullopt : std::optional<std::uint16_t>(static_cast<std::uint16_t>(port));
  };
  std::vector<Instance> all;
  for (std::size_t i = 0; i < zkr_instances_count(list); i++) {
    const zkr_instance *one = zkr_instances_get(list, i);
    // Anybody may write a date, and this clock may end before all dates do.
    const auto last = std::chrono::duration_cast<Milliseconds>(std::chrono::system_clock::duration::max());
    const Milliseconds since_1970(one->registered_at_ms);
    const std::chrono::system_clock::time_point registered{since_1970 < last ? since_1970 : last};
    all.push_back({one->name,
                   one->id,
                   one->address,
                   port(one->port),
                   port(one->ssl_port),
                   text(one->payload),
                   one->type,
                   text(one->uri_spec),
                   one->enabled,
                   registered,
                   text(one->uri),
                   {found, i}});
  }
  return all;
}

/** What was registered, of a list of one. */
inline Service service(zkr_instances *list) {
  const Instance one = instances(list).at(0);
  return {one.name,
          one.address,
          one.port,
          one.ssl_port,
          one.payload.value_or(""),
          one.type,
          one.uri_spec.value_or(""),
          one.enabled,
          one.id};
}

/** The only one of a list, if there is one. */
inline std::optional<Instance> instance(zkr_instances *list) {
  const auto found = instances(list);
  return found.empty() ? std::nullopt : std::optional<Instance>(found.front());
}

inline Contender contender(const zkr_contender &one) {
  return Contender{one.node,
                   one.identity,
                   one.kind,
                   one.session_id,
                   std::chrono::system_clock::time_point(Milliseconds(one.since_ms)),
                   one.holds};
}

std::vector<std::string> strings(zkr_strings *list);

/** The callbacks of C, each of which calls the function that its subscription has. */
struct Calls {
  static void state(zkr_state state, void *function) {
    contain([&] { (*static_cast<std::function<void(State)> *>(function))(State(state)); });
  }

  static void log(zkr_log_level level, const char *event, const char *message, const zkr_log_field *fields,
                  std::size_t count, void *function) {
    contain([&] {
      LogRecord record{level, event, message, {}};
      for (std::size_t i = 0; i < count; i++) record.fields.emplace(fields[i].name, fields[i].value);
      (*static_cast<std::function<void(const LogRecord &)> *>(function))(record);
    });
  }

  static void lost(const zkr_error *error, void *function) {
    contain([&] {
      hand_over(zkr_error_code(error), error, *static_cast<std::function<void(const Error &)> *>(function));
    });
  }

  static void wait(const zkr_wait_progress *told, void *function) {
    contain([&] {
      WaitProgress progress{told->path, Milliseconds(told->waited_ms), {}, {}};
      if (told->ahead >= 0) progress.ahead = static_cast<std::size_t>(told->ahead);
      if (told->holder) progress.holder = contender(*told->holder);
      (*static_cast<std::function<void(const WaitProgress &)> *>(function))(progress);
    });
  }

  static void revoke(void *function) {
    contain([&] { (*static_cast<std::function<void()> *>(function))(); });
  }

  static void versioned(zkr_status status, const zkr_buffer *value, std::int32_t version,
                        const zkr_error *error, void *following) {
    follow<std::optional<Versioned>>(status, error, following, [&] {
      return value ? std::optional<Versioned>({copied(value), version}) : std::nullopt;
    });
  }

  static void number(zkr_status status, std::int64_t value, const zkr_error *error, void *following) {
    follow<std::int64_t>(status, error, following, [&] { return value; });
  }

  static void entries(zkr_status status, zkr_entries *list, const zkr_error *error, void *following) {
    const Handle<zkr_entries, zkr_entries_free> freed(list);
    follow<std::map<std::string, std::string>>(status, error, following, [&] { return copied(list); });
  }

  static void owners(zkr_status status, zkr_entries *list, const zkr_error *error, void *following) {
    follow<std::map<std::string, std::optional<std::string>>>(status, error, following,
                                                              [&] { return detail::owners(list); });
  }

  static void instances(zkr_status status, zkr_instances *list, const zkr_error *error, void *following) {
    follow<std::vector<Instance>>(status, error, following, [&] { return detail::instances(list); });
  }

  static void strings(zkr_status status, zkr_strings *list, const zkr_error *error, void *following) {
    follow<std::vector<std::string>>(status, error, following, [&] { return detail::strings(list); });
  }

  static void group(zkr_status status, const zkr_group_event *event, const zkr_error *error,
                    void *following) {
    follow<GroupEvent>(status, error, following, [&] { return copied(*event); });
  }

  static void leader(zkr_status status, const zkr_leader *lent, const zkr_error *error, void *following) {
    follow<std::optional<Leader>>(status, error, following, [&] { return copied(lent); });
  }

  static void held(zkr_status status, zkr_held *won, const zkr_error *error, void *following);

  static void leadership(zkr_status status, zkr_leadership *term, const zkr_error *error, void *following);

  static void node(zkr_status status, const zkr_node_state *state, const zkr_error *error, void *following) {
    follow<NodeState>(status, error, following, [&] { return copied(*state); });
  }

  /** Puts a function in place, which is owned by its subscription from then on. */
  template <typename Function, typename Register>
  static Subscription subscribe(Function function, Register &&enlist) {
    if (is_empty(function)) throw Invalid("callback: is an empty std::function; give a function to call");
    auto owned = std::make_unique<Function>(std::move(function));
    Outcome outcome;
    Subscription subscription;
    outcome.check(enlist(owned.get(), &subscription.handle_, outcome.place()));
    // From here on it goes when the subscription does, and not under a callback that is running.
    owned.release();
    subscription.drop_ = &drop<Function>;
    return subscription;
  }

 private:
  template <typename Signature>
  static bool is_empty(const std::function<Signature> &function) noexcept {
    return !function;
  }

  template <typename Item>
  static bool is_empty(const Following<Item> &following) noexcept {
    return !following.changed;
  }

  template <typename Item, typename Convert>
  static void follow(zkr_status status, const zkr_error *error, void *following, Convert &&convert) {
    contain([&] {
      const auto &of = *static_cast<Following<Item> *>(following);
      if (status == ZKR_OK)
        of.changed(convert());
      else if (of.ended)
        hand_over(status, error, of.ended);
    });
  }

  template <typename Function>
  static void drop(void *function) {
    contain([&] { delete static_cast<Function *>(function); });
  }
};

}  // namespace detail

/**
 * Withdraws one call from another thread. Make one per call. From C++20 on a std::stop_token will do wherever
 * this is taken:
 *
 *   std::jthread worker([&](std::stop_token stop) { auto held = lock.acquire(zkr::forever, stop); ... });
 */
class CancelToken {
 public:
  CancelToken() : handle_(zkr_cancel_token_new()) {}

#ifdef __cpp_lib_jthread
  /** Cancelled when a stop is requested, at once if it was before. */
  CancelToken(std::stop_token stop) : CancelToken() {
    if (!stop.stop_possible()) return;
    watching_ = std::make_shared<std::stop_callback<Cancelling>>(std::move(stop), Cancelling{handle_.get()});
  }
#endif

  /** Ends every call that was given this token with ErrorKind::Cancelled. */
  void cancel() noexcept { zkr_cancel_token_cancel(handle_.get()); }

  zkr_cancel_token *get() const noexcept { return handle_.get(); }

 private:
  struct Cancelling {
    zkr_cancel_token *token;
    void operator()() const noexcept { zkr_cancel_token_cancel(token); }
  };

  detail::Handle<zkr_cancel_token, zkr_cancel_token_free> handle_;
  // Ends before the token does. It has the same type in every standard: the files of a program may differ in
  // theirs.
  std::shared_ptr<void> watching_;
};

/** What became of one part of a Transaction. */
struct PartResult {
  /** What was done. */
  PartKind part;
  /** The path of a node that was created, with the number that the server appended if there is one. */
  std::string path;
  /** What the server knows about a node that was set. */
  Stat stat;
};

namespace detail {

/** Takes over a list of the library's, one entry after the other. */
template <typename List, typename Entry, typename Convert>
auto listed(List *list, std::size_t (*count)(const List *), const Entry *(*get)(const List *, std::size_t),
            void (*free)(List *), Convert &&convert) {
  const std::unique_ptr<List, void (*)(List *)> freed(list, free);
  std::vector<decltype(convert(*get(list, 0)))> all;
  for (std::size_t i = 0; i < count(list); i++) all.push_back(convert(*get(list, i)));
  return all;
}

inline std::vector<PartResult> part_results(zkr_part_results *list) {
  return listed(list, zkr_part_results_count, zkr_part_results_get, zkr_part_results_free,
                [](const zkr_part_result &one) {
                  return PartResult{PartKind(one.part), text(one.path), one.stat};
                });
}

}  // namespace detail

/** Writes that the server applies together or not at all. Adding sends nothing, commit() sends all of it. */
class Transaction {
 public:
  explicit Transaction(zkr_transaction *handle) : handle_(handle) {}

  // --- generated from api: transaction

  /** Adds the creation of a node. */
  Transaction &create(const std::string &path, const std::string &data,
                      CreateMode mode = CreateMode::Persistent) {
    detail::Outcome outcome;
    outcome.check(zkr_transaction_create(get(), detail::c_text("path", path), data.data(), data.size(), mode,
                                         outcome.place()));
    return *this;
  }

  /** The same with a time to live: see Nodes::create. */
  Transaction &create(const std::string &path, const std::string &data, CreateMode mode, Milliseconds ttl) {
    detail::Outcome outcome;
    outcome.check(zkr_transaction_create_ttl(get(), detail::c_text("path", path), data.data(), data.size(),
                                             mode, ttl.count(), outcome.place()));
    return *this;
  }

  /** version is the version that the node must have, -1 for any. */
  Transaction &set(const std::string &path, const std::string &data, std::int32_t version = -1) {
    detail::Outcome outcome;
    outcome.check(zkr_transaction_set(get(), detail::c_text("path", path), data.data(), data.size(), version,
                                      outcome.place()));
    return *this;
  }

  /** Adds the deletion of a node. */
  Transaction &remove(const std::string &path, std::int32_t version = -1) {
    detail::Outcome outcome;
    outcome.check(zkr_transaction_delete(get(), detail::c_text("path", path), version, outcome.place()));
    return *this;
  }

  /** Adds the condition that a node exists and has the version. */
  Transaction &check(const std::string &path, std::int32_t version = -1) {
    detail::Outcome outcome;
    outcome.check(zkr_transaction_check(get(), detail::c_text("path", path), version, outcome.place()));
    return *this;
  }

  /**
   * Sends everything and tells what became of each part, in the order in which they were added.
   * ErrorKind::NotHeld if it is guarded and the acquisition no longer stands; nothing is applied then.
   */
  std::vector<PartResult> commit() {
    detail::Outcome outcome;
    zkr_part_results *results = nullptr;
    outcome.check(zkr_transaction_commit_results(get(), &results, outcome.place()));
    return detail::part_results(results);
  }

  // --- end of generated

  zkr_transaction *get() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_transaction, zkr_transaction_free> handle_;
};

/** One acquisition. Its destructor releases it in the background, if release() was not called. */
class [[nodiscard]] Held {
 public:
  explicit Held(zkr_held *handle) : handle_(handle) {}
  Held(Held &&) = default;
  Held &operator=(Held &&other) noexcept {
    if (this != &other) {
      let_go();
      handle_ = std::move(other.handle_);
    }
    return *this;
  }
  ~Held() { let_go(); }

  /** All tokens of what is held together: several for a MultiLock, in the order of its paths. */
  std::vector<std::uint64_t> fencing_tokens() const {
    std::vector<std::uint64_t> tokens(zkr_held_fencing_tokens(get(), nullptr, 0));
    zkr_held_fencing_tokens(get(), tokens.data(), tokens.size());
    return tokens;
  }

  // --- generated from api: held

  /** Releases; ConnectionLost means unconfirmed, and the deletion goes on in the background. */
  void release() {
    detail::Outcome outcome;
    outcome.check(zkr_held_release(get(), outcome.place()));
  }

  /** Releases and leaves the confirmation to the background; throws NotHeld if it was released before. */
  void release_in_background() {
    detail::Outcome outcome;
    outcome.check(zkr_held_release_in_background(get(), outcome.place()));
  }

  /** Whether it certainly stands at this moment; never true again once false. Asks no server. */
  bool is_held() const noexcept { return zkr_held_is_held(get()); }

  /** Rises strictly from one acquisition of a path to the next. */
  std::uint64_t fencing_token() const noexcept { return zkr_held_fencing_token(get()); }

  /** Asks the server: returns, or throws NotHeld, or ConnectionLost when it cannot be known. */
  void verify() const {
    detail::Outcome outcome;
    outcome.check(zkr_held_verify(get(), outcome.place()));
  }

  /** Writes that the server applies only while this acquisition stands. */
  Transaction guarded() const {
    detail::Outcome outcome;
    zkr_transaction *transaction = nullptr;
    outcome.check(zkr_held_guarded(get(), &transaction, outcome.place()));
    return Transaction(transaction);
  }

  /** Calls back once when it is lost, at once if it already is, never on its own release. */
  Subscription on_lost(std::function<void(const Error &)> callback) const {
    return detail::Calls::subscribe(std::move(callback),
                                    [&](void *data, zkr_subscription **out, zkr_error **error) {
                                      return zkr_held_on_lost(get(), &detail::Calls::lost, data, out, error);
                                    });
  }

  /** Calls back once when somebody asks for it, at once if somebody has: finish, then release. */
  Subscription on_revoke(std::function<void()> callback) const {
    return detail::Calls::subscribe(
        std::move(callback), [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_held_on_revoke(get(), &detail::Calls::revoke, data, out, error);
        });
  }

  /** What is held; the paths of a MultiLock with spaces between. */
  std::string path() const { return detail::text(zkr_held_path(get())); }

  /** The last part of the path of what is held: of a partition, its name. */
  std::string name() const { return detail::text(zkr_held_name(get())); }

  /** The path of our own node, the first one if there are several. */
  std::string node() const { return detail::text(zkr_held_node(get())); }

  /** A text that names this acquisition, for others to check. */
  std::string sequencer() const { return detail::text(zkr_held_sequencer(get())); }

  /**
   * How often the turn was passed on inside this process since it was won from the others. With
   * LockOptions::local_handoff, acquisitions share a fencing token; the pair of it and this rises
   * strictly.
   */
  std::uint32_t passes() const noexcept { return zkr_held_passes(get()); }

  /** How many permits it is, for an acquisition of a Semaphore. */
  std::size_t permits() const noexcept { return zkr_held_permits(get()); }

  /**
   * From writing to reading, for what the write side of a ReadWriteLock acquired: nobody writes in
   * between, and the fencing token stays. This acquisition is over then; what is returned is held by the
   * read side.
   */
  Held downgrade() {
    detail::Outcome outcome;
    zkr_held *reading = nullptr;
    outcome.check(zkr_held_downgrade(get(), &reading, outcome.place()));
    return Held(reading);
  }

  // --- end of generated

  zkr_held *get() const noexcept { return handle_.get(); }

 private:
  void let_go() noexcept {
    if (handle_) zkr_held_release_in_background(get(), nullptr);
  }

  detail::Handle<zkr_held, zkr_held_free> handle_;
};

/** One term of a leader. Its destructor resigns in the background, if release() was not called. */
class [[nodiscard]] Leadership {
 public:
  explicit Leadership(zkr_leadership *handle) : handle_(handle) {}
  Leadership(Leadership &&) = default;
  Leadership &operator=(Leadership &&other) noexcept {
    if (this != &other) {
      let_go();
      handle_ = std::move(other.handle_);
    }
    return *this;
  }
  ~Leadership() { let_go(); }

  // --- generated from api: leadership

  /** Releases; ConnectionLost means unconfirmed, and the deletion goes on in the background. */
  void release() {
    detail::Outcome outcome;
    outcome.check(zkr_leadership_release(get(), outcome.place()));
  }

  /** Releases and leaves the confirmation to the background; throws NotHeld if it was released before. */
  void release_in_background() {
    detail::Outcome outcome;
    outcome.check(zkr_leadership_release_in_background(get(), outcome.place()));
  }

  /** Whether it certainly stands at this moment; never true again once false. Asks no server. */
  bool is_held() const noexcept { return zkr_leadership_is_held(get()); }

  /** Rises strictly from one acquisition of a path to the next. */
  std::uint64_t fencing_token() const noexcept { return zkr_leadership_fencing_token(get()); }

  /** Asks the server: returns, or throws NotHeld, or ConnectionLost when it cannot be known. */
  void verify() const {
    detail::Outcome outcome;
    outcome.check(zkr_leadership_verify(get(), outcome.place()));
  }

  /** Writes that the server applies only while this acquisition stands. */
  Transaction guarded() const {
    detail::Outcome outcome;
    zkr_transaction *transaction = nullptr;
    outcome.check(zkr_leadership_guarded(get(), &transaction, outcome.place()));
    return Transaction(transaction);
  }

  /** Calls back once when it is lost, at once if it already is, never on its own release. */
  Subscription on_lost(std::function<void(const Error &)> callback) const {
    return detail::Calls::subscribe(
        std::move(callback), [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_leadership_on_lost(get(), &detail::Calls::lost, data, out, error);
        });
  }

  /** Calls back once when somebody asks for it, at once if somebody has: finish, then release. */
  Subscription on_revoke(std::function<void()> callback) const {
    return detail::Calls::subscribe(
        std::move(callback), [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_leadership_on_revoke(get(), &detail::Calls::revoke, data, out, error);
        });
  }

  /** The path of the election. */
  std::string path() const { return detail::text(zkr_leadership_path(get())); }

  /** The last part of the path of what is held: of a partition, its name. */
  std::string name() const { return detail::text(zkr_leadership_name(get())); }

  /** The path of our candidate. */
  std::string node() const { return detail::text(zkr_leadership_node(get())); }

  /** A text that names this acquisition, for others to check. */
  std::string sequencer() const { return detail::text(zkr_leadership_sequencer(get())); }

  /** Rises strictly from one leader to the next: the fencing token. */
  std::uint64_t epoch() const noexcept { return zkr_leadership_epoch(get()); }

  /**
   * Tells everybody that this leader has begun its work, and data. The server refuses it once we lead no
   * more, which throws NotHeld. Doing it again replaces the data.
   */
  void acknowledge(const std::string &data = "") {
    detail::Outcome outcome;
    outcome.check(zkr_leadership_acknowledge(get(), data.data(), data.size(), outcome.place()));
  }

  // --- end of generated

  zkr_leadership *get() const noexcept { return handle_.get(); }

 private:
  void let_go() noexcept {
    if (handle_) zkr_leadership_release_in_background(get(), nullptr);
  }

  detail::Handle<zkr_leadership, zkr_leadership_free> handle_;
};

namespace detail {

inline void Calls::held(zkr_status status, zkr_held *won, const zkr_error *error, void *following) {
  follow<Held>(status, error, following, [&] { return Held(won); });
}

inline void Calls::leadership(zkr_status status, zkr_leadership *term, const zkr_error *error,
                              void *following) {
  follow<Leadership>(status, error, following, [&] { return Leadership(term); });
}

}  // namespace detail

// --- generated from api: options of Lock

/** How a lock behaves. */
struct LockOptions {
  /**
   * The handle is the owner: nested acquisitions count. Never share such a handle between threads or tasks
   * that must exclude each other.
   */
  bool reentrant = false;
  /**
   * How many times waiters of one client may pass the turn on in memory before others get theirs. They
   * then share a fencing token, and only the pair of token and passes rises strictly.
   */
  std::uint32_t local_handoff = 0;

 private:
  friend class Client;
  zkr_lock_options convert() const {
    zkr_lock_options given = ZKR_LOCK_OPTIONS_INIT;
    given.reentrant = reentrant;
    given.local_handoff = local_handoff;
    return given;
  }
};

// --- end of generated

namespace detail {

inline std::vector<Contender> contenders(zkr_contenders *list) {
  return listed(list, zkr_contenders_count, zkr_contenders_get, zkr_contenders_free, contender);
}

/** Takes over a list of strings. */
inline std::vector<std::string> strings(zkr_strings *list) {
  const Handle<zkr_strings, zkr_strings_free> freed(list);
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < zkr_strings_count(list); i++) strings.emplace_back(zkr_strings_get(list, i));
  return strings;
}

/** Takes over bytes. */
inline std::string bytes(zkr_buffer *buffer) {
  const Handle<zkr_buffer, zkr_buffer_free> freed(buffer);
  return copied(buffer);
}

/** What is known of a node, if there is one. */
inline std::optional<std::pair<std::string, Stat>> content(bool exists, zkr_buffer *data, const Stat &stat) {
  return exists ? std::optional<std::pair<std::string, Stat>>({bytes(data), stat}) : std::nullopt;
}

inline std::optional<Versioned> versioned(zkr_buffer *value, std::int32_t version) {
  return value ? std::optional<Versioned>({bytes(value), version}) : std::nullopt;
}

inline std::optional<Cached> cached(bool is_known, zkr_buffer *value, std::int32_t version,
                                    std::int64_t age) {
  return is_known ? std::optional<Cached>({versioned(value, version), Milliseconds(age)}) : std::nullopt;
}

/** Nothing instead of an exception when the time ran out. */
template <typename Take>
std::optional<Held> unless_timeout(Take &&take) {
  try {
    return take();
  } catch (const Error &error) {
    if (error.code() == ErrorKind::Timeout) return std::nullopt;
    throw;
  }
}

/** What every recipe can do. What is held is the acquisition made last through the object. */
template <typename Verbs>
class Recipe {
 public:
  using CHandle = typename Verbs::CHandle;

  explicit Recipe(CHandle *handle) : handle_(handle) {}

  /**
   * Rises strictly from one exclusive acquisition of a path to the next; that of the first path for a
   * MultiLock. Throws NotHeld when nothing is held.
   */
  std::uint64_t fencing_token() const {
    const std::uint64_t token = Verbs::fencing_token(get());
    if (token == 0) throw NotHeld("not held: there is no fencing token; acquire first");
    return token;
  }

  // --- generated from api: acquirable

  /** Releases; ConnectionLost means unconfirmed, and the deletion goes on in the background. */
  void release() {
    detail::Outcome outcome;
    outcome.check(Verbs::release(get(), outcome.place()));
  }

  /** Releases and leaves the confirmation to the background: no waiting, also inside callbacks. */
  void release_in_background() {
    detail::Outcome outcome;
    outcome.check(Verbs::release_in_background(get(), outcome.place()));
  }

  /** Whether it is certainly held at this moment. Asks no server. */
  bool is_held() const noexcept { return Verbs::is_held(get()); }

  /** Asks the server: returns, or throws NotHeld, or ConnectionLost when it cannot be known. */
  void verify() const {
    detail::Outcome outcome;
    outcome.check(Verbs::verify(get(), outcome.place()));
  }

  /** Writes that the server applies only while the current acquisition stands. */
  Transaction guarded() const {
    detail::Outcome outcome;
    zkr_transaction *transaction = nullptr;
    outcome.check(Verbs::guarded(get(), &transaction, outcome.place()));
    return Transaction(transaction);
  }

  /** Calls back once when the current acquisition is lost, never on its own release. */
  Subscription on_lost(std::function<void(const Error &)> callback) const {
    return detail::Calls::subscribe(std::move(callback),
                                    [&](void *data, zkr_subscription **out, zkr_error **error) {
                                      return Verbs::on_lost(get(), &detail::Calls::lost, data, out, error);
                                    });
  }

  /**
   * Calls back once when somebody asks for what is held now, at once if somebody has: finish, then
   * release.
   */
  Subscription on_revoke(std::function<void()> callback) const {
    return detail::Calls::subscribe(
        std::move(callback), [&](void *data, zkr_subscription **out, zkr_error **error) {
          return Verbs::on_revoke(get(), &detail::Calls::revoke, data, out, error);
        });
  }

  /**
   * Calls back while an acquisition through this object waits: after a second, and then ever less often,
   * up to once a minute.
   */
  Subscription on_wait(std::function<void(const WaitProgress &)> callback) const {
    return detail::Calls::subscribe(std::move(callback),
                                    [&](void *data, zkr_subscription **out, zkr_error **error) {
                                      return Verbs::on_wait(get(), &detail::Calls::wait, data, out, error);
                                    });
  }

  /** Ends all acquisitions that wait through this object with Cancelled; never later ones. */
  void cancel() {
    detail::Outcome outcome;
    outcome.check(Verbs::cancel(get(), outcome.place()));
  }

  /**
   * Who holds and who waits, in order: path by path for a MultiLock; one entry for each permit, and then
   * who waits, for a Semaphore.
   */
  std::vector<Contender> contenders() const {
    detail::Outcome outcome;
    zkr_contenders *contenders = nullptr;
    outcome.check(Verbs::contenders(get(), &contenders, outcome.place()));
    return detail::contenders(contenders);
  }

  // --- end of generated

  /**
   * Asks for it: whoever holds, or the contender with this node, hears of it through Held::on_revoke. With
   * force_after, exactly the nodes that were asked are deleted if they have not gone by then. False: nobody
   * to ask.
   */
  bool revoke(const std::string &contender = "", std::optional<Milliseconds> force_after = std::nullopt) {
    return ask(contender, force_after, nullptr);
  }

  /** The same, with a token that withdraws it, throwing Cancelled: it has asked then, but deletes nothing. */
  bool revoke(const std::string &contender, std::optional<Milliseconds> force_after,
              const CancelToken &token) {
    return ask(contender, force_after, token.get());
  }

  CHandle *get() const noexcept { return handle_.get(); }

 private:
  bool ask(const std::string &contender, std::optional<Milliseconds> force_after, zkr_cancel_token *token) {
    if (force_after && force_after->count() < 0)
      throw Invalid("force_after: is negative; leave it out to force nobody");
    const std::int64_t force_after_ms = wait_ms(force_after.value_or(forever));
    Outcome outcome;
    bool asked = false;
    outcome.check(Verbs::revoke_cancellable(get(), c_text_if_any("contender", contender), force_after_ms,
                                            token, &asked, outcome.place()));
    return asked;
  }

  Handle<CHandle, Verbs::free> handle_;
};

/** What every lock can do that one owner has at a time. */
template <typename Verbs>
class TimedLockable : public Recipe<Verbs> {
 public:
  using CHandle = typename Verbs::CHandle;
  using Recipe<Verbs>::get;

  explicit TimedLockable(CHandle *handle)
      : Recipe<Verbs>(handle), owed_(std::make_unique<std::atomic<int>>(0)) {}

  /** Waits for as long as it takes. */
  void lock() { wait(wait_ms(forever), nullptr); }

  /** Waits until it is acquired or the token is cancelled, which throws Cancelled. */
  void lock(const CancelToken &token) { wait(wait_ms(forever), token.get()); }

  /** One attempt: false if somebody else has it. Everything else that goes wrong throws. */
  bool try_lock() { return attempt(0); }

  template <typename Rep, typename Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period> &duration) {
    return attempt(wait_ms(duration));
  }

  template <typename Clock, typename Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration> &deadline) {
    return attempt(wait_ms_until(deadline));
  }

  /** Releases without waiting for the server. What goes wrong goes to the log; release() throws it. */
  void unlock() noexcept {
    Outcome outcome;
    if (Verbs::release_in_background(get(), outcome.place()) != ZKR_OK)
      log("unlock_failed", outcome.message());
    leave();
  }

  /** Releases; ConnectionLost means unconfirmed, and the deletion goes on in the background. */
  void release() {
    Outcome outcome;
    const zkr_status status = Verbs::release(get(), outcome.place());
    leave();
    outcome.check(status);
  }

  /** Releases without waiting for the server, as unlock() does, but throws what goes wrong at once. */
  void release_in_background() {
    Outcome outcome;
    const zkr_status status = Verbs::release_in_background(get(), outcome.place());
    leave();
    outcome.check(status);
  }

  /** Acquires and gives the acquisition as a value, which releases on destruction. */
  Held acquire() { return take(wait_ms(forever), nullptr); }

  /** The same within a time, throwing Timeout. */
  template <typename Rep, typename Period>
  Held acquire(const std::chrono::duration<Rep, Period> &timeout) {
    return take(wait_ms(timeout), nullptr);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  template <typename Rep, typename Period>
  Held acquire(const std::chrono::duration<Rep, Period> &timeout, const CancelToken &token) {
    return take(wait_ms(timeout), token.get());
  }

  /** One attempt: nothing if somebody else has it. */
  std::optional<Held> try_acquire() {
    return unless_timeout([&] { return take(0, nullptr); });
  }

  /** Whether lock() or try_lock…() succeeded and unlock() is still due. It cannot see loss; is_held() can. */
  bool owns_lock() const noexcept { return owed_ && *owed_ > 0; }

 private:
  friend class ::zkr::Lock;
  friend class ::zkr::ReadWriteLock;

  void wait(std::int64_t timeout_ms, zkr_cancel_token *token) {
    Outcome outcome;
    outcome.check(Verbs::acquire_cancellable(get(), timeout_ms, token, nullptr, outcome.place()));
    enter();
  }

  bool attempt(std::int64_t timeout_ms) {
    Outcome outcome;
    const zkr_status status =
        Verbs::acquire_cancellable(get(), timeout_ms, nullptr, nullptr, outcome.place());
    if (status == ZKR_TIMEOUT) return false;
    outcome.check(status);
    enter();
    return true;
  }

  Held take(std::int64_t timeout_ms, zkr_cancel_token *token) {
    Outcome outcome;
    zkr_held *held = nullptr;
    outcome.check(Verbs::acquire_cancellable(get(), timeout_ms, token, &held, outcome.place()));
    return Held(held);
  }

  void enter() noexcept {
    if (owed_) ++*owed_;
  }

  void leave() noexcept {
    if (owns_lock()) --*owed_;
  }

  std::unique_ptr<std::atomic<int>> owed_;
};

// --- generated from api: tables

struct ElectionVerbs {
  using CHandle = zkr_election;
  static constexpr auto free = zkr_election_free;
  static constexpr auto release = zkr_election_release;
  static constexpr auto release_in_background = zkr_election_release_in_background;
  static constexpr auto is_held = zkr_election_is_held;
  static constexpr auto fencing_token = zkr_election_fencing_token;
  static constexpr auto verify = zkr_election_verify;
  static constexpr auto verify_async = zkr_election_verify_async;
  static constexpr auto guarded = zkr_election_guarded;
  static constexpr auto on_lost = zkr_election_on_lost;
  static constexpr auto on_revoke = zkr_election_on_revoke;
  static constexpr auto on_wait = zkr_election_on_wait;
  static constexpr auto cancel = zkr_election_cancel;
  static constexpr auto contenders = zkr_election_contenders;
  static constexpr auto contenders_async = zkr_election_contenders_async;
  static constexpr auto revoke_cancellable = zkr_election_revoke_cancellable;
  static constexpr auto revoke_cancellable_async = zkr_election_revoke_cancellable_async;
};

struct LockVerbs {
  using CHandle = zkr_lock;
  static constexpr auto free = zkr_lock_free;
  static constexpr auto acquire_cancellable = zkr_lock_acquire_cancellable;
  static constexpr auto acquire_cancellable_async = zkr_lock_acquire_cancellable_async;
  static constexpr auto release = zkr_lock_release;
  static constexpr auto release_in_background = zkr_lock_release_in_background;
  static constexpr auto is_held = zkr_lock_is_held;
  static constexpr auto fencing_token = zkr_lock_fencing_token;
  static constexpr auto verify = zkr_lock_verify;
  static constexpr auto verify_async = zkr_lock_verify_async;
  static constexpr auto guarded = zkr_lock_guarded;
  static constexpr auto on_lost = zkr_lock_on_lost;
  static constexpr auto on_revoke = zkr_lock_on_revoke;
  static constexpr auto on_wait = zkr_lock_on_wait;
  static constexpr auto cancel = zkr_lock_cancel;
  static constexpr auto contenders = zkr_lock_contenders;
  static constexpr auto contenders_async = zkr_lock_contenders_async;
  static constexpr auto revoke_cancellable = zkr_lock_revoke_cancellable;
  static constexpr auto revoke_cancellable_async = zkr_lock_revoke_cancellable_async;
};

struct MultiLockVerbs {
  using CHandle = zkr_multi_lock;
  static constexpr auto free = zkr_multi_lock_free;
  static constexpr auto acquire_cancellable = zkr_multi_lock_acquire_cancellable;
  static constexpr auto acquire_cancellable_async = zkr_multi_lock_acquire_cancellable_async;
  static constexpr auto release = zkr_multi_lock_release;
  static constexpr auto release_in_background = zkr_multi_lock_release_in_background;
  static constexpr auto is_held = zkr_multi_lock_is_held;
  static constexpr auto fencing_token = zkr_multi_lock_fencing_token;
  static constexpr auto verify = zkr_multi_lock_verify;
  static constexpr auto verify_async = zkr_multi_lock_verify_async;
  static constexpr auto guarded = zkr_multi_lock_guarded;
  static constexpr auto on_lost = zkr_multi_lock_on_lost;
  static constexpr auto on_revoke = zkr_multi_lock_on_revoke;
  static constexpr auto on_wait = zkr_multi_lock_on_wait;
  static constexpr auto cancel = zkr_multi_lock_cancel;
  static constexpr auto contenders = zkr_multi_lock_contenders;
  static constexpr auto contenders_async = zkr_multi_lock_contenders_async;
  static constexpr auto revoke_cancellable = zkr_multi_lock_revoke_cancellable;
  static constexpr auto revoke_cancellable_async = zkr_multi_lock_revoke_cancellable_async;
};

struct SemaphoreVerbs {
  using CHandle = zkr_semaphore;
  static constexpr auto free = zkr_semaphore_free;
  static constexpr auto acquire_cancellable = zkr_semaphore_acquire_cancellable;
  static constexpr auto acquire_cancellable_async = zkr_semaphore_acquire_cancellable_async;
  static constexpr auto release = zkr_semaphore_release;
  static constexpr auto release_in_background = zkr_semaphore_release_in_background;
  static constexpr auto is_held = zkr_semaphore_is_held;
  static constexpr auto fencing_token = zkr_semaphore_fencing_token;
  static constexpr auto verify = zkr_semaphore_verify;
  static constexpr auto verify_async = zkr_semaphore_verify_async;
  static constexpr auto guarded = zkr_semaphore_guarded;
  static constexpr auto on_lost = zkr_semaphore_on_lost;
  static constexpr auto on_revoke = zkr_semaphore_on_revoke;
  static constexpr auto on_wait = zkr_semaphore_on_wait;
  static constexpr auto cancel = zkr_semaphore_cancel;
  static constexpr auto contenders = zkr_semaphore_contenders;
  static constexpr auto contenders_async = zkr_semaphore_contenders_async;
  static constexpr auto revoke_cancellable = zkr_semaphore_revoke_cancellable;
  static constexpr auto revoke_cancellable_async = zkr_semaphore_revoke_cancellable_async;
};

// --- end of generated

}  // namespace detail

/**
 * A lock that at most one holder in the whole ensemble has at a time. It is TimedLockable: std::lock_guard,
 * std::unique_lock and std::scoped_lock take it. The destructor releases what is held, in the background.
 */
class Lock : public detail::TimedLockable<detail::LockVerbs> {
 public:
  using TimedLockable::TimedLockable;

  /**
   * From writing to reading, for the write side of a ReadWriteLock: nobody writes in between, and the
   * fencing token stays. What is returned is held by the read side, and unlock() is not due
   * any more.
   */
  Held downgrade() {
    detail::Outcome outcome;
    zkr_held *reading = nullptr;
    outcome.check(zkr_lock_downgrade(get(), &reading, outcome.place()));
    leave();
    return Held(reading);
  }

  // --- generated from api: lock

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_lock_path(get())); }

  // --- end of generated
};

/**
 * A lock that many readers share and writers have for themselves, in the order of arrival. It is what
 * std::unique_lock and std::shared_lock take: lock() is the writer's side, lock_shared() the reader's; read()
 * and write() are the two as a Lock each.
 *
 * Threads may share an object: whatever one of them holds through it, the others wait for. So no reader comes
 * in beside a writer; but like every Lock each side has one owner at a time, and threads that are to read at
 * the same time have an object each. Whoever asks for write with read in hand waits for itself: let read go
 * first.
 *
 * From writing to reading without a writer in between: unlock_and_lock_shared(), or downgrade() of what
 * write() acquired. With the locks of the standard library:
 *
 *     std::unique_lock<zkr::ReadWriteLock> writing(catalogue);
 *     writing.mutex()->unlock_and_lock_shared();
 *     std::shared_lock<zkr::ReadWriteLock> reading(*writing.release(), std::adopt_lock);
 */
class ReadWriteLock {
 public:
  explicit ReadWriteLock(zkr_read_write_lock *handle)
      : handle_(handle), read_(zkr_read_write_lock_read(handle)), write_(zkr_read_write_lock_write(handle)) {}

  /** The side that readers share. It goes with this object. */
  Lock &read() noexcept { return read_; }
  /** The side that a writer has alone. It goes with this object. */
  Lock &write() noexcept { return write_; }

  void lock() { write_.lock(); }
  bool try_lock() { return write_.try_lock(); }
  template <typename Rep, typename Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period> &duration) {
    return write_.try_lock_for(duration);
  }
  template <typename Clock, typename Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration> &deadline) {
    return write_.try_lock_until(deadline);
  }
  void unlock() noexcept { write_.unlock(); }

  void lock_shared() { read_.lock(); }
  bool try_lock_shared() { return read_.try_lock(); }
  template <typename Rep, typename Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &duration) {
    return read_.try_lock_for(duration);
  }
  template <typename Clock, typename Duration>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &deadline) {
    return read_.try_lock_until(deadline);
  }
  void unlock_shared() noexcept { read_.unlock(); }

  /** From writing to reading. On an exception write is still held, unless it is lost. */
  void unlock_and_lock_shared() {
    detail::Outcome outcome;
    outcome.check(zkr_lock_downgrade(write_.get(), nullptr, outcome.place()));
    write_.leave();
    read_.enter();
  }

  std::string path() const { return read_.path(); }

  zkr_read_write_lock *get() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_read_write_lock, zkr_read_write_lock_free> handle_;
  Lock read_, write_;
};

/**
 * Several locks that are acquired all or none, in an order in which nobody waits for each other. It is
 * TimedLockable itself; a Held of it stands for all of them, and losing one loses all.
 */
class MultiLock : public detail::TimedLockable<detail::MultiLockVerbs> {
 public:
  using TimedLockable::TimedLockable;

  /** The tokens of what is held, in the order of paths(). Throws NotHeld when nothing is held. */
  std::vector<std::uint64_t> fencing_tokens() const {
    std::vector<std::uint64_t> tokens(zkr_multi_lock_fencing_tokens(get(), nullptr, 0));
    tokens.resize(
        std::min(tokens.size(), zkr_multi_lock_fencing_tokens(get(), tokens.data(), tokens.size())));
    if (tokens.empty()) throw NotHeld("not held: there are no fencing tokens; acquire first");
    return tokens;
  }

  // --- generated from api: multi_lock

  /** What is locked, in the order in which it is acquired. */
  std::vector<std::string> paths() const {
    detail::Outcome outcome;
    zkr_strings *paths = nullptr;
    outcome.check(zkr_multi_lock_paths(get(), &paths, outcome.place()));
    return detail::strings(paths);
  }

  // --- end of generated
};

/**
 * At most so many permits at once in the whole ensemble, in the order of arrival. Each acquisition is a Held
 * of its own, which gives its permits back on destruction; verbs that ask for no Held, such as release(),
 * mean the acquisition made last through the object.
 */
class Semaphore : public detail::Recipe<detail::SemaphoreVerbs> {
 public:
  using Recipe::Recipe;

  /** Waits for n permits in one step. */
  Held acquire(std::size_t n = 1) { return take(n, detail::wait_ms(forever), nullptr); }

  /** The same within a time, throwing Timeout. */
  template <typename Rep, typename Period>
  Held acquire(std::size_t n, const std::chrono::duration<Rep, Period> &timeout) {
    return take(n, detail::wait_ms(timeout), nullptr);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  template <typename Rep, typename Period>
  Held acquire(std::size_t n, const std::chrono::duration<Rep, Period> &timeout, const CancelToken &token) {
    return take(n, detail::wait_ms(timeout), token.get());
  }

  /** One attempt: nothing if they are not free. */
  std::optional<Held> try_acquire(std::size_t n = 1) {
    return detail::unless_timeout([&] { return take(n, 0, nullptr); });
  }

  // --- generated from api: semaphore

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_semaphore_path(get())); }

  /** How many permits there are, as far as this object knows. */
  std::size_t permits() const noexcept { return zkr_semaphore_permits(get()); }

  /** Who holds permits, one entry for each. */
  std::vector<Contender> holders() const {
    detail::Outcome outcome;
    zkr_contenders *holders = nullptr;
    outcome.check(zkr_semaphore_holders(get(), &holders, outcome.place()));
    return detail::contenders(holders);
  }

  /** Changes how many permits there are, for everybody; whoever still says the old number gets Mismatch. */
  void resize(std::size_t permits) {
    detail::Outcome outcome;
    outcome.check(zkr_semaphore_resize(get(), permits, outcome.place()));
  }

  // --- end of generated

 private:
  Held take(std::size_t n, std::int64_t timeout_ms, zkr_cancel_token *token) {
    detail::Outcome outcome;
    zkr_held *held = nullptr;
    outcome.check(zkr_semaphore_acquire_cancellable(get(), n, timeout_ms, token, &held, outcome.place()));
    return Held(held);
  }
};

// --- generated from api: options of Election

/** How an election behaves. */
struct ElectionOptions {
  /**
   * Whose election it takes part in: Curator's LeaderLatch (ElectionLayout::Latch) or LeaderSelector
   * (ElectionLayout::Selector). kazoo has one layout of its own, which naming chooses. Unless told:
   * ElectionLayout::Latch.
   */
  ElectionLayout layout = ElectionLayout::Latch;
  /**
   * How much it is to lead: of all who stand the one with the highest priority. A leader with a lower one
   * is asked to hand over. Peers that know of no priorities stand in the order in which they came, as
   * those of one priority do.
   */
  std::int32_t priority = 0;
  /**
   * How long the work of a term of run may go on that somebody has asked for, such as a candidate with a
   * higher priority. Then the leadership is lost. Unless told: 1,000 ms.
   */
  Milliseconds drain{1'000};

 private:
  friend class Client;
  zkr_election_options convert() const {
    zkr_election_options given = ZKR_ELECTION_OPTIONS_INIT;
    given.layout = layout;
    given.priority = priority;
    given.drain_ms = drain.count();
    return given;
  }
};

// --- end of generated

/** One candidate in the election of a leader. What it wins is a Leadership. */
class Election : public detail::Recipe<detail::ElectionVerbs> {
 public:
  using Recipe::Recipe;

  // --- generated from api: election

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_election_path(get())); }

  // --- end of generated

  // --- generated from api: campaign

  /** Stands, and waits until this candidate leads, throwing Timeout if it does not within the time given. */
  Leadership campaign(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    zkr_leadership *leadership = nullptr;
    outcome.check(zkr_election_campaign(get(), detail::wait_ms(timeout), &leadership, outcome.place()));
    return Leadership(leadership);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  Leadership campaign(Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    zkr_leadership *leadership = nullptr;
    outcome.check(zkr_election_campaign_cancellable(get(), detail::wait_ms(timeout), token.get(), &leadership,
                                                    outcome.place()));
    return Leadership(leadership);
  }

  /**
   * Leads term after term: stands, calls lead once this candidate leads, stands again, behind all others,
   * when that term is over, and so on over reconnections and new sessions.
   *
   * The term lasts as long as the Leadership lives, unless it is released or lost before: move it to
   * whoever does the work, such as a thread or an object of the event loop, and return, because a callback
   * holds up others. Its on_revoke tells that somebody else is to lead: finish, then release. After the
   * time for draining it is lost. A lead that has let go of it when it returns or throws could not serve:
   * the next campaign begins after a pause, which grows.
   *
   * cancel() ends it, as does closing the client, and so does what trying again cannot help: ended is told
   * why. A term in progress is resigned then, also when the Subscription goes, which ends it without
   * telling ended.
   */
  Subscription run(std::function<void(Leadership)> lead,
                   std::function<void(const Error &)> ended = nullptr) const {
    return detail::Calls::subscribe(detail::Following<Leadership>{std::move(lead), std::move(ended)},
                                    [&](void *data, zkr_subscription **out, zkr_error **error) {
                                      return zkr_election_run(get(), &detail::Calls::leadership, data, out,
                                                              error);
                                    });
  }

  /**
   * Says whether this candidate can do the work of a leader, for a run of it. While it is false it does
   * not stand; a term in progress ends as if somebody had asked for the leadership. True, which it is
   * unless told, lets it stand again.
   */
  void set_healthy(bool healthy) const {
    detail::Outcome outcome;
    outcome.check(zkr_election_set_healthy(get(), healthy, outcome.place()));
  }

  /**
   * Hands the leadership over to a candidate: its node, or an identity. Those who stand before it are
   * asked to move behind, then this one resigns. Returns whether the other one leads: false if there is no
   * such candidate, or if others stand before it that do not go within five seconds. Nothing has changed
   * for the leader then, and who was asked may stand further back. Throws NotHeld without leading.
   */
  bool transfer(const std::string &to) {
    detail::Outcome outcome;
    bool leads = false;
    outcome.check(zkr_election_transfer(get(), detail::c_text("to", to), &leads, outcome.place()));
    return leads;
  }

  /** Resigns: at once, and the server confirms it. Throws NotHeld without leading. */
  void resign() {
    detail::Outcome outcome;
    outcome.check(zkr_election_resign(get(), outcome.place()));
  }

  /** Whether this candidate certainly leads at this moment. Asks no server. */
  bool is_leader() const noexcept { return zkr_election_is_leader(get()); }

  /** Who leads, whether or not we stand; nothing while nobody does. */
  std::optional<Leader> leader() const {
    detail::Outcome outcome;
    zkr_leader *leader = nullptr;
    outcome.check(zkr_election_leader(get(), &leader, outcome.place()));
    return detail::leader(leader);
  }

  /** All who stand, in the order in which they will lead; the first one leads. */
  std::vector<Contender> candidates() const {
    detail::Outcome outcome;
    zkr_contenders *candidates = nullptr;
    outcome.check(zkr_election_candidates(get(), &candidates, outcome.place()));
    return detail::contenders(candidates);
  }

  /**
   * Tells who leads, now and whenever that changes, and that a leader has begun its work. ended is as for
   * Config::watch.
   */
  Subscription observe(std::function<void(const std::optional<Leader> &)> changed,
                       std::function<void(const Error &)> ended = nullptr) const {
    return detail::Calls::subscribe(
        detail::Following<std::optional<Leader>>{std::move(changed), std::move(ended)},
        [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_election_observe(get(), &detail::Calls::leader, data, out, error);
        });
  }

  // --- end of generated
};

/**
 * Lets its parties begin together and end together, round after round. An object is one member; a member that
 * dies frees the others.
 */
class DoubleBarrier {
 public:
  class Scope;

  explicit DoubleBarrier(zkr_double_barrier *handle) : handle_(handle) {}

  /** Enters, as enter() does, and leaves at the end of the scope that this is in. */
  Scope scope(Milliseconds timeout = forever);

  // --- generated from api: double_barrier

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_double_barrier_path(handle())); }

  /** How many parties it is for. */
  std::size_t parties() const noexcept { return zkr_double_barrier_parties(handle()); }

  /** The name of this member. */
  std::string name() const {
    detail::Outcome outcome;
    zkr_buffer *name = nullptr;
    outcome.check(zkr_double_barrier_name(handle(), &name, outcome.place()));
    return detail::bytes(name);
  }

  /** Whether this object has entered and not left. Asks no server. */
  bool has_entered() const noexcept { return zkr_double_barrier_has_entered(handle()); }

  /**
   * Calls back while this object enters or leaves: after a second, and then ever less often, up to once a
   * minute. The number ahead is of those who have yet to come, or to leave.
   */
  Subscription on_wait(std::function<void(const WaitProgress &)> callback) const {
    return detail::Calls::subscribe(
        std::move(callback), [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_double_barrier_on_wait(handle(), &detail::Calls::wait, data, out, error);
        });
  }

  /**
   * Enters, and waits until all parties have, or throws Timeout; it counts for nobody then. Throws
   * Mismatch if others say another number of parties, Exists if this object has entered already.
   */
  void enter(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    outcome.check(zkr_double_barrier_enter(handle(), detail::wait_ms(timeout), outcome.place()));
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  void enter(Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    outcome.check(zkr_double_barrier_enter_cancellable(handle(), detail::wait_ms(timeout), token.get(),
                                                       outcome.place()));
  }

  /**
   * Leaves, and waits until all others have, or throws Timeout; this one has left then. Throws Lost if our
   * session or our node went since we entered, NotHeld without having entered.
   */
  void leave(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    outcome.check(zkr_double_barrier_leave(handle(), detail::wait_ms(timeout), outcome.place()));
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  void leave(Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    outcome.check(zkr_double_barrier_leave_cancellable(handle(), detail::wait_ms(timeout), token.get(),
                                                       outcome.place()));
  }

  /** Gives the round up in the background and waits for nobody: for when the work failed. */
  void withdraw() {
    detail::Outcome outcome;
    outcome.check(zkr_double_barrier_withdraw(handle(), outcome.place()));
  }

  // --- end of generated

  zkr_double_barrier *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_double_barrier, zkr_double_barrier_free> handle_;
};

/**
 * From entering to leaving a DoubleBarrier, which must outlive it. The destructor leaves and waits until all
 * others have; what goes wrong goes to the log, and leave() throws it. If an exception ends the scope,
 * the destructor gives the round up and waits for nobody.
 */
class [[nodiscard]] DoubleBarrier::Scope {
 public:
  Scope(DoubleBarrier &barrier, Milliseconds timeout)
      : barrier_(barrier), thrown_(std::uncaught_exceptions()) {
    barrier.enter(timeout);
  }
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;
  ~Scope() {
    if (has_left_) return;
    const bool failed = std::uncaught_exceptions() > thrown_;
    zkr_double_barrier *const handle = barrier_.handle();
    detail::Outcome outcome;
    const zkr_status status = failed ? zkr_double_barrier_withdraw(handle, outcome.place())
                                     : zkr_double_barrier_leave(handle, -1, outcome.place());
    if (status != ZKR_OK) detail::log("leave_failed", outcome.message());
  }

  /** Leaves now, as DoubleBarrier::leave does. */
  void leave(Milliseconds timeout = forever) {
    has_left_ = true;
    barrier_.leave(timeout);
  }

 private:
  DoubleBarrier &barrier_;
  int thrown_;
  bool has_left_ = false;
};

inline DoubleBarrier::Scope DoubleBarrier::scope(Milliseconds timeout) { return Scope(*this, timeout); }

// --- generated from api: options of Queue

/** How a queue behaves, in whichever order its items are taken. */
struct QueueOptions {
  /**
   * How many items there may be; without it there is no bound. All who put have to give the same number; a
   * full queue makes them wait.
   */
  std::optional<std::size_t> max_items;
  /** Whether an item goes when the session of the client that put it ends. */
  bool ephemeral = false;
  /**
   * Over how many nodes the items are spread. More than one is faster, and keeps the order only within
   * each. Unless told: 1.
   */
  std::size_t shards = 1;
  /** How often an item is claimed before it goes to the dead letters, 16 times unless told; 0 for no end. */
  std::optional<std::uint32_t> max_attempts;
  /**
   * Whose queue it takes part in: Curator's SimpleDistributedQueue and ZooKeeper's own, or kazoo's Queue
   * where naming is kazoo's (QueueLayout::Simple); Curator's DistributedQueue (QueueLayout::Distributed);
   * kazoo's LockingQueue (QueueLayout::Locking). Priority and delay queues have one layout with each
   * naming. Unless told: QueueLayout::Simple.
   */
  QueueLayout layout = QueueLayout::Simple;
  /**
   * For how long the key of a put counts, by the servers' clock: the same key within that time puts once.
   * All who put with keys should give the same. Unless told: 600,000 ms.
   */
  Milliseconds key_window{600'000};

 private:
  friend class Client;
  zkr_queue_options convert() const {
    zkr_queue_options given = ZKR_QUEUE_OPTIONS_INIT;
    if (max_items) given.max_items = static_cast<std::int64_t>(*max_items);
    given.ephemeral = ephemeral;
    given.shards = shards;
    if (max_attempts) given.max_attempts = *max_attempts;
    given.layout = layout;
    given.key_window_ms = key_window.count();
    return given;
  }
};

// --- end of generated

/**
 * An item that was claimed. Settle it with ack() or nack(); the destructor gives back what is not settled, in
 * the background.
 */
class [[nodiscard]] Item {
 public:
  explicit Item(zkr_item *handle) : handle_(handle) {}

  // --- generated from api: item

  /** Whether it certainly stands at this moment; never true again once false. Asks no server. */
  bool is_held() const noexcept { return zkr_item_is_held(get()); }

  /** Rises from one claim of an item to the next. */
  std::uint64_t fencing_token() const noexcept { return zkr_item_fencing_token(get()); }

  /** Asks the server: returns, or throws NotHeld, or ConnectionLost when it cannot be known. */
  void verify() const {
    detail::Outcome outcome;
    outcome.check(zkr_item_verify(get(), outcome.place()));
  }

  /** Writes that the server applies only while this acquisition stands. */
  Transaction guarded() const {
    detail::Outcome outcome;
    zkr_transaction *transaction = nullptr;
    outcome.check(zkr_item_guarded(get(), &transaction, outcome.place()));
    return Transaction(transaction);
  }

  /** Calls back once when it is lost, at once if it already is, never on its own release. */
  Subscription on_lost(std::function<void(const Error &)> callback) const {
    return detail::Calls::subscribe(std::move(callback),
                                    [&](void *data, zkr_subscription **out, zkr_error **error) {
                                      return zkr_item_on_lost(get(), &detail::Calls::lost, data, out, error);
                                    });
  }

  /** The path of the queue. */
  std::string path() const { return detail::text(zkr_item_path(get())); }

  /** The last part of the path of what is held: of a partition, its name. */
  std::string name() const { return detail::text(zkr_item_name(get())); }

  /** The path of our claim. */
  std::string node() const { return detail::text(zkr_item_node(get())); }

  /** A text that names this claim, for others to check. */
  std::string sequencer() const { return detail::text(zkr_item_sequencer(get())); }

  /** What was put. */
  std::string data() const {
    return std::string(static_cast<const char *>(zkr_item_data(get())), zkr_item_size(get()));
  }

  /** How often it was claimed, this time included. */
  std::uint32_t attempts() const noexcept { return zkr_item_attempts(get()); }

  /**
   * It is done: removes it from the queue. Throws NotHeld if our claim stands no more, and it is somebody
   * else's then.
   */
  void ack() {
    detail::Outcome outcome;
    outcome.check(zkr_item_ack(get(), outcome.place()));
  }

  /**
   * The same, together with the writes of a transaction, which are applied exactly if the item is done. It
   * is used up in any case; writes that are refused leave the item claimed.
   */
  void ack_with(const Transaction &transaction) {
    detail::Outcome outcome;
    outcome.check(zkr_item_ack_with(get(), transaction.get(), outcome.place()));
  }

  /**
   * The work has failed: gives it back, and lets it step aside for the others, for `delay`; unless given
   * for a second after the first attempt and twice as long after each further one, up to five minutes.
   * Then it is at its old place again. After the last of max_attempts it goes to the dead letters, which
   * keep `reason` unless it is empty.
   */
  void nack(std::optional<Milliseconds> delay = std::nullopt, const std::string &reason = "") {
    detail::Outcome outcome;
    outcome.check(zkr_item_nack_with(get(), detail::pause_ms("delay", delay),
                                     detail::c_text_if_any("reason", reason), outcome.place()));
  }

  // --- end of generated

  zkr_item *get() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_item, zkr_item_free> handle_;
};

/** An item that is over. */
struct DeadLetter {
  /** The name of its node among the dead letters. */
  std::string id;
  /** What was put; of a letter with a problem what stands in its node. */
  std::string data;
  /** What was said with the last nack, or what the library knows of it. */
  std::optional<std::string> reason;
  /** How often it was claimed; 0 if that is not known. */
  std::uint32_t attempts;
  /** When it came to the dead letters, by the server's clock. */
  std::chrono::system_clock::time_point died_at;
  /** Why it cannot be read, if so. It stands in nobody's way, and nobody takes it. */
  std::optional<std::string> problem;
};

namespace detail {

/** Takes over a list of handles. */
template <typename One, typename List, typename Handle>
std::vector<One> taken(List *list, std::size_t (*count)(const List *),
                       Handle *(*take)(const List *, std::size_t), void (*free)(List *)) {
  const std::unique_ptr<List, void (*)(List *)> freed(list, free);
  std::vector<One> all;
  for (std::size_t i = 0; i < count(list); i++) all.push_back(One(take(list, i)));
  return all;
}

/** Handles for C, which stay those of the caller. */
template <typename Handle, typename One>
std::vector<Handle *> handles(const std::vector<One> &all) {
  std::vector<Handle *> given;
  for (const auto &one : all) given.push_back(one.get());
  return given;
}

inline std::vector<Item> items(zkr_items *list) {
  return taken<Item>(list, zkr_items_count, zkr_items_take, zkr_items_free);
}

/** Items for C, which stay those of the caller. */
class Several {
 public:
  explicit Several(const std::vector<std::string> &items) {
    for (const auto &item : items) {
      data_.push_back(item.data());
      sizes_.push_back(item.size());
    }
  }

  const void *const *data() const noexcept { return data_.data(); }
  const std::size_t *sizes() const noexcept { return sizes_.data(); }
  std::size_t count() const noexcept { return sizes_.size(); }

 private:
  std::vector<const void *> data_;
  std::vector<std::size_t> sizes_;
};

inline std::vector<DeadLetter> dead_letters(zkr_dead_letters *list) {
  return listed(list, zkr_dead_letters_count, zkr_dead_letters_get, zkr_dead_letters_free,
                [](const zkr_dead_letter &one) {
                  const auto text = [](const char *text) {
                    return text ? std::optional<std::string>(text) : std::nullopt;
                  };
                  return DeadLetter{one.id,
                                    std::string(static_cast<const char *>(one.data), one.size),
                                    text(one.reason),
                                    one.attempts,
                                    std::chrono::system_clock::time_point(Milliseconds(one.died_at_ms)),
                                    text(one.problem)};
                });
}

inline std::vector<std::string> payloads(zkr_payloads *list) {
  return listed(list, zkr_payloads_count, zkr_payloads_get, zkr_payloads_free, [](const zkr_payload &one) {
    return std::string(static_cast<const char *>(one.data), one.size);
  });
}

}  // namespace detail

/**
 * A queue at a path: items are taken in the order in which they came, by anybody who uses that path. Those of
 * one producer keep their order.
 */
class Queue {
 public:
  explicit Queue(zkr_queue *handle) : handle_(handle) {}

  // --- generated from api: queue_put

  /**
   * Puts an item at the end, waiting while the queue is full, or throwing Timeout: then it was not put and
   * will not be. It is put once, also if the answer gets lost; ConnectionLost says that nobody can know.
   */
  void put(const std::string &data, Milliseconds timeout = forever) {
    detail::Outcome outcome;
    outcome.check(
        zkr_queue_put(handle(), data.data(), data.size(), detail::wait_ms(timeout), outcome.place()));
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  void put(const std::string &data, Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    outcome.check(zkr_queue_put_cancellable(handle(), data.data(), data.size(), detail::wait_ms(timeout),
                                            token.get(), outcome.place()));
  }

  /**
   * The same with a key that names this put, such as the id of a request: within key_window the same key
   * puts once, whoever puts with it, and the others succeed as the first one did, also if the item was
   * taken since. So after ConnectionLost it is safe to put again with the same key, of at most 1,000
   * bytes. What is on its way with a key is not taken back.
   */
  void put_with(const std::string &data, const std::string &key, Milliseconds timeout = forever) {
    detail::Outcome outcome;
    outcome.check(zkr_queue_put_with(handle(), data.data(), data.size(), detail::c_text("key", key),
                                     detail::wait_ms(timeout), outcome.place()));
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  void put_with(const std::string &data, const std::string &key, Milliseconds timeout,
                const CancelToken &token) {
    detail::Outcome outcome;
    outcome.check(zkr_queue_put_with_cancellable(handle(), data.data(), data.size(),
                                                 detail::c_text("key", key), detail::wait_ms(timeout),
                                                 token.get(), outcome.place()));
  }

  /**
   * Puts several, in as few transactions as carry them, each of which is applied as a whole or not at all.
   * Error::put says how many went in, from the first on, where not all did; after ConnectionLost and
   * Closed it may be more.
   */
  void put_many(const std::vector<std::string> &items, Milliseconds timeout = forever) {
    const detail::Several given(items);
    detail::Outcome outcome;
    outcome.check(zkr_queue_put_many(handle(), given.data(), given.sizes(), given.count(),
                                     detail::wait_ms(timeout), outcome.place()));
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  void put_many(const std::vector<std::string> &items, Milliseconds timeout, const CancelToken &token) {
    const detail::Several given(items);
    detail::Outcome outcome;
    outcome.check(zkr_queue_put_many_cancellable(handle(), given.data(), given.sizes(), given.count(),
                                                 detail::wait_ms(timeout), token.get(), outcome.place()));
  }

  // --- end of generated

  // --- generated from api: queue

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_queue_path(handle())); }

  /**
   * Takes the item that came first, waiting for one, or throwing Timeout. At most once: it is removed
   * before it is returned, so who crashes then takes it along.
   */
  std::string get(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    zkr_buffer *data = nullptr;
    outcome.check(zkr_queue_get(handle(), detail::wait_ms(timeout), &data, outcome.place()));
    return detail::bytes(data);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  std::string get(Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    zkr_buffer *data = nullptr;
    outcome.check(
        zkr_queue_get_cancellable(handle(), detail::wait_ms(timeout), token.get(), &data, outcome.place()));
    return detail::bytes(data);
  }

  /**
   * Claims the item that came first, waiting for one, or throwing Timeout. At least once: nobody else has
   * it until it is acknowledged, given back, or our session ends; then the next one gets it.
   */
  Item claim(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    zkr_item *item = nullptr;
    outcome.check(zkr_queue_claim(handle(), detail::wait_ms(timeout), &item, outcome.place()));
    return Item(item);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  Item claim(Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    zkr_item *item = nullptr;
    outcome.check(
        zkr_queue_claim_cancellable(handle(), detail::wait_ms(timeout), token.get(), &item, outcome.place()));
    return Item(item);
  }

  /**
   * Claims up to n at once: waits for the item that came first, or throws Timeout, and takes the next ones
   * along that are there already.
   */
  std::vector<Item> claim_many(std::size_t n, Milliseconds timeout = forever) {
    detail::Outcome outcome;
    zkr_items *items = nullptr;
    outcome.check(zkr_queue_claim_many(handle(), n, detail::wait_ms(timeout), &items, outcome.place()));
    return detail::items(items);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  std::vector<Item> claim_many(std::size_t n, Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    zkr_items *items = nullptr;
    outcome.check(zkr_queue_claim_many_cancellable(handle(), n, detail::wait_ms(timeout), token.get(), &items,
                                                   outcome.place()));
    return detail::items(items);
  }

  /**
   * Acknowledges several at once, each as by Item::ack: the requests leave together, and one that fails
   * holds up no other. What is thrown is the error of the first of them that failed.
   */
  void ack_many(const std::vector<Item> &items) {
    const std::vector<zkr_item *> given = detail::handles<zkr_item>(items);
    detail::Outcome outcome;
    outcome.check(zkr_queue_ack_many(handle(), given.data(), given.size(), outcome.place()));
  }

  /**
   * Calls back while a verb of this object waits, for an item or for room: after a second, and then ever
   * less often, up to once a minute.
   */
  Subscription on_wait(std::function<void(const WaitProgress &)> callback) const {
    return detail::Calls::subscribe(
        std::move(callback), [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_queue_on_wait(handle(), &detail::Calls::wait, data, out, error);
        });
  }

  /** The next item that nobody has claimed, which stays; nothing if there is none. */
  std::optional<std::string> peek() const {
    detail::Outcome outcome;
    zkr_buffer *data = nullptr;
    outcome.check(zkr_queue_peek(handle(), &data, outcome.place()));
    return data ? std::optional<std::string>(detail::bytes(data)) : std::nullopt;
  }

  /** How many items there are, claimed ones included. */
  std::size_t len() const {
    detail::Outcome outcome;
    std::size_t items = 0;
    outcome.check(zkr_queue_len(handle(), &items, outcome.place()));
    return items;
  }

  /**
   * How many items can be taken, step aside, or are claimed, and how many dead letters there are; counted
   * by the lists of items and claims.
   */
  QueueStats stats() const {
    detail::Outcome outcome;
    QueueStats stats;
    outcome.check(zkr_queue_stats(handle(), &stats, outcome.place()));
    return stats;
  }

  /** All items in order, claimed ones included. What cannot be read is left out, and the log names it. */
  std::vector<std::string> items() const {
    detail::Outcome outcome;
    zkr_payloads *items = nullptr;
    outcome.check(zkr_queue_items(handle(), &items, outcome.place()));
    return detail::payloads(items);
  }

  /** The dead letters: a queue of the items that were claimed max_attempts times in vain. Asks no server. */
  Queue dead() const {
    detail::Outcome outcome;
    zkr_queue *dead = nullptr;
    outcome.check(zkr_queue_dead(handle(), &dead, outcome.place()));
    return Queue(dead);
  }

  /**
   * The dead letters in order, with what is known of their end: of the queue, or of its dead letters,
   * which is the same. One that cannot be read hides no other: its problem says why.
   */
  std::vector<DeadLetter> dead_letters() const {
    detail::Outcome outcome;
    zkr_dead_letters *letters = nullptr;
    outcome.check(zkr_queue_dead_letters(handle(), &letters, outcome.place()));
    return detail::dead_letters(letters);
  }

  /**
   * Puts the dead letters back into their queue, as new items, and returns how many:
   * `queue.dead().replay()`.
   */
  std::size_t replay() {
    detail::Outcome outcome;
    std::size_t replayed = 0;
    outcome.check(zkr_queue_replay(handle(), &replayed, outcome.place()));
    return replayed;
  }

  /**
   * Puts one dead letter back into its queue, as a new item: the one with that id. Returns how many, which
   * is 1, or 0 if there is none or somebody else has it.
   */
  std::size_t replay_one(const std::string &id) {
    detail::Outcome outcome;
    std::size_t replayed = 0;
    outcome.check(zkr_queue_replay_one(handle(), detail::c_text("id", id), &replayed, outcome.place()));
    return replayed;
  }

  /**
   * Deletes the dead letters that have been there for that long, zero for all, and returns how many:
   * `queue.dead().purge(age)`. Nothing else of the queue goes.
   */
  std::size_t purge(Milliseconds older_than) {
    detail::Outcome outcome;
    std::size_t purged = 0;
    outcome.check(zkr_queue_purge(handle(), older_than.count(), &purged, outcome.place()));
    return purged;
  }

  /** Ends all calls that wait through this object with Cancelled; never later ones. */
  void cancel() {
    detail::Outcome outcome;
    outcome.check(zkr_queue_cancel(handle(), outcome.place()));
  }

  // --- end of generated

  zkr_queue *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_queue, zkr_queue_free> handle_;
};

/** What is known of a site in one transaction. */
struct SiteStatus {
  /** Its name. */
  std::string site;
  /** Whether it is there. */
  bool is_present;
  /** Whether it has voted. */
  bool has_voted;
  /** Whether it has done what was decided. */
  bool has_acknowledged;
};

/** How a transaction of a TwoPhaseCommit stands. */
struct CommitStatus {
  /** By which name it began. */
  std::string id;
  /** Who decides it before its deadline. */
  CommitMode mode;
  /** What it is about. */
  std::string payload;
  /** How long ago it began, as far as this machine's clock agrees with the server's. */
  Milliseconds age;
  /** How long there is to vote. */
  Milliseconds timeout;
  /** What was decided; nothing if nothing is. */
  std::optional<Decision> outcome;
  /** Why it was aborted. */
  std::string reason;
  /** Whether its coordinator will decide it. */
  CoordinatorState coordinator;
  /** Who votes. */
  std::vector<SiteStatus> sites;
  /** Why only its id is known: it may not be read with the identities of this client, or what it says is not
   * understood. Empty if it is known how it stands. */
  std::string problem;
};

class CommitTransaction;
class Proposal;

namespace detail {

/** Texts for C, which stay those of the caller. */
class Texts {
 public:
  Texts(const char *argument, const std::vector<std::string> &texts) {
    for (const auto &text : texts) data_.push_back(c_text(argument, text));
  }

  const char *const *data() const noexcept { return data_.data(); }
  std::size_t count() const noexcept { return data_.size(); }

 private:
  std::vector<const char *> data_;
};

inline CommitStatus copied(const zkr_commit_status &lent) {
  CommitStatus status{lent.id,
                      lent.mode,
                      std::string(static_cast<const char *>(lent.payload), lent.size),
                      Milliseconds(lent.age_ms),
                      Milliseconds(lent.timeout_ms),
                      std::nullopt,
                      lent.reason,
                      CoordinatorState(lent.coordinator),
                      {},
                      lent.problem};
  if (lent.outcome != ZKR_OUTCOME_NONE) status.outcome = Decision(lent.outcome);
  for (std::size_t i = 0; i < lent.site_count; i++) {
    const zkr_site_status &one = lent.sites[i];
    status.sites.push_back({one.site, one.is_present, one.has_voted, one.has_acknowledged});
  }
  return status;
}

inline std::vector<CommitStatus> commit_statuses(zkr_commit_statuses *list) {
  return listed(list, zkr_commit_statuses_count, zkr_commit_statuses_get, zkr_commit_statuses_free,
                [](const zkr_commit_status &one) { return copied(one); });
}

/** The only one of a list, if there is one. */
inline std::optional<CommitStatus> commit_status(zkr_commit_statuses *list) {
  const auto found = commit_statuses(list);
  return found.empty() ? std::nullopt : std::optional<CommitStatus>(found.front());
}

inline std::vector<CommitTransaction> commit_transactions(zkr_commit_transactions *list);
inline std::vector<Proposal> proposals(zkr_proposals *list);

}  // namespace detail

/** The names of partitions: any, or "0", "1" and so on of a number. */
class Partitions {
 public:
  template <typename Count, std::enable_if_t<std::is_integral<Count>::value, int> = 0>
  Partitions(Count count) : count_(checked(count)) {}
  Partitions(std::vector<std::string> names)
      : names_(std::move(names)), count_(names_.size()), are_named_(true) {
    for (const auto &name : names_) data_.push_back(detail::c_text("partitions", name));
  }
  Partitions(std::initializer_list<std::string> names) : Partitions(std::vector<std::string>(names)) {}
  Partitions(const Partitions &) = delete;
  Partitions &operator=(const Partitions &) = delete;

  /** For C: none where there is only a number. */
  const char *const *data() const noexcept {
    static const char *const none = nullptr;
    return !are_named_ ? nullptr : data_.empty() ? &none : data_.data();
  }
  std::size_t count() const noexcept { return count_; }

 private:
  template <typename Count>
  static std::size_t checked(Count count) {
    if constexpr (std::is_signed<Count>::value)
      if (count < 0) throw Invalid("partitions: is less than 0; give how many there are");
    return static_cast<std::size_t>(count);
  }

  std::vector<std::string> names_;
  std::vector<const char *> data_;
  std::size_t count_;
  bool are_named_ = false;
};

/** A registered instance of a service. It stays registered when this object goes. */
class Registration {
 public:
  explicit Registration(zkr_registration *handle) : handle_(handle) {}

  // --- generated from api: registration

  /** What tells it from the other instances of the service. */
  std::string id() const { return detail::text(zkr_registration_id(get())); }

  /**
   * What was registered, as it is to be after the last update: what differs may be changed in it, and
   * given to update().
   */
  Service service() const {
    detail::Outcome outcome;
    zkr_instances *service = nullptr;
    outcome.check(zkr_registration_service(get(), &service, outcome.place()));
    return detail::service(service);
  }

  /**
   * Replaces what is to be known of it. The id may be empty, and has to be the same otherwise, as have
   * name and type. Throws NotHeld if it was unregistered, NoNode if somebody has deleted the node of a
   * static or permanent one, or put one of their own in its place.
   */
  void update(const Service &service) {
    const zkr_service given = detail::given(service);
    detail::Outcome outcome;
    outcome.check(zkr_registration_update(get(), &given, outcome.place()));
  }

  /** Takes it back. Throws NotHeld if it was unregistered already. */
  void unregister() {
    detail::Outcome outcome;
    outcome.check(zkr_registration_unregister(get(), outcome.place()));
  }

  // --- end of generated

  zkr_registration *get() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_registration, zkr_registration_free> handle_;
};

/**
 * A value at a path, shared with everybody who reads or sets it, in any language. A version counts its
 * changes.
 */
class Config {
 public:
  explicit Config(zkr_config *handle) : handle_(handle) {}

  // --- generated from api: config

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_config_path(handle())); }

  /** The value, or nothing if nobody has set it. */
  std::optional<Versioned> get() const {
    detail::Outcome outcome;
    zkr_buffer *value = nullptr;
    std::int32_t version = 0;
    outcome.check(zkr_config_get(handle(), &value, &version, outcome.place()));
    return detail::versioned(value, version);
  }

  /**
   * Sets the value if it has the version, -1 for whichever it has or none at all, and returns the new
   * version. Throws BadVersion if somebody has changed it since.
   */
  std::int32_t set(const std::string &value, std::int32_t version = -1) {
    detail::Outcome outcome;
    std::int32_t new_version = 0;
    outcome.check(
        zkr_config_set(handle(), value.data(), value.size(), version, &new_version, outcome.place()));
    return new_version;
  }

  /** Sets the value if nobody has set it yet, and returns its version, 0. Throws Exists if there is one. */
  std::int32_t create(const std::string &value) {
    detail::Outcome outcome;
    std::int32_t new_version = 0;
    outcome.check(zkr_config_create(handle(), value.data(), value.size(), &new_version, outcome.place()));
    return new_version;
  }

  /**
   * Sets the value if it still has that version, -1 for if there still is none, and returns whether it
   * did: a step of update(). It is made once, also where the answer got lost; ConnectionLost says that
   * nobody can know whether it was.
   */
  bool compare_and_set(const std::string &value, std::int32_t version) {
    detail::Outcome outcome;
    bool is_set = false;
    outcome.check(
        zkr_config_compare_and_set(handle(), value.data(), value.size(), version, &is_set, outcome.place()));
    return is_set;
  }

  /**
   * Tells the value now, and whenever it has changed: always the latest, over reconnections and new
   * sessions. ended is told why it ended if that was by itself: Closed with the client, Denied and the
   * like where it cannot go on.
   */
  Subscription watch(std::function<void(const std::optional<Versioned> &)> changed,
                     std::function<void(const Error &)> ended = nullptr) const {
    return detail::Calls::subscribe(
        detail::Following<std::optional<Versioned>>{std::move(changed), std::move(ended)},
        [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_config_watch(handle(), &detail::Calls::versioned, data, out, error);
        });
  }

  /**
   * What this object was told last, by get() or watch(), without asking anybody; nothing before that. Its
   * age is less than half of the session timeout while it is watched through this object and servers
   * answer.
   */
  std::optional<Cached> cached() const {
    detail::Outcome outcome;
    bool is_known = false;
    zkr_buffer *value = nullptr;
    std::int32_t version = 0;
    std::int64_t age_ms = 0;
    outcome.check(zkr_config_cached(handle(), &is_known, &value, &version, &age_ms, outcome.place()));
    return detail::cached(is_known, value, version, age_ms);
  }

  // --- end of generated

  /**
   * Replaces the value by what change returns for it, or for nothing where nobody has set it. If somebody
   * sets it meanwhile, change is called again, with that value. Returns what was set. Each change is made
   * once, also where an answer got lost; ConnectionLost says that nobody can know whether it was. What change
   * throws sets nothing.
   */
  template <typename Change>
  Versioned update(Change &&change) {
    struct Asked {
      Change &change;
      std::string made;
      std::exception_ptr thrown;
    } asked{change, {}, nullptr};
    const auto make = [](const void *value, std::size_t size, zkr_update *update, void *user_data) noexcept {
      Asked &of = *static_cast<Asked *>(user_data);
      try {
        of.made = of.change(
            value ? std::optional<std::string>(std::in_place, static_cast<const char *>(value), size)
                  : std::nullopt);
        zkr_update_set(update, of.made.data(), of.made.size());
      } catch (...) {
        of.thrown = std::current_exception();
      }
    };
    detail::Outcome outcome;
    std::int32_t version = 0;
    const zkr_status status = zkr_config_update(handle(), make, &asked, nullptr, &version, outcome.place());
    if (asked.thrown) std::rethrow_exception(asked.thrown);
    outcome.check(status);
    return Versioned{std::move(asked.made), version};
  }

  zkr_config *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_config, zkr_config_free> handle_;
};

// --- generated from api: recipes

/**
 * Stops everybody who waits at it until it is lifted, shared with everybody who uses that path, in any
 * language.
 */
class Barrier {
 public:
  explicit Barrier(zkr_barrier *handle) : handle_(handle) {}

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_barrier_path(handle())); }

  /** Puts the barrier up; no matter if it is up already. */
  void create() {
    detail::Outcome outcome;
    outcome.check(zkr_barrier_create(handle(), outcome.place()));
  }

  /** Lifts the barrier: all who wait go on; no matter if it is not up. */
  void remove() {
    detail::Outcome outcome;
    outcome.check(zkr_barrier_remove(handle(), outcome.place()));
  }

  /** Whether the barrier is up. */
  bool is_up() const {
    detail::Outcome outcome;
    bool is_up = false;
    outcome.check(zkr_barrier_is_up(handle(), &is_up, outcome.place()));
    return is_up;
  }

  /**
   * Calls back while a wait through this object goes on: after a second, and then ever less often, up to
   * once a minute. The holder is who has put the barrier up.
   */
  Subscription on_wait(std::function<void(const WaitProgress &)> callback) const {
    return detail::Calls::subscribe(
        std::move(callback), [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_barrier_on_wait(handle(), &detail::Calls::wait, data, out, error);
        });
  }

  /** Waits until the barrier is lifted, or throws Timeout. Returns at once if it is not up. */
  void wait(Milliseconds timeout = forever) const {
    detail::Outcome outcome;
    outcome.check(zkr_barrier_wait(handle(), detail::wait_ms(timeout), outcome.place()));
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  void wait(Milliseconds timeout, const CancelToken &token) const {
    detail::Outcome outcome;
    outcome.check(
        zkr_barrier_wait_cancellable(handle(), detail::wait_ms(timeout), token.get(), outcome.place()));
  }

  zkr_barrier *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_barrier, zkr_barrier_free> handle_;
};

/** A transaction that a coordinator has begun or taken over. */
class CommitTransaction {
 public:
  explicit CommitTransaction(zkr_commit_transaction *handle) : handle_(handle) {}

  /** By which name it began. */
  std::string id() const { return detail::text(zkr_commit_transaction_id(handle())); }

  /** Who votes. */
  std::vector<std::string> sites() const {
    detail::Outcome outcome;
    zkr_strings *sites = nullptr;
    outcome.check(zkr_commit_transaction_sites(handle(), &sites, outcome.place()));
    return detail::strings(sites);
  }

  /** What it is about. */
  std::string payload() const {
    return std::string(static_cast<const char *>(zkr_commit_transaction_payload(handle())),
                       zkr_commit_transaction_size(handle()));
  }

  /**
   * Why it was aborted: which site voted for that and what it said, or that not all had voted in time.
   * Empty of a commit, and as long as the outcome is not known here: ask for that first. Empty, too, where
   * no more is left of it than that it was aborted.
   */
  std::string reason() const { return detail::text(zkr_commit_transaction_reason(handle())); }

  /**
   * Waits until it is decided, or throws Timeout. Past its deadline whoever waits decides. It is the true
   * outcome, whoever decided it, also if others took the transaction over and are done with it; throws
   * NoNode if this client was cut off for more than a day, for so long it is kept.
   */
  Decision outcome(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    zkr_outcome decided = ZKR_OUTCOME_NONE;
    outcome.check(
        zkr_commit_transaction_outcome(handle(), detail::wait_ms(timeout), &decided, outcome.place()));
    return Decision(decided);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  Decision outcome(Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    zkr_outcome decided = ZKR_OUTCOME_NONE;
    outcome.check(zkr_commit_transaction_outcome_cancellable(handle(), detail::wait_ms(timeout), token.get(),
                                                             &decided, outcome.place()));
    return Decision(decided);
  }

  zkr_commit_transaction *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_commit_transaction, zkr_commit_transaction_free> handle_;
};

/** How a counter behaves. */
struct CounterOptions {
  /**
   * Whose counter it takes part in: Curator's DistributedAtomicLong, 64 bits (CounterLayout::Atomic), or
   * SharedCount, 32 bits (CounterLayout::Shared). kazoo has one layout of its own, which naming chooses.
   * Unless told: CounterLayout::Atomic.
   */
  CounterLayout layout = CounterLayout::Atomic;

 private:
  friend class Client;
  zkr_counter_options convert() const {
    zkr_counter_options given = ZKR_COUNTER_OPTIONS_INIT;
    given.layout = layout;
    return given;
  }
};

/**
 * A number that many count on. Every change is applied exactly once, also when its answer gets lost;
 * where that cannot be known any more, it is ErrorKind::ConnectionLost. A counter that does not exist is
 * 0, and the first change creates it.
 */
class Counter {
 public:
  explicit Counter(zkr_counter *handle) : handle_(handle) {}

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_counter_path(handle())); }

  /** The value, no older than this call. */
  std::int64_t get() const {
    detail::Outcome outcome;
    std::int64_t value = 0;
    outcome.check(zkr_counter_get(handle(), &value, outcome.place()));
    return value;
  }

  /** Adds n, which may be negative, and returns the new value. Throws Invalid where that is out of range. */
  std::int64_t add(std::int64_t n) {
    detail::Outcome outcome;
    std::int64_t value = 0;
    outcome.check(zkr_counter_add(handle(), n, &value, outcome.place()));
    return value;
  }

  /** Sets the value, whatever it was. Throws Invalid where that is out of range. */
  void set(std::int64_t value) {
    detail::Outcome outcome;
    outcome.check(zkr_counter_set(handle(), value, outcome.place()));
  }

  /** Sets the value to new_value if it is old_value, in one step, and returns whether it was. */
  bool compare_and_set(std::int64_t old_value, std::int64_t new_value) {
    detail::Outcome outcome;
    bool was_set = false;
    outcome.check(zkr_counter_compare_and_set(handle(), old_value, new_value, &was_set, outcome.place()));
    return was_set;
  }

  /**
   * Tells the value now, and whenever it has changed: always the latest, over reconnections and new
   * sessions. ended is told why it ended if that was by itself: Closed with the client, Denied and the
   * like where it cannot go on.
   */
  Subscription watch(std::function<void(const std::int64_t &)> changed,
                     std::function<void(const Error &)> ended = nullptr) const {
    return detail::Calls::subscribe(detail::Following<std::int64_t>{std::move(changed), std::move(ended)},
                                    [&](void *data, zkr_subscription **out, zkr_error **error) {
                                      return zkr_counter_watch(handle(), &detail::Calls::number, data, out,
                                                               error);
                                    });
  }

  zkr_counter *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_counter, zkr_counter_free> handle_;
};

/**
 * Items that are taken when they are due, the first due first, by the clocks of those who put and take
 * them.
 */
class DelayQueue {
 public:
  explicit DelayQueue(zkr_delay_queue *handle) : handle_(handle) {}

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_delay_queue_path(handle())); }

  /**
   * Takes the item that was due first, waiting for one, or throwing Timeout. At most once: it is removed
   * before it is returned, so who crashes then takes it along.
   */
  std::string get(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    zkr_buffer *data = nullptr;
    outcome.check(zkr_delay_queue_get(handle(), detail::wait_ms(timeout), &data, outcome.place()));
    return detail::bytes(data);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  std::string get(Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    zkr_buffer *data = nullptr;
    outcome.check(zkr_delay_queue_get_cancellable(handle(), detail::wait_ms(timeout), token.get(), &data,
                                                  outcome.place()));
    return detail::bytes(data);
  }

  /**
   * Claims the item that was due first, waiting for one, or throwing Timeout. At least once: nobody else
   * has it until it is acknowledged, given back, or our session ends; then the next one gets it.
   */
  Item claim(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    zkr_item *item = nullptr;
    outcome.check(zkr_delay_queue_claim(handle(), detail::wait_ms(timeout), &item, outcome.place()));
    return Item(item);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  Item claim(Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    zkr_item *item = nullptr;
    outcome.check(zkr_delay_queue_claim_cancellable(handle(), detail::wait_ms(timeout), token.get(), &item,
                                                    outcome.place()));
    return Item(item);
  }

  /**
   * Claims up to n at once: waits for the item that was due first, or throws Timeout, and takes the next
   * ones along that are there already.
   */
  std::vector<Item> claim_many(std::size_t n, Milliseconds timeout = forever) {
    detail::Outcome outcome;
    zkr_items *items = nullptr;
    outcome.check(zkr_delay_queue_claim_many(handle(), n, detail::wait_ms(timeout), &items, outcome.place()));
    return detail::items(items);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  std::vector<Item> claim_many(std::size_t n, Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    zkr_items *items = nullptr;
    outcome.check(zkr_delay_queue_claim_many_cancellable(handle(), n, detail::wait_ms(timeout), token.get(),
                                                         &items, outcome.place()));
    return detail::items(items);
  }

  /**
   * Acknowledges several at once, each as by Item::ack: the requests leave together, and one that fails
   * holds up no other. What is thrown is the error of the first of them that failed.
   */
  void ack_many(const std::vector<Item> &items) {
    const std::vector<zkr_item *> given = detail::handles<zkr_item>(items);
    detail::Outcome outcome;
    outcome.check(zkr_delay_queue_ack_many(handle(), given.data(), given.size(), outcome.place()));
  }

  /**
   * Calls back while a verb of this object waits, for an item or for room: after a second, and then ever
   * less often, up to once a minute.
   */
  Subscription on_wait(std::function<void(const WaitProgress &)> callback) const {
    return detail::Calls::subscribe(
        std::move(callback), [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_delay_queue_on_wait(handle(), &detail::Calls::wait, data, out, error);
        });
  }

  /** The next item that nobody has claimed, which stays; nothing if there is none. */
  std::optional<std::string> peek() const {
    detail::Outcome outcome;
    zkr_buffer *data = nullptr;
    outcome.check(zkr_delay_queue_peek(handle(), &data, outcome.place()));
    return data ? std::optional<std::string>(detail::bytes(data)) : std::nullopt;
  }

  /** How many items there are, claimed ones included. */
  std::size_t len() const {
    detail::Outcome outcome;
    std::size_t items = 0;
    outcome.check(zkr_delay_queue_len(handle(), &items, outcome.place()));
    return items;
  }

  /**
   * How many items can be taken, step aside, or are claimed, and how many dead letters there are; counted
   * by the lists of items and claims.
   */
  QueueStats stats() const {
    detail::Outcome outcome;
    QueueStats stats;
    outcome.check(zkr_delay_queue_stats(handle(), &stats, outcome.place()));
    return stats;
  }

  /** All items in order, claimed ones included. What cannot be read is left out, and the log names it. */
  std::vector<std::string> items() const {
    detail::Outcome outcome;
    zkr_payloads *items = nullptr;
    outcome.check(zkr_delay_queue_items(handle(), &items, outcome.place()));
    return detail::payloads(items);
  }

  /** The dead letters: a queue of the items that were claimed max_attempts times in vain. Asks no server. */
  Queue dead() const {
    detail::Outcome outcome;
    zkr_queue *dead = nullptr;
    outcome.check(zkr_delay_queue_dead(handle(), &dead, outcome.place()));
    return Queue(dead);
  }

  /**
   * The dead letters in order, with what is known of their end: of the queue, or of its dead letters,
   * which is the same. One that cannot be read hides no other: its problem says why.
   */
  std::vector<DeadLetter> dead_letters() const {
    detail::Outcome outcome;
    zkr_dead_letters *letters = nullptr;
    outcome.check(zkr_delay_queue_dead_letters(handle(), &letters, outcome.place()));
    return detail::dead_letters(letters);
  }

  /**
   * Puts the dead letters back into their queue, as new items, and returns how many:
   * `queue.dead().replay()`.
   */
  std::size_t replay() {
    detail::Outcome outcome;
    std::size_t replayed = 0;
    outcome.check(zkr_delay_queue_replay(handle(), &replayed, outcome.place()));
    return replayed;
  }

  /**
   * Puts one dead letter back into its queue, as a new item: the one with that id. Returns how many, which
   * is 1, or 0 if there is none or somebody else has it.
   */
  std::size_t replay_one(const std::string &id) {
    detail::Outcome outcome;
    std::size_t replayed = 0;
    outcome.check(zkr_delay_queue_replay_one(handle(), detail::c_text("id", id), &replayed, outcome.place()));
    return replayed;
  }

  /**
   * Deletes the dead letters that have been there for that long, zero for all, and returns how many:
   * `queue.dead().purge(age)`. Nothing else of the queue goes.
   */
  std::size_t purge(Milliseconds older_than) {
    detail::Outcome outcome;
    std::size_t purged = 0;
    outcome.check(zkr_delay_queue_purge(handle(), older_than.count(), &purged, outcome.place()));
    return purged;
  }

  /** Ends all calls that wait through this object with Cancelled; never later ones. */
  void cancel() {
    detail::Outcome outcome;
    outcome.check(zkr_delay_queue_cancel(handle(), outcome.place()));
  }

  /** Puts an item that nobody gets before the delay has passed. Otherwise as Queue::put. */
  void put(const std::string &data, Milliseconds delay, Milliseconds timeout = forever) {
    detail::Outcome outcome;
    outcome.check(zkr_delay_queue_put(handle(), data.data(), data.size(), delay.count(),
                                      detail::wait_ms(timeout), outcome.place()));
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  void put(const std::string &data, Milliseconds delay, Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    outcome.check(zkr_delay_queue_put_cancellable(handle(), data.data(), data.size(), delay.count(),
                                                  detail::wait_ms(timeout), token.get(), outcome.place()));
  }

  /** The same with a key that names this put. Otherwise as Queue::put_with. */
  void put_with(const std::string &data, Milliseconds delay, const std::string &key,
                Milliseconds timeout = forever) {
    detail::Outcome outcome;
    outcome.check(zkr_delay_queue_put_with(handle(), data.data(), data.size(), delay.count(),
                                           detail::c_text("key", key), detail::wait_ms(timeout),
                                           outcome.place()));
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  void put_with(const std::string &data, Milliseconds delay, const std::string &key, Milliseconds timeout,
                const CancelToken &token) {
    detail::Outcome outcome;
    outcome.check(zkr_delay_queue_put_with_cancellable(handle(), data.data(), data.size(), delay.count(),
                                                       detail::c_text("key", key), detail::wait_ms(timeout),
                                                       token.get(), outcome.place()));
  }

  zkr_delay_queue *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_delay_queue, zkr_delay_queue_free> handle_;
};

/**
 * Services below a path, and their instances, shared with everybody who uses that path, Curator's users
 * too.
 */
class Discovery {
 public:
  explicit Discovery(zkr_discovery *handle) : handle_(handle) {}

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_discovery_path(handle())); }

  /**
   * Registers an instance of a service. A dynamic one is kept over all sessions of the client until it is
   * unregistered or the client is closed; a static or permanent one stays until it is unregistered. Throws
   * Exists if there is one of that id, which a crashed process may have left until its session timeout.
   * Only a static or permanent one takes the place of another such one.
   */
  Registration register_service(const Service &service) {
    const zkr_service given = detail::given(service);
    detail::Outcome outcome;
    zkr_registration *registration = nullptr;
    outcome.check(zkr_discovery_register(handle(), &given, &registration, outcome.place()));
    return Registration(registration);
  }

  /** The instances of a service; none if there is no such service. */
  std::vector<Instance> instances(const std::string &name) const {
    detail::Outcome outcome;
    zkr_instances *found = nullptr;
    outcome.check(zkr_discovery_instances(handle(), detail::c_text("name", name), &found, outcome.place()));
    return detail::instances(found);
  }

  /** The services that there are, sorted. One whose last instance has gone is there for a while. */
  std::vector<std::string> names() const {
    detail::Outcome outcome;
    zkr_strings *services = nullptr;
    outcome.check(zkr_discovery_names(handle(), &services, outcome.place()));
    return detail::strings(services);
  }

  /** Tells the instances of a service, now and whenever they are others. ended is as for Config::watch. */
  Subscription watch(const std::string &name, std::function<void(const std::vector<Instance> &)> changed,
                     std::function<void(const Error &)> ended = nullptr) const {
    return detail::Calls::subscribe(
        detail::Following<std::vector<Instance>>{std::move(changed), std::move(ended)},
        [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_discovery_watch(handle(), detail::c_text("name", name), &detail::Calls::instances, data,
                                     out, error);
        });
  }

  /**
   * One of the instances of a service, or nothing if there is none that may be picked. Disabled ones are
   * not picked, nor for 30 seconds those that have failed. Only the first call for a service asks a
   * server: from then on it is followed.
   */
  std::optional<Instance> pick(const std::string &name, PickBy by = PickBy::RoundRobin) const {
    detail::Outcome outcome;
    zkr_instances *picked = nullptr;
    outcome.check(zkr_discovery_pick(handle(), detail::c_text("name", name), by, &picked, outcome.place()));
    return detail::instance(picked);
  }

  /**
   * An instance did not serve: for 30 seconds this object does not pick it. The same as Instance::failed,
   * for who has nothing but its name and id.
   */
  void failed(const std::string &name, const std::string &id) {
    detail::Outcome outcome;
    outcome.check(zkr_discovery_failed(handle(), detail::c_text("name", name), detail::c_text("id", id),
                                       outcome.place()));
  }

  zkr_discovery *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_discovery, zkr_discovery_free> handle_;
};

/** How a group behaves. */
struct GroupOptions {
  /**
   * Whose group it takes part in: Curator's GroupMember (GroupLayout::Member), kazoo's Party
   * (GroupLayout::Party) or ShallowParty (GroupLayout::ShallowParty). By default GroupLayout::Party where
   * naming is kazoo's, else GroupLayout::Member.
   */
  GroupLayout layout = GroupLayout::Default;
  /**
   * Whether join takes its name at once from a member that has it, such as the one that this process was
   * before it crashed, which would keep the name until its session timeout. Of two processes that are both
   * there the one that joins last is the member.
   */
  bool replace = false;

 private:
  friend class Client;
  zkr_group_options convert() const {
    zkr_group_options given = ZKR_GROUP_OPTIONS_INIT;
    given.layout = layout;
    given.replace = replace;
    return given;
  }
};

/** A group of members that know each other by name. An object is one member, once it has joined. */
class Group {
 public:
  explicit Group(zkr_group *handle) : handle_(handle) {}

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_group_path(handle())); }

  /**
   * Becomes a member, and stays one over all sessions of the client until it leaves or this object goes.
   * Throws Exists if it has joined already, or another member has that name.
   */
  void join(const std::string &name, const std::string &data = "") {
    detail::Outcome outcome;
    outcome.check(
        zkr_group_join(handle(), detail::c_text("name", name), data.data(), data.size(), outcome.place()));
  }

  /** Ends the membership. Throws NotHeld if there is none. */
  void leave() {
    detail::Outcome outcome;
    outcome.check(zkr_group_leave(handle(), outcome.place()));
  }

  /** Replaces what this member says of itself. Throws NotHeld if it has not joined. */
  void update(const std::string &data) {
    detail::Outcome outcome;
    outcome.check(zkr_group_update(handle(), data.data(), data.size(), outcome.place()));
  }

  /**
   * The members and what they say of themselves. One that may not be read is left out: Client::skipped
   * names it.
   */
  std::map<std::string, std::string> members() const {
    detail::Outcome outcome;
    zkr_entries *members = nullptr;
    outcome.check(zkr_group_members(handle(), &members, outcome.place()));
    return detail::entries(members);
  }

  /**
   * Waits until there are at least n members, whoever they are, and returns them; throws Timeout if they
   * are fewer then.
   */
  std::map<std::string, std::string> wait_for(std::size_t n, Milliseconds timeout = forever) const {
    detail::Outcome outcome;
    zkr_entries *members = nullptr;
    outcome.check(zkr_group_wait_for(handle(), n, detail::wait_ms(timeout), &members, outcome.place()));
    return detail::entries(members);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  std::map<std::string, std::string> wait_for(std::size_t n, Milliseconds timeout,
                                              const CancelToken &token) const {
    detail::Outcome outcome;
    zkr_entries *members = nullptr;
    outcome.check(zkr_group_wait_for_cancellable(handle(), n, detail::wait_ms(timeout), token.get(), &members,
                                                 outcome.place()));
    return detail::entries(members);
  }

  /**
   * Tells all members at first, then who joins, leaves or changes. One that may not be read is left out:
   * Client::skipped names it. ended is as for Config::watch.
   */
  Subscription watch(std::function<void(const GroupEvent &)> changed,
                     std::function<void(const Error &)> ended = nullptr) const {
    return detail::Calls::subscribe(detail::Following<GroupEvent>{std::move(changed), std::move(ended)},
                                    [&](void *data, zkr_subscription **out, zkr_error **error) {
                                      return zkr_group_watch(handle(), &detail::Calls::group, data, out,
                                                             error);
                                    });
  }

  zkr_group *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_group, zkr_group_free> handle_;
};

/**
 * Closed until it was counted down as often as it says, by whomever, and open from then on. Every count
 * is made exactly once, also when its answer gets lost; where that cannot be known any more, it is
 * ErrorKind::ConnectionLost.
 */
class Latch {
 public:
  explicit Latch(zkr_latch *handle) : handle_(handle) {}

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_latch_path(handle())); }

  /** Counts it down by n, at least 1, and returns how much is left; 0 is open. */
  std::size_t count_down(std::size_t n = 1) {
    detail::Outcome outcome;
    std::size_t remaining = 0;
    outcome.check(zkr_latch_count_down(handle(), n, &remaining, outcome.place()));
    return remaining;
  }

  /** How much is left until it is open, no older than this call. */
  std::size_t remaining() const {
    detail::Outcome outcome;
    std::size_t remaining = 0;
    outcome.check(zkr_latch_remaining(handle(), &remaining, outcome.place()));
    return remaining;
  }

  /** Sets how much is left to count, at least 1: it is closed. Who waits for it goes on waiting. */
  void reset(std::size_t count) {
    detail::Outcome outcome;
    outcome.check(zkr_latch_reset(handle(), count, outcome.place()));
  }

  /**
   * Waits until it is open, or throws Timeout; NoNode if somebody deletes it meanwhile. Returns at once if
   * it is open. Who has seen it closed when it is opened goes on, also if it is reset at once.
   */
  void wait(Milliseconds timeout = forever) const {
    detail::Outcome outcome;
    outcome.check(zkr_latch_wait(handle(), detail::wait_ms(timeout), outcome.place()));
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  void wait(Milliseconds timeout, const CancelToken &token) const {
    detail::Outcome outcome;
    outcome.check(
        zkr_latch_wait_cancellable(handle(), detail::wait_ms(timeout), token.get(), outcome.place()));
  }

  zkr_latch *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_latch, zkr_latch_free> handle_;
};

/** Names below a path, and what they stand for, shared with everybody who uses that path. */
class Names {
 public:
  explicit Names(zkr_names *handle) : handle_(handle) {}

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_names_path(handle())); }

  /**
   * Binds a name to data. Throws Exists if it is bound already, by whomever. An ephemeral binding lasts as
   * long as the client, over all its sessions, and is made again when somebody deletes it; any other until
   * it is unbound.
   */
  void bind(const std::string &name, const std::string &data, bool ephemeral = false) {
    detail::Outcome outcome;
    outcome.check(zkr_names_bind(handle(), detail::c_text("name", name), data.data(), data.size(), ephemeral,
                                 outcome.place()));
  }

  /**
   * The same for a time: the servers unbind the name once nobody has changed it for so long, whatever
   * became of the client. ErrorKind::Invalid if they do not take that: they need
   * zookeeper.extendedTypesEnabled=true.
   */
  void bind(const std::string &name, const std::string &data, Milliseconds ttl) {
    detail::Outcome outcome;
    outcome.check(zkr_names_bind_ttl(handle(), detail::c_text("name", name), data.data(), data.size(),
                                     ttl.count(), outcome.place()));
  }

  /** What a name stands for, or nothing if it is not bound. */
  std::optional<std::string> lookup(const std::string &name) const {
    detail::Outcome outcome;
    zkr_buffer *data = nullptr;
    outcome.check(zkr_names_lookup(handle(), detail::c_text("name", name), &data, outcome.place()));
    return data ? std::optional<std::string>(detail::bytes(data)) : std::nullopt;
  }

  /** Unbinds a name, whoever has bound it. Throws NoNode if it is not bound. */
  void unbind(const std::string &name) {
    detail::Outcome outcome;
    outcome.check(zkr_names_unbind(handle(), detail::c_text("name", name), outcome.place()));
  }

  /** The names that are bound, sorted. */
  std::vector<std::string> list() const {
    detail::Outcome outcome;
    zkr_strings *names_bound = nullptr;
    outcome.check(zkr_names_list(handle(), &names_bound, outcome.place()));
    return detail::strings(names_bound);
  }

  /**
   * Tells all names and what they stand for, now and whenever that has changed. One that may not be read
   * is left out: Client::skipped names its node. ended is as for Config::watch.
   */
  Subscription watch(std::function<void(const std::map<std::string, std::string> &)> changed,
                     std::function<void(const Error &)> ended = nullptr) const {
    return detail::Calls::subscribe(
        detail::Following<std::map<std::string, std::string>>{std::move(changed), std::move(ended)},
        [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_names_watch(handle(), &detail::Calls::entries, data, out, error);
        });
  }

  zkr_names *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_names, zkr_names_free> handle_;
};

/** A node and all that is below it, kept by the library: reading it asks nobody. Made by Nodes::cache. */
class NodeCache {
 public:
  explicit NodeCache(zkr_node_cache *handle) : handle_(handle) {}

  /** The path of the topmost node. */
  std::string path() const { return detail::text(zkr_node_cache_path(handle())); }

  /**
   * The data of a node at or below the path, and what else the server knows about it, or nothing if there
   * is none. Asks nobody.
   */
  std::optional<std::pair<std::string, Stat>> get(const std::string &path) const {
    detail::Outcome outcome;
    bool exists = false;
    zkr_buffer *data = nullptr;
    Stat stat;
    outcome.check(
        zkr_node_cache_get(handle(), detail::c_text("path", path), &exists, &data, &stat, outcome.place()));
    return detail::content(exists, data, stat);
  }

  /** The names of the children of such a node, sorted, or nothing if there is no such node. Asks nobody. */
  std::optional<std::vector<std::string>> children(const std::string &path) const {
    detail::Outcome outcome;
    bool exists = false;
    zkr_strings *names = nullptr;
    outcome.check(
        zkr_node_cache_children(handle(), detail::c_text("path", path), &exists, &names, outcome.place()));
    return exists ? std::optional<std::vector<std::string>>(detail::strings(names)) : std::nullopt;
  }

  /**
   * How old what is known may be: so long ago, for certain, it was still so. While servers answer, less
   * than half of the session timeout.
   */
  Milliseconds age() const {
    detail::Outcome outcome;
    std::int64_t age_ms = 0;
    outcome.check(zkr_node_cache_age(handle(), &age_ms, outcome.place()));
    return Milliseconds(age_ms);
  }

  /**
   * Tells the paths of what has come, has gone or is different; at first of all that is there. The cache
   * knows it by then. ended is as for Config::watch.
   */
  Subscription changes(std::function<void(const std::vector<std::string> &)> changed,
                       std::function<void(const Error &)> ended = nullptr) const {
    return detail::Calls::subscribe(
        detail::Following<std::vector<std::string>>{std::move(changed), std::move(ended)},
        [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_node_cache_changes(handle(), &detail::Calls::strings, data, out, error);
        });
  }

  zkr_node_cache *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_node_cache, zkr_node_cache_free> handle_;
};

/** How a member of a partitioner behaves. */
struct PartitionerOptions {
  /** How much of the partitions this member is to have, beside the weights of the others. Unless told: 1. */
  std::uint32_t weight = 1;
  /**
   * What the member is called. A process that is started again under the same name gets what it had, and
   * nothing moves.
   */
  std::string name;
  /**
   * How long a partition that is to move may still be worked on. Then it is taken away: it is lost. Unless
   * told: 30,000 ms.
   */
  Milliseconds drain{30'000};

 private:
  friend class Client;
  zkr_partitioner_options convert() const {
    zkr_partitioner_options given = ZKR_PARTITIONER_OPTIONS_INIT;
    given.weight = weight;
    given.name = detail::c_text_if_any("name", name);
    given.drain_ms = drain.count();
    return given;
  }
};

/**
 * Partitions shared among the members who are there. An object is one member once it has asked for its
 * first partition. Each partition is a turn of its own: two members never have one at the same time, and
 * its tokens rise.
 */
class Partitioner {
 public:
  explicit Partitioner(zkr_partitioner *handle) : handle_(handle) {}

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_partitioner_path(handle())); }

  /** The name of this member. */
  std::string name() const {
    detail::Outcome outcome;
    zkr_buffer *name = nullptr;
    outcome.check(zkr_partitioner_name(handle(), &name, outcome.place()));
    return detail::bytes(name);
  }

  /**
   * Waits for the next partition that this member wins, which the first call makes one, or throws Timeout.
   * It is the caller's until it lets go of it or loses it; its name() says which it is. Held::on_revoke
   * tells that it is to move: finish, then release. After the time for draining it is lost. What was
   * released unasked comes again, after a pause. Throws Mismatch if the others share other partitions,
   * Cancelled if this object leaves meanwhile.
   */
  Held next(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    zkr_held *partition = nullptr;
    outcome.check(zkr_partitioner_next(handle(), detail::wait_ms(timeout), &partition, outcome.place()));
    return Held(partition);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  Held next(Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    zkr_held *partition = nullptr;
    outcome.check(zkr_partitioner_next_cancellable(handle(), detail::wait_ms(timeout), token.get(),
                                                   &partition, outcome.place()));
    return Held(partition);
  }

  /**
   * Works on all partitions that this member wins: calls work with each one, as soon as it is won, which
   * joins the others first.
   *
   * The partition is this member's as long as the Held lives, unless it is released or lost before: move
   * it to whoever does the work, such as a thread or an object of the event loop, and return, because a
   * callback holds up others. Its on_revoke tells that it is to move: finish, then release. After the time
   * for draining it is lost. What was let go of unasked comes again, after a pause, as long as it is this
   * member's.
   *
   * leave() ends it, as does closing the client, and so does what trying again cannot help: ended is told
   * why. It leaves in the background when the Subscription goes, which ends it without telling ended.
   */
  Subscription run(std::function<void(Held)> work, std::function<void(const Error &)> ended = nullptr) const {
    return detail::Calls::subscribe(detail::Following<Held>{std::move(work), std::move(ended)},
                                    [&](void *data, zkr_subscription **out, zkr_error **error) {
                                      return zkr_partitioner_run(handle(), &detail::Calls::held, data, out,
                                                                 error);
                                    });
  }

  /**
   * Takes part no more: what it has is asked for, and taken from it after the time for draining. Returns
   * when all is let go of. Throws NotHeld if it is no member.
   */
  void leave() {
    detail::Outcome outcome;
    outcome.check(zkr_partitioner_leave(handle(), outcome.place()));
  }

  /**
   * Who has which partition now, no older than this call: the identity of its owner, nothing where nobody
   * has it.
   */
  std::map<std::string, std::optional<std::string>> owners() const {
    detail::Outcome outcome;
    zkr_entries *owners = nullptr;
    outcome.check(zkr_partitioner_owners(handle(), &owners, outcome.place()));
    return detail::owners(owners);
  }

  /**
   * Tells who has which partition, now and whenever one has another owner: always the latest, as owners()
   * does. A change costs one or two requests, however many partitions there are. ended is as for
   * Config::watch.
   */
  Subscription watch(std::function<void(const std::map<std::string, std::optional<std::string>> &)> changed,
                     std::function<void(const Error &)> ended = nullptr) const {
    return detail::Calls::subscribe(
        detail::Following<std::map<std::string, std::optional<std::string>>>{std::move(changed),
                                                                             std::move(ended)},
        [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_partitioner_watch(handle(), &detail::Calls::owners, data, out, error);
        });
  }

  /** Who shares the partitions now, no older than this call: by name, with their weights. */
  std::map<std::string, std::uint32_t> members() const {
    detail::Outcome outcome;
    zkr_entries *members = nullptr;
    outcome.check(zkr_partitioner_members(handle(), &members, outcome.place()));
    return detail::weights(members);
  }

  zkr_partitioner *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_partitioner, zkr_partitioner_free> handle_;
};

/**
 * Items of which the one with the lowest number is taken first, and of those with the same number the
 * one that came first.
 */
class PriorityQueue {
 public:
  explicit PriorityQueue(zkr_priority_queue *handle) : handle_(handle) {}

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_priority_queue_path(handle())); }

  /**
   * Takes the item with the lowest number, waiting for one, or throwing Timeout. At most once: it is
   * removed before it is returned, so who crashes then takes it along.
   */
  std::string get(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    zkr_buffer *data = nullptr;
    outcome.check(zkr_priority_queue_get(handle(), detail::wait_ms(timeout), &data, outcome.place()));
    return detail::bytes(data);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  std::string get(Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    zkr_buffer *data = nullptr;
    outcome.check(zkr_priority_queue_get_cancellable(handle(), detail::wait_ms(timeout), token.get(), &data,
                                                     outcome.place()));
    return detail::bytes(data);
  }

  /**
   * Claims the item with the lowest number, waiting for one, or throwing Timeout. At least once: nobody
   * else has it until it is acknowledged, given back, or our session ends; then the next one gets it.
   */
  Item claim(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    zkr_item *item = nullptr;
    outcome.check(zkr_priority_queue_claim(handle(), detail::wait_ms(timeout), &item, outcome.place()));
    return Item(item);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  Item claim(Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    zkr_item *item = nullptr;
    outcome.check(zkr_priority_queue_claim_cancellable(handle(), detail::wait_ms(timeout), token.get(), &item,
                                                       outcome.place()));
    return Item(item);
  }

  /**
   * Claims up to n at once: waits for the item with the lowest number, or throws Timeout, and takes the
   * next ones along that are there already.
   */
  std::vector<Item> claim_many(std::size_t n, Milliseconds timeout = forever) {
    detail::Outcome outcome;
    zkr_items *items = nullptr;
    outcome.check(
        zkr_priority_queue_claim_many(handle(), n, detail::wait_ms(timeout), &items, outcome.place()));
    return detail::items(items);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  std::vector<Item> claim_many(std::size_t n, Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    zkr_items *items = nullptr;
    outcome.check(zkr_priority_queue_claim_many_cancellable(handle(), n, detail::wait_ms(timeout),
                                                            token.get(), &items, outcome.place()));
    return detail::items(items);
  }

  /**
   * Acknowledges several at once, each as by Item::ack: the requests leave together, and one that fails
   * holds up no other. What is thrown is the error of the first of them that failed.
   */
  void ack_many(const std::vector<Item> &items) {
    const std::vector<zkr_item *> given = detail::handles<zkr_item>(items);
    detail::Outcome outcome;
    outcome.check(zkr_priority_queue_ack_many(handle(), given.data(), given.size(), outcome.place()));
  }

  /**
   * Calls back while a verb of this object waits, for an item or for room: after a second, and then ever
   * less often, up to once a minute.
   */
  Subscription on_wait(std::function<void(const WaitProgress &)> callback) const {
    return detail::Calls::subscribe(
        std::move(callback), [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_priority_queue_on_wait(handle(), &detail::Calls::wait, data, out, error);
        });
  }

  /** The next item that nobody has claimed, which stays; nothing if there is none. */
  std::optional<std::string> peek() const {
    detail::Outcome outcome;
    zkr_buffer *data = nullptr;
    outcome.check(zkr_priority_queue_peek(handle(), &data, outcome.place()));
    return data ? std::optional<std::string>(detail::bytes(data)) : std::nullopt;
  }

  /** How many items there are, claimed ones included. */
  std::size_t len() const {
    detail::Outcome outcome;
    std::size_t items = 0;
    outcome.check(zkr_priority_queue_len(handle(), &items, outcome.place()));
    return items;
  }

  /**
   * How many items can be taken, step aside, or are claimed, and how many dead letters there are; counted
   * by the lists of items and claims.
   */
  QueueStats stats() const {
    detail::Outcome outcome;
    QueueStats stats;
    outcome.check(zkr_priority_queue_stats(handle(), &stats, outcome.place()));
    return stats;
  }

  /** All items in order, claimed ones included. What cannot be read is left out, and the log names it. */
  std::vector<std::string> items() const {
    detail::Outcome outcome;
    zkr_payloads *items = nullptr;
    outcome.check(zkr_priority_queue_items(handle(), &items, outcome.place()));
    return detail::payloads(items);
  }

  /** The dead letters: a queue of the items that were claimed max_attempts times in vain. Asks no server. */
  Queue dead() const {
    detail::Outcome outcome;
    zkr_queue *dead = nullptr;
    outcome.check(zkr_priority_queue_dead(handle(), &dead, outcome.place()));
    return Queue(dead);
  }

  /**
   * The dead letters in order, with what is known of their end: of the queue, or of its dead letters,
   * which is the same. One that cannot be read hides no other: its problem says why.
   */
  std::vector<DeadLetter> dead_letters() const {
    detail::Outcome outcome;
    zkr_dead_letters *letters = nullptr;
    outcome.check(zkr_priority_queue_dead_letters(handle(), &letters, outcome.place()));
    return detail::dead_letters(letters);
  }

  /**
   * Puts the dead letters back into their queue, as new items, and returns how many:
   * `queue.dead().replay()`.
   */
  std::size_t replay() {
    detail::Outcome outcome;
    std::size_t replayed = 0;
    outcome.check(zkr_priority_queue_replay(handle(), &replayed, outcome.place()));
    return replayed;
  }

  /**
   * Puts one dead letter back into its queue, as a new item: the one with that id. Returns how many, which
   * is 1, or 0 if there is none or somebody else has it.
   */
  std::size_t replay_one(const std::string &id) {
    detail::Outcome outcome;
    std::size_t replayed = 0;
    outcome.check(
        zkr_priority_queue_replay_one(handle(), detail::c_text("id", id), &replayed, outcome.place()));
    return replayed;
  }

  /**
   * Deletes the dead letters that have been there for that long, zero for all, and returns how many:
   * `queue.dead().purge(age)`. Nothing else of the queue goes.
   */
  std::size_t purge(Milliseconds older_than) {
    detail::Outcome outcome;
    std::size_t purged = 0;
    outcome.check(zkr_priority_queue_purge(handle(), older_than.count(), &purged, outcome.place()));
    return purged;
  }

  /** Ends all calls that wait through this object with Cancelled; never later ones. */
  void cancel() {
    detail::Outcome outcome;
    outcome.check(zkr_priority_queue_cancel(handle(), outcome.place()));
  }

  /** Puts an item; what has a lower priority is taken first. Otherwise as Queue::put. */
  void put(const std::string &data, std::int32_t priority, Milliseconds timeout = forever) {
    detail::Outcome outcome;
    outcome.check(zkr_priority_queue_put(handle(), data.data(), data.size(), priority,
                                         detail::wait_ms(timeout), outcome.place()));
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  void put(const std::string &data, std::int32_t priority, Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    outcome.check(zkr_priority_queue_put_cancellable(handle(), data.data(), data.size(), priority,
                                                     detail::wait_ms(timeout), token.get(), outcome.place()));
  }

  /** The same with a key that names this put. Otherwise as Queue::put_with. */
  void put_with(const std::string &data, std::int32_t priority, const std::string &key,
                Milliseconds timeout = forever) {
    detail::Outcome outcome;
    outcome.check(zkr_priority_queue_put_with(handle(), data.data(), data.size(), priority,
                                              detail::c_text("key", key), detail::wait_ms(timeout),
                                              outcome.place()));
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  void put_with(const std::string &data, std::int32_t priority, const std::string &key, Milliseconds timeout,
                const CancelToken &token) {
    detail::Outcome outcome;
    outcome.check(zkr_priority_queue_put_with_cancellable(
        handle(), data.data(), data.size(), priority, detail::c_text("key", key), detail::wait_ms(timeout),
        token.get(), outcome.place()));
  }

  zkr_priority_queue *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_priority_queue, zkr_priority_queue_free> handle_;
};

/** A transaction on which a site has to vote. */
class Proposal {
 public:
  explicit Proposal(zkr_proposal *handle) : handle_(handle) {}

  /** By which name it began. */
  std::string id() const { return detail::text(zkr_proposal_id(handle())); }

  /** Who votes. */
  std::vector<std::string> sites() const {
    detail::Outcome outcome;
    zkr_strings *sites = nullptr;
    outcome.check(zkr_proposal_sites(handle(), &sites, outcome.place()));
    return detail::strings(sites);
  }

  /** What it is about. */
  std::string payload() const {
    return std::string(static_cast<const char *>(zkr_proposal_payload(handle())),
                       zkr_proposal_size(handle()));
  }

  /**
   * Why it was aborted: which site voted for that and what it said, or that not all had voted in time.
   * Empty of a commit, and as long as the outcome is not known here: ask for that first. Empty, too, where
   * no more is left of it than that it was aborted.
   */
  std::string reason() const { return detail::text(zkr_proposal_reason(handle())); }

  /**
   * Waits until it is decided, or throws Timeout. Past its deadline whoever waits decides. It is the true
   * outcome, whoever decided it, also if others took the transaction over and are done with it; throws
   * NoNode if this client was cut off for more than a day, for so long it is kept.
   */
  Decision outcome(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    zkr_outcome decided = ZKR_OUTCOME_NONE;
    outcome.check(zkr_proposal_outcome(handle(), detail::wait_ms(timeout), &decided, outcome.place()));
    return Decision(decided);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  Decision outcome(Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    zkr_outcome decided = ZKR_OUTCOME_NONE;
    outcome.check(zkr_proposal_outcome_cancellable(handle(), detail::wait_ms(timeout), token.get(), &decided,
                                                   outcome.place()));
    return Decision(decided);
  }

  /** Whether this site had voted when it was told. */
  bool has_voted() const noexcept { return zkr_proposal_has_voted(handle()); }

  /**
   * Votes for the commit, which has to be possible from now on, also after a crash. May come after the
   * abort: the outcome tells. Throws Exists if this site has voted for the abort.
   */
  void vote_commit() {
    detail::Outcome outcome;
    outcome.check(zkr_proposal_vote_commit(handle(), outcome.place()));
  }

  /** Decides the abort. Throws Exists if this site has voted for the commit. */
  void vote_abort(const std::string &reason = "") {
    detail::Outcome outcome;
    outcome.check(
        zkr_proposal_vote_abort(handle(), detail::c_text_if_any("reason", reason), outcome.place()));
  }

  /** What was decided is applied here, and needed no more. Throws NotHeld if nothing is decided yet. */
  void acknowledge() {
    detail::Outcome outcome;
    outcome.check(zkr_proposal_acknowledge(handle(), outcome.place()));
  }

  zkr_proposal *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_proposal, zkr_proposal_free> handle_;
};

/**
 * Transactions that all sites commit, or none, shared with everybody who uses that path, in any
 * language. The decision is made once and survives everybody's crash. An object is a coordinator, a
 * site, or both.
 */
class TwoPhaseCommit {
 public:
  explicit TwoPhaseCommit(zkr_two_phase_commit *handle) : handle_(handle) {}

  /** What it is made with. */
  std::string path() const { return detail::text(zkr_two_phase_commit_path(handle())); }

  /** Who decides the transactions that it begins. */
  CommitMode mode() const noexcept { return zkr_two_phase_commit_mode(handle()); }

  /**
   * Begins a transaction: every site is asked, also one that is not there now. It is decided in the
   * background, whether or not somebody waits for the outcome, as long as the client is there: the commit
   * when all have voted for it, the abort when the timeout is over. Throws Exists if there is one of that
   * id, TooLarge if the payload is, or if 10,000 wait in the inbox of one of its sites, which the error
   * names, or as many transactions are not over. After ConnectionLost it may have begun: it is aborted in
   * the background, unless all sites have voted before that arrives; recover of the same object waits for
   * that, and answers it if it was committed.
   */
  CommitTransaction begin(const std::string &id, const std::vector<std::string> &sites,
                          const std::string &payload, Milliseconds timeout) {
    const detail::Texts given("sites", sites);
    detail::Outcome outcome;
    zkr_commit_transaction *transaction = nullptr;
    outcome.check(zkr_two_phase_commit_begin(handle(), detail::c_text("id", id), given.data(), given.count(),
                                             payload.data(), payload.size(), timeout.count(), &transaction,
                                             outcome.place()));
    return CommitTransaction(transaction);
  }

  /**
   * Takes over the transactions whose coordinator is not there any more, the oldest first, and sees to it
   * that they are decided: at once if all have voted, the abort when the time is over, of which half at
   * least is left from now on. Ask each for its outcome. A coordinator that has crashed is there until its
   * session timeout.
   */
  std::vector<CommitTransaction> recover() {
    detail::Outcome outcome;
    zkr_commit_transactions *transactions = nullptr;
    outcome.check(zkr_two_phase_commit_recover(handle(), &transactions, outcome.place()));
    return detail::commit_transactions(transactions);
  }

  /**
   * Becomes a site, and is one over all sessions of the client until it leaves, or this object and its
   * proposals go. Throws Exists if it has joined already, or another that is there is that site.
   */
  void join(const std::string &site) {
    detail::Outcome outcome;
    outcome.check(zkr_two_phase_commit_join(handle(), detail::c_text("site", site), outcome.place()));
  }

  /** Is that site no longer. What it was asked stays. Throws NotHeld if it has not joined. */
  void leave() {
    detail::Outcome outcome;
    outcome.check(zkr_two_phase_commit_leave(handle(), outcome.place()));
  }

  /**
   * Waits for the next transaction on which this site has to vote, or throws Timeout. Each is told once,
   * in the order in which they began. Throws NotHeld if this object has not joined.
   */
  Proposal next(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    zkr_proposal *proposal = nullptr;
    outcome.check(zkr_two_phase_commit_next(handle(), detail::wait_ms(timeout), &proposal, outcome.place()));
    return Proposal(proposal);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  Proposal next(Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    zkr_proposal *proposal = nullptr;
    outcome.check(zkr_two_phase_commit_next_cancellable(handle(), detail::wait_ms(timeout), token.get(),
                                                        &proposal, outcome.place()));
    return Proposal(proposal);
  }

  /**
   * Everything that this site has not acknowledged, voted on or not, the oldest first: what a site asks
   * for after a restart. Throws NotHeld if it has not joined.
   */
  std::vector<Proposal> pending() {
    detail::Outcome outcome;
    zkr_proposals *proposals = nullptr;
    outcome.check(zkr_two_phase_commit_pending(handle(), &proposals, outcome.place()));
    return detail::proposals(proposals);
  }

  /** How all transactions stand that are not over, the oldest first. */
  std::vector<CommitStatus> history() const {
    detail::Outcome outcome;
    zkr_commit_statuses *statuses = nullptr;
    outcome.check(zkr_two_phase_commit_history(handle(), &statuses, outcome.place()));
    return detail::commit_statuses(statuses);
  }

  /** How a transaction stands; nothing if there is none of that id. */
  std::optional<CommitStatus> show(const std::string &id) const {
    detail::Outcome outcome;
    zkr_commit_statuses *statuses = nullptr;
    outcome.check(zkr_two_phase_commit_show(handle(), detail::c_text("id", id), &statuses, outcome.place()));
    return detail::commit_status(statuses);
  }

  /**
   * Decides the abort, unless something is decided already; returns what is. Throws NoNode if there is
   * none of that id.
   */
  Decision decide_abort(const std::string &id, const std::string &reason) {
    detail::Outcome outcome;
    zkr_outcome decided = ZKR_OUTCOME_NONE;
    outcome.check(zkr_two_phase_commit_decide_abort(
        handle(), detail::c_text("id", id), detail::c_text("reason", reason), &decided, outcome.place()));
    return Decision(decided);
  }

  zkr_two_phase_commit *handle() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_two_phase_commit, zkr_two_phase_commit_free> handle_;
};

// --- end of generated

namespace detail {

inline std::vector<CommitTransaction> commit_transactions(zkr_commit_transactions *list) {
  return taken<CommitTransaction>(list, zkr_commit_transactions_count, zkr_commit_transactions_take,
                                  zkr_commit_transactions_free);
}

inline std::vector<Proposal> proposals(zkr_proposals *list) {
  return taken<Proposal>(list, zkr_proposals_count, zkr_proposals_take, zkr_proposals_free);
}

}  // namespace detail

/** Plain node operations, on the session of a client that must outlive this. */
class Nodes {
 public:
  explicit Nodes(zkr_client *client) : client_(client) {}

  // --- generated from api: nodes

  /** Writes that the server applies together or not at all. */
  Transaction transaction() {
    detail::Outcome outcome;
    zkr_transaction *transaction = nullptr;
    outcome.check(zkr_nodes_transaction(client_, &transaction, outcome.place()));
    return Transaction(transaction);
  }

  /** Returns the path that the node got. */
  std::string create(const std::string &path, const std::string &data = "",
                     CreateMode mode = CreateMode::Persistent) {
    detail::Outcome outcome;
    zkr_buffer *created = nullptr;
    outcome.check(zkr_nodes_create(client_, detail::c_text("path", path), data.data(), data.size(), mode,
                                   &created, outcome.place()));
    return detail::bytes(created);
  }

  /**
   * The same with a time to live, for CreateMode::Persistent and PersistentSequential: the server removes
   * the node once it has had neither children nor changes for so long. ErrorKind::Invalid if the server
   * does not take such nodes: they need zookeeper.extendedTypesEnabled=true.
   */
  std::string create(const std::string &path, const std::string &data, CreateMode mode, Milliseconds ttl) {
    detail::Outcome outcome;
    zkr_buffer *created = nullptr;
    outcome.check(zkr_nodes_create_ttl(client_, detail::c_text("path", path), data.data(), data.size(), mode,
                                       ttl.count(), &created, outcome.place()));
    return detail::bytes(created);
  }

  /** The data of the node, and what else the server knows about it. */
  std::pair<std::string, Stat> get(const std::string &path) const {
    detail::Outcome outcome;
    zkr_buffer *data = nullptr;
    Stat stat;
    outcome.check(zkr_nodes_get(client_, detail::c_text("path", path), &data, &stat, outcome.place()));
    return {detail::bytes(data), stat};
  }

  /** version is the version that the node must have, -1 for any. */
  Stat set(const std::string &path, const std::string &data, std::int32_t version = -1) {
    detail::Outcome outcome;
    Stat stat;
    outcome.check(zkr_nodes_set(client_, detail::c_text("path", path), data.data(), data.size(), version,
                                &stat, outcome.place()));
    return stat;
  }

  /** version is the version that the node must have, -1 for any. */
  void remove(const std::string &path, std::int32_t version = -1) {
    detail::Outcome outcome;
    outcome.check(zkr_nodes_delete(client_, detail::c_text("path", path), version, outcome.place()));
  }

  /** What the server knows about the node, or nothing if there is none. */
  std::optional<Stat> exists(const std::string &path) const {
    detail::Outcome outcome;
    bool exists = false;
    Stat stat;
    outcome.check(zkr_nodes_exists(client_, detail::c_text("path", path), &exists, &stat, outcome.place()));
    return exists ? std::optional<Stat>(stat) : std::nullopt;
  }

  /** The names of the children, sorted. */
  std::vector<std::string> children(const std::string &path) const {
    detail::Outcome outcome;
    zkr_strings *children = nullptr;
    outcome.check(zkr_nodes_children(client_, detail::c_text("path", path), &children, outcome.place()));
    return detail::strings(children);
  }

  /**
   * The paths of the ephemeral nodes that the session of this client has at path and below it, sorted.
   * Throws Invalid if the server is older than 3.6.
   */
  std::vector<std::string> ephemerals(const std::string &path) const {
    detail::Outcome outcome;
    zkr_strings *ephemerals = nullptr;
    outcome.check(zkr_nodes_ephemerals(client_, detail::c_text("path", path), &ephemerals, outcome.place()));
    return detail::strings(ephemerals);
  }

  /** Creates the node and all that is missing above it; no matter if it exists. */
  void ensure(const std::string &path) {
    detail::Outcome outcome;
    outcome.check(zkr_nodes_ensure(client_, detail::c_text("path", path), outcome.place()));
  }

  /** Deletes the node and everything below it; no matter if it is gone. */
  void remove_all(const std::string &path) {
    detail::Outcome outcome;
    outcome.check(zkr_nodes_delete_all(client_, detail::c_text("path", path), outcome.place()));
  }

  /**
   * Keeps a node and all that is below it in a cache: waits until all of it is known, and follows it from
   * then on. The node need not exist; what we may not read is left out. It costs two requests for each
   * node at first, then one or two for each change.
   */
  NodeCache cache(const std::string &path) {
    detail::Outcome outcome;
    zkr_node_cache *cache = nullptr;
    outcome.check(zkr_nodes_cache(client_, detail::c_text("path", path), &cache, outcome.place()));
    return NodeCache(cache);
  }

  /**
   * Tells the state of a node now, and whenever it has changed; it need not exist. A subtree is watched
   * node by node: it costs two requests for each node at first, then one or two for each change. ended is
   * as for Config::watch.
   */
  Subscription watch(const std::string &path, WatchKind kind, std::function<void(const NodeState &)> changed,
                     std::function<void(const Error &)> ended = nullptr) const {
    return detail::Calls::subscribe(detail::Following<NodeState>{std::move(changed), std::move(ended)},
                                    [&](void *data, zkr_subscription **out, zkr_error **error) {
                                      return zkr_nodes_watch(client_, detail::c_text("path", path), kind,
                                                             &detail::Calls::node, data, out, error);
                                    });
  }

  // --- end of generated

  /**
   * Replaces the data of a node by what change returns for it. If somebody sets it meanwhile, change is
   * called again, with that. Throws NoNode if there is no such node, ConnectionLost where the data may have
   * been replaced, or not.
   */
  template <typename Change>
  Stat update(const std::string &path, Change &&change) {
    for (;;) {
      const auto [data, stat] = get(path);
      // Not in the try: what it throws is its caller's.
      const std::string made = change(data);
      try {
        return set(path, made, stat.version);
      } catch (const BadVersion &) {
      }
    }
  }

 private:
  friend struct detail::Inside;

  zkr_client *client_;
};

// --- generated from api: options of the client
/** How a client connects and behaves. */
struct Options {
  struct Auth {
    std::string scheme, credential;
  };
  struct AclEntry {
    std::string scheme, id, permissions;
  };
  struct Tls {
    /** The authorities to trust, and their revocation lists if there are any. It must be given. */
    std::string ca;
    /**
     * Our own certificate and what leads from it to an authority, for servers that ask who we are; together
     * with key.
     */
    std::string cert;
    /** The private key of cert, without a passphrase. */
    std::string key;
    /** Whether the server's certificate must name the host of the connect string. Unless told: true. */
    bool verify_hostname = true;
    /**
     * Whether a revocation list in ca still counts when its time has passed (its nextUpdate). Without it,
     * the certificates that the list is about are refused then: nobody says which were revoked since.
     */
    bool allow_expired_crls = false;
  };
  struct Sasl {
    /** Who we are. */
    std::string user;
    /** How we prove it; it does not travel itself. */
    std::string password;
  };
  struct Retry {
    /** The first pause before a call tries again. Unless told: 50 ms. */
    Milliseconds base{50};
    /** The longest pause; pauses double up to it. Unless told: 5,000 ms. */
    Milliseconds max{5'000};
    /** How long a call goes without a server before ConnectionLost; connect_timeout if it is not given. */
    std::optional<Milliseconds> give_up_after;
  };

  /**
   * How long the servers keep the session of a client that they do not hear from. After that, what it held
   * is free for others. The servers may grant more or less: client.session_timeout() tells. Unless told:
   * 10,000 ms.
   */
  Milliseconds session_timeout{10'000};
  /** How long connecting may take before ConnectionLost. Unless told: 10,000 ms. */
  Milliseconds connect_timeout{10'000};
  /** Written into contender nodes so that people see who holds what; host:pid when not given. */
  std::string identity;
  /**
   * Credentials to present to the servers: a scheme such as digest, and a credential such as
   * user:password.
   */
  std::vector<Auth> auth;
  /**
   * Whether auth and sasl may travel over plain text, where everybody on the way can read the one, and
   * guess the password of the other. Without it, they travel over TLS and to servers on this machine
   * (localhost, 127.0.0.0/8, ::1) only.
   */
  bool allow_plaintext_auth = false;
  /**
   * Whether to refuse (Denied) a path that somebody else has made so that everybody may delete below it,
   * where nodes of ours are not everybody's. Without it there is a warning in the log, once per path.
   */
  bool refuse_open_parents = false;
  /**
   * Who may touch the nodes that we create: everybody (AclChoice::Open), whoever presents the same
   * credentials (AclChoice::Creator), or a list of scheme, id and letters of rwcda. By default
   * AclChoice::Creator if credentials are given, else AclChoice::Open.
   */
  AclChoice acl = AclChoice::Default;
  std::vector<AclEntry> acl_list;
  /** TLS towards the servers. */
  std::optional<Tls> tls;
  /** SASL towards the servers, with DIGEST-MD5. */
  std::optional<Sasl> sasl;
  /**
   * Whose node names to use, so that others on the same path take part: Curator's (Naming::Curator),
   * kazoo's (Naming::Kazoo), or those of the recipes that ship with ZooKeeper (Naming::Zookeeper). Unless
   * told: Naming::Curator.
   */
  Naming naming = Naming::Curator;
  /**
   * What the heartbeat of a holder proves. LeaseMode::Strict: that a majority of the servers still honours
   * the session. LeaseMode::Relaxed: less, for less work of the servers; for a few seconds around a
   * partition two clients may both believe that they hold. Unless told: LeaseMode::Strict.
   */
  LeaseMode lease = LeaseMode::Strict;
  /** How calls try again when the connection breaks. */
  Retry retry;
  /** Accept a server that has lost its majority and only reads. */
  bool read_only = false;
  /**
   * The largest tickTime of every server that may lead; doubled for clients of an observer that follows a
   * follower (observerMasterPort). With a quarter of the session timeout or less, a pause of half of that
   * costs nothing that is held; without it, of three tenths. zkrecipes doctor says what to give.
   */
  std::optional<Milliseconds> server_tick;
  /**
   * How many requests may be on their way at once. What comes on top waits for an answer, and can be
   * withdrawn meanwhile; heartbeats, pings and deletions do not wait. Unless told: 1,000.
   */
  std::uint32_t max_in_flight = 1'000;

 private:
  friend class Client;
  zkr_options convert() const {
    zkr_options given = ZKR_OPTIONS_INIT;
    given.session_timeout_ms = session_timeout.count();
    given.connect_timeout_ms = detail::wait_ms(connect_timeout);
    given.identity = detail::c_text_if_any("identity", identity);
    given.allow_plaintext_auth = allow_plaintext_auth;
    given.refuse_open_parents = refuse_open_parents;
    if (tls) {
      given.tls = true;
      given.tls_ca = detail::c_text_if_any("tls ca", tls->ca);
      given.tls_cert = detail::c_text_if_any("tls cert", tls->cert);
      given.tls_key = detail::c_text_if_any("tls key", tls->key);
      given.tls_verify_hostname = tls->verify_hostname;
      given.tls_allow_expired_crls = tls->allow_expired_crls;
    }
    if (sasl) {
      given.sasl_user = detail::c_text("sasl user", sasl->user);
      given.sasl_password = detail::c_text("sasl password", sasl->password);
    }
    given.naming = naming;
    given.lease = lease;
    given.retry_base_ms = retry.base.count();
    given.retry_max_ms = retry.max.count();
    if (retry.give_up_after) given.retry_give_up_after_ms = detail::limit_ms(*retry.give_up_after);
    given.read_only = read_only;
    if (server_tick) given.server_tick_ms = server_tick->count() == 0 ? -1 : server_tick->count();
    given.max_in_flight = max_in_flight;
    return given;
  }
};
// --- end of generated

/**
 * Calls back with what the library says of itself, up to a level, on a thread of its own: about connections,
 * sessions, leases, waits and losses of all clients of this process. What the callback does not come to is
 * dropped and counted. Each call of this takes a few hundred bytes that are never freed: listen once, not
 * again and again.
 */
inline Subscription on_log(LogLevel most, std::function<void(const LogRecord &)> callback) {
  return detail::Calls::subscribe(std::move(callback),
                                  [&](void *data, zkr_subscription **out, zkr_error **error) {
                                    return zkr_on_log(most, &detail::Calls::log, data, out, error);
                                  });
}

/**
 * A session with ZooKeeper, shared by any number of recipes and threads. The destructor closes it and waits
 * up to two seconds for that, so that a program which ends right after it leaves no lock to its session's
 * timeout.
 */
class Client {
 public:
  /**
   * hosts is a connect string with an optional chroot ("h1:2181,h2:2181/app"), or "embedded:" for a server
   * inside this process. Empty takes ZKRECIPES_HOSTS from the environment.
   */
  explicit Client(const std::string &hosts, const Options &options = {}) : Client(hosts, options, nullptr) {}

  /** The same, with a token that withdraws it. */
  Client(const std::string &hosts, const Options &options, const CancelToken &token)
      : Client(hosts, options, token.get()) {}

  /**
   * Waiters get Closed, what is held is released, deletions under way are awaited. Throws Timeout if no
   * server has confirmed the end of the session by then; the client is closed all the same, and the servers
   * end the session after its timeout.
   */
  void close(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    outcome.check(zkr_client_close(get(), detail::wait_ms(timeout), outcome.place()));
  }

  /**
   * Replaces the list of servers. A connection with one of the new list stays; otherwise it goes on with
   * another one in the same session. The chroot has to be the same; a list that cannot be used is Invalid,
   * and changes nothing.
   */
  void update_hosts(const std::string &hosts) {
    detail::Outcome outcome;
    outcome.check(zkr_client_update_hosts(get(), detail::c_text("hosts", hosts), outcome.place()));
  }

  State state() const noexcept { return State(zkr_client_state(get())); }
  std::uint64_t session_id() const noexcept { return zkr_client_session_id(get()); }
  /** As negotiated with the server. */
  Milliseconds session_timeout() const noexcept { return Milliseconds(zkr_client_session_timeout(get())); }
  /** For how long the server certainly still honours this session; 0 while nothing is held. */
  Milliseconds lease_remaining() const noexcept { return Milliseconds(zkr_client_lease_remaining(get())); }

  /**
   * What the client has done and seen since it connected, and how it stands: numbers by name, such as
   * "acquisitions", "losses.session", "waits.count" and "waits.sum_ms". docs/observability.md has all of
   * them.
   */
  std::map<std::string, double> metrics() const {
    detail::Outcome outcome;
    zkr_metrics *counted = nullptr;
    outcome.check(zkr_client_metrics(get(), &counted, outcome.place()));
    const detail::Handle<zkr_metrics, zkr_metrics_free> freed(counted);
    std::map<std::string, double> all;
    for (std::size_t i = 0; i < zkr_metrics_count(counted); i++) {
      const zkr_metric *one = zkr_metrics_get(counted, i);
      all.emplace(one->name, one->value);
    }
    return all;
  }

  /** The same as the text that Prometheus reads, in which times are in seconds. */
  std::string prometheus() const {
    detail::Outcome outcome;
    zkr_buffer *text = nullptr;
    outcome.check(zkr_client_prometheus(get(), &text, outcome.place()));
    return detail::bytes(text);
  }

  /**
   * The nodes that recipes of this client went on without since it connected, by path, and why: "denied",
   * "encoding", "children" of an item that somebody has made nodes below, or "size" of one that is too large
   * to be taken. Asks no server.
   */
  std::map<std::string, std::string> skipped() const {
    detail::Outcome outcome;
    zkr_entries *nodes = nullptr;
    outcome.check(zkr_client_skipped(get(), &nodes, outcome.place()));
    return detail::entries(nodes);
  }

  Subscription on_state(std::function<void(State)> callback) {
    return detail::Calls::subscribe(
        std::move(callback), [&](void *data, zkr_subscription **out, zkr_error **error) {
          return zkr_client_on_state(get(), &detail::Calls::state, data, out, error);
        });
  }

  /** Makes a handle of a lock. Validates, but sends nothing. */
  Lock lock(const std::string &path, const LockOptions &options = {}) {
    const zkr_lock_options c = options.convert();
    detail::Outcome outcome;
    zkr_lock *lock = nullptr;
    outcome.check(zkr_lock_new(get(), detail::c_text("path", path), &c, &lock, outcome.place()));
    return Lock(lock);
  }

  /** Makes a handle of a read/write lock. Validates, but sends nothing. */
  ReadWriteLock read_write_lock(const std::string &path) {
    detail::Outcome outcome;
    zkr_read_write_lock *lock = nullptr;
    outcome.check(zkr_read_write_lock_new(get(), detail::c_text("path", path), &lock, outcome.place()));
    return ReadWriteLock(lock);
  }

  /**
   * Makes one lock of several plain ones of this client: client.multi_lock({a, b}), or of locks that nobody
   * else needs: client.multi_lock({client.lock("/a"), client.lock("/b")}). Sends nothing.
   */
  MultiLock multi_lock(std::initializer_list<detail::Lent<Lock>> locks) {
    std::vector<std::reference_wrapper<const Lock>> all;
    for (const auto &lock : locks) all.emplace_back(lock.it);
    return multi_lock(all);
  }

  /** The same of as many as there are. */
  MultiLock multi_lock(const std::vector<std::reference_wrapper<const Lock>> &locks) {
    std::vector<zkr_lock *> handles;
    for (const Lock &lock : locks) handles.push_back(lock.get());
    detail::Outcome outcome;
    zkr_multi_lock *lock = nullptr;
    outcome.check(zkr_multi_lock_new(get(), handles.data(), handles.size(), &lock, outcome.place()));
    return MultiLock(lock);
  }

  /** Makes a handle of a semaphore with so many permits. Validates, but sends nothing. */
  Semaphore semaphore(const std::string &path, std::size_t permits) {
    detail::Outcome outcome;
    zkr_semaphore *semaphore = nullptr;
    outcome.check(
        zkr_semaphore_new(get(), detail::c_text("path", path), permits, &semaphore, outcome.place()));
    return Semaphore(semaphore);
  }

  /** Makes a handle of an election, for a candidate that says data to whoever asks for the leader. */
  Election election(const std::string &path, const std::string &data = "",
                    const ElectionOptions &options = {}) {
    const zkr_election_options given = options.convert();
    detail::Outcome outcome;
    zkr_election *made = nullptr;
    outcome.check(zkr_election_new(get(), detail::c_text("path", path), data.data(), data.size(), &given,
                                   &made, outcome.place()));
    return Election(made);
  }

  // --- generated from api: factories

  /** Makes a handle of a barrier. Validates, but sends nothing: create() puts the barrier up. */
  Barrier barrier(const std::string &path) {
    detail::Outcome outcome;
    zkr_barrier *made = nullptr;
    outcome.check(zkr_barrier_new(get(), detail::c_text("path", path), &made, outcome.place()));
    return Barrier(made);
  }

  /** Makes a handle of a config. Validates, but sends nothing. */
  Config config(const std::string &path) {
    detail::Outcome outcome;
    zkr_config *made = nullptr;
    outcome.check(zkr_config_new(get(), detail::c_text("path", path), &made, outcome.place()));
    return Config(made);
  }

  /** Makes a handle of a counter. Validates, but sends nothing. */
  Counter counter(const std::string &path, const CounterOptions &options = {}) {
    const zkr_counter_options given = options.convert();
    detail::Outcome outcome;
    zkr_counter *made = nullptr;
    outcome.check(zkr_counter_new(get(), detail::c_text("path", path), &given, &made, outcome.place()));
    return Counter(made);
  }

  /** Makes a handle of a delay queue. Validates, but sends nothing. */
  DelayQueue delay_queue(const std::string &path, const QueueOptions &options = {}) {
    const zkr_queue_options given = options.convert();
    detail::Outcome outcome;
    zkr_delay_queue *made = nullptr;
    outcome.check(zkr_delay_queue_new(get(), detail::c_text("path", path), &given, &made, outcome.place()));
    return DelayQueue(made);
  }

  /** Makes a handle of the services below a path. Validates, but sends nothing. */
  Discovery discovery(const std::string &path) {
    detail::Outcome outcome;
    zkr_discovery *made = nullptr;
    outcome.check(zkr_discovery_new(get(), detail::c_text("path", path), &made, outcome.place()));
    return Discovery(made);
  }

  /**
   * Makes a handle of a member of a double barrier for so many parties. Validates, but sends nothing. The
   * name tells the members apart; an empty one is the identity of the client.
   */
  DoubleBarrier double_barrier(const std::string &path, std::size_t parties, const std::string &name = "") {
    detail::Outcome outcome;
    zkr_double_barrier *made = nullptr;
    outcome.check(zkr_double_barrier_new(get(), detail::c_text("path", path), parties,
                                         detail::c_text_if_any("name", name), &made, outcome.place()));
    return DoubleBarrier(made);
  }

  /** Makes a handle of a group. Validates, but sends nothing. */
  Group group(const std::string &path, const GroupOptions &options = {}) {
    const zkr_group_options given = options.convert();
    detail::Outcome outcome;
    zkr_group *made = nullptr;
    outcome.check(zkr_group_new(get(), detail::c_text("path", path), &given, &made, outcome.place()));
    return Group(made);
  }

  /**
   * Makes a handle of a latch that has to be counted down count times, at least 1. Who counts first
   * decides: a latch that is there keeps what is left of it. Validates, but sends nothing.
   */
  Latch latch(const std::string &path, std::size_t count) {
    detail::Outcome outcome;
    zkr_latch *made = nullptr;
    outcome.check(zkr_latch_new(get(), detail::c_text("path", path), count, &made, outcome.place()));
    return Latch(made);
  }

  /** Makes a handle of the names below a path. Validates, but sends nothing. */
  Names names(const std::string &path) {
    detail::Outcome outcome;
    zkr_names *made = nullptr;
    outcome.check(zkr_names_new(get(), detail::c_text("path", path), &made, outcome.place()));
    return Names(made);
  }

  /**
   * Makes a handle of a member of those who share partitions: names, or how many, which names them "0",
   * "1" and so on. All members have to name the same. Validates, but sends nothing.
   */
  Partitioner partitioner(const std::string &path, const Partitions &partitions,
                          const PartitionerOptions &options = {}) {
    const zkr_partitioner_options given = options.convert();
    detail::Outcome outcome;
    zkr_partitioner *made = nullptr;
    outcome.check(zkr_partitioner_new(get(), detail::c_text("path", path), partitions.data(),
                                      partitions.count(), &given, &made, outcome.place()));
    return Partitioner(made);
  }

  /** Makes a handle of a priority queue. Validates, but sends nothing. */
  PriorityQueue priority_queue(const std::string &path, const QueueOptions &options = {}) {
    const zkr_queue_options given = options.convert();
    detail::Outcome outcome;
    zkr_priority_queue *made = nullptr;
    outcome.check(
        zkr_priority_queue_new(get(), detail::c_text("path", path), &given, &made, outcome.place()));
    return PriorityQueue(made);
  }

  /** Makes a handle of a queue. Validates, but sends nothing. */
  Queue queue(const std::string &path, const QueueOptions &options = {}) {
    const zkr_queue_options given = options.convert();
    detail::Outcome outcome;
    zkr_queue *made = nullptr;
    outcome.check(zkr_queue_new(get(), detail::c_text("path", path), &given, &made, outcome.place()));
    return Queue(made);
  }

  /**
   * Makes a handle of the transactions at a path. Validates, but sends nothing. The mode says who decides
   * those that it begins.
   */
  TwoPhaseCommit two_phase_commit(const std::string &path, CommitMode mode = CommitMode::Coordinator) {
    detail::Outcome outcome;
    zkr_two_phase_commit *made = nullptr;
    outcome.check(
        zkr_two_phase_commit_new(get(), detail::c_text("path", path), mode, &made, outcome.place()));
    return TwoPhaseCommit(made);
  }

  // --- end of generated

  // --- generated from api: sequencer

  /** Whether the acquisition that a sequencer (Held::sequencer) stands for still stands. */
  bool check_sequencer(const std::string &sequencer) {
    detail::Outcome outcome;
    bool valid = false;
    outcome.check(
        zkr_client_check_sequencer(get(), detail::c_text("sequencer", sequencer), &valid, outcome.place()));
    return valid;
  }

  /** Waits until it no longer stands, throwing Timeout if it still does after the time given. */
  void watch_sequencer(const std::string &sequencer, Milliseconds timeout = forever) {
    detail::Outcome outcome;
    outcome.check(zkr_client_watch_sequencer(get(), detail::c_text("sequencer", sequencer),
                                             detail::wait_ms(timeout), outcome.place()));
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  void watch_sequencer(const std::string &sequencer, Milliseconds timeout, const CancelToken &token) {
    detail::Outcome outcome;
    outcome.check(zkr_client_watch_sequencer_cancellable(get(), detail::c_text("sequencer", sequencer),
                                                         detail::wait_ms(timeout), token.get(),
                                                         outcome.place()));
  }

  // --- end of generated

  // --- generated from api: whoami

  /**
   * As whom the server knows this client, each as scheme:id, which is what an access list names. Throws
   * Invalid where the server is older than 3.7, and does not tell.
   */
  std::vector<std::string> whoami() {
    detail::Outcome outcome;
    zkr_strings *identities = nullptr;
    outcome.check(zkr_client_whoami(get(), &identities, outcome.place()));
    return detail::strings(identities);
  }

  // --- end of generated

  Nodes nodes() const noexcept { return Nodes(get()); }

  /** Readable while callbacks wait for dispatch(); from the first call on they run nowhere else. */
  int event_fd() { return number(zkr_client_event_fd(get())); }

  /** Runs up to max waiting callbacks (0: all) on this thread and returns how many; waits for the first one.
   */
  int dispatch(int max = 0, Milliseconds timeout = Milliseconds(0)) {
    return number(zkr_client_dispatch(get(), max, detail::wait_ms(timeout)));
  }

  zkr_client *get() const noexcept { return handle_.get(); }

 private:
  Client(const std::string &hosts, const Options &options, zkr_cancel_token *token) {
    std::vector<zkr_auth> auth;
    for (const auto &one : options.auth)
      auth.push_back(
          {detail::c_text("auth scheme", one.scheme), one.credential.data(), one.credential.size()});
    std::vector<zkr_acl_entry> acl;
    for (const auto &one : options.acl_list)
      acl.push_back({detail::c_text("acl scheme", one.scheme), detail::c_text("acl id", one.id),
                     detail::c_text("acl permissions", one.permissions)});

    zkr_options c = options.convert();
    c.auth = auth.data();
    c.auth_count = auth.size();
    c.acl = options.acl;
    c.acl_list = acl.data();
    c.acl_count = acl.size();

    detail::Outcome outcome;
    zkr_client *client = nullptr;
    outcome.check(
        zkr_client_connect_cancellable(detail::c_text("hosts", hosts), &c, token, &client, outcome.place()));
    handle_.reset(client);
  }

  static int number(int number) {
    if (number < 0) {
      const auto code = static_cast<zkr_status>(-number);
      detail::raise(code, std::string("the client's events: ") + zkr_status_name(code));
    }
    return number;
  }

  struct Closed {
    void operator()(zkr_client *client) const noexcept {
      zkr_client_close(client, 2'000, nullptr);  // inside a callback this is refused, and freeing has to do
      zkr_client_free(client);
    }
  };

  std::unique_ptr<zkr_client, Closed> handle_;
};

/** The version of the library. */
inline std::string version() { return zkr_version(); }

/**
 * Ends the threads of the library and closes its descriptors, for a plug-in that is unloaded, and for tools
 * that count what is left at the end. Throws Invalid while a client is open, Timeout when something goes on
 * for longer, Deadlock inside a callback. No other thread may use the library meanwhile; the next client that
 * is connected starts everything anew. See zkr_library_shutdown.
 */
inline void library_shutdown(Milliseconds timeout = forever) {
  detail::Outcome outcome;
  outcome.check(zkr_library_shutdown(detail::wait_ms(timeout), outcome.place()));
}

}  // namespace zkr

#endif  // ZKRECIPES_HPP
