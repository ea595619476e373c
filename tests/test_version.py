"""The version stands in Cargo.toml; scripts/version knows every other place that has it."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


def load() -> Any:
    """The script, whose name has no ending."""
    loader = importlib.machinery.SourceFileLoader("version", str(ROOT / "scripts/version"))
    spec = importlib.util.spec_from_loader("version", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules["version"] = module
    loader.exec_module(module)
    return module


script = load()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A tree with the files that have the version."""
    for name in {place.file for place in script.PLACES}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    return tmp_path


def test_every_file_says_the_same() -> None:
    assert list(script.problems(ROOT)) == []


def test_it_can_be_set_everywhere_and_back(copy: Path) -> None:
    before = script.version_of(copy)
    script.put(copy, "7.8.9-rc.1")
    assert list(script.problems(copy)) == []
    assert "\nVersion:        7.8.9~rc.1\n" in (copy / "packaging/rpm/zkrecipes.spec").read_text()
    assert "#define ZKR_VERSION_PATCH 9\n" in (copy / "include/zkrecipes.h").read_text()
    script.put(copy, "7.8.9")
    assert list(script.problems(copy)) == []
    assert script.version_of(copy) == "7.8.9"
    assert "#define ZKR_VERSION_MINOR 8\n" in (copy / "include/zkrecipes.h").read_text()
    script.put(copy, before)
    for name in {place.file for place in script.PLACES}:
        assert (copy / name).read_bytes() == (ROOT / name).read_bytes(), name


@pytest.mark.parametrize("place", script.PLACES[1:], ids=lambda place: f"{place.file} {place.pattern[:30]}")
def test_a_place_that_says_another_one_is_found(copy: Path, place: Any) -> None:
    place.put(copy, "7.8.9")
    assert any(found.startswith(f"{place.file}: ") for found in script.problems(copy))


def test_what_is_no_version_is_refused(copy: Path) -> None:
    with pytest.raises(SystemExit, match=r"not of the form"):
        script.put(copy, "7.8")


def test_no_other_file_has_the_version() -> None:
    """But for sentences about it, what was kept of a version, and what is derived."""
    version = re.escape(script.version_of(ROOT))
    listed = subprocess.run(
        ["git", "grep", "-lIE", rf"(^|[^0-9.]){version}([^0-9]|$)"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    known = {place.file for place in script.PLACES}
    others = set(listed.stdout.split()) - known
    said = re.compile(rf"such as \W*{version}|[Vv]ersion {version} is not|version={version}")
    wrong = []
    for name in sorted(others):
        kept = name.startswith(("tests/c/abi/", "bench/results/"))
        if kept or name.endswith(("lock.json", "go.sum")) or name == "tests/test_version.py":
            continue
        lines = [
            line
            for line in (ROOT / name).read_text().splitlines()
            if re.search(rf"(^|[^0-9.]){version}([^0-9]|$)", line)
        ]
        wrong += [f"{name}: {line}" for line in lines if not said.search(line)]
    assert wrong == []
