"""The same with asyncio, where losing the lock can cancel the work.

python lock_asyncio.py                  with a server inside this process
python lock_asyncio.py zk1:2181         with ZooKeeper; start it several times
"""

import asyncio
import sys

import zkrecipes.aio

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"


async def work(client: zkrecipes.aio.Client, name: str) -> None:
    lock = client.lock("/examples/lock", cancel_on_lost=True)
    for _ in range(3):
        try:
            async with lock as held:
                print(f"{name} works with fencing token {held.fencing_token}", flush=True)
                await asyncio.sleep(0.1)
        except zkrecipes.aio.Lost as error:
            print(f"{name} was interrupted: {error}")


async def main() -> None:
    async with zkrecipes.aio.Client(hosts) as client:
        await asyncio.gather(work(client, "ann"), work(client, "bob"))

        # Giving up after a while leaves nothing behind in ZooKeeper.
        async with client.lock("/examples/lock"):
            try:
                await asyncio.wait_for(client.lock("/examples/lock").acquire(), 0.2)
            except asyncio.TimeoutError:
                print("not free within 0.2 s; contenders:", await client.lock("/examples/lock").contenders())


asyncio.run(main())
