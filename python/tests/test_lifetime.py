"""What garbage collection does, and that nothing piles up."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import warnings
import weakref
from collections.abc import Callable

import pytest
import zkrecipes
from conftest import contenders, eventually
from zkrecipes import aio
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


def listening(lock: zkrecipes.Lock) -> zkrecipes.Lock:
    """With a callback that refers to it."""
    lock.on_wait(lambda progress: lock.cancel())
    return lock


HELD_AND_HEARD: dict[str, Callable[[zkrecipes.Client], object]] = {
    "a lock": lambda client: listening(client.lock("/lock")).acquire(),
    "a lock in use": lambda client: listening(client.lock("/lock")).hold().__enter__(),
    "a side": lambda client: listening(client.read_write_lock("/lock").write).acquire(),
    "a semaphore": lambda client: listening(client.semaphore("/lock", 1)).acquire(),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("hold", HELD_AND_HEARD.values(), ids=HELD_AND_HEARD)
def test_a_callback_of_waits_does_not_keep_its_lock(
    client: zkrecipes.Client, hold: Callable[[zkrecipes.Client], object]
) -> None:
    assert hold(client)
    with pytest.warns(ResourceWarning, match="/lock"):
        gc.collect()
    eventually(lambda: contenders(client, "/lock") == 0)


def test_a_callback_of_waits_that_refers_to_all_there_is_does_not_keep_it(client: zkrecipes.Client) -> None:
    both = client.read_write_lock("/lock")
    everything = [both, both.read, both.write, both.write.hold()]
    unsubscribe = both.write.on_wait(lambda progress, everything=everything: everything.clear())  # type: ignore[misc]
    everything.append(unsubscribe)
    both.write.acquire()
    del both, everything
    with pytest.warns(ResourceWarning, match="/lock"):
        gc.collect()
    eventually(lambda: contenders(client, "/lock") == 0)
    # Of what is gone.
    unsubscribe()


def test_on_asyncio_a_callback_of_waits_does_not_keep_its_lock(server: EmbeddedServer) -> None:
    async def work() -> None:
        async with aio.Client(server.connect_string) as client:
            lock = client.lock("/lock")
            lock.on_wait(lambda progress, lock=lock: lock.cancel())  # type: ignore[misc]
            await lock.acquire()
            del lock
            with pytest.warns(ResourceWarning, match="/lock"):
                gc.collect()
            async with client.lock("/lock").hold(timeout=15):
                pass

    asyncio.run(work())


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
