"""zkrecipes.testing, as users use it."""

from __future__ import annotations

import pytest
import zkrecipes
from conftest import eventually
from zkrecipes.testing import EmbeddedServer, LogEntry


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


def test_stop_and_restart_keep_nodes_and_sessions(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client:
        session = client.session_id
        client.nodes.create("/a", b"1", "ephemeral")
        server.stop()
        eventually(lambda: client.state == "suspended")
        server.restart()
        assert client.nodes.get("/a")[0] == b"1"
        assert client.session_id == session


def test_pause_and_resume_hold_answers_back(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client, client.lock("/lock"):
        server.pause()
        assert client.lock("/lock").acquire(timeout=0.05) is None
        server.resume()
        assert client.nodes.exists("/lock")


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


def test_expire_knows_which_sessions_there_are(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client:
        assert not server.expire(12345)
        assert server.expire(client.session_id)
    for bad in (-1, "1", None, 2**64):
        with pytest.raises(zkrecipes.Invalid, match="session_id"):
            server.expire(bad)  # type: ignore[arg-type]


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


def test_a_fault_happens_once(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client:
        client.nodes.create("/locks")
        fault = server.inject("drop_after create2 path=/locks/**")
        assert not server.fault_fired(fault)
        with client.lock("/locks/lock") as held:
            assert server.fault_fired(fault)
            # The create was carried out, its reply was lost, and the node was found again.
            assert client.nodes.children("/locks/lock") == [held.node.rsplit("/", 1)[1]]
        never = server.inject("drop_before delete path=/other")
        server.clear_faults()
        client.nodes.create("/other")
        client.nodes.delete("/other")
        assert not server.fault_fired(never)
