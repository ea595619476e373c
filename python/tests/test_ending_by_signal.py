"""A program that Ctrl-C ends dies by it, which tells a shell to stop too, whatever was registered."""

from __future__ import annotations

import signal
import subprocess

import pytest
from interpreters import environment, interpreters
from zkrecipes.testing import EmbeddedServer

# CPython looks for signals before it sleeps, and a sleep that begins notices only those that come later. While a thread
# of the library wants the GIL, as after a loss, there is time in between: so the program sleeps many times.
HEAD = """
import asyncio, sys, time, zkrecipes, zkrecipes.aio as aio
hosts = sys.argv[1]
def wait():
    print("ready", flush=True)
    while True: time.sleep(0.05)
"""

PROGRAMS = {
    "nothing": "client = zkrecipes.Client(hosts); wait()",
    "on_state": """
client = zkrecipes.Client(hosts)
client.on_state(lambda state: None)
wait()
""",
    "on_state in a scope": """
with zkrecipes.Client(hosts) as client:
    client.on_state(lambda state: None)
    wait()
""",
    "on_lost in a scope": """
with zkrecipes.Client(hosts) as client:
    client.lock("/lock").acquire().on_lost(lambda error: None)
    wait()
""",
    "on_lost in a scope of its own": """
with zkrecipes.Client(hosts) as client, client.lock("/lock") as held:
    held.on_lost(lambda error: None)
    held.on_revoke(lambda: None)
    wait()
""",
    "a loss": """
with zkrecipes.Client(hosts) as client:
    held = client.lock("/lock").acquire()
    held.on_lost(lambda error: None)
    client.nodes.delete(held.node)
    wait()
""",
    "a callback that raises": """
with zkrecipes.Client(hosts) as client:
    client.on_state(lambda state: 1 / 0)
    wait()
""",
    "a wait for a lock": """
with zkrecipes.Client(hosts) as client:
    client.on_state(lambda state: None)
    held = client.lock("/lock").acquire()
    print("ready", flush=True)
    client.lock("/lock").acquire()
""",
    "asyncio": """
async def main():
    async def told(*_): await asyncio.sleep(0.01)
    async with aio.Client(hosts) as client:
        client.on_state(told)
        async with client.lock("/lock") as held:
            held.on_lost(told)
            print("ready", flush=True)
            while True: await asyncio.sleep(0.05)
asyncio.run(main())
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("interpreter", interpreters().values(), ids=interpreters())
def test_ctrl_c_is_what_it_dies_of(server: EmbeddedServer, interpreter: str, program: str) -> None:
    child = subprocess.Popen(
        [interpreter, "-c", HEAD + program, server.connect_string],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    with child:
        try:
            assert child.stdout
            assert child.stdout.readline() == "ready\n"
            child.send_signal(signal.SIGINT)
            _, said = child.communicate(timeout=30)
        finally:
            child.kill()
    assert child.returncode == -signal.SIGINT, said
    assert "KeyboardInterrupt" in said
    assert "Fatal" not in said
