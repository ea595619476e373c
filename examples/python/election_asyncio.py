"""Leading with asyncio: losing the leadership cancels the work.

python election_asyncio.py                  with a server inside this process
python election_asyncio.py zk1:2181         with ZooKeeper; start it several times
"""

import asyncio
import sys

import zkrecipes.aio

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"


async def watch(election: zkrecipes.aio.Election) -> None:
    async for leader in election.observe():
        print("led by", f"{leader.identity} in epoch {leader.epoch}" if leader else "nobody", flush=True)


async def main() -> None:
    async with zkrecipes.aio.Client(hosts, identity="ann") as ann, zkrecipes.aio.Client(hosts, identity="bob") as bob:
        watching = asyncio.ensure_future(watch(ann.election("/examples/leader")))

        async def serve(client: zkrecipes.aio.Client) -> None:
            election = client.election("/examples/leader")

            async def work(leadership: zkrecipes.aio.Leadership) -> None:
                await leadership.acknowledge("serving")
                await asyncio.sleep(0.1)
                election.cancel()  # after one term

            # Stands again after each term, also after an error or a loss.
            await election.run(work)

        await asyncio.gather(serve(ann), serve(bob))
        watching.cancel()


asyncio.run(main())
