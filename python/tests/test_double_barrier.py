"""What Python makes of barriers that are entered and left."""

from __future__ import annotations

import asyncio
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import zkrecipes
from conftest import Connect, eventually
from test_aio import run
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer


def test_all_enter_and_leave_together_round_after_round(connect: Connect) -> None:
    clients = [connect() for _ in range(3)]
    begun, ended = [0, 0], [0, 0]
    counting = threading.Lock()

    def work(number: int) -> None:
        with_name = clients[number].double_barrier("/barrier", 3, f"party-{number}")
        for turn in range(2):
            with counting:
                begun[turn] += 1
            with with_name as barrier:
                assert barrier is with_name
                assert begun[turn] == 3
                assert barrier.has_entered
                with counting:
                    ended[turn] += 1
            assert ended[turn] == 3
            assert not with_name.has_entered

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))


def test_what_a_party_says_of_itself(connect: Connect) -> None:
    client = connect(identity="me")
    barrier = client.double_barrier("/barrier", 1)
    assert (barrier.path, barrier.parties, barrier.name) == ("/barrier", 1, "me")
    assert repr(barrier) == "<DoubleBarrier /barrier of 1 not entered>"
    barrier.enter()
    assert repr(barrier) == "<DoubleBarrier /barrier of 1 entered>"
    with pytest.raises(zkrecipes.Exists):
        barrier.enter()
    barrier.leave()
    for again in (barrier.leave, barrier.withdraw):
        with pytest.raises(zkrecipes.NotHeld):
            again()


def test_a_body_that_fails_waits_for_nobody(connect: Connect) -> None:
    one, two = (connect().double_barrier("/barrier", 2, name) for name in "ab")
    with ThreadPoolExecutor(1) as pool:
        entering = pool.submit(two.enter)
        with pytest.raises(ZeroDivisionError), one:
            1 / 0  # noqa: B018
        assert not one.has_entered
        entering.result(15)
        two.leave(15)


def test_who_left_early_leaves_the_scope_in_silence(connect: Connect) -> None:
    with connect().double_barrier("/barrier", 1) as barrier:
        barrier.leave()
    with barrier:
        barrier.withdraw()


def test_tasks_enter_and_leave_together(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            inside = 0

            async def work(name: str) -> None:
                nonlocal inside
                async with client.double_barrier("/barrier", 3, name) as barrier:
                    assert barrier.has_entered
                    inside += 1
                assert inside == 3

            await asyncio.gather(*map(work, "abc"))
            alone = client.double_barrier("/other", 1)
            with pytest.raises(ZeroDivisionError):
                async with alone:
                    1 / 0  # noqa: B018
            async with alone:
                await alone.leave()
            with pytest.raises(aio.Timeout):
                await client.double_barrier("/other", 2).enter(0.05)

    run(body())


def test_leaving_masks_neither_an_error_nor_a_cancel_where_the_client_is_closed(hosts: str) -> None:
    async def body() -> None:
        client = await aio.Client.connect(hosts)
        entered = asyncio.Event()

        async def work(name: str, failing: type[Exception] | None) -> None:
            async with client.double_barrier("/barrier", 2, name):
                entered.set()
                await asyncio.sleep(60 if failing is None else 0)
                await client.close()
                raise failing or AssertionError

        cancelled = asyncio.create_task(work("a", None))
        with pytest.raises(ZeroDivisionError):
            await work("b", ZeroDivisionError)
        await entered.wait()
        cancelled.cancel()
        await asyncio.wait([cancelled])
        assert cancelled.cancelled()

    run(body())


def test_a_cancel_that_meets_the_last_party_counts_for_nobody(connect: Connect, hosts: str) -> None:
    other = connect().double_barrier("/barrier", 1, "other")

    async def body() -> None:
        async with aio.Client(hosts) as client:
            barrier = client.double_barrier("/barrier", 1)
            entering = asyncio.ensure_future(barrier.enter())
            await asyncio.sleep(0)
            # The loop hears of it only after this.
            eventually(lambda: barrier.has_entered)
            entering.cancel()
            with pytest.raises(asyncio.CancelledError):
                await entering
            eventually(lambda: not barrier.has_entered)
            await barrier.enter()
            await barrier.leave()

    run(body())
    other.enter(15)
    other.leave(15)


def test_a_task_that_goes_on_after_a_cancel_is_counted_by_nobody(server: EmbeddedServer) -> None:
    other = zkrecipes.Client(server.connect_string)

    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            barrier = client.double_barrier("/barrier", 2)
            entering = asyncio.ensure_future(barrier.enter())
            while not await client.nodes.exists("/barrier") or not await client.nodes.children("/barrier"):
                await asyncio.sleep(0.002)
            # The deletion of its node is late, and the task is cancelled once more meanwhile.
            server.inject(f"delay_request delete by=200ms session={client.session_id:#x}")
            entering.cancel()
            await asyncio.sleep(0.02)
            entering.cancel()
            with pytest.raises(asyncio.CancelledError):
                await entering
            assert not other.nodes.children("/barrier")
            await asyncio.gather(barrier.enter(), client.double_barrier("/barrier", 2, "second").enter())

    with other:
        run(body())


def test_an_interrupt_that_meets_the_last_party_counts_for_nobody(server: EmbeddedServer) -> None:
    class AlarmError(Exception):
        pass

    with zkrecipes.Client(server.connect_string) as client:
        barrier = client.double_barrier("/barrier", 1)

        def ring(*_: object) -> None:
            server.resume()
            eventually(lambda: barrier.has_entered)
            raise AlarmError

        before = signal.signal(signal.SIGALRM, ring)
        try:
            server.pause()
            with pytest.raises(AlarmError):
                signal.setitimer(signal.ITIMER_REAL, 1.0)
                barrier.enter()
        finally:
            signal.signal(signal.SIGALRM, before)
        eventually(lambda: not barrier.has_entered)
        barrier.enter(15)
        barrier.leave(15)


@pytest.mark.parametrize("parties", [0, -1, True, "2", 2.0, None])
def test_a_number_of_parties_that_is_none_is_refused(client: zkrecipes.Client, parties: Any) -> None:
    with pytest.raises(zkrecipes.Invalid, match="parties"):
        client.double_barrier("/barrier", parties)
