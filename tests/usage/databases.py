"""What the examples of fencing write to: servers of PostgreSQL and Redis, and one of objects that has the conditional
writes of S3, each for one module of tests."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from world import eventually


@contextlib.contextmanager
def place_of(user: str | None) -> Iterator[Path]:
    """A short path, since the names of sockets are."""
    place = Path(tempfile.mkdtemp(prefix="zkr-"))
    try:
        if user:
            shutil.chown(place, user)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def answers(socket_path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as one, contextlib.suppress(OSError):
        one.connect(str(socket_path))
        return True
    return False


@contextlib.contextmanager
def postgresql() -> Iterator[str]:
    """Where to connect. It must not run as root."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    assert found, "no PostgreSQL: make setup"
    user = "postgres" if os.geteuid() == 0 else None
    with place_of(user) as place:
        # Where nobody but root may look, it would complain.
        run = {"cwd": place, "user": user, "stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
        make = [found[-1], "--no-sync", "--auth=trust", "--username=test", "--encoding=UTF8", "--no-locale"]
        subprocess.run([*map(str, make), str(place / "data")], check=True, **run)  # type: ignore[call-overload]
        options = ["-F", "-k", str(place), "-c", "listen_addresses="]
        server = subprocess.Popen([found[-1].with_name("postgres"), "-D", str(place / "data"), *options], **run)  # type: ignore[call-overload]
        try:
            eventually(lambda: ready(found[-1].with_name("pg_isready"), place), "PostgreSQL answers")
            yield f"host={place} user=test dbname=postgres"
        finally:
            server.terminate()
            server.wait()


def ready(command: Path, place: Path) -> bool:
    return subprocess.run([command, "-q", "-h", str(place)]).returncode == 0


@contextlib.contextmanager
def redis_server() -> Iterator[str]:
    command = shutil.which("redis-server")
    assert command, "no Redis: make setup"
    with place_of(None) as place:
        options = ["--port", "0", "--unixsocket", str(place / "socket"), "--dir", str(place), "--save", ""]
        server = subprocess.Popen([command, *options], stdout=subprocess.DEVNULL)
        try:
            eventually(lambda: answers(place / "socket"), "Redis answers")
            yield f"unix://{place}/socket"
        finally:
            server.terminate()
            server.wait()


class Objects(BaseHTTPRequestHandler):
    """As S3 has it: the ETag is made of the content and of nothing else, and a put may depend on it."""

    protocol_version = "HTTP/1.1"
    here: dict[str, bytes]
    lock: threading.Lock
    # So many puts are applied, and answered as if the server had failed.
    unheard = 0

    def do_GET(self) -> None:
        with self.lock:
            found = self.here.get(self.path.partition("?")[0])
        self.say(404, b"<Error><Code>NoSuchKey</Code></Error>") if found is None else self.say(200, found)

    def do_PUT(self) -> None:
        path, body = self.path.partition("?")[0], self.rfile.read(int(self.headers["Content-Length"]))
        with self.lock:
            now = self.here.get(path)
            wanted = self.headers.get("If-Match")
            if wanted and now is None:
                return self.say(404, b"<Error><Code>NoSuchKey</Code></Error>")
            is_other = wanted and now is not None and tag(now) != wanted
            if is_other or (self.headers.get("If-None-Match") == "*" and now is not None):
                return self.say(412, b"<Error><Code>PreconditionFailed</Code></Error>")
            self.here[path] = body
            if type(self).unheard:
                type(self).unheard -= 1
                return self.say(503, b"<Error><Code>SlowDown</Code></Error>")
        return self.say(200, b"", tag(body))

    def say(self, status: int, body: bytes, etag: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", etag or tag(body))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def tag(body: bytes) -> str:
    return f'"{hashlib.md5(body).hexdigest()}"'


@contextlib.contextmanager
def object_store() -> Iterator[tuple[str, type[Objects]]]:
    store = type("Store", (Objects,), {"here": {}, "lock": threading.Lock()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), store)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", store
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
