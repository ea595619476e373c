#!/usr/bin/env python3
"""Very many candidates in several processes and languages stand for one election on three real nodes, while processes
are killed or stopped for longer than their session lasts, and servers are restarted.

Whoever leads acts again and again: it tells the register its epoch and its name. The register stands for any resource
that checks fencing tokens: it refuses an epoch below the highest that it has seen. What it must never see is one epoch
used by two. In the end every candidate of the processes that live must lead once more, so that none is lost, and when
all have gone no node may remain."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests" / "interop"), str(ROOT / "tests" / "zookeeper")]
import peers  # noqa: E402
from kazoo.client import KazooClient  # noqa: E402
from zookeeper import Ensemble  # noqa: E402

if TYPE_CHECKING:
    from typing import Self

SESSION = 4.0
PATH = "/crowds/election"
# How long anything may take that is to happen.
PATIENCE = 60.0


def worker(language: str) -> list[str]:
    return {
        "rust": [str(peers.RUST / "election-worker")],
        "c": [str(peers.BUILT / "c-election-worker")],
        "python": [sys.executable, str(HERE / "worker.py")],
        "asyncio": [sys.executable, str(HERE / "worker_aio.py")],
        "node": ["node", str(HERE / "worker.mjs")],
    }[language]


class Listener(socketserver.ThreadingTCPServer):
    """Who is told by very many what they do, and serves until the end of a `with`."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, visit: type[socketserver.StreamRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), visit)
        self.mistakes: list[str] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Register(Listener):
    """The resource that leaders write to: a line `EPOCH NAME` is answered with `ok` or `refused`."""

    def __init__(self) -> None:
        super().__init__(Visit)
        self._changed = threading.Condition()
        self._highest = 0
        self._leaders: dict[int, str] = {}
        self._latest: dict[str, float] = {}
        self.acts = 0
        self.refused = 0

    @property
    def terms(self) -> int:
        return len(self._leaders)

    def act(self, epoch: int, name: str) -> bool:
        with self._changed:
            leader = self._leaders.setdefault(epoch, name)
            if leader != name:
                self.mistakes.append(f"{leader} and {name} both acted in epoch {epoch}")
            if epoch < self._highest:
                self.refused += 1
                return False
            self._highest = epoch
            self.acts += 1
            self._latest[name] = time.monotonic()
            self._changed.notify_all()
            return True

    def missing(self, names: set[str], since: float) -> set[str]:
        """Who of these has not led since."""
        with self._changed:
            return {name for name in names if self._latest.get(name, 0) < since}

    def until_all_led(self, names: set[str], since: float, limit: float) -> set[str]:
        end = time.monotonic() + limit
        while (missing := self.missing(names, since)) and time.monotonic() < end:
            with self._changed:
                self._changed.wait(1.0)
        return missing


class Visit(socketserver.StreamRequestHandler):
    server: Register

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            for line in self.rfile:
                epoch, name = line.decode().split()
                self.wfile.write(b"ok\n" if self.server.act(int(epoch), name) else b"refused\n")


class Candidates:
    """One process with so many candidates, called `NAME-1` and so on."""

    def __init__(self, language: str, name: str, count: int, hosts: str, register: Register) -> None:
        self.language = language
        self.name = name
        self.names = {f"{name}-{number}" for number in range(1, count + 1)}
        words = [hosts, PATH, name, str(count), str(register.port), str(int(SESSION * 1000))]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
        self.process = subprocess.Popen([*worker(language), *words], stdin=subprocess.PIPE, env=environment)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """The end of its input asks it to withdraw all candidates and to close."""
        assert self.process.stdin
        self.process.stdin.close()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            return -1


class Crowd:
    def __init__(self, ensemble: Ensemble, register: Register, languages: list[str], count: int) -> None:
        self._ensemble = ensemble
        self._register = register
        self._count = count
        self._born = 0
        self.alive = [self._start(language) for language in languages]

    def _start(self, language: str) -> Candidates:
        self._born += 1
        hosts = self._ensemble.connect_string
        return Candidates(language, f"{language}{self._born}", self._count, hosts, self._register)

    def kill_one(self) -> str:
        place = random.randrange(len(self.alive))
        victim = self.alive[place]
        victim.kill()
        self.alive[place] = self._start(victim.language)
        return f"killed {victim.name}"

    def stop_one(self) -> str:
        victim = random.choice(self.alive)
        victim.signal(signal.SIGSTOP)
        time.sleep(SESSION * random.uniform(0.5, 2.0))  # the time that it stands still is the subject
        victim.signal(signal.SIGCONT)
        return f"stopped {victim.name} for a while"

    def restart_server(self) -> str:
        node = random.choice(self._ensemble.nodes)
        node.kill()
        time.sleep(random.uniform(0.1, SESSION / 2))  # so is the time without a server
        node.start()
        return f"killed server {node.ident} and started it again"

    @property
    def names(self) -> set[str]:
        return set().union(*(candidates.names for candidates in self.alive))

    def end(self) -> dict[str, int]:
        return {candidates.name: candidates.end() for candidates in self.alive}

    def kill(self) -> None:
        for candidates in self.alive:
            candidates.kill()


def remains(hosts: str) -> list[str]:
    """What still stands below the path."""
    observer = KazooClient(hosts)
    observer.start(PATIENCE)
    try:
        return observer.get_children(PATH) if observer.exists(PATH) else []
    finally:
        observer.stop()


def until(condition: Callable[[], bool], limit: float = PATIENCE) -> bool:
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.2)
    return condition()


def play(version: str, languages: list[str], count: int, seconds: float) -> list[str]:
    """What went wrong."""
    with Ensemble(version, nodes=3) as ensemble, Register() as register:
        crowd = Crowd(ensemble, register, languages, count)
        try:
            problems = check(ensemble, register, crowd, seconds)
        finally:
            crowd.kill()
    size = f"{len(languages) * count} candidates in {len(languages)} processes"
    acts = f"{register.acts} acts, {register.refused} of deposed leaders refused"
    print(f"ZooKeeper {version}, {size}: {register.terms} terms, {acts}")
    return problems


def check(ensemble: Ensemble, register: Register, crowd: Crowd, seconds: float) -> list[str]:
    if not until(lambda: register.acts > 0):
        return ["nobody ever led"]
    end = time.monotonic() + seconds
    mischief = [crowd.kill_one, crowd.stop_one, crowd.restart_server]
    while time.monotonic() < end and not register.mistakes:
        print(f"  {random.choice(mischief)()}; {register.terms} terms so far", flush=True)
        time.sleep(random.uniform(0.0, 2.0))  # mischief comes at any time
    # Each candidate leads for a moment, in turn, and whoever is new stands behind those who stood before.
    lost = register.until_all_led(crowd.names, time.monotonic(), 2 * PATIENCE)
    dead = [candidates.name for candidates in crowd.alive if candidates.process.poll() is not None]
    statuses = crowd.end()
    problems = list(register.mistakes)
    problems += [f"ended by themselves: {dead}"] if dead else []
    problems += [f"lost: {sorted(lost)}"] if lost else []
    problems += [f"ended with {statuses}"] if any(statuses.values()) else []
    # What the killed ones left goes with their sessions.
    if not until(lambda: not remains(ensemble.connect_string)):
        problems.append(f"left behind: {remains(ensemble.connect_string)}")
    return problems


def build() -> None:
    peers.build_rust()
    peers.build_faces()
    peers.build_c_program(HERE / "worker.c", peers.BUILT / "c-election-worker")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--candidates", type=int, default=25, help="in each process")
    parser.add_argument("--version", default="3.9", help="of ZooKeeper")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("languages", nargs="*", default=["rust", "c", "python", "node", "rust", "c", "asyncio", "node"])
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    random.seed(options.seed)
    build()
    problems = play(options.version, options.languages, options.candidates, options.seconds)
    for problem in problems:
        print(problem, file=sys.stderr)
    print("0 passed, 1 failed" if problems else "1 passed, 0 failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
