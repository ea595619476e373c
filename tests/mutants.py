#!/usr/bin/env python3
"""Breaks the core's guards, one at a time, and sees the test that stands for each go red.

Works on a copy of the committed tree, so the checkout is left alone:

    tests/mutants.py             every guard
    tests/mutants.py recover     those whose name contains the word

Prints a line per guard and ends with "N passed, N failed": passed means that the broken guard was noticed.
"""

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Mutant:
    """One guard: where it stands, what is put in its place, and which test must notice."""

    name: str
    file: str
    guard: str
    broken: str
    test: str
    filter: str
    also: tuple[str, str] | None = None


MUTANTS = [
    Mutant(
        "a create whose answer was lost is looked for",
        "turn/place.rs",
        "Err(WireError::ConnectionLoss) if place.recover(call, verb).await? => {}",
        "Err(WireError::ConnectionLoss) if false => {}",
        "faults",
        "a_create_whose_answer_was_lost",
    ),
    Mutant(
        "a holder's first read after a reconnection catches up",
        "session/epoch/mod.rs",
        "        Some(self.sync(path))",
        "        None",
        "lease",
        "reads_of_a_holder",
    ),
    Mutant(
        "ownership without a read needs our own node to stand, whichever news is read first",
        "turn/mod.rs",
        "                event = own => Wake::Own(event),\n                event = closest => Wake::Closest(event),",
        "                event = closest => Wake::Closest(event),\n                event = own => Wake::Own(event),",
        "faults",
        "a_broken_waiter",
        also=("closest && own && self.own_stands() &&", "closest && own &&"),
    ),
    Mutant(
        "ownership without a read is for the plain mutex among plain contenders",
        "turn/mod.rs",
        '!armed.name.contains("__")',
        "true",
        "faults",
        "a_reader_that_slips_in",
    ),
    Mutant(
        "a release whose answer was lost may find its node gone",
        "turn/hold/mod.rs",
        "                Err(WireError::NoNode) if is_ambiguous => {}\n",
        "",
        "faults",
        "a_release_whose_answer_was_lost",
    ),
    Mutant(
        "a withdrawn place deletes its node",
        "turn/place.rs",
        "        if is_ours && crate::runtime::check_process().is_ok() {",
        "        if is_ours && false {",
        "lock",
        "a_dropped_wait_leaves_nothing",
    ),
    Mutant(
        "who has queued waits through an outage",
        "turn/mod.rs",
        "        call.insist();\n",
        "",
        "faults",
        "a_server_that_is_away",
    ),
    Mutant(
        "what was lost for a session that survives is deleted",
        "turn/hold/mod.rs",
        "let stays = reason == LostReason::Session || self.nodes.len() > 1;",
        "let stays = false;",
        "lease",
        "loss_is_sticky",
    ),
    Mutant(
        "a hold is told when its lease runs out",
        "session/epoch/mod.rs",
        "                if epoch.clock.now() >= epoch.certain_until() {",
        "                if false {",
        "lease",
        "without_answers",
    ),
    Mutant(
        "a heartbeat vouches only for contacts answered a third before it left",
        "session/lease.rs",
        "let settled = self.timeout / 3;",
        "let settled = Duration::ZERO;",
        "lib",
        "lease",
    ),
    Mutant(
        "an empty transaction proves nothing",
        "session/epoch/mod.rs",
        "        if writes.is_empty() {",
        "        if false {",
        "calls",
        "empty",
    ),
    Mutant(
        "a waiter listens to the end of its session",
        "session/wire/zookeeper.rs",
        "zk::SessionState::Expired | zk::SessionState::Closed => LinkState::Ended,",
        "zk::SessionState::Expired | zk::SessionState::Closed => LinkState::Down,",
        "lease",
        "a_waiter_whose_session_expires",
    ),
    Mutant(
        "numbers past the end of the range say nothing about the order",
        "turn/name.rs",
        "self.sequence == i32::MAX || self.sequence < 0",
        "false",
        "lock",
        "exclusion_holds_up_to",
    ),
    Mutant(
        "what passes the packet limit is refused before sending",
        "path.rs",
        "    if bytes + ENVELOPE > PACKET_LIMIT {",
        "    if false {",
        "lock",
        "bad_input",
    ),
    Mutant(
        "Nagle's algorithm is off",
        "session/wire/nodelay.rs",
        "    sockets_to(peers).into_iter().filter(|socket| set_option(*socket)).count()",
        "    sockets_to(peers).len()",
        "lock",
        "nagles_algorithm",
    ),
    Mutant(
        "a cancel is for the waits in progress",
        "session/call.rs",
        "                && signal.changed().await.is_ok()",
        "                && signal.changed().await.is_err()",
        "lock",
        "cancel_wakes",
    ),
    Mutant(
        "readers wait for writers",
        "turn/name.rs",
        "!(self == Kind::Read && other == Kind::Read)",
        "other != Kind::Read",
        "family",
        "readers_share",
    ),
    Mutant(
        "readers share",
        "turn/name.rs",
        "!(self == Kind::Read && other == Kind::Read)",
        "true",
        "family",
        "readers_share",
    ),
    Mutant(
        "a holding reader may not take write",
        "recipes/read_write_lock.rs",
        "if reader.upgrade().is_some_and(|reader| reader.is_held()) {",
        "if false {",
        "family",
        "a_writer_may_downgrade",
    ),
    Mutant(
        "participants of a semaphore agree about its size",
        "recipes/semaphore.rs",
        "        if there == Some(here) {",
        "        if there == Some(here) || true {",
        "family",
        "a_semaphore_that_disagrees",
    ),
    Mutant(
        "a semaphore counts what is taken",
        "recipes/semaphore.rs",
        "if taken + self.n <= self.permits.load(Ordering::Acquire) {",
        "if self.n <= self.permits.load(Ordering::Acquire) {",
        "family",
        "a_semaphore_never_gives",
    ),
]


def copy_of_the_tree(where: Path) -> None:
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "-x"], cwd=where, check=True, input=archive.stdout)


def is_noticed(tree: Path, mutant: Mutant) -> bool:
    """Whether the test fails once the guard is broken; a guard that is not where it was is an error of this file."""
    path = tree / "core/src" / mutant.file
    whole = path.read_text()
    if mutant.guard not in whole:
        raise SystemExit(f"{mutant.file} has no longer the guard of {mutant.name!r}")
    broken = whole.replace(mutant.guard, mutant.broken, 1)
    if mutant.also:
        broken = broken.replace(*mutant.also, 1)
    path.write_text(broken)
    target = ["--lib"] if mutant.test == "lib" else ["--test", mutant.test]
    build = ["cargo", "test", "--quiet", "-p", "zkrecipes", *target]
    try:
        built = subprocess.run([*build, "--no-run"], cwd=tree, capture_output=True, text=True)
        if built.returncode != 0:
            raise SystemExit(f"{mutant.name!r} does not compile:\n{built.stderr}")
        try:
            run = subprocess.run([*build, mutant.filter], cwd=tree, capture_output=True, timeout=240)
        except subprocess.TimeoutExpired:
            return True
        return run.returncode != 0
    finally:
        path.write_text(whole)


def main() -> int:
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    passed = failed = 0
    tree = Path(tempfile.mkdtemp(prefix="zkrecipes-mutants-"))
    try:
        copy_of_the_tree(tree)
        for mutant in MUTANTS:
            if word not in mutant.name:
                continue
            noticed = is_noticed(tree, mutant)
            passed, failed = passed + noticed, failed + (not noticed)
            print(f"{'noticed' if noticed else 'NOT NOTICED'}: {mutant.name} ({mutant.test} {mutant.filter})", flush=True)
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
