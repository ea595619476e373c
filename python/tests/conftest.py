"""Each test builds its own world: a server in this process, and a corner of a real one when ZKR_HOSTS names it."""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Callable, Iterator

import pytest
import zkrecipes
from interpreters import interpreters
from zkrecipes.testing import EmbeddedServer

Connect = Callable[..., zkrecipes.Client]


@pytest.fixture
def server() -> Iterator[EmbeddedServer]:
    """A server that can be made to misbehave."""
    with EmbeddedServer(tick=0.05) as server:
        yield server


@pytest.fixture(params=["embedded"] + ["zookeeper"] * bool(os.environ.get("ZKR_HOSTS")))
def hosts(request: pytest.FixtureRequest) -> Iterator[str]:
    """A connect string; for what every server must do."""
    if request.param == "embedded":
        with EmbeddedServer(tick=0.05) as server:
            yield server.connect_string
        return
    ensemble, corner = os.environ["ZKR_HOSTS"], f"/python-{uuid.uuid4().hex}"
    with zkrecipes.Client(ensemble) as observer:
        observer.nodes.ensure(corner)
        yield ensemble + corner
        observer.nodes.delete_all(corner)


@pytest.fixture
def connect(hosts: str) -> Iterator[Connect]:
    """Connects clients of `hosts` that are closed in the end."""
    clients = []

    def connect(**options: object) -> zkrecipes.Client:
        client = zkrecipes.Client(hosts, **options)  # type: ignore[arg-type]
        clients.append(client)
        return client

    yield connect
    for client in clients:
        client.close(10)


@pytest.fixture
def client(connect: Connect) -> zkrecipes.Client:
    return connect()


def eventually(condition: Callable[[], object], within: float = 15) -> None:
    """Waits for a condition, never for a while."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


def contenders(client: zkrecipes.Client, path: str) -> int:
    return len(client.lock(path).contenders())


def has_gil() -> bool:
    return getattr(sys, "_is_gil_enabled", lambda: True)()


def pytest_report_header() -> str:
    gil = "with" if has_gil() else "without"
    return f"what crosses versions is run by CPython {', '.join(interpreters())}; this one runs {gil} a GIL"
