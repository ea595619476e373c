"""What is urgent comes first.

python priority_queue.py                  with a server inside this process
python priority_queue.py zk1:2181         with ZooKeeper
"""

import sys

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"

with zkrecipes.Client(hosts) as client:
    alarms = client.priority_queue("/examples/alarms")
    for data, priority in (("dust", 10), ("smoke", 0), ("fire", -5)):
        alarms.put(data, priority)

    # The lowest number first, and of the same number the one that came first.
    while alarms.len() > 0:
        with alarms.claim(timeout=5) as item:
            print(item.data)
