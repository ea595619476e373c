// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes.hpp: barriers.

#include <atomic>

#include "cpp_harness.hpp"

void a_barrier_stops_who_waits() {
  zkr::Client a(hosts()), b(hosts());
  auto barrier = a.barrier(path("barrier")), same = b.barrier(path("barrier"));
  CHECK(barrier.path() == path("barrier") && !barrier.is_up());
  barrier.wait();
  barrier.create();
  CHECK(same.is_up());
  THROWS(same.wait(20ms), zkr::ErrorKind::Timeout);
  zkr::CancelToken token;
  token.cancel();
  THROWS(same.wait(zkr::forever, token), zkr::ErrorKind::Cancelled);
  std::atomic<bool> is_through{false};
  std::thread waiting([&] {
    same.wait(20s);
    is_through = true;
  });
  CHECK(!is_through);
  barrier.remove();
  waiting.join();
  CHECK(is_through);
}

void waits_at_barriers_and_queues_are_told() {
  zkr::Options options;
  options.identity = "keeper";
  zkr::Client client(hosts(), options);
  auto barrier = client.barrier(path("told"));
  auto party = client.double_barrier(path("round"), 3);
  auto queue = client.queue(path("empty"));
  std::atomic<int> at_barrier{0}, at_round{0}, at_queue{0};
  const auto first = barrier.on_wait([&](const zkr::WaitProgress &progress) {
    at_barrier += progress.path == path("told") && progress.waited >= 1s && !progress.ahead &&
                  progress.holder && progress.holder->identity == "keeper";
  });
  const auto second = party.on_wait([&](const zkr::WaitProgress &progress) {
    at_round += progress.path == path("round") && progress.ahead == 2 && !progress.holder;
  });
  const auto third = queue.on_wait([&](const zkr::WaitProgress &progress) {
    at_queue += progress.path == path("empty") && !progress.ahead && !progress.holder;
  });
  barrier.create();
  zkr::CancelToken token;
  std::thread lifted([&] { barrier.wait(); });
  std::thread entered([&] { THROWS(party.enter(zkr::forever, token), zkr::ErrorKind::Cancelled); });
  std::thread got([&] { CHECK(queue.get() == "one"); });
  CHECK(eventually([&] { return at_barrier >= 1 && at_round >= 1 && at_queue >= 1; }));
  barrier.remove();
  queue.put("one");
  token.cancel();
  lifted.join();
  entered.join();
  got.join();
}

void a_scope_enters_and_leaves_a_double_barrier() {
  zkr::Client a(hosts()), b(hosts());
  auto one = a.double_barrier(path("double"), 2, "one"), two = b.double_barrier(path("double"), 2);
  CHECK(one.name() == "one" && one.parties() == 2 && two.path() == path("double"));
  THROWS(one.scope(20ms), zkr::ErrorKind::Timeout);
  THROWS(a.double_barrier(path("double"), 0), zkr::ErrorKind::Invalid);
  CHECK(!one.has_entered());
  std::atomic<int> inside{0};
  std::thread other([&] {
    const auto scope = two.scope(20s);
    inside++;
  });
  bool was_inside = false;
  {
    const auto scope = one.scope(20s);
    was_inside = one.has_entered() && eventually([&] { return inside == 1; });
  }
  other.join();
  CHECK(was_inside && !one.has_entered() && !two.has_entered());

  // Whoever fails waits for nobody, and holds up nobody.
  std::thread patient([&] {
    auto scope = two.scope(20s);
    scope.leave(20s);
    inside++;
  });
  try {
    const auto scope = one.scope(20s);
    throw std::runtime_error("the work fails");
  } catch (const std::runtime_error &) {
  }
  patient.join();
  CHECK(inside == 2 && !one.has_entered());
  THROWS(one.leave(), zkr::ErrorKind::NotHeld);
}

void a_scope_that_cannot_leave_says_so_in_the_log() {
  zkr::testing::Server server;
  zkr::Client client(server.connect_string());
  auto barrier = client.double_barrier("/alone", 1);
  std::atomic<int> told{0};
  const auto log = zkr::on_log(ZKR_LOG_ERROR, [&](const zkr::LogRecord &record) {
    if (record.event != "leave_failed") return;
    CHECK(record.level == ZKR_LOG_ERROR && record.fields.empty());
    CHECK(record.message.find("closed") != std::string::npos);
    told++;
  });
  {
    const auto scope = barrier.scope(20s);
    client.close();
  }
  CHECK(eventually([&] { return told == 1; }));
}
