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


def refused(place: Path, verb: str, program: str) -> str:
    """What is said when the counter has that verb, too."""
    shutil.copytree(ROOT / "api", place / "api")
    with (place / "api/counter.toml").open("a") as described:
        described.write(verb)
    environment = {**os.environ, "PYTHONPATH": str(place / "api/generate")}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True).stderr


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
    # One face is enough, and needs no other folder.
    face = "node.parts" if "in Node" in said else "blocking.blocking"
    program = f"import blocking, description, node; {face}({{'counter': description.describe('counter')}})"
    assert f"api/counter.toml: {said}" in refused(tmp_path, VERB.replace(right, wrong), program)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("i64", "u64", 'reset: to has no type in Python; say by_hand = ["python"]'),
        ("doc =", 'gives = "was: u64"\ndoc =', "reset: say in python_gives what it answers"),
        ("Begins anew.", "See zkr_counter_add.", "reset: nothing is said of it in Python"),
    ],
)
def test_what_python_cannot_take_over_is_named(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    program = "import description, python; python.stub(python.types({'counter': description.describe('counter')}))"
    assert f"api/counter.toml: {said}" in refused(tmp_path, VERB.replace(right, wrong), program)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("doc =", 'word = "add"\ndoc =', "two verbs have the word add"),
        ('i64"\n', 'texts"\nword = "reset"\n', "reset has a word, and the drivers cannot read or say texts"),
        ('doc = "Begins anew."\n', 'cpp = "Begins anew."\n', "reset has no doc"),
        ("doc =", "doc =", "reset has no cpp"),
    ],
)
def test_a_verb_that_lacks_something_is_named(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    program = (
        "import description, drivers; counter = description.describe('counter'); drivers.words({'counter': counter}); "
        "description.check(counter)"
    )
    assert said in refused(tmp_path, VERB.replace(right, wrong), program)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("default = 1_000\n", "defaults = 1_000\n", "max_in_flight: defaults is no key of an option"),
        ('"number"', '"figure"', "max_in_flight: figure is no type of an option, and no enum"),
        ('"max_in_flight", ', "", "max_in_flight: say where it stands in C: at the end of c_later of [options]"),
    ],
)
def test_what_is_wrong_with_an_option_is_named(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    shutil.copytree(ROOT / "api", tmp_path / "api")
    described = tmp_path / "api/client.toml"
    described.write_text(described.read_text().replace(right, wrong))
    place = {**os.environ, "PYTHONPATH": str(tmp_path / "api/generate")}
    done = subprocess.run(
        [sys.executable, "-c", "import options; options.client()"], env=place, capture_output=True, text=True
    )
    assert f"api/client.toml: {said}" in done.stderr


def words() -> list[list[str]]:
    """Of each choice, and of what is told in a few words."""
    described = tomllib.loads((ROOT / "api/enums.toml").read_text()).values()
    choices = (
        option
        for path in sorted((ROOT / "api").glob("*.toml"))
        for option in tomllib.loads(path.read_text()).get("option", {}).values()
        if "values" in option
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


# What is added to a description, and the files of each face that have to change with it.
ADDED = {
    "verb": (
        "api/counter.toml",
        '\n[verbs.reset]\nword = "reset"\ntakes = "to: i64"\ndoc = "Begins anew."\ncpp = "Begins anew."\n',
        "core/src/blocking/generated/counter.rs ffi/src/generated/counter.rs include/zkrecipes.hpp "
        "include/zkrecipes_coro.hpp bindings/python/src/generated/counter.rs python/zkrecipes/_native.pyi "
        "python/zkrecipes/_recipes.py bindings/node/src/generated/counter.rs node/lib/counter.cjs "
        "node/lib/counter.d.cts node/test/generated/verbs.mjs "
        "tests/drivers/rust/generated.rs tests/drivers/c/generated.c tests/drivers/python/generated.py "
        "tests/drivers/node/generated.mjs tests/drivers/README.md",
    ),
    "option": (
        "api/queue.toml",
        '\n[option.most_size]\ntype = "number"\ndefault = 7\nis = "How large an item may be."\n',
        "core/src/options/generated.rs ffi/src/generated/queue.rs ffi/src/generated/defaults.h include/zkrecipes.hpp "
        "bindings/python/src/generated/options.rs bindings/python/src/recipes.rs python/zkrecipes/_native.pyi "
        "bindings/node/src/generated/options.rs node/lib/options.cjs node/lib/queue.d.cts docs/options.md "
        "tests/drivers/rust/generated.rs tests/drivers/c/generated.h tests/drivers/python/generated.py "
        "tests/drivers/node/generated.mjs",
    ),
    "kind of error": (
        "api/errors.toml",
        '\n[Busy]\ncode = 18\nagain = true\nis = "Too much is asked."\ndo = "wait"\nexit = "NO_SERVER"\n',
        "core/src/error.rs ffi/src/status.rs include/zkrecipes.hpp python/zkrecipes/_native.pyi "
        "python/zkrecipes/__init__.py node/lib/errors.d.cts cli/src/outcome.rs docs/errors.md",
    ),
}


@pytest.mark.parametrize("what", ADDED)
def test_what_is_described_once_is_in_every_language(tmp_path: Path, what: str) -> None:
    name, added, reached = ADDED[what]
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    for path in (ROOT / one for one in listed):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            copy.write_bytes(path.read_bytes())
    text = (tmp_path / name).read_text()
    (tmp_path / name).write_text(text.replace('"key_window"]', '"key_window", "most_size"]') + added)
    subprocess.run([sys.executable, "api/generate"], cwd=tmp_path, check=True)
    changed = {
        one for one in listed if (ROOT / one).is_file() and (tmp_path / one).read_bytes() != (ROOT / one).read_bytes()
    }
    assert set(reached.split()) <= changed, f"a {what} is missing in these"
    assert changed & {"api/counter.toml", "api/queue.toml", "api/errors.toml"} == {name}
