// A worker on a queue, as a coroutine: one thread, which never waits but for all events at once.
//
//   c++ -std=c++20 -o coroutine coroutine.cpp $(pkg-config --cflags --libs zkrecipes)
//   ./coroutine embedded:

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <zkrecipes_coro.hpp>

namespace coro = zkr::coro;

// Runs until its first wait, and goes on by itself. Your framework has one of its own.
struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

static Task work(zkr::Client &client, std::stop_token stop, bool &done) {
  try {
    zkr::QueueOptions options;
    options.max_attempts = 3;
    auto queue = client.queue("/queues/mail", options);
    co_await coro::put(queue, "alice@example.org");
    for (;;) {
      const zkr::Item item = co_await coro::claim(queue, zkr::forever, stop);
      std::cout << "mail to " << item.data() << std::endl;
      co_await coro::ack(item);  // destroyed without it, the item goes back
    }
  } catch (const zkr::Cancelled &) {
    std::cout << "stopped" << std::endl;
  } catch (const zkr::Error &error) {
    std::cerr << error.what() << "\n";
  }
  done = true;
}

int main(int count, char **words) try {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const int told = signalfd(-1, &signals, SFD_CLOEXEC);

  zkr::Client client(count > 1 ? words[1] : "");  // ZKRECIPES_HOSTS
  pollfd events[] = {{client.event_fd(), POLLIN, 0}, {told, POLLIN, 0}};
  std::stop_source stop;
  bool done = false;
  work(client, stop.get_token(), done);
  while (!done && poll(events, 2, -1) >= 0) {
    if (events[1].revents) {
      stop.request_stop();  // ends the wait; an item in work is done first
      events[1].fd = -1;
    }
    client.dispatch();
  }
  close(told);
} catch (const zkr::Error &error) {
  std::cerr << error.what() << "\n";
  return 1;
}
