"""Orders that somebody takes care of, each of them, whoever crashes.

python work_queue.py                  with a server inside this process
python work_queue.py zk1:2181         with ZooKeeper; start it several times
"""

import sys

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"

with zkrecipes.Client(hosts) as client:
    # What fails once goes to the dead letters.
    orders = client.queue("/examples/orders", max_attempts=1)
    orders.put_many(["tea", "coffee", "gravel"])
    # A request that is made again, after whatever failed, puts nothing twice.
    for _ in range(2):
        orders.put("cake", key="order-1042")

    def serve(item: zkrecipes.Item) -> None:
        if item.data == b"gravel":
            raise ValueError("nobody drinks that")  # one attempt is all it has
        print("served", item.data, flush=True)
        if item.data == b"cake":
            orders.cancel()

    # At least once: if this process ends now, its items are somebody else's. Two at a time, until it is cancelled.
    orders.process(serve, concurrency=2)
    print("dead letters:", [(letter.data, letter.reason) for letter in orders.dead.items()])
    while orders.dead.len() > 0:
        orders.dead.get()

    # At most once: the item is removed before it is returned.
    orders.put("water")
    print("got", orders.get(timeout=5))
