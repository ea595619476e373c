"""Everybody else's recipes among themselves: the embedded server must carry them just as a real one does."""

from __future__ import annotations

import itertools
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import peers
import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.cache import TreeCache, TreeEvent
from stage import PATIENCE, QUIET

CURATOR = [
    "InterProcessMutex", "InterProcessSemaphoreMutex", "InterProcessMultiLock", "InterProcessReadWriteLock",
    "InterProcessSemaphoreV2", "LeaderLatch", "LeaderSelector", "DistributedBarrier", "DistributedDoubleBarrier",
    "SimpleDistributedQueue", "DistributedQueue", "DistributedPriorityQueue", "DistributedDelayQueue", "SharedCount",
    "DistributedAtomicLong", "GroupMember", "PersistentNode", "PersistentTtlNode", "CuratorCache",
]  # fmt: skip
C_CLIENT = ["nodes", "modes", "watches", "transactions", "permissions", "sessions", "locks"]


def outcomes(command: list[str]) -> dict[str, str]:
    """What became of each check of a program that prints a line for each."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=300)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.fixture(scope="session")
def curator(hosts: str) -> dict[str, str]:
    # All in one process: a virtual machine each would cost more than the recipes.
    return outcomes(peers.java("Recipes", hosts))


@pytest.mark.parametrize("recipe", CURATOR)
def test_curators_recipes_work(curator: dict[str, str], recipe: str) -> None:
    assert curator.get(recipe, "never finished") == "ok"


@pytest.fixture(scope="session")
def c_client(hosts: str) -> dict[str, str]:
    return outcomes([str(peers.BUILT / "c-client"), hosts])


@pytest.mark.parametrize("check", C_CLIENT)
def test_the_c_client_works(c_client: dict[str, str], check: str) -> None:
    assert c_client.get(check, "never finished") == "ok"


# ---- kazoo

PARTIES = 4
_paths = itertools.count(1)


@pytest.fixture
def clients(hosts: str) -> Iterator[list[KazooClient]]:
    clients = [KazooClient(hosts, timeout=15) for _ in range(PARTIES)]
    for client in clients:
        client.start(PATIENCE)
    yield clients
    for client in clients:
        client.stop()
        client.close()


@pytest.fixture
def path() -> str:
    return f"/kazoo-{next(_paths)}"


def together(clients: list[KazooClient], step: Callable[[KazooClient], Any]) -> list[Any]:
    """A step for each client at the same time, each on a thread of its own."""
    with ThreadPoolExecutor(len(clients)) as pool:
        return list(pool.map(step, clients, timeout=PATIENCE))


class Crowd:
    """How many are inside, and how many there ever were at once."""

    def __init__(self) -> None:
        self.now = self.most = self.visits = 0
        self._guard = threading.Lock()

    def __enter__(self) -> None:
        with self._guard:
            self.now += 1
            self.visits += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self._guard:
            self.now -= 1


def test_kazoos_lock(clients: list[KazooClient], path: str) -> None:
    crowd = Crowd()

    def contend(client: KazooClient) -> None:
        lock = client.Lock(path, "me")
        for _ in range(10):
            with lock, crowd:
                pass

    together(clients, contend)
    assert (crowd.most, crowd.visits) == (1, 10 * PARTIES)
    holder, other = clients[0].Lock(path, "holder"), clients[1].Lock(path, "other")
    assert holder.acquire()
    assert not other.acquire(blocking=False)
    with pytest.raises(LockTimeout):
        other.acquire(timeout=QUIET)
    assert holder.contenders() == ["holder"]


def test_kazoos_read_and_write_locks(clients: list[KazooClient], path: str) -> None:
    readers, writers = Crowd(), Crowd()

    def contend(client: KazooClient) -> None:
        for _ in range(5):
            with client.ReadLock(path), readers:
                assert writers.now == 0
            with client.WriteLock(path), writers:
                assert readers.now == 0

    together(clients, contend)
    assert writers.most == 1


def test_kazoos_semaphore(clients: list[KazooClient], path: str) -> None:
    crowd = Crowd()

    def contend(client: KazooClient) -> None:
        semaphore = client.Semaphore(path, max_leases=2)
        for _ in range(8):
            with semaphore, crowd:
                pass

    together(clients, contend)
    assert crowd.most <= 2
    assert crowd.visits == 8 * PARTIES


def test_kazoos_barrier(clients: list[KazooClient], path: str) -> None:
    gate = clients[0].Barrier(path)
    gate.create()
    assert not clients[1].Barrier(path).wait(QUIET)
    with ThreadPoolExecutor(PARTIES) as pool:
        waiting = [pool.submit(client.Barrier(path).wait, PATIENCE) for client in clients[1:]]
        gate.remove()
        assert all(done.result(PATIENCE) for done in waiting)


def test_kazoos_double_barrier(clients: list[KazooClient], path: str) -> None:
    inside = Crowd()

    def meet(client: KazooClient) -> None:
        barrier = client.DoubleBarrier(path, PARTIES)
        with inside:
            barrier.enter()
            assert inside.most == PARTIES
            barrier.leave()

    together(clients, meet)


def test_kazoos_queue(clients: list[KazooClient], path: str) -> None:
    queue = clients[0].Queue(path)
    for value, priority in ((b"late", 200), (b"early", 50), (b"middle", 100)):
        queue.put(value, priority)
    assert len(queue) == 3
    assert [clients[1].Queue(path).get() for _ in range(4)] == [b"early", b"middle", b"late", None]


def test_kazoos_locking_queue(clients: list[KazooClient], path: str) -> None:
    clients[0].LockingQueue(path).put_all([b"%d" % number for number in range(20)])
    guard, taken = threading.Lock(), []

    def consume(client: KazooClient) -> None:
        queue = client.LockingQueue(path)
        while (item := queue.get(timeout=1)) is not None:
            queue.consume()
            with guard:
                taken.append(int(item))

    together(clients, consume)
    assert sorted(taken) == list(range(20))


def test_kazoos_counter(clients: list[KazooClient], path: str) -> None:
    def count(client: KazooClient) -> None:
        counter = client.Counter(path)
        for _ in range(10):
            counter += 2

    together(clients, count)
    assert clients[0].Counter(path).value == 20 * PARTIES


def test_kazoos_election(clients: list[KazooClient], path: str) -> None:
    leading = Crowd()

    def lead() -> None:
        with leading:
            pass

    def run(client: KazooClient) -> None:
        client.Election(path, "me").run(lead)

    together(clients, run)
    assert (leading.most, leading.visits) == (1, PARTIES)


@pytest.mark.parametrize("kind", ["Party", "ShallowParty"])
def test_kazoos_parties(clients: list[KazooClient], path: str, kind: str) -> None:
    parties = [getattr(client, kind)(path, f"member-{number}") for number, client in enumerate(clients)]
    for party in parties:
        party.join()
    assert set(parties[0]) == {f"member-{number}" for number in range(PARTIES)}
    parties[0].leave()
    assert len(parties[1]) == PARTIES - 1


def test_kazoos_leases(clients: list[KazooClient], path: str) -> None:
    assert clients[0].NonBlockingLease(path, timedelta(minutes=1), "one")
    assert not clients[1].NonBlockingLease(path, timedelta(minutes=1), "other")


def test_kazoos_tree_cache(clients: list[KazooClient], path: str) -> None:
    clients[0].ensure_path(path)
    seen, initialized = threading.Event(), threading.Event()
    cache = TreeCache(clients[1], path)

    def listen(event: TreeEvent) -> None:
        if event.event_type == TreeEvent.INITIALIZED:
            initialized.set()
        if event.event_data and event.event_data.path == f"{path}/child":
            seen.set()

    cache.listen(listen)
    cache.start()
    assert initialized.wait(PATIENCE)
    clients[0].create(f"{path}/child", b"data")
    assert seen.wait(PATIENCE)
    assert cache.get_data(f"{path}/child").data == b"data"
    cache.close()


def test_kazoos_watchers(clients: list[KazooClient], path: str) -> None:
    clients[0].create(path, b"0")
    values: list[bytes] = []
    names: list[list[str]] = []
    changed, added = threading.Event(), threading.Event()

    @clients[1].DataWatch(path)
    def data(value: bytes, _: object) -> None:
        values.append(value)
        if value == b"1":
            changed.set()

    @clients[1].ChildrenWatch(path)
    def children(now: list[str]) -> None:
        names.append(now)
        if now == ["child"]:
            added.set()

    clients[0].set(path, b"1")
    clients[0].create(f"{path}/child")
    assert changed.wait(PATIENCE)
    assert added.wait(PATIENCE)
    assert values[0] == b"0"
    assert names[0] == []
