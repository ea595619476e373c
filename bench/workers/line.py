"""The lines that a worker written in Python obeys; bench/README.md says what a worker is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

now = time.monotonic_ns


class Order:
    """A verb and its parameters."""

    def __init__(self, line: str) -> None:
        self.verb, *rest = line.split()
        self._parameters = dict(word.partition("=")[::2] for word in rest)

    def text(self, name: str) -> str:
        return self._parameters[name]

    def number(self, name: str) -> int:
        return int(self._parameters[name])

    @property
    def path(self) -> str:
        return self._parameters["path"]


def listed(**lists: list[int]) -> str:
    return " ".join(f"{name}={','.join(map(str, numbers))}" for name, numbers in lists.items())


def together(count: int, body: Callable[[int], None]) -> int:
    """So many threads at once; how long until the last one is done."""
    begun = now()
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(body, range(count)))
    return now() - begun


def say(answer: str | None) -> None:
    print("unsupported" if answer is None else f"ok {answer}", flush=True)


def failed(error: BaseException) -> None:
    print("error", type(error).__name__, str(error).replace("\n", " | "), flush=True)


def serve(worker: object, ready: str) -> None:
    """Obeys lines with the methods of that name."""
    print("ready", ready, flush=True)
    for line in sys.stdin:
        order = Order(line)
        verb = getattr(worker, order.verb, None)
        try:
            say(verb(order) if verb else None)
        except Exception as error:
            failed(error)
