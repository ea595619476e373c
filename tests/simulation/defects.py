#!/usr/bin/env python3
"""Puts each defect of defects.toml back in a copy of the sources; the simulation has to find it.

defects.py              all of them; each is a build and a run
defects.py lease        only those whose reason contains this
defects.py --lines      only looks whether every line to break is still there, once; a moment
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import tomllib

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import guards  # noqa: E402


def lost_lines(defects: list[dict[str, Any]]) -> list[str]:
    """What is to be broken and is not there, or stands several times: it would break nothing, or something else."""
    return [
        f"{defect['why']}: its line stands {count} times in {edit['file']}"
        for defect in defects
        for edit in defect["edits"]
        if (count := (guards.ROOT / edit["file"]).read_text().count(edit["line"])) != 1
    ]


def judge(defect: dict[str, Any]) -> str:
    """What was found, or what is wrong if nothing was."""
    before = {file: (guards.COPY / file).read_text() for file in {edit["file"] for edit in defect["edits"]}}
    texts = dict(before)
    for edit in defect["edits"]:
        if texts[edit["file"]].count(edit["line"]) != 1:
            raise Unfound(f"its line stands {texts[edit['file']].count(edit['line'])} times in {edit['file']}")
        texts[edit["file"]] = texts[edit["file"]].replace(edit["line"], edit["broken"])
    for file, text in texts.items():
        (guards.COPY / file).write_text(text)
    try:
        built = guards.run("cargo", "build", "--quiet", "--profile", "simulation", "--package", "zkrecipes-simulation")
        if built.returncode != 0:
            raise Unfound(f"does not compile when broken:\n{built.stderr}")
        began = time.monotonic()
        program = str(guards.COPY / "target/simulation/zkrecipes-simulation")
        played = guards.run(program, "--seeds", str(defect["seeds"]), "--only", defect["only"], "--stop")
        took = time.monotonic() - began
        if played.returncode == 0:
            raise Unfound(f"{defect['seeds']} seeds pass all the same")
        failures = [line for line in played.stdout.splitlines() if line.startswith("seed ")]
        # Of those that were played at the same time the first is the same wherever it is tried.
        found = min(failures, key=lambda line: int(line.split()[1]), default="it ended by itself")
        return f"{found}; {took:.0f} s"
    finally:
        for file, text in before.items():
            (guards.COPY / file).write_text(text)


class Unfound(Exception):
    """The simulation does not see it, or it could not be put back."""


def main() -> int:
    defects = tomllib.loads((HERE / "defects.toml").read_text())["defect"]
    if sys.argv[1:] == ["--lines"]:
        lost = lost_lines(defects)
        print(*lost, sep="\n", end="\n" if lost else "")
        return 1 if lost else 0
    wanted = [defect for defect in defects if all(word in defect["why"] for word in sys.argv[1:])]
    guards.copy_sources()
    unfound = 0
    for defect in wanted:
        try:
            print("ok  ", defect["why"], f"\n      {judge(defect)}", flush=True)
        except Unfound as problem:
            unfound += 1
            print("FAIL", defect["why"], f"\n      {problem}", flush=True)
    print(f"{len(wanted) - unfound} found, {unfound} not")
    return 1 if unfound else 0


if __name__ == "__main__":
    sys.exit(main())
