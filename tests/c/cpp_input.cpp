// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes.hpp: what C cannot be given, and so must be refused before.

#include <sstream>

#include "cpp_harness.hpp"

void a_function_that_is_empty_is_refused() {
  zkr::Client client(hosts());
  auto lock = client.lock(path("empty"));
  auto election = client.election(path("empty-election"));
  const auto held = lock.acquire(5s);
  const auto leadership = election.campaign(5s);
  const auto config = client.config(path("empty-config"));
  THROWS(client.on_state(nullptr), zkr::ErrorKind::Invalid);
  THROWS(lock.on_lost(nullptr), zkr::ErrorKind::Invalid);
  THROWS(lock.on_revoke(nullptr), zkr::ErrorKind::Invalid);
  THROWS(held.on_lost(nullptr), zkr::ErrorKind::Invalid);
  THROWS(held.on_revoke(nullptr), zkr::ErrorKind::Invalid);
  THROWS(leadership.on_lost(nullptr), zkr::ErrorKind::Invalid);
  THROWS(leadership.on_revoke(nullptr), zkr::ErrorKind::Invalid);
  THROWS(election.observe(nullptr), zkr::ErrorKind::Invalid);
  THROWS(election.run(std::function<void(zkr::Leadership)>()), zkr::ErrorKind::Invalid);
  THROWS(config.watch(nullptr), zkr::ErrorKind::Invalid);
  THROWS(client.names(path("empty-names")).watch(nullptr), zkr::ErrorKind::Invalid);
  THROWS(client.group(path("empty-group")).watch(nullptr), zkr::ErrorKind::Invalid);
  THROWS(client.nodes().watch("/", ZKR_WATCH_KIND_DATA, nullptr), zkr::ErrorKind::Invalid);
  const auto subscription = config.watch([](const auto &) {}, nullptr);  // nobody needs to hear of the end
}

// C would take the NUL for the end: a lock on another path, a credential that is shorter.
void text_with_a_nul_is_refused() {
  const std::string nul("/a\0b", 4);
  zkr::Client client(hosts());
  auto lock = client.lock(path("nul"));
  auto nodes = client.nodes();
  try {
    client.lock(nul);
    CHECK(!"refused");
  } catch (const zkr::Error &error) {
    CHECK(error.code() == zkr::ErrorKind::Invalid);
    CHECK(std::string(error.what()) == "path: has a NUL at byte 2, where C ends a text; leave it out");
  }
  THROWS(client.read_write_lock(nul), zkr::ErrorKind::Invalid);
  THROWS(client.semaphore(nul, 1), zkr::ErrorKind::Invalid);
  THROWS(client.election(nul), zkr::ErrorKind::Invalid);
  THROWS(client.counter(nul), zkr::ErrorKind::Invalid);
  THROWS(client.check_sequencer(nul), zkr::ErrorKind::Invalid);
  THROWS(lock.revoke(nul), zkr::ErrorKind::Invalid);
  THROWS(nodes.create(nul), zkr::ErrorKind::Invalid);
  THROWS(nodes.watch(nul, ZKR_WATCH_KIND_DATA, [](const auto &) {}), zkr::ErrorKind::Invalid);
  THROWS(nodes.transaction().create(nul, ""), zkr::ErrorKind::Invalid);
  THROWS(client.names(path("nul-names")).bind(nul.substr(1), ""), zkr::ErrorKind::Invalid);
  nodes.ensure(path("nul-data"));
  nodes.set(path("nul-data"), nul);
  CHECK(nodes.get(path("nul-data")).first == nul);  // data has a size

  zkr::Options identity = named(nul), user, acl, scheme;
  user.sasl = zkr::Options::Sasl{"user", nul};
  acl.acl = ZKR_ACL_LIST;
  acl.acl_list.push_back({"world", "anyone", nul});
  scheme.auth.push_back({nul, "credential"});
  for (const auto &options : {identity, user, acl, scheme})
    THROWS(zkr::Client(hosts(), options), zkr::ErrorKind::Invalid);
  THROWS(zkr::Client(std::string(hosts()) + nul), zkr::ErrorKind::Invalid);
  THROWS(shared_server().inject(std::string("drop_after create\0", 18)), zkr::ErrorKind::Invalid);
}

void values_show_their_names() {
  std::ostringstream out;
  out << zkr::ErrorKind::Timeout << ' ' << zkr::State::Suspended << ' ' << zkr::LostReason::Revoked << ' '
      << zkr::LogLevel::Warn << ' ' << zkr::Decision::Commit << ' ' << zkr::CommitMode::Peer << ' '
      << zkr::CoordinatorState::Absent << ' ' << zkr::PartKind::Deleted << ' ' << zkr::GroupEventKind::Joined;
  CHECK(out.str() == "TIMEOUT suspended revoked warn commit peer absent deleted joined");
  CHECK(zkr::to_string(zkr::ErrorKind::NotHeld) == "NOT_HELD" && to_string(zkr::State::Lost) == "lost");

  // What was written with the constants of C goes on.
  const zkr::Error error(ZKR_TIMEOUT, "late");
  zkr_status status = error.code();
  CHECK(status == ZKR_TIMEOUT && error.code() == ZKR_TIMEOUT && error.code() == zkr::ErrorKind::Timeout);
  status = error.code() != ZKR_LOST ? error.code() : ZKR_OK;
  switch (error.code()) {
    case zkr::ErrorKind::Timeout:
      CHECK(std::string(zkr_status_name(status)) == "TIMEOUT");
      break;
    default:
      CHECK(!"this kind");
  }
}
