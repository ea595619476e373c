"""Our Group with Curator's GroupMember, and with kazoo's Party and ShallowParty: one group."""

from __future__ import annotations

from typing import Any

import pytest
from owner_kazoo import Refused
from stage import PATIENCE, Stage, gets, until

MEMBER, PARTY, SHALLOW = "group:member", "group:party", "group:shallow_party"
PAIRS = [("our-curator", "curator", MEMBER), ("our-kazoo", "kazoo", PARTY), ("our-kazoo", "kazoo", SHALLOW)]
both_ways = pytest.mark.parametrize(("first", "second", "kind"), [*PAIRS, *((b, a, kind) for a, b, kind in PAIRS)])
pairs = pytest.mark.parametrize(("ours", "theirs", "kind"), PAIRS)


def data(kind: str, text: str) -> list[str]:
    """Parties keep names alone."""
    return [text] if kind == MEMBER else []


def word(kind: str, name: str, text: str) -> str:
    return f"{name}={''.join(data(kind, text))}"


def sees(owner: Any, kind: str, path: str, *members: str) -> None:
    until(lambda: owner.members(kind, path) == sorted(members), f"{owner.name} sees {members}")


@both_ways
def test_they_are_members_of_one_group(stage: Stage, first: str, second: str, kind: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    one.join(kind, stage.path, "web-1", *data(kind, "idle"))
    other.join(kind, stage.path, "web-2", *data(kind, "busy"))
    both = [word(kind, "web-1", "idle"), word(kind, "web-2", "busy")]
    sees(one, kind, stage.path, *both)
    sees(other, kind, stage.path, *both)
    if kind == MEMBER:
        one.update(kind, stage.path, "gone-fishing")
        sees(other, kind, stage.path, "web-1=gone-fishing", both[1])
    gets(one.leave(kind, stage.path))
    sees(other, kind, stage.path, both[1])
    gets(other.leave(kind, stage.path))
    stage.until_children(0)


@both_ways
def test_one_that_goes_away_is_no_member(stage: Stage, first: str, second: str, kind: str) -> None:
    goes, stays = stage.owner(first), stage.owner(second)
    goes.join(kind, stage.path, "web-1", *data(kind, "idle"))
    stays.join(kind, stage.path, "web-2", *data(kind, "busy"))
    both = [word(kind, "web-1", "idle"), word(kind, "web-2", "busy")]
    sees(stays, kind, stage.path, *both)
    goes.close()
    sees(stays, kind, stage.path, both[1])


@pairs
def test_one_of_ours_that_follows_is_told_of_theirs(stage: Stage, ours: str, theirs: str, kind: str) -> None:
    we, they = stage.owner(ours), stage.owner(theirs)
    we.join(kind, stage.path, "web-1", *data(kind, "idle"))
    assert we.follow(kind, stage.path) == [word(kind, "web-1", "idle")]
    they.join(kind, stage.path, "web-2", *data(kind, "busy"))
    assert we.told("joined", stage.path, word(kind, "web-2", "busy")).wait(PATIENCE)
    if kind == MEMBER:
        they.update(kind, stage.path, "idle")
        assert we.told("changed", stage.path, "web-2=idle").wait(PATIENCE)
    gets(they.leave(kind, stage.path))
    assert we.told("left", stage.path, "web-2").wait(PATIENCE)


def test_a_name_of_curators_is_taken_for_ours(stage: Stage) -> None:
    we, they = stage.owner("our-curator"), stage.owner("curator")
    they.join(MEMBER, stage.path, "web-1", "theirs")
    stage.until_children(1)
    with pytest.raises(Refused, match="EXISTS"):
        we.join(MEMBER, stage.path, "web-1", "ours")
    assert we.members(MEMBER, stage.path) == ["web-1=theirs"]
