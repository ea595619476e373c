"""Servers to meet on, and the owners that meet: ours, Curator's, kazoo's, ZooKeeper's in Java and in C.

An owner is one session. All of them understand the same few words, `acquire KIND PATH`, `release KIND PATH`, whatever
their recipes are called at home; README.md has the table. What waits is a future."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import peers
import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

sys.path.insert(0, str(peers.ROOT / "tests" / "zookeeper"))
sys.path.insert(0, str(peers.HERE / "python"))
from owner_kazoo import Kazoo, Refused
from zookeeper import Ensemble

# How long anything may take that is to happen, and for how long is watched what must not happen.
PATIENCE = 30.0
QUIET = 0.1


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


class Owner(Protocol):
    def acquire(self, kind: str, path: str, limit: float | None = None) -> Future[list[str]]: ...
    def release(self, kind: str, path: str) -> None: ...
    def close(self) -> None: ...


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

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class Contender(NamedTuple):
    """What one of our handles says of somebody on its path."""

    node: str
    kind: str
    state: str
    identity: str


class Remote:
    """An owner in a program of another language."""

    def __init__(self, program: Program, name: str, hosts: str, flavour: str, timeout: float = 15.0) -> None:
        self.name = name
        self._is_ours = flavour.startswith("our-")
        self._program = program
        self._say("connect", hosts, flavour.removeprefix("our-"), milliseconds(timeout))

    def _say(self, *words: str) -> list[str]:
        return self._program.tell(self.name, *words).result(PATIENCE)

    def acquire(self, kind: str, path: str, limit: float | None = None, permits: int = 1) -> Future[list[str]]:
        return self._program.tell(self.name, "acquire", kind, path, milliseconds(limit), str(permits))

    def release(self, kind: str, path: str) -> None:
        self._say("release", kind, path)

    def downgrade(self, path: str) -> None:
        """From writing to reading. Of ours it is one verb; whoever has none takes read, and then releases write."""
        if self._is_ours:
            self._say("downgrade", path)
        else:
            self.acquire("read", path).result(PATIENCE)
            self.release("write", path)

    def revoke(self, kind: str, path: str, node: str = "-", patience: float | None = None) -> bool:
        """Asks the owner of the node, or whoever holds, to let go; the answer is for ours only."""
        return self._say("revoke", kind, path, node, milliseconds(patience)) == ["true"]

    def asked(self, path: str) -> threading.Event:
        """Set when somebody has asked this owner to let go of the path."""
        return self.told("revoked", path)

    def contenders(self, kind: str, path: str) -> list[Contender]:
        return [Contender(*word.split("|")) for word in self._say("contenders", kind, path)]

    def candidates(self, kind: str, path: str) -> list[str]:
        """Who stands in an election, the leader with a star."""
        return self._say("candidates", kind, path)

    def leader(self, kind: str, path: str) -> list[str]:
        """Identity and stage, as one of ours sees it; nothing while nobody leads."""
        return self._say("leader", kind, path)

    def acknowledge(self, kind: str, path: str) -> None:
        self._say("acknowledge", kind, path)

    def add(self, kind: str, path: str, n: int) -> int:
        return int(self._say("add", kind, path, str(n))[0])

    def join(self, kind: str, path: str, name: str, *data: str) -> None:
        self._say("join", kind, path, name, *data)

    def update(self, kind: str, path: str, data: str) -> None:
        self._say("update", kind, path, data)

    def leave(self, kind: str, path: str) -> Future[list[str]]:
        return self._program.tell(self.name, "leave", kind, path)

    def members(self, kind: str, path: str) -> list[str]:
        """`NAME=DATA` each, sorted."""
        return sorted(self._say("members", kind, path))

    def follow(self, kind: str, path: str) -> list[str]:
        """The members now; `told` knows of what comes later."""
        return self._say("follow", kind, path)

    def register(self, kind: str, path: str, name: str, *words: str) -> None:
        """An instance of a service: ID ADDRESS PORT PAYLOAD."""
        self._say("register", kind, path, name, *words)

    def unregister(self, kind: str, path: str, name: str, id_: str) -> None:
        self._say("unregister", kind, path, name, id_)

    def instances(self, kind: str, path: str, name: str) -> list[str]:
        """`ID|ADDRESS|PORT|PAYLOAD|TYPE|URI|on or off` each, sorted."""
        return sorted(self._say("instances", kind, path, name))

    def services(self, kind: str, path: str) -> list[str]:
        return sorted(self._say("services", kind, path, "-"))

    def pick(self, kind: str, path: str, name: str) -> str:
        """The id of one that may be picked, or `none`."""
        return self._say("pick", kind, path, name)[0]

    def create(self, path: str) -> None:
        """Puts a barrier up."""
        self._say("create", "barrier", path)

    def remove(self, path: str) -> None:
        self._say("remove", "barrier", path)

    def wait(self, path: str, limit: float | None = None) -> Future[list[str]]:
        return self._program.tell(self.name, "wait", "barrier", path, milliseconds(limit))

    def enter(self, kind: str, path: str, limit: float | None = None) -> Future[list[str]]:
        return self._program.tell(self.name, "enter", kind, path, milliseconds(limit))

    def put(self, kind: str, path: str, item: str, *rank: int) -> None:
        """The rank is the priority, or the delay in milliseconds."""
        self._say("put", kind, path, item, *map(str, rank))

    def put_together(self, path: str, *items: str) -> None:
        """Several items in one node, which is Curator's alone."""
        self._say("put-together", "queue:distributed", path, *items)

    def take(self, kind: str, path: str, limit: float | None = None) -> Future[list[str]]:
        return self._program.tell(self.name, "take", kind, path, milliseconds(limit))

    def claim(self, kind: str, path: str) -> Future[list[str]]:
        return self._program.tell(self.name, "claim", kind, path, "-")

    def ack(self, kind: str, path: str) -> None:
        self._say("ack", kind, path)

    def nack(self, kind: str, path: str) -> None:
        self._say("nack", kind, path)

    def told(self, *words: str) -> threading.Event:
        """Set when this owner has been told that."""
        return self._program.event(self.name, *words)

    def resize(self, kind: str, path: str, permits: int) -> None:
        self._say("resize", kind, path, str(permits))

    def close(self) -> None:
        self._say("close")


class Doomed(Remote):
    """An owner alone in its program, which can be killed, with a session that does not outlive it for long."""

    def __init__(self, flavour: str, name: str, hosts: str) -> None:
        self._own = Program(peers.owners(language(flavour)))
        super().__init__(self._own, name, hosts, flavour, timeout=2.0)

    def close(self) -> None:
        self._own.kill()


def milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else str(int(seconds * 1000))


def language(flavour: str) -> str:
    """The language of the program whose owners have that flavour."""
    if flavour.startswith("our-"):
        return "rust"
    if flavour.startswith("kazoo"):
        return "python"
    return "c" if flavour == "zookeeper-c" else "java"


class Stage:
    """One test's world: a path of its own, owners as it asks for them, and an eye on the nodes."""

    def __init__(self, hosts: str, observer: KazooClient, path: str, program: Callable[[str], Program]) -> None:
        self.hosts = hosts
        self.path = path
        self.observer = observer
        self._program = program
        self._owners: list[Owner] = []
        self._names = itertools.count(1)

    def owner(self, flavour: str) -> Any:
        """One of `our-NAMING`, `curator`, `kazoo`, `kazoo-honouring-curator`, `kazoo-named-as-curator`,
        `zookeeper-java` and `zookeeper-c`."""
        if language(flavour) == "python":
            return self._keep(Kazoo(self._name(), self.hosts, flavour))
        return self._keep(Remote(self._program(language(flavour)), self._name(), self.hosts, flavour))

    def doomed(self, flavour: str) -> Doomed:
        """An owner whose end comes without a word."""
        return self._keep(Doomed(flavour, self._name(), self.hosts))

    def _name(self) -> str:
        return f"{self.path.strip('/')}-{next(self._names)}"

    def _keep(self, owner: Any) -> Any:
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
            try:
                names = self.observer.get_children(path, watch=notice) if stands else []
            except NoNodeError:
                continue
            if enough(names):
                return names
            assert changed.wait(PATIENCE), f"{path} has {names}, not {what}"

    def close(self) -> None:
        for owner in self._owners:
            owner.close()


def until(condition: Callable[[], bool], what: str) -> None:
    """Waits for what nobody tells of: asks, and asks again."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"this did not come true: {what}"
        time.sleep(0.02)


def refuses(pending: Future[list[str]], word: str) -> None:
    with pytest.raises(Refused, match=word):
        gets(pending)


def waits(pending: Future[list[str]]) -> None:
    """That it does not get what it waits for: time is the subject here."""
    done, _ = wait_for([pending], timeout=QUIET)
    assert not done, f"got in: {pending.exception() or pending.result()}"


def gets(pending: Future[list[str]]) -> list[str]:
    return pending.result(PATIENCE)
