"""Queues, and the items claimed of them, for both drivers."""

from __future__ import annotations

from typing import Any

import zkrecipes
from generated import options_of
from recipes import Key, now

from protocol import Command, say, seconds, truth, whole

queues: dict[Key, Any] = {}
# What was claimed through each and not settled, the latest last.
claimed: dict[Key, list[Any]] = {}

MAKES = {"queue", "priority-queue", "delay-queue", "dead"}
VERBS = {"put", "put-many", "get-item", "claim", "claim-many", "ack", "ack-many", "nack", "leave-item"}
VERBS |= {"ack-with-set", "ack-with-create"}
VERBS |= {"peek", "length", "items", "letters", "replay", "stats", "purge", *MAKES}
# Which mean an item or its queue, where NAME is of a queue.
SHARED = {"held", "token", "verify", "release", "watch-lost", "guarded-set", "guarded-create", "cancel"}


def are_meant(command: Command) -> bool:
    """Whether this is for `perform`."""
    return command.verb in VERBS or (command.verb in SHARED and (command.client, command.args[0]) in queues)


def forget(key: Key) -> None:
    queues.pop(key, None)
    claimed.pop(key, None)


async def put(queue: Any, data: str, words: list[str]) -> None:
    limit = seconds([word for word in words[:1] if "=" not in word])
    told = {name: value for name, is_told, value in (word.partition("=") for word in words) if is_told}
    key = told.get("key")
    if isinstance(queue, zkrecipes.Queue) or hasattr(queue, "put_many"):
        await now(queue.put(data, limit, key=key))
    elif "PriorityQueue" in repr(queue):
        await now(queue.put(data, whole(told.get("priority", "0")), limit, key=key))
    else:
        await now(queue.put(data, whole(told.get("delay", "0")) / 1000, limit, key=key))


class Fails(Exception):
    pass


async def leave(item: Any, fails: bool) -> None:
    """The language's own way: with a `with`."""
    try:
        if hasattr(item, "__aenter__"):
            async with item:
                if fails:
                    raise Fails
        else:
            with item:
                if fails:
                    raise Fails
    except Fails:
        pass


def latest(key: Key) -> Any:
    if not claimed.get(key):
        raise zkrecipes.NotHeld("nothing was claimed")
    return claimed[key][-1]


async def settled(key: Key, settling: Any) -> list[str]:
    await now(settling)
    claimed[key].pop()
    return []


async def perform(client: Any, command: Command) -> list[str]:
    _, who, verb, (name, *args) = command
    key = who, name
    match verb, args:
        case "queue" | "priority-queue" | "delay-queue", [path, *words]:
            queues[key] = getattr(client, verb.replace("-", "_"))(path, **options_of("queue", words))
            return []
        case "dead", [dead]:
            queues[who, dead] = queues[key].dead
            return []
    queue = queues[key]
    match verb, args:
        case "put", [data, *words]:
            await put(queue, data, words)
        case "put-many", all_:
            await now(queue.put_many(all_))
        case "get-item", limit:
            return [(await now(queue.get(seconds(limit)))).decode()]
        case "claim", limit:
            item = await now(queue.claim(seconds(limit)))
            claimed.setdefault(key, []).append(item)
            return [item.data.decode(), str(item.attempts)]
        case "claim-many", [n, *limit]:
            items = await now(queue.claim_many(whole(n), seconds(limit)))
            claimed.setdefault(key, []).extend(items)
            return [item.data.decode() for item in items]
        case "ack-many", []:
            await now(queue.ack_many(claimed.pop(key, [])))
        case "nack", words:
            how = dict(word.split("=", 1) for word in words)
            delay = whole(how["delay"]) / 1000 if "delay" in how else None
            return await settled(key, latest(key).nack(delay, how.get("reason")))
        case "ack" | "release", _:
            return await settled(key, getattr(latest(key), verb)())
        case "leave-item", fails:
            return await settled(key, leave(latest(key), fails == ["fail"]))
        case "ack-with-set" | "ack-with-create" | "guarded-set" | "guarded-create", [path, data]:
            item = latest(key)
            writes = item.guarded()
            getattr(writes, verb.rpartition("-")[2])(path, data)
            if verb.startswith("ack"):
                return await settled(key, item.ack_with(writes))
            await now(writes.commit())
        case _:
            return await look(key, queue, verb, args)
    return []


def told(letter: zkrecipes.DeadLetter) -> str:
    state = "unreadable" if letter.problem else letter.data.decode()
    return f"{state}/{letter.attempts}/{(letter.reason or '-').replace(' ', '_')}"


async def look(key: Key, queue: Any, verb: str, args: list[str]) -> list[str]:
    match verb:
        case "peek":
            data = await now(queue.peek())
            return ["none" if data is None else data.decode()]
        case "length":
            return [str(await now(queue.len()))]
        case "items":
            return [(data if isinstance(data, bytes) else data.data).decode() for data in await now(queue.items())]
        case "letters":
            return [told(letter) for letter in await now(queue.items())]
        case "replay":
            return [str(await now(queue.replay(*args)))]
        case "stats":
            return [str(items) for items in await now(queue.stats())]
        case "purge":
            return [str(await now(queue.purge(whole(args[0]) / 1000)))]
        case "cancel":
            queue.cancel()
        case "held":
            return [truth(claimed.get(key) and latest(key).is_held)]
        case "token":
            return [str(latest(key).fencing_token)]
        case "verify":
            await now(latest(key).verify())
        case "watch-lost":
            latest(key).on_lost(lambda error: say("event", key[0], "lost", key[1], error.reason or ""))
        case _:
            raise zkrecipes.Invalid(f"no such verb: {verb}")
    return []
