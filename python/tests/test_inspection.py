"""Seeing who holds and who waits, asking for it, and what a handle forwards: the same for every recipe that is held."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
import test_aio
import zkrecipes
from conftest import Connect, eventually
from zkrecipes import aio

Handle: TypeAlias = zkrecipes.Lock | zkrecipes.MultiLock | zkrecipes.Semaphore
# Made with a client of either face. Each excludes everybody else.
RECIPES: dict[str, Callable[[Any], Any]] = {
    "lock": lambda client: client.lock("/lock"),
    "read/write lock": lambda client: client.read_write_lock("/lock").write,
    "multi-lock": lambda client: client.multi_lock([client.lock("/b"), client.lock("/a")]),
    "semaphore": lambda client: client.semaphore("/limit", 1),
}
every_recipe = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
# What is no contender's node of any of them.
BAD: list[Any] = ["", "x", "/", "../lock", "/elsewhere/_c_x-lock-0000000001", "locks", 5, b"node", ["node"]]


def listed(contenders: list[zkrecipes.Contender]) -> list[tuple[str, str, bool]]:
    return [(contender.identity, contender.kind, contender.holds) for contender in contenders]


def acquired(handle: Handle) -> zkrecipes.Held:
    held = handle.acquire(timeout=10)
    assert held
    return held


@every_recipe
def test_holders_and_waiters_are_listed(connect: Connect, recipe: Callable[[Any], Handle]) -> None:
    handle, other = recipe(connect(identity="ann")), recipe(connect(identity="bob"))
    assert handle.contenders() == []
    held = acquired(handle)
    holders = other.contenders()
    assert {(one.identity, one.holds) for one in holders} == {("ann", True)}
    waiter = threading.Thread(target=lambda: other.acquire(timeout=10))
    waiter.start()
    eventually(lambda: len(handle.contenders()) == len(holders) + 1)
    (waiting,) = [one for one in handle.contenders() if one not in holders]
    assert (waiting.identity, waiting.holds) == ("bob", False)
    held.release()
    waiter.join()
    # Who has a permit leaves the line for them in the background.
    eventually(lambda: {(one.identity, one.holds) for one in handle.contenders()} == {("bob", True)})
    other.release()
    assert handle.contenders() == []


@every_recipe
def test_who_holds_is_asked(connect: Connect, recipe: Callable[[Any], Handle]) -> None:
    handle, other = recipe(connect()), recipe(connect())
    assert other.revoke() is False, "nobody to ask"
    held = acquired(handle)
    asked = [threading.Event() for _ in range(2)]
    held.on_revoke(asked[0].set)
    handle.on_revoke(asked[1].set)
    assert other.revoke() is True
    for event in asked:
        assert event.wait(10)
    handle.verify()
    held.release()
    assert other.revoke() is False


@every_recipe
def test_who_does_not_let_go_is_forced(connect: Connect, recipe: Callable[[Any], Handle]) -> None:
    handle, other = recipe(connect()), recipe(connect())
    held = acquired(handle)
    lost: list[zkrecipes.Lost] = []
    handle.on_lost(lost.append)
    assert other.revoke(force_after=0.05)
    eventually(lambda: lost)
    assert lost[0].reason == "revoked"
    assert not handle.is_held
    with pytest.raises(zkrecipes.NotHeld):
        _ = handle.fencing_token
    assert acquired(other).fencing_token > held.fencing_token
    other.release()


@every_recipe
def test_who_is_no_contender_is_refused_by_name(client: zkrecipes.Client, recipe: Callable[[Any], Handle]) -> None:
    handle = recipe(client)
    held = acquired(handle)
    for contender in BAD:
        with pytest.raises(zkrecipes.Invalid, match="contender"):
            handle.revoke(contender)
        with pytest.raises(zkrecipes.Invalid, match="contender"):
            handle.revoke(contender, force_after=0)
    for patience in (-1, "1"):
        with pytest.raises(zkrecipes.Invalid, match="force_after"):
            handle.revoke(force_after=patience)  # type: ignore[arg-type]
    held.verify()
    held.release()


@every_recipe
def test_nobody_can_be_asked_in_a_callback_or_once_the_client_is_closed(
    client: zkrecipes.Client, recipe: Callable[[Any], Handle]
) -> None:
    handle = recipe(client)
    verbs: list[Callable[[], object]] = [handle.contenders, handle.revoke]
    raised: list[type[BaseException]] = []

    def callback() -> None:
        for verb in verbs:
            try:
                verb()
            except zkrecipes.Error as error:
                raised.append(type(error))

    held = acquired(handle)
    held.on_revoke(callback)
    assert handle.revoke()
    eventually(lambda: len(raised) == 2)
    assert raised == [zkrecipes.WouldDeadlock] * 2
    held.release()
    client.close()
    for verb in verbs:
        with pytest.raises(zkrecipes.Closed):
            verb()


@every_recipe
def test_a_handle_forwards_to_what_it_holds(client: zkrecipes.Client, recipe: Callable[[Any], Handle]) -> None:
    handle = recipe(client)

    def assert_nothing_is_held() -> None:
        assert not handle.is_held
        verbs: list[Callable[[], object]] = [
            handle.release,
            lambda: handle.release(wait=False),
            handle.verify,
            handle.guarded,
            lambda: handle.fencing_token,
            lambda: handle.on_lost(print),
            lambda: handle.on_revoke(print),
        ]
        for verb in verbs:
            with pytest.raises(zkrecipes.NotHeld):
                verb()

    assert_nothing_is_held()
    for wait in (True, False):
        held = acquired(handle)
        assert handle.is_held
        assert handle.fencing_token == held.fencing_token
        handle.verify()
        writes = handle.guarded()
        writes.create(f"/written-{wait}")
        writes.commit()
        handle.on_lost(print)()
        late = handle.guarded()
        late.create("/late")
        handle.release(wait=wait)
        assert not held.is_held
        assert_nothing_is_held()
        with pytest.raises(zkrecipes.NotHeld):
            late.commit()
    assert client.nodes.exists("/written-True")
    assert client.nodes.exists("/written-False")
    assert client.nodes.exists("/late") is None


@every_recipe
def test_asyncio_lists_and_asks_in_the_same_way(hosts: str, recipe: Callable[[Any], Any]) -> None:
    async def body() -> None:
        async with aio.Client(hosts, identity="ann") as ann, aio.Client(hosts, identity="bob") as bob:
            handle, other = recipe(ann), recipe(bob)
            assert await handle.contenders() == []
            assert await other.revoke() is False
            async with handle as held:
                holders = await other.contenders()
                assert {(one.identity, one.holds) for one in holders} == {("ann", True)}
                waiting = asyncio.ensure_future(other.acquire())

                async def somebody_waits() -> bool:
                    return len(await handle.contenders()) == len(holders) + 1

                await test_aio.eventually(somebody_waits)
                (waiter,) = [one for one in await handle.contenders() if one not in holders]
                assert (waiter.identity, waiter.holds) == ("bob", False)
                for contender in (None, holders[-1], holders[-1].node):
                    asked = asyncio.Event()
                    assert await other.revoke(contender) is True
                    handle.on_revoke(asked.set)
                    await asyncio.wait_for(asked.wait(), 10)
                await asyncio.wait_for(held.revoked.wait(), 10)
                for contender in BAD:
                    with pytest.raises(aio.Invalid, match="contender"):
                        await other.revoke(contender, force_after=0)
                await handle.verify()
            assert await asyncio.wait_for(waiting, 10)
            await other.release()
            assert await handle.contenders() == []

    test_aio.run(body())
