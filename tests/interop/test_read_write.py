"""Our ReadWriteLock and theirs on one path: readers share across, writers exclude, and a downgrade keeps its place."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from stage import Stage, gets, waits

PAIRS = [("our-curator", "curator"), ("our-kazoo", "kazoo")]
EITHER_WAY = [*PAIRS, *((b, a) for a, b in PAIRS)]
both_ways = pytest.mark.parametrize(("first", "second"), EITHER_WAY)
# kazoo has no downgrade of its own.
downgraders = pytest.mark.parametrize(("first", "second"), [pair for pair in EITHER_WAY if pair[0] != "kazoo"])


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
    ("held", "wanted"), [("write", "write"), ("write", "read"), ("read", "write"), ("read", "lock")]
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
    gets(holder.acquire("read", stage.path))
    holder.release("write", stage.path)
    waits(pending)
    holder.release("read", stage.path)
    gets(pending)


@downgraders
def test_a_downgrade_lets_readers_in(stage: Stage, first: str, second: str) -> None:
    holder, reader, writer = stage.owner(first), stage.owner(second), stage.owner(second)
    gets(holder.acquire("write", stage.path))
    reading = stage.queue(reader, "read")
    writing = stage.queue(writer, "write")
    gets(holder.acquire("read", stage.path))
    waits(reading)
    holder.release("write", stage.path)
    gets(reading)
    holder.release("read", stage.path)
    waits(writing)
    reader.release("read", stage.path)
    gets(writing)


@downgraders
def test_a_writer_that_comes_after_a_downgrade_waits(stage: Stage, first: str, second: str) -> None:
    holder, writer, reader = stage.owner(first), stage.owner(second), stage.owner(second)
    gets(holder.acquire("write", stage.path))
    gets(holder.acquire("read", stage.path))
    holder.release("write", stage.path)
    pending = stage.queue(writer, "write")
    behind = stage.queue(reader, "read")
    waits(pending)
    waits(behind)
    holder.release("read", stage.path)
    gets(pending)
    writer.release("write", stage.path)
    gets(behind)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
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
