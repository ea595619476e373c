// Follows the children of a node, over reconnections and new sessions.
//
//   c++ -std=c++17 -o watch watch.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./watch zk1:2181,zk2:2181        or, without a server anywhere:  ./watch embedded:

#include <future>
#include <iostream>
#include <zkrecipes.hpp>

int main(int count, char **arguments) try {
  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS
  auto nodes = client.nodes();
  nodes.ensure("/examples/watched");
  nodes.create("/examples/watched/guest-", "", zkr::CreateMode::EphemeralSequential);

  std::promise<std::size_t> told;
  bool is_first = true;
  // The present state first, then every later one that is the latest, until the subscription goes.
  const auto subscription =
      nodes.watch("/examples/watched", zkr::WatchKind::Children, [&](const zkr::NodeState &now) {
        if (std::exchange(is_first, false)) told.set_value(now.children ? now.children->size() : 0);
      });
  std::cout << "there are " << told.get_future().get() << " children\n";
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
