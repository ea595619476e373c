"""The examples that users read are run."""

from __future__ import annotations

import asyncio
import os
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import zkrecipes
import zkrecipes.aio
from conftest import Connect

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples/python").glob("*.py"))


def test_the_classes_people_start_with_have_examples() -> None:
    """Which pytest runs, as it does those of the modules and of README.md."""
    begun_elsewhere = {"CommitTransaction", "Proposal", "Registration"}
    names = {name for name in zkrecipes.__all__ if hasattr(zkrecipes._native, f"{name}Base")} - begun_elsewhere
    assert {"Client", "Lock", "Held", "Queue"} <= names
    for name in names:
        assert ">>>" in (getattr(zkrecipes, name).__doc__ or ""), name


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(example: Path, hosts: str) -> None:
    done = subprocess.run(
        [sys.executable, str(example), hosts],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(zkrecipes.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_there_is_an_example_of_everything_that_a_client_makes() -> None:
    verbs = {name for name in vars(zkrecipes._native.ClientBase) if not name.startswith("_")}
    assert {"lock", "queue", "watch_sequencer"} <= verbs
    texts = "".join(example.read_text() for example in EXAMPLES)
    assert {verb for verb in verbs if not re.search(rf"\.{verb}\b", texts)} == set()


# What is written once for both faces has a name of its own among us.
PLAIN = pydoc.plaintext  # type: ignore[attr-defined]
AMONG_US = re.compile(r"\b\w+Base\b")


@pytest.mark.parametrize("face", [zkrecipes, zkrecipes.aio], ids=["blocking", "asyncio"])
def test_help_names_the_classes_that_users_know(face: ModuleType) -> None:
    classes = [one for name in face.__all__ if isinstance(one := getattr(face, name), type)]
    assert {zkrecipes.Error, face.Lock, face.Queue} <= set(classes)
    for one in classes:
        assert not AMONG_US.findall(pydoc.render_doc(one, renderer=PLAIN)), one


def test_errors_about_arguments_name_the_classes_that_users_know(connect: Connect) -> None:
    client = connect()
    lock, queue, party = client.lock("/lock"), client.queue("/queue"), client.double_barrier("/round", 1)
    held = lock.acquire(True, 5)  # as threading takes it
    assert held
    wrong: list[Callable[[], object]] = [
        lambda: lock.acquire(blockin=False),  # type: ignore[call-overload]
        lambda: lock.acquire(True, 5, 6),  # type: ignore[call-overload]
        lambda: lock.on_wait(),  # type: ignore[call-arg]
        lambda: held.verify(1),  # type: ignore[call-arg]
        lambda: queue.get(limit=1),  # type: ignore[call-arg]
        lambda: queue.put(),  # type: ignore[call-arg]
        lambda: party.enter(1, 2),  # type: ignore[call-arg]
        lambda: client.lock(),  # type: ignore[call-arg]
    ]
    for call in wrong:
        with pytest.raises(TypeError) as raised:
            call()
        assert not AMONG_US.search(str(raised.value)), raised.value
    held.release()


def test_so_do_those_of_asyncio(hosts: str) -> None:
    async def work() -> None:
        async with zkrecipes.aio.Client(hosts) as client:
            lock = client.lock("/lock")
            held = await lock.acquire(True, 5)
            assert held
            await held.release()
            for call in (lambda: lock.acquire(blockin=False), lambda: client.queue("/queue").get(limit=1)):  # type: ignore[call-arg,call-overload]
                with pytest.raises(TypeError) as raised:
                    await call()
                assert not AMONG_US.search(str(raised.value)), raised.value

    asyncio.run(work())
