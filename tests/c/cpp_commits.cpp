// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes.hpp: two-phase commit.

#include "cpp_harness.hpp"

void sites_commit_together_as_values() {
  zkr::Client a(hosts()), b(hosts());
  auto bank = a.two_phase_commit(path("commit")), shop = b.two_phase_commit(path("commit"));
  CHECK(bank.path() == path("commit") && bank.mode() == ZKR_COMMIT_MODE_COORDINATOR);
  THROWS(shop.next(0ms), zkr::ErrorKind::NotHeld);
  bank.join("bank");
  shop.join("shop");
  THROWS(bank.begin("p-1", {"bank", "bank"}, "", 30s), zkr::ErrorKind::Invalid);
  THROWS(bank.begin("p-1", {std::string("ba\0nk", 5)}, "", 30s), zkr::ErrorKind::Invalid);
  const std::string payload(
      "1\0"
      "2",
      3);
  auto payment = bank.begin("p-1", {"bank", "shop"}, payload, 30s);
  CHECK(payment.id() == "p-1" && payment.payload() == payload && payment.sites().size() == 2);
  THROWS(payment.outcome(0ms), zkr::ErrorKind::Timeout);
  auto first = bank.next(20s), second = shop.next(20s);
  CHECK(second.id() == "p-1" && second.payload() == payload && second.sites()[1] == "shop");
  first.vote_commit();
  CHECK(!first.has_voted() && bank.pending().at(0).has_voted());
  zkr::CancelToken token;
  token.cancel();
  THROWS(second.outcome(zkr::forever, token), zkr::ErrorKind::Cancelled);
  second.vote_commit();
  CHECK(payment.outcome() == ZKR_OUTCOME_COMMIT && second.outcome(20s) == ZKR_OUTCOME_COMMIT);
  THROWS(second.vote_abort(), zkr::ErrorKind::Exists);
  first.acknowledge();
  const auto status = shop.show("p-1");
  CHECK(status && status->outcome == ZKR_OUTCOME_COMMIT && status->payload == payload);
  CHECK(status->problem.empty());
  CHECK(status->timeout == 30s && status->age < 30s && status->sites.at(0).has_acknowledged);
  second.acknowledge();
  CHECK(shop.history().empty() && !shop.show("p-1"));
  shop.leave();
}

void what_a_coordinator_leaves_is_taken_over() {
  zkr::Client b(hosts());
  auto shop = b.two_phase_commit(path("left"), ZKR_COMMIT_MODE_PEER);
  shop.join("shop");
  {
    zkr::Client a(hosts());
    auto coordinator = a.two_phase_commit(path("left"));
    (void)coordinator.begin("p-1", {"shop", "bank"}, "", 60s);
    CHECK(shop.recover().empty());
    CHECK(shop.history().at(0).coordinator == ZKR_COORDINATOR_STATE_PRESENT);
    a.close();
  }
  auto taken = shop.recover();
  CHECK(taken.size() == 1 && taken[0].id() == "p-1");
  CHECK(shop.decide_abort("p-1", "nobody is there") == ZKR_OUTCOME_ABORT);
  THROWS(shop.decide_abort("p-2", ""), zkr::ErrorKind::NoNode);
  const auto status = shop.show("p-1");
  CHECK(status && status->reason == "nobody is there");
  CHECK(taken[0].outcome(20s) == ZKR_OUTCOME_ABORT);
}
