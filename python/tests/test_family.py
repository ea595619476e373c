"""Read/write locks, several locks at once, semaphores, revocation and sequencers."""

from __future__ import annotations

import gc
import math
import threading
import time
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


def test_a_waiting_writer_is_not_overtaken_by_readers(connect: Connect) -> None:
    one, two, three = (connect().read_write_lock("/lock") for _ in range(3))
    with one.read:
        waiting = threading.Thread(target=lambda: two.write.acquire(timeout=10))
        waiting.start()
        eventually(lambda: len(one.read.contenders()) == 2)
        assert three.read.acquire(timeout=0.05) is None
    waiting.join()
    assert two.write.is_held
    two.write.release()


def test_a_writer_may_downgrade_and_nobody_gets_in_between(connect: Connect) -> None:
    mine, other = connect().read_write_lock("/lock"), connect().read_write_lock("/lock")
    with mine.write as writing:
        assert mine.read.acquire(blocking=False) is None
        reading = writing.downgrade()
        assert not writing.is_held
        assert reading.is_held
    assert mine.read.is_held
    assert reading.fencing_token == writing.fencing_token
    assert other.write.acquire(blocking=False) is None
    with other.read:
        pass
    mine.read.release()
    assert not reading.is_held
    with mine.write, mine.write.downgrade():
        assert mine.read.is_held


def test_only_what_a_writer_holds_can_be_downgraded(client: zkrecipes.Client) -> None:
    lock = client.read_write_lock("/lock")
    with lock.read as reading, client.lock("/plain") as plain:
        for held in (reading, plain):
            with pytest.raises(zkrecipes.Invalid, match="writer"):
                held.downgrade()
            held.verify()
        assert lock.write.acquire(timeout=0.05) is None
    with pytest.raises(zkrecipes.NotHeld):
        lock.write.downgrade()


def test_threads_that_share_a_read_write_lock_wait_for_each_other(client: zkrecipes.Client) -> None:
    lock = client.read_write_lock("/lock")
    tokens: list[int] = []

    def read() -> None:
        with lock.read as reading:
            tokens.append(reading.fencing_token)

    with lock.write as writing:
        reader = threading.Thread(target=read)
        reader.start()
        eventually(lambda: len(lock.read.contenders()) == 2)
        assert not tokens
    reader.join()
    assert tokens > [writing.fencing_token]


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


def test_a_multi_lock_is_lost_as_one(connect: Connect) -> None:
    client = connect()
    both = client.multi_lock([client.lock("/a"), client.lock("/b")])
    lost = threading.Event()
    with pytest.raises(zkrecipes.Lost), both as held:
        held.on_lost(lambda _: lost.set())
        (contender,) = client.lock("/b").contenders()
        connect().nodes.delete(f"/b/{contender.node}")
        assert lost.wait(10)
        assert not held.is_held
    eventually(lambda: not client.lock("/a").contenders())


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


def test_a_semaphores_handle_releases_the_latest(client: zkrecipes.Client) -> None:
    semaphore = client.semaphore("/limit", 3)
    assert semaphore.acquire(1)
    assert semaphore.acquire(2)
    assert len(semaphore.holders()) == 3
    semaphore.release()
    assert len(semaphore.holders()) == 1
    semaphore.verify()
    semaphore.release()
    with pytest.raises(zkrecipes.NotHeld, match="/limit"):
        semaphore.release()


def test_a_semaphore_can_be_resized(connect: Connect) -> None:
    one, two = connect().semaphore("/limit", 1), connect().semaphore("/limit", 1)
    with one:
        waiter = threading.Thread(target=lambda: one.acquire(timeout=10))
        waiter.start()
        one.resize(2)
        waiter.join()
        assert one.permits == 2
        assert len(one.holders()) == 2
        with pytest.raises(zkrecipes.Mismatch):
            two.acquire(timeout=5)
        one.release()
    with pytest.raises(zkrecipes.Mismatch):
        connect().semaphore("/limit", 5).acquire(timeout=5)


def test_who_waits_for_permits_can_be_woken(client: zkrecipes.Client) -> None:
    semaphore = client.semaphore("/limit", 1)
    caught: list[BaseException] = []

    def wait() -> None:
        try:
            semaphore.acquire()
        except zkrecipes.Cancelled as error:
            caught.append(error)

    with semaphore:
        waiter = threading.Thread(target=wait)
        waiter.start()
        while waiter.is_alive():
            semaphore.cancel()
            time.sleep(0.005)
    assert len(caught) == 1
    eventually(lambda: not client.nodes.children("/limit/locks"))


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


def test_a_holder_that_is_asked_lets_go(connect: Connect) -> None:
    lock, other = connect().lock("/lock"), connect().lock("/lock")
    assert not other.revoke(), "nobody to ask"
    asked = threading.Event()
    held = lock.acquire()
    assert held

    def let_go() -> None:
        asked.set()
        held.release(wait=False)

    held.on_revoke(let_go)
    lock.on_revoke(let_go)()  # unsubscribed at once
    assert other.revoke()
    with other.hold(timeout=10):
        assert asked.is_set()


def test_a_holder_that_was_asked_already_is_told_at_once(connect: Connect) -> None:
    lock, other = connect().lock("/lock"), connect().lock("/lock")
    with lock as held:
        (contender,) = other.contenders()
        assert other.revoke(contender)
        assert other.revoke(contender.node)
        for _ in range(2):
            asked = threading.Event()
            held.on_revoke(asked.set)
            assert asked.wait(10)
        assert held.is_held, "it is asked, not forced"


def test_a_holder_that_does_not_let_go_can_be_forced(connect: Connect) -> None:
    lock, other = connect().lock("/lock"), connect().lock("/lock")
    lost: list[zkrecipes.Lost] = []
    held = lock.acquire()
    assert held
    held.on_lost(lost.append)
    assert other.revoke(force_after=0.05)
    eventually(lambda: lost)
    assert lost[0].reason == "revoked"
    assert not held.is_held
    with other:
        pass


def test_a_waiter_can_be_sent_away(connect: Connect) -> None:
    lock, other = connect().lock("/lock"), connect().lock("/lock")
    with lock:
        waiter = threading.Thread(target=lambda: other.acquire(timeout=0.5))
        waiter.start()
        eventually(lambda: len(lock.contenders()) == 2)
        assert lock.revoke(lock.contenders()[1])
        assert lock.is_held
        waiter.join()


def test_a_bad_contender_is_refused_by_name(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    with lock:
        bad: list[Any] = ["", "x", "../lock", 5, b"node", ["node"]]
        for contender in bad:
            with pytest.raises(zkrecipes.Invalid, match="contender"):
                lock.revoke(contender)
        for patience in (-1, math.nan, "1"):
            with pytest.raises(zkrecipes.Invalid, match="force_after"):
                lock.revoke(force_after=patience)  # type: ignore[arg-type]
        assert lock.is_held
    with pytest.raises(zkrecipes.Invalid, match="callback"), lock as held:
        held.on_revoke(5)  # type: ignore[arg-type]


def test_a_sequencer_tells_whether_an_acquisition_stands(connect: Connect) -> None:
    client, other = connect(), connect()
    with client.lock("/lock") as held:
        sequencer = held.sequencer
        assert other.check_sequencer(sequencer)
        with pytest.raises(zkrecipes.Timeout):
            other.watch_sequencer(sequencer, timeout=0)
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            other.watch_sequencer(sequencer, timeout=0.1)
        assert 0.1 <= time.monotonic() - began < 5
        watching = threading.Thread(target=lambda: other.watch_sequencer(sequencer))
        watching.start()
        assert other.check_sequencer(sequencer)
    watching.join(10)
    assert not watching.is_alive()
    assert not other.check_sequencer(sequencer)
    other.watch_sequencer(sequencer)
    other.watch_sequencer(sequencer, timeout=0)
    with client.lock("/lock"):
        assert not other.check_sequencer(sequencer), "the next acquisition is another one"


@pytest.mark.parametrize("sequencer", ["", "1", "1:x:/a", "2:5:/a", "1:5:a", 5, b"1:5:/a", None], ids=repr)
def test_a_malformed_sequencer_is_refused_by_name(client: zkrecipes.Client, sequencer: Any) -> None:
    with pytest.raises(zkrecipes.Invalid, match="sequencer"):
        client.check_sequencer(sequencer)
    with pytest.raises(zkrecipes.Invalid, match="sequencer"):
        client.watch_sequencer(sequencer)
    with pytest.raises(zkrecipes.Invalid, match="timeout"):
        client.watch_sequencer("1:5:/a", timeout=-2)
