"""Fork, and the end of the interpreter."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import zkrecipes
from conftest import contenders, eventually
from zkrecipes.testing import EmbeddedServer

# Python 3.12 and later warn about any fork of a process with threads.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


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
        held.guarded,
        lambda: held.on_lost(print),
        lambda: client.lock("/other"),
        lambda: client.nodes.exists("/"),
        lambda: client.on_state(print),
        client.close,
        lambda: zkrecipes.Client("127.0.0.1:1", connect_timeout=5),
    ]


def answers(client: zkrecipes.Client, lock: zkrecipes.Lock, held: zkrecipes.Held) -> list[str]:
    said = []
    for verb in verbs(client, lock, held):
        try:
            said.append(repr(verb()))
        except BaseException as error:
            said.append(type(error).__name__)
    said.append(f"{client.state} {client.session_id} {client.lease_remaining} {lock.is_held} {held.is_held}")
    return said


def in_child(pipe: Connection, client: zkrecipes.Client, lock: zkrecipes.Lock, held: zkrecipes.Held) -> None:
    started = time.monotonic()
    said = answers(client, lock, held)
    pipe.send((said, time.monotonic() - started))


def check_child(said: list[str], took: float) -> None:
    assert said == ["Forked"] * (len(said) - 1) + ["closed 0 0.0 False False"]
    assert took < 2


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
    lock = client.lock("/lock")
    held = lock.acquire()
    assert held
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


def test_a_child_of_multiprocessing_gets_forked_and_the_parent_is_undisturbed(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    held = lock.acquire()
    assert held
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=in_child, args=(sender, client, lock, held))
    child.start()
    assert receiver.poll(15), "the child hangs"
    check_child(*receiver.recv())
    child.join(15)
    assert child.exitcode == 0
    check_parent(client, lock, held)


def test_a_child_that_leaves_the_scopes_it_inherited_ends_like_any_other(client: zkrecipes.Client) -> None:
    child = 0
    try:
        with client.lock("/lock") as held:
            child = os.fork()
            if child == 0:
                sys.exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            held.verify()
    except SystemExit as leaving:
        os._exit(leaving.code if isinstance(leaving.code, int) and child == 0 else 1)


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


def use(hosts: str) -> int:
    with zkrecipes.Client(hosts) as client, client.lock("/lock") as held:
        return held.fencing_token


def test_children_started_afresh_can_connect(hosts: str, client: zkrecipes.Client) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        tokens = pool.map(use, [hosts] * 4)
    assert len(set(tokens)) == 4


EXITS = {
    "a client and what it holds": """
client = zkrecipes.Client(hosts)
held = client.lock("/lock").acquire()
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
    assert time.monotonic() - started < 8
    # What it held is free at once, not after the session timeout.
    eventually(lambda: contenders(client, "/lock") == 0, within=3)


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
