# The bases say what the verbs answer when they block; here they answer a coroutine of it, and some take more.
# mypy: disable-error-code="assignment,override"
"""What all queues have, for asyncio, and their items."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from . import _native, _processing
from ._bridge import Answers, awaited, instead, settle
from ._held import Held
from ._scopes import Body
from ._stopping import stopped_on_a_loop

if TYPE_CHECKING:
    from typing_extensions import Self

_P = ParamSpec("_P")
_T = TypeVar("_T", "Item", "list[Item]")


class _Items:
    """One item after the other, each of which is settled when the next is asked for or the loop ends."""

    def __init__(self, claims: _native.Claims, cancel_on_lost: bool) -> None:
        self._claims = claims
        self._cancel_on_lost = cancel_on_lost

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        item = cast(Item, await settle(self._claims._next()))
        item._cancel_on_lost = self._cancel_on_lost
        return item


class Item(Held, _native.ItemBase):
    """An item that was claimed: a Held with more verbs.

    As a context manager it is acknowledged on exit, and given back as by `nack`, with the exception as the reason, if
    the body failed; leaving raises Lost if the claim was lost. `release` gives it back as if nobody had failed.
    """

    _cancel_on_lost = False
    _body: Body | None = None

    async def __aenter__(self) -> Self:
        self._check()
        if self._cancel_on_lost:
            self._body = Body(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        body, self._body = self._body, None
        lost = body.end(exception) if body is not None else None
        try:
            await settle(self._leave(kind is not None, exception))
        except _native.Error:
            if kind is None and lost is None:
                raise
        if lost is not None and (kind is None or issubclass(kind, asyncio.CancelledError)):
            raise lost from exception

    @instead(awaited(_native.ItemBase.ack))
    def ack(self) -> None: ...
    @instead(awaited(_native.ItemBase.ack_with))
    def ack_with(self) -> None: ...
    @instead(awaited(_native.ItemBase.nack))
    def nack(self) -> None: ...


def _claiming(
    verb: Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]:
    """The same verb, whose items know what the loss of one does."""

    @functools.wraps(verb)
    async def claim(self: Backlog, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        claimed = await verb(self, *args, **kwargs)
        for item in claimed if isinstance(claimed, list) else [claimed]:
            item._cancel_on_lost = self._cancel_on_lost
        return claimed

    return claim


class Backlog(_native.BacklogBase):
    """What all queues share: `async for item in queue:` claims one after the other."""

    _cancel_on_lost = False

    @instead(_claiming(Answers[Item].awaited(_native.BacklogBase.claim)))
    def claim(self) -> None: ...
    @instead(_claiming(Answers["list[Item]"].awaited(_native.BacklogBase.claim_many)))
    def claim_many(self) -> None: ...

    # --- generated from api: verbs of Backlog for asyncio
    @instead(awaited(_native.BacklogBase.get))
    def get(self) -> None: ...
    @instead(awaited(_native.BacklogBase.ack_many))
    def ack_many(self) -> None: ...
    @instead(awaited(_native.BacklogBase.peek))
    def peek(self) -> None: ...
    @instead(awaited(_native.BacklogBase.len))
    def len(self) -> None: ...
    @instead(awaited(_native.BacklogBase.stats))
    def stats(self) -> None: ...
    @instead(awaited(_native.BacklogBase.items))
    def items(self) -> None: ...
    @instead(awaited(_native.BacklogBase.replay))
    def replay(self) -> None: ...
    @instead(awaited(_native.BacklogBase.purge))
    def purge(self) -> None: ...

    # --- end of generated

    @property
    def dead(self) -> DeadLetters:
        """The items that were claimed `max_attempts` times in vain, or that nobody can read."""
        dead = cast(DeadLetters, super().dead)
        dead._cancel_on_lost = self._cancel_on_lost
        return dead

    def __aiter__(self) -> _Items:
        return _Items(self._claims(), self._cancel_on_lost)

    async def process(
        self, work: Callable[[Item], object], concurrency: int = 1, *, stop: asyncio.Event | None = None
    ) -> None:
        """Works on items as they come, at most `concurrency` at once, until `cancel()`, until `stop` is set, or until
        the client is closed. With a `stop` that was set before, it takes no item.

        `work(item)` is called on the loop; a coroutine function is run as a task, which is cancelled when its item is
        lost. An item is done when the work is, unless that has settled it; what it raises is logged, and the item is
        given back as by `nack`, with that as the reason.

        `cancel()` and `stop` end it when what was begun is done. Cancelling the task that awaits it cancels what was
        begun, too, and gives that back as if nobody had failed.
        """
        workers = self._workers(cast("Callable[[_native.Item], object]", work), concurrency)
        with stopped_on_a_loop(stop, functools.partial(_processing.end_all, workers)):
            await _processing.run_tasks(workers, work, self.path)


class DeadLetters(Backlog, _native.DeadLettersBase):
    """The dead letters of a queue, `queue.dead`: what was claimed `max_attempts` times in vain, or unreadable."""

    @instead(awaited(_native.DeadLettersBase.items))
    def items(self) -> None: ...
