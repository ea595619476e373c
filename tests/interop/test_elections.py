"""Our Election with Curator's LeaderLatch and LeaderSelector, and with kazoo's Election: together one leader."""

from __future__ import annotations

import pytest
from stage import Stage, gets, waits

LATCH, SELECTOR = "election:latch", "election:selector"
PAIRS = [("our-curator", "curator", LATCH), ("our-curator", "curator", SELECTOR), ("our-kazoo", "kazoo", LATCH)]
both_ways = pytest.mark.parametrize(("first", "second", "kind"), [*PAIRS, *((b, a, kind) for a, b, kind in PAIRS)])
pairs = pytest.mark.parametrize(("ours", "theirs", "kind"), PAIRS)


@both_ways
def test_they_lead_in_turn(stage: Stage, first: str, second: str, kind: str) -> None:
    owners = [stage.owner(flavour) for flavour in (first, second, first, second)]
    gets(owners[0].acquire(kind, stage.path))
    queued = [stage.queue(owner, kind) for owner in owners[1:]]
    for leads, stands, pending in zip(owners, owners[1:], queued, strict=False):
        waits(pending)
        leads.release(kind, stage.path)
        gets(pending)
        assert stands.candidates(kind, stage.path)[0] == f"{stands.name}*"
    owners[-1].release(kind, stage.path)
    stage.until_children(0)


@both_ways
def test_one_that_goes_away_is_followed(stage: Stage, first: str, second: str, kind: str) -> None:
    leads, stands = stage.owner(first), stage.owner(second)
    gets(leads.acquire(kind, stage.path))
    pending = stage.queue(stands, kind)
    waits(pending)
    leads.close()
    gets(pending)


@pairs
def test_they_know_each_other(stage: Stage, ours: str, theirs: str, kind: str) -> None:
    we, they = stage.owner(ours), stage.owner(theirs)
    gets(they.acquire(kind, stage.path))
    assert we.leader(kind, stage.path) == [they.name, "elected"]
    pending = stage.queue(we, kind)
    expected = [f"{they.name}*", we.name]
    assert sorted(they.candidates(kind, stage.path)) == sorted(expected)
    assert we.candidates(kind, stage.path) == expected
    they.release(kind, stage.path)
    gets(pending)
    assert they.candidates(kind, stage.path) == [f"{we.name}*"]


@pairs
def test_what_a_leader_of_ours_says_disturbs_no_peer(stage: Stage, ours: str, theirs: str, kind: str) -> None:
    we, they = stage.owner(ours), stage.owner(theirs)
    gets(we.acquire(kind, stage.path))
    pending = stage.queue(they, kind)
    we.acknowledge(kind, stage.path)
    assert we.leader(kind, stage.path) == [we.name, "acknowledged"]
    assert sorted(they.candidates(kind, stage.path)) == sorted([f"{we.name}*", they.name])
    waits(pending)
    we.release(kind, stage.path)
    gets(pending)
    assert we.leader(kind, stage.path) == [they.name, "elected"]
