// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes.hpp: the same promises with destructors, exceptions and std::chrono.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <sstream>
#include <thread>
#include <zkrecipes.hpp>

using namespace std::chrono_literals;

#define TESTS(X)                                      \
  X(a_lock_guard_holds_for_its_scope)                 \
  X(a_unique_lock_can_time_out)                       \
  X(try_lock_is_false_only_when_somebody_else_has_it) \
  X(scoped_lock_takes_several)                        \
  X(an_acquisition_is_a_value)                        \
  X(a_client_that_goes_takes_everything_with_it)      \
  X(owns_lock_cannot_see_loss_but_is_held_can)        \
  X(release_throws_where_unlock_does_not)             \
  X(errors_say_what_and_where)                        \
  X(a_cancel_token_withdraws_a_wait)                  \
  X(contenders_are_listed_in_order)                   \
  X(guarded_writes_go_through_a_transaction)          \
  X(a_subscription_ends_with_its_scope)               \
  X(an_exception_in_a_callback_stops_nothing)         \
  X(dispatch_runs_callbacks_on_this_thread)           \
  X(nodes_are_plain_values)                           \
  X(options_reach_the_library)                        \
  X(moved_from_objects_are_empty_not_dangerous)       \
  X(a_shared_lock_reads_and_a_unique_lock_writes)     \
  X(a_multi_lock_takes_all_or_none)                   \
  X(a_semaphore_gives_permits_as_values)              \
  X(a_holder_can_be_asked_and_forced)                 \
  X(every_recipe_speaks_for_what_it_holds)            \
  X(release_in_background_asks_no_server)             \
  X(permits_and_who_waits_for_them_are_listed)        \
  X(holders_of_permits_can_be_asked_and_forced)       \
  X(holders_of_several_locks_can_be_asked_and_forced) \
  X(asking_by_force_can_be_withdrawn)                 \
  X(a_turn_passed_on_shares_its_token)                \
  X(a_sequencer_tells_whether_an_acquisition_stands)  \
  X(a_proxy_and_an_ensemble_misbehave_too)            \
  X(the_testing_server_misbehaves_on_demand)

namespace {

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
      statement;                                                                                 \
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

zkr::testing::Server &shared_server() {
  static zkr::testing::Server server;
  return server;
}

std::string hosts() {
  const char *given = std::getenv("ZKR_HOSTS");
  return given && *given ? given : shared_server().connect_string();
}

zkr::Options named(const std::string &identity) {
  zkr::Options options;
  options.identity = identity;
  return options;
}

std::string root() { return "/cpp-tests-" + std::to_string(getpid()); }
std::string path(const std::string &name) { return root() + "/" + name; }

std::size_t children_of(zkr::Client &client, const std::string &path) {
  try {
    return client.nodes().children(path).size();
  } catch (const zkr::Error &error) {
    if (error.code() == zkr::ErrorKind::NoNode) return 0;
    throw;
  }
}

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

void a_unique_lock_can_time_out() {
  zkr::Client one(hosts()), two(hosts());
  auto holder = one.lock(path("unique")), other = two.lock(path("unique"));
  holder.lock();
  std::unique_lock<zkr::Lock> late(other, 100ms);
  CHECK(!late.owns_lock() && !other.owns_lock());
  CHECK(!late.try_lock());
  CHECK(!late.try_lock_until(std::chrono::steady_clock::now() + 50ms));
  CHECK(!late.try_lock_until(std::chrono::system_clock::now() - 1h));
  holder.release();
  CHECK(late.try_lock_for(5s));
  CHECK(late.owns_lock() && other.is_held());
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
  std::atomic<zkr_reason> reason{ZKR_REASON_NONE};
  const auto subscription = lock.on_lost([&](const zkr::Error &error) {
    reason = error.reason();
    CHECK(error.code() == zkr::ErrorKind::Lost);
    told++;
  });
  server.expire(client.session_id());
  CHECK(eventually([&] { return told == 1; }));
  CHECK(reason == ZKR_REASON_SESSION);
  CHECK(lock.owns_lock() && !lock.is_held());
  lock.unlock();  // silent but for a line on stderr
  CHECK(!lock.owns_lock());
}

void release_throws_where_unlock_does_not() {
  zkr::Client client(hosts());
  auto lock = client.lock(path("unlock"));
  static_assert(noexcept(lock.unlock()), "unlock runs in destructors");
  lock.unlock();
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
  std::atomic<int> after{0};
  const auto throwing = client.on_state([](zkr::State) { throw std::runtime_error("on purpose"); });
  const auto counting = client.on_state([&](zkr::State) { after++; });
  server.stop();
  CHECK(eventually([&] { return after == 1; }));
  server.restart();
  CHECK(eventually([&] { return after == 2; }));
}

void dispatch_runs_callbacks_on_this_thread() {
  zkr::testing::Server server;
  zkr::Client client(server.connect_string());
  CHECK(client.event_fd() >= 0);
  CHECK(client.dispatch() == 0);
  auto lock = client.lock("/dispatched");
  auto held = lock.acquire();
  std::thread::id thread;
  const auto subscription = held.on_lost([&](const zkr::Error &) {
    thread = std::this_thread::get_id();
    THROWS(client.dispatch(), zkr::ErrorKind::Deadlock);
    THROWS(held.verify(), zkr::ErrorKind::Deadlock);
  });
  server.expire(client.session_id());
  CHECK(client.dispatch(1, 10s) == 1);
  CHECK(thread == std::this_thread::get_id());
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
  options.auth = {{"digest", "user:password"}};
  options.acl = ZKR_ACL_LIST;
  options.acl_list = {{"world", "anyone", "rwcda"}};
  options.retry.base = 10ms;
  options.retry.give_up_after = 3s;
  zkr::Client client(hosts(), options);
  CHECK(client.session_timeout() == 6s && client.state() == ZKR_STATE_CONNECTED);
  client.nodes().ensure(path("options"));

  zkr::LockOptions reentrant;
  reentrant.reentrant = true;
  auto lock = client.lock(path("options/lock"), reentrant);
  std::lock_guard<zkr::Lock> outer(lock);
  { std::lock_guard<zkr::Lock> inner(lock); }
  CHECK(lock.is_held() && client.lease_remaining() > 0ms);

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

void the_testing_server_misbehaves_on_demand() {
  zkr::testing::ServerOptions options;
  options.min_session_timeout = 200ms;
  zkr::testing::Server server(options);
  zkr::Client client(server.connect_string());
  auto lock = client.lock("/faulty");
  client.nodes().ensure("/faulty");
  server.set_next_sequence("/faulty", 41);
  server.clear_log();
  const auto fault = server.inject("drop_after create2");
  const auto held = lock.acquire(20s);
  CHECK(server.fault_fired(fault) && server.count("create2", "/faulty/**") >= 1);
  CHECK(held.node().find("0000000041") != std::string::npos);
  server.drop_connections();
  held.verify();
  CHECK(server.port() > 0 && server.paths().size() >= 2);
  THROWS(server.inject("no such fault"), zkr::ErrorKind::Invalid);
}

void a_shared_lock_reads_and_a_unique_lock_writes() {
  zkr::Client one(hosts()), two(hosts());
  auto first = one.read_write_lock(path("shared")), second = two.read_write_lock(path("shared"));
  {
    std::shared_lock<zkr::ReadWriteLock> reading(first);
    std::shared_lock<zkr::ReadWriteLock> too(second, 5s);
    CHECK(too.owns_lock() && first.read().is_held() && second.read().is_held());
    too.unlock();
    CHECK(!second.try_lock() && !second.try_lock_for(50ms));
    THROWS(first.lock(), zkr::ErrorKind::Invalid);  // an upgrade
  }
  CHECK(second.try_lock_for(5s));
  CHECK(!first.try_lock_shared() && !first.try_lock_shared_for(50ms));
  CHECK(!first.try_lock_shared_until(std::chrono::steady_clock::now()));
  const auto token = second.write().fencing_token();
  second.lock_shared();  // a writer may go on as a reader
  second.unlock();
  CHECK(second.read().fencing_token() == token && first.try_lock_shared_for(5s));
  first.unlock_shared();
  second.unlock_shared();
  zkr::ReadWriteLock moved = std::move(first);
  const std::unique_lock<zkr::ReadWriteLock> writing(moved);
  CHECK(writing.owns_lock() && moved.path() == path("shared"));
  THROWS(one.read_write_lock("relative"), zkr::ErrorKind::Invalid);
}

void a_multi_lock_takes_all_or_none() {
  zkr::Client one(hosts()), two(hosts());
  auto a = one.lock(path("multi-a")), b = one.lock(path("multi-b")), other = two.lock(path("multi-b"));
  auto both = one.multi_lock({b, a});
  CHECK((both.paths() == std::vector<std::string>{path("multi-a"), path("multi-b")}));
  THROWS(both.fencing_tokens(), zkr::ErrorKind::NotHeld);
  {
    std::lock_guard<zkr::Lock> in_the_way(other);
    CHECK(!both.try_lock() && !both.try_lock_for(50ms) && !both.try_acquire());
  }
  {
    std::unique_lock<zkr::MultiLock> guard(both, 5s);
    CHECK(guard.owns_lock() && both.is_held() && both.fencing_tokens().size() == 2);
  }
  CHECK(!both.is_held() && !both.owns_lock());
  auto held = both.acquire(5s);
  CHECK(held.fencing_tokens().size() == 2 && held.permits() == 2 && held.passes() == 0);
  held.release();
  THROWS(both.release(), zkr::ErrorKind::NotHeld);
  THROWS(one.multi_lock({}), zkr::ErrorKind::Invalid);
  THROWS(one.multi_lock({a, a}), zkr::ErrorKind::Invalid);
  THROWS(one.multi_lock({a, other}), zkr::ErrorKind::Invalid);
}

void a_semaphore_gives_permits_as_values() {
  zkr::Client client(hosts(), named("me"));
  auto semaphore = client.semaphore(path("semaphore"), 2);
  {
    const auto first = semaphore.acquire();
    const auto second = semaphore.acquire(1, 5s);
    CHECK(first.permits() == 1 && semaphore.is_held() && semaphore.holders().size() == 2);
    CHECK(semaphore.holders()[0].identity == "me");
    CHECK(!semaphore.try_acquire());
    THROWS(semaphore.acquire(1, 50ms), zkr::ErrorKind::Timeout);
    zkr::CancelToken token;
    token.cancel();
    THROWS(semaphore.acquire(1, zkr::forever, token), zkr::ErrorKind::Cancelled);
  }
  CHECK(!semaphore.is_held());
  semaphore.acquire(2, 5s).release();
  THROWS(semaphore.acquire(3), zkr::ErrorKind::Invalid);
  THROWS(semaphore.acquire(0), zkr::ErrorKind::Invalid);
  THROWS(client.semaphore(path("semaphore"), 0), zkr::ErrorKind::Invalid);
  semaphore.resize(3);
  CHECK(semaphore.permits() == 3 && semaphore.path() == path("semaphore"));
  auto outdated = client.semaphore(path("semaphore"), 2);
  THROWS(outdated.acquire(), zkr::ErrorKind::Mismatch);
}

void a_holder_can_be_asked_and_forced() {
  zkr::Client one(hosts()), two(hosts());
  auto holder = one.lock(path("revoke")), asker = two.lock(path("revoke"));
  CHECK(!asker.revoke());
  auto held = holder.acquire();
  std::atomic<int> asked{0}, lost{0};
  const auto asking = held.on_revoke([&] { asked++; });
  const auto losing =
      held.on_lost([&](const zkr::Error &error) { lost += error.reason() == ZKR_REASON_REVOKED; });
  CHECK(asker.revoke());
  CHECK(eventually([&] { return asked == 1; }));
  CHECK(held.is_held());
  CHECK(asker.revoke("", 50ms));
  CHECK(eventually([&] { return lost == 1; }));
  THROWS(asker.revoke("nonsense"), zkr::ErrorKind::Invalid);
  THROWS(asker.revoke("", -1ms), zkr::ErrorKind::Invalid);
}

template <typename Recipe>
void speaks_for_what_it_holds(zkr::Client &client, Recipe recipe, const std::string &at) {
  CHECK(!recipe.is_held());
  THROWS(recipe.fencing_token(), zkr::ErrorKind::NotHeld);
  THROWS(recipe.verify(), zkr::ErrorKind::NotHeld);
  THROWS(recipe.guarded(), zkr::ErrorKind::NotHeld);
  THROWS((void)recipe.on_lost([](const zkr::Error &) {}), zkr::ErrorKind::NotHeld);
  THROWS(recipe.release(), zkr::ErrorKind::NotHeld);
  THROWS(recipe.release_in_background(), zkr::ErrorKind::NotHeld);
  const auto held = recipe.acquire();
  CHECK(recipe.is_held() && recipe.fencing_token() == held.fencing_token());
  recipe.verify();
  recipe.guarded().create(at, "1").commit();
  auto late = recipe.guarded();
  late.remove(at);
  std::atomic<int> lost{0};
  const auto losing = recipe.on_lost([&](const zkr::Error &) { lost++; });
  recipe.release();
  THROWS(late.commit(), zkr::ErrorKind::NotHeld);
  CHECK(!recipe.is_held() && lost == 0);
  CHECK(recipe.contenders().empty() && !recipe.revoke());
  THROWS(recipe.revoke("nonsense"), zkr::ErrorKind::Invalid);
  THROWS(recipe.revoke("", -1ms), zkr::ErrorKind::Invalid);
  client.nodes().remove(at);

  Recipe moved = std::move(recipe);
  THROWS(recipe.contenders(), zkr::ErrorKind::Invalid);
  THROWS(recipe.revoke(), zkr::ErrorKind::Invalid);
  CHECK(!recipe.is_held() && moved.contenders().empty());
}

void every_recipe_speaks_for_what_it_holds() {
  zkr::Client client(hosts());
  const auto base = path("speaks");
  client.nodes().ensure(base);
  auto a = client.lock(base + "/a"), b = client.lock(base + "/b");
  speaks_for_what_it_holds(client, client.lock(base + "/lock"), base + "/written");
  speaks_for_what_it_holds(client, client.multi_lock({a, b}), base + "/written");
  speaks_for_what_it_holds(client, client.semaphore(base + "/semaphore", 1), base + "/written");

  auto semaphore = client.semaphore(base + "/semaphore", 1);
  client.close();
  THROWS(semaphore.contenders(), zkr::ErrorKind::Closed);
  THROWS(semaphore.revoke(), zkr::ErrorKind::Closed);
}

void release_in_background_asks_no_server() {
  zkr::testing::Server server;
  zkr::Client client(server.connect_string());
  auto lock = client.lock("/lock"), a = client.lock("/a"), b = client.lock("/b");
  auto both = client.multi_lock({a, b});
  auto semaphore = client.semaphore("/semaphore", 1);
  lock.lock();
  both.lock();
  const auto permit = semaphore.acquire();
  auto held = client.lock("/value").acquire();
  server.pause();  // whoever waited for an answer now would wait for long
  const auto begun = std::chrono::steady_clock::now();
  lock.release_in_background();
  both.release_in_background();
  semaphore.release_in_background();
  held.release_in_background();
  CHECK(std::chrono::steady_clock::now() - begun < 1s);
  CHECK(!lock.is_held() && !lock.owns_lock() && !both.is_held() && !both.owns_lock());
  CHECK(!semaphore.is_held() && !permit.is_held() && !held.is_held());
  THROWS(held.release_in_background(), zkr::ErrorKind::NotHeld);
  server.resume();
  CHECK(eventually([&] { return lock.contenders().empty() && both.contenders().empty(); }));
  CHECK(eventually([&] { return semaphore.contenders().empty(); }));
}

void permits_and_who_waits_for_them_are_listed() {
  zkr::Client one(hosts(), named("one")), two(hosts(), named("two"));
  auto first = one.semaphore(path("listed"), 2), second = two.semaphore(path("listed"), 2);
  auto held = first.acquire(2);
  std::thread waiter([&] { second.acquire().release(); });
  const bool are_three = eventually([&] { return first.contenders().size() == 3; });
  const auto all = second.contenders();
  held.release();
  waiter.join();
  CHECK(are_three && all.size() == 3 && all[0].identity == "one" && all[0].kind == "lease" && all[0].holds);
  CHECK(all[0].node.find("leases/") == 0 && all[1].node.find("leases/") == 0);
  CHECK(all[2].identity == "two" && all[2].kind == "lock" && !all[2].holds);
  CHECK(all[2].node.find("locks/") == 0 && all[2].session_id == two.session_id());
}

void holders_of_permits_can_be_asked_and_forced() {
  zkr::Client one(hosts()), two(hosts());
  auto holder = one.semaphore(path("permits-revoked"), 3), asker = two.semaphore(path("permits-revoked"), 3);
  const auto both = holder.acquire(2);
  std::atomic<int> both_asked{0}, single_asked{0}, lost{0};
  const auto losing =
      holder.on_lost([&](const zkr::Error &error) { lost += error.reason() == ZKR_REASON_REVOKED; });
  const auto single = holder.acquire();
  const auto asking = both.on_revoke([&] { both_asked++; });
  const auto asking_too = single.on_revoke([&] { single_asked++; });
  const auto node = asker.contenders()[0].node;
  CHECK(asker.revoke(node));
  CHECK(eventually([&] { return both_asked == 1; }));
  CHECK(single_asked == 0);
  CHECK(asker.revoke());
  CHECK(eventually([&] { return single_asked == 1; }));
  CHECK(both.is_held() && single.is_held());
  CHECK(asker.revoke(node, 50ms));
  CHECK(eventually([&] { return lost == 1; }));
  CHECK(!both.is_held() && asker.acquire(2, 5s).is_held() && single.is_held());
  CHECK(!asker.revoke(node, 0ms));  // it has gone
}

void holders_of_several_locks_can_be_asked_and_forced() {
  zkr::Client one(hosts(), named("one")), two(hosts());
  const auto at = path("both-revoked");
  auto a = one.lock(at + "/a"), b = one.lock(at + "/b"), c = two.lock(at + "/a"), d = two.lock(at + "/b");
  auto holder = one.multi_lock({a, b}), asker = two.multi_lock({c, d});
  std::atomic<int> asked{0}, lost{0};
  const auto held = holder.acquire();
  const auto asking = held.on_revoke([&] { asked++; });
  const auto losing =
      holder.on_lost([&](const zkr::Error &error) { lost += error.reason() == ZKR_REASON_REVOKED; });
  const auto all = asker.contenders();
  CHECK(all.size() == 2 && all[0].identity == "one" && all[0].holds && all[1].holds);
  CHECK(all[0].node.find(at + "/a/") == 0 && all[1].node.find(at + "/b/") == 0);
  CHECK(asker.revoke(all[1].node));
  CHECK(eventually([&] { return asked == 1; }));
  CHECK(holder.is_held());
  CHECK(asker.revoke("", 50ms));
  CHECK(eventually([&] { return lost == 1; }));
  CHECK(!holder.is_held() && asker.acquire(5s).is_held());
}

void asking_by_force_can_be_withdrawn() {
  zkr::Client one(hosts()), two(hosts());
  auto holder = one.semaphore(path("withdrawn"), 1), asker = two.semaphore(path("withdrawn"), 1);
  const auto held = holder.acquire();
  std::atomic<int> asked{0};
  const auto asking = held.on_revoke([&] { asked++; });
  zkr::CancelToken token;
  zkr_status status = ZKR_OK;
  std::thread forcing([&] {
    try {
      asker.revoke("", 10min, token);
    } catch (const zkr::Error &error) {
      status = error.code();
    }
  });
  const bool was_asked = eventually([&] { return asked == 1; });
  token.cancel();
  forcing.join();
  CHECK(was_asked && status == zkr::ErrorKind::Cancelled);
  holder.verify();  // asked, but not taken away
  THROWS(two.lock(path("withdrawn-lock")).revoke("", 0ms, token), zkr::ErrorKind::Cancelled);
}

void a_turn_passed_on_shares_its_token() {
  zkr::Client client(hosts());
  zkr::LockOptions options;
  options.local_handoff = 3;
  auto one = client.lock(path("passed"), options), two = client.lock(path("passed"), options);
  std::optional<zkr::Held> first, next;
  // Who waits inside the process shows nowhere, so the other one is given ever more time to get there.
  for (auto patience = 20ms; patience < 10s && !(next && next->passes() == 1); patience *= 2) {
    next.reset();
    first = one.acquire();
    std::thread waiter([&] { next = two.acquire(); });
    std::this_thread::sleep_for(patience);
    const auto nodes = children_of(client, path("passed"));
    one.release();
    waiter.join();
    CHECK(nodes == 1);
  }
  CHECK(first->passes() == 0 && next->passes() == 1);
  CHECK(next->fencing_token() == first->fencing_token() && next->is_held() && !first->is_held());
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

void a_proxy_and_an_ensemble_misbehave_too() {
  zkr::testing::Server server;
  zkr::testing::Proxy proxy(server.connect_string());
  zkr::Client client(proxy.connect_string());
  const auto fault = proxy.inject("drop_after create2");
  client.nodes().ensure("/proxied");
  auto lock = client.lock("/proxied");
  const auto held = lock.acquire(20s);
  CHECK(proxy.fault_fired(fault) && proxy.count("create2") >= 1 && proxy.port() > 0);
  const auto log = proxy.log();
  CHECK(std::any_of(log.begin(), log.end(), [&](const zkr::testing::Request &request) {
    return request.kind == "create2" && request.session_id == client.session_id() &&
           request.outcome == ZKR_TEST_UNANSWERED;
  }));
  CHECK(!server.log().empty());
  proxy.expire(client.session_id());
  CHECK(eventually([&] { return !held.is_held(); }));

  zkr::testing::Ensemble ensemble(3);
  CHECK(ensemble.size() == 3 && !ensemble.member(2).empty() && ensemble.member(3).empty());
  zkr::Client leading(ensemble.member(0)), following(ensemble.member(1)),
      any(ensemble.server().connect_string());
  ensemble.hold(1);
  leading.nodes().create("/new", "");
  CHECK(ensemble.behind(1) >= 1 && !following.nodes().exists("/new"));
  ensemble.release(1);
  CHECK(eventually([&] { return ensemble.behind(1) == 0; }));
  ensemble.isolate(1);
  THROWS(ensemble.isolate(2), zkr::ErrorKind::Invalid);
  ensemble.heal(1);
  ensemble.lag(1, 10ms);
  THROWS(ensemble.lag(0, 10ms), zkr::ErrorKind::Invalid);
}

struct Test {
  const char *name;
  void (*run)();
};

const Test tests[] = {
#define ENTRY(name) {#name, name},
    TESTS(ENTRY)};

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
