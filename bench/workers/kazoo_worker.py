"""kazoo: kazoo_worker.py HOSTS SESSION_MS."""

from __future__ import annotations

import logging
import sys
import threading
import time

begun = time.monotonic_ns()
from kazoo.client import KazooClient  # noqa: E402

imported = time.monotonic_ns() - begun

import kazoo.version  # noqa: E402
from line import Order, listed, now, serve, together  # noqa: E402

ITEM = b"x" * 100

logging.disable(logging.ERROR)


class Worker:
    def __init__(self, hosts: str, session_ms: str) -> None:
        self.hosts, self.timeout = hosts, int(session_ms) / 1000
        self.clients: list[KazooClient] = []
        (self.client,) = self.sessions(1)
        self.waiters: list[threading.Thread] = []
        self.stamps: list[int] = []
        self.fleeting: list[KazooClient] = []
        self.holding: list[KazooClient] = []
        self.waiting: list[threading.Thread] = []
        self.observer = Observer([], [], [])

    def connect(self) -> KazooClient:
        client = KazooClient(self.hosts, timeout=self.timeout)
        client.start(timeout=60)
        return client

    def sessions(self, count: int) -> list[KazooClient]:
        while len(self.clients) < count:
            self.clients.append(self.connect())
        return self.clients[:count]

    def lock(self, order: Order) -> str:
        lock = self.client.Lock(order.path, "bench")
        acquire, both = [], []
        for _ in range(order.number("ops")):
            begun = now()
            lock.acquire()
            acquire.append(now() - begun)
            lock.release()
            both.append(now() - begun)
        return listed(acquire=acquire, both=both)

    def disjoint(self, order: Order) -> str:
        paths, pairs = order.number("paths"), order.number("ops")

        def caller(number: int) -> None:
            lock = self.client.Lock(f"{order.path}/{number}", "bench")
            for _ in range(pairs // paths):
                lock.acquire()
                lock.release()

        return f"took={together(paths, caller)}"

    def hold(self, order: Order) -> str:
        self.held = self.client.Lock(order.path, "bench")
        self.held.acquire()
        return ""

    def drop(self, order: Order) -> str:
        begun = now()
        self.held.release()
        return f"at={begun}"

    def queue(self, order: Order) -> str:
        def waiter() -> None:
            lock = self.client.Lock(order.path, "bench")
            for _ in range(order.number("times")):
                lock.acquire()
                self.stamps.append(now())
                lock.release()

        threading.stack_size(256 * 1024)
        for _ in range(order.number("waiters")):
            thread = threading.Thread(target=waiter, daemon=True)
            thread.start()
            self.waiters.append(thread)
        return ""

    def finish(self, order: Order) -> str:
        for waiter in self.waiters:
            waiter.join()
        stamps, self.waiters, self.stamps = self.stamps, [], []
        return listed(at=stamps)

    def readwrite(self, order: Order) -> str:
        callers, ops, every = (order.number(name) for name in ("callers", "ops", "every"))

        def caller(_: int) -> None:
            for number in range(1, ops // callers + 1):
                make = self.client.WriteLock if number % every == 0 else self.client.ReadLock
                with make(order.path, "bench"):
                    pass

        return f"took={together(callers, caller)}"

    def semaphore(self, order: Order) -> str:
        callers, ops, permits = (order.number(name) for name in ("callers", "ops", "permits"))

        def caller(_: int) -> None:
            semaphore = self.client.Semaphore(order.path, "bench", permits)
            for _ in range(ops // callers):
                with semaphore:
                    pass

        return f"took={together(callers, caller)}"

    def stand(self, order: Order) -> str:
        self.over = threading.Event()
        self.leads = threading.Event()

        def lead() -> None:
            self.led_at = now()
            self.leads.set()
            self.over.wait()

        election = self.client.Election(order.path, "bench")
        self.candidate = threading.Thread(target=election.run, args=(lead,), daemon=True)
        self.candidate.start()
        return ""

    def elected(self, order: Order) -> str:
        self.leads.wait()
        return f"at={self.led_at}"

    def resign(self, order: Order) -> str:
        begun = now()
        self.over.set()
        self.candidate.join()
        return f"at={begun}"

    def put(self, order: Order) -> str | None:
        if order.number("calls") > 1:
            return None
        clients, ops = self.sessions(order.number("clients")), order.number("ops")

        def caller(number: int) -> None:
            queue = clients[number].Queue(order.path)
            for _ in range(ops // len(clients)):
                queue.put(ITEM)

        return f"took={together(len(clients), caller)}"

    def get(self, order: Order) -> str | None:
        return self.take(order, "Queue")

    def claim(self, order: Order) -> str | None:
        return self.take(order, "LockingQueue")

    def take(self, order: Order, kind: str) -> str | None:
        """As many threads as there are clients: calls of one client do not go together."""
        if order.number("calls") > 1:
            return None
        clients, ops = self.sessions(order.number("clients")), order.number("ops")

        def caller(number: int) -> None:
            queue = getattr(clients[number], kind)(order.path)
            for _ in range(ops // len(clients)):
                queue.get()
                if kind == "LockingQueue":
                    queue.consume()

        return f"took={together(len(clients), caller)}"

    def barrier(self, order: Order) -> str:
        count = order.number("members")
        # One of kazoo's is for one round.
        barriers = [client.DoubleBarrier(order.path, count) for client in self.sessions(count)]
        enter = together(count, lambda number: barriers[number].enter())
        leave = together(count, lambda number: barriers[number].leave())
        return f"enter={enter} leave={leave}"

    def counter(self, order: Order) -> str:
        counter = self.client.Counter(order.path)
        both = []
        for _ in range(order.number("ops")):
            begun = now()
            counter += 1
            both.append(now() - begun)
        return listed(both=both)

    def watch(self, order: Order) -> str:
        writer, reader = self.sessions(2)
        writer.ensure_path(order.path)
        told, expected, at = threading.Event(), b"", 0

        @reader.DataWatch(order.path)
        def follow(data: bytes | None, _: object) -> None:
            nonlocal at
            if data == expected:
                at = now()
                told.set()

        both = []
        for number in range(order.number("ops")):
            told.clear()
            expected = b"%d-%d" % (number, now())
            begun = now()
            writer.set(order.path, expected)
            told.wait()
            both.append(at - begun)
        return listed(both=both)

    def fleet(self, order: Order) -> str | None:
        state = order.text("state")
        if state == "shared":
            return None
        for number in range(order.number("clients")):
            client = self.connect()
            self.fleeting.append(client)
            does, at = role(state, number)
            lock = client.Lock(f"{order.path}/{at}", "bench")
            if does == "hold":
                lock.acquire()
                self.holding.append(client)
            elif does == "wait":
                thread = threading.Thread(target=waits, args=(lock,), daemon=True)
                thread.start()
                self.waiting.append(thread)
        return ""

    def observe(self, order: Order) -> str:
        self.observer = Observer(self.fleeting, self.holding, self.waiting)
        return ""

    def observed(self, order: Order) -> str:
        return self.observer.told()

    def disband(self, order: Order) -> str:
        self.observer.over.set()
        self.holding, self.waiting = [], []
        fleet, self.fleeting = self.fleeting, []
        together(32, lambda number: [client.stop() for client in fleet[number::32]] and None)
        return ""


def role(state: str, number: int) -> tuple[str, int]:
    """What one of a fleet does, and at which lock; the Rust worker says what that is."""
    if state == "mixed":
        return {0: ("hold", number // 10), 1: ("wait", number // 100)}.get(number % 10, ("idle", number))
    if state == "wait":
        return ("wait" if number % 2 else "hold"), number // 2
    return state, number


class Observer:
    """What the clients of a fleet say of themselves, all the time. Who is not connected is not certain of a lock."""

    def __init__(self, clients: list[KazooClient], holding: list[KazooClient], waiting: list[threading.Thread]) -> None:
        self.clients, self.waiting = clients, waiting
        self.sessions = {client: client.client_id[0] for client in holding}
        self.uncertain_since: dict[KazooClient, int] = {}
        self.gap, self.well = 0, 0
        self.over = threading.Event()
        self.guard = threading.Lock()
        if clients:
            threading.Thread(target=self.looks, daemon=True).start()

    def looks(self) -> None:
        while not self.over.wait(0.01):
            self.look()

    def look(self) -> None:
        with self.guard:
            at, is_well = now(), True
            for client in self.clients:
                is_certain = client.state == "CONNECTED"
                is_well = is_well and is_certain
                if client not in self.sessions:
                    continue
                if not is_certain:
                    self.uncertain_since.setdefault(client, at)
                if client in self.uncertain_since:
                    self.gap = max(self.gap, at - self.uncertain_since[client])
                if is_certain:
                    self.uncertain_since.pop(client, None)
            self.well = (self.well or at) if is_well else 0

    def told(self) -> str:
        self.look()
        lost = sum(client.client_id is None or client.client_id[0] != one for client, one in self.sessions.items())
        ended = sum(not thread.is_alive() for thread in self.waiting)
        return f"well={self.well} gap={self.gap} lost={lost} ended={ended}"


def waits(lock: object) -> None:
    try:
        lock.acquire()
    except Exception:
        # Its client was closed.
        return


if __name__ == "__main__":
    serve(Worker(*sys.argv[1:]), f"version={kazoo.version.__version__} import={imported}")
