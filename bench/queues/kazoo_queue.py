"""kazoo's consumer of a queue: kazoo_queue.py HOSTS. Obeys "get PATH COUNT" and "consume PATH COUNT", the latter of its
LockingQueue; the answer is nanoseconds."""

import sys
import time

from kazoo.client import KazooClient

client = KazooClient(sys.argv[1])
client.start()
print("ready", flush=True)
for line in sys.stdin:
    verb, path, count = line.split()
    queue = client.LockingQueue(path) if verb == "consume" else client.Queue(path)
    begun = time.perf_counter_ns()
    for _ in range(int(count)):
        queue.get()
        if verb == "consume":
            queue.consume()
    print(time.perf_counter_ns() - begun, flush=True)
client.stop()
