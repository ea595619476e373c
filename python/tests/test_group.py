"""What Python makes of groups, names, and nodes that are followed."""

from __future__ import annotations

import asyncio
import gc
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import zkrecipes
from conftest import Connect, eventually
from test_aio import run
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer


def test_members_come_and_go(connect: Connect) -> None:
    group, other = connect().group("/group"), connect().group("/group")
    with other.watch() as feed:
        assert next(feed) == zkrecipes.Snapshot({})
        group.join("ann", "blå")
        assert next(feed) == zkrecipes.Joined("ann", "blå".encode())
        group.update(b"red")
        match next(feed):
            case zkrecipes.Changed(name, data):
                assert (name, data) == ("ann", b"red")
            case event:
                pytest.fail(f"{event}")
        assert other.members() == {"ann": b"red"}
        with pytest.raises(zkrecipes.Exists):
            other.join("ann")
        group.leave()
        assert next(feed) == zkrecipes.Left("ann")
    with pytest.raises(zkrecipes.NotHeld):
        group.leave()
    assert repr(group) == "<Group /group>"


def test_a_member_stays_one_when_its_object_is_garbage(connect: Connect) -> None:
    client, other = connect(), connect()
    client.group("/group").join("ann")
    group = client.group("/group")
    group.join("bob")
    client.names("/names").bind("bob", "10.0.0.7", ephemeral=True)
    gc.collect()
    # Whatever the garbage has undone would be there before this is.
    client.nodes.create("/later")
    assert sorted(other.group("/group").members()) == ["ann", "bob"]
    assert other.names("/names").lookup("bob") == b"10.0.0.7"
    group.leave()
    assert list(other.group("/group").members()) == ["ann"]
    client.close(10)
    assert not other.group("/group").members()


def test_a_name_has_a_time_to_live_or_is_ephemeral() -> None:
    with EmbeddedServer(extended_types=True) as server, zkrecipes.Client(server.connect_string) as client:
        names = client.names("/names")
        names.bind("a", "1", ttl=3600)
        assert names.lookup("a") == b"1"
        with pytest.raises(zkrecipes.Exists):
            names.bind("a", "2", ttl=3600)
        with pytest.raises(zkrecipes.Invalid, match="ttl"):
            names.bind("b", "2", ephemeral=True, ttl=3600)
        for ttl in (0, -1, float("nan")):
            with pytest.raises(zkrecipes.Invalid, match="ttl"):
                names.bind("b", "2", ttl=ttl)
        with pytest.raises(TypeError, match="ttl"):
            names.bind("b", "2", ttl="3600")  # type: ignore[arg-type]
        assert names.list() == ["a"]


def test_a_layout_that_has_no_room_for_data_says_so(client: zkrecipes.Client) -> None:
    with pytest.raises(zkrecipes.Invalid):
        client.group("/group", layout="party").join("ann", "x")
    with pytest.raises(zkrecipes.Invalid, match="member, party, shallow_party"):
        client.group("/group", layout="round")  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["", "a/b", ".", 3, None])
def test_what_is_no_name_is_refused(client: zkrecipes.Client, wrong: Any) -> None:
    with pytest.raises(zkrecipes.Invalid):
        client.names("/names").bind(wrong, "x")
    with pytest.raises(zkrecipes.Invalid):
        client.group("/group").join(wrong)


def test_a_node_is_followed_in_three_ways(client: zkrecipes.Client) -> None:
    nodes = client.nodes
    data, children, subtree = nodes.watch("/n"), nodes.watch("/n", "children"), nodes.watch("/n", kind="subtree")
    assert next(data) is None
    assert next(children) is None
    assert next(subtree) == {}
    nodes.create("/n", "x")
    found = next(data)
    assert found is not None
    assert (found[0], found[1].version) == (b"x", 0)
    assert next(children) == []
    nodes.create("/n/a", "y")
    assert next(children) == ["a"]
    below = next(subtree)
    while len(below) < 2:
        below = next(subtree)
    assert {path: one for path, (one, _) in below.items()} == {"/n": b"x", "/n/a": b"y"}
    with pytest.raises(zkrecipes.Invalid, match="data, children, subtree"):
        nodes.watch("/n", "all")  # type: ignore[call-overload]
    with pytest.raises(zkrecipes.Invalid):
        nodes.watch("n")


def test_what_cannot_go_on_is_raised_and_ends_the_feed(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string, auth=("digest", "ann:x"), acl="creator") as owner:
        owner.nodes.create("/secret", "x")
        with zkrecipes.Client(server.connect_string) as client:
            feed = client.nodes.watch("/secret")
            with pytest.raises(zkrecipes.Denied):
                next(feed)
            assert list(feed) == []


Declare = Callable[[Any], Callable[[str, str], Any]]
DECLARATIONS: dict[str, Declare] = {
    "a membership": lambda client: client.group("/all").join,
    "a binding": lambda client: partial(client.names("/all").bind, ephemeral=True),
}


@pytest.mark.parametrize("declaration", DECLARATIONS.values(), ids=DECLARATIONS)
def test_what_is_declared_when_it_is_cancelled_is_undone(connect: Connect, hosts: str, declaration: Declare) -> None:
    other = connect().names("/all")

    async def body() -> None:
        async with aio.Client(hosts) as client:
            declare = declaration(client)
            declaring = asyncio.ensure_future(declare("ann", "1"))
            await asyncio.sleep(0)
            # The loop hears of it only after this.
            eventually(other.list)
            time.sleep(0.1)
            declaring.cancel()
            with pytest.raises(asyncio.CancelledError):
                await declaring
            eventually(lambda: not other.list())
            await declare("ann", "1")
            assert other.list() == ["ann"]

    run(body())


@pytest.mark.parametrize("declaration", DECLARATIONS.values(), ids=DECLARATIONS)
def test_what_is_declared_when_it_is_interrupted_is_undone(server: EmbeddedServer, declaration: Declare) -> None:
    class AlarmError(Exception):
        pass

    def ring(*_: object) -> None:
        server.resume()
        eventually(lambda: "/all/ann" in server.nodes())
        # The answer has arrived when the wait is given up.
        time.sleep(0.1)
        raise AlarmError

    with zkrecipes.Client(server.connect_string) as client:
        declare = declaration(client)
        before = signal.signal(signal.SIGALRM, ring)
        try:
            server.pause()
            with pytest.raises(AlarmError):
                signal.setitimer(signal.ITIMER_REAL, 1.0)
                declare("ann", "1")
        finally:
            signal.signal(signal.SIGALRM, before)
        eventually(lambda: "/all/ann" not in server.nodes())
        declare("ann", "1")
        assert "/all/ann" in server.nodes()
