"""`queue.process` of asyncio, and the bodies that lose the item that they work on."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from typing import Any

import pytest
import zkrecipes
from interpreters import environment
from test_aio import run
from test_processing import generates, of_items
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer


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
    assert of_items(caplog) == ["lost"]


def test_work_that_ends_although_its_claim_was_lost_is_no_failure(
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
    assert of_items(caplog) == ["lost"]


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

            async def alone() -> aio.Item:
                return await queue.claim(10)

            for take in (alone, of_several, of_a_loop):
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


def test_no_error_of_a_worker_is_lost(hosts: str, caplog: pytest.LogCaptureFixture) -> None:
    """Not that of one which has ended when the caller is cancelled, nor that of work which is cancelled."""

    async def body() -> None:
        async with aio.Client(hosts) as client:
            queue = client.queue("/queue")
            await queue.put_many(["slow", "wrong"])
            failed = asyncio.Event()

            def workers() -> list[Any]:
                return [task for task in asyncio.all_tasks() if getattr(task.get_coro(), "__name__", "") == "_serve"]

            def work(item: aio.Item) -> Any:
                if item.data == b"slow":
                    return slow()
                failed.set()
                return generates(item)

            async def slow() -> None:
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    raise ValueError("in the cleanup") from None

            processing = asyncio.ensure_future(queue.process(work, 2))
            await failed.wait()
            while len(workers()) > 1:
                await asyncio.sleep(0)
            processing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await processing

    run(body())
    told = [record.exc_info[0] for record in caplog.records if record.levelname == "ERROR" and record.exc_info]
    assert sorted(kind.__name__ for kind in told if kind) == ["InvalidType", "ValueError"]


def test_of_several_errors_all_are_told(hosts: str, caplog: pytest.LogCaptureFixture) -> None:
    class Stop(BaseException):
        pass

    async def body() -> None:
        async with aio.Client(hosts) as client:
            queue = client.queue("/queue")
            await queue.put_many(["0", "1", "2", "3"])
            count = 0
            full = asyncio.Event()

            async def work(item: aio.Item) -> None:
                nonlocal count
                count += 1
                if count == 4:
                    full.set()
                await full.wait()
                # Two say the same.
                raise Stop("three" if item.data == b"3" else item.data.decode().replace("2", "1"))

            with pytest.raises(Stop):
                await queue.process(work, 4)

    run(body())
    told = [str(record.exc_info[1]) for record in caplog.records if record.levelname == "ERROR" and record.exc_info]
    assert (len(told), len(set(told))) == (2, 2)
