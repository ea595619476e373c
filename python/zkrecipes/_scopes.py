"""`async with` what is held: it is let go on any exit, and its loss can cancel the body."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from ._bridge import settle
from ._native import Error, Lost

if TYPE_CHECKING:
    from ._native import Call


class Holding(Protocol):
    """What can be held: it can be lost, and is left."""

    def on_lost(self, callback: Callable[[Lost], object], /) -> Callable[[], None]: ...
    def _leave(self, body_failed: bool, /) -> Call: ...


_H = TypeVar("_H", bound=Holding)
_T = TypeVar("_T")


class Body:
    """The body of a scope, in the task that runs it, which is cancelled when what it holds is lost."""

    _lost: Lost | None = None
    _is_over = False

    def __init__(self, held: Holding) -> None:
        self._task = this_task()
        self._cancelling = _cancelling(self._task)
        self._unsubscribe = held.on_lost(self._interrupt)

    def _interrupt(self, error: Lost) -> None:
        if not self._is_over and self._lost is None:
            self._lost = error
            self._task.cancel(_BY_LOSS)

    def end(self, exception: BaseException | None) -> Lost | None:
        """The loss, if it has cancelled the body and nobody else has: that cancellation is taken back."""
        self._is_over = True
        self._unsubscribe()
        lost = self._lost
        if lost is None or _cancelled_from_outside(self._task, self._cancelling, exception):
            return None
        return lost


class Entered(Generic[_T]):
    """What tasks have entered, each its own, and have not left.

    Tasks take turns on one object; one that released early must not leave with another's acquisition.
    """

    def __init__(self) -> None:
        self._by_task: list[tuple[asyncio.Task[object] | None, _T]] = []

    def add(self, what: _T) -> None:
        self._by_task.append((asyncio.current_task(), what))

    def leave(self) -> _T:
        """The latest of this task; of all, if it has none: a fixture may be entered in one task and left in another."""
        task = asyncio.current_task()
        own = [index for index, (entered, _) in enumerate(self._by_task) if entered is task]
        assert self._by_task, "left without being entered"
        _, what = self._by_task.pop(own[-1] if own else -1)
        return what


class Scope(Generic[_H]):
    """The scope of what `take` acquires, for every task that enters it."""

    def __init__(self, take: Callable[[], Awaitable[_H]], cancel_on_lost: bool) -> None:
        self._take = take
        self._cancel_on_lost = cancel_on_lost
        self._entered: Entered[tuple[_H, Body | None]] = Entered()

    async def __aenter__(self) -> _H:
        held = await self._take()
        self._entered.add((held, Body(held) if self._cancel_on_lost else None))
        return held

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        held, body = self._entered.leave()
        # Our own cancellation shows as Lost; one from outside stands, and so does the body's error.
        lost = body.end(exception) if body is not None else None
        if lost is not None:
            await leave(held, True)
            if kind is None or issubclass(kind, asyncio.CancelledError):
                raise lost from exception
            return
        await leave(held, kind is not None)


async def leave(held: Holding, body_failed: bool) -> None:
    try:
        await settle(held._leave(body_failed))
    except Error:
        if not body_failed:
            raise


def this_task() -> asyncio.Task[object]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a scope is entered and left inside a task")
    return task


_BY_LOSS = "the lock was lost"

if sys.version_info >= (3, 11):

    def _cancelling(task: asyncio.Task[object]) -> int:
        return task.cancelling()

    def _cancelled_from_outside(task: asyncio.Task[object], before: int, exception: BaseException | None) -> bool:
        return task.uncancel() > before

else:
    # Before 3.11 tasks do not count their cancellations; only the message tells whose it was. One from outside in the
    # very turn of the loop in which the loss was told goes unseen.

    def _cancelling(task: asyncio.Task[object]) -> int:
        return 0

    def _cancelled_from_outside(task: asyncio.Task[object], before: int, exception: BaseException | None) -> bool:
        return isinstance(exception, asyncio.CancelledError) and exception.args != (_BY_LOSS,)
