"""Eight exports, of which at most three run at a time, on however many machines.

python semaphore.py                  with a server inside this process
python semaphore.py zk1:2181         with ZooKeeper; start it several times
"""

import asyncio
import sys

import zkrecipes.aio

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"


async def export(semaphore: zkrecipes.aio.Semaphore, number: int) -> None:
    async with semaphore as held:
        print(f"export {number} runs, with fencing token {held.fencing_token}", flush=True)
        await asyncio.sleep(0.1)


async def main() -> None:
    async with zkrecipes.aio.Client(hosts) as client:
        semaphore = client.semaphore("/examples/exports", 3)
        await asyncio.gather(*(export(semaphore, number) for number in range(8)))

        # Several permits are taken in one step, never one by one.
        async with semaphore.hold(2, timeout=10):
            for contender in await semaphore.contenders():
                print(contender.identity, "holds a permit" if contender.holds else "waits")


asyncio.run(main())
