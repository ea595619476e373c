"""What Python makes of a counter."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import zkrecipes
from conftest import Connect
from test_aio import run
from zkrecipes import aio


def test_threads_and_clients_count_together(connect: Connect) -> None:
    counters = [connect().counter("/counter") for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda i: counters[i % 2].add(1), range(40)))
    assert sorted(values) == list(range(1, 41))
    assert counters[0].get() == 40


def test_tasks_count_together(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            counter = client.counter("/counter", layout="shared")
            values = await asyncio.gather(*(counter.add(2) for _ in range(10)))
            assert sorted(values) == list(range(2, 22, 2))
            assert await counter.compare_and_set(20, -1)
            assert not await counter.compare_and_set(20, 0)
            assert await counter.get() == -1

    run(body())


@pytest.mark.parametrize("wrong", [True, "1", 1.0, None, b"1"])
def test_only_ints_are_counted_with(client: zkrecipes.Client, wrong: Any) -> None:
    counter = client.counter("/counter")
    for call in (counter.add, lambda n: counter.compare_and_set(n, 1), lambda n: counter.compare_and_set(1, n)):
        with pytest.raises(zkrecipes.InvalidType):
            call(wrong)


def test_what_is_beyond_the_range_is_refused(client: zkrecipes.Client) -> None:
    with pytest.raises(zkrecipes.Invalid, match="64 bit"):
        client.counter("/counter").add(2**63)
    with pytest.raises(zkrecipes.Invalid, match="nothing was changed"):
        client.counter("/small", layout="shared").add(2**31)
    assert client.counter("/small", layout="shared").get() == 0


def test_a_layout_that_does_not_exist_is_named(client: zkrecipes.Client) -> None:
    with pytest.raises(zkrecipes.Invalid, match="atomic, shared"):
        client.counter("/counter", layout="round")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        client.counter("/counter", "shared")  # type: ignore[call-arg]


def test_a_counter_keeps_its_session_open(hosts: str) -> None:
    counter = zkrecipes.Client(hosts).counter("/counter")
    assert counter.add(1) == 1
    assert repr(counter) == "<Counter /counter>"
    with pytest.warns(ResourceWarning, match="unclosed"):
        del counter
