"""The processes that do what they are told, which are the drivers of scenarios, and what is written down of it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from history import Call, History

ROOT = Path(__file__).resolve().parents[2]
# How long anything may take whose time is limited, with what the client may wait for a server, on a machine that is
# busy.
PATIENCE = 60.0


def command(language: str, profile: str) -> list[str]:
    drivers = ROOT / "tests" / "drivers"
    return {
        "rust": [str(ROOT / "target" / profile / "rust-driver")],
        "c": [str(ROOT / "target/drivers/c-driver")],
        "python": [sys.executable, str(drivers / "python/driver.py")],
        "asyncio": [sys.executable, str(drivers / "python/aio_driver.py")],
        "node": ["node", str(drivers / "node/driver.mjs")],
        # In the environment of tests/interop, where there is one.
        "kazoo": [os.environ.get("ZKR_KAZOO_PYTHON", ""), str(ROOT / "tests/chaos/guest/driver.py")],
        "curator": [*JVM, "-cp", curator_class_path(), "CuratorDriver"],
    }[language]


JVM = [
    "java", "-Xmx96m", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
]  # fmt: skip
CLASSES = ROOT / "target" / "chaos" / "classes"


def curator_class_path() -> str:
    """Ours, and Curator's jars, which are in the folder that tests/interop fetches them into."""
    jars = sorted(Path(os.environ.get("ZKR_CURATOR_JARS", "")).glob("*.jar"))
    return os.pathsep.join(map(str, [CLASSES, *jars]))


def build_curator() -> str:
    """Builds its driver, if it is older than its source; or tells why it is not to be."""
    if not os.environ.get("ZKR_CURATOR_JARS"):
        return "ZKR_CURATOR_JARS does not say where its jars are"
    if shutil.which("java") is None or shutil.which("javac") is None:
        return "no JDK"
    source = ROOT / "tests/chaos/guest/CuratorDriver.java"
    built = CLASSES / "CuratorDriver.class"
    if not built.exists() or built.stat().st_mtime < source.stat().st_mtime:
        options = ["-nowarn", "-Xlint:none", "-d", str(CLASSES), "-cp", curator_class_path()]
        done = subprocess.run(["javac", *options, source], capture_output=True, text=True, check=False)
        if done.returncode:
            return f"its driver is not built:\n{done.stdout}{done.stderr}"
        built.touch()
    return ""


class Gone(Exception):
    """The process was killed."""


class Hangs(Exception):
    """A call has not come back."""


class Driver:
    """One process, until it is killed. Its name says how many there were before it."""

    def __init__(self, language: str, number: int, profile: str, diary: IO[bytes], environment: dict[str, str]) -> None:
        self.language = language
        self.name = f"{language}{number}"
        self.profile = profile
        self.is_stopped = False
        self.was_killed = False
        self._diary = diary
        self._environment = environment
        self._waiting: dict[str, asyncio.Future[list[str]]] = {}
        self._next = 0

    async def start(self) -> Driver:
        self._process = await asyncio.create_subprocess_exec(
            *command(self.language, self.profile),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._diary,
            env=os.environ | self._environment,
        )
        self._reading = asyncio.create_task(self._read())
        return self

    async def _read(self) -> None:
        assert self._process.stdout
        async for line in self._process.stdout:
            words = line.decode().split()
            waiting = self._waiting.pop(words[0], None) if words else None
            if waiting and not waiting.done():
                waiting.set_result(words[1:])
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Gone(self.name))

    async def ask(self, client: str, *words: str) -> list[str]:
        """`ok` and the values of the answer, or `error` and its kind."""
        self._next += 1
        number = str(self._next)
        if self._reading.done():
            raise Gone(self.name)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        assert self._process.stdin
        try:
            self._process.stdin.write(" ".join((number, client, *words, "\n")).replace(" \n", "\n").encode())
            await self._process.stdin.drain()
        except OSError as error:
            # Nobody waits for the answer that says so, too.
            self._waiting.pop(number, None)
            raise Gone(self.name) from error
        patience = PATIENCE
        while True:
            try:
                return await asyncio.wait_for(asyncio.shield(answer), patience)
            except asyncio.TimeoutError:
                # It may have stood still a moment ago.
                if patience != PATIENCE / 2 and self.is_stopped:
                    patience = PATIENCE / 2
                    continue
                raise Hangs(f"{self.name} {client} {' '.join(words)}") from None

    async def kill(self) -> None:
        self.was_killed = True
        self._process.kill()
        await self._process.wait()
        await self._reading

    def stop(self) -> None:
        self.is_stopped = True
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)
        self.is_stopped = False

    async def end(self) -> None:
        """The end of its input ends it."""
        assert self._process.stdin
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), PATIENCE)
        except asyncio.TimeoutError:
            await self.kill()
            raise Hangs(f"{self.name} does not end when its input does") from None


class Player:
    """Who uses one recipe in a process, through a session that others may use, too. What it does is written down."""

    def __init__(self, driver: Driver, session: str, number: int, history: History, recipe: str) -> None:
        self.driver = driver
        self.session = f"{driver.name}.{session}"
        self.name = f"{self.session}/{number}"
        self.recipe = recipe
        self.path = ""
        self.handle = ""
        self._number = number
        self._history = history
        self._handles = 0
        self.calls = 0

    async def make(self, path: str, word: str, *args: str, told: tuple[str, ...] = ()) -> None:
        """A handle for a path, instead of the one before."""
        if self.handle:
            await self.driver.ask(self.session, "free", self.handle)
        self._handles += 1
        self.path, self.handle = path, f"h{self._number}x{self._handles}"
        await self.call(word, path, *args, told=told)

    async def call(
        self, word: str, *args: str, told: tuple[str, ...] | None = None, side: str = "", plain: bool = False
    ) -> tuple[str, ...] | None:
        """The values of the answer, or None for an error. `told` is what is written down of the arguments; `plain`
        words are not about the handle."""
        words = [word, *args] if plain else [word, self.handle + side, *args]
        self.calls += 1
        called = time.monotonic()
        answer: list[str] | None = None
        try:
            answer = await self.driver.ask(self.session, *words)
        finally:
            answered = time.monotonic()
            good = answer is not None and answer[0] == "ok"
            self._history.calls.append(
                Call(
                    self.name + side,
                    self.recipe,
                    self.path,
                    word,
                    args if told is None else told,
                    called,
                    None if answer is None else answered,
                    tuple(answer[1:]) if answer and good else None,
                    None if answer is None or good else answer[1],
                    self.driver.language,
                )
            )
        return self._history.calls[-1].ok
