// Take a lock, work, give it back.
//
//   c++ -std=c++17 -o lock lock.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./lock zk1:2181,zk2:2181        or, without a server anywhere:  ./lock embedded:

#include <iostream>
#include <mutex>
#include <zkrecipes.hpp>

int main(int count, char **arguments) try {
  using namespace std::chrono_literals;

  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS
  auto lock = client.lock("/locks/report");

  {
    std::lock_guard<zkr::Lock> guard(lock);  // waits; released on leaving the scope
    std::cout << "publishing with fencing token " << lock.fencing_token() << "\n";
  }

  if (std::unique_lock<zkr::Lock> guard(lock, 5s); guard) {  // waits for five seconds at most
    const auto watching = lock.on_lost([](const zkr::Error &error) { std::cerr << error.what() << "\n"; });
    std::cout << "still mine: " << std::boolalpha << lock.is_held() << "\n";
  }

  // An acquisition as a value: pass it on, keep it in a struct. Its destructor releases.
  zkr::Held held = lock.acquire(5s);
  held.verify();  // asks the server, where is_held() only looks at the clock
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
