"""A short crowd; mixed.sh makes it longer."""

from __future__ import annotations

from pathlib import Path

import peers
import pytest
from mixed import crowd


@pytest.fixture(scope="session")
def faces() -> None:
    peers.build_faces()


def test_everybody_on_one_path(faces: None, hosts: str, tmp_path: Path) -> None:
    crowd(hosts, "/crowd", tmp_path, seconds=10)
