"""Candidates in tasks."""

import asyncio
import contextlib
import sys

import zkrecipes.aio
from work import acts, job

me = job()


async def stand(client: zkrecipes.aio.Client, name: str) -> None:
    async def lead(leadership: zkrecipes.aio.Leadership) -> None:
        answers, resource = await asyncio.open_connection("127.0.0.1", me.port)
        await leadership.acknowledge(name)
        for _ in range(acts()):
            if not leadership.is_held:
                break
            resource.write(f"{leadership.epoch} {name}\n".encode())
            if await answers.readline() != b"ok\n":
                break
        resource.close()

    with contextlib.suppress(zkrecipes.Closed):
        await client.election(me.path, name).run(lead)


async def main() -> None:
    options = {"session_timeout": me.session_timeout, "connect_timeout": 60}
    async with zkrecipes.aio.Client(me.hosts, **options) as client:
        candidates = [asyncio.create_task(stand(client, name)) for name in me.names]
        await asyncio.to_thread(sys.stdin.read)
    await asyncio.gather(*candidates)


asyncio.run(main())
