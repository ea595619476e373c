"""The median time of kazoo's lock and release: kazoo_lock.py HOSTS ROUNDS."""

import statistics
import sys
import time

from kazoo.client import KazooClient

client = KazooClient(hosts=sys.argv[1])
client.start()
lock = client.Lock("/bench/kazoo", "bench")
times = []
for number in range(50 + int(sys.argv[2])):
    begun = time.perf_counter()
    lock.acquire()
    lock.release()
    if number >= 50:
        times.append(time.perf_counter() - begun)
client.stop()
print(statistics.median(times))
