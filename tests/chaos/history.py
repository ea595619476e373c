"""The format of a history: what clients called and what they were told, a JSON object a line.

    client    who called, one thing after the other: the name of a session, a slash, and who of those that use it
    language  in which it is written
    recipe    what it uses: a function of the checker
    path      of the recipe
    op, args  the word of tests/drivers/README.md, without the name of the handle
    called    seconds of one clock for all clients, before the call left
    answered  seconds after the answer had come; null when none came
    ok        the values of a good answer, or null
    error     the kind of a bad one, or null; an outcome that nobody knows has neither, or one of no denial

A line with `fault` instead of `op` says what was done to whom, from `called` to `answered`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import IO

# Errors that say that nothing was done, and nothing will be. What is left may have been done, or may be done later.
DENIALS = frozenset({"TIMEOUT", "NOT_HELD", "EXISTS", "BAD_VERSION", "NO_NODE", "NOT_EMPTY", "MISMATCH", "INVALID"})
NEVER = float("inf")
# Clients of other libraries. What they say that they hold is not certain.
GUESTS = ("kazoo", "curator")
# The fault that ends a session by force.
FORCED_END = "session ended by force"


@dataclass(frozen=True)
class Call:
    client: str
    recipe: str
    path: str
    op: str
    args: tuple[str, ...] = ()
    called: float = 0.0
    answered: float | None = None
    ok: tuple[str, ...] | None = None
    error: str | None = None
    language: str = ""

    @property
    def end(self) -> float:
        """When it had its effect at the latest, if it has one: without a good answer that may be at any time."""
        return self.answered if self.ok is not None and self.answered is not None else NEVER

    @property
    def was_denied(self) -> bool:
        return self.error in DENIALS

    @property
    def is_unknown(self) -> bool:
        """Whether nobody knows what became of it."""
        return self.ok is None and not self.was_denied

    def __str__(self) -> str:
        answer = "?" if self.answered is None else f"{self.answered:.3f}"
        outcome = " ".join(self.ok) if self.ok else "ok" if self.ok is not None else self.error or "no answer"
        return f"{self.called:9.3f} to {answer:>9}  {self.client:<10} {' '.join((self.op, *self.args))} -> {outcome}"


@dataclass(frozen=True)
class Fault:
    fault: str
    whom: str
    called: float
    answered: float


@dataclass
class History:
    calls: list[Call] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def expired(self) -> dict[str, list[tuple[float, float]]]:
        """When sessions were ended by force, of which no client can know in time."""
        ends: dict[str, list[tuple[float, float]]] = {}
        for fault in self.faults:
            if fault.fault == FORCED_END:
                ends.setdefault(fault.whom, []).append((fault.called, fault.answered))
        return ends


def write(history: History, to: IO[str]) -> None:
    lines: list[Call | Fault] = [*history.faults, *history.calls]
    for line in sorted(lines, key=lambda one: one.called):
        to.write(json.dumps(asdict(line)) + "\n")


def read(lines: Iterable[str]) -> History:
    history = History()
    for line in lines:
        told = json.loads(line)
        if "fault" in told:
            history.faults.append(Fault(**told))
        else:
            told["args"] = tuple(told["args"])
            told["ok"] = None if told["ok"] is None else tuple(told["ok"])
            history.calls.append(Call(**told))
    return history
