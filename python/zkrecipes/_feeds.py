"""What goes on changing, for asyncio."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from . import _native
from ._bridge import settle

if TYPE_CHECKING:
    from typing_extensions import Self

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Feed(_native.FeedBase, Generic[_T]):
    """What goes on changing, for `async for`: the present state first, then each time that it has changed.

    A slow reader is told the latest state, not every one. It goes on over reconnections and new sessions by itself, and
    ends when it or the client is closed; what cannot go on, such as Denied, is raised. As a context manager it is
    closed on exit. A task that is cancelled while it waits for the next item loses none.
    """

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _T:
        return cast(_T, await settle(self._next()))

    async def aclose(self) -> None:
        """Ends the iteration, also where another task waits for the next item."""
        self._close()

    async def __aenter__(self) -> Self:
        self._check()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._close()
        except _native.Error:
            if kind is None:
                raise


def feeding(native: Callable[Concatenate[Any, _P], _native.Feed[_T]]) -> Callable[Concatenate[Any, _P], Feed[_T]]:
    """A verb that answers a feed."""
    return cast("Callable[Concatenate[Any, _P], Feed[_T]]", native)
