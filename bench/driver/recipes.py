"""Everything that is no lock: queues, barriers, transactions, counters, streams, elections."""

from __future__ import annotations

import time
from typing import Any

from .libraries import TITLES
from .locks import one_worker
from .measure import Arena, Contestant, Turn, each, play, rows, whole
from .processes import Failed, Unsupported

# What a consumer finds is put there by the raw socket, under the names that the library under test reads.
ITEM_NAMES = {"raw": "qn-", "rust": "qn-", "curator": "qn-", "kazoo": "entry-100-"}


def queue(arena: Arena) -> dict[str, Any]:
    """Items of 100 bytes. What is timed is all of them, divided by their number."""
    found: list[Contestant] = []
    few, many = (60, 300) if arena.quick else (150, 900)

    def add(
        name: str, case: str, verb: str, ops: int, clients: int = 1, calls: int = 1, size: int = 0, queues: str = "one"
    ) -> None:
        if not arena.has([name]):
            return
        path = arena.path()
        below = "/entries" if name == "kazoo" and verb == "claim" else ""

        def prepare() -> None:
            if verb in ("get", "claim"):
                prefix = ITEM_NAMES[name]
                count = size or ops
                # Whoever is faster takes more: each queue has enough for one that takes all.
                for own in [""] if queues == "one" else [f"/{n}" for n in range(clients)]:
                    where = path + own + below
                    arena.worker("raw").tell("put", path=where, ops=count, calls=128, prefix=prefix)

        def turn() -> Turn:
            parameters = {"path": path, "ops": ops, "clients": clients, "calls": calls}
            if queues != "one":
                parameters["queues"] = queues
            return whole(arena.worker(name).tell(verb, **parameters), ops)

        found.append(
            Contestant(
                name, case, turn, one_worker(arena, name), size, prepare, lambda: arena.server().clear(path)
            )
        )  # fmt: skip

    add("raw", "put, 64 at a time", "put", many, calls=64)
    add("raw", "put", "put", few)
    # What our own consumers send, from bare sockets: what the server allows.
    add("raw", "get", "get", few)
    add("rust", "put, all in one call", "putmany", many)
    add("rust", "put, 64 at a time", "put", many, calls=64)
    for name in ("rust", "curator", "kazoo"):
        add(name, "put", "put", few)
        add(name, "get", "get", few)
    add("rust", "get, 64 at a time", "get", many, calls=64)
    add("rust", "claim and ack", "claim", few)
    add("rust", "claim and ack, 64 at a time", "claim", many, calls=64)
    add("kazoo", "claim and ack", "claim", few)
    if not arena.quick:
        for clients in (2, 8, 16):
            for name in ("rust", "curator", "kazoo"):
                # Two of kazoo's that take at the same time list everything again and again.
                if name != "kazoo" or clients <= 8:
                    ops = (many if name == "rust" else few) // 16 * 16
                    add(name, f"get, {clients} clients", "get", ops, clients)
                if clients > 2:
                    add(name, f"put, {clients} clients", "put", few // 16 * 16, clients)
            if clients > 2:
                add("rust", f"claim and ack, {clients} clients", "claim", few // 16 * 16, clients)
        # A hundredth of a second each.
        add("kazoo", "claim and ack, 8 clients", "claim", 32, 8)
        add("raw", "get, 8 clients", "get", many // 16 * 16, 8)
        add("rust", "get, 8 clients, each its own queue", "get", many // 16 * 16, 8, queues="own")
        for depth in (100, 1000, 10_000):
            for name in ("rust", "curator", "kazoo"):
                if name != "kazoo" or depth <= 1000:
                    add(name, f"get of {depth}", "get", 100, size=depth)
    play(arena, found, arena.rounds(6))
    return {"rows": rows(found)}


def barrier(arena: Arena) -> dict[str, Any]:
    """All enter and all leave, each with a session of its own; the time is that of both for all of them."""
    found = []
    # More of a peer's are more threads than this machine likes: kazoo's sessions have two each, Curator's four.
    most = {"rust": 500, "curator": 200, "kazoo": 10}
    for members in [10] if arena.quick else [2, 10, 50, 200, 500]:
        for name in arena.has(list(most)):
            if members > most[name]:
                continue
            path = arena.path()

            def turn(name: str = name, path: str = path, members: int = members) -> Turn:
                answer = arena.worker(name).tell("barrier", path=path, members=members)
                return Turn([answer["enter"] + answer["leave"]], 1)

            found.append(Contestant(name, f"{members} members", turn, one_worker(arena, name), members))
    play(arena, found, arena.rounds(10), warm_up=2)
    # Their sessions are needed no more, and would ping.
    arena.dismiss()
    return {"rows": rows(found)}


def commit(arena: Arena) -> dict[str, Any]:
    """From the begin of a transaction until every site has acknowledged; the floor is as many creates in flight."""
    found = []
    for sites in [2, 10] if arena.quick else [2, 10, 50]:
        path, floor = arena.path(), arena.path()
        ops = 10 if sites <= 10 else 4
        found.append(
            Contestant(
                "rust", f"{sites} sites",
                lambda path=path, sites=sites, ops=ops: each(
                    arena.worker("rust").tell("commit", path=path, sites=sites, ops=ops)
                ),
                one_worker(arena, "rust"), sites,
            )
        )  # fmt: skip
        found.append(
            Contestant(
                "raw", f"{sites} sites",
                lambda path=floor, sites=sites: whole(
                    arena.worker("raw").tell("put", path=path, ops=2 * sites + 2, calls=sites), 1
                ),
                one_worker(arena, "raw"), sites,
            )
        )  # fmt: skip
    play(arena, found, arena.rounds(8))
    return {"rows": rows(found)}


def counter(arena: Arena) -> dict[str, Any]:
    """One more, with nobody else at it; the floor is a write."""
    return one_by_one(arena, "counter", ["raw", "rust", "python", "node", "curator", "kazoo"], 60, 8)


def watch(arena: Arena) -> dict[str, Any]:
    """From the call that sets a node until a stream of another session has told it; the floor is the write alone."""
    return one_by_one(arena, "watch", ["raw", "rust", "curator", "kazoo"], 60, 8)


def one_by_one(arena: Arena, verb: str, names: list[str], ops: int, rounds: int) -> dict[str, Any]:
    found = []
    for name in arena.has(names):
        path, told = arena.path(), "write" if name == "raw" else verb
        found.append(
            Contestant(
                name, verb,
                lambda name=name, path=path, told=told: each(arena.worker(name).tell(told, path=path, ops=ops)),
                one_worker(arena, name),
            )
        )  # fmt: skip
    play(arena, found, arena.rounds(rounds), warm_up=2)
    return {"rows": rows(found)}


def election(arena: Arena) -> dict[str, Any]:
    """Two processes stand; the leader resigns, or is killed. The time is until the other one leads. Killed, it is
    for the most part the session timeout, which is 4 s here."""
    names = arena.has(["rust", "curator", "kazoo", "etcd"])
    found = {(name, case): Contestant(name, case, nobody, list) for case in CASES for name in names}
    for case in CASES:
        for _ in range(arena.rounds(3)):
            one_term(arena, [one for one in found.values() if one.case == case and not one.problem], case)
    result = rows(list(found.values()))
    for one in result:
        for figure in ("client_cpu_ns", "server_cpu_ns", "requests", "wake_ups"):
            one.pop(figure)
    return {"rows": result}


CASES = ("resigned", "killed")


def nobody() -> Turn:
    raise Unsupported("it is not played in rounds")


def one_term(arena: Arena, contestants: list[Contestant], case: str) -> None:
    """All libraries at once where they wait for a timeout, so that it is waited for once."""
    stages: list[tuple[Contestant, Any, Any]] = []
    for contestant in contestants:
        path = arena.path()
        try:
            leader, other = (arena.start(contestant.library, session_ms=4000) for _ in range(2))
            leader.tell("stand", path=path)
            leader.tell("elected")
            other.tell("stand", path=path)
            arena.server_of(contestant.library).wait_for_children(path, 2)
            stages.append((contestant, leader, other))
        except (Failed, Unsupported) as problem:
            contestant.problem = str(problem)
            arena.trouble(f"{TITLES[contestant.library]}, election", problem)
    # So that nobody's connection is younger than the others'.
    time.sleep(0.2)
    begun = {}
    for contestant, leader, other in stages:
        if case == "killed":
            begun[contestant.library] = time.monotonic_ns()
            leader.kill()
        else:
            begun[contestant.library] = leader.tell("resign")["at"]
            contestant.turns.append(Turn([other.tell("elected")["at"] - begun[contestant.library]], 1))
    for contestant, leader, other in stages:
        if case == "killed":
            try:
                contestant.turns.append(Turn([other.tell("elected")["at"] - begun[contestant.library]], 1))
            except Failed as problem:
                contestant.problem = str(problem)
        leader.end()
        other.end()
