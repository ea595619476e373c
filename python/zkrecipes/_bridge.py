"""From threads of the library to event loops.

The native methods of asyncio objects return a `Call`. It is awaited here, with one promise: a result that cannot be
delivered (the task was cancelled, the loop has closed) is undone, so that no lock stays held by nobody.

What a verb takes, answers and promises is described once, by the native method. `awaited` makes its coroutine function.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from ._native import Call, Outcome

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def settle(call: Call) -> Any:
    """Begins a native call and waits for its outcome on the running loop."""
    loop = asyncio.get_running_loop()
    arrival: asyncio.Future[Outcome] = loop.create_future()
    is_withdrawn = False
    on_its_way: Outcome | None = None

    def deliver(outcome: Outcome) -> None:  # on a thread of the library; raises RuntimeError if the loop has closed
        nonlocal on_its_way
        on_its_way = outcome
        try:
            # After the assignment: whichever of the two sides is later undoes it, and no loop has to turn for that.
            if is_withdrawn:
                outcome.discard()
            else:
                loop.call_soon_threadsafe(_arrive, arrival, outcome)
        except RuntimeError:
            outcome.discard()
            raise

    call.start(deliver)
    try:
        outcome = await arrival
    except BaseException:
        is_withdrawn = True
        call.cancel()
        if on_its_way is not None:
            on_its_way.discard()
        raise
    return outcome.take()


def _arrive(arrival: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if arrival.done():
        outcome.discard()
    else:
        arrival.set_result(outcome)


def awaited(native: Callable[Concatenate[Any, _P], _T]) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]:
    """The coroutine function of a native verb, of which the stub says what it answers when it blocks."""

    @functools.wraps(native)
    async def verb(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return cast(_T, await settle(cast("Call", native(self, *args, **kwargs))))

    return verb


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
