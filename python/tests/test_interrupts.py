"""Ctrl-C while the main thread waits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import zkrecipes
from conftest import contenders, eventually

PROGRAM = """
import sys, time
import zkrecipes

client = zkrecipes.Client(sys.argv[1])
lock = client.lock("/lock")
print("ready", flush=True)
try:
    {wait}
except KeyboardInterrupt:
    print(time.monotonic(), lock.is_held, flush=True)
sys.stdin.read()
client.close()
"""

WAITS = {
    "acquire": "lock.acquire()",
    "acquire within a time": "lock.acquire(timeout=60)",
    "with": "with lock: pass",
    "hold": "with lock.hold(60): pass",
}


@contextmanager
def program(text: str, *args: str) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [sys.executable, "-c", text, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(Path(zkrecipes.__file__).parents[1])},
    )
    with child:
        try:
            assert child.stdout
            assert child.stdout.readline() == "ready\n"
            yield child
        finally:
            child.kill()


def interrupted(child: subprocess.Popen[str], when: Callable[[], object]) -> tuple[float, str]:
    """How long the interrupt took, in seconds, and what the program said about the lock."""
    assert child.stdout
    eventually(when)
    sent = time.monotonic()
    child.send_signal(signal.SIGINT)
    at, held = child.stdout.readline().split()
    return float(at) - sent, held


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_ctrl_c_ends_a_wait_at_once_and_leaves_nothing(client: zkrecipes.Client, hosts: str, wait: str) -> None:
    took: list[float] = []
    # A busy machine may be late once.
    while len(took) < 3 and min(took, default=1) > 0.1:
        with client.lock("/lock"), program(PROGRAM.format(wait=wait), hosts) as child:
            seconds, held = interrupted(child, lambda: contenders(client, "/lock") == 2)
            took.append(seconds)
            assert held == "False"
            # While the program lives and its session stands.
            eventually(lambda: contenders(client, "/lock") == 1)
            assert child.poll() is None
    assert min(took) < 0.1


def has_threads(process: int) -> bool:
    return len(os.listdir(f"/proc/{process}/task")) > 1


def test_ctrl_c_while_connecting_ends_it_at_once() -> None:
    text = """
import sys, time
import zkrecipes

print("ready", flush=True)
try:
    zkrecipes.Client("127.0.0.1:1", connect_timeout=60)
except KeyboardInterrupt:
    print(time.monotonic(), False, flush=True)
"""
    took: list[float] = []
    while len(took) < 3 and min(took, default=1) > 0.1:
        with program(text) as child:
            took.append(interrupted(child, partial(has_threads, child.pid))[0])
    assert min(took) < 0.1


def test_a_handler_that_raises_something_else_ends_the_wait_with_that(client: zkrecipes.Client) -> None:
    class AlarmError(Exception):
        pass

    def ring(*_: object) -> None:
        raise AlarmError

    waiter = client.lock("/lock")
    with client.lock("/lock"):
        before = signal.signal(signal.SIGALRM, ring)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(AlarmError):
                waiter.acquire()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        eventually(lambda: contenders(client, "/lock") == 1)


def test_a_handler_that_returns_does_not_disturb_the_wait(client: zkrecipes.Client) -> None:
    rung: list[bool] = []
    held = client.lock("/lock").acquire()
    assert held

    def ring(*_: object) -> None:
        held.release(wait=False)
        rung.append(True)

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with client.lock("/lock"):
            assert rung
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_storm_of_interrupts_leaves_nothing(client: zkrecipes.Client, hosts: str) -> None:
    """At whatever moment it arrives: an interrupted scope holds nothing."""
    text = """
import os, signal, sys
import zkrecipes

def interrupt(*_):
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt
    os.write(1, b"too early\\n")

armed = False
signal.signal(signal.SIGINT, interrupt)
client = zkrecipes.Client(sys.argv[1])
lock = client.lock("/lock")
os.write(1, b"ready\\n")
for _ in range(60):
    try:
        armed = True
        while True:
            with lock:
                pass
    except KeyboardInterrupt:
        os.write(1, f"interrupted {lock.is_held}\\n".encode())
sys.stdin.read()
"""
    with program(text, hosts) as child:
        assert child.stdout
        interrupts = 0
        while interrupts < 60:
            time.sleep(0.002 + 0.00013 * interrupts)
            child.send_signal(signal.SIGINT)
            said = child.stdout.readline()
            assert said in ("interrupted False\n", "too early\n")
            interrupts += said.startswith("interrupted")
        eventually(lambda: contenders(client, "/lock") == 0)
