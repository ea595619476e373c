"""A long job that lets somebody more urgent in when it is asked to.

python revocation.py                  with a server inside this process
python revocation.py zk1:2181         with ZooKeeper
"""

import asyncio
import sys

import zkrecipes.aio

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"


async def patient(client: zkrecipes.aio.Client, started: asyncio.Event) -> None:
    async with client.lock("/examples/machine") as held:
        print(f"the long job begins, with fencing token {held.fencing_token}")
        started.set()
        steps = 0
        while not held.revoked.is_set():
            steps += 1
            await asyncio.sleep(0.01)
        print("the long job was asked to make room, and does")


async def urgent(client: zkrecipes.aio.Client, started: asyncio.Event) -> None:
    await started.wait()
    lock = client.lock("/examples/machine")
    # Who does not let go within ten seconds is sent away: its node is deleted.
    await lock.revoke(force_after=10)
    async with lock as held:
        print(f"the urgent job runs, with fencing token {held.fencing_token}")


async def main() -> None:
    async with zkrecipes.aio.Client(hosts) as client:
        started = asyncio.Event()
        await asyncio.gather(patient(client, started), urgent(client, started))


asyncio.run(main())
