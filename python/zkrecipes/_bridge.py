"""From threads of the library to event loops.

The native methods of asyncio objects return a `Call`. It is awaited here, with one promise: a result that cannot be
delivered (the task was cancelled, the loop has closed) is undone, so that no lock stays held by nobody.

What a verb takes, answers and promises is described once, by the native method. `awaited` makes its coroutine function.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import weakref
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from ._native import Inbox

if TYPE_CHECKING:
    from ._native import Call, Outcome

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def settle(call: Call, *, until_undone: bool = False) -> Any:
    """Begins a native call and waits for its outcome on the running loop.

    A cancel of the task ends it at once, or `until_undone` when the library has undone it: for what others must not
    count any more when the task goes on.
    """
    loop = asyncio.get_running_loop()
    arrival: asyncio.Future[Outcome] = loop.create_future()
    undone: asyncio.Future[None] | None = loop.create_future() if until_undone else None
    is_withdrawn = False
    on_its_way: Outcome | None = None

    def deliver(outcome: Outcome) -> None:  # on a thread of the library; raises RuntimeError if the loop has closed
        nonlocal on_its_way
        on_its_way = outcome
        try:
            # After the assignment: whichever of the two sides is later undoes it, and no loop has to turn for that.
            if is_withdrawn:
                outcome.discard()
                if undone is not None:
                    loop.call_soon_threadsafe(_tell, undone)
            else:
                loop.call_soon_threadsafe(_arrive, arrival, outcome)
        except RuntimeError:
            outcome.discard()
            raise

    def arrive(outcome: Outcome) -> None:  # on the loop; once more if the handler of a signal has raised out of it
        nonlocal on_its_way
        on_its_way = outcome
        _arrive(arrival, outcome)

    inbox = _inbox_of(loop)
    if inbox is None:
        call.start(deliver)
    else:
        call.start_for(inbox, arrive, deliver)
    try:
        outcome = await arrival
    except BaseException as error:
        is_withdrawn = True
        is_undone = call.cancel()
        if is_undone:
            pass
        elif on_its_way is not None:
            on_its_way.discard()
        elif undone is not None and isinstance(error, asyncio.CancelledError):
            await _until(undone)
        raise
    return outcome.take()


_inboxes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Inbox | None] = weakref.WeakKeyDictionary()
if hasattr(os, "register_at_fork"):
    # A child has the descriptors of its parent, which are no way of its own.
    os.register_at_fork(after_in_child=_inboxes.clear)


def _inbox_of(loop: asyncio.AbstractEventLoop) -> Inbox | None:
    """What the loop reads; none if it reads no descriptors."""
    try:
        return _inboxes[loop]
    except KeyError:
        pass
    # They hold descriptors, and a loop that has closed may not be collected for long. The loops of other threads come
    # and go meanwhile: what is gone through is a copy, made in one step.
    for reference in _inboxes.keyrefs():
        known = reference()
        if known is not None and known.is_closed():
            _inboxes.pop(known, None)
    inbox: Inbox | None
    try:
        inbox = Inbox()
        loop.add_reader(inbox.fileno(), inbox.deliver)
    except (OSError, NotImplementedError):
        inbox = None
    _inboxes[loop] = inbox
    return inbox


async def _until(undone: asyncio.Future[None]) -> None:
    """Waits for it although the task is cancelled, and may be once more."""
    while not undone.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([undone])


def _tell(undone: asyncio.Future[None]) -> None:
    if not undone.done():
        undone.set_result(None)


def _arrive(arrival: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not arrival.done():
        arrival.set_result(outcome)
    elif arrival.cancelled():
        outcome.discard()


def awaited(
    native: Callable[Concatenate[Any, _P], _T], *, until_undone: bool = False
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]:
    """The coroutine function of a native verb, of which the stub says what it answers when it blocks."""

    @functools.wraps(native)
    async def verb(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        call = cast("Call", native(self, *args, **kwargs))
        return cast(_T, await settle(call, until_undone=until_undone))

    return verb


def instead(verb: _T) -> Callable[[object], _T]:
    """Puts `verb` in the place of the function that it decorates, of which only the name counts.

    Pyright, and so VS Code, would take an assignment for what the base class says: a verb that blocks.
    """
    return lambda _: verb


class Answers(Generic[_T]):
    """The same for verbs that answer an object of the asyncio face, which is not the one that the stub says.

    `Answers[Held].awaited(native)`
    """

    @classmethod
    def awaited(
        cls, native: Callable[Concatenate[Any, _P], object]
    ) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]:
        return awaited(cast("Callable[Concatenate[Any, _P], _T]", native))

    @classmethod
    def at_once(cls, native: Callable[Concatenate[Any, _P], object]) -> Callable[Concatenate[Any, _P], _T]:
        """Of a verb that does not wait."""
        return cast("Callable[Concatenate[Any, _P], _T]", native)
