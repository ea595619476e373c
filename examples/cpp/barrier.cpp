// A gate that one process closes and opens for all.
//
//   c++ -std=c++17 -o barrier barrier.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./barrier zk1:2181,zk2:2181        or, without a server anywhere:  ./barrier embedded:

#include <iostream>
#include <thread>
#include <zkrecipes.hpp>

int main(int count, char **arguments) try {
  using namespace std::chrono_literals;

  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS
  auto maintenance = client.barrier("/examples/maintenance");
  maintenance.create();

  // Usually in another process.
  std::thread worker([&client] {
    try {
      client.barrier("/examples/maintenance").wait(60s);
      std::cout << "the worker goes on\n";
    } catch (const zkr::Error &error) {
      std::cerr << error.what() << "\n";
    }
  });

  std::cout << "nobody works on the files: now they can be moved\n";
  maintenance.remove();
  worker.join();
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
