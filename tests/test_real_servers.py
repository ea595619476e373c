"""What the tests may count on when they start real servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ZOOKEEPER = ROOT / "tests/zookeeper"
sys.path.insert(0, str(ZOOKEEPER))

import pytest  # noqa: E402
import zookeeper  # noqa: E402

A_MINUTE = 60


def test_a_port_that_was_chosen_is_given_to_nobody_else_before_it_is_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    # Ten ports to choose from: whoever looks only at what is bound would choose the same ones.
    monkeypatch.setattr(zookeeper.random, "sample", lambda *_: list(range(14990, 15000)))
    first = zookeeper.Ports(6)
    try:
        choose = f"import random, sys; sys.path.insert(0, {str(ZOOKEEPER)!r}); import zookeeper\n"
        choose += "random.sample = lambda *_: list(range(14990, 15000)); print(*zookeeper.Ports(4).numbers)"
        second = subprocess.run([sys.executable, "-c", choose], capture_output=True, text=True, check=True)
        assert not set(first.numbers) & set(map(int, second.stdout.split()))
        with pytest.raises(RuntimeError, match="no free ports"):
            zookeeper.Ports(5)
    finally:
        first.close()


def test_who_needs_a_server_that_has_ended_is_not_kept_waiting() -> None:
    command = [
        sys.executable,
        str(ZOOKEEPER / "zookeeper.py"),
        "exec",
        "3.9",
        "--",
        "sh",
        "-c",
        "echo up; exec sleep 600",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "up\n"
        children = subprocess.run(["pgrep", "-P", str(running.pid), "java"], capture_output=True, text=True, check=True)
        begun = time.monotonic()
        os.kill(int(children.stdout), signal.SIGKILL)
        said = running.stderr.read()
    assert running.returncode != 0
    assert time.monotonic() - begun < A_MINUTE
    assert "has ended by itself" in said
    assert "org.apache.zookeeper" in said


def child_of(pid: int, named: str) -> int:
    """The one that is called so."""
    found = subprocess.run(["pgrep", "-P", str(pid), "-f", named], capture_output=True, text=True, check=True)
    return int(found.stdout)


def test_a_scenario_says_at_once_that_its_server_has_ended_and_so_do_those_after_it() -> None:
    profile = os.environ.get("ZKR_PROFILE", "dev")
    command = [ROOT / "target" / ("debug" if profile == "dev" else profile) / "scenarios"]
    command += ["--filter", "a_free_lock_is_taken_and_given_back", "--lang", "rust", "--server", "zookeeper-3.9"]
    command += ["--jobs", "1", "--repeat", "100"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline().startswith("ok ")
        os.kill(child_of(child_of(running.pid, "zookeeper.py"), "java"), signal.SIGKILL)
        try:
            said, complaints = running.communicate(timeout=A_MINUTE)
        finally:
            running.kill()
    assert running.returncode == 1
    assert complaints.count("has ended by itself") == 1
    assert "org.apache.zookeeper" in complaints
    _, first, *others = said.split("FAIL ")
    # The one that it happened to may see it before its helper does.
    assert "has ended" in first
    assert others
    assert all("zookeeper.py has ended" in story for story in others)
