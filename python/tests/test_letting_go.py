"""Releases that do not wait, and turns that are passed on in memory."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import test_aio
import zkrecipes
from conftest import contenders, eventually
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[zkrecipes.Client]:
    with zkrecipes.Client(server.connect_string) as client:
        yield client


HANDLES: dict[str, Callable[[Any], Any]] = {
    "lock": lambda client: client.lock("/lock"),
    "multi-lock": lambda client: client.multi_lock([client.lock("/lock"), client.lock("/other")]),
    "semaphore": lambda client: client.semaphore("/lock", 1),
}
every_handle = pytest.mark.parametrize("handle", HANDLES.values(), ids=HANDLES)


@every_handle
def test_a_release_that_does_not_wait_asks_nobody(
    server: EmbeddedServer, client: zkrecipes.Client, handle: Callable[[Any], Any]
) -> None:
    it = handle(client)
    releases: list[Callable[[Any], None]] = [
        lambda held: it.release(wait=False),
        lambda held: held.release(wait=False),
    ]
    for release in releases:
        held = it.acquire()
        server.pause()
        try:
            began = time.monotonic()
            release(held)
            assert time.monotonic() - began < 5
            assert not held.is_held
            assert not it.is_held
            with pytest.raises(zkrecipes.NotHeld):
                it.release()
        finally:
            server.resume()
        # It is deleted all the same.
        with handle(client).hold(timeout=10):
            pass
    eventually(lambda: not it.contenders())


def test_a_release_that_waits_does(server: EmbeddedServer, client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    assert lock.acquire()
    server.pause()
    releasing = threading.Thread(target=lock.release)
    releasing.start()
    releasing.join(0.1)
    assert releasing.is_alive()
    assert not lock.is_held, "at once all the same"
    server.resume()
    releasing.join(10)
    assert not releasing.is_alive()
    assert contenders(client, "/lock") == 0


def test_a_release_in_a_callback_does_not_wait(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    raised: list[BaseException] = []
    held = lock.acquire()
    assert held

    def asked() -> None:
        try:
            lock.release()
        except zkrecipes.WouldDeadlock as error:
            raised.append(error)
            lock.release(wait=False)

    held.on_revoke(asked)
    assert client.lock("/lock").revoke()
    with client.lock("/lock").hold(timeout=10):
        assert len(raised) == 1


def test_asyncio_need_not_wait_either(server: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            lock = client.lock("/lock")
            held = await lock.acquire()
            assert held
            server.pause()
            try:
                await asyncio.wait_for(held.release(wait=False), 1)
                assert not lock.is_held
            finally:
                server.resume()
            assert await lock.acquire()
            server.pause()
            try:
                releasing = asyncio.ensure_future(lock.release())
                done, _ = await asyncio.wait([releasing], timeout=0.1)
                assert not done
                assert not lock.is_held
            finally:
                server.resume()
            await asyncio.wait_for(releasing, 10)
            await test_aio.there_are(client, 0)

    test_aio.run(body())


@pytest.mark.parametrize("wait", [True, False], ids=["wait", "no wait"])
def test_a_waiter_of_this_client_gets_the_turn_in_memory(
    server: EmbeddedServer, client: zkrecipes.Client, wait: bool
) -> None:
    one, two = (client.lock("/lock", local_handoff=5) for _ in range(2))

    def hand_over() -> bool:
        """Whether the turn was passed on; it is when the other one waits already."""
        first = one.acquire(timeout=10)
        assert first
        assert first.passes == 0
        then: list[zkrecipes.Held | None] = []
        waiter = threading.Thread(target=lambda: then.append(two.acquire(timeout=10)))
        waiter.start()
        waiter.join(0.01)
        server.clear_log()
        one.release(wait=wait)
        waiter.join()
        (second,) = then
        assert second
        asked = server.count("create*", "/lock/*") + server.count("delete", "/lock/*")
        assert not first.is_held
        second.verify()
        two.release()
        if second.passes == 0:
            assert second.fencing_token > first.fencing_token
            return False
        assert (second.passes, second.fencing_token) == (1, first.fencing_token)
        assert second.node == first.node
        assert second.sequencer == first.sequencer
        assert asked == 0
        return True

    eventually(hand_over)
    eventually(lambda: contenders(client, "/lock") == 0)


def test_turns_are_passed_on_so_often_and_no_more(server: EmbeddedServer, client: zkrecipes.Client) -> None:
    turns: list[tuple[int, int]] = []

    def work() -> None:
        lock = client.lock("/lock", local_handoff=2)
        for _ in range(20):
            with lock as held:
                turns.append((held.fencing_token, held.passes))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(turns) == 80
    assert turns == sorted(set(turns)), "the pair rises strictly"
    assert max(passes for _, passes in turns) == 2
    assert server.count("create*", "/lock/*") < 80


def test_another_client_is_not_kept_waiting(server: EmbeddedServer, client: zkrecipes.Client) -> None:
    order: list[str] = []

    def work(name: str, lock: zkrecipes.Lock) -> None:
        with lock.hold(timeout=10):
            order.append(name)

    with zkrecipes.Client(server.connect_string) as other:
        with client.lock("/lock", local_handoff=1):
            workers = [threading.Thread(target=work, args=("other", other.lock("/lock")))]
            workers[0].start()
            eventually(lambda: contenders(client, "/lock") == 2)
            assert client.lock("/lock", local_handoff=1).acquire(blocking=False) is None
            for _ in range(4):
                workers.append(threading.Thread(target=work, args=("own", client.lock("/lock", local_handoff=1))))
                workers[-1].start()
        for worker in workers:
            worker.join()
    assert sorted(order) == ["other"] + ["own"] * 4
    assert order.index("other") <= 1


def test_asyncio_passes_the_turn_on_too(server: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            one, two = (client.lock("/lock", local_handoff=5) for _ in range(2))

            async def hand_over() -> bool:
                first = await one.acquire()
                assert first
                waiting = asyncio.ensure_future(two.acquire())
                await asyncio.sleep(0.01)
                server.clear_log()
                await one.release(wait=False)
                second = await asyncio.wait_for(waiting, 10)
                assert second
                asked = server.count("create*", "/lock/*") + server.count("delete", "/lock/*")
                await two.release()
                if second.passes == 0:
                    assert second.fencing_token > first.fencing_token
                    return False
                assert (second.passes, second.fencing_token) == (1, first.fencing_token)
                assert asked == 0
                return True

            await test_aio.eventually(hand_over)
            # A waiter that is cancelled is passed over.
            held = await one.acquire()
            assert held
            waiting = asyncio.ensure_future(two.acquire())
            await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.wait([waiting])
            await held.release()
            await test_aio.there_are(client, 0)

    test_aio.run(body())
