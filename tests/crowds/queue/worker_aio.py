"""A worker at a queue in asyncio, with tasks; ../README.md says what a worker does."""

import asyncio
import contextlib
import sys

import zkrecipes.aio
from work import BATCH, Register, item_of, job, number_of

me = job()


async def produce(client: zkrecipes.aio.Client) -> None:
    queue = client.queue(me.path, max_items=me.bound)
    for first in range(me.first, me.last, BATCH):
        await queue.put_many([item_of(number) for number in range(first, min(first + BATCH, me.last))])


async def get(client: zkrecipes.aio.Client, register: Register) -> None:
    queue = client.queue(me.path)
    while True:
        with register.doubting():
            register.tell(number_of(await queue.get()))


async def claim(client: zkrecipes.aio.Client, register: Register) -> None:
    queue = client.queue(me.path)
    while True:
        with register.doubting(), contextlib.suppress(zkrecipes.NotHeld):
            item = await queue.claim()
            done = client.nodes.transaction()
            done.set(me.counter, b"")
            await item.ack_with(done)
            register.tell(number_of(item.data))


async def consume(client: zkrecipes.aio.Client, register: Register) -> None:
    with contextlib.suppress(zkrecipes.Closed):
        await (claim if me.role == "claim" else get)(client, register)


async def main() -> None:
    options = {"session_timeout": me.session_timeout, "connect_timeout": 60}
    tasks = []
    async with zkrecipes.aio.Client(me.hosts, **options) as client:
        if me.role == "put":
            await produce(client)
        else:
            register = Register(me.port)
            tasks = [asyncio.create_task(consume(client, register)) for _ in range(me.calls)]
            await asyncio.to_thread(sys.stdin.read)
    await asyncio.gather(*tasks)


asyncio.run(main())
