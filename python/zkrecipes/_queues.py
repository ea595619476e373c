# The bases say what the verbs answer when they block; here they answer a coroutine of it, and some take more.
# mypy: disable-error-code="assignment,override"
"""What all queues have, for asyncio, and their items."""

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


class Backlog(_native.BacklogBase):
    """What all queues share: `async for item in queue:` claims one after the other."""

    # --- generated from api: verbs of Backlog for asyncio
    @instead(awaited(_native.BacklogBase.get))
    def get(self) -> None: ...
    @instead(Answers[Item].awaited(_native.BacklogBase.claim))
    def claim(self) -> None: ...
    @instead(Answers["list[Item]"].awaited(_native.BacklogBase.claim_many))
    def claim_many(self) -> None: ...
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

    if TYPE_CHECKING:

        @property
        def dead(self) -> DeadLetters: ...

    def __aiter__(self) -> _Items:
        return _Items(self._claims())


class DeadLetters(Backlog, _native.DeadLettersBase):
    """The dead letters of a queue, `queue.dead`: what was claimed `max_attempts` times in vain, or unreadable."""

    @instead(awaited(_native.DeadLettersBase.items))
    def items(self) -> None: ...
