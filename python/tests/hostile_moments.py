"""Destroys every kind of object while an exception is on its way; test_hostile_moments.py runs it.

Each moment is tried with a plain object first. What Python says then it has to say of ours: the same exception, with
nothing behind it.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import uuid
import warnings
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

import zkrecipes
from zkrecipes import _native, aio, testing

HOSTS = sys.argv[-1]
Make = Callable[[], Any]

loop: asyncio.AbstractEventLoop


class Boom(Exception):
    pass


class Plain:
    pass


def boom() -> Any:
    raise Boom("on its way")


def run(work: Awaitable[Any]) -> Any:
    return loop.run_until_complete(work)


# --- objects of which each is the last to keep a client that is not closed, and often what it holds


def client() -> Any:
    return zkrecipes.Client(HOSTS)


def aio_client() -> Any:
    return run(aio.Client.connect(HOSTS))


HANDLES: dict[str, Callable[[Any], Any]] = {
    "lock": lambda client: client.lock("/hostile/lock"),
    "multi-lock": lambda client: client.multi_lock([client.lock("/hostile/one"), client.lock("/hostile/two")]),
    "semaphore": lambda client: client.semaphore("/hostile/semaphore", 1),
    "reader": lambda client: client.read_write_lock("/hostile/both").read,
}


def handle(name: str) -> Any:
    made = HANDLES[name](client())
    made.acquire()
    return made


def aio_handle(name: str) -> Any:
    made = HANDLES[name](aio_client())
    run(made.acquire())
    return made


def both(client: Any) -> Any:
    return client.read_write_lock("/hostile/both")


def held() -> Any:
    return client().lock("/hostile/lock").acquire()


def aio_held() -> Any:
    return run(aio_client().lock("/hostile/lock").acquire())


def entered() -> Any:
    hold = client().lock("/hostile/lock").hold()
    hold.__enter__()
    return hold


def aio_entered() -> Any:
    hold = aio_client().lock("/hostile/lock").hold()
    run(hold.__aenter__())
    return hold


def item() -> Any:
    queue = client().queue("/hostile/queue")
    queue.put("one")
    return queue.claim()


async def _aio_item() -> Any:
    queue = (await aio.Client.connect(HOSTS)).queue("/hostile/queue")
    await queue.put("one")
    return await queue.claim()


def entered_round() -> Any:
    barrier = client().double_barrier("/hostile/alone", 1)
    barrier.enter()
    return barrier


def aio_entered_round() -> Any:
    barrier = aio_client().double_barrier("/hostile/alone", 1)
    run(barrier.enter())
    return barrier


def claims() -> Any:
    """A loop that has an item."""
    queue = client().queue("/hostile/queue")
    queue.put("one")
    loop_over = iter(queue)
    next(loop_over)
    return loop_over


def site(client: Any) -> Any:
    return client.two_phase_commit(f"/hostile/commits-{uuid.uuid4()}")


def joined() -> Any:
    made = site(client())
    made.join("one")
    return made


def proposal() -> Any:
    made = joined()
    made.begin("it", ["one"], b"", timeout=60)
    return made.next()


def begun() -> Any:
    return site(client()).begin("it", ["one"], b"", timeout=60)


async def _aio_proposal() -> Any:
    made = site(await aio.Client.connect(HOSTS))
    await made.join("one")
    await made.begin("it", ["one"], b"", timeout=60)
    return await made.next()


class Listener:
    """Is told by a client that it keeps alive."""

    def __init__(self, client: Any) -> None:
        self.lock = client.lock("/hostile/lock")

    def told(self, *_: object) -> None:
        pass


def unsubscribe() -> Any:
    return client().lock("/hostile/lock").acquire().on_lost(Listener(client()).told)


async def _aio_unsubscribe() -> Any:
    held = await (await aio.Client.connect(HOSTS)).lock("/hostile/lock").acquire()
    assert held
    return held.on_lost(Listener(await aio.Client.connect(HOSTS)).told)


def call() -> Any:
    """A verb of asyncio that was not begun."""
    return _native.Handle.acquire(aio_handle("lock"))


def seed() -> Any:
    """What an object of asyncio is made of."""
    kept: list[Any] = []
    before = aio.Nodes
    aio.Nodes = kept.append  # type: ignore[assignment, misc]
    try:
        getattr(aio_client(), "nodes")  # noqa: B009
    finally:
        aio.Nodes = before  # type: ignore[misc]
    return kept[0]


async def _outcome() -> Any:
    arrived: asyncio.Future[Any] = loop.create_future()
    lock = (await aio.Client.connect(HOSTS)).lock("/hostile/lock")
    lock._take(1, None).start(lambda outcome: loop.call_soon_threadsafe(arrived.set_result, outcome))
    return await arrived


def heard() -> Any:
    lock = client().lock("/hostile/heard")
    lock.on_wait(Listener(client()).told)
    return lock


OBJECTS: dict[str, Make] = {
    "client": client,
    "asyncio client": aio_client,
    **{name: lambda name=name: handle(name) for name in HANDLES},  # type: ignore[misc]
    **{f"asyncio {name}": lambda name=name: aio_handle(name) for name in HANDLES},  # type: ignore[misc]
    "read/write lock": lambda: both(client()),
    "asyncio read/write lock": lambda: both(aio_client()),
    "acquisition": held,
    "asyncio acquisition": aio_held,
    "scope": entered,
    "asyncio scope": aio_entered,
    "queue": lambda: client().queue("/hostile/queue"),
    "asyncio queue": lambda: aio_client().queue("/hostile/queue"),
    "item": item,
    "asyncio item": lambda: run(_aio_item()),
    "barrier": lambda: client().barrier("/hostile/barrier"),
    "asyncio barrier": lambda: aio_client().barrier("/hostile/barrier"),
    "double barrier": lambda: client().double_barrier("/hostile/parties", 2),
    "asyncio double barrier": lambda: aio_client().double_barrier("/hostile/parties", 2),
    "round": entered_round,
    "asyncio round": aio_entered_round,
    "items of a loop": claims,
    "site": joined,
    "proposal": proposal,
    "asyncio proposal": lambda: run(_aio_proposal()),
    "commit": begun,
    "nodes": lambda: client().nodes,
    "asyncio nodes": lambda: aio_client().nodes,
    "transaction": lambda: client().nodes.transaction(),
    "asyncio transaction": lambda: aio_client().nodes.transaction(),
    "guarded writes": lambda: held().guarded(),
    "asyncio guarded writes": lambda: aio_held().guarded(),
    "subscription": unsubscribe,
    "lock whose waits are heard": heard,
    "subscription of waits": lambda: heard().on_wait(print),
    "asyncio subscription": lambda: run(_aio_unsubscribe()),
    "method": lambda: client().nodes.exists,
    "call": call,
    "seed": seed,
    "outcome": lambda: run(_outcome()),
    "server": testing.EmbeddedServer,
    "ensemble": lambda: testing.Ensemble(3),
    "proxy": lambda: testing.Proxy(HOSTS),
}

# --- moments in which the object is destroyed, with an exception set


def argument(make: Make) -> None:
    print(make(), boom())


def element(make: Make) -> None:
    [make(), *boom()]


def attribute(make: Make) -> None:
    make().nothing  # noqa: B018


def length(make: Make) -> None:
    len(make())


def index(make: Make) -> None:
    make()[0]


def operator(make: Make) -> None:
    make() + 1


def loop_over(make: Make) -> None:
    for _ in make():
        pass


def local(make: Make) -> None:
    it = make()  # noqa: F841
    boom()


def generator(make: Make) -> None:
    def run() -> Iterator[None]:
        it = make()  # noqa: F841
        yield
        boom()

    list(run())


def awaited(make: Make) -> None:
    async def slip() -> None:
        await make()

    drive(slip())


def async_with(make: Make) -> None:
    async def slip() -> None:
        async with make():
            pass

    drive(slip())


def async_for(make: Make) -> None:
    async def slip() -> None:
        async for _ in make():
            pass

    drive(slip())


def drive(coroutine: Coroutine[Any, Any, None]) -> None:
    try:
        coroutine.send(None)
    finally:
        coroutine.close()


MOMENTS: list[Callable[[Make], None]] = [
    argument,
    element,
    attribute,
    length,
    index,
    operator,
    loop_over,
    local,
    generator,
    awaited,
    async_with,
    async_for,
]
# What some objects can do, so that nothing is wrong with it.
FINE = {
    (async_with, "asyncio client"),
    (async_with, "asyncio acquisition"),
    (async_with, "asyncio scope"),
    (async_with, "asyncio item"),
    (async_with, "asyncio double barrier"),
    (async_with, "asyncio round"),
    (loop_over, "items of a loop"),
    (loop_over, "queue"),
    (async_for, "asyncio queue"),
    *((async_with, f"asyncio {name}") for name in HANDLES),
}


def said(moment: Callable[[Make], None], make: Make) -> tuple[str, str, bool]:
    made: list[str] = []

    def noted() -> Any:
        it = make()
        kind = type(it)
        made.extend((f"{kind.__module__}.{kind.__qualname__}", kind.__qualname__, kind.__name__))
        return it

    try:
        moment(noted)
    except BaseException as error:
        message = str(error)
        for name in made:
            message = message.replace(name, "it")
        return type(error).__name__, message, error.__context__ is None and error.__cause__ is None
    return "nothing", "", True


def fail(problem: str) -> None:
    print("FAILED:", problem, flush=True)
    sys.exit(1)


def try_all() -> int:
    tried = 0
    for moment in MOMENTS:
        plain = said(moment, Plain)
        for name, make in OBJECTS.items():
            if (moment, name) in FINE:
                continue
            print(f"{moment.__name__} of {name}", flush=True)
            ours = said(moment, make)
            if ours != plain:
                fail(f"{ours} and not {plain}")
            tried += 1
    return tried


# --- what users say themselves


def typed(wanted: type[BaseException], make: Make) -> None:
    try:
        make()
    except BaseException as error:
        if type(error) is wanted and error.__context__ is None:
            return
        fail(f"{error!r} with {error.__context__!r} and not {wanted.__name__}")
    fail("nothing raised")


def try_slips() -> None:
    print("slips", flush=True)
    typed(zkrecipes.NoNode, lambda: client().nodes.get("/hostile/missing"))
    typed(zkrecipes.Invalid, lambda: client().lock("relative"))
    typed(zkrecipes.InvalidType, lambda: client().lock(7))
    typed(zkrecipes.InvalidType, lambda: client().lock("/hostile/lock", unknown=1))
    typed(zkrecipes.Mismatch, lambda: [handle("semaphore"), client().semaphore("/hostile/semaphore", 2).acquire()])
    typed(zkrecipes.NotHeld, lambda: client().lock("/hostile/lock").release())
    typed(TypeError, lambda: client().lock())
    typed(zkrecipes.Invalid, lambda: testing.EmbeddedServer().inject("nonsense"))
    typed(aio.NoNode, lambda: run(aio_client().nodes.get("/hostile/missing")))
    typed(aio.Invalid, lambda: aio_client().lock("relative"))
    typed(aio.NotHeld, lambda: run(aio_client().lock("/hostile/lock").release()))


def try_hooks() -> None:
    """A warning is shown by whatever the user put there."""
    print("hooks", flush=True)
    seen: list[str] = []
    watched: list[weakref.ref[Any]] = []

    def show(*arguments: Any, **_: Any) -> None:
        seen.append(str(arguments[0]))
        gc.collect()
        zkrecipes.Client(HOSTS).close()
        for reference in watched:
            if reference() is not None:
                fail("what is being destroyed was seen")
        raise ZeroDivisionError("in the hook")

    before, warnings.showwarning = warnings.showwarning, show
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show

            def acquired() -> Any:
                it = handle("lock")
                watched[:] = [weakref.ref(it)]
                return it

            typed(Boom, lambda: print(acquired(), boom()))
    finally:
        warnings.showwarning = before
    if len(seen) != 2 or not any(isinstance(error, ZeroDivisionError) for error in unraisable):
        fail(f"the hook saw {seen}, and of its error was said {unraisable}")
    unraisable.clear()


unraisable: list[object] = []


def main() -> None:
    global loop
    loop = asyncio.new_event_loop()
    # What a warning raises in a destructor is told here, and nowhere else.
    sys.unraisablehook = lambda told: unraisable.append(told.exc_value)
    try_hooks()
    tried = try_all()
    try_slips()
    gc.collect()
    loop.close()
    odd = [error for error in unraisable if not isinstance(error, ResourceWarning)]
    if odd:
        fail(f"unraisable: {odd!r}")
    if bool(unraisable) != ("error" in sys.warnoptions):
        fail(f"{len(unraisable)} warnings became errors")
    print(f"done: {tried} moments, {len(unraisable)} unraisable")


if __name__ == "__main__":
    main()
