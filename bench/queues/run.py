#!/usr/bin/env python3
"""How fast items go into and out of a queue: ours beside zookeeper-client itself, Curator and kazoo, in one run.

run.py HOSTS [--items 300] [--rounds 25] [--calls 64] [--profile release] [--json FILE]

All take turns, round by round, so that whatever else the machine does befalls all alike; what is told are the medians
of what two had to do with each other in the same round. Items are of 100 bytes. One call after the other is a
sequential caller; a pipelined one has `--calls` of them at a time, or requests, if it is zookeeper-client itself, and
ten times as many items.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "interop"))
import peers  # noqa: E402

WARM_UP = 3
# What takes longer is stuck.
PATIENCE = 60.0
PATH = "/bench/queues"
TICKS = os.sysconf("SC_CLK_TCK")


class Program:
    """A producer or consumer of one library, which obeys lines."""

    def __init__(self, name: str, command: list[str | Path]) -> None:
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._read()

    def _read(self) -> str:
        watchdog = threading.Timer(PATIENCE, self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline()
        watchdog.cancel()
        if not line:
            raise SystemExit(f"{self.name} ended, or was stuck")
        return line

    def tell(self, *words: object) -> float:
        """What it took, in seconds."""
        print(*words, file=self.process.stdin, flush=True)
        return int(self._read()) / 1e9

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait(PATIENCE)


@dataclass
class Work:
    """One thing that is measured, in every round."""

    name: str
    program: Program
    words: tuple[object, ...]
    count: int
    # The nodes of the items, as the server is to number them; nothing where items are put.
    items: str = ""
    # Where the items are.
    parent: str = ""
    # Seconds for each item, round by round.
    times: list[float] = field(default_factory=list)
    # Processor time in all: the server's, the program's, and everybody's.
    used: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])

    def busy(self) -> tuple[float, ...]:
        """How many cores were busy with it, on average: the same three."""
        return tuple(used / (sum(self.times) * self.count) for used in self.used)


def server_of(hosts: str) -> int:
    """The process that listens there, on this machine."""
    port = f":{int(hosts.split(',')[0].rsplit(':', 1)[1]):04X}"
    sockets = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        rows = [line.split() for line in Path(table).read_text().splitlines()[1:]]
        sockets |= {f"socket:[{row[9]}]" for row in rows if row[1].endswith(port) and row[3] == "0A"}
    return next(pid for pid, target in open_files() if target in sockets)


def open_files() -> Iterator[tuple[int, str]]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            for file in (process / "fd").iterdir():
                yield int(process.name), str(file.readlink())
        except OSError:
            continue


def used_by(pid: int) -> float:
    """The processor time of a process so far, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def used_by_all() -> float:
    user, nice, system, _idle, _waiting, *interrupts = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return sum(map(int, (user, nice, system, *interrupts[:2]))) / TICKS


def play(work: Work, ours: Program, server: int, counts: bool) -> None:
    def used() -> tuple[float, float, float]:
        return used_by(server), used_by(work.program.process.pid), used_by_all()

    if work.items:
        ours.tell("create", work.items, work.count, 256)
    before = used()
    took = work.program.tell(*work.words)
    after = used()
    if not work.items:
        ours.tell("clear", work.parent)
    if counts:
        work.times.append(took / work.count)
        work.used = [sum(parts) - begin for *parts, begin in zip(work.used, after, before, strict=True)]


def curator() -> list[str | Path]:
    built = ROOT / "target" / "bench"
    jars = ":".join(map(str, sorted(peers.curator().glob("*.jar"))))
    peers.run("javac", "-nowarn", "-Xlint:none", "-d", built, "-cp", jars, HERE / "CuratorQueue.java")
    return ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", f"{built}:{jars}", "CuratorQueue"]


def all_work(ours: Program, curators: Program, kazoos: Program, items: int, calls: int) -> list[Work]:
    def of(name: str, program: Program, verb: str, *rest: object, item: str = "", below: str = "") -> Work:
        count = items * 10 if calls in rest or verb == "put-many" else items
        path = f"{PATH}/{name.replace(' ', '-').replace(',', '')}"
        parent = path + below
        made = f"{parent}/{item}" if item else ""
        return Work(name, program, (verb, path, count, *rest), count, made, parent)

    raw = f"{PATH}/raw"
    return [
        Work("raw, pipelined", ours, ("create", f"{raw}/qn-", items * 10, calls), items * 10, parent=raw),
        of("put_many", ours, "put-many"),
        of("put", ours, "put", 1),
        of("put, pipelined", ours, "put", calls),
        of("get", ours, "get", 1, 1, item="qn-"),
        of("get, pipelined", ours, "get", calls, 1, item="qn-"),
        of("get, eight", ours, "get", 1, 8, item="qn-"),
        of("get, eight, pipelined", ours, "get", calls, 8, item="qn-"),
        of("get, eight, each its own", ours, "own", 1, 8, below="/none"),
        of("kazoo's get", kazoos, "get", item="entry-100-"),
        of("Curator's take", curators, "take", item="qn-"),
        of("claim, ack", ours, "claim", 1, item="qn-"),
        of("claim, ack, pipelined", ours, "claim", calls, item="qn-"),
        of("kazoo's get, consume", kazoos, "consume", item="entry-100-", below="/entries"),
    ]


# What is to be how many times as fast as what, and the least that is promised, if anything.
RATIOS = [
    ("put_many", "raw, pipelined", 3.0),
    ("put, pipelined", "raw, pipelined", 0.9),
    ("get, pipelined", "kazoo's get", 10.0),
    ("get", "kazoo's get", None),
    ("get, pipelined", "Curator's take", 5.0),
    ("get", "Curator's take", None),
    ("claim, ack, pipelined", "kazoo's get, consume", 5.0),
    ("claim, ack", "kazoo's get, consume", None),
    ("get, eight", "get", 3.0),
    ("get, eight, each its own", "get", None),
    ("get, eight", "get, eight, each its own", None),
    ("get, eight, pipelined", "get, pipelined", None),
]


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    arguments.add_argument("hosts")
    arguments.add_argument("--items", type=int, default=300)
    arguments.add_argument("--rounds", type=int, default=25)
    arguments.add_argument("--calls", type=int, default=64)
    arguments.add_argument("--only", default="", help="what has this in its name, and no comparison with others")
    arguments.add_argument("--profile", default="release", help="how ours was built: release or debug")
    arguments.add_argument("--json", type=Path, default=ROOT / "target" / "bench" / "queues.json")
    given = arguments.parse_args()
    (ROOT / "target" / "bench").mkdir(parents=True, exist_ok=True)
    ours = Program("zkrecipes", [ROOT / "target" / given.profile / "zkrecipes-bench-queues", given.hosts])
    curators = Program("curator", [*curator(), given.hosts])
    kazoos = Program("kazoo", [sys.executable, HERE / "kazoo_queue.py", given.hosts])
    server = server_of(given.hosts)
    everything = all_work(ours, curators, kazoos, given.items, given.calls)
    everything = [work for work in everything if given.only in work.name]
    for number in range(WARM_UP + given.rounds):
        for work in everything:
            play(work, ours, server, number >= WARM_UP)
    for program in (ours, curators, kazoos):
        program.end()
    report(everything, given)


def report(everything: list[Work], given: argparse.Namespace) -> None:
    print(f"{given.rounds} rounds; pipelined is {given.calls} at a time; eight are clients; medians")
    print(f"{'':<28} {'an item':>9}   cores busy, of {os.cpu_count()}: the server, the program, everybody")
    results: list[dict[str, Any]] = []
    for work in everything:
        server, program, everybody = work.busy()
        median = statistics.median(work.times)
        print(f"{work.name:<28} {median * 1e6:>6.0f} µs   {server:.1f}, {program:.1f}, {everybody:.1f}")
        results.append({"name": work.name, "seconds": median, "server": server, "program": program, "all": everybody})
    named = {work.name: work for work in everything}
    ratios: list[dict[str, Any]] = []
    for faster, slower, target in RATIOS:
        if faster in named and slower in named:
            pairs = zip(named[slower].times, named[faster].times, strict=True)
            ratio = statistics.median(theirs / mine for theirs, mine in pairs)
            aim = "" if target is None else f"   (target {target}{'' if ratio >= target else ', missed'})"
            print(f"{faster:<28} {ratio:>6.2f} times as fast as {slower}{aim}")
            ratios.append({"faster": faster, "slower": slower, "ratio": ratio, "target": target})
    parameters = {"items": given.items, "rounds": given.rounds, "calls": given.calls, "profile": given.profile}
    given.json.write_text(json.dumps({**parameters, "results": results, "ratios": ratios}, indent=2) + "\n")


if __name__ == "__main__":
    main()
