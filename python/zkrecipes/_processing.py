"""`queue.process(work)`: the work on items, in threads and as tasks."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from . import _native
from ._bridge import settle
from ._callbacks import problem_of_result
from ._leading import end_tasks
from ._log import say
from ._stopping import Stopping, stopped_by
from ._threads import Worker

if TYPE_CHECKING:
    from ._queues import Item

_T = TypeVar("_T")


def run(workers: list[_native.Claims], work: Callable[[_native.Item], object], path: str, stop: object) -> None:
    """In this thread where there is one worker, which Ctrl-C interrupts; else with a thread for each of them."""
    stopping = stopped_by(stop, functools.partial(end_all, workers))
    try:
        _run(workers, work, path, stopping)
    finally:
        del stopping


def end_all(workers: list[_native.Claims]) -> None:
    """Nothing more is taken; what is in work is finished."""
    for items in workers:
        items._end()


def _run(
    workers: list[_native.Claims], work: Callable[[_native.Item], object], path: str, stopping: Stopping | None
) -> None:
    if len(workers) == 1:
        _work_through(workers[0], work, path, stopping)
        return

    end = functools.partial(end_all, workers)
    threads: list[Worker] = []
    try:
        for number, items in enumerate(workers, 1):
            threads.append(
                Worker(f"{path} {number}", functools.partial(_work_through, items, work, path, stopping), end)
            )
            threads[-1].start()
        for thread in threads:
            thread.until_over()
    except BaseException:
        try:
            end()
            for thread in threads:
                thread.until_over()
        except BaseException:
            # Interrupted again, perhaps before they were all told.
            end()
            raise
        finally:
            _tell_hidden(path, None, [thread.raised for thread in threads])
        raise
    _raise_first(path, [thread.raised for thread in threads])


def _raise_first(path: str, raised: list[BaseException | None]) -> None:
    """The others are told in the log."""
    first = next((failure for failure in raised if failure is not None), None)
    if first is not None:
        _tell_hidden(path, first, raised)
        raise first


def _tell_hidden(path: str, shown: BaseException | None, raised: list[BaseException | None]) -> None:
    """What has ended workers, and nobody sees; what several say, once."""
    told = set() if shown is None else {_said_by(shown)}
    for failure in raised:
        if failure is not None and _said_by(failure) not in told:
            told.add(_said_by(failure))
            message = "exception that ended a worker on %s"
            say(logging.ERROR, "worker_failed", message, path, raised=failure, queue=path, error=failure)


def _said_by(failure: BaseException) -> tuple[type, str]:
    try:
        return type(failure), str(failure)
    except Exception:
        return type(failure), ""


def _work_through(
    items: _native.Claims, work: Callable[[_native.Item], object], path: str, stopping: Stopping | None
) -> None:
    for item in items:
        wrong: str | None = None
        is_done = False
        try:
            with item:
                wrong = problem_of_result(work(item), on_a_loop=False)
                if wrong is not None:
                    raise _native.InvalidType(f"invalid work: {wrong}")
                is_done = True
        except Exception as failure:
            # It would be the same with the next item.
            if wrong is not None:
                raise
            # The loss of the item has a record of its own.
            if not (is_done and isinstance(failure, _native.Lost)):
                _tell(path, item, failure)
        if stopping is not None:
            stopping.look()


def _tell(path: str, item: _native.Item | _native.ItemBase, failure: Exception) -> None:
    if isinstance(failure, _native.Error):
        # What has happened, and what to do, is said by the error itself.
        _say(logging.WARNING, path, item, failure, "%s of %s, attempt %d: %s", failure)
    else:
        _say(logging.WARNING, path, item, failure, "exception in the work on %s of %s, attempt %d", raised=failure)


def _say(
    level: int,
    path: str,
    item: _native.Item | _native.ItemBase,
    failure: Exception,
    message: str,
    *more: object,
    raised: Exception | None = None,
) -> None:
    name, attempt = _name(item), item.attempts
    words = (name, path, attempt, *more)
    say(level, "item_failed", message, *words, raised=raised, queue=path, item=name, attempt=attempt, error=failure)


def _name(item: _native.Item | _native.ItemBase) -> str:
    """Of its node in the queue, which its claim has, too: what has been put may be a secret."""
    return item.node.rpartition("/")[2]


async def run_tasks(workers: list[_native.Claims], work: Callable[[Item], object], path: str) -> None:
    """With a task for each worker."""
    tasks = [asyncio.ensure_future(_serve(items, work, path)) for items in workers]
    end = functools.partial(end_all, workers)
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
        try:
            await end_tasks(*tasks)
        finally:
            _tell_hidden(path, None, _raised_by(tasks))
        raise
    _raise_first(path, _raised_by(tasks))


def _raised_by(tasks: list[asyncio.Task[None]]) -> list[BaseException | None]:
    return [task.exception() for task in tasks if task.done() and not task.cancelled()]


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
            wrong = await _until_done(asyncio.ensure_future(_call(work, item)), item, path)
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
            # The loss of the item has a record of its own.
            if failure is None and not isinstance(unsettled, _native.Lost):
                _tell(path, item, unsettled)
        except BaseException:
            # Cancelled meanwhile, whose end says nothing of the work.
            if wrong is not None or not isinstance(failure, (Exception, asyncio.CancelledError)):
                _tell_hidden(path, None, [failure])
            elif isinstance(failure, Exception):
                _tell(path, item, failure)
            raise
        if failure is not None:
            if wrong is not None or not isinstance(failure, Exception):
                raise failure
            _tell(path, item, failure)


async def _call(work: Callable[[Item], object], item: Item) -> str | None:
    """Why it is no work, if so."""
    result = work(item)
    wrong = problem_of_result(result, on_a_loop=True)
    if wrong is None and inspect.isawaitable(result):
        await result
    return wrong


async def _until_done(working: asyncio.Task[_T], item: Item, path: str) -> _T | None:
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
        if not working.cancelled():
            failure = working.exception()
            if isinstance(failure, Exception):
                # Its end is that of who was cancelled, and says nothing of this. What is no Exception ends the loop.
                message = "exception in the work on %s of %s, attempt %d, that was cancelled"
                _say(logging.ERROR, path, item, failure, message, raised=failure)
            elif failure is None:
                # Whoever finishes all the same is done.
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
