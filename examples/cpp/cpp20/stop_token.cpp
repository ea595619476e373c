// A thread that works under a lock, and stops when it is told to: while it waits for the lock, and while it
// works.
//
//   c++ -std=c++20 -o stop_token stop_token.cpp $(pkg-config --cflags --libs zkrecipes) -pthread
//   ./stop_token embedded:

#include <condition_variable>
#include <csignal>
#include <iostream>
#include <mutex>
#include <thread>
#include <zkrecipes.hpp>

static void work(zkr::Client &client, std::stop_token stop) try {
  auto lock = client.lock("/locks/report");
  const zkr::Held held = lock.acquire(zkr::forever, stop);  // throws Cancelled when a stop is requested

  // Lost or told to stop: either ends the work.
  std::stop_source over;
  const std::stop_callback told(stop, [&] { over.request_stop(); });
  const auto lost = held.on_lost([&](const zkr::Error &error) {
    std::cerr << error.what() << "\n";
    over.request_stop();
  });

  std::cout << "working, with token " << held.fencing_token() << std::endl;
  std::mutex mutex;
  std::condition_variable_any pause;
  for (std::unique_lock guard(mutex); !over.stop_requested();)
    pause.wait_for(guard, over.get_token(), std::chrono::milliseconds(100), [] { return false; });  // a step
  std::cout << "stopped" << std::endl;
} catch (const zkr::Cancelled &) {
  std::cout << "stopped before it began" << std::endl;
} catch (const zkr::Error &error) {
  std::cerr << error.what() << "\n";
}

int main(int count, char **words) try {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before anything starts a thread

  zkr::Client client(count > 1 ? words[1] : "");  // ZKRECIPES_HOSTS
  std::jthread worker([&](std::stop_token stop) { work(client, stop); });
  int number = 0;
  sigwait(&signals, &number);
  worker.request_stop();
} catch (const zkr::Error &error) {
  std::cerr << error.what() << "\n";
  return 1;
}
