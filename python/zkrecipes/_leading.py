"""Functions that are called while leading."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from ._bridge import settle
from ._callbacks import Timed, awaited, logger, problem_of_result, timed
from ._decorators import check, done
from ._native import InvalidType

if TYPE_CHECKING:
    from . import _native, aio

_P = ParamSpec("_P")
_T = TypeVar("_T")


def blocking(
    election: _native.Election, function: Callable[Concatenate[_native.Leadership, _P], _T]
) -> Callable[_P, _T]:
    @functools.wraps(function)
    def led(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        with election as leadership:
            return done(function(leadership, *args, **kwargs), on_a_loop=False)

    # Which would say that callers give the leadership.
    del led.__wrapped__
    return led


def asynchronous(
    election: aio.Election, function: Callable[Concatenate[aio.Leadership, _P], Awaitable[_T]]
) -> Callable[_P, Coroutine[Any, Any, _T]]:
    check(function, on_a_loop=True)

    @functools.wraps(function)
    async def led(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        async with election as leadership:
            result: _T = await awaited(done(function(leadership, *args, **kwargs), on_a_loop=True))
            return result

    del led.__wrapped__
    return led


async def run(terms: _native.Terms, work: Callable[[aio.Leadership], object]) -> None:
    """Term after term, until it is cancelled."""
    while True:
        leadership: aio.Leadership | None = await settle(terms.next())
        if leadership is None or not terms.begins(leadership):
            return
        raised: Exception | None = None
        wrong: str | None = None
        try:
            result = timed(terms.times, work, leadership)
            wrong = problem_of_result(result, on_a_loop=True)
            if inspect.isawaitable(result):
                working = Timed(terms.times, result) if inspect.iscoroutine(result) else result
                raised = await _while_it_leads(working, terms, leadership)
        except Exception as error:
            raised = error
        except BaseException:
            # Awaits nothing: of a coroutine that is being closed, nobody would go on with it.
            terms.abandon(leadership)
            raise
        await settle(terms.end(leadership, raised))
        if wrong is not None:
            raise InvalidType(f"invalid work: {wrong}")


async def _while_it_leads(
    working: Awaitable[object], terms: _native.Terms, leadership: aio.Leadership
) -> Exception | None:
    """What the work raised, if it did. Nobody else leads before it has ended, unless the leadership was lost."""
    task = asyncio.ensure_future(working)
    term = asyncio.ensure_future(settle(terms.over(leadership)))
    try:
        await asyncio.wait({task, term}, return_when=asyncio.FIRST_COMPLETED)
    except GeneratorExit:
        # The loop may have closed, and cannot be told.
        with contextlib.suppress(RuntimeError):
            for one in (task, term):
                one.cancel()
        raise
    except BaseException:
        await _end(task, term)
        raise
    ended_by_itself = task.done()
    await _end(task, term)
    if task.cancelled():
        return None
    raised = task.exception()
    if raised is None or isinstance(raised, Exception):
        if raised is not None and not ended_by_itself:
            # It was cancelled, and that is how it answered: the next term need not wait for it.
            logger.warning("exception in the work of a leader whose term was over", exc_info=raised)
            return None
        return raised
    raise raised


async def _end(*tasks: asyncio.Future[Any]) -> None:
    """Cancels them and waits for their end. If its caller is cancelled meanwhile, it cancels them again."""
    again: asyncio.CancelledError | None = None
    while not all(one.done() for one in tasks):
        for one in tasks:
            one.cancel()
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError as cancelled:
            again = cancelled
    if again is not None:
        raise again
