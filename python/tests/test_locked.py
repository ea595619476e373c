"""Functions that run under a lock, and the fixtures for users' own tests."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import zkrecipes
import zkrecipes.aio
from zkrecipes.testing import EmbeddedServer

ROOT = Path(__file__).resolve().parents[2]


def test_a_function_is_called_by_one_at_a_time(client: zkrecipes.Client) -> None:
    inside, most = 0, 0

    @client.locked("/locks/locked")
    def work(name: str, *, times: int = 1) -> str:
        """Works."""
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        assert client.lock("/locks/locked").acquire(False) is None, "it is held meanwhile"
        inside -= 1
        return name * times

    threads = [threading.Thread(target=work, args=("x",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (work("ab", times=2), most, work.__doc__, work.__name__) == ("abab", 1, "Works.", "work")


def test_it_is_let_go_whatever_comes_of_the_function(client: zkrecipes.Client) -> None:
    @client.locked("/locks/locked")
    def fail() -> None:
        raise LookupError("on purpose")

    for _ in range(2):
        with pytest.raises(LookupError):
            fail()


def test_who_waits_too_long_is_told(client: zkrecipes.Client) -> None:
    @client.locked("/locks/locked", timeout=0.05)
    def work() -> None:
        raise AssertionError("never called")

    with client.lock("/locks/locked"), pytest.raises(zkrecipes.Timeout):
        work()


def test_what_would_not_run_under_the_lock_is_refused(client: zkrecipes.Client) -> None:
    async def later() -> None: ...
    def several():  # type: ignore[no-untyped-def]
        yield 1

    for function in (later, several, 5):
        with pytest.raises(zkrecipes.InvalidType, match="function"):
            client.locked("/locks/locked")(function)  # type: ignore[arg-type]
    with pytest.raises(zkrecipes.Invalid, match="path"):
        client.locked("relative")


def test_coroutine_functions_run_under_it_too(server: EmbeddedServer) -> None:
    async def main() -> None:
        async with zkrecipes.aio.Client(server.connect_string) as client:
            inside = 0

            @client.locked("/locks/locked", timeout=15)
            async def work(name: str) -> str:
                nonlocal inside
                inside += 1
                assert inside == 1
                await asyncio.sleep(0)
                inside -= 1
                return name

            assert await asyncio.gather(*(work(str(n)) for n in range(5))) == ["0", "1", "2", "3", "4"]
            with pytest.raises(zkrecipes.InvalidType):
                client.locked("/locks/locked")(5)  # type: ignore[arg-type]

    asyncio.run(main())


def test_the_fixtures_serve_tests_of_users() -> None:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "zkrecipes.pytest_plugin"]
    done = subprocess.run(
        [*words, str(ROOT / "examples/python/testing")],
        cwd=ROOT / "examples/python/testing",
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
