#!/usr/bin/env python3
"""Changes the core at random places, one at a time, and says which of these mutants no test notices.

    mutants.py                          ten mutants of each folder below
    mutants.py --sample 40 --seed 2     others, and more of them; the first ten of a seed are among its first forty
    mutants.py --only turn,queue        of these folders alone
    mutants.py --resume --most 10       goes on where a run with the same numbers was, for ten more mutants

cargo-mutants says what could be changed. All that is drawn goes into one build of a copy of the sources: each function
that has a mutant asks a variable of the environment which of its bodies to run. So a mutant costs what its tests take.
A first run without any says which programs come by which function; a mutant is tried on those, the likeliest first,
until a test fails that fails alone, too, or one hangs. What does not compile is unviable. A const function cannot ask:
a mutant of it has a build of its own.

mutants.toml has mutants that change nothing that can be seen, each with its reason. They are counted apart. An entry
that no mutant fits any more is an error, and so are too many survivors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import guards
import tomllib

VERSION = "27.1.0"
ROOT = guards.ROOT
guards.COPY = COPY = ROOT / "target/mutants"
TOOL = ROOT / "target/mutants-tool"
RESULTS = COPY / "results.json"
BASELINE = COPY / "baseline.json"
UNVIABLE = COPY / "unviable.json"
# In the copy a debugger finds nothing.
os.environ["CARGO_PROFILE_DEV_DEBUG"] = "0"

# Each folder, and the programs of the core's tests that are likeliest to notice.
FOLDERS = {
    "turn": ("core/src/turn/", ["lib", "locks", "elections"]),
    "session": ("core/src/session/", ["lib", "session", "locks", "queue"]),
    "queue": ("core/src/recipes/queue/", ["lib", "queue"]),
    "two_phase_commit": ("core/src/recipes/two_phase_commit/", ["lib", "two_phase_commit"]),
}
PROGRAMS = [
    "lib",
    "locks",
    "queue",
    "two_phase_commit",
    "session",
    "elections",
    "barriers",
    "counter",
    "faults",
    "logs",
]
# As in binaries.py, one test after the other. Of the others most wait for a server most of the time.
IN_TURN = ["logs"]
AT_ONCE = 6
LOCK = threading.Lock()
# Has folders and programs of its own: `make test`, and who reads bytes.
LEFT_OUT = ["core/src/session/wire/**", "**/fuzzed.rs"]
# Of those that can be seen no more than this share may survive.
MOST = 0.05

# Which body runs, and which functions were come by.
CHOICE = """
//! Which mutant is run: see tests/mutants.py.

use std::io::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

static CHOSEN: LazyLock<usize> =
    LazyLock::new(|| std::env::var("ZKR_MUTANT").map_or(0, |number| number.parse().expect("a number")));
static REACHED: [AtomicBool; LENGTH] = [const { AtomicBool::new(false) }; LENGTH];

pub(crate) fn is(number: usize) -> bool {
    if !REACHED[number].load(Ordering::Relaxed)
        && !REACHED[number].swap(true, Ordering::Relaxed)
        && let Some(path) = std::env::var_os("ZKR_MUTANTS_REACHED")
    {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| file.write_all(format!("{number}\\n").as_bytes())).expect("it can be written");
    }
    *CHOSEN == number
}
"""


@dataclass
class Mutant:
    number: int
    folder: str
    file: str
    name: str
    diff: str
    # Offsets into the file: what is replaced, and the function that it is in.
    start: int
    end: int
    replacement: str
    function: tuple[int, int] | None
    verdict: str = ""
    by: str = ""

    def mark(self) -> str:
        """By which it is known again."""
        return hashlib.sha256(f"{self.file}\n{self.name}\n{self.diff}".encode()).hexdigest()

    def mutated(self, text: str) -> str:
        return text[: self.start] + self.replacement + text[self.end :]


def install() -> Path:
    program = TOOL / "bin/cargo-mutants"
    if not program.exists():
        command = ["cargo", "install", "cargo-mutants", "--version", VERSION, "--locked", "--quiet"]
        subprocess.run([*command, "--root", TOOL, "--target-dir", TOOL / "build"], check=True)
    return program


def offset(text: str, place: dict[str, int]) -> int:
    """Lines and columns count from 1, columns in characters."""
    before = text.split("\n")[: place["line"] - 1]
    return sum(len(line) + 1 for line in before) + place["column"] - 1


def listed(program: Path) -> list[Mutant]:
    """All there are, in the order of the files."""
    command = [str(program), "mutants", "--list", "--json", "--diff", "--package", "zkrecipes", "--dir", str(ROOT)]
    command += [flag for folder, _ in FOLDERS.values() for flag in ("--file", f"{folder}**")]
    command += [flag for left_out in LEFT_OUT for flag in ("--exclude", left_out)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    found.sort(key=lambda one: (one["file"], one["span"]["start"]["line"], one["span"]["start"]["column"], one["name"]))
    texts = {one["file"]: (ROOT / one["file"]).read_text() for one in found}

    def mutant(number: int, one: dict[str, Any]) -> Mutant:
        text, span, function = texts[one["file"]], one["span"], one["function"]
        return Mutant(
            number,
            next(name for name, (folder, _) in FOLDERS.items() if one["file"].startswith(folder)),
            one["file"],
            re.sub(r"^[^:]*:\d+:\d+: ", "", one["name"]),
            one["diff"],
            offset(text, span["start"]),
            offset(text, span["end"]),
            one["replacement"],
            function and (offset(text, function["span"]["start"]), offset(text, function["span"]["end"])),
        )

    return [mutant(number, one) for number, one in enumerate(found, start=1)]


def drawn(all_of_them: list[Mutant], only: list[str], sample: int, seed: int) -> list[Mutant]:
    """So many of each folder, and the folders take turns."""
    picked: list[tuple[int, Mutant]] = []
    for folder in only:
        of_it = [mutant for mutant in all_of_them if mutant.folder == folder]
        random.Random(f"{folder} {seed}").shuffle(of_it)
        picked += enumerate(of_it[:sample])
    return [mutant for _, mutant in sorted(picked, key=lambda one: one[0])]


# ---- one build for all


TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|r?"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'|[(\[{)\]}]""", re.DOTALL)


def body_of(function: str) -> int:
    """Where its body begins, behind the brace."""
    depth = 0
    for token in TOKEN.finditer(function):
        if token[0] in ("(", "["):
            depth += 1
        elif token[0] in (")", "]"):
            depth -= 1
        elif token[0] == "{" and depth == 0:
            return token.end()
    raise ValueError(f"no body: {function}")


def needs_its_own_build(mutant: Mutant, text: str) -> bool:
    """A constant, a const function, or one whose bodies would have different types."""
    if mutant.function is None:
        return True
    function = text[slice(*mutant.function)]
    head = function[: body_of(function)]
    return bool(re.search(r"\bconst (unsafe )?fn\b|->.*\bimpl\b", head, re.DOTALL))


@dataclass
class Woven:
    text: str
    # The lines of each body, and those of each function with the mutants in it.
    bodies: list[tuple[range, list[Mutant]]] = field(default_factory=list)
    functions: list[tuple[range, list[Mutant]]] = field(default_factory=list)


def woven(text: str, mutants: list[Mutant]) -> Woven:
    """The file with all of them in it."""
    groups: dict[tuple[int, int], list[Mutant]] = {}
    spans = {mutant.function for mutant in mutants if mutant.function}
    for mutant in mutants:
        assert mutant.function
        # What is in a function that is in another one goes with that.
        start, end = mutant.function
        outer = min(span for span in spans if span[0] <= start and end <= span[1])
        groups.setdefault(outer, []).append(mutant)
    out, done = Woven(""), 0

    def line() -> int:
        return out.text.count("\n") + 1

    for (start, end), inside in sorted(groups.items()):
        out.text += text[done:start]
        begins, opens = line(), start + body_of(text[start:end])
        out.text += text[start:opens]
        for mutant in inside:
            out.text += f"\nif crate::mutants::is({mutant.number}) {{\n"
            first = line()
            mutated = mutant.mutated(text)
            out.text += mutated[opens : end - 1 + len(mutated) - len(text)]
            out.bodies.append((range(first, line() + 1), [mutant]))
            out.text += "\n} else"
        out.text += " {" + text[opens : end - 1] + "}}"
        out.functions.append((range(begins, line() + 1), inside))
        done = end
    out.text += text[done:]
    return out


def write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def build(mutants: list[Mutant], length: int) -> dict[str, str]:
    """The programs, by their names. Whatever does not compile is marked, and left out."""
    root = COPY / "core/src/lib.rs"
    write(COPY / "core/src/mutants.rs", CHOICE.replace("LENGTH", str(length)).lstrip())
    write(root, (ROOT / "core/src/lib.rs").read_text().replace("mod mutex;", "mod mutants;\nmod mutex;"))
    files = {mutant.file for mutant in mutants}
    # So that what did not compile in an earlier run is not built once more.
    known: dict[str, list[str]] = json.loads(UNVIABLE.read_text()) if UNVIABLE.exists() else {}
    for mutant in mutants:
        if mutant.mark() in known:
            mutant.verdict, mutant.by = known[mutant.mark()]
    # Also what an earlier run with others has left.
    for stale in (COPY / "core/src").rglob("*.rs"):
        if stale.name != "mutants.rs" and not (ROOT / stale.relative_to(COPY)).exists():
            stale.unlink()
    for source in (ROOT / "core/src").rglob("*.rs"):
        name = str(source.relative_to(ROOT))
        if name not in files and name != "core/src/lib.rs":
            write(COPY / name, source.read_text())
    while True:
        by_file = {}
        for name in files:
            there = [mutant for mutant in mutants if mutant.file == name and not mutant.verdict]
            by_file[name] = woven((ROOT / name).read_text(), there)
            write(COPY / name, by_file[name].text)
        errors, programs = compiled()
        if not errors:
            return programs
        for error in errors:
            for mutant in blamed(error, by_file):
                mutant.verdict = mutant.verdict or "unviable"
                mutant.by = error["message"]
                known[mutant.mark()] = [mutant.verdict, mutant.by]
        UNVIABLE.write_text(json.dumps(known))


def compiled() -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The errors, or the programs."""
    targets = ["--lib", *(flag for name in PROGRAMS if name != "lib" for flag in ("--test", name))]
    done = guards.run("cargo", "test", "--no-run", "--package", "zkrecipes", *targets, "--message-format=json")
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    messages = [one["message"] for one in told if one["reason"] == "compiler-message"]
    errors = [message for message in messages if message["level"].startswith("error") and message["spans"]]
    if done.returncode != 0 and not errors:
        raise SystemExit(done.stderr)
    programs = {
        "lib" if "lib" in one["target"]["kind"] else one["target"]["name"]: one["executable"]
        for one in told
        if one.get("executable") and one["profile"]["test"]
    }
    return (errors if done.returncode != 0 else []), programs


def blamed(error: dict[str, Any], by_file: dict[str, Woven]) -> list[Mutant]:
    """Those in whose bodies the error is; if it is about a whole function, each of that needs a build of its own."""
    spans = sorted(error["spans"], key=lambda span: not span["is_primary"])
    for where in ("bodies", "functions"):
        for span in spans:
            while span:
                for lines, mutants in getattr(by_file.get(span["file_name"], Woven("")), where):
                    if span["line_start"] in lines:
                        if where == "functions":
                            for mutant in mutants:
                                mutant.verdict = "alone"
                        return list(mutants)
                span = (span.get("expansion") or {}).get("span")
    raise SystemExit(f"an error of no mutant:\n{error['rendered']}")


# ---- running tests


def play(program: str, name: str, number: int, limit: float, *arguments: str, stop: bool = True) -> tuple[str, str]:
    """What became of the program, and the first test that failed: `passed`, `failed`, `hung`."""
    environment = {**os.environ, "CARGO_MANIFEST_DIR": str(COPY / "core"), "ZKR_MUTANT": str(number)}
    command = [program, *arguments, "--test-threads", str(1 if name in IN_TURN else AT_ONCE)]
    process = subprocess.Popen(
        command,
        cwd=COPY / "core",
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    hung = threading.Event()

    def end() -> None:
        hung.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(limit, end)
    timer.start()
    failed = ""
    assert process.stdout
    try:
        for line in process.stdout:
            if found := re.match(r"test (\S+)(?: - should panic)? \.\.\. FAILED", line):
                failed = failed or found[1]
                if stop:
                    break
    finally:
        timer.cancel()
        if process.poll() is None and (failed and stop):
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
    if failed:
        return "failed", failed
    if hung.is_set():
        return "hung", ""
    return ("passed" if process.returncode == 0 else "failed"), ""


def digest(program: str) -> str:
    """Of what it is built from."""
    tests = COPY / "core/tests"
    its_own = [tests / f"{program}.rs", *(tests / program).rglob("*.rs"), *(tests / "support").rglob("*.rs")]
    files = [*(COPY / "core/src").rglob("*.rs"), *(path for path in its_own if path.is_file())]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()


def baseline(programs: dict[str, str]) -> dict[str, Any]:
    """How long each program takes without a mutant, and which functions it comes by."""
    found: dict[str, Any] = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    reached = COPY / "reached"
    for name in PROGRAMS:
        key = digest(name)
        if found.get(name, {}).get("key") == key:
            continue
        reached.write_text("")
        os.environ["ZKR_MUTANTS_REACHED"] = str(reached)
        began = time.monotonic()
        verdict, test = play(programs[name], name, 0, 900, stop=False)
        took = time.monotonic() - began
        del os.environ["ZKR_MUTANTS_REACHED"]
        if verdict != "passed" and (not test or play(programs[name], name, 0, 300, "--exact", test)[0] != "passed"):
            raise SystemExit(f"{name} {test}: {verdict} without any mutant")
        numbers = sorted({int(line) for line in reached.read_text().split()})
        found[name] = {"key": key, "seconds": took, "reached": numbers}
        print(f"without a mutant {name} took {took:.0f} s", flush=True)
        BASELINE.write_text(json.dumps(found))
    return found


def judge(mutant: Mutant, number: int, programs: dict[str, str], known: dict[str, Any]) -> None:
    """Runs what comes by it, until something notices."""
    first = FOLDERS[mutant.folder][1]
    order = [*first, *(name for name in PROGRAMS if name not in first)]
    names = [name for name in order if number == 0 or number in known[name]["reached"]]
    for name in names:
        limit = 60 + 3 * known[name]["seconds"]
        doubted: list[str] = []
        # A test that fails because the machine is busy passes alone.
        while len(doubted) < 5:
            skipped = [word for test in doubted for word in ("--skip", test)]
            verdict, test = play(programs[name], name, number, limit, *skipped)
            if verdict == "failed" and test and play(programs[name], name, number, 120, "--exact", test)[0] == "passed":
                doubted.append(test)
                continue
            break
        if verdict != "passed":
            mutant.verdict = "caught" if verdict == "failed" else "hung"
            mutant.by = f"{name} {test}".strip()
            return
    mutant.verdict, mutant.by = "survived", f"of {', '.join(names)}" if names else "nothing comes by it"


def judge_alone(mutant: Mutant, known: dict[str, Any]) -> None:
    """With a build of its own."""
    before = (COPY / mutant.file).read_text()
    write(COPY / mutant.file, mutant.mutated((ROOT / mutant.file).read_text()))
    try:
        errors, programs = compiled()
        if errors:
            mutant.verdict = "unviable"
        else:
            judge(mutant, 0, programs, known)
    finally:
        write(COPY / mutant.file, before)


# ---- what came of it


def unseen() -> list[dict[str, str]]:
    return list(tomllib.loads((ROOT / "tests/mutants.toml").read_text()).get("unseen", []))


def fits(entry: dict[str, str], mutant: Mutant) -> bool:
    removed = [line[1:].strip() for line in mutant.diff.splitlines()[2:] if line.startswith("-")]
    return (
        re.fullmatch(entry["file"], mutant.file) is not None
        and re.fullmatch(entry["mutant"], mutant.name) is not None
        and ("line" not in entry or entry["line"] in removed)
    )


def told(mutant: Mutant) -> str:
    return f"{mutant.verdict:9} {mutant.file}: {mutant.name}: {mutant.by}"


def report(mutants: list[Mutant]) -> bool:
    """The figures by folder; whether few enough survive."""
    print(f"\n{'':18}{'drawn':>8}{'caught':>8}{'hung':>8}{'survived':>10}{'unseen':>8}{'unviable':>10}{'share':>8}")
    total = Counter[str]()
    for folder in [*FOLDERS, ""]:
        counted = total if not folder else Counter(mutant.verdict for mutant in mutants if mutant.folder == folder)
        if not counted.total():
            continue
        total += counted if folder else Counter()
        visible = counted["caught"] + counted["hung"] + counted["survived"]
        share = counted["survived"] / visible if visible else 0.0
        kinds = [counted["caught"], counted["hung"]]
        line = f"{folder or 'all':18}{counted.total():>8}{kinds[0]:>8}{kinds[1]:>8}{counted['survived']:>10}"
        print(f"{line}{counted['unseen']:>8}{counted['unviable']:>10}{share:>8.1%}", flush=True)
    visible = total["caught"] + total["hung"] + total["survived"]
    return total["survived"] <= MOST * visible


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, default=10, help="how many of each folder (10)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(FOLDERS), help="some of the folders")
    parser.add_argument("--most", type=int, default=0, help="ends after so many")
    parser.add_argument("--jobs", type=int, default=3, help="how many at once: most tests wait most of the time (3)")
    parser.add_argument("--resume", action="store_true", help="counts those that were tried before")
    args = parser.parse_args()
    only = args.only.split(",")
    if unknown := set(only) - set(FOLDERS):
        parser.error(f"no such folder: {', '.join(unknown)}")

    all_of_them, entries = listed(install()), unseen()
    if lost := [entry for entry in entries if not any(fits(entry, mutant) for mutant in all_of_them)]:
        raise SystemExit("\n".join(f"mutants.toml: no {entry['mutant']} in {entry['file']}" for entry in lost))
    mutants = drawn(all_of_them, only, args.sample, args.seed)
    for mutant in mutants:
        if needs_its_own_build(mutant, (ROOT / mutant.file).read_text()):
            mutant.verdict = "alone"
    # Their builds replace the one of all others, and take as long.
    mutants.sort(key=lambda mutant: mutant.verdict == "alone")
    guards.copy_sources(leave="core/src/")
    programs = build(mutants, len(all_of_them) + 1)
    known = baseline(programs)

    kept: dict[str, list[str]] = json.loads(RESULTS.read_text()) if args.resume and RESULTS.exists() else {}
    began, last = time.monotonic(), len(mutants)
    to_try: list[tuple[str, Mutant]] = []
    for at, mutant in enumerate(mutants):
        mark = mutant.mark()
        if any(fits(entry, mutant) for entry in entries):
            mutant.verdict = "unseen"
        elif mutant.verdict == "unviable":
            pass
        elif mark in kept:
            mutant.verdict, mutant.by = kept[mark]
        elif args.most and len(to_try) >= args.most:
            last = at
            break
        else:
            to_try.append((mark, mutant))

    def attempt(mark: str, mutant: Mutant) -> None:
        if mutant.verdict == "alone":
            judge_alone(mutant, known)
        else:
            judge(mutant, mutant.number, programs, known)
        with LOCK:
            kept[mark] = [mutant.verdict, mutant.by]
            RESULTS.write_text(json.dumps(kept))
            print(f"{time.monotonic() - began:6.0f} s  {told(mutant)}", flush=True)

    alone = [one for one in to_try if one[1].verdict == "alone"]
    together = [one for one in to_try if one[1].verdict != "alone"]
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(lambda one: attempt(*one), together))
    for mark, mutant in alone:
        attempt(mark, mutant)
    mutants = mutants[:last]
    for mutant in mutants:
        if mutant.verdict == "survived":
            print(f"\n{told(mutant)}\n{mutant.diff}")
    return 0 if report(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
