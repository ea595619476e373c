"""What the Python workers at a queue share; ../queues.py starts them."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Iterator
from typing import NamedTuple

from zkrecipes import ConnectionLost

# How many items are put at once, and how large each is.
BATCH = 100
SIZE = 100


class Job(NamedTuple):
    hosts: str
    path: str
    session_timeout: float
    bound: int
    role: str
    rest: list[str]

    @property
    def first(self) -> int:
        return int(self.rest[0])

    @property
    def last(self) -> int:
        return int(self.rest[1])

    @property
    def calls(self) -> int:
        return int(self.rest[0])

    @property
    def port(self) -> int:
        return int(self.rest[1])

    @property
    def counter(self) -> str:
        return self.rest[2]


def job() -> Job:
    hosts, path, session, bound, role, *rest = sys.argv[1:]
    return Job(hosts, path, int(session) / 1000, int(bound), role, rest)


def item_of(number: int) -> str:
    return str(number).ljust(SIZE)


def number_of(item: bytes) -> int:
    return int(item)


class Register:
    """Who is told what was done."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))

    def tell(self, number: int) -> None:
        self._socket.sendall(b"%d\n" % number)

    @contextlib.contextmanager
    def doubting(self) -> Iterator[None]:
        """Tells when nobody can know what became of an item."""
        try:
            yield
        except ConnectionLost:
            self._socket.sendall(b"?\n")
