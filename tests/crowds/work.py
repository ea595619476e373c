"""What the Python workers of the election share; elections.py starts them."""

from __future__ import annotations

import random
import socket
import sys
from typing import NamedTuple


class Job(NamedTuple):
    hosts: str
    path: str
    name: str
    count: int
    port: int
    session_timeout: float

    @property
    def names(self) -> list[str]:
        return [f"{self.name}-{number}" for number in range(1, self.count + 1)]


def job() -> Job:
    hosts, path, name, count, port, session = sys.argv[1:]
    return Job(hosts, path, name, int(count), int(port), int(session) / 1000)


def acts() -> int:
    """In how many steps a term does its work."""
    return random.randint(1, 5)


class Resource:
    """What a leader works on: it refuses who is not the leader any more."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._answers = self._socket.makefile()

    def act(self, epoch: int, name: str) -> bool:
        self._socket.sendall(f"{epoch} {name}\n".encode())
        return self._answers.readline() == "ok\n"

    def close(self) -> None:
        self._answers.close()
        self._socket.close()
