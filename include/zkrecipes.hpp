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

template <typename Verbs>
class Recipe;

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
  friend class Held;
  template <typename Verbs>
  friend class detail::Recipe;

  using OnState = std::shared_ptr<std::function<void(State)>>;
  using OnRevoke = std::shared_ptr<std::function<void()>>;
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

  static void revoke(void *user_data) {
    const OnRevoke function = *static_cast<OnRevoke *>(user_data);
    detail::contain([&] { (*function)(); });
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
  /** All tokens of what is held together: several for a MultiLock, in the order of its paths. */
  std::vector<std::uint64_t> fencing_tokens() const {
    std::vector<std::uint64_t> tokens(zkr_held_fencing_tokens(get(), nullptr, 0));
    zkr_held_fencing_tokens(get(), tokens.data(), tokens.size());
    return tokens;
  }
  /**
   * How often the turn was passed on inside this process since it was won from the others. With
   * LockOptions::local_handoff, acquisitions share a fencing token; the pair of it and this rises strictly.
   */
  std::uint32_t passes() const noexcept { return zkr_held_passes(get()); }
  /** How many permits it is, for an acquisition of a Semaphore. */
  std::size_t permits() const noexcept { return zkr_held_permits(get()); }
  /** Whether it certainly stands at this moment; never true again once false. Asks no server. */
  bool is_held() const noexcept { return zkr_held_is_held(get()); }
  /** What is held; the paths of a MultiLock with spaces between. */
  std::string path() const { return text(zkr_held_path(get())); }
  /** The path of our own node, the first one if there are several. */
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

  /** Calls back once when somebody asks for it, at once if somebody has: finish, then release. */
  Subscription on_revoke(std::function<void()> callback) const {
    return Subscription::make(std::move(callback),
                              [&](void *data, zkr_subscription **out, zkr_error **error) {
                                return zkr_held_on_revoke(get(), &Subscription::revoke, data, out, error);
                              });
  }

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

struct LockOptions {
  /** The handle is the owner: nested acquisitions count. */
  bool reentrant = false;
  /**
   * How many times waiters of this process may pass the turn on in memory before they let others in; 0 is
   * never. Who was passed the turn has the fencing token of who passed it on, and one more in Held::passes().
   */
  std::uint32_t local_handoff = 0;
};

namespace detail {

/** Takes over a list of contenders. */
inline std::vector<Contender> contenders(zkr_contenders *list) {
  const Handle<zkr_contenders, zkr_contenders_free> freed(list);
  std::vector<Contender> contenders;
  for (std::size_t i = 0; i < zkr_contenders_count(list); i++) {
    const zkr_contender *one = zkr_contenders_get(list, i);
    contenders.push_back({one->node, one->identity, one->kind, one->session_id,
                          std::chrono::system_clock::time_point(Milliseconds(one->since_ms)), one->holds});
  }
  return contenders;
}

/** Takes over a list of strings. */
inline std::vector<std::string> strings(zkr_strings *list) {
  const Handle<zkr_strings, zkr_strings_free> freed(list);
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < zkr_strings_count(list); i++) strings.emplace_back(zkr_strings_get(list, i));
  return strings;
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

template <typename Rep, typename Period>
std::int64_t limit_ms(const std::chrono::duration<Rep, Period> &timeout) {
  return timeout == forever ? forever.count() : wait_ms(timeout);
}

/** What every recipe can do. What is held is the acquisition made last through the object. */
template <typename Verbs>
class Recipe {
 public:
  using CHandle = typename Verbs::CHandle;

  explicit Recipe(CHandle *handle) : handle_(handle) {}

  /** Releases; ConnectionLost means unconfirmed, and the deletion goes on in the background. */
  void release() {
    Outcome outcome;
    outcome.check(Verbs::release(get(), outcome.place()));
  }

  /** Releases and leaves the confirmation to the background: no waiting, also inside callbacks. */
  void release_in_background() {
    Outcome outcome;
    outcome.check(Verbs::release_in_background(get(), outcome.place()));
  }

  /** Whether it is certainly held at this moment. Asks no server. */
  bool is_held() const noexcept { return Verbs::is_held(get()); }

  /**
   * Rises strictly from one exclusive acquisition of a path to the next; that of the first path for a
   * MultiLock. Throws NotHeld when nothing is held.
   */
  std::uint64_t fencing_token() const {
    const std::uint64_t token = Verbs::fencing_token(get());
    if (token == 0) throw Error(ErrorKind::NotHeld, "not held: there is no fencing token; acquire first");
    return token;
  }

  /** Asks the server: returns, or throws NotHeld, or ConnectionLost when it cannot be known. */
  void verify() const {
    Outcome outcome;
    outcome.check(Verbs::verify(get(), outcome.place()));
  }

  /** Writes that the server applies only while the current acquisition stands. */
  Transaction guarded() const {
    Outcome outcome;
    zkr_transaction *transaction = nullptr;
    outcome.check(Verbs::guarded(get(), &transaction, outcome.place()));
    return Transaction(transaction);
  }

  /** Calls back once when the current acquisition is lost, never on its own release. */
  Subscription on_lost(std::function<void(const Error &)> callback) const {
    return Subscription::make(std::move(callback),
                              [&](void *data, zkr_subscription **out, zkr_error **error) {
                                return Verbs::on_lost(get(), &Subscription::lost, data, out, error);
                              });
  }

  /**
   * Who holds and who waits, in order: path by path for a MultiLock; one entry for each permit, and then who
   * waits, for a Semaphore.
   */
  std::vector<Contender> contenders() const {
    Outcome outcome;
    zkr_contenders *list = nullptr;
    outcome.check(Verbs::contenders(get(), &list, outcome.place()));
    return detail::contenders(list);
  }

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

  /** Ends all acquisitions that wait through this object with Cancelled; never later ones. */
  void cancel() {
    Outcome outcome;
    outcome.check(Verbs::cancel(get(), outcome.place()));
  }

  CHandle *get() const noexcept { return handle_.get(); }

 private:
  bool ask(const std::string &contender, std::optional<Milliseconds> force_after, zkr_cancel_token *token) {
    const std::int64_t force_after_ms = force_after.value_or(forever).count();
    if (force_after && force_after_ms < 0)
      throw Error(ErrorKind::Invalid, "force_after: is negative; leave it out to force nobody");
    Outcome outcome;
    bool asked = false;
    outcome.check(Verbs::revoke_cancellable(get(), contender.empty() ? nullptr : contender.c_str(),
                                            force_after_ms, token, &asked, outcome.place()));
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
  void lock() { wait(forever.count(), nullptr); }

  /** Waits until it is acquired or the token is cancelled, which throws Cancelled. */
  void lock(const CancelToken &token) { wait(forever.count(), token.get()); }

  /** One attempt: false if somebody else has it. Everything else that goes wrong throws. */
  bool try_lock() { return attempt(0); }

  template <typename Rep, typename Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period> &duration) {
    return attempt(wait_ms(duration));
  }

  template <typename Clock, typename Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration> &deadline) {
    return attempt(wait_ms(deadline - Clock::now()));
  }

  /** Releases without waiting for the server. What goes wrong is reported on stderr; release() throws it. */
  void unlock() noexcept {
    Outcome outcome;
    if (Verbs::release_in_background(get(), outcome.place()) != ZKR_OK) log("unlock", outcome.message());
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
  Held acquire() { return take(forever.count(), nullptr); }

  /** The same within a time, throwing Timeout. */
  template <typename Rep, typename Period>
  Held acquire(const std::chrono::duration<Rep, Period> &timeout) {
    return take(limit_ms(timeout), nullptr);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  template <typename Rep, typename Period>
  Held acquire(const std::chrono::duration<Rep, Period> &timeout, const CancelToken &token) {
    return take(limit_ms(timeout), token.get());
  }

  /** One attempt: nothing if somebody else has it. */
  std::optional<Held> try_acquire() {
    return unless_timeout([&] { return take(0, nullptr); });
  }

  /** Whether lock() or try_lock…() succeeded and unlock() is still due. It cannot see loss; is_held() can. */
  bool owns_lock() const noexcept { return owed_ && *owed_ > 0; }

 private:
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

struct LockVerbs {
  using CHandle = zkr_lock;
  static constexpr auto free = zkr_lock_free;
  static constexpr auto acquire_cancellable = zkr_lock_acquire_cancellable;
  static constexpr auto release = zkr_lock_release;
  static constexpr auto release_in_background = zkr_lock_release_in_background;
  static constexpr auto is_held = zkr_lock_is_held;
  static constexpr auto fencing_token = zkr_lock_fencing_token;
  static constexpr auto verify = zkr_lock_verify;
  static constexpr auto guarded = zkr_lock_guarded;
  static constexpr auto on_lost = zkr_lock_on_lost;
  static constexpr auto contenders = zkr_lock_contenders;
  static constexpr auto revoke_cancellable = zkr_lock_revoke_cancellable;
  static constexpr auto cancel = zkr_lock_cancel;
};

struct MultiLockVerbs {
  using CHandle = zkr_multi_lock;
  static constexpr auto free = zkr_multi_lock_free;
  static constexpr auto acquire_cancellable = zkr_multi_lock_acquire_cancellable;
  static constexpr auto release = zkr_multi_lock_release;
  static constexpr auto release_in_background = zkr_multi_lock_release_in_background;
  static constexpr auto is_held = zkr_multi_lock_is_held;
  static constexpr auto fencing_token = zkr_multi_lock_fencing_token;
  static constexpr auto verify = zkr_multi_lock_verify;
  static constexpr auto guarded = zkr_multi_lock_guarded;
  static constexpr auto on_lost = zkr_multi_lock_on_lost;
  static constexpr auto contenders = zkr_multi_lock_contenders;
  static constexpr auto revoke_cancellable = zkr_multi_lock_revoke_cancellable;
  static constexpr auto cancel = zkr_multi_lock_cancel;
};

struct SemaphoreVerbs {
  using CHandle = zkr_semaphore;
  static constexpr auto free = zkr_semaphore_free;
  static constexpr auto release = zkr_semaphore_release;
  static constexpr auto release_in_background = zkr_semaphore_release_in_background;
  static constexpr auto is_held = zkr_semaphore_is_held;
  static constexpr auto fencing_token = zkr_semaphore_fencing_token;
  static constexpr auto verify = zkr_semaphore_verify;
  static constexpr auto guarded = zkr_semaphore_guarded;
  static constexpr auto on_lost = zkr_semaphore_on_lost;
  static constexpr auto contenders = zkr_semaphore_contenders;
  static constexpr auto revoke_cancellable = zkr_semaphore_revoke_cancellable;
  static constexpr auto cancel = zkr_semaphore_cancel;
};

}  // namespace detail

/**
 * A lock that at most one holder in the whole ensemble has at a time. It is TimedLockable: std::lock_guard,
 * std::unique_lock and std::scoped_lock take it. The destructor releases what is held, in the background.
 */
class Lock : public detail::TimedLockable<detail::LockVerbs> {
 public:
  using TimedLockable::TimedLockable;

  std::string path() const {
    const char *path = zkr_lock_path(get());
    return path ? path : "";
  }
};

/**
 * A lock that many readers share and writers have for themselves, in the order of arrival. It is what
 * std::unique_lock and std::shared_lock take: lock() is the writer's side, lock_shared() the reader's; read()
 * and write() are the two as a Lock each. Who holds write may take read too and then let write go. Who holds
 * read may not take write, which throws Invalid. Like a Lock, an object has one owner: threads that read at
 * the same time have one each.
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
    if (tokens.empty())
      throw Error(ErrorKind::NotHeld, "not held: there are no fencing tokens; acquire first");
    return tokens;
  }

  /** What is locked, in the order in which it is acquired. */
  std::vector<std::string> paths() const {
    detail::Outcome outcome;
    zkr_strings *list = nullptr;
    outcome.check(zkr_multi_lock_paths(get(), &list, outcome.place()));
    return detail::strings(list);
  }
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
  Held acquire(std::size_t n = 1) { return take(n, forever.count(), nullptr); }

  /** The same within a time, throwing Timeout. */
  template <typename Rep, typename Period>
  Held acquire(std::size_t n, const std::chrono::duration<Rep, Period> &timeout) {
    return take(n, detail::limit_ms(timeout), nullptr);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  template <typename Rep, typename Period>
  Held acquire(std::size_t n, const std::chrono::duration<Rep, Period> &timeout, const CancelToken &token) {
    return take(n, detail::limit_ms(timeout), token.get());
  }

  /** One attempt: nothing if they are not free. */
  std::optional<Held> try_acquire(std::size_t n = 1) {
    return detail::unless_timeout([&] { return take(n, 0, nullptr); });
  }

  /** Who holds permits, one entry for each. */
  std::vector<Contender> holders() const {
    detail::Outcome outcome;
    zkr_contenders *list = nullptr;
    outcome.check(zkr_semaphore_holders(get(), &list, outcome.place()));
    return detail::contenders(list);
  }

  /** Changes how many permits there are, for everybody; whoever still says the old number gets Mismatch. */
  void resize(std::size_t permits) {
    detail::Outcome outcome;
    outcome.check(zkr_semaphore_resize(get(), permits, outcome.place()));
  }

  /** How many permits there are, as far as this object knows. */
  std::size_t permits() const noexcept { return zkr_semaphore_permits(get()); }

  std::string path() const {
    const char *path = zkr_semaphore_path(get());
    return path ? path : "";
  }

 private:
  Held take(std::size_t n, std::int64_t timeout_ms, zkr_cancel_token *token) {
    detail::Outcome outcome;
    zkr_held *held = nullptr;
    outcome.check(zkr_semaphore_acquire_cancellable(get(), n, timeout_ms, token, &held, outcome.place()));
    return Held(held);
  }
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

  /** Makes a handle of a read/write lock. Validates, but sends nothing. */
  ReadWriteLock read_write_lock(const std::string &path) {
    detail::Outcome outcome;
    zkr_read_write_lock *lock = nullptr;
    outcome.check(zkr_read_write_lock_new(get(), path.c_str(), &lock, outcome.place()));
    return ReadWriteLock(lock);
  }

  /** Makes one lock of several plain ones of this client: client.multi_lock({a, b}). Sends nothing. */
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
    outcome.check(zkr_semaphore_new(get(), path.c_str(), permits, &semaphore, outcome.place()));
    return Semaphore(semaphore);
  }

  /** Whether the acquisition that a sequencer (Held::sequencer) stands for still stands. */
  bool check_sequencer(const std::string &sequencer) {
    detail::Outcome outcome;
    bool valid = false;
    outcome.check(zkr_client_check_sequencer(get(), sequencer.c_str(), &valid, outcome.place()));
    return valid;
  }

  /** Waits until it no longer stands, throwing Timeout if it still does after the time given. */
  void watch_sequencer(const std::string &sequencer, Milliseconds timeout = forever) {
    watch(sequencer, timeout, nullptr);
  }

  /** The same, with a token that withdraws it, throwing Cancelled. */
  void watch_sequencer(const std::string &sequencer, Milliseconds timeout, const CancelToken &token) {
    watch(sequencer, timeout, token.get());
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

  void watch(const std::string &sequencer, Milliseconds timeout, zkr_cancel_token *token) {
    detail::Outcome outcome;
    outcome.check(zkr_client_watch_sequencer_cancellable(get(), sequencer.c_str(), detail::limit_ms(timeout),
                                                         token, outcome.place()));
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

/** One request that a server or a proxy has seen. */
struct Request {
  std::string kind, path;
  std::uint64_t session_id, connection;
  std::int64_t zxid;
  std::int32_t error;
  zkr_test_outcome outcome;
  std::size_t bytes_in, bytes_out;
};

}  // namespace testing

namespace detail {

inline zkr_test_server_options convert(const testing::ServerOptions &options) {
  zkr_test_server_options c = ZKR_TEST_SERVER_OPTIONS_INIT;
  c.port = options.port;
  c.tick_ms = options.tick.count();
  c.min_session_timeout_ms = options.min_session_timeout.count();
  c.max_session_timeout_ms = options.max_session_timeout.count();
  c.data_limit = options.data_limit;
  return c;
}

inline std::vector<testing::Request> requests(zkr_test_requests *list) {
  const Handle<zkr_test_requests, zkr_test_requests_free> freed(list);
  std::vector<testing::Request> requests;
  for (std::size_t i = 0; i < zkr_test_requests_count(list); i++) {
    const zkr_test_request *one = zkr_test_requests_get(list, i);
    requests.push_back({one->kind, one->path, one->session_id, one->connection, one->zxid, one->error,
                        one->outcome, one->bytes_in, one->bytes_out});
  }
  return requests;
}

}  // namespace detail

namespace testing {

/** A ZooKeeper server inside this process, for tests of code that uses zkrecipes. The destructor ends it. */
class Server {
 public:
  explicit Server(const ServerOptions &options = {}) {
    const zkr_test_server_options c = detail::convert(options);
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
    return detail::strings(list);
  }

  /** The requests seen so far, oldest first. */
  std::vector<Request> log() const {
    detail::Outcome outcome;
    zkr_test_requests *list = nullptr;
    outcome.check(zkr_test_server_log(get(), &list, outcome.place()));
    return detail::requests(list);
  }

  zkr_test_server *get() const noexcept { return handle_.get(); }

 private:
  friend class Ensemble;
  explicit Server(zkr_test_server *part) : handle_(part) {}

  void act(zkr_status (*verb)(zkr_test_server *, zkr_error **)) {
    detail::Outcome outcome;
    outcome.check(verb(get(), outcome.place()));
  }

  detail::Handle<zkr_test_server, zkr_test_server_free> handle_;
};

/** Brings the faults of a Server between clients and a real server, "host:port". The destructor ends it. */
class Proxy {
 public:
  explicit Proxy(const std::string &upstream) {
    detail::Outcome outcome;
    zkr_test_proxy *proxy = nullptr;
    outcome.check(zkr_test_proxy_start(upstream.c_str(), &proxy, outcome.place()));
    handle_.reset(proxy);
  }

  /** What to connect to. */
  std::string connect_string() const { return zkr_test_proxy_connect_string(get()); }
  std::uint16_t port() const noexcept { return zkr_test_proxy_port(get()); }

  /** Breaks every connection, on both sides; sessions go on. */
  void drop_connections() { act(zkr_test_proxy_drop_connections); }
  /** Passes nothing on until resume(). */
  void pause() { act(zkr_test_proxy_pause); }
  void resume() { act(zkr_test_proxy_resume); }
  void clear_faults() { act(zkr_test_proxy_clear_faults); }
  void clear_log() { act(zkr_test_proxy_clear_log); }

  /** Ends a session at the server, for real. */
  void expire(std::uint64_t session_id) {
    detail::Outcome outcome;
    outcome.check(zkr_test_proxy_expire(get(), session_id, outcome.place()));
  }

  /** Prepares a fault that strikes once; fault_fired() tells whether it has. */
  std::uint64_t inject(const std::string &text) {
    detail::Outcome outcome;
    std::uint64_t fault = 0;
    outcome.check(zkr_test_proxy_inject(get(), text.c_str(), &fault, outcome.place()));
    return fault;
  }

  bool fault_fired(std::uint64_t fault) const noexcept { return zkr_test_proxy_fault_fired(get(), fault); }

  /** How many requests of an operation went to the server for paths that match glob; "" is any path. */
  std::size_t count(const std::string &operation, const std::string &glob = "") const {
    return zkr_test_proxy_count(get(), operation.c_str(), glob.empty() ? nullptr : glob.c_str());
  }

  /** The requests so far, in the order of their answers. */
  std::vector<Request> log() const {
    detail::Outcome outcome;
    zkr_test_requests *list = nullptr;
    outcome.check(zkr_test_proxy_log(get(), &list, outcome.place()));
    return detail::requests(list);
  }

  zkr_test_proxy *get() const noexcept { return handle_.get(); }

 private:
  void act(zkr_status (*verb)(zkr_test_proxy *, zkr_error **)) {
    detail::Outcome outcome;
    outcome.check(verb(get(), outcome.place()));
  }

  detail::Handle<zkr_test_proxy, zkr_test_proxy_free> handle_;
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

#endif  // ZKRECIPES_HPP
