"""One object, and many threads that use it at the same time. Without a GIL they really do; with one they change places
as often as they can."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import subprocess
import sys
import sysconfig
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zkrecipes
from conftest import Connect, contenders, eventually, has_gil
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer

THREADS = 8
ROUNDS = 10
LIMIT = 120


@pytest.fixture(autouse=True)
def places_are_changed() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*actions: Callable[[], object]) -> list[Any]:
    """Runs each on a thread of its own, all from the same moment on: what they answer. What one raises is raised."""
    start = threading.Barrier(len(actions))

    def run(action: Callable[[], object]) -> object:
        start.wait(LIMIT)
        return action()

    with ThreadPoolExecutor(len(actions)) as pool:
        running = [pool.submit(run, action) for action in actions]
        return [one.result(LIMIT) for one in running]


def repeated(action: Callable[[], object], rounds: int = ROUNDS) -> Callable[[], None]:
    def repeat() -> None:
        for _ in range(rounds):
            action()

    return repeat


def meanwhile(work: Callable[[], object], *others: Callable[[], object]) -> None:
    """Repeats each of the others, on a thread of its own, until the work is done or has failed."""
    over = threading.Event()

    def do() -> None:
        try:
            work()
        finally:
            over.set()

    def until_over(action: Callable[[], object]) -> Callable[[], None]:
        def repeat() -> None:
            while not over.is_set():
                action()

        return repeat

    together(do, *map(until_over, others))


class Inside:
    """Counts who is inside, and the most that were."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.seen: set[tuple[str, ...]] = set()
        self.entered = 0

    @contextlib.contextmanager
    def __call__(self, kind: str = "holder") -> Iterator[None]:
        with self._lock:
            self.entered += 1
            self._now[kind] += 1
            self.most |= self._now
            self.seen.add(tuple(sorted(+self._now)))
        time.sleep(0)
        yield
        with self._lock:
            self._now[kind] -= 1


IMPORTED = """
import sys, zkrecipes, zkrecipes.aio, zkrecipes.testing
print(sys._is_gil_enabled())
"""


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="of a free-threaded interpreter")
def test_the_library_needs_no_gil() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    environment["PYTHONPATH"] = str(Path(zkrecipes.__file__).parents[1])
    command = [sys.executable, "-P", "-W", "error", "-c", IMPORTED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")
    assert not has_gil() or os.environ.get("PYTHON_GIL") == "1"


def test_one_handle_of_a_lock(client: zkrecipes.Client) -> None:
    lock, inside, total = client.lock("/lock"), Inside(), [0]

    def use() -> None:
        with lock as held, inside():
            assert held.is_held
            assert held.fencing_token
            before = total[0]
            time.sleep(0)
            total[0] = before + 1

    together(*[repeated(use)] * THREADS)
    assert inside.most == {"holder": 1}
    assert total == [THREADS * ROUNDS]
    assert contenders(client, "/lock") == 0


def test_a_reentrant_handle(client: zkrecipes.Client) -> None:
    lock, inside = client.lock("/lock", reentrant=True), Inside()

    def use() -> None:
        with lock as outer, inside(), lock as inner:
            assert outer.is_held
            assert inner.is_held

    together(*[repeated(use)] * THREADS)
    assert inside.entered == THREADS * ROUNDS
    assert not lock.is_held
    assert contenders(client, "/lock") == 0


def test_handles_that_pass_their_turn_on(client: zkrecipes.Client) -> None:
    inside = Inside()

    def use() -> None:
        with client.lock("/lock", local_handoff=5), inside():
            pass

    together(*[repeated(use)] * THREADS)
    assert inside.most == {"holder": 1}
    assert inside.entered == THREADS * ROUNDS


def test_one_read_write_lock(client: zkrecipes.Client) -> None:
    both, inside = client.read_write_lock("/both"), Inside()

    def read() -> None:
        with client.read_write_lock("/both").read, inside("reader"):
            pass

    def write() -> None:
        with both.write as held, inside("writer"):
            assert held.is_held
        assert both.write is both.write
        assert both.read is both.read

    together(*[repeated(read)] * 4, *[repeated(write)] * 4)
    assert inside.most["writer"] == 1
    assert ("reader", "writer") not in inside.seen


def test_one_semaphore(client: zkrecipes.Client) -> None:
    semaphore, inside = client.semaphore("/permits", 3), Inside()

    def use() -> None:
        with semaphore, inside():
            pass

    together(*[repeated(use)] * THREADS)
    assert inside.most["holder"] <= 3
    assert inside.entered == THREADS * ROUNDS


def test_one_queue(client: zkrecipes.Client) -> None:
    queue = client.queue("/queue")
    done: list[bytes] = []

    def put(number: int) -> Callable[[], None]:
        def all_of_them() -> None:
            for item in range(ROUNDS):
                queue.put(f"{number} {item}")

        return all_of_them

    def get() -> None:
        done.append(queue.get(0.2))

    def claim() -> None:
        with queue.claim(0.2) as item:
            data = item.data
        done.append(data)

    def claim_many() -> None:
        items = queue.claim_many(3, 0.2)
        data = [item.data for item in items]
        queue.ack_many(items)
        done.extend(data)

    def until_all_are_done(take: Callable[[], None]) -> Callable[[], None]:
        def go_on() -> None:
            while len(done) < 4 * ROUNDS:
                with contextlib.suppress(zkrecipes.Timeout):
                    take()

        return go_on

    together(*map(put, range(4)), *map(until_all_are_done, [get, get, claim, claim, claim_many]))
    assert sorted(done) == sorted(f"{number} {item}".encode() for number in range(4) for item in range(ROUNDS))
    assert queue.len() == 0


def test_workers_of_one_queue(client: zkrecipes.Client) -> None:
    queue = client.queue("/queue")
    queue.put_many([str(number) for number in range(THREADS * ROUNDS)])
    done: list[bytes] = []

    def work(item: zkrecipes.Item) -> None:
        done.append(item.data)
        if len(done) == THREADS * ROUNDS:
            queue.cancel()

    queue.process(work, THREADS)
    assert sorted(map(int, done)) == list(range(THREADS * ROUNDS))


def test_one_counter(client: zkrecipes.Client) -> None:
    counter = client.counter("/counter")
    together(*[repeated(lambda: counter.add(1))] * THREADS, repeated(counter.get))
    assert counter.get() == THREADS * ROUNDS


def test_one_election(client: zkrecipes.Client) -> None:
    election, inside = client.election("/election"), Inside()

    def campaign() -> None:
        with election as leadership, inside():
            signals = together(*[lambda: leadership.signal] * 3)
            assert all(signal is signals[0] and not signal.is_set() for signal in signals)

    together(*[repeated(campaign, 3)] * 4, repeated(election.candidates))
    assert inside.most == {"holder": 1}
    assert inside.entered == 12


def test_a_config_and_its_feed(client: zkrecipes.Client) -> None:
    config = client.config("/config")
    feed, seen = config.watch(), []

    def follow() -> None:
        for value in feed:
            seen.append(value)

    def change() -> None:
        config.update(lambda before: str(int(before or b"0") + 1))

    def change_and_close() -> None:
        together(*[repeated(change, 5)] * 4)
        eventually(lambda: any(value and value.value == b"20" for value in seen))
        feed.close()

    together(follow, follow, change_and_close)
    assert (now := config.get())
    assert now.value == b"20"


def test_a_client_that_is_closed_meanwhile(connect: Connect) -> None:
    for _ in range(5):
        client = connect()
        lock, queue, counter = client.lock("/lock"), client.queue("/queue"), client.counter("/counter")
        begun = threading.Semaphore(0)

        def until_closed(action: Callable[[], object], begun: threading.Semaphore = begun) -> Callable[[], None]:
            def go_on() -> None:
                begun.release(2)
                while True:
                    try:
                        action()
                    except zkrecipes.Error as error:
                        assert not isinstance(error, zkrecipes.InternalError)  # noqa: PT017
                        return

            return go_on

        def use(lock: zkrecipes.Lock = lock) -> None:
            with lock:
                pass

        def close(client: zkrecipes.Client = client, begun: threading.Semaphore = begun) -> None:
            for _ in range(5):
                begun.acquire()
            client.close(10)

        actions: list[Callable[[], object]] = [use, use, queue.get, lambda c=counter: c.add(1), lock.contenders]  # type: ignore[misc]
        together(*map(until_closed, actions), close, close)
        assert client.state == "closed"


def test_acquires_that_are_cancelled_meanwhile(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")

    def acquire() -> None:
        with pytest.raises(zkrecipes.Cancelled):
            lock.acquire()

    def acquire_all() -> None:
        together(*[repeated(acquire)] * THREADS)

    with client.lock("/lock"):
        meanwhile(acquire_all, lock.cancel)
    with lock as held:
        assert held.is_held
    assert contenders(client, "/lock") == 0


def test_one_acquisition_that_all_release(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")

    def release(held: zkrecipes.Held) -> None:
        with contextlib.suppress(zkrecipes.NotHeld):
            held.release()

    for _ in range(ROUNDS):
        held = lock.acquire()
        assert held
        together(*[lambda held=held: release(held)] * THREADS)
        assert not held.is_held
    assert contenders(client, "/lock") == 0


def test_callbacks_that_come_and_go(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client:
        lock = client.lock("/lock")
        after_the_end: list[str] = []

        def listen() -> None:
            has_ended = False

            def callback(state: zkrecipes.State) -> None:
                if has_ended:
                    after_the_end.append(state)

            unsubscribe = client.on_state(callback)
            of_waits = lock.on_wait(lambda _: None)
            together(unsubscribe, unsubscribe)
            has_ended = True
            of_waits()

        def disturb() -> None:
            server.drop_connections()
            eventually(lambda: client.state == "connected")

        meanwhile(lambda: together(*[repeated(listen, 20)] * 4), disturb)
        assert after_the_end == []


def test_a_loss_is_told_to_each_who_listens(server: EmbeddedServer) -> None:
    with zkrecipes.Client(server.connect_string) as client:
        for number in range(5):
            told: list[str | None] = []
            held = client.lock(f"/lock-{number}").acquire()

            def listen(held: zkrecipes.Held = held, told: list[str | None] = told) -> None:
                held.on_lost(lambda error: told.append(error.reason))

            def lose(held: zkrecipes.Held = held) -> None:
                client.nodes.delete(held.node)

            together(*[listen] * THREADS, lose)
            eventually(partial(lambda told: len(told) == THREADS, told))
            assert set(told) == {"deleted"}


def test_what_is_made_on_one_thread_and_dropped_on_another(client: zkrecipes.Client) -> None:
    made: list[Any] = []
    gone: list[weakref.ref[Any]] = []

    def make() -> None:
        for number in range(30):
            lock = client.lock(f"/lock-{number}")
            lock.on_wait(lambda _: None)
            gone.append(weakref.ref(lock))
            with lock as held:
                gone.append(weakref.ref(held))
            made.append((lock, held, client.queue("/queue"), client.config("/config").watch()))

    def drop() -> None:
        with contextlib.suppress(IndexError):
            made.pop()
        for reference in gone.copy():
            one = reference()
            assert one is None or one.path.startswith("/lock")

    def make_all() -> None:
        together(*[make] * 4, repeated(gc.collect))

    meanwhile(make_all, drop, drop)
    made.clear()
    gc.collect()
    eventually(lambda: not any(reference() is not None for reference in gone))


def test_what_is_asked_while_others_work(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")

    def use() -> None:
        with lock:
            pass

    def ask() -> None:
        assert "/lock" in repr(lock)
        assert repr(client)
        assert client.metrics.requests
        assert client.state == "connected"
        with contextlib.suppress(zkrecipes.NotHeld):
            lock.fencing_token  # noqa: B018

    meanwhile(lambda: together(*[repeated(use)] * 4), ask, ask)


def test_how_much_the_logger_hears_is_what_was_set_last(client: zkrecipes.Client) -> None:
    logger = logging.getLogger("zkrecipes")
    before, told = logger.level, logging.Handler()
    records: list[logging.LogRecord] = []
    told.emit = records.append  # type: ignore[method-assign,assignment]
    logger.addHandler(told)
    try:
        for level in (logging.DEBUG, logging.CRITICAL) * 5:
            together(*[repeated(lambda: logger.setLevel(logging.INFO))] * 3, repeated(lambda: logger.isEnabledFor(10)))
            logger.setLevel(level)
        # The last one was not to hear of this.
        with client.lock("/lock"):
            pass
        logger.setLevel(logging.DEBUG)
        records.clear()
        with client.lock("/lock"):
            eventually(lambda: records)
    finally:
        logger.setLevel(before)
        logger.removeHandler(told)


def test_options_that_are_changed_meanwhile() -> None:
    retry: dict[str, float] = {"base": 0.1}

    def change() -> None:
        retry["max"] = 1.0
        retry.pop("max", None)

    def use() -> None:
        aio.Client("embedded:", retry=retry)  # type: ignore[arg-type]

    meanwhile(repeated(use, 5000), change, change)


@pytest.mark.skipif(not has_gil() and sys.version_info < (3, 14), reason="CPython's own bytearray is not safe there")
def test_data_that_is_changed_meanwhile(client: zkrecipes.Client) -> None:
    data = bytearray(b"x" * 100)
    client.nodes.ensure("/data")

    def change() -> None:
        data.extend(b"x" * 1000)
        del data[100:]

    def use() -> None:
        client.nodes.set("/data", data)  # type: ignore[arg-type]
        assert set(client.nodes.get("/data")[0]) == {ord("x")}

    meanwhile(repeated(use, 50), change, change)


async def use_a_loop(hosts: str) -> None:
    async with aio.Client(hosts) as client:
        async with client.lock("/loops") as held:
            assert held.is_held
        counter = client.counter("/counter")
        await asyncio.gather(*(counter.add(1) for _ in range(3)))
        waiting = asyncio.ensure_future(client.queue("/queue").get())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


def test_loops_on_many_threads(hosts: str, client: zkrecipes.Client) -> None:
    together(*[repeated(lambda: asyncio.run(use_a_loop(hosts)), 5)] * THREADS)
    assert client.counter("/counter").get() == THREADS * 5 * 3


async def hear_of_an_end(hosts: str, listeners: int = 200) -> list[object]:
    """With coroutines that run at the same time; what failed."""
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, failure: failures.append(failure))
    heard: list[object] = []

    async def callback(state: object) -> None:
        await asyncio.sleep(0)
        heard.append(state)

    async with aio.Client(hosts) as client:
        for _ in range(listeners):
            client.on_state(callback)
    while len(heard) + len(failures) < listeners:
        await asyncio.sleep(0)
    return failures


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
def test_callbacks_of_loops_on_many_threads(hosts: str) -> None:
    for _ in range(5):
        assert together(*[lambda: asyncio.run(hear_of_an_end(hosts))] * THREADS) == [[]] * THREADS


def test_loops_that_come_and_go_disturb_no_other(hosts: str) -> None:
    """Each looks through those that have closed when it begins."""

    async def begin() -> None:
        client = aio.Client(hosts)
        with contextlib.suppress(zkrecipes.Error):
            await client.close()

    together(*[repeated(lambda: asyncio.run(begin()), 50)] * THREADS)


def test_clients_that_connect_and_close_at_the_same_time(hosts: str) -> None:
    def use() -> None:
        with zkrecipes.Client(hosts) as client, client.lock("/lock"):
            pass

    together(*[repeated(use, 5)] * THREADS)
