"""The scenario driver of asyncio: a task per command."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading

from protocol import Command, answer, parse, refuse, say  # finds the package, so it comes first

# isort: split
import family
import recipes
import zkrecipes.aio as zkrecipes
from recipes import Driver, Key, unhealthy

tasks: dict[str, asyncio.Task[None]] = {}
readers: set[asyncio.Task[None]] = set()
terms: dict[Key, asyncio.Future[bool]] = {}


async def read(follower: recipes.Follower) -> None:
    try:
        async for item in follower.feed:
            follower.tell(item)
    except zkrecipes.Error as error:
        follower.end(error)
    else:
        follower.end()


def follow(follower: recipes.Follower) -> None:
    reading = asyncio.ensure_future(read(follower))
    readers.add(reading)
    reading.add_done_callback(readers.discard)


async def lead(key: Key, election: zkrecipes.Election) -> None:
    async def work(leadership: zkrecipes.Leadership) -> None:
        terms[key] = asyncio.get_running_loop().create_future()
        say("event", key[0], "term", key[1], str(leadership.epoch))
        try:
            if await terms[key]:
                raise RuntimeError("told to fail")
        finally:
            # At once, so that nobody who hears that it is over still finds us leading. That cancels this task.
            with contextlib.suppress(zkrecipes.Error, asyncio.CancelledError):
                await leadership.release(wait=False)
            say("event", key[0], "over", key[1], str(leadership.epoch))

    await election.run(work, lambda: key not in unhealthy)


def end_term(key: Key, fails: bool) -> None:
    terms.pop(key).set_result(fails)


Driver.face = zkrecipes
Driver.connect = lambda hosts, options: zkrecipes.Client.connect(hosts, **options)
Driver.follow, Driver.run = follow, lead
# A task is taken away from its work.
Driver.end_term, Driver.end_blocked_term = end_term, lambda _: None


async def run(command: Command) -> None:
    try:
        values = await family.perform(command)
    except asyncio.CancelledError:
        say(command.seq, "error", "CANCELLED")
    except Exception as error:
        refuse(command.seq, error)
    else:
        answer(command.seq, *values)


async def main() -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def begin(command: Command) -> None:
        if command.verb == "withdraw":
            tasks[command.args[0]].cancel()
            answer(command.seq)
        else:
            tasks[command.seq] = asyncio.ensure_future(run(command))

    def read() -> None:
        for line in sys.stdin:
            command = parse(line)
            if command is None:
                break
            loop.call_soon_threadsafe(begin, command)
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True).start()
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(main())
