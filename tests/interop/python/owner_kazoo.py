"""kazoo's owners: played in the tests' own process, or in one that can be killed, by lines as README.md has them."""

from __future__ import annotations

import sys
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock

PATIENCE = 30.0


class Refused(Exception):
    """An owner could not do what it was told; the text says why."""


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

    def acquire(self, kind: str, path: str, limit: float | None = None) -> Future[list[str]]:
        return self._pool.submit(self._acquire, kind, path, limit)

    def _acquire(self, kind: str, path: str, limit: float | None) -> list[str]:
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
