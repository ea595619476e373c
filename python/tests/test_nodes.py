"""Nodes that live for a time, on both faces. What else nodes do is in the scenarios."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator

import pytest
import zkrecipes
from conftest import eventually
from test_aio import run
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer

HOUR = 3600


@pytest.fixture
def knowing() -> Iterator[EmbeddedServer]:
    """A server that takes them."""
    with EmbeddedServer(extended_types=True) as server:
        yield server


async def are_removed(client: aio.Client, server: EmbeddedServer, *nodes: str) -> None:
    while set(nodes) & set(await client.nodes.children("/")):
        server.advance_clock(60)


def test_a_node_lives_for_a_time(knowing: EmbeddedServer) -> None:
    with zkrecipes.Client(knowing.connect_string) as client:
        assert client.nodes.create("/short", ttl=0.001) == "/short"
        assert client.nodes.create("/long-", "x", "persistent_sequential", ttl=24 * HOUR) == "/long-0000000001"
        writes = client.nodes.transaction()
        writes.create("/other", mode="persistent", ttl=60)
        writes.commit()

        def are_removed() -> bool:
            knowing.advance_clock(60)
            return not {"short", "other"} & set(client.nodes.children("/"))

        eventually(are_removed)
        assert client.nodes.exists("/long-0000000001")


def test_a_node_of_the_asyncio_face_lives_for_a_time(knowing: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(knowing.connect_string) as client:
            assert await client.nodes.create("/short", b"", ttl=1) == "/short"
            writes = client.nodes.transaction()
            writes.create("/other-", b"", "persistent_sequential", ttl=1)
            assert await writes.commit() == ["/other-0000000001"]
            await asyncio.wait_for(are_removed(client, knowing, "short", "other-0000000001"), 15)
            with pytest.raises(aio.Invalid, match="ttl"):
                await client.nodes.create("/a", ttl=-1)

    run(body())


def test_a_time_to_live_that_cannot_be_is_refused(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client:
        nodes = client.nodes
        for ttl in (0, 0.0005, -1, math.nan, math.inf, 2**40 / 1000, 1e300, 10**400):
            with pytest.raises(zkrecipes.Invalid, match="ttl"):
                nodes.create("/a", ttl=ttl)
            with pytest.raises(zkrecipes.Invalid, match="ttl"):
                nodes.transaction().create("/a", ttl=ttl)
        with pytest.raises(zkrecipes.Invalid, match="ttl"):
            nodes.create("/a", ttl="1 h")  # type: ignore[arg-type]
        for mode in ("ephemeral", "ephemeral_sequential", "container"):
            with pytest.raises(zkrecipes.Invalid, match="ttl: is for persistent nodes"):
                nodes.create("/a", mode=mode, ttl=HOUR)
        assert nodes.children("/") == ["zookeeper"]
        with pytest.raises(zkrecipes.Invalid, match="extendedTypesEnabled") as refused:
            nodes.create("/a", ttl=HOUR)
        assert refused.value.path == "/a"


def test_a_tree_is_kept_and_read_without_asking(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client:
        client.nodes.ensure("/tree/a")
        cache = client.nodes.cache("/tree")
        server.clear_log()
        assert (cache.path, repr(cache)) == ("/tree", "<NodeCache /tree>")
        assert cache.children("/tree") == ["a"]
        found = cache.get("/tree/a")
        assert found is not None
        assert (found[0], found[1].version, cache.get("/tree/b"), cache.children("/tree/b")) == (b"", 0, None, None)
        assert 0 <= cache.age < 10
        assert not [entry for entry in server.log() if entry.op in ("getData", "getChildren2", "exists")]
        with pytest.raises(zkrecipes.Invalid, match="not below /tree"):
            cache.get("/other")
        changes = iter(cache.changes())
        assert next(changes) == ["/tree", "/tree/a"]
        assert client.nodes.update("/tree/a", lambda data: data + b"x").version == 1
        assert next(changes) == ["/tree/a"]
        assert (cache.get("/tree/a") or [None])[0] == b"x"
    with pytest.raises(zkrecipes.Closed):
        cache.get("/tree")


def test_a_tree_is_kept_for_asyncio(server: EmbeddedServer) -> None:
    async def main() -> None:
        async with aio.Client(server.connect_string) as client:
            await client.nodes.ensure("/aio-tree/a")
            cache = await client.nodes.cache("/aio-tree")
            assert cache.children("/aio-tree") == ["a"]
            async for paths in cache.changes():
                if "/aio-tree/b" in paths:
                    break
                await client.nodes.ensure("/aio-tree/b")
            assert cache.children("/aio-tree") == ["a", "b"]

    asyncio.run(main())


def test_a_client_is_told_who_it_is(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string, auth=("digest", "billing:secret")) as client:
        assert client.whoami() == ["ip:127.0.0.1", "digest:billing"]


def test_what_a_change_raises_is_raised(server: EmbeddedServer) -> None:
    calls = 0

    def change(data: bytes) -> bytes:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise AssertionError("called again")
        raise zkrecipes.BadVersion("of a node of its own")

    with zkrecipes.Client(server.connect_string) as client:
        client.nodes.create("/changed", "a")
        with pytest.raises(zkrecipes.BadVersion, match="of its own"):
            client.nodes.update("/changed", change)

    async def body() -> None:
        nonlocal calls
        calls = 0
        async with aio.Client(server.connect_string) as client:
            with pytest.raises(aio.BadVersion, match="of its own"):
                await client.nodes.update("/changed", change)
            assert await client.nodes.get("/changed") == (b"a", await client.nodes.exists("/changed"))

    run(body())
