#!/usr/bin/env python3
"""Breaks each line of tests/guards.toml in a copy of the sources and expects its scenarios, tests and plays to fail.

guards.py              all of them; a few minutes
guards.py czxid        only those whose reason contains this
guards.py --plays      only those with plays, and those alone
guards.py --lines      only looks whether every line to break is still there, once, and every test by its name; a moment
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "target/guards"
PLAYS = "tests/interleavings"


def run(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CARGO_TARGET_DIR": str(COPY / "target")}
    return subprocess.run(
        command, cwd=COPY, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def copy_sources(leave: str = "\n") -> None:
    """Leaves unchanged files alone, so that cargo builds only what is broken next; and what begins with `leave`."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    names = {name for name in listed if name and not name.startswith(leave)}
    for stale in COPY.rglob("*.rs"):
        twin = stale.relative_to(COPY)
        if twin.parts[0] != "target" and str(twin) not in names and not str(twin).startswith(leave):
            stale.unlink()
    for name in sorted(names):
        source, copied = ROOT / name, COPY / name
        if source.is_file() and (not copied.is_file() or copied.read_bytes() != source.read_bytes()):
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copied)


def lost_lines(guards: list[dict[str, Any]]) -> list[str]:
    """The guards whose line is gone or stands several times: they would guard nothing."""
    lost = []
    for guard in guards:
        text = (ROOT / guard["file"]).read_text()
        for line, _ in [(guard["line"], None), *([guard["also"]] if "also" in guard else [])]:
            if text.count(line) != 1:
                lost.append(f"{guard['why']}: its line stands {text.count(line)} times in {guard['file']}")
    return lost


@cache
def sources(program: str) -> str:
    folder = ROOT / "core" / ("src" if program == "lib" else f"tests/{program}")
    files = folder.rglob("*.rs") if folder.is_dir() else [folder.with_suffix(".rs")]
    return "".join(file.read_text() for file in files)


def lost_tests(guards: list[dict[str, Any]]) -> list[str]:
    """Tests that no file has: none would be run, and that succeeds."""
    tests = {test for guard in guards for test in guard.get("tests", [])}
    named = sorted((test, word.rpartition("::")) for test in tests for word in test.split()[1:])
    # Behind the name of a module a name is meant from its beginning on.
    patterns = ((test, rf"fn {name}" if module else rf"(fn|mod) \w*{name}") for test, (module, _, name) in named)
    return [f"{test}: no such test" for test, pattern in patterns if not re.search(pattern, sources(test.split()[0]))]


def lost_plays(guards: list[dict[str, Any]]) -> list[str]:
    text = (ROOT / PLAYS / "src/plays.rs").read_text()
    plays = sorted({play for guard in guards for play in guard.get("plays", [])})
    return [f"{play}: no such play" for play in plays if f'name: "{play}"' not in text]


def build() -> str | None:
    done = run("cargo", "build", "--quiet", "--package", "zkrecipes-harness")
    return None if done.returncode == 0 else done.stderr


def fails(scenario: str, repeat: int) -> bool:
    flags = ["--lang", "rust", "--server", "embedded", "--patience", "8", "--repeat", str(repeat)]
    done = run(str(COPY / "target/debug/scenarios"), "--filter", scenario, *flags)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr or f"{scenario} could not be played")
    return done.returncode == 1


def target(test: str) -> list[str]:
    program = test.split()[0]
    return ["--lib"] if program == "lib" else ["--test", program]


def build_tests(tests: list[str]) -> str | None:
    targets = [flag for test in tests for flag in target(test)]
    done = run("cargo", "test", "--quiet", "--package", "zkrecipes", *targets, "--no-run")
    return None if done.returncode == 0 else done.stderr


def test_fails(test: str) -> bool:
    """`test` is a test program of the core, and what of it to run; one that hangs has failed."""
    words = test.split()[1:]
    command = ["cargo", "test", "--quiet", "--package", "zkrecipes", *target(test), *words]
    return run("timeout", "240", *command).returncode != 0


def build_plays() -> str | None:
    where = ["--manifest-path", f"{PLAYS}/Cargo.toml", "--target-dir", "target/interleavings"]
    done = run("cargo", "build", "--quiet", "--release", "--locked", *where)
    return None if done.returncode == 0 else done.stderr


def play_fails(play: str) -> bool:
    """One that never ends has failed, too."""
    program = str(COPY / "target/interleavings/release/interleavings")
    done = run("timeout", "240", program, "--only", play)
    if done.returncode not in (0, 1, 124):
        raise SystemExit(done.stderr or f"{play} could not be played")
    return done.returncode != 0


def judge(guard: dict[str, Any]) -> list[str]:
    """What is wrong with this guard; nothing, if every scenario and test notices that it is broken."""
    file = COPY / guard["file"]
    text = broken = file.read_text()
    for line, instead in [(guard["line"], guard["broken"]), *([guard["also"]] if "also" in guard else [])]:
        if text.count(line) != 1:
            return [f"its line stands {text.count(line)} times in {guard['file']}"]
        broken = broken.replace(line, instead)
    file.write_text(broken)
    try:
        scenarios, tests, plays = (guard.get(kind, []) for kind in ("scenarios", "tests", "plays"))
        if complaint := (scenarios and build()) or (tests and build_tests(tests)) or (plays and build_plays()):
            return [f"does not compile when broken:\n{complaint}"]
        passing = [name for name in scenarios if not fails(name, guard.get("repeat", 1))]
        passing += [test for test in tests if not test_fails(test)]
        passing += [play for play in plays if not play_fails(play)]
        return [f"{name} passes all the same" for name in passing]
    finally:
        file.write_text(text)


def main() -> int:
    guards = tomllib.loads((ROOT / "tests/guards.toml").read_text())["guard"]
    if sys.argv[1:] == ["--lines"]:
        lost = lost_lines(guards) + lost_tests(guards) + lost_plays(guards)
        print(*lost, sep="\n", end="\n" if lost else "")
        return 1 if lost else 0
    words = sys.argv[1:]
    if words[:1] == ["--plays"]:
        words = words[1:]
        kept = ("why", "file", "line", "broken", "also", "plays")
        guards = [{key: guard[key] for key in kept if key in guard} for guard in guards if "plays" in guard]
    wanted = [guard for guard in guards if all(word in guard["why"] for word in words)]
    copy_sources()
    if complaint := any("scenarios" in guard for guard in wanted) and build():
        raise SystemExit(complaint)
    unguarded = 0
    for guard in wanted:
        problems = judge(guard)
        unguarded += bool(problems)
        print("FAIL" if problems else "ok  ", guard["why"], *(f"\n      {problem}" for problem in problems), flush=True)
    print(f"{len(wanted) - unguarded} guarded, {unguarded} not")
    return 1 if unguarded else 0


if __name__ == "__main__":
    sys.exit(main())
