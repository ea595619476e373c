"""A report in a file that only the holder of a lock writes, also when an earlier holder wakes up late.

python in_a_file.py /var/lib/report
"""

import contextlib
import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import zkrecipes


class Stale(Exception):
    """Another holder has come since: what we know is old, and nothing was written."""


class Report:
    """Beside the file, in `NAME.fence`, stands the highest token. It is never deleted, and is locked while the file is
    read or replaced."""

    def __init__(self, path: Path, token: int) -> None:
        self.path, self.token = path, token

    def take_over(self) -> str:
        """The first call of a new holder: writes the token, then reads. From here on no earlier holder writes."""
        with self._fence():
            return self.path.read_text() if self.path.exists() else ""

    def write(self, body: str) -> None:
        with self._fence():
            new = self.path.with_name(self.path.name + ".new")
            with new.open("w") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)  # whoever reads meanwhile has the old one or the new one, whole
            folder = os.open(self.path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    @contextlib.contextmanager
    def _fence(self) -> Iterator[None]:
        descriptor = os.open(self.path.with_name(self.path.name + ".fence"), os.O_RDWR | os.O_CREAT, 0o644)
        with os.fdopen(descriptor, "r+") as fence:
            fcntl.flock(fence, fcntl.LOCK_EX)  # until it is closed, or its process has ended
            stored = int(fence.read() or 0)
            if stored > self.token:
                raise Stale(f"token {stored} has come since; ours is {self.token}")
            # Before the file is changed, and always as long, so that a crash never leaves a lower one.
            fence.seek(0)
            fence.write(f"{self.token:020}\n")
            fence.flush()
            os.fsync(fence.fileno())
            yield


def work(body: str) -> str:
    return body + "one line more\n"


def main(path: str) -> None:
    with zkrecipes.Client() as client, client.lock("/locks/report") as held:  # ZKRECIPES_HOSTS
        report = Report(Path(path), held.fencing_token)
        body = work(report.take_over())
        report.write(body)
    print("written with token", held.fencing_token)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Stale as error:
        sys.exit(f"nothing was written: {error}")
