"""What the tests of the examples share."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "python")]

from world import PREFIX, PROFILE, ROOT, World  # noqa: E402
from zkrecipes.testing import EmbeddedServer  # noqa: E402


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with EmbeddedServer(tick=0.15) as server:
        found = World(tmp_path, server)
        try:
            yield found
        finally:
            for program in found.programs:
                program.kill()
            found.client.close(timeout=2)


@pytest.fixture(scope="session")
def prefix() -> Path:
    """Where the library is installed."""
    install = [str(ROOT / "ffi/install.sh"), f"PREFIX={PREFIX}", f"PROFILE={PROFILE}"]
    # Others of the workers may be at it, too.
    PREFIX.parent.mkdir(parents=True, exist_ok=True)
    with (PREFIX.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    return PREFIX
