// One of many processes leads; everybody can know who.
//
//   c++ -std=c++17 -o election election.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./election zk1:2181,zk2:2181        or, without a server anywhere:  ./election embedded:

#include <iostream>
#include <zkrecipes.hpp>

int main(int count, char **arguments) try {
  using namespace std::chrono_literals;

  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS
  zkr::ElectionOptions options;
  options.priority = 1;  // of all who stand the one with the highest leads
  auto election = client.election("/leader", "10.0.0.7:80", options);
  auto leadership = election.campaign(5s);  // resigned by the destructor
  const auto lost = leadership.on_lost([](const zkr::Error &) { std::cerr << "we lead no more\n"; });

  leadership.acknowledge("ready");  // whoever asks for the leader sees that it has begun its work
  if (const auto leader = election.leader())
    std::cout << leader->identity << " leads in epoch " << leader->epoch << ": " << leader->data << "\n";
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
