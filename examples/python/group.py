"""Workers that know each other.

python group.py                  with a server inside this process
python group.py zk1:2181         with ZooKeeper; start it several times
python group.py zk1:2181 list    lists the members for ever
"""

import os
import sys

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"

if sys.argv[2:] == ["list"]:
    with zkrecipes.Client(hosts) as client:
        workers = client.group("/examples/workers")
        for _event in workers.watch():
            print(sorted(workers.members()), flush=True)

with zkrecipes.Client(hosts) as client, zkrecipes.Client(hosts) as observer:
    workers = client.group("/examples/workers")
    with observer.group("/examples/workers").watch() as feed:
        name = f"worker-{os.getpid()}"
        for event in feed:
            match event:
                case zkrecipes.Snapshot(members):
                    print("now:", members)
                    # A member for as long as the client lives, over all its sessions.
                    workers.join(name, "idle")
                case zkrecipes.Joined(who, data):
                    print(who, "joined:", data.decode())
                    if who == name:
                        workers.update("busy")
                case zkrecipes.Changed(who, data):
                    print(who, "is", data.decode())
                    if who == name:
                        workers.leave()
                case zkrecipes.Left(who):
                    print(who, "left")
                    if who == name:
                        break
