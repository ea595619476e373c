"""What Python makes of queues, and of the items claimed of them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import zkrecipes
from conftest import Connect, eventually
from test_aio import run
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer


def test_what_is_put_is_got_in_order(connect: Connect) -> None:
    queue, other = connect().queue("/queue"), connect().queue("/queue")
    queue.put("blå")
    queue.put_many([b"two", "three", b"four"])
    assert (other.len(), other.peek()) == (4, "blå".encode())
    assert other.items() == ["blå".encode(), b"two", b"three", b"four"]
    assert [other.get() for _ in range(3)] == ["blå".encode(), b"two", b"three"]
    assert other.get(timeout=5) == b"four"
    assert other.peek() is None
    for timeout in (0, 0.05):
        with pytest.raises(TimeoutError):
            other.get(timeout)
        with pytest.raises(zkrecipes.Timeout):
            other.claim(timeout)
    assert (repr(queue), queue.path) == ("<Queue /queue>", "/queue")


def test_a_claim_is_acknowledged_or_given_back(connect: Connect) -> None:
    client = connect()
    queue, other = client.queue("/queue"), connect().queue("/queue")
    queue.put_many(["one", "two"])
    with queue.claim() as item:
        assert isinstance(item, zkrecipes.Item)
        assert isinstance(item, zkrecipes.Held)
        assert (item.data, item.attempts, item.is_held) == (b"one", 1, True)
        item.verify()
        assert queue.len() == 2
    assert not item.is_held
    for settled in (item.ack, item.nack, item.release):
        with pytest.raises(zkrecipes.NotHeld):
            settled()
    with pytest.raises(ZeroDivisionError), queue.claim() as item:
        1 / 0  # noqa: B018
    item = other.claim(5)
    assert (item.data, item.attempts) == (b"two", 2)
    with item:
        item.nack()
    bill = client.nodes.transaction()
    bill.create("/bill", "tea")
    item = queue.claim()
    item.ack_with(bill)
    assert client.nodes.get("/bill")[0] == b"tea"
    assert queue.len() == 0


def test_a_loop_claims_one_after_the_other(connect: Connect) -> None:
    queue, other = connect().queue("/queue"), connect().queue("/queue")
    queue.put_many(["one", "two", "three"])
    for item in queue:
        with item:
            pass
        if item.data == b"two":
            break
    assert queue.items() == [b"three"]

    # What is not settled is given back when the next is asked for.
    seen = []
    for item in queue:
        seen.append((item.data, item.attempts))
        if len(seen) == 2:
            break
    assert seen == [(b"three", 1), (b"three", 2)]
    # And when the loop ends, though somebody still refers to it.
    eventually(lambda: not item.is_held)
    with pytest.raises(ZeroDivisionError):
        for _ in queue:
            raise ZeroDivisionError
    with other.claim(30) as item:
        assert item.attempts == 4


def settle(queue: zkrecipes.Queue) -> list[bytes]:
    """All that come until the loop ends."""
    settled = []
    for item in queue:
        with item:
            settled.append(item.data)
    return settled


def test_a_loop_ends_when_it_is_cancelled_or_its_client_closed(connect: Connect) -> None:
    client = connect()
    queue = client.queue("/queue")
    with ThreadPoolExecutor(1) as pool:
        for end in (queue.cancel, client.close):
            queue.put("one")
            looping = pool.submit(settle, queue)
            eventually(lambda: queue.len() == 0)
            while not looping.done():
                end()
            assert looping.result() == [b"one"]


def test_a_loop_that_is_cancelled_between_two_items_ends(connect: Connect, hosts: str) -> None:
    queue = connect().queue("/queue")
    queue.put_many(["one", "two", "three", "four"])
    items = iter(queue)
    seen = []
    for item in items:
        with item:
            seen.append(item.data)
            queue.cancel()
    assert (seen, list(items)) == ([b"one"], [])
    # Later ones are not affected, and neither are those of others.
    for item in queue:
        connect().queue("/queue").cancel()
        item.ack()
        if item.data == b"three":
            break

    async def work() -> list[bytes]:
        seen = []
        async with aio.Client(hosts) as client:
            queue = client.queue("/queue")
            await queue.put("five")
            async for item in queue:
                await item.ack()
                seen.append(item.data)
                queue.cancel()
        return seen

    assert asyncio.run(work()) == [b"four"]
    assert queue.items() == [b"five"]


def test_an_item_that_is_garbage_is_given_back(connect: Connect) -> None:
    queue = connect().queue("/queue")
    queue.put("one")
    with pytest.warns(ResourceWarning, match="settled"):
        queue.claim()
    with queue.claim(5) as item:
        assert item.attempts == 2


def test_dead_letters_are_looked_at_and_replayed(connect: Connect) -> None:
    queue = connect().queue("/queue", max_attempts=1)
    queue.put_many(["one", "two"])
    for _ in range(2):
        queue.claim().nack(reason="nobody lives there")
    assert queue.len() == 0
    dead = queue.dead
    assert isinstance(dead, zkrecipes.DeadLetters)
    for letter in dead:
        with letter:
            assert letter.data == b"one"
        break
    (told,) = dead.items()
    assert isinstance(told, zkrecipes.DeadLetter)
    assert (told.data, told.reason, told.attempts, told.problem) == (b"two", "nobody lives there", 1, None)
    assert abs(datetime.now(timezone.utc) - told.died_at) < timedelta(hours=1)
    assert queue.replay() == 1
    assert queue.get() == b"two"


@pytest.mark.parametrize("verb", ["get", "claim"])
def test_what_a_cancelled_task_took_goes_back(server: EmbeddedServer, verb: str) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            queue = client.queue("/queue")
            await queue.put("one")
            for _ in range(20):
                server.clear_log()
                taking = asyncio.ensure_future(getattr(queue, verb)())
                await asyncio.sleep(0)
                # The loop hears of it only after this.
                eventually(lambda: server.count("multi") + server.count("delete") > 0)
                taking.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await taking
            item = await queue.claim(5)
            assert item.data == b"one"
            await item.ack()

    run(body())


def test_tasks_that_put_go_in_in_the_order_in_which_they_began(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            for turn in range(10):
                queue = client.queue(f"/queue-{turn}")
                await asyncio.gather(*(queue.put(str(n)) for n in range(8)))
                assert await queue.items() == [b"%d" % n for n in range(8)]

    run(body())


def test_how_many_of_several_went_in_is_said(server: EmbeddedServer, client: zkrecipes.Client) -> None:
    with zkrecipes.Client(server.connect_string) as here:
        queue = here.queue("/queue")
        with pytest.raises(zkrecipes.TooLarge) as raised:
            queue.put_many([b"fits", bytes(2_000_000)])
    assert raised.value.put == queue_length(server)
    with pytest.raises(zkrecipes.TooLarge) as raised:
        client.queue("/queue").put(bytes(2_000_000))
    assert raised.value.put is None


def queue_length(server: EmbeddedServer) -> int:
    with zkrecipes.Client(server.connect_string) as client:
        return client.queue("/queue").len()


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_items": 0},
        {"max_items": True},
        {"max_attempts": "1"},
        {"max_attempts": -1},
        {"shards": 0},
        {"ephemeral": 1},
        {"layout": "round"},
    ],
)
def test_options_that_cannot_be_are_refused(client: zkrecipes.Client, wrong: Any) -> None:
    for factory in (client.queue, client.priority_queue, client.delay_queue):
        with pytest.raises(zkrecipes.Invalid, match=next(iter(wrong))):
            factory("/queue", **wrong)


def test_what_cannot_be_put_is_refused(client: zkrecipes.Client) -> None:
    queue: Any = client.queue("/queue")
    for data in (1, None, ["one"]):
        with pytest.raises(zkrecipes.InvalidType, match="data"):
            queue.put(data)
    for items in ("one", b"one", 1, [1], ["one", None]):
        with pytest.raises(zkrecipes.InvalidType):
            queue.put_many(items)
    for priority in (2**31, 1.0, None):
        with pytest.raises(zkrecipes.Invalid, match="priority"):
            client.priority_queue("/queue").put("one", priority)  # type: ignore[arg-type]
    for delay in (-1, float("nan"), float("inf"), "1"):
        with pytest.raises(zkrecipes.Invalid, match="delay"):
            client.delay_queue("/queue").put("one", delay)  # type: ignore[arg-type]
    assert queue.len() == 0


def test_a_key_puts_once(connect: Connect) -> None:
    client, other = connect(), connect()
    queue, theirs = client.queue("/queue", key_window=60), other.queue("/queue", key_window=60)
    for one in (queue, theirs, queue):
        one.put("tea", 5, key="order-1")
    assert queue.get() == b"tea"
    theirs.put("tea", key="order-1")
    assert queue.len() == 0
    for wrong in ("", "x" * 1001, "a\0b", 7):
        with pytest.raises((zkrecipes.Invalid, TypeError)):
            queue.put("tea", key=wrong)  # type: ignore[arg-type]


def test_a_nack_takes_a_delay_and_a_reason(connect: Connect) -> None:
    queue = connect().queue("/queue", max_attempts=2)
    queue.put("tea")
    queue.claim().nack(delay=0)
    with pytest.raises(ZeroDivisionError), queue.claim(0):
        1 / 0  # noqa: B018
    assert [(letter.reason, letter.attempts) for letter in queue.dead.items()] == [
        ("ZeroDivisionError: division by zero", 2)
    ]
    queue.put("coffee")
    item = queue.claim()
    for wrong in ({"delay": -1}, {"delay": "soon"}, {"reason": 7}):
        with pytest.raises((zkrecipes.Invalid, TypeError)):
            item.nack(**wrong)
    item.nack(3600)
    with pytest.raises(zkrecipes.Timeout):
        queue.claim(0)


def test_what_is_interrupted_has_not_failed(connect: Connect) -> None:
    queue = connect().queue("/queue")
    queue.put("tea")
    with pytest.raises(KeyboardInterrupt), queue.claim():
        raise KeyboardInterrupt
    queue.claim(0).ack()


def test_a_cancel_while_an_item_is_acknowledged_warns_of_nothing(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            queue = client.queue("/queue")
            entered = asyncio.Event()

            async def work() -> None:
                async with await queue.claim(10):
                    entered.set()

            for _ in range(100):
                await queue.put("tea")
                entered.clear()
                working = asyncio.ensure_future(work())
                await entered.wait()
                working.cancel()  # while it acknowledges
                with contextlib.suppress(asyncio.CancelledError):
                    await working
                del working
                gc.collect()

    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        asyncio.run(body())
