"""Children that are forked from a process that uses the library: each connects for itself, whatever started it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zkrecipes
from conftest import contenders, eventually
from zkrecipes import aio

# Python 3.12 and later warn about any fork of a process with threads.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

PACKAGES = str(Path(zkrecipes.__file__).parents[1])

SERVER = """
import sys
from zkrecipes.testing import EmbeddedServer
with EmbeddedServer(tick=0.05) as server:
    print(server.connect_string, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def hosts() -> Iterator[str]:
    """A server in a process of its own."""
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdin
        assert process.stdout
        yield process.stdout.readline().strip()
        process.stdin.close()


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PYTHONPATH": PACKAGES, **more}


parents: zkrecipes.Client | None = None
"""A client of the module, as an application has one: a forked child has a copy."""

parents_lock: zkrecipes.Lock | None = None
hosts_of_all = ""
own: zkrecipes.Client | None = None


def connect_own() -> None:
    """What a worker does when it starts."""
    global own
    own = zkrecipes.Client(hosts_of_all)


def take(hosts: str) -> tuple[int, int]:
    """The token of a lock that is taken for a moment, through a client of this process; and which process that is."""
    if parents is not None and parents.state != "connected":
        with pytest.raises(zkrecipes.Forked):
            parents.lock("/lock")
    with zkrecipes.Client(hosts) as client:
        assert client.lock("/parents").acquire(blocking=False) is None
        with client.lock("/lock") as held:
            held.verify()
            return held.fencing_token, os.getpid()


def take_with_own(_: object) -> tuple[int, int]:
    assert own is not None
    with own.lock("/lock") as held:
        return held.fencing_token, os.getpid()


@pytest.fixture
def parent(hosts: str) -> Iterator[zkrecipes.Held]:
    """What the parent holds; it does so in the end, too."""
    global parents, parents_lock, hosts_of_all
    with zkrecipes.Client(hosts) as client:
        parents, hosts_of_all = client, hosts
        parents_lock = client.lock("/parents")
        held = parents_lock.acquire()
        assert held
        session, lost = client.session_id, threading.Event()
        held.on_lost(lambda _: lost.set())
        yield held
        held.verify()
        assert held.is_held
        assert not lost.is_set()
        assert (client.session_id, client.state) == (session, "connected")
        # Nothing of the children is left, and the parent's client works.
        eventually(lambda: contenders(client, "/lock") == 0)
        assert contenders(client, "/parents") == 1
        with client.lock("/lock"):
            pass
    parents = parents_lock = None


def in_child(body: Callable[[], object]) -> str:
    """What `body` answers in a child of os.fork."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            sender.send(repr(body()))
        except BaseException as error:
            sender.send(f"{type(error).__name__}: {error}")
        finally:
            os._exit(0)
    if not receiver.poll(20):
        os.kill(child, signal.SIGKILL)
        pytest.fail("the child hangs")
    os.waitpid(child, 0)
    said = receiver.recv()
    assert isinstance(said, str)
    return said


def test_os_fork(hosts: str, parent: zkrecipes.Held) -> None:
    said = [in_child(lambda: take(hosts)[0]) for _ in range(3)]
    tokens = [int(token) for token in said]
    assert sorted(set(tokens)) == tokens


def test_a_child_of_a_child(hosts: str, parent: zkrecipes.Held) -> None:
    def child() -> str:
        with zkrecipes.Client(hosts) as client, client.lock("/childs") as held:

            def grandchild() -> int:
                with pytest.raises(zkrecipes.Forked):
                    held.verify()
                return take(hosts)[0]

            said = in_child(grandchild)
            held.verify()
            return said

    assert int(in_child(child).strip("'")) > 0


def test_what_a_child_drops_is_its_parents(hosts: str, parent: zkrecipes.Held) -> None:
    assert parents
    feed = parents.config("/config").watch()
    assert next(feed) is None
    unsubscribe = parents.on_state(print)
    lock, dropped = parents.lock("/heard"), multiprocessing.Value("i", 0)

    class Kept:
        def __del__(self) -> None:
            dropped.value += 1

    kept = Kept()
    lock.on_wait(lambda progress, kept=kept: None)  # type: ignore[misc]
    del kept
    every: list[object] = [
        lock,
        feed,
        parents.queue("/queue"),
        parents.election("/election"),
        parents.nodes.transaction(),
        parent.guarded(),
    ]

    def child() -> int:
        global parents, parents_lock
        nonlocal lock
        assert "not held" in repr(parent)
        unsubscribe()
        parents = parents_lock = None
        every.clear()
        del lock
        gc.collect()
        return take(hosts)[0]

    assert int(in_child(child)) > 0
    assert dropped.value == 0, "what a callback keeps is the parent's"
    del lock
    every.clear()
    gc.collect()
    assert dropped.value == 1
    parents.config("/config").set("now")
    changed = next(feed)
    assert changed is not None
    assert changed.value == b"now"
    feed.close()


def test_a_child_forked_by_a_thread_while_others_are_busy(hosts: str, parent: zkrecipes.Held) -> None:
    over = threading.Event()

    def work(of: int) -> None:
        assert parents
        lock = parents.lock(f"/busy-{of}")
        while not over.is_set():
            with lock as held:
                held.on_lost(print)
            with zkrecipes.Client(hosts) as client:
                client.nodes.exists("/")

    threads = [threading.Thread(target=work, args=(of,)) for of in range(4)]
    for thread in threads:
        thread.start()
    try:
        with concurrent.futures.ThreadPoolExecutor(1) as forker:
            said = [forker.submit(in_child, lambda: take(hosts)[0]).result() for _ in range(10)]
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert len({int(token) for token in said}) == 10


def test_asyncio(hosts: str, parent: zkrecipes.Held) -> None:
    loop = asyncio.new_event_loop()
    client = loop.run_until_complete(aio.Client.connect(hosts))
    lock = client.lock("/childs")
    held = loop.run_until_complete(lock.acquire())
    assert held

    async def child() -> int:
        for verb in (lock.acquire, held.verify, held.release, client.close):
            with pytest.raises(zkrecipes.Forked):
                await verb()
        with pytest.raises(zkrecipes.Forked):
            client.on_state(print)
        async with await aio.Client.connect(hosts) as own, own.lock("/lock") as mine:
            assert await own.lock("/childs").acquire(blocking=False) is None
            return mine.fencing_token

    assert int(in_child(lambda: asyncio.run(child()))) > held.fencing_token
    loop.run_until_complete(held.verify())
    loop.run_until_complete(client.close())
    loop.close()


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_multiprocessing(hosts: str, parent: zkrecipes.Held, method: str) -> None:
    with multiprocessing.get_context(method).Pool(2) as pool:
        taken = pool.map(take, [hosts] * 6, chunksize=1)
    assert len({token for token, _ in taken}) == 6
    assert os.getpid() not in {process for _, process in taken}


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_process_pool_executor(hosts: str, parent: zkrecipes.Held, method: str) -> None:
    context = multiprocessing.get_context(method)
    start = {"initializer": connect_own} if method == "fork" else {}
    with concurrent.futures.ProcessPoolExecutor(2, context, **start) as pool:  # type: ignore[call-overload]
        taken = list(pool.map(take_with_own if start else take, [hosts] * 6))
    assert len({token for token, _ in taken}) == 6
    assert os.getpid() not in {process for _, process in taken}


GUNICORN = """
import json, os, zkrecipes

hosts = os.environ["ZKRECIPES_HOSTS"]
client = zkrecipes.Client(hosts)        # in the parent, as --preload imports this there
held = client.lock("/parents").acquire()
parent = os.getpid()
own = None

def connection():
    global own
    if own is None:
        own = zkrecipes.Client(hosts)
    return own

def app(environ, start_response):
    try:
        client.lock("/lock")
        parents = "usable"
    except zkrecipes.Forked:
        parents = "Forked"
    with connection().lock("/lock") as mine:
        answer = {"token": mine.fencing_token, "process": os.getpid(), "parent": parent, "parents": parents}
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(answer).encode()]
"""


def test_gunicorn_preload(hosts: str, tmp_path: Path) -> None:
    (tmp_path / "application.py").write_text(textwrap.dedent(GUNICORN))
    (tmp_path / "settings.py").write_text(
        "def when_ready(server):\n    print('at', server.LISTENERS[0].sock.getsockname()[1], flush=True)\n"
    )
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "--preload",
        "--workers=3",
        "--bind=127.0.0.1:0",
        "--config=settings.py",
    ]
    log = (tmp_path / "log").open("wb")
    served = subprocess.Popen(
        [*command, "application:app"],
        cwd=tmp_path,
        env=environment(ZKRECIPES_HOSTS=hosts),
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    with log, served, zkrecipes.Client(hosts) as observer:
        try:
            assert served.stdout
            port = next(line.split()[1] for line in served.stdout if line.startswith("at "))
            before = [one.node for one in observer.lock("/parents").contenders()]
            answers: list[dict[str, object]] = []

            def every_worker_has_answered() -> bool:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20) as answer:
                    answers.append(json.load(answer))
                return len({answer["process"] for answer in answers}) == 3

            eventually(every_worker_has_answered, within=60)
            tokens = [answer["token"] for answer in answers]
            assert len(set(tokens)) == len(tokens)
            assert {answer["parents"] for answer in answers} == {"Forked"}
            assert {answer["parent"] for answer in answers} == {served.pid}
            assert [one.node for one in observer.lock("/parents").contenders()] == before
            assert len(before) == 1
        finally:
            served.terminate()
            assert served.wait(30) == 0, (tmp_path / "log").read_text()
        # All of them have ended their sessions, the parent too.
        eventually(lambda: contenders(observer, "/parents") == 0, within=3)


# Messages that are there only once they are whole.
BROKER = Path(__file__).parents[2] / "tests/usage"

CELERY = """
import os, sys, zkrecipes
sys.path.append(os.environ["BROKER"])
import whole_messages
from celery import Celery
from celery.signals import worker_process_init

hosts = os.environ["ZKRECIPES_HOSTS"]
here = os.path.dirname(os.path.abspath(__file__))
app = Celery("tasks", broker="filesystem://", backend="file://" + here + "/results")
app.conf.broker_transport_options = {
    "data_folder_in": here + "/queue", "data_folder_out": here + "/queue", "control_folder": here + "/control"
}
parent = os.getpid()
own = None

def hold():                             # in the parent, before it forks
    global client, held
    client = zkrecipes.Client(hosts)
    held = client.lock("/parents").acquire()

if os.environ.get("IS_WORKER"):
    hold()

@worker_process_init.connect
def connect(**_):
    global own
    own = zkrecipes.Client(hosts)

@app.task
def take(number):
    try:
        client.lock("/lock")
        parents = "usable"
    except zkrecipes.Forked:
        parents = "Forked"
    with own.lock("/lock") as mine:
        return {"token": mine.fencing_token, "process": os.getpid(), "parent": parent, "parents": parents}
"""

ASK = """
import json, tasks
asked = [tasks.take.delay(number) for number in range(8)]
print(json.dumps([one.get(timeout=60) for one in asked]))
"""


def test_celery_prefork(hosts: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(CELERY)
    for folder in ("queue", "control", "results"):
        (tmp_path / folder).mkdir()
    command = [sys.executable, "-m", "celery", "-A", "tasks", "worker", "--pool=prefork", "--concurrency=2"]
    variables = {"ZKRECIPES_HOSTS": hosts, "BROKER": str(BROKER)}
    log = (tmp_path / "log").open("wb")
    alone = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    worker = subprocess.Popen(
        [*command, *alone], cwd=tmp_path, env=environment(**variables, IS_WORKER="1"), stdout=log, stderr=log
    )
    with log, worker, zkrecipes.Client(hosts) as observer:
        try:
            asked = subprocess.run(
                [sys.executable, "-c", ASK],
                cwd=tmp_path,
                env=environment(**variables),
                capture_output=True,
                text=True,
                timeout=90,
            )
            assert asked.returncode == 0, asked.stderr + (tmp_path / "log").read_text()
            answers = json.loads(asked.stdout)
            assert len({answer["token"] for answer in answers}) == 8
            assert {answer["parents"] for answer in answers} == {"Forked"}
            assert {answer["parent"] for answer in answers} == {worker.pid}
            assert worker.pid not in {answer["process"] for answer in answers}
            assert contenders(observer, "/parents") == 1
        finally:
            worker.terminate()
            assert worker.wait(30) == 0, (tmp_path / "log").read_text()
        eventually(lambda: contenders(observer, "/parents") == 0, within=3)
