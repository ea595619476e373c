"""What goes on changing, as an iterator and as an asynchronous one."""

from __future__ import annotations

import asyncio
import gc
import queue
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any

import pytest
import zkrecipes
from conftest import Connect, eventually
from test_aio import run
from test_interrupts import program
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer


def test_a_loop_over_a_feed_sees_the_latest(connect: Connect) -> None:
    config, other = connect().config("/config"), connect().config("/config")
    with config.watch() as feed:
        assert iter(feed) is feed
        assert next(feed) is None
        other.set("one")
        assert next(feed) == (b"one", 0)
        # A slow reader hears of the last only.
        other.set("two")
        other.set("three")
        assert next(feed) == zkrecipes.Versioned(b"three", 2)
    assert list(feed) == []
    feed.close()
    assert config.cached is not None
    assert config.cached.value == (b"three", 2)
    assert 0 <= config.cached.age < 60


def test_who_waits_is_woken_by_the_end(client: zkrecipes.Client) -> None:
    with ThreadPoolExecutor(3) as pool:
        feed = client.config("/config").watch()
        told: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def read() -> str:
            for item in feed:
                told.put(item)
            return "over"

        readers = [pool.submit(read) for _ in range(2)]
        assert told.get(timeout=15) is None
        # Several may share it, and each item goes to one of them.
        client.config("/config").set("one")
        assert told.get(timeout=15) == (b"one", 0)
        feed.close()
        assert [reader.result(15) for reader in readers] == ["over", "over"]
        assert told.empty()


def test_the_end_of_the_client_is_the_end_of_its_feeds(hosts: str) -> None:
    with zkrecipes.Client(hosts) as client, ThreadPoolExecutor(1) as pool:
        feed = client.config("/config").watch()
        assert next(feed) is None
        reading = pool.submit(lambda: list(feed))
        client.close(10)
        assert reading.result(15) == []
    with pytest.raises(StopIteration):
        next(feed)


def test_what_is_watched_goes_with_the_feed(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client:
        config = client.config("/config")
        config.set("one")
        before = server.watch_count()
        for how in ("close", "del"):
            feed = config.watch()
            next(feed)
            assert server.watch_count() > before
            if how == "close":
                feed.close()
            else:
                del feed
                gc.collect()
            eventually(lambda: server.watch_count() == before)


def test_a_callback_must_not_wait_for_a_feed(client: zkrecipes.Client, server: EmbeddedServer) -> None:
    raised: queue.SimpleQueue[BaseException] = queue.SimpleQueue()
    with zkrecipes.Client(server.connect_string) as other:
        feed = other.config("/config").watch()

        def callback(state: object) -> None:
            try:
                next(feed)
            except zkrecipes.Error as error:
                raised.put(error)

        other.on_state(callback)
        server.expire(other.session_id)
        assert isinstance(raised.get(timeout=15), zkrecipes.WouldDeadlock)
        assert next(feed) is None


PROGRAM = """
import sys
import zkrecipes

client = zkrecipes.Client(sys.argv[1])
feed = client.config("/config").watch()
next(feed)
try:
    print("ready", flush=True)
    next(feed)
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.readline()
print(*next(feed), flush=True)
client.close()
"""


def test_ctrl_c_ends_a_wait_and_loses_nothing(client: zkrecipes.Client, hosts: str) -> None:
    with program(PROGRAM, hosts) as child:
        assert child.stdin
        assert child.stdout
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        client.config("/config").set("one")
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "b'one' 0\n"


def test_an_asynchronous_loop_over_a_feed(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            config = client.config("/config")
            told = []
            async with config.watch() as feed:
                async for now in feed:
                    told.append(now)
                    if len(told) == 3:
                        break
                    await config.set(str(len(told)))
            assert told == [None, (b"1", 0), (b"2", 1)]
            with pytest.raises(StopAsyncIteration):
                await feed.__anext__()
            async with aclosing(config.watch()) as feed:
                waiting = asyncio.ensure_future(_all(feed))
                await asyncio.sleep(0)
            await asyncio.wait_for(waiting, 15)

    run(body())


async def _all(feed: aio.Feed[Any]) -> list[Any]:
    return [item async for item in feed]


def test_a_cancelled_task_loses_no_item(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            config = client.config("/config")
            await config.set("one")
            feed = config.watch()
            # An item that is on its way when the task is cancelled: it has left the core, and nobody receives it.
            (await _on_its_way(feed)).discard()
            assert await feed.__anext__() == (b"one", 0)
            # One that is not there yet.
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(feed.__anext__(), 0.05)
            await config.set("two")
            assert await feed.__anext__() == (b"two", 1)

    run(body())


def test_what_comes_later_does_not_overtake_an_item_on_its_way(server: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            config = client.config("/config")
            await config.set("one")
            before = server.watch_count()
            feed = config.watch()
            outcome = await _on_its_way(feed)
            await config.set("two")
            # Whoever asks next waits for what becomes of it, and is told of it if nobody received it.
            waiting = asyncio.ensure_future(feed.__anext__())
            assert await asyncio.wait({waiting}, timeout=0.2) == (set(), {waiting})
            outcome.discard()
            assert await asyncio.wait_for(waiting, 15) == (b"one", 0)
            assert await feed.__anext__() == (b"two", 1)
            # Closed meanwhile, the feed lets go of everything.
            await config.set("three")
            outcome = await _on_its_way(feed)
            feed._close()
            outcome.discard()
            while server.watch_count() > before:
                await asyncio.sleep(0.005)
            with pytest.raises(StopAsyncIteration):
                await feed.__anext__()

    run(body())


def test_an_error_that_nobody_received_is_raised_next(server: EmbeddedServer) -> None:
    async def body() -> None:
        hosts = server.connect_string
        async with aio.Client(hosts, auth=("digest", "ann:x"), acl="creator") as owner, aio.Client(hosts) as client:
            await owner.nodes.create("/secret", "x")
            feed = client.nodes.watch("/secret")
            (await _on_its_way(feed)).discard()
            with pytest.raises(zkrecipes.Denied):
                await feed.__anext__()
            with pytest.raises(StopAsyncIteration):
                await feed.__anext__()

    run(body())


async def _on_its_way(feed: aio.Feed[Any]) -> Any:
    """An item that has left the core, and that nobody has received."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[Any] = loop.create_future()
    feed._next().start(lambda outcome: loop.call_soon_threadsafe(arrived.set_result, outcome))
    return await arrived


def test_a_feed_outlives_its_loop_and_ends_with_its_client(hosts: str) -> None:
    async def begin() -> tuple[aio.Client, aio.Feed[Any]]:
        client = await aio.Client.connect(hosts)
        feed = client.config("/config").watch()
        assert await feed.__anext__() is None
        return client, feed

    client, feed = asyncio.run(begin())

    async def end() -> None:
        waiting = asyncio.ensure_future(_all(feed))
        await asyncio.sleep(0)
        await client.close(10)
        assert await waiting == []

    asyncio.run(end())


def test_a_feed_can_be_named_in_an_annotation() -> None:
    assert str(zkrecipes.Feed[int]).endswith("Feed[int]")
    assert aio.Feed[int].__origin__ is aio.Feed  # type: ignore[attr-defined]


def test_threads_are_not_kept_by_a_feed_that_nobody_asks(client: zkrecipes.Client) -> None:
    before = threading.active_count()
    feeds = [client.config(f"/config{number}").watch() for number in range(20)]
    for feed in feeds:
        next(feed)
    assert threading.active_count() == before
