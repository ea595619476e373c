"""`queue.process`, on both faces: items that are worked on as they come."""

from __future__ import annotations

import asyncio
import contextlib
import logging
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
    assert (record.name, record.levelno, "/queue" in record.getMessage()) == ("zkrecipes", logging.WARNING, True)


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


def test_a_claim_that_was_lost_is_told_and_others_go_on(
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
    assert any("attempt 1" in record.getMessage() for record in caplog.records)


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
    # It steps aside for nobody.
    queue.claim(0).ack()


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


@pytest.mark.parametrize("concurrency", [0, -1, 1.5, "2", True])
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


# --- asyncio


@pytest.mark.parametrize("concurrency", [1, 3])
def test_tasks_work_at_the_same_time(hosts: str, concurrency: int) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            queue = client.queue("/queue")
            await queue.put_many([str(number) for number in range(9)])
            inside = most = done = 0
            full = asyncio.Event()

            async def work(item: aio.Item) -> None:
                nonlocal inside, most, done
                inside += 1
                most = max(most, inside)
                if inside == concurrency:
                    full.set()
                await full.wait()
                await asyncio.sleep(0)
                inside -= 1
                done += 1
                if done == 9:
                    queue.cancel()

            await queue.process(work, concurrency)
            assert (most, done, await queue.len()) == (concurrency, 9, 0)

    run(body())


def test_plain_functions_and_failures_on_a_loop(hosts: str, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            queue = client.queue("/queue", max_attempts=1)
            await queue.put_many(["bad", "cancelled", "good"])

            def work(item: aio.Item) -> Any:
                if item.data == b"bad":
                    raise ValueError("nobody lives there")
                if item.data == b"cancelled":
                    # Of what it awaits, and not of the task that works.
                    waited_for = asyncio.get_running_loop().create_future()
                    waited_for.cancel()
                    return waited_for
                queue.cancel()
                return None

            await queue.process(work)
            letters = await queue.dead.items()
            assert [(letter.data, letter.reason) for letter in letters] == [
                (b"bad", "ValueError: nobody lives there"),
                (b"cancelled", "RuntimeError: the work was cancelled, and not by its queue"),
            ]
            assert await queue.len() == 0

    run(body())
    assert len([record for record in caplog.records if record.exc_info]) == 2


def test_cancelling_the_task_cancels_what_was_begun(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            queue = client.queue("/queue")
            await queue.put_many(["one", "two", "three"])
            ended: list[str] = []
            begun = asyncio.Semaphore(0)

            async def work(item: aio.Item) -> None:
                begun.release()
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    ended.append(item.data.decode())
                    if item.data == b"one":
                        # It finishes all the same, and so is done.
                        return
                    raise

            processing = asyncio.ensure_future(queue.process(work, 2))
            for _ in range(2):
                await begun.acquire()
            processing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await processing
            assert sorted(ended) == ["one", "two"]
            # Nobody failed: they come again at once, in their order.
            items = await queue.claim_many(3, 0)
            assert [(item.data, item.attempts) for item in items] == [(b"two", 2), (b"three", 1)]
            for item in items:
                await item.ack()

    run(body())


def test_cancel_drains_on_a_loop(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            queue = client.queue("/queue")
            await queue.put_many(["one", "two", "three"])
            done: list[bytes] = []

            async def work(item: aio.Item) -> None:
                queue.cancel()
                await asyncio.sleep(0.05)
                done.append(item.data)

            await queue.process(work)
            assert done == [b"one"]
            assert await queue.items() == [b"two", b"three"]

    run(body())


def test_a_lost_claim_cancels_its_task_alone(server: EmbeddedServer, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            queue = client.queue("/queue")
            await queue.put("tea")
            seen: list[str] = []

            async def work(item: aio.Item) -> None:
                if item.attempts > 1:
                    seen.append("again")
                    queue.cancel()
                    return
                server.expire(client.session_id)
                try:
                    await asyncio.sleep(60)
                finally:
                    seen.append("cancelled")

            await queue.process(work)
            assert seen == ["cancelled", "again"]
            assert await queue.len() == 0

    run(body())
    assert any("attempt 1" in record.getMessage() for record in caplog.records)


def test_work_that_ends_although_its_claim_was_lost_is_told(
    server: EmbeddedServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            queue = client.queue("/queue")
            await queue.put("tea")

            async def work(item: aio.Item) -> None:
                if item.attempts == 1:
                    server.expire(client.session_id)
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.sleep(60)
                else:
                    queue.cancel()

            await queue.process(work)
            assert await queue.len() == 0

    run(body())
    assert any("attempt 1" in record.getMessage() for record in caplog.records)


def test_closing_the_client_ends_it(hosts: str) -> None:
    async def body() -> None:
        client = await aio.Client.connect(hosts)
        queue = client.queue("/queue")
        await queue.put("tea")
        begun = asyncio.Event()

        async def work(item: aio.Item) -> None:
            begun.set()
            await asyncio.sleep(60)

        processing = asyncio.ensure_future(queue.process(work, 2))
        await begun.wait()
        await client.close()
        await processing
        with pytest.raises(aio.Closed):
            await queue.process(work)

    run(body())


def test_work_that_cannot_be_is_refused_on_a_loop(hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            queue = client.queue("/queue", max_attempts=1)
            for wrong in (None, "work", generates):
                with pytest.raises(aio.InvalidType, match="work"):
                    await queue.process(wrong)  # type: ignore[arg-type]
            await queue.put("tea")
            with pytest.raises(aio.InvalidType, match="work"):
                await queue.process(lambda item: generates(item), 2)
            assert await queue.dead.len() == 1

    run(body())


ABANDONED = """
import asyncio, sys
from zkrecipes import aio

async def main():
    client = await aio.Client.connect(sys.argv[1])
    queue = client.queue("/queue")
    await queue.put_many(["one", "two"])
    begun = asyncio.Event()

    async def work(item):
        begun.set()
        await asyncio.sleep(60)

    global processing
    processing = asyncio.ensure_future(queue.process(work, 2))
    await begun.wait()

loop = asyncio.new_event_loop()
loop.set_exception_handler(lambda *_: None)
loop.run_until_complete(main())
{end}
"""
ENDS = {
    "the loop closes": "loop.close(); del processing; import gc; gc.collect()",
    "the process ends": "",
    "all tasks are cancelled": """
for task in asyncio.all_tasks(loop): task.cancel()
loop.run_until_complete(asyncio.gather(*asyncio.all_tasks(loop), return_exceptions=True))
loop.close()
""",
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_loop_that_ends_leaves_nothing_behind(server: EmbeddedServer, end: str) -> None:
    command = [sys.executable, "-X", "dev", "-c", ABANDONED.format(end=end), server.connect_string]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment())
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    with zkrecipes.Client(server.connect_string) as client:
        queue = client.queue("/queue")
        items = queue.claim_many(2, 10)
        while len(items) < 2:
            items += queue.claim_many(1, 10)
        assert sorted(item.data for item in items) == [b"one", b"two"]


def test_items_cancel_the_body_that_lost_them(server: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            queue = client.queue("/queue", cancel_on_lost=True)
            await queue.put_many(["one", "two", "three"])

            async def of_several() -> aio.Item:
                (item,) = await queue.claim_many(1, 10)
                return item

            async def of_a_loop() -> aio.Item:
                return await items.__anext__()

            items = queue.__aiter__()
            for take in (lambda: queue.claim(10), of_several, of_a_loop):
                reached: list[str] = []
                with pytest.raises(aio.Lost) as caught:
                    async with await take() as item:
                        server.expire(client.session_id)
                        try:
                            await asyncio.sleep(30)
                        finally:
                            reached.append("cleanup")
                        reached.append("end")
                assert (caught.value.reason, reached, item.is_held) == ("session", ["cleanup"], False)
                await asyncio.sleep(0)
            # Without a loss nothing is different.
            async with await queue.claim(10) as item:
                await item.verify()
            with pytest.raises(ZeroDivisionError):
                async with await queue.claim(10):
                    1 / 0  # noqa: B018

    run(body())


def test_without_it_the_body_that_lost_its_item_goes_on(server: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            for queue in (client.queue("/queue"), client.priority_queue("/other", cancel_on_lost=False)):
                await (queue.put("tea") if isinstance(queue, aio.Queue) else queue.put("tea", 1))
                with pytest.raises(aio.Lost):
                    async with await queue.claim(10) as item:
                        lost = asyncio.Event()
                        item.on_lost(lambda error, lost=lost: lost.set())  # type: ignore[misc]
                        server.expire(client.session_id)
                        await lost.wait()
                        await asyncio.sleep(0.01)
            for wrong in (None, 1, "yes"):
                with pytest.raises(aio.InvalidType, match="cancel_on_lost"):
                    client.queue("/queue", cancel_on_lost=wrong)  # type: ignore[arg-type]
            with pytest.raises(aio.Invalid, match="colour"):
                client.delay_queue("/queue", colour="red")  # type: ignore[arg-type]

    run(body())
