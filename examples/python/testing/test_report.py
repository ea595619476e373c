"""Tests of one's own code with pytest: `embedded_zookeeper` and `zookeeper_client` come with zkrecipes."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
import zkrecipes
from zkrecipes.testing import EmbeddedServer


def write_report(client: zkrecipes.Client, work: Callable[[], object] = lambda: None) -> bool:
    """What is to be tested: of all who call it at the same time, one does the work and writes the report."""
    with client.lock("/locks/report") as held:
        if client.nodes.exists("/report"):
            return False
        work()
        writes = held.guarded()
        writes.create("/report", "done")
        writes.commit()
        return True


def test_of_two_at_the_same_time_one_writes_the_report(
    embedded_zookeeper: EmbeddedServer, zookeeper_client: zkrecipes.Client
) -> None:
    calls: list[Future[bool]] = []
    lock = zookeeper_client.lock("/locks/report")
    with zkrecipes.Client(embedded_zookeeper.connect_string) as other, ThreadPoolExecutor() as pool:

        def somebody_else_comes() -> None:
            calls.append(pool.submit(write_report, other))
            # It stands in line, or it was not kept out.
            while len(lock.contenders()) < 2 and not calls[0].done():
                time.sleep(0.01)

        assert write_report(zookeeper_client, somebody_else_comes)
        assert not calls[0].result(timeout=30)


def test_who_has_lost_the_lock_writes_nothing(
    embedded_zookeeper: EmbeddedServer, zookeeper_client: zkrecipes.Client
) -> None:
    def the_network_is_away_for_too_long() -> None:
        session = zookeeper_client.session_id
        embedded_zookeeper.expire(session)
        while zookeeper_client.session_id == session:
            time.sleep(0.01)

    with pytest.raises((zkrecipes.Lost, zkrecipes.NotHeld)):
        write_report(zookeeper_client, the_network_is_away_for_too_long)
    assert zookeeper_client.nodes.exists("/report") is None


def test_nothing_is_left_held_when_the_writer_dies(
    embedded_zookeeper: EmbeddedServer, zookeeper_client: zkrecipes.Client
) -> None:
    with zkrecipes.Client(embedded_zookeeper.connect_string) as other:
        held = other.lock("/locks/report").acquire()
        embedded_zookeeper.expire(other.session_id)
        assert write_report(zookeeper_client)
        # Who died is told, too.
        while held.is_held:
            time.sleep(0.01)


def test_a_lost_answer_writes_no_second_report(
    embedded_zookeeper: EmbeddedServer, zookeeper_client: zkrecipes.Client
) -> None:
    fault = embedded_zookeeper.inject("drop_after create2 path=/locks/**")
    assert write_report(zookeeper_client)
    assert embedded_zookeeper.fault_fired(fault)
    assert embedded_zookeeper.sessions() == [zookeeper_client.session_id]
