"""Objects that are destroyed while an exception is on its way."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from interpreters import environment, interpreters
from zkrecipes.testing import EmbeddedServer

FILTERS = {"default": [], "always": ["-W", "always"], "error": ["-W", "error"], "dev": ["-X", "dev"]}


@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("interpreter", interpreters().values(), ids=interpreters())
def test_an_object_may_be_destroyed_at_any_moment(server: EmbeddedServer, interpreter: str, filters: list[str]) -> None:
    done = subprocess.run(
        [interpreter, *filters, Path(__file__).with_name("hostile_moments.py"), server.connect_string],
        capture_output=True,
        text=True,
        timeout=240,
        env=environment(),
    )
    # The last line says at which moment a process died.
    assert done.returncode == 0, (done.returncode, done.stdout[-400:], done.stderr[-2000:])
    assert done.stdout.splitlines()[-1].startswith("done: ")
    for bad in ("Fatal", "panicked", "never awaited", "Exception ignored", "Traceback"):
        assert bad not in done.stderr
