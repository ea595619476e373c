"""kazoo's owners: played in the tests' own process, or in one that can be killed, by lines as README.md has them."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock
from kazoo.recipe.queue import LockingQueue

PATIENCE = 30.0


class Refused(Exception):
    """An owner could not do what it was told; the text says why."""


def done(call: Callable[[], Any]) -> list[str]:
    """What a call answers is of no interest."""
    call()
    return []


def asked(call: Callable[[], Any], limit: float | None) -> Any:
    """What a call answers that does not wait, asked again and again until the limit."""
    end = None if limit is None else time.monotonic() + limit
    while (answer := call()) is None and (end is None or time.monotonic() < end):
        time.sleep(0.02)
    return answer


class Term:
    """Leading, until it is released."""

    def __init__(self) -> None:
        self.ends = threading.Event()
        self.running: threading.Thread | None = None

    def release(self) -> None:
        self.ends.set()
        self.running.join(PATIENCE)


class CuratorLock(Lock):
    """A Lock that Curator takes for one of its own, and that waits for Curator's and for kazoo's."""

    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["-lock-", "__lock__"]  # noqa: RUF012 (kazoo's own way)


# What kazoo calls the names that Curator gives to those whom it has to wait for.
HONOURED = {"lock": ["-lock-"], "read": ["__WRIT__"], "write": ["__WRIT__", "__READ__"]}


class Kazoo:
    """kazoo's recipes as they come (`kazoo`), with their own option to wait for others' names too
    (`kazoo-honouring-curator`), or its Lock under Curator's name (`kazoo-named-as-curator`)."""

    def __init__(self, name: str, hosts: str, flavour: str = "kazoo", timeout: float = 15.0) -> None:
        self.name, self._flavour = name, flavour
        self._client = KazooClient(hosts, timeout=timeout)
        self._client.start(PATIENCE)
        self._pool = ThreadPoolExecutor()
        self._held: dict[tuple[str, str], list[Any]] = {}
        self._joined: dict[str, Any] = {}
        self._queues: dict[str, Any] = {}

    def acquire(self, kind: str, path: str, limit: float | None = None) -> Future[list[str]]:
        return self._pool.submit(self._acquire, kind, path, limit)

    def _acquire(self, kind: str, path: str, limit: float | None) -> list[str]:
        if kind.startswith("election:"):
            return self._lead(kind, path)
        recipe = self._recipe(kind, path)
        try:
            acquired = recipe.acquire(blocking=limit != 0, timeout=limit or None)
        except LockTimeout:
            acquired = False
        except ValueError as problem:
            raise Refused(str(problem)) from problem
        if not acquired:
            raise Refused("TIMEOUT")
        self._held.setdefault((kind, path), []).append(recipe)
        return []

    def _lead(self, kind: str, path: str) -> list[str]:
        leads, term = threading.Event(), Term()

        def lead() -> None:
            leads.set()
            term.ends.wait()

        election = self._client.Election(path, self.name)
        term.running = threading.Thread(target=election.run, args=[lead], daemon=True)
        term.running.start()
        leads.wait()
        self._held.setdefault((kind, path), []).append(term)
        return []

    def candidates(self, kind: str, path: str) -> list[str]:
        """Who stands, the leader with a star."""
        first, *others = self._client.Election(path).contenders() or [""]
        return [f"{first}*", *others] if first else []

    def add(self, kind: str, path: str, n: int) -> int:
        counter = self._client.Counter(path)
        counter += n
        return counter.post_value

    def join(self, kind: str, path: str, name: str) -> None:
        make = {"group:party": self._client.Party, "group:shallow_party": self._client.ShallowParty}[kind]
        self._joined[path] = make(path, name)
        self._joined[path].join()

    def members(self, kind: str, path: str) -> list[str]:
        return sorted(f"{name}=" for name in self._joined[path])

    def create(self, path: str) -> None:
        self._client.Barrier(path).create()

    def remove(self, path: str) -> None:
        self._client.Barrier(path).remove()

    def wait(self, path: str, limit: float | None = None) -> Future[list[str]]:
        return self._pool.submit(self._wait, path, limit)

    def _wait(self, path: str, limit: float | None) -> list[str]:
        if not self._client.Barrier(path).wait(limit):
            raise Refused("TIMEOUT")
        return []

    def enter(self, kind: str, path: str, limit: float | None = None) -> Future[list[str]]:
        """kazoo's waits for ever, whatever the limit."""
        self._joined[path] = self._client.DoubleBarrier(path, int(kind.removeprefix("double:")), self.name)
        return self._pool.submit(done, self._joined[path].enter)

    def leave(self, kind: str, path: str) -> Future[list[str]]:
        """A group or a double barrier."""
        return self._pool.submit(done, self._joined[path].leave)

    def put(self, kind: str, path: str, item: str, *rank: int) -> None:
        self._queue(kind, path).put(item.encode(), *rank)

    def take(self, kind: str, path: str, limit: float | None = None) -> Future[list[str]]:
        return self._pool.submit(self._take, self._queue(kind, path), limit)

    def claim(self, kind: str, path: str) -> Future[list[str]]:
        return self._pool.submit(lambda: [self._queue(kind, path).get().decode()])

    def ack(self, kind: str, path: str) -> None:
        assert self._queue(kind, path).consume()

    def nack(self, kind: str, path: str) -> None:
        assert self._queue(kind, path).release()

    def _take(self, queue: Any, limit: float | None) -> list[str]:
        if isinstance(queue, LockingQueue):
            item = queue.get(limit)
            if item is not None and not queue.consume():
                raise Refused("what it had taken was not its own")
        else:
            item = asked(queue.get, limit)
        if item is None:
            raise Refused("TIMEOUT")
        return [item.decode()]

    def _queue(self, kind: str, path: str) -> Any:
        make = {"queue:locking": self._client.LockingQueue}.get(kind, self._client.Queue)
        return self._queues.setdefault(path, make(path))

    def _recipe(self, kind: str, path: str) -> Any:
        if kind.startswith("semaphore:"):
            return self._client.Semaphore(path, self.name, max_leases=int(kind.removeprefix("semaphore:")))
        if self._flavour == "kazoo-named-as-curator":
            return CuratorLock(self._client, path, self.name)
        make = {"lock": self._client.Lock, "read": self._client.ReadLock, "write": self._client.WriteLock}[kind]
        honours = HONOURED[kind] if self._flavour == "kazoo-honouring-curator" else ()
        return make(path, self.name, extra_lock_patterns=honours)

    def release(self, kind: str, path: str) -> None:
        self._held[kind, path].pop().release()

    def holders(self, path: str, permits: int) -> list[str]:
        """Who holds a semaphore's permits, as kazoo sees it."""
        return self._client.Semaphore(path, max_leases=permits).lease_holders()

    def close(self) -> None:
        self._client.stop()
        self._client.close()
        self._pool.shutdown(wait=False)


def main() -> None:
    owners: dict[str, Kazoo] = {}

    def answer(number: str, done: Future[list[str]]) -> None:
        problem = done.exception()
        print(number, *(["error", problem] if problem else ["ok"]), flush=True)

    for line in sys.stdin:
        number, name, verb, *rest = line.split()
        if verb == "connect":
            hosts, flavour, timeout = rest
            owners[name] = Kazoo(name, hosts, flavour, int(timeout) / 1000)
            print(number, "ok", flush=True)
        elif verb == "acquire":
            kind, path, limit, _ = rest
            pending = owners[name].acquire(kind, path, None if limit == "-" else int(limit) / 1000)
            pending.add_done_callback(lambda done, number=number: answer(number, done))
        else:
            print(number, f"error {verb} is no verb here", flush=True)


if __name__ == "__main__":
    main()
