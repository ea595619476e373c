"""Order numbers without gaps, whoever takes them.

python counter.py                  with a server inside this process
python counter.py zk1:2181         with ZooKeeper; start it several times
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"

with zkrecipes.Client(hosts) as client:
    orders = client.counter("/examples/orders")
    before = orders.get()

    # Each change is applied exactly once, also when the server's answer gets lost.
    with ThreadPoolExecutor(4) as pool:
        numbers = sorted(pool.map(lambda _: orders.add(1), range(10)))
    print(f"after order {before} came {numbers}")

    # What depends on the old value: set it only if it still is what was read.
    while not orders.compare_and_set(seen := orders.get(), seen * 2):
        print("somebody was faster, again")
    print(f"doubled: {orders.get()}")
