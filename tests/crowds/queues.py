#!/usr/bin/env python3
"""Very many items through one queue on real ZooKeeper: producers and consumers in four languages, and consumers that
are killed at any moment and begin again.

With `claim` every item is acknowledged exactly once: each acknowledgement also writes a node that counts them, so the
server itself says how many were applied. With `get` none is delivered twice, and only what a consumer had in its hands
when it was killed is missing. One consumer gets the items of each producer in their order. Neither the server nor a
worker grows with the number of items."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import socketserver
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from elections import PATIENCE, ROOT, Listener, peers, until
from kazoo.client import KazooClient
from zookeeper import Ensemble, Node

HERE = Path(__file__).resolve().parent
SESSION = 6.0
# What one queue may hold; producers wait for room.
BOUND = 1000
PRODUCERS = ["rust", "c", "python", "node"]
CONSUMERS = ["rust", "c", "python", "node", "rust", "c", "asyncio", "node"]
# How many calls of one consumer are under way.
CALLS = 4
# In seconds, between two lines that say how far it is.
REPORT = 60.0
# In KiB: a server and its virtual machine, and one worker.
MOST_SERVER = 600 * 1024
MOST_WORKER = 300 * 1024


def worker(language: str) -> list[str]:
    return {
        "rust": [str(peers.RUST / "queue-worker")],
        "c": [str(peers.BUILT / "c-queue-worker")],
        "python": [sys.executable, str(HERE / "queue" / "worker.py")],
        "asyncio": [sys.executable, str(HERE / "queue" / "worker_aio.py")],
        "node": ["node", str(HERE / "queue" / "worker.mjs")],
    }[language]


class Register(Listener):
    """Who is told the number of each item that somebody got, or whose acknowledgement was answered."""

    def __init__(self, items: int, share: int, *, in_order: bool) -> None:
        super().__init__(Visit)
        self._lock = threading.Lock()
        self._times = bytearray(items)
        self._share = share
        self._in_order = in_order
        self._latest: dict[int, int] = {}
        self.told = 0
        # How often a consumer could not know what became of an item.
        self.doubts = 0

    @property
    def missing(self) -> int:
        return self._times.count(0)

    def tell(self, number: int) -> None:
        with self._lock:
            self.told += 1
            self._times[number] += 1
            if self._times[number] > 1:
                self.mistakes.append(f"item {number} came {self._times[number]} times")
            producer = number // self._share
            if self._in_order and self._latest.get(producer, -1) > number:
                self.mistakes.append(f"item {number} came behind {self._latest[producer]}")
            self._latest[producer] = number


class Visit(socketserver.StreamRequestHandler):
    server: Register

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            for line in self.rfile:
                if line == b"?\n":
                    self.server.doubts += 1
                # What a killed process has left unfinished says nothing.
                elif line.endswith(b"\n"):
                    self.server.tell(int(line))


class Process:
    """One worker."""

    def __init__(self, language: str, *words: str) -> None:
        self.language = language
        environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
        self._process = subprocess.Popen([*worker(language), *words], stdin=subprocess.PIPE, env=environment)

    @property
    def pid(self) -> int:
        return self._process.pid

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self, limit: float = PATIENCE) -> int:
        """The end of its input asks a consumer to close; a producer ends when everything is put."""
        assert self._process.stdin
        self._process.stdin.close()
        try:
            return self._process.wait(limit)
        except subprocess.TimeoutExpired:
            self.kill()
            return -1


class Memory:
    """The most that the server and any worker have taken, in KiB."""

    def __init__(self) -> None:
        self.server = 0
        self.worker = 0

    def look(self, server: Node, workers: list[Process]) -> None:
        self.server = max(self.server, resident(server.pid))
        self.worker = max([self.worker, *(resident(process.pid) for process in workers)])


def resident(pid: int | None) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


class Course(NamedTuple):
    """How items are taken, and by whom."""

    role: str
    items: int
    consumers: list[str]
    calls: int
    kills: bool


class Play:
    def __init__(self, ensemble: Ensemble, course: Course, memory: Memory) -> None:
        self._ensemble = ensemble
        self._course = course
        self._memory = memory
        self._path = f"/crowds/{course.role}-{len(course.consumers)}"
        self._counters = f"{self._path}-counters"
        self._observer = KazooClient(ensemble.connect_string)
        self._observer.start(PATIENCE)
        self._observer.ensure_path(self._counters)
        self.killed = 0

    def close(self) -> None:
        self._observer.stop()
        self._observer.close()

    def _start(self, language: str, *words: str) -> Process:
        session = str(int(SESSION * 1000))
        return Process(language, self._ensemble.connect_string, self._path, session, str(BOUND), *words)

    def _consumer(self, language: str, register: Register) -> Process:
        words = [self._course.role, str(self._course.calls), str(register.port)]
        if self._course.role == "claim":
            words.append(str(self._observer.create(f"{self._counters}/of-", sequence=True)))
        return self._start(language, *words)

    def _length(self) -> int:
        stat = self._observer.exists(self._path)
        return stat.numChildren if stat else 0

    def run(self) -> tuple[list[str], str]:
        """What went wrong, and the figures."""
        share = -(-self._course.items // len(PRODUCERS))
        items = share * len(PRODUCERS)
        begun = time.monotonic()
        with Register(items, share, in_order=len(self._course.consumers) == 1) as register:
            ranges = ((str(share * at), str(share * (at + 1))) for at in range(len(PRODUCERS)))
            producers = [
                self._start(language, "put", *words) for language, words in zip(PRODUCERS, ranges, strict=True)
            ]
            consumers = [self._consumer(language, register) for language in self._course.consumers]
            try:
                problems = self._watch(register, items, producers, consumers)
                taken = time.monotonic() - begun
                problems += self._settle(register, items, producers, consumers)
            finally:
                for process in producers + consumers:
                    process.kill()
            problems += register.mistakes[:10]
            pace = f"{items} items in {taken:.1f} s, {items / taken:.0f} a second"
            figures = f"{pace}, {self.killed} consumers killed, {register.missing} untold"
            return problems, figures

    def _watch(self, register: Register, items: int, producers: list[Process], consumers: list[Process]) -> list[str]:
        """Until everything was taken: kills consumers, as long as there is something to do."""
        last, told = time.monotonic(), -1
        mischief = time.monotonic() + 1
        report = time.monotonic() + REPORT
        while not (self._length() == 0 and all(process.has_ended() for process in producers)):
            now = time.monotonic()
            if register.told != told:
                last, told = now, register.told
            if now - last > PATIENCE:
                return [f"nothing has come for {PATIENCE} s, after {told} items"]
            if now > report:
                report += REPORT
                print(f"  {register.told} of {items} so far, {self.killed} consumers killed", flush=True)
            self._memory.look(self._ensemble.nodes[0], producers + consumers)
            if ended := [process.language for process in consumers if process.has_ended()]:
                return [f"ended by themselves: {ended}"]
            if self._course.kills and now > mischief and register.told < items * 0.95:
                at = random.randrange(len(consumers))
                consumers[at].kill()
                self.killed += 1
                consumers[at] = self._consumer(consumers[at].language, register)
                mischief = time.monotonic() + random.uniform(0.25, 2.0)
            time.sleep(0.2)
        return []

    def _settle(self, register: Register, items: int, producers: list[Process], consumers: list[Process]) -> list[str]:
        statuses = [process.end() for process in producers + consumers]
        problems = [f"ended with {statuses}"] if any(statuses) else []
        # What was on its way when its consumer closed has gone back.
        left = self._length()
        # What each killed one had in its hands, and may have been unable to tell.
        most = self.killed * self._course.calls + register.doubts
        if not until(lambda: register.missing - left <= most):
            problems.append(f"{register.missing} items are missing, {left} are left, and {most} can be explained")
        if self._course.role == "claim":
            nodes = (f"{self._counters}/{name}" for name in self._observer.get_children(self._counters))
            applied = sum(self._observer.get(node)[1].version for node in nodes)
            if applied + left != items:
                problems.append(f"{applied} acknowledgements were applied, and {left} items are left of {items}")
        return problems


def tidy(node: Node, stop: threading.Event) -> None:
    """A server keeps the log of all that ever was; only the latest parts of it are of use."""
    while not stop.wait(5.0):
        logs = sorted(node.home.glob("data/version-2/log.*"), key=lambda log: int(log.suffix[1:], 16))
        for log in logs[:-3]:
            log.unlink(missing_ok=True)


def play(version: str, courses: list[Course]) -> list[str]:
    """What went wrong."""
    problems, memory, stop = [], Memory(), threading.Event()
    with Ensemble(version) as ensemble:
        tidying = threading.Thread(target=tidy, args=(ensemble.nodes[0], stop))
        tidying.start()
        try:
            for course in courses:
                crowd = Play(ensemble, course, memory)
                with contextlib.closing(crowd):
                    wrong, figures = crowd.run()
                print(f"ZooKeeper {version}, {course.role} by {len(course.consumers)}: {figures}", flush=True)
                problems += [f"{course.role} by {len(course.consumers)}: {problem}" for problem in wrong]
        finally:
            stop.set()
            tidying.join()
    print(f"at most {memory.server // 1024} MiB for the server, {memory.worker // 1024} MiB for a worker")
    if memory.server > MOST_SERVER or memory.worker > MOST_WORKER:
        problems.append("the server or a worker grows with the items")
    return problems


def build() -> None:
    peers.build_rust()
    peers.build_faces()
    peers.build_c_program(HERE / "queue" / "worker.c", peers.BUILT / "c-queue-worker")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=50_000, help="half of them claimed, half of them got")
    parser.add_argument("--version", default="3.9", help="of ZooKeeper")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--no-build", action="store_true", help="the workers are there")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    random.seed(options.seed)
    if not options.no_build:
        build()
    half = options.items // 2
    courses = [
        Course("claim", half, CONSUMERS, CALLS, kills=True),
        Course("get", half, CONSUMERS, CALLS, kills=True),
        Course("get", options.items // 10, ["rust"], 1, kills=False),
    ]
    problems = play(options.version, courses)
    for problem in problems:
        print(problem, file=sys.stderr)
    print("0 passed, 1 failed" if problems else "1 passed, 0 failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
