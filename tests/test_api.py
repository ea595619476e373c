"""What is wrong in a description is named, and not left out in silence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
VERB = '\n[verbs.reset]\ntakes = "to: i64"\ndoc = "Begins anew."\n'


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("doc =", "docs =", "reset: docs is no key of a verb"),
        ("doc =", 'kind = "wait"\ndoc =', "reset: wait is no kind of verb"),
        ("i64", "int", "reset: int is no type of an argument"),
        ("doc =", 'gives = "was: number"\ndoc =', "reset: number is no type of an answer"),
        ("doc =", 'by_hand = ["fortran"]\ndoc =', "reset: fortran is no face"),
        ("i64", "texts", 'reset: to has no type in Rust; say by_hand = ["blocking"]'),
    ],
)
def test_what_is_wrong_with_a_verb_is_named(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    shutil.copytree(ROOT / "api", tmp_path / "api")
    with (tmp_path / "api/counter.toml").open("a") as described:
        described.write(VERB.replace(right, wrong))
    # One face is enough, and needs no other folder.
    program = "import blocking, description; blocking.blocking({'counter': description.describe('counter')})"
    place = {**os.environ, "PYTHONPATH": str(tmp_path / "api/generate")}
    done = subprocess.run([sys.executable, "-c", program], env=place, capture_output=True, text=True)
    assert f"api/counter.toml: {said}" in done.stderr
