"""Moves something between two accounts, both locked at once, without any order to agree on.

python multi_lock.py                  with a server inside this process
python multi_lock.py zk1:2181         with ZooKeeper; start it several times
"""

import sys
import threading

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"


def transfer(client: zkrecipes.Client, source: str, target: str) -> None:
    both = client.multi_lock([client.lock(f"/examples/accounts/{name}") for name in (source, target)])
    for _ in range(3):
        with both as held:
            # One fencing token for each account, in the order of `both.paths`.
            print(
                f"{source} to {target} with fencing tokens {held.fencing_tokens}",
                flush=True,
            )


with zkrecipes.Client(hosts) as client:
    # Each names them the other way round; with two plain locks they would soon wait for each other.
    transfers = [
        threading.Thread(target=transfer, args=(client, "alice", "bob")),
        threading.Thread(target=transfer, args=(client, "bob", "alice")),
    ]
    for each in transfers:
        each.start()
    for each in transfers:
        each.join()
