"""As much of ZooKeeper's protocol as the driver needs: to look and to clean up. Nothing here is measured."""

from __future__ import annotations

import socket
import struct

EXISTS, DELETE, LIST, CLOSE = 3, 2, 8, -11
NO_NODE, NOT_EMPTY = -101, -111


class Refused(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(f"the server refused with {code}")
        self.code = code


class Session:
    """A session for a few requests. It has the server's longest timeout, and nobody pings."""

    def __init__(self, hosts: str) -> None:
        host, _, port = hosts.split(",")[0].rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._xid = 0
        self._send(struct.pack(">iqiqi16sb", 0, 0, 60_000, 0, 16, bytes(16), 0))
        self._receive()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._call(CLOSE, b"")
        except OSError:
            pass
        finally:
            self._socket.close()

    def count(self, path: str) -> int:
        """How many children a node has; none if it is not there."""
        try:
            stat = self._call(EXISTS, text(path) + b"\0")
        except Refused as refused:
            if refused.code == NO_NODE:
                return 0
            raise
        return int(struct.unpack_from(">i", stat, 56)[0])

    def children(self, path: str) -> list[str]:
        try:
            body = self._call(LIST, text(path) + b"\0")
        except Refused as refused:
            if refused.code == NO_NODE:
                return []
            raise
        names, at = [], 4
        for _ in range(struct.unpack_from(">i", body)[0]):
            (length,) = struct.unpack_from(">i", body, at)
            names.append(body[at + 4 : at + 4 + length].decode())
            at += 4 + length
        return names

    def clear(self, path: str) -> None:
        """Deletes a node with all that is below it. Somebody may delete it, too."""
        for name in self.children(path):
            self.clear(f"{path.rstrip('/')}/{name}")
        try:
            self._call(DELETE, text(path) + struct.pack(">i", -1))
        except Refused as refused:
            if refused.code == NOT_EMPTY:
                return self.clear(path)
            if refused.code != NO_NODE:
                raise

    def _call(self, op: int, body: bytes) -> bytes:
        self._xid += 1
        self._send(struct.pack(">ii", self._xid, op) + body)
        reply = self._receive()
        code = struct.unpack_from(">i", reply, 12)[0]
        if code:
            raise Refused(code)
        return reply[16:]

    def _send(self, frame: bytes) -> None:
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)

    def _receive(self) -> bytes:
        (length,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(length)

    def _exactly(self, count: int) -> bytes:
        found = bytearray()
        while len(found) < count:
            part = self._socket.recv(count - len(found))
            if not part:
                raise ConnectionError("the server hung up")
            found += part
        return bytes(found)


def text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">i", len(encoded)) + encoded
