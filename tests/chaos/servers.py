"""The servers that chaos is made with, and what can be done to them and to the way there.

Between each process of clients and each server stands a proxy of its own, so that one process can be cut off from all
servers, one way or both, and an answer of any server can get lost. Between real servers stand the relays of links.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from itertools import product
from typing import Any, Protocol

from drivers import ROOT
from links import Links
from machine import Machine, Machines

sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "zookeeper")]
import zookeeper  # noqa: E402
from zkrecipes import testing  # noqa: E402

Chance = random.Random
# What it did, and to whom, once it is over.
Mischief = Callable[[Chance], Coroutine[Any, Any, str]]


# Where somebody sets a clock to, in seconds from what is right.
CLOCKS = [-3600.0, -60.0, -5.0, -1.0, 0.0, 1.0, 5.0, 60.0, 3600.0]


class Servers(Protocol):
    kind: str
    addresses: list[str]

    def mischief(self) -> dict[str, Mischief]: ...
    async def revive(self) -> list[str]:
        """Starts again those that have ended by themselves, and says which."""
        ...

    async def heal(self) -> None: ...
    def close(self) -> None: ...


class Embedded:
    """An embedded ensemble of three, in this process."""

    kind = "embedded"

    def __init__(self, session: float) -> None:
        self._session = session
        self._ensemble = testing.Ensemble(3, tick=session / 20, min_session_timeout=0.2, max_session_timeout=60)
        self.addresses = [self._ensemble.member(member) for member in range(3)]

    def mischief(self) -> dict[str, Mischief]:
        return {
            "follower cut off": self._isolate,
            "follower behind": self._hold,
            "servers pause": self._pause,
            "servers restart": self._restart,
        }

    async def _isolate(self, chance: Chance) -> str:
        follower = chance.randint(1, 2)
        self._ensemble.isolate(follower)
        await asyncio.sleep(chance.uniform(0.2, 1.5) * self._session)
        self._ensemble.heal(follower)
        return str(follower)

    async def _hold(self, chance: Chance) -> str:
        follower = chance.randint(1, 2)
        self._ensemble.hold(follower)
        await asyncio.sleep(chance.uniform(0.1, 0.6) * self._session)
        self._ensemble.release(follower)
        return str(follower)

    async def _pause(self, chance: Chance) -> str:
        self._ensemble.pause()
        await asyncio.sleep(chance.uniform(0.2, 1.1) * self._session)
        self._ensemble.resume()
        return "all"

    async def _restart(self, chance: Chance) -> str:
        self._ensemble.stop()
        await asyncio.sleep(chance.uniform(0.0, 0.5) * self._session)
        self._ensemble.restart()
        return "all"

    async def revive(self) -> list[str]:
        return []

    async def heal(self) -> None:
        for follower in (1, 2):
            self._ensemble.heal(follower)
            self._ensemble.release(follower)

    def close(self) -> None:
        self._ensemble.shutdown()


class Real:
    """ZooKeeper: one node, or an ensemble. Containers are collected all the time."""

    def __init__(self, session: float, nodes: int, machines: Machines) -> None:
        self.kind = f"zookeeper-3.9, {nodes} nodes" if nodes > 1 else "zookeeper-3.9"
        self._session = session
        properties = ["znode.container.checkIntervalMs=150"]
        if not machines.why_not:
            # A disk can be slow only for those that wait for it.
            properties.append("zookeeper.forceSync=yes")
        self._ensemble = zookeeper.Ensemble("3.9", nodes, tick_ms=int(session * 1000 / 12), properties=properties)
        self._nodes = self._ensemble.nodes
        self._links: Links | None = None
        self._machines = dict[int, Machine]()
        try:
            if nodes > 1:
                self._links = between(self._nodes)
            for node in self._nodes:
                if machine := machines.of(f"server{node.ident}"):
                    self._machines[node.ident] = machine
                    node.environment = machine.environment
                node.launch()
            # Nobody watches them as the other tests do: here servers may end.
            zookeeper.wait_for(self._nodes)
        except BaseException:
            self.close()
            raise
        self.addresses = [node.address for node in self._nodes]

    def mischief(self) -> dict[str, Mischief]:
        all_: dict[str, Mischief] = {"server killed": self._kill, "leader paused": self._pause_leader}
        if self._machines:
            all_ |= {
                "server's clock stepped": self._step_clock,
                "slow disk": self._slow_disk,
                "full disk": self._fill_disk,
            }
        if self._links:
            all_ |= {
                "follower paused": self._pause_follower,
                "follower cut off": self._cut_follower,
                "leader cut off": self._cut_leader,
                "servers cut one way": self._cut_one_way,
                "connections of servers broken": self._break,
            }
        if len(self._nodes) > 3:
            all_["servers split"] = self._split
        return all_

    async def _kill(self, chance: Chance) -> str:
        node = chance.choice(self._nodes)
        await asyncio.to_thread(node.kill)
        await asyncio.sleep(chance.uniform(0.0, 0.6) * self._session)
        await self._start(node)
        return str(node.ident)

    async def _start(self, node: zookeeper.Node) -> None:
        for _ in range(3):
            try:
                await asyncio.to_thread(node.start)
                return
            except RuntimeError:
                if not node.has_ended():
                    raise
        raise RuntimeError(f"server {node.ident} ends whenever it is started:\n{node.tail()}")

    async def revive(self) -> list[str]:
        ended = [node for node in self._nodes if node.has_ended()]
        for node in ended:
            await self._start(node)
        return [str(node.ident) for node in ended]

    async def _find(self, chance: Chance, modes: tuple[str, ...]) -> zookeeper.Node | None:
        """One that says it is that, if there is one."""
        fit = await self._that_are(modes)
        return chance.choice(fit) if fit else None

    async def _that_are(self, modes: tuple[str, ...]) -> list[zookeeper.Node]:
        told = [(node, await asyncio.to_thread(zookeeper.four_letters, node.port, "srvr")) for node in self._nodes]
        return [node for node, said in told if said.partition("Mode: ")[2].split("\n")[0] in modes]

    async def _pause_leader(self, chance: Chance) -> str:
        return await self._pause(chance, ("leader", "standalone"), chance.uniform(0.5, 1.1))

    async def _pause_follower(self, chance: Chance) -> str:
        return await self._pause(chance, ("follower",), chance.uniform(0.2, 2.0))

    async def _pause(self, chance: Chance, modes: tuple[str, ...], share: float) -> str:
        node = await self._find(chance, modes)
        pid = node.pid if node else None
        if node is None or pid is None:
            return ""
        os.kill(pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(share * self._session)
        finally:
            os.kill(pid, signal.SIGCONT)
        return f"{node.ident} for {share:.1f} T"

    # What others hear of a server, and it of them.

    async def _cut_follower(self, chance: Chance) -> str:
        node = await self._find(chance, ("follower",))
        return await self._cut(chance, ways_between([node.ident], self._nodes), f"{node.ident}") if node else ""

    async def _cut_leader(self, chance: Chance) -> str:
        node = await self._find(chance, ("leader",))
        return await self._cut(chance, ways_between([node.ident], self._nodes), f"{node.ident}") if node else ""

    async def _cut_one_way(self, chance: Chance) -> str:
        one, other = chance.sample(self._nodes, 2)
        return await self._cut(chance, {(one.ident, other.ident)}, f"{one.ident} to {other.ident}")

    async def _split(self, chance: Chance) -> str:
        """A minority of several: whoever led among them leads nobody, and does not know."""
        idents = sorted(node.ident for node in chance.sample(self._nodes, (len(self._nodes) - 1) // 2))
        return await self._cut(
            chance, ways_between(idents, self._nodes), f"{' and '.join(map(str, idents))} from the others"
        )

    async def _cut(self, chance: Chance, ways: set[tuple[int, int]], whom: str) -> str:
        assert self._links
        share, breaks = chance.uniform(0.2, 2.0), chance.random() < 0.5
        self._links.cut(ways)
        try:
            await asyncio.sleep(share * self._session)
            # For a while both the old one and the new one may say so.
            leaders = " and ".join(str(node.ident) for node in await self._that_are(("leader",)))
        finally:
            # What was under way is lost, or arrives late.
            if breaks:
                self._links.drop()
            self._links.heal()
        return f"{whom} for {share:.1f} T{', then broken' if breaks else ''}; led at the end: {leaders or 'nobody'}"

    async def _break(self, chance: Chance) -> str:
        assert self._links
        self._links.drop()
        return "all"

    # Its machine.

    async def _step_clock(self, chance: Chance) -> str:
        node, seconds = chance.choice(self._nodes), chance.choice(CLOCKS)
        self._machines[node.ident].step_clock(seconds)
        return f"{node.ident}, {clock(seconds)}"

    async def _slow_disk(self, chance: Chance) -> str:
        node, takes, share = chance.choice(self._nodes), chance.uniform(0.02, 0.6), chance.uniform(0.5, 2.0)
        self._machines[node.ident].slow_disk(takes)
        try:
            await asyncio.sleep(share * self._session)
        finally:
            self._machines[node.ident].slow_disk(0)
        return f"{node.ident}, {takes * 1000:.0f} ms for each sync, for {share:.1f} T"

    async def _fill_disk(self, chance: Chance) -> str:
        """A server that cannot write ends, or goes on without its log. It is started again, once there is space."""
        node, share = chance.choice(self._nodes), chance.uniform(0.3, 1.5)
        self._machines[node.ident].fill_disk(True)
        try:
            await asyncio.sleep(share * self._session)
            has_ended = node.has_ended()
            await asyncio.to_thread(node.kill)
        finally:
            self._machines[node.ident].fill_disk(False)
        await self._start(node)
        return f"{node.ident} for {share:.1f} T; {'it ended by itself' if has_ended else 'then it was killed'}"

    async def heal(self) -> None:
        if self._links:
            self._links.heal()
        for machine in self._machines.values():
            machine.heal()
        for node in self._nodes:
            if node.pid is None:
                await self._start(node)

    def close(self) -> None:
        self._ensemble.close()
        if self._links:
            self._links.close()


def between(nodes: Sequence[zookeeper.Node]) -> Links:
    """The links between servers that have not been started yet: each is told its own addresses of the others."""
    told = re.findall(r"^server\.(\d+)=\S+:(\d+):(\d+)$", (nodes[0].home / "zoo.cfg").read_text(), re.MULTILINE)
    links = Links({int(ident): (int(quorum), int(election)) for ident, quorum, election in told})
    for node in nodes:
        lines = (node.home / "zoo.cfg").read_text().splitlines()
        others = [links.line(node.ident, int(ident)) for ident, _, _ in told]
        kept = [line for line in lines if not line.startswith("server.")]
        (node.home / "zoo.cfg").write_text("\n".join([*kept, *others, ""]))
    return links


def ways_between(some: Sequence[int], nodes: Sequence[zookeeper.Node]) -> set[tuple[int, int]]:
    """Those and the others, in both directions."""
    pairs = product(some, (node.ident for node in nodes if node.ident not in some))
    return {way for one, other in pairs for way in ((one, other), (other, one))}


def clock(seconds: float) -> str:
    return f"{seconds:+g} s" if seconds else "right again"


class Way:
    """The proxies between one process and the servers."""

    def __init__(self, servers: Servers) -> None:
        self._proxies = [testing.Proxy(address) for address in servers.addresses]

    @property
    def hosts(self) -> str:
        return ",".join(proxy.connect_string for proxy in self._proxies)

    def inject(self, fault: str, server: int | None = None) -> None:
        """At the way to one server, or to all."""
        for proxy in self._proxies if server is None else [self._proxies[server]]:
            proxy.inject(fault)

    def drop(self) -> None:
        for proxy in self._proxies:
            proxy.drop_connections()

    def heal(self) -> None:
        for proxy in self._proxies:
            proxy.clear_faults()

    def forget(self) -> None:
        """What they remember of requests."""
        for proxy in self._proxies:
            proxy.clear_log()

    async def expire(self, session: int) -> bool:
        """Ends a session at the server, if one answers."""
        for proxy in self._proxies:
            with contextlib.suppress(OSError):
                if await asyncio.to_thread(proxy.expire, session):
                    return True
        return False

    def close(self) -> None:
        for proxy in self._proxies:
            proxy.shutdown()
