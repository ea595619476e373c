"""Everything on both kinds of server at once: most of it is waiting for one another."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import peers

SERVERS = ("embedded", "real")


def main() -> int:
    # Cut off, it still says how far each had come.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    peers.build()
    peers.build_faces()
    with tempfile.TemporaryDirectory() as folder:
        reports = [Path(folder) / server for server in SERVERS]
        running = []
        try:
            for server, report in zip(SERVERS, reports, strict=True):
                command = [
                    sys.executable,
                    "-m",
                    "pytest",
                    "-q",
                    "-p",
                    "no:cacheprovider",
                    "-o",
                    "faulthandler_timeout=300",
                    "--built",
                    "--server",
                    server,
                ]
                with open(report, "w") as output:
                    running.append(subprocess.Popen(command, cwd=peers.HERE, stdout=output, stderr=output))
            statuses = [process.wait() for process in running]
        finally:
            for process in running:
                process.send_signal(signal.SIGINT)
                process.wait()
            for server, report in zip(SERVERS, reports, strict=True):
                if report.exists():
                    print(f"--- {server}", report.read_text(), sep="\n", flush=True)
    return 1 if any(statuses) else 0


if __name__ == "__main__":
    sys.exit(main())
