// SPDX-License-Identifier: Apache-2.0
//
// Read/write locks, multi-locks and semaphores in C++, and asking who holds them.

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <zkrecipes.hpp>

#include "cpp_harness.hpp"

void a_shared_lock_reads_and_a_unique_lock_writes() {
  zkr::Client one(hosts()), two(hosts());
  auto first = one.read_write_lock(path("shared")), second = two.read_write_lock(path("shared"));
  {
    std::shared_lock<zkr::ReadWriteLock> reading(first);
    std::shared_lock<zkr::ReadWriteLock> too(second, 5s);
    CHECK(too.owns_lock() && first.read().is_held() && second.read().is_held());
    too.unlock();
    CHECK(!second.try_lock() && !second.try_lock_for(50ms));
    CHECK(!first.try_lock_for(50ms));  // an upgrade waits
  }
  CHECK(second.try_lock_for(5s));
  CHECK(!first.try_lock_shared() && !first.try_lock_shared_for(50ms));
  CHECK(!first.try_lock_shared_until(std::chrono::steady_clock::now()));
  CHECK(!first.try_lock_shared_until((std::chrono::steady_clock::time_point::min)()));
  const auto token = second.write().fencing_token();
  second.unlock_and_lock_shared();
  CHECK(!second.write().is_held() && second.read().fencing_token() == token);
  CHECK(!second.write().owns_lock() && second.read().owns_lock());
  CHECK(first.try_lock_shared_for(5s));
  first.unlock_shared();
  second.unlock_shared();
  CHECK(!second.write().owns_lock() && !second.read().owns_lock());
  {
    std::unique_lock<zkr::ReadWriteLock> writing(second);
    writing.mutex()->unlock_and_lock_shared();
    const std::shared_lock<zkr::ReadWriteLock> reading(*writing.release(), std::adopt_lock);
    CHECK(second.read().is_held() && first.try_lock_shared_for(5s));
    first.unlock_shared();
  }
  THROWS(second.unlock_and_lock_shared(), zkr::ErrorKind::NotHeld);
  CHECK(!second.read().owns_lock());
  auto held = second.write().acquire();
  auto going_on = held.downgrade();
  CHECK(going_on.is_held() && !held.is_held() && going_on.fencing_token() == held.fencing_token());
  THROWS(going_on.downgrade(), zkr::ErrorKind::Invalid);
  going_on.release();
  second.write().lock();
  second.write().downgrade().release();
  CHECK(!second.write().owns_lock());
  zkr::ReadWriteLock moved = std::move(first);
  const std::unique_lock<zkr::ReadWriteLock> writing(moved);
  CHECK(writing.owns_lock() && moved.path() == path("shared"));
  THROWS(one.read_write_lock("relative"), zkr::ErrorKind::Invalid);
}

// The locks of the standard library on one object: as std::shared_mutex, no reader beside a writer, and no
// second writer.
void threads_that_share_a_read_write_lock_exclude_each_other() {
  zkr::Client client(hosts());
  auto shared = client.read_write_lock(path("threads"));
  std::atomic<int> readers{0}, writers{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; thread++)
    threads.emplace_back([&, writes = thread % 2 == 0] {
      for (int round = 0; round < 10; round++) {
        if (writes) {
          std::unique_lock<zkr::ReadWriteLock> writing(shared);
          if (++writers != 1 || readers != 0) ++wrong;
          --writers;
        } else {
          std::shared_lock<zkr::ReadWriteLock> reading(shared);
          ++readers;
          if (writers != 0) ++wrong;
          --readers;
        }
      }
    });
  for (auto &thread : threads) thread.join();
  CHECK(wrong == 0);
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

void a_wait_is_told_for_whom_and_how_long() {
  zkr::Options options;
  options.identity = "night-shift";
  zkr::Client one(hosts(), options), two(hosts());
  auto held = one.lock(path("waiting")).acquire();
  auto lock = two.lock(path("waiting"));
  std::atomic<int> right{0}, told{0};
  const auto telling = lock.on_wait([&](const zkr::WaitProgress &progress) {
    right += progress.path == path("waiting") && progress.waited >= 1s && progress.ahead == 1 &&
             progress.holder && progress.holder->identity == "night-shift" && progress.holder->holds;
    told++;
  });
  std::thread waiter([&] { lock.lock(); });
  CHECK(eventually([&] { return told == 1; }));
  held.release();
  waiter.join();
  CHECK(right == 1 && lock.is_held());
}

template <typename Recipe>
void speaks_for_what_it_holds(zkr::Client &client, Recipe recipe, const std::string &at) {
  CHECK(!recipe.is_held());
  THROWS(recipe.fencing_token(), zkr::ErrorKind::NotHeld);
  THROWS(recipe.verify(), zkr::ErrorKind::NotHeld);
  THROWS(recipe.guarded(), zkr::ErrorKind::NotHeld);
  THROWS((void)recipe.on_lost([](const zkr::Error &) {}), zkr::ErrorKind::NotHeld);
  THROWS((void)recipe.on_revoke([] {}), zkr::ErrorKind::NotHeld);
  THROWS(recipe.release(), zkr::ErrorKind::NotHeld);
  THROWS(recipe.release_in_background(), zkr::ErrorKind::NotHeld);
  const auto held = recipe.acquire();
  CHECK(recipe.is_held() && recipe.fencing_token() == held.fencing_token());
  recipe.verify();
  recipe.guarded().create(at, "1").commit();
  auto late = recipe.guarded();
  late.remove(at);
  std::atomic<int> lost{0}, asked{0};
  const auto losing = recipe.on_lost([&](const zkr::Error &) { lost++; });
  const auto asking = recipe.on_revoke([&] { asked++; });
  CHECK(recipe.revoke() && eventually([&] { return asked == 1; }) && recipe.is_held());
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
  CHECK(std::chrono::steady_clock::now() - begun < 5s);
  CHECK(!lock.is_held() && !lock.owns_lock() && !both.is_held() && !both.owns_lock());
  CHECK(!semaphore.is_held() && !permit.is_held() && !held.is_held());
  THROWS(held.release_in_background(), zkr::ErrorKind::NotHeld);
  server.resume();
  CHECK(eventually([&] { return lock.contenders().empty() && both.contenders().empty(); }));
  CHECK(eventually([&] { return semaphore.contenders().empty(); }));
}

void who_never_gives_up_outlasts_an_outage() {
  zkr::testing::Server server;
  zkr::Options options;
  options.connect_timeout = 300ms;
  options.retry.give_up_after = zkr::forever;
  zkr::Client client(server.connect_string(), options);
  server.pause();
  std::thread later([&] {
    std::this_thread::sleep_for(1s);
    server.resume();
  });
  auto looking = std::async(std::launch::async, [&] { return client.nodes().exists("/").has_value(); });
  later.join();
  CHECK(looking.get());
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
