"""How users write it; mypy --strict reads this, nobody runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Literal, TypeAlias

import zkrecipes
import zkrecipes.aio
from typing_extensions import assert_type
from zkrecipes.testing import EmbeddedServer, Ensemble, LogEntry, Proxy

_Leadership: TypeAlias = zkrecipes.aio.Leadership


def blocking() -> None:
    with zkrecipes.Client("zk1:2181", session_timeout=6, auth=("digest", "u:p"), retry={"base": 0.1}) as client:
        assert_type(client, zkrecipes.Client)
        assert_type(client.state, zkrecipes.State)
        assert_type(client.on_state(print), Callable[[], None])
        lock = client.lock("/locks/report", reentrant=True)
        with client.lock("/locks/report", local_handoff=3) as held:
            assert_type((held.fencing_token, held.passes), tuple[int, int])
        with lock as held:
            assert_type(held, zkrecipes.Held)
            assert_type(held.fencing_token, int)
        with lock.hold(timeout=5) as held:
            held.verify()
        assert_type(lock.acquire(), zkrecipes.Held)
        assert_type(lock.acquire(True, 5), zkrecipes.Held | None)
        assert_type(lock.acquire(False), zkrecipes.Held | None)
        acquired = lock.acquire(timeout=5)
        assert_type(acquired, zkrecipes.Held | None)
        if acquired:
            writes = acquired.guarded()
            writes.set("/data", "text")
            writes.commit()
            acquired.on_lost(lambda error: print(error.reason))
            lock.release(wait=False)
        lock.on_wait(lambda progress: assert_type(progress.holder, zkrecipes.Contender | None))()
        for contender in lock.contenders():
            assert_type(contender.since, datetime)
        data, stat = client.nodes.get("/data")
        assert_type(data, bytes)
        assert_type(stat.version, int)
        client.nodes.create("/data", mode="ephemeral")
        assert_type(client.nodes.update("/data", bytes.upper), zkrecipes.Stat)
        assert_type(client.config("/config").update(lambda value: value or ""), zkrecipes.Versioned)
        tree = client.nodes.cache("/tree")
        assert_type((tree.get("/tree"), tree.age), tuple[tuple[bytes, zkrecipes.Stat] | None, float])
        assert_type(client.whoami(), list[str])
        assert_type(client.skipped, dict[str, str])
        assert_type(client.nodes.create("/data", ttl=60), str)
        catalogue = client.read_write_lock("/catalogue")
        assert_type(catalogue.read, zkrecipes.Lock)
        with catalogue.write as held:
            assert_type(held.downgrade(), zkrecipes.Held)
        assert_type(catalogue.write.downgrade(), zkrecipes.Held)
        with client.multi_lock([lock, client.lock("/other")]) as held:
            assert_type(held.fencing_tokens, list[int])
        both = client.multi_lock([lock])
        assert_type(both.contenders(), list[zkrecipes.Contender])
        assert_type(both.revoke(both.contenders()[0], force_after=5), bool)
        whatever: list[zkrecipes.Handle] = [lock, both, client.election("/leader"), client.semaphore("/limit", 3)]
        for handle in whatever:
            handle.release(wait=False)
        semaphore = client.semaphore("/limit", 3)
        with semaphore.hold(2, timeout=5) as held:
            assert_type(held.permits, int)
            held.on_revoke(lambda: held.release(wait=False))
        assert_type(semaphore.acquire(2, blocking=False), zkrecipes.Held | None)
        assert_type(semaphore.acquire(2), zkrecipes.Held)
        assert_type(semaphore.holders(), list[zkrecipes.Contender])
        assert_type(semaphore.contenders(), list[zkrecipes.Contender])
        assert_type(semaphore.revoke(semaphore.holders()[0].node), bool)
        semaphore.revoke(5)  # type: ignore[arg-type]
        assert_type(lock.revoke(force_after=5), bool)
        assert_type(client.check_sequencer(held.sequencer), bool)
        client.watch_sequencer(held.sequencer, timeout=5)
        counter = client.counter("/orders", layout="shared")
        assert_type((counter.add(1), counter.compare_and_set(1, 2)), tuple[int, bool])
        assert_type(client.config("/mode").create("blue"), int)
        with client.config("/mode").watch() as feed:
            for now in feed:
                assert_type(now, zkrecipes.Versioned | None)
        election = client.election("/leader", b"me", layout="selector")
        with election.campaign(5) as leadership, election.hold(5) as other, election as third:
            assert_type(
                (leadership, other, third), tuple[zkrecipes.Leadership, zkrecipes.Leadership, zkrecipes.Leadership]
            )
            leadership.acknowledge("ready")
            assert_type(leadership.epoch, int)
        for leader in election.observe():
            assert_type(leader, zkrecipes.Leader | None)

        @election.leading
        def lead(leadership: zkrecipes.Leadership, n: int) -> str:
            return str(n)

        assert_type(lead(3), str)
        lead("3")  # type: ignore[arg-type]
        election.run(lambda leadership: leadership.verify())
        for event in client.group("/workers").watch():
            assert_type(event, zkrecipes.GroupEvent)
            if isinstance(event, zkrecipes.Joined):
                assert_type(event.data, bytes)
        for names in client.names("/services").watch():
            assert_type(names, dict[str, bytes])
        discovery = client.discovery("/services")
        registration = discovery.register(zkrecipes.Service("web", "h", port=80, type="static"))
        assert_type(registration, zkrecipes.Registration)
        registration.update(port=None, payload={"zone": "b"})
        registration.update(prot=80)  # type: ignore[call-arg]
        assert_type(discovery.pick("web", "sticky"), zkrecipes.Instance | None)
        discovery.pick("web", "best")  # type: ignore[arg-type]
        for instances in discovery.watch("web"):
            assert_type(instances, list[zkrecipes.Instance])
        for children in client.nodes.watch("/n", "children"):
            assert_type(children, list[str] | None)
        with client.double_barrier("/barrier", 3, "ann") as barrier:
            assert_type(barrier, zkrecipes.DoubleBarrier)
        assert_type(client.barrier("/barrier").is_up(), bool)
        commits = client.two_phase_commit("/commits", "peer")
        assert_type(commits.begin("order", ["stock"], "", 5).outcome(), Literal["commit", "abort"])
        assert_type(commits.next().payload, bytes)
        assert_type(commits.history(), list[zkrecipes.CommitStatus])
        client.two_phase_commit("/commits", mode="king")  # type: ignore[arg-type]
        queue = client.queue("/queue", max_attempts=3, layout="distributed")
        for item in queue:
            with item as same:
                assert_type(same.data, bytes)
            assert_type(item, zkrecipes.Item)
        assert_type(queue.dead.claim(5).attempts, int)
        assert_type(client.delay_queue("/later").get(), bytes)
        client.priority_queue("/alarms").put("fire")  # type: ignore[call-arg]
        client.queue("/mail", key_window=60).put("x", 5, key="request-1")
        client.delay_queue("/later").put("x", 1.5, key="request-1")
        client.semaphore("/limit")  # type: ignore[call-arg]
        client.multi_lock(["/a"])  # type: ignore[list-item]
        client.lock("/lock", reentrnat=True)  # type: ignore[call-arg]
        client.nodes.create("/data", mode="sequential")  # type: ignore[arg-type]
        zkrecipes.Client("zk1:2181", sesion_timeout=6)  # type: ignore[call-arg]


async def awaiting() -> None:
    async with zkrecipes.aio.Client("zk1:2181", naming="kazoo") as client:
        assert_type(client, zkrecipes.aio.Client)
        lock = client.lock("/locks/report", cancel_on_lost=True)
        async with lock as held:
            assert_type(held, zkrecipes.aio.Held)
            await held.verify()
        assert_type(await lock.acquire(blocking=False), zkrecipes.aio.Held | None)
        assert_type(await lock.acquire(), zkrecipes.aio.Held)
        assert_type(await lock.acquire(True, 5), zkrecipes.aio.Held | None)
        assert_type(await client.semaphore("/limit", 3).acquire(2), zkrecipes.aio.Held)
        assert_type(await lock.contenders(), list[zkrecipes.Contender])
        assert_type(await client.nodes.get("/data"), tuple[bytes, zkrecipes.Stat])
        assert_type(await client.config("/config").update(lambda value: value or ""), zkrecipes.Versioned)
        assert_type((await client.nodes.cache("/tree")).children("/tree"), list[str] | None)
        assert_type(await client.whoami(), list[str])
        async with client.read_write_lock("/catalogue").write as held:
            assert_type(await asyncio.wait_for(held.revoked.wait(), 5), Literal[True])
            assert_type(await held.downgrade(), zkrecipes.aio.Held)
        assert_type(await client.read_write_lock("/catalogue").write.downgrade(), zkrecipes.aio.Held)
        semaphore = client.semaphore("/limit", 3, cancel_on_lost=True)
        async with semaphore.hold(2) as held:
            assert_type(held.permits, int)
            assert_type(await semaphore.contenders(), list[zkrecipes.Contender])
            assert_type(await semaphore.revoke(force_after=5), bool)
        both = client.multi_lock([lock])
        async with both as held:
            assert_type(await both.contenders(), list[zkrecipes.Contender])
            assert_type(await both.revoke(held.node), bool)
            await both.release(wait=False)
        assert_type(await client.check_sequencer(held.sequencer), bool)
        assert_type(await client.counter("/orders").add(1), int)
        async with client.double_barrier("/barrier", 3) as barrier:
            assert_type(barrier, zkrecipes.aio.DoubleBarrier)
        assert_type(await client.barrier("/barrier").is_up(), bool)
        assert_type(await (await client.two_phase_commit("/commits").next(5)).vote_commit(), None)
        queue = client.queue("/queue")
        await queue.put_many(["one", b"two"], timeout=5)
        async for item in queue:
            async with item as same:
                assert_type(same, zkrecipes.aio.Item)
            await item.ack_with(client.nodes.transaction())
        assert_type(await queue.dead.items(), list[zkrecipes.DeadLetter])
        assert_type(await (await client.priority_queue("/alarms").claim()).nack(), None)
        async for now in client.config("/mode").watch():
            assert_type(now, zkrecipes.Versioned | None)
        election = client.election("/leader", cancel_on_lost=True)
        async with election.campaign(5) as leadership, election.hold(5) as other, election as third:
            assert_type([leadership, other, third], list[_Leadership])
        assert_type(await election.campaign(), _Leadership)
        async for leader in election.observe():
            assert_type(leader, zkrecipes.Leader | None)
        async for below in client.nodes.watch("/n", kind="subtree"):
            assert_type(below, dict[str, tuple[bytes, zkrecipes.Stat]])

        @election.leading
        async def lead(leadership: _Leadership, n: int) -> str:
            return str(n)

        assert_type(await lead(3), str)
        await election.run(lambda leadership: leadership.verify())
        with lock:  # type: ignore[attr-defined]
            pass
        client.lock("/lock", cancel_on_los=True)  # type: ignore[arg-type]
    assert_type(await zkrecipes.aio.Client.connect(), zkrecipes.aio.Client)


def testing() -> None:
    with EmbeddedServer(tick=0.1) as server:
        assert_type(server.log(), list[LogEntry])
        assert_type(server.inject("drop_before delete"), int)
        with Proxy(server.connect_string) as proxy:
            assert_type(proxy.expire(proxy.sessions()[0]), bool)
    with Ensemble(3, tick=0.1) as ensemble:
        assert_type(ensemble.member(1), str)
        ensemble.advance_clock(5)


def errors(error: zkrecipes.Error) -> TimeoutError | ValueError | None:
    assert_type(error.path, str | None)
    if isinstance(error, zkrecipes.Timeout | zkrecipes.Invalid):
        return error
    return None
