#!/usr/bin/env python3
"""Miri over what it can run: it sees each read and write, and refuses freed memory, races, and what else is undefined.

    miri.py                   all of it; some ten minutes
    miri.py core c            only these parts
    miri.py core lease name   of these only tests that have one of the other words in their names

    protocol    every frame that there is, and bytes that are none
    core        its own tests: the client without I/O, the lease, names and layouts, options, who is told, the log
    c           the functions of C, called as C does: values are made, read and freed; options, lists, callbacks

Of what is unsafe here:

    seen        what C hands over and gets, callbacks of C and their user_data (ffi/src); what each process has one of,
                the list of who hears the log, secrets that are overwritten (core/src)
    stood in    what is done for the sake of forks, signals and cancelled threads: core/src/miri.rs has functions that
                do nothing
    not seen    forks, signals, sockets of the system, opened libraries, the interpreters of Python and Node

The last are tested under valgrind and the sanitizers of the compilers, by tests/c/run.sh.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = ["cargo", "+nightly"]
PARTS = {
    "protocol": ["--package", "zkrecipes-protocol"],
    "core": ["--package", "zkrecipes", "--lib"],
    "c": ["--package", "zkrecipes-ffi", "--lib"],
}
# Tests that Miri cannot run, by a part of their names, each with its reason.
LEFT_OUT: dict[str, dict[str, str]] = {
    "protocol": {"what_a_large_frame_takes": "a megabyte of results takes it an hour"},
    "core": {
        "fork": "it forks",
        "driving": "signals, forks, and threads that read sockets",
        "transport": "sockets",
        "stream::": "sockets",
        "wire::tests": "sockets",
        "own::serving": "sockets",
        "runtime::": "it forks",
        "tls::": "what encrypts is written in C",
        "queue::keys": "what hashes is written in C",
        "what_was_found_once": "thousands of inputs, which libFuzzer plays",
        "overwritten": "it looks at memory that was freed",
        "leaves_no_copy": "it looks at memory that was freed",
        "the_first_part_runs_here": "nobody knows there how large a stack is",
        "a_first_connection_that_broke": "twenty seconds are too short for it here",
        "lease::model": "a second in the processor, which is an hour here; the same of those that follow",
        "lease::pauses": "as above",
        "nothing_moves_that_need_not": "as above",
        "eight_that_compete": "as above",
        "a_busy_session_keeps_few": "as above",
        "a_full_inbox": "as above",
        "many_that_may_not_be_read": "as above",
        "the_first_of_a_line_that_has_gone": "as above",
        "server_session::tests": "as above",
        "bounded": "as above",
        "a_list_is_read_once": "as above",
        "set_again": "as above",
        "lines_for_a_slow": "as above",
        "slow_jobs_have": "as above",
        "an_item_is_due": "as above",
        "answers_are_the_same_wherever": "as above",
    },
    "c": {"forked": "it forks", "overwritten": "it looks at memory that was freed"},
}


def install() -> None:
    """Nightly with Miri, unless it is there."""
    there = subprocess.run([*CARGO, "miri", "--version"], capture_output=True, check=False)
    if there.returncode != 0:
        command = ["rustup", "toolchain", "install", "nightly", "--profile", "minimal"]
        subprocess.run([*command, "--component", "miri", "--component", "rust-src"], check=True)
    subprocess.run([*CARGO, "miri", "setup"], check=True, stdout=subprocess.DEVNULL)


def run(part: str, words: list[str]) -> bool:
    began = time.monotonic()
    environment = {
        **os.environ,
        # Clocks and files are those of the machine. Threads of the library outlive the tests.
        "MIRIFLAGS": "-Zmiri-disable-isolation -Zmiri-ignore-leaks",
        "CARGO_TARGET_DIR": str(ROOT / "target/miri"),
        # It is some thousand times slower.
        "ZKRECIPES_CASES": "250",
    }
    skipped = [word for name in LEFT_OUT[part] for word in ("--skip", name)]
    command = [*CARGO, "miri", "test", "--quiet", *PARTS[part], "--", *skipped, *words]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    passed = sum(int(count) for count in re.findall(r"^test result: ok\. (\d+) passed", done.stdout, re.MULTILINE))
    is_well = done.returncode == 0 and passed > 0
    if not is_well:
        print(done.stdout)
    took = time.monotonic() - began
    print(f"{part:10} {passed if is_well else 'FAILED'} tests, {took:.0f} s", *skipped and ["not run:"], flush=True)
    for name, why in LEFT_OUT[part].items():
        print(f"{'':10}     {name}: {why}")
    return is_well


def main() -> int:
    parts = [word for word in sys.argv[1:] if word in PARTS] or list(PARTS)
    words = [word for word in sys.argv[1:] if word not in PARTS]
    install()
    return 0 if all([run(part, words) for part in parts]) else 1


if __name__ == "__main__":
    sys.exit(main())
