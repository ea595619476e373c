"""Our Semaphore and Curator's InterProcessSemaphoreV2 on one path: together never more than there are."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from stage import Refused, Stage, gets, waits

KIND = "semaphore:2"
both_ways = pytest.mark.parametrize(("first", "second"), [("our-curator", "curator"), ("curator", "our-curator")])


@both_ways
def test_a_permit_of_one_is_missing_for_the_other(stage: Stage, first: str, second: str) -> None:
    one, other, waiter = stage.owner(first), stage.owner(second), stage.owner(second)
    gets(one.acquire(KIND, stage.path))
    gets(other.acquire(KIND, stage.path))
    # The one whose turn it is to take a permit holds the lock that guards them.
    pending = stage.queue(waiter, KIND, below="/locks")
    waits(pending)
    one.release(KIND, stage.path)
    gets(pending)
    assert len(stage.until_children(2, "/leases")) == 2
    other.release(KIND, stage.path)
    waiter.release(KIND, stage.path)
    stage.until_children(0, "/leases")
    stage.until_children(0, "/locks")


@both_ways
def test_permits_are_taken_in_the_order_of_arrival(stage: Stage, first: str, second: str) -> None:
    holders = [stage.owner(first), stage.owner(second)]
    for holder in holders:
        gets(holder.acquire(KIND, stage.path))
    queued = []
    for flavour in (second, first, second, first):
        owner = stage.owner(flavour)
        queued.append((owner, stage.queue(owner, KIND, below="/locks")))
    for served, (owner, pending) in enumerate(queued):
        holders.pop(0).release(KIND, stage.path)
        gets(pending)
        holders.append(owner)
        assert not any(later.done() for _, later in queued[served + 1 :])


@both_ways
def test_one_that_gives_up_waiting_takes_no_permit_with_it(stage: Stage, first: str, second: str) -> None:
    holders = [stage.owner(first), stage.owner(second)]
    for holder in holders:
        gets(holder.acquire(KIND, stage.path))
    impatient = stage.owner(second)
    with pytest.raises(Refused, match="TIMEOUT"):
        gets(impatient.acquire(KIND, stage.path, limit=0.3))
    stage.until_children(2, "/leases")
    stage.until_children(0, "/locks")
    holders[0].release(KIND, stage.path)
    gets(stage.owner(first).acquire(KIND, stage.path))


@both_ways
def test_the_permits_of_one_that_goes_away_are_free(stage: Stage, first: str, second: str) -> None:
    leaver, waiter = stage.owner(first), stage.owner(second)
    gets(leaver.acquire(KIND, stage.path))
    gets(leaver.acquire(KIND, stage.path))
    pending = stage.queue(waiter, KIND, below="/locks")
    waits(pending)
    leaver.close()
    gets(pending)


def test_never_more_than_there_are(stage: Stage) -> None:
    inside, most = 0, 0

    def contend(flavour: str) -> None:
        nonlocal inside, most
        owner = stage.owner(flavour)
        for _ in range(8):
            gets(owner.acquire(KIND, stage.path))
            inside += 1
            most = max(most, inside)
            inside -= 1
            owner.release(KIND, stage.path)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(contend, itertools.islice(itertools.cycle(("our-curator", "curator")), 6)))
    assert most <= 2
    stage.until_children(0, "/leases")
    stage.until_children(0, "/locks")
