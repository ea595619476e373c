"""The other sides: fetched into .cache/interop/ once, built into target/interop/ when their sources have changed."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = Path(os.environ.get("ZKRECIPES_CACHE") or ROOT / ".cache") / "interop"
PROFILE = os.environ.get("ZKR_PROFILE", "dev")
RUST = ROOT / "target" / ("debug" if PROFILE == "dev" else PROFILE)
BUILT = ROOT / "target" / "interop"

JVM = [
    "java", "-Xmx128m", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
]  # fmt: skip

# What the C client and the recipes that ship with ZooKeeper are called at Debian's; unpacked, not installed.
DEBIAN = ("libzookeeper-mt-dev", "libzookeeper-mt2", "libzookeeper-java")
RECIPES_IN_C = ("lock", "queue")
APT = Path("/etc/apt")


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """Runs a command; what it printed is shown only if it fails."""
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=os.environ | environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def fetched(name: str, fetch: Callable[[Path], None]) -> Path:
    """The folder of what is fetched once. It exists only when it is complete."""
    home = CACHE / name
    if home.is_dir():
        return home
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.is_dir():
            print(f"fetching {name}", file=sys.stderr, flush=True)
            partial = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=CACHE))
            try:
                fetch(partial)
                partial.rename(home)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return home


def curator() -> Path:
    """Apache Curator's jars, by their Maven coordinates."""

    def fetch(folder: Path) -> None:
        run(
            "mvn", "--batch-mode", "--quiet", "-Dstyle.color=never", "--no-transfer-progress",
            "--file", HERE / "java" / "pom.xml", "dependency:copy-dependencies",
            f"-DoutputDirectory={folder}", "-DincludeScope=runtime",
        )  # fmt: skip

    # Other jars, another folder.
    wanted = hashlib.sha256((HERE / "java" / "pom.xml").read_bytes()).hexdigest()
    return fetched(f"curator-{wanted[:8]}", fetch)


def debian() -> Path:
    """Debian's packages of the C client and of ZooKeeper's own Java recipes; and below `c` the recipes in C, which are
    shipped as sources only."""

    def fetch(folder: Path) -> None:
        apt = folder / "apt"
        settings = own_lists(apt)
        run("apt-get", *settings, "update")
        run("apt-get", *settings, "download", *DEBIAN, cwd=folder)
        run("apt-get", *settings, "source", "--download-only", "zookeeper", cwd=folder)
        for package in folder.glob("*.deb"):
            run("dpkg", "-x", package, folder)
            package.unlink()
        recipes = folder / "c"
        recipes.mkdir()
        for archive in folder.glob("*.orig.tar.?z"):
            wanted = [f"*/src/main/c/*/zoo_{name}.[ch]" for name in RECIPES_IN_C]
            run("tar", "-xf", archive, "--wildcards", "--strip-components=6", *wanted, cwd=recipes)
        for rest in [*folder.glob("zookeeper_*")]:
            rest.unlink()
        shutil.rmtree(apt)

    return fetched("zookeeper-own", fetch)


def own_lists(apt: Path) -> list[str]:
    """Settings for apt-get with lists of its own, packages and sources, whatever the machine has; needs no rights."""
    for part in ("lists/partial", "sources.d", "cache/archives/partial"):
        (apt / part).mkdir(parents=True)
    for source in [*APT.glob("sources.list"), *APT.glob("sources.list.d/*.list")]:
        lines = [line for line in source.read_text().splitlines() if line.startswith("deb ")]
        lines += [line.replace("deb ", "deb-src ", 1) for line in lines]
        (apt / "sources.d" / f"{source.stem}.list").write_text("\n".join([*lines, ""]))
    for source in APT.glob("sources.list.d/*.sources"):
        lines = source.read_text().splitlines()
        lines = ["Types: deb deb-src" if line.startswith("Types:") else line for line in lines]
        (apt / "sources.d" / source.name).write_text("\n".join([*lines, ""]))
    options = [
        f"Dir::Etc::sourceparts={apt / 'sources.d'}", "Dir::Etc::sourcelist=/dev/null",
        f"Dir::State::lists={apt / 'lists'}", f"Dir::Cache={apt / 'cache'}", "APT::Sandbox::User=",
    ]  # fmt: skip
    return [word for option in options for word in ("-o", option)]


def outdated(product: Path, *sources: Path) -> bool:
    return not product.exists() or product.stat().st_mtime < max(source.stat().st_mtime for source in sources)


def class_path() -> str:
    shipped = debian() / "usr" / "share" / "java"
    recipes = [shipped / f"zookeeper-recipes-{name}.jar" for name in ("lock", "queue")]
    return os.pathsep.join(map(str, [BUILT / "classes", *sorted(curator().glob("*.jar")), *recipes]))


def build_java() -> None:
    sources = sorted((HERE / "java").glob("*.java"))
    if outdated(BUILT / "classes" / "Peer.class", *sources):
        # Quiet: every javac says something else about the annotations that jars refer to and do not contain.
        run("javac", "-nowarn", "-Xlint:none", "-d", BUILT / "classes", "-cp", class_path(), *sources)
        (BUILT / "classes" / "Peer.class").touch()


def build_c() -> None:
    """Our programs with the C client, linked to it statically, so that they run from wherever it was unpacked."""
    unpacked = debian() / "usr"
    archive = next(unpacked.glob("lib/*/libzookeeper_mt.a"))
    recipes = debian() / "c"
    flags = [
        "-std=gnu11", "-g", "-O1", "-pthread", "-DTHREADED",
        f"-isystem{unpacked}/include", f"-isystem{unpacked}/include/zookeeper", f"-isystem{recipes}/include",
    ]  # fmt: skip
    objects = []
    for name in RECIPES_IN_C:
        source, product = recipes / "src" / f"zoo_{name}.c", BUILT / f"zoo_{name}.o"
        if outdated(product, source):
            run("cc", *flags, "-w", "-c", source, "-o", product)
        objects.append(product)
    for name in ("peer", "client"):
        source, product = HERE / "c" / f"{name}.c", BUILT / f"c-{name}"
        if outdated(product, source):
            run("cc", *flags, "-Wall", "-Wextra", "-Werror", source, *objects, archive, "-lm", "-o", product)


def is_built() -> bool:
    """Beside other tests nothing is built again: it would replace what they have loaded."""
    return bool(os.environ.get("ZKR_IS_BUILT"))


def build() -> None:
    if is_built():
        return
    BUILT.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda step: step(), (curator, debian, build_rust)))
    build_java()
    build_c()


def build_rust() -> None:
    if is_built():
        return
    run(
        "cargo", "build", "--quiet", "--profile", PROFILE, "-p", "zkrecipes-interop", "-p", "zkrecipes-embedded",
        cwd=ROOT,
    )  # fmt: skip


def build_faces() -> None:
    """The product's own faces in C, Python and Node, for the crowd."""
    if is_built():
        return
    build_for_c()
    run("make", "setup", "build-python", "build-node", f"PROFILE={PROFILE}", cwd=ROOT)


def build_for_c() -> None:
    """The C library where programs find it, and our own."""
    BUILT.mkdir(parents=True, exist_ok=True)
    prefix = BUILT / "prefix"
    run(ROOT / "ffi" / "install.sh", f"PREFIX={prefix}", f"PROFILE={PROFILE}", cwd=ROOT)
    build_c_program(HERE / "c" / "worker.c", BUILT / "c-worker")


def build_c_program(source: Path, product: Path) -> None:
    """A program that uses our C library, once that is built."""
    prefix = BUILT / "prefix"
    run(
        "cc", "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", source,
        f"-I{prefix}/include", f"-L{prefix}/lib", "-lzkrecipes", f"-Wl,-rpath,{prefix}/lib", "-o", product,
    )  # fmt: skip


def java(program: str, *arguments: str) -> list[str]:
    return [*JVM, "-cp", class_path(), program, *arguments]


def owners(language: str) -> list[str | Path]:
    """The program that plays owners in that language."""
    programs: dict[str, Callable[[], list[str | Path]]] = {
        "rust": lambda: [RUST / "interop-peer"],
        "c": lambda: [BUILT / "c-peer"],
        "java": lambda: [*java("Peer")],
        "python": lambda: [sys.executable, HERE / "python" / "owner_kazoo.py"],
    }
    return programs[language]()


if __name__ == "__main__":
    if sys.argv[1:] == ["ours"]:
        # Behind a build of everything else.
        build_rust()
        build_for_c()
    elif sys.argv[1:] == ["curator"]:
        # Where its jars are.
        print(curator())
    else:
        build()
        build_faces()
