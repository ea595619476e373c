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
import math
import sys
from collections.abc import Iterable
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
    "MultiLock",
    "NoNode",
    "Nodes",
    "NotEmpty",
    "NotHeld",
    "ReadWriteLock",
    "Semaphore",
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

        With `local_handoff`, those who wait in this client share one node, and pass the turn on in memory at most so
        many times before others get theirs; see `held.passes`.

        With `cancel_on_lost`, losing the lock cancels the body of its `async with`, which then raises Lost.
        """
        _check_flag(cancel_on_lost)
        lock = cast(Lock, super().lock(path, reentrant=reentrant, local_handoff=local_handoff, **unknown))
        lock._cancel_on_lost = cancel_on_lost
        return lock

    def read_write_lock(self, path: str, *, cancel_on_lost: bool = False) -> ReadWriteLock:
        """Readers share, writers exclude everybody: `.read` and `.write` are each a Lock on `path`."""
        _check_flag(cancel_on_lost)
        lock = cast(ReadWriteLock, super().read_write_lock(path))
        lock.read._cancel_on_lost = lock.write._cancel_on_lost = cancel_on_lost
        return lock

    def multi_lock(self, locks: Iterable[Lock], *, cancel_on_lost: bool = False) -> MultiLock:
        """Several locks of this client as one: all or none, in the order of their paths."""
        _check_flag(cancel_on_lost)
        lock = cast(MultiLock, super().multi_lock(locks))
        lock._cancel_on_lost = cancel_on_lost
        return lock

    def semaphore(self, path: str, permits: int, *, cancel_on_lost: bool = False) -> Semaphore:
        """At most `permits` at once on `path`. All who use the path have to name the same number, or get Mismatch."""
        _check_flag(cancel_on_lost)
        semaphore = cast(Semaphore, super().semaphore(path, permits))
        semaphore._cancel_on_lost = cancel_on_lost
        return semaphore

    async def check_sequencer(self, sequencer: str) -> bool:
        """Whether the acquisition that this `held.sequencer` names, of anybody in any language, still stands."""
        return cast(bool, await settle(super().check_sequencer(sequencer)))

    async def watch_sequencer(self, sequencer: str, timeout: float | None = None) -> None:
        """Waits until the acquisition that this `held.sequencer` names no longer stands, or raises Timeout."""
        watching = settle(super().watch_sequencer(sequencer, timeout))
        if not timeout or timeout == math.inf:
            await watching
            return
        try:
            await asyncio.wait_for(watching, timeout)
        except asyncio.TimeoutError as error:
            raise Timeout("the time ran out, and the sequencer is still valid") from error

    @property
    def nodes(self) -> Nodes:
        """Plain node operations."""
        return cast(Nodes, super().nodes)


def _check_flag(cancel_on_lost: object) -> None:
    if not isinstance(cancel_on_lost, bool):
        raise InvalidType(f"invalid cancel_on_lost: must be True or False, not {type(cancel_on_lost).__name__}")


class Held(_native.HeldBase):
    """One acquisition. As a context manager it is released on exit; leaving raises Lost if it was lost."""

    _revoked: asyncio.Event | None = None

    @property
    def revoked(self) -> asyncio.Event:
        """Set when somebody asks for this (`lock.revoke()`): finish, then release."""
        if self._revoked is None:
            self._revoked = asyncio.Event()
            self.on_revoke(self._revoked.set)
        return self._revoked

    async def release(self, wait: bool = True) -> None:
        """Lets go. With `wait=False` the server's confirmation is awaited in the background."""
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


class _Handle(_native.HandleBase):
    """What all handles share: `async with handle as held:` waits, and releases on any exit."""

    _cancel_on_lost = False

    def __init__(self, seed: _native.Seed) -> None:
        # Tasks take turns on one handle; one that released early must not leave with another's acquisition.
        self._scopes: list[tuple[asyncio.Task[object], Hold]] = []

    async def release(self, wait: bool = True) -> None:
        """Lets go. With `wait=False` the server's confirmation is awaited in the background."""
        await settle(super().release(wait))

    async def verify(self) -> None:
        await settle(super().verify())

    def guarded(self) -> Transaction:
        """Node writes that the server applies only while this is held."""
        return cast(Transaction, super().guarded())

    async def contenders(self) -> list[Contender]:
        """Who holds and who waits, in order."""
        return cast("list[Contender]", await settle(super().contenders()))

    async def revoke(self, contender: str | Contender | None = None, force_after: float | None = None) -> bool:
        """Asks for it: whoever holds, or the contender given, hears of it (`held.revoked`) and lets go when it can.

        With `force_after` seconds, exactly the nodes that were asked are deleted when they have not gone by then. False
        when there was nobody to ask.
        """
        return cast(bool, await settle(super().revoke(contender, force_after)))

    async def __aenter__(self) -> Held:
        scope = Hold(self, 1, None)
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


class Lock(_Handle, _native.LockBase):
    """A mutual exclusion between processes, first come, first served. Made by `client.lock(path)`.

    `async with lock as held:` waits, and releases on any exit; leaving raises Lost if the lock was lost meanwhile.
    """

    async def acquire(self, blocking: bool = True, *, timeout: float | None = None) -> Held | None:
        """Waits for the lock and returns what was acquired, or None when the time ran out.

        `blocking=False` tries once. `timeout` is in seconds; None or -1 waits for ever.
        """
        return cast("Held | None", await settle(super().acquire(blocking, timeout=timeout)))

    def hold(self, timeout: float | None = None) -> Hold:
        """A context manager that acquires within `timeout` seconds or raises Timeout."""
        return Hold(self, 1, timeout)


class ReadWriteLock(_native.ReadWriteLockBase):
    """Readers share, writers exclude everybody, in the order of arrival. Made by `client.read_write_lock(path)`.

    Each side is a Lock. Who holds `write` may take `read` too, and then release `write`: nobody gets in between.
    """

    @property
    def read(self) -> Lock:
        """The shared side."""
        return cast(Lock, super().read)

    @property
    def write(self) -> Lock:
        """The exclusive side."""
        return cast(Lock, super().write)


class MultiLock(_Handle, _native.MultiLockBase):
    """Several locks that are acquired and released together; losing one loses all. Made by `client.multi_lock([…])`."""

    async def acquire(self, blocking: bool = True, *, timeout: float | None = None) -> Held | None:
        """Waits for all of them and returns what was acquired, or None when the time ran out."""
        return cast("Held | None", await settle(super().acquire(blocking, timeout=timeout)))

    def hold(self, timeout: float | None = None) -> Hold:
        """A context manager that acquires all within `timeout` seconds or raises Timeout."""
        return Hold(self, 1, timeout)


class Semaphore(_Handle, _native.SemaphoreBase):
    """At most so many permits at once, in the order of arrival. Made by `client.semaphore(path, permits)`."""

    async def acquire(self, n: int = 1, blocking: bool = True, *, timeout: float | None = None) -> Held | None:
        """Waits for `n` permits at once and returns what was acquired, or None when the time ran out."""
        return cast("Held | None", await settle(super().acquire(n, blocking, timeout=timeout)))

    def hold(self, n: int = 1, timeout: float | None = None) -> Hold:
        """A context manager that acquires `n` permits within `timeout` seconds or raises Timeout."""
        return Hold(self, n, timeout)

    async def holders(self) -> list[Contender]:
        return cast("list[Contender]", await settle(super().holders()))

    async def resize(self, permits: int) -> None:
        await settle(super().resize(permits))


class Hold:
    """What `hold(timeout)` returns: the scope of one acquisition at a time."""

    _held: Held | None = None
    _lost: Lost | None = None

    def __init__(self, handle: _Handle, n: int, timeout: float | None) -> None:
        self._handle = handle
        self._n = n
        self._timeout = timeout

    async def __aenter__(self) -> Held:
        held = cast(Held, await settle(self._handle._take(self._n, self._timeout)))
        self._held = held
        if self._handle._cancel_on_lost:
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
        if self._handle._cancel_on_lost:
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
