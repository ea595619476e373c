# The bases say what the verbs answer when they block; here they answer a coroutine of it, and some take more.
# mypy: disable-error-code="assignment,override"
"""What is held, for asyncio, and the writes that it guards."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING

from . import _native
from ._bridge import Answers, awaited, instead
from ._scopes import leave

if TYPE_CHECKING:
    from typing_extensions import Self


class Transaction(_native.TransactionBase):
    """Writes that happen together or not at all. Made by `nodes.transaction()` and `held.guarded()`."""

    # --- generated from api: verbs of Transaction for asyncio
    @instead(awaited(_native.TransactionBase.commit))
    def commit(self) -> None: ...

    # --- end of generated


class Holding(_native.Holding):
    """The verbs that acquisitions and handles have in common."""

    @instead(awaited(_native.Holding.release))
    def release(self) -> None: ...
    @instead(awaited(_native.Holding.verify))
    def verify(self) -> None: ...
    @instead(Answers[Transaction].at_once(_native.Holding.guarded))
    def guarded(self) -> None: ...


class Held(Holding, _native.HeldBase):
    """One acquisition. As a context manager it is released on exit; leaving raises Lost if it was lost."""

    _revoked: asyncio.Event | None = None

    @instead(Answers["Held"].awaited(_native.HeldBase.downgrade))
    def downgrade(self) -> None: ...

    @property
    def revoked(self) -> asyncio.Event:
        """Set when somebody asks for this (`lock.revoke()`): finish, then release."""
        if self._revoked is None:
            event = asyncio.Event()
            # Refused where no loop runs. Then whoever looks again has one that is set.
            self.on_revoke(event.set)
            self._revoked = event
        return self._revoked

    async def __aenter__(self) -> Self:
        self._check()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await leave(self, kind is not None)
