// Regions that are copied by whoever is there: start it several times, and stop one.
//
//   c++ -std=c++17 -o partitioner partitioner.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./partitioner zk1:2181,zk2:2181        or, without a server anywhere:  ./partitioner embedded:

#include <atomic>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>
#include <zkrecipes.hpp>

/** A thread for each region. */
struct Work {
  std::vector<std::thread> threads;
  std::atomic<bool> ends{false};

  ~Work() {
    ends = true;
    for (auto &thread : threads) thread.join();
  }
};

int main(int count, char **arguments) try {
  using namespace std::chrono_literals;

  zkr::Client client(count > 1 ? arguments[1] : "");  // "" takes ZKRECIPES_HOSTS
  auto regions = client.partitioner("/examples/regions", {"eu", "us", "asia"});
  Work work;

  // A service goes on until it is told to stop. This one leaves when nothing more has come for a second.
  try {
    for (;;) {
      auto won = std::make_shared<zkr::Held>(regions.next(1s));
      work.threads.emplace_back([&work, region = std::move(won)] {
        std::cout << "copying " + region->name() + " with token " + std::to_string(region->fencing_token()) +
                         "\n";
        std::atomic<bool> moves{false};
        const auto asked = region->on_revoke([&moves] { moves = true; });
        while (region->is_held() && !moves && !work.ends)
          std::this_thread::sleep_for(100ms);  // the next piece
      });                                      // and lets go of it
    }
  } catch (const zkr::Timeout &) {
  }
  regions.leave();  // asks for all of them, and waits
} catch (const zkr::Error &error) {
  std::cerr << error.code() << ": " << error.what() << "\n";
  return 1;
}
