# The bases say what the verbs answer when they block; here they answer a coroutine of it, and some take more.
# mypy: disable-error-code="assignment,override"
"""Queues for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from . import _native
from ._bridge import Answers, awaited, settle
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

    As a context manager it is acknowledged on exit, and given back if the body failed; leaving raises Lost if the claim
    was lost.
    """

    ack = awaited(_native.ItemBase.ack)
    ack_with = awaited(_native.ItemBase.ack_with)
    nack = awaited(_native.ItemBase.nack)


class _Backlog(_native.BacklogBase):
    """What all queues share: `async for item in queue:` claims one after the other."""

    get = awaited(_native.BacklogBase.get)
    claim = Answers[Item].awaited(_native.BacklogBase.claim)
    peek = awaited(_native.BacklogBase.peek)
    len = awaited(_native.BacklogBase.len)
    items = awaited(_native.BacklogBase.items)
    replay = awaited(_native.BacklogBase.replay)

    if TYPE_CHECKING:

        @property
        def dead(self) -> Backlog: ...

    def __aiter__(self) -> _Items:
        return _Items(self._claims())


class Backlog(_Backlog):
    """Items that wait to be taken: the `dead` letters of a queue."""


class Queue(_Backlog, _native.QueueBase):
    """Items that are taken in the order in which they came. Made by `client.queue(path)`.

    `async for item in queue:` claims one after the other, and waits for more. One that is not settled when the next is
    asked for, or when the loop ends, is given back. `async with item:` acknowledges it, or gives it back if the body
    failed.
    """

    put = awaited(_native.QueueBase.put)
    put_many = awaited(_native.QueueBase.put_many)


class PriorityQueue(_Backlog, _native.PriorityQueueBase):
    """Items of which the one with the lowest priority number is taken first. Made by `client.priority_queue(path)`."""

    put = awaited(_native.PriorityQueueBase.put)


class DelayQueue(_Backlog, _native.DelayQueueBase):
    """Items that are taken when they are due, the first due first. Made by `client.delay_queue(path)`."""

    put = awaited(_native.DelayQueueBase.put)
