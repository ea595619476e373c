"""What the Python workers of the crowd do once they have the lock; README.md says what a worker is."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import NamedTuple


class Job(NamedTuple):
    name: str
    hosts: str
    path: str
    folder: Path
    end: float


def job() -> Job:
    name, hosts, path, folder, seconds = sys.argv[1:]
    return Job(name, hosts, path, Path(folder), time.monotonic() + float(seconds))


def unfinished(job: Job) -> bool:
    return time.monotonic() < job.end


def work(job: Job, token: int | None = None) -> None:
    """Counts up, with nothing but the lock to keep others from doing the same."""
    enter = time.monotonic_ns()
    counter = job.folder / "counter"
    counter.write_text(f"{int(counter.read_text()) + 1}\n")
    log = os.open(job.folder / "log", os.O_WRONLY | os.O_APPEND)
    leave = time.monotonic_ns()
    os.write(log, f"{job.name} {'-' if token is None else token} {enter} {leave}\n".encode())
    os.close(log)
