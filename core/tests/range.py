#!/usr/bin/env python3
"""Runs core/tests/locks/range.rs on a real ZooKeeper whose sequence numbers are almost used up.

2,147,483,647 creates would take weeks. The counter is the parent's cversion, so it is written into a snapshot:
create the parents, let the server write a snapshot, change the counters there, correct the checksums, start again.

    range.py [VERSION]      needs kazoo, as the interop tests do
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/zookeeper"))

from kazoo.client import KazooClient  # noqa: E402
from zookeeper import Ensemble, Node  # noqa: E402

WORLDS = 40
BASE = "/locks/range"
NEARLY = 2**31 - 1 - 6
SEAL = struct.pack(">i", 1) + b"/"


def parents(world: int) -> list[str]:
    return [f"/range-{world:03}{BASE}{below}" for below in ("", "/locks", "/leases", "/a", "/b")]


def make_parents(hosts: str) -> None:
    client = KazooClient(hosts)
    client.start()
    for world in range(WORLDS):
        for path in parents(world):
            client.ensure_path(path)
        # What the tests' semaphores agree about.
        client.create(f"/range-{world:03}{BASE}/max", b"3")
    client.stop()
    client.close()


def seals(snapshot: bytes) -> list[int]:
    """Where the checksums stand: each is of all bytes before it, and a slash follows."""
    found, checksum, done, at = [], 1, 0, snapshot.find(SEAL)
    while at >= 0:
        place = at - 8
        if place >= done:
            checksum, done = zlib.adler32(snapshot[done:place], checksum), place
            if struct.unpack(">q", snapshot[place:at])[0] == checksum:
                found.append(place)
        at = snapshot.find(SEAL, at + 1)
    return found


def use_up(snapshot: bytes) -> bytes:
    changed, sealed = bytearray(snapshot), seals(snapshot)
    assert sealed, "no checksum is where one was expected"
    for world in range(WORLDS):
        for path in parents(world):
            name = struct.pack(">i", len(path)) + path.encode()
            assert snapshot.count(name) == 1, f"{path} stands {snapshot.count(name)} times in the snapshot"
            # The data, the access list's number, and of the stat czxid, mzxid, ctime, mtime and version.
            at = snapshot.index(name) + len(name)
            at += 4 + max(0, struct.unpack_from(">i", snapshot, at)[0]) + 8 + 4 * 8 + 4
            assert struct.unpack_from(">i", snapshot, at)[0] < 10, "this is no counter"
            struct.pack_into(">i", changed, at, NEARLY)
    for place in sealed:
        struct.pack_into(">q", changed, place, zlib.adler32(bytes(changed[:place])))
    return bytes(changed)


def put_near_the_end(node: Node) -> None:
    # A server writes a snapshot of what it has read from the log when it starts.
    node.restart()
    node.stop()
    data = node.home / "data/version-2"
    newest = max(data.glob("snapshot.*"), key=lambda file: int(file.suffix[1:], 16))
    newest.write_bytes(use_up(newest.read_bytes()))
    for stale in [*data.glob("log.*"), *data.glob("snapshot.*")]:
        if stale != newest:
            stale.unlink()
    node.start()


def main() -> int:
    version = sys.argv[1] if len(sys.argv) > 1 else "3.9"
    with Ensemble(version) as zookeeper:
        make_parents(zookeeper.connect_string)
        put_near_the_end(zookeeper.nodes[0])
        command = ["cargo", "test", "--package", "zkrecipes", "--test", "locks", "--", "range::", "--test-threads", "1"]
        environment = {**os.environ, "ZKR_RANGE": zookeeper.connect_string}
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
