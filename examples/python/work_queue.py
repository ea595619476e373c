"""Orders that somebody takes care of, each of them, whoever crashes.

python work_queue.py                  with a server inside this process
python work_queue.py zk1:2181         with ZooKeeper; start it several times
"""

import sys

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"

with zkrecipes.Client(hosts) as client:
    # What fails three times goes to the dead letters.
    orders = client.queue("/examples/orders", max_attempts=3)
    orders.put_many(["tea", "coffee", "gravel"])
    # A request that is made again, after whatever failed, puts nothing twice.
    for _ in range(2):
        orders.put("cake", key="order-1042")

    # At least once: if this process ends now, the item is somebody else's.
    for item in orders:
        try:
            with item:
                if item.data == b"gravel":
                    raise ValueError("nobody drinks that")
                print("served", item.data, flush=True)
        except ValueError as error:
            print(f"attempt {item.attempts}: {error}")
        if orders.len() == 0:
            break
    print("dead letters:", [(letter.data, letter.reason) for letter in orders.dead.items()])
    while orders.dead.len() > 0:
        orders.dead.get()

    # At most once: the item is removed before it is returned.
    orders.put("water")
    print("got", orders.get(timeout=5))
