"""Our Counter with Curator's DistributedAtomicLong and SharedCount, and with kazoo's Counter: one number."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from stage import Stage

ATOMIC, SHARED = "counter:atomic", "counter:shared"
PAIRS = [("our-curator", "curator", ATOMIC), ("our-curator", "curator", SHARED), ("our-kazoo", "kazoo", ATOMIC)]
both_ways = pytest.mark.parametrize(("first", "second", "kind"), [*PAIRS, *((b, a, kind) for a, b, kind in PAIRS)])
pairs = pytest.mark.parametrize(("ours", "theirs", "kind"), PAIRS)


@both_ways
def test_they_read_what_the_other_one_wrote(stage: Stage, first: str, second: str, kind: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    assert one.add(kind, stage.path, 5) == 5
    assert other.add(kind, stage.path, -300) == -295
    assert one.add(kind, stage.path, 70_000) == 69_705
    assert other.add(kind, stage.path, 1) == 69_706


@pairs
def test_nothing_is_lost_when_they_count_at_the_same_time(stage: Stage, ours: str, theirs: str, kind: str) -> None:
    we, they = stage.owner(ours), stage.owner(theirs)
    we.add(kind, stage.path, 0)

    def count(owner: Any) -> list[int]:
        return [owner.add(kind, stage.path, 1) for _ in range(25)]

    with ThreadPoolExecutor() as pool:
        told = [value for values in pool.map(count, [we, they]) for value in values]
    assert sorted(told) == list(range(1, 51))
    stage.until_children(0)
