"""The end of a process: what it still holds is free at once instead of after the session timeout."""

from __future__ import annotations

import atexit
import os
import sys
import threading

from ._native import at_exit

_LIMIT = 1.0
"""Seconds to wait for the servers."""

_watched = 0


def watch() -> None:
    """Called when a client has connected. A child of multiprocessing may end without what atexit has registered."""
    global _watched
    multiprocessing = sys.modules.get("multiprocessing.process")
    if _watched == os.getpid() or multiprocessing is None or multiprocessing.parent_process() is None:
        return
    _watched = os.getpid()
    from multiprocessing.util import Finalize

    # After everything else that is to be done there.
    Finalize(None, _end_of_child, exitpriority=-1000)


def _end_of_child() -> None:
    # The process waits for its threads in any case, and they may need their clients. What it calls for that is called
    # a little sooner: it also ends the idle threads of executors, which never end by themselves.
    threading._shutdown()  # type: ignore[attr-defined]
    at_exit(_LIMIT)


atexit.register(at_exit, _LIMIT)
