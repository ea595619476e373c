"""Everybody else's recipes among themselves: the embedded server must carry them just as a real one does."""

from __future__ import annotations

import subprocess
from typing import Any

import peers
import pytest

CURATOR = [
    "InterProcessMutex", "InterProcessSemaphoreMutex", "InterProcessMultiLock", "InterProcessReadWriteLock",
    "InterProcessSemaphoreV2", "LeaderLatch", "LeaderSelector", "DistributedBarrier", "DistributedDoubleBarrier",
    "SimpleDistributedQueue", "DistributedQueue", "DistributedPriorityQueue", "DistributedDelayQueue", "SharedCount",
    "DistributedAtomicLong", "GroupMember", "PersistentNode", "PersistentTtlNode", "CuratorCache",
]  # fmt: skip


@pytest.fixture(scope="session")
def curator(hosts: str) -> dict[str, str]:
    """What became of each recipe, all in one process: a virtual machine each would cost more than the recipes."""
    done = subprocess.run(peers.java("Recipes", hosts), stdout=subprocess.PIPE, text=True, check=False, timeout=300)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("recipe", CURATOR)
def test_curators_recipes_work(curator: dict[str, Any], recipe: str) -> None:
    assert curator.get(recipe, "never finished") == "ok"
