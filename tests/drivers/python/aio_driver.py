"""The scenario driver of asyncio: a task per command."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import threading
from typing import TypeAlias

from protocol import (
    Command,
    answer,
    names_of,
    parse,
    permits,
    refuse,
    say,
    seconds,
    truth,
    whole,
)  # finds the package, so it comes first

# isort: split
import commits
import queues
import recipes
import zkrecipes.aio as zkrecipes
from generated import options_of

clients: dict[str, zkrecipes.Client] = {}
Handle: TypeAlias = zkrecipes.Lock | zkrecipes.MultiLock | zkrecipes.Semaphore | zkrecipes.Election
handles: dict[tuple[str, str], Handle] = {}
# What was acquired through each handle and not released, the latest last.
acquired: dict[tuple[str, str], list[zkrecipes.Held]] = {}
tasks: dict[str, asyncio.Task[None]] = {}


def lost(client: str, name: str, error: zkrecipes.Lost) -> None:
    say("event", client, "lost", name, error.reason or "")


async def perform(command: Command) -> list[str]:
    _, who, verb, args = command
    if verb == "connect":
        clients[who] = await zkrecipes.Client.connect(args[0], **options_of("client", args[1:]))
        return []
    if verb == "withdraw":
        tasks[args[0]].cancel()
        return []
    client = clients[who]
    if verb == "close":
        await client.close(seconds(args))
    elif verb == "update-hosts":
        client.update_hosts(args[0])
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
        handles[who, name] = client.lock(path, **options_of("lock", options))
    elif verb == "rwlock":
        name, path = args
        both = client.read_write_lock(path)
        handles[who, f"{name}.read"], handles[who, f"{name}.write"] = (
            both.read,
            both.write,
        )
    elif verb == "multilock":
        name, *names = args
        handles[who, name] = client.multi_lock([lock_of(handles[who, one]) for one in names])
    elif verb == "semaphore":
        name, path, size = args
        handles[who, name] = client.semaphore(path, whole(size))
    elif verb == "election":
        name, path, *options = args
        data = [word.removeprefix("data=") for word in options if word.startswith("data=")]
        words = [word for word in options if not word.startswith("data=")]
        election = client.election(path, *data, **options_of("election", words))
        handles[who, name] = recipes.recipes[who, name] = election
    elif verb == "check-sequencer":
        return [truth(await client.check_sequencer(args[0]))]
    elif verb == "watch-sequencer":
        await client.watch_sequencer(args[0])
    elif verb in ("create", "set", "delete", "get", "exists", "children"):
        return await nodes(client, verb, args)
    elif commits.are_meant(command):
        return await commits.perform(client, command)
    elif queues.are_meant(command):
        return await queues.perform(client, command)
    elif verb in recipes.VERBS:
        return await recipes.perform(client, command)
    elif verb == "free":
        queues.forget((who, args[0]))
        commits.forget((who, args[0]))
        recipes.recipes.pop((who, args[0]), None)
        handles.pop((who, args[0]), None)
        acquired.pop((who, args[0]), None)
        gc.collect()
    else:
        return await use_handle(command, handles[who, args[0]])
    return []


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


recipes.Driver.follow = follow
readers: set[asyncio.Task[None]] = set()


def remember(key: tuple[str, str], held: zkrecipes.Held) -> list[str]:
    acquired.setdefault(key, []).append(held)
    return [str(held.fencing_token)]


def latest(key: tuple[str, str]) -> zkrecipes.Held:
    """What was acquired last through a handle, and not released since."""
    if not acquired.get(key):
        raise zkrecipes.NotHeld("nothing was acquired through this handle")
    return acquired[key][-1]


def lock_of(handle: Handle) -> zkrecipes.Lock:
    if not isinstance(handle, zkrecipes.Lock):
        raise zkrecipes.InvalidType("this verb is for locks")
    return handle


def semaphore_of(handle: Handle) -> zkrecipes.Semaphore:
    if not isinstance(handle, zkrecipes.Semaphore):
        raise zkrecipes.InvalidType("this verb is for semaphores")
    return handle


def election_of(handle: Handle) -> zkrecipes.Election:
    if not isinstance(handle, zkrecipes.Election):
        raise zkrecipes.InvalidType("this verb is for elections")
    return handle


def leadership_of(held: zkrecipes.Held) -> zkrecipes.Leadership:
    assert isinstance(held, zkrecipes.Leadership)
    return held


terms: dict[tuple[str, str], asyncio.Future[bool]] = {}


async def lead(key: tuple[str, str], election: zkrecipes.Election) -> None:
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

    await election.run(work)


def end_term(key: tuple[str, str], fails: bool) -> None:
    terms.pop(key).set_result(fails)


recipes.Driver.run = lead
recipes.Driver.end_term = end_term


async def acquire(
    handle: Handle, n: int, *, blocking: bool = True, timeout: float | None = None
) -> zkrecipes.Held | None:
    if isinstance(handle, zkrecipes.Semaphore):
        return await handle.acquire(n, blocking, timeout=timeout)
    return await handle.acquire(blocking, timeout=timeout)


async def use_handle(command: Command, handle: Handle) -> list[str]:
    _, who, verb, args = command
    key = who, args[0]
    if verb == "acquire":
        held = await acquire(handle, permits(args[2:]), timeout=seconds(args[1:]))
        if held is None:
            raise zkrecipes.Timeout("the time ran out")
        return remember(key, held)
    if verb == "campaign":
        return remember(key, await election_of(handle).campaign(seconds(args[1:])))
    if verb == "acknowledge":
        await leadership_of(latest(key)).acknowledge(args[1])
        return []
    if verb == "try":
        held = await acquire(handle, permits(args[1:]), blocking=False)
        return ["none"] if held is None else remember(key, held)
    if verb == "downgrade":
        reading = await lock_of(handle).downgrade()
        acquired[key].pop()
        return remember((who, args[0].replace(".write", ".read")), reading)
    if verb in ("release", "resign"):
        if acquired.get(key):
            acquired[key].pop()
        if verb == "resign" and args[1:] != ["nowait"]:
            await election_of(handle).resign()
        else:
            await handle.release(wait=args[1:] != ["nowait"])
    elif verb == "verify":
        await handle.verify()
    elif verb == "cancel":
        handle.cancel()
    elif verb == "held":
        return [truth(handle.is_held)]
    elif verb == "token":
        return [str(handle.fencing_token)]
    elif verb == "watch-lost":
        handle.on_lost(lambda error: lost(who, args[0], error))
    elif verb == "watch-revoke":
        latest(key).on_revoke(lambda: say("event", who, "revoked", args[0]))
    elif verb == "revoke":
        contender, force_after = args[1] if args[1:] else "", seconds(args[2:])
        return [truth(await handle.revoke(contender or None, force_after))]
    elif verb == "tokens":
        return [str(token) for token in latest(key).fencing_tokens]
    elif verb == "passes":
        return [str(latest(key).passes)]
    elif verb == "sequencer":
        return [latest(key).sequencer]
    elif verb == "holders":
        return [holder.identity for holder in await semaphore_of(handle).holders()]
    elif verb == "resize":
        await semaphore_of(handle).resize(whole(args[1]))
    elif verb == "contenders":
        return names_of(await handle.contenders())
    elif verb in ("guarded-set", "guarded-create"):
        _, path, data = args
        transaction = handle.guarded()
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
