"""What is sent on a way that is cut arrives when it is open again, and nothing before; and nobody gets past a relay."""

from __future__ import annotations

import select
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import contextlib

from links import HELLO, Links

SECONDS = 10


class Server:
    """Of a number, with the two ports of one."""

    def __init__(self, ident: int) -> None:
        self.ident = ident
        self.quorum, self.election = (socket.create_server(("127.0.0.1", 0)) for _ in range(2))
        for listening in (self.quorum, self.election):
            listening.settimeout(SECONDS)

    @property
    def ports(self) -> tuple[int, int]:
        return self.quorum.getsockname()[1], self.election.getsockname()[1]

    def close(self) -> None:
        self.quorum.close()
        self.election.close()


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    all_ = [Server(ident) for ident in (1, 2, 3)]
    yield all_
    for server in all_:
        server.close()


@pytest.fixture
def links(servers: list[Server]) -> Iterator[Links]:
    links = Links({server.ident: server.ports for server in servers})
    yield links
    links.close()


def relay(links: Links, by: int, server: int, number: int) -> int:
    """The port that one server is told of another one: the quorum's, or the election's."""
    return int(links.line(by, server).split(":")[1 + number])


def connected(links: Links, one: Server, other: Server) -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection from the first to the second."""
    mine = socket.create_connection(("127.0.0.1", relay(links, one.ident, other.ident, 0)), SECONDS)
    theirs, _ = other.quorum.accept()
    theirs.settimeout(SECONDS)
    return mine, theirs


def test_a_server_is_told_its_own_ports_and_the_relays_of_the_others(links: Links, servers: list[Server]) -> None:
    quorum, election = servers[0].ports
    assert links.line(1, 1) == f"server.1=127.0.0.1:{quorum}:{election}"
    told = {links.line(by, 1) for by in (1, 2, 3)}
    assert len(told) == 3, "each way has relays of its own"


def test_a_way_that_is_cut_holds_what_is_sent_and_the_way_back_does_not(links: Links, servers: list[Server]) -> None:
    mine, theirs = connected(links, servers[0], servers[1])
    mine.sendall(b"before")
    assert theirs.recv(10) == b"before"
    links.cut({(1, 2)})
    mine.sendall(b"meanwhile")
    theirs.sendall(b"back")
    assert mine.recv(10) == b"back"
    assert not select.select([theirs], [], [], 0.1)[0], "nothing arrives on a way that is cut"
    links.heal()
    assert theirs.recv(10) == b"meanwhile"


def test_the_end_of_a_connection_is_not_told_either(links: Links, servers: list[Server]) -> None:
    mine, theirs = connected(links, servers[0], servers[1])
    links.cut({(1, 2)})
    mine.close()
    assert not select.select([theirs], [], [], 0.1)[0]
    links.heal()
    assert theirs.recv(10) == b""


def test_a_cut_is_between_two_and_nobody_else(links: Links, servers: list[Server]) -> None:
    links.cut({(1, 2), (2, 1)})
    mine, theirs = connected(links, servers[0], servers[2])
    mine.sendall(b"through")
    assert theirs.recv(10) == b"through"


def test_connections_can_be_broken(links: Links, servers: list[Server]) -> None:
    mine, theirs = connected(links, servers[0], servers[1])
    links.drop()
    for end in (mine, theirs):
        with contextlib.suppress(ConnectionResetError):
            assert end.recv(10) == b""


def test_who_is_called_back_in_an_election_is_called_through_a_relay(links: Links, servers: list[Server]) -> None:
    own = f"127.0.0.1:{servers[0].ports[1]}".encode()
    hello = HELLO.pack(-65536, 1, len(own)) + own
    with socket.create_connection(("127.0.0.1", relay(links, 1, 2, 1)), SECONDS) as mine:
        theirs, _ = servers[1].election.accept()
        theirs.settimeout(SECONDS)
        # Its parts may come one by one.
        for part in (hello[:5], hello[5:25], hello[25:] + b"a vote"):
            mine.sendall(part)
        expected = f"127.0.0.1:{relay(links, 2, 1, 1)}".encode()
        told = b""
        while len(told) < HELLO.size + len(expected) + len(b"a vote"):
            told += theirs.recv(100)
    assert told == HELLO.pack(-65536, 1, len(expected)) + expected + b"a vote"


def test_a_server_that_does_not_listen_yet_is_awaited(links: Links, servers: list[Server]) -> None:
    port = servers[1].ports[0]
    servers[1].quorum.close()
    with socket.create_connection(("127.0.0.1", relay(links, 1, 2, 0)), SECONDS) as mine:
        mine.sendall(b"hello")
        with socket.create_server(("127.0.0.1", port)) as listening:
            listening.settimeout(SECONDS)
            theirs, _ = listening.accept()
            theirs.settimeout(SECONDS)
            assert theirs.recv(10) == b"hello"
