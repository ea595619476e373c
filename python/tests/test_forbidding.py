"""Where embedded servers are forbidden, nothing falls into one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WAYS = {
    "a connect string": "zkrecipes.Client('embedded:')",
    "the environment": "zkrecipes.Client()",
    "the testing kit": "zkrecipes.testing.EmbeddedServer()",
}


def test_the_command_says_that_nobody_sees_what_it_does_in_a_server_of_its_own() -> None:
    lock = [sys.executable, "-m", "zkrecipes", "lock", "/locks/alone", "--", "echo", "ran"]

    def run(*options: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "ZKRECIPES_HOSTS": "embedded:", **variables}
        return subprocess.run([*lock[:4], *options, *lock[4:]], env=environment, capture_output=True, text=True)

    alone = run()
    assert (alone.returncode, alone.stdout) == (0, "ran\n")
    assert alone.stderr.startswith("zkrecipes: WARNING: ZKRECIPES_HOSTS is embedded: ")
    assert alone.stderr.count("\n") == 1
    assert "zkrecipes: error: embedded_from_environment: " in run("-v").stderr
    # Whoever names it knows.
    assert run("--hosts", "embedded:", ZKRECIPES_HOSTS="").stderr == ""
    for options in ((), ("--hosts", "embedded:")):
        refused = run(*options, ZKRECIPES_FORBID_EMBEDDED="1")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "ZKRECIPES_FORBID_EMBEDDED is set" in refused.stderr


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_an_embedded_server_can_be_forbidden(way: str) -> None:
    program = f"import zkrecipes, zkrecipes.testing\nopened = {way}"

    def run(**variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "ZKRECIPES_HOSTS": "embedded:", **variables}
        return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)

    fallen = run()
    assert fallen.returncode == 0
    # Where nobody set logging up, it prints what matters.
    if way == "zkrecipes.Client()":
        assert "ZKRECIPES_HOSTS is embedded: nobody outside this process sees" in fallen.stderr
    refused = run(ZKRECIPES_FORBID_EMBEDDED="1")
    assert refused.returncode == 1
    assert "ZKRECIPES_FORBID_EMBEDDED is set" in refused.stderr.splitlines()[-1]
