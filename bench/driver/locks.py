"""Locks: free ones, many at once, and lines of waiters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .etcd import EtcdServer
from .measure import Arena, Contestant, Turn, each, play, rows, whole
from .processes import Failed, Server, Worker, numbers

EVERYBODY = [
    "raw", "rust", "c", "python", "aio", "node", "curator", "kazoo", "rust-client", "c-client", "node-client",
]  # fmt: skip
# How many waiters each is asked for at most: the peers list everybody each time, and some have a thread for each.
MOST_WAITERS = {
    "rust": 5000, "c": 5000, "aio": 5000, "node": 5000, "python": 1000, "curator": 1000, "kazoo": 100,
    "rust-client": 1000, "c-client": 100, "node-client": 100, "etcd": 100,
}  # fmt: skip


def one_worker(arena: Arena, name: str, hosts: str | None = None) -> Callable[[], list[Worker]]:
    return lambda: [arena.worker(name, hosts)]


def free(arena: Arena) -> dict[str, Any]:
    return free_on(arena, arena.server(), ["blocking", *EVERYBODY, "etcd"], rounds=14, ops=400)


def free_on_three(arena: Arena) -> dict[str, Any]:
    names = ["raw", "rust", "python", "curator", "kazoo"]
    return free_on(arena, arena.server(3), names, rounds=6, ops=60)


def free_on(arena: Arena, server: Server, names: list[str], rounds: int, ops: int) -> dict[str, Any]:
    """Lock and unlock, both waited for; and the acquisition alone, from the same turns."""
    found: list[Contestant] = []
    alone: list[Contestant] = []
    for name in arena.has(names):
        path = arena.path()
        halves = Contestant(name, "acquire", lambda: Turn([], 0), lambda: [])
        alone.append(halves)

        def turn(name: str = name, path: str = path, halves: Contestant = halves) -> Turn:
            answer = arena.worker(name, server.first).tell("lock", path=path, ops=ops)
            halves.turns.append(each(answer, "acquire"))
            return each(answer)

        found.append(Contestant(name, "acquire and release", turn, one_worker(arena, name, server.first)))
    # Enough for compilers that compile what is hot.
    play(arena, found, arena.rounds(rounds), warm_up=3 if arena.quick else 4, server=server)
    for contestant, halves in zip(found, alone, strict=True):
        halves.turns = halves.turns[-len(contestant.turns) :] if contestant.turns else []
    only_times = rows(alone)
    for one in only_times:
        for figure in ("client_cpu_ns", "server_cpu_ns", "requests", "wake_ups"):
            one.pop(figure)
    return {"rows": rows(found) + only_times}


def background(arena: Arena) -> dict[str, Any]:
    found = []
    for name in arena.has(["raw", "rust", "blocking", "c", "python", "aio", "node"]):
        path = arena.path()
        verb = "lock" if name == "raw" else "background"
        found.append(
            Contestant(
                name,
                "acquire, release in the background",
                lambda name=name, path=path, verb=verb: each(arena.worker(name).tell(verb, path=path, ops=80)),
                one_worker(arena, name),
            )
        )
    path = arena.path()
    found.append(
        Contestant(
            "raw", "create, delete not waited for",
            lambda: each(arena.worker("raw").tell("background", path=path, ops=80)),
            one_worker(arena, "raw"),
        )
    )  # fmt: skip
    play(arena, found, arena.rounds(12), warm_up=2)
    return {"rows": rows(found)}


def disjoint(arena: Arena) -> dict[str, Any]:
    """Many locks of one client at the same time; the time is that of all pairs, divided by their number."""
    found = []
    sizes = [100] if arena.quick else [1, 10, 100, 1000]
    for paths in sizes:
        for name in arena.has([*EVERYBODY, "etcd"] if paths < 1000 else ["raw", "rust", "c", "aio", "node"]):
            path = arena.path()
            ops = {1: 100, 10: 300, 100: 600, 1000: 2000}[paths]
            found.append(
                Contestant(
                    name,
                    f"{paths} paths",
                    lambda name=name, path=path, paths=paths, ops=ops: whole(
                        arena.worker(name).tell("disjoint", path=path, paths=paths, ops=ops), ops
                    ),
                    one_worker(arena, name),
                    paths,
                )
            )
    play(arena, found, arena.rounds(6), warm_up=1)
    return {"rows": rows(found)}


def line_of(
    arena: Arena,
    workers: list[Worker],
    waiters: int,
    times: int,
    server: Server | EtcdServer,
    each_has_a_session: bool = False,
) -> Turn:
    """They queue behind a holder; it lets go, and everybody has a turn, or several. The time of one hand-off is the
    mean, from the release until the last one holds."""
    path = arena.path()
    workers[0].tell("hold", path=path)
    each_has = waiters // len(workers)
    for worker in workers:
        sessions = {"sessions": each_has} if each_has_a_session else {}
        worker.tell("queue", path=path, waiters=each_has, times=times, **sessions)
    server.wait_for_children(path, each_has * len(workers) + 1)
    begun = workers[0].tell("drop")["at"]
    stamps: list[int] = []
    for worker in workers:
        worker.order("finish")
    for worker in workers:
        stamps += numbers(worker.answer("finish"), "at")
    stamps.sort()
    count = len(stamps)
    if count != each_has * len(workers) * times:
        raise Failed(f"{count} turns instead of {each_has * len(workers) * times}")
    server.clear(path)
    return Turn([(stamps[-1] - begun) / count], count)


def hand_off(arena: Arena) -> dict[str, Any]:
    """Waiters that come once, and such that queue again at once: of one client, of several processes, or of a session
    each."""
    found: list[Contestant] = []

    def add(case: str, waiters: int, times: int, processes: int = 1, a_session_each: bool = False) -> None:
        for name in arena.has(list(MOST_WAITERS)):
            if waiters > MOST_WAITERS[name]:
                continue
            if processes > 1 and name not in ("rust", "c", "curator", "kazoo"):
                continue
            if a_session_each and name not in ("rust", "curator"):
                continue

            def workers(name: str = name) -> list[Worker]:
                return [arena.worker(name, number=number) for number in range(processes)]

            def turn(workers: Callable[[], list[Worker]] = workers, name: str = name) -> Turn:
                return line_of(arena, workers(), waiters, times, arena.server_of(name), a_session_each)

            found.append(Contestant(name, case, turn, workers, waiters))

    def floor(case: str, verb: str, count: int, **parameters: int) -> None:
        """What the raw socket does that is nothing but what `case` has to send."""
        path = arena.path()
        found.append(
            Contestant(
                "raw", case, lambda: whole(arena.worker("raw").tell(verb, path=path, **parameters), count),
                one_worker(arena, "raw"),
            )
        )  # fmt: skip

    def round_of(rounds: int, warm_up: int = 1) -> list[dict[str, Any]]:
        """With a raw write in each round, and everybody in one."""
        path = arena.path()
        found.append(
            Contestant(
                "raw", "a write", lambda: each(arena.worker("raw").tell("write", path=path, ops=100)),
                one_worker(arena, "raw"),
            )
        )  # fmt: skip
        play(arena, found, rounds, warm_up)
        result = rows(found)
        found.clear()
        return result

    again = "that queue again"
    add(f"2 {again}", 2, 40)
    add("10 once", 10, 1)
    add("100 once", 100, 1)
    if arena.quick:
        return {"rows": round_of(arena.rounds(3))}
    add(f"100 {again}", 100, 5)
    # Their line is one client's, whose requests are pairs of a create and a delete, as many at a time as it likes.
    floor(f"100 {again}", "disjoint", 500, paths=100, ops=500)
    result = round_of(arena.rounds(5))
    for processes, waiters, times in ((2, 2, 40), (4, 4, 20), (4, 100, 3)):
        case = f"{waiters} {again}, in {processes} processes"
        add(case, waiters, times, processes, a_session_each=waiters > processes)
        floor(case, "turns", waiters * times, sockets=waiters, times=times)
    result += round_of(arena.rounds(5))
    arena.dismiss()
    add("1000 once", 1000, 1)
    large = round_of(min(3, arena.rounds(2)), 0)
    add("5000 once", 5000, 1)
    add("1000 once, in 4 processes", 1000, 1, 4)
    add(f"1000 {again}", 1000, 2)
    found[:] = [one for one in found if one.library in ("rust", "c", "curator")]
    largest = round_of(min(3, arena.rounds(1)), 0)
    # The processes beyond the first one are needed no more.
    arena.dismiss()
    add("10 once, a session each", 10, 1, a_session_each=True)
    few = round_of(arena.rounds(5))
    arena.dismiss()
    add("1000 once, a session each", 1000, 1, a_session_each=True)
    found[:] = [one for one in found if one.library == "rust"]
    many = round_of(min(3, arena.rounds(2)))
    arena.dismiss()
    for part, beside in (
        (large, "1000 waiters"),
        (largest, "5000 waiters"),
        (few, "10 sessions"),
        (many, "1000 sessions"),
    ):
        for one in part:
            if one["library"] == "raw":
                one["case"] += f", beside {beside}"
    return {"rows": result + large + largest + few + many}


def local(arena: Arena) -> dict[str, Any]:
    path, ops = arena.path(), 100_000 if arena.quick else 500_000
    contestant = Contestant(
        "rust", "100 waiters of one client",
        lambda: whole(arena.worker("rust").tell("local", path=path, callers=100, ops=ops), ops),
        one_worker(arena, "rust"), 100,
    )  # fmt: skip
    play(arena, [contestant], arena.rounds(6))
    return {"rows": rows([contestant])}


def several(arena: Arena, verb: str, cases: dict[str, dict[str, int]], names: list[str], rounds: int) -> dict[str, Any]:
    """A workload that is timed as a whole, with several callers of one client."""
    found = []
    for case, parameters in cases.items():
        for name in arena.has(names):
            path, ops = arena.path(), parameters["ops"]

            def turn(name: str = name, path: str = path, ops: int = ops, rest: dict[str, int] = parameters) -> Turn:
                return whole(arena.worker(name).tell(verb, path=path, **rest), ops)

            found.append(Contestant(name, case, turn, one_worker(arena, name)))
    play(arena, found, arena.rounds(rounds))
    return {"rows": rows(found)}


def read_write(arena: Arena) -> dict[str, Any]:
    cases = {"8 callers, 1 in 20 writes": {"callers": 8, "ops": 320, "every": 20}}
    return several(arena, "readwrite", cases, ["rust", "curator", "kazoo"], 8)


def semaphore(arena: Arena) -> dict[str, Any]:
    cases = {
        "4 permits, 4 callers": {"callers": 4, "ops": 120, "permits": 4},
        "4 permits, 16 callers": {"callers": 16, "ops": 160, "permits": 4},
    }
    return several(arena, "semaphore", cases, ["rust", "curator", "kazoo"], 8)
