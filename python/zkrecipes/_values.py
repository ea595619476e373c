"""The small value types: what goes in as options, what comes back from questions."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Self

if sys.version_info >= (3, 11):
    from enum import StrEnum
else:
    from enum import Enum

    class StrEnum(str, Enum):
        if TYPE_CHECKING:

            def __new__(cls, value: str) -> Self: ...

        def __str__(self) -> str:
            return str.__str__(self)

        def __format__(self, format_spec: str) -> str:
            return str.__format__(self, format_spec)


class State(StrEnum):
    """What a client's session is doing.

    >>> State("connected") is State.CONNECTED, State.CONNECTED == "connected", str(State.LOST)
    (True, True, 'lost')
    """

    CONNECTED = "connected"
    """A server answers."""
    SUSPENDED = "suspended"
    """No server answers at the moment; the session may still live."""
    LOST = "lost"
    """The session ended, and what it held is gone; a new one follows by itself."""
    CLOSED = "closed"
    """The client was closed."""


class Contender(NamedTuple):
    """One who holds or waits."""

    node: str
    """Its node below the recipe's path, or the whole path where the recipe has several (a multi-lock)."""
    identity: str
    """Who it says it is; host:pid unless the client was given another identity."""
    kind: str
    """What it contends for: "lock", "read" or "write", or "lease" for the permit of a semaphore."""
    session_id: int
    """The session that keeps it in line."""
    since: datetime
    """When it joined, by the server's clock."""
    holds: bool
    """Whether it holds rather than waits."""


class DeadLetter(NamedTuple):
    """An item that is over: `queue.dead.items()`."""

    id: str
    """The name of its node among the dead letters."""
    data: bytes
    """What was put; of a letter with a `problem` what stands in its node."""
    reason: str | None
    """What was said with the last `nack`, the exception of a `with item:`, or what the library knows of it."""
    attempts: int
    """How often it was claimed; 0 if that is not known."""
    died_at: datetime
    """When it came to the dead letters, by the server's clock."""
    problem: str | None
    """Why it cannot be read, if so. It stands in nobody's way, and nobody takes it."""


def _random_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Service:
    """One instance of a service, to be registered: `discovery.register(service)`.

    >>> Service("web", "10.0.0.7", port=8080, uri_spec="{scheme}://{address}:{port}", id="web-1")
    Service(name='web', address='10.0.0.7', port=8080, ssl_port=None, payload=None, type='dynamic', \
uri_spec='{scheme}://{address}:{port}', enabled=True, id='web-1')
    """

    name: str
    """Of which service it is an instance."""
    address: str
    """Where it is: a host name or an address."""
    port: int | None = None
    """Its port, if it has one."""
    ssl_port: int | None = None
    """Its port for TLS, if it has one."""
    payload: Any = field(default=None, hash=False)
    """What else is to be known of it: anything of which `json.dumps` makes JSON."""
    type: Literal["dynamic", "static", "permanent", "dynamic_sequential"] = "dynamic"
    """How long its registration lasts: as long as the client (dynamic), with a number of the server's in the name of
    its node (dynamic_sequential), or until it is unregistered."""
    uri_spec: str | None = None
    """How its URI is made, such as `{scheme}://{address}:{port}`."""
    enabled: bool = True
    """Whether it is to be picked."""
    id: str = field(default_factory=_random_id)
    """What tells it from the other instances; a random one unless told."""


class _Found(Protocol):
    def failed(self) -> None: ...


class _FoundBy:
    """What has found an instance: no part of what that says, so no field of it."""

    __slots__ = ("_found",)
    _found: _Found | None


@dataclass(frozen=True, slots=True)
class Instance(_FoundBy):
    """One instance of a service, as it was found: what `discovery.instances`, `pick` and `watch` tell."""

    name: str
    """Of which service it is an instance."""
    id: str
    """What tells it from the other instances."""
    address: str
    """Where it is; empty where it has not said so."""
    port: int | None
    """Its port, if it has one."""
    ssl_port: int | None
    """Its port for TLS, if it has one."""
    payload: Any = field(hash=False)
    """What else it says of itself: what `json.loads` makes of it. One that Java has written has its `@class`."""
    type: Literal["dynamic", "static", "permanent", "dynamic_sequential"]
    """How long its registration lasts."""
    uri_spec: str | None
    """How its URI is made."""
    enabled: bool
    """Whether it is to be picked."""
    registered_at: datetime
    """When it was registered, by the clock of who did that."""
    uri: str | None
    """Its URI, where it has said how that is made."""

    def failed(self) -> None:
        """It did not serve: for 30 seconds the object that has found it does not pick it, unless it is updated or
        registered anew. Asks no server, and tells nobody else. Of one that was pickled, or made by
        `dataclasses.replace`, nobody is told."""
        found = getattr(self, "_found", None)
        if found is not None:
            found.failed()

    def __reduce__(self) -> tuple[Any, ...]:
        values = tuple(getattr(self, one.name) for one in fields(self))
        return found_instance, (values, getattr(self, "_found", None))


def found_instance(values: tuple[Any, ...], found: _Found | None) -> Instance:
    instance = Instance(*values)
    object.__setattr__(instance, "_found", found)
    return instance


class QueueStats(NamedTuple):
    """How many items a queue has: `queue.stats()`."""

    ready: int
    """Those that can be taken now, or have failed for the last time and go to the dead letters next."""
    delayed: int
    """Those that were given back and step aside, or that are not due yet."""
    claimed: int
    """Those that somebody works on."""
    dead: int
    """The dead letters."""


class WaitProgress(NamedTuple):
    """How a wait stands that goes on: what `on_wait` tells."""

    path: str
    """What is waited for."""
    waited: float
    """How long already, in seconds."""
    ahead: int | None
    """How many are waited for. In a line, those ahead, when it was looked last; at a double barrier, those who have yet
    to come, or to leave. None if nobody counts them: it waits for its own handle, for permits, for an item."""
    holder: Contender | None
    """Who holds, or one of them; of a barrier, who has put it up. None if that is not known at the moment."""


class Stat(NamedTuple):
    """What ZooKeeper says about a node, besides its data."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length: int
    num_children: int
    pzxid: int


class Versioned(NamedTuple):
    """A value of a config."""

    value: bytes
    version: int
    """0 when the value was created, one more with every change."""


class Cached(NamedTuple):
    """What was known last of a config, without asking anybody."""

    value: Versioned | None
    """None where there was no value."""
    age: float
    """How old this may be, in seconds: so long ago it was certainly still so. While a feed of the handle is open and
    servers answer, less than half of the session timeout; otherwise it counts from when the value was asked for."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Durations, by how long they were."""

    count: int
    """How many there are."""
    sum: float
    """How long they were together, in seconds."""
    buckets: list[tuple[float, int]]
    """How many were no longer than each bound, in seconds; `count` has those that were longer, too."""


class Metrics(NamedTuple):
    """What a client has done and seen since it connected, and how it stands. Times are in seconds."""

    sessions: int
    """Sessions that were opened: one, and one more for each that was lost."""
    sessions_lost: int
    """How often the session ended, or could no longer be assumed to live."""
    suspensions: int
    """How often the connection broke."""
    reconnections: int
    """How often a server was found again in time, so that the session went on."""
    requests: dict[str, int]
    """Requests, by kind."""
    heartbeats: int
    """How many of the requests were heartbeats of the lease."""
    retries: int
    """How often an answer was missing, and its request was made again."""
    bytes_sent: int
    """Bytes of the requests."""
    bytes_received: int
    """Bytes of the answers."""
    acquisitions: int
    """What was acquired: locks, permits, leaderships, items of queues; nested acquisitions do not count."""
    timeouts: int
    """Acquires that ran out of time, those that had none included."""
    cancellations: int
    """Acquires that their caller withdrew."""
    failures: int
    """Acquires that ended with another error."""
    hand_offs: int
    """Acquisitions that came when the one ahead in the line let go."""
    local_hand_offs: int
    """Acquisitions to which a turn was passed on by local hand-off, between waiters of one client."""
    waits: Histogram
    """How long each acquisition was waited for; items of queues aside, whose coming is no wait for others."""
    holds: Histogram
    """How long each acquisition was held, until it was let go or lost; items of queues aside, which `work` is about."""
    waiting: int
    """Acquires under way."""
    holding: int
    """What is held now."""
    losses: dict[str, int]
    """What was held and lost, by reason."""
    revocations: int
    """How often somebody asked for what was held."""
    forced: int
    """Nodes of others that were deleted by force."""
    queue_depth: int
    """How many stood ahead in the line that an acquire has looked at last."""
    queue_depth_max: int
    """The most that were ever ahead."""
    lease_margin_min: float | None
    """The least that was left of the lease when it was extended, while something was held."""
    session_timeout: float
    """How long the servers keep the session when they do not hear from this client, as they granted it."""
    slow_callbacks: int
    """Callbacks that took longer than a second."""
    puts: int
    """Items that were put into queues."""
    gets: int
    """Items that were taken out of queues for good, by a `get`."""
    claims: int
    """Items that were claimed; they are among the acquisitions, too."""
    acks: int
    """Items that were acknowledged."""
    nacks: int
    """Items that were given back because the work on them failed, those that went to the dead letters included."""
    dead_letters: int
    """Items that this client moved to the dead letters."""
    work: Histogram
    """How long each claimed item was worked on, until it was settled or lost."""
    partitions: int
    """Partitions that are held now."""
    partitions_won: int
    """Partitions that were won."""
    partitions_moved: int
    """Partitions that were asked for, because they are another member's from now on or this one leaves."""
    prometheus: str
    """All of it as the text that Prometheus reads."""


class Leader(NamedTuple):
    """Who leads an election."""

    identity: str
    """Who it says it is; host:pid unless the client was given another identity."""
    data: bytes
    """What it says: as a candidate, or, once it has begun its work, when it said so."""
    epoch: int
    """Rises from one leader to the next."""
    acknowledged: bool
    """Whether it has begun its work."""


class Snapshot(NamedTuple):
    """All members of a group, with what they say of themselves; the first that is told."""

    members: dict[str, bytes]


class Joined(NamedTuple):
    """Somebody came into a group."""

    name: str
    data: bytes


class Left(NamedTuple):
    """A member of a group has gone."""

    name: str


class Changed(NamedTuple):
    """A member of a group says something else of itself."""

    name: str
    data: bytes


GroupEvent: TypeAlias = Snapshot | Joined | Left | Changed


class SiteStatus(NamedTuple):
    """What is known of a site in one transaction."""

    site: str
    is_present: bool
    """Whether it is there now."""
    has_voted: bool
    has_acknowledged: bool
    """Whether it has done what was decided."""


class CommitStatus(NamedTuple):
    """How a transaction of a two-phase commit stands."""

    id: str
    mode: Literal["coordinator", "peer"]
    payload: bytes
    age: float
    """How long ago it began, in seconds."""
    timeout: float
    """How long there is to vote, in seconds."""
    outcome: Literal["commit", "abort"] | None
    """None while nothing is decided."""
    reason: str
    """Why it was aborted."""
    coordinator: Literal["present", "absent", "done"]
    """Absent: it died, and `recover` takes its transactions over. Done: it knows what was decided."""
    sites: list[SiteStatus]
    problem: str = ""
    """Why only its id is known: it may not be read with the identities of this client, or what it says is not
    understood. Empty if it is known how it stands."""


class LogEntry(NamedTuple):
    """One request that an embedded server, or a proxy, received."""

    connection: int
    session_id: int
    xid: int
    op: str
    """What kind of request: "create2", "getData", "multi", …"""
    path: str
    """As it was asked for; for a multi, that of its first operation."""
    parts: list[tuple[str, str]]
    """The operations of a multi, with their paths."""
    zxid: int
    error: int
    bytes_in: int
    bytes_out: int
    outcome: Literal["answered", "unanswered", "lost"]
    """Carried out and answered, carried out without an answer, or kept away by a fault."""


# --- generated from api: options of the client for Python


class TlsOptions(TypedDict, total=False):
    """Each of the first three is the path of a PEM file, or PEM itself."""

    ca: str
    """The authorities to trust, and their revocation lists if there are any. It must be given."""
    cert: str
    """Our own certificate and what leads from it to an authority, for servers that ask who we are; together with
    `key`."""
    key: str
    """The private key of `cert`, without a passphrase."""
    verify_hostname: bool
    """Whether the server's certificate must name the host of the connect string. Unless told: True."""
    allow_expired_crls: bool
    """Whether a revocation list in `ca` still counts when its time has passed (its `nextUpdate`). Without it, the
    certificates that the list is about are refused then: nobody says which were revoked since."""


class SaslOptions(TypedDict):
    """DIGEST-MD5: the password itself does not travel."""

    user: str
    """Who we are."""
    password: str
    """How we prove it; it does not travel itself."""


class RetryOptions(TypedDict, total=False):
    """What happens while no server answers: such as {"base": 0.1, "give_up_after": 30}. All are seconds."""

    base: float
    """The first pause before a call tries again. In seconds. Unless told: 0.05."""
    max: float
    """The longest pause; pauses double up to it. In seconds. Unless told: 5."""
    give_up_after: float
    """How long a call goes without a server before `ConnectionLost`; `connect_timeout` if it is not given. In
    seconds."""


class ClientOptions(TypedDict, total=False):
    """The keyword options of a client. Each may be left out, and None is the same; times are in seconds.

    ======================  ==============  ================================================================
    option                  default         what it is
    ======================  ==============  ================================================================
    session_timeout         10              How long the servers keep the session of a client that they do
                                            not hear from. After that, what it held is free for others. The
                                            servers may grant more or less: `client.session_timeout` tells.
    connect_timeout         10              How long connecting may take before `ConnectionLost`.
    identity                host:pid        Written into contender nodes so that people see who holds what;
                                            `host:pid` when not given.
    auth                    none            Credentials to present to the servers: a scheme such as
                                            `digest`, and a credential such as `user:password`.
    allow_plaintext_auth    False           Whether `auth` and `sasl` may travel over plain text, where
                                            everybody on the way can read the one, and guess the password of
                                            the other. Without it, they travel over TLS and to servers on
                                            this machine (`localhost`, 127.0.0.0/8, `::1`) only.
    refuse_open_parents     False           Whether to refuse (`Denied`) a path that somebody else has made
                                            so that everybody may delete below it, where nodes of ours are
                                            not everybody's. Without it there is a warning in the log, once
                                            per path.
    acl                     by credentials  Who may touch the nodes that we create: everybody ("open"),
                                            whoever presents the same credentials ("creator"), or a list of
                                            scheme, id and letters of `rwcda`. By default "creator" if
                                            credentials are given, else "open".
    tls                     none            TLS towards the servers.
    sasl                    none            SASL towards the servers, with DIGEST-MD5.
    naming                  "curator"       Whose node names to use, so that others on the same path take
                                            part: Curator's ("curator"), kazoo's ("kazoo"), or those of the
                                            recipes that ship with ZooKeeper ("zookeeper").
    lease                   "strict"        What the heartbeat of a holder proves. "strict": that a majority
                                            of the servers still honours the session. "relaxed": less, for
                                            less work of the servers; for a few seconds around a partition
                                            two clients may both believe that they hold.
    retry                   base 0.05, max  How calls try again when the connection breaks.
                            5
    read_only               False           Accept a server that has lost its majority and only reads.
    server_tick             none            The largest `tickTime` of every server that may lead; doubled
                                            for clients of an observer that follows a follower
                                            (`observerMasterPort`). With a quarter of the session timeout or
                                            less, a pause of half of that costs nothing that is held;
                                            without it, of three tenths. `zkrecipes doctor` says what to
                                            give.
    max_in_flight           1000            How many requests may be on their way at once. What comes on top
                                            waits for an answer, and can be withdrawn meanwhile; heartbeats,
                                            pings and deletions do not wait.
    ======================  ==============  ================================================================

    >>> import zkrecipes
    >>> with zkrecipes.Client("embedded:", session_timeout=15, identity="reporter") as client:
    ...     client.lock("/locks/report").acquire().release()

    The same as a dict with types, for options that come from elsewhere:

    >>> options: zkrecipes.ClientOptions = {"session_timeout": 15, "naming": "kazoo"}
    >>> with zkrecipes.Client("embedded:", **options) as client:
    ...     client.state
    <State.CONNECTED: 'connected'>
    """

    session_timeout: float | None
    """How long the servers keep the session of a client that they do not hear from. After that, what it held is
    free for others. The servers may grant more or less: `client.session_timeout` tells. In seconds. Unless told:
    10."""
    connect_timeout: float | None
    """How long connecting may take before `ConnectionLost`. In seconds. Unless told: 10."""
    identity: str | None
    """Written into contender nodes so that people see who holds what; `host:pid` when not given."""
    auth: tuple[str, str | bytes] | Sequence[tuple[str, str | bytes]] | None
    """Credentials to present to the servers: a scheme such as `digest`, and a credential such as `user:password`."""
    allow_plaintext_auth: bool | None
    """Whether `auth` and `sasl` may travel over plain text, where everybody on the way can read the one, and guess
    the password of the other. Without it, they travel over TLS and to servers on this machine (`localhost`,
    127.0.0.0/8, `::1`) only."""
    refuse_open_parents: bool | None
    """Whether to refuse (`Denied`) a path that somebody else has made so that everybody may delete below it, where
    nodes of ours are not everybody's. Without it there is a warning in the log, once per path."""
    acl: Literal["open", "creator"] | Sequence[tuple[str, str, str]] | None
    """Who may touch the nodes that we create: everybody ("open"), whoever presents the same credentials
    ("creator"), or a list of scheme, id and letters of `rwcda`. By default "creator" if credentials are given,
    else "open"."""
    tls: TlsOptions | None
    """TLS towards the servers."""
    sasl: SaslOptions | None
    """SASL towards the servers, with DIGEST-MD5."""
    naming: Literal["curator", "kazoo", "zookeeper"] | None
    """Whose node names to use, so that others on the same path take part: Curator's ("curator"), kazoo's ("kazoo"),
    or those of the recipes that ship with ZooKeeper ("zookeeper"). Unless told: "curator"."""
    lease: Literal["strict", "relaxed"] | None
    """What the heartbeat of a holder proves. "strict": that a majority of the servers still honours the session.
    "relaxed": less, for less work of the servers; for a few seconds around a partition two clients may both
    believe that they hold. Unless told: "strict"."""
    retry: RetryOptions | None
    """How calls try again when the connection breaks."""
    read_only: bool | None
    """Accept a server that has lost its majority and only reads."""
    server_tick: float | None
    """The largest `tickTime` of every server that may lead; doubled for clients of an observer that follows a
    follower (`observerMasterPort`). With a quarter of the session timeout or less, a pause of half of that costs
    nothing that is held; without it, of three tenths. `zkrecipes doctor` says what to give. In seconds."""
    max_in_flight: int | None
    """How many requests may be on their way at once. What comes on top waits for an answer, and can be withdrawn
    meanwhile; heartbeats, pings and deletions do not wait. Unless told: 1000."""


# --- end of generated
