"""Three who begin a computation together, and end it together.

python double_barrier.py                  with a server inside this process
python double_barrier.py zk1:2181         with ZooKeeper
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"

with zkrecipes.Client(hosts) as client:
    parts = []

    def compute(name: str) -> None:
        # Each party has a handle of its own; the next round may begin as soon as all have left.
        barrier = client.double_barrier("/examples/computation", 3, name)
        for step in range(2):
            with barrier:
                parts.append(f"{name} {step}")
            # All have left: everybody's part is there.
            assert len(parts) >= 3 * (step + 1)

    with ThreadPoolExecutor() as pool:
        list(pool.map(compute, ["ann", "bob", "cid"]))
    print("first:", sorted(parts[:3]))
    print("then:", sorted(parts[3:]))
