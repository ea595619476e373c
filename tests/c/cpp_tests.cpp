// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes.hpp: the same promises with destructors, exceptions and std::chrono. Here the lock and what every
// recipe shares.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <sstream>
#include <thread>
#include <zkrecipes.hpp>

#include "cpp_harness.hpp"

#define TESTS(X)                                      \
  X(a_lock_guard_holds_for_its_scope)                 \
  X(a_unique_lock_can_time_out)                       \
  X(try_lock_is_false_only_when_somebody_else_has_it) \
  X(scoped_lock_takes_several)                        \
  X(an_acquisition_is_a_value)                        \
  X(every_kind_of_error_has_a_class)                  \
  X(names_of_our_own_go_with_those_of_c)              \
  X(several_locks_made_for_it_are_one)                \
  X(a_client_that_goes_takes_everything_with_it)      \
  X(owns_lock_cannot_see_loss_but_is_held_can)        \
  X(release_throws_where_unlock_does_not)             \
  X(errors_say_what_and_where)                        \
  X(errors_name_options_as_they_are_called_here)      \
  X(a_cancel_token_withdraws_a_wait)                  \
  X(contenders_are_listed_in_order)                   \
  X(guarded_writes_go_through_a_transaction)          \
  X(a_subscription_ends_with_its_scope)               \
  X(callbacks_may_end_each_others_subscriptions)      \
  X(a_negative_duration_does_not_wait)                \
  X(an_exception_in_a_callback_stops_nothing)         \
  X(dispatch_runs_callbacks_on_this_thread)           \
  X(nodes_are_plain_values)                           \
  X(options_reach_the_library)                        \
  X(moved_from_objects_are_empty_not_dangerous)       \
  X(a_sequencer_tells_whether_an_acquisition_stands)  \
  X(the_library_can_be_ended_and_starts_anew)

namespace {

void a_lock_guard_holds_for_its_scope() {
  zkr::Client client(hosts());
  auto lock = client.lock(path("guard"));
  {
    std::lock_guard<zkr::Lock> guard(lock);
    CHECK(lock.is_held() && lock.owns_lock());
    CHECK(lock.fencing_token() > 0);
    lock.verify();
  }
  CHECK(!lock.is_held() && !lock.owns_lock());
  THROWS(lock.fencing_token(), zkr::ErrorKind::NotHeld);
  CHECK(eventually([&] { return children_of(client, path("guard")) == 0; }));
}

/** A clock that counts up to a time that is still to come. */
struct BeforeItsEpoch {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BeforeItsEpoch>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept { return time_point(-1h); }
};

void a_unique_lock_can_time_out() {
  zkr::Client one(hosts()), two(hosts());
  auto holder = one.lock(path("unique")), other = two.lock(path("unique"));
  holder.lock();
  std::unique_lock<zkr::Lock> late(other, 100ms);
  CHECK(!late.owns_lock() && !other.owns_lock());
  CHECK(!late.try_lock());
  CHECK(!late.try_lock_until(std::chrono::steady_clock::now() + 50ms));
  CHECK(!late.try_lock_until(std::chrono::system_clock::now() - 1h));
  CHECK(!late.try_lock_until((std::chrono::steady_clock::time_point::min)()));
  CHECK(
      !late.try_lock_until((std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>::min)()));
  std::thread releasing([&] {
    std::this_thread::sleep_for(100ms);
    holder.release();
  });
  CHECK(late.try_lock_until((BeforeItsEpoch::time_point::max)()));
  releasing.join();
  CHECK(late.owns_lock() && other.is_held());
  late.unlock();
  CHECK(late.try_lock_for(5s));
  late.unlock();
  CHECK(!other.is_held());
}

void try_lock_is_false_only_when_somebody_else_has_it() {
  zkr::Client one(hosts()), two(hosts());
  auto holder = one.lock(path("try")), other = two.lock(path("try"));
  CHECK(holder.try_lock());
  CHECK(!other.try_lock());
  CHECK(!other.try_acquire());
  holder.unlock();
  CHECK(eventually([&] { return other.try_lock(); }));
  other.unlock();
  two.close();
  THROWS(other.try_lock(), zkr::ErrorKind::Closed);
  THROWS(other.try_lock_for(1s), zkr::ErrorKind::Closed);
}

void scoped_lock_takes_several() {
  zkr::Client client(hosts());
  auto a = client.lock(path("scoped-a")), b = client.lock(path("scoped-b"));
  {
    std::scoped_lock both(a, b);
    CHECK(a.is_held() && b.is_held());
  }
  CHECK(!a.is_held() && !b.is_held());
}

void an_acquisition_is_a_value() {
  zkr::Client client(hosts());
  auto lock = client.lock(path("value"));
  std::uint64_t first = 0;
  {
    zkr::Held held = lock.acquire();
    CHECK(held.is_held() && held.path() == path("value"));
    CHECK(held.node().find(path("value")) == 0 && !held.sequencer().empty());
    first = held.fencing_token();
    zkr::Held moved = std::move(held);
    CHECK(moved.is_held() && moved.fencing_token() == first);
    THROWS(lock.acquire(50ms), zkr::ErrorKind::Timeout);
  }
  auto again = lock.acquire(5s);
  CHECK(again.fencing_token() > first);
  again.release();
  THROWS(again.release(), zkr::ErrorKind::NotHeld);
  CHECK(children_of(client, path("value")) == 0);
  again = lock.acquire(zkr::forever);
  CHECK(again.is_held());
}

template <typename Kind, typename Body>
bool throws(const Body &body) {
  try {
    body();
  } catch (const zkr::Error &error) {
    return dynamic_cast<const Kind *>(&error) != nullptr;
  }
  return false;
}

void every_kind_of_error_has_a_class() {
  zkr::Client client(hosts());
  auto lock = client.lock(path("kinds"));
  const auto held = lock.acquire();
  CHECK(throws<zkr::Timeout>([&] { auto late = lock.acquire(0ms); }));
  CHECK(throws<zkr::Invalid>([&] { client.lock("relative"); }));
  CHECK(throws<zkr::NoNode>([&] { client.nodes().get(path("nowhere")); }));
  CHECK(throws<zkr::NotHeld>([&] { client.lock(path("free")).fencing_token(); }));
  CHECK(throws<zkr::Invalid>([&] { client.lock(std::string("/a\0b", 4)); }));
  // Each is a zkr::Error, and none is another one's.
  CHECK(throws<zkr::Error>([&] { client.lock("relative"); }));
  CHECK(!throws<zkr::Timeout>([&] { client.lock("relative"); }));
  client.close();
  CHECK(throws<zkr::Closed>([&] { client.nodes().get("/"); }));
  CHECK(throws<zkr::Closed>([&] { (void)lock.on_wait([](const zkr::WaitProgress &) {}); }));
  const zkr::Client moved(std::move(client));
  CHECK(throws<zkr::Invalid>([&] { client.event_fd(); }));
}

void errors_name_options_as_they_are_called_here() {
  zkr::Options options;
  options.connect_timeout = 300ms;
  try {
    zkr::Client client("127.0.0.1:1", options);
    CHECK(false);
  } catch (const zkr::ConnectionLost &error) {
    const std::string said = error.what();
    CHECK(said.find("connect_timeout") != std::string::npos);
    CHECK(said.find("connect_timeout_ms") == std::string::npos);
  }
  const auto said = [](const auto &refused) -> std::string {
    try {
      refused();
    } catch (const zkr::Invalid &error) {
      return error.what();
    }
    return "";
  };
  const auto begins = [](const std::string &text, const std::string &with) {
    return text.compare(0, with.size(), with) == 0;
  };
  zkr::Options short_lived, quick;
  short_lived.session_timeout = -1ms;
  quick.retry.max = -1ms;
  CHECK(begins(said([&] { zkr::Client(hosts(), short_lived); }), "invalid session_timeout: "));
  CHECK(begins(said([&] { zkr::Client(hosts(), quick); }), "invalid retry.max: "));
  zkr::Client client(hosts());
  zkr::QueueOptions window;
  window.key_window = -1ms;
  CHECK(begins(said([&] { client.queue(path("window"), window); }), "invalid key_window: "));
  auto delayed = client.delay_queue(path("delayed"));
  CHECK(begins(said([&] { delayed.put("x", -1ms); }), "invalid delay: "));
}

void names_of_our_own_go_with_those_of_c() {
  static_assert(zkr::CreateMode::Ephemeral == ZKR_EPHEMERAL, "one value");
  static_assert(zkr::Naming(ZKR_NAMING_KAZOO) == zkr::Naming::Kazoo, "either becomes the other");
  zkr::Client client(hosts());
  const zkr::State state = client.state();
  switch (state) {
    case zkr::State::Connected:
      break;
    default:
      CHECK(false);
  }
  CHECK(state != zkr::State::Closed && state == ZKR_STATE_CONNECTED);
  const zkr_state either = state == zkr::State::Connected ? client.state() : ZKR_STATE_CLOSED;
  CHECK(either == ZKR_STATE_CONNECTED);
  const std::string node = client.nodes().create(path("mode"), "", zkr::CreateMode::Ephemeral);
  CHECK(client.nodes().get(node).second.ephemeral_owner != 0);
}

void several_locks_made_for_it_are_one() {
  zkr::Client client(hosts());
  auto both = client.multi_lock({client.lock(path("one")), client.lock(path("two"))});
  const auto held = both.acquire();
  CHECK(held.fencing_tokens().size() == 2);
  CHECK(throws<zkr::Timeout>([&] { auto late = client.lock(path("two")).acquire(0ms); }));
}

void a_client_that_goes_takes_everything_with_it() {
  zkr::testing::Server server;
  zkr::Client observer(server.connect_string());
  {
    zkr::Client client(server.connect_string());
    auto lock = client.lock("/gone");
    const auto held = lock.acquire();
    CHECK(children_of(observer, "/gone") == 1);
  }
  CHECK(children_of(observer, "/gone") == 0);  // at once: the process might end here
}

void owns_lock_cannot_see_loss_but_is_held_can() {
  zkr::testing::Server server;
  zkr::Client client(server.connect_string());
  auto lock = client.lock("/lost");
  lock.lock();
  std::atomic<int> told{0};
  std::atomic<bool> is_of_its_class{false};
  std::atomic<zkr_reason> reason{ZKR_REASON_NONE};
  const auto subscription = lock.on_lost([&](const zkr::Error &error) {
    reason = error.reason();
    CHECK(error.code() == zkr::ErrorKind::Lost);
    is_of_its_class = dynamic_cast<const zkr::Lost *>(&error) != nullptr;
    told++;
  });
  server.expire(client.session_id());
  CHECK(eventually([&] { return told == 1; }));
  CHECK(reason == ZKR_REASON_SESSION && is_of_its_class);
  CHECK(lock.owns_lock() && !lock.is_held());
  lock.unlock();  // silent but for a line on stderr
  CHECK(!lock.owns_lock());
}

void release_throws_where_unlock_does_not() {
  zkr::Client client(hosts());
  auto lock = client.lock(path("unlock"));
  static_assert(noexcept(lock.unlock()), "unlock runs in destructors");
  std::atomic<int> told{0};
  const auto log = zkr::on_log(
      ZKR_LOG_ERROR, [&](const zkr::LogRecord &record) { told += record.event == "unlock_failed"; });
  lock.unlock();
  CHECK(eventually([&] { return told == 1; }));
  THROWS(lock.release(), zkr::ErrorKind::NotHeld);
}

void errors_say_what_and_where() {
  zkr::Client client(hosts());
  THROWS(client.lock("relative"), zkr::ErrorKind::Invalid);
  THROWS(client.lock("/\xff"), zkr::ErrorKind::Invalid);
  THROWS(client.lock("/" + std::string(2 << 20, 'x')), zkr::ErrorKind::TooLarge);
  THROWS(zkr::Client("h:port"), ZKR_INVALID);
  try {
    client.nodes().remove(path("none"));
    CHECK(false);
  } catch (const zkr::Error &error) {
    CHECK(error.code() == zkr::ErrorKind::NoNode);
    CHECK(error.path() == path("none"));
    CHECK(std::strlen(error.what()) > 10);
    CHECK(!error.retryable() && error.reason() == ZKR_REASON_NONE);
  }
}

void a_cancel_token_withdraws_a_wait() {
  zkr::Client one(hosts()), two(hosts());
  auto holder = one.lock(path("cancel")), other = two.lock(path("cancel"));
  const auto held = holder.acquire();
  zkr::CancelToken token;
  zkr_status status = ZKR_OK;
  std::thread waiter([&] {
    try {
      other.lock(token);
    } catch (const zkr::Error &error) {
      status = error.code();
    }
  });
  CHECK(eventually([&] { return children_of(one, path("cancel")) == 2; }));
  token.cancel();
  waiter.join();
  CHECK(status == zkr::ErrorKind::Cancelled && !other.owns_lock());
  CHECK(eventually([&] { return children_of(one, path("cancel")) == 1; }));
  THROWS(other.acquire(1h, token), zkr::ErrorKind::Cancelled);
  THROWS(zkr::Client(hosts(), {}, token), zkr::ErrorKind::Cancelled);
}

void contenders_are_listed_in_order() {
  zkr::Client client(hosts(), named("me"));
  auto lock = client.lock(path("contenders"));
  CHECK(lock.contenders().empty());
  std::lock_guard<zkr::Lock> guard(lock);
  const auto contenders = lock.contenders();
  CHECK(contenders.size() == 1 && contenders[0].identity == "me" && contenders[0].holds);
  CHECK(contenders[0].session_id == client.session_id() && contenders[0].kind == "lock");
}

void guarded_writes_go_through_a_transaction() {
  zkr::Client client(hosts());
  auto lock = client.lock(path("guarded"));
  auto held = lock.acquire();
  held.guarded().create(path("guarded-data"), "1").set(path("guarded-data"), "2").commit();
  CHECK(client.nodes().get(path("guarded-data")).first == "2");
  auto writes = lock.guarded();
  writes.remove(path("guarded-data"));
  held.release();
  THROWS(writes.commit(), zkr::ErrorKind::NotHeld);
  CHECK(client.nodes().exists(path("guarded-data")));
}

void a_subscription_ends_with_its_scope() {
  zkr::testing::Server server;
  zkr::Client client(server.connect_string());
  std::atomic<int> kept{0}, dropped{0}, own{0};
  auto keeping = client.on_state([&](zkr::State) { kept++; });
  {
    auto dropping = client.on_state([&](zkr::State) { dropped++; });
  }
  zkr::Subscription self;
  self = client.on_state([&](zkr::State) {
    own++;
    self.unsubscribe();  // from inside the callback
  });
  server.stop();
  CHECK(eventually([&] { return kept >= 1 && own == 1; }));
  server.restart();
  CHECK(eventually([&] { return kept >= 2; }));
  CHECK(dropped == 0 && own == 1);
  keeping.unsubscribe();
  const int before = kept;
  client.close();
  CHECK(kept == before);
}

void an_exception_in_a_callback_stops_nothing() {
  zkr::testing::Server server;
  zkr::Client client(server.connect_string());
  std::atomic<int> after{0}, told{0};
  const auto log = zkr::on_log(
      ZKR_LOG_ERROR, [&](const zkr::LogRecord &record) { told += record.event == "callback_threw"; });
  const auto throwing = client.on_state([](zkr::State) { throw std::runtime_error("on purpose"); });
  const auto counting = client.on_state([&](zkr::State) { after++; });
  server.stop();
  CHECK(eventually([&] { return after == 1; }));
  server.restart();
  CHECK(eventually([&] { return after == 2; }));
  CHECK(eventually([&] { return told == 2; }));
}

void dispatch_runs_callbacks_on_this_thread() {
  zkr::testing::Server server;
  zkr::Client client(server.connect_string());
  CHECK(client.event_fd() >= 0);
  CHECK(client.dispatch() == 0);
  auto lock = client.lock("/dispatched");
  auto held = lock.acquire();
  std::thread::id thread;
  bool is_of_its_class = false;
  const auto subscription = held.on_lost([&](const zkr::Error &) {
    thread = std::this_thread::get_id();
    THROWS(client.dispatch(), zkr::ErrorKind::Deadlock);
    is_of_its_class = throws<zkr::Deadlock>([&] { client.dispatch(); });
    THROWS(held.verify(), zkr::ErrorKind::Deadlock);
  });
  server.expire(client.session_id());
  CHECK(client.dispatch(1, 10s) == 1);
  CHECK(thread == std::this_thread::get_id() && is_of_its_class);
}

void nodes_are_plain_values() {
  zkr::Client client(hosts());
  auto nodes = client.nodes();
  const auto at = path("nodes");
  nodes.ensure(at);
  CHECK(nodes.create(at + "/a", std::string("x\0y", 3)) == at + "/a");
  const auto [data, stat] = nodes.get(at + "/a");
  CHECK(data.size() == 3 && stat.version == 0);
  CHECK(nodes.set(at + "/a", "", 0).version == 1);
  THROWS(nodes.set(at + "/a", "", 0), zkr::ErrorKind::BadVersion);
  CHECK(nodes.create(at + "/s-", "", ZKR_EPHEMERAL_SEQUENTIAL).size() == at.size() + 13);
  CHECK(nodes.children(at).size() == 2);
  CHECK(!nodes.exists(at + "/none") && nodes.exists(at)->num_children == 2);
  nodes.transaction().check(at).remove(at + "/a").commit();
  nodes.remove_all(at);
  CHECK(!nodes.exists(at));
}

void options_reach_the_library() {
  zkr::Options options;
  options.session_timeout = 6s;
  options.server_tick = 3s;
  options.auth = {{"digest", "user:password"}};
  options.acl = ZKR_ACL_LIST;
  options.acl_list = {{"world", "anyone", "rwcda"}};
  options.retry.base = 10ms;
  options.retry.give_up_after = 3s;
  options.max_in_flight = 2;
  zkr::Client client(hosts(), options);
  client.update_hosts(hosts());
  THROWS(client.update_hosts("zk1:x"), zkr::ErrorKind::Invalid);
  CHECK(client.session_timeout() == 6s && client.state() == ZKR_STATE_CONNECTED);
  client.nodes().ensure(path("options"));

  zkr::LockOptions reentrant;
  reentrant.reentrant = true;
  auto lock = client.lock(path("options/lock"), reentrant);
  std::lock_guard<zkr::Lock> outer(lock);
  { std::lock_guard<zkr::Lock> inner(lock); }
  CHECK(lock.is_held() && client.lease_remaining() > 0ms);

  for (auto tick : {0s, 4s}) {
    options.server_tick = tick;
    THROWS(zkr::Client(hosts(), options), zkr::ErrorKind::Invalid);
  }
  options.server_tick.reset();
  options.max_in_flight = 0;
  THROWS(zkr::Client(hosts(), options), zkr::ErrorKind::Invalid);
  options.max_in_flight = 1;
  options.session_timeout = -1s;
  THROWS(zkr::Client(hosts(), options), zkr::ErrorKind::Invalid);
}

void moved_from_objects_are_empty_not_dangerous() {
  zkr::Client client(hosts());
  auto lock = client.lock(path("moved"));
  zkr::Lock other = std::move(lock);
  THROWS(lock.lock(), zkr::ErrorKind::Invalid);
  CHECK(!lock.is_held() && !lock.owns_lock());
  std::lock_guard<zkr::Lock> guard(other);
  zkr::Client moved = std::move(client);
  THROWS(client.lock("/a"), zkr::ErrorKind::Invalid);
  CHECK(moved.state() == ZKR_STATE_CONNECTED);
}

void a_sequencer_tells_whether_an_acquisition_stands() {
  zkr::Client client(hosts());
  auto lock = client.lock(path("sequencer"));
  auto held = lock.acquire();
  const auto sequencer = held.sequencer();
  CHECK(client.check_sequencer(sequencer));
  THROWS(client.watch_sequencer(sequencer, 50ms), zkr::ErrorKind::Timeout);
  zkr::CancelToken token;
  token.cancel();
  THROWS(client.watch_sequencer(sequencer, zkr::forever, token), zkr::ErrorKind::Cancelled);
  held.release();
  client.watch_sequencer(sequencer);
  CHECK(!client.check_sequencer(sequencer));
  THROWS(client.check_sequencer("nonsense"), zkr::ErrorKind::Invalid);
}

// Each ends the other's while both run: neither waits, and what a function has captured lives until it is
// over.
void callbacks_may_end_each_others_subscriptions() {
  zkr::testing::Server server;
  zkr::Client clients[2] = {zkr::Client(server.connect_string()), zkr::Client(server.connect_string())};
  zkr::Subscription subscriptions[2];
  std::atomic<int> inside{0};
  std::string seen[2];
  for (int i = 0; i < 2; i++) {
    clients[i].event_fd();
    const std::string own(100, static_cast<char>('a' + i));
    subscriptions[i] = clients[i].on_state([&, i, own](zkr::State) {
      ++inside;
      while (inside < 2) std::this_thread::sleep_for(1ms);
      subscriptions[1 - i].unsubscribe();
      seen[i] = own;
    });
  }
  server.stop();
  std::thread other([&] { clients[1].dispatch(1, 10s); });
  clients[0].dispatch(1, 10s);
  other.join();
  CHECK(seen[0] == std::string(100, 'a') && seen[1] == std::string(100, 'b'));
  server.restart();
}

void a_negative_duration_does_not_wait() {
  zkr::Client holder(hosts()), client(hosts());
  const auto at = path("negative");
  auto held = holder.lock(at).acquire(10s);
  auto lock = client.lock(at);
  auto permits = client.semaphore(path("negative-permits"), 1);
  auto permit = permits.acquire();
  const auto begun = std::chrono::steady_clock::now();
  // A deadline that has just passed is -1 ms, too.
  for (const auto past : {-1ms, -2ms, zkr::Milliseconds::min()}) {
    CHECK(!lock.try_lock_for(past));
    THROWS(lock.acquire(past), zkr::ErrorKind::Timeout);
    THROWS(permits.acquire(1, past), zkr::ErrorKind::Timeout);
    THROWS(client.watch_sequencer(held.sequencer(), past), zkr::ErrorKind::Timeout);
    CHECK(client.dispatch(0, past) == 0);
  }
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
  THROWS(lock.try_lock_for(std::chrono::duration<double>(std::nan(""))), zkr::ErrorKind::Invalid);
  std::thread later([&] {
    std::this_thread::sleep_for(50ms);
    held.release();
  });
  CHECK(lock.try_lock_for(zkr::forever));
  later.join();
  lock.unlock();
}

void the_library_can_be_ended_and_starts_anew() {
  for (int round = 0; round < 2; round++) {
    {
      zkr::Client client(hosts());
      auto lock = client.lock(path("ended"));
      std::lock_guard<zkr::Lock> guard(lock);
      THROWS(zkr::library_shutdown(1s), zkr::ErrorKind::Invalid);
    }
    zkr::library_shutdown(10s);
  }
}

struct Test {
  const char *name;
  void (*run)();
};

const Test tests[] = {
#define ENTRY(name) {#name, name},
    TESTS(ENTRY) FAMILY_TESTS(ENTRY) KIT_TESTS(ENTRY) RECIPE_TESTS(ENTRY) INPUT_TESTS(ENTRY)
        QUEUE_TESTS(ENTRY) BARRIER_TESTS(ENTRY) COMMIT_TESTS(ENTRY) CORO_TESTS(ENTRY)};

}  // namespace

int main(int count, char **arguments) {
  int passed = 0, failed = 0;
  for (const Test &test : tests) {
    if (count > 1 && !std::strstr(test.name, arguments[1])) continue;
    alarm(120);  // a test that hangs ends the program
    std::string problem;
    try {
      test.run();
    } catch (const Failure &failure) {
      problem = failure.text;
    } catch (const std::exception &thrown) {
      problem = thrown.what();
    }
    if (!problem.empty()) std::cout << "  " << problem << "\n";
    std::cout << (problem.empty() ? "ok     " : "FAILED ") << test.name << std::endl;
    ++(problem.empty() ? passed : failed);
  }
  zkr::Client cleaner(hosts());
  cleaner.nodes().remove_all(root());
  cleaner.close();
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return failed > 0;
}
