"""Our queues with Curator's, kazoo's and ZooKeeper's own: every item is put by one and taken by another, once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from owner_kazoo import Refused
from stage import Stage, gets, refuses, waits

SIMPLE, DISTRIBUTED, LOCKING = "queue:simple", "queue:distributed", "queue:locking"
PRIORITY, DELAY = "priority", "delay"
PAIRS = [
    ("our-curator", "curator", SIMPLE),
    ("our-curator", "curator", DISTRIBUTED),
    ("our-zookeeper", "zookeeper-java", SIMPLE),
    ("our-zookeeper", "zookeeper-c", SIMPLE),
    ("our-kazoo", "kazoo", SIMPLE),
    ("our-kazoo", "kazoo", LOCKING),
]
RANKED = [("our-curator", "curator"), ("our-kazoo", "kazoo")]
both_ways = pytest.mark.parametrize(("first", "second", "kind"), [*PAIRS, *((b, a, kind) for a, b, kind in PAIRS)])
ranked = pytest.mark.parametrize(("first", "second"), [*RANKED, *((b, a) for a, b in RANKED)])
delayed = pytest.mark.parametrize(("first", "second"), [("our-curator", "curator"), ("curator", "our-curator")])


def items_of(kind: str) -> str:
    """Where the nodes of the items are."""
    return "/entries" if kind == LOCKING else ""


@both_ways
def test_one_takes_what_the_other_puts_in_order(stage: Stage, first: str, second: str, kind: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    for item in ("a", "b", "c"):
        one.put(kind, stage.path, item)
    stage.until_children(3, items_of(kind))
    assert [gets(other.take(kind, stage.path)) for _ in range(3)] == [["a"], ["b"], ["c"]]
    stage.until_children(0, items_of(kind))
    refuses(other.take(kind, stage.path, 0), "TIMEOUT")


@both_ways
def test_one_that_waits_gets_what_comes(stage: Stage, first: str, second: str, kind: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    taking = other.take(kind, stage.path)
    waits(taking)
    one.put(kind, stage.path, "a")
    assert gets(taking) == ["a"]


@both_ways
def test_nothing_is_lost_or_taken_twice(stage: Stage, first: str, second: str, kind: str) -> None:
    owners = [stage.owner(flavour) for flavour in (first, second)]
    # Of one length: after a lost race ZooKeeper's queue in C has no more room than for what it lost.
    expected = [f"{one}-{n:02}" for one in range(2) for n in range(20)]

    def put(one: int) -> None:
        for item in expected[one * 20 + 1 : one * 20 + 20]:
            owners[one].put(kind, stage.path, item)

    # One after the other as long as there is no queue: ZooKeeper's queue in Java fails if another makes it meanwhile.
    for one in range(2):
        owners[one].put(kind, stage.path, expected[one * 20])
    with ThreadPoolExecutor() as pool:
        list(pool.map(put, range(2)))
        taken = [item for items in pool.map(lambda one: take_all(one, kind, stage.path), owners) for item in items]
    assert sorted(taken) == sorted(expected)
    stage.until_children(0, items_of(kind))


def take_all(owner: Any, kind: str, path: str) -> list[str]:
    items = []
    while True:
        try:
            items += gets(owner.take(kind, path, 0.5))
        except Refused:
            return items


def test_what_curator_put_together_is_taken_one_by_one(stage: Stage) -> None:
    we, they = stage.owner("our-curator"), stage.owner("curator")
    they.put_together(stage.path, "a", "b", "c")
    stage.until_children(1)
    assert [gets(we.take(DISTRIBUTED, stage.path)) for _ in range(3)] == [["a"], ["b"], ["c"]]
    stage.until_children(0)


@ranked
def test_the_lowest_priority_comes_first(stage: Stage, first: str, second: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    for item, priority in [("d", 700), ("b", 7), ("a", 0), ("c", 7)]:
        one.put(PRIORITY, stage.path, item, priority)
    stage.until_children(4)
    assert [gets(other.take(PRIORITY, stage.path)) for _ in range(4)] == [["a"], ["b"], ["c"], ["d"]]


@pytest.mark.parametrize(("first", "second"), [("our-curator", "curator"), ("curator", "our-curator")])
def test_priorities_below_zero_come_before(stage: Stage, first: str, second: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    for item, priority in [("c", 0), ("b", -1), ("a", -7), ("d", 2147483647)]:
        one.put(PRIORITY, stage.path, item, priority)
    stage.until_children(4)
    assert [gets(other.take(PRIORITY, stage.path)) for _ in range(4)] == [["a"], ["b"], ["c"], ["d"]]


@delayed
def test_nothing_comes_early_and_the_earliest_first(stage: Stage, first: str, second: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    one.put(DELAY, stage.path, "later", 1500)
    one.put(DELAY, stage.path, "sooner", 500)
    taking = other.take(DELAY, stage.path)
    waits(taking)
    assert gets(taking) == ["sooner"]
    taking = other.take(DELAY, stage.path)
    waits(taking)
    assert gets(taking) == ["later"]


@pytest.mark.parametrize(("first", "second"), [("our-kazoo", "kazoo"), ("kazoo", "our-kazoo")])
def test_kazoos_locking_queue_and_ours_know_each_others_claims(stage: Stage, first: str, second: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    for item in ("a", "b"):
        one.put(LOCKING, stage.path, item)
    assert gets(one.claim(LOCKING, stage.path)) == ["a"]
    assert gets(other.claim(LOCKING, stage.path)) == ["b"]
    one.nack(LOCKING, stage.path)
    other.ack(LOCKING, stage.path)
    assert gets(other.take(LOCKING, stage.path)) == ["a"]
    stage.until_children(0, "/entries")
    stage.until_children(0, "/taken")


@pytest.mark.parametrize(("ours", "theirs", "kind"), [pair for pair in PAIRS if pair[2] != LOCKING])
def test_a_claim_of_ours_keeps_no_peer_from_taking_the_item(stage: Stage, ours: str, theirs: str, kind: str) -> None:
    we, they = stage.owner(ours), stage.owner(theirs)
    for item in ("a", "b"):
        we.put(kind, stage.path, item)
    assert gets(we.claim(kind, stage.path)) == ["a"]
    assert gets(they.take(kind, stage.path)) == ["a"]
    with pytest.raises(Refused, match="NOT_HELD"):
        we.ack(kind, stage.path)
    assert gets(they.take(kind, stage.path)) == ["b"]
    stage.until_children(0)
