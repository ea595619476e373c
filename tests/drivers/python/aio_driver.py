"""The scenario driver of asyncio: a task per command."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading

from protocol import (
    Command,
    answer,
    connect_options,
    names_of,
    parse,
    refuse,
    say,
    seconds,
    truth,
)  # finds the package, so it comes first

# isort: split
import zkrecipes.aio as zkrecipes

clients: dict[str, zkrecipes.Client] = {}
locks: dict[tuple[str, str], zkrecipes.Lock] = {}
tasks: dict[str, asyncio.Task[None]] = {}


def lost(client: str, name: str, error: zkrecipes.Lost) -> None:
    say("event", client, "lost", name, error.reason or "")


async def perform(command: Command) -> list[str]:
    _, who, verb, args = command
    if verb == "connect":
        clients[who] = await zkrecipes.Client.connect(args[0], **connect_options(args[1:]))
        return []
    if verb == "withdraw":
        tasks[args[0]].cancel()
        return []
    client = clients[who]
    if verb == "close":
        await client.close(seconds(args))
    elif verb == "state":
        return [client.state]
    elif verb == "session":
        return [str(client.session_id)]
    elif verb == "lease":
        return [str(int(client.lease_remaining * 1000))]
    elif verb == "watch-state":
        client.on_state(lambda state: say("event", who, "state", state))
    elif verb == "lock":
        name, path, *options = args
        locks[who, name] = client.lock(path, reentrant="reentrant" in options)
    elif verb in ("create", "set", "delete", "get", "exists", "children"):
        return await nodes(client, verb, args)
    elif verb == "free":
        del locks[who, args[0]]
        gc.collect()
    else:
        return await use_lock(command, locks[who, args[0]])
    return []


async def use_lock(command: Command, lock: zkrecipes.Lock) -> list[str]:
    _, who, verb, args = command
    if verb == "acquire":
        held = await lock.acquire(timeout=seconds(args[1:]))
        if held is None:
            raise zkrecipes.Timeout("the time ran out")
        return [str(held.fencing_token)]
    if verb == "try":
        held = await lock.acquire(blocking=False)
        return ["none" if held is None else str(held.fencing_token)]
    if verb == "release":
        await lock.release()
    elif verb == "verify":
        await lock.verify()
    elif verb == "cancel":
        lock.cancel()
    elif verb == "held":
        return [truth(lock.is_held)]
    elif verb == "token":
        return [str(lock.fencing_token)]
    elif verb == "watch-lost":
        lock.on_lost(lambda error: lost(who, args[0], error))
    elif verb == "contenders":
        return names_of(await lock.contenders())
    elif verb in ("guarded-set", "guarded-create"):
        _, path, data = args
        transaction = lock.guarded()
        if verb == "guarded-set":
            transaction.set(path, data)
        else:
            transaction.create(path, data)
        await transaction.commit()
    else:
        raise zkrecipes.Invalid(f"no such verb: {verb}")
    return []


async def nodes(client: zkrecipes.Client, verb: str, args: list[str]) -> list[str]:
    path, *data = args
    if verb == "create":
        await client.nodes.create(path, data[0])
    elif verb == "set":
        await client.nodes.set(path, data[0])
    elif verb == "delete":
        await client.nodes.delete(path)
    elif verb == "get":
        return [(await client.nodes.get(path))[0].decode()]
    elif verb == "exists":
        return [truth(await client.nodes.exists(path))]
    elif verb == "children":
        return await client.nodes.children(path)
    return []


async def run(command: Command) -> None:
    try:
        values = await perform(command)
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
