"""What Python makes of an election."""

from __future__ import annotations

import asyncio
import gc
import logging
import queue
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import zkrecipes
from conftest import Connect, eventually
from test_aio import run
from zkrecipes import _leading, aio
from zkrecipes.testing import EmbeddedServer


def test_a_leadership_is_held_and_resigned_on_exit(connect: Connect) -> None:
    client, other = connect(identity="ann"), connect(identity="bob")
    election, rival = client.election("/leader", "ann's"), other.election("/leader", b"bob's")
    with election.campaign(timeout=15) as leadership:
        assert isinstance(leadership, zkrecipes.Leadership)
        assert isinstance(leadership, zkrecipes.Held)
        assert election.is_leader
        assert leadership.epoch == leadership.fencing_token == election.fencing_token
        assert repr(leadership) == f"<Leadership /leader epoch={leadership.epoch} held>"
        assert rival.leader() == zkrecipes.Leader("ann", b"ann's", leadership.epoch, acknowledged=False)
        leadership.acknowledge("ready")
        leader = rival.leader()
        assert leader is not None
        assert (leader.data, leader.acknowledged) == (b"ready", True)
        with pytest.raises(zkrecipes.Timeout):
            rival.campaign(timeout=0.05)
        assert [one.identity for one in rival.candidates()] == ["ann"]
    assert not election.is_leader
    assert rival.leader() is None
    with pytest.raises(zkrecipes.NotHeld):
        leadership.acknowledge("late")
    assert repr(election) == "<Election /leader not held>"


def test_an_election_is_entered_like_a_lock(connect: Connect) -> None:
    election = connect().election("/leader", layout="selector")
    with election as leadership:
        assert leadership.epoch > 0
        assert connect().election("/leader", layout="selector").acquire(blocking=False) is None
    with election.hold(5) as leadership:
        leadership.acknowledge(b"")
    won = election.acquire(timeout=5)
    assert won is not None
    assert won.is_held
    election.resign()
    with pytest.raises(zkrecipes.NotHeld):
        election.resign()


def test_a_lost_leadership_is_raised_on_exit(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client:
        lost: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        with pytest.raises(zkrecipes.Lost), client.election("/leader").campaign() as leadership:
            leadership.on_lost(lambda error: lost.put(error.reason))
            server.expire(client.session_id)
            assert lost.get(timeout=15) == "session"


def test_whoever_calls_a_leading_function_leads(client: zkrecipes.Client) -> None:
    election = client.election("/leader")

    @election.leading
    def report(leadership: zkrecipes.Leadership, what: str, *, times: int = 1) -> str:
        """Says it."""
        assert leadership.is_held
        assert election.is_leader
        return what * times

    assert report("a", times=3) == "aaa"
    assert not election.is_leader
    assert (report.__name__, report.__doc__) == ("report", "Says it.")
    with pytest.raises(TypeError):
        report()  # type: ignore[call-arg]
    assert not election.is_leader

    async def later(leadership: zkrecipes.Leadership) -> None: ...

    with pytest.raises(zkrecipes.InvalidType, match="no event loop"):
        election.leading(later)


def test_terms_follow_each_other_until_they_are_cancelled(
    client: zkrecipes.Client, caplog: pytest.LogCaptureFixture
) -> None:
    election = client.election("/leader")
    epochs: list[int] = []

    def work(leadership: zkrecipes.Leadership) -> None:
        epochs.append(leadership.epoch)
        assert leadership.is_held
        if len(epochs) == 1:
            raise ValueError("a mistake")
        if len(epochs) == 2:
            leadership.release()
        if len(epochs) == 3:
            election.cancel()

    election.run(work)
    assert len(epochs) == 3
    assert epochs == sorted(set(epochs))
    assert not election.is_leader
    (record,) = [record for record in caplog.records if record.exc_info]
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ValueError)


def test_work_that_is_cancelled_is_told_and_leads_until_it_returns(client: zkrecipes.Client) -> None:
    election = client.election("/leader")
    begun = threading.Event()
    outcomes: list[object] = []

    def work(leadership: zkrecipes.Leadership) -> None:
        begun.set()
        while leadership.is_held:
            time.sleep(0.01)
        leadership.verify()
        outcomes.append(election.is_leader)

    running = threading.Thread(target=election.run, args=[work], daemon=True)
    running.start()
    assert begun.wait(10)
    election.cancel()
    running.join(10)
    assert not running.is_alive()
    assert outcomes == [False]
    assert election.candidates() == []


def test_what_is_no_error_ends_a_run(client: zkrecipes.Client) -> None:
    election = client.election("/leader")

    def work(leadership: zkrecipes.Leadership) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        election.run(work)
    assert not election.is_leader
    with client.election("/leader").campaign(timeout=15):
        pass


async def _coroutine(leadership: object) -> None: ...


def _generator(leadership: object) -> Iterator[None]:
    yield


async def _iterates(leadership: object) -> AsyncIterator[None]:
    yield


def test_only_what_does_its_work_when_called_is_work(client: zkrecipes.Client) -> None:
    election = client.election("/leader")
    for wrong in (None, 3, _coroutine, _generator, _iterates):
        with pytest.raises(zkrecipes.InvalidType, match="invalid work"):
            election.run(wrong)  # type: ignore[arg-type]
        with pytest.raises(zkrecipes.InvalidType, match="invalid function"):
            election.leading(wrong)  # type: ignore[arg-type]
    # What cannot be seen before it is called ends the first term, and all of it.
    for hidden, what in ((_coroutine, "coroutine"), (_generator, "generator"), (_iterates, "generator")):
        with pytest.raises(zkrecipes.InvalidType, match=f"not return a {what}"):
            election.run(lambda leadership, work=hidden: work(leadership))  # type: ignore[misc]
        assert election.leader() is None


def test_only_what_does_its_work_when_awaited_is_work_on_asyncio(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            election = client.election("/leader")
            for wrong in (None, 3, _generator, _iterates):
                with pytest.raises(aio.InvalidType, match="invalid work"):
                    await election.run(wrong)  # type: ignore[arg-type]
                with pytest.raises(aio.InvalidType, match="invalid function"):
                    election.leading(wrong)  # type: ignore[arg-type]
            for hidden in (_generator, _iterates):
                with pytest.raises(aio.InvalidType, match="not return a generator"):
                    await election.run(lambda leadership, work=hidden: work(leadership))  # type: ignore[misc]
                assert await election.leader() is None

    run(body())


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def test_a_failure_that_cannot_be_told_ends_a_term_and_not_the_run(
    client: zkrecipes.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    election = client.election("/leader")
    unraisable: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", lambda told: unraisable.append(told.exc_value))

    def refuse(record: object) -> bool:
        raise OSError("no log")

    monkeypatch.setattr(logging.getLogger("zkrecipes"), "filters", [refuse])
    terms = 0

    def work(leadership: zkrecipes.Leadership) -> None:
        nonlocal terms
        terms += 1
        if terms == 1:
            raise Unspeakable
        election.cancel()

    election.run(work)
    assert terms == 2
    assert {type(one) for one in unraisable} == {OSError, ValueError}
    assert not election.is_leader


def test_an_interrupted_report_of_a_failure_resigns(client: zkrecipes.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    election = client.election("/leader")

    def interrupt(record: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(logging.getLogger("zkrecipes"), "filters", [interrupt])

    def work(leadership: zkrecipes.Leadership) -> None:
        raise ValueError("a mistake")

    with pytest.raises(KeyboardInterrupt):
        election.run(work)
    eventually(lambda: election.leader() is None)


def test_a_leadership_that_nobody_has_any_more_is_resigned(connect: Connect) -> None:
    client, other = connect(), connect()
    election = client.election("/leader")
    election.campaign()
    # The election keeps it.
    gc.collect()
    assert election.is_leader
    with pytest.warns(ResourceWarning, match="election /leader was garbage-collected while held"):
        del election
    with other.election("/leader").campaign(timeout=15):
        pass


def test_a_loop_over_the_leaders(connect: Connect) -> None:
    election = connect(identity="ann").election("/leader", "x")
    told: list[Any] = []
    with election.observe() as feed:
        for leader in feed:
            told.append(leader)
            if len(told) == 1:
                leadership = election.campaign()
            elif len(told) == 2:
                leadership.acknowledge("y")
            elif len(told) == 3:
                leadership.release()
            else:
                break
    assert told[0] is told[3] is None
    assert told[1:3] == [("ann", b"x", leadership.epoch, False), ("ann", b"y", leadership.epoch, True)]


def test_bad_arguments_are_refused(client: zkrecipes.Client) -> None:
    with pytest.raises(zkrecipes.Invalid, match="latch, selector"):
        client.election("/leader", layout="bolt")  # type: ignore[arg-type]
    with pytest.raises(zkrecipes.InvalidType, match="data"):
        client.election("/leader", 3)  # type: ignore[arg-type]
    with pytest.raises(zkrecipes.Invalid, match="timeout"):
        client.election("/leader").campaign(-3)


def test_campaigning_on_asyncio(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts, identity="ann") as client, aio.Client(hosts) as other:
            election, rival = client.election("/leader", "x"), other.election("/leader")
            async with election.campaign(15) as leadership:
                assert isinstance(leadership, aio.Leadership)
                assert isinstance(leadership, aio.Held)
                await leadership.acknowledge("y")
                assert await rival.leader() == ("ann", b"y", leadership.epoch, True)
                with pytest.raises(aio.Timeout):
                    await rival.campaign(timeout=0.05)
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(rival.campaign(), 0.05)
            leadership = await asyncio.create_task(rival.campaign())
            assert rival.is_leader
            await rival.resign()
            async with rival as leadership, election.observe() as feed:
                leader = await feed.__anext__()
                assert leader is not None
                assert leader.epoch == leadership.epoch
            with pytest.raises(aio.NotHeld):
                await leadership.acknowledge("late")

    run(body())


def test_a_campaign_that_nobody_awaits_is_told(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            with pytest.warns(RuntimeWarning, match="never awaited"):
                client.election("/leader").campaign()
            assert await client.election("/leader").leader() is None

    run(body())


def test_losing_the_leadership_cancels_the_body(server: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            election = client.election("/leader", cancel_on_lost=True)
            with pytest.raises(aio.Lost):
                async with election.campaign():
                    server.expire(client.session_id)
                    await asyncio.sleep(30)
            with pytest.raises(aio.Lost):
                async with election:
                    server.expire(client.session_id)
                    await asyncio.sleep(30)

    run(body())


def test_a_run_on_asyncio(server: EmbeddedServer, caplog: pytest.LogCaptureFixture) -> None:
    ended: list[str] = []

    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            election = client.election("/leader")

            async def work(leadership: aio.Leadership) -> None:
                term = len(ended)
                try:
                    if term == 0:
                        raise ValueError("a mistake")
                    if term == 1:
                        server.expire(client.session_id)
                        await asyncio.sleep(30)
                    if term == 2:
                        await leadership.release()
                        await asyncio.sleep(30)
                    if term == 3:
                        election.cancel()
                        await asyncio.sleep(30)
                except asyncio.CancelledError:
                    # Nobody else leads before the work has ended, unless the leadership was lost.
                    ended.append("cancelled, leading" if leadership.is_held else "cancelled")
                    raise
                except ValueError:
                    ended.append("failed")
                    raise

            await election.run(work)
            assert ended == ["failed", "cancelled", "cancelled", "cancelled, leading"]
            assert not election.is_leader
            assert [type(record.exc_info[1]) for record in caplog.records if record.exc_info] == [ValueError]

            # Who cancels the run cancels the work, and resigns.
            begun = asyncio.Event()

            async def for_ever(leadership: aio.Leadership) -> None:
                begun.set()
                await asyncio.sleep(30)

            running = asyncio.ensure_future(election.run(for_ever))
            await begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            async with client.election("/leader").campaign(15):
                pass

            # A plain function is work, too.
            await election.run(lambda leadership: election.cancel())

    run(body())


def test_a_cancelled_run_is_cancelled_whatever_became_of_the_leadership(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            election = client.election("/leader")
            begun = asyncio.Event()

            async def work(leadership: aio.Leadership) -> None:
                begun.set()
                try:
                    await asyncio.sleep(30)
                finally:
                    await leadership.release()

            running = asyncio.ensure_future(election.run(work))
            await begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert await election.leader() is None

    run(body())


def test_a_run_that_is_closed_resigns(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            election = client.election("/leader")
            begun = asyncio.Event()

            async def work(leadership: aio.Leadership) -> None:
                begun.set()
                await asyncio.sleep(30)

            running = election.run(work)

            # As a task would go on with it.
            awaited: Any = running.send(None)
            while not begun.is_set():
                if awaited.done():
                    awaited = running.send(None)
                await asyncio.sleep(0.005)
            # Nothing can be awaited by a coroutine that is being closed.
            running.close()
            assert not election.is_leader
            async with client.election("/leader").campaign(15):
                pass

    run(body())


def test_work_that_fails_because_its_term_is_over_has_not_failed(
    server: EmbeddedServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            election = client.election("/leader")
            terms = 0

            async def work(leadership: aio.Leadership) -> None:
                nonlocal terms
                terms += 1
                if terms == 2:
                    election.cancel()
                    return
                try:
                    await leadership.release()
                    await asyncio.sleep(30)
                except asyncio.CancelledError:
                    raise ValueError("stopped in the middle") from None

            await election.run(work)
            assert terms == 2

    run(body())
    assert [record.levelname for record in caplog.records if record.exc_info] == ["WARNING"]
    assert "a leader failed" not in caplog.text


def test_whoever_awaits_a_leading_function_leads(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            election = client.election("/leader")

            @election.leading
            async def report(leadership: aio.Leadership, what: str) -> str:
                await leadership.verify()
                return what

            assert await report("a") == "a"
            assert not election.is_leader
            assert asyncio.iscoroutinefunction(report)

    run(body())


def test_a_leader_of_a_lower_priority_is_told_and_hands_over(connect: Connect) -> None:
    lower = connect(identity="ann").election("/leader", drain=20)
    higher = connect(identity="bob").election("/leader", priority=1)
    begun: queue.SimpleQueue[zkrecipes.Leadership] = queue.SimpleQueue()

    def work(leadership: zkrecipes.Leadership) -> None:
        begun.put(leadership)
        assert leadership.signal is leadership.signal
        leadership.signal.wait()

    running = threading.Thread(target=lower.run, args=(work,))
    running.start()
    first = begun.get(timeout=15)
    assert not first.signal.is_set()
    assert not first.signal.wait(0.01)
    with higher.campaign(timeout=15) as leadership:
        # Long before the time for draining.
        assert first.signal.is_set()
        assert leadership.epoch > first.epoch
        # It stands again as soon as its work has returned and its term is given back.
        eventually(lambda: [one.identity for one in higher.candidates()] == ["bob", "ann"])
        assert not higher.transfer("nobody")
        assert higher.transfer(higher.candidates()[1])
        assert not leadership.is_held
    second = begun.get(timeout=15)
    lower.cancel()
    running.join(15)
    assert not running.is_alive()
    assert second.signal.is_set()


def test_who_is_not_healthy_does_not_lead(client: zkrecipes.Client, caplog: pytest.LogCaptureFixture) -> None:
    election = client.election("/leader")
    answers: list[object] = [False, RuntimeError("no disk"), True]
    begun = threading.Event()

    def healthy() -> object:
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def work(leadership: zkrecipes.Leadership) -> None:
        begun.set()
        leadership.signal.wait()

    running = threading.Thread(target=election.run, args=(work, healthy))
    running.start()
    assert begun.wait(15)
    assert "counts as not healthy" in caplog.text
    begun.clear()
    answers[0] = False
    eventually(lambda: not election.candidates())
    answers[0] = True
    assert begun.wait(15)
    election.cancel()
    running.join(15)
    assert not running.is_alive()
    with pytest.raises(zkrecipes.InvalidType, match="healthy"):
        election.run(work, 5)  # type: ignore[arg-type]


def test_a_health_check_that_fails_again_and_again_is_told_once(
    client: zkrecipes.Client, caplog: pytest.LogCaptureFixture
) -> None:
    election = client.election("/leader")
    asked: list[None] = []

    def healthy() -> bool:
        asked.append(None)
        raise RuntimeError("no disk")

    running = threading.Thread(target=election.run, args=(lambda leadership: None, healthy))
    running.start()
    eventually(lambda: len(asked) > 2)
    election.cancel()
    running.join(15)
    assert not running.is_alive()
    assert caplog.text.count("counts as not healthy") == 1


def test_health_on_asyncio(hosts: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with aio.Client(hosts) as client:
            election = client.election("/leader")
            is_well, begun = asyncio.Event(), asyncio.Event()
            is_well.set()

            async def healthy() -> bool:
                if not is_well.is_set():
                    raise RuntimeError("no disk")
                return True

            async def work(leadership: aio.Leadership) -> None:
                begun.set()
                await leadership.signal.wait()
                assert leadership.is_held

            running = asyncio.create_task(election.run(work, healthy))
            await asyncio.wait_for(begun.wait(), 15)
            begun.clear()
            is_well.clear()
            while await election.candidates():
                await asyncio.sleep(0.01)
            assert "counts as not healthy" in caplog.text
            is_well.set()
            await asyncio.wait_for(begun.wait(), 15)
            election.cancel()
            await asyncio.wait_for(running, 15)
            with pytest.raises(zkrecipes.InvalidType, match="healthy"):
                await election.run(work, 5)  # type: ignore[arg-type]

    run(main())


def test_a_check_of_whatever_end_counts_as_not_healthy(
    client: zkrecipes.Client, caplog: pytest.LogCaptureFixture
) -> None:
    election = client.election("/leader")
    fails, begun = threading.Event(), threading.Event()

    def healthy() -> bool:
        if fails.is_set():
            raise SystemExit(1)
        return True

    def work(leadership: zkrecipes.Leadership) -> None:
        begun.set()
        leadership.signal.wait()

    running = threading.Thread(target=election.run, args=(work, healthy))
    running.start()
    assert begun.wait(15)
    begun.clear()
    fails.set()
    try:
        eventually(lambda: not election.candidates())
        assert "counts as not healthy" in caplog.text
        fails.clear()
        assert begun.wait(15)
    finally:
        election.cancel()
        running.join(15)
    assert not running.is_alive()
    # On the thread of its caller it ends the run, as Ctrl-C does.
    fails.set()
    with pytest.raises(SystemExit):
        election.run(work, healthy)
    with election.campaign(timeout=15):
        pass


def leads(election: zkrecipes.Election) -> bool:
    begun = threading.Event()

    def work(leadership: zkrecipes.Leadership) -> None:
        begun.set()
        election.cancel()

    running = threading.Thread(target=election.run, args=(work,))
    running.start()
    has_led = begun.wait(15)
    election.cancel()
    running.join(15)
    return has_led


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_run_whose_check_cannot_begin_leaves_its_candidate_healthy(
    client: zkrecipes.Client, monkeypatch: pytest.MonkeyPatch, has_begun: bool
) -> None:
    class NoThread(Exception):
        pass

    begin = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        monkeypatch.undo()
        if has_begun:
            begin(thread)
        raise NoThread

    election = client.election("/leader")
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(NoThread):
        election.run(lambda leadership: None, lambda: False)
    eventually(lambda: not any(thread.name == "zkrecipes healthy" for thread in threading.enumerate()))
    assert leads(election)


def test_a_run_that_is_interrupted_as_its_check_is_to_end_leaves_its_candidate_healthy(
    client: zkrecipes.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = _leading.Checks.end

    def interrupted(checks: _leading.Checks) -> None:
        monkeypatch.setattr(_leading.Checks, "end", end)
        raise KeyboardInterrupt

    election = client.election("/leader")
    monkeypatch.setattr(_leading.Checks, "end", interrupted)
    asked: list[None] = []

    def healthy() -> bool:
        asked.append(None)
        if len(asked) > 2:
            election.cancel()
        return False

    with pytest.raises(KeyboardInterrupt):
        election.run(lambda leadership: None, healthy)
    eventually(lambda: not any(thread.name == "zkrecipes healthy" for thread in threading.enumerate()))
    assert leads(election)


def test_a_check_that_is_over_when_its_run_is_says_nothing_last() -> None:
    says, goes_on = threading.Event(), threading.Event()
    said: list[bool] = []

    class Candidate:
        path = "/leader"
        _health_interval = 0.001

        def _set_healthy(self, is_healthy: bool) -> None:
            if not is_healthy:
                says.set()
                goes_on.wait(15)
            said.append(is_healthy)

    answers = [True]
    checks = _leading.Checks(Candidate(), lambda: answers.pop() if answers else False)  # type: ignore[arg-type]
    assert says.wait(15)
    checks.end()
    goes_on.set()
    eventually(lambda: said == [True, True, False, True])
    eventually(lambda: not any(thread.name == "zkrecipes healthy" for thread in threading.enumerate()))


def test_the_signal_waits_for_no_other_callback(connect: Connect) -> None:
    client = connect()
    lower = client.election("/leader")
    higher = connect().election("/leader", priority=1)
    goes_on = threading.Event()
    with lower.campaign(timeout=15) as leadership:
        blocked = threading.Event()

        def blocks() -> None:
            blocked.set()
            goes_on.wait(60)

        leadership.on_revoke(blocks)
        signal = leadership.signal
        assert not signal.is_set()
        with ThreadPoolExecutor() as pool:
            campaign = pool.submit(higher.campaign, 60)
            try:
                assert blocked.wait(15)
                assert signal.wait(5)
                assert signal.is_set()
                assert leadership.is_held
            finally:
                leadership.release()
                goes_on.set()
            campaign.result(15).release()


def test_a_check_whose_task_is_cancelled_counts_as_not_healthy(hosts: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with aio.Client(hosts) as client:
            election = client.election("/leader")
            is_cancelled, begun = True, asyncio.Event()

            async def healthy() -> bool:
                asking = asyncio.ensure_future(asyncio.sleep(0, True))
                if is_cancelled:
                    asking.cancel()
                return await asking

            async def work(leadership: aio.Leadership) -> None:
                begun.set()
                await leadership.signal.wait()

            running = asyncio.create_task(election.run(work, healthy))
            while "counts as not healthy" not in caplog.text:
                assert not running.done()
                await asyncio.sleep(0.01)
            assert not begun.is_set()
            is_cancelled = False
            await asyncio.wait_for(begun.wait(), 15)
            begun.clear()
            is_cancelled = True
            deadline = time.monotonic() + 15
            while await election.candidates():
                assert time.monotonic() < deadline
                await asyncio.sleep(0.01)
            is_cancelled = False
            await asyncio.wait_for(begun.wait(), 15)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            async with election.campaign(15):
                pass

    run(main())


def test_a_run_that_is_cancelled_or_closed_while_it_asks_leaves_its_candidate_healthy(hosts: str) -> None:
    async def main() -> None:
        async with aio.Client(hosts) as client:
            election = client.election("/leader")
            told: list[bool] = []

            async def healthy() -> bool:
                asked.set()
                await asyncio.sleep(30)
                return False

            async def work(leadership: aio.Leadership) -> None:
                raise AssertionError("nobody has said how it is")

            def is_ill() -> bool:
                told.append(False)
                return False

            asked = asyncio.Event()
            running = asyncio.create_task(election.run(work, healthy))
            await asked.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(running, 15)

            asked.clear()
            closed = election.run(work, healthy)
            closed.send(None)
            await asked.wait()
            closed.close()

            # Of one that does not stand.
            ill = election.run(work, is_ill)
            awaited: Any = ill.send(None)
            while len(told) < 2:
                if awaited.done():
                    awaited = ill.send(None)
                await asyncio.sleep(0.005)
            ill.close()
            begun = asyncio.Event()

            async def leads(leadership: aio.Leadership) -> None:
                begun.set()
                election.cancel()

            await asyncio.wait_for(election.run(leads), 15)
            assert begun.is_set()

    run(main())
