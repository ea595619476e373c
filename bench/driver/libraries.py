"""The libraries under test: how each is built, and how its worker is started.

A library that cannot be had is left out with a loud line; the others are measured. Which of them a workload measures
is said where it is run: in locks.py, recipes.py and scale.py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .processes import ROOT

sys.path.insert(0, str(ROOT / "tests" / "interop"))
import peers

BENCH = ROOT / "bench"
WORKERS = BENCH / "workers"
RELEASE = ROOT / "target" / "release"
BUILT = ROOT / "target" / "bench"
RUST = RELEASE / "zkrecipes-bench"

FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass
class Library:
    name: str
    title: str
    ours: bool
    build: Callable[[], list[str | Path]]
    environment: dict[str, str] = field(default_factory=dict)
    command: list[str | Path] = field(default_factory=list)

    @property
    def peer(self) -> bool:
        return not self.ours and self.name != "raw"


def rust(what: str) -> Callable[[], list[str | Path]]:
    return lambda: [RUST, what]


def build_crates() -> None:
    """All that is written in Rust, in one go, so that nothing is built twice. Released, as it is shipped."""
    say("building (some minutes the first time)")
    packages = [word for name in ("bench", "ffi", "python", "node") for word in ("-p", f"zkrecipes-{name}")]
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", *packages],
        cwd=ROOT,
        env=os.environ | {"PYO3_BUILD_EXTENSION_MODULE": "1"},
        stdin=subprocess.DEVNULL,
        check=True,
    )


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def shipped(built: Path, library: Path) -> None:
    """As the packages have it, without debug information."""
    shutil.copy(built, library)
    peers.run("strip", "--strip-debug", library)


def ours_in_python(script: str) -> Callable[[], list[str | Path]]:
    """The package from the tree with a released module, beside that of the development build and not instead of it."""

    def build() -> list[str | Path]:
        package = fresh(BUILT / script / "zkrecipes")
        for source in (ROOT / "python" / "zkrecipes").glob("*.py"):
            shutil.copy(source, package)
        shipped(RELEASE / "lib_native.so", package / "_native.abi3.so")
        return [sys.executable, WORKERS / f"{script}.py"]

    return build


def ours_in_node() -> list[str | Path]:
    package = fresh(BUILT / "node")
    shutil.copytree(ROOT / "node" / "lib", package / "lib")
    shutil.copy(ROOT / "node" / "package.json", package)
    platform = peers.run("node", "-p", f"require('{package}/lib/native.cjs').platformOf()").strip()
    shipped(RELEASE / "libzkrecipes_node.so", fresh(package / "native" / platform) / "zkrecipes.node")
    return ["node", WORKERS / "ours.mjs"]


def ours_in_c() -> list[str | Path]:
    folder = fresh(BUILT / "c")
    # By the name that programs record.
    shipped(RELEASE / "libzkrecipes_c.so", folder / "libzkrecipes.so.0")
    library = folder / "libzkrecipes.so.0"
    peers.run(
        "cc", *FLAGS, WORKERS / "ours.c", f"-I{ROOT}/include", library, f"-Wl,-rpath,{folder}", "-o", folder / "worker"
    )
    return [folder / "worker"]


def curator() -> list[str | Path]:
    folder = fresh(BUILT / "curator")
    jars = ":".join(map(str, sorted(peers.curator().glob("*.jar"))))
    peers.run("javac", "-nowarn", "-Xlint:none", "-d", folder, "-cp", jars, WORKERS / "CuratorWorker.java")
    # Both compilers of the JVM, as in production.
    return [
        "java", "-Xmx1g", "-Xss256k", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
        "-cp", f"{folder}:{jars}", "CuratorWorker",
    ]  # fmt: skip


def kazoo() -> list[str | Path]:
    python = peers.run(ROOT / "tests" / "interop" / "environment.sh").strip().splitlines()[-1]
    return [python, WORKERS / "kazoo_worker.py"]


def c_client() -> list[str | Path]:
    """The C client of Debian with the lock recipe from ZooKeeper's sources, which is shipped in no package."""
    folder = fresh(BUILT / "c-client")
    unpacked, recipes = peers.debian() / "usr", peers.debian() / "c"
    archive = next(unpacked.glob("lib/*/libzookeeper_mt.a"))
    flags = [
        "-DTHREADED", f"-isystem{unpacked}/include", f"-isystem{unpacked}/include/zookeeper",
        f"-isystem{recipes}/include",
    ]  # fmt: skip
    recipe = folder / "zoo_lock.o"
    peers.run("cc", "-std=gnu11", "-O2", "-w", *flags, "-c", recipes / "src" / "zoo_lock.c", "-o", recipe)
    peers.run("cc", *FLAGS, *flags, WORKERS / "peer.c", recipe, archive, "-lm", "-o", folder / "worker")
    return [folder / "worker"]


def node_client() -> list[str | Path]:
    folder = BUILT / "node-client"
    if not (folder / "node_modules").is_dir():
        fresh(folder)
        shutil.copy(BENCH / "package.json", folder)
        peers.run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", cwd=folder)
    return ["node", WORKERS / "peer.mjs"]


def etcd_server() -> Path:
    """The server of Debian's package, unpacked and not installed."""

    def fetch(folder: Path) -> None:
        apt = folder / "apt"
        settings = peers.own_lists(apt)
        peers.run("apt-get", *settings, "update")
        peers.run("apt-get", *settings, "download", "etcd-server", cwd=folder)
        for package in folder.glob("*.deb"):
            peers.run("dpkg", "-x", package, folder)
            package.unlink()
        shutil.rmtree(apt)

    return peers.fetched("etcd-server", fetch) / "usr" / "bin" / "etcd"


def etcd() -> list[str | Path]:
    # The worker is of no use without its server.
    etcd_server()
    folder = fresh(BUILT / "etcd")
    peers.run("go", "build", "-mod=readonly", "-o", folder / "worker", ".", cwd=WORKERS / "etcd")
    return [folder / "worker"]


LIBRARIES = [
    Library("rust", "zkrecipes, Rust", True, rust("ours")),
    Library("blocking", "zkrecipes, blocking Rust", True, rust("blocking")),
    Library("c", "zkrecipes, C", True, ours_in_c),
    Library("python", "zkrecipes, Python", True, ours_in_python("ours"), {"PYTHONPATH": str(BUILT / "ours")}),
    Library("aio", "zkrecipes, asyncio", True, ours_in_python("ours_aio"), {"PYTHONPATH": str(BUILT / "ours_aio")}),
    Library("node", "zkrecipes, Node", True, ours_in_node, {"ZKR_BENCH_NODE": str(BUILT / "node")}),
    Library("curator", "Curator, Java", False, curator),
    Library("kazoo", "kazoo, Python", False, kazoo),
    Library("rust-client", "zookeeper-client, Rust", False, rust("client")),
    Library("c-client", "ZooKeeper's C client", False, c_client),
    Library("node-client", "node-zookeeper-client", False, node_client, {"ZKR_BENCH_PEER": str(BUILT / "node-client")}),
    Library("etcd", "etcd, Go", False, etcd),
    Library("raw", "raw socket", False, rust("raw")),
]

TITLES = {library.name: library.title for library in LIBRARIES}
# Those that talk to a server of their own, which is not ZooKeeper.
ELSEWHERE = ["etcd"]
OURS = [library.name for library in LIBRARIES if library.ours]


def prepare(wanted: list[str], build: bool) -> tuple[list[Library], dict[str, str]]:
    """The libraries that can be measured, and why the others cannot."""
    if build:
        build_crates()
    ready, missing = [], {}
    for library in LIBRARIES:
        if wanted and library.name not in wanted:
            continue
        try:
            library.command = library.build()
            ready.append(library)
        except Exception as problem:
            if library.name in ("rust", "raw"):
                raise
            missing[library.name] = str(problem)
            shout(f"{library.title} cannot be had and is LEFT OUT", str(problem))
    return ready, missing


def shout(what: str, why: str) -> None:
    say(f"\n!!! {what}:\n" + "\n".join(f"!!!   {line}" for line in why.strip().splitlines()[-12:]) + "\n")
