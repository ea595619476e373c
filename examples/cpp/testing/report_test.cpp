// Each test has a server of its own, which can be made to misbehave.
#include <cstring>
#include <iostream>
#include <zkrecipes.hpp>
#include <zkrecipes_testing.hpp>

// What is to be tested: of all who call it at the same time, one writes the report.
static bool write_report(zkr::Client &client) {
  auto lock = client.lock("/locks/report");
  const auto held = lock.acquire(std::chrono::seconds(30));
  if (client.nodes().exists("/report")) return false;
  held.guarded().create("/report", "done").commit();
  return true;
}

static bool written_once() {
  zkr::testing::Server server;
  zkr::Client client(server.connect_string());
  return write_report(client) && !write_report(client);
}

static bool survives_its_writer() {
  zkr::testing::Server server;
  zkr::Client writer(server.connect_string()), other(server.connect_string());
  auto lock = writer.lock("/locks/report");
  const auto held = lock.acquire();
  server.expire(writer.session_id());
  return write_report(other);
}

int main(int count, char **words) {
  const std::string test = count > 1 ? words[1] : "";
  try {
    if (test == "written_once") return written_once() ? 0 : 1;
    if (test == "survives_its_writer") return survives_its_writer() ? 0 : 1;
  } catch (const zkr::Error &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  std::cerr << "no test is called " << test << '\n';
  return 2;
}
