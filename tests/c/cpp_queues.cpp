// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes.hpp: queues.

#include <atomic>

#include "cpp_harness.hpp"

void items_are_put_and_taken_as_values() {
  zkr::Client a(hosts()), b(hosts());
  auto queue = a.queue(path("queue")), same = b.queue(path("queue"));
  CHECK(queue.path() == path("queue") && !queue.peek() && queue.len() == 0);
  queue.put("one");
  queue.put_many({"two", "", std::string("fo\0r", 4)}, 5s);
  queue.put_many({});
  CHECK(same.len() == 4 && *same.peek() == "one");
  CHECK((same.items() == std::vector<std::string>{"one", "two", "", std::string("fo\0r", 4)}));
  CHECK(same.get() == "one" && queue.get(5s) == "two" && queue.get(0ms).empty());
  CHECK(same.get() == std::string("fo\0r", 4));
  THROWS(queue.get(0ms), zkr::ErrorKind::Timeout);
  zkr::CancelToken token;
  token.cancel();
  THROWS(queue.get(zkr::forever, token), zkr::ErrorKind::Cancelled);
  // Not even for a moment is it there.
  for (int i = 0; i < 100; i++) {
    THROWS(queue.put("no", zkr::forever, token), zkr::ErrorKind::Cancelled);
    CHECK(same.len() == 0);
  }
  try {
    queue.put_many({"in", std::string(2 << 20, 'x')});
    CHECK(!"refused");
  } catch (const zkr::Error &error) {
    CHECK(error.code() == zkr::ErrorKind::TooLarge && error.put() == queue.len());
  }
  CHECK(!zkr::Error(ZKR_TIMEOUT, "").put());

  const auto before = queue.len();
  queue.put_with("tea", "order-1");
  same.put_with("tea", "order-1", 5s);
  CHECK(queue.len() == before + 1);
  THROWS(queue.put_with("tea", ""), zkr::ErrorKind::Invalid);

  zkr::QueueOptions options;
  options.shards = 0;
  THROWS(a.queue(path("bad"), options), zkr::ErrorKind::Invalid);
  options = zkr::QueueOptions();
  options.layout = ZKR_QUEUE_LAYOUT_LOCKING;
  THROWS(a.queue(path("bad"), options), zkr::ErrorKind::Invalid);
}

void an_item_is_given_back_at_the_end_of_its_scope() {
  zkr::Client client(hosts());
  zkr::QueueOptions options;
  options.max_attempts = 3;
  auto queue = client.queue(path("items"), options);
  queue.put("tea");
  try {
    const auto item = queue.claim(5s);
    CHECK(item.data() == "tea" && item.attempts() == 1 && item.is_held() && item.fencing_token() > 0);
    item.verify();
    THROWS(queue.claim(0ms), zkr::ErrorKind::Timeout);
    throw std::runtime_error("the work fails");
  } catch (const std::runtime_error &) {
  }
  {
    auto item = queue.claim(5s);
    CHECK(item.attempts() == 2);
    auto writes = item.guarded();
    writes.set(path("no-bill"), "");
    THROWS(item.ack_with(writes), zkr::ErrorKind::NoNode);
    CHECK(item.is_held());
    auto other = std::move(item);
    CHECK(other.is_held() && !item.is_held() && item.data().empty());
    THROWS(item.ack(), zkr::ErrorKind::Invalid);
    THROWS(other.nack(-5ms), zkr::ErrorKind::Invalid);
    other.nack();
    THROWS(other.nack(), zkr::ErrorKind::NotHeld);
  }
  queue.claim(5s).nack(0ms, "nobody drinks it");  // for the third time
  auto dead = queue.dead();
  const auto letters = queue.dead_letters();
  CHECK(letters.size() == 1 && letters[0].data == "tea" && *letters[0].reason == "nobody drinks it" &&
        letters[0].attempts == 3);
  CHECK(!letters[0].problem && dead.dead_letters().size() == 1);
  CHECK(dead.len() == 1 && *dead.peek() == "tea" && queue.len() == 0);
  THROWS(dead.put("no"), zkr::ErrorKind::Invalid);
  CHECK(queue.replay() == 1);
  auto item = queue.claim(5s);
  auto writes = client.nodes().transaction();
  writes.create(path("bill"), "paid");
  item.ack_with(writes);
  CHECK(queue.len() == 0 && client.nodes().get(path("bill")).first == "paid");
  std::atomic<int> lost{0};
  const auto losing = item.on_lost([&](const zkr::Error &) { lost++; });
  client.close();
  CHECK(lost == 0);
}

void priority_and_delay_queues_have_an_order_of_their_own() {
  zkr::Client client(hosts());
  auto alarms = client.priority_queue(path("priority"));
  alarms.put("dust", 10);
  alarms.put("fire", -5);
  CHECK(alarms.get() == "fire" && alarms.claim().data() == "dust");
  auto later = client.delay_queue(path("delay"));
  later.put("never", zkr::Milliseconds::max());
  THROWS(later.get(0ms), zkr::ErrorKind::Timeout);
  THROWS(later.put("x", -1ms), zkr::ErrorKind::Invalid);
  const auto since = std::chrono::steady_clock::now();
  later.put("soon", 200ms);
  CHECK(later.get() == "soon" && later.len() == 1 && later.dead().len() == 0);
  CHECK(std::chrono::steady_clock::now() - since >= 200ms);
}
