"""The network between real servers, each way of which can be cut.

Each server is told addresses of its own for the others (its zoo.cfg names them), and behind each of these a relay of
ours stands. So it is known from whom to whom every connection goes. While a way is cut, nothing arrives there, not even
the end of a connection: what was sent waits, as it does in a sender's kernel, and arrives when the way is open again.

That needs no rights, unlike network namespaces, and works on every system. The difference: a connection that is made
while a way is cut is accepted by the relay, and then silent.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
from collections.abc import Callable, Coroutine, Iterable
from itertools import permutations
from typing import Any, TypeVar

T = TypeVar("T")
# From a server, to another one.
Way = tuple[int, int]
# For so long a relay tries to reach a server that does not listen yet: who asks it would not ask so soon again.
PATIENCE, PAUSE = 2.0, 0.05
# What a server says first to another one's election port: the protocol's version, who it is, and how long the address
# is that follows.
HELLO = struct.Struct(">qqi")


class Links:
    """Between servers, by their numbers; `ports` has the quorum's port and the election's of each."""

    def __init__(self, ports: dict[int, tuple[int, int]]) -> None:
        self._ports = ports
        self._loop = asyncio.new_event_loop()
        self._cut: set[Way] = set()
        self._ends: set[End] = set()
        self._dialing: set[asyncio.Task[None]] = set()
        # By way: the ports of the relays there.
        self._relays: dict[Way, list[int]] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._wait(self._listen())

    def _wait(self, what: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(30)

    async def _listen(self) -> None:
        for way in permutations(self._ports, 2):
            self._relays[way] = [await self._relay(way, number) for number in (0, 1)]

    async def _relay(self, way: Way, number: int) -> int:
        def accepted() -> End:
            end = End(self, way)
            # Else the other one would answer its election past us.
            end.rewrite = self._address_rewritten if number == 1 else None
            dialing = self._loop.create_task(self._dial(end, self._ports[way[1]][number]))
            self._dialing.add(dialing)
            dialing.add_done_callback(self._dialing.discard)
            return end

        server = await self._loop.create_server(accepted, "127.0.0.1", 0)
        return int(server.sockets[0].getsockname()[1])

    async def _dial(self, end: End, port: int) -> None:
        give_up = self._loop.time() + PATIENCE
        while True:
            try:
                _, other = await self._loop.create_connection(
                    lambda: End(self, (end.way[1], end.way[0])), "127.0.0.1", port
                )
            except OSError:
                if self._loop.time() > give_up:
                    end.close()
                    self.lost(end)
                    return
                await asyncio.sleep(PAUSE)
            else:
                end.join(other)
                return

    def _address_rewritten(self, way: Way, said: bytes) -> bytes | None:
        """What is said first in an election, with the address to call back. None: there is more to come."""
        if len(said) < HELLO.size:
            return None
        version, ident, length = HELLO.unpack_from(said)
        if len(said) < HELLO.size + length:
            return None
        address = f"127.0.0.1:{self._relays[way[1], way[0]][1]}".encode()
        return HELLO.pack(version, ident, len(address)) + address + said[HELLO.size + length :]

    def line(self, by: int, server: int) -> str:
        """How one server is to find another one, or itself, in its zoo.cfg."""
        quorum, election = self._ports[server] if by == server else self._relays[by, server]
        return f"server.{server}=127.0.0.1:{quorum}:{election}"

    def is_cut(self, way: Way) -> bool:
        return way in self._cut

    def cut(self, ways: Iterable[Way]) -> None:
        self._soon(self._cut.update, set(ways))

    def heal(self) -> None:
        self._soon(self._heal)

    def _heal(self) -> None:
        self._cut.clear()
        for end in list(self._ends):
            end.pass_on()

    def drop(self) -> None:
        """Breaks all connections that there are."""
        self._soon(self._drop)

    def _drop(self) -> None:
        for end in list(self._ends):
            end.abort()

    def _soon(self, what: Callable[..., object], *args: object) -> None:
        async def do() -> None:
            what(*args)

        self._wait(do())

    def has(self, end: End) -> None:
        self._ends.add(end)

    def lost(self, end: End) -> None:
        self._ends.discard(end)

    def close(self) -> None:
        async def end() -> None:
            tasks = [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._drop()

        with contextlib.suppress(RuntimeError):
            self._wait(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)


class End(asyncio.Protocol):
    """One end of a connection: what comes in here goes out at the other end when its way is open."""

    def __init__(self, links: Links, way: Way) -> None:
        self.way = way
        self.rewrite: Callable[[Way, bytes], bytes | None] | None = None
        self._links = links
        self._waiting = b""
        self._has_ended = False
        self._other: End | None = None
        self._transport: asyncio.Transport | None = None

    def join(self, other: End) -> None:
        self._other, other._other = other, self
        self.pass_on()
        other.pass_on()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._links.has(self)

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        self.pass_on()

    def connection_lost(self, error: Exception | None) -> None:
        self._has_ended = True
        self.pass_on()

    def pass_on(self) -> None:
        if self._other is None or self._links.is_cut(self.way):
            return
        if self.rewrite and self._waiting:
            rewritten = self.rewrite(self.way, self._waiting)
            if rewritten is not None:
                self._waiting, self.rewrite = rewritten, None
        if self._waiting and not self.rewrite:
            self._other.write(self._waiting)
            self._waiting = b""
        if self._has_ended:
            self._other.close()
            self._links.lost(self)

    def write(self, data: bytes) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        if self._transport:
            self._transport.close()

    def abort(self) -> None:
        if self._transport:
            self._transport.abort()
