"""A report that is made when all parts have been imported, whoever imports them.

python latch.py                  with a server inside this process
python latch.py zk1:2181         with ZooKeeper; the parts may be imported by several machines
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"
PARTS = 3


def import_part(part: int) -> None:
    print(f"part {part} is in, {imports.count_down()} are left")


with zkrecipes.Client(hosts) as client:
    imports = client.latch("/examples/imports", PARTS)
    # It may be open from the last time.
    imports.reset(PARTS)
    with ThreadPoolExecutor(PARTS) as pool:
        pool.map(import_part, range(PARTS))
        imports.wait(timeout=30)
        print("all parts are in: the report can be made")
