// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes.hpp: recipes other than locks.

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "cpp_harness.hpp"

void a_transaction_tells_what_became_of_its_parts() {
  zkr::Client client(hosts());
  auto nodes = client.nodes();
  const auto at = path("parts");
  nodes.ensure(at);
  auto both = nodes.transaction();
  both.create(at + "/a-", "1", ZKR_PERSISTENT_SEQUENTIAL).set(at, "22").check(at);
  const auto results = both.commit();
  CHECK(results.size() == 3);
  CHECK(results[0].part == ZKR_PART_CREATED && results[0].path == at + "/a-0000000000");
  CHECK(results[1].part == ZKR_PART_SET && results[1].stat.data_length == 2 && results[1].path.empty());
  CHECK(results[2].part == ZKR_PART_CHECKED);
  THROWS(both.commit(), zkr::ErrorKind::Invalid);
}

void a_counter_counts_for_everybody() {
  zkr::Client a(hosts()), b(hosts());
  auto counter = a.counter(path("counter")), same = b.counter(path("counter"));
  CHECK(counter.path() == path("counter"));
  CHECK(counter.get() == 0 && counter.add(5) == 5 && same.add(-7) == -2);
  CHECK(!same.compare_and_set(0, 1) && same.compare_and_set(-2, INT64_MAX));
  THROWS(counter.add(1), zkr::ErrorKind::Invalid);
  CHECK(counter.get() == INT64_MAX);

  zkr::CounterOptions shared;
  shared.layout = ZKR_COUNTER_LAYOUT_SHARED;
  auto small = a.counter(path("shared-counter"), shared);
  THROWS(small.compare_and_set(0, INT64_MAX), zkr::ErrorKind::Invalid);
  CHECK(small.add(1) == 1);
  THROWS(a.counter("relative"), zkr::ErrorKind::Invalid);
}

void instances_are_values_that_can_fail() {
  zkr::Client client(hosts());
  std::optional<zkr::Instance> picked;
  {
    auto discovery = client.discovery(path("services"));
    zkr::Service service{"web", "10.0.0.7", 80};
    service.payload = "[1]";
    service.type = zkr::ServiceType::Static;
    auto registration = discovery.register_service(service);
    CHECK(registration.id().size() == 36 && discovery.names() == std::vector<std::string>{"web"});
    std::atomic<std::size_t> seen{9};
    const auto subscription = discovery.watch("web", [&](const auto &now) { seen = now.size(); });
    CHECK(eventually([&] { return seen == 1; }));
    picked = discovery.pick("web", zkr::PickBy::Sticky);
    CHECK(picked->id == registration.id() && picked->port == 80 && !picked->ssl_port &&
          picked->payload == "[1]");
    CHECK(picked->type == ZKR_SERVICE_TYPE_STATIC && picked->enabled && !picked->uri && !picked->uri_spec);
    CHECK(std::chrono::system_clock::now() - picked->registered_at < std::chrono::minutes(1));
    picked->failed();
    CHECK(!discovery.pick("web"));
    const auto known = registration.service();
    CHECK(known.id == registration.id() && known.name == "web" && known.port == 80 && !known.ssl_port);
    CHECK(known.payload == "[1]" && known.uri_spec.empty() && known.enabled &&
          known.type == ZKR_SERVICE_TYPE_STATIC);
    service.enabled = false;
    registration.update(service);
    CHECK(!registration.service().enabled);
    CHECK(!discovery.instances("web").front().enabled);
    service.name = "mail";
    THROWS(registration.update(service), zkr::ErrorKind::Invalid);
    registration.unregister();
    THROWS(registration.unregister(), zkr::ErrorKind::NotHeld);
    CHECK(eventually([&] { return seen == 0; }));
    service.payload = "{";
    THROWS(discovery.register_service(service), zkr::ErrorKind::Invalid);
    THROWS(discovery.watch("a/b", [](const auto &) {}), zkr::ErrorKind::Invalid);
  }
  // What has found it is gone.
  picked->failed();
}

void what_a_function_makes_of_a_value_is_set_once() {
  zkr::Client client(hosts());
  auto config = client.config(path("updated"));
  const auto with = [](const std::optional<std::string> &value) { return value.value_or("") + "a"; };
  CHECK(config.update(with).value == "a" && config.update(with).version == 1);
  int calls = 0;
  const auto late = [&](const std::optional<std::string> &value) {
    if (calls++ == 0) config.set("b");
    return *value + "c";
  };
  const auto now = config.update(late);
  CHECK(now.value == "bc" && now.version == 3 && calls == 2 && config.get()->version == 3);
  CHECK(!config.compare_and_set("d", 2) && config.compare_and_set("d", 3) &&
        !config.compare_and_set("d", -1));
  try {
    config.update([](const auto &) -> std::string { throw std::runtime_error("mine"); });
    CHECK(!"thrown");
  } catch (const std::runtime_error &) {
  }
  CHECK(client.nodes().update(path("updated"), [](const std::string &data) { return data + "e"; }).version ==
        5);
  THROWS(client.nodes().update(path("none"), [](const std::string &data) { return data; }),
         zkr::ErrorKind::NoNode);
  calls = 0;
  const auto fails = [&](const std::string &) -> std::string {
    if (calls++ > 0) throw std::logic_error("called again");
    client.nodes().set(path("updated"), "f", 0);
    return "unreachable";
  };
  THROWS(client.nodes().update(path("updated"), fails), zkr::ErrorKind::BadVersion);

  client.nodes().ensure(path("kept/a"));
  auto cache = client.nodes().cache(path("kept"));
  CHECK(cache.path() == path("kept") && cache.get(path("kept/a"))->second.version == 0);
  CHECK((cache.children(path("kept")) == std::vector<std::string>{"a"}) && !cache.get(path("kept/b")));
  CHECK(cache.age() < 10s && !cache.children(path("kept/b")));
  std::atomic<int> told{0};
  const auto subscription =
      cache.changes([&](const std::vector<std::string> &paths) { told += static_cast<int>(paths.size()); });
  CHECK(eventually([&] { return told == 2; }));
  CHECK(client.whoami().size() == 1);
}

void a_config_is_followed_for_a_scope() {
  zkr::Client a(hosts()), b(hosts());
  auto config = a.config(path("config")), same = b.config(path("config"));
  CHECK(!config.cached() && !config.get() && !config.cached()->value);
  std::atomic<int> calls{0};
  std::optional<zkr::Versioned> seen;
  {
    const auto subscription = config.watch([&](const std::optional<zkr::Versioned> &now) {
      seen = now;
      ++calls;
    });
    CHECK(eventually([&] { return calls == 1; }) && !seen);
    CHECK(same.create("one") == 0);
    THROWS(same.create("late"), zkr::ErrorKind::Exists);
    CHECK(eventually([&] { return calls == 2; }) && seen->value == "one" && seen->version == 0);
  }
  CHECK(same.set("two", 0) == 1);
  THROWS(same.set("late", 0), zkr::ErrorKind::BadVersion);
  CHECK(config.get()->value == "two" && config.cached()->value->version == 1 && calls == 2);

  std::atomic<int> ends{0};
  zkr_status end = ZKR_OK;
  const auto subscription = config.watch([&](const auto &) { ++calls; },
                                         [&](const zkr::Error &error) {
                                           if (dynamic_cast<const zkr::Closed *>(&error)) end = error.code();
                                           ++ends;
                                         });
  CHECK(eventually([&] { return calls == 3; }));
  a.close();
  CHECK(ends == 1 && end == zkr::ErrorKind::Closed);
}

void names_groups_and_nodes_are_followed_as_values() {
  using Map = std::map<std::string, std::string>;
  zkr::Client client(hosts());
  auto names = client.names(path("names"));
  std::mutex mutex;
  Map bound{{"not", "yet"}};
  std::vector<zkr::GroupEvent> events;
  std::vector<zkr::NodeState> states;
  const auto is = [&](auto &&condition) {
    const std::lock_guard<std::mutex> guard(mutex);
    return condition();
  };
  const auto following_names = names.watch([&](const Map &now) {
    const std::lock_guard<std::mutex> guard(mutex);
    bound = now;
  });
  names.bind("billing", "10.0.0.7", true);
  CHECK(eventually(
      [&] { return is([&] { return bound.size() == 1 && bound.begin()->second == "10.0.0.7"; }); }));
  CHECK(*names.lookup("billing") == "10.0.0.7" && !names.lookup("nobody"));
  CHECK(names.list() == std::vector<std::string>{"billing"});
  THROWS(names.bind("billing", ""), zkr::ErrorKind::Exists);
  names.unbind("billing");
  CHECK(eventually([&] { return is([&] { return bound.empty(); }); }));

  auto group = client.group(path("group"));
  const auto following_group = group.watch([&](const zkr::GroupEvent &event) {
    const std::lock_guard<std::mutex> guard(mutex);
    events.push_back(event);
  });
  CHECK(eventually([&] { return is([&] { return events.size() == 1; }); }));
  group.join("worker", "idle");
  CHECK(group.members().at("worker") == "idle" && group.members().size() == 1);
  CHECK(eventually([&] { return is([&] { return events.size() == 2; }); }));
  group.update("busy");
  CHECK(eventually([&] { return is([&] { return events.size() == 3; }); }));
  group.leave();
  CHECK(eventually([&] { return is([&] { return events.size() == 4; }); }));
  CHECK(events[0].kind == ZKR_GROUP_EVENT_SNAPSHOT && events[0].members.empty());
  CHECK(events[1].kind == ZKR_GROUP_EVENT_JOINED && events[1].name == "worker" && events[1].data == "idle");
  CHECK(events[2].kind == ZKR_GROUP_EVENT_CHANGED && events[2].data == "busy");
  CHECK(events[3].kind == ZKR_GROUP_EVENT_LEFT && events[3].name == "worker");

  client.nodes().create(path("followed"), "1");
  const auto following_node =
      client.nodes().watch(path("followed"), ZKR_WATCH_KIND_SUBTREE, [&](const zkr::NodeState &state) {
        const std::lock_guard<std::mutex> guard(mutex);
        states.push_back(state);
      });
  CHECK(eventually([&] { return is([&] { return states.size() == 1; }); }));
  CHECK(states[0].kind == ZKR_WATCH_KIND_SUBTREE && !states[0].data && !states[0].children);
  CHECK(states[0].subtree.size() == 1 && states[0].subtree.at(path("followed")).first == "1");
}

void a_leadership_is_a_value() {
  zkr::Client a(hosts()), b(hosts());
  auto election = a.election(path("election"), "port 80"), other = b.election(path("election"));
  std::atomic<std::uint64_t> epoch{0};
  const auto observed =
      other.observe([&](const std::optional<zkr::Leader> &now) { epoch = now ? now->epoch : 0; });
  CHECK(!other.leader() && !election.is_leader());
  {
    auto leadership = election.campaign(10s);
    CHECK(leadership.is_held() && election.is_leader() && election.is_held());
    CHECK(eventually([&] { return epoch == leadership.epoch(); }));
    leadership.acknowledge("ready");
    const auto leader = other.leader();
    CHECK(leader && leader->data == "ready" && leader->acknowledged && leader->epoch == leadership.epoch());
    CHECK(other.candidates().size() == 1);
    THROWS(other.campaign(0ms), zkr::ErrorKind::Timeout);
  }
  CHECK(eventually([&] { return epoch == 0; }));
  THROWS(election.resign(), zkr::ErrorKind::NotHeld);
  zkr::CancelToken token;
  auto mine = election.campaign();
  std::thread later([&] { token.cancel(); });
  THROWS(other.campaign(zkr::forever, token), zkr::ErrorKind::Cancelled);
  later.join();
  mine.release();
}

void a_leader_can_be_asked() {
  zkr::Client a(hosts()), b(hosts());
  auto election = a.election(path("asked")), asker = b.election(path("asked"));
  THROWS((void)election.on_revoke([] {}), zkr::ErrorKind::NotHeld);
  CHECK(!asker.revoke());
  const auto leadership = election.campaign(10s);
  std::atomic<int> by_election{0}, by_term{0};
  const auto asking = election.on_revoke([&] { by_election++; });
  const auto asking_too = leadership.on_revoke([&] { by_term++; });
  CHECK(asker.revoke() && eventually([&] { return by_election == 1 && by_term == 1; }));
  CHECK(leadership.is_held());
}

void a_term_lasts_as_long_as_its_leadership() {
  zkr::Client a(hosts()), b(hosts());
  auto election = a.election(path("terms")), other = b.election(path("terms"));
  std::mutex mutex;
  std::optional<zkr::Leadership> leading;
  std::vector<std::uint64_t> epochs;
  std::atomic<int> code{ZKR_OK};
  const auto led = [&](std::size_t terms) {
    return eventually([&] {
      const std::lock_guard<std::mutex> guard(mutex);
      return epochs.size() == terms && leading && leading->is_held();
    });
  };
  const auto end = [&] {
    const std::lock_guard<std::mutex> guard(mutex);
    leading.reset();
  };
  const auto lead = [&](zkr::Leadership leadership) {
    const std::lock_guard<std::mutex> guard(mutex);
    epochs.push_back(leadership.epoch());
    if (epochs.size() == 2) throw std::runtime_error("cannot serve");
    leading = std::move(leadership);
  };
  {
    const auto running = election.run(lead, [&](const zkr::Error &why) { code = why.code(); });
    CHECK(led(1));
    end();
    CHECK(led(3));  // the second one threw
    CHECK(epochs[0] < epochs[1] && epochs[1] < epochs[2] && election.is_leader());
    election.cancel();
    CHECK(eventually([&] { return code == ZKR_CANCELLED; }));
    CHECK(!election.is_leader() && eventually([&] { return other.candidates().empty(); }));
    end();
  }
  {
    const auto running = election.run(lead);
    CHECK(led(4));
  }
  // Without its subscription nobody leads, whoever has the leadership.
  CHECK(eventually([&] { return other.candidates().empty(); }) && !leading->is_held());
}

void a_partition_is_held_as_long_as_its_held() {
  zkr::testing::Server server;
  zkr::Client client(server.connect_string());
  auto shares = client.partitioner("/shares", zkr::Partitions(2));
  std::mutex mutex;
  std::map<std::string, zkr::Held> held;
  std::size_t calls = 0;
  std::atomic<int> code{ZKR_OK};
  const auto works = [&](std::size_t expected) {
    return eventually([&] {
      const std::lock_guard<std::mutex> guard(mutex);
      return calls == expected && held.size() == 2;
    });
  };
  const auto work = [&](zkr::Held partition) {
    const std::lock_guard<std::mutex> guard(mutex);
    calls++;
    held.insert_or_assign(partition.name(), std::move(partition));
  };
  std::atomic<std::size_t> owned{9};
  const auto told = shares.watch([&](const auto &owners) {
    owned = static_cast<std::size_t>(
        std::count_if(owners.begin(), owners.end(), [](const auto &one) { return one.second.has_value(); }));
  });
  CHECK(eventually([&] { return owned == 0; }));
  const auto running = shares.run(work, [&](const zkr::Error &why) { code = why.code(); });
  CHECK(works(2));
  CHECK(eventually([&] { return owned == 2; }));
  {
    const std::lock_guard<std::mutex> guard(mutex);
    held.erase("0");
  }
  CHECK(works(3));  // what was let go of unasked comes again
  std::thread leaving([&] { shares.leave(); });
  {
    const std::lock_guard<std::mutex> guard(mutex);
    held.clear();
  }
  CHECK(eventually([&] { return code == ZKR_CANCELLED; }));
  leaving.join();
}

void a_node_may_have_a_time_to_live() {
  zkr::testing::ServerOptions options;
  options.extended_types = true;
  zkr::testing::Server server(options), without;
  zkr::Client client(server.connect_string()), refused(without.connect_string());
  auto nodes = client.nodes();
  CHECK(nodes.create("/short", "", ZKR_PERSISTENT, 1ms) == "/short");
  CHECK(nodes.create("/long-", "", ZKR_PERSISTENT_SEQUENTIAL, 24h) == "/long-0000000001");
  nodes.transaction().create("/other", "", ZKR_PERSISTENT, 1min).commit();
  CHECK(eventually([&] {
    server.advance_clock(60s);
    const auto paths = server.nodes();
    return std::none_of(paths.begin(), paths.end(),
                        [](auto &one) { return one == "/short" || one == "/other"; });
  }));
  CHECK(nodes.exists("/long-0000000001"));
  THROWS(nodes.create("/a", "", ZKR_PERSISTENT, 0ms), zkr::ErrorKind::Invalid);
  THROWS(nodes.create("/a", "", ZKR_EPHEMERAL, 1min), zkr::ErrorKind::Invalid);
  THROWS(nodes.transaction().create("/a", "", ZKR_CONTAINER, 1min), zkr::ErrorKind::Invalid);
  THROWS(refused.nodes().create("/a", "", ZKR_PERSISTENT, 1min), zkr::ErrorKind::Invalid);
}
