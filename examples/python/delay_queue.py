"""Reminders, each at its time.

python delay_queue.py                  with a server inside this process
python delay_queue.py zk1:2181         with ZooKeeper
"""

import sys
import time

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"

with zkrecipes.Client(hosts) as client:
    reminders = client.delay_queue("/examples/reminders")
    begun = time.monotonic()
    reminders.put("take it out", delay=0.4)
    reminders.put("put the cake in", delay=0.1)

    while reminders.len() > 0:
        with reminders.claim() as item:
            print(f"after {time.monotonic() - begun:.1f} s: {item.data.decode()}")
