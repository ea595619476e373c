#!/usr/bin/env python3
"""Real ZooKeeper servers for the tests: fetched by themselves, started on free loopback ports, gone afterwards.

As a module::

    with Ensemble("3.9", nodes=3) as zk:
        client = connect(zk.connect_string)
        zk.nodes[0].kill()          # SIGKILL
        zk.nodes[0].start()         # same port, same data

As a program::

    zookeeper.py fetch                      the versions that most tests use, into .cache/zookeeper/
    zookeeper.py run 3.9 --nodes 3          prints "ready HOSTS", then obeys lines on stdin
                                            (kill N, stop N, start N, restart N, stop, start, pid N, check, quit)
    zookeeper.py exec 3.9 -- COMMAND {}     runs COMMAND with the connect string for {} and ends with its status

Both take --property NAME=VALUE, a system property of Java, as often as wanted: the last one of a name counts. With
--tls DIR the servers have a secure port as well, and with --sasl USER=PASSWORD they know users: {tls} stands for the
connect string of the secure ports, and {dir} for DIR, where the certificates are (certificates.py).
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import functools
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import certificates

HERE = Path(__file__).resolve().parent
POM = HERE / "pom.xml"
CACHE = Path(os.environ.get("ZKRECIPES_CACHE") or HERE.parent.parent / ".cache") / "zookeeper"

# The last release of each line that is wholly published. A line's name stands for its release.
VERSIONS = {"3.5": "3.5.10", "3.6": "3.6.4", "3.7": "3.7.2", "3.8": "3.8.6", "3.9": "3.9.5"}
# Those that more than `make test-all` starts.
USUAL = ["3.8", "3.9"]

START_DEADLINE = 60.0
# For how long a member waits for the others once it has elected, before it elects anew:
# well below the deadline, for any tick.
INIT_MS = 15_000

# Small and quick to start, for tests that start many.
SMALL = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def release(version: str) -> str:
    """The release that a line such as "3.9" stands for; a full release stands for itself."""
    return VERSIONS.get(version, version)


def fetch(version: str) -> list[Path]:
    """The jars of one release, from the cache or from the Maven repository."""
    full = release(version)
    # What is fetched goes by the pom as well.
    home = CACHE / f"{full}-{zlib.crc32(POM.read_bytes()):08x}"
    if not home.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with open(CACHE / f"{full}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not home.is_dir():
                _download(full, home)
    return sorted(home.glob("*.jar"))


def _download(full: str, home: Path) -> None:
    print(f"fetching ZooKeeper {full}", file=sys.stderr, flush=True)
    partial = Path(tempfile.mkdtemp(prefix=f"{full}.", dir=CACHE))
    command = [
        "mvn", "--batch-mode", "--quiet", "-Dstyle.color=never", "--no-transfer-progress",
        "--file", str(POM), "dependency:copy-dependencies",
        f"-Dzookeeper.version={full}", f"-DoutputDirectory={partial}", "-DincludeScope=runtime",
    ]  # fmt: skip
    try:
        for attempt in (1, 2, 3):
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if done.returncode == 0 and (partial / f"zookeeper-{full}.jar").is_file():
                partial.rename(home)  # atomic: a cache directory exists only when it is complete
                return
            print(f"attempt {attempt} to fetch ZooKeeper {full} failed:\n{done.stdout}", file=sys.stderr, flush=True)
        raise RuntimeError(f"ZooKeeper {full} could not be fetched; the lines above say why")
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def classes(version: str) -> list[str]:
    """What has Java map a server's classes as they are in memory, where it would read and check two thousand of them: a
    start takes 0.5 s of a processor, and not 0.8; three members serve after 2 s, and not 4. A server that has begun and
    ended wrote them down; Java itself sees whether they are of these jars."""
    jars, java = fetch(version), Path(shutil.which("java") or "java").resolve()
    which = zlib.crc32(f"{java} {java.stat().st_mtime_ns if java.exists() else 0}".encode())
    written = jars[0].parent / f"classes-{which:08x}.jsa"
    try:
        _write_classes(version, written)
        return [f"-XX:SharedArchiveFile={written}"] if written.stat().st_size else []
    except OSError:
        # There is no writing here, and servers begin all the same.
        return []


def _write_classes(version: str, written: Path) -> None:
    if not written.exists():
        with open(CACHE / f"{release(version)}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not written.exists():
                partial = written.with_suffix(".partial")
                writes = ("-XX:+IgnoreUnrecognizedVMOptions", f"-XX:ArchiveClassesAtExit={partial}")
                ports = Ports(2)
                # A member of an ensemble of one: it has nearly all that either kind of server has.
                lines = ["standaloneEnabled=false", "server.1=127.0.0.1:{}:{}".format(*ports.numbers)]
                with Ensemble(version, lines=lines, java=(*SMALL, *writes)) as server:
                    server.stop()
                ports.close()
                # One that could not write them is not asked again.
                partial.touch()
                partial.rename(written)


class Ports:
    """Loopback ports that are ours until `close`, among all processes that choose theirs here: no other server is given
    one of them while ours is not bound yet, or is down for a while.

    They are below the ephemeral range: a client that redials a stopped server on an ephemeral port can connect to
    itself, and then the server cannot come back. And they are below those from which the embedded server chooses, which
    knows nothing of what is ours: see `CHOICE` of embedded/src/shell/port.rs."""

    OF_EMBEDDED_SERVERS = 12_000

    def __init__(self, count: int) -> None:
        self._locks: list[int] = []
        self.numbers: list[int] = []
        folder = Path(tempfile.gettempdir()) / f"zkrecipes-ports-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        for port in random.sample(self.choice(), 2000):
            lock = os.open(folder / str(port), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if self._take(lock, port):
                self._locks.append(lock)
                self.numbers.append(port)
            else:
                os.close(lock)
            if len(self.numbers) == count:
                return
        self.close()
        raise RuntimeError("no free ports on the loopback interface")

    @classmethod
    def choice(cls) -> range:
        ephemeral = Path("/proc/sys/net/ipv4/ip_local_port_range")
        first = int(ephemeral.read_text().split()[0]) if ephemeral.exists() else 32_768
        end = max(first - cls.OF_EMBEDDED_SERVERS, 4_000)
        return range(max(1_024, end - 10_000), end)

    def _take(self, lock: int, port: int) -> bool:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                # As Java binds: what a server that has ended leaves behind is in nobody's way.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True

    def close(self) -> None:
        while self._locks:
            os.close(self._locks.pop())


def four_letters(port: int, word: str, timeout: float = 2.0) -> str:
    """The answer to a four-letter word, or "" when nobody answers."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=timeout) as conn:
            conn.sendall(word.encode())
            return b"".join(iter(lambda: conn.recv(4096), b"")).decode(errors="replace")
    except OSError:
        return ""


def _die_with_parent() -> None:
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@dataclass
class Secure:
    """How the servers are kept from strangers."""

    # Where certificates.py makes the certificates; None for plain text.
    folder: Path | None = None
    # Whose certificate each server shows, in turn.
    certificates: Sequence[str] = ("server",)
    # Whether clients have to show one: need, want or none.
    clients: str = "want"
    # USER=PASSWORD for SASL with DIGEST-MD5.
    users: Sequence[str] = ()

    def properties(self, home: Path, ident: int) -> list[str]:
        """The system properties of one server."""
        found = []
        if self.folder:
            shown = self.certificates[(ident - 1) % len(self.certificates)]
            found += [
                "zookeeper.serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
                f"zookeeper.ssl.keyStore.location={self.folder / shown}.both",
                "zookeeper.ssl.keyStore.type=PEM",
                f"zookeeper.ssl.trustStore.location={self.folder / 'ca.pem'}",
                "zookeeper.ssl.trustStore.type=PEM",
                f"zookeeper.ssl.clientAuth={self.clients}",
                # Clients on this machine have no name that a certificate could bear.
                "zookeeper.ssl.hostnameVerification=false",
                "io.netty.eventLoopThreads=2",
            ]
        if self.users:
            jaas = home / "jaas.conf"
            users = "\n".join(
                f'  user_{name}="{word}"' for name, _, word in (user.partition("=") for user in self.users)
            )
            module = "org.apache.zookeeper.server.auth.DigestLoginModule"
            jaas.write_text(f"Server {{\n  {module} required\n{users};\n}};\n")
            found += [
                f"java.security.auth.login.config={jaas}",
                "zookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
            ]
        return found


class Node:
    """One server process with its own data directory and port; both survive kill, stop and start."""

    def __init__(
        self,
        ident: int,
        ports: Sequence[int],
        home: Path,
        jars: list[Path],
        config: list[str],
        properties: list[str],
        secure: Secure,
        java: Sequence[str],
    ) -> None:
        self.ident = ident
        self.port, *rest = ports
        self.secure_port = rest[0] if rest else None
        self.home = home
        self.log = home / "server.log"
        # Beside that of this program.
        self.environment: dict[str, str] = {}
        self._jars = jars
        self._java = java
        self._process: subprocess.Popen[bytes] | None = None
        (home / "data").mkdir(parents=True)
        (home / "data" / "myid").write_text(f"{ident}\n")
        self._properties = [f"-D{one}" for one in (*secure.properties(home, ident), *properties)]
        own = [f"dataDir={home / 'data'}", "clientPortAddress=127.0.0.1", f"clientPort={self.port}"]
        if self.secure_port:
            own += ["secureClientPortAddress=127.0.0.1", f"secureClientPort={self.secure_port}"]
        (home / "zoo.cfg").write_text("\n".join([*config, *own, ""]))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.poll() is None else None

    def launch(self) -> None:
        """Starts the process without waiting for it to serve."""
        if self.pid is not None:
            return
        command = [
            "java", "-Xshare:auto", *self._java,
            "-Dzookeeper.extendedTypesEnabled=true",
            "-Dzookeeper.admin.enableServer=false",
            "-Dzookeeper.forceSync=no",
            "-Dzookeeper.preAllocSize=1024",
            "-Dzookeeper.fastleader.maxNotificationInterval=2000",
            "-Dzookeeper.nio.numSelectorThreads=1",
            "-Dzookeeper.nio.numWorkerThreads=2",
            "-Dzookeeper.jmx.log4j.disable=true",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
            "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
            *self._properties,
            "-cp", os.pathsep.join(map(str, self._jars)),
            "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(self.home / "zoo.cfg"),
        ]  # fmt: skip
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | self.environment,
                preexec_fn=_die_with_parent,
            )

    def serves(self) -> bool:
        # One that has not found the others yet may let clients read.
        said = four_letters(self.port, "srvr")
        return "Mode:" in said and "Mode: read-only" not in said

    def has_ended(self) -> bool:
        """Whether it ended by itself."""
        process = self._process
        return process is not None and process.poll() is not None

    def start(self) -> None:
        self.launch()
        wait_for([self])

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        self.stop()
        self.start()

    def tail(self, lines: int = 30) -> str:
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def _end(self, signum: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signum)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(nodes: Sequence[Node], deadline: float = START_DEADLINE) -> None:
    """Waits until all of them serve clients (in an ensemble: until they have joined the quorum), or one has ended."""
    end = time.monotonic() + deadline
    waiting = list(nodes)
    while waiting := [node for node in waiting if not node.serves()]:
        check(nodes)
        if time.monotonic() > end:
            raise RuntimeError(f"ZooKeeper on port {waiting[0].port} does not serve:\n{waiting[0].tail()}")
        time.sleep(0.05)
    check(nodes)


def check(nodes: Sequence[Node]) -> None:
    """Nobody is to wait for a server that ended by itself."""
    for node in nodes:
        if node.has_ended():
            raise RuntimeError(f"ZooKeeper on port {node.port} has ended by itself:\n{node.tail()}")


class Ensemble:
    """One stand-alone server (nodes=1) or a replicated ensemble, in a temporary directory."""

    def __init__(
        self,
        version: str = "3.9",
        nodes: int = 1,
        *,
        tick_ms: int = 300,
        max_session_ms: int = 60_000,
        properties: list[str] | None = None,
        lines: Sequence[str] = (),
        secure: Secure | None = None,
        java: Sequence[str] | None = None,
    ) -> None:
        jars = fetch(version)
        java = (*SMALL, *classes(version)) if java is None else java
        self.version = release(version)
        self._home = Path(tempfile.mkdtemp(prefix="zkrecipes-zookeeper-"))
        self._is_watched = False
        config = [
            f"tickTime={tick_ms}", f"initLimit={max(2, INIT_MS // tick_ms)}", "syncLimit=10",
            f"maxSessionTimeout={max_session_ms}",
            "maxClientCnxns=0", "4lw.commands.whitelist=*", "admin.enableServer=false",
            *lines,
        ]  # fmt: skip
        secure = secure or Secure()
        if secure.folder:
            certificates.make(secure.folder)
        self._ports = Ports(nodes * 4)
        ports = iter(self._ports.numbers)
        if nodes > 1:
            config += [f"server.{i}=127.0.0.1:{next(ports)}:{next(ports)}" for i in range(1, nodes + 1)]
        self.nodes = [
            Node(
                i,
                [next(ports), next(ports)] if secure.folder else [next(ports)],
                self._home / str(i),
                jars,
                config,
                properties or [],
                secure,
                java,
            )
            for i in range(1, nodes + 1)
        ]

    @property
    def connect_string(self) -> str:
        return ",".join(node.address for node in self.nodes)

    @property
    def secure_connect_string(self) -> str:
        return ",".join(f"127.0.0.1:{node.secure_port}" for node in self.nodes)

    def start(self) -> Ensemble:
        start_all([self])
        return self

    def watch(self) -> None:
        """When a server ends by itself, this program is interrupted: nobody waits for what will never come."""
        if self._is_watched:
            return
        self._is_watched = True

        def look() -> None:
            while True:
                time.sleep(0.5)
                try:
                    check(self.nodes)
                except RuntimeError as error:
                    print(error, file=sys.stderr, flush=True)
                    os.kill(os.getpid(), signal.SIGINT)
                    return

        threading.Thread(target=look, daemon=True).start()

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()

    def close(self) -> None:
        for node in self.nodes:
            node.kill()
        self._ports.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def __enter__(self) -> Ensemble:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()


def start_all(ensembles: Sequence[Ensemble]) -> None:
    """All at once: each server takes a second or two of waiting."""
    nodes = [node for ensemble in ensembles for node in ensemble.nodes]
    for node in nodes:
        node.launch()
    wait_for(nodes)
    for ensemble in ensembles:
        ensemble.watch()


def _obey(ensemble: Ensemble, lines: Iterator[str]) -> None:
    one = {"kill": Node.kill, "stop": Node.stop, "start": Node.start, "restart": Node.restart}
    # A lone member of an ensemble serves nobody, so "start" without a number starts all and then waits.
    all_of_them = {"stop": Ensemble.stop, "start": Ensemble.start}
    for line in lines:
        verb, *args = line.split() or [""]
        if verb == "quit":
            return
        try:
            if verb == "pid":
                print(f"ok {ensemble.nodes[int(args[0]) - 1].pid}", flush=True)
                continue
            if verb == "check":
                check(ensemble.nodes)
            elif args:
                one[verb](ensemble.nodes[int(args[0]) - 1])
            else:
                all_of_them[verb](ensemble)
            print("ok", flush=True)
        except (KeyError, IndexError, ValueError):
            print(f"error not understood: {line.strip()}", flush=True)
        except RuntimeError as error:
            print("error " + str(error).replace("\n", " | "), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    fetching = verbs.add_parser("fetch")
    fetching.add_argument("versions", nargs="*", default=USUAL)
    for verb in ("run", "exec"):
        running = verbs.add_parser(verb)
        running.add_argument("version")
        running.add_argument("--nodes", type=int, default=1)
        running.add_argument("--tick", type=int, default=300, help="tickTime in milliseconds")
        running.add_argument("--property", action="append", dest="properties", metavar="NAME=VALUE", help="of Java")
        running.add_argument("--line", action="append", default=[], metavar="NAME=VALUE", help="of zoo.cfg")
        running.add_argument("--tls", type=Path, metavar="DIR", help="where the certificates are; made if missing")
        running.add_argument(
            "--show", default="server", metavar="NAME,…", help="the certificate of each server in turn"
        )
        running.add_argument("--clients", default="want", help="whether clients show theirs: need, want or none")
        running.add_argument("--sasl", action="append", default=[], metavar="USER=PASSWORD")
        if verb == "exec":
            running.add_argument("command", nargs="+")
    options = parser.parse_args()

    if options.verb == "fetch":
        for version in options.versions:
            classes(version)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Whoever is started in the background ignores it, and so would this, by which a server that ends is told.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = options.tls.resolve() if options.tls else None
    secure = Secure(folder, options.show.split(","), options.clients, options.sasl)
    ensemble = Ensemble(
        options.version,
        options.nodes,
        tick_ms=options.tick,
        properties=options.properties,
        lines=options.line,
        secure=secure,
    )
    with ensemble:
        if options.verb == "run":
            also = f" {ensemble.secure_connect_string}" if folder else ""
            print(f"ready {ensemble.connect_string}{also}", flush=True)
            _obey(ensemble, iter(sys.stdin.readline, ""))
            return 0
        words = {"{}": ensemble.connect_string, "{dir}": str(folder), "{tls}": ensemble.secure_connect_string}
        command = [
            functools.reduce(lambda word, one: word.replace(*one), words.items(), word) for word in options.command
        ]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
