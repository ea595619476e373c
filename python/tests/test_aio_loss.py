"""Losing what was held, on the asyncio face: the body that is cancelled, and what leaving it raises."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time

import pytest
from test_aio import run, there_are
from zkrecipes import aio
from zkrecipes._scopes import Body
from zkrecipes.testing import EmbeddedServer


def test_losing_the_lock_cancels_the_body_and_surfaces_as_lost(server: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            reached: list[str] = []
            with pytest.raises(aio.Lost) as caught:
                async with client.lock("/lock", cancel_on_lost=True) as held:
                    server.expire(client.session_id)
                    try:
                        await asyncio.sleep(30)
                    finally:
                        reached.append("cleanup")
                    reached.append("end")
            assert caught.value.reason == "session"
            assert reached == ["cleanup"]
            assert not held.is_held
            # The cancellation was ours alone: this task goes on.
            await asyncio.sleep(0)
            this = asyncio.current_task()
            assert this
            assert not hasattr(this, "cancelling") or this.cancelling() == 0
            async with client.lock("/lock", cancel_on_lost=True).hold(10) as held:
                await held.verify()

    run(body())


def test_without_it_the_body_goes_on_and_leaving_raises_lost(server: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            with pytest.raises(aio.Lost):
                async with client.lock("/lock") as held:
                    lost = asyncio.Event()
                    held.on_lost(lambda error: lost.set())
                    server.expire(client.session_id)
                    await lost.wait()
                    await asyncio.sleep(0.01)

    run(body())


def test_a_body_that_swallows_the_cancellation_still_raises_lost(server: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            with pytest.raises(aio.Lost):
                async with client.lock("/lock", cancel_on_lost=True):
                    server.expire(client.session_id)
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.sleep(30)
            await asyncio.sleep(0)

    run(body())


# Before 3.11 a task does not count its cancellations: the second of one turn cannot be told from the first.
ORDERS = ["outside first", "outside alone"] + ["loss first"] * (sys.version_info >= (3, 11))


@pytest.mark.parametrize("order", ORDERS)
def test_a_cancellation_from_outside_stands(
    server: EmbeddedServer, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            lock = client.lock("/lock", cancel_on_lost=True)
            inside = asyncio.Event()

            async def work() -> None:
                async with lock:
                    inside.set()
                    await asyncio.sleep(30)

            if order == "loss first":
                interrupt = Body._interrupt

                def both_in_one_turn(body: Body, error: aio.Lost) -> None:
                    interrupt(body, error)
                    task.cancel()

                monkeypatch.setattr(Body, "_interrupt", both_in_one_turn)
            task = asyncio.create_task(work())
            await inside.wait()
            if order == "outside alone":
                task.cancel()
            elif order == "outside first":
                server.expire(client.session_id)
                while lock.is_held:  # the loop gets no turn, and cannot tell of the loss yet
                    time.sleep(0.001)
                task.cancel()
            else:
                server.expire(client.session_id)
            with pytest.raises(asyncio.CancelledError):
                await task
            assert task.cancelled()
            await there_are(client, 0)

    run(body())


def test_a_loss_after_the_scope_was_left_cancels_nobody(server: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            lock = client.lock("/lock", cancel_on_lost=True)
            for _ in range(20):
                async with lock:
                    pass
                server.expire(client.session_id)
                await asyncio.sleep(0.01)

    run(body())


def test_losing_one_of_two_nested_locks_cancels_the_inner_body_only(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client, client.lock("/outer", cancel_on_lost=True) as outer:
            with pytest.raises(aio.Lost) as caught:
                async with client.lock("/inner", cancel_on_lost=True) as inner:
                    await client.nodes.delete(inner.node)
                    await asyncio.sleep(30)
            assert caught.value.path == "/inner"
            await outer.verify()

    run(body())
