"""What Python makes of a config."""

from __future__ import annotations

from typing import Any

import pytest
import zkrecipes


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
