"""`queue.process(work)`: the work on items, in threads and as tasks."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from . import _native
from ._bridge import settle
from ._callbacks import logger, problem_of_result
from ._leading import end_tasks

if TYPE_CHECKING:
    from ._queues import Item

_T = TypeVar("_T")


def run(workers: list[_native.Claims], work: Callable[[_native.Item], object], path: str) -> None:
    """In this thread where there is one worker, which Ctrl-C interrupts; else with a thread for each of them."""
    if len(workers) == 1:
        _work_through(workers[0], work, path)
        return

    def end() -> None:
        for items in workers:
            items._end()

    threads: list[_Worker] = []
    try:
        for number, items in enumerate(workers, 1):
            threads.append(_Worker(f"{path} {number}", functools.partial(_work_through, items, work, path), end))
            threads[-1].start()
        for thread in threads:
            thread.until_over()
    except BaseException:
        end()
        for thread in threads:
            thread.until_over()
        raise
    for thread in threads:
        if thread.raised is not None:
            raise thread.raised


class _Worker(threading.Thread):
    """One that ends all of them when it ends."""

    raised: BaseException | None = None

    def __init__(self, name: str, work_through: Callable[[], None], end: Callable[[], None]) -> None:
        super().__init__(name=name)
        self._work_through, self._end = work_through, end
        self._over = threading.Event()

    def run(self) -> None:
        try:
            self._work_through()
        except BaseException as raised:
            self.raised = raised
        finally:
            self._end()
            self._over.set()

    def until_over(self) -> None:
        # Not `join`: before Python 3.13 a thread counts as ended when Ctrl-C interrupts who joins it.
        while not self._over.wait(_LOOK_EVERY):
            if self.ident is None:
                # It could not be started.
                return


# In seconds. One that runs says so by itself.
_LOOK_EVERY = 0.5


def _work_through(items: _native.Claims, work: Callable[[_native.Item], object], path: str) -> None:
    for item in items:
        wrong: str | None = None
        try:
            with item:
                wrong = problem_of_result(work(item), on_a_loop=False)
                if wrong is not None:
                    raise _native.InvalidType(f"invalid work: {wrong}")
        except Exception as failure:
            # It would be the same with the next item.
            if wrong is not None:
                raise
            _tell(path, item.attempts, failure)


def _tell(path: str, attempts: int, failure: Exception) -> None:
    if isinstance(failure, _native.Error):
        # What has happened, and what to do, is said by the error itself.
        logger.warning("an item of %s, attempt %d: %s", path, attempts, failure)
    else:
        logger.warning("exception in the work on an item of %s, attempt %d", path, attempts, exc_info=failure)


async def run_tasks(workers: list[_native.Claims], work: Callable[[Item], object], path: str) -> None:
    """With a task for each worker."""
    tasks = [asyncio.ensure_future(_serve(items, work, path)) for items in workers]

    def end() -> None:
        for items in workers:
            items._end()

    try:
        # One that has failed ends the others, when they are done with what they have begun.
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        end()
        await asyncio.wait(tasks)
    except GeneratorExit:
        # The loop may have closed, and cannot be told.
        with contextlib.suppress(RuntimeError):
            for task in tasks:
                task.cancel()
        raise
    except BaseException:
        end()
        await end_tasks(*tasks)
        raise
    raised = [task.exception() for task in tasks if not task.cancelled()]
    for failure in raised:
        if failure is not None:
            raise failure


async def _serve(items: _native.Claims, work: Callable[[Item], object], path: str) -> None:
    while True:
        try:
            item = cast("Item", await settle(items._next()))
        except StopAsyncIteration:
            return
        wrong: str | None = None
        failure: BaseException | None = None
        try:
            # As a task, too: who cancels the worker is not taken for who cancels what the work awaits.
            wrong = await _until_done(asyncio.ensure_future(_call(work, item)), item)
            if wrong is not None:
                raise _native.InvalidType(f"invalid work: {wrong}")
        except GeneratorExit:
            # Nobody goes on with this; the item goes back with `items`.
            raise
        except BaseException as raised:
            failure = raised
        try:
            await settle(item._leave(failure is not None, failure))
        except _native.Error as unsettled:
            if failure is None:
                _tell(path, item.attempts, unsettled)
        if failure is not None:
            if wrong is not None or not isinstance(failure, Exception):
                raise failure
            _tell(path, item.attempts, failure)


async def _call(work: Callable[[Item], object], item: Item) -> str | None:
    """Why it is no work, if so."""
    result = work(item)
    wrong = problem_of_result(result, on_a_loop=True)
    if wrong is None and inspect.isawaitable(result):
        await result
    return wrong


async def _until_done(working: asyncio.Task[_T], item: Item) -> _T | None:
    """Cancelled by the loss of the item, or with the task that waits for it."""
    is_lost = False

    def cancel(_: _native.Lost) -> None:
        nonlocal is_lost
        is_lost = True
        working.cancel()

    unsubscribe = item.on_lost(cancel)
    try:
        await asyncio.wait([working])
    except GeneratorExit:
        with contextlib.suppress(RuntimeError):
            working.cancel()
        raise
    except BaseException:
        await end_tasks(working)
        # Whoever finishes all the same is done.
        if not working.cancelled() and working.exception() is None:
            with contextlib.suppress(_native.Error):
                await item.ack()
        raise
    finally:
        unsubscribe()
    if not working.cancelled():
        return working.result()
    if not is_lost:
        # What it awaits was cancelled, which is a failure of the work.
        raise RuntimeError("the work was cancelled, and not by its queue")
    return None
