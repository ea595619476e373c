"""Our Semaphore with Curator's InterProcessSemaphoreV2 and kazoo's Semaphore: together never more than there are."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from stage import PATIENCE, Stage, gets, refuses, waits

KIND = "semaphore:2"
# The recipes that ship with ZooKeeper have no semaphore; with their names ours is Curator's.
PAIRS = [("our-curator", "curator"), ("our-zookeeper", "curator"), ("our-kazoo", "kazoo")]
# Where permits stand, and where one queues for them, behind the semaphore's path.
CURATORS, KAZOOS = ("our-curator", "our-zookeeper", "curator"), ("our-kazoo", "kazoo")
PERMITS = dict.fromkeys(CURATORS, "/leases") | dict.fromkeys(KAZOOS, "")
QUEUE = dict.fromkeys(CURATORS, "/locks") | dict.fromkeys(KAZOOS, "-__lock__")
both_ways = pytest.mark.parametrize(("first", "second"), [*PAIRS, *((b, a) for a, b in PAIRS)])
pairs = pytest.mark.parametrize(("ours", "theirs"), PAIRS)


@both_ways
def test_a_permit_of_one_is_missing_for_the_other(stage: Stage, first: str, second: str) -> None:
    one, other, waiter = stage.owner(first), stage.owner(second), stage.owner(second)
    gets(one.acquire(KIND, stage.path))
    gets(other.acquire(KIND, stage.path))
    # The one whose turn it is to take a permit holds the lock that guards them.
    pending = stage.queue(waiter, KIND, below=QUEUE[first])
    waits(pending)
    one.release(KIND, stage.path)
    gets(pending)
    assert len(stage.until_children(2, PERMITS[first])) == 2
    other.release(KIND, stage.path)
    waiter.release(KIND, stage.path)
    stage.until_children(0, PERMITS[first])
    stage.until_children(0, QUEUE[first])


@both_ways
def test_permits_are_taken_in_the_order_of_arrival(stage: Stage, first: str, second: str) -> None:
    holders = [stage.owner(first), stage.owner(second)]
    for holder in holders:
        gets(holder.acquire(KIND, stage.path))
    queued = []
    for flavour in (second, first, second, first):
        owner = stage.owner(flavour)
        queued.append((owner, stage.queue(owner, KIND, below=QUEUE[first])))
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
    refuses(stage.owner(second).acquire(KIND, stage.path, limit=0.3), "TIMEOUT")
    stage.until_children(2, PERMITS[first])
    stage.until_children(0, QUEUE[first])
    holders[0].release(KIND, stage.path)
    gets(stage.owner(first).acquire(KIND, stage.path))


@both_ways
def test_the_permits_of_one_that_goes_away_are_free(stage: Stage, first: str, second: str) -> None:
    leaver, waiter = stage.owner(first), stage.owner(second)
    gets(leaver.acquire(KIND, stage.path))
    gets(leaver.acquire(KIND, stage.path))
    pending = stage.queue(waiter, KIND, below=QUEUE[first])
    waits(pending)
    leaver.close()
    gets(pending)


@both_ways
def test_the_turn_of_one_that_goes_away_while_it_waits_is_the_next_ones(stage: Stage, first: str, second: str) -> None:
    holders = [stage.owner(first), stage.owner(second)]
    for holder in holders:
        gets(holder.acquire(KIND, stage.path))
    leaver, patient = stage.owner(first), stage.owner(second)
    stage.queue(leaver, KIND, below=QUEUE[first])
    pending = stage.queue(patient, KIND, below=QUEUE[first])
    leaver.close()
    waits(pending)
    holders[0].release(KIND, stage.path)
    gets(pending)


@both_ways
def test_a_try_takes_what_is_free_and_leaves_nothing_if_nothing_is(stage: Stage, first: str, second: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    gets(one.acquire(KIND, stage.path))
    gets(other.acquire(KIND, stage.path, limit=0))
    refuses(other.acquire(KIND, stage.path, limit=0), "TIMEOUT")
    stage.until_children(2, PERMITS[first])
    stage.until_children(0, QUEUE[first])


@pairs
def test_several_permits_at_once_wait_for_room_for_all(stage: Stage, ours: str, theirs: str) -> None:
    kind = "semaphore:3"
    one, other, greedy = stage.owner(theirs), stage.owner(theirs), stage.owner(ours)
    gets(one.acquire(kind, stage.path))
    gets(other.acquire(kind, stage.path))
    pending = greedy.acquire(kind, stage.path, permits=2)
    waits(pending)
    # The one permit that is free was not taken meanwhile.
    stage.until_children(2, PERMITS[ours])
    one.release(kind, stage.path)
    gets(pending)
    waiting = one.acquire(kind, stage.path)
    waits(waiting)
    greedy.release(kind, stage.path)
    gets(waiting)
    stage.until_children(2, PERMITS[ours])


def test_curator_waits_for_ours_with_several_permits(stage: Stage) -> None:
    ours, curator = stage.owner("our-curator"), stage.owner("curator")
    gets(ours.acquire(KIND, stage.path))
    pending = curator.acquire(KIND, stage.path, permits=2)
    # It has the one that was free, and the lease that it has no room for is no permit.
    stage.until_children(3, "/leases")
    seen = ours.contenders(KIND, stage.path)
    assert [contender.state for contender in seen] == ["holds", "holds", "waits"]
    waits(pending)
    ours.release(KIND, stage.path)
    gets(pending)
    curator.release(KIND, stage.path)
    stage.until_children(0, "/leases")


def test_ours_tells_who_of_curators_waits_where_it_never_was_itself(stage: Stage) -> None:
    holder, waiter = stage.owner("curator"), stage.owner("curator")
    gets(holder.acquire("semaphore:1", stage.path))
    stage.queue(waiter, "semaphore:1", below="/locks")
    stage.until_children(2, "/leases")
    seen = stage.owner("our-curator").contenders("semaphore:1", stage.path)
    assert [(contender.kind, contender.state) for contender in seen] == [("lease", "holds"), ("lock", "waits")]


@pairs
def test_ours_tells_who_holds_and_who_waits(stage: Stage, ours: str, theirs: str) -> None:
    us, them, waiter = stage.owner(ours), stage.owner(theirs), stage.owner(theirs)
    gets(us.acquire(KIND, stage.path))
    gets(them.acquire(KIND, stage.path))
    stage.queue(waiter, KIND, below=QUEUE[ours])
    if theirs == "curator":
        # It adds its lease before it knows whether there is room.
        stage.until_children(3, PERMITS[ours])
    behind = stage.owner(ours)
    stage.queue(behind, KIND, below=QUEUE[ours])
    seen = us.contenders(KIND, stage.path)
    assert [(contender.kind, contender.state) for contender in seen] == [
        ("lease", "holds"), ("lease", "holds"), ("lock", "waits"), ("lock", "waits"),
    ]  # fmt: skip
    assert (seen[0].identity, seen[3].identity) == (us.name, behind.name)
    if theirs == "kazoo":
        # kazoo writes the representation of its bytes where it queues.
        assert (seen[1].identity, seen[2].identity) == (them.name, f"b'{waiter.name}'")


def test_ours_never_tells_of_more_holders_than_permits_while_curator_crowds(stage: Stage) -> None:
    done = threading.Event()

    def contend(_: int) -> None:
        owner = stage.owner("curator")
        while not done.is_set():
            gets(owner.acquire(KIND, stage.path))
            owner.release(KIND, stage.path)

    watcher = stage.owner("our-curator")
    with ThreadPoolExecutor(4) as pool:
        crowd = pool.map(contend, range(4))
        try:
            for _ in range(200):
                seen = watcher.contenders(KIND, stage.path)
                assert [contender.state for contender in seen].count("holds") <= 2, seen
        finally:
            done.set()
        list(crowd)


def test_kazoo_tells_who_of_us_holds(stage: Stage) -> None:
    ours, kazoo = stage.owner("our-kazoo"), stage.owner("kazoo")
    gets(ours.acquire("semaphore:3", stage.path, permits=2))
    gets(kazoo.acquire("semaphore:3", stage.path))
    assert sorted(kazoo.holders(stage.path, 3)) == sorted([ours.name, ours.name, kazoo.name])


# ---- the size


def test_ours_agrees_with_the_size_that_kazoo_has_written(stage: Stage) -> None:
    gets(stage.owner("kazoo").acquire(KIND, stage.path))
    gets(stage.owner("our-kazoo").acquire(KIND, stage.path))
    refuses(stage.owner("our-kazoo").acquire("semaphore:3", stage.path), "MISMATCH")
    stage.until_children(2)
    stage.until_children(0, "-__lock__")


def test_kazoo_agrees_with_the_size_that_ours_has_written(stage: Stage) -> None:
    gets(stage.owner("our-kazoo").acquire(KIND, stage.path))
    gets(stage.owner("kazoo").acquire(KIND, stage.path))
    refuses(stage.owner("kazoo").acquire("semaphore:3", stage.path), "Inconsistent max leases: 2, expected: 3")


def test_first_comers_agree_whoever_makes_the_nodes(stage: Stage) -> None:
    owners = [stage.owner(flavour) for flavour in ("our-kazoo", "kazoo", "our-kazoo", "kazoo")]
    for number in range(20):
        path = f"{stage.path}-{number}"
        for pending in [owner.acquire("semaphore:4", path) for owner in owners]:
            gets(pending)
        assert stage.observer.get(path)[0] == b"4"


@pytest.mark.parametrize("data", [b"", b"for the reports"])
def test_a_path_that_was_there_before_is_used_by_both(stage: Stage, data: bytes) -> None:
    stage.observer.create(stage.path, data)
    ours, kazoo, waiter = stage.owner("our-kazoo"), stage.owner("kazoo"), stage.owner("kazoo")
    gets(kazoo.acquire(KIND, stage.path))
    gets(ours.acquire(KIND, stage.path))
    pending = stage.queue(waiter, KIND, below="-__lock__")
    waits(pending)
    ours.release(KIND, stage.path)
    gets(pending)
    # Nothing is said by an empty node, and what is no number is somebody else's.
    assert stage.observer.get(stage.path)[0] == (data or b"2")


def test_those_who_come_after_a_resize_agree_with_it(stage: Stage) -> None:
    ours = stage.owner("our-kazoo")
    gets(ours.acquire("semaphore:1", stage.path))
    ours.resize("semaphore:1", stage.path, 2)
    refuses(stage.owner("kazoo").acquire("semaphore:1", stage.path), "Inconsistent max leases: 2, expected: 1")
    kazoo, waiter = stage.owner("kazoo"), stage.owner("kazoo")
    gets(kazoo.acquire(KIND, stage.path))
    pending = stage.queue(waiter, KIND, below="-__lock__")
    waits(pending)
    ours.release("semaphore:1", stage.path)
    gets(pending)


def test_ours_hears_of_a_resize_while_it_waits_and_kazoo_does_not(stage: Stage) -> None:
    kazoo, ours = stage.owner("kazoo"), stage.owner("our-kazoo")
    gets(kazoo.acquire("semaphore:1", stage.path))
    pending = stage.queue(ours, "semaphore:1", below="-__lock__")
    waits(pending)
    stage.owner("our-kazoo").resize("semaphore:1", stage.path, 2)
    refuses(pending, "MISMATCH")
    # It has room: the node by which it queued has gone again before anybody looks.
    gets(stage.owner("kazoo").acquire(KIND, stage.path))
    # kazoo reads the size at the first acquire of an object, and never again.
    stubborn = stage.queue(stage.owner("kazoo"), KIND, below="-__lock__")
    waits(stubborn)
    stage.owner("our-kazoo").resize(KIND, stage.path, 3)
    waits(stubborn)
    kazoo.release("semaphore:1", stage.path)
    gets(stubborn)


def test_curator_does_not_look_at_the_size_that_ours_has_written(stage: Stage) -> None:
    gets(stage.owner("our-curator").acquire("semaphore:1", stage.path))
    gets(stage.owner("curator").acquire(KIND, stage.path))
    waits(stage.owner("our-curator").acquire("semaphore:1", stage.path))


# ---- asking for permits


def test_curator_can_ask_ours_for_permits(stage: Stage) -> None:
    ours, curator = stage.owner("our-curator"), stage.owner("curator")
    gets(ours.acquire(KIND, stage.path, permits=2))
    pending = stage.queue(curator, KIND, below="/locks")
    node = ours.contenders(KIND, stage.path)[0].node
    curator.revoke(KIND, stage.path, node)
    assert ours.asked(stage.path).wait(PATIENCE)
    ours.release(KIND, stage.path)
    gets(pending)


def test_ours_that_is_asked_while_it_waits_hears_of_it(stage: Stage) -> None:
    holder, waiter, asker = stage.owner("curator"), stage.owner("our-curator"), stage.owner("curator")
    gets(holder.acquire("semaphore:1", stage.path))
    pending = stage.queue(waiter, "semaphore:1", below="/locks")
    (node,) = stage.children("/locks")
    asker.revoke("semaphore:1", stage.path, f"locks/{node}")
    holder.release("semaphore:1", stage.path)
    gets(pending)
    assert waiter.asked(stage.path).wait(PATIENCE)


@pairs
def test_theirs_does_not_hear_that_it_is_asked_and_can_be_forced(stage: Stage, ours: str, theirs: str) -> None:
    us, them = stage.owner(ours), stage.owner(theirs)
    gets(them.acquire(KIND, stage.path))
    gets(them.acquire(KIND, stage.path))
    pending = us.acquire(KIND, stage.path)
    assert us.revoke(KIND, stage.path)
    waits(pending)
    asker = stage.owner(ours)
    holder = next(contender for contender in asker.contenders(KIND, stage.path) if contender.state == "holds")
    assert asker.revoke(KIND, stage.path, holder.node, patience=0.1)
    gets(pending)
    stage.until_children(2, PERMITS[ours])


# ---- everybody at once


@pytest.mark.parametrize("size", [1, 3])
@pairs
def test_never_more_than_there_are(stage: Stage, ours: str, theirs: str, size: int) -> None:
    kind, guard = f"semaphore:{size}", threading.Lock()
    inside = most = visits = 0

    def contend(turn: int) -> None:
        nonlocal inside, most, visits
        flavour = (ours, theirs)[turn % 2]
        owner = stage.owner(flavour)
        # One of ours wants two at once, if that many can be had.
        permits = min(2, size) if turn == 0 else 1
        rest = {"permits": permits} if flavour == ours else {}
        for _ in range(8):
            gets(owner.acquire(kind, stage.path, **rest))
            with guard:
                inside += permits
                visits += 1
                most = max(most, inside)
            with guard:
                inside -= permits
            owner.release(kind, stage.path)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(contend, range(6)))
    assert (visits, most <= size) == (48, True)
    stage.until_children(0, PERMITS[ours])
    stage.until_children(0, QUEUE[ours])


def test_nothing_is_left_of_kazoos_layout_but_the_two_parents(stage: Stage) -> None:
    ours, kazoo = stage.owner("our-kazoo"), stage.owner("kazoo")
    for one, other in ((ours, kazoo), (kazoo, ours)):
        gets(one.acquire(KIND, stage.path))
        gets(other.acquire(KIND, stage.path))
        for impatient in (ours, kazoo):
            refuses(impatient.acquire(KIND, stage.path, limit=0.1), "TIMEOUT")
        one.release(KIND, stage.path)
        other.release(KIND, stage.path)
    name = stage.path.strip("/")
    there = [child for child in stage.observer.get_children("/") if child == name or child.startswith(f"{name}-")]
    assert sorted(there) == [name, f"{name}-__lock__"]
    stage.until_children(0)
    stage.until_children(0, "-__lock__")
    assert stage.observer.get(stage.path)[0] == b"2"
