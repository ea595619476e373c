"""Nobody begins before the import is done.

python barrier.py                  with a server inside this process
python barrier.py zk1:2181         with ZooKeeper
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"

with zkrecipes.Client(hosts) as client:
    barrier = client.barrier("/examples/import")
    barrier.create()

    def report(name: str) -> str:
        # Any process may wait here, in any language.
        client.barrier("/examples/import").wait(timeout=30)
        return f"{name} reports"

    with ThreadPoolExecutor() as pool:
        reports = [pool.submit(report, name) for name in ("ann", "bob")]
        print("the barrier is up:", barrier.is_up())
        print("imported")
        barrier.remove()
        for one in reports:
            print(one.result())
