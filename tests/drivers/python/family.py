"""What both drivers do with clients, nodes, and what is acquired: `now` takes a value, or the coroutine of asyncio."""

from __future__ import annotations

import gc
from typing import Any

import commits
import queues
import recipes
import services
import zkrecipes
from generated import options_of
from recipes import Driver, Key, now

from protocol import Command, names_of, permits, say, seconds, truth, whole

clients: dict[str, Any] = {}
handles: dict[Key, Any] = {}
# What was acquired through each handle and not released, the latest last.
acquired: dict[Key, list[Any]] = {}


async def perform(command: Command) -> list[str]:
    _, who, verb, args = command
    if verb == "connect":
        clients[who] = await now(Driver.connect(args[0], options_of("client", args[1:])))
        return []
    client = clients[who]
    key = who, args[0] if args else ""
    match verb:
        case "close":
            await now(client.close(seconds(args)))
        case "update-hosts":
            client.update_hosts(args[0])
        case "state":
            return [client.state]
        case "session":
            return [str(client.session_id)]
        case "lease":
            return [str(int(client.lease_remaining * 1000))]
        case "waiting":
            return [str(client.metrics.waiting)]
        case "skipped":
            return [",".join(f"{path}={cause}" for path, cause in sorted(client.skipped.items())) or "-"]
        case "watch-state":
            client.on_state(lambda state: say("event", who, "state", state))
        case "lock" | "rwlock" | "multilock" | "semaphore" | "election":
            make(client, key, verb, args[1:])
        case "check-sequencer":
            return [truth(await now(client.check_sequencer(args[0])))]
        case "watch-sequencer":
            await now(client.watch_sequencer(args[0]))
        case "create" | "set" | "delete" | "get" | "exists" | "children" | "ephemerals":
            return await at_node(client, verb, args)
        case "free":
            for forget in (queues.forget, commits.forget, forget_handle):
                forget(key)
            gc.collect()
        case _ if commits.are_meant(command):
            return await commits.perform(client, command)
        case _ if queues.are_meant(command):
            return await queues.perform(client, command)
        case _ if services.are_meant(command):
            return await services.perform(command)
        case _ if verb in recipes.VERBS:
            return await recipes.perform(client, command)
        case _:
            return await use_handle(command, handles[key])
    return []


def waiting(command: Command) -> Any:
    """What is cancelled in order to withdraw a command that waits, if anything is."""
    if commits.are_meant(command):
        return commits.waiting(command)
    if services.are_meant(command):
        return None
    key = command.client, command.args[0] if command.args else ""
    return next((kept[key] for kept in (queues.queues, recipes.recipes, handles) if key in kept), None)


def forget_handle(key: Key) -> None:
    for kept in (recipes.recipes, handles, acquired):
        kept.pop(key, None)
    for won in [won for won in recipes.partitions if won[0] == key]:
        del recipes.partitions[won]


def make(client: Any, key: Key, verb: str, args: list[str]) -> None:
    match verb:
        case "lock":
            handles[key] = client.lock(args[0], **options_of("lock", args[1:]))
        case "rwlock":
            both = client.read_write_lock(args[0])
            handles[key[0], f"{key[1]}.read"], handles[key[0], f"{key[1]}.write"] = both.read, both.write
        case "multilock":
            handles[key] = client.multi_lock([of("Lock", handles[key[0], one]) for one in args])
        case "semaphore":
            handles[key] = client.semaphore(args[0], whole(args[1]))
        case "election":
            data = [word.removeprefix("data=") for word in args[1:] if word.startswith("data=")]
            words = [word for word in args[1:] if not word.startswith("data=")]
            election = client.election(args[0], *data, **options_of("election", words))
            handles[key] = recipes.recipes[key] = election


def of(kind: str, handle: Any) -> Any:
    """The handle, if it is of that type."""
    if not isinstance(handle, getattr(Driver.face, kind)):
        raise zkrecipes.InvalidType(f"this verb is for {kind}")
    return handle


def remember(key: Key, held: Any) -> list[str]:
    acquired.setdefault(key, []).append(held)
    return [str(held.fencing_token)]


def latest(key: Key) -> Any:
    """What was acquired last through a handle, and not released since."""
    if not acquired.get(key):
        raise zkrecipes.NotHeld("nothing was acquired through this handle")
    return acquired[key][-1]


async def acquire(handle: Any, n: int, **how: Any) -> Any:
    many = [n] if isinstance(handle, Driver.face.Semaphore) else []
    return await now(handle.acquire(*many, **how))


def lost(client: str, name: str, error: zkrecipes.Lost) -> None:
    say("event", client, "lost", name, error.reason or "")


async def use_handle(command: Command, handle: Any) -> list[str]:
    _, who, verb, (name, *args) = command
    key = who, name
    match verb:
        case "acquire":
            held = await acquire(handle, permits(args[1:]), timeout=seconds(args))
            if held is None:
                raise zkrecipes.Timeout("the time ran out")
            return remember(key, held)
        case "try":
            held = await acquire(handle, permits(args), blocking=False)
            return ["none"] if held is None else remember(key, held)
        case "campaign":
            return remember(key, await now(of("Election", handle).campaign(seconds(args))))
        case "acknowledge":
            await now(of("Leadership", latest(key)).acknowledge(args[0]))
        case "downgrade":
            reading = await now(of("Lock", handle).downgrade())
            acquired[key].pop()
            return remember((who, name.replace(".write", ".read")), reading)
        case "release" | "resign":
            if acquired.get(key):
                acquired[key].pop()
            if verb == "resign" and args != ["nowait"]:
                await now(of("Election", handle).resign())
                Driver.end_blocked_term(key)
            else:
                await now(handle.release(wait=args != ["nowait"]))
        case "verify":
            await now(handle.verify())
        case "cancel":
            handle.cancel()
            Driver.end_blocked_term(key)
        case "held":
            return [truth(handle.is_held)]
        case "token":
            return [str(handle.fencing_token)]
        case "watch-lost":
            handle.on_lost(lambda error: lost(who, name, error))
        case "watch-revoke":
            latest(key).on_revoke(lambda: say("event", who, "revoked", name))
        case "revoke":
            return [truth(await now(handle.revoke((args and args[0]) or None, seconds(args[1:]))))]
        case "tokens":
            return [str(token) for token in latest(key).fencing_tokens]
        case "passes":
            return [str(latest(key).passes)]
        case "sequencer":
            return [latest(key).sequencer]
        case "holders":
            return [holder.identity for holder in await now(of("Semaphore", handle).holders())]
        case "resize":
            await now(of("Semaphore", handle).resize(whole(args[0])))
        case "contenders":
            return names_of(await now(handle.contenders()))
        case "guarded-set" | "guarded-create":
            writes = handle.guarded()
            getattr(writes, verb.removeprefix("guarded-"))(*args)
            await now(writes.commit())
        case _:
            raise zkrecipes.Invalid(f"no such verb: {verb}")
    return []


async def at_node(client: Any, verb: str, args: list[str]) -> list[str]:
    answer = await now(getattr(client.nodes, verb)(*args))
    match verb:
        case "get":
            return [answer[0].decode()]
        case "exists":
            return [truth(answer)]
        case "children" | "ephemerals":
            return list(answer)
    return []
