// What is urgent comes first, and what is for later does not come before its time.
//
//   c++ -std=c++17 -o priority_queue priority_queue.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./priority_queue zk1:2181,zk2:2181        or, without a server anywhere:  ./priority_queue embedded:

#include <iostream>
#include <zkrecipes.hpp>

int main(int count, char **arguments) try {
  using namespace std::chrono_literals;

  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS
  auto calls = client.priority_queue("/examples/calls");
  calls.put("the newsletter", 10);
  calls.put("the doctor", -1);
  for (int i = 0; i < 2; i++) std::cout << calls.get(5s) << "\n";

  auto reminders = client.delay_queue("/examples/reminders");
  reminders.put("the tea is ready", 300ms);
  std::cout << reminders.get(5s) << ", 300 ms later\n";
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
