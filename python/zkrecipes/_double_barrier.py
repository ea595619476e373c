# The bases say what the verbs answer when they block; here they answer a coroutine of it.
# mypy: disable-error-code="assignment,override"
"""Double barriers for asyncio."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from . import _native
from ._bridge import awaited, instead

if TYPE_CHECKING:
    from typing_extensions import Self


class DoubleBarrier(_native.DoubleBarrierBase):
    """Parties that begin and end a piece of work together. Made by `client.double_barrier(path, parties)`.

    `async with barrier:` enters, and leaves when the body is done. Nobody waits for the others when it failed: then
    this party withdraws, and the others go on without it.
    """

    # Who goes on after a cancel must not be counted by those who come next.
    @instead(awaited(_native.DoubleBarrierBase.enter, until_undone=True))
    def enter(self) -> None: ...

    # --- generated from api: verbs of DoubleBarrier for asyncio
    @instead(awaited(_native.DoubleBarrierBase.leave))
    def leave(self) -> None: ...

    # --- end of generated

    async def __aenter__(self) -> Self:
        await self.enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            # An error of the body is never masked by one of ours: where the client is closed, or in a forked child.
            with suppress(_native.Error):
                if self.has_entered:
                    self.withdraw()
        # It may have left before.
        elif self.has_entered:
            await self.leave()
