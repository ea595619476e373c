"""Threads that work for a call which waits for them, and which Ctrl-C interrupts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

# In seconds. One that runs says so by itself.
_LOOK_EVERY = 0.5


class Worker(threading.Thread):
    """What it raises is kept. `ended` is called on it at the end."""

    raised: BaseException | None = None

    def __init__(self, name: str, work: Callable[[], None], ended: Callable[[], None]) -> None:
        super().__init__(name=name)
        # The call waits for it. Who interrupts that for a second time ends the process, which waits for no work then.
        # Some sub-interpreters have no such threads.
        with contextlib.suppress(RuntimeError):
            self.daemon = True
        self._work, self._ended = work, ended
        self._over = threading.Event()

    def run(self) -> None:
        try:
            self._work()
        except BaseException as raised:
            self.raised = raised
        finally:
            try:
                self._ended()
            finally:
                self._over.set()

    def is_over(self) -> bool:
        return self._over.is_set()

    def until_over(self) -> None:
        # Not `join`: before Python 3.13 a thread counts as ended when Ctrl-C interrupts who joins it.
        while not self._over.wait(_LOOK_EVERY):
            if self.ident is None:
                # It could not be started.
                return
