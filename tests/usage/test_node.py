"""The examples of examples/node/*/: tests of users, and services under SIGTERM and the loss of what they hold."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from web import Web, port_of, serves_one_user_after_the_other
from world import ROOT, Program, World, eventually

# Where scripts/setup has put the packages that the examples use.
PLACE = ROOT / "target/usage/node"
BIN = PLACE / "node_modules/.bin"
# Below them, and of this process alone: several run these tests at a time.
COPIES = PLACE / f"copies-{os.getpid()}"
numbers = itertools.count(1)


@pytest.fixture(scope="module", autouse=True)
def package() -> Iterator[None]:
    """zkrecipes beside the copies, as it is packed: the same files, in a folder of their own."""
    assert BIN.is_dir(), "make setup"
    shutil.rmtree(COPIES, ignore_errors=True)
    there = COPIES / "node_modules/zkrecipes"
    there.mkdir(parents=True)
    # What is native comes in a package of its own, and stands in a checkout where that would be looked for first.
    for name in ["package.json", "native", *json.loads((ROOT / "node/package.json").read_text())["files"]]:
        # Links: the addon is large before it is stripped.
        subprocess.run(["cp", "-al", ROOT / "node" / name, there], check=True)
    yield
    shutil.rmtree(COPIES, ignore_errors=True)


def example(name: str) -> Path:
    """A copy, below the packages that it uses. Each has a name of its own: who starts in a folder whose name was just
    deleted and made again may find itself in the one that is gone."""
    there = COPIES / f"{name}-{next(numbers)}"
    shutil.copytree(ROOT / "examples/node" / name, there, ignore=shutil.ignore_patterns("node_modules"))
    return there


def run(world: World, here: Path, *command: str | Path) -> str:
    program = world.start(*command, cwd=here, NO_COLOR="1", CI="1")
    assert program.ends(None, within=60) == 0, program.said
    return program.said


# --- tests of users


def test_a_test_with_vitest(world: World) -> None:
    said = run(world, example("vitest"), BIN / "vitest", "run", "--no-color")
    assert re.search(r"Tests +4 passed \(4\)", said)


@pytest.mark.parametrize("pool", ["threads", "vmThreads", "vmForks"])
def test_a_test_with_vitest_in_other_pools(pool: str, world: World) -> None:
    assert re.search(r"Tests +4 passed \(4\)", run(world, example("vitest"), BIN / "vitest", "run", f"--pool={pool}"))


def test_a_test_with_jest(world: World) -> None:
    said = run(world, example("jest"), BIN / "jest", "--rootDir", ".")
    assert re.search(r"Tests: +4 passed, 4 total", said)
    assert "did not exit" not in said


def test_a_test_with_the_runner_of_node(world: World) -> None:
    said = run(world, example("node-test"), "node", "--test", "--test-reporter=tap")
    assert "# pass 3\n" in said
    assert "# fail 0\n" in said


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("vitest", [BIN / "vitest", "run", "--no-color"]),
        ("jest", [BIN / "jest", "--rootDir", "."]),
        ("node-test", ["node", "--test", "--test-reporter=tap"]),
    ],
)
def test_an_example_of_a_test_fails_without_the_lock(name: str, command: list[str | Path], world: World) -> None:
    here = example(name)
    (report,) = (path for path in here.glob("report.*js") if ".test." not in path.name)
    whole = report.read_text()
    assert whole.count("client.lock('/locks/report')") == 1
    # Each client has a lock of its own, so nobody is kept out.
    report.write_text(whole.replace("'/locks/report'", "`/locks/${client.sessionId}`"))
    program = world.start(*command, cwd=here, NO_COLOR="1", CI="1")
    assert program.ends(None, within=60) == 1, program.said
    assert re.search(r"(✗|×|✕|not ok \d+ -) of two at the same time one writes the report|FAIL.*of two", program.said)


def test_what_a_test_has_done_to_the_server_is_over_after_it(world: World) -> None:
    here = example("node-test")
    (here / "report.test.mjs").write_text("""
        import assert from 'node:assert/strict'
        import * as runner from 'node:test'
        import { embeddedZookeeper } from 'zkrecipes/testing'
        const zookeeper = embeddedZookeeper(runner, { server: { tick: 50 }, client: { identity: 'me' } })
        assert.throws(() => zookeeper.client, { code: 'INVALID' })
        const seen = new Set()
        for (const spoil of ['inject', 'pause', 'freezeClock', 'shut', 'stop']) {
          runner.test(`after ${spoil}`, async () => {
            const { client, server, connectString } = zookeeper
            assert.deepEqual(await client.nodes.children('/').catch(() => []), [])
            await client.nodes.create('/here')
            await client.lock('/lock').run(async (held) => {
              assert.equal((await client.lock('/lock').contenders())[0].identity, 'me')
            })
            seen.add(connectString)
            if (spoil === 'shut') await client.close()
            else server[spoil](...(spoil === 'inject' ? ['drop_before create2 times=100'] : []))
          })
        }
        runner.test('each had a chroot of its own', () => {
          assert.equal(seen.size, 5)
          assert.equal(zookeeper.server.sessions().length, 1)
        })
        """)
    assert "# pass 6\n" in run(world, here, "node", "--test", "--test-reporter=tap")


# --- services


GATE = """
import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
const place = process.env.GATE
const told = (what) => writeFileSync(`${place}/${what}-${process.hrtime.bigint()}-${process.pid}`, '')
export const work = async (signal) => {
  told('begun')
  try {
    while (!existsSync(`${place}/open`)) await sleep(10, undefined, { signal })
  } catch (error) {
    told('cancelled')
    throw error
  }
  told('done')
  return { done: true }
}
"""


def gated(here: Path, text: str) -> str:
    (here / "gate.mjs").write_text(GATE)
    (here / "gated.mjs").write_text("import { work } from './gate.mjs'\n" + text)
    return "gated.mjs"


def test_a_service_with_fastify(world: World) -> None:
    here = example("fastify")
    # Whoever waits for dora's turn has a minute: nothing but that they have gone ends their wait.
    text, limit = (here / "server.mjs").read_text(), "request.params.user === 'dora' ? 60_000 : 2000"
    assert "{ timeout: 2000," in text
    (here / "server.mjs").write_text(text.replace("{ timeout: 2000,", f"{{ timeout: {limit},"))
    place = "serve({ place: (user, order, { signal }) => work(signal) })"
    server = world.start(
        "node", gated(here, f"import {{ serve }} from './server.mjs'\nawait {place}"), cwd=here, PORT="0"
    )
    web = Web(port_of(server, r"http://(?:127\.0\.0\.1|\[::1\]|localhost):(\d+)"), "POST", "/users/{}/orders")

    # Who has gone away waits no more, and its work ends.
    cancelled = world.gate.count("cancelled")
    with socket.create_connection(("127.0.0.1", web.port)) as working:
        working.sendall(b"POST /users/dora/orders HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        world.gate.begun(1)
        with socket.create_connection(("127.0.0.1", web.port)) as waiting:
            waiting.sendall(b"POST /users/dora/orders HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
            eventually(lambda: len(world.line("/users/dora")) == 2, "the second one waits")
        eventually(lambda: len(world.line("/users/dora")) == 1, "it has left the line")
    eventually(lambda: world.gate.count("cancelled") == cancelled + 1, "the work ends")
    world.free_at_once("/users/dora")

    serves_one_user_after_the_other(world, web, server)


def test_a_service_with_fastify_as_it_stands(world: World) -> None:
    server = world.start("node", "server.mjs", cwd=example("fastify"), PORT="0")
    assert Web(port_of(server), "POST", "/users/{}/orders").ask("ann") == 200
    assert server.ends(signal.SIGTERM) == 0


def worker(world: World, **options: object) -> Program:
    here = example("worker")
    handle = f"work({{ handle: (mail, {{ signal }}) => gated(signal), ...{json.dumps(options)} }})"
    # What hears a signal before the worker does says so: then the worker has heard it, too.
    heard = "process.once('SIGTERM', () => console.log('told to stop'))"
    text = (
        f"import {{ work as gated }} from './gate.mjs'\nimport {{ work }} from './worker.mjs'\n{heard}\nawait {handle}"
    )
    (here / "gate.mjs").write_text(GATE)
    (here / "gated.mjs").write_text(text)
    program = world.start("node", "gated.mjs", cwd=here)
    program.says("ready")
    return program


def test_a_worker_finishes_what_it_is_at(world: World) -> None:
    queue = world.client.queue("/queues/mail", max_attempts=3)
    for number in range(3):
        queue.put(f"mail {number}")
    program = worker(world, concurrency=2)
    world.gate.begun(2)
    program.process.send_signal(signal.SIGTERM)
    program.says("told to stop")
    world.gate.open()
    assert program.ends(None) == 0, program.said
    assert program.said.endswith("stopped\n")
    # Two were in work and are done; the third was not begun.
    assert world.gate.count("done") == 2
    assert queue.items() == [b"mail 2"]


def test_a_worker_that_takes_too_long_gives_back(world: World) -> None:
    queue = world.client.queue("/queues/mail", max_attempts=3)
    queue.put("mail")
    first = worker(world, grace=100)
    world.gate.begun(1)
    assert first.ends(signal.SIGTERM) == 0, first.said
    assert world.gate.count("cancelled") == 1
    with queue.claim(timeout=5) as item:  # at once, for the second time
        assert (item.data, item.attempts) == (b"mail", 2)


def test_a_worker_that_loses_an_item_stops_its_work(world: World) -> None:
    queue = world.client.queue("/queues/mail", max_attempts=3)
    queue.put("mail")
    program = worker(world)
    world.gate.begun(1)
    (session,) = set(world.server.sessions()) - {world.client.session_id}
    world.server.expire(session)
    # It gets the item again, in a new session.
    world.gate.begun(2)
    # The signal aborts beside the next claim, whichever comes first.
    eventually(lambda: world.gate.count("cancelled") == 1, "the work that was begun first is stopped")
    world.gate.open()
    eventually(lambda: queue.len() == 0, "it is done")
    assert world.gate.count("done") == 1
    assert program.ends(signal.SIGTERM) == 0


def test_a_worker_as_it_stands(world: World) -> None:
    world.client.queue("/queues/mail", max_attempts=3).put("alice@example.org")
    program = world.start("node", "worker.mjs", cwd=example("worker"))
    program.says("mail to alice@example.org")
    assert program.ends(signal.SIGTERM) == 0
