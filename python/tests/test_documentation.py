"""The examples that users read are run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import zkrecipes

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples/python").glob("*.py"))


def test_the_classes_people_start_with_have_examples() -> None:
    """Which pytest runs, as it does those of the modules and of README.md."""
    names = ["Client", "Lock", "ReadWriteLock", "MultiLock", "Semaphore", "Held", "Nodes", "Transaction"]
    names += ["Config", "Counter", "Election", "Feed", "Group", "Names"]
    names += ["Queue", "PriorityQueue", "DelayQueue", "Backlog", "Item", "Barrier", "DoubleBarrier", "TwoPhaseCommit"]
    for name in names:
        assert ">>>" in (getattr(zkrecipes, name).__doc__ or "")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(example: Path, hosts: str) -> None:
    done = subprocess.run(
        [sys.executable, str(example), hosts],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(zkrecipes.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_there_are_examples() -> None:
    assert {example.name for example in EXAMPLES} >= {
        "barrier.py",
        "config.py",
        "counter.py",
        "delay_queue.py",
        "double_barrier.py",
        "election.py",
        "election_asyncio.py",
        "group.py",
        "lock.py",
        "lock_asyncio.py",
        "multi_lock.py",
        "names.py",
        "priority_queue.py",
        "read_write_lock.py",
        "revocation.py",
        "semaphore.py",
        "sequencer.py",
        "two_phase_commit.py",
        "watch.py",
        "work_queue.py",
    }
