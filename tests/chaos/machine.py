"""What a process is told of its clock and its disk: a library of our own that is loaded before all others (machine.c),
and a small file that it reads. That needs no rights, and each process has a clock of its own.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().with_name("machine.c")
# Of three numbers; machine.c says which.
NUMBERS = "<qqq"


def library(folder: Path) -> tuple[Path | None, str]:
    """The library, built if it is older than its source; or None, and why there is none."""
    if not sys.platform.startswith("linux"):
        return None, "LD_PRELOAD is a matter of Linux"
    compiler = shutil.which("cc")
    if compiler is None:
        return None, "no C compiler"
    built = folder / "machine.so"
    if not built.exists() or built.stat().st_mtime < SOURCE.stat().st_mtime:
        # Another run may have it loaded, or build it, too.
        new = folder / f"machine.{os.getpid()}.so"
        flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        done = subprocess.run(
            [compiler, *flags, "-o", new, SOURCE, "-ldl"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"machine.c is not built:\n{done.stderr}")
        new.rename(built)
    return built, ""


class Machine:
    """The clock and the disk of the processes that are started with this environment."""

    def __init__(self, shim: Path, file: Path) -> None:
        file.write_bytes(bytes(struct.calcsize(NUMBERS)))
        with file.open("r+b") as opened:
            self._seen = mmap.mmap(opened.fileno(), 0)
        self.environment = {"LD_PRELOAD": str(shim), "ZKR_MACHINE": str(file)}

    def _set(self, place: int, number: int) -> None:
        # Eight bytes at once, so that nobody reads a half of them.
        view = memoryview(self._seen).cast("q")
        view[place] = number
        view.release()

    def step_clock(self, seconds: float) -> None:
        """So far the wall clock is ahead from now on; behind if it is negative."""
        self._set(0, int(seconds * 1000))

    def slow_disk(self, seconds: float) -> None:
        """Each sync of a file takes so long."""
        self._set(1, int(seconds * 1000))

    def fill_disk(self, is_full: bool) -> None:
        self._set(2, int(is_full))

    def heal(self) -> None:
        self.step_clock(0)
        self.slow_disk(0)
        self.fill_disk(False)

    def close(self) -> None:
        self._seen.close()


class Machines:
    """All of a run: one for each server and each language."""

    def __init__(self, folder: Path) -> None:
        self._library, self.why_not = library(folder)
        self._home = Path(tempfile.mkdtemp(prefix="zkrecipes-machines-"))
        self._all: dict[str, Machine] = {}

    def of(self, name: str) -> Machine | None:
        """The one of that name; None where there can be none."""
        if self._library is not None and name not in self._all:
            self._all[name] = Machine(self._library, self._home / name)
        return self._all.get(name)

    def heal(self) -> None:
        for machine in self._all.values():
            machine.heal()

    def close(self) -> None:
        for machine in self._all.values():
            machine.close()
        shutil.rmtree(self._home, ignore_errors=True)
