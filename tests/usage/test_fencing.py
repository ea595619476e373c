"""The examples of fencing: a holder is stopped in its work, and its write that comes late is refused."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from databases import Objects, object_store, postgresql, redis_server
from test_node import GATE, example, package  # noqa: F401
from world import ROOT, Gate, Program, World, built, eventually

EXAMPLES = ROOT / "examples/python/fencing"
S3 = {
    "AWS_ACCESS_KEY_ID": "any",
    "AWS_SECRET_ACCESS_KEY": "any",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
    "AWS_EC2_METADATA_DISABLED": "true",
    "NO_PROXY": "127.0.0.1",
}


class Place:
    """Where a report is kept: what a program is told, and how to look into it."""

    def __init__(self, argument: str, read: Callable[[], str], **environment: str) -> None:
        self.argument, self.read, self.environment = argument, read, environment


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgresql() as place:
        yield place


@pytest.fixture(scope="module")
def redis_place() -> Iterator[str]:
    with redis_server() as place:
        yield place


@pytest.fixture
def objects() -> Iterator[tuple[str, type[Objects]]]:
    with object_store() as found:
        yield found


def in_postgresql(place: str) -> str:
    import psycopg

    with psycopg.connect(place) as connection:
        (body,) = connection.execute("SELECT body FROM report").fetchone() or ("",)
        return body


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "in_sqlite":
        file = tmp_path / "report.db"
        return Place(str(file), lambda: sqlite3.connect(file).execute("SELECT body FROM report").fetchone()[0])
    if request.param == "in_postgresql":
        found = request.getfixturevalue("database")
        subprocess.run(["psql", "-q", found, "-c", "DROP TABLE IF EXISTS report, fences"], check=True)
        return Place(found, lambda: in_postgresql(found))
    if request.param == "in_redis":
        import redis

        found = request.getfixturevalue("redis_place")
        database = redis.Redis.from_url(found)
        database.flushall()
        return Place(found, lambda: database.hget("report", "body").decode())
    if request.param == "in_s3":
        url, store = request.getfixturevalue("objects")
        read = lambda: store.here["/bucket/report"].partition(b"\n")[2].decode()  # noqa: E731
        return Place("bucket", read, AWS_ENDPOINT_URL=url, **S3)
    file = tmp_path / "report"
    return Place(str(file), file.read_text)


def refused(world: World, place: Place, start: Callable[..., Program]) -> None:
    """The first holder is stopped in its work until its session has ended and the second one has taken over. Then it
    goes on, before the second one has written anything but its token."""
    gates = [Gate(world.place / name) for name in ("first", "second")]
    first, second = (lambda gate=gate: start(GATE=str(gate.place), **place.environment) for gate in gates)
    paused = first()
    gates[0].begun(1)
    paused.process.send_signal(signal.SIGSTOP)
    world.server.expire(world.holder("/locks/report"))
    later = second()
    gates[1].begun(1)

    gates[0].open()
    paused.process.send_signal(signal.SIGCONT)
    assert paused.ends(None) == 1, paused.said
    assert "nothing was written" in paused.said
    gates[1].open()
    assert later.ends(None) == 0, later.said
    assert "written with token" in later.said
    assert place.read() == "second\n"


PLACES = ["in_sqlite", "in_postgresql", "in_redis", "in_s3", "in_a_file"]


@pytest.mark.parametrize("place", PLACES, indirect=True, ids=PLACES)
def test_a_write_that_comes_late_is_refused(place: Place, world: World, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.id
    here = world.example("python/fencing")
    command = [sys.executable, "-m", "gated_fencing", name, place.argument]
    refused(world, place, lambda **environment: world.start(*command, cwd=here, **environment))


@pytest.mark.parametrize("place", PLACES, indirect=True, ids=PLACES)
def test_an_example_of_fencing_as_it_stands(place: Place, world: World, request: pytest.FixtureRequest) -> None:
    program = [sys.executable, EXAMPLES / f"{request.node.callspec.id}.py", place.argument]
    tokens = []
    for _ in range(2):
        once = world.start(*program, **place.environment)
        assert once.ends(None) == 0, once.said
        tokens.append(int(re.findall(r"written with token (\d+)", once.said)[0]))
    assert tokens[0] < tokens[1]
    assert place.read() == "one line more\none line more\n"


def test_the_examples_of_fencing_are_all_here_and_on_their_page() -> None:
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == sorted(PLACES)
    page = (ROOT / "docs/fencing.md").read_text()
    here = {path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").glob("*/fencing/*.*")}
    assert set(re.findall(r"^\[`.*`\]\(\.\./(.*)\)$", page, re.MULTILINE)) == here
    (statement,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    for name in ("in_sqlite.py", "in_postgresql.py"):
        theirs = re.findall(r'FENCE = """(.*?)"""', (EXAMPLES / name).read_text(), re.DOTALL)
        values = re.compile(r"VALUES \(.*\)")
        assert values.sub("", theirs[0]).split() == values.sub("", statement).split()


@pytest.mark.parametrize("place", ["in_postgresql"], indirect=True)
def test_a_write_of_node_that_comes_late_is_refused(place: Place, world: World) -> None:
    here = example("fencing")
    (here / "gate.mjs").write_text(GATE)
    (here / "gated.mjs").write_text("""
        import { basename } from 'node:path'
        import { work } from './gate.mjs'
        import { main, Stale } from './in-postgresql.mjs'
        const line = async (body) => (await work(), `${body}${basename(process.env.GATE)}\\n`)
        await main(process.argv[2], line).catch((error) => {
          if (!(error instanceof Stale)) throw error
          console.log(`nothing was written: ${error.message}`)
          process.exitCode = 1
        })
        """)
    # What the package of Node takes is a URL.
    host, user, name = (word.split("=")[1] for word in place.argument.split())
    url = f"postgres://{user}@/{name}?host={host}"
    refused(world, place, lambda **environment: world.start("node", "gated.mjs", url, cwd=here, **environment))


def test_a_write_of_c_that_comes_late_is_refused(world: World, prefix: Path) -> None:
    source = ROOT / "examples/c/fencing/in_a_file.c"
    program = built([source], "in_a_file", ["cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"], prefix)
    report = world.place / "report"
    # What each of them adds comes through a pipe, so that it waits for it.
    pipes = [world.place / name for name in ("first.pipe", "second.pipe")]
    for pipe in pipes:
        os.mkfifo(pipe)

    def start(pipe: Path) -> Program:
        return world.start("sh", "-c", f"exec {program} {report} <>{pipe}")

    paused = start(pipes[0])
    paused.says("taken over")
    paused.process.send_signal(signal.SIGSTOP)
    world.server.expire(world.holder("/locks/report"))
    later = start(pipes[1])
    later.says("taken over")
    pipes[0].write_text("first\n")
    paused.process.send_signal(signal.SIGCONT)
    assert paused.ends(None) == 1, paused.said
    assert "nothing was written" in paused.said
    pipes[1].write_text("second\n")
    assert later.ends(None) == 0, later.said
    assert report.read_text() == "second\n"
    # The program in Python goes on with it.
    python = world.start(sys.executable, EXAMPLES / "in_a_file.py", report)
    assert python.ends(None) == 0, python.said
    assert report.read_text() == "second\none line more\n"


# --- what the stores decide


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"fencing_{name}", EXAMPLES / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tokens_are_compared_as_numbers_beyond_those_of_lua(redis_place: str) -> None:
    module = loaded("in_redis")
    database = module.redis.Redis.from_url(redis_place)
    database.flushall()
    high = 2**63 - 1
    module.Report(database, "report", 9).write("nine")
    module.Report(database, "report", 10).write("ten")
    module.Report(database, "report", high).write("high")
    module.Report(database, "report", high).write("the same holder again")
    for lower in (9, high - 1):
        with pytest.raises(module.Stale):
            module.Report(database, "report", lower).take_over()
    assert module.Report(database, "report", high).take_over() == "the same holder again"


def test_an_answer_of_the_object_store_that_is_lost(
    objects: tuple[str, type[Objects]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The put is sent again, does not fit any more, and what is there is ours."""
    url, store = objects
    for name, value in {**S3, "AWS_ENDPOINT_URL": url}.items():
        monkeypatch.setenv(name, value)
    module = loaded("in_s3")
    report = module.Report(module.boto3.client("s3"), "bucket", "report", 5)
    store.unheard = 1
    assert report.take_over() == b""
    store.unheard = 1
    report.write(b"body")
    assert store.unheard == 0
    assert store.here["/bucket/report"] == b"5\nbody"
    with pytest.raises(module.Stale):
        module.Report(report.s3, "bucket", "report", 4).write(b"late")


def test_a_new_token_changes_the_etag_of_the_object(
    objects: tuple[str, type[Objects]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has read before the next holder has taken over cannot replace the object, though its body is the same."""
    url, store = objects
    for name, value in {**S3, "AWS_ENDPOINT_URL": url}.items():
        monkeypatch.setenv(name, value)
    module = loaded("in_s3")
    s3 = module.boto3.client("s3")
    first, second = (module.Report(s3, "bucket", "report", token) for token in (5, 6))
    first.write(b"body")
    read = first._read

    def overtaken() -> object:
        answer = read()
        if store.here["/bucket/report"].startswith(b"5"):
            second.take_over()
        return answer

    first._read = overtaken
    with pytest.raises(module.Stale):
        first.write(b"late")
    assert store.here["/bucket/report"] == b"6\nbody"


def test_a_file_keeps_the_highest_token(tmp_path: Path) -> None:
    module = loaded("in_a_file")
    report = tmp_path / "report"
    module.Report(report, 10).write("ten")
    for lower in (9, 0):
        with pytest.raises(module.Stale):
            module.Report(report, lower).take_over()
    assert module.Report(report, 10).take_over() == "ten"
    module.Report(report, 2**63 - 1).write("high")
    assert (tmp_path / "report.fence").read_text() == f"{2**63 - 1:020}\n"
    eventually(lambda: sorted(path.name for path in tmp_path.iterdir()) == ["report", "report.fence"], "nothing else")
