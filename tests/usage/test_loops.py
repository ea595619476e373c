"""The daemons of examples/c/loops, each on the loop of its library."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from world import ROOT, World, built, eventually

LOOPS = {"libuv": "libuv", "glib": "glib-2.0", "sd_event": "libsystemd"}
STRICT = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]


@pytest.mark.parametrize("name", LOOPS)
def test_a_daemon_works_loses_and_ends_in_its_loop(name: str, world: World, prefix: Path) -> None:
    library = subprocess.run(
        ["pkg-config", "--cflags", "--libs", LOOPS[name]], check=True, capture_output=True, text=True
    )
    source = ROOT / f"examples/c/loops/{name}.c"
    program = built([source], name, ["cc", *STRICT], prefix, library.stdout.split())
    path = "/locks/daemon"

    with world.client.lock(path):
        daemon = world.start(program, world.server.connect_string)
        eventually(lambda: len(world.line(path)) == 2, "it waits")
    daemon.says("working with fencing token")

    # The lock is lost: it stops its work, and begins again with the next one.
    world.lose(path)
    daemon.says("stop working")
    daemon.says("working with fencing token", times=2)

    # SIGTERM while it works.
    assert daemon.ends(signal.SIGTERM) == 0, daemon.said
    assert daemon.said.endswith("closed: in order\n")
    world.free_at_once(path)

    # SIGTERM while it waits.
    with world.client.lock(path):
        waiting = world.start(program, world.server.connect_string)
        eventually(lambda: len(world.line(path)) == 2, "it waits")
        assert waiting.ends(signal.SIGTERM) == 0, waiting.said
        assert "working" not in waiting.said
        eventually(lambda: len(world.line(path)) == 1, "it has left the line", within=5)


def test_the_examples_of_loops_are_all_here() -> None:
    assert sorted(path.stem for path in (ROOT / "examples/c/loops").glob("*.c")) == sorted(LOOPS)
