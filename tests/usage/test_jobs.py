"""The jobs of examples/python/*/ that one process of several does."""

from __future__ import annotations

import datetime
import re
import signal
import sys

from world import Program, World, eventually

PYTHON = sys.executable


def test_a_command_of_django_is_run_once_a_day(world: World) -> None:
    here = world.example("python/django")

    def nightly() -> Program:
        return world.start(PYTHON, "-m", "gated_nightly", cwd=here)

    # Ended in the middle of it: it is free at once, and not done.
    first = nightly()
    world.gate.begun(1)
    assert first.ends(signal.SIGTERM) == 143
    world.free_at_once("/cron/nightly/lock")

    # Lost in the middle of it: it stops, and it is not done either.
    second = nightly()
    world.gate.begun(2)
    world.lose("/cron/nightly/lock")
    world.gate.open()
    assert second.ends(None) == 1
    assert "zkrecipes.Lost" in second.said
    assert world.gate.count("done") == 1
    world.gate.shut()

    # Two at once: one does it, and nobody does it again, but on the next day.
    day = today()
    third = nightly()
    world.gate.begun(3)
    fourth = nightly()
    assert fourth.ends(None) == 0
    assert fourth.said == "somebody else is at it\n"
    world.gate.open()
    assert third.ends(None) == 0
    assert third.said == "done\n"
    fifth = nightly()
    assert fifth.ends(None) == 0
    if today() == day:
        assert fifth.said == "done already\n"
        assert world.client.nodes.get("/cron/nightly/done")[0] == day.encode()


def today() -> str:
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def test_a_night_is_finished_although_who_began_it_dies(world: World) -> None:
    here = world.example("python/nightly")

    def nightly() -> Program:
        return world.start(PYTHON, "-m", "gated_steps", cwd=here)

    day = today()
    first = nightly()
    world.gate.begun(1)
    second = nightly()
    eventually(lambda: len(world.line("/cron/nightly/lock")) == 2, "the second one waits")
    # Before it dies: on a slow machine its session may end by itself.
    holder = world.holder("/cron/nightly/lock")
    world.gate.open()
    first.kill()
    world.server.expire(holder)
    assert second.ends(None) == 0, second.said
    # A step that was done is not done again; one that was begun is.
    assert re.findall(r"(\w+) with token", first.said) == ["export", "load"]
    assert re.findall(r"(\w+) with token", second.said) == ["load", "report"]
    third = nightly()
    assert third.ends(None) == 0
    if today() == day:
        assert third.said == "all is done\n"


def test_one_scheduler_of_apscheduler_acts(world: World) -> None:
    here = world.example("python/apscheduler")
    first = world.start(PYTHON, "scheduler.py", cwd=here)
    first.says("tick in epoch")
    second = world.start(PYTHON, "scheduler.py", cwd=here)
    election = world.client.election("/leaders/scheduler")
    eventually(lambda: len(election.candidates()) == 2, "both stand")

    def epochs(program: Program) -> list[int]:
        return [int(epoch) for epoch in re.findall(r"epoch (\d+)", program.said)]

    # It loses the leadership: the other one acts, and it stands again.
    world.server.expire(election.candidates()[0].session_id)
    second.says("tick in epoch")
    eventually(lambda: len(election.candidates()) == 2, "both stand again")
    ticks = len(epochs(first))
    second.says("tick in epoch", times=len(epochs(second)) + 1)
    assert len(epochs(first)) == ticks

    # The machine is gone.
    second.kill()
    first.says("tick in epoch", times=ticks + 1)
    assert max(epochs(second)) < max(epochs(first))

    third = world.start(PYTHON, "scheduler.py", cwd=here)
    eventually(lambda: len(election.candidates()) == 2, "both stand")
    assert first.ends(signal.SIGTERM) == 0
    assert first.said.endswith("stopped\n")
    eventually(lambda: len(election.candidates()) == 1, "the leadership is free at once", within=5)
    third.says("tick in epoch")
    assert max(epochs(first)) < epochs(third)[0]
    assert third.ends(signal.SIGTERM) == 0
