"""Users' callbacks, as they were registered: with the context variables of that moment, and the loop, if there was one.

Nothing is imported here when one is called: it would be on a thread of the library, maybe while the interpreter exits.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import logging
from collections.abc import Callable as Function
from collections.abc import Coroutine
from time import monotonic
from typing import TYPE_CHECKING, Any

from ._log import say

if TYPE_CHECKING:
    import asyncio

    from ._native import CallbackTimes

# A loop keeps its tasks weakly. Those of a loop that has closed are forgotten when another one begins.
_running: set[asyncio.Task[object]] = set()


def problem(function: Function[..., object], on_a_loop: bool) -> str | None:
    """Why this cannot be a callback."""
    while isinstance(function, functools.partial):
        function = function.func
    # An object that is called by an `async def __call__`, too.
    called = (function, type(function).__call__)
    if any(map(inspect.isasyncgenfunction, called)):
        return "must be a function, not an asynchronous generator, which nobody would iterate"
    if any(map(inspect.isgeneratorfunction, called)):
        return "must be a function, not a generator, which nobody would iterate"
    if not on_a_loop and any(map(inspect.iscoroutinefunction, called)):
        return "must be a plain function, not a coroutine function: there is no event loop here; see zkrecipes.aio"
    return None


def problem_of_result(result: object, on_a_loop: bool) -> str | None:
    """Why this is not what a function may answer that has done its work."""
    if inspect.isawaitable(result):
        if on_a_loop:
            return None
        if inspect.iscoroutine(result):
            result.close()
        return (
            "must be done when it returns, and not return a coroutine: there is no event loop here; see zkrecipes.aio"
        )
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        return "must be done when it returns, and not return a generator, whose work comes later"
    return None


async def awaited(result: object) -> Any:
    """What a function of asyncio answers in the end, whether or not it was a coroutine function."""
    return await result if inspect.isawaitable(result) else result


def log_failure(path: str, raised: BaseException) -> None:
    """Of the work of a leader; the library says what comes of it."""
    message = "exception in the work of the leader of %s"
    say(logging.ERROR, "work_failed", message, path, raised=raised, path=path, error=raised)


def _tell_failed(function: Function[..., object], error: Exception) -> None:
    message = "exception in the callback %r"
    say(logging.ERROR, "callback_failed", message, function, raised=error, callback=function, error=error)


class Registration:
    """What unsubscribing ends. Whoever keeps it, keeps neither the function nor what that refers to."""

    ended = False

    def end(self) -> None:
        self.ended = True


class Callback:
    """One of the blocking face, called on a thread of the library."""

    def __init__(self, function: Function[..., object]) -> None:
        self._function = function
        self._context = contextvars.copy_context()
        self.registration = Registration()

    def __repr__(self) -> str:
        return f"<callback {self._function!r}>"

    def __call__(self, *arguments: object) -> None:
        # A copy: what one call sets, the next one must not see, and two threads cannot be in one context.
        self._context.copy().run(self._run, *arguments)

    def _run(self, *arguments: object) -> None:
        try:
            result = self._function(*arguments)
        except Exception as error:
            _tell_failed(self._function, error)
            return
        if inspect.iscoroutine(result):
            result.close()
            say(
                logging.ERROR,
                "callback_failed",
                "the callback %r returned a coroutine, which is not run: there is no loop here; see zkrecipes.aio",
                self._function,
                callback=self._function,
                error="returned a coroutine",
            )


def timed(times: CallbackTimes, function: Function[..., Any], *arguments: object) -> Any:
    """Calls it on a loop, for which everything else waits that long."""
    begun = monotonic()
    try:
        return function(*arguments)
    finally:
        times.took(monotonic() - begun)


class Timed(Coroutine[Any, Any, Any]):
    """A coroutine, of which each step is timed. Where it stands is asked of the coroutine itself, as tasks do."""

    def __init__(self, times: CallbackTimes, coroutine: Coroutine[Any, Any, object]) -> None:
        self._times = times
        self._coroutine = coroutine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._coroutine, name)

    def __await__(self) -> Timed:
        return self

    def __iter__(self) -> Timed:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        return timed(self._times, self._coroutine.send, value)

    def throw(self, *raised: Any) -> Any:
        return timed(self._times, self._coroutine.throw, *raised)

    def close(self) -> None:
        timed(self._times, self._coroutine.close)


class LoopCallback:
    """One of asyncio, called on the loop that registered it.

    A coroutine that it returns is run as a task, which goes on when the callback is unsubscribed.
    """

    def __init__(self, function: Function[..., object], times: CallbackTimes) -> None:
        from asyncio import get_running_loop

        self._function = function
        self._times = times
        self._loop = get_running_loop()
        self._context = contextvars.copy_context()
        self.registration = Registration()

    def __repr__(self) -> str:
        return f"<callback {self._function!r}>"

    def __call__(self, *arguments: object) -> None:
        """On a thread of the library."""
        try:
            self._loop.call_soon_threadsafe(self._run, *arguments, context=self._context)
        except RuntimeError:
            message = "the loop closed before %r could be called"
            say(logging.DEBUG, "callback_missed", message, self._function, callback=self._function)

    def _run(self, *arguments: object) -> None:
        if self.registration.ended:
            return
        try:
            result = timed(self._times, self._function, *arguments)
        except Exception as error:
            _tell_failed(self._function, error)
            return
        if inspect.iscoroutine(result):
            self._begin(result)

    def _begin(self, coroutine: Coroutine[Any, Any, object]) -> None:
        # Of a copy, made in one step: other threads have loops, too.
        _running.difference_update([task for task in _running.copy() if task.get_loop().is_closed()])
        # In our context already, of which the task takes a copy.
        task: asyncio.Task[object] = self._loop.create_task(Timed(self._times, coroutine))
        _running.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[object]) -> None:
        _running.discard(task)
        if task.cancelled():
            return
        exception = task.exception()
        if exception is not None:
            self._loop.call_exception_handler(
                {
                    "message": f"exception in the callback {self._function!r} of zkrecipes",
                    "exception": exception,
                    "task": task,
                }
            )
