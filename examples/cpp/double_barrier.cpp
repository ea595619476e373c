// All parties begin a step together and end it together.
//
//   c++ -std=c++17 -o double_barrier double_barrier.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./double_barrier zk1:2181,zk2:2181 3        or, alone and without a server:  ./double_barrier embedded: 1

#include <iostream>
#include <zkrecipes.hpp>

int main(int count, char **arguments) try {
  using namespace std::chrono_literals;

  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS
  auto barrier = client.double_barrier("/barriers/step", count > 2 ? std::stoul(arguments[2]) : 1);
  {
    const auto step = barrier.scope(60s);  // enters; if the work throws, the destructor waits for nobody
    std::cout << "all " << barrier.parties() << " are here\n";
  }  // leaves, and waits until all others have
  std::cout << "all are done\n";
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
