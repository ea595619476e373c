"""Our Barrier and DoubleBarrier with Curator's and kazoo's: who waits, waits for everybody."""

from __future__ import annotations

import pytest
from stage import Stage, gets, refuses, waits

PAIRS = [("our-curator", "curator"), ("our-kazoo", "kazoo")]
both_ways = pytest.mark.parametrize(("first", "second"), [*PAIRS, *((b, a) for a, b in PAIRS)])
pairs = pytest.mark.parametrize(("ours", "theirs"), PAIRS)
PAIR, CROWD = "double:2", "double:4"


@both_ways
def test_one_waits_at_the_barrier_of_the_other(stage: Stage, first: str, second: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    one.create(stage.path)
    waiting = other.wait(stage.path)
    waits(waiting)
    one.remove(stage.path)
    gets(waiting)
    gets(other.wait(stage.path))


@both_ways
def test_one_lifts_what_the_other_has_put_up(stage: Stage, first: str, second: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    one.create(stage.path)
    refuses(one.wait(stage.path, 0.1), "TIMEOUT")
    refuses(other.wait(stage.path, 0.1), "TIMEOUT")
    waiting = one.wait(stage.path)
    other.remove(stage.path)
    gets(waiting)


@both_ways
def test_they_enter_and_leave_together(stage: Stage, first: str, second: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    entering = one.enter(PAIR, stage.path)
    waits(entering)
    gets(other.enter(PAIR, stage.path))
    gets(entering)
    leaving = one.leave(PAIR, stage.path)
    waits(leaving)
    gets(other.leave(PAIR, stage.path))
    gets(leaving)


@both_ways
def test_they_go_through_several_rounds(stage: Stage, first: str, second: str) -> None:
    owners = [stage.owner(flavour) for flavour in (first, second, second, first)]
    for _ in range(3):
        for entering in [owner.enter(CROWD, stage.path) for owner in owners]:
            gets(entering)
        for leaving in [owner.leave(CROWD, stage.path) for owner in owners]:
            gets(leaving)


@both_ways
def test_one_that_goes_away_frees_the_other(stage: Stage, first: str, second: str) -> None:
    goes, stays = stage.owner(first), stage.owner(second)
    entering = [owner.enter(PAIR, stage.path) for owner in (goes, stays)]
    for one in entering:
        gets(one)
    leaving = stays.leave(PAIR, stage.path)
    waits(leaving)
    goes.close()
    gets(leaving)


@pairs
def test_one_of_ours_that_gave_up_counts_for_nobody(stage: Stage, ours: str, theirs: str) -> None:
    we, they = stage.owner(ours), stage.owner(theirs)
    refuses(we.enter(PAIR, stage.path, 0.1), "TIMEOUT")
    entering = they.enter(PAIR, stage.path)
    waits(entering)
    gets(we.enter(PAIR, stage.path))
    gets(entering)
