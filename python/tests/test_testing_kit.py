"""zkrecipes.testing, as users use it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest
import zkrecipes
from conftest import eventually
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer, Ensemble, LogEntry, Proxy


def test_a_server_starts_on_a_free_port_and_stops_for_good() -> None:
    with EmbeddedServer() as one, EmbeddedServer() as two:
        assert one.port != two.port
        assert one.connect_string.endswith(f":{one.port}")
        with zkrecipes.Client(one.connect_string) as client:
            client.nodes.create("/a")
            assert "/a" in one.nodes()
            assert client.session_id in one.sessions()
            assert one.connections() == 1
        assert two.nodes() == []
    with pytest.raises(OSError, match="shut down"):
        one.restart()


def test_the_clock_can_be_frozen_and_moved() -> None:
    with EmbeddedServer(tick=0.05, max_session_timeout=100) as server:
        server.freeze_clock()
        with zkrecipes.Client(server.connect_string, session_timeout=10) as client:
            session = client.session_id
            server.pause()
            server.advance_clock(11)
            server.resume()
            eventually(lambda: session not in server.sessions())
            server.thaw_clock()


def test_requests_are_logged_and_counted(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client:
        client.nodes.ensure("/locks")
        server.clear_log()
        with client.lock("/locks/lock"):
            pass
        server.clear_log()
        with client.lock("/locks/lock"):
            assert server.count("create*", "/locks/**") == 1
            assert server.count("getChildren*", "/locks/lock") == 1
        assert server.count("delete") == 1
        entry = server.log()[0]
        assert isinstance(entry, LogEntry)
        assert entry.session_id == client.session_id
        assert entry.path.startswith("/locks/lock")
        assert entry.error == 0


def test_sequence_numbers_can_be_set(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client:
        client.nodes.create("/queue")
        assert server.set_next_sequence("/queue", 41)
        assert not server.set_next_sequence("/missing", 41)
        assert client.nodes.create("/queue/n-", b"", "ephemeral_sequential") == "/queue/n-0000000041"


def test_the_kit_serves_asyncio_too(server: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            lock = client.lock("/lock", cancel_on_lost=True)
            with pytest.raises(aio.Lost):
                async with lock:
                    server.expire(client.session_id)
                    await asyncio.sleep(30)
            server.freeze_clock()
            server.advance_clock(1)
            server.thaw_clock()

    asyncio.run(body())


@pytest.fixture(params=["embedded"] + ["zookeeper"] * bool(os.environ.get("ZKR_HOSTS")))
def upstream(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "embedded":
        with EmbeddedServer(tick=0.05) as server:
            yield server.connect_string
    else:
        yield os.environ["ZKR_HOSTS"].partition("/")[0].partition(",")[0]


@pytest.fixture
def corner(upstream: str) -> Iterator[str]:
    with zkrecipes.Client(upstream) as observer:
        corner = observer.nodes.create("/python-proxy-", b"", "persistent_sequential")
        yield corner
        observer.nodes.delete_all(corner)


def test_a_proxy_brings_faults_to_a_real_server(upstream: str, corner: str) -> None:
    with Proxy(upstream) as proxy, zkrecipes.Client(proxy.connect_string) as client:
        fault = proxy.inject(f"drop_after create* path={corner}/lock/**")
        with client.lock(f"{corner}/lock") as held:
            assert proxy.fault_fired(fault)
            assert client.nodes.children(f"{corner}/lock") == [held.node.rsplit("/", 1)[1]]
        assert proxy.sessions() == [client.session_id]
        assert proxy.connections() == 1
        assert proxy.count("delete*", f"{corner}/**") >= 1
        entry = proxy.log()[-1]
        assert entry.session_id == client.session_id
        proxy.clear_log()
        assert proxy.count("delete*") == 0
        never = proxy.inject("drop_before delete path=/other")
        proxy.clear_faults()
        assert not proxy.fault_fired(never)


def test_a_proxy_ends_sessions_and_breaks_connections(upstream: str, corner: str) -> None:
    with Proxy(upstream) as proxy, zkrecipes.Client(proxy.connect_string) as client:
        assert f":{proxy.port}" in proxy.connect_string
        held = client.lock(f"{corner}/lock").acquire()
        assert held
        session = client.session_id
        proxy.drop_connections()
        held.verify()
        assert client.session_id == session
        proxy.pause()
        with pytest.raises(zkrecipes.Error):
            zkrecipes.Client(proxy.connect_string, connect_timeout=0.2)
        proxy.resume()
        held.verify()
        assert not proxy.expire(12345)
        assert proxy.expire(session)
        eventually(lambda: not held.is_held)
        eventually(lambda: client.session_id not in (0, session))


def test_a_bad_upstream_is_refused() -> None:
    bad: list[Any] = [5, None, b"h:1", "no port"]
    for upstream in bad:
        with pytest.raises((zkrecipes.Invalid, OSError)):
            Proxy(upstream)
    with Proxy("127.0.0.1:1") as proxy, pytest.raises(zkrecipes.ConnectionLost):
        zkrecipes.Client(proxy.connect_string, connect_timeout=0.3)


def test_a_follower_that_is_held_back_answers_with_the_past() -> None:
    with (
        Ensemble(3, tick=0.05) as ensemble,
        zkrecipes.Client(ensemble.member(0)) as leading,
        zkrecipes.Client(ensemble.member(2)) as following,
    ):
        assert ensemble.members == 3
        assert ensemble.connect_string.split(",") == [ensemble.member(member) for member in range(3)]
        assert ensemble.hold(2)
        leading.nodes.create("/new")
        assert ensemble.behind(2) > 0
        assert following.nodes.exists("/new") is None
        assert ensemble.release(2)
        eventually(lambda: following.nodes.exists("/new"))
        assert ensemble.lag(1, 0.05)
        assert not ensemble.lag(0, 0.05), "the leader does not lag"
        assert leading.session_id in ensemble.sessions()
        assert ensemble.count("create*", "/new") == 1


def test_only_a_minority_can_be_cut_off() -> None:
    with Ensemble() as ensemble:
        assert ensemble.isolate(1)
        assert not ensemble.isolate(2)
        assert ensemble.heal(1)
        assert not ensemble.heal(1)
        assert not ensemble.isolate(7)
        for bad in (3, -1, "1", None):
            with pytest.raises(zkrecipes.Invalid, match="member"):
                ensemble.member(bad)  # type: ignore[arg-type]
        with pytest.raises(zkrecipes.Invalid, match="seconds"):
            ensemble.lag(1, -1)
    bad_members: list[Any] = [0, -1, 100, "3", True]
    for members in bad_members:
        with pytest.raises(zkrecipes.Invalid, match="members"):
            Ensemble(members)
