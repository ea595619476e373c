// What a name stands for: one process binds it, others look it up.
//
//   c++ -std=c++17 -o names names.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./names zk1:2181,zk2:2181        or, without a server anywhere:  ./names embedded:

#include <iostream>
#include <zkrecipes.hpp>

int main(int count, char **arguments) try {
  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS

  auto services = client.names("/examples/services");
  services.bind("billing", "10.0.0.7:443", true);  // for as long as this client lives, over all its sessions
  try {
    services.bind("billing", "10.0.0.8:443", true);
  } catch (const zkr::Exists &) {
    std::cout << "one binding at a time\n";
  }

  if (const auto address = services.lookup("billing")) std::cout << "billing is at " << *address << "\n";
  services.unbind("billing");
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
