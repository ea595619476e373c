"""A server, and programs that are watched and ended."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compilers import asked
from zkrecipes import Client
from zkrecipes.testing import EmbeddedServer

ROOT = Path(__file__).resolve().parents[2]
PROFILE = os.environ.get("ZKR_PROFILE", "dev")
BUILT = ROOT / "target" / ("debug" if PROFILE == "dev" else PROFILE)


PREFIX = ROOT / "target/usage/prefix"
PROGRAMS = ROOT / "target/usage/programs"


def compiled(command: list[str], sources: list[Path], name: str, prefix: Path, product: Path | None = None) -> None:
    inputs = [*sources, *sorted((prefix / "include").iterdir())]
    done = asked(command, inputs, PROGRAMS / f"{name}.kept", product)
    assert done.returncode == 0, done.stderr


def built(sources: list[Path], name: str, compiler: list[str], prefix: Path, more: list[str] | None = None) -> Path:
    """A program in C or C++, compiled anew only if something in it has changed."""
    program = PROGRAMS / name
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    libraries = [f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-lzkrecipes_testing", "-lzkrecipes", "-pthread"]
    command = [*compiler, f"-I{prefix}/include", "-o", str(program), *map(str, sources), *(more or []), *libraries]
    compiled(command, sources, name, prefix, program)
    return program


def eventually(condition: Callable[[], Any], what: str, within: float = 30) -> Any:
    """What the condition gives once it is true."""
    deadline = time.monotonic() + within
    while not (found := condition()):
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)
    return found


class Program:
    """One that was started, and what it says; it leads a process group of its own."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self.log = process, log

    @property
    def said(self) -> str:
        return self.log.read_text()

    def says(self, text: str, times: int = 1, within: float = 30) -> None:
        def there() -> bool:
            assert self.process.poll() is None or self.said.count(text) >= times, f"ended:\n{self.said}"
            return self.said.count(text) >= times

        try:
            eventually(there, text, within)
        except AssertionError:
            print(self.said)
            raise

    def ends(self, number: int | None = signal.SIGTERM, within: float = 30) -> int:
        """Its status, after a signal unless there is none to send."""
        if number is not None:
            self.process.send_signal(number)
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"does not end:\n{self.said}") from None

    def kill(self) -> None:
        """It and all that it has started, as a machine that is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Gate:
    """What the work of an example comes to, in gate.py: it begins, and does not end before the gate is opened."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()

    def open(self) -> None:
        (self.place / "open").touch()

    def shut(self) -> None:
        (self.place / "open").unlink()

    def begun(self, times: int = 1) -> list[int]:
        """The processes in which work has begun, the first one first; waits for so many."""
        eventually(lambda: len(list(self.place.glob("begun-*"))) >= times, f"work has begun {times} times")
        found = sorted(self.place.glob("begun-*"), key=lambda path: path.name.split("-")[1])
        return [int(path.name.split("-")[2]) for path in found]

    def count(self, what: str) -> int:
        return len(list(self.place.glob(f"{what}-*")))


class World:
    def __init__(self, place: Path, server: EmbeddedServer) -> None:
        self.place, self.server = place, server
        self.client = Client(server.connect_string)
        self.gate = Gate(place / "gate")
        self.programs: list[Program] = []

    def environment(self, **more: str) -> dict[str, str]:
        paths = [str(ROOT / "tests/usage"), str(ROOT / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {
            **os.environ,
            "ZKRECIPES_HOSTS": self.server.connect_string,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONUNBUFFERED": "1",
            "GATE": str(self.gate.place),
            "PATH": f"{BUILT}{os.pathsep}{os.environ['PATH']}",
            **more,
        }

    def start(self, *command: str | Path, cwd: Path | None = None, **environment: str) -> Program:
        log = self.place / f"{len(self.programs)}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [str(word) for word in command],
                cwd=cwd or self.place,
                env=self.environment(**environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.programs.append(Program(process, log))
        return self.programs[-1]

    def example(self, name: str) -> Path:
        """A copy of a folder of examples, in which programs may leave what they like."""
        copy = self.place / Path(name).name
        shutil.copytree(ROOT / "examples" / name, copy, ignore=shutil.ignore_patterns("__pycache__"))
        return copy

    def holder(self, path: str) -> int:
        """The session that holds a lock."""
        found = eventually(lambda: [one for one in self.line(path) if one.holds], f"somebody holds {path}")
        return int(found[0].session_id)

    def lose(self, path: str) -> None:
        """Ends the session of who holds a lock, and waits until its client has heard of it."""
        sessions, lost = set(self.server.sessions()), self.holder(path)
        self.server.expire(lost)
        eventually(lambda: len(set(self.server.sessions()) - sessions) == 1, "its client has a new session")

    def line(self, path: str) -> list[Any]:
        return self.client.lock(path).contenders()

    def free_at_once(self, path: str) -> None:
        """Sooner than the end of a session that nobody has closed."""
        eventually(lambda: not self.line(path), f"{path} is free at once", within=5)
