"""Rounds: every contestant for a moment, then every one again, so that noise hits all alike."""

from __future__ import annotations

import math
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .etcd import EtcdServer
from .libraries import ELSEWHERE, TITLES, Library, say, shout
from .processes import Failed, Server, Unsupported, Worker, busy, cpu, numbers, wake_ups

# Long enough that nobody's session ends while others have their turn.
SESSION_MS = 30_000
FEWEST = 2


@dataclass
class Turn:
    """What one contestant did in one round."""

    # Nanoseconds for one operation, of all of them; of what is timed as a whole, one figure.
    times: list[float]
    operations: int
    client_cpu: float = 0.0
    server_cpu: float = 0.0
    requests: float = 0.0
    wake_ups: float = 0.0


@dataclass
class Contestant:
    """One library at one case of a workload."""

    library: str
    case: str
    play: Callable[[], Turn]
    workers: Callable[[], list[Worker]]
    # How large the work is, for what grows.
    size: int = 0
    # What comes before and after a turn and is not measured.
    prepare: Callable[[], object] = lambda: None
    clean: Callable[[], object] = lambda: None
    turns: list[Turn] = field(default_factory=list)
    problem: str = ""


class Arena:
    """The servers and the workers of a run; workers stay from one workload to the next."""

    def __init__(
        self, libraries: list[Library], disk: Path | None, quick: bool, rounds: int | None, fsync: bool
    ) -> None:
        self.libraries = {library.name: library for library in libraries}
        self.disk = disk
        self.fsync = fsync
        self.quick = quick
        self.wanted_rounds = rounds
        # How long the rounds of one workload may take, in seconds. Whoever asks for so many rounds gets them.
        self.patience = math.inf if rounds else 10.0 if quick else 30.0
        self.problems: list[str] = []
        self._servers: dict[int, Server] = {}
        self._etcd: EtcdServer | None = None
        self._workers: dict[tuple[str, str, int], Worker] = {}
        self._paths = 0

    def rounds(self, full: int) -> int:
        if self.wanted_rounds:
            return self.wanted_rounds
        return max(3, full // 4) if self.quick else full

    def server(self, nodes: int = 1) -> Server:
        if nodes not in self._servers:
            self._servers[nodes] = Server(nodes, self.disk, self.fsync)
            self._warm(self._servers[nodes])
        return self._servers[nodes]

    def server_of(self, name: str, usual: Server | None = None) -> Server | EtcdServer:
        """The one that a library talks to."""
        if name not in ELSEWHERE:
            return usual or self.server()
        if not self._etcd:
            self._etcd = EtcdServer(self.disk)
        return self._etcd

    def _warm(self, server: Server) -> None:
        """Its machine compiles what runs often. Who came first would pay for that, and a part of a run would measure
        another server than the whole."""
        if "rust" not in self.libraries:
            return
        worker, path = self.start("rust", server.first), self.path()
        until = time.monotonic() + (2 if self.quick else 10)
        while time.monotonic() < until:
            worker.tell("lock", path=f"{path}/lock", ops=200)
            worker.tell("disjoint", path=f"{path}/locks", paths=100, ops=600)
            worker.tell("putmany", path=f"{path}/queue", ops=900)
            server.clear(path)
        worker.end()

    def has(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if name in self.libraries]

    @property
    def servers(self) -> list[Server | EtcdServer]:
        return [*self._servers.values(), *([self._etcd] if self._etcd else [])]

    def path(self) -> str:
        """One that nobody has used."""
        self._paths += 1
        return f"/bench/{self._paths}"

    def worker(self, name: str, hosts: str | None = None, number: int = 0) -> Worker:
        """A worker that stays; another number is another process."""
        hosts = self._hosts(name, hosts)
        key = (name, hosts, number)
        if key not in self._workers or not self._workers[key].lives:
            self._workers[key] = self.start(name, hosts)
        return self._workers[key]

    def _hosts(self, name: str, wanted: str | None) -> str:
        return wanted if wanted and name not in ELSEWHERE else self.server_of(name).first

    def start(
        self,
        name: str,
        hosts: str | None = None,
        session_ms: int = SESSION_MS,
        environment: dict[str, str] | None = None,
        waits: bool = True,
    ) -> Worker:
        library = self.libraries[name]
        command = [*library.command, self._hosts(name, hosts), str(session_ms)]
        return Worker(name, command, library.environment | (environment or {}), waits)

    def dismiss(self, name: str | None = None) -> None:
        for key in [key for key in self._workers if name in (None, key[0])]:
            self._workers.pop(key).end()

    def close(self) -> None:
        self.dismiss()
        for server in self.servers:
            server.close()
        self._servers.clear()
        self._etcd = None

    def trouble(self, what: str, why: object) -> None:
        self.problems.append(f"{what}: {why}")
        shout(f"{what} is left out", str(why))


def whole(answer: dict[str, Any], operations: int) -> Turn:
    """What was timed as a whole."""
    return Turn([answer["took"] / operations], operations)


def each(answer: dict[str, Any], name: str = "both") -> Turn:
    times = numbers(answer, name)
    return Turn([float(one) for one in times], len(times))


def play(
    arena: Arena, contestants: list[Contestant], rounds: int, warm_up: int = 1, server: Server | None = None
) -> None:
    """So many rounds of everybody, in an order that turns; the first ones count for nothing."""
    server = server or arena.server()
    begun = time.monotonic()
    for number in range(warm_up + rounds):
        # A slow machine has fewer rounds, so that the whole ends in time.
        if number >= warm_up + FEWEST and time.monotonic() - begun > arena.patience:
            return
        shift = number % max(1, len(contestants))
        for contestant in contestants[shift:] + contestants[:shift]:
            if contestant.problem:
                continue
            try:
                turn = watched(contestant, arena.server_of(contestant.library, server))
            except Unsupported as problem:
                contestant.problem = str(problem)
            except (Failed, OSError) as problem:
                contestant.problem = str(problem)
                arena.trouble(f"{TITLES[contestant.library]}, {contestant.case}", problem)
            else:
                if number >= warm_up:
                    contestant.turns.append(turn)


def watched(contestant: Contestant, server: Server | EtcdServer) -> Turn:
    contestant.prepare()
    workers = contestant.workers()
    requests, server_cpu = server.requests(), server.cpu()
    before = sum(cpu(worker.pid) for worker in workers)
    woken = sum(wake_ups(worker.pid) for worker in workers)
    turn = contestant.play()
    turn.client_cpu = sum(cpu(worker.pid) for worker in workers) - before
    # A worker that was killed wakes no more.
    turn.wake_ups = max(0, sum(wake_ups(worker.pid) for worker in workers if worker.lives) - woken)
    turn.server_cpu = server.cpu() - server_cpu
    # Two four-letter words count as nothing, and pings of those who are idle are few.
    turn.requests = server.requests() - requests
    contestant.clean()
    return turn


def quantile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    at = part * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def row(contestant: Contestant) -> dict[str, Any]:
    """What the rounds came to: the median of their medians, and between which values the middle 80 % of them are."""
    turns = contestant.turns
    rounds = [statistics.median(turn.times) for turn in turns]
    every = [time for turn in turns for time in turn.times]

    def per_operation(of: Callable[[Turn], float]) -> float:
        return statistics.median(of(turn) / max(1, turn.operations) for turn in turns)

    return {
        "library": contestant.library,
        "case": contestant.case,
        "size": contestant.size,
        "ns": statistics.median(rounds),
        "ns_p10": quantile(rounds, 0.1),
        "ns_p90": quantile(rounds, 0.9),
        "ns_p99": quantile(every, 0.99),
        "client_cpu_ns": per_operation(lambda turn: turn.client_cpu),
        "server_cpu_ns": per_operation(lambda turn: turn.server_cpu),
        "requests": per_operation(lambda turn: turn.requests),
        "wake_ups": per_operation(lambda turn: turn.wake_ups),
        "operations": turns[0].operations,
        "rounds_ns": rounds,
    }


def rows(contestants: list[Contestant]) -> list[dict[str, Any]]:
    return [row(contestant) for contestant in contestants if contestant.turns]


class Noise:
    """What else the machine does during a workload. The server is running by then."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._begun = time.monotonic()
        self._busy = busy()
        self._own = self._ours()

    def _ours(self) -> float:
        """Of the driver, its children that have ended, and those that live."""
        pids = [pid for server in self._arena.servers for pid in server.pids]
        pids += [worker.pid for worker in Worker.all if worker.lives]
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return sum(map(cpu, pids)) / 1e9 + ended.ru_utime + ended.ru_stime + time.process_time()

    def told(self) -> dict[str, float]:
        """Cores that others had busy, on average."""
        seconds = time.monotonic() - self._begun
        others = max(0.0, busy() - self._busy - max(0.0, self._ours() - self._own))
        return {"seconds": round(seconds, 1), "cores_busy_with_other_work": round(others / seconds, 2)}


def progress(text: str) -> None:
    say(f"bench: {text}")
