"""What is wrong in a description is named, and what is not generated yet is as it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib

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
        ("i64", "u64", 'reset: to has no type in Node; say by_hand = ["node"]'),
    ],
)
def test_what_is_wrong_with_a_verb_is_named(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    shutil.copytree(ROOT / "api", tmp_path / "api")
    with (tmp_path / "api/counter.toml").open("a") as described:
        described.write(VERB.replace(right, wrong))
    # One face is enough, and needs no other folder.
    face = "node.parts" if "in Node" in said else "blocking.blocking"
    program = f"import blocking, description, node; {face}({{'counter': description.describe('counter')}})"
    place = {**os.environ, "PYTHONPATH": str(tmp_path / "api/generate")}
    done = subprocess.run([sys.executable, "-c", program], env=place, capture_output=True, text=True)
    assert f"api/counter.toml: {said}" in done.stderr


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("i64", "u64", 'reset: to has no type in Python; say by_hand = ["python"]'),
        ("doc =", 'gives = "was: u64"\ndoc =', "reset: say in python_gives what it answers"),
        ("Begins anew.", "See zkr_counter_add.", "reset: nothing is said of it in Python"),
    ],
)
def test_what_python_cannot_take_over_is_named(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    shutil.copytree(ROOT / "api", tmp_path / "api")
    with (tmp_path / "api/counter.toml").open("a") as described:
        described.write(VERB.replace(right, wrong))
    program = "import description, python; python.stub(python.types({'counter': description.describe('counter')}))"
    place = {**os.environ, "PYTHONPATH": str(tmp_path / "api/generate")}
    done = subprocess.run([sys.executable, "-c", program], env=place, capture_output=True, text=True)
    assert f"api/counter.toml: {said}" in done.stderr


def words() -> list[list[str]]:
    """Of each choice, and of what is told in a few words."""
    described = tomllib.loads((ROOT / "api/enums.toml").read_text()).values()
    choices = (
        choice
        for path in sorted((ROOT / "api").glob("*.toml"))
        for choice in tomllib.loads(path.read_text()).get("options", {}).get("choices", {}).values()
    )
    # A word has a signature of its own where it decides what is answered, as in `watch`.
    found = [one for one in described if one.get("words") and one["c"] != "zkr_watch_kind"] + [
        {**one, "none": "Default"} for one in choices
    ]
    values = [[value for value in one["values"] if value != one.get("none")] for one in found]
    return [[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", value).lower() for value in listed] for listed in values]


def text(folder: str, pattern: str) -> str:
    whole = " ".join(path.read_text() for path in sorted((ROOT / folder).glob(pattern)))
    return re.sub(r"(?<=\[) |,(?= ?\])| (?=\])", "", " ".join(whole.split()))


@pytest.mark.parametrize("listed", words(), ids="-".join)
def test_the_types_of_python_and_node_have_the_words(listed: list[str]) -> None:
    assert " | ".join(f"'{word}'" for word in listed) in text("node/lib", "*.d.cts")
    # The state of a client is any text in Python.
    if "suspended" not in listed:
        assert f"Literal[{', '.join(f'{chr(34)}{word}{chr(34)}' for word in listed)}]" in text(
            "python/zkrecipes", "*.py*"
        )
