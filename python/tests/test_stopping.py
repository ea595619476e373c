"""`stop`, of what goes on for long: an event that ends it, whether it was set before or is set meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import zkrecipes
from conftest import Connect, eventually
from test_aio import run
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer

# By what they are called: a run that hands what it works on to a function.
Run = Callable[..., None]


def processing(client: zkrecipes.Client) -> Run:
    queue = client.queue("/queue")
    queue.put_many(["tea", "coffee"])
    return queue.process


def leading(client: zkrecipes.Client) -> Run:
    return client.election("/leader").run


def sharing(client: zkrecipes.Client) -> Run:
    return client.partitioner("/partitions", 1).run


RUNS = pytest.mark.parametrize("runs", [processing, leading, sharing])


@RUNS
def test_what_was_to_stop_before_it_began_does_nothing(
    connect: Connect, runs: Callable[[zkrecipes.Client], Run]
) -> None:
    client, stop = connect(), threading.Event()
    done: list[object] = []
    stop.set()
    runs(client)(done.append, stop=stop)
    assert done == []
    assert client.queue("/queue").stats().claimed == 0
    assert client.election("/leader").candidates() == []
    assert client.partitioner("/partitions", 1).members() == {}


@RUNS
def test_what_is_begun_is_finished(connect: Connect, runs: Callable[[zkrecipes.Client], Run]) -> None:
    client, stop, begun = connect(), threading.Event(), threading.Event()
    done: list[object] = []

    def work(what: zkrecipes.Held) -> None:
        asked = threading.Event()
        what.on_revoke(asked.set)
        begun.set()
        assert stop.wait(30)
        if runs is leading:
            eventually(lambda: not what.is_held)
        if runs is sharing:
            assert asked.wait(30)
        done.append(what)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(runs(client), work, stop=stop)
        assert begun.wait(30)
        stop.set()
        running.result(30)
    assert len(done) == 1
    assert client.election("/leader").candidates() == []
    assert client.partitioner("/partitions", 1).members() == {}


@RUNS
def test_what_waits_ends(connect: Connect, runs: Callable[[zkrecipes.Client], Run]) -> None:
    client, other, stop = connect(), connect(), threading.Event()
    with contextlib.ExitStack() as held, ThreadPoolExecutor(1) as pool:
        # Others have what it waits for.
        held.enter_context(other.election("/leader").campaign())
        partition = other.partitioner("/partitions", 1).next()
        run = runs(client)
        if runs is processing:
            for item in client.queue("/queue").claim_many(2, 10):
                item.ack()
        running = pool.submit(run, lambda _: None, stop=stop)
        eventually(lambda: is_waiting(client, runs))
        stop.set()
        running.result(30)
        partition.release()


def is_waiting(client: zkrecipes.Client, runs: object) -> bool:
    if runs is leading:
        return len(client.election("/leader").candidates()) == 2
    return runs is processing or len(client.partitioner("/partitions", 1).members()) == 2


def test_the_handler_of_a_signal_may_set_it(connect: Connect) -> None:
    """In the thread that works, too."""
    queue, stop = connect().queue("/queue"), threading.Event()
    queue.put_many(["tea", "coffee"])
    seen: list[bytes] = []

    def work(item: zkrecipes.Item) -> None:
        seen.append(item.data)
        signal.raise_signal(signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        queue.process(work, stop=stop)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (seen, queue.len()) == ([b"tea"], 1)


def test_only_events_of_threads_stop_threads(client: zkrecipes.Client) -> None:
    for runs in processing, leading, sharing:
        for wrong in True, asyncio.Event():
            with pytest.raises(zkrecipes.InvalidType, match=r"invalid stop: must be a threading\.Event"):
                runs(client)(lambda _: None, stop=wrong)


def test_cancel_ends_a_loop_over_partitions_while_its_body_runs(client: zkrecipes.Client) -> None:
    partitioner = client.partitioner("/partitions", 2)
    won: list[str] = []
    for partition in partitioner:
        won.append(partition.name)
        partitioner.cancel()
        partition.release()
    assert len(won) == 1
    partitioner.leave()


def test_the_same_on_a_loop(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            partitioner = client.partitioner("/loop", 2)
            won: list[str] = []
            async for partition in partitioner:
                won.append(partition.name)
                partitioner.cancel()
                await partition.release()
            assert len(won) == 1
            await partitioner.leave()

            queue = client.queue("/queue")
            await queue.put_many(["tea", "coffee"])
            runs: list[Any] = [
                queue.process,
                client.election("/leader").run,
                client.partitioner("/partitions", 1).run,
            ]
            for number, one in enumerate(runs):
                stop = asyncio.Event()
                done: list[object] = []

                async def work(what: aio.Held, stop: asyncio.Event = stop, done: list[object] = done) -> None:
                    asked = asyncio.Event()
                    what.on_revoke(asked.set)
                    stop.set()
                    try:
                        await asked.wait() if what.path.startswith("/partitions") else await asyncio.sleep(0)
                    finally:
                        done.append(what)

                with pytest.raises(aio.InvalidType, match=r"invalid stop: must be an asyncio\.Event"):
                    await one(work, stop=threading.Event())
                await one(work, stop=stop)
                assert len(done) == 1, number
                # As if a signal had come a moment too early.
                await one(work, stop=stop)
                assert len(done) == 1, number
            assert await queue.len() == 1
            assert await client.election("/leader").candidates() == []
            assert await client.partitioner("/partitions", 1).members() == {}

    run(body())


def test_a_stopped_run_leaves_no_thread(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client:
        queue, stop = client.queue("/queue"), threading.Event()
        queue.put("tea")
        queue.process(lambda item: queue.cancel(), stop=stop)
        eventually(lambda: all(thread.name != "zkrecipes stop" for thread in threading.enumerate()))
        assert not stop.is_set()
