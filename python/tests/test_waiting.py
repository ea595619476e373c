"""Who waits can see for whom, and how long."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
import zkrecipes
from conftest import Connect, eventually
from zkrecipes import aio


def test_a_wait_is_told_for_whom_and_how_long(connect: Connect) -> None:
    holder, waiter = connect(identity="night-shift"), connect()
    lock, told = waiter.lock("/lock"), list[zkrecipes.WaitProgress]()
    unsubscribe = lock.on_wait(told.append)
    with holder.lock("/lock") as held:
        waiting = threading.Thread(target=lambda: lock.acquire(timeout=20))
        waiting.start()
        eventually(lambda: told)
        held.release()
    waiting.join()
    lock.release()
    progress = told[0]
    assert progress.path == "/lock"
    assert 1 <= progress.waited < 20
    assert progress.ahead == 1
    assert progress.holder is not None
    assert (progress.holder.identity, progress.holder.holds) == ("night-shift", True)
    assert held.node.endswith(progress.holder.node)
    unsubscribe()
    with pytest.raises(zkrecipes.InvalidType, match="callback"):
        lock.on_wait(None)  # type: ignore[arg-type]
    waiter.close()
    with pytest.raises(zkrecipes.Closed):
        lock.on_wait(told.append)


def test_a_timeout_names_the_limit_and_who_holds(connect: Connect) -> None:
    with connect(identity="night-shift").lock("/lock"):
        timeout = pytest.raises(zkrecipes.Timeout, match=r"within 1s.*night-shift holds it")
        with timeout as raised, connect().lock("/lock").hold(timeout=1):
            pass
        assert raised.value.path == "/lock"


def test_no_connection_says_what_is_wrong_and_names_the_option() -> None:
    with pytest.raises(zkrecipes.ConnectionLost, match=r"127\.0\.0\.1:1 refuses connections.*connect_timeout"):
        zkrecipes.Client("127.0.0.1:1", connect_timeout=0.5)


def test_a_task_that_waits_is_told_on_its_loop(connect: Connect, hosts: str) -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        told: asyncio.Queue[tuple[zkrecipes.WaitProgress, asyncio.AbstractEventLoop]] = asyncio.Queue()

        def tell(progress: zkrecipes.WaitProgress) -> None:
            told.put_nowait((progress, asyncio.get_running_loop()))

        async with aio.Client(hosts) as client:
            lock = client.lock("/lock")
            lock.on_wait(tell)
            waiting = asyncio.create_task(lock.acquire())
            progress, called_on = await asyncio.wait_for(told.get(), 20)
            assert called_on is loop
            assert progress.holder is not None
            assert progress.holder.identity == "night-shift"
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    with connect(identity="night-shift").lock("/lock"):
        asyncio.run(work())


def test_waits_at_barriers_and_queues_are_told(connect: Connect) -> None:
    client = connect(identity="keeper")
    barrier, queue = client.barrier("/up"), client.queue("/empty")
    party = client.double_barrier("/round", 3)
    told: dict[str, zkrecipes.WaitProgress] = {}
    all_told = threading.Event()

    def tell(progress: zkrecipes.WaitProgress) -> None:
        told.setdefault(progress.path, progress)
        if len(told) == 3:
            all_told.set()

    for waits in (barrier, queue, party):
        waits.on_wait(tell)
    barrier.create()
    with ThreadPoolExecutor() as pool:
        lifted, got, entered = pool.submit(barrier.wait), pool.submit(queue.get), pool.submit(party.enter)
        assert all_told.wait(20)
        barrier.remove()
        queue.put("one")
        party.cancel()
        lifted.result(20)
        assert got.result(20) == b"one"
        with pytest.raises(zkrecipes.Cancelled):
            entered.result(20)
    at_barrier, at_queue, at_round = told["/up"], told["/empty"], told["/round"]
    assert at_barrier.waited >= 1
    assert at_barrier.holder is not None
    assert (at_barrier.holder.identity, at_barrier.ahead) == ("keeper", None)
    assert (at_round.ahead, at_round.holder) == (2, None)
    assert (at_queue.ahead, at_queue.holder) == (None, None)


def test_who_listens_to_waits_is_not_kept_by_it(connect: Connect) -> None:
    client = connect()
    barrier = client.barrier("/up")
    weak = weakref.ref(barrier)
    barrier.on_wait(lambda progress, barrier=barrier: None)()  # type: ignore[misc]
    del barrier
    gc.collect()
    assert weak() is None


def test_a_task_at_a_queue_is_told_on_its_loop(hosts: str) -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        told: asyncio.Queue[tuple[zkrecipes.WaitProgress, asyncio.AbstractEventLoop]] = asyncio.Queue()
        async with aio.Client(hosts) as client:
            queue = client.queue("/empty")
            queue.on_wait(lambda progress: told.put_nowait((progress, asyncio.get_running_loop())))
            getting = asyncio.create_task(queue.get())
            progress, called_on = await asyncio.wait_for(told.get(), 20)
            assert called_on is loop
            assert (progress.path, progress.holder) == ("/empty", None)
            await queue.put("one")
            assert await getting == b"one"

    asyncio.run(work())
