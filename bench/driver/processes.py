"""The processes of a run: servers, and the workers that obey lines."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from . import zk

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "zookeeper"))
import zookeeper  # noqa: E402

# An order that takes longer is stuck.
PATIENCE = 120.0
# The JVM of production and not that of the tests: both compilers, and a heap that waiters by the thousand fit into.
JVM = ("-Xms256m", "-Xmx768m")
TICK_MS = 1000


def cpu(pid: int) -> int:
    """The processor time of all threads of a process, living and ended, in nanoseconds."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def wake_ups(pid: int) -> int:
    """How often the threads of a process that live have waited for something."""
    found = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            lines = (task / "status").read_text().splitlines()
        except OSError:
            # It has ended.
            continue
        found += sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))
    return found


def busy() -> float:
    """The seconds that all processors together have been busy."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, *interrupts = stat.readline().split()[1:]
    return sum(map(int, (user, nice, system, *interrupts[:2]))) / os.sysconf("SC_CLK_TCK")


def status(pid: int) -> dict[str, int]:
    """Threads, and memory in KiB, of a process."""
    found = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "Threads"):
            found[name] = int(value.split()[0])
    return found


def memory_folder() -> Path | None:
    """A tmpfs with room for a server's data, if there is one."""
    folder = Path("/dev/shm")
    if folder.is_dir() and os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > 1 << 30:
        return folder
    return None


class Server:
    """Real ZooKeeper, alone or as an ensemble."""

    def __init__(self, nodes: int, disk: Path | None, fsync: bool) -> None:
        tempfile.tempdir = str(disk) if disk else None
        # The last property of a name counts.
        properties = ["zookeeper.forceSync=yes"] if fsync else []
        try:
            self.ensemble = zookeeper.Ensemble("3.9", nodes, tick_ms=TICK_MS, java=JVM, properties=properties)
        finally:
            tempfile.tempdir = None
        self.ensemble.__enter__()
        self.hosts = self.ensemble.connect_string
        # A client that goes to any of them would measure another way in each run.
        self.first = self.hosts.split(",")[0]

    def close(self) -> None:
        self.ensemble.close()

    def crash(self) -> tuple[int, int]:
        """Kills the server and starts it again with the data that it has, so that sessions outlive it. When it was
        killed, and when it served again."""
        (node,) = self.ensemble.nodes
        killed_at = time.monotonic_ns()
        node.kill()
        node.start()
        return killed_at, time.monotonic_ns()

    @property
    def pids(self) -> list[int]:
        return [node.pid for node in self.ensemble.nodes if node.pid]

    def cpu(self) -> int:
        return sum(map(cpu, self.pids))

    def figures(self) -> dict[str, float]:
        """What the server counts, all nodes together."""
        found: dict[str, float] = {}
        for node in self.ensemble.nodes:
            for line in zookeeper.four_letters(node.port, "mntr").splitlines():
                name, _, value = line.partition("\t")
                try:
                    found[name] = found.get(name, 0) + float(value)
                except ValueError:
                    continue
        return found

    def requests(self) -> int:
        return int(self.figures().get("zk_packets_received", 0))

    def session(self) -> zk.Session:
        return zk.Session(self.first)

    def wait_for_children(self, path: str, count: int, patience: float = PATIENCE) -> None:
        with self.session() as session:
            end = time.monotonic() + patience
            while (found := session.count(path)) < count:
                if time.monotonic() > end:
                    raise Failed(f"{found} of {count} came to {path}")
                time.sleep(0.005)

    def clear(self, path: str) -> None:
        with self.session() as session:
            session.clear(path)


class Failed(Exception):
    """A worker cannot do what it was told."""


class Unsupported(Exception):
    """A worker has no such verb."""


class Worker:
    """A process of one library."""

    # Those that were started and may live.
    all: ClassVar[set[Worker]] = set()

    def __init__(
        self, name: str, command: Sequence[str | Path], environment: dict[str, str], waits: bool = True
    ) -> None:
        self.name = name
        self.begun = time.monotonic_ns()
        self._process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | environment,
            preexec_fn=zookeeper._die_with_parent,
        )
        os.set_blocking(self._process.stdout.fileno(), False)
        os.set_blocking(self._process.stderr.fileno(), False)
        self._buffer = b""
        Worker.all = {worker for worker in Worker.all if worker.lives} | {self}
        if waits:
            self.wait_until_ready()

    def wait_until_ready(self) -> None:
        first, said = self._line(PATIENCE).split(), ""
        if not first or first[0] != "ready":
            said = self._complaint()
            self.kill()
            raise Failed(f"{self.name} does not start: {' '.join(first)} {said}")
        self.ready_at = time.monotonic_ns()
        self.facts = parsed(first[1:])

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def tell(self, verb: str, patience: float = PATIENCE, **parameters: object) -> dict[str, Any]:
        """Gives an order and waits for what it came to."""
        self.order(verb, **parameters)
        return self.answer(verb, patience)

    def order(self, verb: str, **parameters: object) -> None:
        line = " ".join([verb, *(f"{name}={value}" for name, value in parameters.items())])
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise Failed(f"{self.name} has ended before {verb}: {self._complaint()}") from None

    def answer(self, verb: str = "it", patience: float = PATIENCE) -> dict[str, Any]:
        kind, *words = self._line(patience).split() or ["nothing"]
        if kind == "ok":
            return parsed(words)
        if kind == "unsupported":
            raise Unsupported(f"{self.name} has no {verb}")
        complaint = self._complaint()
        self.kill()
        raise Failed(f"{self.name}, {verb}: {kind} {' '.join(words)} {complaint}".strip())

    @property
    def output(self) -> int:
        """The descriptor that says when there is an answer."""
        return self._process.stdout.fileno()

    def let_end(self) -> None:
        """It ends once it has done what it was told; nobody waits for that."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def end(self) -> None:
        try:
            self.let_end()
            self._process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self.kill()

    def kill(self, softly: bool = False) -> None:
        self._process.send_signal(signal.SIGTERM if softly else signal.SIGKILL)
        self._process.wait()

    def lines(self) -> int:
        """How many lines have come that nobody has asked for yet."""
        if not self._read():
            raise Failed(f"{self.name} has ended: {self._complaint()}")
        return self._buffer.count(b"\n")

    def _read(self) -> bytes:
        part = os.read(self.output, 1 << 20)
        self._buffer += part
        return part

    def _line(self, patience: float) -> str:
        """The next line; nothing if the process has ended or is stuck."""
        end = time.monotonic() + patience
        while b"\n" not in self._buffer:
            left = end - time.monotonic()
            if left <= 0:
                return f"stuck for {patience:.0f} s"
            readable, _, _ = select.select([self.output], [], [], left)
            if readable and not self._read():
                return ""
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace")

    def _complaint(self) -> str:
        time.sleep(0.05)
        try:
            said = os.read(self._process.stderr.fileno(), 1 << 16).decode(errors="replace")
        except (BlockingIOError, ValueError):
            return ""
        return " | ".join(said.strip().splitlines()[-3:])


def parsed(words: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        try:
            found[name] = [int(one) for one in value.split(",") if one] if "," in value else int(value)
        except ValueError:
            found[name] = value
    return found


def numbers(answer: dict[str, Any], name: str) -> list[int]:
    """A list, of which one with a single number looks like that number."""
    value = answer.get(name, [])
    return value if isinstance(value, list) else [value] if isinstance(value, int) else []


def allow_many_files() -> None:
    """Every client is a descriptor, here and at the server."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
