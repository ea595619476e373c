"""What garbage collection does, and that nothing piles up."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
import zkrecipes
import zkrecipes.aio
from conftest import contenders, eventually
from zkrecipes.testing import EmbeddedServer


def test_a_lock_collected_while_held_warns_and_is_released(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    assert lock.acquire()
    with pytest.warns(ResourceWarning, match="/lock"):
        del lock
    eventually(lambda: contenders(client, "/lock") == 0)


def test_an_acquisition_collected_while_held_warns_and_is_released(client: zkrecipes.Client) -> None:
    held = client.lock("/lock").acquire()
    assert held
    gc.collect()
    assert held.is_held
    with pytest.warns(ResourceWarning, match="/lock"):
        del held
    eventually(lambda: contenders(client, "/lock") == 0)


def test_a_partition_collected_while_held_warns_logs_and_is_released(
    client: zkrecipes.Client, caplog: pytest.LogCaptureFixture
) -> None:
    partitioner = client.partitioner("/partitions", 2)
    partition = partitioner.next(15)
    path = partition.path
    gc.collect()
    assert partition.is_held
    with caplog.at_level(logging.WARNING, logger="zkrecipes"):
        with pytest.warns(ResourceWarning, match=f"the partition {path} was garbage-collected"):
            del partition
        eventually(lambda: [path in line for line in collected(caplog)] == [True])
    # It comes again. What was given back is collected silently.
    partitions = [partitioner.next(15), partitioner.next(15)]
    assert path in [partition.path for partition in partitions]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while partitions:
            partitions.pop().release()
    partitioner.leave()


def test_each_acquisition_of_a_handle_that_is_collected_is_logged(
    client: zkrecipes.Client, caplog: pytest.LogCaptureFixture
) -> None:
    semaphore = client.semaphore("/permits", 5)
    with caplog.at_level(logging.WARNING, logger="zkrecipes"):
        released, *kept = [semaphore.acquire() for _ in range(4)]
        nodes = {held.node for held in kept if held}
        assert released
        released.release()
        del released, kept
        with pytest.warns(ResourceWarning, match="the semaphore /permits was") as warned:
            del semaphore
        assert len(warned) == 1
        eventually(lambda: len(collected(caplog)) >= 3)
    client.close(15)
    assert len(collected(caplog)) == len(nodes) == 3
    assert all(any(node in line for line in collected(caplog)) for node in nodes)


def collected(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line for line in caplog.messages if "garbage-collected" in line]


def test_the_handle_keeps_what_it_acquired(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    lock.acquire()
    gc.collect()
    assert lock.is_held
    lock.release()


def test_what_was_released_is_collected_silently(client: zkrecipes.Client) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lock = client.lock("/lock")
        with lock as held:
            pass
        with client.lock("/lock", reentrant=True) as lock_held, lock_held:
            pass
        gone = weakref.ref(lock), weakref.ref(held)
        del lock, held, lock_held
        gc.collect()
        assert [ref() for ref in gone] == [None, None]


def test_a_callback_of_waits_keeps_its_lock_until_it_is_unsubscribed(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    unsubscribe = lock.on_wait(lambda progress, lock=lock: lock.cancel())  # type: ignore[misc]
    gone = weakref.ref(lock)
    lock.acquire()
    del lock
    gc.collect()
    assert gone() is not None
    with pytest.warns(ResourceWarning, match="/lock"):
        unsubscribe()
    assert gone() is None
    eventually(lambda: contenders(client, "/lock") == 0)


class Watcher:
    """Has a client, and hears of its states."""

    def __init__(self, hosts: str) -> None:
        self.hosts = hosts

    def watch(self) -> None:
        with zkrecipes.Client(self.hosts) as self.client:
            self.client.on_state(self.changed)

    def watch_on_a_loop(self) -> None:
        async def body() -> None:
            async with zkrecipes.aio.Client(self.hosts) as self.client_of_a_loop:
                self.client_of_a_loop.on_state(self.changed)

        asyncio.run(body())

    def changed(self, state: zkrecipes.State) -> None:
        pass


@pytest.mark.parametrize("watch", [Watcher.watch, Watcher.watch_on_a_loop])
def test_a_callback_of_states_keeps_its_client_until_that_is_closed(
    hosts: str, watch: Callable[[Watcher], None]
) -> None:
    def is_gone() -> bool:
        gc.collect()
        # What a thread of the library let go of is forgotten by the next call.
        zkrecipes.Client.version()
        return gone() is None

    watcher = Watcher(hosts)
    gone = weakref.ref(watcher)
    watch(watcher)
    del watcher
    eventually(is_gone)


def test_no_class_tells_the_collector_what_it_has() -> None:
    """With optimization, functions that do the same become one, and pyo3 finds the function of a base class by its
    address: where one class between others has `__traverse__` of its own, the collector goes round in circles until
    the stack is used up. Only a released build shows that."""
    sources = (Path(__file__).parents[2] / "bindings/python/src").glob("**/*.rs")
    assert [source.name for source in sources if "fn __traverse__" in source.read_text()] == []


def test_a_callback_lasts_as_long_as_anybody_may_wait(client: zkrecipes.Client) -> None:
    """Though its handle has gone out of sight."""
    told = threading.Event()

    def scope() -> zkrecipes.Hold[zkrecipes.Held]:
        lock = client.lock("/lock")
        lock.on_wait(lambda progress: told.set())
        return lock.hold(timeout=15)

    held, waits = client.lock("/lock").acquire(), scope()
    gc.collect()

    def wait() -> None:
        with waits:
            pass

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert told.wait(15)
    held.release()
    waiting.join()


def test_an_unclosed_client_warns_and_ends_its_session(server: EmbeddedServer) -> None:
    client = zkrecipes.Client(server.connect_string)
    session = client.session_id
    assert session in server.sessions()
    with pytest.warns(ResourceWarning, match="unclosed"):
        del client
    eventually(lambda: session not in server.sessions())


def test_a_closed_client_is_not_entered(hosts: str) -> None:
    client = zkrecipes.Client(hosts)
    client.close(5)
    with pytest.raises(zkrecipes.Closed, match="the client is closed"), client:
        pytest.fail("the block has begun")


def test_a_client_that_was_never_initialised_says_what_is_missing() -> None:
    class Forgetful(zkrecipes.Client):
        def __init__(self) -> None:
            pass

    class Unconnected(zkrecipes.Client):
        def __init__(self) -> None:
            with pytest.raises(zkrecipes.ConnectionLost):
                super().__init__("127.0.0.1:1", connect_timeout=0.1)

    class ForgetfulLoop(zkrecipes.aio.Client):
        def __init__(self) -> None:
            pass

    async def enter() -> None:
        async with ForgetfulLoop():
            pass

    for use in (
        lambda: Forgetful().lock("/lock"),
        lambda: Forgetful().__enter__(),
        lambda: Forgetful().nodes.get("/"),
        lambda: ForgetfulLoop().lock("/lock"),
        lambda: asyncio.run(enter()),
    ):
        with pytest.raises(zkrecipes.Invalid, match=r"super\(\).__init__"):
            use()
    with pytest.raises(zkrecipes.Closed, match="connecting it failed"):
        Unconnected().lock("/lock")
    for client in (Forgetful(), Unconnected()):
        client.close()


def test_a_handle_keeps_its_client_open(server: EmbeddedServer) -> None:
    lock = zkrecipes.Client(server.connect_string).lock("/lock")
    gc.collect()
    with lock:
        assert server.sessions()
    with pytest.warns(ResourceWarning):
        del lock


def entries(directory: str) -> int:
    """Threads or open files, where the system lists them."""
    return len(os.listdir(directory)) if os.path.isdir(directory) else 0


def threads() -> int:
    return entries("/proc/self/task")


def descriptors() -> int:
    return entries("/proc/self/fd")


def test_nothing_piles_up() -> None:
    with EmbeddedServer() as server:

        def once() -> None:
            with zkrecipes.Client(server.connect_string) as client:
                client.on_state(lambda state: None)
                lock = client.lock("/lock")
                for _ in range(5):
                    with lock as held:
                        held.on_lost(lambda error: None)
                        assert client.lock("/lock").acquire(blocking=False) is None
                with pytest.raises(zkrecipes.Invalid):
                    client.lock("relative")

        def counts() -> tuple[int, int, int, int]:
            gc.collect()
            return threads(), descriptors(), len(gc.get_objects()), server.watch_count()

        for _ in range(10):
            once()
        eventually(lambda: not server.sessions())
        before, started = counts(), threading.active_count()
        for _ in range(50):
            once()
        eventually(lambda: not server.sessions())
        eventually(lambda: threads() <= before[0] and descriptors() <= before[1])
        after = counts()
        assert after[2] - before[2] < 50
        assert after[3] == 0
        assert threading.active_count() == started


def test_threads_that_read_values_when_the_process_ends_do_not_crash_it(server: EmbeddedServer) -> None:
    """CPython ends daemon threads wherever they next want the GIL, also in Python code that ours has called."""
    program = """
import sys, threading, time, zkrecipes
client = zkrecipes.Client(sys.argv[1])
def read():
    while True: client.metrics, client.state
for _ in range(2): threading.Thread(target=read, daemon=True).start()
time.sleep(0.2)
"""
    child = subprocess.run([sys.executable, "-c", program, server.connect_string], timeout=60)
    assert child.returncode == 0
