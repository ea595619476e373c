"""`stop`: an event of the user's that ends what goes on for long, whether it is set before that begins or later.

`cancel()` ends only what is under way: a signal that comes a moment before that begins would be lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterator

from ._native import InvalidType

# For how long at most a thread outlives what it was to end, in seconds.
_LOOK_EVERY = 0.5


class Stopping:
    """There for as long as what would be ended goes on."""

    def __init__(self, stop: threading.Event, end: Callable[[], object]) -> None:
        self._stop, self._end = stop, end

    def look(self) -> None:
        """Ends it if it is to end: here, and no moment later."""
        if self._stop.is_set():
            self._end()


def stopped_by(stop: object, end: Callable[[], object]) -> Stopping | None:
    """Calls `end` once `stop` is set: now, or from a thread, unless nobody refers to what this answers any more."""
    if stop is None:
        return None
    if not isinstance(stop, threading.Event):
        raise InvalidType(f"invalid stop: must be a threading.Event, not {type(stop).__name__}")
    stopping = Stopping(stop, end)
    if stop.is_set():
        end()
    else:
        wait = functools.partial(_wait, stop, weakref.ref(stopping))
        threading.Thread(target=wait, name="zkrecipes stop", daemon=True).start()
    return stopping


def _wait(stop: threading.Event, waiting: weakref.ref[Stopping]) -> None:
    while not stop.wait(_LOOK_EVERY):
        if waiting() is None:
            return
    stopping = waiting()
    if stopping is not None:
        stopping.look()


@contextlib.contextmanager
def stopped_on_a_loop(stop: object, end: Callable[[], object]) -> Iterator[None]:
    """The same for the body of a `with`, as a task."""
    if stop is None:
        yield
        return
    if not isinstance(stop, asyncio.Event):
        raise InvalidType(f"invalid stop: must be an asyncio.Event, not {type(stop).__name__}")
    if stop.is_set():
        end()
    waiting = asyncio.ensure_future(_wait_on_a_loop(stop, end))
    try:
        yield
    finally:
        # The loop may have closed, and cannot be told.
        with contextlib.suppress(RuntimeError):
            waiting.cancel()


async def _wait_on_a_loop(stop: asyncio.Event, end: Callable[[], object]) -> None:
    await stop.wait()
    end()
