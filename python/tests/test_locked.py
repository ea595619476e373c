"""Functions that run under a lock, and the fixtures for users' own tests."""

from __future__ import annotations

import asyncio
import functools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import zkrecipes
import zkrecipes.aio
from conftest import contenders, eventually
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
    with pytest.raises(zkrecipes.InvalidType, match="timeout"):
        client.locked("/locks/locked", timeout="5")  # type: ignore[arg-type]
    with pytest.raises(zkrecipes.Invalid, match="timeout"):
        client.locked("/locks/locked", timeout=-5)


@pytest.mark.parametrize("decorated", ["locked", "leading"])
def test_work_that_would_come_after_the_lock_is_refused(client: zkrecipes.Client, decorated: str) -> None:
    """What a decorator looks like does not tell what is inside; what it answers does."""
    ran = []

    async def later(*_: object) -> None:
        ran.append("later")

    def several(*_: object) -> Iterator[int]:
        ran.append("several")
        yield 1

    decorate = client.locked("/locks/locked") if decorated == "locked" else client.election("/leader").leading
    for hidden in (later, several):

        @functools.wraps(hidden)
        def plain(*args: object, hidden: Callable[..., object] = hidden) -> object:
            return hidden(*args)

        del plain.__wrapped__
        for function in (plain, lambda *args, hidden=hidden: hidden(*args)):
            with pytest.raises(zkrecipes.InvalidType, match="must be done when it returns"):
                decorate(function)()
    assert ran == []
    assert contenders(client, "/locks/locked") == 0


def test_a_call_inside_of_another_one_waits_for_itself(client: zkrecipes.Client) -> None:
    @client.locked("/locks/locked", timeout=0.1)
    def work(deep: int) -> int:
        return work(deep - 1) if deep else 0

    assert work(0) == 0
    with pytest.raises(zkrecipes.Timeout):
        work(1)
    # It waits as others do, not at a handle that its user has never seen.
    with ThreadPoolExecutor(2) as pool:
        with client.lock("/locks/locked"):
            quick = client.locked("/locks/locked")(abs)
            calls = [pool.submit(quick, 0) for _ in range(2)]
            eventually(lambda: contenders(client, "/locks/locked") == 3)
        assert [call.exception(15) for call in calls] == [None, None]


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


def test_on_asyncio_it_is_made_before_the_client_connects_and_takes_plain_functions(server: EmbeddedServer) -> None:
    client = zkrecipes.aio.Client(server.connect_string)

    @client.locked("/locks/locked")
    async def work(name: str) -> str:
        return name

    @client.locked("/locks/locked")  # type: ignore[arg-type]
    def plain(name: str) -> str:
        return name

    @client.locked("/locks/locked")  # type: ignore[arg-type]
    def several() -> Iterator[int]:
        return (number for number in range(2))

    for path, timeout in (("relative", None), ("/locks/locked", -5), (5, None)):
        with pytest.raises(zkrecipes.Invalid):
            client.locked(path, timeout=timeout)  # type: ignore[arg-type]

    async def main() -> None:
        with pytest.raises(zkrecipes.Closed, match="not connected"):
            await work("a")
        async with client:
            assert (await work("a"), await plain("b")) == ("a", "b")
            with pytest.raises(zkrecipes.InvalidType, match="generator"):
                await several()
            leading: Any = client.election("/leader").leading
            assert await leading(lambda leadership: leadership.is_held)()

    asyncio.run(main())


PLUGIN = re.findall(
    r'^\[project\.entry-points\.pytest11\]\nzkrecipes = "(.+)"',
    (ROOT / "python/pyproject.toml").read_text(),
    re.MULTILINE,
)


def run_tests_of_users(folder: Path, status: int = 0) -> str:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"-p{name}" for name in PLUGIN)]
    done = subprocess.run(
        [*words, str(folder)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_the_fixtures_serve_tests_of_users() -> None:
    assert "4 passed" in run_tests_of_users(ROOT / "examples/python/testing")


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ('with client.lock("/locks/report") as held:', "with contextlib.nullcontext(client.nodes) as held:"),
        ("held.guarded()", "client.nodes.transaction()"),
        ('if client.nodes.exists("/report"):', "if False:"),
    ],
)
def test_an_example_of_a_test_fails_without_the_line_that_it_tests(tmp_path: Path, line: str, instead: str) -> None:
    whole = (ROOT / "examples/python/testing/test_report.py").read_text()
    assert line in whole
    broken = whole.replace(line, instead).replace("import time", "import contextlib\nimport time")
    if "nullcontext" in instead:
        broken = broken.replace("held.guarded()", "held.transaction()")
    (tmp_path / "test_report.py").write_text(broken)
    assert " failed" in run_tests_of_users(tmp_path, status=1)


def test_tests_that_use_no_fixture_do_not_load_the_library(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\ndef test_it(): assert [name for name in sys.modules if name.split('.')[0] == 'zkrecipes'] == []\n"
    )
    assert "1 passed" in run_tests_of_users(tmp_path)
