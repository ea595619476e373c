// SPDX-License-Identifier: Apache-2.0
//
// The testing kit in C++.

#include <algorithm>
#include <mutex>
#include <vector>
#include <zkrecipes.hpp>

#include "cpp_harness.hpp"

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
  CHECK(server.port() > 0 && server.nodes().size() >= 2);
  CHECK(server.sessions() >= 1 && server.connections() >= 1 && server.watch_count() == 0);
  THROWS(server.inject("no such fault"), zkr::ErrorKind::Invalid);
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
           request.outcome == zkr::testing::Outcome::Unanswered;
  }));
  CHECK(to_string(zkr::testing::Outcome::Unanswered) == "unanswered");
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

void a_partition_can_be_told_from_logs_and_metrics_alone() {
  zkr::testing::ServerOptions server_options;
  server_options.min_session_timeout = 200ms;
  zkr::testing::Server server(server_options);
  zkr::testing::Proxy proxy(server.connect_string());
  std::mutex lock;
  std::vector<zkr::LogRecord> told;
  const auto log = zkr::on_log(ZKR_LOG_INFO, [&](const zkr::LogRecord &record) {
    const std::lock_guard<std::mutex> guard(lock);
    told.push_back(record);
  });
  const auto count = [&](const std::string &event, const std::string &field, const std::string &value) {
    const std::lock_guard<std::mutex> guard(lock);
    return std::count_if(told.begin(), told.end(), [&](const zkr::LogRecord &record) {
      const auto found = record.fields.find(field);
      return record.event == event && found != record.fields.end() && found->second == value;
    });
  };
  zkr::Options options;
  options.session_timeout = 3s;
  zkr::Client client(proxy.connect_string(), options);
  auto mutex = client.lock("/told");
  const auto held = mutex.acquire(20s);
  proxy.drop_connections();
  CHECK(eventually([&] { return client.metrics().at("reconnections") >= 1; }));
  CHECK(eventually([&] { return count("reconnected", "server", proxy.connect_string()) >= 1; }));
  proxy.pause();
  CHECK(eventually([&] { return client.metrics().at("losses.session") == 1; }));
  CHECK(eventually([&] { return count("lost", "path", "/told") == 1; }));
  CHECK(client.prometheus().find("zkrecipes_suspensions_total") != std::string::npos);
  proxy.resume();
}
