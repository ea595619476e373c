"""What happened inside the critical section, kept by the workers themselves and judged without asking the lock.

Three witnesses, none of which knows about ZooKeeper: a file that can be created only by whoever finds nobody else
inside (O_EXCL), enter and leave times on the machine's monotonic clock, and a counter that every worker reads, holds
for a while and writes back without any protection of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Stay:
    """One time inside."""

    worker: str
    token: int
    enter: int
    leave: int | None = None
    killed: bool = False

    @property
    def end(self) -> int:
        return self.leave if self.leave is not None else self.enter


@dataclass
class Verdict:
    stays: list[Stay] = field(default_factory=list)
    overlaps: list[str] = field(default_factory=list)
    tokens_fell: list[str] = field(default_factory=list)
    counter: int = 0

    @property
    def finished(self) -> int:
        return sum(1 for stay in self.stays if stay.leave is not None and not stay.killed)

    @property
    def lost_updates(self) -> int:
        """Increments that somebody else overwrote. One that was killed may or may not have written its own."""
        return max(0, self.finished - self.counter)

    @property
    def sound(self) -> bool:
        return not self.overlaps and not self.tokens_fell and self.lost_updates == 0


class Journal:
    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "counter").write_text("0")
        (home / "journal").touch()
        self._news = open(home / "journal")

    def news(self) -> list[list[str]]:
        """What has been written since the last time: [what, worker, token, time]."""
        return [line.split() for line in self._news]

    def stop(self) -> None:
        (self.home / "stop").touch()

    def bury(self, worker: str, now: int) -> None:
        """Writes down that a worker was killed inside, and removes the marker it could not remove."""
        with open(self.home / "journal", "a") as journal:
            journal.write(f"killed {worker} 0 {now}\n")
        marker = self.home / "inside"
        if marker.exists() and marker.read_text() == worker:
            marker.unlink()

    def judge(self) -> Verdict:
        verdict = Verdict(counter=int((self.home / "counter").read_text() or 0))
        inside: dict[str, Stay] = {}
        for line in (self.home / "journal").read_text().splitlines():
            what, worker, token, at = line.split()
            if what == "enter":
                inside[worker] = Stay(worker, int(token), int(at))
                verdict.stays.append(inside[worker])
            elif what == "collision":
                verdict.overlaps.append(f"{worker} found somebody else inside")
            elif worker in inside:
                stay = inside.pop(worker)
                stay.leave, stay.killed = int(at), what == "killed"
        verdict.stays.sort(key=lambda stay: stay.enter)
        for before, after in zip(verdict.stays, verdict.stays[1:], strict=False):
            if after.enter < before.end:
                verdict.overlaps.append(f"{after.worker} entered before {before.worker} had left")
            if after.token <= before.token:
                verdict.tokens_fell.append(f"{after.worker} got {after.token} after {before.token}")
        return verdict
