"""Fork, and the end of the interpreter."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import zkrecipes
import zkrecipes.aio
from conftest import contenders, eventually
from interpreters import environment, interpreters
from zkrecipes.testing import EmbeddedServer

# Python 3.12 and later warn about any fork of a process with threads.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


feeds: dict[zkrecipes.Client, zkrecipes.Feed[zkrecipes.Versioned | None]] = {}
items: dict[zkrecipes.Client, zkrecipes.Item] = {}


def verbs(client: zkrecipes.Client, lock: zkrecipes.Lock, held: zkrecipes.Held) -> list[Callable[[], object]]:
    return [
        lock.acquire,
        lambda: lock.acquire(blocking=False),
        lock.release,
        lambda: lock.release(wait=False),
        lock.verify,
        lock.guarded,
        lock.contenders,
        held.release,
        held.verify,
        held.downgrade,
        held.guarded,
        lambda: held.on_lost(print),
        lambda: client.lock("/other"),
        lambda: client.nodes.exists("/"),
        lambda: client.on_state(print),
        lambda: held.on_revoke(print),
        lambda: lock.is_held,
        lambda: held.is_held,
        *(lambda name=name: getattr(held, name) for name in SAID),
        lambda: lock.fencing_token,
        lambda: enter(held),
        lambda: enter(lock),
        lambda: enter(lock.hold(5)),
        lambda: enter(client),
        lambda: enter(feeds[client]),
        lambda: enter(client.double_barrier("/rounds", 1)),
        lambda: client.metrics,
        lambda: next(feeds[client]),
        lambda: items[client].data,
        lambda: items[client].attempts,
        items[client].ack,
        feeds[client].close,
        client.close,
    ]


# What an acquisition says of itself.
SAID = ("fencing_token", "fencing_tokens", "node", "passes", "permits", "sequencer")


def enter(scope: Any) -> str:
    with scope:
        return "its body ran"


def before_a_fork(client: zkrecipes.Client) -> tuple[zkrecipes.Lock, zkrecipes.Held]:
    lock = client.lock("/lock")
    held = lock.acquire()
    assert held
    feeds[client] = client.config("/config").watch()
    assert next(feeds[client]) is None
    queue = client.queue("/queue")
    queue.put(b"item")
    items[client] = queue.claim()
    return lock, held


def answers(client: zkrecipes.Client, lock: zkrecipes.Lock, held: zkrecipes.Held) -> list[str]:
    said = []
    for verb in verbs(client, lock, held):
        try:
            said.append(repr(verb()))
        except BaseException as error:
            said.append(type(error).__name__)
    said.append(f"{client.state} {client.session_id} {client.lease_remaining} {lock!r} {held!r}".split(" token")[0])
    return said


def in_child(pipe: Connection, client: zkrecipes.Client, lock: zkrecipes.Lock, held: zkrecipes.Held) -> None:
    started = time.monotonic()
    said = answers(client, lock, held)
    pipe.send((said, time.monotonic() - started))


def check_child(said: list[str], took: float) -> None:
    assert said == ["Forked"] * (len(said) - 1) + ["closed 0 0.0 <Lock /lock not held> <Held /lock"]
    assert took < 5


def check_parent(client: zkrecipes.Client, lock: zkrecipes.Lock, held: zkrecipes.Held) -> None:
    """The child's end, with its copies of everything, was none of ours."""
    assert client.state == "connected"
    assert held.is_held
    held.verify()
    assert contenders(client, "/lock") == 1
    lock.release()
    with lock:
        pass


def test_a_child_of_os_fork_gets_forked_and_the_parent_is_undisturbed(client: zkrecipes.Client) -> None:
    lock, held = before_a_fork(client)
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            in_child(sender, client, lock, held)
            del client, lock, held
        finally:
            os._exit(0)
    assert receiver.poll(15), "the child hangs"
    check_child(*receiver.recv())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    check_parent(client, lock, held)


@pytest.mark.parametrize("scope", ["lock", "feed", "barrier", "server"])
def test_a_child_that_leaves_the_scopes_it_inherited_ends_like_any_other(client: zkrecipes.Client, scope: str) -> None:
    scopes: dict[str, Callable[[], Any]] = {
        "lock": lambda: client.lock("/lock"),
        "feed": lambda: client.config("/config").watch(),
        "barrier": lambda: client.double_barrier("/barrier", 1),
        "server": EmbeddedServer,
    }
    child = 0
    try:
        with scopes[scope]() as entered:
            child = os.fork()
            if child == 0:
                sys.exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            if scope == "lock":
                entered.verify()
    except BaseException as leaving:
        if child != 0:
            raise
        os._exit(leaving.code if isinstance(leaving, SystemExit) and isinstance(leaving.code, int) else 1)


def test_a_child_that_leaves_a_feed_of_asyncio_ends_like_any_other(hosts: str) -> None:
    async def body() -> None:
        async with zkrecipes.aio.Client(hosts) as client:
            child = 0
            try:
                async with client.config("/config").watch():
                    child = os.fork()
                    if child == 0:
                        raise ZeroDivisionError
                    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            except BaseException as leaving:
                if child != 0:
                    raise
                os._exit(7 if isinstance(leaving, ZeroDivisionError) else 1)

    asyncio.run(body())


def test_a_child_does_not_enter_what_its_parent_holds_in_asyncio(hosts: str) -> None:
    loop = asyncio.new_event_loop()
    client = loop.run_until_complete(zkrecipes.aio.Client.connect(hosts))
    held = loop.run_until_complete(client.lock("/lock").acquire())
    feed = client.config("/config").watch()
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            said = []
            for scope in (held, feed, client):
                try:
                    scope.__aenter__().send(None)
                except BaseException as error:
                    said.append(type(error).__name__)
            sender.send(said)
        finally:
            os._exit(0)
    assert receiver.poll(15), "the child hangs"
    assert receiver.recv() == ["Forked"] * 3
    os.waitpid(child, 0)
    loop.run_until_complete(client.close())
    loop.close()


def test_a_forked_child_has_no_embedded_server(server: EmbeddedServer) -> None:
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            server.nodes()
        except zkrecipes.Forked:
            sender.send("Forked")
        finally:
            os._exit(0)
    assert receiver.poll(15), "the child hangs"
    assert receiver.recv() == "Forked"
    os.waitpid(child, 0)
    assert server.sessions() == []


def leave_it_held(hosts: str) -> None:
    global left
    client = zkrecipes.Client(hosts)
    left = client, client.lock("/lock").acquire()


def leave_it_held_beside_an_executor(hosts: str) -> None:
    """Whose idle threads end when the process ends, and not sooner."""
    global executor
    executor = ThreadPoolExecutor(1)
    executor.submit(leave_it_held, hosts).result()


def leave_it_held_beside_a_thread(hosts: str) -> None:
    """Which needs its client until the end."""
    leave_it_held(hosts)
    with zkrecipes.Client(hosts) as observer:
        assert contenders(observer, "/lock") == 1

    def work() -> None:
        time.sleep(0.2)  # the function has returned by now
        with zkrecipes.Client(hosts) as client, client.lock("/other"):
            client.nodes.create("/worked")

    threading.Thread(target=work).start()


left: object = None
executor: object = None


@pytest.mark.parametrize(
    ("method", "target"),
    [
        *((method, leave_it_held) for method in ("fork", "spawn", "forkserver")),
        ("fork", leave_it_held_beside_an_executor),
        ("spawn", leave_it_held_beside_a_thread),
    ],
)
def test_a_child_that_ends_ends_its_sessions(
    client: zkrecipes.Client, hosts: str, method: str, target: Callable[[str], None]
) -> None:
    """As any other process does; what a forked one has of its parent is in test_forks."""
    program = f"""
import multiprocessing, sys
sys.path[:0] = sys.argv[3:]
from test_process import {target.__name__} as target
if __name__ == "__main__":
    child = multiprocessing.get_context(sys.argv[2]).Process(target=target, args=(sys.argv[1],))
    child.start()
    child.join(30)
    child.kill()
    sys.exit(child.exitcode)
"""
    path = [str(Path(__file__).parent), *sys.path]
    done = subprocess.run([sys.executable, "-c", program, hosts, method, *path], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    # Within the session timeout, which is ten seconds, it would not be.
    eventually(lambda: contenders(client, "/lock") == 0, within=6)
    assert (client.nodes.exists("/worked") is not None) == (target is leave_it_held_beside_a_thread)


SUBINTERPRETER = """
import sys, zkrecipes
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
with zkrecipes.Client(sys.argv[1]) as client, client.lock("/lock") as held:
    other = interpreters.create()
    interpreters.run_string(other, '''
try:
    import zkrecipes
except ImportError as error:
    print(error, flush=True)
''')
    interpreters.destroy(other)
    held.verify()
"""


@pytest.mark.parametrize("interpreter", interpreters().values(), ids=interpreters())
def test_a_subinterpreter_is_refused_and_disturbs_nobody(server: EmbeddedServer, interpreter: str) -> None:
    done = subprocess.run(
        [interpreter, "-c", SUBINTERPRETER, server.connect_string],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "module zkrecipes._native does not support loading in subinterpreters\n"


EXITS = {
    "a client and what it holds": """
client = zkrecipes.Client(hosts)
held = client.lock("/lock").acquire()
""",
    "what was dropped a moment ago": """
for path in ("/lock", "/other", "/lock/below"):
    zkrecipes.Client(hosts).lock(path).acquire()
""",
    "a task that was abandoned": """
async def main():
    lock = (await zkrecipes.aio.Client.connect(hosts)).lock("/lock")
    await lock.acquire()
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
loop.close()
""",
    "threads that wait": """
client = zkrecipes.Client(hosts)
held = client.lock("/lock").acquire()
for _ in range(8):
    threading.Thread(target=client.lock("/lock").acquire, daemon=True).start()
while len(client.lock("/lock").contenders()) < 9:
    pass
""",
    "threads that are busy": """
client = zkrecipes.Client(hosts)
def work():
    lock = client.lock("/lock")
    while True:
        with lock: lock.contenders()
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
""",
    "a leader that is busy": """
client = zkrecipes.Client(hosts)
begun = threading.Event()
def work(leadership):
    begun.set()
    while True:
        pass
threading.Thread(target=client.election("/lock").run, args=(work,), daemon=True).start()
begun.wait()
""",
    "a callback that takes its time": """
client = zkrecipes.Client(hosts)
entered = threading.Event()
def callback(error):
    entered.set()
    time.sleep(60)
held = client.lock("/lock").acquire()
held.on_lost(callback)
client.nodes.delete(held.node)
entered.wait()
""",
    "an asyncio client": """
async def main():
    global client, lock
    client = await zkrecipes.aio.Client.connect(hosts)
    lock = client.lock("/lock")
    await lock.acquire()
    waiting = asyncio.ensure_future(client.lock("/lock").acquire())
    await asyncio.sleep(0.1)
asyncio.run(main())
""",
    "an embedded server": """
from zkrecipes.testing import EmbeddedServer
server = EmbeddedServer()
client = zkrecipes.Client(server.connect_string)
held = client.lock("/lock").acquire()
""",
}

# What is inside Python when the interpreter takes itself apart, and wants to go on meanwhile.
LATE = """
import os, types
go_on, now = os.pipe()
class Late:
    def __del__(self, write=os.write, now=now, sleep=time.sleep):
        write(now, b"!")
        sleep(0.5)
late = types.ModuleType("late")
late.late = Late()
sys.modules["late"] = late
del late
entered = threading.Event()
def busy(*_, **__):
    entered.set()
    os.read(go_on, 1)
client = zkrecipes.Client(hosts)
held = client.lock("/lock").acquire()
"""
EXITS |= {
    "a callback that goes on": f"""
{LATE}
held.on_lost(busy)
client.nodes.delete(held.node)
entered.wait()
""",
    "a callback that is unsubscribed while it goes on": """
class AtTheEnd:
    def __del__(self):
        self.unsubscribe()
at_the_end = AtTheEnd()
client = zkrecipes.Client(hosts)
entered = threading.Event()
def callback(error):
    entered.set()
    time.sleep(60)
held = client.lock("/lock").acquire()
at_the_end.unsubscribe = held.on_lost(callback)
client.nodes.delete(held.node)
entered.wait()
""",
    "a logger that goes on": f"""
{LATE}
import logging
logging.getLogger("zkrecipes").addFilter(busy)
held.on_lost(print)
client.nodes.delete(held.node)
entered.wait()
""",
    "a loop that is told and goes on": f"""
{LATE}
class Loop(asyncio.SelectorEventLoop):
    call_soon_threadsafe = busy
async def main():
    held = await (await zkrecipes.aio.Client.connect(hosts)).lock("/told").acquire()
    held.on_lost(print)
    client.nodes.delete(held.node)
    while not entered.is_set():
        await asyncio.sleep(0.01)
Loop().run_until_complete(main())
""",
    **{
        f"{worker} that goes on": f"""
{LATE}
{made}
threading.Thread(target=of.{verb}, args=({arguments}), daemon=True).start()
entered.wait()
"""
        for worker, made, verb, arguments in [
            ("a leader", "of = client.election('/leader')", "run", "busy,"),
            ("a worker on an item", "of = client.queue('/queue'); of.put('tea')", "process", "busy,"),
            ("who waits for a worker", "of = client.queue('/queue'); of.put('tea')", "process", "busy, 2"),
            ("who waits for partitions", "of = client.partitioner('/partitions', 1)", "run", "busy,"),
            ("a change of a value", "of = client.config('/config')", "update", "busy,"),
            ("a change of a node", "of = client.nodes; of.create('/node')", "update", "'/node', busy"),
        ]
    },
    "an item": """
queue = zkrecipes.Client(hosts).queue("/queue")
queue.put_many(["one", "two"])
item, loop = queue.claim(), iter(queue)
next(loop)
""",
    "an item in its scope": """
queue = zkrecipes.Client(hosts).queue("/queue")
queue.put("one")
with queue.claim():
    sys.exit()
""",
    "an item whose loop is gone": """
async def main():
    global item, items, claim
    queue = (await zkrecipes.aio.Client.connect(hosts)).queue("/queue")
    await queue.put_many(["one", "two"])
    item, items = await queue.claim(), aiter(queue)
    await anext(items)
    claim = asyncio.ensure_future(queue.claim())
    await asyncio.sleep(0.05)
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
loop.close()
""",
    "a round": """
barrier = zkrecipes.Client(hosts).double_barrier("/barrier", 1)
barrier.enter()
other = zkrecipes.Client(hosts).double_barrier("/other", 2)
threading.Thread(target=other.enter, daemon=True).start()
""",
    "a site that waits": """
site = zkrecipes.Client(hosts).two_phase_commit("/commits")
site.join("one")
threading.Thread(target=site.next, daemon=True).start()
""",
}


@pytest.mark.parametrize("program", EXITS.values(), ids=EXITS)
def test_an_interpreter_exits_with(client: zkrecipes.Client, hosts: str, program: str) -> None:
    head = "import asyncio, sys, threading, time, zkrecipes, zkrecipes.aio\nhosts = sys.argv[1]\n"
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", head + program, hosts],
        capture_output=True,
        text=True,
        timeout=30,
        env={"PYTHONPATH": str(Path(zkrecipes.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    assert "Fatal" not in done.stderr
    assert "panicked" not in done.stderr
    # Not after the session timeout, which is ten seconds; and what it held is free at once, too.
    assert time.monotonic() - started < 10
    eventually(lambda: contenders(client, "/lock") == 0, within=6)


def test_an_exit_does_not_wait_for_a_server_that_is_gone(server: EmbeddedServer) -> None:
    program = """
import sys, zkrecipes
client = zkrecipes.Client(sys.argv[1])
held = client.lock("/lock").acquire()
print("ready", flush=True)
sys.stdin.read()
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program, server.connect_string],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(Path(zkrecipes.__file__).parents[1])},
    )
    with child:
        assert child.stdin
        assert child.stdout
        assert child.stdout.readline() == "ready\n"
        server.pause()
        started = time.monotonic()
        child.stdin.close()
        assert child.wait(20) == 0
        assert time.monotonic() - started < 5
