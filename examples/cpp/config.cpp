// Follows a setting that any process in the ensemble may change.
//
//   c++ -std=c++17 -o config config.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./config zk1:2181,zk2:2181        or, without a server anywhere:  ./config embedded:

#include <future>
#include <iostream>
#include <zkrecipes.hpp>

int main(int count, char **arguments) try {
  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS
  auto limit = client.config("/config/limit");
  limit.set("10");

  std::promise<std::string> told;
  bool is_first = true;
  // The present value first, then every later one that is the latest, until the subscription goes.
  const auto subscription = limit.watch([&](const std::optional<zkr::Versioned> &now) {
    if (std::exchange(is_first, false)) told.set_value(now ? now->value : "not set");
  });
  std::cout << "the limit is " << told.get_future().get() << "\n";
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
