// SPDX-License-Identifier: Apache-2.0
//
// std::stop_token and co_await: every case on a server of its own. `cpp20 NAME…` runs some of them.

#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <latch>
#include <mutex>
#include <thread>
#include <zkrecipes_coro.hpp>
#include <zkrecipes_testing.hpp>

using namespace std::chrono_literals;
namespace coro = zkr::coro;

struct Failure : std::runtime_error {
  using runtime_error::runtime_error;
};

#define CHECK(...) \
  if (!(__VA_ARGS__)) throw Failure("line " + std::to_string(__LINE__) + ": " #__VA_ARGS__)

template <typename Thrown>
static bool throws(const std::function<void()> &body) {
  try {
    body();
  } catch (const Thrown &) {
    return true;
  }
  return false;
}

template <typename Condition>
static void eventually(Condition &&condition, const char *what) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) throw Failure(std::string("never: ") + what);
    std::this_thread::sleep_for(1ms);
  }
}

struct World {
  zkr::testing::Server server;
  zkr::Client client{server.connect_string()};
  zkr::Client other{server.connect_string()};

  std::size_t line(const std::string &path) { return other.lock(path).contenders().size(); }
  void nobody_is_at(const std::string &path) {
    eventually([&] { return line(path) == 0; }, "nobody is left in the line");
  }
};

// --- std::stop_token

static void stopped_before_it_begins_a_wait_is_cancelled_at_once() {
  World world;
  std::stop_source stop;
  stop.request_stop();
  auto lock = world.client.lock("/locks/a");
  CHECK(throws<zkr::Cancelled>([&] { (void)lock.acquire(zkr::forever, stop.get_token()); }));
  CHECK(throws<zkr::Cancelled>([&] { lock.lock(stop.get_token()); }));
  CHECK(!lock.owns_lock());
  world.nobody_is_at("/locks/a");
}

static void stopped_while_it_waits_every_kind_of_verb_is_cancelled() {
  World world;
  auto lock = world.other.lock("/locks/a");
  auto exports = world.other.semaphore("/limits/exports", 1);
  auto barrier = world.other.barrier("/barrier");
  auto election = world.other.election("/leader", "other");
  const zkr::Held held = lock.acquire(), permit = exports.acquire(1);
  const zkr::Leadership leads = election.campaign();
  barrier.create();

  const std::vector<std::function<void(std::stop_token)>> verbs = {
      [&](std::stop_token stop) { (void)world.client.lock("/locks/a").acquire(zkr::forever, stop); },
      [&](std::stop_token stop) { world.client.lock("/locks/a").lock(stop); },
      [&](std::stop_token stop) { world.client.read_write_lock("/locks/a").read().lock(stop); },
      [&](std::stop_token stop) {
        (void)world.client.semaphore("/limits/exports", 1).acquire(1, zkr::forever, stop);
      },
      [&](std::stop_token stop) {
        (void)world.client.election("/leader", "me").campaign(zkr::forever, stop);
      },
      [&](std::stop_token stop) { (void)world.client.queue("/queue").claim(zkr::forever, stop); },
      [&](std::stop_token stop) { (void)world.client.queue("/queue").get(zkr::forever, stop); },
      [&](std::stop_token stop) { world.client.barrier("/barrier").wait(zkr::forever, stop); },
      [&](std::stop_token stop) { world.client.double_barrier("/round", 2).enter(zkr::forever, stop); },
      [&](std::stop_token stop) { world.client.watch_sequencer(held.sequencer(), zkr::forever, stop); },
  };
  for (const auto &verb : verbs) {
    std::atomic<bool> cancelled = false;
    const std::size_t begun = world.server.log().size();
    {
      std::jthread waiting(
          [&](std::stop_token stop) { cancelled = throws<zkr::Cancelled>([&] { verb(stop); }); });
      eventually([&] { return world.server.log().size() > begun; }, "it asks the server");
    }  // stops it and waits for its end
    CHECK(cancelled);
  }
  eventually([&] { return world.line("/locks/a") == 1; }, "only the holder is left");
  CHECK(held.is_held() && permit.is_held() && leads.is_held());
}

static void stopped_after_it_was_acquired_a_lock_stays_held() {
  World world;
  std::stop_source stop;
  auto lock = world.client.lock("/locks/a");
  const zkr::Held held = lock.acquire(10s, stop.get_token());
  stop.request_stop();
  held.verify();
  CHECK(held.is_held());
  CHECK(throws<zkr::Cancelled>([&] { (void)world.client.lock("/locks/b").acquire(10s, stop.get_token()); }));
}

static void a_stop_that_can_never_come_is_no_token() {
  World world;
  CHECK(world.client.lock("/locks/a").acquire(10s, std::stop_token()).is_held());
  zkr::CancelToken token{std::stop_token()};
  token.cancel();
  CHECK(throws<zkr::Cancelled>([&] { world.client.lock("/locks/b").lock(token); }));
}

static void a_token_that_is_moved_is_still_stopped() {
  World world;
  std::stop_source first, second;
  zkr::CancelToken token{first.get_token()};
  zkr::CancelToken moved = std::move(token);
  moved = zkr::CancelToken(second.get_token());
  first.request_stop();  // nobody listens any more
  CHECK(world.client.lock("/locks/a").acquire(10s, moved).is_held());
  second.request_stop();
  CHECK(throws<zkr::Cancelled>([&] { world.client.lock("/locks/a").lock(moved); }));
}

static void connecting_is_stopped() {
  zkr::testing::Server server;
  server.pause();  // takes connections, and says nothing
  std::atomic<bool> begun = false, cancelled = false;
  {
    std::jthread connecting([&](std::stop_token stop) {
      begun = true;
      begun.notify_one();
      try {
        zkr::Client(server.connect_string(), {}, stop);
      } catch (const zkr::Cancelled &) {
        cancelled = true;
      } catch (const zkr::Error &) {
      }
    });
    begun.wait(false);
  }
  CHECK(cancelled);
}

static void whenever_a_stop_comes_it_is_held_or_nothing_is_left() {
  World world;
  int held = 0, cancelled = 0;
  for (int round = 0; round < 200; round++) {
    std::stop_source stop;
    std::latch ready(2);
    std::jthread stopping([&] {
      ready.arrive_and_wait();
      for (int i = 0; i < round * 40; i++) std::atomic_signal_fence(std::memory_order_seq_cst);
      stop.request_stop();
    });
    auto lock = world.client.lock("/locks/a");
    ready.arrive_and_wait();
    try {
      const zkr::Held one = lock.acquire(10s, stop.get_token());
      CHECK(one.is_held());
      held++;
    } catch (const zkr::Cancelled &) {
      cancelled++;
    }
  }
  CHECK(held + cancelled == 200);
  world.nobody_is_at("/locks/a");
}

// --- co_await

/** Runs at once, until its first wait; tells how it ended. Destroyed, it destroys its coroutine. */
class Task {
 public:
  struct promise_type {
    std::atomic<bool> done = false;
    std::exception_ptr thrown;
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Last {
        bool await_ready() noexcept { return false; }
        // From then on the handle may be destroyed: the coroutine is suspended.
        void await_suspend(std::coroutine_handle<promise_type> it) noexcept { it.promise().done = true; }
        void await_resume() noexcept {}
      };
      return Last{};
    }
    void return_void() {}
    void unhandled_exception() { thrown = std::current_exception(); }
  };
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ~Task() {
    if (handle_) handle_.destroy();
  }
  bool done() const { return handle_.promise().done; }
  void end() {
    eventually([&] { return done(); }, "the coroutine ends");
    if (handle_.promise().thrown) std::rethrow_exception(handle_.promise().thrown);
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

static Task hold(zkr::Lock &lock, std::stop_token stop, std::atomic<int> &passed) {
  zkr::Held held = co_await coro::acquire(lock, zkr::forever, stop);
  CHECK(held.is_held());
  co_await coro::verify(held);
  try {
    (void)co_await coro::downgrade(held);
    CHECK(!"a lock has no readers");
  } catch (const zkr::Invalid &) {
  }
  passed++;
  co_await coro::release(held);
  CHECK(!held.is_held());
}

static void a_lock_is_awaited_held_and_released() {
  World world;
  std::atomic<int> passed = 0;
  auto lock = world.client.lock("/locks/a"), next = world.other.lock("/locks/a");
  auto first = hold(lock, {}, passed), second = hold(next, {}, passed);
  first.end();
  second.end();
  CHECK(passed == 2);
  world.nobody_is_at("/locks/a");
}

static Task each_verb(zkr::Client &client) {
  auto counter = client.counter("/counter");
  CHECK(co_await coro::add(counter, 5) == 5);
  CHECK(co_await coro::compare_and_set(counter, 5, -7));
  CHECK(co_await coro::get(counter) == -7);

  auto nodes = client.nodes();
  CHECK(co_await coro::create(nodes, "/node", "first") == "/node");
  CHECK((co_await coro::set(nodes, "/node", "second")).version == 1);
  const auto [data, stat] = co_await coro::get(nodes, "/node");
  CHECK(data == "second" && stat.version == 1);
  CHECK((co_await coro::exists(nodes, "/node"))->version == 1);
  CHECK(!co_await coro::exists(nodes, "/nothing"));
  co_await coro::ensure(nodes, "/tree/leaf");
  CHECK((co_await coro::children(nodes, "/tree")).at(0) == "leaf");
  co_await coro::remove_all(nodes, "/tree");

  auto config = client.config("/config");
  CHECK(!co_await coro::get(config));
  CHECK(co_await coro::create(config, "red") == 0);
  CHECK(co_await coro::set(config, "blue") == 1);
  CHECK((co_await coro::get(config))->value == "blue");

  auto names = client.names("/names");
  co_await coro::bind(names, "billing", "10.0.0.7");
  CHECK((co_await coro::lookup(names, "billing")) == "10.0.0.7");
  CHECK(!co_await coro::lookup(names, "shop"));
  CHECK((co_await coro::list(names)).size() == 1);

  auto group = client.group("/group");
  co_await coro::join(group, "ann", "here");
  CHECK((co_await coro::members(group)).at("ann") == "here");

  auto queue = client.queue("/queue");
  const std::vector<std::string> several(3, "a"), sites(1, "shop");
  co_await coro::put_many(queue, several);
  CHECK(co_await coro::len(queue) == 3);
  CHECK(*co_await coro::peek(queue) == "a");
  CHECK((co_await coro::items(queue)).size() == 3);
  CHECK(co_await coro::get(queue) == "a");
  const zkr::Item item = co_await coro::claim(queue, 10s);
  CHECK(item.data() == "a");
  co_await coro::ack(item);
  const zkr::Item last = co_await coro::claim(queue, 10s);
  zkr::Transaction writes = nodes.transaction(), more = nodes.transaction();
  writes.create("/done", "c");
  co_await coro::ack_with(last, writes);
  CHECK(co_await coro::exists(nodes, "/done"));
  CHECK((co_await coro::commit(more.create("/x", "").set("/x", "y"))).size() == 2);

  auto exports = client.semaphore("/limits/exports", 3);
  const zkr::Held permits = co_await coro::acquire(exports, 2, 10s);
  CHECK((co_await coro::holders(exports)).size() == 2);
  auto both = client.read_write_lock("/locks/rw");
  const zkr::Held reads = co_await coro::acquire(both.read());
  CHECK((co_await coro::contenders(both.read())).size() == 1);
  CHECK(co_await coro::revoke(both.read()));

  auto election = client.election("/leader", "me");
  const zkr::Leadership leadership = co_await coro::campaign(election);
  co_await coro::acknowledge(leadership, "ready");
  CHECK((co_await coro::leader(election))->data == "ready");
  CHECK((co_await coro::candidates(election)).size() == 1);
  co_await coro::release(leadership);
  CHECK(!co_await coro::leader(election));

  auto commits = client.two_phase_commit("/commits");
  co_await coro::join(commits, "shop");
  const zkr::CommitTransaction transaction = co_await coro::begin(commits, "t1", sites, "pay", 10s);
  const zkr::Proposal proposal = co_await coro::next(commits, 10s);
  co_await coro::vote_commit(proposal);
  CHECK(co_await coro::outcome(transaction, 10s) == zkr::Decision::Commit);
  CHECK((co_await coro::show(commits, "t1"))->id == "t1");
}

static void what_each_verb_answers_is_awaited() {
  World world;
  each_verb(world.client).end();
}

template <typename Thrown, typename Begin>
static Task expect(Begin begin, bool &thrown) {
  try {
    (void)co_await begin();
  } catch (const Thrown &) {
    thrown = true;
  }
}

template <typename Thrown, typename Begin>
static void ends_with(Begin begin) {
  bool thrown = false;
  expect<Thrown>(std::move(begin), thrown).end();
  CHECK(thrown);
}

static void an_error_is_thrown_where_it_is_awaited() {
  World world;
  auto lock = world.other.lock("/locks/a"), mine = world.client.lock("/locks/a");
  const zkr::Held held = lock.acquire();
  ends_with<zkr::Timeout>([&] { return coro::acquire(mine, 20ms); });
  ends_with<zkr::NoNode>([&] { return coro::get(world.client.nodes(), "/nothing"); });
  ends_with<zkr::Invalid>([&] { return coro::get(world.client.nodes(), "no slash"); });
  ends_with<zkr::Exists>([&] { return coro::create(world.client.nodes(), "/locks"); });
}

static void what_cannot_begin_throws_at_once() {
  World world;
  CHECK(throws<zkr::Invalid>([&] { (void)coro::get(world.client.nodes(), std::string("/a\0b", 4)); }));
  const zkr::Lock nothing(nullptr);
  CHECK(throws<zkr::Invalid>([&] { (void)coro::acquire(nothing); }));
}

static void a_stop_ends_what_is_awaited() {
  World world;
  auto lock = world.other.lock("/locks/a"), mine = world.client.lock("/locks/a");
  {
    const zkr::Held held = lock.acquire();
    std::stop_source before, during;
    before.request_stop();
    ends_with<zkr::Cancelled>([&] { return coro::acquire(mine, zkr::forever, before.get_token()); });
    bool thrown = false;
    auto waiting =
        expect<zkr::Cancelled>([&] { return coro::acquire(mine, zkr::forever, during.get_token()); }, thrown);
    eventually([&] { return world.line("/locks/a") == 2; }, "it stands in the line");
    CHECK(!waiting.done());
    during.request_stop();
    waiting.end();
    CHECK(thrown);
  }
  std::stop_source after;
  std::atomic<int> passed = 0;
  auto done = hold(mine, after.get_token(), passed);
  done.end();
  after.request_stop();
  CHECK(passed == 1);
  world.nobody_is_at("/locks/a");
}

static void what_is_not_awaited_any_more_is_withdrawn() {
  World world;
  auto lock = world.other.lock("/locks/a"), mine = world.client.lock("/locks/a");
  {
    const zkr::Held held = lock.acquire();
    std::atomic<int> passed = 0;
    {
      auto waiting = hold(mine, {}, passed);
      eventually([&] { return world.line("/locks/a") == 2; }, "it stands in the line");
    }
    eventually([&] { return world.line("/locks/a") == 1; }, "it has left the line");
    { const auto begun = coro::acquire(mine); }
    eventually([&] { return world.line("/locks/a") == 1; }, "it has left the line again");
    CHECK(passed == 0);
  }
  // What comes all the same is let go.
  for (int round = 0; round < 100; round++) {
    const auto begun = coro::acquire(mine);
    for (int i = 0; i < round * 100; i++) std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  world.nobody_is_at("/locks/a");
}

static void an_answer_that_is_there_already_is_not_waited_for() {
  World world;
  auto lock = world.client.lock("/locks/a");
  auto begun = coro::acquire(lock);
  eventually([&] { return begun.await_ready(); }, "it has come");
  const zkr::Held held = begun.await_resume();
  CHECK(held.is_held());
}

static Task many(zkr::Client &client, int rounds, std::atomic<int> &inside, std::atomic<int> &passed) {
  for (int round = 0; round < rounds; round++) {
    auto lock = client.lock("/locks/a");
    const zkr::Held held = co_await coro::acquire(lock);
    CHECK(inside.fetch_add(1) == 0);
    passed++;
    CHECK(inside.fetch_sub(1) == 1);
  }
}

static void coroutines_of_two_clients_exclude_each_other() {
  World world;
  std::atomic<int> inside = 0, passed = 0;
  std::vector<Task> tasks;
  for (int i = 0; i < 10; i++) tasks.push_back(many(i % 2 ? world.client : world.other, 10, inside, passed));
  for (auto &task : tasks) task.end();
  CHECK(passed == 100);
}

static Task on_this_thread(zkr::Client &client, std::thread::id here, int &steps) {
  auto lock = client.lock("/locks/a");
  const zkr::Held held = co_await coro::acquire(lock);
  CHECK(std::this_thread::get_id() == here);
  steps++;
  co_await coro::close(client);
  CHECK(std::this_thread::get_id() == here);
  CHECK(!held.is_held());
  steps++;
}

static void with_a_loop_it_goes_on_where_that_dispatches() {
  World world;
  world.client.event_fd();
  int steps = 0;
  auto task = on_this_thread(world.client, std::this_thread::get_id(), steps);
  while (!task.done()) world.client.dispatch(0, 10s);
  task.end();
  CHECK(steps == 2);
}

static Task blocks(zkr::Client &client, bool &refused) {
  auto lock = client.lock("/locks/a");
  {
    const zkr::Held held = co_await coro::acquire(lock);
    try {
      held.verify();
    } catch (const zkr::Deadlock &) {
      refused = true;
    }
  }  // released in the background, which blocks nowhere
}

static void a_blocking_verb_is_refused_where_it_goes_on() {
  World world;
  bool refused = false;
  blocks(world.client, refused).end();
  CHECK(refused);
  world.nobody_is_at("/locks/a");
}

/** Throws out of whatever went on with it. */
struct Careless {
  struct promise_type {
    Careless get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
};

static Careless careless(zkr::Lock &lock) {
  (void)co_await coro::acquire(lock);
  throw std::runtime_error("nobody catches this");
}

static void what_nobody_catches_goes_to_the_log() {
  World world;
  std::mutex mutex;
  std::string said;
  const auto listening = zkr::on_log(ZKR_LOG_ERROR, [&](const zkr::LogRecord &record) {
    const std::lock_guard guard(mutex);
    said += record.message;
  });
  // It waits, so it throws on a thread of the library and not here.
  auto lock = world.client.lock("/locks/careless");
  zkr::Held held = lock.acquire();
  const auto thrown = careless(lock);
  held.release();
  eventually(
      [&] {
        const std::lock_guard guard(mutex);
        return said.find("nobody catches this") != std::string::npos;
      },
      "it is in the log");
  CHECK(world.client.counter("/counter").add(1) == 1);  // nothing is broken
  thrown.handle.destroy();
}

static void what_is_lost_while_it_is_held_is_told() {
  World world;
  auto lock = world.client.lock("/locks/a");
  auto begun = coro::acquire(lock);
  eventually([&] { return begun.await_ready(); }, "it has come");
  const zkr::Held held = begun.await_resume();
  std::stop_source lost;
  const auto listening = held.on_lost([&](const zkr::Error &) { lost.request_stop(); });
  world.server.expire(world.client.session_id());
  eventually([&] { return lost.stop_requested(); }, "the loss stops the work");
  CHECK(!held.is_held());
}

#define CASES(X)                                            \
  X(stopped_before_it_begins_a_wait_is_cancelled_at_once)   \
  X(stopped_while_it_waits_every_kind_of_verb_is_cancelled) \
  X(stopped_after_it_was_acquired_a_lock_stays_held)        \
  X(a_stop_that_can_never_come_is_no_token)                 \
  X(a_token_that_is_moved_is_still_stopped)                 \
  X(connecting_is_stopped)                                  \
  X(whenever_a_stop_comes_it_is_held_or_nothing_is_left)    \
  X(a_lock_is_awaited_held_and_released)                    \
  X(what_each_verb_answers_is_awaited)                      \
  X(an_error_is_thrown_where_it_is_awaited)                 \
  X(what_cannot_begin_throws_at_once)                       \
  X(a_stop_ends_what_is_awaited)                            \
  X(what_is_not_awaited_any_more_is_withdrawn)              \
  X(an_answer_that_is_there_already_is_not_waited_for)      \
  X(coroutines_of_two_clients_exclude_each_other)           \
  X(with_a_loop_it_goes_on_where_that_dispatches)           \
  X(a_blocking_verb_is_refused_where_it_goes_on)            \
  X(what_nobody_catches_goes_to_the_log)                    \
  X(what_is_lost_while_it_is_held_is_told)

int main(int count, char **words) {
  int passed = 0, failed = 0;
#define RUN(name)                                                            \
  if (count < 2 || std::string(#name).find(words[1]) != std::string::npos) { \
    try {                                                                    \
      name();                                                                \
      passed++;                                                              \
      std::cout << "ok     " #name << std::endl;                             \
    } catch (const std::exception &error) {                                  \
      failed++;                                                              \
      std::cout << "FAILED " #name ": " << error.what() << std::endl;        \
    }                                                                        \
  }
  CASES(RUN)
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return failed ? 1 : 0;
}
