"""A service that does what it is told only while the caller's lock stands.

python sequencer.py                  with a server inside this process
python sequencer.py zk1:2181         with ZooKeeper
"""

import sys

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"


def service(client: zkrecipes.Client, sequencer: str, request: str) -> None:
    """Somewhere else, perhaps in another language: all it needs is the text that came with the request."""
    done = "done" if client.check_sequencer(sequencer) else "refused, that lock is gone"
    print(f"{request}: {done}")


with zkrecipes.Client(hosts) as client, zkrecipes.Client(hosts) as server_side:
    with client.lock("/examples/disk") as held:
        sequencer = held.sequencer
        print(f"holding with fencing token {held.fencing_token}")
        service(server_side, sequencer, "write block 1")
    service(server_side, sequencer, "write block 2")

    # Or be told: this returns as soon as the acquisition no longer stands.
    server_side.watch_sequencer(sequencer, timeout=10)
