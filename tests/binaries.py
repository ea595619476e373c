#!/usr/bin/env python3
"""Runs the test programs of a crate several at a time: most of them wait for a server most of the time.

binaries.py JOBS CARGO-ARGUMENT…    as `cargo test CARGO-ARGUMENT…` does, examples in the documentation included

What each of them prints comes in one piece when it ends. The longest begin first: none is left over for the end.

With ZKR_AGAIN=1 a single one that failed is run once more, alone, as tests/run.sh does with parts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Whatever is not here takes less than twenty seconds.
LONGEST = ["queue", "locks", "barriers", "faults", "pauses", "session", "processes", "crowds"]
# They measure time, or what is the whole process's: one test after the other.
IN_TURN = ["crowds", "pauses", "logs", "processes"]
# Of their tests most wait most of the time: `queue` takes 42 s of a processor. With as many threads as processors it
# took 330 s beside much else, with five 137. More of them make limits of time short on a busy machine.
WAITING = ["queue", "locks", "barriers", "session", "two_phase_commit"]
THREADS_OF_WAITING = 3


def built(arguments: list[str]) -> list[tuple[str, Path]]:
    """The programs, and the crate of each; cargo says itself what does not compile."""
    command = ["cargo", "test", "--no-run", "--message-format=json-render-diagnostics", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.returncode)
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [
        (message["executable"], Path(message["manifest_path"]).parent)
        for message in messages
        if message.get("executable") and message["profile"]["test"]
    ]


def name_of(executable: str) -> str:
    return Path(executable).name.rpartition("-")[0]


def is_short(program: tuple[str, Path]) -> bool:
    return name_of(program[0]) not in LONGEST


def run(program: tuple[str, Path]) -> bool:
    executable, crate = program
    begun = time.monotonic()
    environment = {**os.environ, "CARGO_MANIFEST_DIR": str(crate)}
    name = name_of(executable)
    threads = 1 if name in IN_TURN else THREADS_OF_WAITING if name in WAITING else None
    command = [executable, "--quiet", *(["--test-threads", str(threads)] if threads else [])]
    done = subprocess.run(
        command, cwd=crate, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    took = f"{time.monotonic() - begun:.0f} s"
    ending = "" if done.returncode == 0 else f"{name} FAILED with status {done.returncode}\n"
    print(f"--- {name}, {took}\n{done.stdout}{ending}", flush=True)
    return done.returncode == 0


def main() -> int:
    jobs, arguments = int(sys.argv[1]), sys.argv[2:]
    programs = sorted(built(arguments), key=is_short)
    with ThreadPoolExecutor(jobs) as pool:
        passed = list(pool.map(run, programs))
    examples = subprocess.run(["cargo", "test", "--quiet", "--doc", *arguments], check=False)
    failed = [program for program, ended_well in zip(programs, passed, strict=True) if not ended_well]
    # Of several, the machine is not the reason.
    if "ZKR_AGAIN" in os.environ and len(failed) == 1 and run(failed[0]):
        print(f"{name_of(failed.pop()[0])} passed only when run again, alone: look why", flush=True)
    print(f"{len(programs) - len(failed)} of {len(programs)} programs passed", flush=True)
    return 1 if failed or examples.returncode != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
