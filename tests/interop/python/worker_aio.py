"""The asyncio worker of the crowd."""

import asyncio

import zkrecipes.aio
from work import job, unfinished, work


async def main() -> None:
    me = job()
    async with zkrecipes.aio.Client(me.hosts) as client:
        lock = client.lock(me.path)
        while unfinished(me):
            async with lock as held:
                work(me, held.fencing_token)


asyncio.run(main())
