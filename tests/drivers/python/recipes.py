"""What both drivers do with recipes that came after the locks: a verb of the blocking face answers its value, one of
asyncio a coroutine of it, and `now` takes both.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import zkrecipes
from generated import options_of

from protocol import Command, say, seconds, truth, whole

T = TypeVar("T")
Key = tuple[str, str]
recipes: dict[Key, Any] = {}
feeds: dict[Key, Any] = {}

MAKES = {"counter", "config", "names", "group", "watch-node", "follow", "unfollow", "leads", "end-term"}
MAKES |= {"barrier", "double-barrier", "barrier-entered", "barrier-withdraw"}
VERBS = MAKES | {
    *("barrier-create", "barrier-remove", "barrier-up", "barrier-wait", "barrier-enter", "barrier-leave"),
    *("value", "add", "compare-and-set", "config-get", "config-set", "config-create"),
    *("bind", "lookup", "unbind", "list", "join", "leave", "update", "members"),
    *("leader", "candidates", "run"),
}


class Driver:
    """What the drivers do differently."""

    follow: Callable[[Follower], None]
    """Reads a feed beside the commands."""
    run: Callable[[Key, Any], Any]
    """Leads term after term."""
    end_term: Callable[[Key, bool], None]
    """Lets the work of a term return, or fail."""


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


def map_of(all_: dict[str, bytes]) -> str:
    return ",".join(f"{name}={data.decode()}" for name, data in sorted(all_.items())) or "-"


def words(item: Any, kind: str = "") -> list[str]:
    match item:
        case None:
            return ["none"]
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


def make(client: Any, verb: str, args: list[str]) -> Any:
    if verb == "watch-node":
        return Node(client.nodes, *args)
    path, *options = args
    if verb == "double-barrier":
        parties, *name = options
        return client.double_barrier(path, whole(parties), *name)
    return getattr(client, verb)(path, **(options_of(verb, options) if options else {}))


async def perform(client: Any, command: Command) -> list[str]:
    _, who, verb, (name, *args) = command
    key = who, name
    if verb in ("barrier", "double-barrier", "counter", "config", "names", "group", "watch-node"):
        recipes[key] = make(client, verb, args)
        return []
    recipe = recipes[key]
    match verb, args:
        case "follow", []:
            Driver.follow(Follower(key, recipe.observe() if hasattr(recipe, "observe") else recipe.watch()))
        case "unfollow", []:
            feed = feeds.pop(key).feed
            await now(feed.aclose() if hasattr(feed, "aclose") else feed.close())
        case "barrier-create" | "barrier-remove", []:
            await now(getattr(recipe, verb.rpartition("-")[2])())
        case "barrier-wait" | "barrier-enter" | "barrier-leave", limit:
            await now(getattr(recipe, verb.rpartition("-")[2])(seconds(limit)))
        case "barrier-up", []:
            return [truth(await now(recipe.is_up()))]
        case "barrier-entered", []:
            return [truth(recipe.has_entered)]
        case "barrier-withdraw", []:
            recipe.withdraw()
        case "value", []:
            return [str(await now(recipe.get()))]
        case "add", [n]:
            return [str(await now(recipe.add(whole(n))))]
        case "compare-and-set", [old, new]:
            return [truth(await now(recipe.compare_and_set(whole(old), whole(new))))]
        case "config-get", []:
            return words(await now(recipe.get()))
        case "config-set", [value, *version]:
            return [str(await now(recipe.set(value, whole(version[0]) if version else None)))]
        case "config-create", [value]:
            return [str(await now(recipe.create(value)))]
        case "bind", [one, data, *ephemeral]:
            await now(recipe.bind(one, data, ephemeral == ["ephemeral"]))
        case "lookup", [one]:
            data = await now(recipe.lookup(one))
            return ["none" if data is None else data.decode()]
        case "unbind", [one]:
            await now(recipe.unbind(one))
        case "list", []:
            return list(await now(recipe.list()))
        case "join", [member, *data]:
            await now(recipe.join(member, *data))
        case "leave", []:
            await now(recipe.leave())
        case "update", [data]:
            await now(recipe.update(data))
        case "members", []:
            return [map_of(await now(recipe.members()))]
        case "leads", []:
            return [truth(recipe.is_leader)]
        case "leader", []:
            return words(await now(recipe.leader()))
        case "candidates", []:
            return [one.identity + ("*" if one.holds else "") for one in await now(recipe.candidates())]
        case "run", []:
            await now(Driver.run(key, recipe))
        case "end-term", [*fail]:
            Driver.end_term(key, fail == ["fail"])
        case _:
            raise zkrecipes.Invalid(f"no such verb: {verb}")
    return []
