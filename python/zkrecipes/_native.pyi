# The extension module. Its classes named …Base, Handle and Holding are shared by both faces. Verbs are described as they are on a blocking
# object, where they wait; on an asyncio one they return a Call, which zkrecipes._bridge awaits.

import threading
from collections.abc import Callable, Iterable, Iterator
from types import GenericAlias, TracebackType
from typing import (
    Any,
    ClassVar,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    final,
    overload,
    type_check_only,
)

from typing_extensions import Self, Unpack, disjoint_base
from typing_extensions import TypeVar as _TypeVar

from ._values import (
    Cached,
    ClientOptions,
    CommitStatus,
    Contender,
    DeadLetter,
    GroupEvent,
    Instance,
    Leader,
    LogEntry,
    Metrics,
    QueueStats,
    Service,
    Stat,
    State,
    Versioned,
    WaitProgress,
)

_P = ParamSpec("_P")
_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)
_Acquired_co = _TypeVar("_Acquired_co", bound=HeldBase, covariant=True, default=Held)
_CreateMode: TypeAlias = Literal[
    "persistent", "ephemeral", "persistent_sequential", "ephemeral_sequential", "container"
]

@type_check_only
class _Scope:
    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

class Error(Exception):
    """What every error of zkrecipes derives from: `code`, `retryable`, the `path` concerned or None, and of a `put_many` how many it `put`."""

    code: ClassVar[str]
    retryable: ClassVar[bool]
    path: str | None
    put: int | None

# --- generated from api: exceptions
class Timeout(Error, TimeoutError):
    """The time given ran out; nothing of ours is left waiting in ZooKeeper."""

class Cancelled(Error):
    """The caller withdrew."""

class ConnectionLost(Error, ConnectionError):
    """No server answered within the retry budget; the outcome of a write is unknown."""

class Lost(Error):
    """What was held is gone."""

    reason: Literal["session", "revoked", "deleted", "closed"] | None

class NotHeld(Error, RuntimeError):
    """Release, verify, a guarded write or a token without holding."""

class Denied(Error, PermissionError):
    """Refused by an ACL, by authentication, TLS or SASL."""

class Invalid(Error, ValueError):
    """A path, an option or a handle that cannot be used."""

class TooLarge(Error, ValueError):
    """The request would pass the server's packet limit; it was refused before sending."""

class Exists(Error):
    """A node of that path exists already."""

class NoNode(Error):
    """There is no node at that path."""

class BadVersion(Error):
    """The node has another version than the one named."""

class NotEmpty(Error):
    """The node has children."""

class Mismatch(Error):
    """Those who use the path disagree: about a number, the partitions or the layout."""

class Closed(Error):
    """The client or the handle is closed."""

class WouldDeadlock(Error, RuntimeError):
    """A blocking verb on a thread that the library itself needs: inside a callback or on its runtime."""

class Forked(Error):
    """A client or handle of the parent, used in a child process after fork; connect a client in the child."""

class InternalError(Error):
    """A bug of zkrecipes; please report it."""

# --- end of generated

class InvalidType(Invalid, TypeError):
    """An argument of the wrong type, or an option that does not exist: Invalid, and a TypeError as well."""

def version() -> str:
    """The version of the library."""

def version_after(version: int | None) -> int:
    """The version of a config that was set where it had that one, or where there was none."""

def at_exit(limit: float) -> None:
    """At interpreter exit: ends the sessions still open, so that what they hold is free at once and not after the session
    timeout, and sees to it that no thread of the library is caught inside Python. Takes at most `limit` seconds for
    each, since an exit must not hang.
    """

def set_log_level(least: int) -> None:
    """From this level of `logging` on, somebody listens."""

def partition_failed(partition: HeldBase, error: str) -> None:
    """Says in the log that the work on a partition has failed."""

def run_command(arguments: list[str]) -> int:
    """Runs the command with the arguments of a process, its name included, and returns its exit status."""

@disjoint_base
class SessionBase:
    """The session of both clients; what they make is in `recipes`."""

    def _connect(self) -> Call: ...
    def _check_open(self) -> None: ...
    def update_hosts(self, hosts: str) -> None:
        """Replaces the list of servers, as when some are moved. A connection with a server of the new list stays; otherwise it goes on
        with another one in the same session, as after a break. The chroot has to be the same. A list that cannot be used is
        Invalid, and changes nothing. It waits for no server, on asyncio neither.
        """
    def close(self, timeout: float | None = None) -> None:
        """Ends the session: waiters get Closed, what is held is released, deletions under way are awaited. Timeout: no server
        has confirmed the end of the session by then. The client is closed all the same, and the servers end the session after
        its timeout.
        """
    @property
    def state(self) -> State:
        """connected, suspended, lost or closed."""
    @property
    def session_id(self) -> int:
        """The id of the present session."""
    @property
    def session_timeout(self) -> float:
        """The session timeout that the server agreed to, in seconds."""
    @property
    def lease_remaining(self) -> float:
        """How long the server certainly still honours this session, in seconds; 0 while nothing is held."""
    @property
    def metrics(self) -> Metrics:
        """What this client has done and seen since it connected, and how it stands. Asks no server."""
    @property
    def skipped(self) -> dict[str, str]:
        """The nodes that recipes of this client went on without since it connected, because they may not be read or what they say
        is not understood, by path, and why: "denied", "encoding", "children" of an item that somebody has made nodes below, or
        "size" of one that is too large to be taken. The last thousand at most; one that can be read again stays among them. Asks no
        server.
        """
    def on_state(self, callback: Callable[[State], object]) -> Callable[[], None]:
        """Calls `callback(state)` at each change of state; returns a function that unsubscribes. Callbacks run one at a time on
        a thread of the library; what they raise is logged. They must not block. On asyncio they run on the loop, and may be
        coroutine functions, which are run as tasks. One that refers to the client keeps it until it is unsubscribed or the
        client is closed.
        """
    @staticmethod
    def version() -> str:
        """The version of the library."""

@disjoint_base
class ClientBase(SessionBase):
    """What both clients share."""

    def __init__(self, hosts: str | None = None, **options: Unpack[ClientOptions]) -> None: ...
    @staticmethod
    def _check_lock(path: str, timeout: float | None) -> None: ...
    def read_write_lock(self, path: str) -> ReadWriteLock:
        """Readers share, writers exclude everybody: `.read` and `.write` are each a Lock on `path`."""
    def multi_lock(self, locks: Iterable[Lock]) -> MultiLock:
        """Several locks of this client as one: all or none, in the order of their paths."""
    # --- generated from api: factories for type checkers
    def barrier(self, path: str) -> Barrier:
        """A barrier at `path`: while it is up, everybody who comes to it waits."""

    def config(self, path: str) -> Config:
        """A value at `path` that many follow."""

    def counter(self, path: str, *, layout: Literal["atomic", "shared"] = "atomic") -> Counter:
        """A number at `path` that many count on. `layout` says which of Curator's counters takes part: "atomic" (64
        bits) or "shared" (32 bits).
        """

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
    ) -> DelayQueue:
        """A queue on `path` whose items are put with a delay. The options are those of `queue`; there is one layout,
        and one shard.
        """

    def discovery(self, path: str) -> Discovery:
        """The services below `path`, in Curator's format."""

    def double_barrier(self, path: str, parties: int, name: str | None = None) -> DoubleBarrier:
        """A barrier at `path` that `parties` enter and leave together, any number of rounds. `name` is what the others
        see of this one; the client's identity by default.
        """

    def election(
        self,
        path: str,
        data: bytes | str = b"",
        *,
        layout: Literal["latch", "selector"] = "latch",
        priority: int = 0,
        drain: float = 1,
    ) -> Election:
        """The election of a leader at `path`, for a candidate that says `data` to whoever asks for the leader.
        `layout` says which of Curator's elections takes part: "latch" or "selector". Who has the highest `priority`
        is to lead; a leader of whom somebody wants the leadership may work on for `drain` seconds in `run`.
        """

    def group(
        self, path: str, *, layout: Literal["member", "party", "shallow_party"] | None = None, replace: bool = False
    ) -> Group:
        """A group of members at `path`. `layout` says whose members take part: "member" (Curator's), "party" or
        "shallow_party" (kazoo's, without room for data); by default as the client's `naming`. With `replace`,
        `join` takes its name at once from a member that has it, such as the one that this process was before it
        crashed.
        """

    def latch(self, path: str, count: int) -> Latch:
        """Closed until it was counted down `count` times. Who counts first decides: a latch that is there keeps what
        is left of it.
        """

    def lock(self, path: str, *, reentrant: bool = False, local_handoff: int = 0) -> Lock:
        """A mutual exclusion on `path`, first come, first served.

        A `reentrant` handle is the owner: who uses it is inside together, and nested acquisitions count. With
        `local_handoff`, those who wait in this client share one node, and pass the turn on in memory at most so
        many times before others get theirs; see `held.passes`.
        """

    def names(self, path: str) -> Names:
        """Names below `path`, and what they stand for."""

    def partitioner(
        self, path: str, partitions: int | Iterable[str], *, weight: int = 1, name: str | None = None, drain: float = 30
    ) -> Partitioner:
        """A member of those who share partitions at `path`. `partitions` are their names, or how many, which names
        them "0", "1" and so on; all members have to name the same. `weight` is how much this one is to have beside
        the others, `name` what it is called: one like no other by default. What is to move may be worked on for
        `drain` seconds.
        """

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
    ) -> PriorityQueue:
        """A queue on `path` whose items have priorities. The options are those of `queue`; there is one layout, and
        one shard.
        """

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
    ) -> Queue:
        """A queue on `path`. `max_items`: whoever puts waits while there are so many. `ephemeral`: items go with the
        session of who put them. `shards`: over how many nodes they are spread, with an order within each only.
        `max_attempts`: an item that was claimed so often in vain goes to the dead letters. `key_window`: for how
        many seconds the `key` of a put counts. `layout` says whose queue takes part: "simple" or "distributed"
        (Curator's), or "locking" (kazoo's).
        """

    def semaphore(self, path: str, permits: int) -> Semaphore:
        """At most `permits` at once on `path`. All who use the path have to name the same number, or get Mismatch."""

    def two_phase_commit(self, path: str, mode: Literal["coordinator", "peer"] = "coordinator") -> TwoPhaseCommit:
        """Transactions at `path` that all sites commit, or none. `mode` says who decides those that begin here:
        "coordinator", which waits for the votes, or "peer", the site whose vote is the last.
        """
    # --- end of generated
    def check_sequencer(self, sequencer: str) -> bool:
        """Whether the acquisition that this `held.sequencer` names, of anybody in any language, still stands."""
    def watch_sequencer(self, sequencer: str, timeout: float | None = None) -> None:
        """Waits until the acquisition that this `held.sequencer` names no longer stands; Timeout after `timeout` seconds."""
    def whoami(self) -> list[str]:
        """As whom the server knows this client, each as `scheme:id`, which is what an access list names: by the address it comes
        from, by its credentials and by its certificate. Of digest credentials it is the user alone. Invalid: servers before 3.7
        do not tell.
        """
    @property
    def nodes(self) -> Nodes:
        """Plain node operations."""

@disjoint_base
class Client(_Scope, ClientBase):
    """A session with a ZooKeeper ensemble; connects at once.

    `hosts` is a connect string such as "zk1:2181,zk2:2181/app", or "embedded:" for a server inside this process, for
    development and tests. Without it, ZKRECIPES_HOSTS is read from the environment.

    The options are described in `zkrecipes.ClientOptions`.

    >>> import zkrecipes
    >>> with zkrecipes.Client("embedded:", session_timeout=6, identity="worker 7") as client:
    ...     print(client.state, client.session_timeout)
    connected 6.0
    """

    def __enter__(self) -> Self: ...
    def locked(self, path: str, *, timeout: float | None = None) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
        """A decorator: whoever calls the function waits for the lock at `path`, and lets it go when the function is done. With
        `timeout`, in seconds, Timeout is raised when it cannot be had so soon, and Lost when it was lost meanwhile.

        Each call is a contender of its own, so a function that calls itself, or another one under the same lock, waits for
        itself. What the function returns has to be the end of its work: a generator or a coroutine is refused.

        >>> import zkrecipes
        >>> client = zkrecipes.Client("embedded:/locked-doc")
        >>> @client.locked("/locks/report", timeout=5)
        ... def report(day):
        ...     return f"report of {day}"
        >>> report("Monday")
        'report of Monday'
        >>> client.close()
        """

@disjoint_base
class Holding:
    """What handles and acquisitions share, on both faces."""

    def release(self, wait: bool = True) -> None:
        """Lets go of what is held, and waits until the server has confirmed it; a second time is NotHeld. With `wait=False` it
        returns at once, and confirms in the background; callbacks may do that too.
        """
    def verify(self) -> None:
        """Asks the server: returns, or raises NotHeld, or ConnectionLost when it cannot be known."""
    def guarded(self) -> Transaction:
        """Node writes that the server applies only while this is held, in one transaction."""
    def on_lost(self, callback: Callable[[Lost], object]) -> Callable[[], None]:
        """Calls `callback(error)` once if what is held now gets lost, at once if it is lost already, never for an own release;
        returns a function that unsubscribes. A callback that refers to an acquisition keeps it alive until it is released.
        """
    def on_revoke(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Calls `callback()` once when somebody asks for what is held now (`lock.revoke()`), at once if that has happened:
        finish, then release. Returns a function that unsubscribes.
        """
    @property
    def is_held(self) -> bool:
        """Whether it is certainly held, by the clock and without I/O."""
    @property
    def fencing_token(self) -> int:
        """The number that rises with every acquisition of the path, for resources that refuse lower ones. A handle that holds
        nothing raises NotHeld.
        """

@disjoint_base
class Handle(Holding):
    """What all handles share, on both faces."""

    def _take(self, n: int, timeout: float | None) -> Call: ...
    @overload
    def acquire(self, blocking: Literal[True] = True, timeout: None = None) -> Held:
        """Waits and returns what was acquired, or None when the time ran out.

        `blocking=False` tries once. `timeout` is in seconds; None or -1 waits for ever. A second acquire on a lock that
        holds waits too, whichever thread or task makes it, unless the lock is reentrant.
        """
    @overload
    def acquire(self, blocking: bool = True, timeout: float | None = None) -> Held | None:
        """Waits and returns what was acquired, or None when the time ran out.

        `blocking=False` tries once. `timeout` is in seconds; None or -1 waits for ever. A second acquire on a lock that
        holds waits too, whichever thread or task makes it, unless the lock is reentrant.
        """
    def on_wait(self, callback: Callable[[WaitProgress], object]) -> Callable[[], None]:
        """Calls `callback(progress)` while an acquire through this handle waits: after a second, and then ever less often, up to
        once a minute. `progress` says for whom (`holder`), since when (`waited` seconds) and how many are `ahead`. Returns a
        function that unsubscribes. A callback that refers to the handle keeps it, and what it holds, until it is unsubscribed.
        """
    def contenders(self) -> list[Contender]:
        """Who holds and who waits, in order. Of a semaphore there is one entry for each permit that is held, and of a
        multi-lock there are the contenders of each of its locks.
        """
    def revoke(self, contender: str | Contender | None = None, force_after: float | None = None) -> bool:
        """Asks for it: whoever holds, or the `contender` given (as `contenders()` lists it, or its node), hears of it through
        `held.on_revoke` and lets go when it can. With `force_after` seconds, exactly the nodes that were asked are deleted
        when they have not gone by then; a holder that cannot be reached does not know that at once, and only fencing and
        guarded writes protect from it. False when there was nobody to ask.
        """
    def cancel(self) -> None:
        """Wakes all waits in progress on this handle with Cancelled, never later ones."""

@disjoint_base
class LockBase(Handle):
    """What `Lock` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    # --- generated from api: members of Lock
    @property
    def path(self) -> str:
        """Where the lock is."""
    # --- end of generated
    def downgrade(self) -> Held:
        """From writing to reading, for the `write` side of a read/write lock: as `downgrade` of what it acquired last."""

@final
class Lock(_Scope, LockBase):
    """A mutual exclusion between processes, first come, first served. Made by `client.lock(path)`.

    `with lock as held:` waits, and releases on any exit; leaving raises Lost if the lock was lost meanwhile. The handle
    keeps what it acquired, so that the idiom of `threading` works too:

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/lock-doc")
    >>> lock = client.lock("/locks/report")
    >>> with lock as held:
    ...     print(held.is_held)
    True
    >>> if lock.acquire(timeout=5):
    ...     try:
    ...         print(lock.is_held)
    ...     finally:
    ...         lock.release()
    True
    >>> client.close()
    """

    def hold(self, timeout: float | None = None) -> Hold[Held]:
        """A context manager that acquires within `timeout` seconds or raises Timeout.

        >>> import zkrecipes
        >>> client = zkrecipes.Client("embedded:/hold-doc")
        >>> with client.lock("/locks/report"):
        ...     with client.lock("/locks/report").hold(timeout=0.1):
        ...         pass
        Traceback (most recent call last):
        ...
        zkrecipes.Timeout: ...
        >>> client.close()
        """
    def __enter__(self) -> Held: ...

@disjoint_base
class ReadWriteLockBase:
    """What both read/write locks share."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def read(self) -> Lock:
        """The shared side, a Lock."""
    @property
    def write(self) -> Lock:
        """The exclusive side, a Lock."""
    @property
    def path(self) -> str:
        """The path that is locked."""

@final
class ReadWriteLock(ReadWriteLockBase):
    """Readers share, writers exclude everybody, in the order of arrival. Made by `client.read_write_lock(path)`.

    Each side is a `Lock`. What `write` acquired can be downgraded, from writing to reading: nobody writes in between. There
    is no way back but to release `read` first: who asks for `write` with `read` in hand waits for itself.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/read-write-lock-doc")
    >>> catalogue = client.read_write_lock("/locks/catalogue")
    >>> with catalogue.read, client.read_write_lock("/locks/catalogue").read as other:
    ...     print(other.is_held, catalogue.path)
    True /locks/catalogue
    >>> with catalogue.write as writing:
    ...     reading = writing.downgrade()
    >>> reading.is_held, reading.fencing_token == writing.fencing_token
    (True, True)
    >>> reading.release()
    >>> client.close()
    """

@disjoint_base
class MultiLockBase(Handle):
    """What `MultiLock` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    # --- generated from api: members of MultiLock
    @property
    def paths(self) -> list[str]:
        """The paths that are locked, in the order in which they are acquired and in which the tokens come."""
    # --- end of generated
    @property
    def fencing_tokens(self) -> list[int]:
        """The fencing tokens of what is held, in the order of `paths`."""

@final
class MultiLock(_Scope, MultiLockBase):
    """Several locks that are acquired and released together; losing one loses all. Made by `client.multi_lock([…])`.

    They are taken in the order of their paths, so that two who need the same ones never wait for each other.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/multi-lock-doc")
    >>> both = client.multi_lock([client.lock("/accounts/bob"), client.lock("/accounts/alice")])
    >>> both.paths
    ['/accounts/alice', '/accounts/bob']
    >>> with both as held:
    ...     print(len(held.fencing_tokens), client.lock("/accounts/bob").acquire(blocking=False))
    2 None
    >>> client.close()
    """

    def hold(self, timeout: float | None = None) -> Hold[Held]:
        """A context manager that acquires all within `timeout` seconds or raises Timeout."""
    def __enter__(self) -> Held: ...

@disjoint_base
class SemaphoreBase(Handle):
    """What `Semaphore` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    # --- generated from api: members of Semaphore
    @property
    def path(self) -> str:
        """Where the semaphore is."""

    @property
    def permits(self) -> int:
        """How many permits there are, as far as this handle knows."""

    def holders(self) -> list[Contender]:
        """Who holds permits, one entry for each permit; `contenders()` lists those who wait too."""

    def resize(self, permits: int) -> None:
        """Changes how many permits there are, for everybody. Handles that still say the old number get Mismatch, and
        fewer than are held now takes effect as they are released.
        """
    # --- end of generated
    @overload  # type: ignore[override]
    def acquire(self, n: int = 1, blocking: Literal[True] = True, timeout: None = None) -> Held:
        """Waits for `n` permits at once and returns what was acquired, or None when the time ran out.

        `blocking=False` tries once. `timeout` is in seconds; None or -1 waits for ever. Several acquisitions may be held
        through one handle; `release` lets go of the latest.
        """
    @overload
    def acquire(self, n: int = 1, blocking: bool = True, timeout: float | None = None) -> Held | None:
        """Waits for `n` permits at once and returns what was acquired, or None when the time ran out.

        `blocking=False` tries once. `timeout` is in seconds; None or -1 waits for ever. Several acquisitions may be held
        through one handle; `release` lets go of the latest.
        """

@final
class Semaphore(_Scope, SemaphoreBase):
    """At most so many permits at once, in the order of arrival. Made by `client.semaphore(path, permits)`.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/semaphore-doc")
    >>> exports = client.semaphore("/limits/exports", 3)
    >>> with exports as held:
    ...     print(held.permits, exports.acquire(3, blocking=False))
    1 None
    >>> with exports.hold(3, timeout=5):
    ...     print(len(exports.holders()))
    3
    >>> client.close()
    """

    def hold(self, n: int = 1, timeout: float | None = None) -> Hold[Held]:
        """A context manager that acquires `n` permits within `timeout` seconds or raises Timeout."""
    def __enter__(self) -> Held: ...

@final
class Hold(_Scope, Generic[_Acquired_co]):
    """What `hold(timeout)` returns."""

    def __class_getitem__(cls, key: object) -> GenericAlias: ...
    def __enter__(self) -> _Acquired_co: ...

@disjoint_base
class HeldBase(Holding):
    """What both faces of an acquisition have besides."""

    def __new__(cls, seed: Seed) -> Self: ...
    def downgrade(self) -> Held:
        """From writing to reading, for what the `write` side of a read/write lock acquired: nobody writes in between, readers may
        come in, and the fencing token stays. This acquisition is over then, as after a release; what is returned is held by the
        `read` side. Invalid for what was acquired otherwise. On an error `write` is still held, unless it is lost.
        """
    def _leave(self, body_failed: bool) -> Call: ...
    def _check(self) -> None: ...
    def _acknowledge(self, data: bytes | str) -> None: ...
    @property
    def path(self) -> str:
        """The path of the lock."""
    @property
    def name(self) -> str:
        """The last part of the path: of a partition, its name."""
    @property
    def node(self) -> str:
        """The path of this acquisition's own node."""
    @property
    def fencing_tokens(self) -> list[int]:
        """The tokens of all that is held together, in the order of their paths: several for a multi-lock."""
    @property
    def passes(self) -> int:
        """How often the turn was passed on inside this process since it was won. With `local_handoff`, acquisitions share a
        fencing token, and the pair (fencing_token, passes) rises strictly.
        """
    @property
    def permits(self) -> int:
        """How many nodes of ours stand for this: the permits of a semaphore, the locks of a multi-lock."""
    @property
    def sequencer(self) -> str:
        """A text by which anybody, in any language, can check or watch whether this acquisition still stands; see
        `client.check_sequencer`.
        """

@disjoint_base
class Held(_Scope, HeldBase):
    """One acquisition. As a context manager it is released on exit; leaving raises Lost if it was lost.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/held-doc")
    >>> with client.lock("/locks/report").acquire() as held:
    ...     held.verify()                  # asks the server
    ...     first = held.fencing_token     # for whatever the lock protects
    >>> held.is_held
    False
    >>> with client.lock("/locks/report") as held:
    ...     print(held.fencing_token > first)
    True
    >>> client.close()
    """

    def __enter__(self) -> Self: ...

@disjoint_base
class ElectionBase(Handle):
    """What `Election` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    # --- generated from api: members of Election
    @property
    def path(self) -> str:
        """The path of the election."""

    def transfer(self, to: str | Contender) -> bool:
        """Hands the leadership over to a candidate, or to the first of an identity. Those who stand before it are
        asked to move behind, then this one resigns. Whether the other one leads: False if there is no such
        candidate, or if others stand before it that do not go within five seconds. Nothing has changed for the
        leader then, and who was asked may stand further back. NotHeld: this one does not lead.
        """

    @property
    def is_leader(self) -> bool:
        """Whether this candidate certainly leads, by the clock and without I/O."""

    def leader(self) -> Leader | None:
        """Who leads now, or None; whether or not this candidate stands."""

    def candidates(self) -> list[Contender]:
        """All who stand, in the order in which they will lead; the first one leads."""

    def observe(self) -> Feed[Leader | None]:
        """Who leads, now and whenever that changes; None while nobody does. That a leader has begun its work is told,
        too.
        """
    # --- end of generated
    def campaign(self, timeout: float | None = None) -> Leadership:
        """Stands, and waits until this candidate leads; Timeout after `timeout` seconds. The Leadership is a Held, and a context
        manager that resigns.
        """
    def resign(self) -> None:
        """Resigns, and waits until the server has confirmed it: the next candidate leads. NotHeld without leading."""
    def _terms(self, work: Callable[[Any], object]) -> Terms: ...
    def _set_healthy(self, healthy: bool) -> None: ...
    @property
    def _health_interval(self) -> float: ...

@final
class Election(_Scope, ElectionBase):
    """One candidate in an election. Made by `client.election(path, data)`.

    What an election acquires is the leadership, so that `with election as leadership:` waits until it leads, too.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/election-doc", identity="ann")
    >>> election = client.election("/leader", "10.0.0.7:80")
    >>> with election.campaign(timeout=5) as leadership:
    ...     leadership.acknowledge("ready")
    ...     leader = election.leader()
    >>> leader.identity, leader.data, leader.acknowledged, leader.epoch == leadership.epoch
    ('ann', b'ready', True, True)
    >>> @election.leading
    ... def report(leadership):
    ...     return leadership.is_held
    >>> report(), election.is_leader                        # it stood, led, and resigned
    (True, False)
    >>> client.close()
    """

    @overload
    def acquire(self, blocking: Literal[True] = True, timeout: None = None) -> Leadership: ...
    @overload
    def acquire(self, blocking: bool = True, timeout: float | None = None) -> Leadership | None: ...
    def hold(self, timeout: float | None = None) -> Hold[Leadership]:
        """A context manager that leads within `timeout` seconds or raises Timeout."""
    def run(
        self,
        work: Callable[[Leadership], object],
        healthy: Callable[[], object] | None = None,
        *,
        stop: threading.Event | None = None,
    ) -> None:
        """Stands, calls `work(leadership)` while this candidate leads, resigns, and stands again, until `cancel()`, until `stop`
        is set, or a failure that trying again cannot help. What `work` raises is logged, and the next campaign begins after a
        pause. With a `stop` that was set before, it does not stand.

        Nothing can take a thread away from its work: it has to look at `leadership.is_held`, and return when that is false: it
        was lost or resigned, `cancel()` was called or `stop` set. In the last two cases it leads until it returns. Where
        somebody else is to lead, `leadership.signal` tells, and the work may finish for as long as `drain`; then the leadership
        is lost.

        `healthy` is asked before it stands and every half a second, on a thread of its own: while it is false this candidate
        does not stand, and hands over if it leads. What it raises is logged and counts as false.
        """
    def leading(self, function: Callable[Concatenate[Leadership, _P], _T]) -> Callable[_P, _T]:
        """A decorator: whoever calls the function stands, waits until this candidate leads, and resigns when it is done. It is
        called with the leadership first, and then the arguments.
        """
    def __enter__(self) -> Leadership: ...

@final
class Leadership(Held):
    """One term of a leader: a Held, of which the fencing token is the `epoch`. As a context manager it resigns on exit; leaving
    raises Lost if the leadership was lost.
    """

    def acknowledge(self, data: bytes | str) -> None:
        """Tells everybody that this leader has begun its work, and `data`, which replaces that of the candidate. NotHeld: it
        leads no more, and the server has refused it.
        """
    @property
    def epoch(self) -> int:
        """Rises strictly from one leader to the next: the fencing token."""
    @property
    def signal(self) -> threading.Event:
        """Is set when the work is to end, whatever the reason: somebody asks for the leadership, it is lost or resigned, or all
        was cancelled. `on_lost` is for a loss alone.
        """
    @property
    def _is_over(self) -> bool: ...

@final
class FoundInstance:
    """What an `Instance` has of the object that has found it."""

    def failed(self) -> None:
        """It did not serve: for a while it is not picked."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...
    def __reduce__(self) -> tuple[type[None], tuple[()]]: ...

@final
class Terms:
    """The terms of a candidate, one after the other: what both faces of `run` use."""

    def next(self) -> Call:
        """Campaigns, however often it takes; None when it was cancelled."""
    def begins(self, leadership: HeldBase) -> bool:
        """Whether the term is to begin: else all was cancelled while its owner was told of it, and it is let go."""
    def tells(self, leadership: HeldBase) -> None:
        """From now on the leadership's `is_held` is false once all is cancelled."""
    def over(self, leadership: HeldBase) -> Call:
        """Waits until a term is over: lost or resigned, or all of it cancelled."""
    def end(self, leadership: HeldBase, raised: BaseException | None) -> Call:
        """Ends a term: resigns, if that was not done yet, and says what the work came to: None, or what it raised."""
    @property
    def times(self) -> CallbackTimes:
        """Who hears how long the work keeps an event loop."""
    @staticmethod
    def abandon(leadership: HeldBase) -> None:
        """Ends the last term without waiting for anything."""

# --- generated from api: recipes

@disjoint_base
class BacklogBase:
    """What all queues are, on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def path(self) -> str:
        """Where the items are."""

    def get(self, timeout: float | None = None) -> bytes:
        """Takes the next item and returns its data: at most once, for it is removed before it is returned. Waits for
        one; Timeout after `timeout` seconds, and 0 is one attempt. ConnectionLost: an item may have been removed
        that nobody has.
        """

    def claim(self, timeout: float | None = None) -> Item:
        """Claims the next item: at least once, for nobody else has it until it is acknowledged, given back, or this
        session ends. Waits for one; Timeout after `timeout` seconds, and 0 is one attempt.
        """

    def claim_many(self, n: int, timeout: float | None = None) -> list[Item]:
        """Claims up to `n` at once: waits for the first, and takes the next ones along that are there already. Timeout
        after `timeout` seconds without one, and 0 is one attempt.
        """

    def ack_many(self, items: Iterable[Item]) -> None:
        """Acknowledges several at once, each as by its `ack`: the requests leave together, and one that fails holds up
        no other. What is raised is the error of the first of them that failed.
        """

    def on_wait(self, callback: Callable[[WaitProgress], object]) -> Callable[[], None]:
        """Calls `callback(progress)` while a verb of this object waits, for an item or for room: after a second, and
        then ever less often, up to once a minute. `progress` says for how long (`waited` seconds). Returns a
        function that unsubscribes.
        """

    def peek(self) -> bytes | None:
        """The data of the next item that could be taken, which stays; None if there is none."""

    def len(self) -> int:
        """How many items there are, claimed ones included."""

    def stats(self) -> QueueStats:
        """How many items can be taken, step aside, or are claimed, and how many dead letters there are; counted by the
        lists of items and claims.
        """

    def items(self) -> list[bytes]:
        """The data of all items in order, claimed ones included. It reads every one of them; what cannot be read is
        left out, and the log names it.
        """

    @property
    def dead(self) -> DeadLetters:
        """The items that were claimed `max_attempts` times in vain, or that nobody can read."""

    def replay(self, id: str | None = None) -> int:
        """Puts the dead letters back into their queue, as new items, or the one with that `id`; returns how many:
        `queue.dead.replay()`.
        """

    def purge(self, older_than: float) -> int:
        """Deletes the dead letters that have been there for `older_than` seconds, 0 for all; returns how many:
        `queue.dead.purge(7 * 24 * 3600)`. Nothing else of the queue goes.
        """

    def cancel(self) -> None:
        """Ends the waits in progress on this object with Cancelled, never later ones; and the loops over it, also one
        that works on an item at the moment, when that is done.
        """
    def _claims(self) -> Claims: ...
    def _workers(self, work: Callable[[Item], object], concurrency: int) -> list[Claims]: ...
    def process(
        self, work: Callable[[Item], object], concurrency: int = 1, *, stop: threading.Event | None = None
    ) -> None:
        """Works on items as they come, at most `concurrency` at once, until `cancel()`, until `stop` is set, or until the client is
        closed. With a `stop` that was set before, it takes no item.

        `work(item)` is called in this thread, or with a `concurrency` above 1 in so many threads. An item is done when it
        returns, unless it has settled the item; what it raises is logged, and the item is given back as by `nack`, with that
        as the reason. An item that is lost is not given back: others have it then.

        It returns when what was begun is done. Ctrl-C ends it, too: `work` in this thread is interrupted, and its item is
        given back as if nobody had failed; threads are waited for, unless it comes twice.
        """

@disjoint_base
class BarrierBase:
    """What `Barrier` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def path(self) -> str:
        """Where the barrier is."""

    def create(self) -> None:
        """Puts it up, unless it is up already: who comes to it waits from now on."""

    def remove(self) -> None:
        """Lifts it, if it is up: all who wait go on."""

    def is_up(self) -> bool:
        """Whether it is up."""

    def on_wait(self, callback: Callable[[WaitProgress], object]) -> Callable[[], None]:
        """Calls `callback(progress)` while a wait through this object goes on: after a second, and then ever less
        often, up to once a minute. `progress` says who has put the barrier up (`holder`), and for how long it is
        waited (`waited` seconds). Returns a function that unsubscribes.
        """

    def wait(self, timeout: float | None = None) -> None:
        """Waits until it is lifted, and not at all if it is not up; Timeout after `timeout` seconds."""

    def cancel(self) -> None:
        """Ends the waits in progress on this object with Cancelled, never later ones."""

@final
class Barrier(BarrierBase):
    """While it is up, everybody who comes to it waits. Made by `client.barrier(path)`.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/barrier-doc")
    >>> barrier = client.barrier("/barriers/import")
    >>> barrier.create()
    >>> barrier.wait(timeout=0.1)
    Traceback (most recent call last):
    ...
    zkrecipes.Timeout: ...
    >>> barrier.remove()
    >>> barrier.wait()
    >>> barrier.is_up()
    False
    >>> client.close()
    """

@disjoint_base
class CommitTransactionBase:
    """What `CommitTransaction` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def id(self) -> str:
        """By which name it began."""

    @property
    def sites(self) -> list[str]:
        """Who votes."""

    @property
    def payload(self) -> bytes:
        """What it is about."""

    @property
    def reason(self) -> str:
        """Why it was aborted: which site voted for that and what it said, or that not all had voted in time. Empty of
        a commit, and as long as the outcome is not known here: ask for that first. Empty, too, where no more is
        left of it than that it was aborted.
        """

    def outcome(self, timeout: float | None = None) -> Literal["commit", "abort"]:
        """Waits until it is decided and returns "commit" or "abort"; Timeout after `timeout` seconds. Past its
        deadline whoever waits decides. It is the true outcome, whoever decided it.
        """

    def cancel(self) -> None:
        """Ends the waits in progress on this object with Cancelled, never later ones."""

@final
class CommitTransaction(CommitTransactionBase):
    """A transaction that this coordinator has begun or taken over."""

@disjoint_base
class ConfigBase:
    """What `Config` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def path(self) -> str:
        """Where the value is."""

    def get(self) -> Versioned | None:
        """The value and its version, or None if nobody has set it."""

    def set(self, value: bytes | str, version: int | None = None) -> int:
        """Sets the value, if it has this version; returns the new version. Without a version it is set whatever it
        was, and created if it is missing. BadVersion: somebody has changed it since. ConnectionLost: it may or may
        not have been set.
        """

    def create(self, value: bytes | str) -> int:
        """Sets the value if nobody has set it yet; returns its version, 0. Exists: there is one. ConnectionLost: it
        may or may not have been set.
        """

    def compare_and_set(self, value: bytes | str, version: int | None = None) -> bool:
        """Sets the value if it still has that version, or, with None, if there still is none; returns whether it did.
        This is a step of `update`, made once, also where the answer got lost. ConnectionLost: nobody can know
        whether it was.
        """

    def watch(self) -> Feed[Versioned | None]:
        """The value now, and whenever it has changed: always the latest, None where there is none."""

    @property
    def cached(self) -> Cached | None:
        """What this object has been told last, by a feed of it or by `get`, and how old that may be; nobody is asked.
        None before that.
        """

@final
class Config(ConfigBase):
    """A value that many follow. Made by `client.config(path)`.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/config-doc")
    >>> mode = client.config("/config/mode")
    >>> mode.get(), mode.set("blue"), mode.get()
    (None, 0, Versioned(value=b'blue', version=0))
    >>> mode.set("green", version=mode.get().version)       # only if nobody was faster
    1
    >>> mode.cached.value
    Versioned(value=b'blue', version=0)
    >>> for now in mode.watch():
    ...     print(now.value)                                # this one, and every later one
    ...     break
    b'green'
    >>> mode.update(lambda value: value + b"er")            # made once, whoever else sets it meanwhile
    Versioned(value=b'greener', version=2)
    >>> client.close()
    """
    def update(self, change: Callable[[bytes | None], bytes | str]) -> Versioned:
        """Replaces the value by what `change` returns for it; for None, where nobody has set it. If somebody sets it
        meanwhile, `change` is called again, with that value. Returns what was set. Each change is made once, also where an
        answer got lost; ConnectionLost: nobody can know whether it was made. What `change` raises sets nothing.
        """

@disjoint_base
class CounterBase:
    """What `Counter` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def path(self) -> str:
        """Where the value is kept."""

    def get(self) -> int:
        """The value, no older than this call; 0 if nobody has counted yet."""

    def add(self, n: int) -> int:
        """Adds `n`, which may be negative, and returns the new value. What would pass 64 bits, or 32 in the layout
        "shared", is Invalid, and nothing is added. ConnectionLost says that it cannot be known whether it was.
        """

    def set(self, value: int) -> None:
        """Sets the value, whatever it was. What is beyond 64 bits, or 32 in the layout "shared", is Invalid, and
        nothing is changed. ConnectionLost says that it cannot be known whether it was set.
        """

    def compare_and_set(self, old: int, new: int) -> bool:
        """Sets the value to `new` if it is `old`; says whether it was."""

    def watch(self) -> Feed[int]:
        """The value now, and whenever it has changed: always the latest, 0 where nobody has counted."""

@final
class Counter(CounterBase):
    """A number that many count on. Every change is applied exactly once, also when its answer gets lost;
    ConnectionLost where that cannot be known any more. Made by `client.counter(path)`.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/counter-doc")
    >>> orders = client.counter("/counters/orders")
    >>> orders.add(5), orders.add(-2)
    (5, 3)
    >>> orders.compare_and_set(3, 10), orders.get()
    (True, 10)
    >>> client.close()
    """

@disjoint_base
class DelayQueueBase(BacklogBase):
    """What `DelayQueue` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    def put(self, data: bytes | str, delay: float, timeout: float | None = None, key: str | None = None) -> None:
        """Puts an item that nobody gets before `delay` seconds have passed; once, also when its answer gets lost.
        Waits while the queue is full; Timeout after `timeout` seconds. `key` as for a `Queue`.
        """

@final
class DelayQueue(DelayQueueBase):
    """Items that are taken when they are due, the first due first. Made by `client.delay_queue(path)`.

    What is due is told by the clocks of those who put and take: they should not be far apart.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/delay-queue-doc")
    >>> reminders = client.delay_queue("/queues/reminders")
    >>> reminders.put("later", 0.2)
    >>> reminders.put("sooner", 0.1)
    >>> reminders.peek(), reminders.get(), reminders.get()
    (None, b'sooner', b'later')
    >>> client.close()
    """
    def __iter__(self) -> Iterator[Item]: ...

@disjoint_base
class DiscoveryBase:
    """What `Discovery` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def path(self) -> str:
        """The path below which the services are."""

    def register(self, service: Service) -> Registration:
        """Registers an instance of a service. A dynamic one is kept over all sessions of the client until it is
        unregistered or the client is closed; a static or permanent one stays until it is unregistered. Exists:
        there is one of that id, which a crashed process may have left until its session timeout. Only a static or
        permanent one takes the place of another such one.
        """

    def instances(self, name: str) -> list[Instance]:
        """The instances of a service; none if there is no such service."""

    def names(self) -> list[str]:
        """The services that there are, sorted. One whose last instance has gone is there for a while."""

    def watch(self, name: str) -> Feed[list[Instance]]:
        """The instances of a service, now and whenever they are others."""

    def pick(self, name: str, by: Literal["round_robin", "random", "sticky"] = "round_robin") -> Instance | None:
        """One of the instances of a service; None if there is none that may be picked. Disabled ones are not picked,
        nor for 30 seconds those that have failed. `by` says which: "round_robin", "random", or "sticky", the same
        as before as long as it is there. Only the first call for a service asks a server: from then on it is
        followed.
        """

    def failed(self, name: str, id: str) -> None:
        """An instance did not serve: for 30 seconds this object does not pick it. The same as `instance.failed()`, for
        who has nothing but its name and id.
        """

@final
class Discovery(DiscoveryBase):
    """Services below a path, and their instances, shared with everybody who uses that path, Curator's users too.
    Made by `client.discovery(path)`.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/discovery-doc")
    >>> discovery = client.discovery("/services")
    >>> web = zkrecipes.Service("web", "10.0.0.7", port=8080, payload={"zone": "b"}, uri_spec="{scheme}://{address}:{port}")
    >>> registration = discovery.register(web)
    >>> instance = discovery.pick("web")
    >>> instance.uri, instance.payload
    ('http://10.0.0.7:8080', {'zone': 'b'})
    >>> registration.update(enabled=False)
    >>> [one.enabled for one in discovery.instances("web")]
    [False]
    >>> registration.unregister()
    >>> client.close()
    """

@disjoint_base
class DoubleBarrierBase:
    """What `DoubleBarrier` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def path(self) -> str:
        """Where the barrier is."""

    @property
    def parties(self) -> int:
        """How many there have to be."""

    @property
    def name(self) -> str:
        """What this party is called."""

    @property
    def has_entered(self) -> bool:
        """Whether it has entered, and not left."""

    def on_wait(self, callback: Callable[[WaitProgress], object]) -> Callable[[], None]:
        """Calls `callback(progress)` while this party enters or leaves: after a second, and then ever less often, up
        to once a minute. `progress` says how many have yet to come, or to leave (`ahead`), and for how long it is
        waited (`waited` seconds). Returns a function that unsubscribes.
        """

    def enter(self, timeout: float | None = None) -> None:
        """Comes to the barrier, and waits until all parties have. Timeout after `timeout` seconds: then it counts for
        nobody. Exists: it has entered already. Mismatch: the others wait for another number of parties.
        """

    def leave(self, timeout: float | None = None) -> None:
        """Leaves, and waits until all parties have. Timeout after `timeout` seconds: it has left, and not all others
        have. NotHeld: it has not entered. Lost: its place was gone before.
        """

    def withdraw(self) -> None:
        """Leaves in the background, and waits for nobody. NotHeld: it has not entered."""

    def cancel(self) -> None:
        """Ends the waits in progress on this object with Cancelled, never later ones: who was entering counts for
        nobody then; who left has left.
        """

@final
class DoubleBarrier(_Scope, DoubleBarrierBase):
    """Parties that begin and end a piece of work together, any number of rounds. Made by
    `client.double_barrier(path, parties)`.

    `with barrier:` enters, and leaves when the body is done. Nobody waits for the others when it failed: then
    this party withdraws, and the others go on without it.

    >>> import zkrecipes
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> client = zkrecipes.Client("embedded:/double-barrier-doc")
    >>> done = []
    >>> def work(name):
    ...     with client.double_barrier("/barriers/import", 3, name):
    ...         done.append(name)
    ...     return len(done)   # of all of them
    >>> with ThreadPoolExecutor() as pool:
    ...     list(pool.map(work, ["ann", "bob", "cid"]))
    [3, 3, 3]
    >>> client.close()
    """
    def __enter__(self) -> Self: ...

@disjoint_base
class GroupBase:
    """What `Group` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def path(self) -> str:
        """Where the group is."""

    def join(self, name: str, data: bytes | str = b"") -> None:
        """Becomes a member, and stays one over all sessions of the client until it leaves or the client is closed.
        Exists: this object has joined already, or another member has that name.
        """

    def leave(self) -> None:
        """Ends the membership. NotHeld: there is none. ConnectionLost: unconfirmed, and it goes on in the background."""

    def update(self, data: bytes | str) -> None:
        """Replaces what this member says of itself. NotHeld: it has not joined. ConnectionLost: not yet, and it goes
        on in the background.
        """

    def members(self) -> dict[str, bytes]:
        """The members by name, and what they say of themselves. One that may not be read is left out: `client.skipped`
        names it.
        """

    def wait_for(self, n: int, timeout: float | None = None) -> dict[str, bytes]:
        """Waits until there are at least `n` members, whoever they are, and returns them as `members` does; Timeout
        after `timeout` seconds.
        """

    def watch(self) -> Feed[GroupEvent]:
        """All members at first, then who joins, who leaves and whose data changes: Snapshot, Joined, Left and Changed.
        After a gap, what differs is told. One that may not be read is left out: `client.skipped` names it.
        """

    def cancel(self) -> None:
        """Ends the waits in progress on this object with Cancelled, never later ones."""

@final
class Group(GroupBase):
    """A group of members that know each other by name; this object can be one of them. Made by
    `client.group(path)`.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/group-doc")
    >>> workers = client.group("/workers")
    >>> workers.join("worker-1", "idle")
    >>> workers.members()
    {'worker-1': b'idle'}
    >>> with workers.watch() as feed:
    ...     print(next(feed))
    ...     workers.update("busy")
    ...     print(next(feed))
    Snapshot(members={'worker-1': b'idle'})
    Changed(name='worker-1', data=b'busy')
    >>> workers.leave()
    >>> client.close()
    """

@disjoint_base
class LatchBase:
    """What `Latch` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def path(self) -> str:
        """Where the latch is."""

    def count_down(self, n: int = 1) -> int:
        """Counts it down by `n` and returns how much is left; 0 is open. ConnectionLost says that it cannot be known
        whether it was counted down.
        """

    def remaining(self) -> int:
        """How much is left until it is open, no older than this call."""

    def reset(self, count: int) -> None:
        """Sets how much is left to `count`: it is closed. Who waits for it goes on waiting."""

    def wait(self, timeout: float | None = None) -> None:
        """Waits until it is open, and not at all if it is; Timeout after `timeout` seconds, NoNode if somebody deletes
        it meanwhile. Who has seen it closed when it is opened goes on, also if it is reset at once.
        """

    def cancel(self) -> None:
        """Ends the waits in progress on this object with Cancelled, never later ones."""

@final
class Latch(LatchBase):
    """Closed until it was counted down as often as it says, by whomever, and open from then on. Every count is
    made exactly once, also when its answer gets lost; ConnectionLost where that cannot be known any more. Made
    by `client.latch(path, count)`.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/latch-doc")
    >>> imports = client.latch("/latches/imports", 2)
    >>> imports.count_down(), imports.remaining()
    (1, 1)
    >>> imports.count_down()
    0
    >>> imports.wait()
    >>> client.close()
    """

@disjoint_base
class NamesBase:
    """What `Names` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def path(self) -> str:
        """The path below which the names are."""

    def bind(self, name: str, data: bytes | str, ephemeral: bool = False, *, ttl: float | None = None) -> None:
        """Binds a name to `data`; Exists if it is bound already, by whomever. An `ephemeral` binding lasts as long as
        the client, over all its sessions, any other until it is unbound. That one may have a time to live: the
        servers unbind it once nobody has changed it for `ttl` seconds. They take that only with
        zookeeper.extendedTypesEnabled=true; others make it Invalid.
        """

    def lookup(self, name: str) -> bytes | None:
        """What a name stands for, or None if it is not bound."""

    def unbind(self, name: str) -> None:
        """Unbinds a name, whoever has bound it; NoNode if it is not bound. What another client keeps bound as
        ephemeral is bound again by it at once.
        """

    def list(self) -> list[str]:
        """The names that are bound, sorted."""

    def watch(self) -> Feed[dict[str, bytes]]:
        """All names and what they stand for, now and whenever that has changed. One that may not be read is left out:
        `client.skipped` names its node.
        """

@final
class Names(NamesBase):
    """Names below a path, and what they stand for. Made by `client.names(path)`.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/names-doc")
    >>> services = client.names("/services")
    >>> services.bind("billing", "10.0.0.7:443", ephemeral=True)
    >>> services.lookup("billing"), services.lookup("mail")
    (b'10.0.0.7:443', None)
    >>> next(services.watch())
    {'billing': b'10.0.0.7:443'}
    >>> client.close()
    """

@disjoint_base
class NodeCacheBase:
    """What `NodeCache` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def path(self) -> str:
        """The path of the topmost node."""

    def get(self, path: str) -> tuple[bytes, Stat] | None:
        """The data and Stat of a node at or below the path, or None if there is none. Asks nobody. Invalid: another
        path.
        """

    def children(self, path: str) -> list[str] | None:
        """The names of the children of such a node, sorted, or None if there is no such node. Asks nobody."""

    @property
    def age(self) -> float:
        """How old what is known may be, in seconds: so long ago, for certain, it was still so. While servers answer,
        less than half of the session timeout.
        """

    def changes(self) -> Feed[list[str]]:
        """The paths of what has come, has gone or is different; at first of all that is there. The cache knows it by
        then, and a slow reader is told of a path once, however often it has changed.
        """

@final
class NodeCache(NodeCacheBase):
    """A node and all that is below it, kept here: reading it asks nobody. Made by `client.nodes.cache(path)`.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/cache-doc")
    >>> client.nodes.ensure("/flags/dark-mode")
    >>> cache = client.nodes.cache("/flags")
    >>> cache.children("/flags"), cache.get("/flags/dark-mode")[0], cache.get("/flags/other")
    (['dark-mode'], b'', None)
    >>> for paths in cache.changes():                       # all that is there, then what is different
    ...     print(paths)
    ...     break
    ['/flags', '/flags/dark-mode']
    >>> client.close()
    """

@disjoint_base
class NodesBase:
    """What `Nodes` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    def transaction(self) -> Transaction:
        """Writes that happen together or not at all."""

    def create(
        self, path: str, data: bytes | str = b"", mode: _CreateMode = "persistent", *, ttl: float | None = None
    ) -> str:
        """Creates a node and returns its path, which ends in a number for the sequential modes. `mode` is persistent,
        ephemeral, persistent_sequential, ephemeral_sequential or container. A persistent one may have a time to
        live: the server removes it once it has had neither children nor changes for `ttl` seconds. Servers take
        that only with zookeeper.extendedTypesEnabled=true; others make it Invalid.
        """

    def get(self, path: str) -> tuple[bytes, Stat]:
        """A node's data and Stat."""

    def set(self, path: str, data: bytes | str, version: int | None = None) -> Stat:
        """Writes a node's data, if it has this version; returns the new Stat."""

    def delete(self, path: str, version: int | None = None) -> None:
        """Deletes a node without children, if it has this version."""

    def exists(self, path: str) -> Stat | None:
        """A node's Stat, or None."""

    def children(self, path: str) -> list[str]:
        """The names of a node's children, sorted."""

    def ephemerals(self, path: str) -> list[str]:
        """The paths of the ephemeral nodes that the session of this client has at `path` and below it, sorted.
        Invalid: the server is older than 3.6.
        """

    def ensure(self, path: str) -> None:
        """Creates a node and its parents where they are missing."""

    def delete_all(self, path: str) -> None:
        """Deletes a node and all below it."""

    def cache(self, path: str) -> NodeCache:
        """Keeps a node and all that is below it here: waits until all of it is known, and follows it from then on. The
        node need not exist; what we may not read is left out. It costs two requests for each node at first, then
        one or two for each change, whoever reads it how often.
        """

    @overload
    def watch(self, path: str, kind: Literal["data"] = "data") -> Feed[tuple[bytes, Stat] | None]:
        """How a node stands now, and whenever that has changed: its data and Stat, the names of its "children", or by
        path the data and Stat of it and of all below it ("subtree"). The node need not exist: then it is None, or
        an empty dict.
        """

    @overload
    def watch(self, path: str, kind: Literal["children"]) -> Feed[list[str] | None]:
        """How a node stands now, and whenever that has changed: its data and Stat, the names of its "children", or by
        path the data and Stat of it and of all below it ("subtree"). The node need not exist: then it is None, or
        an empty dict.
        """

    @overload
    def watch(self, path: str, kind: Literal["subtree"]) -> Feed[dict[str, tuple[bytes, Stat]]]:
        """How a node stands now, and whenever that has changed: its data and Stat, the names of its "children", or by
        path the data and Stat of it and of all below it ("subtree"). The node need not exist: then it is None, or
        an empty dict.
        """

@final
class Nodes(NodesBase):
    """Plain node operations. The `nodes` of a client.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:")
    >>> client.nodes.ensure("/nodes-doc")
    >>> client.nodes.create("/nodes-doc/item-", "first", "persistent_sequential")
    '/nodes-doc/item-0000000000'
    >>> data, stat = client.nodes.get("/nodes-doc/item-0000000000")
    >>> data, stat.version
    (b'first', 0)
    >>> client.nodes.update("/nodes-doc/item-0000000000", bytes.upper).version
    1
    >>> client.close()
    """
    def update(self, path: str, change: Callable[[bytes], bytes | str]) -> Stat:
        """Replaces the data of a node by what `change` returns for it. If somebody sets it meanwhile, `change` is called
        again, with that. NoNode: there is no such node. ConnectionLost: the data may have been replaced, or not.
        """

@disjoint_base
class PartitionerBase:
    """What `Partitioner` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def path(self) -> str:
        """Where the partitions are shared."""

    @property
    def name(self) -> str:
        """What this member is called."""

    def next(self, timeout: float | None = None) -> Held:
        """Waits for the next partition that this member wins, a Held with the partition's `name`; the first call makes
        it a member. Timeout after `timeout` seconds. It is the caller's until it is released or lost. `on_revoke`
        tells that it is to move: finish, then release. After `drain` seconds it is lost. What was released unasked
        comes again, after a pause. Mismatch: the others share other partitions. Cancelled: this member leaves
        meanwhile.
        """

    def leave(self) -> None:
        """Takes part no more: what it has is asked for, and taken from it after the time for draining. Returns when
        all is let go of. NotHeld: it is no member.
        """

    def owners(self) -> dict[str, str | None]:
        """Who has which partition now, no older than this call: the identity of its owner, None where nobody has it."""

    def watch(self) -> Feed[dict[str, str | None]]:
        """Who has which partition, now and whenever one has another owner: always the latest, as `owners()` does. A
        change costs one or two requests, however many partitions there are.
        """

    def members(self) -> dict[str, int]:
        """Who shares the partitions now, no older than this call: by name, with their weights."""

    def cancel(self) -> None:
        """Ends the waits in progress on this object with Cancelled, never later ones; and the loops over it, also
        while the body of one runs, and `run`, which then leaves.
        """

@final
class Partitioner(PartitionerBase):
    """Partitions shared among the members who are there. Made by `client.partitioner(path, partitions)`.

    Each partition is a turn of its own: two members never have one at the same time, and its tokens rise. Who
    comes or goes moves only what has to move.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/partitioner-doc")
    >>> imports = client.partitioner("/partitions/imports", ["eu", "us"], name="worker-1")
    >>> won = [imports.next(timeout=10) for _ in range(2)]
    >>> sorted(partition.name for partition in won)
    ['eu', 'us']
    >>> imports.members()
    {'worker-1': 1}
    >>> imports.leave()
    >>> client.close()

    `for partition in imports:` gives one partition after the other as they are won, until it leaves;
    `imports.run(work)` works on all of them at the same time.
    """
    def __iter__(self) -> Iterator[Held]: ...
    def run(self, work: Callable[[Held], object], *, stop: threading.Event | None = None) -> None:
        """Works on all partitions that it wins at the same time, each in a thread of its own, until it leaves.

        Nothing can take a thread away from its work: it has to look at `partition.is_held`, and return when that is false, or
        when it is asked for the partition (`partition.on_revoke`). What returns lets go of its partition; as long as that is
        this member's, the work is begun again, after a pause. What it raises is logged.

        Ctrl-C asks for the partitions as `leave()` does, and waits for the work. A second one, or one while it waits for the work,
        gives back what is left and waits for nothing. `cancel()` asks for them, too, and so does `stop`, once that is set: with one
        that was set before, it wins nothing.
        """

@disjoint_base
class PriorityQueueBase(BacklogBase):
    """What `PriorityQueue` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    def put(self, data: bytes | str, priority: int, timeout: float | None = None, key: str | None = None) -> None:
        """Puts an item, once, also when its answer gets lost. Waits while the queue is full; Timeout after `timeout`
        seconds. Where the naming is kazoo's, the priority is between 0 and 999. `key` as for a `Queue`.
        """

@final
class PriorityQueue(PriorityQueueBase):
    """Items of which the one with the lowest priority number is taken first, and of those with the same the one
    that came first. Made by `client.priority_queue(path)`.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/priority-queue-doc")
    >>> alarms = client.priority_queue("/queues/alarms")
    >>> alarms.put("dust", 10)
    >>> alarms.put("fire", -5)
    >>> alarms.get()
    b'fire'
    >>> client.close()
    """
    def __iter__(self) -> Iterator[Item]: ...

@disjoint_base
class ProposalBase:
    """What `Proposal` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def id(self) -> str:
        """By which name it began."""

    @property
    def sites(self) -> list[str]:
        """Who votes."""

    @property
    def payload(self) -> bytes:
        """What it is about."""

    @property
    def reason(self) -> str:
        """Why it was aborted: which site voted for that and what it said, or that not all had voted in time. Empty of
        a commit, and as long as the outcome is not known here: ask for that first. Empty, too, where no more is
        left of it than that it was aborted.
        """

    def outcome(self, timeout: float | None = None) -> Literal["commit", "abort"]:
        """Waits until it is decided and returns "commit" or "abort"; Timeout after `timeout` seconds. Past its
        deadline whoever waits decides. It is the true outcome, whoever decided it.
        """

    @property
    def has_voted(self) -> bool:
        """Whether this site had voted when it was told."""

    def vote_commit(self) -> None:
        """Votes for the commit, which has to be possible from now on. It may come after the abort: the outcome tells.
        Exists: this site has voted for the abort.
        """

    def vote_abort(self, reason: str = "") -> None:
        """Decides the abort. Exists: this site has voted for the commit."""

    def acknowledge(self) -> None:
        """What was decided is applied here, and needed no more. NotHeld: nothing is decided yet."""

    def cancel(self) -> None:
        """Ends the waits in progress on this object with Cancelled, never later ones."""

@final
class Proposal(ProposalBase):
    """A transaction on which a site has to vote."""

@disjoint_base
class QueueBase(BacklogBase):
    """What `Queue` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    def put(self, data: bytes | str, timeout: float | None = None, key: str | None = None) -> None:
        """Puts an item at the end, once, also when its answer gets lost. Waits while the queue is full. Timeout after
        `timeout` seconds: it is not in, and will not be; if it is on its way then, half a second more is waited for
        the answer. ConnectionLost: nobody can know whether it went in. With a `key`, such as the id of a request,
        it is put once for all who put with that key within the `key_window`, also if it was taken since: then this
        returns as it did for the first.
        """

    def put_many(self, items: Iterable[bytes | str], timeout: float | None = None) -> None:
        """Puts several, in as few transactions as carry them, each of which is applied as a whole or not at all. The
        error says how many went in, from the first on: its attribute `put`. After ConnectionLost and Closed it may
        be more.
        """

@final
class Queue(QueueBase):
    """Items that are taken in the order in which they came. Made by `client.queue(path)`.

    `for item in queue:` claims one after the other, and waits for more. One that is not settled when the next
    is asked for, or when the loop ends, is given back as by `nack`. `with item:` acknowledges it, or gives it
    back if the body failed.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/queue-doc")
    >>> queue = client.queue("/queues/mail")
    >>> queue.put("one")
    >>> queue.put_many(["two", "three"])
    >>> queue.get()   # at most once: it is removed before we see it
    b'one'
    >>> for item in queue:   # at least once: whoever is next has it if we crash
    ...     with item:
    ...         print(item.data, item.attempts)
    ...     if queue.len() == 0:
    ...         break
    b'two' 1
    b'three' 1
    >>> client.close()
    """
    def __iter__(self) -> Iterator[Item]: ...

@disjoint_base
class RegistrationBase:
    """What `Registration` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def id(self) -> str:
        """What tells it from the other instances of the service."""

    @property
    def service(self) -> Service:
        """What was registered, as it is to be after the last update. `dataclasses.replace(registration.service,
        port=81)` makes another one of it.
        """

    def update(
        self,
        service: Service | None = None,
        *,
        address: str = ...,
        port: int | None = ...,
        ssl_port: int | None = ...,
        payload: Any = ...,
        uri_spec: str | None = ...,
        enabled: bool = ...,
    ) -> None:
        """Replaces what is to be known of it: by a whole `Service`, or by what differs from before, such as
        `enabled=False`. The name, the id and the type stay. NotHeld: it was unregistered. ConnectionLost: of a
        dynamic one it goes on in the background, of another one it is unconfirmed; the next update goes on from
        there. NoNode: somebody has deleted the node of a static or permanent one, or put one of their own in its
        place.
        """

    def unregister(self) -> None:
        """Takes it back. NotHeld: it was unregistered already. ConnectionLost: unconfirmed; of a dynamic one the
        deletion goes on in the background, another one may still be there.
        """

@final
class Registration(RegistrationBase):
    """A registered instance of a service, until it is unregistered. Made by `discovery.register`."""

@disjoint_base
class TransactionBase:
    """What `Transaction` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    def create(
        self, path: str, data: bytes | str = b"", mode: _CreateMode = "persistent", *, ttl: float | None = None
    ) -> None:
        """Adds the creation of a node: see `nodes.create`."""

    def set(self, path: str, data: bytes | str, version: int | None = None) -> None:
        """Adds a write of a node's data, if it has this version."""

    def delete(self, path: str, version: int | None = None) -> None:
        """Adds the deletion of a node, if it has this version."""

    def check(self, path: str, version: int | None = None) -> None:
        """Adds a condition: the node exists, and has this version."""

    def commit(self) -> list[str | Stat | None]:
        """Sends them all: every one is applied, or none. Answers what became of each, in order: the path of a node
        that was created, the Stat of one that was written, None for deletions and checks.
        """

@final
class Transaction(TransactionBase):
    """Writes that happen together or not at all. Made by `nodes.transaction()` and `held.guarded()`.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:")
    >>> client.nodes.ensure("/transaction-doc/result")
    >>> with client.lock("/transaction-doc/lock") as held:
    ...     writes = held.guarded()                      # applied only while the lock is held
    ...     writes.set("/transaction-doc/result", "42")
    ...     writes.create("/transaction-doc/log-", "report", "persistent_sequential")
    ...     written, logged = writes.commit()
    >>> written.version, logged[:-10]
    (1, '/transaction-doc/log-')
    >>> client.nodes.get("/transaction-doc/result")[0]
    b'42'
    >>> client.close()
    """

@disjoint_base
class TwoPhaseCommitBase:
    """What `TwoPhaseCommit` is on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    @property
    def path(self) -> str:
        """Where the transactions are."""

    @property
    def mode(self) -> Literal["coordinator", "peer"]:
        """Who decides the transactions that it begins: "coordinator" or "peer"."""

    def begin(self, id: str, sites: Iterable[str], payload: bytes | str, timeout: float) -> CommitTransaction:
        """Begins a transaction: every site is asked, also one that is not there now. It is decided in the background,
        whether or not somebody waits for the outcome, as long as the client is there: the commit when all have
        voted for it, the abort when `timeout` seconds are over. Exists: there is one of that id. TooLarge: the
        payload is, or 10,000 wait in the inbox of one of its sites, which the error names, or as many transactions
        are not over. ConnectionLost: it may have begun, and is aborted in the background, unless all sites have
        voted before that arrives; `recover` of the same object waits for that, and returns it if it was committed.
        """

    def recover(self) -> list[CommitTransaction]:
        """Takes over the transactions whose coordinator is not there any more, the oldest first, and sees to it that
        they are decided: at once if all have voted, the abort when the time is over, of which half at least is left
        from now on. Ask each for its outcome. A coordinator that has crashed is there until its session timeout.
        """

    def join(self, site: str) -> None:
        """Becomes a site, and is one over all sessions of the client until it leaves, this object and its proposals
        are garbage, or the client is closed. Exists: this object has joined already, or another that is there is
        that site.
        """

    def leave(self) -> None:
        """Is that site no longer. What it was asked stays. NotHeld: it has not joined."""

    def next(self, timeout: float | None = None) -> Proposal:
        """Waits for the next transaction on which this site has to vote; each is told once, in the order in which they
        began. Timeout after `timeout` seconds. NotHeld: it has not joined.
        """

    def pending(self) -> list[Proposal]:
        """Everything that this site has not acknowledged, voted on or not, the oldest first: what a site asks for
        after a restart. NotHeld: it has not joined.
        """

    def history(self) -> list[CommitStatus]:
        """How all transactions stand that are not over, the oldest first."""

    def show(self, id: str) -> CommitStatus | None:
        """How a transaction stands; None if there is none of that id."""

    def decide_abort(self, id: str, reason: str) -> Literal["commit", "abort"]:
        """Decides the abort, unless something is decided already; returns what is: "commit" or "abort". NoNode: there
        is none of that id.
        """

    def cancel(self) -> None:
        """Ends the waits in progress on this object with Cancelled, never later ones."""

@final
class TwoPhaseCommit(TwoPhaseCommitBase):
    """Transactions that all sites commit, or none. The decision is made once and survives everybody's crash. Made
    by `client.two_phase_commit(path)`.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/two-phase-commit-doc")
    >>> site = client.two_phase_commit("/commits/orders")
    >>> site.join("stock")
    >>> coordinator = client.two_phase_commit("/commits/orders")
    >>> order = coordinator.begin("order-17", ["stock"], "3 chairs", timeout=10)
    >>> proposal = site.next()
    >>> proposal.payload
    b'3 chairs'
    >>> proposal.vote_commit()      # from here on it must be possible, also after a crash
    >>> order.outcome(), proposal.outcome()
    ('commit', 'commit')
    >>> proposal.acknowledge()      # done
    >>> coordinator.history()
    []
    >>> client.close()
    """

# --- end of generated

@disjoint_base
class DeadLettersBase(BacklogBase):
    """What `DeadLetters` is on both faces."""

    def items(self) -> list[DeadLetter]:  # type: ignore[override]
        """All of them in order, with what is known of their end. It reads every one of them. One that cannot be read hides no
        other: its `problem` says why.
        """

@final
class DeadLetters(DeadLettersBase):
    """The dead letters of a queue, `queue.dead`: items that were claimed `max_attempts` times in vain, or that nobody can read.
    `get`, `claim` and `for item in queue.dead:` take them.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/dead-letters-doc")
    >>> queue = client.queue("/queues/mail", max_attempts=1)
    >>> queue.put("spam")
    >>> queue.claim().nack(reason="no such user")
    >>> for letter in queue.dead.items():
    ...     print(letter.data, letter.reason, letter.attempts)
    b'spam' no such user 1
    >>> queue.dead.replay(), queue.items()
    (1, [b'spam'])
    >>> client.close()
    """

    def __iter__(self) -> Iterator[Item]: ...

@disjoint_base
class ItemBase(HeldBase):
    """What the asyncio class has besides what is held."""

    def _leave(self, body_failed: bool, exception: BaseException | None = None) -> Call: ...
    def ack(self) -> None:
        """It is done: removes it from the queue. NotHeld: it was settled before, or the claim is gone and it is somebody
        else's. ConnectionLost: it cannot be known whether it was removed.
        """
    def ack_with(self, writes: TransactionBase) -> None:
        """The same, together with `writes`, all in one transaction: what the work has brought about is there exactly if
        the item is done. Writes that are refused leave the item claimed, and the transaction is used up either way.
        """
    def nack(self, delay: float | None = None, reason: str | None = None) -> None:
        """The work has failed: gives it back, and lets it step aside for the others, for `delay` seconds; by default for a
        second after the first attempt and twice as long after each further one, up to five minutes. Then it is at its old
        place again; with 0 at once. After the last of `max_attempts` it goes to the dead letters, which keep `reason`.
        """
    @property
    def data(self) -> bytes:
        """What was put."""
    @property
    def attempts(self) -> int:
        """How often it was claimed, this time included."""

@final
class Item(Held):
    """An item that was claimed: a Held with more verbs. As a context manager it is acknowledged on exit, and given back as by
    `nack`, with the exception as the reason, if the body failed; leaving raises Lost if the claim was lost. `release` gives it
    back as if nobody had failed.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/item-doc")
    >>> orders = client.queue("/queues/orders")
    >>> orders.put("tea")
    >>> with orders.claim(timeout=5) as item:
    ...     print(item.data, item.attempts, item.is_held)
    b'tea' 1 True
    >>> orders.put("coffee")
    >>> item = orders.claim()
    >>> bill = client.nodes.transaction()
    >>> bill.create("/bill", item.data)
    >>> item.ack_with(bill)      # both, or neither
    >>> orders.len()
    0
    >>> client.close()
    """

    def ack(self) -> None:
        """It is done: removes it from the queue. NotHeld: it was settled before, or the claim is gone and it is somebody
        else's. ConnectionLost: it cannot be known whether it was removed.
        """
    def ack_with(self, writes: TransactionBase) -> None:
        """The same, together with `writes`, all in one transaction: what the work has brought about is there exactly if
        the item is done. Writes that are refused leave the item claimed, and the transaction is used up either way.
        """
    def nack(self, delay: float | None = None, reason: str | None = None) -> None:
        """The work has failed: gives it back, and lets it step aside for the others, for `delay` seconds; by default for a
        second after the first attempt and twice as long after each further one, up to five minutes. Then it is at its old
        place again; with 0 at once. After the last of `max_attempts` it goes to the dead letters, which keep `reason`.
        """
    @property
    def data(self) -> bytes:
        """What was put."""
    @property
    def attempts(self) -> int:
        """How often it was claimed, this time included."""

@final
class Claims:
    """The items of a loop, each of which is settled when the next is asked for or the loop ends. It ends by `cancel()` of what
    it goes through, also while its body runs.
    """

    def __iter__(self) -> Self: ...
    def __next__(self) -> Item: ...
    def _next(self) -> Call: ...
    def _end(self) -> None:
        """Ends this loop, and no other: what it waits for, and whatever is asked of it later."""

@final
class Wins:
    """The partitions that a member wins, one after the other, until it leaves. It ends by `cancel()` of the member, also while
    the body of the loop runs.
    """

    def __new__(cls, partitioner: PartitionerBase) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Held: ...
    def _next(self) -> Call: ...

@disjoint_base
class FeedBase:
    """What feeds are on both faces."""

    def __new__(cls, seed: Seed) -> Self: ...
    def _next(self) -> Call: ...
    def _close(self) -> None: ...
    def _check(self) -> None: ...

@final
class Feed(_Scope, FeedBase, Generic[_T_co]):
    """What goes on changing, as an iterator: the present state first, then each time that it has changed. A slow reader is told
    the latest state, not every one.

    It goes on over reconnections and new sessions by itself, and ends when it or the client is closed; what cannot go on,
    such as Denied, is raised. As a context manager it is closed on exit. Several threads may share it.

    >>> import zkrecipes
    >>> client = zkrecipes.Client("embedded:/feed-doc")
    >>> config = client.config("/config/mode")
    >>> with config.watch() as feed:
    ...     for now in feed:
    ...         print(now)
    ...         if now is not None:
    ...             break
    ...         version = config.set("blue")
    None
    Versioned(value=b'blue', version=0)
    >>> client.close()
    """

    def __class_getitem__(cls, key: object) -> GenericAlias: ...
    def close(self) -> None:
        """Ends the iteration, also where another thread waits for the next item."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> _T_co: ...
    def __enter__(self) -> Self: ...

@final
class CallbackTimes:
    """Hears how long the callbacks of a client took that its event loop called."""

    def took(self, seconds: float) -> None: ...

@final
class Call:
    """A verb of an asyncio object, ready to begin."""

    def start(self, deliver: Callable[[Outcome], object]) -> None:
        """Begins; `deliver` gets the `Outcome`, on a thread of the library."""
    def start_for(
        self, inbox: Inbox, arrive: Callable[[Outcome], object], deliver: Callable[[Outcome], object]
    ) -> None:
        """Begins; `arrive` gets the `Outcome` on the thread of the loop, or `deliver` if that does not come for it."""
    def cancel(self) -> bool:
        """Withdraws: nothing is left behind, and what was already acquired is released. True if that is done already."""

@final
class Outcome:
    """What came of a `Call`."""

    def take(self) -> Any:
        """The result, or its exception raised."""
    def discard(self) -> None:
        """Nobody wants it any more."""

@final
class Inbox:
    """Outcomes on their way to an event loop, which reads the descriptor. OSError where loops cannot."""

    def fileno(self) -> int:
        """Can be read as soon as something waits here."""
    def deliver(self) -> None:
        """Hands over what waits here, to be called by the loop."""

@final
class Seed:
    """Carries what a native class is made of into the constructor of its Python subclass."""

@disjoint_base
class TestingBase(_Scope):
    """What servers and proxies have in common: connections, faults and the request log."""

    def __enter__(self) -> Self: ...
    @property
    def connect_string(self) -> str:
        """What clients connect to: host and port."""
    @property
    def port(self) -> int:
        """The port it listens on."""
    def shutdown(self) -> None:
        """Stops for good; leaving the with statement does it too."""
    def drop_connections(self) -> None:
        """Breaks all connections; sessions live on."""
    def pause(self) -> None:
        """Stops answering while connections stay up."""
    def resume(self) -> None:
        """Answers again."""
    def inject(self, fault: str) -> int:
        """Makes something go wrong once, such as "drop_after create2 path=/locks/** nth=2"; returns the fault's id."""
    def fault_fired(self, fault: int) -> bool:
        """Whether an injected fault has happened."""
    def clear_faults(self) -> None:
        """Takes back all faults."""
    def log(self) -> list[LogEntry]:
        """The requests that arrived, in order; a proxy has them in the order of their answers."""
    def clear_log(self) -> None:
        """Forgets the requests that arrived so far."""
    def count(self, op: str, path: str = "**") -> int:
        """How many requests arrived of this operation (such as "create*") on paths that match."""
    def sessions(self) -> list[int]:
        """The ids of the sessions that live, as far as a proxy has seen them."""
    def connections(self) -> int:
        """How many connections there are."""

@disjoint_base
class EmbeddedServer(TestingBase):
    """A ZooKeeper server inside this process, in memory only, for tests. Starts at once, on a free port unless one is given."""

    def __new__(
        cls,
        port: int | None = None,
        *,
        tick: float | None = None,
        min_session_timeout: float | None = None,
        max_session_timeout: float | None = None,
        data_limit: int | None = None,
        emulate: str | None = None,
        extended_types: bool | None = None,
        read_only: bool | None = None,
    ) -> Self: ...
    def stop(self) -> None:
        """Stops serving; nodes, sessions and the port are kept for `restart`."""
    def restart(self) -> None:
        """Serves again, on the same port, with all nodes and sessions."""
    def expire(self, session_id: int) -> bool:
        """Ends a session as if its time had come; False when there is none of this id."""
    def freeze_clock(self) -> None:
        """Stops the server's clock: no session expires."""
    def advance_clock(self, seconds: float) -> None:
        """Moves the server's clock forward, in seconds."""
    def thaw_clock(self) -> None:
        """Lets the server's clock run again."""
    def set_next_sequence(self, path: str, next: int) -> bool:
        """Sets the number that the next sequential child of `path` gets; False when there is no such node."""
    def nodes(self) -> list[str]:
        """The paths of all nodes."""
    def watch_count(self) -> int:
        """How many watches are set."""

@final
class Ensemble(EmbeddedServer):
    """Several embedded servers that are one ensemble, with followers that lag and can be cut off, as real ones do.

    Member 0 leads. What a follower's clients read may be old, until they ask for a sync. What an `EmbeddedServer` can do
    is done to all members at once, and `connect_string` names them all.

    >>> import zkrecipes
    >>> from zkrecipes.testing import Ensemble
    >>> with Ensemble(3) as ensemble, zkrecipes.Client(ensemble.member(2)) as client:
    ...     print(len(ensemble.connect_string.split(",")), ensemble.isolate(1), ensemble.isolate(2))
    3 True False
    """

    def __new__(
        cls,
        members: int = 3,
        *,
        port: int | None = None,
        tick: float | None = None,
        min_session_timeout: float | None = None,
        max_session_timeout: float | None = None,
        data_limit: int | None = None,
        emulate: str | None = None,
        extended_types: bool | None = None,
        read_only: bool | None = None,
    ) -> Self: ...
    @property
    def members(self) -> int:
        """How many members there are."""
    def member(self, member: int) -> str:
        """What clients of one member connect to."""
    def lag(self, follower: int, seconds: float) -> bool:
        """How many seconds late a follower learns of transactions, and of answers; False when there is no such follower."""
    def hold(self, follower: int) -> bool:
        """Keeps everything from a follower until `release`: no answers to writes, old ones to reads."""
    def release(self, follower: int) -> bool:
        """Lets a follower catch up."""
    def isolate(self, follower: int) -> bool:
        """Cuts a follower off from the leader until `heal`. It goes on answering reads and pings, but vouches for nobody, and
        after five ticks it sends its clients away. False when there is no such follower, or the leader would be left
        without a majority.
        """
    def heal(self, follower: int) -> bool:
        """Connects a follower again; False when it was not cut off."""
    def behind(self, member: int) -> int:
        """How many transactions a member is behind the leader."""

@final
class Proxy(TestingBase):
    """Stands in front of a real server, named as `host:port`; passes everything through, and has the same faults and the
    same request log as an `EmbeddedServer`.

    >>> import zkrecipes
    >>> from zkrecipes.testing import EmbeddedServer, Proxy
    >>> with EmbeddedServer() as server, Proxy(server.connect_string) as proxy:
    ...     fault = proxy.inject("drop_after create2 path=/a")
    ...     with zkrecipes.Client(proxy.connect_string) as client, client.lock("/a/lock"):
    ...         print(proxy.sessions() == server.sessions(), proxy.count("create*", "/a/**") > 0)
    True True
    """

    def __new__(cls, upstream: str) -> Self: ...
    def expire(self, session_id: int) -> bool:
        """Ends a session for real, at the server: its ephemeral nodes go. False when none of this id went by. Waits for the
        server, and raises OSError when it does not answer.
        """
