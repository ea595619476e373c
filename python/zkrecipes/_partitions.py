# The bases say what the verbs answer when they block; here they answer a coroutine of it, and some take more.
# mypy: disable-error-code="assignment,override"
"""The work on partitions, in threads and as tasks."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, cast

from . import _native
from ._bridge import Answers, awaited, instead, settle
from ._feeds import feeding
from ._held import Held
from ._leading import end_tasks
from ._stopping import stopped_by, stopped_on_a_loop
from ._threads import Worker

if TYPE_CHECKING:
    from typing_extensions import Self


def run(partitioner: _native.Partitioner, work: Callable[[_native.Held], object], stop: object) -> None:
    """`partitioner.run(work)`, with a thread for each partition."""
    _check(work)
    # First, which the cancel of a `stop` that is set ends.
    wins = iter(partitioner)
    stopping = stopped_by(stop, partitioner.cancel)
    try:
        _run(partitioner, wins, work)
    finally:
        del stopping


def _run(
    partitioner: _native.Partitioner, wins: Iterator[_native.Held], work: Callable[[_native.Held], object]
) -> None:
    serving: list[tuple[Worker, _native.Held]] = []
    has_left = False

    def serve(partition: _native.Held) -> None:
        try:
            work(partition)
        except BaseException as raised:
            _tell(partition, raised)

    try:
        try:
            for partition in wins:
                serving = [one for one in serving if not one[0].is_over()]
                name, release = f"partition {partition.name}", functools.partial(_release, partition)
                thread = Worker(name, functools.partial(serve, partition), release)
                # First, so that it is found whatever interrupts this thread.
                serving.append((thread, partition))
                thread.start()
        finally:
            for thread, partition in serving:
                if thread.ident is None:
                    # It could not be started: nobody would let go of this, and who leaves waits for that.
                    _release(partition)
            # It may have left.
            with contextlib.suppress(_native.Error):
                partitioner.leave()
            has_left = True
            for thread, _ in serving:
                thread.until_over()
    except BaseException:
        # Interrupted while it waited, or for a second time: nobody waits any more.
        if not has_left:
            # Perhaps before that was begun. It waits on a thread of its own, if there may be one.
            with contextlib.suppress(RuntimeError):
                Worker("zkrecipes leaving", partitioner.leave, lambda: None).start()
        for thread, partition in serving:
            if not thread.is_over():
                _release(partition, wait=False)
        raise


def _release(partition: _native.Held, wait: bool = True) -> None:
    # It may be lost; and what is not confirmed goes on in the background.
    with contextlib.suppress(_native.Error):
        partition.release(wait)


def _check(work: object) -> None:
    if not callable(work):
        raise _native.InvalidType(f"work: must be callable, not {type(work).__name__}")


def _tell(partition: _native.HeldBase, raised: BaseException) -> None:
    # What fails because the partition is gone does not fail.
    if partition.is_held:
        try:
            said = f"{type(raised).__name__}: {raised}".encode(errors="replace").decode()
        except Exception:
            said = type(raised).__name__
        _native.partition_failed(partition, said)


class _Wins:
    """One partition after the other, until its member leaves."""

    def __init__(self, wins: _native.Wins) -> None:
        self._wins = wins

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Held:
        return cast(Held, await settle(self._wins._next()))


class Partitioner(_native.PartitionerBase):
    """Partitions shared among the members who are there, as in `zkrecipes`: `async for partition in partitioner:`."""

    # --- generated from api: verbs of Partitioner for asyncio
    @instead(awaited(_native.PartitionerBase.leave))
    def leave(self) -> None: ...
    @instead(awaited(_native.PartitionerBase.owners))
    def owners(self) -> None: ...
    @instead(feeding(_native.PartitionerBase.watch))
    def watch(self) -> None: ...
    @instead(awaited(_native.PartitionerBase.members))
    def members(self) -> None: ...

    # --- end of generated

    @instead(Answers[Held].awaited(_native.PartitionerBase.next))
    def next(self) -> None: ...

    def __aiter__(self) -> _Wins:
        return _Wins(_native.Wins(self))

    async def run(self, work: Callable[[Held], Awaitable[object]], *, stop: asyncio.Event | None = None) -> None:
        """Works on all partitions that it wins at the same time, each as a task of its own, until it leaves.

        The task is cancelled when its partition is lost; `partition.on_revoke` tells that it is to move, and then it
        has the time for draining. What ends lets go of its partition; as long as that is this member's, it is begun
        again, after a pause. What it raises is logged. Cancelling `run` cancels the tasks and leaves. `cancel()` asks
        for the partitions, and waits for the tasks; so does `stop`, once that is set: with one that was set before, it
        wins nothing.
        """
        _check(work)
        # First, which the cancel of a `stop` that is set ends.
        wins = _Wins(_native.Wins(self))
        with stopped_on_a_loop(stop, self.cancel):
            await self._run(wins, work)

    async def _run(self, wins: _Wins, work: Callable[[Held], Awaitable[object]]) -> None:
        tasks: set[asyncio.Task[None]] = set()
        try:
            async for partition in wins:
                task = asyncio.create_task(self._serve(work, partition))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            await self._until_left()
            if tasks:
                await asyncio.wait(tasks)
        except GeneratorExit:
            # The loop may have closed, and cannot be told.
            with contextlib.suppress(RuntimeError):
                for task in tasks:
                    task.cancel()
            raise
        except BaseException:
            leaving = asyncio.ensure_future(self._until_left())
            try:
                await end_tasks(*tasks)
            except GeneratorExit:
                # The loop may have closed meanwhile: nobody goes on with this.
                raise
            except BaseException:
                # Cancelled once more, that goes on in the background.
                await leaving
                raise
            await leaving
            raise

    async def _until_left(self) -> None:
        # It may have left.
        with contextlib.suppress(_native.Error):
            await self.leave()

    async def _serve(self, work: Callable[[Held], Awaitable[object]], partition: Held) -> None:
        try:
            working = asyncio.ensure_future(work(partition))
            lost = partition.on_lost(lambda _: working.cancel())
            try:
                await asyncio.wait([working])
            except GeneratorExit:
                with contextlib.suppress(RuntimeError):
                    working.cancel()
                raise
            except BaseException:
                # It works as long as the partition is ours.
                await end_tasks(working)
                if not working.cancelled() and (raised := working.exception()) is not None:
                    _tell(partition, raised)
                raise
            finally:
                lost()
            if not working.cancelled() and (raised := working.exception()) is not None:
                _tell(partition, raised)
        except GeneratorExit:
            # Nobody goes on with this.
            _native.Terms.abandon(partition)
            raise
        except Exception as raised:
            # What is no coroutine function raises here.
            _tell(partition, raised)
        except BaseException:
            await self._let_go(partition)
            raise
        await self._let_go(partition)

    async def _let_go(self, partition: Held) -> None:
        with contextlib.suppress(_native.Error):
            await partition.release()
