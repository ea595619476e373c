"""What players do with each recipe: one table for all languages.

A player makes a handle, plays round after round, and goes on at another path when told so. Every call is limited in
time.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from drivers import Player

# In milliseconds.
LIMIT = "3000"


@dataclass
class Table:
    """A recipe at a path, and those who sit around it."""

    recipe: str
    kind: str
    seats: int
    # After so many calls a new path is begun: an order of very many calls, some of them unknown, takes long to find. 0:
    # never.
    rounds: int = 0
    path: str = ""
    calls: int = 0
    # Items that are in the queue, as far as anybody knows.
    items: int = 0
    numbers: itertools.count[int] = field(default_factory=itertools.count)


@dataclass
class Game:
    """What a player needs besides its own."""

    chance: random.Random
    # Waits for as long as the pace asks for.
    rest: Callable[[], Awaitable[None]]
    is_over: asyncio.Event
    # Which seat of the table it is.
    place: int


Round = Callable[[Player, Table, Game], Awaitable[None]]


async def work(me: Player, game: Game, *, word: str = "guarded-set", side: str = "", asks: str = "held") -> None:
    """Adds one to a number, while it is held: reads it, and writes it."""
    node = f"{me.path}-n"
    read = await me.call("get", node, plain=True)
    await me.call(asks, side=side)
    await game.rest()
    held = await me.call(asks, side=side)
    if read and held == ("true",):
        if word == "set":
            # Between the question and the write it may stand still.
            await game.rest()
        await me.call(word, node, str(int(read[0]) + 1), side=side, plain=word == "set")
    await me.call(asks, side=side)


async def lock(me: Player, table: Table, game: Game) -> None:
    if await me.call("acquire", LIMIT):
        await work(me, game, word="set" if me.recipe == "unguarded" else "guarded-set")
        await me.call("release")


async def read_write(me: Player, table: Table, game: Game) -> None:
    side = game.chance.choice([".read", ".read", ".write"])
    if await me.call("acquire", LIMIT, side=side):
        if side == ".write":
            await work(me, game, side=side)
        else:
            await me.call("held", side=side)
            await game.rest()
            await me.call("held", side=side)
        await me.call("release", side=side)


async def semaphore(me: Player, table: Table, game: Game) -> None:
    if await me.call("acquire", LIMIT):
        await me.call("held")
        await game.rest()
        await me.call("held")
        await me.call("release")


async def election(me: Player, table: Table, game: Game) -> None:
    if game.chance.random() < 0.4:
        await me.call("leader")
    elif await me.call("campaign", LIMIT):
        await me.call("leads")
        await me.call("acknowledge", me.name)
        await game.rest()
        await me.call("leads")
        await me.call("acknowledge", "again")
        await me.call("resign")


async def partitioner(me: Player, table: Table, game: Game) -> None:
    won = await me.call("next-partition", LIMIT)
    if won:
        await me.call("has-partition", won[0])
        await game.rest()
        await me.call("has-partition", won[0])
        await me.call("release-partition", won[0])


async def counter(me: Player, table: Table, game: Game) -> None:
    for _ in range(5):
        await game.rest()
        match game.chance.choices(["add", "value", "compare-and-set", "set-value"], [12, 5, 3, 1])[0]:
            case "add":
                await me.call("add", str(game.chance.randint(1, 3)))
            case "value":
                await me.call("value")
            case "compare-and-set":
                read = await me.call("value")
                if read:
                    await me.call("compare-and-set", read[0], str(int(read[0]) + 10))
            case "set-value":
                await me.call("set-value", str(game.chance.randint(0, 100)))


async def config(me: Player, table: Table, game: Game) -> None:
    for _ in range(5):
        await game.rest()
        value = f"v{next(table.numbers)}"
        match game.chance.choices(["get", "set", "version", "create", "update"], [5, 4, 4, 1, 3])[0]:
            case "get":
                await me.call("config-get")
            case "set":
                await me.call("config-set", value)
            case "version":
                read = await me.call("config-get")
                if read and read[0] != "none":
                    await me.call("config-set", value, read[0])
            case "create":
                await me.call("config-create", value)
            case "update":
                await me.call("config-update", f"+{value}")


async def latch(me: Player, table: Table, game: Game) -> None:
    for _ in range(5):
        await game.rest()
        if game.chance.random() < 0.3:
            await me.call("remaining")
        else:
            await me.call("count-down", str(game.chance.randint(1, 2)))


async def queue(me: Player, table: Table, game: Game) -> None:
    # At the table of order one alone gets.
    takes = game.place == 0 if table.kind == "order" else game.chance.random() < 0.5
    if not takes and table.items < 50:
        await me.call("put", f"i{next(table.numbers)}", LIMIT)
        table.items += 1
    elif not takes:
        await game.rest()
    elif table.kind == "claim":
        await claim(me, table, game)
    elif await me.call("get-item", LIMIT):
        table.items -= 1


async def claim(me: Player, table: Table, game: Game) -> None:
    came = await me.call("claim", LIMIT)
    if came:
        await game.rest()
        item, done = came[0], f"{me.path}-done/{came[0]}"
        if await me.call("ack-with-create", done, "x", told=(item,)) is not None:
            table.items -= 1
        else:
            # It is given back, where that is not done yet.
            await me.driver.ask(me.session, "nack", me.handle, "delay=0")


async def two_phase_commit(me: Player, table: Table, game: Game) -> None:
    if game.place < len(SITES):
        await site(me, SITES[game.place], game)
        return
    id_ = f"t{next(table.numbers)}"
    # It may have begun also where nobody knows.
    if await me.call("2pc-begin", id_, ",".join(SITES), "data", "4000") is not None:
        await me.call("2pc-outcome", id_, "8000", told=(id_,))
    elif game.chance.random() < 0.5:
        for found in await me.call("2pc-recover", told=()) or ():
            await me.call("2pc-outcome", found, "8000", told=(found,))


SITES = ("x", "y", "z")


async def site(me: Player, name: str, game: Game) -> None:
    await me.call("2pc-join", name)
    asked = [told.partition("=") for told in await me.call("2pc-pending", told=()) or ()]
    for id_, _, voted in asked:
        await settle(me, name, id_, game, has_voted=bool(voted))
    for _ in range(20):
        if game.is_over.is_set():
            break
        came = await me.call("2pc-next", LIMIT, told=())
        if came:
            await settle(me, name, came[0], game, has_voted=False)
    await me.call("2pc-leave", told=())


async def settle(me: Player, name: str, id_: str, game: Game, *, has_voted: bool) -> None:
    await game.rest()
    if not has_voted:
        vote = "commit" if game.chance.random() < 0.9 else "abort"
        await me.call("2pc-vote", id_, vote, told=(id_, vote, name))
    if await me.call("2pc-learn", id_, "8000", told=(id_,)):
        await me.call("2pc-ack", id_, told=())


async def double_barrier(me: Player, table: Table, game: Game) -> None:
    if await me.call("barrier-enter", LIMIT) is not None:
        await game.rest()
        if await me.call("barrier-leave", LIMIT) is None:
            await me.call("barrier-withdraw")


# The rounds of each recipe, the word that makes a handle, and what comes behind its path.
PLAYED: dict[str, tuple[Round, str, tuple[str, ...]]] = {
    "lock": (lock, "lock", ()),
    "unguarded": (lock, "lock", ()),
    "read-write": (read_write, "rwlock", ()),
    "semaphore": (semaphore, "semaphore", ("2",)),
    "election": (election, "election", ()),
    "partitioner": (partitioner, "partitioner", ("3",)),
    "counter": (counter, "counter", ()),
    "config": (config, "config", ()),
    "latch": (latch, "latch", ("150",)),
    "queue": (queue, "queue", ()),
    "two-phase-commit": (two_phase_commit, "2pc", ()),
    "double-barrier": (double_barrier, "double-barrier", ("3",)),
}


def tables() -> list[Table]:
    return [
        Table("lock", "lock", 5, 1000),
        Table("unguarded", "unguarded", 3, 1000),
        Table("read-write", "read-write", 4, 1000),
        Table("semaphore", "semaphore", 4, 1000),
        Table("election", "election", 4, 1000),
        Table("partitioner", "partitioner", 4, 1000),
        Table("counter", "counter", 4, 250),
        Table("config", "config", 4, 250),
        Table("latch", "latch", 3, 120),
        Table("queue", "get", 4),
        Table("queue", "claim", 4),
        Table("queue", "order", 3),
        Table("double-barrier", "double-barrier", 4, 300),
        Table("two-phase-commit", "two-phase-commit", len(SITES) + 2),
    ]


def named(me: Player) -> tuple[str, ...]:
    """Members of a session that have to have names of their own."""
    name = me.name.replace("/", "-")
    return {"partitioner": (f"name={name}",), "double-barrier": (name,)}.get(me.recipe, ())


async def play(me: Player, table: Table, game: Game) -> None:
    """Round after round, until it is over."""
    round_, word, args = PLAYED[table.recipe]
    while not game.is_over.is_set():
        if me.path != table.path:
            await me.make(table.path, word, *args, *named(me), told=args)
        before = me.calls
        await round_(me, table, game)
        table.calls += me.calls - before
        await game.rest()
