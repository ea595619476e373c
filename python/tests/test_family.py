"""Read/write locks, several locks at once, semaphores, revocation and sequencers."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from typing import Any

import pytest
import zkrecipes
from conftest import Connect, eventually


def test_readers_share_and_writers_exclude(connect: Connect) -> None:
    one, two = connect().read_write_lock("/lock"), connect().read_write_lock("/lock")
    assert one.path == one.read.path == one.write.path == "/lock"
    assert one.read is one.read
    assert isinstance(one.write, zkrecipes.Lock)
    with one.read, two.read as reading:
        assert reading.is_held
        assert [contender.kind for contender in one.read.contenders()] == ["read", "read"]
        assert all(contender.holds for contender in one.read.contenders())
        assert connect().read_write_lock("/lock").write.acquire(timeout=0.05) is None
    with one.write as writing:
        assert writing.fencing_token > reading.fencing_token
        assert two.read.acquire(blocking=False) is None
        assert two.write.acquire(blocking=False) is None


def test_what_a_downgrade_leads_to_is_released_when_it_is_garbage(client: zkrecipes.Client) -> None:
    def forget() -> None:
        client.read_write_lock("/lock").write.acquire().downgrade()
        gc.collect()

    with pytest.warns(ResourceWarning, match="read lock"):
        forget()
    eventually(lambda: client.nodes.children("/lock") == [])


def test_a_multi_lock_takes_all_or_none(connect: Connect) -> None:
    client, other = connect(), connect()
    both = client.multi_lock(client.lock(path) for path in ("/b", "/a"))
    assert both.paths == ["/a", "/b"]
    with other.lock("/b"):
        assert both.acquire(timeout=0.05) is None
        assert not both.is_held
        with other.lock("/a").hold(timeout=10):
            pass  # what was taken first was given back
    with both as held:
        assert held.fencing_tokens == both.fencing_tokens
        assert len(held.fencing_tokens) == held.permits == 2
        assert other.lock("/a").acquire(blocking=False) is None
        assert other.lock("/b").acquire(blocking=False) is None
        with pytest.raises(TimeoutError), client.multi_lock([client.lock("/a")]).hold(0.05):
            pass
    with pytest.raises(zkrecipes.NotHeld):
        both.release()
    with pytest.raises(zkrecipes.NotHeld):
        _ = both.fencing_tokens


@pytest.mark.parametrize("locks", [None, 5, "/a", [], [1], ["/a"]], ids=repr)
def test_bad_locks_are_refused_by_name(client: zkrecipes.Client, locks: Any) -> None:
    with pytest.raises(zkrecipes.Invalid, match="locks"):
        client.multi_lock(locks)


def test_locks_that_do_not_go_together_are_refused(connect: Connect) -> None:
    client = connect()
    refused: list[list[zkrecipes.Lock]] = [
        [client.lock("/a"), client.lock("/a")],
        [client.lock("/a"), connect().lock("/b")],
        [client.read_write_lock("/a").read],
    ]
    for locks in refused:
        with pytest.raises(zkrecipes.Invalid, match="locks"):
            client.multi_lock(locks)

    def broken() -> Any:
        yield client.lock("/a")
        raise KeyError("mine")

    with pytest.raises(KeyError):
        client.multi_lock(broken())


def test_a_semaphore_gives_so_many_permits_and_no_more(connect: Connect) -> None:
    one, two = connect(identity="me").semaphore("/limit", 3), connect().semaphore("/limit", 3)
    assert (one.path, one.permits) == ("/limit", 3)
    with one as held, one.hold(2) as more:
        assert (held.permits, more.permits) == (1, 2)
        assert two.acquire(blocking=False) is None
        assert two.acquire(2, timeout=0.05) is None
        holders = two.holders()
        assert [(holder.identity, holder.kind, holder.holds) for holder in holders] == [("me", "lease", True)] * 3
    assert one.holders() == []
    assert not one.is_held
    with two.hold(n=3, timeout=5), pytest.raises(zkrecipes.Timeout), one.hold(timeout=0.05):
        pass


BAD_COUNTS: list[Any] = [0, -1, 1.5, "1", None, True, 2**70, math.inf]


@pytest.mark.parametrize("permits", [*BAD_COUNTS, 2**31], ids=repr)
def test_a_bad_number_of_permits_is_refused_by_name(client: zkrecipes.Client, permits: Any) -> None:
    with pytest.raises(zkrecipes.Invalid, match="permits"):
        client.semaphore("/limit", permits)
    with pytest.raises(zkrecipes.Invalid, match="permits"):
        client.semaphore("/limit", 2).resize(permits)
    assert client.nodes.exists("/limit") is None


@pytest.mark.parametrize("n", [n for n in BAD_COUNTS if n is not None] + [3], ids=repr)
def test_permits_that_can_never_be_had_are_refused(client: zkrecipes.Client, n: Any) -> None:
    semaphore = client.semaphore("/limit", 2)

    def enter() -> None:
        with semaphore.hold(n):
            pass

    verbs: list[Callable[[], object]] = [
        lambda: semaphore.acquire(n),
        lambda: semaphore.acquire(n, timeout=1),
        lambda: semaphore.acquire(n, blocking=False),
        enter,
    ]
    for verb in verbs:
        with pytest.raises(zkrecipes.Invalid, match="n"):
            verb()
    assert not semaphore.is_held


def test_garbage_permits_are_released_with_a_warning(client: zkrecipes.Client) -> None:
    semaphore = client.semaphore("/limit", 1)
    assert semaphore.acquire()
    with pytest.warns(ResourceWarning, match="semaphore /limit"):
        del semaphore
    with client.semaphore("/limit", 1).hold(timeout=10):
        pass


@pytest.mark.parametrize("sequencer", ["", "1", "1:x:/a", "2:5:/a", "1:5:a", 5, b"1:5:/a", None], ids=repr)
def test_a_malformed_sequencer_is_refused_by_name(client: zkrecipes.Client, sequencer: Any) -> None:
    with pytest.raises(zkrecipes.Invalid, match="sequencer"):
        client.check_sequencer(sequencer)
    with pytest.raises(zkrecipes.Invalid, match="sequencer"):
        client.watch_sequencer(sequencer)
    with pytest.raises(zkrecipes.Invalid, match="timeout"):
        client.watch_sequencer("1:5:/a", timeout=-2)
