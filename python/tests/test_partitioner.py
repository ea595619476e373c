"""`partitioner.run` of both faces: how it ends, whatever ends it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
import zkrecipes
from conftest import Connect, eventually
from interpreters import environment
from test_aio import run
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer

PROGRAM = """
import os, sys, threading
import zkrecipes

never = threading.Event()

def heeds(partition):
    moves = threading.Event()
    partition.on_revoke(moves.set)
    os.write(1, b"begun\\n")
    moves.wait()
    os.write(1, b"asked\\n")

def is_deaf(partition):
    os.write(1, b"begun\\n")
    never.wait()

with zkrecipes.Client(sys.argv[1]) as client:
    partitioner = client.partitioner("/partitions", 2, drain=60)
    if sys.argv[3:] == ["leaves"]:
        threading.Timer(0, lambda: (sys.stdin.readline(), partitioner.leave())).start()
    try:
        partitioner.run(globals()[sys.argv[2]])
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@contextlib.contextmanager
def working(server: EmbeddedServer, program: str, *arguments: str, begun: int = 2) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", program, server.connect_string, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as child:
        assert child.stdout
        try:
            assert [child.stdout.readline() for _ in range(begun)] == ["begun\n"] * begun
            yield child
        finally:
            child.kill()


def owned(client: zkrecipes.Client, path: str = "/partitions", partitions: int = 2) -> int:
    """How many partitions somebody has."""
    return sum(owner is not None for owner in client.partitioner(path, partitions).owners().values())


def ended(child: subprocess.Popen[str]) -> str:
    said, problems = child.communicate(timeout=60)
    assert (child.returncode, problems) == (0, "")
    return said


def interrupt_until_it_ends(child: subprocess.Popen[str]) -> None:
    for _ in range(2):
        child.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=10)
            return


def test_ctrl_c_asks_for_the_partitions_and_ends_the_run(server: EmbeddedServer) -> None:
    with working(server, PROGRAM, "heeds") as child:
        child.send_signal(signal.SIGINT)
        assert ended(child) == "asked\nasked\ninterrupted\n"
    with zkrecipes.Client(server.connect_string) as client:
        assert owned(client) == 0


def test_a_second_ctrl_c_waits_for_no_work(server: EmbeddedServer) -> None:
    """Nor for the time for draining; and the end of the process does not, either."""
    with zkrecipes.Client(server.connect_string) as client, working(server, PROGRAM, "is_deaf") as child:
        child.send_signal(signal.SIGINT)
        # It leaves, and is waiting for its work.
        eventually(lambda: not client.partitioner("/partitions", 2).members())
        assert (owned(client), child.poll()) == (2, None)
        child.send_signal(signal.SIGINT)
        assert ended(child) == "interrupted\n"
        eventually(lambda: owned(client) == 0)


def test_ctrl_c_while_it_waits_for_its_threads_ends_it(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client, working(server, PROGRAM, "is_deaf", "leaves") as child:
        assert child.stdin
        child.stdin.write("\n")
        child.stdin.flush()
        eventually(lambda: not client.partitioner("/partitions", 2).members())
        # Where it has not yet heard that it has left, the first one asks for that.
        interrupt_until_it_ends(child)
        assert ended(child) == "interrupted\n"
        eventually(lambda: owned(client) == 0)


def test_the_process_may_end_with_it_running(server: EmbeddedServer) -> None:
    program = (
        PROGRAM[: PROGRAM.index("    try:")]
        + """
    work = globals()[sys.argv[2]]
    threading.Thread(target=partitioner.run, args=(work,), daemon=True).start()
    sys.stdin.readline()
"""
    )
    with zkrecipes.Client(server.connect_string) as client, working(server, program, "is_deaf") as child:
        assert child.communicate("\n", 60) == ("", "")
        assert child.returncode == 0
        eventually(lambda: owned(client) == 0)


def test_what_work_raises_is_told_and_lets_go(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    client, other = connect(), connect()
    partitioner = client.partitioner("/partitions", 1)
    times: list[int] = []

    def work(partition: zkrecipes.Held) -> None:
        times.append(1)
        if len(times) == 1:
            raise SystemExit(3)
        moves = threading.Event()
        partition.on_revoke(moves.set)
        threading.Thread(target=partitioner.leave).start()
        assert moves.wait(30)

    partitioner.run(work)
    assert (len(times), owned(other, partitions=1)) == (2, 0)
    eventually(lambda: any("begun again" in record.getMessage() for record in caplog.records))


def test_cancelling_it_while_it_waits_for_its_tasks_cancels_them(server: EmbeddedServer) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            partitioner = client.partitioner("/partitions", 2, drain=60)
            begun, cleaning, ended = (asyncio.Semaphore(0) for _ in range(3))

            async def work(partition: aio.Held) -> None:
                begun.release()
                try:
                    await asyncio.sleep(60)
                finally:
                    # Cancelled once more meanwhile, it is waited for all the same.
                    cleaning.release()
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.Event().wait()
                    assert partition.is_held
                    ended.release()

            running = asyncio.ensure_future(partitioner.run(work))
            for _ in range(2):
                await begun.acquire()
            leaving = asyncio.ensure_future(partitioner.leave())
            while await partitioner.members():
                await asyncio.sleep(0)
            running.cancel()
            for _ in range(2):
                await cleaning.acquire()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await leaving
            assert not ended.locked()
            owners = await client.partitioner("/partitions", 2).owners()
            assert set(owners.values()) == {None}

    run(body())


ABANDONED = """
import asyncio, sys
from zkrecipes import aio

async def main():
    client = await aio.Client.connect(sys.argv[1])
    begun = asyncio.Semaphore(0)

    async def work(partition):
        begun.release()
        await asyncio.sleep(60)

    global running
    running = asyncio.ensure_future(client.partitioner("/partitions", 2, drain=60).run(work))
    for _ in range(2):
        await begun.acquire()

loop = asyncio.new_event_loop()
loop.set_exception_handler(lambda *_: None)
loop.run_until_complete(main())
{end}
"""
ENDS = {
    "the loop closes": "loop.close(); del running; import gc; gc.collect()",
    "all tasks are cancelled": """
for task in asyncio.all_tasks(loop): task.cancel()
loop.run_until_complete(asyncio.gather(*asyncio.all_tasks(loop), return_exceptions=True))
loop.close()
""",
    "the loop closes while it cancels its tasks": """
running.cancel()
loop.call_soon(loop.stop)
loop.run_forever()
loop.close()
del running
import gc; gc.collect()
""",
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_loop_that_ends_leaves_nothing_behind(server: EmbeddedServer, end: str) -> None:
    command = [sys.executable, "-X", "dev", "-c", ABANDONED.format(end=end), server.connect_string]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment())
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    with zkrecipes.Client(server.connect_string) as client:
        eventually(lambda: owned(client) == 0)
