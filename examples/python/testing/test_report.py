"""Tests of one's own code with pytest: `embedded_zookeeper` and `zookeeper_client` come with zkrecipes."""

import zkrecipes
from zkrecipes.testing import EmbeddedServer


def write_report(client: zkrecipes.Client) -> bool:
    """What is to be tested: of all who call it at the same time, one writes the report."""
    with client.lock("/locks/report") as held:
        if client.nodes.exists("/report"):
            return False
        writes = held.guarded()
        writes.create("/report", "done")
        writes.commit()
        return True


def test_the_report_is_written_once(zookeeper_client: zkrecipes.Client) -> None:
    assert [write_report(zookeeper_client) for _ in range(3)] == [True, False, False]


def test_nothing_is_left_held_when_the_writer_dies(
    embedded_zookeeper: EmbeddedServer, zookeeper_client: zkrecipes.Client
) -> None:
    with zkrecipes.Client(embedded_zookeeper.connect_string) as other:
        other.lock("/locks/report").acquire()
        embedded_zookeeper.expire(other.session_id)
        assert write_report(zookeeper_client)


def test_a_lost_answer_writes_no_second_report(
    embedded_zookeeper: EmbeddedServer, zookeeper_client: zkrecipes.Client
) -> None:
    embedded_zookeeper.inject("drop_after create2 path=/locks/**")
    assert write_report(zookeeper_client)
    assert embedded_zookeeper.sessions() == [zookeeper_client.session_id]
