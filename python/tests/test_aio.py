"""The asyncio face."""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
import zkrecipes
from conftest import contenders
from conftest import eventually as sooner_or_later
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer


def run(body: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(body, 60))


async def eventually(condition: Callable[[], Awaitable[object]], within: float = 15) -> None:
    async def happens() -> None:
        while not await condition():
            await asyncio.sleep(0.005)

    await asyncio.wait_for(happens(), within)


async def there_are(client: aio.Client, number: int, path: str = "/lock") -> None:
    async def counted() -> bool:
        return len(await client.lock(path).contenders()) == number

    await eventually(counted)


def test_tasks_that_enter_one_client_share_its_session(server: EmbeddedServer) -> None:
    async def body() -> None:
        client = aio.Client(server.connect_string)
        server.clear_log()
        await asyncio.gather(*(client.__aenter__() for _ in range(3)))
        assert server.count("connect") == 1
        assert client.state == "connected"
        await client.close()

    run(body())


def test_async_with_holds_and_releases(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts, identity="me") as client:
            assert client.state is aio.State.CONNECTED
            lock = client.lock("/lock")
            async with lock as held:
                assert isinstance(held, aio.Held)
                assert held.is_held
                assert lock.is_held
                assert held.fencing_token == lock.fencing_token > 0
                await held.verify()
                await lock.verify()
                (contender,) = await lock.contenders()
                assert (contender.identity, contender.holds) == ("me", True)
                assert await client.lock("/lock").acquire(blocking=False) is None
                assert await client.lock("/lock").acquire(timeout=0.05) is None
                with pytest.raises(TimeoutError):
                    async with client.lock("/lock").hold(0.05):
                        pytest.fail("entered")
            assert not held.is_held
            async with lock.hold(timeout=5) as held:
                assert held.is_held
            assert await lock.acquire(timeout=5)
            await lock.release()
            held = await lock.acquire(timeout=-1)
            assert held
            async with held:
                pass
            with pytest.raises(aio.NotHeld):
                await held.release()
            assert await lock.acquire()
            await lock.release(wait=False)
            await there_are(client, 0)
        assert client.state is aio.State.CLOSED
        with pytest.raises(aio.Closed):
            await lock.acquire()
        with pytest.raises(aio.Closed, match="the client is closed"):
            async with client:
                pytest.fail("the block has begun")

    run(body())


def test_a_client_can_be_connected_without_a_scope(hosts: str) -> None:
    async def body() -> None:
        client = await aio.Client.connect(hosts, session_timeout=6)
        client.update_hosts(f"127.0.0.1:1,{hosts}")
        assert f"of 127.0.0.1:1,{hosts} connected" in repr(client)
        assert isinstance(client, aio.Client)
        assert client.session_timeout == pytest.approx(6)
        await client.close()
        async with await aio.Client.connect(hosts) as client:
            assert client.session_id
        unconnected = aio.Client(hosts)
        assert unconnected.state == "closed"
        with pytest.raises(aio.Closed, match="async with"):
            unconnected.lock("/lock")
        await unconnected.close()

    run(body())


def test_verbs_are_coroutine_functions_with_signature_and_documentation() -> None:
    for cls in (aio.Client, aio.Lock, aio.Held, aio.Nodes, aio.Transaction):
        blocking = getattr(zkrecipes, cls.__name__)
        for name in (name for name in dir(blocking) if not name.startswith("_")):
            assert hasattr(cls, name), f"{cls.__name__}.{name} is missing"
            assert inspect.getdoc(getattr(cls, name)), f"{cls.__name__}.{name} has no documentation"
    for verb in (aio.Client.close, aio.Lock.acquire, aio.Lock.release, aio.Held.verify, aio.Nodes.get):
        assert inspect.iscoroutinefunction(verb)
    assert list(inspect.signature(aio.Lock.acquire).parameters) == ["self", "blocking", "timeout"]


def test_what_was_acquired_when_the_cancel_arrives_is_released(hosts: str) -> None:
    """Cancelled after any number of turns of the loop: the handle, which lives on, holds nothing."""

    async def body() -> None:
        async with aio.Client(hosts) as client:
            lock = client.lock("/lock")
            acquired = 0
            for turns in range(60):
                task = asyncio.create_task(lock.acquire())
                for _ in range(turns):
                    await asyncio.sleep(0 if turns % 2 else 0.0003)
                task.cancel()
                try:
                    held = await task
                except asyncio.CancelledError:
                    pass
                else:
                    assert held
                    acquired += 1
                    await held.release()
                await there_are(client, 0)
                assert not lock.is_held
            assert acquired

    run(body())


def test_a_cancel_that_meets_the_result_releases_it(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            lock = client.lock("/lock")
            task = asyncio.create_task(lock.acquire())
            await asyncio.sleep(0)
            # The lock is acquired, and the task cannot have run since: nobody gave the loop a turn.
            while not lock.is_held:
                time.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await there_are(client, 0)
            assert not lock.is_held

    run(body())


def test_a_closed_loop_leaves_nothing(hosts: str, client: zkrecipes.Client) -> None:
    clients: list[aio.Client] = []

    async def body() -> None:
        clients.append(await aio.Client.connect(hosts))
        asyncio.get_running_loop().call_soon(asyncio.ensure_future, clients[0].lock("/lock").acquire())

    loop = asyncio.new_event_loop()
    held = client.lock("/lock").acquire()
    assert held
    loop.run_until_complete(body())
    loop.run_until_complete(asyncio.sleep(0.05))
    loop.close()
    held.release()
    # Whoever waited on the closed loop gets the lock, cannot be told, and lets go.
    with client.lock("/lock").hold(10):
        pass
    gc.collect()

    asyncio.run(clients[0].close())
    assert contenders(client, "/lock") == 0


def test_what_a_call_does_happens_when_it_is_called(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client, client.lock("/lock") as held:
            waiter = client.lock("/lock")
            task = asyncio.create_task(waiter.acquire())
            await asyncio.sleep(0)
            waiter.cancel()
            with pytest.raises(aio.Cancelled):
                await task
            releasing = asyncio.create_task(held.release())
            await asyncio.sleep(0)
            assert not held.is_held
            await releasing
            await there_are(client, 0)

    run(body())


def test_tasks_that_share_a_handle_leave_with_their_own_acquisition(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            lock = client.lock("/lock")
            is_in, may_leave = asyncio.Event(), asyncio.Event()

            async def other() -> None:
                async with lock as held:
                    is_in.set()
                    await may_leave.wait()
                    assert held.is_held

            async with lock:
                task = asyncio.create_task(other())
                await lock.release()
                await is_in.wait()
            assert lock.is_held
            may_leave.set()
            await task
            assert not lock.is_held

    run(body())


def test_a_scope_may_be_left_in_another_task(hosts: str) -> None:
    """As fixtures of test frameworks do."""

    async def body() -> None:
        async with aio.Client(hosts) as client:
            lock = client.lock("/lock")
            await asyncio.create_task(lock.__aenter__())
            assert lock.is_held
            await asyncio.create_task(lock.__aexit__(None, None, None))
            assert not lock.is_held

    run(body())


def test_an_error_of_the_body_is_not_masked(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            with pytest.raises(KeyError):
                async with client.lock("/lock"):
                    raise KeyError
            with pytest.raises(KeyError):
                async with client.lock("/lock", cancel_on_lost=True) as held:
                    try:
                        await client.nodes.delete(held.node)
                        await asyncio.sleep(30)
                    finally:
                        raise KeyError
            await there_are(client, 0)

    run(body())


def test_callbacks_run_on_the_loop(server: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            here = threading.get_ident()
            told: asyncio.Queue[tuple[object, int]] = asyncio.Queue()
            unsubscribe = client.on_state(lambda state: told.put_nowait((state, threading.get_ident())))
            server.stop()
            assert await told.get() == ("suspended", here)
            server.restart()
            assert await told.get() == ("connected", here)
            unsubscribe()
            held = await client.lock("/lock").acquire()
            assert held
            held.on_lost(lambda error: told.put_nowait((error.reason, threading.get_ident())))
            server.expire(client.session_id)
            assert await told.get() == ("session", here)

    run(body())


def test_an_exception_in_a_callback_is_logged_and_stops_nothing(
    server: EmbeddedServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            told: asyncio.Queue[object] = asyncio.Queue()

            def explode(state: aio.State) -> None:
                raise ZeroDivisionError("in the callback")

            client.on_state(explode)
            client.on_state(told.put_nowait)
            server.stop()
            assert await told.get() == "suspended"
            server.restart()
            assert await told.get() == "connected"

    with caplog.at_level(logging.ERROR, logger="zkrecipes"):
        run(body())
    assert "in the callback" in caplog.text


def test_a_lock_collected_while_held_warns_logs_and_is_released(hosts: str, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            lock = client.lock("/lock")
            assert await lock.acquire()
            with pytest.warns(ResourceWarning, match="/lock"):
                del lock
            await there_are(client, 0)

    # A ResourceWarning is hidden unless somebody asks for it; a log line of this level is not.
    with caplog.at_level(logging.WARNING, logger="zkrecipes"):
        run(body())
        sooner_or_later(lambda: "garbage-collected" in caplog.text)


def test_a_partition_collected_while_held_warns_logs_and_comes_again(
    hosts: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            partitioner = client.partitioner("/partitions", 1)
            partition = await partitioner.next(15)
            with pytest.warns(ResourceWarning, match="the partition /partitions/"):
                del partition
            again = await partitioner.next(15)
            await again.release()
            await partitioner.leave()

    with caplog.at_level(logging.WARNING, logger="zkrecipes"):
        run(body())
        sooner_or_later(lambda: "garbage-collected" in caplog.text)


def test_tasks_that_acquire_are_served_in_the_order_in_which_they_began(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            # Each path is new once, and known then.
            for turn in range(40):
                tokens: list[int] = []

                async def work(lock: aio.Lock, tokens: list[int] = tokens) -> int:
                    async with lock as held:
                        tokens.append(held.fencing_token)
                        return held.fencing_token

                locks = [client.lock(f"/order-{turn % 20}") for _ in range(8)]
                assert await asyncio.gather(*map(work, locks)) == tokens == sorted(tokens)

    run(body())
