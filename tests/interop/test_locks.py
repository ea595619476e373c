"""Our Lock and everybody else's on one path, in the naming made for them, and the other way round."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from stage import PATIENCE, QUIET, Stage, gets, refuses, until, waits

# Who honours each other both ways.
PAIRS = [
    ("our-curator", "curator"),
    ("our-curator", "kazoo-honouring-curator"),
    ("our-curator", "kazoo-named-as-curator"),
    ("our-curator", "zookeeper-java"),
    ("our-curator", "zookeeper-c"),
    ("our-kazoo", "kazoo"),
    ("our-zookeeper", "zookeeper-java"),
    ("our-zookeeper", "zookeeper-c"),
]
EITHER_WAY = [*PAIRS, *((b, a) for a, b in PAIRS)]
both_ways = pytest.mark.parametrize(("first", "second"), EITHER_WAY)
# ZooKeeper's C lock has no way to give up.
impatient = pytest.mark.parametrize(("first", "second"), [both for both in EITHER_WAY if both[1] != "zookeeper-c"])
pairs = pytest.mark.parametrize(("ours", "theirs"), PAIRS)


# kazoo's Lock under Curator's name joins Curator's and those of kazoo's that honour it; both stay with kazoo's names.
JOINED = [
    ("kazoo-named-as-curator", "curator"),
    ("kazoo-named-as-curator", "kazoo-honouring-curator"),
    ("kazoo-named-as-curator", "our-kazoo"),
    ("kazoo-honouring-curator", "our-kazoo"),
]


@pytest.mark.parametrize(("first", "second"), [*EITHER_WAY, *JOINED, *((b, a) for a, b in JOINED)])
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


@impatient
def test_one_that_gives_up_waiting_holds_nobody_up(stage: Stage, first: str, second: str) -> None:
    holder, impatient, patient = stage.owner(first), stage.owner(second), stage.owner(first)
    gets(holder.acquire("lock", stage.path))
    short = stage.queue(impatient, "lock", limit=0.3)
    pending = stage.queue(patient, "lock")
    refuses(short, "TIMEOUT")
    stage.until_children(2)
    waits(pending)
    holder.release("lock", stage.path)
    gets(pending)


@impatient
def test_a_try_takes_what_is_free_and_leaves_nothing_if_it_is_not(stage: Stage, first: str, second: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    gets(one.acquire("lock", stage.path))
    refuses(other.acquire("lock", stage.path, limit=0), "TIMEOUT")
    stage.until_children(1)
    one.release("lock", stage.path)
    gets(other.acquire("lock", stage.path, limit=0))


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
@pytest.mark.parametrize("theirs", ["curator", "kazoo", "kazoo-named-as-curator", "zookeeper-java", "zookeeper-c"])
def test_ours_waits_for_every_contender_it_can_recognise(stage: Stage, naming: str, theirs: str) -> None:
    holder, waiter = stage.owner(theirs), stage.owner(naming)
    gets(holder.acquire("lock", stage.path))
    pending = stage.queue(waiter, "lock")
    waits(pending)
    holder.release("lock", stage.path)
    gets(pending)


@pairs
def test_ours_tells_who_holds_and_who_waits(stage: Stage, ours: str, theirs: str) -> None:
    owners, nodes = [stage.owner(flavour) for flavour in (theirs, ours, theirs)], []
    for owner in owners:
        stage.queue(owner, "lock")
        nodes += set(stage.children()) - set(nodes)
    seen = stage.owner(ours).contenders("lock", stage.path)
    assert [(contender.node, contender.kind) for contender in seen] == [(node, "lock") for node in nodes]
    assert [contender.state for contender in seen] == ["holds", "waits", "waits"]
    # Curator says where it runs, and ZooKeeper's recipes say nothing of use.
    known = ["kazoo" in theirs, True, "kazoo" in theirs]
    for contender, owner in itertools.compress(zip(seen, owners, strict=True), known):
        assert contender.identity == owner.name


# ---- asking for it

CURATORS = pytest.mark.parametrize(("first", "second"), [("our-curator", "curator"), ("curator", "our-curator")])


@CURATORS
def test_either_can_ask_the_other_to_let_go(stage: Stage, first: str, second: str) -> None:
    holder, asker = stage.owner(first), stage.owner(second)
    gets(holder.acquire("lock", stage.path))
    (node,) = stage.children()
    asker.revoke("lock", stage.path, node)
    assert holder.asked(stage.path).wait(PATIENCE)
    pending = stage.queue(asker, "lock")
    holder.release("lock", stage.path)
    gets(pending)


@CURATORS
def test_one_that_is_asked_while_it_waits_hears_of_it(stage: Stage, first: str, second: str) -> None:
    holder, waiter, asker = stage.owner(second), stage.owner(first), stage.owner(second)
    gets(holder.acquire("lock", stage.path))
    (held,) = stage.children()
    pending = stage.queue(waiter, "lock")
    (node,) = set(stage.children()) - {held}

    def hears() -> bool:
        asker.revoke("lock", stage.path, node)
        # Ours may hear of it as late as when it holds.
        return first != "curator" or waiter.asked(stage.path).wait(QUIET)

    # Curator watches its node only after it has made it, and misses what was asked in between: it is asked again.
    until(hears, "Curator hears that it is asked")
    holder.release("lock", stage.path)
    gets(pending)
    assert waiter.asked(stage.path).wait(PATIENCE)
    assert not holder.asked(stage.path).is_set()


@pytest.mark.parametrize(("ours", "theirs"), [pair for pair in PAIRS if pair[1] != "curator"])
def test_theirs_does_not_hear_that_it_is_asked_and_can_be_forced(stage: Stage, ours: str, theirs: str) -> None:
    holder, waiter = stage.owner(theirs), stage.owner(ours)
    gets(holder.acquire("lock", stage.path))
    pending = stage.queue(waiter, "lock")
    assert waiter.revoke("lock", stage.path)
    waits(pending)
    assert waiter.revoke("lock", stage.path, patience=0.1)
    gets(pending)
    stage.until_children(1)


# ---- the limits

# Who goes past whom, as docs/interop.md says; it shows as well that the tests above can fail. ZooKeeper's C lock
# crashes on kazoo's names, and is left out.
IGNORED = [
    ("curator", "our-kazoo"), ("curator", "our-zookeeper"), ("curator", "kazoo"),
    ("kazoo", "our-curator"), ("kazoo", "our-zookeeper"), ("kazoo", "curator"), ("kazoo", "kazoo-named-as-curator"),
    ("kazoo-honouring-curator", "our-zookeeper"), ("kazoo-named-as-curator", "our-zookeeper"),
    ("zookeeper-java", "our-kazoo"),
]  # fmt: skip


@pytest.mark.parametrize(("intruder", "holder"), IGNORED)
def test_others_do_not_wait_for_names_they_do_not_know(stage: Stage, intruder: str, holder: str) -> None:
    gets(stage.owner(holder).acquire("lock", stage.path))
    gets(stage.owner(intruder).acquire("lock", stage.path))
