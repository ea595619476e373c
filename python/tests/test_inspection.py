"""Seeing who holds and who waits, asking for it, and what a handle forwards: the same for every recipe that is held."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import pytest
import test_aio
import zkrecipes
from conftest import Connect, eventually
from zkrecipes import aio

Handle: TypeAlias = zkrecipes.Lock | zkrecipes.MultiLock | zkrecipes.Semaphore
Naming: TypeAlias = Literal["curator", "kazoo"]
# Made with a client of either face. Each excludes everybody else.
RECIPES: dict[str, Callable[[Any], Any]] = {
    "lock": lambda client: client.lock("/lock"),
    "read/write lock": lambda client: client.read_write_lock("/lock").write,
    "multi-lock": lambda client: client.multi_lock([client.lock("/b"), client.lock("/a")]),
    "semaphore": lambda client: client.semaphore("/limit", 1),
}
every_recipe = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
either_naming = pytest.mark.parametrize("naming", ["curator", "kazoo"])
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


@either_naming
def test_permits_come_first_and_then_the_queue(connect: Connect, naming: Naming) -> None:
    ann, bob = (connect(identity=name, naming=naming).semaphore("/limit", 3) for name in ("ann", "bob"))
    held = ann.acquire(2)
    assert held
    waiter = threading.Thread(target=lambda: bob.acquire(2, timeout=10))
    waiter.start()
    eventually(lambda: len(ann.contenders()) == 3)
    all_of_them = ann.contenders()
    assert listed(all_of_them) == [("ann", "lease", True)] * 2 + [("bob", "lock", False)]
    assert ann.holders() == all_of_them[:2]
    names = {"curator": "leases/_c_.* locks/_c_.*-lock-[0-9]{10}", "kazoo": "[0-9a-f]{32} .*__lock__.*"}
    assert re.fullmatch(names[naming], f"{all_of_them[0].node} {all_of_them[2].node}")
    held.release()
    waiter.join()
    bob.release()
    assert ann.contenders() == ann.holders() == []


def test_the_contenders_of_a_multi_lock_are_those_of_its_paths(connect: Connect) -> None:
    ann, bob = connect(identity="ann"), connect(identity="bob")
    both = ann.multi_lock([ann.lock("/b"), ann.lock("/a")])
    with bob.lock("/b"):
        assert listed(both.contenders()) == [("bob", "lock", True)]
    with both as held:
        contenders = both.contenders()
        assert listed(contenders) == [("ann", "lock", True)] * 2
        assert [one.node.rpartition("/")[0] for one in contenders] == ["/a", "/b"]
        assert held.node in [one.node for one in contenders]
        assert all(ann.nodes.exists(one.node) for one in contenders)


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
@pytest.mark.parametrize("by_node", [True, False], ids=["node", "contender"])
def test_one_is_asked(connect: Connect, recipe: Callable[[Any], Handle], by_node: bool) -> None:
    handle, other = recipe(connect()), recipe(connect())
    held = acquired(handle)
    asked = threading.Event()
    held.on_revoke(asked.set)
    contender = other.contenders()[-1]
    assert other.revoke(contender.node if by_node else contender)
    assert asked.wait(10)
    held.verify()
    held.release()
    assert not other.revoke(contender), "it has gone"


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


@either_naming
def test_one_of_several_permits_is_forced(connect: Connect, naming: Naming) -> None:
    ann, bob = (connect(identity=name, naming=naming) for name in ("ann", "bob"))
    ours, theirs, other = ann.semaphore("/limit", 3), bob.semaphore("/limit", 3), bob.semaphore("/limit", 3)
    two, one = ours.acquire(2), theirs.acquire()
    assert two
    assert one
    lost: list[zkrecipes.Lost] = []
    two.on_lost(lost.append)
    contender = next(contender for contender in other.holders() if contender.identity == "ann")
    assert other.revoke(contender.node, force_after=0.05)
    eventually(lambda: lost)
    assert lost[0].reason == "revoked"
    assert one.is_held
    # With one permit goes the other one of that acquisition.
    with other.hold(2, timeout=10):
        pass
    one.release()


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


def test_the_contender_of_another_recipe_is_refused(client: zkrecipes.Client) -> None:
    with client.lock("/elsewhere") as elsewhere, client.lock("/a"):
        handles: list[Handle] = [
            client.lock("/a"),
            client.multi_lock([client.lock("/a")]),
            client.semaphore("/limit", 1),
        ]
        for handle in handles:
            with pytest.raises(zkrecipes.Invalid, match="contender"):
                handle.revoke(elsewhere.node, force_after=0)
        assert elsewhere.is_held


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


@every_recipe
def test_asyncio_forces_in_the_same_way(hosts: str, recipe: Callable[[Any], Any]) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client, aio.Client(hosts) as other:
            handle = recipe(client)
            held = await handle.acquire()
            lost: asyncio.Future[aio.Lost] = asyncio.get_running_loop().create_future()
            handle.on_lost(lost.set_result)
            (holder, *_) = await recipe(other).contenders()
            assert await recipe(other).revoke(holder, force_after=0.05)
            assert (await asyncio.wait_for(lost, 10)).reason == "revoked"
            assert not handle.is_held
            with pytest.raises(aio.NotHeld):
                _ = handle.fencing_token
            async with recipe(other).hold(timeout=10) as next_one:
                assert next_one.fencing_token > held.fencing_token

    test_aio.run(body())


@every_recipe
def test_asyncio_handles_forward_in_the_same_way(hosts: str, recipe: Callable[[Any], Any]) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            handle = recipe(client)
            for wait in (True, False):
                held = await handle.acquire()
                assert handle.is_held
                assert handle.fencing_token == held.fencing_token
                await handle.verify()
                writes = handle.guarded()
                writes.create(f"/written-{wait}")
                await writes.commit()
                handle.on_lost(print)()
                await handle.release(wait=wait)
                assert not held.is_held
                assert not handle.is_held
                for verb in (handle.release, lambda: handle.release(wait=False), handle.verify):
                    with pytest.raises(aio.NotHeld):
                        await verb()
                for verb in (handle.guarded, lambda: handle.fencing_token, lambda: handle.on_lost(print)):
                    with pytest.raises(aio.NotHeld):
                        verb()
            assert await client.nodes.exists("/written-False")

    test_aio.run(body())
