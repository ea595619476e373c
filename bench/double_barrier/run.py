#!/usr/bin/env python3
"""How long members take to enter and to leave a double barrier: ours, Curator's and kazoo's, on one server in one run.

run.py HOSTS [--members 50] [--rounds 60] [--profile release] [--json FILE]

They take turns, round by round, so that whatever else the machine does befalls all alike. Each member has a session of
its own. What is told are medians, and how much faster ours is.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "interop"))
import peers  # noqa: E402

WARM_UP = 10
# A round that takes longer is stuck, and so are its members.
PATIENCE = 60.0


class Members:
    """The members of one library, in a process."""

    def __init__(self, name: str, command: list[str | Path]) -> None:
        self.name = name
        self.rounds: list[tuple[float, float]] = []
        self.problem = ""
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._read()

    def _read(self) -> str:
        watchdog = threading.Timer(PATIENCE, self._process.kill)
        watchdog.start()
        line = self._process.stdout.readline()
        watchdog.cancel()
        if not line:
            self.problem = f"ended or stuck after {len(self.rounds)} rounds"
        return line

    def play(self, counts: bool) -> None:
        if self.problem:
            return
        print("round", file=self._process.stdin, flush=True)
        if line := self._read():
            entered, left = (int(word) / 1e6 for word in line.split())
            if counts:
                self.rounds.append((entered, left))

    def end(self) -> None:
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def summary(self) -> dict[str, Any]:
        if not self.rounds:
            return {"name": self.name, "rounds": 0, "problem": self.problem}
        entered, left = (statistics.median(times) for times in zip(*self.rounds, strict=True))
        both = statistics.median(entered + left for entered, left in self.rounds)
        medians = {"enter_ms": entered, "leave_ms": left, "both_ms": both}
        return {"name": self.name, "rounds": len(self.rounds), "problem": self.problem, **medians}


def curator() -> list[str | Path]:
    built = ROOT / "target" / "bench"
    jars = ":".join(map(str, sorted(peers.curator().glob("*.jar"))))
    peers.run("javac", "-nowarn", "-Xlint:none", "-d", built, "-cp", jars, HERE / "CuratorMembers.java")
    return ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", f"{built}:{jars}", "CuratorMembers"]


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    arguments.add_argument("hosts")
    arguments.add_argument("--members", type=int, default=50)
    arguments.add_argument("--rounds", type=int, default=60)
    arguments.add_argument("--profile", default="release", help="how ours was built: release or debug")
    arguments.add_argument("--json", type=Path, default=ROOT / "target" / "bench" / "double_barrier.json")
    given = arguments.parse_args()
    ours = ROOT / "target" / given.profile / "zkrecipes-bench-double-barrier"
    commands: dict[str, list[str | Path]] = {
        "zkrecipes": [ours],
        "curator": curator(),
        "kazoo": [sys.executable, HERE / "kazoo_members.py"],
    }
    all_members = []
    for name, command in commands.items():
        all_members.append(Members(name, [*command, given.hosts, f"/bench/double-barrier-{name}", str(given.members)]))
    for number in range(WARM_UP + given.rounds):
        for members in all_members:
            members.play(number >= WARM_UP)
    for members in all_members:
        members.end()
    found = {members.name: members.summary() for members in all_members}
    report = {"members": given.members, "profile": given.profile, "results": list(found.values())}
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(report, indent=2) + "\n")
    print(f"{given.members} members enter and leave: {', '.join(map(told, found.values()))}")
    mine = found["zkrecipes"].get("both_ms")
    for name, result in found.items():
        if name != "zkrecipes" and mine and "both_ms" in result:
            print(f"{result['both_ms'] / mine:.1f} times as fast as {name}")


def told(result: dict[str, Any]) -> str:
    problem = f" ({result['problem']})" if result["problem"] else ""
    if "both_ms" not in result:
        return f"{result['name']}{problem}"
    return f"{result['name']} {result['both_ms']:.1f} ms ({result['enter_ms']:.1f} + {result['leave_ms']:.1f}){problem}"


if __name__ == "__main__":
    main()
