// Workers that know each other by name, and names that clients look up.
//
//   c++ -std=c++17 -o group group.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./group zk1:2181,zk2:2181        or, without a server anywhere:  ./group embedded:
//   ./group zk1:2181 list            lists who is there for ever

#include <future>
#include <iostream>
#include <zkrecipes.hpp>

int main(int count, char **arguments) try {
  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS

  // A member for as long as this object lives, whatever becomes of its connections and sessions.
  auto workers = client.group("/groups/workers");
  if (count > 2 && std::string(arguments[2]) == "list") {
    std::promise<void> over;
    const auto subscription = workers.watch(
        [](const zkr::GroupEvent &event) {
          const char *happened[] = {"is there", "joined", "left", "changed"};
          for (const auto &member : event.members) std::cout << member.first << " is there" << std::endl;
          if (!event.name.empty()) std::cout << event.name << " " << happened[event.kind] << std::endl;
        },
        [&](const zkr::Error &) { over.set_value(); });
    over.get_future().wait();
    return 0;
  }
  workers.join("worker-1", "idle");
  workers.update("busy");
  for (const auto &[name, data] : workers.members()) std::cout << name << " is " << data << "\n";

  auto services = client.names("/names/services");
  services.bind("billing", "10.0.0.7:443", true);
  if (const auto address = services.lookup("billing")) std::cout << "billing is at " << *address << "\n";
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
