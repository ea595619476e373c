"""Losing what was held, and callbacks."""

from __future__ import annotations

import logging
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
import zkrecipes
from conftest import eventually
from interpreters import environment
from zkrecipes.testing import EmbeddedServer


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[zkrecipes.Client]:
    with zkrecipes.Client(server.connect_string) as client:
        yield client


def test_leaving_a_scope_raises_lost_when_the_session_expired(server: EmbeddedServer, client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    told: queue.Queue[zkrecipes.Lost] = queue.Queue()
    with pytest.raises(zkrecipes.Lost) as caught, lock as held:
        held.on_lost(told.put)
        assert server.expire(client.session_id)
        assert told.get(timeout=15).reason == "session"
        assert not held.is_held
        assert not lock.is_held
    assert caught.value.reason == "session"
    assert caught.value.path == "/lock"
    assert caught.value.retryable
    with lock as again:
        assert again.fencing_token > held.fencing_token


def test_on_lost_tells_once_at_once_and_never_of_an_own_release(
    server: EmbeddedServer, client: zkrecipes.Client
) -> None:
    lock = client.lock("/lock")
    told: queue.Queue[str] = queue.Queue()
    held = lock.acquire()
    assert held
    held.on_lost(lambda error: told.put("released"))
    held.release()

    held = lock.acquire()
    assert held
    unsubscribe = held.on_lost(lambda error: told.put("unsubscribed"))
    unsubscribe()
    unsubscribe()
    lock.on_lost(lambda error: told.put("first"))
    server.expire(client.session_id)
    assert told.get(timeout=15) == "first"
    held.on_lost(lambda error: told.put("late"))
    assert told.get(timeout=15) == "late"
    assert told.empty()


def test_state_changes_are_told_in_order(server: EmbeddedServer, client: zkrecipes.Client) -> None:
    states: queue.Queue[zkrecipes.State] = queue.Queue()
    ignored: queue.Queue[zkrecipes.State] = queue.Queue()
    client.on_state(states.put)
    client.on_state(ignored.put)()
    server.stop()
    assert states.get(timeout=15) is zkrecipes.State.SUSPENDED
    server.restart()
    assert states.get(timeout=15) is zkrecipes.State.CONNECTED
    session = client.session_id
    server.expire(session)
    seen: list[zkrecipes.State] = []
    while zkrecipes.State.LOST not in seen or seen[-1] is not zkrecipes.State.CONNECTED:
        seen.append(states.get(timeout=15))
    assert client.session_id not in (0, session)
    client.close()
    eventually(lambda: not states.empty() and states.get() is zkrecipes.State.CLOSED)
    assert ignored.empty()


def test_an_exception_in_a_callback_is_logged_and_stops_nothing(
    server: EmbeddedServer, client: zkrecipes.Client, caplog: pytest.LogCaptureFixture
) -> None:
    told: queue.Queue[zkrecipes.State] = queue.Queue()

    def explode(state: zkrecipes.State) -> None:
        raise ZeroDivisionError("in the callback")

    client.on_state(explode)
    client.on_state(told.put)
    with caplog.at_level(logging.ERROR, logger="zkrecipes"):
        server.stop()
        assert told.get(timeout=15)
        server.restart()
        assert told.get(timeout=15)
        eventually(lambda: "in the callback" in caplog.text)
    assert any(record.name == "zkrecipes" and record.exc_info for record in caplog.records)


def test_the_librarys_own_log_goes_to_logging(client: zkrecipes.Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="zkrecipes"), pytest.raises(zkrecipes.Lost):
        with client.lock("/lock") as held:
            gone = threading.Event()
            held.on_lost(lambda error: gone.set())
            client.nodes.delete(held.node)
            assert gone.wait(15)
        eventually(lambda: held.node in caplog.text)


def test_a_blocking_verb_in_a_callback_would_deadlock(server: EmbeddedServer, client: zkrecipes.Client) -> None:
    raised: queue.Queue[BaseException | None] = queue.Queue()
    lock = client.lock("/lock")

    def callback(_: object) -> None:
        for verb in (lambda: client.nodes.exists("/"), lock.acquire, lock.contenders, client.close):
            try:
                verb()
            except BaseException as error:
                raised.put(error)
            else:
                raised.put(None)

    client.on_state(callback)
    server.stop()
    for _ in range(4):
        error = raised.get(timeout=15)
        assert isinstance(error, zkrecipes.WouldDeadlock)
        assert isinstance(error, RuntimeError)
    server.restart()
    assert client.nodes.exists("/lock") is None


def test_the_librarys_warnings_are_seen_without_any_configuration(server: EmbeddedServer) -> None:
    """Such as that of an acquire that waits for its own handle; from both faces, on stderr."""
    program = """
import asyncio, sys, zkrecipes, zkrecipes.aio as aio
with zkrecipes.Client(sys.argv[1]) as client:
    lock = client.lock("/blocking")
    lock.acquire()
    lock.acquire(timeout=4)
    lock.release()
async def main():
    async with aio.Client(sys.argv[1]) as client:
        lock = client.lock("/asyncio")
        await lock.acquire()
        await lock.acquire(timeout=4)
        await lock.release()
asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program, server.connect_string],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    for path in ("/blocking", "/asyncio"):
        (line,) = (line for line in done.stderr.splitlines() if f"path={path} " in line)
        assert "its own handle" in line
