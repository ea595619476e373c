"""The lock family on the asyncio face."""

from __future__ import annotations

import asyncio
import inspect
import math
from typing import Any

import pytest
from test_aio import eventually, run
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer


def test_a_cancelled_task_leaves_no_permit_behind(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            semaphore = client.semaphore("/limit", 1)
            async with semaphore:
                tasks = [asyncio.ensure_future(semaphore.acquire()) for _ in range(3)]
                await asyncio.sleep(0.05)
                for task in tasks:
                    task.cancel()
                for task in tasks:
                    with pytest.raises(asyncio.CancelledError):
                        await task
            assert await semaphore.holders() == []

            async def nobody_waits() -> bool:
                return not await client.nodes.children("/limit/locks")

            await eventually(nobody_waits)

    run(body())


def test_a_revocation_sets_an_event_and_calls_back_on_the_loop(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client, aio.Client(hosts) as other:
            loop: asyncio.Future[asyncio.AbstractEventLoop] = asyncio.Future()
            async with client.lock("/lock") as held:
                assert not held.revoked.is_set()
                assert held.revoked is held.revoked
                held.on_revoke(lambda: loop.set_result(asyncio.get_running_loop()))
                assert await other.lock("/lock").revoke()
                await asyncio.wait_for(held.revoked.wait(), 10)
                assert await asyncio.wait_for(loop, 10) is asyncio.get_running_loop()
                assert held.is_held
            assert not await other.lock("/lock").revoke()

    run(body())


def test_an_event_that_was_looked_at_on_another_thread_first_is_set_all_the_same(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client, aio.Client(hosts) as other:
            held = await client.lock("/lock").acquire()
            leadership = await client.election("/leader").campaign()
            for look in (lambda: held.revoked, lambda: leadership.signal):
                with pytest.raises(RuntimeError):
                    await asyncio.to_thread(look)
            assert await other.lock("/lock").revoke()
            assert await other.election("/leader").revoke()
            await asyncio.wait_for(held.revoked.wait(), 10)
            await asyncio.wait_for(leadership.signal.wait(), 10)
            await held.release()

    run(body())


def test_a_forced_revocation_cancels_the_body(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client, aio.Client(hosts) as other:
            recipes: list[tuple[Any, str]] = [
                (client.read_write_lock("/rw", cancel_on_lost=True).write, "/rw"),
                (client.multi_lock([client.lock("/a"), client.lock("/b")], cancel_on_lost=True), "/b"),
            ]
            for recipe, path in recipes:
                with pytest.raises(aio.Lost) as caught:
                    async with recipe:
                        (holder,) = await other.lock(path).contenders()
                        assert await other.lock(path).revoke(holder, force_after=0.05)
                        await asyncio.sleep(30)
                assert caught.value.reason == "revoked"

    run(body())


def test_permits_that_are_lost_cancel_the_body(server: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            with pytest.raises(aio.Lost):
                async with client.semaphore("/limit", 2, cancel_on_lost=True):
                    server.expire(client.session_id)
                    await asyncio.sleep(30)

    run(body())


def test_a_sequencer_can_be_checked_and_watched(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client, aio.Client(hosts) as other:
            async with client.lock("/lock") as held:
                assert await other.check_sequencer(held.sequencer)
                for timeout in (0, 0.05):
                    with pytest.raises(aio.Timeout):
                        await other.watch_sequencer(held.sequencer, timeout)
                watching = asyncio.ensure_future(other.watch_sequencer(held.sequencer))
                withdrawn = asyncio.ensure_future(other.watch_sequencer(held.sequencer))
                await asyncio.sleep(0.01)
                withdrawn.cancel()
                assert not watching.done()
            await asyncio.wait_for(watching, 10)
            assert withdrawn.cancelled()
            await other.watch_sequencer(held.sequencer, math.inf)
            assert not await other.check_sequencer(held.sequencer)

    run(body())


def test_who_leaves_a_shared_hold_releases_what_it_took_itself(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            hold = client.semaphore("/limit", 2).hold(timeout=10)
            has_entered, may_leave = asyncio.Event(), asyncio.Event()

            async def other() -> None:
                async with hold as permit:
                    has_entered.set()
                    await may_leave.wait()
                    assert permit.is_held

            async with hold as permit:
                working = asyncio.create_task(other())
                await asyncio.wait_for(has_entered.wait(), 10)
                assert permit.is_held
            assert not permit.is_held
            may_leave.set()
            await working
            assert not await client.semaphore("/limit", 2).contenders()

    run(body())


def test_bad_input_is_refused_by_name(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client, aio.Client(hosts) as other:
            bad: Any
            for bad in (0, -1, 1.5, "1", None, True):
                with pytest.raises(aio.Invalid, match="permits"):
                    client.semaphore("/limit", bad)
                if bad is not None:
                    with pytest.raises(aio.Invalid, match="n"):
                        await client.semaphore("/limit", 2).acquire(bad)
            with pytest.raises(aio.Invalid, match="n"):
                async with client.semaphore("/limit", 2).hold(3):
                    pass
            for bad in (None, [], [5], [client.lock("/a")] * 2, [other.lock("/a")]):
                with pytest.raises(aio.Invalid, match="locks"):
                    client.multi_lock(bad)
            for bad in (1, None, "yes"):
                for factory in (
                    lambda bad: client.read_write_lock("/a", cancel_on_lost=bad),
                    lambda bad: client.multi_lock([client.lock("/a")], cancel_on_lost=bad),
                    lambda bad: client.semaphore("/a", 1, cancel_on_lost=bad),
                ):
                    with pytest.raises(aio.Invalid, match="cancel_on_lost"):
                        factory(bad)
            for bad in ("", "1:x:/a", 5):
                with pytest.raises(aio.Invalid, match="sequencer"):
                    await client.check_sequencer(bad)
                with pytest.raises(aio.Invalid, match="sequencer"):
                    await client.watch_sequencer(bad)
            for bad in ("x", 5):
                with pytest.raises(aio.Invalid, match="contender"):
                    await client.lock("/a").revoke(bad)
            for bad in (-2, math.nan, "1"):
                with pytest.raises(aio.Invalid, match="timeout"):
                    await client.watch_sequencer("1:5:/a", bad)

    run(body())


AT_ONCE = {
    "Config": "watch",
    "Counter": "watch",
    "Discovery": "cancel failed watch",
    "DoubleBarrier": "cancel on_wait withdraw",
    "Election": "campaign cancel guarded hold leading observe on_lost on_revoke on_wait",
    "Group": "cancel watch",
    "Names": "watch",
    "NodeCache": "changes children get",
    "Nodes": "transaction watch",
    "Partitioner": "cancel watch",
    "Transaction": "check create delete set",
}
HANDLES = "cancel guarded hold on_lost on_revoke on_wait"
# Of a client, whose factories ask no server.
AWAITED = "check_sequencer close connect watch_sequencer whoami"


@pytest.mark.parametrize("name", [name for name in aio.__all__ if isinstance(getattr(aio, name), type)])
def test_what_waits_is_a_coroutine_function(name: str) -> None:
    """Frameworks and mocks ask for that, and a verb that nobody wrapped would answer a bare native call."""
    kind = getattr(aio, name)
    if issubclass(kind, BaseException) or not any(base.__module__ == "zkrecipes._native" for base in kind.__mro__):
        return
    for verb in dir(kind):
        if verb.startswith("_") or not callable(getattr(kind, verb)):
            continue
        at_once = verb not in AWAITED.split() if name == "Client" else verb in AT_ONCE.get(name, HANDLES).split()
        assert inspect.iscoroutinefunction(getattr(kind, verb)) != at_once, f"{name}.{verb}"
        assert getattr(kind, verb).__doc__, f"{name}.{verb}"
        inspect.signature(getattr(kind, verb))


def test_a_run_that_is_cancelled_again_ends_when_its_work_has(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            election = client.election("/leader")
            begun, told = asyncio.Event(), []

            async def work(leadership: aio.Leadership) -> None:
                for _ in range(3):
                    begun.set()
                    try:
                        await asyncio.sleep(30)
                    except asyncio.CancelledError:
                        told.append(leadership.is_held)
                await asyncio.sleep(0)
                told.append(leadership.is_held)

            running = asyncio.ensure_future(election.run(work))
            for _ in range(3):
                await begun.wait()
                begun.clear()
                running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            # Nobody else led before the work had ended.
            assert told == [True] * 4
            assert not election.is_leader

    run(body())
