"""Everybody on one path at once: our five faces, Curator and kazoo, each counting up in a file under the lock.

The file's last number must be the number of acquisitions, no two may have been inside at the same time, and our fencing
tokens must rise strictly from each of our acquisitions to the next, whoever came between."""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import peers
from kazoo.client import KazooClient
from stage import serving

# Besides the time they work: to start seven processes on a busy machine, and to finish.
GRACE = 60


def workers() -> dict[str, list[str]]:
    python = str(peers.HERE / "python")
    return {
        "rust": [str(peers.RUST / "interop-worker")],
        "c": [str(peers.BUILT / "c-worker")],
        "python": [sys.executable, f"{python}/worker.py"],
        "asyncio": [sys.executable, f"{python}/worker_aio.py"],
        "node": ["node", str(peers.HERE / "node" / "worker.mjs")],
        "curator": peers.java("Worker"),
        "kazoo": [sys.executable, f"{python}/worker_kazoo.py"],
    }


class Visit(NamedTuple):
    """One stay under the lock."""

    who: str
    token: int | None
    enter: int
    leave: int

    @classmethod
    def parse(cls, line: str) -> Visit:
        who, token, enter, leave = line.split()
        return cls(who, None if token == "-" else int(token), int(enter), int(leave))


def crowd(hosts: str, path: str, folder: Path, seconds: int) -> Counter[str]:
    """How often each was inside; AssertionError if the lock did not keep them apart."""
    counter, log = folder / "counter", folder / "log"
    counter.write_text("0\n")
    log.touch()
    environment = os.environ | {"PYTHONPATH": str(peers.ROOT / "python")}
    running = {
        name: subprocess.Popen([*command, name, hosts, path, str(folder), str(seconds)], env=environment)
        for name, command in workers().items()
    }
    try:
        statuses = {name: process.wait(seconds + GRACE) for name, process in running.items()}
    finally:
        for process in running.values():
            process.kill()
    assert not any(statuses.values()), f"workers ended with {statuses}"

    visits = [Visit.parse(line) for line in log.read_text().splitlines()]
    for before, after in itertools.pairwise(visits):
        assert before.leave < after.enter, f"at the same time: {before} and {after}"
    assert int(counter.read_text()) == len(visits)
    tokens = [visit.token for visit in visits if visit.token is not None]
    for lower, higher in itertools.pairwise(tokens):
        assert lower < higher, f"token {higher} came after {lower}"
    times = Counter(visit.who for visit in visits)
    assert set(times) == set(running), f"only {sorted(times)} ever got in"

    observer = KazooClient(hosts)
    observer.start()
    left = observer.get_children(path) if observer.exists(path) else []
    observer.stop()
    assert not left, f"left behind: {left}"
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--server", choices=("embedded", "zookeeper-3.8", "zookeeper-3.9"), default="zookeeper-3.9")
    options = parser.parse_args()
    peers.build()
    peers.build_faces()
    with serving(options.server) as hosts, tempfile.TemporaryDirectory() as folder:
        try:
            times = crowd(hosts, "/crowd", Path(folder), options.seconds)
        except AssertionError as problem:
            print(problem, file=sys.stderr)
            print("0 passed, 1 failed")
            return 1
    print(f"{options.server}, {options.seconds} s: {times.total()} acquisitions, none at the same time as another")
    for name, count in times.most_common():
        print(f"  {name:<8} {count:6}")
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
