"""Runs a Python program that is killed before a step of its own: kill_at.py PROGRAM ARGUMENT…

A step is a statement of SQL, or a line that it prints. The file that KILL_AT names says before which one, counted from
when that was written: "3", or "3 0.002" for so many seconds after it has begun. An empty file is for never.
"""

from __future__ import annotations

import builtins
import os
import runpy
import signal
import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any

ARMED = Path(os.environ["KILL_AT"])


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def step(*_: object) -> None:
    left, *delay = ARMED.read_text().split() or ["0"]
    if left == "0":
        return
    ARMED.write_text(" ".join([str(int(left) - 1), *delay]) if left != "1" else "")
    if left == "1" and delay:
        threading.Timer(float(delay[0]), die).start()
    elif left == "1":
        die()


def connect(file: str, **options: Any) -> sqlite3.Connection:
    database: sqlite3.Connection = open_database(file, **options)
    database.set_trace_callback(step)
    return database


def say(*arguments: object) -> None:
    step()
    print_line(*arguments, flush=True)


open_database, sqlite3.connect = sqlite3.connect, connect  # type: ignore[assignment]
print_line, builtins.print = builtins.print, say  # type: ignore[assignment]
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
