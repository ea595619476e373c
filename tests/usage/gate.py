"""The work of an example while it is tested: it says that it has begun, and ends when the gate is open."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

PLACE = Path(os.environ["GATE"])


def _told(what: str) -> None:
    (PLACE / f"{what}-{time.monotonic_ns()}-{os.getpid()}").touch()


def _is_open() -> bool:
    return (PLACE / "open").exists()


def work(*_: object) -> str:
    _told("begun")
    while not _is_open():
        time.sleep(0.01)
    _told("done")
    return "done\n"


async def aio_work(*_: object) -> None:
    _told("begun")
    try:
        while not _is_open():
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        _told("cancelled")
        raise
    _told("done")
