"""What may be a callback, and where it runs."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import logging
import queue
import threading
import time
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

import pytest
import zkrecipes
from conftest import eventually
from test_aio import run
from zkrecipes import aio
from zkrecipes.testing import EmbeddedServer

Told = Callable[[str], object]

REGISTRATIONS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "client.on_state": lambda client, lock, held, callback: client.on_state(callback),
    "held.on_lost": lambda client, lock, held, callback: held.on_lost(callback),
    "held.on_revoke": lambda client, lock, held, callback: held.on_revoke(callback),
    "lock.on_lost": lambda client, lock, held, callback: lock.on_lost(callback),
    "lock.on_revoke": lambda client, lock, held, callback: lock.on_revoke(callback),
}
HANDLES: dict[str, Callable[[Any], Any]] = {
    "lock": lambda client: client.lock("/lock"),
    "multi-lock": lambda client: client.multi_lock([client.lock("/lock"), client.lock("/other")]),
    "semaphore": lambda client: client.semaphore("/permits", 1),
    "reader": lambda client: client.read_write_lock("/both").read,
}
every_registration = pytest.mark.parametrize("registration", REGISTRATIONS)
every_handle = pytest.mark.parametrize("handle", HANDLES.values(), ids=HANDLES)


def coroutine_function(told: Told) -> Callable[..., Any]:
    async def callback(*_: object) -> None:
        await asyncio.sleep(0)
        told("told")

    return callback


def callable_object(told: Told) -> Callable[..., Any]:
    class Callback:
        async def __call__(self, *_: object) -> None:
            await asyncio.sleep(0)
            told("told")

    return Callback()


def method(told: Told) -> Callable[..., Any]:
    class Owner:
        async def callback(self, *_: object) -> None:
            told("told")

    return Owner().callback


COROUTINE_FUNCTIONS: dict[str, Callable[[Told], Callable[..., Any]]] = {
    "function": coroutine_function,
    "method": method,
    "partial": lambda told: functools.partial(coroutine_function(told)),
    "partial of a partial": lambda told: functools.partial(functools.partial(method(told))),
    "object": callable_object,
    "partial of an object": lambda told: functools.partial(callable_object(told)),
}
kinds = pytest.mark.parametrize("kind", COROUTINE_FUNCTIONS.values(), ids=COROUTINE_FUNCTIONS)


def plain(told: Told) -> Callable[..., Any]:
    """One that cannot be seen to be a coroutine function until it is called."""
    return lambda *_: coroutine_function(told)()


@pytest.fixture(autouse=True)
def no_warning() -> Iterator[None]:
    """Such as "never awaited"."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


async def disturb(server: EmbeddedServer, until: Callable[[], object]) -> None:
    """Changes a client's state; a change that is over at once may go untold."""
    while not until():
        server.drop_connections()
        await asyncio.sleep(0.02)


# --- asyncio


@every_registration
@every_handle
def test_a_coroutine_function_is_run_on_the_loop(
    server: EmbeddedServer, registration: str, handle: Callable[[Any], Any]
) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            lock = handle(client)
            held = await lock.acquire()
            told: asyncio.Queue[object] = asyncio.Queue()
            REGISTRATIONS[registration](client, lock, held, coroutine_function(told.put_nowait))
            if registration.endswith("on_revoke"):
                assert await lock.revoke()
            else:
                server.expire(client.session_id)
            assert await told.get() == "told"

    run(body())


@pytest.mark.parametrize("kind", [*COROUTINE_FUNCTIONS.values(), plain], ids=[*COROUTINE_FUNCTIONS, "plain function"])
def test_whatever_returns_a_coroutine_is_run(server: EmbeddedServer, kind: Callable[[Told], Any]) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            told: asyncio.Queue[object] = asyncio.Queue()
            client.on_state(kind(told.put_nowait))
            await disturb(server, until=told.qsize)
            assert await told.get() == "told"

    run(body())


def test_a_callback_runs_in_the_context_of_its_registration(server: EmbeddedServer) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    told: queue.Queue[tuple[str, str]] = queue.Queue()

    def register(client: Any, value: str, callback: Callable[..., Any]) -> None:
        variable.set(value)
        client.on_state(callback)

    def function(_: object) -> None:
        told.put(("function", variable.get()))

    async def coroutine(_: object) -> None:
        await asyncio.sleep(0)
        told.put(("coroutine", variable.get()))

    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            register(client, "one", function)
            register(client, "two", coroutine)
            variable.set("three")
            await disturb(server, until=lambda: len(set(told.queue)) == 2)

    run(body())
    assert set(told.queue) == {("function", "one"), ("coroutine", "two")}
    with zkrecipes.Client(server.connect_string) as client:
        contextvars.copy_context().run(register, client, "four", function)
        asyncio.run(disturb(server, until=lambda: ("function", "four") in told.queue))


def test_an_exception_of_a_task_goes_to_the_loops_handler(server: EmbeddedServer) -> None:
    async def body() -> None:
        handled: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        asyncio.get_running_loop().set_exception_handler(lambda _, context: handled.put_nowait(context))

        async def explode(state: aio.State) -> None:
            raise ZeroDivisionError("in the callback")

        async with aio.Client(server.connect_string) as client:
            client.on_state(explode)
            await disturb(server, until=handled.qsize)
            context = await handled.get()
            assert isinstance(context["exception"], ZeroDivisionError)
            assert "explode" in context["message"]
            assert isinstance(context["task"], asyncio.Task)
            # It stops nothing.
            await disturb(server, until=handled.qsize)

    run(body())


def test_a_task_is_not_collected_while_it_waits(server: EmbeddedServer) -> None:
    async def body() -> None:
        began: asyncio.Queue[weakref.ref[asyncio.Future[None]]] = asyncio.Queue()
        ended = asyncio.Event()

        async def wait(state: aio.State) -> None:
            awaited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            began.put_nowait(weakref.ref(awaited))
            del state
            await awaited
            ended.set()

        async with aio.Client(server.connect_string) as client:
            client.on_state(wait)
            await disturb(server, until=began.qsize)
            reference = await began.get()
            gc.collect()
            awaited = reference()
            assert awaited, "it is gone, and with it the task"
            awaited.set_result(None)
            await ended.wait()

    run(body())


def test_unsubscribing_ends_the_calls_and_lets_a_task_finish(server: EmbeddedServer) -> None:
    async def body() -> None:
        began, finish = asyncio.Event(), asyncio.Event()
        calls: list[str] = []

        async def callback(state: aio.State) -> None:
            calls.append(state)
            began.set()
            await finish.wait()
            calls.append("finished")

        async with aio.Client(server.connect_string) as client:
            unsubscribe = client.on_state(callback)
            await disturb(server, until=began.is_set)
            begun = len(calls)
            unsubscribe()
            unsubscribe()
            finish.set()
            told: asyncio.Queue[object] = asyncio.Queue()
            client.on_state(told.put_nowait)
            await disturb(server, until=lambda: told.qsize() > 4)
            assert calls[begun:] == ["finished"] * begun

    run(body())


def test_what_is_on_its_way_to_the_loop_when_it_is_unsubscribed_is_not_called(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body() -> None:
        loop, posted = asyncio.get_running_loop(), threading.Event()
        post = loop.call_soon_threadsafe

        def noted(function: Callable[..., object], *arguments: Any, **options: Any) -> asyncio.Handle:
            handle = post(function, *arguments, **options)
            posted.set()
            return handle

        async with aio.Client(server.connect_string) as client:
            calls: list[aio.State] = []
            unsubscribe = client.on_state(calls.append)
            monkeypatch.setattr(loop, "call_soon_threadsafe", noted)
            # The loop does not turn meanwhile.
            while not posted.wait(0.02):
                server.drop_connections()
            unsubscribe()
            monkeypatch.undo()
        assert calls == []

    run(body())


def test_a_loop_that_closes_leaves_no_task_and_no_noise(
    server: EmbeddedServer, caplog: pytest.LogCaptureFixture
) -> None:
    """In the middle of a callback, and when the next one is due."""
    began: list[aio.State] = []
    clients: list[aio.Client] = []

    async def callback(state: aio.State) -> None:
        began.append(state)
        await asyncio.sleep(3600)

    async def body() -> None:
        client = await aio.Client.connect(server.connect_string)
        clients.append(client)
        client.on_state(callback)
        await disturb(server, until=lambda: began)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(body())
    tasks = asyncio.all_tasks(loop)
    references = [weakref.ref(task) for task in tasks]
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.wait(tasks))
    del task, tasks
    gc.collect()
    assert references
    assert not any(reference() for reference in references)

    eventually(lambda: clients[0].state == "connected")
    loop.close()
    with caplog.at_level(logging.INFO, logger="zkrecipes"):
        server.stop()
        eventually(lambda: clients[0].state == "suspended")
        server.restart()
        eventually(lambda: clients[0].state == "connected")
    assert "exception" not in caplog.text
    # Another loop is not disturbed.
    began.clear()
    asyncio.run(asyncio.wait_for(body(), 30))
    for client in clients:
        asyncio.run(client.close())


def test_what_closing_has_to_tell_is_told_before_it_is_over(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body() -> None:
        loop = asyncio.get_running_loop()
        hand_over = loop.call_soon_threadsafe

        def slowly(callback: Callable[..., object], *arguments: Any, **named: Any) -> asyncio.Handle:
            if callback.__name__ == "_run":  # of a callback, and not the end of a call
                time.sleep(0.2)
            return hand_over(callback, *arguments, **named)

        client = await aio.Client.connect(server.connect_string)
        states: list[aio.State] = []
        losses: list[aio.Lost] = []
        client.on_state(states.append)
        held = await client.lock("/lock").acquire()
        assert held is not None
        held.on_lost(losses.append)
        monkeypatch.setattr(loop, "call_soon_threadsafe", slowly)
        await client.close()
        monkeypatch.undo()
        assert states == ["closed"]
        assert [loss.reason for loss in losses] == ["closed"]

    run(body())


def test_a_scope_that_is_cancelled_on_loss_leaves_nothing_behind(server: EmbeddedServer) -> None:
    """Its own callback refers to it."""

    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            scope = client.lock("/lock", cancel_on_lost=True).hold(10)
            async with scope:
                pass
            reference = weakref.ref(scope)
            held = await client.lock("/lock").acquire()
            assert held
            owner = COROUTINE_FUNCTIONS["method"](lambda _: None)
            kept = held.on_lost(owner)
            callback = weakref.ref(owner.__self__)  # type: ignore[attr-defined]
            await held.release()
            del scope, owner

            async def collected() -> bool:
                gc.collect()
                return reference() is None and callback() is None

            while not await collected():
                await asyncio.sleep(0.005)
            kept()

    run(body())


def test_a_task_of_a_loop_that_has_closed_is_forgotten_when_another_begins(server: EmbeddedServer) -> None:
    async def body(finish: bool) -> weakref.ref[asyncio.Task[object]]:
        began: asyncio.Queue[asyncio.Task[object]] = asyncio.Queue()

        async def callback(_: aio.State) -> None:
            task = asyncio.current_task()
            assert task
            began.put_nowait(task)
            if not finish:
                await asyncio.sleep(3600)

        async with aio.Client(server.connect_string) as client:
            unsubscribe = client.on_state(callback)
            await disturb(server, until=began.qsize)
            unsubscribe()
        return weakref.ref(await began.get())

    loop = asyncio.new_event_loop()
    # Said of a task that will never be done.
    loop.set_exception_handler(lambda *_: None)
    reference = loop.run_until_complete(asyncio.wait_for(body(finish=False), 30))
    loop.close()
    del loop
    asyncio.run(asyncio.wait_for(body(finish=True), 30))
    gc.collect()
    assert reference() is None


# --- blocking


def test_what_one_call_sets_the_next_one_does_not_see(server: EmbeddedServer) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    told: queue.Queue[str] = queue.Queue()

    def callback(_: object) -> None:
        told.put(variable.get())
        variable.set("by the one before")

    with zkrecipes.Client(server.connect_string) as client:
        variable.set("registered")
        client.on_state(callback)
        asyncio.run(disturb(server, until=lambda: told.qsize() > 1))
        assert set(told.queue) == {"registered"}


@every_registration
@kinds
def test_the_blocking_face_refuses_a_coroutine_function(
    server: EmbeddedServer, registration: str, kind: Callable[[Told], Any]
) -> None:
    with zkrecipes.Client(server.connect_string) as client, client.lock("/lock") as held:
        lock = client.lock("/nested")
        lock.acquire()
        with pytest.raises(TypeError, match=r"callback.*zkrecipes\.aio") as caught:
            REGISTRATIONS[registration](client, lock, held, kind(lambda _: None))
        assert isinstance(caught.value, zkrecipes.InvalidType)
        lock.release()


def generator(*_: object) -> Iterator[None]:
    yield


async def asynchronous_generator(*_: object) -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize("function", [generator, asynchronous_generator])
def test_both_faces_refuse_a_generator(server: EmbeddedServer, function: Callable[..., object]) -> None:
    async def body() -> None:
        async with aio.Client(server.connect_string) as client:
            with pytest.raises(TypeError, match="generator"):
                client.on_state(function)

    run(body())
    with zkrecipes.Client(server.connect_string) as client, pytest.raises(TypeError, match="generator"):
        client.on_state(functools.partial(function))


def test_a_coroutine_that_a_plain_function_returns_is_told_of_and_closed(
    server: EmbeddedServer, caplog: pytest.LogCaptureFixture
) -> None:
    returned: queue.Queue[Coroutine[Any, Any, None]] = queue.Queue()

    def callback(_: object) -> Coroutine[Any, Any, None]:
        coroutine = coroutine_function(lambda _: None)()
        returned.put(coroutine)
        return coroutine  # type: ignore[no-any-return]

    with caplog.at_level(logging.ERROR, logger="zkrecipes"), zkrecipes.Client(server.connect_string) as client:
        client.on_state(callback)
        asyncio.run(disturb(server, until=returned.qsize))
        coroutine = returned.get()
        eventually(lambda: "returned a coroutine" in caplog.text)
        assert coroutine.cr_frame is None  # type: ignore[attr-defined]
