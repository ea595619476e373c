"""Objects that are destroyed while an exception is on its way."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from interpreters import environment, interpreters
from zkrecipes.testing import EmbeddedServer

FILTERS = {"default": [], "always": ["-W", "always"], "error": ["-W", "error"], "dev": ["-X", "dev"]}
VERSIONS = interpreters()
# Each version, and each filter with one of them; all combinations only if all is to be tested.
COMBINED = [
    (version, name)
    for at, version in enumerate(VERSIONS)
    for name in FILTERS
    if at == 0 or name == "default" or "ZKR_ALL" in os.environ
]


@pytest.mark.parametrize(("version", "filters"), COMBINED)
def test_an_object_may_be_destroyed_at_any_moment(server: EmbeddedServer, version: str, filters: str) -> None:
    done = subprocess.run(
        [VERSIONS[version], *FILTERS[filters], Path(__file__).with_name("hostile_moments.py"), server.connect_string],
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
