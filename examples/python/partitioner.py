"""Regions that are copied by whoever is there: start it several times, and stop one.

python partitioner.py                  with a server inside this process
python partitioner.py zk1:2181         with ZooKeeper
"""

import sys
import threading

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"


def copy(region: zkrecipes.Held) -> None:
    """Works on one region until it is to move."""
    print(f"copying {region.name} with token {region.fencing_token}")
    moves = threading.Event()
    region.on_revoke(moves.set)
    while region.is_held and not moves.wait(0.2):
        pass  # the next piece
    print(f"{region.name} is to move")


with zkrecipes.Client(hosts) as client:
    regions = client.partitioner("/examples/regions", ["eu", "us", "asia"])
    # A service leaves when it is told to stop.
    threading.Timer(1, regions.leave).start()
    regions.run(copy)
