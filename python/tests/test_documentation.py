"""The examples that users read are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import zkrecipes

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples/python").glob("*.py"))


def test_the_classes_people_start_with_have_examples() -> None:
    """Which pytest runs, as it does those of the modules and of README.md."""
    begun_elsewhere = {"CommitTransaction", "Proposal"}
    names = {name for name in zkrecipes.__all__ if hasattr(zkrecipes._native, f"{name}Base")} - begun_elsewhere
    assert {"Client", "Lock", "Held", "Queue"} <= names
    for name in names:
        assert ">>>" in (getattr(zkrecipes, name).__doc__ or ""), name


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


def test_there_is_an_example_of_everything_that_a_client_makes() -> None:
    verbs = {name for name in vars(zkrecipes._native.ClientBase) if not name.startswith("_")}
    assert {"lock", "queue", "watch_sequencer"} <= verbs
    texts = "".join(example.read_text() for example in EXAMPLES)
    assert {verb for verb in verbs if not re.search(rf"\.{verb}\b", texts)} == set()
