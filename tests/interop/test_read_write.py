"""Our ReadWriteLock and theirs on one path: readers share across, writers exclude, and a downgrade keeps its place."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from stage import PATIENCE, Stage, gets, refuses, waits

PAIRS = [
    ("our-curator", "curator"),
    ("our-curator", "kazoo-honouring-curator"),
    ("our-kazoo", "kazoo"),
    # The recipes that ship with ZooKeeper have no read/write lock; with their names ours is Curator's.
    ("our-zookeeper", "curator"),
]
EITHER_WAY = [*PAIRS, *((b, a) for a, b in PAIRS)]
both_ways = pytest.mark.parametrize(("first", "second"), EITHER_WAY)
pairs = pytest.mark.parametrize(("ours", "theirs"), PAIRS)
# kazoo has no downgrade of its own.
downgraders = pytest.mark.parametrize(
    ("first", "second"), [pair for pair in EITHER_WAY if not pair[0].startswith("kazoo")]
)


@both_ways
def test_readers_share(stage: Stage, first: str, second: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    gets(one.acquire("read", stage.path))
    gets(other.acquire("read", stage.path))
    one.release("read", stage.path)
    other.release("read", stage.path)
    stage.until_children(0)


@both_ways
@pytest.mark.parametrize(("held", "wanted"), [("write", "write"), ("write", "read"), ("read", "write")])
def test_a_writer_is_alone(stage: Stage, first: str, second: str, held: str, wanted: str) -> None:
    holder, waiter = stage.owner(first), stage.owner(second)
    gets(holder.acquire(held, stage.path))
    pending = stage.queue(waiter, wanted)
    waits(pending)
    holder.release(held, stage.path)
    gets(pending)
    waiter.release(wanted, stage.path)
    stage.until_children(0)


@pytest.mark.parametrize("naming", ["our-curator", "our-kazoo", "our-zookeeper"])
@pytest.mark.parametrize("theirs", ["curator", "kazoo"])
@pytest.mark.parametrize(
    ("held", "wanted"),
    [("write", "write"), ("write", "read"), ("read", "write"), ("read", "lock"), ("lock", "read"), ("lock", "write")],
)
def test_ours_waits_for_every_contender_it_can_recognise(
    stage: Stage, naming: str, theirs: str, held: str, wanted: str
) -> None:
    holder, waiter = stage.owner(theirs), stage.owner(naming)
    gets(holder.acquire(held, stage.path))
    pending = stage.queue(waiter, wanted)
    waits(pending)
    holder.release(held, stage.path)
    gets(pending)


@both_ways
def test_a_reader_does_not_overtake_a_waiting_writer(stage: Stage, first: str, second: str) -> None:
    reader, writer, late = stage.owner(first), stage.owner(second), stage.owner(first)
    gets(reader.acquire("read", stage.path))
    writing = stage.queue(writer, "write")
    reading = stage.queue(late, "read")
    waits(writing)
    waits(reading)
    reader.release("read", stage.path)
    gets(writing)
    waits(reading)
    writer.release("write", stage.path)
    gets(reading)


@both_ways
def test_a_writer_waits_for_every_reader_on_either_side(stage: Stage, first: str, second: str) -> None:
    one, other, writer = stage.owner(first), stage.owner(second), stage.owner(second)
    gets(one.acquire("read", stage.path))
    gets(other.acquire("read", stage.path))
    pending = stage.queue(writer, "write")
    other.release("read", stage.path)
    waits(pending)
    one.release("read", stage.path)
    gets(pending)


@downgraders
def test_a_downgrade_keeps_writers_out(stage: Stage, first: str, second: str) -> None:
    holder, writer = stage.owner(first), stage.owner(second)
    gets(holder.acquire("write", stage.path))
    pending = stage.queue(writer, "write")
    holder.downgrade(stage.path)
    waits(pending)
    holder.release("read", stage.path)
    gets(pending)


@downgraders
def test_a_downgrade_lets_readers_in(stage: Stage, first: str, second: str) -> None:
    holder, reader, writer = stage.owner(first), stage.owner(second), stage.owner(second)
    gets(holder.acquire("write", stage.path))
    reading = stage.queue(reader, "read")
    writing = stage.queue(writer, "write")
    waits(reading)
    holder.downgrade(stage.path)
    gets(reading)
    holder.release("read", stage.path)
    waits(writing)
    reader.release("read", stage.path)
    gets(writing)


@downgraders
def test_a_writer_that_comes_after_a_downgrade_waits(stage: Stage, first: str, second: str) -> None:
    holder, writer, reader = stage.owner(first), stage.owner(second), stage.owner(second)
    gets(holder.acquire("write", stage.path))
    holder.downgrade(stage.path)
    pending = stage.queue(writer, "write")
    behind = stage.queue(reader, "read")
    waits(pending)
    waits(behind)
    holder.release("read", stage.path)
    gets(pending)
    writer.release("write", stage.path)
    gets(behind)


@downgraders
def test_a_downgrade_keeps_the_number_of_the_writer(stage: Stage, first: str, second: str) -> None:
    holder, other = stage.owner(first), stage.owner(second)
    gets(other.acquire("read", stage.path))
    other.release("read", stage.path)
    gets(holder.acquire("write", stage.path))
    (writer,) = stage.children()
    holder.downgrade(stage.path)
    (reader,) = stage.children()
    assert reader[-10:] == writer[-10:] == f"{1:010}"


@both_ways
@pytest.mark.parametrize(("held", "wanted"), [("write", "read"), ("read", "write")])
def test_the_other_gets_in_when_the_holder_goes_away(
    stage: Stage, first: str, second: str, held: str, wanted: str
) -> None:
    holder, waiter = stage.owner(first), stage.owner(second)
    gets(holder.acquire(held, stage.path))
    pending = stage.queue(waiter, wanted)
    waits(pending)
    holder.close()
    gets(pending)


@both_ways
def test_a_writer_that_gives_up_waiting_holds_no_reader_up(stage: Stage, first: str, second: str) -> None:
    reader, writer, behind = stage.owner(first), stage.owner(second), stage.owner(first)
    gets(reader.acquire("read", stage.path))
    short = stage.queue(writer, "write", limit=0.3)
    pending = stage.queue(behind, "read")
    refuses(short, "TIMEOUT")
    gets(pending)
    stage.until_children(2)


@pairs
def test_ours_tells_who_holds_and_who_waits(stage: Stage, ours: str, theirs: str) -> None:
    for flavour, kind in ((ours, "read"), (theirs, "read"), (theirs, "write"), (ours, "read"), (theirs, "read")):
        stage.queue(stage.owner(flavour), kind)
    # kazoo's writers bear the name of its locks.
    writer = "lock" if theirs.startswith("kazoo") else "write"
    seen = stage.owner(ours).contenders("read", stage.path)
    assert [(contender.kind, contender.state) for contender in seen] == [
        ("read", "holds"), ("read", "holds"), (writer, "waits"), ("read", "waits"), ("read", "waits"),
    ]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), [("our-curator", "curator"), ("curator", "our-curator")])
@pytest.mark.parametrize("kind", ["read", "write"])
def test_either_can_ask_the_other_to_let_go(stage: Stage, first: str, second: str, kind: str) -> None:
    holder, asker, waiter = stage.owner(first), stage.owner(second), stage.owner(second)
    gets(holder.acquire(kind, stage.path))
    (node,) = stage.children()
    pending = stage.queue(waiter, "write")
    asker.revoke(kind, stage.path, node)
    assert holder.asked(stage.path).wait(PATIENCE)
    holder.release(kind, stage.path)
    gets(pending)


# Who goes past whom, as docs/interop.md says; it shows as well that the tests above can fail.
@pytest.mark.parametrize(
    ("intruder", "wanted", "holder", "held"),
    [
        ("curator", "read", "our-kazoo", "write"),
        ("kazoo", "read", "our-curator", "write"),
        # A lock and a read/write lock on one path: their own do not wait for each other either. Ours do.
        ("curator", "read", "our-curator", "lock"),
        ("curator", "write", "our-curator", "lock"),
        ("curator", "lock", "curator", "write"),
        ("curator", "write", "curator", "lock"),
        ("curator", "lock", "our-curator", "read"),
        ("curator", "lock", "our-curator", "write"),
        ("kazoo", "lock", "our-kazoo", "read"),
    ],
)
def test_others_do_not_wait_for_names_they_do_not_know(
    stage: Stage, intruder: str, wanted: str, holder: str, held: str
) -> None:
    gets(stage.owner(holder).acquire(held, stage.path))
    gets(stage.owner(intruder).acquire(wanted, stage.path))


@pairs
def test_writers_are_alone_in_a_crowd(stage: Stage, ours: str, theirs: str) -> None:
    inside = {"read": 0, "write": 0}

    def contend(flavour: str) -> None:
        owner = stage.owner(flavour)
        for kind in ("read", "write") * 6:
            gets(owner.acquire(kind, stage.path))
            inside[kind] += 1
            readers, writers = inside["read"], inside["write"]
            assert not writers or (writers, readers) == (1, 0)
            inside[kind] -= 1
            owner.release(kind, stage.path)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(contend, itertools.islice(itertools.cycle((ours, theirs)), 4)))
    stage.until_children(0)
