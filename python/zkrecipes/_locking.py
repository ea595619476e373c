"""Functions that are called under a lock."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from ._callbacks import problem
from ._native import InvalidType

if TYPE_CHECKING:
    from . import _native, aio

_P = ParamSpec("_P")
_T = TypeVar("_T")


def check(function: Callable[..., object], on_a_loop: bool) -> None:
    wrong = problem(function, on_a_loop) if callable(function) else "must be callable"
    if wrong is not None:
        raise InvalidType(f"invalid function: {wrong}")


def blocking(
    client: _native.Client, path: str, timeout: float | None
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    lock = client.lock(path)

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        check(function, on_a_loop=False)

        @functools.wraps(function)
        def locked(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            with lock.hold(timeout):
                return function(*args, **kwargs)

        return locked

    return decorate


def asynchronous(
    client: aio.Client, path: str, timeout: float | None
) -> Callable[[Callable[_P, Awaitable[_T]]], Callable[_P, Coroutine[object, object, _T]]]:
    lock = client.lock(path)

    def decorate(function: Callable[_P, Awaitable[_T]]) -> Callable[_P, Coroutine[object, object, _T]]:
        check(function, on_a_loop=True)

        @functools.wraps(function)
        async def locked(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            async with lock.hold(timeout):
                return await function(*args, **kwargs)

        return locked

    return decorate
