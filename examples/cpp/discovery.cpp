// Three instances of a service, and somebody who calls them in turn and leaves out the one that does not
// answer.
//
//   c++ -std=c++17 -o discovery discovery.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./discovery zk1:2181,zk2:2181        or, without a server anywhere:  ./discovery embedded:

#include <iostream>
#include <zkrecipes.hpp>

static bool call(const std::string &uri) {
  if (uri == "http://10.0.0.2:8080/hello") return false;
  std::cout << "called " << uri << "\n";
  return true;
}

int main(int count, char **arguments) try {
  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS

  auto discovery = client.discovery("/examples/services");
  for (const char *address : {"10.0.0.1", "10.0.0.2", "10.0.0.3"}) {
    zkr::Service service{"hello", address, 8080};
    service.uri_spec = "{scheme}://{address}:{port}/{name}";
    // It stays registered until it is unregistered or the client is closed.
    discovery.register_service(service);
  }

  for (int i = 0; i < 6; i++) {
    // Only the first one asks the server.
    const auto instance = discovery.pick("hello");
    if (instance && !call(*instance->uri)) {
      std::cout << instance->address << " does not answer; for a while others are picked\n";
      instance->failed();
    }
  }
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
