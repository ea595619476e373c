"""Ctrl-C while the main thread waits."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import zkrecipes
from conftest import contenders, eventually
from zkrecipes import _bridge, aio
from zkrecipes.testing import EmbeddedServer

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
    # A busy machine may be late now and then.
    while len(took) < 8 and min(took, default=1) > 0.1:
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
    while len(took) < 8 and min(took, default=1) > 0.1:
        with program(text) as child:
            took.append(interrupted(child, partial(has_threads, child.pid))[0])
    assert min(took) < 0.1


def test_ctrl_c_while_a_client_closes_whose_scope_has_failed_is_raised() -> None:
    with EmbeddedServer() as server:

        def interrupt() -> None:
            os.kill(os.getpid(), signal.SIGINT)

        # By the time that it comes the client waits for the answer to its closing, for as long as a session lasts.
        interrupting = threading.Timer(0.3, interrupt)
        with pytest.raises(KeyboardInterrupt), zkrecipes.Client(server.connect_string, session_timeout=4):
            server.pause()
            interrupting.start()
            raise ZeroDivisionError
        server.resume()


def test_a_handler_that_raises_something_else_ends_the_wait_with_that(client: zkrecipes.Client) -> None:
    class AlarmError(Exception):
        pass

    def ring(*_: object) -> None:
        raise AlarmError

    waiter = client.lock("/lock")
    with client.lock("/lock"):
        before = signal.signal(signal.SIGALRM, ring)
        try:
            with pytest.raises(AlarmError):
                signal.setitimer(signal.ITIMER_REAL, 1.0)
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


class Rung(Exception):
    """By an alarm of the test, at any moment."""


def ring(*_: object) -> None:
    raise Rung


@contextmanager
def alarm(after: float) -> Iterator[None]:
    is_inside = False

    def inside_only(number: int, frame: FrameType | None) -> None:
        # Not on the way back here either, where nothing would catch it.
        if is_inside and frame is not None and frame.f_code.co_filename != contextlib.__file__:
            ring(number, frame)
        # On a slow machine it may be over before it begins.
        signal.setitimer(signal.ITIMER_REAL, after)

    before = signal.signal(signal.SIGALRM, inside_only)
    # Twice, as it may ring on the way out.
    with suppress(Rung):
        try:
            signal.setitimer(signal.ITIMER_REAL, after)
            with suppress(Rung):
                is_inside = True
                yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def work_through(queue: zkrecipes.Queue) -> None:
    for item in queue:
        with item:
            pass


def claim_and_keep(queue: zkrecipes.Queue) -> None:
    while True:
        queue.claim().nack()


@pytest.mark.filterwarnings("ignore:an item of:ResourceWarning")
@pytest.mark.parametrize("work", [work_through, claim_and_keep])
def test_an_interrupt_at_any_moment_leaves_no_item_claimed(
    connect: Callable[..., zkrecipes.Client], work: Callable[[zkrecipes.Queue], None]
) -> None:
    queue, other = connect().queue("/queue"), connect().queue("/queue")
    for nth in range(60):
        queue.put_many([b"item"] * 3)
        with alarm(0.0005 + 0.00013 * nth):
            work(queue)
        gc.collect()
        while other.len():
            with other.claim(timeout=10):
                pass


def test_an_interrupt_at_any_moment_leaves_no_round_behind(connect: Callable[..., zkrecipes.Client]) -> None:
    one, two = (connect().double_barrier("/barrier", 2, name) for name in ("one", "two"))
    for nth in range(60):
        with ThreadPoolExecutor() as pool:
            others = pool.submit(two.enter, 0.03)
            with alarm(0.0005 + 0.0005 * nth), one:
                pass
            assert not one.has_entered
            with suppress(zkrecipes.Timeout):
                others.result()
                # Nobody is there whom it would have to wait for.
                two.leave(10)


def test_an_interrupted_site_is_told_again(connect: Callable[..., zkrecipes.Client]) -> None:
    site, coordinator = (connect().two_phase_commit("/commits") for _ in range(2))
    site.join("one")
    for nth in range(60):
        told: list[zkrecipes.Proposal] = []
        coordinator.begin(str(nth), ["one"], b"", timeout=60)
        with alarm(0.0003 + 0.00005 * nth):
            # In one step of the interpreter: what it was told is there, or it is told again.
            told.extend(map(site.next, [10]))
        proposal = told[0] if told else site.next(timeout=10)
        proposal.vote_abort("enough")
        proposal.acknowledge()


def test_an_interrupt_while_a_state_of_a_feed_is_made_loses_none(
    client: zkrecipes.Client, hosts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = json.loads

    def interrupted(*arguments: Any) -> None:
        monkeypatch.setattr(json, "loads", loads)
        raise Rung

    discovery = client.discovery("/services")
    discovery.register(zkrecipes.Service("web", "10.0.0.7", payload={"zone": "b"}))
    with ThreadPoolExecutor(1) as pool, discovery.watch("web") as feed:
        monkeypatch.setattr(json, "loads", interrupted)
        with pytest.raises(Rung):
            next(feed)
        (found,) = pool.submit(next, feed).result(15)
        assert found.payload == {"zone": "b"}

    async def body() -> None:
        async with aio.Client(hosts) as other, contextlib.aclosing(other.discovery("/services").watch("web")) as feed:
            monkeypatch.setattr(json, "loads", interrupted)
            with pytest.raises(Rung):
                await anext(feed)
            (found,) = await asyncio.wait_for(anext(feed), 15)
            assert found.payload == {"zone": "b"}

    asyncio.run(body())


def test_an_interrupt_while_an_answer_arrives_ends_the_loop_and_loses_nothing(
    client: zkrecipes.Client, hosts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrive = _bridge._arrive

    def interrupted(*arguments: Any) -> None:
        monkeypatch.setattr(_bridge, "_arrive", arrive)
        raise KeyboardInterrupt

    async def body() -> None:
        async with aio.Client(hosts) as other:
            lock = other.lock("/lock")
            monkeypatch.setattr(_bridge, "_arrive", interrupted)
            await lock.acquire()
            await asyncio.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(body())
    with client.lock("/lock").hold(timeout=0.1):
        pass
