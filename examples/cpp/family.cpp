// The rest of the lock family: readers and writers, several locks as one, permits.
//
//   c++ -std=c++17 -o family family.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./family zk1:2181,zk2:2181        or, without a server anywhere:  ./family embedded:

#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <zkrecipes.hpp>

int main(int count, char **arguments) try {
  using namespace std::chrono_literals;

  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS

  auto catalogue = client.read_write_lock("/locks/catalogue");
  {
    std::unique_lock<zkr::ReadWriteLock> writing(catalogue);
    std::cout << "rebuilding the catalogue, nobody reads\n";
  }
  {
    std::shared_lock<zkr::ReadWriteLock> reading(catalogue);
    std::cout << "looking things up, others may read too\n";
  }

  auto alice = client.lock("/accounts/alice"), bob = client.lock("/accounts/bob");
  auto both = client.multi_lock({alice, bob});
  {
    std::lock_guard<zkr::MultiLock> guard(both);  // all or none, and nobody waits in a circle
    for (const auto token : both.fencing_tokens()) std::cout << "moving money with token " << token << "\n";
  }

  auto exports = client.semaphore("/limits/exports", 3);
  const zkr::Held permits = exports.acquire(2, 5s);  // given back by the destructor
  const auto asked = permits.on_revoke([] { std::cout << "somebody wants these permits\n"; });
  for (const auto &holder : exports.holders()) std::cout << "a permit is with " << holder.identity << "\n";
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
