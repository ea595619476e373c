"""What Python makes of a config."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
import zkrecipes
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer


def test_text_goes_in_and_bytes_come_out(client: zkrecipes.Client) -> None:
    config = client.config("/config")
    assert config.get() is None
    assert config.cached is not None
    assert config.cached.value is None
    assert config.set("blåbær") == 0
    now = config.get()
    assert now is not None
    assert now.value.decode() == "blåbær"
    assert config.set(b"x", version=now.version) == 1
    with pytest.raises(zkrecipes.BadVersion) as caught:
        config.set(b"y", now.version)
    assert caught.value.path == "/config"
    with pytest.raises(zkrecipes.Exists):
        config.create("first")
    assert client.config("/other").create("first") == 0
    assert repr(config) == "<Config /config>"


@pytest.mark.parametrize("wrong", [None, 1, ["x"]])
def test_only_bytes_and_text_are_set(client: zkrecipes.Client, wrong: Any) -> None:
    with pytest.raises(zkrecipes.InvalidType, match="value"):
        client.config("/config").set(wrong)
    with pytest.raises(zkrecipes.InvalidType, match="value"):
        client.config("/config").create(wrong)


@pytest.mark.parametrize("wrong", [-1, 2**31])
def test_a_version_that_cannot_be_is_refused(client: zkrecipes.Client, wrong: int) -> None:
    with pytest.raises(zkrecipes.Invalid, match="version"):
        client.config("/config").set("x", wrong)


def test_a_value_is_updated_by_what_a_function_makes_of_it(client: zkrecipes.Client) -> None:
    config = client.config("/updated")
    assert config.update(lambda value: (value or b"") + b"a") == zkrecipes.Versioned(b"a", 0)
    assert config.update(lambda value: f"{(value or b'').decode()}å") == zkrecipes.Versioned("aå".encode(), 1)

    def meanwhile(value: bytes | None) -> bytes:
        # Somebody else is faster the first time.
        if value == "aå".encode():
            config.set("b")
        return (value or b"") + b"c"

    assert config.update(meanwhile) == zkrecipes.Versioned(b"bc", 3)
    with pytest.raises(ZeroDivisionError):
        config.update(lambda value: bytes(1 // 0))
    assert config.compare_and_set("d", 2) is False
    assert config.compare_and_set("d", 3) is True
    assert config.compare_and_set("d", None) is False
    assert config.get() == zkrecipes.Versioned(b"d", 4)


@pytest.mark.parametrize("wrong", [None, "x", 5])
def test_what_is_no_function_updates_nothing(client: zkrecipes.Client, wrong: Any) -> None:
    with pytest.raises(zkrecipes.Invalid, match="change"):
        client.config("/wrong").update(wrong)
    with pytest.raises(zkrecipes.Invalid, match="change"):
        client.nodes.update("/wrong", wrong)
    with pytest.raises(zkrecipes.Invalid, match="value"):
        client.config("/wrong").update(lambda _: cast(Any, 7))
    assert client.nodes.exists("/wrong") is None


def test_a_coroutine_function_is_for_asyncio(client: zkrecipes.Client, server: EmbeddedServer) -> None:
    async def change(value: bytes | None) -> bytes:
        await asyncio.sleep(0)
        return (value or b"") + b"a"

    with pytest.raises(zkrecipes.Invalid, match=r"zkrecipes\.aio"):
        client.config("/async").update(change)  # type: ignore[arg-type]

    async def main() -> None:
        async with aio.Client(server.connect_string) as other:
            config = other.config("/async")
            assert await config.update(change) == zkrecipes.Versioned(b"a", 0)
            assert await config.update(lambda value: value or "") == zkrecipes.Versioned(b"a", 1)
            assert (await other.nodes.update("/async", change)).version == 2
            with pytest.raises(aio.Invalid, match="change"):
                await config.update(5)  # type: ignore[arg-type]
            with pytest.raises(aio.Invalid, match="value"):
                await config.update(lambda _: cast(Any, 7))

    asyncio.run(main())


def test_what_was_set_is_told_also_where_it_is_changed_meanwhile(server: EmbeddedServer) -> None:
    async def main() -> None:
        async with aio.Client(server.connect_string) as client:
            config, made = client.config("/kept"), bytearray(b"before")

            def change(_: bytes | None) -> Any:
                # Before the answer of the server.
                asyncio.get_running_loop().call_soon(made.__setitem__, slice(None), b"behind")
                return made

            assert await config.update(change) == await config.get() == zkrecipes.Versioned(b"before", 0)
            assert made == b"behind"

    asyncio.run(main())
