// Work that waits: whoever crashes in the middle of an item leaves it to the next.
//
//   c++ -std=c++17 -o queue queue.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./queue zk1:2181,zk2:2181        or, without a server anywhere:  ./queue embedded:

#include <iostream>
#include <zkrecipes.hpp>

int main(int count, char **arguments) try {
  using namespace std::chrono_literals;

  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS
  zkr::QueueOptions options;
  options.max_attempts = 5;  // then it goes to the dead letters: queue.dead()
  auto mails = client.queue("/queues/mails", options);
  mails.put_with("hello", "request-1042");  // a request that is made again puts nothing twice

  auto mail = mails.claim(5s);  // given back by the destructor, if the work throws
  std::cout << "sending: " << mail.data() << "\n";
  mail.ack();  // done
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
