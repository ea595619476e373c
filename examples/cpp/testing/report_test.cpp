// Each test has a server of its own, which can be made to misbehave.
#include <functional>
#include <future>
#include <iostream>
#include <thread>
#include <zkrecipes.hpp>
#include <zkrecipes_testing.hpp>

using std::chrono::milliseconds;
using std::chrono::seconds;

// What is to be tested: of all who call it at the same time, one does the work and writes the report.
static bool write_report(
    zkr::Client &client, const std::function<void()> &work = [] {}) {
  auto lock = client.lock("/locks/report");
  const auto held = lock.acquire(seconds(30));
  if (client.nodes().exists("/report")) return false;
  work();
  held.guarded().create("/report", "done").commit();
  return true;
}

static bool of_two_at_the_same_time_one_writes() {
  zkr::testing::Server server;
  zkr::Client client(server.connect_string()), other(server.connect_string());
  auto lock = client.lock("/locks/report");
  std::future<bool> second;
  const bool first = write_report(client, [&] {
    second = std::async(std::launch::async, [&] { return write_report(other); });
    // It stands in line, or it was not kept out.
    while (lock.contenders().size() < 2 && second.wait_for(milliseconds(10)) == std::future_status::timeout) {
    }
  });
  return first && !second.get();
}

static bool who_has_lost_the_lock_writes_nothing() {
  zkr::testing::Server server;
  zkr::Client client(server.connect_string());
  const auto the_network_is_away_for_too_long = [&] {
    const auto session = client.session_id();
    server.expire(session);
    while (client.session_id() == session) std::this_thread::sleep_for(milliseconds(10));
  };
  try {
    write_report(client, the_network_is_away_for_too_long);
    return false;
  } catch (const zkr::Error &error) {
    return (error.code() == zkr::ErrorKind::Lost || error.code() == zkr::ErrorKind::NotHeld) &&
           !client.nodes().exists("/report");
  }
}

static bool survives_its_writer() {
  zkr::testing::Server server;
  zkr::Client writer(server.connect_string()), other(server.connect_string());
  auto lock = writer.lock("/locks/report");
  const auto held = lock.acquire();
  auto next = std::async(std::launch::async, [&] { return write_report(other); });
  while (lock.contenders().size() < 2 && next.wait_for(milliseconds(10)) == std::future_status::timeout) {
  }
  // It waits, or it was not kept out.
  const bool waits = next.wait_for(seconds(0)) == std::future_status::timeout;
  server.expire(writer.session_id());
  return next.get() && waits;
}

int main(int count, char **words) {
  const std::string test = count > 1 ? words[1] : "";
  try {
    if (test == "of_two_at_the_same_time_one_writes") return of_two_at_the_same_time_one_writes() ? 0 : 1;
    if (test == "who_has_lost_the_lock_writes_nothing") return who_has_lost_the_lock_writes_nothing() ? 0 : 1;
    if (test == "survives_its_writer") return survives_its_writer() ? 0 : 1;
  } catch (const zkr::Error &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  std::cerr << "no test is called " << test << '\n';
  return 2;
}
