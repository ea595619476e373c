// A report that is made when all parts have been imported, whoever imports them.
//
//   c++ -std=c++17 -o latch latch.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./latch zk1:2181,zk2:2181        or, without a server anywhere:  ./latch embedded:

#include <iostream>
#include <zkrecipes.hpp>

int main(int count, char **arguments) try {
  using namespace std::chrono_literals;

  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS
  auto imports = client.latch("/examples/imports", 3);
  imports.reset(3);  // it may be open from the last time

  for (const auto *part : {"north", "south", "west"})
    std::cout << part << " is in, " << imports.count_down() << " are left\n";

  imports.wait(30s);  // usually in another process
  std::cout << "all parts are in: the report can be made\n";
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
