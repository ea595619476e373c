"""The same recipes for asyncio: what waits or asks the server is awaited, what does not is as in `zkrecipes`.

>>> import asyncio
>>> import zkrecipes.aio
>>> async def report():
...     async with zkrecipes.aio.Client("embedded:/aio-doc") as client:
...         async with client.lock("/locks/report", cancel_on_lost=True) as held:
...             await held.verify()
...             return held.fencing_token > 0
>>> asyncio.run(report())
True

What a method does is said once, by the method of the same name in `zkrecipes`.

Cancelling a task that waits leaves nothing behind in ZooKeeper, and what was already acquired when the cancel arrives
is released. Callbacks run on the loop that registered them.
"""

from __future__ import annotations

import asyncio
import sys
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, cast

from . import _native
from ._bridge import settle
from ._native import (
    BadVersion,
    Cancelled,
    Closed,
    ConnectionLost,
    Denied,
    Error,
    Exists,
    Forked,
    InternalError,
    Invalid,
    InvalidType,
    Lost,
    Mismatch,
    NoNode,
    NotEmpty,
    NotHeld,
    Timeout,
    TooLarge,
    WouldDeadlock,
    version,
)
from ._values import ClientOptions, Contender, Stat, State

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._native import _CreateMode as CreateMode

__all__ = [
    "BadVersion",
    "Cancelled",
    "Client",
    "Closed",
    "ConnectionLost",
    "Contender",
    "Denied",
    "Error",
    "Exists",
    "Forked",
    "Held",
    "Hold",
    "InternalError",
    "Invalid",
    "InvalidType",
    "Lock",
    "Lost",
    "Mismatch",
    "NoNode",
    "Nodes",
    "NotEmpty",
    "NotHeld",
    "Stat",
    "State",
    "Timeout",
    "TooLarge",
    "Transaction",
    "WouldDeadlock",
    "version",
]


class Client(_native.ClientBase):
    """A session with a ZooKeeper ensemble: `async with Client(hosts) as client`, or `await Client.connect(hosts)`."""

    @classmethod
    async def connect(cls, hosts: str | None = None, **options: Unpack[ClientOptions]) -> Self:
        """A connected client, to be closed with `await client.close()`."""
        client = cls(hosts, **options)
        await settle(client._connect())
        client._connected = True
        return client

    _connected = False

    async def __aenter__(self) -> Self:
        if not self._connected:
            await settle(self._connect())
            self._connected = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # After a session timeout the server has forgotten us anyway: waiting longer could confirm nothing more.
        try:
            await self.close(self.session_timeout)
        except Error:
            if kind is None:
                raise

    async def close(self, timeout: float | None = None) -> None:
        await settle(super().close(timeout))

    def lock(
        self,
        path: str,
        *,
        reentrant: bool = False,
        local_handoff: int = 0,
        cancel_on_lost: bool = False,
        **unknown: NoReturn,
    ) -> Lock:
        """A mutual exclusion on `path`, first come, first served.

        With `cancel_on_lost`, losing the lock cancels the body of its `async with`, which then raises Lost.
        """
        if not isinstance(cancel_on_lost, bool):
            raise InvalidType(f"invalid cancel_on_lost: must be True or False, not {type(cancel_on_lost).__name__}")
        lock = cast(Lock, super().lock(path, reentrant=reentrant, local_handoff=local_handoff, **unknown))
        lock._cancel_on_lost = cancel_on_lost
        return lock

    @property
    def nodes(self) -> Nodes:
        """Plain node operations."""
        return cast(Nodes, super().nodes)


class Held(_native.HeldBase):
    """One acquisition. As a context manager it is released on exit; leaving raises Lost if it was lost."""

    async def release(self, wait: bool = True) -> None:
        await settle(super().release(wait))

    async def verify(self) -> None:
        await settle(super().verify())

    def guarded(self) -> Transaction:
        """Node writes that the server applies only while this acquisition stands."""
        return cast(Transaction, super().guarded())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await _leave(self, kind is not None)


class Lock(_native.LockBase):
    """A mutual exclusion between processes, first come, first served. Made by `client.lock(path)`.

    `async with lock as held:` waits, and releases on any exit; leaving raises Lost if the lock was lost meanwhile.
    """

    _cancel_on_lost = False

    def __init__(self, seed: _native.Seed) -> None:
        # Tasks take turns on one handle; one that released early must not leave with another's acquisition.
        self._scopes: list[tuple[asyncio.Task[object], Hold]] = []

    async def acquire(self, blocking: bool = True, *, timeout: float | None = None) -> Held | None:
        """Waits for the lock and returns what was acquired, or None when the time ran out.

        `blocking=False` tries once. `timeout` is in seconds; None or -1 waits for ever.
        """
        return cast("Held | None", await settle(super().acquire(blocking, timeout=timeout)))

    async def release(self, wait: bool = True) -> None:
        await settle(super().release(wait))

    async def verify(self) -> None:
        await settle(super().verify())

    async def contenders(self) -> list[Contender]:
        return cast("list[Contender]", await settle(super().contenders()))

    def guarded(self) -> Transaction:
        """Node writes that the server applies only while the lock is held."""
        return cast(Transaction, super().guarded())

    def hold(self, timeout: float | None = None) -> Hold:
        """A context manager that acquires within `timeout` seconds or raises Timeout."""
        return Hold(self, timeout)

    async def __aenter__(self) -> Held:
        scope = Hold(self, None)
        held = await scope.__aenter__()
        self._scopes.append((_this_task(), scope))
        return held

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        task = _this_task()
        # A fixture may be entered in one task and left in another: then it is the latest.
        own = [index for index, (entered, _) in enumerate(self._scopes) if entered is task]
        _, scope = self._scopes.pop(own[-1] if own else -1)
        await scope.__aexit__(kind, exception, traceback)


class Hold:
    """What `lock.hold(timeout)` returns: the scope of one acquisition at a time."""

    _held: Held | None = None
    _lost: Lost | None = None

    def __init__(self, lock: Lock, timeout: float | None) -> None:
        self._lock = lock
        self._timeout = timeout

    async def __aenter__(self) -> Held:
        held = cast(Held, await settle(self._lock._take(self._timeout)))
        self._held = held
        if self._lock._cancel_on_lost:
            self._task = _this_task()
            self._cancelling = _cancelling(self._task)
            self._unsubscribe = held.on_lost(self._interrupt)
        return held

    def _interrupt(self, error: Lost) -> None:
        if self._held is not None and self._lost is None:
            self._lost = error
            self._task.cancel(_BY_LOSS)

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        held, lost = self._held, self._lost
        assert held is not None, "left without being entered"
        self._held = self._lost = None
        if self._lock._cancel_on_lost:
            self._unsubscribe()
        # Our own cancellation is taken back, and shows as Lost; one from outside stands, and so does the body's error.
        if lost is not None and not _cancelled_from_outside(self._task, self._cancelling, exception):
            await _leave(held, True)
            if kind is None or issubclass(kind, asyncio.CancelledError):
                raise lost from exception
            return
        await _leave(held, kind is not None)


async def _leave(held: Held, body_failed: bool) -> None:
    try:
        await settle(held._leave(body_failed))
    except Error:
        if not body_failed:
            raise


def _this_task() -> asyncio.Task[object]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a scope is entered and left inside a task")
    return task


_BY_LOSS = "the lock was lost"

if sys.version_info >= (3, 11):

    def _cancelling(task: asyncio.Task[object]) -> int:
        return task.cancelling()

    def _cancelled_from_outside(task: asyncio.Task[object], before: int, exception: BaseException | None) -> bool:
        return task.uncancel() > before

else:
    # Before 3.11 tasks do not count their cancellations; only the message tells whose it was. One from outside in the
    # very turn of the loop in which the loss was told goes unseen.

    def _cancelling(task: asyncio.Task[object]) -> int:
        return 0

    def _cancelled_from_outside(task: asyncio.Task[object], before: int, exception: BaseException | None) -> bool:
        return isinstance(exception, asyncio.CancelledError) and exception.args != (_BY_LOSS,)


class Nodes(_native.NodesBase):
    """Plain node operations. The `nodes` of a client."""

    async def create(self, path: str, data: bytes | str = b"", mode: CreateMode = "persistent") -> str:
        return cast(str, await settle(super().create(path, data, mode)))

    async def get(self, path: str) -> tuple[bytes, Stat]:
        return cast("tuple[bytes, Stat]", await settle(super().get(path)))

    async def set(self, path: str, data: bytes | str, version: int | None = None) -> Stat:
        return cast(Stat, await settle(super().set(path, data, version)))

    async def delete(self, path: str, version: int | None = None) -> None:
        await settle(super().delete(path, version))

    async def exists(self, path: str) -> Stat | None:
        return cast("Stat | None", await settle(super().exists(path)))

    async def children(self, path: str) -> list[str]:
        return cast("list[str]", await settle(super().children(path)))

    async def ensure(self, path: str) -> None:
        await settle(super().ensure(path))

    async def delete_all(self, path: str) -> None:
        await settle(super().delete_all(path))

    def transaction(self) -> Transaction:
        """Writes that happen together or not at all."""
        return cast(Transaction, super().transaction())


class Transaction(_native.TransactionBase):
    """Writes that happen together or not at all. Made by `nodes.transaction()` and `held.guarded()`."""

    async def commit(self) -> None:
        await settle(super().commit())
