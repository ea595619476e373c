"""Regions that are copied by whoever is there: start it several times, and stop one.

python partitioner.py                  with a server inside this process
python partitioner.py zk1:2181         with ZooKeeper
"""

import sys
import threading
import time

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"
has_begun = threading.Event()


def copy(region: zkrecipes.Held) -> None:
    """Works on one region until it is to move."""
    print(f"copying {region.name} with token {region.fencing_token}")
    has_begun.set()
    moves = threading.Event()
    region.on_revoke(moves.set)
    while region.is_held and not moves.wait(0.2):
        pass  # the next piece
    print(f"{region.name} is to move")


with zkrecipes.Client(hosts) as client:
    regions = client.partitioner("/examples/regions", ["eu", "us", "asia"])

    def leave() -> None:
        # A service leaves when it is told to stop. This one leaves a second after it has got something to do.
        has_begun.wait()
        time.sleep(1)
        regions.leave()

    threading.Thread(target=leave).start()
    regions.run(copy)
