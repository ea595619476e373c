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
                await asyncio.wait_for(held.release(wait=False), 5)
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
