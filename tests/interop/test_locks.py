"""Our Lock and everybody else's on one path, in the naming that INTEROP promises for them, and the other way round."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from stage import PATIENCE, Refused, Stage, gets, waits

# Who honours each other both ways.
PAIRS = [
    ("our-curator", "curator"),
    ("our-curator", "kazoo-honouring-curator"),
    ("our-curator", "zookeeper-java"),
    ("our-curator", "zookeeper-c"),
    ("our-kazoo", "kazoo"),
    ("our-zookeeper", "zookeeper-java"),
    ("our-zookeeper", "zookeeper-c"),
]
both_ways = pytest.mark.parametrize(("first", "second"), [*PAIRS, *((b, a) for a, b in PAIRS)])
pairs = pytest.mark.parametrize(("ours", "theirs"), PAIRS)


@both_ways
def test_one_waits_while_the_other_holds(stage: Stage, first: str, second: str) -> None:
    holder, waiter = stage.owner(first), stage.owner(second)
    gets(holder.acquire("lock", stage.path))
    pending = stage.queue(waiter, "lock")
    waits(pending)
    holder.release("lock", stage.path)
    gets(pending)
    assert len(stage.until_children(1)) == 1
    waiter.release("lock", stage.path)
    stage.until_children(0)


@pairs
def test_all_are_served_in_the_order_of_their_arrival(stage: Stage, ours: str, theirs: str) -> None:
    queued = []
    for flavour in (ours, theirs, ours, theirs, theirs, ours):
        owner = stage.owner(flavour)
        queued.append((owner, stage.queue(owner, "lock")))
    for served, (owner, pending) in enumerate(queued):
        gets(pending)
        assert not any(later.done() for _, later in queued[served + 1 :])
        owner.release("lock", stage.path)
    stage.until_children(0)


@both_ways
def test_the_other_gets_in_when_the_holder_goes_away(stage: Stage, first: str, second: str) -> None:
    holder, waiter = stage.owner(first), stage.owner(second)
    gets(holder.acquire("lock", stage.path))
    pending = stage.queue(waiter, "lock")
    holder.close()
    gets(pending)


@pytest.mark.parametrize(
    ("first", "second"), [both for both in [*PAIRS, *((b, a) for a, b in PAIRS)] if both[1] != "zookeeper-c"]
)
def test_one_that_gives_up_waiting_holds_nobody_up(stage: Stage, first: str, second: str) -> None:
    holder, impatient, patient = stage.owner(first), stage.owner(second), stage.owner(first)
    gets(holder.acquire("lock", stage.path))
    short = stage.queue(impatient, "lock", limit=0.3)
    pending = stage.queue(patient, "lock")
    with pytest.raises(Refused, match="TIMEOUT"):
        gets(short)
    stage.until_children(2)
    waits(pending)
    holder.release("lock", stage.path)
    gets(pending)


@pairs
def test_never_two_at_once(stage: Stage, ours: str, theirs: str) -> None:
    inside, most, tokens, rounds, contenders = 0, 0, [], 15, 4

    def contend(flavour: str) -> None:
        nonlocal inside, most
        owner = stage.owner(flavour)
        for _ in range(rounds):
            answer = gets(owner.acquire("lock", stage.path))
            inside += 1
            most = max(most, inside)
            if flavour == ours:
                tokens.append(int(answer[1]))
            inside -= 1
            owner.release("lock", stage.path)

    with ThreadPoolExecutor(contenders) as pool:
        list(pool.map(contend, itertools.islice(itertools.cycle((ours, theirs)), contenders)))
    assert most == 1
    assert tokens == sorted(set(tokens))
    stage.until_children(0)


@pytest.mark.parametrize("naming", ["our-curator", "our-kazoo", "our-zookeeper"])
@pytest.mark.parametrize("theirs", ["curator", "kazoo", "zookeeper-java", "zookeeper-c"])
def test_ours_waits_for_every_contender_it_can_recognise(stage: Stage, naming: str, theirs: str) -> None:
    holder, waiter = stage.owner(theirs), stage.owner(naming)
    gets(holder.acquire("lock", stage.path))
    pending = stage.queue(waiter, "lock")
    waits(pending)
    holder.release("lock", stage.path)
    gets(pending)


@pytest.mark.parametrize(("first", "second"), [("our-curator", "curator"), ("curator", "our-curator")])
def test_either_can_ask_the_other_to_let_go(stage: Stage, first: str, second: str) -> None:
    holder, asker = stage.owner(first), stage.owner(second)
    gets(holder.acquire("lock", stage.path))
    (node,) = stage.children()
    asker.revoke(stage.path, node)
    assert holder.asked(stage.path).wait(PATIENCE)
    pending = stage.queue(asker, "lock")
    holder.release("lock", stage.path)
    gets(pending)


# The limits of what is promised, as README.md has them; they show as well that the tests above can fail. ZooKeeper's
# C lock crashes on kazoo's names, and is left out.
IGNORED = [
    ("curator", "our-kazoo"), ("curator", "our-zookeeper"), ("kazoo", "our-curator"), ("kazoo", "our-zookeeper"),
    ("zookeeper-java", "our-kazoo"),
]  # fmt: skip


@pytest.mark.parametrize(("intruder", "naming"), IGNORED)
def test_others_do_not_wait_for_names_they_do_not_know(stage: Stage, intruder: str, naming: str) -> None:
    gets(stage.owner(naming).acquire("lock", stage.path))
    gets(stage.owner(intruder).acquire("lock", stage.path))
