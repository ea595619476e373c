#!/usr/bin/env python3
"""Runs a command that has to end within a limit, and leaves no process of it behind.

limit.py SECONDS COMMAND…    ends with the command's status, or with 124 when it was cut off

At the limit it shows every process that the command has started and that is still there, and ends them all, wherever
they were moved to. What a command leaves running when it ends by itself is shown and ended too.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time

CUT_OFF = 124
# How long a process may take to end: behind the command that waited for it, and after it was asked to.
GRACE = 5.0


class CutOff(Exception):
    pass


def cut_off(*_: object) -> None:
    raise CutOff


def adopt_orphans() -> None:
    """A process whose parent has ended becomes a child of this one, so that it can be found."""
    PR_SET_CHILD_SUBREAPER = 36
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1)


def status_of(command: int) -> int:
    """Waits for the command, and meanwhile for every orphan, or tests would find it there as a zombie."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == command:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def started() -> list[str]:
    """The processes below this one, by id."""
    listing = subprocess.run(["ps", "-eo", "pid=,ppid=,stat=,comm="], capture_output=True, text=True, check=True)
    rows = [row.split(None, 3) for row in listing.stdout.splitlines()]
    below = {str(os.getpid())}
    while len(below) < len(below := below | {pid for pid, parent, *_ in rows if parent in below}):
        pass
    return [pid for pid, parent, state, name in rows if parent in below and state[0] != "Z" and name != "ps"]


def show(processes: list[str]) -> None:
    columns = "pid,ppid,stat,nlwp,etime,time,wchan:24,args"
    subprocess.run(["ps", "-o", columns, "--forest", "-ww", "-p", ",".join(processes)], stdout=sys.stderr, check=False)


def remaining(seconds: float) -> list[str]:
    """The processes that have not ended by themselves after so long."""
    end = time.monotonic() + seconds
    while (processes := started()) and time.monotonic() < end:
        time.sleep(0.1)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
    return processes


def end_all() -> None:
    for signum in (signal.SIGTERM, signal.SIGKILL):
        for pid in started():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signum)
        if not remaining(GRACE):
            return


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    limit, command = float(sys.argv[1]), sys.argv[2:]
    adopt_orphans()
    # In the background a shell has these ignored, and so would be those that tests send.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGALRM, cut_off)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        process = subprocess.Popen(command)
        status = status_of(process.pid)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if left := remaining(GRACE):
            say("left behind:")
            show(left)
        return status
    except CutOff:
        say(f"\ncut off: it had not ended after {limit:g} s; these processes were there:")
        show(started())
        return CUT_OFF
    except KeyboardInterrupt:
        return 130
    finally:
        end_all()


if __name__ == "__main__":
    sys.exit(main())
