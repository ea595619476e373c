"""What the Python workers of the crowd do once they are in; README.md says what a worker is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Job(NamedTuple):
    name: str
    hosts: str
    naming: str
    kind: str
    path: str
    counter: Path
    log: Path
    seconds: float
    stay: float

    @property
    def permits(self) -> int:
        """Of the semaphore; 0 for a lock."""
        return int(self.kind.partition(":")[2] or 0)


def job() -> Job:
    name, hosts, naming, kind, path, counter, log, seconds, stay = sys.argv[1:]
    return Job(name, hosts, naming, kind, path, Path(counter), Path(log), float(seconds), float(stay) / 1000)


def rounds(job: Job) -> Iterator[None]:
    """At least one, and as many as begin in its time, which counts from when everybody is ready."""
    print("ready", flush=True)
    sys.stdin.read()
    end = time.monotonic() + job.seconds
    yield
    while time.monotonic() < end:
        yield


def work(job: Job, token: int | None = None) -> None:
    """Counts up, with nothing but the recipe to keep others from doing the same."""
    enter = time.monotonic_ns()
    job.counter.write_text(f"{int(job.counter.read_text()) + 1}\n")
    time.sleep(job.stay)
    log = os.open(job.log, os.O_WRONLY | os.O_APPEND)
    leave = time.monotonic_ns()
    os.write(log, f"{job.name} {'-' if token is None else token} {enter} {leave}\n".encode())
    os.close(log)
