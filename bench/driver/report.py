"""What a run leaves: raw numbers, a page with tables, and plots."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import plots
from .libraries import ELSEWHERE, OURS, TITLES
from .reasons import reason
from .targets import Results, Row, growths, targets
from .workloads import WORKLOADS

# Others that need more of the machine than this make the figures doubtful.
MUCH_NOISE = 0.25

OTHER_SERVER = (
    "**etcd is another server**, one node of it, on the same machine and with its data in the same place. What is "
    "between its rows and the others is the library and the server together."
)


def kind(library: str) -> str:
    return "floor" if library == "raw" else "ours" if library in OURS else "peer"


# Between these the README has what `--readme` writes.
BEGIN, END = "<!-- bench -->", "<!-- end of bench -->"


def into_readme(folder: Path, readme: Path) -> None:
    """Ratios, and one plot; no times, for those are the machine's."""
    results, _ = load(folder)
    text = readme.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    intro = "Each number is our time divided by theirs: 0.5 means that we need half the time."
    head = "| | the raw requests, over one blocking socket | Curator | kazoo |"
    lines = [BEGIN, "", intro, "", head, "|---|---|---|---|"]
    for what, workload, case, floor in RATIOS:
        cells = []
        for library, of in (("raw", floor), ("curator", case), ("kazoo", case)):
            ratio = results.ratio(workload, ("rust", case), (library, of)) if of else None
            cells.append(f"{ratio:.2f}" if ratio else "–")
        lines.append(f"| {what} | {' | '.join(cells)} |")
    shown = os.path.relpath(folder / "lock.svg", readme.parent)
    lines += ["", f"![Acquire and release a free lock]({shown})", "", END]
    readme.write_text(before + "\n".join(lines) + after)


RATIOS = [
    ("acquire and release, free", "lock", "acquire and release", "acquire and release"),
    ("hand-off, 100 waiters", "handoff", "100 that queue again", "100 that queue again"),
    ("100 locks at once", "disjoint", "100 paths", "100 paths"),
    ("take an item from a queue", "queue", "get", ""),
    ("50 enter and leave a double barrier", "barrier", "50 members", ""),
    ("add to a counter", "counter", "counter", "counter"),
]


def load(folder: Path) -> tuple[Results, dict[str, Any]]:
    run = json.loads((folder / "run.json").read_text())
    found = {name: folder / "data" / f"{name}.json" for name in WORKLOADS}
    return Results({name: json.loads(file.read_text()) for name, file in found.items() if file.exists()}), run


def write(folder: Path) -> None:
    results, run = load(folder)
    shown = list(draw(results, folder))
    text = "\n".join(page(results, run, shown, folder))
    (folder / "report.md").write_text(text)


def page(results: Results, run: dict[str, Any], shown: list[tuple[str, str]], folder: Path) -> Iterator[str]:
    yield "# Benchmarks\n"
    yield f"Written by `{run['command']}`; [bench/README.md](../README.md) says how it is measured."
    yield "Times are medians of rounds; the range is what the middle 80 % of the rounds were between.\n"
    yield from machine(results, run)
    yield from told_targets(results)
    yield from told_reasons(results, folder)
    for file, title in shown:
        yield f"![{title}]({file})\n"
    yield from told_growth(results)
    for name, workload in WORKLOADS.items():
        if results.rows(name):
            yield f"## {workload.title}\n"
            yield f"{workload.says}\n"
            yield from table(name, results)
            yield ""
            if any(row["library"] in ELSEWHERE for row in results.rows(name)):
                yield f"{OTHER_SERVER}\n"


def machine(results: Results, run: dict[str, Any]) -> Iterator[str]:
    yield "## Machine\n"
    yield "| | |\n|---|---|"
    for name, value in run["machine"].items():
        yield f"| {name} | {value} |"
    for name, value in run["versions"].items():
        yield f"| {TITLES.get(name, name)} | {value} |"
    for name, problem in run["missing"].items():
        yield f"| **left out**: {TITLES.get(name, name)} | {problem.splitlines()[0][:200]} |"
    yield ""
    measured = [w["noise"] for w in results.workloads.values()]
    worst = max((noise["cores_busy_with_other_work"] for noise in measured), default=0)
    seconds = sum(noise["seconds"] for noise in measured)
    yield f"Measuring took {seconds / 60:.1f} minutes. Other work had up to {worst:.1f} cores busy meanwhile."
    if worst > MUCH_NOISE:
        yield "**The machine was not quiet: trust ratios of one round more than times, and neither very much.**"
    yield ""
    problems = [problem for w in results.workloads.values() for problem in w["problems"]]
    if problems:
        yield "Left out because it failed:\n"
        yield from (f"- {problem[:300]}" for problem in problems)
        yield ""


def told_targets(results: Results) -> Iterator[str]:
    yield "## Targets\n"
    yield "| work | found | target | |\n|---|---|---|---|"
    for target in targets(results):
        found, limit, word = target.told()
        yield f"| {target.work} | {found} | {limit} | {f'**{word}**' if word == 'missed' else word} |"
    yield ""


def told_reasons(results: Results, folder: Path) -> Iterator[str]:
    missed: dict[str, list[str]] = {}
    for target in targets(results):
        if target.met is False and (found := reason(target.work)):
            drawn = [f"flame-{name}.svg" for name in found.flames if (folder / f"flame-{name}.svg").exists()]
            shown = "".join(f" [Flame graph]({file})." for file in drawn)
            missed.setdefault(found.why + shown, []).append(target.work)
    if missed:
        yield "## Why targets are missed\n"
        yield from (f"- **{'; '.join(works)}**: {why}" for why, works in missed.items())
        yield ""


def told_growth(results: Results) -> Iterator[str]:
    found = list(growths(results))
    if not found:
        return
    yield "## Scale\n"
    yield "What one of them costs when there are more of them: cost ~ size^power, fitted through all sizes."
    yield "Up to 0.15 is called flat, up to 1.15 linear, and what is beyond worse.\n"
    yield "| what one costs | library | at which sizes | power | |\n|---|---|---|---|---|"
    for growth in found:
        points = ", ".join(f"{size:,}: {plots.short(cost)} {growth.unit}" for size, cost in growth.points)
        yield f"| {growth.what} | {TITLES[growth.library]} | {points} | {growth.power:.2f} | {growth.word} |"
    yield ""


def table(name: str, results: Results) -> Iterator[str]:
    rows = results.rows(name)
    if name == "fleet":
        yield from fleet_table(rows, results.workloads[name]["session_ms"])
    elif name == "restart":
        yield from restart_table(rows, results.workloads[name]["session_ms"])
    elif name == "memory":
        yield "| | | KiB each | threads | process, MiB |\n|---|---|---|---|---|"
        for row in rows:
            yield (
                f"| {row['case']} | {TITLES[row['library']]} | {row['kib_each']:.1f} | {row['threads']} "
                f"| {row['kib_process'] / 1024:.0f} |"
            )
    else:
        yield from times(name, results)


def times(name: str, results: Results) -> Iterator[str]:
    rows = results.rows(name)
    counted = any("requests" in row for row in rows)
    woken = any("wake_ups" in row for row in rows)
    trips = any("round_trips" in row for row in rows)
    imports = any("import_ns" in row for row in rows)
    head = ["", "", "median, µs", "range", "to raw"]
    head += ["client CPU, µs", "server CPU, µs", "requests"] if counted else []
    head += ["wake-ups"] if woken else []
    head += ["round trips"] if trips else []
    head += ["import, ms"] if imports else []
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    cases = list(dict.fromkeys(row["case"] for row in rows))
    for row in sorted(rows, key=lambda row: cases.index(row["case"])):
        cells = [row["case"], TITLES[row["library"]], plots.short(row["ns"] / 1e3)]
        cells.append(f"{plots.short(row['ns_p10'] / 1e3)} – {plots.short(row['ns_p90'] / 1e3)}")
        ratio = results.ratio(name, (row["library"], row["case"]), ("raw", row["case"]))
        cells.append(f"{ratio:.2f}" if ratio and row["library"] not in ("raw", *ELSEWHERE) else "")
        if counted:
            if "requests" in row:
                cells += [plots.short(row["client_cpu_ns"] / 1e3), plots.short(row["server_cpu_ns"] / 1e3)]
                cells.append(f"{row['requests']:.1f}")
            else:
                cells += ["", "", ""]
        if woken:
            cells.append(f"{row['wake_ups']:.1f}" if "wake_ups" in row else "")
        if trips:
            cells.append(f"{row['round_trips']:.2f}")
        if imports:
            cells.append(f"{row['import_ns'] / 1e6:.0f}" if row.get("import_ns") else "")
        yield f"| {' | '.join(cells)} |"


# The session timeout that a client has unless told otherwise.
USUAL_SESSION_MS = 10_000


def fleet_table(rows: list[Row], session_ms: int) -> Iterator[str]:
    yield f"The session timeout was {session_ms / 1000:g} s. What a fleet of another size sends at a timeout of"
    yield f"{USUAL_SESSION_MS / 1000:g} s follows from the counted requests, which go by the timeout.\n"
    head = [
        "", "", "requests/s", "of one client, in a session timeout", "server, cores", "client, cores",
        "connections", "watches",
        "server, KiB each", "client, KiB each", "client's threads", "10,000 clients, requests/s", "100,000",
    ]  # fmt: skip
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        one = row["requests_per_second"] / row["size"]
        usual = one * session_ms / USUAL_SESSION_MS
        cells = [
            row["case"], TITLES[row["library"]], plots.short(row["requests_per_second"]),
            f"{one * session_ms / 1000:.1f}",
            f"{row['server_cpu']:.3f}", f"{row['client_cpu']:.3f}", str(row["connections"]), str(row["watches"]),
            f"{row['server_kib_each']:.0f}", f"{row['client_kib_each']:.0f}", str(row["client_threads"]),
            plots.short(usual * 10_000), plots.short(usual * 100_000),
        ]  # fmt: skip
        yield f"| {' | '.join(cells)} |"


def restart_table(rows: list[Row], session_ms: int) -> Iterator[str]:
    yield f"The session timeout was {session_ms / 1000:g} s. Times are from the kill, in seconds. *Back* is when all"
    yield "were connected again, and held or waited as before. *Uncertain* is the longest time for which one that holds"
    yield "a lock was not certain of it: by `is_held` of ours, and of the peers because they were not connected. A lock"
    yield "is lost if its library says so, or its node has gone. *Quiet* is from when on all were back and the fleet"
    yield "sent what it sent before; requests and processor time are those until then, the start of the JVM included.\n"
    head = [
        "", "", "server serves", "back", "uncertain", "locks held", "locks lost", "waiters that gave up", "quiet",
        "requests until then", "beyond the usual, of one client", "server CPU, s", "client CPU, s",
    ]  # fmt: skip
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        # Until the server serves nobody sends anything.
        span = max(0.0, (row["quiet_s"] or 0.0) - row["serves_s"])
        beyond = (row["requests"] - row["usual_requests_per_second"] * span) / row["size"]
        cells = [
            row["case"], TITLES[row["library"]], f"{row['serves_s']:.2f}", seconds(row["back_s"]),
            f"{row['uncertain_s']:.2f}", str(row["holders"]), str(row["lost"]), str(row["gave_up"]),
            seconds(row["quiet_s"]), f"{row['requests']:,}", f"{beyond:.1f}" if row["quiet_s"] else "–",
            f"{row['server_cpu_s']:.2f}", f"{row['client_cpu_s']:.2f}",
        ]  # fmt: skip
        yield f"| {' | '.join(cells)} |"


def seconds(value: float | None) -> str:
    return "not within a minute" if value is None else f"{value:.2f}"


def draw(results: Results, folder: Path) -> Iterator[tuple[str, str]]:
    for name, workload, case, figure, title in BARS:
        rows = [row for row in results.rows(workload) if row["case"] == case and figure in row]
        if len(rows) < 2:
            continue
        shown = []
        for row in sorted(rows, key=lambda row: row[figure]):
            low, high = (row["ns_p10"], row["ns_p90"]) if figure == "ns" else (row[figure], row[figure])
            shown.append(
                plots.Bar(TITLES[row["library"]], kind(row["library"]), row[figure] / 1e3, low / 1e3, high / 1e3)
            )
        note = (
            "microseconds, less is better; blue is zkrecipes, grey the floor; thin lines: the middle 80 % of the rounds"
        )
        if any(row["library"] in ELSEWHERE for row in rows):
            note += "; etcd is another server"
        (folder / f"{name}.svg").write_text(plots.bars(title, note, "µs", shown))
        yield f"{name}.svg", title
    for name, workload, which, title, x_name in CURVES:
        lines = []
        for library in TITLES:
            points = {
                row["size"]: row["ns"] / 1e3
                for row in results.rows(workload)
                if row["library"] == library and row.get("size") and row["case"].endswith(which)
            }
            if len(points) >= 2:
                lines.append(plots.Line(TITLES[library], kind(library), sorted(points.items())))
        if lines:
            (folder / f"{name}.svg").write_text(
                plots.curves(title, "microseconds, less is better; both axes logarithmic", x_name, lines)
            )
            yield f"{name}.svg", title


BARS = [
    ("lock", "lock", "acquire and release", "ns", "Acquire and release a free lock"),
    ("lock-cpu", "lock", "acquire and release", "client_cpu_ns", "Processor time of the client for that"),
    ("handoff-100", "handoff", "100 that queue again", "ns", "One hand-off, with 100 waiters"),
    (
        "start",
        "start",
        "process start to first lock released",
        "ns",
        "From the start of a process to its first lock released",
    ),
]
CURVES = [
    ("handoff", "handoff", " once", "One hand-off, by how many wait", "waiters"),
    ("barrier", "barrier", " members", "All members enter and leave a double barrier", "members"),
]
