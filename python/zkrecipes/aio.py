# The bases say what the verbs answer when they block; here they answer a coroutine of it, and some take more.
# mypy: disable-error-code="assignment,override"
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
is released. Callbacks run on the loop that registered them, in the context of their registration; coroutine functions
are run as its tasks.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, NoReturn, ParamSpec, TypeVar, cast, overload

from . import _decorators, _leading, _native
from ._bridge import Answers, awaited, instead, settle
from ._double_barrier import DoubleBarrier
from ._feeds import Feed, feeding
from ._held import Held, Holding, Transaction

# --- generated from api: errors of asyncio
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

# --- end of generated
from ._nodes import Nodes
from ._partitions import Partitioner
from ._queues import Backlog, DeadLetters, Item

# --- generated from api: recipes of asyncio
from ._recipes import (
    Barrier,
    CommitTransaction,
    Counter,
    DelayQueue,
    Discovery,
    Group,
    Latch,
    Names,
    NodeCache,
    PriorityQueue,
    Proposal,
    Queue,
    Registration,
    TwoPhaseCommit,
)

# --- end of generated
from ._scopes import Entered, Scope
from ._stopping import stopped_on_a_loop
from ._updates import Config
from ._values import (
    Cached,
    Changed,
    ClientOptions,
    CommitStatus,
    Contender,
    DeadLetter,
    GroupEvent,
    Instance,
    Joined,
    Leader,
    Left,
    QueueStats,
    Service,
    SiteStatus,
    Snapshot,
    Stat,
    State,
    Versioned,
    WaitProgress,
)

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

# --- generated from api: names of asyncio
__all__ = [
    "BadVersion",
    "Barrier",
    "Cached",
    "Campaign",
    "Cancelled",
    "Changed",
    "Client",
    "Closed",
    "CommitStatus",
    "CommitTransaction",
    "Config",
    "ConnectionLost",
    "Contender",
    "Counter",
    "DeadLetter",
    "DeadLetters",
    "DelayQueue",
    "Denied",
    "Discovery",
    "DoubleBarrier",
    "Election",
    "Error",
    "Exists",
    "Feed",
    "Forked",
    "Group",
    "GroupEvent",
    "Handle",
    "Held",
    "Hold",
    "Instance",
    "InternalError",
    "Invalid",
    "InvalidType",
    "Item",
    "Joined",
    "Latch",
    "Leader",
    "Leadership",
    "Left",
    "Lock",
    "Lost",
    "Mismatch",
    "MultiLock",
    "Names",
    "NoNode",
    "NodeCache",
    "Nodes",
    "NotEmpty",
    "NotHeld",
    "Partitioner",
    "PriorityQueue",
    "Proposal",
    "Queue",
    "QueueStats",
    "ReadWriteLock",
    "Registration",
    "Semaphore",
    "Service",
    "SiteStatus",
    "Snapshot",
    "Stat",
    "State",
    "Timeout",
    "TooLarge",
    "Transaction",
    "TwoPhaseCommit",
    "Versioned",
    "WaitProgress",
    "WouldDeadlock",
    "version",
]
# --- end of generated

_P = ParamSpec("_P")
_T = TypeVar("_T")
if TYPE_CHECKING:
    from typing_extensions import TypeVar as _TypeVar

    _Acquired = _TypeVar("_Acquired", bound="Held", default="Held")
else:
    _Acquired = TypeVar("_Acquired")


class Leadership(Held):
    """One term of a leader: a Held, whose fencing token is the `epoch`. As a context manager it resigns on exit."""

    _signal: asyncio.Event | None = None

    @instead(awaited(_native.HeldBase._acknowledge))
    def acknowledge(self) -> None: ...

    @property
    def signal(self) -> asyncio.Event:
        """Set when the work is to end: somebody asks for the leadership, or it is lost. `on_lost` is for a loss alone.

        Whatever else ends a term of `run` cancels the task of its work. `resign` does not set it: its caller knows.
        """
        if self._signal is None:
            event = asyncio.Event()
            # Refused where no loop runs. Then whoever looks again has one that is set.
            self.on_revoke(event.set)
            self.on_lost(lambda _: event.set())
            self._signal = event
        return self._signal

    @property
    def epoch(self) -> int:
        """Rises strictly from one leader to the next: the fencing token."""
        return self.fencing_token


class Hold(Scope[_Acquired]):
    """What `hold(timeout)` returns: each `async with` of it is an acquisition of its own."""


class Handle(Holding, _native.Handle, Generic[_Acquired]):
    """What all handles share: `async with handle as held:` waits, and releases on any exit."""

    _cancel_on_lost = False

    def __init__(self, seed: _native.Seed) -> None:
        self._entered: Entered[Hold[_Acquired]] = Entered()

    @instead(awaited(_native.Handle.contenders))
    def contenders(self) -> None: ...
    @instead(awaited(_native.Handle.revoke))
    def revoke(self) -> None: ...

    if TYPE_CHECKING:

        @overload
        async def acquire(self, blocking: Literal[True] = True, timeout: None = None) -> _Acquired: ...
        @overload
        async def acquire(self, blocking: bool = True, timeout: float | None = None) -> _Acquired | None: ...
        async def acquire(self, *arguments: Any, **named: Any) -> _Acquired | None: ...
    else:
        acquire = awaited(_native.Handle.acquire)

    def hold(self, timeout: float | None = None) -> Hold[_Acquired]:
        """A context manager that acquires within `timeout` seconds or raises Timeout."""
        return self._hold(1, timeout)

    def _hold(self, n: int, timeout: float | None) -> Hold[_Acquired]:
        async def take() -> _Acquired:
            return cast(_Acquired, await settle(self._take(n, timeout)))

        return Hold(take, self._cancel_on_lost)

    async def __aenter__(self) -> _Acquired:
        scope = self._hold(1, None)
        held = await scope.__aenter__()
        self._entered.add(scope)
        return held

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._entered.leave().__aexit__(kind, exception, traceback)


class Lock(Handle[Held], _native.LockBase):
    """A mutual exclusion between processes, first come, first served. Made by `client.lock(path)`.

    `async with lock as held:` waits, and releases on any exit; leaving raises Lost if the lock was lost meanwhile.
    """

    @instead(Answers[Held].awaited(_native.LockBase.downgrade))
    def downgrade(self) -> None: ...


class ReadWriteLock(_native.ReadWriteLockBase):
    """Readers share, writers exclude everybody, in the order of arrival. Made by `client.read_write_lock(path)`.

    Each side is a Lock. `await held.downgrade()` of what `write` acquired goes from writing to reading: nobody writes
    in between.
    """

    read: Lock
    write: Lock


class MultiLock(Handle[Held], _native.MultiLockBase):
    """Several locks that are acquired and released together; losing one loses all. Made by `client.multi_lock([…])`."""


class Semaphore(Handle[Held], _native.SemaphoreBase):
    """At most so many permits at once, in the order of arrival. Made by `client.semaphore(path, permits)`."""

    if TYPE_CHECKING:

        @overload
        async def acquire(self, n: int = 1, blocking: Literal[True] = True, timeout: None = None) -> Held: ...
        @overload
        async def acquire(self, n: int = 1, blocking: bool = True, timeout: float | None = None) -> Held | None: ...
        async def acquire(self, *arguments: Any, **named: Any) -> Held | None: ...
    else:
        acquire = awaited(_native.SemaphoreBase.acquire)

    # --- generated from api: verbs of Semaphore for asyncio
    @instead(awaited(_native.SemaphoreBase.holders))
    def holders(self) -> None: ...
    @instead(awaited(_native.SemaphoreBase.resize))
    def resize(self) -> None: ...

    # --- end of generated

    def hold(self, n: int = 1, timeout: float | None = None) -> Hold[Held]:
        """A context manager that acquires `n` permits within `timeout` seconds or raises Timeout."""
        return self._hold(n, timeout)


class Campaign(Scope[Leadership], Coroutine[Any, Any, Leadership]):
    """What `campaign()` answers: a coroutine of the leadership, of which `async with` makes its scope."""

    def __init__(self, winning: Coroutine[Any, Any, Leadership], cancel_on_lost: bool) -> None:
        super().__init__(lambda: winning, cancel_on_lost)
        self._winning = winning

    def __await__(self) -> Generator[Any, Any, Leadership]:
        return self._winning.__await__()

    def send(self, value: Any) -> Any:
        return self._winning.send(value)

    def throw(self, *raised: Any) -> Any:
        return self._winning.throw(*raised)

    def close(self) -> None:
        self._winning.close()


class Election(Handle[Leadership], _native.ElectionBase):
    """One candidate in an election. Made by `client.election(path, data)`.

    `async with election as leadership:` and `async with election.campaign(timeout) as leadership:` wait until this
    candidate leads, and resign on any exit.
    """

    _win = Answers[Leadership].awaited(_native.ElectionBase.campaign)

    @instead(awaited(_native.ElectionBase.resign))
    def resign(self) -> None: ...
    # --- generated from api: verbs of Election for asyncio
    @instead(awaited(_native.ElectionBase.transfer))
    def transfer(self) -> None: ...
    @instead(awaited(_native.ElectionBase.leader))
    def leader(self) -> None: ...
    @instead(awaited(_native.ElectionBase.candidates))
    def candidates(self) -> None: ...
    @instead(feeding(_native.ElectionBase.observe))
    def observe(self) -> None: ...

    # --- end of generated

    def campaign(self, timeout: float | None = None) -> Campaign:
        """Stands, and waits until this candidate leads; Timeout after `timeout` seconds.

        To be awaited for the Leadership, or entered: `async with election.campaign() as leadership:`.
        """
        return Campaign(self._win(timeout), self._cancel_on_lost)

    async def run(
        self,
        work: Callable[[Leadership], object],
        healthy: Callable[[], object] | None = None,
        *,
        stop: asyncio.Event | None = None,
    ) -> None:
        """Stands, calls `work(leadership)` while this candidate leads, resigns, and stands again, until `cancel()` or
        until `stop` is set. With a `stop` that was set before, it does not stand.

        A coroutine function is run as a task, which is cancelled when the leadership is lost or resigned, and when the
        run is to end. What the work raises is logged, and the next campaign begins after a pause. A failure that trying
        again cannot help is raised.

        Where somebody else is to lead, `leadership.signal` tells, and the work may finish for as long as `drain`; then
        the leadership is lost. `healthy`, a function or a coroutine function, is asked before it stands and every half
        a second: while it is false this candidate does not stand, and hands over if it leads. What it raises is logged
        and counts as false.
        """
        terms = self._terms(work)
        with stopped_on_a_loop(stop, self.cancel):
            async with _leading.checking(self, healthy):
                await _leading.run(terms, work)

    def leading(
        self, function: Callable[Concatenate[Leadership, _P], Awaitable[_T]]
    ) -> Callable[_P, Coroutine[Any, Any, _T]]:
        """A decorator: a call of the function stands, waits until this candidate leads, and resigns when it is done.

        It is called with the leadership first, and then the arguments.
        """
        return _leading.asynchronous(self, function)


_H = TypeVar("_H", bound="Handle[Any] | Backlog")


def _refuse(unknown: dict[str, NoReturn], factory: Callable[..., object]) -> None:
    """Names what there is, with the option that only asyncio has."""
    for name in unknown:
        given = inspect.signature(factory).parameters.values()
        known = ", ".join(one.name for one in given if one.kind is one.KEYWORD_ONLY)
        raise InvalidType(f"invalid {name}: there is no such option; the options are {known}")


def _cancelling(cancel_on_lost: object, *handles: _H) -> _H:
    if not isinstance(cancel_on_lost, bool):
        raise InvalidType(f"invalid cancel_on_lost: must be True or False, not {type(cancel_on_lost).__name__}")
    for handle in handles:
        handle._cancel_on_lost = cancel_on_lost
    return handles[0]


class Client(_native.ClientBase):
    """A session with a ZooKeeper ensemble: `async with Client(hosts) as client`, or `await Client.connect(hosts)`."""

    _connected = False
    _connecting: asyncio.Lock | None = None

    @classmethod
    async def connect(cls, hosts: str | None = None, **options: Unpack[ClientOptions]) -> Self:
        """A connected client, to be closed with `await client.close()`."""
        client = cls(hosts, **options)
        await client._open()
        return client

    async def _open(self) -> None:
        # Tasks that enter it at the same time share one session.
        if self._connecting is None:
            self._connecting = asyncio.Lock()
        async with self._connecting:
            if not self._connected:
                await settle(self._connect())
                self._connected = True

    def locked(
        self, path: str, *, timeout: float | None = None
    ) -> Callable[[Callable[_P, Awaitable[_T]]], Callable[_P, Coroutine[Any, Any, _T]]]:
        """A decorator for coroutine functions: each call waits for the lock at `path`, then lets it go.

        It may be used before the client connects. A call inside of another one waits for itself: see `zkrecipes`.
        """
        return _decorators.asynchronous(self, path, timeout)

    async def __aenter__(self) -> Self:
        await self._open()
        self._check_open()
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

    @instead(awaited(_native.SessionBase.close))
    def close(self) -> None: ...
    @instead(awaited(_native.ClientBase.check_sequencer))
    def check_sequencer(self) -> None: ...
    @instead(awaited(_native.ClientBase.watch_sequencer))
    def watch_sequencer(self) -> None: ...
    @instead(awaited(_native.ClientBase.whoami))
    def whoami(self) -> None: ...

    def lock(
        self,
        path: str,
        *,
        # --- generated from api: keywords of lock
        reentrant: bool = False,
        local_handoff: int = 0,
        # --- end of generated
        cancel_on_lost: bool = False,
        **unknown: NoReturn,
    ) -> Lock:
        """A mutual exclusion on `path`, first come, first served.

        With `local_handoff`, those who wait in this client share one node, and pass the turn on in memory at most so
        many times before others get theirs; see `held.passes`.

        With `cancel_on_lost`, losing the lock cancels the body of its `async with`, which then raises Lost.
        """
        _refuse(unknown, Client.lock)
        lock = super().lock(
            path,
            # --- generated from api: keywords given to lock
            reentrant=reentrant,
            local_handoff=local_handoff,
            # --- end of generated
        )
        return _cancelling(cancel_on_lost, cast(Lock, lock))

    def read_write_lock(self, path: str, *, cancel_on_lost: bool = False) -> ReadWriteLock:
        """Readers share, writers exclude everybody: `.read` and `.write` are each a Lock on `path`."""
        lock = cast(ReadWriteLock, super().read_write_lock(path))
        _cancelling(cancel_on_lost, lock.read, lock.write)
        return lock

    def multi_lock(self, locks: Iterable[Lock], *, cancel_on_lost: bool = False) -> MultiLock:
        """Several locks of this client as one: all or none, in the order of their paths."""
        return _cancelling(cancel_on_lost, cast(MultiLock, super().multi_lock(cast("list[_native.Lock]", locks))))

    def semaphore(self, path: str, permits: int, *, cancel_on_lost: bool = False) -> Semaphore:
        """At most `permits` at once on `path`. All who use the path have to name the same number, or get Mismatch."""
        return _cancelling(cancel_on_lost, cast(Semaphore, super().semaphore(path, permits)))

    def election(
        self,
        path: str,
        data: bytes | str = b"",
        *,
        # --- generated from api: keywords of election
        layout: Literal["latch", "selector"] = "latch",
        priority: int = 0,
        drain: float = 1,
        # --- end of generated
        cancel_on_lost: bool = False,
        **unknown: NoReturn,
    ) -> Election:
        """The election of a leader at `path`, for a candidate that says `data` to whoever asks for the leader."""
        _refuse(unknown, Client.election)
        election = super().election(
            path,
            data,
            # --- generated from api: keywords given to election
            layout=layout,
            priority=priority,
            drain=drain,
            # --- end of generated
        )
        return _cancelling(cancel_on_lost, cast(Election, election))

    # --- generated from api: factories of asyncio
    @instead(Answers[Barrier].at_once(_native.ClientBase.barrier))
    def barrier(self) -> None: ...
    @instead(Answers[Config].at_once(_native.ClientBase.config))
    def config(self) -> None: ...
    @instead(Answers[Counter].at_once(_native.ClientBase.counter))
    def counter(self) -> None: ...
    def delay_queue(
        self,
        path: str,
        *,
        max_items: int | None = None,
        ephemeral: bool = False,
        shards: int = 1,
        max_attempts: int | None = None,
        layout: Literal["simple", "distributed", "locking"] = "simple",
        key_window: float = 600,
        cancel_on_lost: bool = False,
        **unknown: NoReturn,
    ) -> DelayQueue:
        """A queue on `path` whose items are put with a delay. The options are those of `queue`; there is one layout,
        and one shard.

        With `cancel_on_lost`, losing an item cancels the body of its `async with`, which then raises Lost.
        """
        _refuse(unknown, Client.delay_queue)
        made = super().delay_queue(
            path,
            max_items=max_items,
            ephemeral=ephemeral,
            shards=shards,
            max_attempts=max_attempts,
            layout=layout,
            key_window=key_window,
        )
        return _cancelling(cancel_on_lost, cast(DelayQueue, made))

    @instead(Answers[Discovery].at_once(_native.ClientBase.discovery))
    def discovery(self) -> None: ...
    @instead(Answers[DoubleBarrier].at_once(_native.ClientBase.double_barrier))
    def double_barrier(self) -> None: ...
    @instead(Answers[Group].at_once(_native.ClientBase.group))
    def group(self) -> None: ...
    @instead(Answers[Latch].at_once(_native.ClientBase.latch))
    def latch(self) -> None: ...
    @instead(Answers[Names].at_once(_native.ClientBase.names))
    def names(self) -> None: ...
    @instead(Answers[Partitioner].at_once(_native.ClientBase.partitioner))
    def partitioner(self) -> None: ...
    def priority_queue(
        self,
        path: str,
        *,
        max_items: int | None = None,
        ephemeral: bool = False,
        shards: int = 1,
        max_attempts: int | None = None,
        layout: Literal["simple", "distributed", "locking"] = "simple",
        key_window: float = 600,
        cancel_on_lost: bool = False,
        **unknown: NoReturn,
    ) -> PriorityQueue:
        """A queue on `path` whose items have priorities. The options are those of `queue`; there is one layout, and
        one shard.

        With `cancel_on_lost`, losing an item cancels the body of its `async with`, which then raises Lost.
        """
        _refuse(unknown, Client.priority_queue)
        made = super().priority_queue(
            path,
            max_items=max_items,
            ephemeral=ephemeral,
            shards=shards,
            max_attempts=max_attempts,
            layout=layout,
            key_window=key_window,
        )
        return _cancelling(cancel_on_lost, cast(PriorityQueue, made))

    def queue(
        self,
        path: str,
        *,
        max_items: int | None = None,
        ephemeral: bool = False,
        shards: int = 1,
        max_attempts: int | None = None,
        layout: Literal["simple", "distributed", "locking"] = "simple",
        key_window: float = 600,
        cancel_on_lost: bool = False,
        **unknown: NoReturn,
    ) -> Queue:
        """A queue on `path`. `max_items`: whoever puts waits while there are so many. `ephemeral`: items go with the
        session of who put them. `shards`: over how many nodes they are spread, with an order within each only.
        `max_attempts`: an item that was claimed so often in vain goes to the dead letters. `key_window`: for how
        many seconds the `key` of a put counts. `layout` says whose queue takes part: "simple" or "distributed"
        (Curator's), or "locking" (kazoo's).

        With `cancel_on_lost`, losing an item cancels the body of its `async with`, which then raises Lost.
        """
        _refuse(unknown, Client.queue)
        made = super().queue(
            path,
            max_items=max_items,
            ephemeral=ephemeral,
            shards=shards,
            max_attempts=max_attempts,
            layout=layout,
            key_window=key_window,
        )
        return _cancelling(cancel_on_lost, cast(Queue, made))

    @instead(Answers[TwoPhaseCommit].at_once(_native.ClientBase.two_phase_commit))
    def two_phase_commit(self) -> None: ...

    # --- end of generated

    nodes: Nodes


# Where they are to be found.
# --- generated from api: classes of asyncio
for _class in (
    Barrier,
    CommitTransaction,
    Config,
    Counter,
    DelayQueue,
    Discovery,
    DoubleBarrier,
    Group,
    Latch,
    Names,
    NodeCache,
    Nodes,
    Partitioner,
    PriorityQueue,
    Proposal,
    Queue,
    Registration,
    Transaction,
    TwoPhaseCommit,
    DeadLetters,
    Feed,
    Held,
    Item,
):
    _class.__module__ = __name__
# --- end of generated
