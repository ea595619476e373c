"""zkrecipes in Python with asyncio: ours_aio.py HOSTS SESSION_MS."""

from __future__ import annotations

import asyncio
import sys
import time

begun = time.monotonic_ns()
from zkrecipes import aio, version  # noqa: E402

imported = time.monotonic_ns() - begun

from line import Order, failed, listed, now, say  # noqa: E402


class Worker:
    def __init__(self, client: aio.Client) -> None:
        self.client = client
        self.waiters: list[asyncio.Task[None]] = []
        self.stamps: list[int] = []

    async def lock(self, order: Order, wait: bool = True) -> str:
        lock = self.client.lock(order.path)
        acquire, both = [], []
        for _ in range(order.number("ops")):
            begun = now()
            held = await lock.acquire()
            acquire.append(now() - begun)
            await held.release(wait=wait)
            both.append(now() - begun)
        return listed(acquire=acquire, both=both)

    async def background(self, order: Order) -> str:
        return await self.lock(order, wait=False)

    async def disjoint(self, order: Order) -> str:
        paths, pairs = order.number("paths"), order.number("ops")

        async def caller(number: int) -> None:
            lock = self.client.lock(f"{order.path}/{number}")
            for _ in range(pairs // paths):
                await (await lock.acquire()).release()

        begun = now()
        await asyncio.gather(*map(caller, range(paths)))
        return f"took={now() - begun}"

    async def hold(self, order: Order) -> str:
        self.held = await self.client.lock(order.path).acquire()
        return ""

    async def drop(self, order: Order) -> str:
        begun = now()
        await self.held.release(wait=False)
        return f"at={begun}"

    async def queue(self, order: Order) -> str:
        async def waiter() -> None:
            lock = self.client.lock(order.path)
            for _ in range(order.number("times")):
                held = await lock.acquire()
                self.stamps.append(now())
                await held.release()

        self.waiters = [asyncio.create_task(waiter()) for _ in range(order.number("waiters"))]
        return ""

    async def finish(self, order: Order) -> str:
        await asyncio.gather(*self.waiters)
        stamps, self.waiters, self.stamps = self.stamps, [], []
        return listed(at=stamps)


async def main(hosts: str, session_ms: str) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with aio.Client(hosts, session_timeout=int(session_ms) / 1000) as client:
        worker = Worker(client)
        print(f"ready version={version()} import={imported}", flush=True)
        while line := (await reader.readline()).decode():
            order = Order(line)
            verb = getattr(worker, order.verb, None)
            try:
                say(await verb(order) if verb else None)
            except Exception as error:
                failed(error)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
