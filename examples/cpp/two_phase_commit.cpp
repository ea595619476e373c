// Two sites pay together or not at all.
//
//   c++ -std=c++17 -o two_phase_commit two_phase_commit.cpp $(pkg-config --cflags --libs zkrecipes) -pthread
//   ./two_phase_commit zk1:2181,zk2:2181        or, without a server:  ./two_phase_commit embedded:

#include <future>
#include <iostream>
#include <zkrecipes.hpp>

using namespace std::chrono_literals;

static zkr::Decision site(zkr::Client &client, const std::string &name) {
  auto payments = client.two_phase_commit("/examples/payments");
  payments.join(name);  // after a restart, pending() tells what this site was asked before
  auto proposal = payments.next(30s);
  // A real site first writes down, on its own disk, all that it needs to commit whatever happens.
  proposal.vote_commit();
  const zkr::Decision outcome = proposal.outcome();  // is applied here, and may be so twice
  proposal.acknowledge();
  return outcome;
}

int main(int count, char **arguments) try {
  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS

  auto bank = std::async(std::launch::async, [&] { return site(client, "bank"); });
  auto shop = std::async(std::launch::async, [&] { return site(client, "shop"); });
  auto payments = client.two_phase_commit("/examples/payments");
  auto payment = payments.begin("p-4711", {"bank", "shop"}, "100 EUR", 30s);
  std::cout << "decided: " << payment.outcome() << "\n";
  std::cout << "bank does: " << bank.get() << "\n";
  std::cout << "shop does: " << shop.get() << "\n";
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
