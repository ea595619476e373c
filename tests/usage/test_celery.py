"""examples/python/celery: a pool that forks, processes that are killed, and beats on several machines."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import whole_messages  # noqa: F401
from celery import Celery
from world import Program, World, eventually

PYTHON = sys.executable


def celery_here(world: World) -> Path:
    here = world.example("python/celery")
    for folder in ("queue", "control"):
        (here / folder).mkdir()
    return here


def test_celery_writes_a_report_once(world: World) -> None:
    here, gate = celery_here(world), world.gate
    alone = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    worker = world.start(
        PYTHON, "-m", "celery", "-A", "gated_celery", "worker", "--concurrency=2", "--loglevel=INFO", *alone, cwd=here
    )
    app = Celery(broker="filesystem://")
    app.conf.broker_transport_options = {
        "data_folder_in": str(here / "queue"),
        "data_folder_out": str(here / "queue"),
        "control_folder": str(here / "control"),
    }

    def send(*days: str) -> None:
        for day in days:
            app.send_task("tasks.report", [day])

    def done(day: str) -> bool:
        return world.client.nodes.exists(f"/reports/done/{day}") is not None

    def handled(times: int) -> None:
        worker.says("succeeded in", times)

    # However often it is asked for.
    gate.open()
    send(*["2026-01-01"] * 5)
    handled(5)
    assert done("2026-01-01")
    assert gate.count("begun") == 3  # its parts

    # The process that writes it is killed: another one writes it, once the lock is free.
    gate.shut()
    send("2026-01-02")
    victim = gate.begun(4)[-1]
    assert victim != worker.process.pid
    os.kill(victim, signal.SIGKILL)
    gate.open()
    eventually(lambda: done("2026-01-02"), "the other process has written it")
    assert victim not in gate.begun()[4:]
    handled(6)

    # The lock is lost in the middle of it: it stops after the part that it is at, and tries again.
    gate.shut()
    before = gate.count("begun")
    send("2026-01-03")
    gate.begun(before + 1)
    world.lose("/reports/lock")
    assert not done("2026-01-03")
    gate.open()
    eventually(lambda: done("2026-01-03"), "it has tried again")
    assert gate.count("begun") == before + 1 + 3
    handled(7)

    # SIGTERM in the middle of it: it is finished, and then everything is free at once.
    gate.shut()
    before = gate.count("begun")
    send("2026-01-04")
    gate.begun(before + 1)
    worker.process.send_signal(signal.SIGTERM)
    worker.says("Warm shutdown")
    gate.open()
    assert worker.ends(None) == 0, worker.said
    assert done("2026-01-04")
    eventually(lambda: world.server.sessions() == [world.client.session_id], "no session is left", within=5)


def test_of_several_beats_of_celery_one_beats(world: World) -> None:
    here = celery_here(world)

    def beat(number: int) -> Program:
        elect = ["zkrecipes", "elect", "--identity", f"beat-{number}", "/leaders/beat", "--"]
        command = [PYTHON, "-m", "celery", "-A", "gated_celery", "beat", "--schedule", f"beat-{number}", "--pidfile="]
        return world.start(*elect, *command, cwd=here, BEAT_SECONDS="0.2")

    def messages() -> int:
        return len(list((here / "queue").iterdir()))

    first = beat(1)
    eventually(lambda: messages() >= 2, "the first one beats")
    second = beat(2)
    election = world.client.election("/leaders/beat")
    eventually(lambda: len(election.candidates()) == 2, "both stand")
    seen = messages()
    eventually(lambda: messages() > seen, "the first one still beats")
    assert "is starting" in first.said
    assert "is starting" not in second.said
    first.kill()
    seen = messages()
    eventually(lambda: messages() > seen, "the second one beats")
    leader = election.leader()
    assert leader is not None
    assert leader.identity == "beat-2"
    assert second.ends(signal.SIGTERM) in (0, 128 + signal.SIGTERM)
    eventually(lambda: not election.candidates(), "the leadership is free at once", within=5)
