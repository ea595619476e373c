"""What passed only when it was run again is said, and more than one such thing breaks the build."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FAILS_ONCE = "[ -e {name}.failed ] || {{ touch {name}.failed && echo {name} FAILED && exit 1; }}"


def run_parts(place: Path, parts: dict[str, str], *groups: str, again: bool = True) -> subprocess.CompletedProcess[str]:
    """tests/run.sh with these parts instead of its own."""
    (place / "tests").mkdir()
    shutil.copy(ROOT / "tests/limit.py", place / "tests")
    whole = (ROOT / "tests/run.sh").read_text()
    before = "# One part, as limit.py is told below to run it.\n"
    assert before in whole
    fakes = "".join(f"part_{name}() {{ {body}; }}\n" for name, body in parts.items())
    program = place / "tests/run.sh"
    program.write_text(whole.replace(before, fakes + before))
    program.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ZKR_")}
    environment |= {"ZKR_AGAIN": "1"} if again else {}
    return subprocess.run([program, *groups], env=environment, capture_output=True, text=True, timeout=120)


def fails_once(*names: str) -> dict[str, str]:
    return {name: f"({FAILS_ONCE.format(name=name)})" for name in names}


def test_a_part_that_passes_when_it_is_run_again_is_said_and_breaks_nothing(tmp_path: Path) -> None:
    done = run_parts(tmp_path, {**fails_once("one"), "other": "true"}, "one", "other")
    assert "one passed only when run again, alone" in done.stdout
    # And why it was: by a line of its first run, at the end.
    assert done.stdout.rstrip().endswith("one.log: 1:one FAILED")
    assert done.returncode == 0, done.stdout


def test_without_being_asked_nothing_is_run_again(tmp_path: Path) -> None:
    done = run_parts(tmp_path, fails_once("one"), "one", again=False)
    assert done.returncode == 1
    assert "failed: one" in done.stdout


@pytest.mark.parametrize("groups", [["one", "other"], ["one+other"]])
def test_two_parts_that_fail_are_not_excused(groups: list[str], tmp_path: Path) -> None:
    done = run_parts(tmp_path, fails_once("one", "other"), *groups)
    assert done.returncode == 1, done.stdout
    assert "passed only when run again" not in done.stdout


def test_two_second_tries_of_different_parts_are_said_and_break_the_build(tmp_path: Path) -> None:
    said = "echo locks passed only when run again, alone: look why"
    done = run_parts(tmp_path, {**fails_once("one"), "core": said}, "core", "one")
    assert "core: locks passed only when run again" in done.stdout
    assert "one passed only when run again" in done.stdout
    assert "more than one thing passed only when it was run again" in done.stdout
    assert done.returncode == 1, done.stdout


def test_one_program_that_was_run_again_is_said_and_breaks_nothing(tmp_path: Path) -> None:
    done = run_parts(tmp_path, {"core": "echo locks passed only when run again, alone: look why"}, "core")
    assert "core: locks passed only when run again" in done.stdout
    assert done.returncode == 0, done.stdout


def binaries(place: Path, *flaky: str, again: bool = True) -> subprocess.CompletedProcess[str]:
    """tests/binaries.py with a cargo that builds these programs, and one that passes."""
    programs = {"steady": "true", **fails_once(*flaky)}
    messages = []
    for name, body in programs.items():
        program = place / f"{name}-0123456789abcdef"
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
        message = {"executable": str(program), "manifest_path": str(place / "Cargo.toml"), "profile": {"test": True}}
        messages.append(json.dumps(message))
    (place / "messages").write_text("\n".join(messages) + "\n")
    cargo = place / "bin/cargo"
    cargo.parent.mkdir()
    cargo.write_text(f"#!/bin/sh\ncase $* in *--no-run*) cat '{place}/messages' ;; esac\n")
    cargo.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ZKR_")}
    environment |= {"PATH": f"{cargo.parent}:{environment['PATH']}"} | ({"ZKR_AGAIN": "1"} if again else {})
    return subprocess.run(
        [ROOT / "tests/binaries.py", "2", "--workspace"], env=environment, capture_output=True, text=True, timeout=120
    )


def test_a_program_that_passes_when_it_is_run_again_is_said_and_breaks_nothing(tmp_path: Path) -> None:
    done = binaries(tmp_path, "flaky")
    assert "flaky FAILED with status 1" in done.stdout
    # As tests/run.sh looks for it.
    assert "flaky passed only when run again, alone" in done.stdout
    assert "2 of 2 programs passed" in done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize(("flaky", "again"), [(["one", "other"], True), (["one"], False)])
def test_two_programs_that_fail_are_not_excused_nor_is_one_unasked(
    flaky: list[str], again: bool, tmp_path: Path
) -> None:
    done = binaries(tmp_path, *flaky, again=again)
    assert "passed only when run again" not in done.stdout
    assert done.returncode == 1
