"""kazoo's members of a double barrier: kazoo_members.py HOSTS PATH MEMBERS.

bench/src/double_barrier.rs says what it does."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

from kazoo.client import KazooClient

hosts, path, members = sys.argv[1], sys.argv[2], int(sys.argv[3])
clients = [KazooClient(hosts) for _ in range(members)]
for client in clients:
    client.start()
with ThreadPoolExecutor(members) as pool:
    print("ready", flush=True)
    for _ in sys.stdin:
        # One of kazoo's is for one round.
        barriers = [client.DoubleBarrier(path, members) for client in clients]
        begun = time.perf_counter_ns()
        list(pool.map(lambda barrier: barrier.enter(), barriers))
        entered = time.perf_counter_ns()
        list(pool.map(lambda barrier: barrier.leave(), barriers))
        print(entered - begun, time.perf_counter_ns() - entered, flush=True)
for client in clients:
    client.stop()
