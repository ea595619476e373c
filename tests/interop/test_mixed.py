"""Short crowds; mixed.sh makes them longer."""

from __future__ import annotations

from pathlib import Path

import peers
import pytest
from mixed import CROWDS, gather


@pytest.fixture(scope="session")
def faces(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--built"):
        peers.build_faces()


@pytest.mark.parametrize("on", CROWDS)
def test_everybody_on_one_path(faces: None, hosts: str, tmp_path: Path, on: str) -> None:
    gather(CROWDS[on], hosts, f"/crowd-{on}", tmp_path, seconds=4)
