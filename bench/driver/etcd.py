"""etcd, which has locks and elections of its own: another server, which only its own worker talks to."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from .libraries import etcd_server
from .processes import PATIENCE, Failed, cpu, zookeeper

# Whatever proxy the machine has is not for this.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class EtcdServer:
    """One node. Where its data is in memory, so is what it would wait for on a disk."""

    def __init__(self, disk: Path | None) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="zkrecipes-etcd-", dir=disk))
        self._ports = zookeeper.Ports(2)
        clients, members = (f"http://127.0.0.1:{port}" for port in self._ports.numbers)
        self.first = clients.removeprefix("http://")
        self._log = self._home / "server.log"
        command = [
            etcd_server(), "--name", "bench", "--data-dir", self._home / "data", "--log-level", "error",
            "--listen-client-urls", clients, "--advertise-client-urls", clients,
            "--listen-peer-urls", members, "--initial-advertise-peer-urls", members,
            "--initial-cluster", f"bench={members}",
        ]  # fmt: skip
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                list(map(str, command)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={name: value for name, value in os.environ.items() if not name.startswith("ETCD_")},
                preexec_fn=zookeeper._die_with_parent,
            )
        try:
            self._wait_until_it_serves()
        except BaseException:
            self.close()
            raise
        self.version = json.loads(self._get("/version"))["etcdserver"]

    def _wait_until_it_serves(self) -> None:
        end = time.monotonic() + zookeeper.START_DEADLINE
        while True:
            try:
                if "true" in str(json.loads(self._get("/health"))["health"]):
                    return
            except OSError:
                pass
            if self._process.poll() is not None or time.monotonic() > end:
                raise Failed(f"etcd does not serve: {self._log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)

    @property
    def pids(self) -> list[int]:
        return [self._process.pid]

    def cpu(self) -> int:
        return cpu(self._process.pid)

    def requests(self) -> int:
        """The messages that came by all calls and streams of its protocol."""
        lines = self._get("/metrics").decode().splitlines()
        received = [line for line in lines if line.startswith("grpc_server_msg_received_total")]
        return int(sum(float(line.rpartition(" ")[2]) for line in received))

    def wait_for_children(self, path: str, count: int) -> None:
        """Until so many stand for what is at the path."""
        end = time.monotonic() + PATIENCE
        while (found := int(self._call("range", path, count_only=True).get("count", 0))) < count:
            if time.monotonic() > end:
                raise Failed(f"{found} of {count} came to {path}")
            time.sleep(0.005)

    def clear(self, path: str) -> None:
        self._call("deleterange", path)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._ports.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def _call(self, what: str, path: str, **more: object) -> dict[str, Any]:
        """All keys below a path: `0` comes behind `/`."""
        asked = {"key": encoded(f"{path}/"), "range_end": encoded(f"{path}0"), **more}
        return dict(json.loads(self._get(f"/v3/kv/{what}", json.dumps(asked).encode())))

    def _get(self, path: str, data: bytes | None = None) -> bytes:
        with OPENER.open(f"http://{self.first}{path}", data, timeout=30) as answer:
            return bytes(answer.read())


def encoded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()
