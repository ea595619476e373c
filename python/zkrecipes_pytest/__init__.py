"""Fixtures for pytest, which finds them by itself once zkrecipes is installed.

`embedded_zookeeper` is a server of the test's own, `zookeeper_client` a client of it:

    def test_the_report_is_written_once(zookeeper_client):
        write_report(zookeeper_client)
        assert zookeeper_client.nodes.get("/report")[0] == b"done"

    def test_a_lost_session_is_survived(embedded_zookeeper, zookeeper_client):
        embedded_zookeeper.expire(zookeeper_client.session_id)
        ...

`zookeeper_aio_client` is a client of `zkrecipes.aio`, for tests that the plugin of anyio runs on asyncio, or
pytest-asyncio in its mode `auto`:

    async def test_the_report_is_written_once(zookeeper_aio_client):
        await write_report(zookeeper_aio_client)

None of them needs Java or a network. What they are made of is `zkrecipes.testing`.

pytest imports this in every run, also where nobody uses it: so it is no part of the package, which loads the library.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from zkrecipes import Client, aio
    from zkrecipes.testing import EmbeddedServer

__all__ = ["embedded_zookeeper", "zookeeper_aio_client", "zookeeper_client"]


@pytest.fixture
def embedded_zookeeper() -> Iterator[EmbeddedServer]:
    """A ZooKeeper server inside this process, for this test alone; its `connect_string` is for clients."""
    # Not above: runs that use neither do not load the library.
    from zkrecipes.testing import EmbeddedServer

    with EmbeddedServer() as server:
        yield server


@pytest.fixture
def zookeeper_client(embedded_zookeeper: EmbeddedServer) -> Iterator[Client]:
    """A client of that server, closed after the test."""
    import zkrecipes

    with zkrecipes.Client(embedded_zookeeper.connect_string) as client:
        yield client


@pytest.fixture
async def zookeeper_aio_client(embedded_zookeeper: EmbeddedServer) -> AsyncIterator[aio.Client]:
    """The same for asyncio, on the loop of the test."""
    from zkrecipes import aio

    async with aio.Client(embedded_zookeeper.connect_string) as client:
        yield client
