#!/usr/bin/env python3
"""A flame graph of one worker at work: where its processor time goes. Needs perf (Debian's linux-perf).

bench/flame.py rust lock ops=20000                     into bench/results/flame-rust-lock.svg
bench/flame.py rust handoff waiters=1000 times=20
bench/flame.py rust lock ops=200 away=5                the server is 5 ms away
bench/flame.py rust handoff waiters=5000 times=1 hertz=250
bench/flame.py rust get ops=4000                       of a queue with so many items
bench/flame.py rust memory waiters=2000                where the memory of those who wait is; needs heaptrack, of Debian
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from driver import libraries, locks, measure, processes, scale

WIDTH, ROW, NARROWEST = 1200, 17, 0.4
STYLE = """
  text { font: 11px system-ui, sans-serif; fill: #1f2328 }
  rect { fill: #e3a553; stroke: #ffffff; stroke-width: 0.5 }
  .kernel { fill: #9fb4c9 }
  @media (prefers-color-scheme: dark) {
    .title { fill: #e6edf3 }
    rect { stroke: #0d1117 }
  }
"""


class Frame:
    def __init__(self) -> None:
        self.samples = 0
        self.below: dict[str, Frame] = collections.defaultdict(Frame)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=list(libraries.TITLES))
    parser.add_argument("verb", help="a verb of the workers, or handoff")
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--no-build", action="store_true", help="the crates are built already")
    given = parser.parse_args()
    ready, _ = libraries.prepare([given.library], not given.no_build)
    arena = measure.Arena(ready, processes.memory_folder(), quick=True, rounds=1, fsync=False)
    out = Path(__file__).resolve().parent / "results"
    out.mkdir(exist_ok=True)
    try:
        parameters = dict(word.split("=", 1) for word in given.parameters)
        print(graph(arena, given.library, given.verb, parameters, out / f"flame-{given.library}-{given.verb}.svg"))
    finally:
        arena.close()
    return 0


def graph(arena: measure.Arena, library: str, verb: str, parameters: dict[str, str], file: Path) -> str:
    """Draws one into the file, and says what it came to."""
    with tempfile.TemporaryDirectory() as temporary:
        take = memory if verb == "memory" else time
        root = take(arena, library, verb, parameters, Path(temporary))
    if not root.samples:
        raise processes.Failed(f"there is no sample of {library} at {verb}")
    title = " ".join(
        [f"{libraries.TITLES[library]}:", verb, *(f"{name}={value}" for name, value in parameters.items())]
    )
    file.write_text(drawn(root, title))
    return f"{root.samples} {'bytes' if verb == 'memory' else 'samples'}; {file}"


def time(arena: measure.Arena, library: str, verb: str, parameters: dict[str, str], folder: Path) -> Frame:
    data = folder / "perf.data"
    away = int(parameters.get("away", 0))
    with scale.far_away(arena, away) if away else contextlib.nullcontext() as hosts:
        record(arena, arena.worker(library, hosts), verb, parameters, data)
    # Names of what was inlined would take minutes.
    script = ["perf", "script", "--no-inline", "-i", data]
    return folded(subprocess.run(script, capture_output=True, text=True, check=True).stdout)


def memory(arena: measure.Arena, library: str, _: str, parameters: dict[str, str], folder: Path) -> Frame:
    """What was allocated, and by whom, at the moment when there was most of it: when all wait."""
    preload, interpret = (
        next(Path("/usr/lib").glob(f"**/{name}")) for name in ("libheaptrack_preload.so", "heaptrack_interpret")
    )
    raw, told, stacks = folder / "raw", folder / "told", folder / "stacks"
    listening = {"LD_PRELOAD": str(preload), "DUMP_HEAPTRACK_OUTPUT": str(raw)}
    worker = arena.start(library, environment=listening)
    try:
        path, waiters = arena.path(), int(parameters["waiters"])
        worker.tell("hold", path=path)
        worker.tell("queue", path=path, waiters=waiters, times=1)
        arena.server().wait_for_children(path, waiters + 1)
    finally:
        worker.kill(softly=True)
    with open(raw) as given, open(told, "w") as taken:
        subprocess.run([interpret], stdin=given, stdout=taken, stderr=subprocess.DEVNULL, check=True)
    printing = ["heaptrack_print", "-f", told, "-F", stacks, "--flamegraph-cost-type", "peak"]
    subprocess.run(printing, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    readable = subprocess.run(["c++filt"], input=stacks.read_text(), capture_output=True, text=True, check=True)
    root = Frame()
    for line in readable.stdout.splitlines():
        names, _, size = line.rpartition(" ")
        frame = root
        for name in [None, *(name.strip() for name in names.split(";") if name.strip())]:
            frame = frame.below[name] if name else frame
            frame.samples += int(size)
    return root


def record(arena: measure.Arena, worker: processes.Worker, verb: str, parameters: dict[str, str], data: Path) -> None:
    path, hertz = arena.path(), parameters.get("hertz", "999")
    parameters = {name: value for name, value in parameters.items() if name not in ("away", "hertz")}
    if verb == "get":
        arena.worker("raw").tell("put", path=path, ops=parameters["ops"], calls=128, prefix="qn-")
    command = [
        "perf",
        "record",
        "--quiet",
        "-F",
        hertz,
        "--call-graph",
        "dwarf,16384",
        "-o",
        data,
        "-p",
        str(worker.pid),
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as perf:
        try:
            if verb == "handoff":
                waiters, times = int(parameters["waiters"]), int(parameters["times"])
                locks.line_of(arena, [worker], waiters, times, arena.server())
            else:
                worker.tell(verb, path=path, **parameters)
        finally:
            perf.terminate()


def folded(stacks: str) -> Frame:
    """What perf prints: a line of head for each sample, then its frames, innermost first, then an empty line."""
    root = Frame()
    names: list[str] = []
    for line in [*stacks.splitlines(), ""]:
        if line.startswith("\t"):
            # An address, the function, and in parentheses where it comes from.
            name, _, origin = line.strip().partition(" ")[2].rpartition(" (")
            name = name.rpartition("+0x")[0] or name
            names.append(f"{name} [kernel]" if "kernel" in origin else name)
        elif not line.strip() and names:
            frame = root
            frame.samples += 1
            for name in reversed(names):
                frame = frame.below[name]
                frame.samples += 1
            names = []
    return root


def drawn(root: Frame, title: str) -> str:
    shapes: list[str] = []
    deepest = 0
    per_sample = WIDTH / max(1, root.samples)

    def draw(frame: Frame, left: float, depth: int) -> None:
        nonlocal deepest
        deepest = max(deepest, depth)
        for name, below in sorted(frame.below.items()):
            width = below.samples * per_sample
            if width >= NARROWEST:
                share = f"{100 * below.samples / root.samples:.1f} %"
                kind = ' class="kernel"' if name.endswith("[kernel]") else ""
                label = name if len(name) * 6 < width else name[: max(0, int(width / 6) - 1)]
                top = 30 + depth * ROW
                shapes.append(
                    f'<g><title>{escape(name)}, {share}</title><rect x="{left:.1f}" y="{top}" width="{width:.1f}" '
                    f'height="{ROW - 1}"{kind}/><text x="{left + 2:.1f}" y="{top + 12}">{escape(label)}</text></g>'
                )
                draw(below, left, depth + 1)
            left += width

    draw(root, 0, 0)
    height = 40 + (deepest + 1) * ROW
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
    return "\n".join(
        [
            head,
            f"<style>{STYLE}</style>",
            f'<text class="title" x="4" y="18">{escape(title)}</text>',
            *shapes,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
