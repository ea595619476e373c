// Numbers every order in the whole ensemble, without a gap and without a double.
//
//   c++ -std=c++17 -o counter counter.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./counter zk1:2181,zk2:2181        or, without a server anywhere:  ./counter embedded:

#include <iostream>
#include <zkrecipes.hpp>

int main(int count, char **arguments) try {
  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS
  auto orders = client.counter("/counters/orders");
  // Exactly once, also if the connection breaks before the answer is there.
  std::cout << "this is order " << orders.add(1) << "\n";
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
