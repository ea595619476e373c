"""What type checkers are told is true, and enough for users who are strict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["mypy", "--strict", "zkrecipes", "tests"],
        ["mypy", "--strict", "--python-version", "3.10", "zkrecipes"],
        ["mypy.stubtest", "zkrecipes"],
    ],
    ids=["strict", "oldest", "stubtest"],
)
def test_types_check(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=PACKAGE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
