"""A fleet whose server is killed and comes back: what that costs the server, and for how long nobody is certain."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from .libraries import TITLES
from .measure import Arena, progress
from .processes import Failed, Server, Unsupported, Worker, cpu

# A thousand clients of a peer are thousands of threads. As many of ours are to be compared with theirs.
FLEETS = [("rust", 2000), ("rust", 300), ("curator", 300), ("kazoo", 300)]
SMALL_FLEETS = [("rust", 100), ("curator", 100), ("kazoo", 100)]
SESSION_MS = 10_000
# It is quiet once all are back, from the moment from which on the fleet sends for so long what it sent before, or
# little more. That is longer than from one ping of any library to the next: after a restart all of them come at the
# same moment.
QUIET_SECONDS = 5.0
LITTLE_MORE = 1.2
FEW = 20
# Who is not back by then is not waited for.
PATIENCE = 60.0


def restart(arena: Arena) -> dict[str, Any]:
    result: list[dict[str, Any]] = []
    # What else is measured keeps its server.
    arena.dismiss()
    server = Server(1, arena.disk, arena.fsync)
    try:
        for name, count in SMALL_FLEETS if arena.quick else FLEETS:
            if not arena.has([name]):
                continue
            progress(f"restart: {TITLES[name]}, {count} clients")
            try:
                result += restarts(arena, name, count, server)
            except (Failed, Unsupported, OSError) as problem:
                arena.trouble(f"{TITLES[name]}, a restart of the server of {count}", problem)
    finally:
        server.close()
    return {"rows": result, "session_ms": SESSION_MS}


def restarts(arena: Arena, name: str, count: int, server: Server) -> list[dict[str, Any]]:
    """The same fleet each time; it is as it was when the next restart comes."""
    worker, path = arena.start(name, server.first, session_ms=SESSION_MS), arena.path()
    try:
        worker.tell("fleet", patience=300, clients=count, state="mixed", path=path)
        # What comes once is over by then: who is first behind its own client looks again after two quiet seconds.
        time.sleep(3)
        found = []
        for number in range(1 if arena.quick else 2):
            told = once(worker, server, path, count)
            found.append({"library": name, "case": f"{count:,} clients, restart {number + 1}", "size": count, **told})
        worker.tell("disband", patience=300)
        return found
    finally:
        worker.end()


@dataclass
class Sample:
    """All since the kill; the server counts from its start."""

    at: float
    requests: int
    server_cpu: int
    client_cpu: int


def once(worker: Worker, server: Server, path: str, count: int) -> dict[str, Any]:
    begun, sent = time.monotonic(), server.requests()
    time.sleep(QUIET_SECONDS)
    usual = (server.requests() - sent) / (time.monotonic() - begun)
    holders = holders_of(server, path, count)
    worker.tell("observe")
    client_cpu = cpu(worker.pid)
    killed_at, serves_at = server.crash()
    samples: list[Sample] = []
    quiet: Sample | None = None
    observed: dict[str, Any] = {}
    while (now := time.monotonic() - killed_at / 1e9) < PATIENCE:
        # What the driver asks is counted, too.
        requests = server.requests() - len(samples) - 1
        samples.append(Sample(now, requests, server.cpu(), cpu(worker.pid) - client_cpu))
        observed = worker.tell("observed")
        if observed["well"] > killed_at:
            quiet = first_quiet(samples, usual, (observed["well"] - killed_at) / 1e9)
        if quiet:
            break
        time.sleep(0.1)
    gone = sum(now != before for now, before in zip(holders_of(server, path, count), holders, strict=True))
    last = quiet or samples[-1]
    return {
        "usual_requests_per_second": usual,
        "serves_s": (serves_at - killed_at) / 1e9,
        # None: not within a minute.
        "quiet_s": quiet.at if quiet else None,
        "back_s": (observed["well"] - killed_at) / 1e9 if observed["well"] > killed_at else None,
        "requests": last.requests,
        "server_cpu_s": last.server_cpu / 1e9,
        "client_cpu_s": last.client_cpu / 1e9,
        "uncertain_s": observed["gap"] / 1e9,
        "holders": len(holders),
        # By the word of the library, or because the node is not there any more.
        "lost": max(observed["lost"], gone),
        "gave_up": observed["ended"],
    }


def first_quiet(samples: list[Sample], usual: float, back: float) -> Sample | None:
    """The first sample since all are back behind which the fleet sent no more than it did before the kill."""
    for sample in samples:
        if sample.at < back:
            continue
        later = next((one for one in samples if one.at >= sample.at + QUIET_SECONDS), None)
        if not later:
            return None
        if later.requests - sample.requests <= LITTLE_MORE * usual * (later.at - sample.at) + FEW:
            return sample
    return None


def holders_of(server: Server, path: str, count: int) -> list[str]:
    """The node that holds each lock: the one with the lowest number."""
    with server.session() as session:
        names = (session.children(f"{path}/{number}") for number in range(count // 10))
        return [min(one, key=lambda name: name[-10:], default="") for one in names]
