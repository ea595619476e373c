"""A worker of the demo in Python: takes the lock, works inside for a moment, gives it back, until told to stop."""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

import zkrecipes


def main() -> None:
    hosts, path, identity, home, session_ms = sys.argv[1:6]
    place = Path(home)
    journal = os.open(place / "journal", os.O_WRONLY | os.O_APPEND)

    def note(what: str, token: int) -> None:
        os.write(journal, f"{what} {identity} {token} {time.monotonic_ns()}\n".encode())

    with zkrecipes.Client(hosts, identity=identity, session_timeout=int(session_ms) / 1000) as client:
        lock = client.lock(path)
        while not (place / "stop").exists():
            with lock as held:
                if (place / "stop").exists():
                    break
                try:
                    marker = os.open(place / "inside", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
                except FileExistsError:
                    note("collision", held.fencing_token)
                    continue
                os.write(marker, identity.encode())
                os.close(marker)
                note("enter", held.fencing_token)
                counter = int((place / "counter").read_text())
                time.sleep(random.uniform(0.06, 0.18))
                # At once: whoever is killed meanwhile leaves the old value.
                (place / "counter.new").write_text(str(counter + 1))
                (place / "counter.new").rename(place / "counter")
                note("leave", held.fencing_token)
                (place / "inside").unlink()


if __name__ == "__main__":
    main()
