"""From threads of the library to event loops, and to users' callbacks.

The native methods of asyncio objects return a `Call`. It is awaited here, with one promise: a result that cannot be
delivered (the task was cancelled, the loop has closed) is undone, so that no lock stays held by nobody.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._native import Call, Outcome

logger = logging.getLogger("zkrecipes")


async def settle(call: Call) -> Any:
    """Begins a native call and waits for its outcome on the running loop."""
    loop = asyncio.get_running_loop()
    arrival: asyncio.Future[Outcome] = loop.create_future()

    def deliver(outcome: Outcome) -> None:  # on a thread of the library; raises RuntimeError if the loop has closed
        loop.call_soon_threadsafe(_arrive, arrival, outcome)

    call.start(deliver)
    try:
        outcome = await arrival
    except BaseException:
        call.cancel()
        if arrival.done() and not arrival.cancelled():
            arrival.result().discard()
        raise
    return outcome.take()


def _arrive(arrival: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if arrival.done():
        outcome.discard()
    else:
        arrival.set_result(outcome)


def run_callback(callback: Callable[..., object], arguments: list[Any]) -> None:
    """Runs a user's callback; what it raises is logged and stops nothing."""
    try:
        callback(*arguments)
    except Exception:
        logger.exception("exception in the callback %r", callback)


def post_callback(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], arguments: list[Any]) -> None:
    """The same on the loop that the callback was registered on, if it still runs."""
    if not loop.is_closed():
        try:
            loop.call_soon_threadsafe(run_callback, callback, arguments)
        except RuntimeError:
            logger.debug("the loop closed before %r could be called", callback)
