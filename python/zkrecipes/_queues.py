# The bases say what the verbs answer when they block; here they answer a coroutine of it, and some take more.
# mypy: disable-error-code="assignment,override"
"""Queues for asyncio."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, cast

from . import _native
from ._bridge import Answers, awaited, instead, settle
from ._held import Held

if TYPE_CHECKING:
    from typing_extensions import Self


class _Items:
    """One item after the other, each of which is settled when the next is asked for or the loop ends."""

    def __init__(self, claims: _native.Claims) -> None:
        self._claims = claims

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        return cast(Item, await settle(self._claims._next()))


class Item(Held, _native.ItemBase):
    """An item that was claimed: a Held with more verbs.

    As a context manager it is acknowledged on exit, and given back as by `nack`, with the exception as the reason, if
    the body failed; leaving raises Lost if the claim was lost. `release` gives it back as if nobody had failed.
    """

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await settle(self._leave(kind is not None, exception))
        except _native.Error:
            if kind is None:
                raise

    @instead(awaited(_native.ItemBase.ack))
    def ack(self) -> None: ...
    @instead(awaited(_native.ItemBase.ack_with))
    def ack_with(self) -> None: ...
    @instead(awaited(_native.ItemBase.nack))
    def nack(self) -> None: ...


class _Backlog(_native.BacklogBase):
    """What all queues share: `async for item in queue:` claims one after the other."""

    @instead(awaited(_native.BacklogBase.get))
    def get(self) -> None: ...
    @instead(Answers[Item].awaited(_native.BacklogBase.claim))
    def claim(self) -> None: ...
    @instead(awaited(_native.BacklogBase.peek))
    def peek(self) -> None: ...
    @instead(awaited(_native.BacklogBase.len))
    def len(self) -> None: ...
    @instead(awaited(_native.BacklogBase.items))
    def items(self) -> None: ...
    @instead(awaited(_native.BacklogBase.replay))
    def replay(self) -> None: ...

    if TYPE_CHECKING:

        @property
        def dead(self) -> DeadLetters: ...

    def __aiter__(self) -> _Items:
        return _Items(self._claims())


class DeadLetters(_Backlog, _native.DeadLettersBase):
    """The dead letters of a queue, `queue.dead`: what was claimed `max_attempts` times in vain, or unreadable."""

    @instead(awaited(_native.DeadLettersBase.items))
    def items(self) -> None: ...


class Queue(_Backlog, _native.QueueBase):
    """Items that are taken in the order in which they came. Made by `client.queue(path)`.

    `async for item in queue:` claims one after the other, and waits for more. One that is not settled when the next is
    asked for, or when the loop ends, is given back as by `nack`. `async with item:` acknowledges it, or gives it back
    if the body failed.
    """

    @instead(awaited(_native.QueueBase.put))
    def put(self) -> None: ...
    @instead(awaited(_native.QueueBase.put_many))
    def put_many(self) -> None: ...


class PriorityQueue(_Backlog, _native.PriorityQueueBase):
    """Items of which the one with the lowest priority number is taken first. Made by `client.priority_queue(path)`."""

    @instead(awaited(_native.PriorityQueueBase.put))
    def put(self) -> None: ...


class DelayQueue(_Backlog, _native.DelayQueueBase):
    """Items that are taken when they are due, the first due first. Made by `client.delay_queue(path)`."""

    @instead(awaited(_native.DelayQueueBase.put))
    def put(self) -> None: ...
