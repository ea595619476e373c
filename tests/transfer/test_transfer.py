"""The processes of examples/transfer are killed, each before each of its steps, and not a cent is lost."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
import zkrecipes
from zkrecipes.testing import EmbeddedServer

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXAMPLE = ROOT / "examples/transfer"
PACKAGE = str(Path(zkrecipes.__file__).parents[1])
SITES = ["bank", "shop"]
BEGUN_WITH = 100_000
IN_TIME = 30.0


class Story(NamedTuple):
    pays: int
    outcome: str
    steps: int
    """That there are at least, and before each of which it is killed."""
    dies_again: bool = False
    """While it recovers."""
    is_aborted_when_voted: bool = False


STORIES = {
    "pays": Story(500, "commit", 16, dies_again=True),
    "is paid": Story(-500, "commit", 16),
    "cannot pay": Story(10 * BEGUN_WITH, "abort", 9),
    "has set aside in vain": Story(500, "abort", 16, is_aborted_when_voted=True),
}


def eventually(condition: Callable[[], object], state: Callable[[], object] = str) -> None:
    """Waits for a condition, never for a while."""
    deadline = time.monotonic() + IN_TIME
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen {state()}"
        time.sleep(0.002)


class Process:
    """One of the example's, which may be killed before any of its steps."""

    _process: subprocess.Popen[bytes] | None = None
    _sessions: set[int]

    def __init__(self, server: EmbeddedServer, folder: Path, name: str, *command: str) -> None:
        self._server, self._command = server, command
        self._armed, self._log = folder / f"{name}.armed", folder / f"{name}.log"

    def start(self, kill_at: str = "") -> None:
        """Returns when it has connected, or is dead."""
        self.arm(kill_at)
        before = set(self._server.sessions())
        environment = {**os.environ, "KILL_AT": str(self._armed), "PYTHONPATH": PACKAGE}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=environment)
        eventually(lambda: set(self._server.sessions()) - before or self.is_dead)
        self._sessions = set(self._server.sessions()) - before

    def arm(self, kill_at: str) -> None:
        self._armed.write_text(kill_at)

    @property
    def is_dead(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def was_killed(self) -> bool:
        """Waits for its end, and for that of its session; an end by itself has to be a good one."""
        assert self._process
        status = self._process.wait(IN_TIME)
        for session in self._sessions:
            self._server.expire(session)
        assert status in (0, -signal.SIGKILL), self._log.read_text()[-2000:]
        return status != 0

    def kill(self) -> None:
        if self._process and not self.is_dead:
            self._process.kill()
            self.was_killed()

    def hold(self) -> None:
        assert self._process
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process
        self._process.send_signal(signal.SIGCONT)


class World:
    """A server, the two sites with their databases, and a coordinator in this process."""

    def __init__(self, server: EmbeddedServer, folder: Path) -> None:
        self._server, self._folder, self._hosts = server, folder, server.connect_string
        modules = folder / "node_modules"
        modules.mkdir()
        for name, there in {"zkrecipes": "node", "libsql": "node/node_modules/libsql"}.items():
            (modules / name).symlink_to(ROOT / there)
        for file in (EXAMPLE / "shop.mjs", HERE / "kill-at.cjs"):
            shutil.copy(file, folder)
        node = ("node", "--require", str(folder / "kill-at.cjs"), str(folder / "shop.mjs"))
        self.sites = {
            "bank": Process(server, folder, "bank", *self._python("bank.py", str(folder / "bank.db"))),
            "shop": Process(server, folder, "shop", *node, str(folder / "shop.db"), self._hosts),
        }
        self._client = zkrecipes.Client(self._hosts)
        self.commits = self._client.two_phase_commit("/payments")
        self._pool = ThreadPoolExecutor()
        self._numbers = itertools.count(1)

    def _python(self, program: str, *arguments: str) -> list[str]:
        return [sys.executable, str(HERE / "kill_at.py"), str(EXAMPLE / program), *arguments, self._hosts]

    def begin(self, cents: int) -> Payment:
        """A payment whose coordinator lives."""
        name = f"payment-{next(self._numbers)}"
        payload = json.dumps({"bank": -cents, "shop": cents})
        begun = self.commits.begin(name, SITES, payload, timeout=IN_TIME)
        outcome = self._pool.submit(begun.outcome)
        return Payment(self.commits, name, outcome.result)

    def pay(self, cents: int, kill_at: str) -> bool:
        """Whether it was killed."""
        pay = Process(self._server, self._folder, "pay", *self._python("pay.py", str(cents)))
        pay.start(kill_at)
        return pay.was_killed()

    def check(self) -> None:
        """Not a cent is lost or made, and both have done the same."""
        eventually(lambda: not self.commits.history() and self._is_settled() and not self._is_one_asked())
        (bank, paid), (shop, received) = self._look()
        assert bank + shop == 2 * BEGUN_WITH
        for payment in {*paid, *received}:
            # Who refused, or was not asked in time, knows nothing of it.
            done = {states.get(payment, "abort") for states in (paid, received)}
            assert len(done) == 1, (payment, done)

    def _is_settled(self) -> bool:
        return all(state != "prepared" for _, states in self._look() for state in states.values())

    def _is_one_asked(self) -> bool:
        # Who has not voted is not waited for, and may learn last that there is nothing to do.
        return any(node.startswith(f"/payments/inbox/{site}/") for node in self._server.nodes() for site in SITES)

    def _look(self) -> list[tuple[int, dict[str, str]]]:
        return [look(self._folder / f"{site}.db") for site in SITES]

    def end(self) -> None:
        for site in self.sites.values():
            site.kill()
        self._client.close(10)
        self._pool.shutdown()
        eventually(self._is_nothing_left, self._server.nodes)

    def _is_nothing_left(self) -> bool:
        # The parents are containers, which go when they are empty. What a coordinator had in hand that was killed
        # leaves its outcome for a day.
        self._server.advance_clock(100)
        return all(f"{node}/".startswith("/payments/outcomes/") or node == "/payments" for node in self._server.nodes())


class Payment(NamedTuple):
    commits: zkrecipes.TwoPhaseCommit
    name: str
    outcome: Callable[[float], str]

    def is_over(self) -> bool:
        return self.commits.show(self.name) is None

    def has_vote_of(self, name: str) -> bool:
        status = self.commits.show(self.name)
        return status is not None and any(site.has_voted for site in status.sites if site.site == name)


def look(file: Path) -> tuple[int, dict[str, str]]:
    database = sqlite3.connect(file)
    try:
        (cents,) = database.execute("SELECT cents FROM account").fetchone()
        return cents, dict(database.execute("SELECT id, state FROM payment"))
    finally:
        database.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with EmbeddedServer(tick=0.05) as server:
        world = World(server, tmp_path)
        for site in world.sites.values():
            site.start()
        yield world
        world.end()


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
@pytest.mark.parametrize("site", SITES)
def test_a_site_may_be_killed_before_any_step(world: World, site: str, story: Story) -> None:
    step, is_killed = 0, True
    while is_killed:
        step += 1
        is_killed = kill_at(step, world, site, story)
        world.check()
    assert step >= story.steps


def kill_at(step: int, world: World, name: str, story: Story) -> bool:
    """Whether there was such a step."""
    site, other = world.sites[name], *(world.sites[each] for each in SITES if each != name)
    site.arm(str(step))
    if story.is_aborted_when_voted:
        other.hold()
    payment = world.begin(story.pays if name == "bank" else -story.pays)
    if story.is_aborted_when_voted:
        eventually(lambda: site.is_dead or payment.has_vote_of(name))
        world.commits.decide_abort(payment.name, "the other one has burnt down")
        other.go_on()
    is_killed = False
    for again in (str(step) if story.dies_again and step % 2 else "", ""):
        eventually(lambda: site.is_dead or payment.is_over())
        if site.is_dead:
            is_killed = site.was_killed()
            site.start(again)
    assert payment.outcome(IN_TIME) == story.outcome
    return is_killed


def test_who_pays_may_be_killed_before_any_step(world: World) -> None:
    """And while a request is on its way. Whoever pays next recovers what was begun."""
    step, killed = 0, [True]
    while any(killed):
        step += 1
        killed = [world.pay(500, f"{step}{delay}") for delay in ("", " 0.001", " 0.004")]
        assert not world.pay(500, "")
        world.check()
    assert step > 3
