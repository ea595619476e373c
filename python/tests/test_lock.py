from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import zkrecipes
from conftest import Connect, contenders, eventually


def test_a_with_statement_holds_and_releases(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    with lock as held:
        assert isinstance(held, zkrecipes.Held)
        assert held.is_held
        assert lock.is_held
        assert held.fencing_token == lock.fencing_token > 0
        assert (lock.path, held.path) == ("/lock", "/lock")
        assert held.node.startswith("/lock/")
        assert held.node in held.sequencer
        held.verify()
        lock.verify()
        assert 0 < client.lease_remaining <= client.session_timeout
    assert not held.is_held
    assert not lock.is_held
    assert contenders(client, "/lock") == 0


def test_the_idiom_of_the_threading_module_works(client: zkrecipes.Client) -> None:
    lock, other = client.lock("/lock"), client.lock("/lock")
    held = lock.acquire(timeout=5)
    assert held
    try:
        assert other.acquire(blocking=False) is None
        assert other.acquire(timeout=0) is None
        started = time.monotonic()
        assert other.acquire(timeout=0.1) is None
        assert 0.1 <= time.monotonic() - started < 10
    finally:
        lock.release()
    assert other.acquire(blocking=False)
    other.release()
    assert contenders(client, "/lock") == 0


def test_hold_raises_timeout_and_leaves_nothing(client: zkrecipes.Client) -> None:
    with client.lock("/lock").hold(timeout=5) as held:
        assert held.is_held
        with pytest.raises(TimeoutError) as caught, client.lock("/lock").hold(0.05):
            pytest.fail("entered")
        assert isinstance(caught.value, zkrecipes.Timeout)
        assert caught.value.path == "/lock"
        eventually(lambda: contenders(client, "/lock") == 1)
    assert not held.is_held


def test_an_error_of_the_body_is_not_masked_and_the_lock_is_released(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    with pytest.raises(KeyError), lock:
        raise KeyError
    with pytest.raises(KeyError), lock as held:
        client.nodes.delete(held.node)
        raise KeyError
    assert contenders(client, "/lock") == 0


def test_a_scope_left_after_a_release_is_silent(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    with lock as held:
        held.release()
    with lock.hold():
        lock.release()
    with lock as held, held:
        pass


def test_threads_that_share_a_handle_leave_with_their_own_acquisition(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    other_is_in, may_leave = threading.Event(), threading.Event()

    def other() -> None:
        with lock as held:
            other_is_in.set()
            assert may_leave.wait(15)
            assert held.is_held

    with ThreadPoolExecutor() as pool:
        with lock:
            following = pool.submit(other)
            lock.release()
            assert other_is_in.wait(15)
        assert lock.is_held
        may_leave.set()
        following.result()
    assert not lock.is_held


def test_contenders_are_listed_in_order(connect: Connect) -> None:
    ann, bob = connect(identity="ann"), connect(identity="bob")
    before = time.time() - 60
    with ann.lock("/lock") as held, ThreadPoolExecutor() as pool:
        waiting = pool.submit(bob.lock("/lock").acquire)
        eventually(lambda: contenders(ann, "/lock") == 2)
        first, second = ann.lock("/lock").contenders()
        assert (first.identity, first.kind, first.holds) == ("ann", "lock", True)
        assert (second.identity, second.kind, second.holds) == ("bob", "lock", False)
        assert first.node == held.node.rsplit("/", 1)[1]
        assert (first.session_id, second.session_id) == (ann.session_id, bob.session_id)
        assert before < first.since.timestamp() < time.time() + 60
        held.release()
        acquired = waiting.result(15)
        assert acquired
        assert acquired.fencing_token > held.fencing_token
        acquired.release()


def test_a_transaction_answers_what_became_of_each_part(client: zkrecipes.Client) -> None:
    client.nodes.create("/old", b"1")
    transaction = client.nodes.transaction()
    transaction.create("/log-", b"x", "persistent_sequential")
    transaction.set("/old", b"2")
    transaction.check("/old", 1)
    transaction.delete("/old")
    created, written, checked, deleted = transaction.commit()
    assert isinstance(created, str)
    assert client.nodes.get(created)[0] == b"x"
    assert isinstance(written, zkrecipes.Stat)
    assert (written.version, written.data_length) == (1, 1)
    assert checked is deleted is None


def test_nodes_do_what_they_say(client: zkrecipes.Client) -> None:
    nodes = client.nodes
    nodes.ensure("/a/b/c")
    assert nodes.create("/a/e", "x", "ephemeral") == "/a/e"
    assert nodes.create("/a/s-", b"", "persistent_sequential") == "/a/s-0000000002"
    assert nodes.children("/a") == ["b", "e", "s-0000000002"]
    data, stat = nodes.get("/a/e")
    assert (data, stat.data_length, stat.ephemeral_owner, stat.version) == (b"x", 1, client.session_id, 0)
    assert nodes.set("/a/e", "yz", version=0).version == 1
    assert nodes.exists("/a") is not None
    assert nodes.exists("/b") is None
    nodes.delete("/a/e", version=1)
    nodes.delete_all("/a")
    assert nodes.exists("/a") is None


def test_sixteen_threads_on_one_handle_never_overlap(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    inside = 0

    def work(_: int) -> None:
        nonlocal inside
        with lock:
            inside += 1
            assert inside == 1
            time.sleep(0.0005)
            inside -= 1

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(64)))
    assert contenders(client, "/lock") == 0


def test_leaving_the_clients_scope_closes_it(hosts: str) -> None:
    with zkrecipes.Client(hosts, session_timeout=6, identity="me") as client:
        states = [client.state]
        assert client.session_id > 0
        assert client.session_timeout == pytest.approx(6)
        assert client.version() == zkrecipes.version() == zkrecipes.__version__
        assert "connected" in repr(client)
    assert [*states, client.state] == [zkrecipes.State.CONNECTED, zkrecipes.State.CLOSED]
    with pytest.raises(ZeroDivisionError), zkrecipes.Client(hosts):
        raise ZeroDivisionError


def test_acquire_takes_what_that_of_threading_takes(client: zkrecipes.Client) -> None:
    lock = client.lock("/locks/threading")
    for arguments in ((), (True,), (True, 5), (True, -1), (False,)):
        held = lock.acquire(*arguments)
        assert held is not None
        assert lock.acquire(False) is None
        assert lock.acquire(True, 0.01) is None
        held.release()
    with pytest.raises(zkrecipes.InvalidType, match="blocking"):
        lock.acquire(5)  # type: ignore[call-overload]
    permits = client.semaphore("/limits/threading", 2).acquire(2, True, 5)
    assert permits is not None
    permits.release()
