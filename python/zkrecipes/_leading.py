"""Functions that are called while leading, or that say whether a candidate can."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import logging
import threading
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from ._bridge import settle
from ._callbacks import Timed, awaited, problem_of_result, timed
from ._decorators import check, done
from ._log import say
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


class Checks:
    """Asks `healthy` again and again, on a thread of its own, and says so of the candidate, until `end()`."""

    def __init__(self, election: _native.Election, healthy: Callable[[], object]) -> None:
        self._election, self._healthy = election, healthy
        self._failures = _HealthFailures(election.path)
        self._is_over = False
        # Ctrl-C cannot come between what happens when it is let go, as it can in an Event.
        self._until_over = threading.Lock()
        self._until_over.acquire()
        try:
            # On the thread of the run: what is no Exception ends that.
            self._ask(Exception)
            threading.Thread(target=self._check, name="zkrecipes healthy", daemon=True).start()
        except BaseException:
            self.end()
            raise

    def _check(self) -> None:
        while not self._until_over.acquire(timeout=self._election._health_interval):
            # Nobody would hear of the end of this thread.
            self._ask(BaseException)

    def _ask(self, caught: type[BaseException]) -> None:
        is_healthy = self._is_true(caught)
        if not self._is_over:
            self._election._set_healthy(is_healthy)
            # It may have ended just before that was said.
            if self._is_over:
                self._election._set_healthy(True)

    def _is_true(self, caught: type[BaseException]) -> bool:
        try:
            is_true = bool(done(self._healthy(), on_a_loop=False))
        except caught as error:
            self._failures.tell(error)
            return False
        self._failures.are_over()
        return is_true

    def end(self) -> None:
        """Can be done again, where Ctrl-C came meanwhile."""
        self._is_over = True
        self._election._set_healthy(True)
        if self._until_over.locked():
            self._until_over.release()


class _HealthFailures:
    """Tells what `healthy` raises, and the same error once, until it raises nothing."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._last: str | None = None

    def tell(self, error: BaseException) -> None:
        try:
            said = repr(error)
        except Exception:
            said = type(error).__name__
        if said != self._last:
            message = "exception in healthy of %s: the candidate counts as not healthy"
            say(logging.WARNING, "health_failed", message, self._path, raised=error, path=self._path, error=error)
        self._last = said

    def are_over(self) -> None:
        self._last = None


@contextlib.asynccontextmanager
async def checking(election: aio.Election, healthy: Callable[[], object] | None) -> AsyncIterator[None]:
    """The same as a task."""
    if healthy is None:
        yield
        return
    if not callable(healthy):
        raise InvalidType(f"invalid healthy: must be callable, not {type(healthy).__name__}")

    is_over = False
    failures = _HealthFailures(election.path)

    async def ask() -> None:
        try:
            result = healthy()
            if inspect.isawaitable(result):
                result = await result
            is_healthy = bool(result)
            failures.are_over()
        except (Exception, asyncio.CancelledError) as error:
            # Else what it awaits was cancelled, and not this task.
            if is_over:
                return
            failures.tell(error)
            is_healthy = False
        if not is_over:
            election._set_healthy(is_healthy)

    async def check() -> None:
        while not is_over:
            await asyncio.sleep(election._health_interval)
            await ask()

    # A task, too: who cancels the run is not taken for who cancels what it awaits.
    task = asyncio.ensure_future(ask())
    try:
        await asyncio.wait({task})
        task.result()
        task = asyncio.ensure_future(check())
        yield
    except GeneratorExit:
        is_over = True
        # The loop may have closed, and cannot be told.
        with contextlib.suppress(RuntimeError):
            task.cancel()
        raise
    finally:
        try:
            # Of a coroutine that is being closed, nobody would go on with it.
            if not is_over:
                is_over = True
                await end_tasks(task)
        finally:
            election._set_healthy(True)


class Signal(threading.Event):
    """Set when the work of a term is to end, whatever the reason."""

    def __init__(self, leadership: _native.Leadership) -> None:
        super().__init__()
        # One that nobody else refers to any more is released.
        self._leadership = weakref.ref(leadership)
        leadership.on_revoke(self.set)
        leadership.on_lost(lambda _: self.set())

    def is_set(self) -> bool:
        # Resigned, or all was cancelled: nobody calls back then. Asked for it: other callbacks may keep ours waiting.
        leadership = self._leadership()
        return super().is_set() or leadership is None or not leadership.is_held or leadership._is_over

    def wait(self, timeout: float | None = None) -> bool:
        ends = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            left = _LOOK_EVERY if ends is None else min(_LOOK_EVERY, ends - time.monotonic())
            if left <= 0:
                return False
            super().wait(left)
        return True


# What nobody calls back for, or late, is looked for so often, in seconds.
_LOOK_EVERY = 0.1
_signals: weakref.WeakKeyDictionary[_native.Leadership, Signal] = weakref.WeakKeyDictionary()


def signal(leadership: _native.Leadership) -> Signal:
    """One and the same for each leadership."""
    found = _signals.get(leadership)
    if found is None:
        found = _signals.setdefault(leadership, Signal(leadership))
    return found


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
        await end_tasks(task, term)
        raise
    ended_by_itself = task.done()
    await end_tasks(task, term)
    if task.cancelled():
        return None
    raised = task.exception()
    if raised is None or isinstance(raised, Exception):
        if raised is not None and not ended_by_itself:
            # It was cancelled, and that is how it answered: the next term need not wait for it.
            message, path = "exception in the work of the leader of %s whose term was over", leadership.path
            say(logging.WARNING, "work_failed", message, path, raised=raised, path=path, error=raised)
            return None
        return raised
    raise raised


async def end_tasks(*tasks: asyncio.Future[Any]) -> None:
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
