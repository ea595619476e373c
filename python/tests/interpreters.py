"""Every CPython here that the extension module can be loaded into: what goes wrong in one goes well in another.

Found on PATH as python3.10 and so on, among pyenv's, and in ZKR_PYTHONS, a list of paths as PATH is. The one that runs
the tests is always among them.
"""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import zkrecipes

PACKAGES = str(Path(zkrecipes.__file__).parents[1])
# The module is built for the stable ABI, which a free-threaded interpreter does not have.
VERSION = """
import platform, sys, sysconfig
assert platform.python_implementation() == "CPython" and sys.version_info >= (3, 10)
assert not sysconfig.get_config_var("Py_GIL_DISABLED")
print(platform.python_version())
"""


def _candidates() -> list[str]:
    found = [sys.executable, *filter(None, os.environ.get("ZKR_PYTHONS", "").split(os.pathsep))]
    found += filter(None, (shutil.which(f"python3.{minor}") for minor in range(10, 20)))
    if shutil.which("pyenv"):
        root = subprocess.run(["pyenv", "root"], capture_output=True, text=True).stdout.strip()
        found += map(str, sorted(Path(root).glob("versions/*/bin/python")))
    return found


def _version(interpreter: str) -> str | None:
    try:
        asked = subprocess.run([interpreter, "-c", VERSION], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.strip() if asked.returncode == 0 else None


@functools.cache
def interpreters() -> dict[str, str]:
    """Their paths by their versions."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        # What is built for one of those is for that one alone.
        return {platform.python_version(): sys.executable}
    found: dict[str, str] = {}
    for candidate in _candidates():
        version = _version(candidate)
        if version:
            found.setdefault(version, candidate)
    return found


def environment() -> dict[str, str]:
    """For a process that imports what is tested here."""
    return {**os.environ, "PYTHONPATH": PACKAGES}
