"""The asyncio worker of the crowd."""

import asyncio

import zkrecipes.aio
from work import job, rounds, work


async def main() -> None:
    me = job()
    async with zkrecipes.aio.Client(me.hosts, naming=me.naming) as client:
        recipe = client.semaphore(me.path, me.permits) if me.permits else client.lock(me.path)
        for _ in rounds(me):
            async with recipe as held:
                await asyncio.to_thread(work, me, held.fencing_token)


asyncio.run(main())
