"""Servers to meet on, and the owners that meet: ours, Curator's, kazoo's, ZooKeeper's in Java and in C.

An owner is one session. All of them understand the same few words, `acquire KIND PATH`, `release KIND PATH`, whatever
their recipes are called at home; README.md has the table. What waits is a future."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from pathlib import Path
from typing import Any, Protocol

import peers
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout, NoNodeError

sys.path.insert(0, str(peers.ROOT / "tests" / "zookeeper"))
from zookeeper import Ensemble

# How long anything may take that is to happen, and for how long is watched what must not happen.
PATIENCE = 30.0
QUIET = 0.2


@contextlib.contextmanager
def serving(server: str) -> Iterator[str]:
    """A server of that kind, by its connect string."""
    if server != "embedded":
        with Ensemble(server.removeprefix("zookeeper-")) as ensemble:
            yield ensemble.connect_string
        return
    settings = ["--port", "0", "--tick", "300", "--max-timeout", "60000", "--extended-types", "--quiet"]
    command = [peers.RUST / "zkrecipes-server", *settings]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().removeprefix("listening on ").strip()
        finally:
            process.terminate()


class Refused(Exception):
    """An owner could not do what it was told; the text says why."""


class Owner(Protocol):
    def acquire(self, kind: str, path: str, limit: float | None = None) -> Future[list[str]]: ...
    def release(self, kind: str, path: str) -> None: ...
    def revoke(self, path: str, node: str) -> None: ...
    def close(self) -> None: ...
    def asked(self, path: str) -> threading.Event:
        """Set when somebody has asked this owner to let go of the path."""
        ...


class Program:
    """A process that plays owners, by line."""

    def __init__(self, command: list[str | Path]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._numbers = itertools.count(1)
        self._writing = threading.Lock()
        self._answers: dict[str, Future[list[str]]] = {}
        self._events: dict[tuple[str, ...], threading.Event] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def tell(self, owner: str, *words: str) -> Future[list[str]]:
        answer: Future[list[str]] = Future()
        with self._writing:
            number = str(next(self._numbers))
            self._answers[number] = answer
            try:
                print(number, owner, *words, file=self._process.stdin, flush=True)
            except BrokenPipeError:
                answer.set_exception(Refused("the program has ended"))
        return answer

    def event(self, *words: str) -> threading.Event:
        return self._events.setdefault(words, threading.Event())

    def _read(self) -> None:
        for line in self._process.stdout:
            number, *words = line.split()
            if number == "event":
                self.event(*words).set()
            elif words[0] == "ok":
                self._answers.pop(number).set_result(words[1:])
            else:
                self._answers.pop(number).set_exception(Refused(" ".join(words[1:])))
        for answer in self._answers.values():
            answer.set_exception(Refused("the program has ended"))

    def end(self) -> None:
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()


class Remote:
    """An owner in a program of another language."""

    def __init__(self, program: Program, name: str, hosts: str, flavour: str) -> None:
        self._program, self._name = program, name
        program.tell(name, "connect", hosts, flavour).result(PATIENCE)

    def acquire(self, kind: str, path: str, limit: float | None = None) -> Future[list[str]]:
        rest = [] if limit is None else [str(int(limit * 1000))]
        return self._program.tell(self._name, "acquire", kind, path, *rest)

    def release(self, kind: str, path: str) -> None:
        self._program.tell(self._name, "release", kind, path).result(PATIENCE)

    def revoke(self, path: str, node: str) -> None:
        self._program.tell(self._name, "revoke", path, node).result(PATIENCE)

    def asked(self, path: str) -> threading.Event:
        return self._program.event(self._name, "revoked", path)

    def close(self) -> None:
        self._program.tell(self._name, "close").result(PATIENCE)


class Kazoo:
    """kazoo's recipes as they come; with `honours`, their documented way to wait for others' names too."""

    def __init__(self, hosts: str, honours: tuple[str, ...] = ()) -> None:
        self._client = KazooClient(hosts, timeout=15)
        self._client.start(PATIENCE)
        self._honours = honours
        self._pool = ThreadPoolExecutor()
        self._held: dict[tuple[str, str], list[Any]] = {}

    def acquire(self, kind: str, path: str, limit: float | None = None) -> Future[list[str]]:
        return self._pool.submit(self._acquire, kind, path, limit)

    def _acquire(self, kind: str, path: str, limit: float | None) -> list[str]:
        make = {"lock": self._client.Lock, "read": self._client.ReadLock, "write": self._client.WriteLock}[kind]
        lock = make(path, extra_lock_patterns=self._honours)
        try:
            acquired = lock.acquire(timeout=limit)
        except LockTimeout:
            acquired = False
        if not acquired:
            raise Refused("TIMEOUT")
        self._held.setdefault((kind, path), []).append(lock)
        return [f"{path}/{lock.node}"]

    def release(self, kind: str, path: str) -> None:
        self._held[kind, path].pop().release()

    def revoke(self, path: str, node: str) -> None:
        raise Refused("kazoo cannot revoke")

    def asked(self, path: str) -> threading.Event:
        raise Refused("kazoo cannot be asked")

    def close(self) -> None:
        self._client.stop()
        self._client.close()
        self._pool.shutdown(wait=False)


class Stage:
    """One test's world: a path of its own, owners as it asks for them, and an eye on the nodes."""

    def __init__(self, hosts: str, observer: KazooClient, path: str, program: Callable[[str], Program]) -> None:
        self.hosts = hosts
        self.path = path
        self.observer = observer
        self._program = program
        self._owners: list[Owner] = []
        self._names = itertools.count(1)

    def owner(self, flavour: str) -> Owner:
        """`curator`, `kazoo`, `kazoo-honouring-curator`, `zookeeper-java`, `zookeeper-c`, or ours: `our-NAMING`."""
        name = f"{self.path.strip('/')}-{next(self._names)}"
        owner: Owner
        if flavour == "kazoo":
            owner = Kazoo(self.hosts)
        elif flavour == "kazoo-honouring-curator":
            owner = Kazoo(self.hosts, honours=("-lock-",))
        elif flavour.startswith("our-"):
            owner = Remote(self._program("rust"), name, self.hosts, flavour.removeprefix("our-"))
        elif flavour == "zookeeper-c":
            owner = Remote(self._program("c"), name, self.hosts, flavour)
        else:
            owner = Remote(self._program("java"), name, self.hosts, flavour)
        self._owners.append(owner)
        return owner

    def children(self, below: str = "") -> list[str]:
        try:
            return self.observer.get_children(self.path + below)
        except NoNodeError:
            return []

    def until_children(self, count: int, below: str = "") -> list[str]:
        """Waits until that many nodes stand below the path."""
        return self._until(lambda names: len(names) == count, f"{count} nodes", below)

    def queue(self, owner: Owner, kind: str, below: str = "", limit: float | None = None) -> Future[list[str]]:
        """Begins to acquire, and returns when a new node stands: others may still be on their way out."""
        before = set(self.children(below))
        pending = owner.acquire(kind, self.path, limit)
        self._until(lambda names: bool(set(names) - before), "a new node", below)
        return pending

    def _until(self, enough: Callable[[list[str]], bool], what: str, below: str) -> list[str]:
        path = self.path + below
        while True:
            changed = threading.Event()

            def notice(_: object, changed: threading.Event = changed) -> None:
                changed.set()

            stands = self.observer.exists(path, watch=notice)
            names = self.observer.get_children(path, watch=notice) if stands else []
            if enough(names):
                return names
            assert changed.wait(PATIENCE), f"{path} has {names}, not {what}"

    def close(self) -> None:
        for owner in self._owners:
            owner.close()


def waits(pending: Future[list[str]]) -> None:
    """That it does not get what it waits for: time is the subject here."""
    done, _ = wait_for([pending], timeout=QUIET)
    assert not done, f"got in: {pending.exception() or pending.result()}"


def gets(pending: Future[list[str]]) -> list[str]:
    return pending.result(PATIENCE)
