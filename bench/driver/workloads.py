"""All workloads, in the order in which they are measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import locks, recipes, restart, scale
from .measure import Arena


@dataclass
class Workload:
    title: str
    says: str
    run: Callable[[Arena], dict[str, Any]]
    # Whether `make bench-quick` has it.
    quick: bool = True


WORKLOADS = {
    "lock": Workload("A free lock", "One after the other, on one path that nobody else wants.", locks.free),
    "background": Workload(
        "Release in the background",
        "What the caller sees of acquire and release(wait=false).",
        locks.background,
    ),
    "disjoint": Workload(
        "Many locks at once",
        "One client, a caller for each path; the time of a pair is that of all, divided by their number.",
        locks.disjoint,
    ),
    "handoff": Workload(
        "Hand-off",
        "A holder lets go, and its waiters have their turn. One hand-off is the mean, until the last one holds.",
        locks.hand_off,
    ),
    "distance": Workload(
        "Distance",
        "A proxy makes the way longer. Round trips are the time divided by that of the way there and back.",
        scale.distance,
    ),
    "local": Workload("Local hand-off", "Waiters of one client pass the lock on in memory.", locks.local),
    "memory": Workload("Waiting handles", "In one process, on one client; what the process grew by.", scale.memory),
    "election": Workload(
        "Failover",
        "Until the next candidate leads. After SIGKILL that is mostly the session timeout: 4 s, with ticks of 1 s.",
        recipes.election,
        False,
    ),
    "queue": Workload("Queues", "Items of 100 bytes, one session each unless it says clients.", recipes.queue),
    "barrier": Workload(
        "Double barrier",
        "All enter and all leave, a session each; the time is that of everybody.",
        recipes.barrier,
    ),
    "commit": Workload(
        "Two-phase commit",
        "From begin until all sites have acknowledged; raw makes as many nodes as a commit has writes before that.",
        recipes.commit,
    ),
    "counter": Workload("Counter", "One more, one after the other; raw is one write.", recipes.counter),
    "readwrite": Workload("Read/write lock", "Read-mostly, on one client.", locks.read_write),
    "semaphore": Workload("Semaphore", "On one client.", locks.semaphore),
    "watch": Workload(
        "Streams",
        "From the call that sets until another session's stream has told it; raw is the write.",
        recipes.watch,
    ),
    "start": Workload(
        "Starting up",
        "A process, its session, its first lock; and many processes that start at once on this machine.",
        scale.start_up,
    ),
    "lock3": Workload(
        "A free lock on three servers",
        "The same as on one, on an ensemble on this machine.",
        locks.free_on_three,
        False,
    ),
    "fleet": Workload("Fleet", "What clients ask of a server by themselves.", scale.fleet),
    "restart": Workload(
        "A fleet whose server is killed and comes back",
        "Of ten clients one holds a lock of its own, one waits in a line of ten behind one of these, the rest is idle. "
        "The server gets SIGKILL, and is started again at once with its data: the sessions are still valid.",
        restart.restart,
    ),
}
