"""`queue.process` of the blocking face: items that are worked on as they come."""

from __future__ import annotations

import logging
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import zkrecipes
from conftest import Connect, eventually
from interpreters import environment
from test_aio import run
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer


class Crowd:
    """Who is inside at the same time; each leaves when so many have come."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size)
        self.lock = threading.Lock()
        self.inside = self.most = self.done = 0

    def enter(self) -> None:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.barrier.wait(30)

    def leave(self) -> int:
        with self.lock:
            self.inside -= 1
            self.done += 1
            return self.done


def of_items(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was told of items, once all of it was."""

    def told() -> list[str]:
        events = [getattr(record, "event", "") for record in caplog.records]
        return [event for event in events if event in ("lost", "item_failed")]

    eventually(lambda: "lost" in told())
    return told()


@pytest.mark.parametrize("concurrency", [1, 3])
def test_as_many_are_worked_on_at_once_as_it_is_told(connect: Connect, concurrency: int) -> None:
    queue = connect().queue("/queue")
    queue.put_many([str(number) for number in range(9)])
    crowd = Crowd(concurrency)
    threads = set()

    def work(item: zkrecipes.Item) -> None:
        threads.add(threading.current_thread())
        crowd.enter()
        if crowd.leave() == 9:
            queue.cancel()

    queue.process(work, concurrency)
    assert (crowd.most, crowd.done, queue.len()) == (concurrency, 9, 0)
    assert (threading.current_thread() in threads) == (concurrency == 1)


def test_what_fails_is_given_back_with_the_reason_and_others_go_on(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    queue = connect().queue("/queue", max_attempts=1)
    queue.put_many(["bad", "good"])
    seen = []

    def work(item: zkrecipes.Item) -> None:
        seen.append(item.data)
        if item.data == b"bad":
            raise ValueError("nobody lives there")
        queue.cancel()

    queue.process(work)
    assert seen == [b"bad", b"good"]
    assert [(letter.data, letter.reason) for letter in queue.dead.items()] == [
        (b"bad", "ValueError: nobody lives there")
    ]
    (record,) = [record for record in caplog.records if record.exc_info]
    assert (record.name, record.levelno) == ("zkrecipes", logging.WARNING)
    assert re.fullmatch(r"exception in the work on qn-0*0 of /queue, attempt 1", record.getMessage())


def test_it_leaves_alone_what_its_work_has_settled(connect: Connect) -> None:
    queue = connect().queue("/queue")
    queue.put("tea")
    attempts = []

    def work(item: zkrecipes.Item) -> None:
        attempts.append(item.attempts)
        if item.attempts == 1:
            item.nack(delay=0)
        else:
            item.ack()
            queue.cancel()

    queue.process(work)
    assert (attempts, queue.len()) == ([1, 2], 0)


def test_a_claim_that_was_lost_is_told_once_and_others_go_on(
    server: EmbeddedServer, caplog: pytest.LogCaptureFixture
) -> None:
    with zkrecipes.Client(server.connect_string) as client:
        queue = client.queue("/queue")
        queue.put("tea")
        held = []

        def work(item: zkrecipes.Item) -> None:
            held.append(item)
            if len(held) == 1:
                server.expire(client.session_id)
                eventually(lambda: not item.is_held)
            else:
                queue.cancel()

        queue.process(work)
        assert (len(held), queue.len()) == (2, 0)
    assert of_items(caplog) == ["lost"]


@pytest.mark.parametrize("concurrency", [1, 2])
@pytest.mark.parametrize("end", ["cancel", "close"])
def test_it_ends_when_it_waits(connect: Connect, concurrency: int, end: str) -> None:
    client = connect()
    queue = client.queue("/queue")
    began = threading.Event()
    queue.put("tea")
    with ThreadPoolExecutor(1) as pool:
        processing = pool.submit(queue.process, lambda item: began.set(), concurrency)
        assert began.wait(30)
        eventually(lambda: queue.len() == 0)
        queue.cancel() if end == "cancel" else client.close()
        processing.result(30)
    if end == "close":
        with pytest.raises(zkrecipes.Closed):
            queue.process(lambda item: None)


def test_what_is_begun_is_finished_and_nothing_else_is_begun(connect: Connect) -> None:
    queue, other = connect().queue("/queue"), connect().queue("/queue")
    queue.put_many([str(number) for number in range(6)])
    crowd = Crowd(3)
    may_end = threading.Event()

    def work(item: zkrecipes.Item) -> None:
        crowd.enter()
        assert may_end.wait(30)
        crowd.leave()

    with ThreadPoolExecutor(1) as pool:
        processing = pool.submit(queue.process, work, 2)
        crowd.barrier.wait(30)
        queue.cancel()
        may_end.set()
        processing.result(30)
    assert crowd.done == 2
    # Nobody has any of them, and nobody had one more.
    for item in other.claim_many(4, 5):
        assert item.attempts == 1
        item.ack()
    assert other.len() == 0


@pytest.mark.parametrize("concurrency", [1, 2])
def test_what_is_no_exception_ends_it_and_has_not_failed(connect: Connect, concurrency: int) -> None:
    queue = connect().queue("/queue")
    queue.put("tea")

    def work(item: zkrecipes.Item) -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        queue.process(work, concurrency)
    # It steps aside for nobody. Another worker may have begun to claim it when it was told to end, and gives it back
    # behind that.
    assert queue.stats().delayed == 0
    queue.claim().ack()


def test_other_loops_through_the_same_handle_go_on(connect: Connect) -> None:
    queue = connect().queue("/queue")
    queue.put("tea")
    loop_over = iter(queue)
    first = next(loop_over)
    queue.put("coffee")

    def work(item: zkrecipes.Item) -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        queue.process(work, 2)
    first.ack()
    with next(loop_over) as second:
        assert second.data == b"coffee"


def test_dead_letters_and_other_queues_have_it(connect: Connect) -> None:
    client = connect()
    queue = client.priority_queue("/queue", max_attempts=1)
    queue.put("late", 2)
    queue.put("first", 1)
    seen: list[bytes] = []

    def fail(item: zkrecipes.Item) -> None:
        seen.append(item.data)
        if len(seen) == 2:
            queue.cancel()
        raise ValueError

    queue.process(fail)
    dead = queue.dead

    def take(item: zkrecipes.Item) -> None:
        seen.append(item.data)
        if len(seen) == 4:
            dead.cancel()

    dead.process(take)
    assert seen == [b"first", b"late"] * 2


async def nothing(item: Any) -> None: ...


def generates(item: Any) -> Any:
    yield


@pytest.mark.parametrize("work", [None, "work", nothing, generates])
def test_what_is_no_work_is_refused(client: zkrecipes.Client, work: Any) -> None:
    with pytest.raises(zkrecipes.InvalidType, match="work"):
        client.queue("/queue").process(work)


@pytest.mark.parametrize("concurrency", [0, -1, 1.5, "2", True, 10_001, sys.maxsize])
def test_how_many_has_to_be_a_number(client: zkrecipes.Client, concurrency: Any) -> None:
    queue = client.queue("/queue")
    with pytest.raises(zkrecipes.Invalid, match="concurrency"):
        queue.process(print, concurrency)

    async def body() -> None:
        async with aio.Client("embedded:/processing") as client:
            with pytest.raises(zkrecipes.Invalid, match="concurrency"):
                await client.queue("/queue").process(nothing, concurrency)

    run(body())


@pytest.mark.parametrize("concurrency", [1, 2])
def test_work_that_would_begin_later_ends_it(connect: Connect, concurrency: int) -> None:
    queue = connect().queue("/queue", max_attempts=1)
    queue.put("tea")
    with pytest.raises(zkrecipes.InvalidType, match="work"):
        queue.process(lambda item: nothing(item), concurrency)
    # It was not done.
    assert queue.dead.len() == 1


def test_it_is_refused_where_it_would_wait_for_itself(client: zkrecipes.Client) -> None:
    raised: list[BaseException] = []
    told = threading.Event()

    def tell(error: zkrecipes.Lost) -> None:
        try:
            client.queue("/queue").process(print, 2)
        except BaseException as error:
            raised.append(error)
        told.set()

    held = client.lock("/lock").acquire()
    held.on_lost(tell)
    client.nodes.delete(held.node)
    assert told.wait(30)
    assert isinstance(raised[0], zkrecipes.WouldDeadlock)


PROGRAM = """
import os, sys
import zkrecipes

with zkrecipes.Client(sys.argv[1]) as client:
    queue = client.queue("/queue")

    def work(item):
        # Several threads do: a line in one piece.
        os.write(1, b"begun\\n")
        os.read(0, 1)
        os.write(1, b"done\\n")

    try:
        queue.process(work, int(sys.argv[2]))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("concurrency", [1, 2])
def test_ctrl_c_ends_it(server: EmbeddedServer, concurrency: int) -> None:
    """In this thread the work itself is interrupted; threads finish what they have begun."""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", PROGRAM, server.connect_string, str(concurrency)]
    with zkrecipes.Client(server.connect_string) as client:
        queue = client.queue("/queue")
        queue.put_many([str(number) for number in range(concurrency)])
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        ) as child:
            assert child.stdout
            try:
                assert [child.stdout.readline() for _ in range(concurrency)] == ["begun\n"] * concurrency
                child.send_signal(signal.SIGINT)
                said, problems = child.communicate("\n" * concurrency if concurrency > 1 else None, 60)
            finally:
                child.kill()
            assert (child.returncode, problems) == (0, "")
        if concurrency > 1:
            assert (said, queue.len()) == ("done\n" * concurrency + "interrupted\n", 0)
        else:
            assert said == "interrupted\n"
            # Nobody has failed: it does not step aside.
            with queue.claim(0) as item:
                assert item.attempts == 2


FORKED = """
import os, sys
import zkrecipes

client = zkrecipes.Client(sys.argv[1])
queue = client.queue("/queue")
queue.put("tea")

def work(item):
    child = os.fork()
    if child == 0:
        try:
            queue.process(print, 2)
        except zkrecipes.Forked:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    queue.cancel()

queue.process(work, int(sys.argv[2]))
assert queue.len() == 0
client.close()
"""


@pytest.mark.parametrize("concurrency", ["1", "2"])
def test_a_forked_child_is_refused(server: EmbeddedServer, concurrency: str) -> None:
    command = [sys.executable, "-W", "error", "-W", "ignore:.*fork.*:DeprecationWarning", "-c", FORKED]
    done = subprocess.run(
        [*command, server.connect_string, concurrency], capture_output=True, text=True, timeout=60, env=environment()
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_of_several_errors_all_are_told(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    queue = connect().queue("/queue")
    queue.put_many(["0", "1", "2"])
    crowd = Crowd(3)

    def work(item: zkrecipes.Item) -> None:
        crowd.enter()
        # Two say the same.
        raise SystemExit(item.data.decode().replace("2", "1"))

    with pytest.raises(SystemExit) as raised:
        queue.process(work, 3)
    told = [str(record.exc_info[1]) for record in caplog.records if record.levelname == "ERROR" and record.exc_info]
    assert sorted([*told, str(raised.value)]) == ["0", "1"]


def test_a_second_ctrl_c_waits_for_no_work(server: EmbeddedServer) -> None:
    """Nor does the end of the process; others have the items then."""
    # It says so when the first interrupt is on its way: a second signal before that would interrupt in its place.
    heard = """
import signal, threading, time

def hear(number, frame):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=tell, daemon=True).start()
    signal.default_int_handler(number, frame)

def tell():
    while any(frame.f_code is hear.__code__ for frame in frames()):
        time.sleep(0.001)
    os.write(1, b"heard\\n")

def frames():
    frame = sys._current_frames().get(threading.main_thread().ident)
    while frame is not None:
        yield frame
        frame = frame.f_back

signal.signal(signal.SIGINT, hear)
"""
    program = PROGRAM.replace("\nwith ", heard + "\nwith ", 1)
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", program, server.connect_string, "2"]
    with zkrecipes.Client(server.connect_string) as client:
        queue = client.queue("/queue")
        queue.put_many(["one", "two"])
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        ) as child:
            assert child.stdout
            try:
                assert [child.stdout.readline() for _ in range(2)] == ["begun\n"] * 2
                child.send_signal(signal.SIGINT)
                assert child.stdout.readline() == "heard\n"
                child.send_signal(signal.SIGINT)
                assert child.stdout.readline() == "interrupted\n"
                assert child.wait(60) == 0
            finally:
                child.kill()
        items = [queue.claim(30) for _ in range(2)]
        assert {item.data for item in items} == {b"one", b"two"}
        for item in items:
            item.ack()
