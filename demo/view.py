"""The demo's face: a live picture on a terminal, plain sentences in a pipe. Both tell the same story."""

from __future__ import annotations

import os
import shutil
import sys
from collections import deque
from dataclasses import dataclass, field
from itertools import groupby

COLUMN_NS = 60_000_000  # one column of the lanes
COLOURS = {"python": "33", "node": "32", "c": "36"}
NAMES = {"python": "Python", "node": "Node", "c": "C"}


def language(worker: str) -> str:
    return worker.split("-")[0]


@dataclass
class Lane:
    """When a worker was inside: (from, until or None while inside, killed)."""

    stays: list[tuple[int, int | None, bool]] = field(default_factory=list)
    dead: int | None = None
    buried: int | None = None


class View:
    """Plain sentences, one for each thing that happens."""

    def __init__(self, title: str, workers: list[str], start: int) -> None:
        self.start = start
        self.width = max(map(len, workers))
        print(title, end="\n\n", flush=True)

    def say(self, at: int, sentence: str) -> None:
        print(f"{(at - self.start) / 1e9:6.2f} s  {sentence}", flush=True)

    def entered(self, worker: str, token: int, at: int, before: str | None, gap: int | None, queue: list[str]) -> None:
        came = f"{before} -> {worker}" if before else f"{worker} is first"
        handed = f"  in {gap / 1e6:.1f} ms" if gap is not None else ""
        waiting = f"  waiting: {', '.join(queue)}" if queue else ""
        self.say(at, f"{came:<{2 * self.width + 4}}  token {token}{handed}{waiting}")

    def left(self, worker: str, at: int) -> None:
        pass

    def killed(self, worker: str, token: int, at: int, session_ms: int) -> None:
        self.say(at, f"{worker} is killed with SIGKILL while it holds token {token};")
        self.say(at, f"the lock stays closed until its session ends, {session_ms / 1000:g} s after the last heartbeat")

    def note(self, at: int, sentence: str) -> None:
        self.say(at, sentence)

    def queue(self, waiting: list[str]) -> None:
        pass

    def paint(self, now: int) -> None:
        pass

    def close(self, now: int) -> None:
        print(flush=True)


class LiveView(View):
    """The same story drawn in place: one lane per worker, time running to the right, never two blocks in one column."""

    def __init__(self, title: str, workers: list[str], start: int) -> None:
        super().__init__(title, workers, start)
        self.workers = workers
        self.lanes = {worker: Lane() for worker in workers}
        self.holder: tuple[str, int, int] | None = None
        self.corpse: tuple[str, int] | None = None
        self.waiting: list[str] = []
        self.lines: deque[str] = deque(maxlen=7)
        self.painted = 0
        print("\x1b[?25l", end="")

    def entered(self, worker: str, token: int, at: int, before: str | None, gap: int | None, queue: list[str]) -> None:
        self.lanes[worker].stays.append((at, None, False))
        if self.corpse is not None:
            self.lanes[self.corpse[0]].buried = at
        self.holder, self.corpse = (worker, token, at), None
        came = f"{self.ink(before)} → {self.ink(worker)}" if before else f"{self.ink(worker)} is first"
        handed = f"  \x1b[2min {gap / 1e6:.1f} ms\x1b[0m" if gap is not None else ""
        self.say(at, f"{came}  token {token}{handed}")

    def left(self, worker: str, at: int) -> None:
        self._end(worker, at, killed=False)

    def killed(self, worker: str, token: int, at: int, session_ms: int) -> None:
        self._end(worker, at, killed=True)
        self.lanes[worker].dead, self.corpse = at, (worker, at)
        self.say(at, f"\x1b[1;31m✗ {worker} is killed\x1b[0m (SIGKILL) while it holds token {token}")
        self.say(
            at, f"  the lock stays closed until its session ends, {session_ms / 1000:g} s after the last heartbeat"
        )

    def say(self, at: int, sentence: str) -> None:
        self.lines.append(f"\x1b[2m{(at - self.start) / 1e9:6.2f} s\x1b[0m  {sentence}")

    def queue(self, waiting: list[str]) -> None:
        self.waiting = waiting

    def paint(self, now: int) -> None:
        size = shutil.get_terminal_size()
        columns = max(20, min(size.columns - self.width - 6, 110))
        right = now // COLUMN_NS
        picture = [self._headline(now), self._queue(size.columns), ""]
        for worker in self.workers:
            picture.append(f"  {self.ink(worker, pad=True)}  {self._lane(worker, right - columns + 1, columns)}")
        picture.append(f"  {'':{self.width}}  \x1b[2m{'time → now':>{columns}}\x1b[0m")
        picture += ["", *self.lines, *[""] * (self.lines.maxlen or 0)]
        height = len(self.workers) + 5 + (self.lines.maxlen or 0)
        picture = picture[:height]
        up = f"\x1b[{self.painted}A" if self.painted else ""
        sys.stdout.write(up + "".join(f"\x1b[2K{line}\n" for line in picture))
        sys.stdout.flush()
        self.painted = height

    def close(self, now: int) -> None:
        self.paint(now)
        print("\x1b[?25h", flush=True)

    def ink(self, worker: str | None, pad: bool = False) -> str:
        text = worker or ""
        return f"\x1b[{COLOURS[language(text)]}m{text:<{self.width if pad else 0}}\x1b[0m"

    def _end(self, worker: str, at: int, killed: bool) -> None:
        stays = self.lanes[worker].stays
        if stays and stays[-1][1] is None:
            stays[-1] = (stays[-1][0], at, killed)
        self.holder = None

    def _headline(self, now: int) -> str:
        if self.holder is None and self.corpse is not None:
            waited = (now - self.corpse[1]) / 1e9
            return f"  the lock is  held by \x1b[1;31m{self.corpse[0]}\x1b[0m, which has been dead for {waited:.1f} s"
        if self.holder is None:
            return "  the lock is  \x1b[2mbetween two holders\x1b[0m"
        worker, token, since = self.holder
        held_for = (now - since) / 1e9
        return f"  the lock is  held by \x1b[1m{self.ink(worker)}\x1b[0m  token {token}  for {held_for:.2f} s"

    def _queue(self, columns: int) -> str:
        text, room = "  waiting      ", columns - 16
        for number, worker in enumerate(self.waiting, start=2):
            entry = f"{number}. {worker}"
            if len(entry) + 3 > room:
                return text + "…"
            room -= len(entry) + 3
            text += f"\x1b[2m{number}.\x1b[0m {self.ink(worker)}   "
        return text

    def _lane(self, worker: str, first: int, columns: int) -> str:
        """A row of the picture: a block wherever this worker was inside for most of a column."""
        lane = self.lanes[worker]
        cells = ["·"] * columns
        now = (first + columns) * COLUMN_NS
        for since, until, _ in lane.stays:
            begin = round(since / COLUMN_NS) - first
            end = round((now if until is None else until) / COLUMN_NS) - first
            for column in range(max(begin, 0), min(end, columns)):
                cells[column] = "█"
        if lane.dead is not None:
            grave = max(lane.dead // COLUMN_NS - first, -1)
            # Dead, and still in everybody's way until its session ends.
            freed = (now if lane.buried is None else lane.buried) // COLUMN_NS - first
            cells[grave + 1 :] = ["░" if column < freed else " " for column in range(grave + 1, columns)]
            if grave >= 0:
                cells[grave] = "✗"
        ink = {"·": "2", "█": COLOURS[language(worker)], "✗": "1;31", "░": "31", " ": "0"}
        return "".join(f"\x1b[{ink[kind]}m{''.join(run)}\x1b[0m" for kind, run in groupby(cells))


def open_view(title: str, workers: list[str], start: int) -> View:
    """The picture needs a terminal that can draw, with room for it."""
    tty = sys.stdout.isatty() and shutil.get_terminal_size().lines > len(workers) + 14
    tty = tty and os.environ.get("TERM", "dumb") != "dumb" and "NO_COLOR" not in os.environ
    return (LiveView if tty else View)(title, workers, start)
