"""Logs and metrics: what happened at night can be told from them alone."""

from __future__ import annotations

import ast
import asyncio
import gc
import logging
import re
import threading
import time
import warnings
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import zkrecipes
from conftest import eventually
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer, Proxy

LOGGER = logging.getLogger("zkrecipes")
PAGE = Path(__file__).resolve().parents[2] / "docs/observability.md"
# Of each event on the page its levels and fields.
EVENTS = {
    event: (levels.split(", "), re.findall(r"`(\w+)`", fields))
    for event, levels, fields in re.findall(r"^\| `(\w+)` \| ([a-z, ]+) \| (.*?) \|", PAGE.read_text(), re.MULTILINE)
}


class Story(logging.Handler):
    """What was logged, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def of(self, *texts: str) -> list[tuple[str, dict[str, object]]]:
        found = [record for record in self.records if set(texts) & set(map(str, record.fields.values()))]  # type: ignore[attr-defined]
        return [(record.event, record.fields) for record in found]  # type: ignore[attr-defined]


@contextmanager
def listening(level: int) -> Iterator[Story]:
    story, before = Story(), LOGGER.level
    LOGGER.addHandler(story)
    LOGGER.setLevel(level)
    try:
        yield story
    finally:
        LOGGER.setLevel(before)
        LOGGER.removeHandler(story)


def is_told(story: list[tuple[str, dict[str, object]]], *events: str) -> bool:
    rest = iter([event for event, _ in story])
    return all(event in rest for event in events)


def check_night(story: Story, session: str, path: str, proxy: Proxy, metrics: zkrecipes.Metrics, token: int) -> None:
    of_session = ("connected", "suspended", "reconnected", "suspended", "session_lost", "session_renewed")
    eventually(lambda: is_told(story.of(session), *of_session) and is_told(story.of(path), "lost"))
    told = story.of(session)
    by_event = {event: fields for event, fields in told}
    for event in ("connected", "reconnected", "session_renewed"):
        assert by_event[event]["server"] == proxy.connect_string
    first = next(fields for event, fields in told if event == "suspended")
    assert first["cause"]
    assert isinstance(first["lease_ms"], int)
    assert first["lease_ms"] > 0
    lost = next(fields for event, fields in story.of(path) if event == "lost")
    assert (lost["reason"], lost["token"]) == ("session", token)
    levels = {record.event: record.levelname for record in story.records}  # type: ignore[attr-defined]
    assert (levels["reconnected"], levels["lost"], levels["session_lost"]) == ("INFO", "WARNING", "ERROR")

    assert (metrics.sessions, metrics.sessions_lost) == (2, 1)
    # A machine that is busy may lose touch once more.
    assert metrics.reconnections >= 1
    assert metrics.suspensions >= 2
    assert metrics.losses["session"] == 1
    assert (metrics.acquisitions, metrics.holding, metrics.holds.count) == (1, 0, 1)
    assert metrics.lease_margin_min == 0
    assert '\nzkrecipes_losses_total{reason="session"} 1\n' in metrics.prometheus


def test_a_partition_can_be_told_from_logs_and_metrics_alone(hosts: str) -> None:
    with listening(logging.INFO) as story, Proxy(hosts.partition("/")[0]) as proxy:
        client = zkrecipes.Client(proxy.connect_string, session_timeout=3)
        session, path = f"{client.session_id:#x}", "/locks/night"
        held = client.lock(path).acquire()
        assert held
        proxy.drop_connections()
        eventually(lambda: client.metrics.reconnections >= 1)
        proxy.pause()
        eventually(lambda: not held.is_held and client.metrics.sessions_lost == 1)
        proxy.resume()
        eventually(lambda: client.metrics.sessions == 2)
        check_night(story, session, path, proxy, client.metrics, held.fencing_token)
        client.close(5)


def test_asyncio_tells_the_same_of_a_partition(hosts: str) -> None:
    async def night() -> None:
        with listening(logging.INFO) as story, Proxy(hosts.partition("/")[0]) as proxy:
            client = await aio.Client.connect(proxy.connect_string, session_timeout=3)
            session, path = f"{client.session_id:#x}", "/locks/night-of-tasks"
            held = await client.lock(path).acquire()
            assert held
            proxy.drop_connections()
            eventually(lambda: client.metrics.reconnections >= 1)
            proxy.pause()
            eventually(lambda: not held.is_held and client.metrics.sessions_lost == 1)
            proxy.resume()
            eventually(lambda: client.metrics.sessions == 2)
            check_night(story, session, path, proxy, client.metrics, held.fencing_token)
            await client.close(5)

    asyncio.run(night())


def test_what_keeps_the_loop_is_told(server: EmbeddedServer) -> None:
    blocking = 1.1

    def block(_: object) -> None:
        time.sleep(blocking)

    async def main() -> None:
        awaited = asyncio.Event()

        async def block_later(_: object) -> None:
            await asyncio.sleep(0)
            time.sleep(blocking)

        async def be_patient(_: object) -> None:
            await asyncio.sleep(blocking)
            awaited.set()

        async def lead(leadership: aio.Leadership) -> None:
            await leadership.acknowledge("ready")
            time.sleep(blocking)
            election.cancel()

        async with await aio.Client.connect(server.connect_string) as client:
            with listening(logging.WARNING) as story:
                held = await client.lock("/locks/slow").acquire()
                assert held
                for callback in (be_patient, block, block_later):
                    held.on_lost(callback)
                await client.nodes.delete(held.node)
                await awaited.wait()
                election = client.election("/slow", "me")
                await election.run(lead)
                eventually(lambda: len(slow(story)) == 3)
                assert client.metrics.slow_callbacks == 3
                assert all(took >= 1000 for took in slow(story))

    def slow(story: Story) -> list[int]:
        return [record.fields["took_ms"] for record in story.records if record.event == "slow_callback"]  # type: ignore[attr-defined]

    asyncio.run(main())


def test_the_task_of_a_callback_is_told_from_its_coroutine(server: EmbeddedServer) -> None:
    seen: list[str] = []

    async def main() -> None:
        done = asyncio.Event()

        async def look(_: object) -> None:
            task = asyncio.current_task()
            assert task
            seen.extend([repr(task), repr(task.get_stack())])
            done.set()

        async with await aio.Client.connect(server.connect_string) as client:
            held = await client.lock("/locks/named").acquire()
            assert held
            held.on_lost(look)
            await client.nodes.delete(held.node)
            await done.wait()

    asyncio.run(main())
    assert all("look" in text for text in seen), seen


def test_a_callback_that_is_cancelled_before_it_began_warns_of_nothing(server: EmbeddedServer) -> None:
    async def main() -> None:
        over = asyncio.Event()

        async def begin() -> None:
            raise AssertionError("it was cancelled")

        def cancel_all() -> None:
            for task in asyncio.all_tasks() - {this}:
                task.cancel()
            over.set()

        def called(_: object) -> Coroutine[Any, Any, None]:
            # Before the first step of the task that is made of what this answers.
            asyncio.get_running_loop().call_soon(cancel_all)
            return begin()

        this = asyncio.current_task()
        async with await aio.Client.connect(server.connect_string) as client:
            held = await client.lock("/locks/cancelled").acquire()
            assert held
            held.on_lost(called)
            await client.nodes.delete(held.node)
            await over.wait()

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        asyncio.run(main())
        gc.collect()
    assert [str(warning.message) for warning in warned] == []


def test_the_level_of_the_logger_counts_from_the_moment_it_is_set(client: zkrecipes.Client) -> None:
    lock = client.lock("/locks/levels")
    with listening(logging.DEBUG) as story:
        with lock:
            pass
        eventually(lambda: is_told(story.of("/locks/levels"), "acquired", "released"))
        told = len(story.records)
        LOGGER.setLevel(logging.INFO)
        with lock:
            pass
        LOGGER.setLevel(logging.DEBUG)
        with client.lock("/locks/levels-again"):
            pass
        eventually(lambda: is_told(story.of("/locks/levels-again"), "released"))
        assert not [event for event, _ in story.of("/locks/levels")][2:], (
            "what came in between was formatted for nobody"
        )
        assert len(story.records) > told
        logging.disable(logging.CRITICAL)
        try:
            told = len(story.records)
            with lock:
                pass
        finally:
            logging.disable(logging.NOTSET)
        with client.lock("/locks/levels-at-last"):
            pass
        eventually(lambda: is_told(story.of("/locks/levels-at-last"), "released"))
        assert len(story.of("/locks/levels")) == 2


def test_a_handler_that_is_stuck_holds_up_nothing_and_what_it_missed_is_counted(client: zkrecipes.Client) -> None:
    stuck, go_on = threading.Event(), threading.Event()

    class Stuck(Story):
        def emit(self, record: logging.LogRecord) -> None:
            stuck.set()
            go_on.wait(30)
            super().emit(record)

    handler = Stuck()
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.DEBUG)
    try:
        lock = client.lock("/locks/stuck")
        with lock:
            pass
        assert stuck.wait(10)
        # Two records each, and far more than are kept.
        for _ in range(1200):
            lock.acquire(blocking=False)
            lock.release()
        go_on.set()
        with lock:
            pass
        eventually(lambda: any(record.event == "log_dropped" for record in handler.records))  # type: ignore[attr-defined]
        (dropped, *_) = [record for record in handler.records if record.event == "log_dropped"]  # type: ignore[attr-defined]
        assert dropped.fields["records"] > 100  # type: ignore[attr-defined]
    finally:
        go_on.set()
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(logging.NOTSET)


def test_metrics_are_numbers_and_prometheus_text(client: zkrecipes.Client) -> None:
    with client.lock("/locks/measured"):
        metrics = client.metrics
        assert (metrics.acquisitions, metrics.holding, metrics.waits.count) == (1, 1, 1)
        assert 0 < metrics.waits.sum < 10
        assert metrics.waits.buckets[-1] == (3600, 1)
        assert metrics.requests["create"] >= 1
        assert metrics.bytes_sent > 0 < metrics.bytes_received
        assert metrics.losses == {"session": 0, "revoked": 0, "deleted": 0, "closed": 0}
    assert client.metrics.holding == 0
    names = re.findall(r"^# TYPE zkrecipes_(\w+?)(?:_total|_seconds)? \w+$", metrics.prometheus, re.MULTILINE)
    assert names == [name for name in metrics._fields if name != "prometheus" and getattr(metrics, name) is not None]


@pytest.mark.parametrize("reentrant", [False, True])
def test_nested_acquisitions_are_one(client: zkrecipes.Client, reentrant: bool) -> None:
    lock = client.lock("/locks/nested", reentrant=reentrant)
    with lock:
        assert bool(lock.acquire(blocking=False)) == reentrant
        assert (client.metrics.acquisitions, client.metrics.timeouts) == (1, 0 if reentrant else 1)
        if reentrant:
            lock.release()


def test_each_event_of_this_layer_is_on_the_page_with_its_fields() -> None:
    said = set()
    for source in Path(zkrecipes.__file__).parent.glob("*.py"):
        tree = ast.parse(source.read_text())
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Name) and call.func.id == "say":
                event = ast.literal_eval(call.args[1])
                fields = [word.arg for word in call.keywords if word.arg != "raised"]
                assert (event, fields) == (event, EVENTS[event][1])
                said.add(event)
            elif source.name != "_log.py":
                # Or it had no name.
                assert not ast.unparse(call.func).startswith(("logger.", "logging.getLogger")), source
    assert len(said) > 5


def test_what_a_users_code_raises_has_an_event_and_fields(client: zkrecipes.Client) -> None:
    class Unspeakable(ValueError):
        def __str__(self) -> str:
            raise ZeroDivisionError

    def fail(_: object = None) -> None:
        raise ValueError("nobody lives there")

    def fail_to_lead(_: object) -> None:
        election.cancel()
        fail()

    def fail_silently(_: object) -> None:
        raise Unspeakable

    queue, election, lock = (
        client.queue("/queue", max_attempts=1),
        client.election("/leader"),
        client.lock("/locks/one"),
    )
    queue.put_many(["bad", "worse", "last"])

    def work(item: zkrecipes.Item) -> None:
        if item.data == b"bad":
            fail()
        if item.data == b"worse":
            lock.verify()
        queue.cancel()

    def health() -> bool:
        if not any(record.event == "health_failed" for record in story.records):  # type: ignore[attr-defined]
            fail()
        return True

    with listening(logging.DEBUG) as story:
        queue.process(work)
        election.run(fail_to_lead, health)
        held = lock.acquire()
        held.on_lost(fail_silently)
        client.nodes.delete(held.node)
        eventually(lambda: any(record.event == "callback_failed" for record in story.records))  # type: ignore[attr-defined]
    for record in story.records:
        levels, fields = EVENTS[record.event]  # type: ignore[attr-defined]
        assert record.levelname.lower().removesuffix("ing") in levels
        assert list(record.fields) == fields  # type: ignore[attr-defined]
    said = {record.event: record.fields for record in story.records}  # type: ignore[attr-defined]
    failures = [record.fields for record in story.records if record.event == "item_failed"]  # type: ignore[attr-defined]
    error = "ValueError: nobody lives there"
    assert failures[0] == {"queue": "/queue", "item": "qn-0000000000", "attempt": 1, "error": error}
    assert failures[1]["error"].startswith("NotHeld: ")
    of_the_leader = {"path": "/leader", "error": error}
    assert (said["health_failed"], said["work_failed"]) == (of_the_leader, of_the_leader)
    assert said["callback_failed"] == {"callback": repr(fail_silently), "error": "Unspeakable"}
