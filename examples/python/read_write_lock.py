"""Readers share, a writer has it to himself, and may go on as a reader.

python read_write_lock.py                  with a server inside this process
python read_write_lock.py zk1:2181         with ZooKeeper; start it several times
"""

import sys
import threading

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"


def read(client: zkrecipes.Client, name: str, together: threading.Barrier) -> None:
    with client.read_write_lock("/examples/catalogue").read:
        together.wait(10)  # nobody gets here unless both readers are inside
        print(f"{name} reads", flush=True)


with zkrecipes.Client(hosts) as client:
    together = threading.Barrier(2)
    readers = [threading.Thread(target=read, args=(client, name, together)) for name in ("ann", "bob")]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()

    catalogue = client.read_write_lock("/examples/catalogue")
    with catalogue.write as writing:
        print(f"one writes, with fencing token {writing.fencing_token}")
        reading = writing.downgrade()
    with reading:
        # Nobody has written in between: what is read here is what was just written.
        print("and goes on reading:", reading.is_held)
