"""The small value types: what goes in as options, what comes back from questions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict

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


class TlsOptions(TypedDict, total=False):
    """Files in PEM format."""

    ca: str
    cert: str
    key: str
    verify_hostname: bool


class SaslOptions(TypedDict):
    """DIGEST-MD5."""

    user: str
    password: str


class RetryOptions(TypedDict, total=False):
    """Seconds between attempts, at first and at most, and until giving up."""

    base: float
    max: float
    give_up_after: float


class ClientOptions(TypedDict, total=False):
    """The keyword options of a client."""

    session_timeout: float | None
    """Seconds after which the server gives up on a client that it does not hear from; 10 by default."""
    connect_timeout: float | None
    """Seconds to find a server; 10 by default."""
    identity: str | None
    """Written into contender nodes, so that people see who holds what; host:pid by default."""
    auth: tuple[str, str | bytes] | Sequence[tuple[str, str | bytes]] | None
    """(scheme, credential), or a list of them."""
    acl: Literal["open", "creator"] | Sequence[tuple[str, str, str]] | None
    """Who may use the nodes created: "creator" by default when credentials are given, else "open";
    or a list of (scheme, id, permissions)."""
    tls: TlsOptions | None
    sasl: SaslOptions | None
    naming: Literal["curator", "kazoo", "zookeeper"] | None
    """Whose node names to use; "curator" by default."""
    retry: RetryOptions | None
    lease: Literal["strict", "relaxed"] | None
    """How certain `is_held` is; "strict" by default."""
    read_only: bool | None
