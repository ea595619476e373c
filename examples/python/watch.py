"""Follows the children of a node, over reconnections and new sessions.

python watch.py                  with a server inside this process
python watch.py zk1:2181         with ZooKeeper
"""

import sys

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"

with zkrecipes.Client(hosts) as client:
    client.nodes.ensure("/examples/watched")
    # The present state first, then every later one that is the latest.
    with client.nodes.watch("/examples/watched", "children") as feed:
        for told, names in enumerate(feed, 1):
            print("there is", names)
            if told == 1:
                client.nodes.create("/examples/watched/first", mode="ephemeral")
            elif told == 2:
                client.nodes.delete("/examples/watched/first")
            else:
                break
