"""Servers, programs and stages for the tests; `--server embedded` or `--server real` plays on that kind only."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import peers
import pytest
from kazoo.client import KazooClient
from stage import PATIENCE, Program, Stage, serving

SERVERS = {"embedded": ["embedded"], "real": ["zookeeper-3.9"], "all": ["embedded", "zookeeper-3.9"]}
_paths = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--server", choices=sorted(SERVERS), default="all")
    parser.addoption("--built", action="store_true", help="what the tests need has just been built")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "server" in metafunc.fixturenames:
        metafunc.parametrize("server", SERVERS[metafunc.config.getoption("--server")], scope="session")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    # One server after the other: pytest's own order would start each several times.
    items.sort(key=lambda item: item.callspec.params["server"])


def pytest_sessionstart(session: pytest.Session) -> None:
    if not session.config.getoption("--built"):
        peers.build()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    ended = {how: len(terminalreporter.stats.get(how, [])) for how in ("passed", "failed", "error")}
    terminalreporter.write_line(f"{ended['passed']} passed, {ended['failed'] + ended['error']} failed")


@pytest.fixture(scope="session")
def hosts(server: str) -> Iterator[str]:
    with serving(server) as connect_string:
        yield connect_string


@pytest.fixture(scope="session")
def observer(hosts: str) -> Iterator[KazooClient]:
    client = KazooClient(hosts, timeout=15)
    client.start(PATIENCE)
    yield client
    client.stop()
    client.close()


@pytest.fixture(scope="session")
def programs() -> Iterator[Any]:
    """The programs of the other languages, each started when it is first needed."""
    running: dict[str, Program] = {}

    def program(language: str) -> Program:
        if language not in running:
            running[language] = Program(peers.owners(language))
        return running[language]

    yield program
    for started in running.values():
        started.end()


@pytest.fixture
def stage(hosts: str, observer: KazooClient, programs: Any) -> Iterator[Stage]:
    stage = Stage(hosts, observer, f"/interop-{next(_paths)}", programs)
    yield stage
    stage.close()
