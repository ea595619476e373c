/* SPDX-License-Identifier: Apache-2.0
 *
 * zkrecipes for C++17: the C interface with destructors, exceptions and std::chrono. Header only.
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
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "zkrecipes.h"

namespace zkr {

/** What Error::code() can be. The names are those of every other language; the values are those of C. */
struct ErrorKind {
  static constexpr zkr_status Timeout = ZKR_TIMEOUT;
  static constexpr zkr_status Cancelled = ZKR_CANCELLED;
  static constexpr zkr_status ConnectionLost = ZKR_CONNECTION_LOST;
  static constexpr zkr_status Lost = ZKR_LOST;
  static constexpr zkr_status NotHeld = ZKR_NOT_HELD;
  static constexpr zkr_status Denied = ZKR_DENIED;
  static constexpr zkr_status Invalid = ZKR_INVALID;
  static constexpr zkr_status TooLarge = ZKR_TOO_LARGE;
  static constexpr zkr_status Exists = ZKR_EXISTS;
  static constexpr zkr_status NoNode = ZKR_NO_NODE;
  static constexpr zkr_status BadVersion = ZKR_BAD_VERSION;
  static constexpr zkr_status NotEmpty = ZKR_NOT_EMPTY;
  static constexpr zkr_status Mismatch = ZKR_MISMATCH;
  static constexpr zkr_status Closed = ZKR_CLOSED;
  static constexpr zkr_status Deadlock = ZKR_DEADLOCK;
  static constexpr zkr_status Forked = ZKR_FORKED;
  static constexpr zkr_status Internal = ZKR_INTERNAL;
};

/** What went wrong: what() says what happened and what to do. */
class Error : public std::runtime_error {
 public:
  Error(zkr_status code, const std::string &message) : std::runtime_error(message), code_(code) {}

  /** Takes over what a zkr_error says; the zkr_error stays the caller's. */
  Error(zkr_status code, const zkr_error *error)
      : std::runtime_error(error ? zkr_error_message(error) : zkr_status_name(code)),
        code_(code),
        reason_(zkr_error_reason(error)),
        retryable_(zkr_error_retryable(error)),
        path_(zkr_error_path(error) ? zkr_error_path(error) : "") {}

  /** One of ErrorKind. */
  zkr_status code() const noexcept { return code_; }
  /** The path concerned; empty when there is none. */
  const std::string &path() const noexcept { return path_; }
  /** Whether the same call may succeed when it is made again. */
  bool retryable() const noexcept { return retryable_; }
  /** Why it is gone, for ErrorKind::Lost. */
  zkr_reason reason() const noexcept { return reason_; }

 private:
  zkr_status code_;
  zkr_reason reason_ = ZKR_REASON_NONE;
  bool retryable_ = false;
  std::string path_;
};

using Milliseconds = std::chrono::milliseconds;
using Stat = zkr_stat;
using State = zkr_state;

/** A timeout that never runs out. */
inline constexpr Milliseconds forever{-1};

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
    if (status != ZKR_OK) throw Error(status, error_);
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
  if (!(ms > 0)) return 0;
  if (ms >= 9e15) return -1;
  const auto whole = static_cast<std::int64_t>(ms);
  return static_cast<double>(whole) < ms ? whole + 1 : whole;
}

inline void log(const char *what, const char *problem) noexcept {
  std::fprintf(stderr, "zkrecipes: %s: %s\n", what, problem);
}

/** Runs a user's callback: an exception in it is reported and stops nothing, as it may not unwind into C. */
template <typename Body>
void contain(Body &&body) noexcept {
  try {
    body();
  } catch (const std::exception &thrown) {
    log("a callback threw", thrown.what());
  } catch (...) {
    log("a callback threw", "not a std::exception");
  }
}

}  // namespace detail

/** A callback in place: it stays there as long as this lives. Once this is gone it is not running any more.
 */
class [[nodiscard]] Subscription {
 public:
  Subscription() = default;
  Subscription(Subscription &&) = default;
  Subscription &operator=(Subscription &&other) {
    handle_ = std::move(other.handle_);
    function_ = std::move(other.function_);
    return *this;
  }

  /** Ends it now. */
  void unsubscribe() noexcept {
    handle_.reset();
    function_.reset();
  }

 private:
  friend class Client;
  friend class Lock;
  friend class Held;

  using OnState = std::shared_ptr<std::function<void(State)>>;
  using OnLost = std::shared_ptr<std::function<void(const Error &)>>;

  // The callback may end its own subscription, so each call keeps the function alive for itself.
  static void state(zkr_state state, void *user_data) {
    const OnState function = *static_cast<OnState *>(user_data);
    detail::contain([&] { (*function)(state); });
  }

  static void lost(const zkr_error *error, void *user_data) {
    const OnLost function = *static_cast<OnLost *>(user_data);
    detail::contain([&] { (*function)(Error(zkr_error_code(error), error)); });
  }

  template <typename Function, typename Register>
  static Subscription make(Function &&function, Register &&enlist) {
    auto owner = std::make_shared<std::shared_ptr<std::decay_t<Function>>>(
        std::make_shared<std::decay_t<Function>>(std::forward<Function>(function)));
    detail::Outcome outcome;
    zkr_subscription *handle = nullptr;
    const zkr_status status = enlist(owner.get(), &handle, outcome.place());
    outcome.check(status);
    Subscription subscription;
    subscription.function_ = std::move(owner);
    subscription.handle_.reset(handle);
    return subscription;
  }

  // In this order: the handle goes first, and with it the last call of the function.
  std::shared_ptr<void> function_;
  detail::Handle<zkr_subscription, zkr_subscription_free> handle_;
};

/** Withdraws one call from another thread. Make one per call. */
class CancelToken {
 public:
  CancelToken() : handle_(zkr_cancel_token_new()) {}

  /** Ends every call that was given this token with ErrorKind::Cancelled. */
  void cancel() noexcept { zkr_cancel_token_cancel(handle_.get()); }

  zkr_cancel_token *get() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_cancel_token, zkr_cancel_token_free> handle_;
};

/** Writes that the server applies together or not at all. Adding sends nothing, commit() sends all of it. */
class Transaction {
 public:
  explicit Transaction(zkr_transaction *handle) : handle_(handle) {}

  Transaction &create(const std::string &path, const std::string &data,
                      zkr_create_mode mode = ZKR_PERSISTENT) {
    detail::Outcome outcome;
    outcome.check(
        zkr_transaction_create(get(), path.c_str(), data.data(), data.size(), mode, outcome.place()));
    return *this;
  }

  /** version is the version that the node must have, -1 for any. */
  Transaction &set(const std::string &path, const std::string &data, std::int32_t version = -1) {
    detail::Outcome outcome;
    outcome.check(
        zkr_transaction_set(get(), path.c_str(), data.data(), data.size(), version, outcome.place()));
    return *this;
  }

  Transaction &remove(const std::string &path, std::int32_t version = -1) {
    detail::Outcome outcome;
    outcome.check(zkr_transaction_delete(get(), path.c_str(), version, outcome.place()));
    return *this;
  }

  Transaction &check(const std::string &path, std::int32_t version = -1) {
    detail::Outcome outcome;
    outcome.check(zkr_transaction_check(get(), path.c_str(), version, outcome.place()));
    return *this;
  }

  /** ErrorKind::NotHeld if it is guarded and the acquisition no longer stands; nothing is applied then. */
  void commit() {
    detail::Outcome outcome;
    outcome.check(zkr_transaction_commit(get(), outcome.place()));
  }

  zkr_transaction *get() const noexcept { return handle_.get(); }

 private:
  detail::Handle<zkr_transaction, zkr_transaction_free> handle_;
};

/** One acquisition. Its destructor releases it in the background, if release() was not called. */
class Held {
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

  /** Rises strictly from one acquisition of a path to the next. */
  std::uint64_t fencing_token() const noexcept { return zkr_held_fencing_token(get()); }
  /** Whether it certainly stands at this moment; never true again once false. Asks no server. */
  bool is_held() const noexcept { return zkr_held_is_held(get()); }
  std::string path() const { return text(zkr_held_path(get())); }
  /** The path of our own node. */
  std::string node() const { return text(zkr_held_node(get())); }
  /** A text that names this acquisition, for others to check. */
  std::string sequencer() const { return text(zkr_held_sequencer(get())); }

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
    return Subscription::make(std::move(callback),
                              [&](void *data, zkr_subscription **out, zkr_error **error) {
                                return zkr_held_on_lost(get(), &Subscription::lost, data, out, error);
                              });
  }

  /** Releases; ConnectionLost means unconfirmed, and the deletion goes on in the background. */
  void release() {
    detail::Outcome outcome;
    outcome.check(zkr_held_release(get(), outcome.place()));
  }

  zkr_held *get() const noexcept { return handle_.get(); }

 private:
  static std::string text(const char *text) { return text ? text : ""; }

  void let_go() noexcept {
    if (handle_) zkr_held_release_in_background(get(), nullptr);
  }

  detail::Handle<zkr_held, zkr_held_free> handle_;
};

/** Somebody who holds or waits. */
struct Contender {
  std::string node, identity, kind;
  std::uint64_t session_id;
  std::chrono::system_clock::time_point since;
  bool holds;
};

struct LockOptions {
  /** The handle is the owner: nested acquisitions count. */
  bool reentrant = false;
  std::uint32_t local_handoff = 0;
};

/**
 * A lock that at most one holder in the whole ensemble has at a time. It is TimedLockable: std::lock_guard,
 * std::unique_lock and std::scoped_lock take it. The destructor releases what is held, in the background.
 */
class Lock {
 public:
  explicit Lock(zkr_lock *handle) : shared_(std::make_unique<Shared>(handle)) {}

  /** Waits for as long as it takes. */
  void lock() { wait(forever.count(), nullptr); }

  /** Waits until it is acquired or the token is cancelled, which throws Cancelled. */
  void lock(const CancelToken &token) { wait(forever.count(), token.get()); }

  /** One attempt: false if somebody else has it. Everything else that goes wrong throws. */
  bool try_lock() { return attempt(0); }

  template <typename Rep, typename Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period> &duration) {
    return attempt(detail::wait_ms(duration));
  }

  template <typename Clock, typename Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration> &deadline) {
    return attempt(detail::wait_ms(deadline - Clock::now()));
  }

  /** Releases without waiting for the server. What goes wrong is reported on stderr; release() throws it. */
  void unlock() noexcept {
    detail::Outcome outcome;
    if (zkr_lock_release_in_background(get(), outcome.place()) != ZKR_OK)
      detail::log("unlock", outcome.message());
    leave();
  }

  /** Releases; ConnectionLost means unconfirmed, and the deletion goes on in the background. */
  void release() {
    detail::Outcome outcome;
    const zkr_status status = zkr_lock_release(get(), outcome.place());
    leave();
    outcome.check(status);
  }

  /** Acquires and gives the acquisition as a value, which releases on destruction. */
  Held acquire() { return take(forever.count(), nullptr); }

  /** The same within a time, throwing Timeout. */
  template <typename Rep, typename Period>
  Held acquire(const std::chrono::duration<Rep, Period> &timeout) {
    return take(timeout == forever ? forever.count() : detail::wait_ms(timeout), nullptr);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  template <typename Rep, typename Period>
  Held acquire(const std::chrono::duration<Rep, Period> &timeout, const CancelToken &token) {
    return take(timeout == forever ? forever.count() : detail::wait_ms(timeout), token.get());
  }

  /** One attempt: nothing if somebody else has it. */
  std::optional<Held> try_acquire() {
    try {
      return take(0, nullptr);
    } catch (const Error &error) {
      if (error.code() == ErrorKind::Timeout) return std::nullopt;
      throw;
    }
  }

  /** Whether lock() or try_lock…() succeeded and unlock() is still due. It cannot see loss; is_held() can. */
  bool owns_lock() const noexcept { return shared_ && shared_->owed > 0; }

  /** Whether it is certainly held at this moment. Asks no server. */
  bool is_held() const noexcept { return zkr_lock_is_held(get()); }

  /** Rises strictly from one acquisition of a path to the next. Throws NotHeld when nothing is held. */
  std::uint64_t fencing_token() const {
    const std::uint64_t token = zkr_lock_fencing_token(get());
    if (token == 0) throw Error(ErrorKind::NotHeld, "not held: there is no fencing token; acquire first");
    return token;
  }

  /** Asks the server: returns, or throws NotHeld, or ConnectionLost when it cannot be known. */
  void verify() const {
    detail::Outcome outcome;
    outcome.check(zkr_lock_verify(get(), outcome.place()));
  }

  /** Writes that the server applies only while the current acquisition stands. */
  Transaction guarded() const {
    detail::Outcome outcome;
    zkr_transaction *transaction = nullptr;
    outcome.check(zkr_lock_guarded(get(), &transaction, outcome.place()));
    return Transaction(transaction);
  }

  /** Calls back once when the current acquisition is lost, never on its own release. */
  Subscription on_lost(std::function<void(const Error &)> callback) const {
    return Subscription::make(std::move(callback),
                              [&](void *data, zkr_subscription **out, zkr_error **error) {
                                return zkr_lock_on_lost(get(), &Subscription::lost, data, out, error);
                              });
  }

  /** Ends all waits in progress on this handle with Cancelled; never later ones. */
  void cancel() {
    detail::Outcome outcome;
    outcome.check(zkr_lock_cancel(get(), outcome.place()));
  }

  /** Who holds and who waits, in order. */
  std::vector<Contender> contenders() const {
    detail::Outcome outcome;
    zkr_contenders *list = nullptr;
    outcome.check(zkr_lock_contenders(get(), &list, outcome.place()));
    const detail::Handle<zkr_contenders, zkr_contenders_free> freed(list);
    std::vector<Contender> contenders;
    for (std::size_t i = 0; i < zkr_contenders_count(list); i++) {
      const zkr_contender *one = zkr_contenders_get(list, i);
      contenders.push_back({one->node, one->identity, one->kind, one->session_id,
                            std::chrono::system_clock::time_point(Milliseconds(one->since_ms)), one->holds});
    }
    return contenders;
  }

  std::string path() const {
    const char *path = zkr_lock_path(get());
    return path ? path : "";
  }

  zkr_lock *get() const noexcept { return shared_ ? shared_->handle.get() : nullptr; }

 private:
  struct Shared {
    explicit Shared(zkr_lock *lock) : handle(lock) {}
    detail::Handle<zkr_lock, zkr_lock_free> handle;
    std::atomic<int> owed{0};
  };

  void wait(std::int64_t timeout_ms, zkr_cancel_token *token) {
    detail::Outcome outcome;
    outcome.check(zkr_lock_acquire_cancellable(get(), timeout_ms, token, nullptr, outcome.place()));
    enter();
  }

  bool attempt(std::int64_t timeout_ms) {
    detail::Outcome outcome;
    const zkr_status status = zkr_lock_acquire(get(), timeout_ms, nullptr, outcome.place());
    if (status == ZKR_TIMEOUT) return false;
    outcome.check(status);
    enter();
    return true;
  }

  Held take(std::int64_t timeout_ms, zkr_cancel_token *token) {
    detail::Outcome outcome;
    zkr_held *held = nullptr;
    outcome.check(zkr_lock_acquire_cancellable(get(), timeout_ms, token, &held, outcome.place()));
    return Held(held);
  }

  void enter() noexcept {
    if (shared_) shared_->owed++;
  }

  void leave() noexcept {
    if (owns_lock()) shared_->owed--;
  }

  std::unique_ptr<Shared> shared_;
};

/** Plain node operations, on the session of a client that must outlive this. */
class Nodes {
 public:
  explicit Nodes(zkr_client *client) : client_(client) {}

  /** Returns the path that the node got. */
  std::string create(const std::string &path, const std::string &data = "",
                     zkr_create_mode mode = ZKR_PERSISTENT) {
    detail::Outcome outcome;
    zkr_buffer *created = nullptr;
    outcome.check(
        zkr_nodes_create(client_, path.c_str(), data.data(), data.size(), mode, &created, outcome.place()));
    return take(created);
  }

  std::pair<std::string, Stat> get(const std::string &path) const {
    detail::Outcome outcome;
    zkr_buffer *data = nullptr;
    Stat stat;
    outcome.check(zkr_nodes_get(client_, path.c_str(), &data, &stat, outcome.place()));
    return {take(data), stat};
  }

  /** version is the version that the node must have, -1 for any. */
  Stat set(const std::string &path, const std::string &data, std::int32_t version = -1) {
    detail::Outcome outcome;
    Stat stat;
    outcome.check(
        zkr_nodes_set(client_, path.c_str(), data.data(), data.size(), version, &stat, outcome.place()));
    return stat;
  }

  void remove(const std::string &path, std::int32_t version = -1) {
    detail::Outcome outcome;
    outcome.check(zkr_nodes_delete(client_, path.c_str(), version, outcome.place()));
  }

  std::optional<Stat> exists(const std::string &path) const {
    detail::Outcome outcome;
    bool exists = false;
    Stat stat;
    outcome.check(zkr_nodes_exists(client_, path.c_str(), &exists, &stat, outcome.place()));
    return exists ? std::optional<Stat>(stat) : std::nullopt;
  }

  /** The names of the children, sorted. */
  std::vector<std::string> children(const std::string &path) const {
    detail::Outcome outcome;
    zkr_strings *names = nullptr;
    outcome.check(zkr_nodes_children(client_, path.c_str(), &names, outcome.place()));
    const detail::Handle<zkr_strings, zkr_strings_free> freed(names);
    std::vector<std::string> children;
    for (std::size_t i = 0; i < zkr_strings_count(names); i++)
      children.emplace_back(zkr_strings_get(names, i));
    return children;
  }

  /** Creates the node and all that is missing above it; no matter if it exists. */
  void ensure(const std::string &path) {
    detail::Outcome outcome;
    outcome.check(zkr_nodes_ensure(client_, path.c_str(), outcome.place()));
  }

  /** Deletes the node and everything below it; no matter if it is gone. */
  void remove_all(const std::string &path) {
    detail::Outcome outcome;
    outcome.check(zkr_nodes_delete_all(client_, path.c_str(), outcome.place()));
  }

  Transaction transaction() {
    detail::Outcome outcome;
    zkr_transaction *transaction = nullptr;
    outcome.check(zkr_nodes_transaction(client_, &transaction, outcome.place()));
    return Transaction(transaction);
  }

 private:
  static std::string take(zkr_buffer *buffer) {
    const detail::Handle<zkr_buffer, zkr_buffer_free> freed(buffer);
    return std::string(static_cast<const char *>(zkr_buffer_data(buffer)), zkr_buffer_size(buffer));
  }

  zkr_client *client_;
};

/** How a client connects and behaves; zkrecipes.h explains each option. */
struct Options {
  struct Auth {
    std::string scheme, credential;
  };
  struct AclEntry {
    std::string scheme, id, permissions;
  };
  struct Tls {
    std::string ca, cert, key;
    bool verify_hostname = true;
  };
  struct Sasl {
    std::string user, password;
  };
  struct Retry {
    Milliseconds base{50}, max{5'000};
    std::optional<Milliseconds> give_up_after;
  };

  Milliseconds session_timeout{10'000};
  Milliseconds connect_timeout{10'000};
  /** Empty is "host:pid". */
  std::string identity;
  std::vector<Auth> auth;
  zkr_acl acl = ZKR_ACL_DEFAULT;
  std::vector<AclEntry> acl_list;
  std::optional<Tls> tls;
  std::optional<Sasl> sasl;
  zkr_naming naming = ZKR_NAMING_CURATOR;
  zkr_lease lease = ZKR_LEASE_STRICT;
  Retry retry;
  bool read_only = false;
};

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

  /** Waiters get Closed, what is held is released, deletions under way are awaited. */
  void close(Milliseconds timeout = forever) {
    detail::Outcome outcome;
    outcome.check(zkr_client_close(get(), timeout.count(), outcome.place()));
  }

  State state() const noexcept { return zkr_client_state(get()); }
  std::uint64_t session_id() const noexcept { return zkr_client_session_id(get()); }
  /** As negotiated with the server. */
  Milliseconds session_timeout() const noexcept { return Milliseconds(zkr_client_session_timeout(get())); }
  /** For how long the server certainly still honours this session; 0 while nothing is held. */
  Milliseconds lease_remaining() const noexcept { return Milliseconds(zkr_client_lease_remaining(get())); }

  Subscription on_state(std::function<void(State)> callback) {
    return Subscription::make(std::move(callback),
                              [&](void *data, zkr_subscription **out, zkr_error **error) {
                                return zkr_client_on_state(get(), &Subscription::state, data, out, error);
                              });
  }

  /** Makes a handle of a lock. Validates, but sends nothing. */
  Lock lock(const std::string &path, const LockOptions &options = {}) {
    zkr_lock_options c = ZKR_LOCK_OPTIONS_INIT;
    c.reentrant = options.reentrant;
    c.local_handoff = options.local_handoff;
    detail::Outcome outcome;
    zkr_lock *lock = nullptr;
    outcome.check(zkr_lock_new(get(), path.c_str(), &c, &lock, outcome.place()));
    return Lock(lock);
  }

  Nodes nodes() const noexcept { return Nodes(get()); }

  /** Readable while callbacks wait for dispatch(); from the first call on they run nowhere else. */
  int event_fd() { return number(zkr_client_event_fd(get())); }

  /** Runs up to max waiting callbacks (0: all) on this thread and returns how many; waits for the first one.
   */
  int dispatch(int max = 0, Milliseconds timeout = Milliseconds(0)) {
    return number(zkr_client_dispatch(get(), max, timeout.count()));
  }

  zkr_client *get() const noexcept { return handle_.get(); }

 private:
  Client(const std::string &hosts, const Options &options, zkr_cancel_token *token) {
    std::vector<zkr_auth> auth;
    for (const auto &one : options.auth)
      auth.push_back({one.scheme.c_str(), one.credential.data(), one.credential.size()});
    std::vector<zkr_acl_entry> acl;
    for (const auto &one : options.acl_list)
      acl.push_back({one.scheme.c_str(), one.id.c_str(), one.permissions.c_str()});

    zkr_options c = ZKR_OPTIONS_INIT;
    c.session_timeout_ms = options.session_timeout.count();
    c.connect_timeout_ms = options.connect_timeout.count();
    c.identity = given(options.identity);
    c.auth = auth.data();
    c.auth_count = auth.size();
    c.acl = options.acl;
    c.acl_list = acl.data();
    c.acl_count = acl.size();
    if (options.tls) {
      c.tls = true;
      c.tls_verify_hostname = options.tls->verify_hostname;
      c.tls_ca = given(options.tls->ca);
      c.tls_cert = given(options.tls->cert);
      c.tls_key = given(options.tls->key);
    }
    if (options.sasl) {
      c.sasl_user = options.sasl->user.c_str();
      c.sasl_password = options.sasl->password.c_str();
    }
    c.naming = options.naming;
    c.lease = options.lease;
    c.retry_base_ms = options.retry.base.count();
    c.retry_max_ms = options.retry.max.count();
    if (options.retry.give_up_after) c.retry_give_up_after_ms = options.retry.give_up_after->count();
    c.read_only = options.read_only;

    detail::Outcome outcome;
    zkr_client *client = nullptr;
    outcome.check(zkr_client_connect_cancellable(hosts.c_str(), &c, token, &client, outcome.place()));
    handle_.reset(client);
  }

  static const char *given(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

  static int number(int number) {
    if (number < 0) {
      const auto code = static_cast<zkr_status>(-number);
      throw Error(code, std::string("the client's events: ") + zkr_status_name(code));
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

namespace testing {

/** How a test server behaves; 0 is the server's own default. */
struct ServerOptions {
  std::uint16_t port = 0;
  Milliseconds tick{0}, min_session_timeout{0}, max_session_timeout{0};
  std::size_t data_limit = 0;
};

/** A ZooKeeper server inside this process, for tests of code that uses zkrecipes. The destructor ends it. */
class Server {
 public:
  explicit Server(const ServerOptions &options = {}) {
    zkr_test_server_options c = ZKR_TEST_SERVER_OPTIONS_INIT;
    c.port = options.port;
    c.tick_ms = options.tick.count();
    c.min_session_timeout_ms = options.min_session_timeout.count();
    c.max_session_timeout_ms = options.max_session_timeout.count();
    c.data_limit = options.data_limit;
    detail::Outcome outcome;
    zkr_test_server *server = nullptr;
    outcome.check(zkr_test_server_start(&c, &server, outcome.place()));
    handle_.reset(server);
  }

  /** What to connect to. */
  std::string connect_string() const { return zkr_test_server_connect_string(get()); }
  std::uint16_t port() const noexcept { return zkr_test_server_port(get()); }

  /** Stops serving; data and sessions are kept for restart(). */
  void stop() { act(zkr_test_server_stop); }
  void restart() { act(zkr_test_server_restart); }
  /** Breaks every connection; sessions go on. */
  void drop_connections() { act(zkr_test_server_drop_connections); }
  /** Answers nothing until resume(). */
  void pause() { act(zkr_test_server_pause); }
  void resume() { act(zkr_test_server_resume); }
  void freeze_clock() { act(zkr_test_server_freeze_clock); }
  void thaw_clock() { act(zkr_test_server_thaw_clock); }
  void clear_faults() { act(zkr_test_server_clear_faults); }
  void clear_log() { act(zkr_test_server_clear_log); }

  void advance_clock(Milliseconds by) {
    detail::Outcome outcome;
    outcome.check(zkr_test_server_advance_clock(get(), by.count(), outcome.place()));
  }

  /** Ends a session, as its expiry does. */
  void expire(std::uint64_t session_id) {
    detail::Outcome outcome;
    outcome.check(zkr_test_server_expire(get(), session_id, outcome.place()));
  }

  /** Prepares a fault that strikes once; fault_fired() tells whether it has. */
  std::uint64_t inject(const std::string &text) {
    detail::Outcome outcome;
    std::uint64_t fault = 0;
    outcome.check(zkr_test_server_inject(get(), text.c_str(), &fault, outcome.place()));
    return fault;
  }

  bool fault_fired(std::uint64_t fault) const noexcept { return zkr_test_server_fault_fired(get(), fault); }

  /** Sets the number that the next sequential child of a node gets. */
  void set_next_sequence(const std::string &path, std::int32_t next) {
    detail::Outcome outcome;
    outcome.check(zkr_test_server_set_next_sequence(get(), path.c_str(), next, outcome.place()));
  }

  /** How many requests of an operation the server has seen for paths that match glob; "" is any path. */
  std::size_t count(const std::string &operation, const std::string &glob = "") const {
    return zkr_test_server_count(get(), operation.c_str(), glob.empty() ? nullptr : glob.c_str());
  }

  /** The paths of all nodes. */
  std::vector<std::string> paths() const {
    detail::Outcome outcome;
    zkr_strings *list = nullptr;
    outcome.check(zkr_test_server_paths(get(), &list, outcome.place()));
    const detail::Handle<zkr_strings, zkr_strings_free> freed(list);
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < zkr_strings_count(list); i++) paths.emplace_back(zkr_strings_get(list, i));
    return paths;
  }

  zkr_test_server *get() const noexcept { return handle_.get(); }

 private:
  void act(zkr_status (*verb)(zkr_test_server *, zkr_error **)) {
    detail::Outcome outcome;
    outcome.check(verb(get(), outcome.place()));
  }

  detail::Handle<zkr_test_server, zkr_test_server_free> handle_;
};

}  // namespace testing

}  // namespace zkr

#endif  // ZKRECIPES_HPP
