# The bases say what the verbs answer when they block; here they answer a coroutine of it.
# mypy: disable-error-code="assignment,override"
"""Plain nodes for asyncio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, cast, overload

from . import _native
from ._bridge import Answers, awaited, instead
from ._callbacks import awaited as answered
from ._feeds import Feed
from ._held import Transaction
from ._recipes import NodeCache
from ._updates import check_change
from ._values import Stat


class Nodes(_native.NodesBase):
    """Plain node operations. The `nodes` of a client."""

    # --- generated from api: verbs of Nodes for asyncio
    @instead(Answers[Transaction].at_once(_native.NodesBase.transaction))
    def transaction(self) -> None: ...
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
    @instead(awaited(_native.NodesBase.ephemerals))
    def ephemerals(self) -> None: ...
    @instead(awaited(_native.NodesBase.ensure))
    def ensure(self) -> None: ...
    @instead(awaited(_native.NodesBase.delete_all))
    def delete_all(self) -> None: ...
    @instead(Answers[NodeCache].awaited(_native.NodesBase.cache))
    def cache(self) -> None: ...

    # --- end of generated

    async def update(self, path: str, change: Callable[[bytes], bytes | str | Awaitable[bytes | str]]) -> Stat:
        """Replaces the data of a node by what `change`, which may be a coroutine function, returns for it. If somebody
        sets it meanwhile, `change` is called again, with that. NoNode: there is no such node. ConnectionLost: the data
        may have been replaced, or not.
        """
        check_change(change, on_a_loop=True)
        while True:
            data, stat = await self.get(path)
            # Not in the `try`: what it raises is its caller's.
            made = await answered(change(data))
            try:
                return await self.set(path, made, stat.version)
            except _native.BadVersion:
                pass

    @overload
    def watch(self, path: str, kind: Literal["data"] = "data") -> Feed[tuple[bytes, Stat] | None]: ...
    @overload
    def watch(self, path: str, kind: Literal["children"]) -> Feed[list[str] | None]: ...
    @overload
    def watch(self, path: str, kind: Literal["subtree"]) -> Feed[dict[str, tuple[bytes, Stat]]]: ...
    def watch(self, path: str, kind: Any = "data") -> Feed[Any]:
        """How a node stands now, and whenever that has changed."""
        return cast("Feed[Any]", super().watch(path, kind))
