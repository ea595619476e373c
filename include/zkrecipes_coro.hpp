/* SPDX-License-Identifier: Apache-2.0
 *
 * zkrecipes for coroutines of C++20: each verb that waits, as a function whose answer is awaited.
 *
 *   zkr::Held held = co_await zkr::coro::acquire(lock, 5s, stop);
 *   zkr::Item item = co_await zkr::coro::claim(queue, zkr::forever, stop);
 *   co_await zkr::coro::ack(item);
 *
 * A function begins the verb at once; co_await waits for its end and gives the answer or throws a zkr::Error.
 * The arguments are copied, so they need not live longer than the call. A temporary that it is asked of, as
 * in acquire(client.lock(path)), or what is moved in, is kept until the end; one with a name that is
 * destroyed before withdraws what waits through it, which throws Cancelled. What was begun and is not
 * awaited, because it or its coroutine is destroyed, is withdrawn if it takes a std::stop_token, also while
 * its answer waits to be dispatched: what it acquires or takes all the same is released or goes back. The
 * others are done all the same: who joins is a member until its Group leaves or goes, a name stays bound, a
 * service stays registered while its client is open, and a transaction that begins goes on until it is
 * decided, at the latest when its timeout is over. An answer that has come before anybody awaited it goes
 * with what was begun: an item of get is gone then.
 *
 * Where it goes on. A coroutine goes on where callbacks run: inside Client::dispatch once event_fd() was
 * asked for, else on a delivery thread of the library. No verb may block there, which throws Deadlock: await
 * it, too. Destroying a Held blocks nowhere: it releases in the background. What a coroutine throws out of
 * there goes to the log.
 *
 * A coroutine that waits may be destroyed on the thread that dispatches; elsewhere only while no callback
 * comes.
 */

#ifndef ZKRECIPES_CORO_HPP
#define ZKRECIPES_CORO_HPP

#include "zkrecipes.hpp"

#if !defined(__cpp_impl_coroutine) || !defined(__cpp_lib_jthread)
#error "zkrecipes_coro.hpp needs coroutines and std::stop_token: compile as C++20 or later"
#endif

#include <coroutine>
#include <tuple>
#include <variant>

namespace zkr {

namespace detail {

/** A verb that is under way. Its callback has it, and so has who awaits it; the last of them drops what came.
 */
template <typename Answer>
class Flight {
 public:
  explicit Flight(std::stop_token stop) : token_(std::move(stop)) {}

  zkr_cancel_token *token() const noexcept { return token_.get(); }

  /** Keeps what `make` gives or throws, and goes on with who waits. */
  template <typename Make>
  void land(Make &&make) {
    try {
      if constexpr (std::is_void_v<Answer>) {
        make();
        came_.template emplace<1>();
      } else {
        came_.template emplace<1>(make());
      }
    } catch (...) {
      came_.template emplace<2>(std::current_exception());
    }
    if (at_.exchange(At::Landed) == At::Awaited) waiting_.resume();
  }

  bool has_landed() const noexcept { return at_ == At::Landed; }

  /** Whether it has to wait. If so, the coroutine may go on elsewhere from then on: nothing here is touched.
   */
  bool await(std::coroutine_handle<> waiting) noexcept {
    waiting_ = waiting;
    At flying = At::Flying;
    return at_.compare_exchange_strong(flying, At::Awaited);
  }

  /** Keeps what the verb was asked of for as long as there is a flight: to destroy it would withdraw the
   * verb. */
  void keep(std::shared_ptr<void> asked) noexcept { asked_ = std::move(asked); }

  /** Nobody wants the answer any more. */
  void give_up() noexcept {
    if (at_.exchange(At::GivenUp) != At::Landed) token_.cancel();
  }

  Answer take() {
    if (came_.index() == 2) std::rethrow_exception(std::get<2>(std::move(came_)));
    if constexpr (!std::is_void_v<Answer>) return std::get<1>(std::move(came_));
  }

 private:
  enum class At { Flying, Awaited, Landed, GivenUp };

  CancelToken token_;
  std::atomic<At> at_ = At::Flying;
  std::coroutine_handle<> waiting_;
  std::variant<std::monostate, std::conditional_t<std::is_void_v<Answer>, std::tuple<>, Answer>,
               std::exception_ptr>
      came_;
  std::shared_ptr<void> asked_;
};

/** The callback of C for what is lent or handed over in this way. */
template <typename Answer, typename Take, typename... Lent>
struct Landing {
  static void call(zkr_status status, Lent... lent, const zkr_error *error, void *data) {
    const std::unique_ptr<std::shared_ptr<Flight<Answer>>> flight(
        static_cast<std::shared_ptr<Flight<Answer>> *>(data));
    contain([&] {
      (*flight)->land([&] {
        if (status != ZKR_OK) raise(status, error);
        return Take{}(lent...);
      });
    });
  }
};

struct Inside {
  static zkr_client *of(const Nodes &nodes) noexcept { return nodes.client_; }
};

}  // namespace detail

namespace coro {

/** The answer of a verb that was begun, to be awaited once. */
template <typename Answer>
class [[nodiscard]] Awaited {
 public:
  explicit Awaited(std::shared_ptr<zkr::detail::Flight<Answer>> flight) : flight_(std::move(flight)) {}
  Awaited(Awaited &&) = default;
  Awaited &operator=(Awaited &&) = delete;
  ~Awaited() {
    if (flight_) flight_->give_up();
  }

  bool await_ready() const noexcept { return flight_->has_landed(); }
  bool await_suspend(std::coroutine_handle<> waiting) noexcept { return flight_->await(waiting); }
  Answer await_resume() { return flight_->take(); }

  /** Keeps the temporary that it was asked of. */
  template <typename Asked>
  Awaited keeping(Asked &&asked) && {
    static_assert(!std::is_reference_v<Asked>, "what has a name stays with its owner");
    flight_->keep(std::make_shared<Asked>(std::move(asked)));
    return std::move(*this);
  }

 private:
  std::shared_ptr<zkr::detail::Flight<Answer>> flight_;
};

}  // namespace coro

namespace detail {

template <typename Answer, typename... Lent, typename Take, typename Start>
coro::Awaited<Answer> launch(std::stop_token stop, Take, Start &&start) {
  auto flight = std::make_shared<Flight<Answer>>(std::move(stop));
  auto callbacks = std::make_unique<std::shared_ptr<Flight<Answer>>>(flight);
  const zkr_status status = start(flight->token(), &Landing<Answer, Take, Lent...>::call, callbacks.get());
  // There will be no callback then.
  if (status != ZKR_OK) raise(status, nullptr);
  callbacks.release();
  return coro::Awaited<Answer>(std::move(flight));
}

}  // namespace detail

namespace coro {

/** Acquires a Lock, a side of a ReadWriteLock, or a MultiLock. */
template <typename Verbs>
Awaited<Held> acquire(const detail::TimedLockable<Verbs> &it, Milliseconds timeout = forever,
                      std::stop_token stop = {}) {
  return detail::launch<Held, zkr_held *>(
      std::move(stop), [](zkr_held *held) { return Held(held); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return Verbs::acquire_cancellable_async(it.get(), detail::wait_ms(timeout), token, callback, user);
      });
}

template <typename Verbs>
Awaited<Held> acquire(detail::TimedLockable<Verbs> &&it, Milliseconds timeout = forever,
                      std::stop_token stop = {}) {
  return acquire(it, timeout, std::move(stop)).keeping(std::move(it));
}

/** Acquires n permits in one step. */
inline Awaited<Held> acquire(const Semaphore &it, std::size_t n = 1, Milliseconds timeout = forever,
                             std::stop_token stop = {}) {
  return detail::launch<Held, zkr_held *>(
      std::move(stop), [](zkr_held *held) { return Held(held); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_semaphore_acquire_cancellable_async(it.get(), n, detail::wait_ms(timeout), token, callback,
                                                       user);
      });
}

inline Awaited<Held> acquire(Semaphore &&it, std::size_t n = 1, Milliseconds timeout = forever,
                             std::stop_token stop = {}) {
  return acquire(it, n, timeout, std::move(stop)).keeping(std::move(it));
}

/** Asks the server whether the current acquisition stands. */
template <typename Verbs>
Awaited<void> verify(const detail::Recipe<Verbs> &it) {
  return detail::launch<void>(
      {}, [] {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return Verbs::verify_async(it.get(), callback, user);
      });
}

/** Who holds and who waits, in order. */
template <typename Verbs>
Awaited<std::vector<Contender>> contenders(const detail::Recipe<Verbs> &it) {
  return detail::launch<std::vector<Contender>, zkr_contenders *>(
      {}, [](zkr_contenders *list) { return detail::contenders(list); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return Verbs::contenders_async(it.get(), callback, user);
      });
}

/** Asks whoever holds, or the contender with this node, to let go; false: there was nobody to ask. */
template <typename Verbs>
Awaited<bool> revoke(const detail::Recipe<Verbs> &it, const std::string &contender = "",
                     Milliseconds force_after = forever, std::stop_token stop = {}) {
  return detail::launch<bool, bool>(
      std::move(stop), [](bool asked) { return asked; },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return Verbs::revoke_cancellable_async(it.get(), detail::c_text_if_any("contender", contender),
                                               detail::wait_ms(force_after), token, callback, user);
      });
}

template <typename Verbs>
Awaited<bool> revoke(detail::Recipe<Verbs> &&it, const std::string &contender = "",
                     Milliseconds force_after = forever, std::stop_token stop = {}) {
  return revoke(it, contender, force_after, std::move(stop)).keeping(std::move(it));
}

/** Closes a client: waiters get Closed, what is held is released. */
inline Awaited<void> close(const Client &it, Milliseconds timeout = forever) {
  return detail::launch<void>(
      {}, [] {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_client_close_async(it.get(), detail::wait_ms(timeout), callback, user);
      });
}

// Each is the member of the same name. What was acquired is released by its Held; the objects that acquire
// have no release() here, because they count for themselves what their lock() owes.

// --- generated from api: coroutines

inline Awaited<void> create(const Barrier &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_barrier_create_async(it.handle(), callback, user);
      });
}

inline Awaited<void> remove(const Barrier &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_barrier_remove_async(it.handle(), callback, user);
      });
}

inline Awaited<bool> is_up(const Barrier &it) {
  return detail::launch<bool, bool>(
      {}, [](bool is_up) -> bool { return is_up; },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_barrier_is_up_async(it.handle(), callback, user);
      });
}

inline Awaited<void> wait(const Barrier &it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return detail::launch<void>(
      std::move(stop), []() {},
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_barrier_wait_cancellable_async(it.handle(), detail::wait_ms(timeout), token, callback,
                                                  user);
      });
}

inline Awaited<void> wait(Barrier &&it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return wait(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<Leadership> campaign(const Election &it, Milliseconds timeout = forever,
                                    std::stop_token stop = {}) {
  return detail::launch<Leadership, zkr_leadership *>(
      std::move(stop), [](zkr_leadership *leadership) -> Leadership { return Leadership(leadership); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_election_campaign_cancellable_async(it.get(), detail::wait_ms(timeout), token, callback,
                                                       user);
      });
}

inline Awaited<Leadership> campaign(Election &&it, Milliseconds timeout = forever,
                                    std::stop_token stop = {}) {
  return campaign(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<bool> transfer(const Election &it, const std::string &to) {
  return detail::launch<bool, bool>(
      {}, [](bool leads) -> bool { return leads; },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_election_transfer_async(it.get(), detail::c_text("to", to), callback, user);
      });
}

inline Awaited<void> resign(const Election &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_election_resign_async(it.get(), callback, user);
      });
}

inline Awaited<std::optional<Leader>> leader(const Election &it) {
  return detail::launch<std::optional<Leader>, const zkr_leader *>(
      {}, [](const zkr_leader *leader) -> std::optional<Leader> { return detail::copied(leader); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_election_leader_async(it.get(), callback, user);
      });
}

inline Awaited<std::vector<Contender>> candidates(const Election &it) {
  return detail::launch<std::vector<Contender>, zkr_contenders *>(
      {}, [](zkr_contenders *candidates) -> std::vector<Contender> { return detail::contenders(candidates); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_election_candidates_async(it.get(), callback, user);
      });
}

inline Awaited<Decision> outcome(const CommitTransaction &it, Milliseconds timeout = forever,
                                 std::stop_token stop = {}) {
  return detail::launch<Decision, zkr_outcome>(
      std::move(stop), [](zkr_outcome decided) -> Decision { return Decision(decided); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_commit_transaction_outcome_cancellable_async(it.handle(), detail::wait_ms(timeout), token,
                                                                callback, user);
      });
}

inline Awaited<Decision> outcome(CommitTransaction &&it, Milliseconds timeout = forever,
                                 std::stop_token stop = {}) {
  return outcome(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<std::optional<Versioned>> get(const Config &it) {
  return detail::launch<std::optional<Versioned>, const zkr_buffer *, std::int32_t>(
      {},
      [](const zkr_buffer *value, std::int32_t version) -> std::optional<Versioned> {
        return value ? std::optional<Versioned>({detail::copied(value), version}) : std::nullopt;
      },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_config_get_async(it.handle(), callback, user);
      });
}

inline Awaited<std::int32_t> set(const Config &it, const std::string &value, std::int32_t version = -1) {
  return detail::launch<std::int32_t, std::int64_t>(
      {}, [](std::int64_t new_version) -> std::int32_t { return static_cast<std::int32_t>(new_version); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_config_set_async(it.handle(), value.data(), value.size(), version, callback, user);
      });
}

inline Awaited<std::int32_t> create(const Config &it, const std::string &value) {
  return detail::launch<std::int32_t, std::int64_t>(
      {}, [](std::int64_t new_version) -> std::int32_t { return static_cast<std::int32_t>(new_version); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_config_create_async(it.handle(), value.data(), value.size(), callback, user);
      });
}

inline Awaited<bool> compare_and_set(const Config &it, const std::string &value, std::int32_t version) {
  return detail::launch<bool, bool>(
      {}, [](bool is_set) -> bool { return is_set; },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_config_compare_and_set_async(it.handle(), value.data(), value.size(), version, callback,
                                                user);
      });
}

inline Awaited<std::int64_t> get(const Counter &it) {
  return detail::launch<std::int64_t, std::int64_t>(
      {}, [](std::int64_t value) -> std::int64_t { return static_cast<std::int64_t>(value); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_counter_get_async(it.handle(), callback, user);
      });
}

inline Awaited<std::int64_t> add(const Counter &it, std::int64_t n) {
  return detail::launch<std::int64_t, std::int64_t>(
      {}, [](std::int64_t value) -> std::int64_t { return static_cast<std::int64_t>(value); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_counter_add_async(it.handle(), n, callback, user);
      });
}

inline Awaited<void> set(const Counter &it, std::int64_t value) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_counter_set_async(it.handle(), value, callback, user);
      });
}

inline Awaited<bool> compare_and_set(const Counter &it, std::int64_t old_value, std::int64_t new_value) {
  return detail::launch<bool, bool>(
      {}, [](bool was_set) -> bool { return was_set; },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_counter_compare_and_set_async(it.handle(), old_value, new_value, callback, user);
      });
}

inline Awaited<std::string> get(const DelayQueue &it, Milliseconds timeout = forever,
                                std::stop_token stop = {}) {
  return detail::launch<std::string, zkr_buffer *, const zkr_stat *>(
      std::move(stop), [](zkr_buffer *data, const zkr_stat *) -> std::string { return detail::bytes(data); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_delay_queue_get_cancellable_async(it.handle(), detail::wait_ms(timeout), token, callback,
                                                     user);
      });
}

inline Awaited<std::string> get(DelayQueue &&it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return get(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<Item> claim(const DelayQueue &it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return detail::launch<Item, zkr_item *>(
      std::move(stop), [](zkr_item *item) -> Item { return Item(item); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_delay_queue_claim_cancellable_async(it.handle(), detail::wait_ms(timeout), token, callback,
                                                       user);
      });
}

inline Awaited<Item> claim(DelayQueue &&it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return claim(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<std::vector<Item>> claim_many(const DelayQueue &it, std::size_t n,
                                             Milliseconds timeout = forever, std::stop_token stop = {}) {
  return detail::launch<std::vector<Item>, zkr_items *>(
      std::move(stop), [](zkr_items *items) -> std::vector<Item> { return detail::items(items); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_delay_queue_claim_many_cancellable_async(it.handle(), n, detail::wait_ms(timeout), token,
                                                            callback, user);
      });
}

inline Awaited<std::vector<Item>> claim_many(DelayQueue &&it, std::size_t n, Milliseconds timeout = forever,
                                             std::stop_token stop = {}) {
  return claim_many(it, n, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<void> ack_many(const DelayQueue &it, const std::vector<Item> &items) {
  const std::vector<zkr_item *> given = detail::handles<zkr_item>(items);
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_delay_queue_ack_many_async(it.handle(), given.data(), given.size(), callback, user);
      });
}

inline Awaited<std::optional<std::string>> peek(const DelayQueue &it) {
  return detail::launch<std::optional<std::string>, zkr_buffer *, const zkr_stat *>(
      {},
      [](zkr_buffer *data, const zkr_stat *) -> std::optional<std::string> {
        return data ? std::optional<std::string>(detail::bytes(data)) : std::nullopt;
      },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_delay_queue_peek_async(it.handle(), callback, user);
      });
}

inline Awaited<std::size_t> len(const DelayQueue &it) {
  return detail::launch<std::size_t, std::int64_t>(
      {}, [](std::int64_t items) -> std::size_t { return static_cast<std::size_t>(items); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_delay_queue_len_async(it.handle(), callback, user);
      });
}

inline Awaited<QueueStats> stats(const DelayQueue &it) {
  return detail::launch<QueueStats, const zkr_queue_counts *>(
      {}, [](const zkr_queue_counts *stats) -> QueueStats { return *stats; },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_delay_queue_stats_async(it.handle(), callback, user);
      });
}

inline Awaited<std::vector<std::string>> items(const DelayQueue &it) {
  return detail::launch<std::vector<std::string>, zkr_payloads *>(
      {}, [](zkr_payloads *items) -> std::vector<std::string> { return detail::payloads(items); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_delay_queue_items_async(it.handle(), callback, user);
      });
}

inline Awaited<std::vector<DeadLetter>> dead_letters(const DelayQueue &it) {
  return detail::launch<std::vector<DeadLetter>, zkr_dead_letters *>(
      {}, [](zkr_dead_letters *letters) -> std::vector<DeadLetter> { return detail::dead_letters(letters); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_delay_queue_dead_letters_async(it.handle(), callback, user);
      });
}

inline Awaited<std::size_t> replay(const DelayQueue &it) {
  return detail::launch<std::size_t, std::int64_t>(
      {}, [](std::int64_t replayed) -> std::size_t { return static_cast<std::size_t>(replayed); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_delay_queue_replay_async(it.handle(), callback, user);
      });
}

inline Awaited<std::size_t> replay_one(const DelayQueue &it, const std::string &id) {
  return detail::launch<std::size_t, std::int64_t>(
      {}, [](std::int64_t replayed) -> std::size_t { return static_cast<std::size_t>(replayed); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_delay_queue_replay_one_async(it.handle(), detail::c_text("id", id), callback, user);
      });
}

inline Awaited<std::size_t> purge(const DelayQueue &it, Milliseconds older_than) {
  return detail::launch<std::size_t, std::int64_t>(
      {}, [](std::int64_t purged) -> std::size_t { return static_cast<std::size_t>(purged); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_delay_queue_purge_async(it.handle(), older_than.count(), callback, user);
      });
}

inline Awaited<void> put(const DelayQueue &it, const std::string &data, Milliseconds delay,
                         Milliseconds timeout = forever, std::stop_token stop = {}) {
  return detail::launch<void>(
      std::move(stop), []() {},
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_delay_queue_put_cancellable_async(it.handle(), data.data(), data.size(), delay.count(),
                                                     detail::wait_ms(timeout), token, callback, user);
      });
}

inline Awaited<void> put(DelayQueue &&it, const std::string &data, Milliseconds delay,
                         Milliseconds timeout = forever, std::stop_token stop = {}) {
  return put(it, data, delay, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<void> put_with(const DelayQueue &it, const std::string &data, Milliseconds delay,
                              const std::string &key, Milliseconds timeout = forever,
                              std::stop_token stop = {}) {
  return detail::launch<void>(
      std::move(stop), []() {},
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_delay_queue_put_with_cancellable_async(it.handle(), data.data(), data.size(),
                                                          delay.count(), detail::c_text("key", key),
                                                          detail::wait_ms(timeout), token, callback, user);
      });
}

inline Awaited<void> put_with(DelayQueue &&it, const std::string &data, Milliseconds delay,
                              const std::string &key, Milliseconds timeout = forever,
                              std::stop_token stop = {}) {
  return put_with(it, data, delay, key, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<Registration> register_service(const Discovery &it, const Service &service) {
  const zkr_service given = detail::given(service);
  return detail::launch<Registration, zkr_registration *>(
      {}, [](zkr_registration *registration) -> Registration { return Registration(registration); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_discovery_register_async(it.handle(), &given, callback, user);
      });
}

inline Awaited<std::vector<Instance>> instances(const Discovery &it, const std::string &name) {
  return detail::launch<std::vector<Instance>, zkr_instances *>(
      {}, [](zkr_instances *found) -> std::vector<Instance> { return detail::instances(found); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_discovery_instances_async(it.handle(), detail::c_text("name", name), callback, user);
      });
}

inline Awaited<std::vector<std::string>> names(const Discovery &it) {
  return detail::launch<std::vector<std::string>, zkr_strings *>(
      {}, [](zkr_strings *services) -> std::vector<std::string> { return detail::strings(services); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_discovery_names_async(it.handle(), callback, user);
      });
}

inline Awaited<std::optional<Instance>> pick(const Discovery &it, const std::string &name,
                                             PickBy by = PickBy::RoundRobin) {
  return detail::launch<std::optional<Instance>, zkr_instances *>(
      {}, [](zkr_instances *picked) -> std::optional<Instance> { return detail::instance(picked); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_discovery_pick_async(it.handle(), detail::c_text("name", name), by, callback, user);
      });
}

inline Awaited<void> enter(const DoubleBarrier &it, Milliseconds timeout = forever,
                           std::stop_token stop = {}) {
  return detail::launch<void>(
      std::move(stop), []() {},
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_double_barrier_enter_cancellable_async(it.handle(), detail::wait_ms(timeout), token,
                                                          callback, user);
      });
}

inline Awaited<void> enter(DoubleBarrier &&it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return enter(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<void> leave(const DoubleBarrier &it, Milliseconds timeout = forever,
                           std::stop_token stop = {}) {
  return detail::launch<void>(
      std::move(stop), []() {},
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_double_barrier_leave_cancellable_async(it.handle(), detail::wait_ms(timeout), token,
                                                          callback, user);
      });
}

inline Awaited<void> leave(DoubleBarrier &&it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return leave(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<void> join(const Group &it, const std::string &name, const std::string &data = "") {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_group_join_async(it.handle(), detail::c_text("name", name), data.data(), data.size(),
                                    callback, user);
      });
}

inline Awaited<void> leave(const Group &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_group_leave_async(it.handle(), callback, user);
      });
}

inline Awaited<void> update(const Group &it, const std::string &data) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_group_update_async(it.handle(), data.data(), data.size(), callback, user);
      });
}

inline Awaited<std::map<std::string, std::string>> members(const Group &it) {
  return detail::launch<std::map<std::string, std::string>, zkr_entries *>(
      {}, [](zkr_entries *members) -> std::map<std::string, std::string> { return detail::entries(members); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_group_members_async(it.handle(), callback, user);
      });
}

inline Awaited<std::map<std::string, std::string>> wait_for(const Group &it, std::size_t n,
                                                            Milliseconds timeout = forever,
                                                            std::stop_token stop = {}) {
  return detail::launch<std::map<std::string, std::string>, zkr_entries *>(
      std::move(stop),
      [](zkr_entries *members) -> std::map<std::string, std::string> { return detail::entries(members); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_group_wait_for_cancellable_async(it.handle(), n, detail::wait_ms(timeout), token, callback,
                                                    user);
      });
}

inline Awaited<std::map<std::string, std::string>> wait_for(Group &&it, std::size_t n,
                                                            Milliseconds timeout = forever,
                                                            std::stop_token stop = {}) {
  return wait_for(it, n, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<void> release(const Held &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_held_release_async(it.get(), callback, user);
      });
}

inline Awaited<void> verify(const Held &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_held_verify_async(it.get(), callback, user);
      });
}

inline Awaited<Held> downgrade(const Held &it) {
  return detail::launch<Held, zkr_held *>(
      {}, [](zkr_held *reading) -> Held { return Held(reading); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_held_downgrade_async(it.get(), callback, user);
      });
}

inline Awaited<void> verify(const Item &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_item_verify_async(it.get(), callback, user);
      });
}

inline Awaited<void> ack(const Item &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_item_ack_async(it.get(), callback, user);
      });
}

inline Awaited<void> ack_with(const Item &it, const Transaction &transaction) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_item_ack_with_async(it.get(), transaction.get(), callback, user);
      });
}

inline Awaited<void> nack(const Item &it, std::optional<Milliseconds> delay = std::nullopt,
                          const std::string &reason = "") {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_item_nack_with_async(it.get(), detail::pause_ms("delay", delay),
                                        detail::c_text_if_any("reason", reason), callback, user);
      });
}

inline Awaited<std::size_t> count_down(const Latch &it, std::size_t n = 1) {
  return detail::launch<std::size_t, std::int64_t>(
      {}, [](std::int64_t remaining) -> std::size_t { return static_cast<std::size_t>(remaining); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_latch_count_down_async(it.handle(), n, callback, user);
      });
}

inline Awaited<std::size_t> remaining(const Latch &it) {
  return detail::launch<std::size_t, std::int64_t>(
      {}, [](std::int64_t remaining) -> std::size_t { return static_cast<std::size_t>(remaining); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_latch_remaining_async(it.handle(), callback, user);
      });
}

inline Awaited<void> reset(const Latch &it, std::size_t count) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_latch_reset_async(it.handle(), count, callback, user);
      });
}

inline Awaited<void> wait(const Latch &it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return detail::launch<void>(
      std::move(stop), []() {},
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_latch_wait_cancellable_async(it.handle(), detail::wait_ms(timeout), token, callback, user);
      });
}

inline Awaited<void> wait(Latch &&it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return wait(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<void> release(const Leadership &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_leadership_release_async(it.get(), callback, user);
      });
}

inline Awaited<void> verify(const Leadership &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_leadership_verify_async(it.get(), callback, user);
      });
}

inline Awaited<void> acknowledge(const Leadership &it, const std::string &data = "") {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_leadership_acknowledge_async(it.get(), data.data(), data.size(), callback, user);
      });
}

inline Awaited<void> bind(const Names &it, const std::string &name, const std::string &data,
                          bool ephemeral = false) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_names_bind_async(it.handle(), detail::c_text("name", name), data.data(), data.size(),
                                    ephemeral, callback, user);
      });
}

inline Awaited<void> bind(const Names &it, const std::string &name, const std::string &data,
                          Milliseconds ttl) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_names_bind_ttl_async(it.handle(), detail::c_text("name", name), data.data(), data.size(),
                                        ttl.count(), callback, user);
      });
}

inline Awaited<std::optional<std::string>> lookup(const Names &it, const std::string &name) {
  return detail::launch<std::optional<std::string>, zkr_buffer *, const zkr_stat *>(
      {},
      [](zkr_buffer *data, const zkr_stat *) -> std::optional<std::string> {
        return data ? std::optional<std::string>(detail::bytes(data)) : std::nullopt;
      },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_names_lookup_async(it.handle(), detail::c_text("name", name), callback, user);
      });
}

inline Awaited<void> unbind(const Names &it, const std::string &name) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_names_unbind_async(it.handle(), detail::c_text("name", name), callback, user);
      });
}

inline Awaited<std::vector<std::string>> list(const Names &it) {
  return detail::launch<std::vector<std::string>, zkr_strings *>(
      {}, [](zkr_strings *names_bound) -> std::vector<std::string> { return detail::strings(names_bound); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_names_list_async(it.handle(), callback, user);
      });
}

inline Awaited<std::string> create(const Nodes &it, const std::string &path, const std::string &data = "",
                                   CreateMode mode = CreateMode::Persistent) {
  return detail::launch<std::string, zkr_buffer *, const zkr_stat *>(
      {}, [](zkr_buffer *created, const zkr_stat *) -> std::string { return detail::bytes(created); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_nodes_create_async(detail::Inside::of(it), detail::c_text("path", path), data.data(),
                                      data.size(), mode, callback, user);
      });
}

inline Awaited<std::string> create(const Nodes &it, const std::string &path, const std::string &data,
                                   CreateMode mode, Milliseconds ttl) {
  return detail::launch<std::string, zkr_buffer *, const zkr_stat *>(
      {}, [](zkr_buffer *created, const zkr_stat *) -> std::string { return detail::bytes(created); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_nodes_create_ttl_async(detail::Inside::of(it), detail::c_text("path", path), data.data(),
                                          data.size(), mode, ttl.count(), callback, user);
      });
}

inline Awaited<std::pair<std::string, Stat>> get(const Nodes &it, const std::string &path) {
  return detail::launch<std::pair<std::string, Stat>, zkr_buffer *, const zkr_stat *>(
      {},
      [](zkr_buffer *data, const zkr_stat *stat) -> std::pair<std::string, Stat> {
        return std::pair<std::string, Stat>(detail::bytes(data), *stat);
      },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_nodes_get_async(detail::Inside::of(it), detail::c_text("path", path), callback, user);
      });
}

inline Awaited<Stat> set(const Nodes &it, const std::string &path, const std::string &data,
                         std::int32_t version = -1) {
  return detail::launch<Stat, const zkr_stat *>(
      {}, [](const zkr_stat *stat) -> Stat { return *stat; },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_nodes_set_async(detail::Inside::of(it), detail::c_text("path", path), data.data(),
                                   data.size(), version, callback, user);
      });
}

inline Awaited<void> remove(const Nodes &it, const std::string &path, std::int32_t version = -1) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_nodes_delete_async(detail::Inside::of(it), detail::c_text("path", path), version, callback,
                                      user);
      });
}

inline Awaited<std::optional<Stat>> exists(const Nodes &it, const std::string &path) {
  return detail::launch<std::optional<Stat>, const zkr_stat *>(
      {},
      [](const zkr_stat *stat) -> std::optional<Stat> {
        return stat ? std::optional<Stat>(*stat) : std::nullopt;
      },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_nodes_exists_async(detail::Inside::of(it), detail::c_text("path", path), callback, user);
      });
}

inline Awaited<std::vector<std::string>> children(const Nodes &it, const std::string &path) {
  return detail::launch<std::vector<std::string>, zkr_strings *>(
      {}, [](zkr_strings *children) -> std::vector<std::string> { return detail::strings(children); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_nodes_children_async(detail::Inside::of(it), detail::c_text("path", path), callback, user);
      });
}

inline Awaited<std::vector<std::string>> ephemerals(const Nodes &it, const std::string &path) {
  return detail::launch<std::vector<std::string>, zkr_strings *>(
      {}, [](zkr_strings *ephemerals) -> std::vector<std::string> { return detail::strings(ephemerals); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_nodes_ephemerals_async(detail::Inside::of(it), detail::c_text("path", path), callback,
                                          user);
      });
}

inline Awaited<void> ensure(const Nodes &it, const std::string &path) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_nodes_ensure_async(detail::Inside::of(it), detail::c_text("path", path), callback, user);
      });
}

inline Awaited<void> remove_all(const Nodes &it, const std::string &path) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_nodes_delete_all_async(detail::Inside::of(it), detail::c_text("path", path), callback,
                                          user);
      });
}

inline Awaited<NodeCache> cache(const Nodes &it, const std::string &path) {
  return detail::launch<NodeCache, zkr_node_cache *>(
      {}, [](zkr_node_cache *cache) -> NodeCache { return NodeCache(cache); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_nodes_cache_async(detail::Inside::of(it), detail::c_text("path", path), callback, user);
      });
}

inline Awaited<Held> next(const Partitioner &it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return detail::launch<Held, zkr_held *>(
      std::move(stop), [](zkr_held *partition) -> Held { return Held(partition); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_partitioner_next_cancellable_async(it.handle(), detail::wait_ms(timeout), token, callback,
                                                      user);
      });
}

inline Awaited<Held> next(Partitioner &&it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return next(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<void> leave(const Partitioner &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_partitioner_leave_async(it.handle(), callback, user);
      });
}

inline Awaited<std::map<std::string, std::optional<std::string>>> owners(const Partitioner &it) {
  return detail::launch<std::map<std::string, std::optional<std::string>>, zkr_entries *>(
      {},
      [](zkr_entries *owners) -> std::map<std::string, std::optional<std::string>> {
        return detail::owners(owners);
      },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_partitioner_owners_async(it.handle(), callback, user);
      });
}

inline Awaited<std::map<std::string, std::uint32_t>> members(const Partitioner &it) {
  return detail::launch<std::map<std::string, std::uint32_t>, zkr_entries *>(
      {},
      [](zkr_entries *members) -> std::map<std::string, std::uint32_t> { return detail::weights(members); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_partitioner_members_async(it.handle(), callback, user);
      });
}

inline Awaited<std::string> get(const PriorityQueue &it, Milliseconds timeout = forever,
                                std::stop_token stop = {}) {
  return detail::launch<std::string, zkr_buffer *, const zkr_stat *>(
      std::move(stop), [](zkr_buffer *data, const zkr_stat *) -> std::string { return detail::bytes(data); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_priority_queue_get_cancellable_async(it.handle(), detail::wait_ms(timeout), token,
                                                        callback, user);
      });
}

inline Awaited<std::string> get(PriorityQueue &&it, Milliseconds timeout = forever,
                                std::stop_token stop = {}) {
  return get(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<Item> claim(const PriorityQueue &it, Milliseconds timeout = forever,
                           std::stop_token stop = {}) {
  return detail::launch<Item, zkr_item *>(
      std::move(stop), [](zkr_item *item) -> Item { return Item(item); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_priority_queue_claim_cancellable_async(it.handle(), detail::wait_ms(timeout), token,
                                                          callback, user);
      });
}

inline Awaited<Item> claim(PriorityQueue &&it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return claim(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<std::vector<Item>> claim_many(const PriorityQueue &it, std::size_t n,
                                             Milliseconds timeout = forever, std::stop_token stop = {}) {
  return detail::launch<std::vector<Item>, zkr_items *>(
      std::move(stop), [](zkr_items *items) -> std::vector<Item> { return detail::items(items); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_priority_queue_claim_many_cancellable_async(it.handle(), n, detail::wait_ms(timeout),
                                                               token, callback, user);
      });
}

inline Awaited<std::vector<Item>> claim_many(PriorityQueue &&it, std::size_t n,
                                             Milliseconds timeout = forever, std::stop_token stop = {}) {
  return claim_many(it, n, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<void> ack_many(const PriorityQueue &it, const std::vector<Item> &items) {
  const std::vector<zkr_item *> given = detail::handles<zkr_item>(items);
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_priority_queue_ack_many_async(it.handle(), given.data(), given.size(), callback, user);
      });
}

inline Awaited<std::optional<std::string>> peek(const PriorityQueue &it) {
  return detail::launch<std::optional<std::string>, zkr_buffer *, const zkr_stat *>(
      {},
      [](zkr_buffer *data, const zkr_stat *) -> std::optional<std::string> {
        return data ? std::optional<std::string>(detail::bytes(data)) : std::nullopt;
      },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_priority_queue_peek_async(it.handle(), callback, user);
      });
}

inline Awaited<std::size_t> len(const PriorityQueue &it) {
  return detail::launch<std::size_t, std::int64_t>(
      {}, [](std::int64_t items) -> std::size_t { return static_cast<std::size_t>(items); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_priority_queue_len_async(it.handle(), callback, user);
      });
}

inline Awaited<QueueStats> stats(const PriorityQueue &it) {
  return detail::launch<QueueStats, const zkr_queue_counts *>(
      {}, [](const zkr_queue_counts *stats) -> QueueStats { return *stats; },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_priority_queue_stats_async(it.handle(), callback, user);
      });
}

inline Awaited<std::vector<std::string>> items(const PriorityQueue &it) {
  return detail::launch<std::vector<std::string>, zkr_payloads *>(
      {}, [](zkr_payloads *items) -> std::vector<std::string> { return detail::payloads(items); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_priority_queue_items_async(it.handle(), callback, user);
      });
}

inline Awaited<std::vector<DeadLetter>> dead_letters(const PriorityQueue &it) {
  return detail::launch<std::vector<DeadLetter>, zkr_dead_letters *>(
      {}, [](zkr_dead_letters *letters) -> std::vector<DeadLetter> { return detail::dead_letters(letters); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_priority_queue_dead_letters_async(it.handle(), callback, user);
      });
}

inline Awaited<std::size_t> replay(const PriorityQueue &it) {
  return detail::launch<std::size_t, std::int64_t>(
      {}, [](std::int64_t replayed) -> std::size_t { return static_cast<std::size_t>(replayed); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_priority_queue_replay_async(it.handle(), callback, user);
      });
}

inline Awaited<std::size_t> replay_one(const PriorityQueue &it, const std::string &id) {
  return detail::launch<std::size_t, std::int64_t>(
      {}, [](std::int64_t replayed) -> std::size_t { return static_cast<std::size_t>(replayed); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_priority_queue_replay_one_async(it.handle(), detail::c_text("id", id), callback, user);
      });
}

inline Awaited<std::size_t> purge(const PriorityQueue &it, Milliseconds older_than) {
  return detail::launch<std::size_t, std::int64_t>(
      {}, [](std::int64_t purged) -> std::size_t { return static_cast<std::size_t>(purged); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_priority_queue_purge_async(it.handle(), older_than.count(), callback, user);
      });
}

inline Awaited<void> put(const PriorityQueue &it, const std::string &data, std::int32_t priority,
                         Milliseconds timeout = forever, std::stop_token stop = {}) {
  return detail::launch<void>(
      std::move(stop), []() {},
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_priority_queue_put_cancellable_async(it.handle(), data.data(), data.size(), priority,
                                                        detail::wait_ms(timeout), token, callback, user);
      });
}

inline Awaited<void> put(PriorityQueue &&it, const std::string &data, std::int32_t priority,
                         Milliseconds timeout = forever, std::stop_token stop = {}) {
  return put(it, data, priority, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<void> put_with(const PriorityQueue &it, const std::string &data, std::int32_t priority,
                              const std::string &key, Milliseconds timeout = forever,
                              std::stop_token stop = {}) {
  return detail::launch<void>(
      std::move(stop), []() {},
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_priority_queue_put_with_cancellable_async(it.handle(), data.data(), data.size(), priority,
                                                             detail::c_text("key", key),
                                                             detail::wait_ms(timeout), token, callback, user);
      });
}

inline Awaited<void> put_with(PriorityQueue &&it, const std::string &data, std::int32_t priority,
                              const std::string &key, Milliseconds timeout = forever,
                              std::stop_token stop = {}) {
  return put_with(it, data, priority, key, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<Decision> outcome(const Proposal &it, Milliseconds timeout = forever,
                                 std::stop_token stop = {}) {
  return detail::launch<Decision, zkr_outcome>(
      std::move(stop), [](zkr_outcome decided) -> Decision { return Decision(decided); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_proposal_outcome_cancellable_async(it.handle(), detail::wait_ms(timeout), token, callback,
                                                      user);
      });
}

inline Awaited<Decision> outcome(Proposal &&it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return outcome(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<void> vote_commit(const Proposal &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_proposal_vote_commit_async(it.handle(), callback, user);
      });
}

inline Awaited<void> vote_abort(const Proposal &it, const std::string &reason = "") {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_proposal_vote_abort_async(it.handle(), detail::c_text_if_any("reason", reason), callback,
                                             user);
      });
}

inline Awaited<void> acknowledge(const Proposal &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_proposal_acknowledge_async(it.handle(), callback, user);
      });
}

inline Awaited<std::string> get(const Queue &it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return detail::launch<std::string, zkr_buffer *, const zkr_stat *>(
      std::move(stop), [](zkr_buffer *data, const zkr_stat *) -> std::string { return detail::bytes(data); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_queue_get_cancellable_async(it.handle(), detail::wait_ms(timeout), token, callback, user);
      });
}

inline Awaited<std::string> get(Queue &&it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return get(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<Item> claim(const Queue &it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return detail::launch<Item, zkr_item *>(
      std::move(stop), [](zkr_item *item) -> Item { return Item(item); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_queue_claim_cancellable_async(it.handle(), detail::wait_ms(timeout), token, callback,
                                                 user);
      });
}

inline Awaited<Item> claim(Queue &&it, Milliseconds timeout = forever, std::stop_token stop = {}) {
  return claim(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<std::vector<Item>> claim_many(const Queue &it, std::size_t n, Milliseconds timeout = forever,
                                             std::stop_token stop = {}) {
  return detail::launch<std::vector<Item>, zkr_items *>(
      std::move(stop), [](zkr_items *items) -> std::vector<Item> { return detail::items(items); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_queue_claim_many_cancellable_async(it.handle(), n, detail::wait_ms(timeout), token,
                                                      callback, user);
      });
}

inline Awaited<std::vector<Item>> claim_many(Queue &&it, std::size_t n, Milliseconds timeout = forever,
                                             std::stop_token stop = {}) {
  return claim_many(it, n, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<void> ack_many(const Queue &it, const std::vector<Item> &items) {
  const std::vector<zkr_item *> given = detail::handles<zkr_item>(items);
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_queue_ack_many_async(it.handle(), given.data(), given.size(), callback, user);
      });
}

inline Awaited<std::optional<std::string>> peek(const Queue &it) {
  return detail::launch<std::optional<std::string>, zkr_buffer *, const zkr_stat *>(
      {},
      [](zkr_buffer *data, const zkr_stat *) -> std::optional<std::string> {
        return data ? std::optional<std::string>(detail::bytes(data)) : std::nullopt;
      },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_queue_peek_async(it.handle(), callback, user);
      });
}

inline Awaited<std::size_t> len(const Queue &it) {
  return detail::launch<std::size_t, std::int64_t>(
      {}, [](std::int64_t items) -> std::size_t { return static_cast<std::size_t>(items); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_queue_len_async(it.handle(), callback, user);
      });
}

inline Awaited<QueueStats> stats(const Queue &it) {
  return detail::launch<QueueStats, const zkr_queue_counts *>(
      {}, [](const zkr_queue_counts *stats) -> QueueStats { return *stats; },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_queue_stats_async(it.handle(), callback, user);
      });
}

inline Awaited<std::vector<std::string>> items(const Queue &it) {
  return detail::launch<std::vector<std::string>, zkr_payloads *>(
      {}, [](zkr_payloads *items) -> std::vector<std::string> { return detail::payloads(items); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_queue_items_async(it.handle(), callback, user);
      });
}

inline Awaited<std::vector<DeadLetter>> dead_letters(const Queue &it) {
  return detail::launch<std::vector<DeadLetter>, zkr_dead_letters *>(
      {}, [](zkr_dead_letters *letters) -> std::vector<DeadLetter> { return detail::dead_letters(letters); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_queue_dead_letters_async(it.handle(), callback, user);
      });
}

inline Awaited<std::size_t> replay(const Queue &it) {
  return detail::launch<std::size_t, std::int64_t>(
      {}, [](std::int64_t replayed) -> std::size_t { return static_cast<std::size_t>(replayed); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_queue_replay_async(it.handle(), callback, user);
      });
}

inline Awaited<std::size_t> replay_one(const Queue &it, const std::string &id) {
  return detail::launch<std::size_t, std::int64_t>(
      {}, [](std::int64_t replayed) -> std::size_t { return static_cast<std::size_t>(replayed); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_queue_replay_one_async(it.handle(), detail::c_text("id", id), callback, user);
      });
}

inline Awaited<std::size_t> purge(const Queue &it, Milliseconds older_than) {
  return detail::launch<std::size_t, std::int64_t>(
      {}, [](std::int64_t purged) -> std::size_t { return static_cast<std::size_t>(purged); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_queue_purge_async(it.handle(), older_than.count(), callback, user);
      });
}

inline Awaited<void> put(const Queue &it, const std::string &data, Milliseconds timeout = forever,
                         std::stop_token stop = {}) {
  return detail::launch<void>(
      std::move(stop), []() {},
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_queue_put_cancellable_async(it.handle(), data.data(), data.size(),
                                               detail::wait_ms(timeout), token, callback, user);
      });
}

inline Awaited<void> put(Queue &&it, const std::string &data, Milliseconds timeout = forever,
                         std::stop_token stop = {}) {
  return put(it, data, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<void> put_with(const Queue &it, const std::string &data, const std::string &key,
                              Milliseconds timeout = forever, std::stop_token stop = {}) {
  return detail::launch<void>(
      std::move(stop), []() {},
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_queue_put_with_cancellable_async(it.handle(), data.data(), data.size(),
                                                    detail::c_text("key", key), detail::wait_ms(timeout),
                                                    token, callback, user);
      });
}

inline Awaited<void> put_with(Queue &&it, const std::string &data, const std::string &key,
                              Milliseconds timeout = forever, std::stop_token stop = {}) {
  return put_with(it, data, key, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<void> put_many(const Queue &it, const std::vector<std::string> &items,
                              Milliseconds timeout = forever, std::stop_token stop = {}) {
  const detail::Several given(items);
  return detail::launch<void>(
      std::move(stop), []() {},
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_queue_put_many_cancellable_async(it.handle(), given.data(), given.sizes(), given.count(),
                                                    detail::wait_ms(timeout), token, callback, user);
      });
}

inline Awaited<void> put_many(Queue &&it, const std::vector<std::string> &items,
                              Milliseconds timeout = forever, std::stop_token stop = {}) {
  return put_many(it, items, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<void> update(const Registration &it, const Service &service) {
  const zkr_service given = detail::given(service);
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_registration_update_async(it.get(), &given, callback, user);
      });
}

inline Awaited<void> unregister(const Registration &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_registration_unregister_async(it.get(), callback, user);
      });
}

inline Awaited<std::vector<Contender>> holders(const Semaphore &it) {
  return detail::launch<std::vector<Contender>, zkr_contenders *>(
      {}, [](zkr_contenders *holders) -> std::vector<Contender> { return detail::contenders(holders); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_semaphore_holders_async(it.get(), callback, user);
      });
}

inline Awaited<void> resize(const Semaphore &it, std::size_t permits) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_semaphore_resize_async(it.get(), permits, callback, user);
      });
}

inline Awaited<bool> check_sequencer(const Client &it, const std::string &sequencer) {
  return detail::launch<bool, bool>(
      {}, [](bool valid) -> bool { return valid; },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_client_check_sequencer_async(it.get(), detail::c_text("sequencer", sequencer), callback,
                                                user);
      });
}

inline Awaited<void> watch_sequencer(const Client &it, const std::string &sequencer,
                                     Milliseconds timeout = forever, std::stop_token stop = {}) {
  return detail::launch<void>(
      std::move(stop), []() {},
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_client_watch_sequencer_cancellable_async(it.get(), detail::c_text("sequencer", sequencer),
                                                            detail::wait_ms(timeout), token, callback, user);
      });
}

inline Awaited<void> watch_sequencer(Client &&it, const std::string &sequencer,
                                     Milliseconds timeout = forever, std::stop_token stop = {}) {
  return watch_sequencer(it, sequencer, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<std::vector<PartResult>> commit(const Transaction &it) {
  return detail::launch<std::vector<PartResult>, zkr_part_results *>(
      {}, [](zkr_part_results *results) -> std::vector<PartResult> { return detail::part_results(results); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_transaction_commit_results_async(it.get(), callback, user);
      });
}

inline Awaited<CommitTransaction> begin(const TwoPhaseCommit &it, const std::string &id,
                                        const std::vector<std::string> &sites, const std::string &payload,
                                        Milliseconds timeout) {
  const detail::Texts given("sites", sites);
  return detail::launch<CommitTransaction, zkr_commit_transaction *>(
      {},
      [](zkr_commit_transaction *transaction) -> CommitTransaction { return CommitTransaction(transaction); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_two_phase_commit_begin_async(it.handle(), detail::c_text("id", id), given.data(),
                                                given.count(), payload.data(), payload.size(),
                                                timeout.count(), callback, user);
      });
}

inline Awaited<std::vector<CommitTransaction>> recover(const TwoPhaseCommit &it) {
  return detail::launch<std::vector<CommitTransaction>, zkr_commit_transactions *>(
      {},
      [](zkr_commit_transactions *transactions) -> std::vector<CommitTransaction> {
        return detail::commit_transactions(transactions);
      },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_two_phase_commit_recover_async(it.handle(), callback, user);
      });
}

inline Awaited<void> join(const TwoPhaseCommit &it, const std::string &site) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_two_phase_commit_join_async(it.handle(), detail::c_text("site", site), callback, user);
      });
}

inline Awaited<void> leave(const TwoPhaseCommit &it) {
  return detail::launch<void>(
      {}, []() {},
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_two_phase_commit_leave_async(it.handle(), callback, user);
      });
}

inline Awaited<Proposal> next(const TwoPhaseCommit &it, Milliseconds timeout = forever,
                              std::stop_token stop = {}) {
  return detail::launch<Proposal, zkr_proposal *>(
      std::move(stop), [](zkr_proposal *proposal) -> Proposal { return Proposal(proposal); },
      [&](zkr_cancel_token *token, auto callback, void *user) {
        return zkr_two_phase_commit_next_cancellable_async(it.handle(), detail::wait_ms(timeout), token,
                                                           callback, user);
      });
}

inline Awaited<Proposal> next(TwoPhaseCommit &&it, Milliseconds timeout = forever,
                              std::stop_token stop = {}) {
  return next(it, timeout, std::move(stop)).keeping(std::move(it));
}

inline Awaited<std::vector<Proposal>> pending(const TwoPhaseCommit &it) {
  return detail::launch<std::vector<Proposal>, zkr_proposals *>(
      {}, [](zkr_proposals *proposals) -> std::vector<Proposal> { return detail::proposals(proposals); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_two_phase_commit_pending_async(it.handle(), callback, user);
      });
}

inline Awaited<std::vector<CommitStatus>> history(const TwoPhaseCommit &it) {
  return detail::launch<std::vector<CommitStatus>, zkr_commit_statuses *>(
      {},
      [](zkr_commit_statuses *statuses) -> std::vector<CommitStatus> {
        return detail::commit_statuses(statuses);
      },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_two_phase_commit_history_async(it.handle(), callback, user);
      });
}

inline Awaited<std::optional<CommitStatus>> show(const TwoPhaseCommit &it, const std::string &id) {
  return detail::launch<std::optional<CommitStatus>, zkr_commit_statuses *>(
      {},
      [](zkr_commit_statuses *statuses) -> std::optional<CommitStatus> {
        return detail::commit_status(statuses);
      },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_two_phase_commit_show_async(it.handle(), detail::c_text("id", id), callback, user);
      });
}

inline Awaited<Decision> decide_abort(const TwoPhaseCommit &it, const std::string &id,
                                      const std::string &reason) {
  return detail::launch<Decision, zkr_outcome>(
      {}, [](zkr_outcome decided) -> Decision { return Decision(decided); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_two_phase_commit_decide_abort_async(it.handle(), detail::c_text("id", id),
                                                       detail::c_text("reason", reason), callback, user);
      });
}

inline Awaited<std::vector<std::string>> whoami(const Client &it) {
  return detail::launch<std::vector<std::string>, zkr_strings *>(
      {}, [](zkr_strings *identities) -> std::vector<std::string> { return detail::strings(identities); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_client_whoami_async(it.get(), callback, user);
      });
}

// --- end of generated

/** As Lock::downgrade. It cannot tell the lock of it: what is returned is released, and not unlocked. */
inline Awaited<Held> downgrade(const Lock &it) {
  return detail::launch<Held, zkr_held *>(
      {}, [](zkr_held *reading) -> Held { return Held(reading); },
      [&](zkr_cancel_token *, auto callback, void *user) {
        return zkr_lock_downgrade_async(it.get(), callback, user);
      });
}

}  // namespace coro

}  // namespace zkr

#endif  // ZKRECIPES_CORO_HPP
