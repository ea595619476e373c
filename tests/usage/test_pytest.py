"""The fixtures for pytest under what runs tests of asyncio."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from world import ROOT

TESTS = """
import asyncio

import pytest
from zkrecipes import aio


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.anyio
async def test_a_lost_lock_cancels_its_body(embedded_zookeeper, zookeeper_aio_client):
    with pytest.raises(aio.Lost):
        async with zookeeper_aio_client.lock("/locks/report", cancel_on_lost=True):
            embedded_zookeeper.expire(zookeeper_aio_client.session_id)
            await asyncio.sleep(60)
"""


def test_anyio_runs_the_client_of_asyncio(tmp_path: Path) -> None:
    (tmp_path / "test_report.py").write_text(TESTS)
    plugins = ("no:cacheprovider", "anyio.pytest_plugin", "zkrecipes_pytest")
    words = [sys.executable, "-m", "pytest", "-q", *(f"-p{name}" for name in plugins), str(tmp_path)]
    found = {"PYTHONPATH": str(ROOT / "python"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(words, cwd=tmp_path, env={**os.environ, **found}, capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
