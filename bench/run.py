#!/usr/bin/env python3
"""Measures zkrecipes beside its peers, on real ZooKeeper servers of its own; bench/README.md says what and how.

bench/run.py                            everything, some 10 minutes besides building
bench/run.py --quick                    most of it, with few rounds
bench/run.py --only lock,handoff        these again; the report keeps what was measured of the others
bench/run.py --report                   writes the report anew from what was measured
    bench/run.py --report --readme          and the ratios and the plot of README.md
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import flame
from driver import libraries, measure, processes, report
from driver.targets import growths, targets
from driver.workloads import WORKLOADS

RESULTS = Path(__file__).resolve().parent / "results"


def main() -> int:
    given = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if not given.report:
        measured(given)
    report.write(given.out)
    if given.readme:
        report.into_readme(given.out, processes.ROOT / "README.md")
    results, _ = report.load(given.out)
    for target in targets(results):
        found, limit, word = target.told()
        print(f"{word:<13}{target.work}: {found} ({limit})")
    for growth in growths(results):
        print(f"{growth.word:<13}{growth.what}, {libraries.TITLES[growth.library]}: power {growth.power:.2f}")
    print(f"the whole: {given.out / 'report.md'}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rounds, small sizes")
    parser.add_argument("--only", default="", help=f"some of {','.join(WORKLOADS)}")
    parser.add_argument("--rounds", type=int, help="so many rounds of everything")
    parser.add_argument("--libraries", default="", help=f"some of {','.join(libraries.TITLES)}")
    parser.add_argument(
        "--disk", type=Path, help="where the servers' data is to be; fsync is on then. Memory if not given"
    )
    parser.add_argument("--no-build", action="store_true", help="the crates are built already")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    parser.add_argument("--readme", action="store_true", help="write the ratios into README.md, too")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    given.only = [name for name in given.only.split(",") if name]
    if unknown := set(given.only) - set(WORKLOADS):
        parser.error(f"no such workload: {', '.join(unknown)}")
    given.libraries = [name for name in given.libraries.split(",") if name]
    return given


def measured(given: argparse.Namespace) -> None:
    begun = time.monotonic()
    processes.allow_many_files()
    # Whatever else is left out, these two are what everything is compared with.
    wanted = given.libraries and ["rust", "raw", *given.libraries]
    ready, missing = libraries.prepare(wanted, not given.no_build)
    measure.progress(f"built in {time.monotonic() - begun:.0f} s")
    (given.out / "data").mkdir(parents=True, exist_ok=True)
    disk = given.disk or processes.memory_folder()
    arena = measure.Arena(ready, disk, given.quick, given.rounds, fsync=given.disk is not None)
    try:
        note_run(given, arena, missing)
        for name, workload in WORKLOADS.items():
            if name not in given.only if given.only else given.quick and not workload.quick:
                continue
            measure_one(name, arena, given.out)
        if not given.quick and not given.only:
            draw_flames(arena, given.out)
    finally:
        arena.close()
    measure.progress(f"measured in {time.monotonic() - begun:.0f} s, builds included")


def measure_one(name: str, arena: measure.Arena, out: Path) -> None:
    begun = time.monotonic()
    measure.progress(f"{name} …")
    arena.problems.clear()
    arena.server()
    noise = measure.Noise(arena)
    try:
        found = WORKLOADS[name].run(arena)
    except Exception as problem:
        # The others are measured all the same, and this one can be run again alone.
        libraries.shout(f"the workload {name} failed", repr(problem))
        arena.problems.append(f"{name}: {problem!r}")
        found = {"rows": []}
        arena.close()
    took = {"noise": noise.told(), "problems": list(arena.problems), "quick": arena.quick}
    file = out / "data" / f"{name}.json"
    file.write_text(json.dumps({**found, **took}, indent=1) + "\n")
    measure.progress(
        f"{name}: {time.monotonic() - begun:.0f} s, others had {took['noise']['cores_busy_with_other_work']} cores"
    )


# The hottest of them, what most of a client's processor time is spent on by those who use it most; and others by which
# a target is missed.
FLAMES: list[tuple[str, str, str, dict[str, str]]] = [
    ("lock", "rust", "lock", {"ops": "8000"}),
    ("handoff", "rust", "handoff", {"waiters": "1000", "times": "2"}),
    ("handoff-5000", "rust", "handoff", {"waiters": "5000", "times": "1", "hertz": "250"}),
    ("local", "rust", "local", {"callers": "100", "ops": "500000"}),
    ("background", "rust", "background", {"ops": "8000"}),
    ("disjoint", "rust", "disjoint", {"paths": "100", "ops": "30000"}),
    ("get", "rust", "get", {"ops": "6000", "clients": "1", "calls": "1"}),
    ("get-8", "rust", "get", {"ops": "8000", "clients": "8", "calls": "1"}),
    ("away", "rust", "lock", {"ops": "200", "away": "5"}),
    ("memory", "rust", "memory", {"waiters": "2000"}),
    ("memory", "c", "memory", {"waiters": "2000"}),
    ("lock", "c", "lock", {"ops": "8000"}),
    ("lock", "aio", "lock", {"ops": "4000"}),
    ("lock", "node", "lock", {"ops": "4000"}),
]


def draw_flames(arena: measure.Arena, out: Path) -> None:
    """Where the time of a worker goes, or its memory; without the tools those that are there stay."""
    tools = {"perf": "Debian's linux-perf", "heaptrack": "of Debian"}
    lacking = {tool for tool in tools if not shutil.which(tool)}
    for tool in lacking:
        libraries.shout("flame graphs are left out", f"there is no {tool} ({tools[tool]})")
    for name, library, verb, parameters in FLAMES:
        if library not in arena.libraries or ("heaptrack" if verb == "memory" else "perf") in lacking:
            continue
        file = out / f"flame-{library}-{name}.svg"
        try:
            measure.progress(f"flame graph: {flame.graph(arena, library, verb, parameters, file)}")
        except (processes.Failed, OSError, subprocess.CalledProcessError) as problem:
            libraries.shout(f"the flame graph of {library} at {name} is left out", repr(problem))


def note_run(given: argparse.Namespace, arena: measure.Arena, missing: dict[str, str]) -> None:
    versions: dict[str, Any] = {"ZooKeeper": arena.server().ensemble.version}
    for name in list(arena.libraries):
        try:
            versions[name] = arena.worker(name).facts.get("version", "of this tree")
        except (processes.Failed, OSError) as problem:
            missing[name] = str(problem)
            libraries.shout(f"{libraries.TITLES[name]} does not start and is LEFT OUT", str(problem))
            del arena.libraries[name]
            continue
        if name in libraries.ELSEWHERE:
            versions[name] += f", on a server of its own, etcd {arena.server_of(name).version}"
    of_node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    of_java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    of_rust = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    run = {
        "command": "make bench-quick" if given.quick else "make bench",
        "machine": {
            "processor": f"{processor()}, {os.cpu_count()} cores",
            "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
            "system": f"{platform.system()} {platform.release()}",
            "server's data": data_of(given, arena),
            "server": f"JVM {' '.join(processes.JVM)}, tick {processes.TICK_MS} ms",
            "compilers": "; ".join([of_rust, f"Python {platform.python_version()}", f"Node {of_node}", *of_java[:1]]),
        },
        "versions": versions,
        "missing": missing,
    }
    (given.out / "run.json").write_text(json.dumps(run, indent=1) + "\n")


def data_of(given: argparse.Namespace, arena: measure.Arena) -> str:
    if given.disk:
        return f"on disk, with fsync ({given.disk})"
    return "in memory" if arena.disk else "in /tmp, without fsync: there is no tmpfs with room for it"


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


if __name__ == "__main__":
    sys.exit(main())
