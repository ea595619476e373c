"""What both drivers do with recipes that came after the locks: a verb of the blocking face answers its value, one of
asyncio a coroutine of it, and `now` takes both.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import zkrecipes
from generated import WORDS, Word, options_of

from protocol import Command, say, seconds, truth, whole

T = TypeVar("T")
Key = tuple[str, str]
recipes: dict[Key, Any] = {}
feeds: dict[Key, Any] = {}
# The candidates of which `run` says that they are not healthy.
unhealthy: set[Key] = set()

MAKES = {"watch-node", "follow", "unfollow", "leads", "end-term", "set-healthy"}
MAKES |= {word for word, described in WORDS.items() if described.kind != "waits"}
VERBS = (
    MAKES
    | WORDS.keys()
    | {
        "config-update",
        "bind-ttl",
        "leader",
        "candidates",
        "run",
        "transfer",
        "next-partition",
        "has-partition",
        "release-partition",
    }
)
# By member and name, what was won.
partitions: dict[tuple[Key, str], Any] = {}


class Driver:
    """What the drivers do differently."""

    face: Any
    """The module of the types: zkrecipes or zkrecipes.aio."""
    connect: Callable[[str, dict[str, Any]], Any]
    follow: Callable[[Follower], None]
    """Reads a feed beside the commands."""
    run: Callable[[Key, Any], Any]
    """Leads term after term."""
    end_term: Callable[[Key, bool], None]
    """Lets the work of a term return, or fail."""
    end_blocked_term: Callable[[Key], None]
    """Ends the work of a term whose leadership is given up, where nothing else does."""


class Follower:
    """Says what a feed tells, until nobody wants to hear it any more."""

    def __init__(self, key: Key, feed: Any) -> None:
        self.key = key
        self.feed = feed
        feeds[key] = self

    @property
    def is_wanted(self) -> bool:
        return feeds.get(self.key) is self

    def tell(self, item: object) -> None:
        if self.is_wanted:
            kind = recipes[self.key].kind if isinstance(recipes[self.key], Node) else ""
            say("event", self.key[0], "told", self.key[1], *words(item, kind))

    def end(self, error: zkrecipes.Error | None = None) -> None:
        if self.is_wanted:
            say("event", self.key[0], "ended", self.key[1], error.code if error else "closed")


class Node:
    """A node to be followed."""

    def __init__(self, nodes: Any, path: str, kind: str) -> None:
        self.nodes, self.path, self.kind = nodes, path, kind
        # Refuses what is wrong with them.
        self.watch()

    def watch(self) -> Any:
        return self.nodes.watch(self.path, self.kind)


def map_of(all_: dict[str, Any]) -> str:
    """`a=1,b=-`: what a name stands for, and whether it stands for anything."""
    said = {name: one.decode() if isinstance(one, bytes) else "-" if one is None else one for name, one in all_.items()}
    return ",".join(f"{name}={one}" for name, one in sorted(said.items())) or "-"


def shown(one: zkrecipes.Instance) -> str:
    return f"{one.id}={one.address}:{'-' if one.port is None else one.port}{'' if one.enabled else '!'}"


def words(item: Any, kind: str = "") -> list[str]:
    match item:
        case None:
            return ["none"]
        case int():
            return [str(item)]
        case zkrecipes.Versioned(value, version):
            return [str(version), value.decode()]
        case zkrecipes.Leader(identity, data, epoch, acknowledged):
            return [identity, str(epoch), "acknowledged" if acknowledged else "elected", data.decode() or "-"]
        case zkrecipes.Snapshot(members):
            return ["snapshot", map_of(members)]
        case zkrecipes.Joined(name, data) | zkrecipes.Changed(name, data):
            return [type(item).__name__.lower(), name, data.decode()]
        case zkrecipes.Left(name):
            return ["left", name]
        case [zkrecipes.Instance(), *_]:
            return [",".join(map(shown, item))]
        case list():
            return [",".join(item) or "-"]
        case dict():
            return [map_of({path: data[0] for path, data in item.items()} if kind == "subtree" else item)]
        case (data, stat):
            return [str(stat.version), data.decode()]
    raise TypeError(item)


async def now(value: T | Awaitable[T]) -> T:
    if inspect.isawaitable(value):
        return await value
    return value


def read(kind: str, of: str, args: list[str]) -> Any:
    """An argument of that type, taken from the front of the words."""
    match kind:
        case "options":
            return options_of(of, args) if args else {}
        case "limit":
            return seconds(args)
        case "i64" | "count":
            return whole(args.pop(0))
        case "partitions":
            named = args.pop(0)
            return int(named) if named.isdigit() else named.split(",")
        case "version":
            return whole(args.pop(0)) if args else None
        case "bool":
            return bool(args and args.pop(0))
        case "bytes" | "text?":
            return args.pop(0) if args else None
    return args.pop(0)


async def obey(client: Any, key: Key, word: Word, args: list[str]) -> list[str]:
    values = [read(kind, word.of, args) for kind in word.takes]
    options = values.pop() if word.takes[-1:] == ["options"] else {}
    # What is left out is not said.
    while values and values[-1] is None:
        values.pop()
    if word.kind == "new":
        recipes[key] = getattr(client, word.name)(*values, **options)
        return []
    said = getattr(recipes[key], word.name)
    return said_of(word, said if word.kind == "question" else await now(said(*values)))


def said_of(word: Word, value: Any) -> list[str]:
    match value:
        case None:
            return [] if word.says == "" else ["none"]
        case bool():
            return [truth(value)]
        case int():
            return [str(value)]
        case bytes():
            return [value.decode()]
        case list():
            return value
    return words(value)


async def perform(client: Any, command: Command) -> list[str]:
    _, who, verb, (name, *args) = command
    key = who, name
    if verb in WORDS:
        return await obey(client, key, WORDS[verb], args)
    if verb == "watch-node":
        recipes[key] = Node(client.nodes, *args)
        return []
    recipe = recipes[key]
    match verb, args:
        case "follow", []:
            Driver.follow(Follower(key, recipe.observe() if hasattr(recipe, "observe") else recipe.watch()))
        case "unfollow", []:
            feed = feeds.pop(key).feed
            await now(feed.aclose() if hasattr(feed, "aclose") else feed.close())
        case "config-update", [suffix]:
            now_set = await now(recipe.update(lambda value: (value or b"") + suffix.encode()))
            return [str(now_set.version), now_set.value.decode()]
        case "bind-ttl", [of, data, ttl]:
            await now(recipe.bind(of, data, ttl=int(ttl) / 1000))
        case "leads", []:
            return [truth(recipe.is_leader)]
        case "leader", []:
            return words(await now(recipe.leader()))
        case "candidates", []:
            return [one.identity + ("*" if one.holds else "") for one in await now(recipe.candidates())]
        case "transfer", [to]:
            return [truth(await now(recipe.transfer(to)))]
        case "set-healthy", [healthy]:
            (unhealthy.discard if healthy == "yes" else unhealthy.add)(key)
        case "run", []:
            await now(Driver.run(key, recipe))
        case "next-partition", [*limit]:
            won = await now(recipe.next(seconds(limit)))
            partitions[key, won.name] = won
            won.on_revoke(lambda: say("event", who, "revoked", name, won.name))
            won.on_lost(lambda error: say("event", who, "lost", name, won.name, error.reason or ""))
            return [won.name]
        case "has-partition", [partition]:
            return [truth(partitions[key, partition].is_held)]
        case "release-partition", [partition]:
            await now(partitions[key, partition].release())
        case "end-term", [*fail]:
            Driver.end_term(key, fail == ["fail"])
        case _:
            raise zkrecipes.Invalid(f"no such verb: {verb}")
    return []
