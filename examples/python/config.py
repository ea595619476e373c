"""A setting that many processes follow, and that nobody overwrites by mistake.

python config.py                  with a server inside this process
python config.py zk1:2181         with ZooKeeper; start it several times
"""

import asyncio
import sys

import zkrecipes.aio

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"


async def follow(client: zkrecipes.aio.Client, name: str) -> None:
    async for now in client.config("/examples/limit").watch():
        if now is None:
            print(f"{name}: nobody has set a limit yet")
            continue
        print(f"{name}: the limit is {now.value.decode()}, version {now.version}", flush=True)
        if now.value == b"30":
            break


def raised(value: bytes | None) -> str:
    return str(min(int(value or 0) + 10, 30))


async def main() -> None:
    async with zkrecipes.aio.Client(hosts) as client:
        followers = asyncio.gather(follow(client, "ann"), follow(client, "bob"))
        limit = client.config("/examples/limit")
        await limit.set("10")

        # Raise it by ten until it is 30, whoever else does the same.
        while (await limit.update(raised)).value != b"30":
            print(f"raised by {await client.whoami()}")
        await followers


asyncio.run(main())
