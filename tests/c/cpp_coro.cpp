// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes_coro.hpp: what a coroutine awaits. As C++20, for which this one file is compiled.

#include <poll.h>
#include <zkrecipes_coro.hpp>

#include <future>

#include "cpp_harness.hpp"

// Runs until its first wait, and goes on by itself.
struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

static Task lock_and_claim(zkr::Client &client, std::promise<std::string> &begun_locking,
                           std::promise<std::string> &ended) {
  try {
    auto locking = zkr::coro::acquire(client.lock(path("coro-lock")), 10s);
    auto claiming = zkr::coro::claim(client.queue(path("coro-queue")), 10s);
    begun_locking.set_value("");
    auto held = co_await locking;
    auto item = co_await claiming;
    co_await zkr::coro::ack(item);
    ended.set_value(held.is_held() ? item.data() : "not held");
  } catch (const std::exception &error) {
    ended.set_value(error.what());
  }
}

void a_coroutine_may_ask_a_temporary() {
  zkr::Client client(hosts()), other(hosts());
  auto lock = other.lock(path("coro-lock"));
  auto theirs = std::optional(lock.acquire());
  std::promise<std::string> begun, ended;
  lock_and_claim(client, begun, ended);
  begun.get_future().get();
  // Both wait, and what they were asked of is gone.
  CHECK(eventually([&] { return lock.contenders().size() == 2; }));
  theirs.reset();
  other.queue(path("coro-queue")).put("tea");
  auto answer = ended.get_future();
  CHECK(answer.wait_for(10s) == std::future_status::ready);
  const std::string said = answer.get();
  if (said != "tea") throw Failure{said};
  CHECK(eventually([&] { return lock.contenders().empty(); }));
}

void what_is_given_up_before_its_answer_is_dispatched_takes_no_item() {
  zkr::Client client(hosts()), other(hosts());
  pollfd dispatches{client.event_fd(), POLLIN, 0};
  auto queue = client.queue(path("coro-given-up")), same = other.queue(path("coro-given-up"));
  same.put("tea");
  {
    // As a coroutine that waits has it, and is destroyed by a callback that runs first.
    const auto getting = zkr::coro::get(queue);
    CHECK(poll(&dispatches, 1, 10000) == 1);
    CHECK(same.len() == 0);
  }
  CHECK(client.dispatch(0, 0ms) == 1);
  CHECK(same.get(10s) == "tea");
}
