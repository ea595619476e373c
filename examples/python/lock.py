"""Two workers share one lock.

python lock.py                  with a server inside this process
python lock.py zk1:2181         with ZooKeeper; start it several times
"""

import sys
import threading
import time

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"


def work(client: zkrecipes.Client, name: str) -> None:
    lock = client.lock("/examples/lock")
    for _ in range(3):
        with lock as held:
            # Give the token to whatever you write to: a resource that refuses lower ones cannot be fooled by a holder
            # that was paused for too long.
            print(f"{name} works with fencing token {held.fencing_token}", flush=True)
            time.sleep(0.1)


with zkrecipes.Client(hosts) as client:
    workers = [threading.Thread(target=work, args=(client, name)) for name in ("ann", "bob")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    lock = client.lock("/examples/lock")
    with lock:
        print("a try while it is held gives", client.lock("/examples/lock").acquire(blocking=False))
