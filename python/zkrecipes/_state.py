# The bases say what the verbs answer when they block; here they answer a coroutine of it.
# mypy: disable-error-code="assignment,override"
"""Plain nodes, numbers, values, names and groups for asyncio."""

from __future__ import annotations

from typing import Any, Literal, cast, overload

from . import _native
from ._bridge import Answers, awaited, instead
from ._feeds import Feed, feeding
from ._held import Transaction
from ._values import Stat


class Nodes(_native.NodesBase):
    """Plain node operations. The `nodes` of a client."""

    @instead(awaited(_native.NodesBase.create))
    def create(self) -> None: ...
    @instead(awaited(_native.NodesBase.get))
    def get(self) -> None: ...
    @instead(awaited(_native.NodesBase.set))
    def set(self) -> None: ...
    @instead(awaited(_native.NodesBase.delete))
    def delete(self) -> None: ...
    @instead(awaited(_native.NodesBase.exists))
    def exists(self) -> None: ...
    @instead(awaited(_native.NodesBase.children))
    def children(self) -> None: ...
    @instead(awaited(_native.NodesBase.ensure))
    def ensure(self) -> None: ...
    @instead(awaited(_native.NodesBase.delete_all))
    def delete_all(self) -> None: ...
    @instead(Answers[Transaction].at_once(_native.NodesBase.transaction))
    def transaction(self) -> None: ...

    @overload
    def watch(self, path: str, kind: Literal["data"] = "data") -> Feed[tuple[bytes, Stat] | None]: ...
    @overload
    def watch(self, path: str, kind: Literal["children"]) -> Feed[list[str] | None]: ...
    @overload
    def watch(self, path: str, kind: Literal["subtree"]) -> Feed[dict[str, tuple[bytes, Stat]]]: ...
    def watch(self, path: str, kind: Any = "data") -> Feed[Any]:
        """How a node stands now, and whenever that has changed."""
        return cast("Feed[Any]", super().watch(path, kind))


class Counter(_native.CounterBase):
    """A number that many count on. Made by `client.counter(path)`."""

    @instead(awaited(_native.CounterBase.get))
    def get(self) -> None: ...
    @instead(awaited(_native.CounterBase.add))
    def add(self) -> None: ...
    @instead(awaited(_native.CounterBase.compare_and_set))
    def compare_and_set(self) -> None: ...


class Config(_native.ConfigBase):
    """A value that many follow. Made by `client.config(path)`."""

    @instead(awaited(_native.ConfigBase.get))
    def get(self) -> None: ...
    @instead(awaited(_native.ConfigBase.set))
    def set(self) -> None: ...
    @instead(awaited(_native.ConfigBase.create))
    def create(self) -> None: ...
    @instead(feeding(_native.ConfigBase.watch))
    def watch(self) -> None: ...


class Names(_native.NamesBase):
    """Names below a path, and what they stand for. Made by `client.names(path)`."""

    @instead(awaited(_native.NamesBase.bind))
    def bind(self) -> None: ...
    @instead(awaited(_native.NamesBase.lookup))
    def lookup(self) -> None: ...
    @instead(awaited(_native.NamesBase.unbind))
    def unbind(self) -> None: ...
    @instead(awaited(_native.NamesBase.list))
    def list(self) -> None: ...
    @instead(feeding(_native.NamesBase.watch))
    def watch(self) -> None: ...


class Group(_native.GroupBase):
    """A group of members that know each other by name. Made by `client.group(path)`."""

    @instead(awaited(_native.GroupBase.join))
    def join(self) -> None: ...
    @instead(awaited(_native.GroupBase.leave))
    def leave(self) -> None: ...
    @instead(awaited(_native.GroupBase.update))
    def update(self) -> None: ...
    @instead(awaited(_native.GroupBase.members))
    def members(self) -> None: ...
    @instead(feeding(_native.GroupBase.watch))
    def watch(self) -> None: ...
