"""What Python makes of a counter."""

from __future__ import annotations

from typing import Any

import pytest
import zkrecipes


@pytest.mark.parametrize("wrong", [True, "1", 1.0, None, b"1"])
def test_only_ints_are_counted_with(client: zkrecipes.Client, wrong: Any) -> None:
    counter = client.counter("/counter")
    for call in (counter.add, lambda n: counter.compare_and_set(n, 1), lambda n: counter.compare_and_set(1, n)):
        with pytest.raises(zkrecipes.InvalidType):
            call(wrong)


def test_what_is_beyond_the_range_is_refused(client: zkrecipes.Client) -> None:
    with pytest.raises(zkrecipes.Invalid, match="64 bit"):
        client.counter("/counter").add(2**63)
    with pytest.raises(zkrecipes.Invalid, match="nothing was changed"):
        client.counter("/small", layout="shared").add(2**31)
    assert client.counter("/small", layout="shared").get() == 0


def test_a_layout_that_does_not_exist_is_named(client: zkrecipes.Client) -> None:
    with pytest.raises(zkrecipes.Invalid, match="atomic, shared"):
        client.counter("/counter", layout="round")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        client.counter("/counter", "shared")  # type: ignore[call-arg]


def test_a_counter_keeps_its_session_open(hosts: str) -> None:
    counter = zkrecipes.Client(hosts).counter("/counter")
    assert counter.add(1) == 1
    assert repr(counter) == "<Counter /counter>"
    with pytest.warns(ResourceWarning, match="unclosed"):
        del counter
