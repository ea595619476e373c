#!/usr/bin/env python3
"""One lock, three languages: workers in Python, Node and C contend, one is killed, and nobody ever meets inside.

demo.py                     with a server of its own, in memory
demo.py --hosts h1:2181     on a ZooKeeper of yours (below /zkrecipes-demo)
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import zkrecipes
from journal import Journal, Verdict
from view import NAMES, View, language, open_view

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LANGUAGES = ["python", "node", "c"]


class Worker:
    def __init__(self, name: str, arguments: list[str]) -> None:
        program = {
            "python": [sys.executable, str(HERE / "worker.py")],
            "node": ["node", str(ROOT / "target/demo/worker.mjs")],
            "c": [str(ROOT / "target/demo/worker")],
        }[language(name)]
        self.complaint = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [*program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.complaint
        )

    def last_words(self) -> str:
        self.complaint.seek(0)
        return self.complaint.read().decode(errors="replace").strip()


class Demo:
    def __init__(self, hosts: str, title: str, seconds: float, session_ms: int) -> None:
        self.hosts, self.title, self.seconds = hosts, title, seconds
        self.client = zkrecipes.Client(hosts, session_timeout=session_ms / 1000, identity="demo")
        self.session_ms = round(self.client.session_timeout * 1000)  # what the server granted
        self.path = f"/zkrecipes-demo/{os.getpid()}-{time.time_ns() // 1_000_000}"
        self.lock = self.client.lock(self.path)
        self.names = [f"{lang}-{number}" for number in (1, 2) for lang in LANGUAGES]
        self.workers: dict[str, Worker] = {}
        self.ended: set[str] = set()
        self.holder: str | None = None
        self.token = 0
        self.before: str | None = None
        self.left_at: int | None = None
        self.gaps: list[int] = []
        self.victim: str | None = None
        self.killed_at: int | None = None
        self.waited_for_dead: float | None = None
        self.waiting: list[str] = []
        self.failed: list[str] = []

    def run(self) -> int:
        with tempfile.TemporaryDirectory(prefix="zkrecipes-demo-") as home:
            self.journal = Journal(Path(home))
            try:
                self._watch(home)
            finally:
                for worker in self.workers.values():
                    worker.process.kill()
                    worker.process.wait()
            verdict = self.journal.judge()
        self._clean_up()
        return self._close(verdict)

    def _watch(self, home: str) -> None:
        view = open_view(self.title, self.names, time.monotonic_ns())
        try:
            with self.lock:
                view.note(time.monotonic_ns(), f"{len(self.names)} workers start and queue for {self.path}")
                for name in self.names:
                    arguments = [self.hosts, self.path, name, home, str(self.session_ms)]
                    self.workers[name] = Worker(name, arguments)
                self._contend(view, until=self._grace(), enough=lambda: len(self.waiting) == len(self.names))
                view.note(time.monotonic_ns(), "all are in line; the lock is free")
            self._contend(view, until=self._after(self.seconds * 0.5))
            self._kill_the_holder(view)
            self._contend(view, until=self._grace(), enough=lambda: self.waited_for_dead is not None)
            self._contend(view, until=self._after(self.seconds * 0.5))
            self.journal.stop()
            view.note(time.monotonic_ns(), "enough: everyone is asked to stop")
            self._contend(view, until=self._grace(), enough=lambda: not self._alive())
        finally:
            view.close(time.monotonic_ns())

    @staticmethod
    def _after(seconds: float) -> float:
        return time.monotonic() + seconds

    def _grace(self) -> float:
        """Long enough for a dead session to end and for everyone to have a turn, even on a slow machine."""
        return self._after(self.session_ms / 1000 + 20)

    def _alive(self) -> list[str]:
        return [name for name, worker in self.workers.items() if worker.process.poll() is None]

    def _contend(self, view: View, until: float, enough: Callable[[], bool] = lambda: False) -> None:
        """Lets things happen, and shows them, for some time or until it is enough."""
        asked = 0.0
        while time.monotonic() < until and not enough():
            for what, worker, token, at in self.journal.news():
                self._happened(view, what, worker, int(token), int(at))
            self._look_for_failures(view)
            if time.monotonic() - asked > 0.1:
                self._ask_who_waits()
                asked = time.monotonic()
            view.queue(self.waiting)
            view.paint(time.monotonic_ns())
            time.sleep(0.03)

    def _happened(self, view: View, what: str, worker: str, token: int, at: int) -> None:
        if what == "enter":
            gap = at - self.left_at if self.left_at is not None else None
            self.gaps += [gap] if gap is not None else []
            self._ask_who_waits()
            view.entered(worker, token, at, self.before, gap, [name for name in self.waiting if name != worker])
            self.holder, self.token, self.before = worker, token, worker
            if self.killed_at is not None and self.waited_for_dead is None:
                self.waited_for_dead = (at - self.killed_at) / 1e9
                view.note(at, f"{worker} took over {self.waited_for_dead:.1f} s after the kill")
        elif what == "leave":
            self.left_at, self.holder = at, None
            view.left(worker, at)
        elif what == "collision":
            view.note(at, f"{worker} found somebody else inside!")

    def _look_for_failures(self, view: View) -> None:
        for name, worker in self.workers.items():
            status = worker.process.poll()
            if status is None or name in self.ended:
                continue
            self.ended.add(name)
            if name != self.victim and status != 0:
                self.failed.append(f"{name} ended with status {status}: {worker.last_words()}")
                view.note(time.monotonic_ns(), f"{name} failed")

    def _ask_who_waits(self) -> None:
        """Asks the lock itself who stands in line."""
        with contextlib.suppress(zkrecipes.Error):
            self.waiting = [contender.identity for contender in self.lock.contenders()][1:]

    def _kill_the_holder(self, view: View) -> None:
        """Kills whoever enters next, while it is inside."""
        known = self.token
        self._contend(view, until=self._after(20), enough=lambda: self.holder is not None and self.token != known)
        if self.holder is None:
            self.failed.append("nobody held the lock, so nobody could be killed")
            return
        self.victim = self.holder
        process = self.workers[self.victim].process
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.killed_at = time.monotonic_ns()
        self.journal.bury(self.victim, self.killed_at)
        view.killed(self.victim, self.token, self.killed_at, self.session_ms)
        self.holder, self.before, self.left_at = None, self.victim, None

    def _clean_up(self) -> None:
        with contextlib.suppress(zkrecipes.Error):
            self.client.nodes.delete_all(self.path)
        self.client.close()

    def _close(self, verdict: Verdict) -> int:
        count = {lang: sum(language(stay.worker) == lang for stay in verdict.stays) for lang in LANGUAGES}
        for lang, acquired in count.items():
            if acquired == 0:
                self.failed.append(f"{NAMES[lang]} never got the lock")
        if self.victim is not None and self.waited_for_dead is None:
            self.failed.append("nobody took over from the worker that was killed")
        for name in self._alive():
            self.failed.append(f"{name} did not stop")
        rows = [("acquisitions", "  ".join(f"{NAMES[lang]} {count[lang]}" for lang in LANGUAGES))]
        rows += [("  in all", str(len(verdict.stays)))]
        if self.gaps:
            rows += [("hand-off, median", f"{median(self.gaps) / 1e6:.1f} ms from leaving to entering")]
        rows += [("tokens strictly rising", "NO" if verdict.tokens_fell else f"yes, all {len(verdict.stays)}")]
        if self.victim and self.waited_for_dead is not None:
            rows += [(f"after the SIGKILL of {self.victim}", f"next holder in {self.waited_for_dead:.1f} s")]
        rows += [("unprotected counter", f"{verdict.counter} for {verdict.finished} finished stays")]
        rows += [("overlaps", str(len(verdict.overlaps)))]
        width = max(len(name) for name, _ in rows)
        for name, value in rows:
            print(f"  {name:<{width}}   {value}")
        print()
        for problem in [*self.failed, *verdict.overlaps, *verdict.tokens_fell]:
            print(f"  PROBLEM: {problem}")
        if self.failed or not verdict.sound:
            print("  This should never happen; please report it.")
            return 1
        print("  One at a time, whatever the language, and a dead holder held nobody up for long.")
        return 0


@contextlib.contextmanager
def own_server() -> Iterator[str]:
    """The stand-alone in-memory server, on a free port, for as long as the demo lasts."""
    program = ROOT / "target/debug/zkrecipes-server"
    command = [str(program), "--port", "0", "--tick", "200"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline().strip()
        if not line.startswith("listening on "):
            raise SystemExit(f"the demo's server did not start: {line}")
        yield line.removeprefix("listening on ")
    finally:
        server.terminate()
        server.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default=os.environ.get("HOSTS") or None, help="a ZooKeeper connect string")
    parser.add_argument("--seconds", type=float, default=8.0, help="how long to contend, besides the kill")
    parser.add_argument("--session-ms", type=int, default=2500, help="session timeout to ask for")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if options.hosts:
            hosts, where = options.hosts, f"ZooKeeper at {options.hosts}"
        else:
            hosts = stack.enter_context(own_server())
            where = f"a server of its own at {hosts}, in memory"
        title = f"zkrecipes: one lock, workers in Python, Node and C, on {where}"
        try:
            return Demo(hosts, title, options.seconds, options.session_ms).run()
        except zkrecipes.Error as error:
            print(f"demo: {error}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\x1b[?25h" if sys.stdout.isatty() else "")
        sys.exit(130)
