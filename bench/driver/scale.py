"""What depends on where and how much: distance, starting up, memory, fleets."""

from __future__ import annotations

import contextlib
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .libraries import RUST, TITLES
from .locks import EVERYBODY, MOST_WAITERS, line_of
from .measure import Arena, Contestant, Turn, each, play, progress, quantile, rows
from .processes import PATIENCE, Failed, Server, Unsupported, Worker, cpu, status, zookeeper


@contextlib.contextmanager
def far_away(arena: Arena, milliseconds: int) -> Iterator[str]:
    """A way to the server that takes so long, in each direction."""
    with subprocess.Popen(
        [str(RUST), "delay", arena.server().first, str(milliseconds)],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=zookeeper._die_with_parent,
    ) as proxy:
        try:
            port = proxy.stdout.readline().strip().partition("port=")[2]
            yield f"127.0.0.1:{port}"
        finally:
            proxy.kill()


def distance(arena: Arena) -> dict[str, Any]:
    """Times in round trips of the way: what is left above a whole number is time of processors."""
    result: list[dict[str, Any]] = []
    for milliseconds in [5] if arena.quick else [1, 5, 50]:
        with far_away(arena, milliseconds) as hosts:
            found: list[Contestant] = []
            ops = 6 if milliseconds < 50 else 3
            for name in arena.has(EVERYBODY if milliseconds == 5 else ["raw", "rust", "curator", "kazoo"]):
                path = arena.path()

                def free(name: str = name, path: str = path, hosts: str = hosts, ops: int = ops) -> Turn:
                    return each(arena.worker(name, hosts).tell("lock", path=path, ops=ops))

                def workers(name: str = name, hosts: str = hosts) -> list[Worker]:
                    return [arena.worker(name, hosts)]

                case = f"acquire and release, {milliseconds} ms each way"
                found.append(Contestant(name, case, free, workers))
                if name in MOST_WAITERS and milliseconds == 5:

                    def line(workers: Any = workers) -> Turn:
                        return line_of(arena, workers(), 10, 1, arena.server())

                    case = f"hand-off, 10 waiters, {milliseconds} ms each way"
                    found.append(Contestant(name, case, line, workers))
            play(arena, found, 3, warm_up=1)
            for one in rows(found):
                one["round_trips"] = one["ns"] / (2e6 * milliseconds)
                result.append(one)
            for name in arena.libraries:
                arena.dismiss(name)
    return {"rows": result}


def start_up(arena: Arena) -> dict[str, Any]:
    """From the start of a process until it has a session, and until it has had its first lock. The JVM's and the
    interpreters' own start is in it; `import` is loading the library alone, where that is something of its own."""
    found: list[Contestant] = []
    imports: dict[str, list[int]] = {}

    def add(name: str) -> None:
        path = arena.path()
        session = Contestant(name, "process start to session", nobody, list)

        def turn() -> Turn:
            worker = arena.start(name)
            try:
                session.turns.append(Turn([worker.ready_at - worker.begun], 1))
                imports.setdefault(name, []).append(worker.facts.get("import", 0))
                worker.tell("lock", path=path, ops=1)
                return Turn([time.monotonic_ns() - worker.begun], 1)
            finally:
                worker.end()

        found.extend([Contestant(name, "process start to first lock released", turn, list), session])

    for name in arena.has([*(name for name in EVERYBODY if name != "raw"), "etcd"]):
        add(name)
    played = [one for one in found if one.play is not nobody]
    play(arena, played, arena.rounds(3))
    result = rows(found)
    at_once = crowds(arena)
    for one in result:
        for figure in ("client_cpu_ns", "server_cpu_ns", "requests", "wake_ups"):
            one.pop(figure)
        if imported := sorted(imports.get(one["library"], [])):
            one["import_ns"] = imported[len(imported) // 2]
    return {"rows": result + at_once}


# How many processes of each start at once: of ours in Rust also as many as of the others, to be compared with them.
AT_ONCE = {100: ["rust", "c"], 20: ["rust", "python", "node", "kazoo"], 10: ["rust", "curator"]}
FEW_AT_ONCE = {10: ["rust", "c", "python", "node", "curator", "kazoo"]}


def crowds(arena: Arena) -> list[dict[str, Any]]:
    """So many processes that start at once: from the start of the first until the median one has had its first lock, on
    a path of its own, and until the last one has. The driver starts one after the other, and says how long it took."""
    found: list[Contestant] = []
    for count, names in (FEW_AT_ONCE if arena.quick else AT_ONCE).items():
        for name in arena.has(names):
            found += crowd(arena, name, count)
    play(arena, [one for one in found if one.play is not nobody], 2, warm_up=0)
    result = rows(found)
    for one in result:
        if not one["case"].endswith("the last has had its lock"):
            for figure in ("client_cpu_ns", "server_cpu_ns", "requests", "wake_ups"):
                one.pop(figure)
    return result


def crowd(arena: Arena, name: str, count: int) -> list[Contestant]:
    case = f"{count} processes at once"
    started, median = (
        Contestant(name, f"{case}: {until}", nobody, list)
        for until in ("the last is started", "the median one has had its lock")
    )
    all_of_them: list[Worker] = []

    def turn() -> Turn:
        path = arena.path()
        try:
            for number in range(count):
                worker = arena.start(name, waits=False)
                all_of_them.append(worker)
                # It reads this once it has its session.
                worker.order("lock", path=f"{path}/{number}", ops=1)
            begun, last_begun = all_of_them[0].begun, time.monotonic_ns()
            stamps = sorted(stamp - begun for stamp in answered(all_of_them))
        except (Failed, OSError):
            end_all(all_of_them)
            raise
        started.turns.append(Turn([last_begun - begun], count))
        median.turns.append(Turn([quantile(list(map(float, stamps)), 0.5)], count))
        return Turn([stamps[-1]], count)

    last = Contestant(
        name, f"{case}: the last has had its lock", turn, lambda: all_of_them, clean=lambda: end_all(all_of_them)
    )
    return [started, median, last]


def answered(workers: list[Worker]) -> list[int]:
    """When each of them has said that it is ready, and what came of its order."""
    stamps = []
    by_output = {worker.output: worker for worker in workers}
    end = time.monotonic() + PATIENCE
    while by_output:
        readable, _, _ = select.select(list(by_output), [], [], max(0.0, end - time.monotonic()))
        if not readable:
            raise Failed(f"{len(by_output)} of {len(workers)} had no lock after {PATIENCE:.0f} s")
        for output in readable:
            if by_output[output].lines() >= 2:
                stamps.append(time.monotonic_ns())
                del by_output[output]
    for worker in workers:
        worker.wait_until_ready()
        worker.answer("lock")
    return stamps


def end_all(workers: list[Worker]) -> None:
    for worker in workers:
        worker.let_end()
    for worker in workers:
        worker.end()
    workers.clear()


def nobody() -> Turn:
    raise Unsupported("it is not played in rounds")


def memory(arena: Arena) -> dict[str, Any]:
    """Waiters in one process, on one client, in line for one lock: what the process grew by, and its threads."""
    result = []
    sizes = [1000] if arena.quick else [100, 1000, 3000, 10_000]
    names = ["rust", "c", "curator", "kazoo"] if arena.quick else list(MOST_WAITERS)
    for name in arena.has(names):
        before_that: dict[str, Any] | None = None
        most = {"rust": 10_000, "c": 10_000}.get(name, 1000)
        # Each of its waiters is a session.
        most = 100 if name in ("c-client", "etcd") else most
        fewest = 100 if name in ("rust", "c", "c-client", "etcd") else 1000
        for count in [size for size in sizes if fewest <= size <= most]:
            if before_that and too_large(before_that, count):
                smaller = f"{before_that['size']} took {before_that['kib_each']:.0f} KiB each"
                arena.trouble(f"{TITLES[name]}, {count} waiting handles", f"{smaller}, so this may need too much")
                continue
            progress(f"memory: {TITLES[name]}, {count} waiters")
            worker = arena.start(name)
            try:
                path = arena.path()
                # What is made once is there already.
                worker.tell("lock", path=arena.path(), ops=20)
                worker.tell("hold", path=path)
                before = status(worker.pid)
                worker.tell("queue", path=path, waiters=count, times=1)
                arena.server_of(name).wait_for_children(path, count + 1)
                settled = settle(worker)
                result.append(
                    {
                        "library": name,
                        "case": f"{count} waiting handles",
                        "size": count,
                        "kib_each": (settled["VmRSS"] - before["VmRSS"]) / count,
                        "kib_process": settled["VmRSS"],
                        "threads": settled["Threads"],
                        "threads_before": before["Threads"],
                    }
                )
                before_that = result[-1]
                # Ten thousand that have their turn one after the other would take long, and it is measured elsewhere.
                worker.kill()
                arena.server_of(name).clear(path)
            except (Failed, Unsupported) as problem:
                arena.trouble(f"{TITLES[name]}, {count} waiting handles", problem)
            finally:
                worker.end()
    return {"rows": result}


def too_large(smaller: dict[str, Any], count: int) -> bool:
    """Whether so many might need half of what the machine has left, if what each needs grows with their number."""
    available = next(
        int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvail")
    )
    return bool(smaller["kib_each"] * count / smaller["size"] * count > available / 2)


def settle(worker: Worker) -> dict[str, int]:
    """What a process has once it has nothing more to do: for half a second it used next to no processor time."""
    for _ in range(60):
        before = cpu(worker.pid)
        time.sleep(0.5)
        if cpu(worker.pid) - before < 25e6:
            break
    return status(worker.pid)


# Clients of a fleet have this session timeout here; what they send goes by it, so it can be told for others.
FLEET_SESSION_MS = 3000


def fleet(arena: Arena) -> dict[str, Any]:
    """Clients that do nothing, hold a lock each, or wait behind a holder: what they ask of the server by themselves."""
    result = []
    server = arena.server()
    arena.dismiss()
    for name in arena.has(["rust", "curator", "kazoo"]):
        for state in ["idle", "hold"] if arena.quick else ["idle", "hold", "wait", "shared"]:
            # A thousand clients of a peer are thousands of threads: for them the larger fleet is a small one.
            for count in [50] if arena.quick else [100, 1000, 2000] if name == "rust" else [100, 300]:
                if state == "shared" and (name != "rust" or count < 1000):
                    continue
                progress(f"fleet: {TITLES[name]}, {count} clients, {state}")
                worker = arena.start(name, session_ms=FLEET_SESSION_MS)
                try:
                    result.append(figures_of(worker, server, arena.path(), name, state, count))
                    worker.tell("disband", patience=300)
                except (Failed, Unsupported) as problem:
                    arena.trouble(f"{TITLES[name]}, a fleet of {count}", problem)
                finally:
                    worker.end()
    return {"rows": result, "session_ms": FLEET_SESSION_MS}


def figures_of(worker: Worker, server: Server, path: str, name: str, state: str, count: int) -> dict[str, Any]:
    before_client, before_server = status(worker.pid), [status(pid)["VmRSS"] for pid in server.pids]
    worker.tell("fleet", patience=300, clients=count, state=state, path=path)
    # What comes once is over by then: who is first behind its own client looks again after two quiet seconds.
    time.sleep(FLEET_SESSION_MS / 1000)
    begun = time.monotonic()
    requests, server_cpu, client_cpu = server.requests(), server.cpu(), cpu(worker.pid)
    # A whole timeout, so that everybody has sent what it sends in one.
    time.sleep(FLEET_SESSION_MS / 1000)
    sent = server.requests() - requests
    seconds = time.monotonic() - begun
    figures = server.figures()
    after = status(worker.pid)
    return {
        "library": name,
        "case": f"{state}, {count} clients",
        "state": state,
        "size": count,
        "requests_per_second": sent / seconds,
        "server_cpu": (server.cpu() - server_cpu) / 1e9 / seconds,
        "client_cpu": (cpu(worker.pid) - client_cpu) / 1e9 / seconds,
        "connections": int(figures.get("zk_num_alive_connections", 0)),
        "watches": int(figures.get("zk_watch_count", 0)),
        "server_kib_each": quantile(
            [(status(pid)["VmRSS"] - was) / count for pid, was in zip(server.pids, before_server, strict=True)], 0.5
        ),
        "client_kib_each": (after["VmRSS"] - before_client["VmRSS"]) / count,
        "client_threads": after["Threads"],
    }
