"""What Python makes of barriers."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import zkrecipes
from conftest import Connect
from test_aio import run
from zkrecipes import aio


def test_who_comes_to_a_barrier_waits_until_it_is_lifted(connect: Connect) -> None:
    barrier, other = connect().barrier("/barrier"), connect().barrier("/barrier")
    barrier.wait()
    barrier.create()
    barrier.create()
    assert other.is_up()
    with pytest.raises(TimeoutError):
        other.wait(timeout=0)
    with pytest.raises(zkrecipes.Timeout):
        other.wait(0.05)
    passed = threading.Thread(target=other.wait)
    passed.start()
    assert passed.is_alive()
    barrier.remove()
    passed.join(15)
    assert not passed.is_alive()
    barrier.remove()
    assert not other.is_up()
    assert (repr(barrier), barrier.path) == ("<Barrier /barrier>", "/barrier")


def test_tasks_wait_at_a_barrier(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            barrier = client.barrier("/barrier")
            await barrier.create()
            assert await barrier.is_up()
            with pytest.raises(aio.Timeout):
                await barrier.wait(0.05)
            waiting = [asyncio.ensure_future(client.barrier("/barrier").wait()) for _ in range(3)]
            waiting[0].cancel()
            await barrier.remove()
            outcomes = await asyncio.gather(*waiting, return_exceptions=True)
            assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError, type(None), type(None)]

    run(body())


def test_waits_are_cancelled_from_another_thread(client: zkrecipes.Client) -> None:
    barrier = client.barrier("/barrier")
    barrier.create()
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(barrier.wait) for _ in range(2)]
        while not all(one.done() for one in waiting):
            barrier.cancel()
        assert [type(one.exception()) for one in waiting] == [zkrecipes.Cancelled] * 2
    # Later ones are not affected.
    with pytest.raises(zkrecipes.Timeout):
        barrier.wait(0.05)


@pytest.mark.parametrize("wrong", ["1", b"1", float("nan"), -2, -0.5])
def test_a_time_that_is_none_is_refused(client: zkrecipes.Client, wrong: Any) -> None:
    with pytest.raises(zkrecipes.Invalid, match="timeout"):
        client.barrier("/barrier").wait(wrong)
