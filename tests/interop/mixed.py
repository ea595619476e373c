"""Everybody at once on one lock or on one semaphore of two permits: our five faces with Curator, with kazoo, with both.

Under the lock all count up in one file: its last number must be the number of acquisitions, no two may have been inside
at the same time, and our fencing tokens must rise strictly from each of our acquisitions to the next, whoever came
between. With permits each counts in a file of its own and stays a while, and never may more than two have been
inside."""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

import peers
from kazoo.client import KazooClient
from stage import serving

# On a busy machine: to start seven processes, and to finish after the time they work.
START = 120
FINISH = 60
# How many milliseconds everybody stays inside with permits: longer than it takes to get in, however long that is here.
STAYS = (5, 50, 500)


class Crowd(NamedTuple):
    """Who meets on what, under whose names."""

    kind: str
    naming: str
    guests: tuple[str, ...]

    @property
    def most(self) -> int:
        return int(self.kind.partition(":")[2] or 1)


CROWDS = {
    # kazoo's Lock takes part under Curator's name.
    "lock": Crowd("lock", "curator", ("curator", "kazoo")),
    "semaphore": Crowd("semaphore:2", "curator", ("curator",)),
    "kazoo-semaphore": Crowd("semaphore:2", "kazoo", ("kazoo",)),
}
OURS = ("rust", "c", "python", "asyncio", "node")


def worker(name: str) -> list[str]:
    python = str(peers.HERE / "python")
    return {
        "rust": [str(peers.RUST / "interop-worker")],
        "c": [str(peers.BUILT / "c-worker")],
        "python": [sys.executable, f"{python}/worker.py"],
        "asyncio": [sys.executable, f"{python}/worker_aio.py"],
        "node": ["node", str(peers.HERE / "node" / "worker.mjs")],
        "curator": peers.java("Worker"),
        "kazoo": [sys.executable, f"{python}/worker_kazoo.py"],
    }[name]


class Visit(NamedTuple):
    """One stay inside."""

    who: str
    token: int | None
    enter: int
    leave: int

    @classmethod
    def parse(cls, line: str) -> Visit:
        who, token, enter, leave = line.split()
        return cls(who, None if token == "-" else int(token), int(enter), int(leave))


def gather(crowd: Crowd, hosts: str, path: str, folder: Path, seconds: int) -> Counter[str]:
    """How often each was inside; AssertionError if the recipe did not keep them apart."""
    if crowd.most == 1:
        return meet(crowd, hosts, path, folder, seconds, 0)[0]
    for stay in STAYS:
        together = folder / f"stay-{stay}"
        together.mkdir()
        times, full = meet(crowd, hosts, path, together, seconds, stay)
        if full:
            return times
    raise AssertionError(f"there never were {crowd.most} inside")


def meet(crowd: Crowd, hosts: str, path: str, folder: Path, seconds: int, stay: int) -> tuple[Counter[str], bool]:
    """How often each was inside, and whether there ever were as many as may be."""
    log = folder / "log"
    log.touch()
    environment = os.environ | {"PYTHONPATH": str(peers.ROOT / "python")}
    names = (*OURS, *crowd.guests)
    counters = {name: folder / ("counter" if crowd.most == 1 else f"counter-{name}") for name in names}
    for counter in counters.values():
        counter.write_text("0\n")
    running = {}
    for name, counter in counters.items():
        words = [hosts, crowd.naming, crowd.kind, path, str(counter), str(log), str(seconds), str(stay)]
        running[name] = subprocess.Popen(
            [*worker(name), name, *words], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    try:
        begin(running)
        statuses = {name: process.wait(seconds + FINISH) for name, process in running.items()}
    finally:
        for process in running.values():
            process.kill()
    assert not any(statuses.values()), f"workers ended with {statuses}"

    visits = [Visit.parse(line) for line in log.read_text().splitlines()]
    times = Counter(visit.who for visit in visits)
    assert set(times) == set(running), f"only {sorted(times)} got in"
    assert sum(int(counter.read_text()) for counter in set(counters.values())) == len(visits)
    full = check(visits, crowd.most)
    left = remainders(hosts, path)
    assert not left, f"left behind: {left}"
    return times, full


def begin(running: dict[str, subprocess.Popen[str]]) -> None:
    """Lets all go at once, when everybody is connected."""
    with ThreadPoolExecutor(len(running)) as pool:
        ready = {name: pool.submit(process.stdout.readline) for name, process in running.items()}
        wait(ready.values(), START)
        missing = sorted(name for name, line in ready.items() if not (line.done() and line.result() == "ready\n"))
        for process in running.values():
            process.stdin.close()
            # Whoever has not answered by now never will.
            if missing:
                process.kill()
    assert not missing, f"{missing} did not get ready"


def check(visits: list[Visit], most: int) -> bool:
    """That never more than so many were inside; with one, that they and their tokens came in order. Answers whether as
    many as may ever were."""
    tokens = [visit.token for visit in visits if visit.token is not None]
    assert len(set(tokens)) == len(tokens), "a token was given twice"
    if most == 1:
        # The log was written inside, so it is in order.
        for before, after in itertools.pairwise(visits):
            assert before.leave < after.enter, f"at the same time: {before} and {after}"
        for lower, higher in itertools.pairwise(tokens):
            assert lower < higher, f"token {higher} came after {lower}"
        return True
    inside: list[Visit] = []
    full = False
    for visit in sorted(visits, key=lambda visit: visit.enter):
        inside = [other for other in inside if other.leave >= visit.enter] + [visit]
        assert len(inside) <= most, f"at the same time: {inside}"
        full |= len(inside) == most
    return full


def remainders(hosts: str, path: str) -> list[str]:
    """What is below the places where the crowd had its nodes."""
    observer = KazooClient(hosts)
    observer.start()
    places = [
        place for place in (path, f"{path}/locks", f"{path}/leases", f"{path}-__lock__") if observer.exists(place)
    ]
    left = [f"{place}/{child}" for place in places for child in observer.get_children(place)]
    observer.stop()
    return sorted(set(left) - {f"{path}/{name}" for name in ("locks", "leases", "max")})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--server", choices=("embedded", "zookeeper-3.8", "zookeeper-3.9"), default="zookeeper-3.9")
    parser.add_argument("--on", choices=CROWDS, default="lock")
    options = parser.parse_args()
    peers.build()
    peers.build_faces()
    with serving(options.server) as hosts, tempfile.TemporaryDirectory() as folder:
        try:
            times = gather(CROWDS[options.on], hosts, "/crowd", Path(folder), options.seconds)
        except AssertionError as problem:
            print(problem, file=sys.stderr)
            print("0 passed, 1 failed")
            return 1
    together = CROWDS[options.on].most
    print(f"{options.server}, {options.seconds} s: {times.total()} acquisitions, never more than {together} at once")
    for name, count in times.most_common():
        print(f"  {name:<8} {count:6}")
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
