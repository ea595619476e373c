"""Decorators: functions that are called under a lock."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from ._callbacks import awaited, problem, problem_of_result
from ._native import InvalidType

if TYPE_CHECKING:
    from . import _native, aio

_P = ParamSpec("_P")
_T = TypeVar("_T")


def check(function: Callable[..., object], on_a_loop: bool) -> None:
    wrong = problem(function, on_a_loop) if callable(function) else "must be callable"
    if wrong is not None:
        raise InvalidType(f"invalid function: {wrong}")


def done(result: _T, on_a_loop: bool) -> _T:
    """What a function answered that has done its work: what comes later would come without the lock."""
    wrong = problem_of_result(result, on_a_loop)
    if wrong is not None:
        raise InvalidType(f"invalid function: {wrong}")
    return result


# Each call has a handle of its own: through one that they share they would wait for each other, and what the library
# says of such a wait is about a handle that its user has never seen.


def blocking(
    client: _native.Client, path: str, timeout: float | None
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    client._check_lock(path, timeout)

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        check(function, on_a_loop=False)

        @functools.wraps(function)
        def locked(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            with client.lock(path).hold(timeout):
                return done(function(*args, **kwargs), on_a_loop=False)

        return locked

    return decorate


def asynchronous(
    client: aio.Client, path: str, timeout: float | None
) -> Callable[[Callable[_P, Awaitable[_T]]], Callable[_P, Coroutine[object, object, _T]]]:
    client._check_lock(path, timeout)

    def decorate(function: Callable[_P, Awaitable[_T]]) -> Callable[_P, Coroutine[object, object, _T]]:
        check(function, on_a_loop=True)

        @functools.wraps(function)
        async def locked(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            async with client.lock(path).hold(timeout):
                result: _T = await awaited(done(function(*args, **kwargs), on_a_loop=True))
                return result

        return locked

    return decorate
