"""zkrecipes in Python: ours.py HOSTS SESSION_MS."""

from __future__ import annotations

import sys
import threading
import time

begun = time.monotonic_ns()
import zkrecipes  # noqa: E402

imported = time.monotonic_ns() - begun

from line import Order, listed, now, serve, together  # noqa: E402


class Worker:
    def __init__(self, hosts: str, session_ms: str) -> None:
        self.client = zkrecipes.Client(hosts, session_timeout=int(session_ms) / 1000)
        self.waiters: list[threading.Thread] = []
        self.stamps: list[int] = []

    def lock(self, order: Order, wait: bool = True) -> str:
        lock = self.client.lock(order.path)
        acquire, both = [], []
        for _ in range(order.number("ops")):
            begun = now()
            held = lock.acquire()
            acquire.append(now() - begun)
            held.release(wait=wait)
            both.append(now() - begun)
        return listed(acquire=acquire, both=both)

    def background(self, order: Order) -> str:
        return self.lock(order, wait=False)

    def disjoint(self, order: Order) -> str:
        paths, pairs = order.number("paths"), order.number("ops")

        def caller(number: int) -> None:
            lock = self.client.lock(f"{order.path}/{number}")
            for _ in range(pairs // paths):
                lock.acquire().release()

        return f"took={together(paths, caller)}"

    def hold(self, order: Order) -> str:
        self.held = self.client.lock(order.path).acquire()
        return ""

    def drop(self, order: Order) -> str:
        begun = now()
        self.held.release(wait=False)
        return f"at={begun}"

    def queue(self, order: Order) -> str:
        def waiter() -> None:
            lock = self.client.lock(order.path)
            for _ in range(order.number("times")):
                held = lock.acquire()
                self.stamps.append(now())
                held.release()

        threading.stack_size(1024 * 1024)
        for _ in range(order.number("waiters")):
            thread = threading.Thread(target=waiter)
            thread.start()
            self.waiters.append(thread)
        return ""

    def finish(self, order: Order) -> str:
        for waiter in self.waiters:
            waiter.join()
        stamps, self.waiters, self.stamps = self.stamps, [], []
        return listed(at=stamps)

    def counter(self, order: Order) -> str:
        counter = self.client.counter(order.path)
        both = []
        for _ in range(order.number("ops")):
            begun = now()
            counter.add(1)
            both.append(now() - begun)
        return listed(both=both)


if __name__ == "__main__":
    serve(Worker(*sys.argv[1:]), f"version={zkrecipes.version()} import={imported}")
