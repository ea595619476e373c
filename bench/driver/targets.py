"""What was promised, and whether the figures keep it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
# By calls that block, of the raw socket; by those that are awaited, of Rust.
BLOCKING = {"c": ("C", 1.12), "blocking": ("blocking Rust", 1.12), "python": ("Python", 1.25)}
AWAITED = {"aio": ("asyncio", 1.3), "node": ("Node", 1.2)}


class Results:
    """All workloads that were measured."""

    def __init__(self, workloads: dict[str, dict[str, Any]]) -> None:
        self.workloads = workloads

    def rows(self, workload: str) -> list[Row]:
        return list(self.workloads.get(workload, {}).get("rows", []))

    def row(self, workload: str, library: str, case: str) -> Row | None:
        for row in self.rows(workload):
            if row["library"] == library and row["case"] == case:
                return row
        return None

    def ratio(self, workload: str, one: tuple[str, str], other: tuple[str, str], figure: str = "ns") -> float | None:
        """How much the one takes of what the other takes: the median of the rounds' ratios, where both have rounds."""
        mine, theirs = self.row(workload, *one), self.row(workload, *other)
        if not mine or not theirs:
            return None
        if figure == "ns" and len(mine["rounds_ns"]) == len(theirs["rounds_ns"]):
            return statistics.median(a / b for a, b in zip(mine["rounds_ns"], theirs["rounds_ns"], strict=True))
        return float(mine[figure] / theirs[figure]) if theirs[figure] else None


@dataclass
class Target:
    work: str
    found: float | None
    limit: float
    # Whether less is better.
    at_most: bool
    unit: str = "×"

    @property
    def met(self) -> bool | None:
        if self.found is None:
            return None
        return self.found <= self.limit if self.at_most else self.found >= self.limit

    def told(self) -> tuple[str, str, str]:
        sign = "≤" if self.at_most else "≥"
        return (
            figure(self.found, self.unit),
            f"{sign} {figure(self.limit, self.unit)}",
            {None: "not measured", True: "met", False: "missed"}[self.met],
        )


def figure(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    number = f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"
    return f"{number}{'' if unit == '×' else ' '}{unit}"


def targets(results: Results) -> Iterator[Target]:
    def less(
        work: str, workload: str, one: tuple[str, str], other: tuple[str, str], limit: float, of: str = "ns"
    ) -> Target:
        return Target(work, results.ratio(workload, one, other, of), limit, True)

    def faster(work: str, workload: str, one: tuple[str, str], other: tuple[str, str], limit: float) -> Target:
        """How many times as fast the one is."""
        ratio = results.ratio(workload, other, one)
        return Target(work, ratio, limit, False)

    both, alone = "acquire and release", "acquire"
    yield less("acquire, free, in C, of one raw create", "lock", ("c", alone), ("raw", alone), 1.15)
    yield less(
        "acquire and release in Rust, awaited, of a raw create and delete", "lock", ("rust", both), ("raw", both), 1.3
    )
    for face, (title, limit) in BLOCKING.items():
        yield less(
            f"acquire and release in {title}, of a raw create and delete", "lock", (face, both), ("raw", both), limit
        )
    for face, (title, limit) in AWAITED.items():
        yield less(f"acquire and release in {title}, of that in Rust", "lock", (face, both), ("rust", both), limit)
    yield less("the same, of Curator's", "lock", ("rust", both), ("curator", both), 0.7)
    yield less("the same, of kazoo's", "lock", ("rust", both), ("kazoo", both), 0.3)
    case = "acquire, release in the background"
    yield less(
        "release in the background, of a raw create and delete", "background", ("rust", case), ("raw", case), 0.6
    )
    yield faster(
        "100 locks at once, to raw pipelined pairs", "disjoint", ("rust", "100 paths"), ("raw", "100 paths"), 0.9
    )
    thousand = "1000 paths"
    yield less(
        "1,000 locks at once in asyncio, of that in Rust", "disjoint", ("aio", thousand), ("rust", thousand), 1.2
    )
    for face, title in (("c", "C"), ("rust", "Rust, awaited")):
        work = f"client CPU of acquire and release in {title}, of the raw socket's"
        yield less(work, "lock", (face, both), ("raw", both), 2.0, "client_cpu_ns")
    again = "100 that queue again"
    line = "hand-off, 100 waiters of one client that queue again"
    yield faster(f"{line}, per second, to Curator's", "handoff", ("rust", again), ("curator", again), 5)
    yield faster(f"{line}, per second, to kazoo's", "handoff", ("rust", again), ("kazoo", again), 10)
    yield less(f"{line}, of raw pipelined pairs", "handoff", ("rust", again), ("raw", again), 1.3)
    counted = results.row("handoff", "rust", again)
    yield Target(f"requests of each, {line}", counted["requests"] if counted else None, 2.1, True, "")
    yield Target("hand-off, 5,000 waiters, of that of 10", of_medians(results, "5000 once", "10 once"), 1.15, True)
    for processes, waiters in ((2, 2), (4, 4), (4, 100)):
        case = f"{waiters} that queue again, in {processes} processes"
        between = f"hand-off between processes, {waiters} waiters"
        yield less(f"{between}, of raw sockets that do the same", "handoff", ("rust", case), ("raw", case), 1.3)
        yield faster(f"{between}, per second, to Curator's", "handoff", ("rust", case), ("curator", case), 1.5)
    sessions = of_medians(results, "1000 once, a session each", "10 once, a session each")
    yield Target("hand-off, 1,000 sessions, of that of 10", sessions, 2, True)
    local = results.row("local", "rust", "100 waiters of one client")
    yield Target("local hand-off, per second", 1e9 / local["ns"] if local else None, 1e6, False, "")
    yield faster(
        "queue: put, all in one call, to raw creates",
        "queue",
        ("rust", "put, all in one call"),
        ("raw", "put, 64 at a time"),
        3,
    )
    yield faster(
        "queue: put, 64 at a time, to raw creates",
        "queue",
        ("rust", "put, 64 at a time"),
        ("raw", "put, 64 at a time"),
        0.9,
    )
    yield faster(
        "queue: get, 64 at a time, to kazoo's get", "queue", ("rust", "get, 64 at a time"), ("kazoo", "get"), 10
    )
    yield faster(
        "queue: get, 64 at a time, to Curator's take", "queue", ("rust", "get, 64 at a time"), ("curator", "get"), 5
    )
    yield faster(
        "queue: claim and ack, 64 at a time, to kazoo's",
        "queue",
        ("rust", "claim and ack, 64 at a time"),
        ("kazoo", "claim and ack"),
        5,
    )
    # As many of ours as of theirs.
    eight = "get, 8 clients"
    yield faster("queue: get, 8 clients, to 8 of kazoo's", "queue", ("rust", eight), ("kazoo", eight), 10)
    yield faster("queue: get, 8 clients, to 8 of Curator's", "queue", ("rust", eight), ("curator", eight), 5)
    # One call after the other costs a round trip each: what is removed ahead of its call is lost with its process.
    yield faster("queue: get, one at a time, to kazoo's get", "queue", ("rust", "get"), ("kazoo", "get"), 10)
    yield faster("queue: get, one at a time, to Curator's take", "queue", ("rust", "get"), ("curator", "get"), 5)
    yield less(
        "queue: get, one at a time, of a raw socket with the same requests",
        "queue",
        ("rust", "get"),
        ("raw", "get"),
        1.5,
    )
    yield faster("queue: get, 8 clients, to one", "queue", ("rust", eight), ("rust", "get"), 3)
    # What the servers and the machine allow: where these are missed, they are what limits the line above.
    yield faster(
        "queue: get, 8 raw sockets with the same requests, to one",
        "queue",
        ("raw", eight),
        ("raw", "get"),
        3,
    )
    alone = "get, 8 clients, each its own queue"
    yield faster("queue: get, 8 clients, each its own queue, to one", "queue", ("rust", alone), ("rust", "get"), 3)
    fifty = "50 members"
    yield faster("double barrier, 50 members, to Curator's", "barrier", ("rust", fifty), ("curator", fifty), 3)
    far = [
        results.row("distance", "rust", f"{case}, 5 ms each way")
        for case in ("acquire and release", "hand-off, 10 waiters")
    ]
    yield Target("round trips of acquire and release, 5 ms each way", trips(far[0]), 2.1, True, "")
    yield Target("round trips of a hand-off, 5 ms each way", trips(far[1]), 1.1, True, "")
    # The program's own threads: the main one, and in Rust the one that reads lines.
    for name, title, own in (("rust", "Rust", 2), ("c", "C", 1)):
        largest = max((row for row in results.rows("memory") if row["library"] == name), key=size, default=None)
        count = f"{largest['size']:,}" if largest else "waiting"
        threads = largest["threads"] - own if largest else None
        yield Target(f"threads of the library with {count} waiting handles, {title}", threads, 4, True, "")
        each = largest["kib_each"] if largest else None
        yield Target(f"memory of one of {count} waiting handles, {title}", each, 4, True, "KiB")


def size(row: Row) -> int:
    return int(row["size"])


def trips(row: Row | None) -> float | None:
    return row["round_trips"] if row else None


def of_medians(results: Results, one: str, other: str) -> float | None:
    mine, theirs = results.row("handoff", "rust", one), results.row("handoff", "rust", other)
    return mine["ns"] / theirs["ns"] if mine and theirs else None


@dataclass
class Growth:
    """How what one of them costs changes with how many there are: cost ~ size ** power."""

    what: str
    library: str
    points: list[tuple[int, float]]
    unit: str
    power: float

    @property
    def word(self) -> str:
        if self.power <= 0.15:
            return "flat"
        return "linear" if self.power <= 1.15 else "worse"


def fitted(points: list[tuple[int, float]]) -> float:
    """The slope of the line through the logarithms, by least squares."""
    xs, ys = [math.log(x) for x, _ in points], [math.log(max(y, 1e-9)) for _, y in points]
    return statistics.linear_regression(xs, ys).slope


def growths(results: Results) -> Iterator[Growth]:
    def of(
        what: str, workload: str, cost: Callable[[Row], float], unit: str, which: Callable[[Row], bool]
    ) -> Iterator[Growth]:
        found: dict[str, dict[int, float]] = {}
        for row in results.rows(workload):
            if row.get("size") and which(row):
                found.setdefault(row["library"], {})[row["size"]] = cost(row)
        for library, points in found.items():
            if len(points) >= 2:
                ordered = sorted(points.items())
                yield Growth(what, library, ordered, unit, fitted(ordered))

    def microseconds(row: Row) -> float:
        return float(row["ns"]) / 1e3

    yield from of(
        "a hand-off, by waiters that come once",
        "handoff",
        microseconds,
        "µs",
        lambda row: row["case"].endswith(" once"),
    )
    yield from of(
        "a hand-off, by waiters that queue again", "handoff", microseconds, "µs", lambda row: "again" in row["case"]
    )
    yield from of("a pair, by locks at once", "disjoint", microseconds, "µs", lambda row: True)
    yield from of(
        "a get, by items that are there", "queue", microseconds, "µs", lambda row: row["case"].startswith("get of")
    )
    yield from of(
        "a member of a double barrier, by members",
        "barrier",
        lambda row: row["ns"] / 1e3 / row["size"],
        "µs",
        lambda row: True,
    )
    yield from of(
        "a site of a transaction, by sites", "commit", lambda row: row["ns"] / 1e3 / row["size"], "µs", lambda row: True
    )
    yield from of(
        "memory of a waiting handle, by handles", "memory", lambda row: row["kib_each"], "KiB", lambda row: True
    )
    for state in ("idle", "hold", "wait", "shared"):
        yield from of(
            f"requests per second of one client, {state}, by clients", "fleet",
            lambda row: row["requests_per_second"] / row["size"], "/s", lambda row, state=state: row["state"] == state,
        )  # fmt: skip
