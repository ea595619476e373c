"""The servers that chaos is made with, and what can be done to them and to the way there.

Between each process of clients and each server stands a proxy of its own, so that one process can be cut off from all
servers, one way or both, and an answer of any server can get lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from drivers import ROOT

sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "zookeeper")]
import zookeeper  # noqa: E402
from zkrecipes import testing  # noqa: E402

Chance = random.Random
# What it did, and to whom, once it is over.
Mischief = Callable[[Chance], Coroutine[Any, Any, str]]


class Servers(Protocol):
    kind: str
    addresses: list[str]

    def mischief(self) -> dict[str, Mischief]: ...
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

    async def heal(self) -> None:
        for follower in (1, 2):
            self._ensemble.heal(follower)
            self._ensemble.release(follower)

    def close(self) -> None:
        self._ensemble.shutdown()


class Real:
    """ZooKeeper: one node, or an ensemble. Containers are collected all the time."""

    def __init__(self, session: float, nodes: int) -> None:
        self.kind = f"zookeeper-3.9, {nodes} nodes" if nodes > 1 else "zookeeper-3.9"
        self._session = session
        self._ensemble = zookeeper.Ensemble(
            "3.9", nodes, tick_ms=int(session * 1000 / 12), properties=["znode.container.checkIntervalMs=150"]
        )
        try:
            self._ensemble.start()
        except BaseException:
            self._ensemble.close()
            raise
        self.addresses = [node.address for node in self._ensemble.nodes]

    def mischief(self) -> dict[str, Mischief]:
        alone: dict[str, Mischief] = {"server killed": self._kill, "leader paused": self._pause_leader}
        return alone if len(self.addresses) == 1 else alone | {"follower paused": self._pause_follower}

    async def _kill(self, chance: Chance) -> str:
        node = chance.choice(self._ensemble.nodes)
        await asyncio.to_thread(node.kill)
        await asyncio.sleep(chance.uniform(0.0, 0.6) * self._session)
        await asyncio.to_thread(node.start)
        return str(node.ident)

    async def _pause_leader(self, chance: Chance) -> str:
        return await self._pause(chance, ("leader", "standalone"), chance.uniform(0.5, 1.1))

    async def _pause_follower(self, chance: Chance) -> str:
        return await self._pause(chance, ("follower",), chance.uniform(0.2, 2.0))

    async def _pause(self, chance: Chance, modes: tuple[str, ...], share: float) -> str:
        told = [
            (node, await asyncio.to_thread(zookeeper.four_letters, node.port, "srvr")) for node in self._ensemble.nodes
        ]
        fit = [(node, node.pid) for node, said in told if said.partition("Mode: ")[2].split("\n")[0] in modes]
        if not fit:
            return ""
        node, pid = chance.choice(fit)
        if pid is None:
            return ""
        os.kill(pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(share * self._session)
        finally:
            os.kill(pid, signal.SIGCONT)
        return f"{node.ident} for {share:.1f} T"

    async def heal(self) -> None:
        for node in self._ensemble.nodes:
            if node.pid is None:
                await asyncio.to_thread(node.start)

    def close(self) -> None:
        self._ensemble.close()


class Way:
    """The proxies between one process and the servers."""

    def __init__(self, servers: Servers) -> None:
        self._proxies = [testing.Proxy(address) for address in servers.addresses]

    @property
    def hosts(self) -> str:
        return ",".join(proxy.connect_string for proxy in self._proxies)

    def inject(self, fault: str) -> None:
        for proxy in self._proxies:
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
