"""What unsubscribes a callback waits until it is over, except inside a callback, and Ctrl-C ends that wait."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path

import pytest
import zkrecipes
from zkrecipes.testing import EmbeddedServer


def running(client: zkrecipes.Client) -> tuple[Callable[[], None], threading.Event, threading.Event]:
    """A callback that has begun and goes on: what unsubscribes it, what lets it end, and what says that it has."""
    begun, go_on, over = threading.Event(), threading.Event(), threading.Event()

    def callback(error: zkrecipes.Lost) -> None:
        begun.set()
        assert go_on.wait(20)
        over.set()

    held = client.lock("/lock").acquire()
    unsubscribe = held.on_lost(callback)
    client.nodes.delete(held.node)
    assert begun.wait(20)
    return unsubscribe, go_on, over


def test_unsubscribing_waits_for_a_callback_that_is_running(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client, ThreadPoolExecutor(1) as pool:
        unsubscribe, go_on, over = running(client)
        ending = pool.submit(unsubscribe)
        with pytest.raises(FutureTimeout):
            ending.result(0.1)
        go_on.set()
        ending.result(20)
        assert over.is_set()
        unsubscribe()


def test_inside_a_callback_unsubscribing_waits_for_nobody(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client:
        unsubscribe, go_on, over = running(client)
        ended = threading.Event()
        unsubscribers = [unsubscribe]

        def callback(error: zkrecipes.Lost) -> None:
            for one in unsubscribers:
                one()
            ended.set()

        held = client.lock("/other").acquire()
        unsubscribers.append(held.on_lost(callback))
        client.nodes.delete(held.node)
        assert ended.wait(20)
        assert not over.is_set()
        go_on.set()


INTERRUPTED = """
import sys, threading, time, zkrecipes
client = zkrecipes.Client(sys.argv[1])
begun = threading.Event()
def callback(error):
    begun.set()
    time.sleep(60)
held = client.lock("/lock").acquire()
unsubscribe = held.on_lost(callback)
client.nodes.delete(held.node)
begun.wait()
try:
    print("ready", flush=True)
    unsubscribe()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_the_wait_for_a_callback(server: EmbeddedServer) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, server.connect_string],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(Path(zkrecipes.__file__).parents[1])},
    )
    with child:
        assert child.stdout
        try:
            assert child.stdout.readline() == "ready\n"
            # It may be about to wait only: who sends it again, interrupts the exit.
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "interrupted\n"
            assert child.wait(20) == 0
        finally:
            child.kill()
