"""What the pages say is so: links lead somewhere, tables are those of the sources, programs run, and all other code compiles."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pages
import parts
import pytest
import python_reference
import tables
import zkrecipes
from compilers import asked
from snippets import ROOT, Snippet, snippets
from zkrecipes.testing import EmbeddedServer

sys.path.insert(0, str(ROOT / "tests/zookeeper"))

from zookeeper import Ports

PLACE = ROOT / "target/docs/snippets"
PROFILE = os.environ.get("ZKR_PROFILE", "dev")
BUILT = ROOT / "target" / ("debug" if PROFILE == "dev" else PROFILE)
PREFIX = ROOT / "target/docs/prefix"
# Programs that go on until somebody ends them: the signal, what they have said by then, and a word that only they have.
ENDED = {
    ("A lock per user in a web service", "python"): (signal.SIGTERM, "http://", "http://"),
    ("A lock per user in a web service", "js"): (signal.SIGTERM, "http://", "http://"),
    ("A daemon with epoll", "c"): (signal.SIGTERM, "working with", "closed"),
    ("A leader", "python"): (signal.SIGTERM, "leading", "stopped"),
    ("A leader", "js"): (signal.SIGTERM, "leading", "stopped"),
    ("A preferred leader", "python"): (signal.SIGTERM, "leading", "stopped"),
    ("A preferred leader", "js"): (signal.SIGTERM, "leading", "stopped"),
    ("A queue worker that lasts", "python"): (signal.SIGTERM, "mail to alice", "stopped"),
    ("A queue worker that lasts", "js"): (signal.SIGTERM, "mail to alice", "stopped"),
    ("A worker on a queue", "python"): (signal.SIGTERM, "mail to alice", "stopped"),
    ("A worker on a queue", "js"): (signal.SIGTERM, "mail to alice", "stopped"),
    ("Partitions", "python"): (signal.SIGTERM, "copying", "stopped"),
    ("Partitions", "js"): (signal.SIGTERM, "copying", "stopped"),
    ("Permits, and Ctrl-C", "python"): (signal.SIGINT, "begins", "asyncio.gather"),
    ("Permits, and Ctrl-C", "js"): (signal.SIGINT, "begins", "interrupted"),
    ("Permits, and Ctrl-C", "c"): (signal.SIGINT, "begins", "interrupted"),
    ("Permits, and Ctrl-C", "cpp"): (signal.SIGINT, "begins", "interrupted"),
    ("A daemon that starts without a server", "c"): (signal.SIGTERM, "working with", "working with"),
}
# Those that say nothing when all is well.
SILENT = {("When the process ends", "js"), ("gunicorn", "python"), ("Celery", "python")}
# Parts of a framework's configuration, and programs whose servers are elsewhere: a compiler looks at them, below.
NOT_RUN = {("docs/forks.md", "python"), ("README.md", "python"), ("docs/README.md", "python"), ("README.md", "js"), ("docs/README.md", "js"),
           ("docs/observability.md", "python"), ("docs/observability.md", "js")}  # fmt: skip


def of(language: str, whole: bool) -> list[Snippet]:
    found = [one for one in snippets() if one.language == language and one.is_whole == whole]
    return [one for one in found if not whole or (one.page, language) not in NOT_RUN]


def test_every_link_leads_somewhere() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
    assert len(files) > 40
    assert [problem for name in files for problem in pages.problems(name, (ROOT / name).read_text())] == []


def test_a_link_that_leads_nowhere_is_noticed() -> None:
    text = "# Here\n\n[gone](gone.md) [no heading](lock.md#nothing) [fine](lock.md#handles)\n"
    assert [problem.split(": ")[1] for problem in pages.problems("docs/lock.md", text)] == [
        "gone.md",
        "lock.md#nothing",
    ]


def test_what_is_in_cpp_has_the_names_of_cpp() -> None:
    """The names of C are there as well, and nobody who writes C++ has to know them."""
    parts = {str(one): one.text for one in snippets() if one.language == "cpp"}
    programs = {path.name: path.read_text() for path in (ROOT / "examples/cpp").rglob("*.cpp")}
    assert len(parts) > 20
    assert len(programs) > 8
    in_c = re.compile(r"\bZKR_[A-Z]\w*|\bzkr_\w+")
    assert {where: found for where, text in {**parts, **programs}.items() if (found := in_c.findall(text))} == {}


def test_every_page_is_in_the_menu() -> None:
    here = set(pages.pages().values())
    listed = [name for names in pages.MENU.values() for name in names]
    assert len(listed) == len(set(listed))
    assert here - set(listed) == {"index"}
    # The reference of Python is made when the site is.
    assert {name for name in set(listed) - here if not name.endswith("-reference")} <= {"sizing"}


def test_every_example_of_a_framework_is_shown() -> None:
    page = (ROOT / "docs/frameworks.md").read_text()
    here = {path for line in page.splitlines() for path, _ in pages.shown("docs/frameworks.md", line)}
    folders = [
        "c/loops",
        "cpp/cpp20",
        "kubernetes",
        "node/fastify",
        "node/jest",
        "node/node-test",
        "node/vitest",
        "node/worker",
    ]
    folders += [f"python/{name}" for name in ("apscheduler", "celery", "django", "fastapi", "gunicorn")]
    wanted = {path.relative_to(ROOT).as_posix() for name in folders for path in (ROOT / "examples" / name).rglob("*.*")}
    # What only has to be there, and what the tests with Vitest show already.
    left_out = r"__init__|\.pyc$|django/manage|shop/wsgi|(jest|node-test)/report\.m?js$"
    assert {path for path in wanted if not re.search(left_out, path)} == here
    ((path, block),) = pages.shown("docs/frameworks.md", "[`report.mjs`](../examples/node/vitest/report.mjs)")
    assert path == "examples/node/vitest/report.mjs"
    assert block.startswith("```js\n")
    assert block.endswith("\n```")


def test_the_table_of_recipes_is_that_of_the_readme() -> None:
    assert not tables.is_stale(), "docs/site/tables.py --write"


def test_the_faults_of_the_page_are_those_of_the_kit() -> None:
    page = (ROOT / "docs/testing.md").read_text().split("\n### All faults\n")[1].split("\n`Ensemble`")[0]
    actions, keys = (re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE) for table in page.split("\n| key |"))
    with EmbeddedServer() as server:
        for action in actions:
            server.inject(action.strip("`"))
        server.clear_faults()
        for key in re.findall(r"[^`]+=[^`]+", " ".join(keys)):
            action = {"by": "delay_reply", "for": "black_hole"}.get(key.split("=")[0], "drop_before")
            server.inject(f"{action} {key}")
        with pytest.raises(zkrecipes.Invalid) as refused:
            server.inject("explode")
        listed = set(re.findall(r"[a-z]+(?:_[a-z]+)+", str(refused.value).split("there are")[1]))
        assert listed == {action.strip("`").split()[0] for action in actions}
        with pytest.raises(zkrecipes.Invalid) as refused:
            server.inject("drop_before create colour=red")
        words = re.findall(r"\w+", str(refused.value).split("there are")[1].split(":")[0])
        assert {key.split("=")[0] for key in re.findall(r"\w+=", " ".join(keys))} <= set(words)


def test_a_path_that_the_page_calls_wrong_is_refused_in_these_words() -> None:
    page = (ROOT / "docs/guide.md").read_text().split("\n## Paths\n")[1].split("\n## ")[0]
    wrong = re.findall(r"^\| `(/?\S*)` \| (.*) \|$", page, re.MULTILINE)
    assert len(wrong) > 5
    beside = re.findall(r"`P(-__\w+__)`", page)
    assert len(beside) > 3
    with zkrecipes.Client("embedded:") as client:
        for path, words in wrong:
            with pytest.raises(zkrecipes.Invalid) as refused:
                client.lock(path)
            assert words in str(refused.value)
        with client.lock("/paths/report"), client.lock("/paths/report/2026") as below:
            assert below.is_held
        # What is below them makes the one, and is of the other.
        assert client.nodes.exists("/paths/report/2026")
        assert client.barrier("/paths/report").is_up()
        assert client.group("/paths/report").members() == {"2026": b""}
        queue = client.queue("/paths/mail", max_attempts=1)
        queue.put("tea")
        queue.claim().nack()
        client.config("/paths/mode").update(lambda _: b"blue")
        names = {name.removeprefix("mail").removeprefix("mode") for name in client.nodes.children("/paths")}
    with zkrecipes.Client("embedded:", naming="kazoo") as client, client.semaphore("/exports", 1):
        names |= {name.removeprefix("exports") for name in client.nodes.children("/")}
    assert set(beside) <= names


def test_the_reference_of_python_has_the_types_of_the_stubs_and_the_names_of_users() -> None:
    reference = python_reference.all_pages()
    for page in ("python-reference", "asyncio-reference"):
        lock = reference[page].split("\n## Lock\n")[1].split("\n## ")[0]
        assert "\nacquire(blocking: bool=True, timeout: float | None=None) -> Held | None\n" in lock
        assert re.findall(r"\b\w+Base\b", reference[page]) == []


# --- programs


@contextlib.contextmanager
def world() -> Iterator[dict[str, str]]:
    """A server of its own for each program."""
    with EmbeddedServer(tick=0.05) as server:
        yield {**os.environ, "ZKRECIPES_HOSTS": server.connect_string, "PYTHONPATH": str(ROOT / "python")}


@functools.cache
def port() -> Ports:
    """Ours until the tests end, for one program after the other."""
    return Ports(1)


def run(snippet: Snippet, *command: str | Path) -> None:
    """To its end, which is a good one, and after which nothing is left in the line."""
    with world() as environment:
        if snippet.heading == "A worker on a queue":
            # No text: whoever takes it for some fails, and goes on with the next.
            with zkrecipes.Client(environment["ZKRECIPES_HOSTS"]) as client:
                client.queue("/queues/mail").put(b"\xff")
        end = ENDED.get((snippet.heading, snippet.language))
        end = end if end and end[2] in snippet.text else None
        said = PLACE / f"{snippet.line}-{snippet.language}-said.txt"
        with said.open("w") as out:
            program = subprocess.Popen(
                [str(word) for word in command],
                cwd=PLACE,
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                text=True,
            )
        try:
            if end:
                deadline = time.monotonic() + 30
                while (
                    end[1] not in said.read_text(errors="replace")
                    and program.poll() is None
                    and time.monotonic() < deadline
                ):
                    time.sleep(0.02)
                program.send_signal(end[0])
            status = program.wait(30)
        finally:
            program.kill()
            program.wait()
    text = said.read_text(errors="replace")
    assert status == 0, f"{snippet}:\n{text}"
    assert text or (snippet.heading, snippet.language) in SILENT, f"{snippet} said nothing"
    assert not end or end[1] in text, f"{snippet}:\n{text}"
    # What it was to say at its end.
    assert not end or "stopped" not in snippet.text or "stopped" in text, f"{snippet}:\n{text}"
    assert not end or "interrupted" not in snippet.text or "interrupted" in text, f"{snippet}:\n{text}"


def written(snippet: Snippet, suffix: str) -> Path:
    PLACE.mkdir(parents=True, exist_ok=True)
    path = PLACE / f"{snippet.page.removesuffix('.md').replace('/', '-')}-{snippet.line}{suffix}"
    path.write_text(snippet.text.replace("8080", str(port().numbers[0])))
    return path


@pytest.mark.parametrize("snippet", of("python", whole=True), ids=str)
def test_a_program_in_python_runs(snippet: Snippet) -> None:
    path = written(snippet, ".py")
    if "import pytest" in snippet.text:
        run(snippet, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path)
    else:
        run(snippet, sys.executable, path)


@pytest.mark.parametrize("snippet", of("js", whole=True), ids=str)
def test_a_program_in_node_runs(snippet: Snippet) -> None:
    modules = PLACE / "node_modules"
    modules.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (modules / "zkrecipes").symlink_to(ROOT / "node")
    run(snippet, "node", written(snippet, ".mjs"))


@pytest.fixture(scope="session")
def prefix() -> Path:
    subprocess.run(
        [ROOT / "ffi/install.sh", f"PREFIX={PREFIX}", f"PROFILE={PROFILE}"], check=True, stdout=subprocess.DEVNULL
    )
    return PREFIX


FLAGS = {"c": ["cc", "-std=gnu11"], "cpp": ["c++", "-std=c++17"]}
STRICT = ["-O0", "-Wall", "-Wextra", "-Werror"]


# A program in C++ takes seconds to compile: of some it is only looked at whether they would, unless all is to be tested.
RUN_IN_CPP = [one for one in of("cpp", whole=True) if "ZKR_ALL" in os.environ or one.page == "docs/start/cpp.md"]


def headers(prefix: Path) -> list[Path]:
    return sorted((prefix / "include").iterdir())


def program_of(snippet: Snippet, prefix: Path) -> Path:
    path = written(snippet, f".{snippet.language}")
    program = path.with_suffix("")
    libraries = [f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-lzkrecipes_testing", "-lzkrecipes", "-pthread"]
    command = [*FLAGS[snippet.language], *STRICT, f"-I{prefix}/include", "-o", program, path, *libraries]
    done = asked(command, [path, *headers(prefix)], path.with_suffix(".kept"), program)
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.parametrize("snippet", of("c", whole=True) + RUN_IN_CPP, ids=lambda one: f"{one}-{one.language}")
def test_a_program_in_c_compiles_and_runs(snippet: Snippet, prefix: Path) -> None:
    run(snippet, program_of(snippet, prefix))


def test_a_daemon_waits_for_its_server(prefix: Path) -> None:
    (snippet,) = (one for one in of("c", whole=True) if one.heading == "A daemon that starts without a server")
    program = program_of(snippet, prefix)
    with EmbeddedServer(tick=0.05) as server:
        server.stop()
        environment = {**os.environ, "ZKRECIPES_HOSTS": server.connect_string}
        for ends in (True, False):
            with subprocess.Popen([program], env=environment, stdout=subprocess.PIPE, text=True) as daemon:
                assert daemon.stdout
                assert daemon.stdout.readline() == "waiting for the servers\n"
                if ends:
                    daemon.terminate()
                else:
                    server.restart()
                    assert daemon.stdout.readline().startswith("working with fencing token")
                    daemon.terminate()
                assert daemon.wait(30) == 0


INTERRUPTED = [one for one in of("c", whole=True) + of("cpp", whole=True) if one.heading == "Permits, and Ctrl-C"]


def blocks(signal_number: int, process: subprocess.Popen[str]) -> bool:
    """Whether it has come so far that this signal does not end it at once."""
    found = re.search(r"^SigBlk:\s*(\w+)$", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
    return found is not None and bool(int(found[1], 16) >> (signal_number - 1) & 1)


def until(what: str, condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


# One in C++ only where all is to be tested: it takes seconds to compile.
@pytest.mark.parametrize(
    "snippet", INTERRUPTED if "ZKR_ALL" in os.environ else INTERRUPTED[:1], ids=lambda one: one.language
)
@pytest.mark.parametrize("at", ["connecting", "waiting"])
def test_ctrl_c_ends_a_wait_whenever_it_comes(snippet: Snippet, at: str, prefix: Path) -> None:
    program = program_of(snippet, prefix)
    with EmbeddedServer(tick=0.05) as server, zkrecipes.Client(server.connect_string) as client:
        exports = client.semaphore("/limits/exports", 3)
        exports.acquire(3)
        environment = {**os.environ, "ZKRECIPES_HOSTS": server.connect_string}
        if at == "connecting":
            server.pause()
        with subprocess.Popen([program], env=environment, stdout=subprocess.PIPE, text=True) as interrupted:
            until("it blocks the signal", lambda: blocks(signal.SIGINT, interrupted))
            if at == "waiting":
                until("it waits", lambda: len(exports.contenders()) == 4)
            interrupted.send_signal(signal.SIGINT)
            assert interrupted.wait(5) == 0
            assert interrupted.stdout
            assert interrupted.stdout.read() == "interrupted; nothing is left behind\n"
        server.resume()


@functools.cache
def rust_flags() -> list[str]:
    """The crates as they are built for everything in this checkout; of some there are others, too, with fewer features."""
    command = ["cargo", "build", "--profile", PROFILE, "--workspace", "--message-format=json"]
    command += ["--exclude=zkrecipes-python", "--exclude=zkrecipes-node", "--bins"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    flags = ["--edition=2024", "-L", f"dependency={BUILT / 'deps'}"]
    for told in map(json.loads, done.stdout.splitlines()):
        if told["reason"] == "compiler-artifact" and told["target"]["name"] in (
            "zkrecipes",
            "zkrecipes_embedded",
            "tokio",
        ):
            flags += [
                f"--extern={told['target']['name']}={file}" for file in told["filenames"] if file.endswith(".rlib")
            ]
    return flags


def rust(path: Path, *arguments: str) -> str:
    done = subprocess.run(["rustc", *rust_flags(), *arguments, path], cwd=PLACE, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("snippet", of("rust", whole=True), ids=str)
def test_a_program_in_rust_compiles(snippet: Snippet) -> None:
    path = written(snippet, ".rs")
    assert rust(path, "--emit=metadata", "-Dwarnings", "-o", str(path.with_suffix(".rmeta"))) == ""


# --- parts of programs

# Configuration of others' programs, and code of others' libraries.
NO_PARTS = {"docs/forks.md", "docs/interop.md"}


def parts_of(language: str) -> list[Snippet]:
    found = [one for one in snippets() if one.language == language and one.page not in NO_PARTS]
    return [one for one in found if not one.is_whole or (one.page, language) in NOT_RUN]


def compiled(language: str, path: Path, text: str, prefix: Path) -> list[str]:
    """What a compiler says against it. What is declared nowhere is the reader's own, unless it has our name."""
    path.write_text(text)
    checks = ["-fsyntax-only", "-w", f"-I{prefix}/include", *["-Wimplicit-function-declaration"] * (language == "c")]
    done = asked([*FLAGS[language], *checks, path], [path, *headers(prefix)], path.with_suffix(".kept"))
    return [line for line in done.stderr.splitlines() if re.search(r"error:|declaration of function ‘zkr_", line)]


def test_a_part_in_c_compiles(prefix: Path) -> None:
    PLACE.mkdir(parents=True, exist_ok=True)
    assert len(parts_of("c")) > 12
    path = PLACE / "part.c"
    assert [f"{one}: {line}" for one in parts_of("c") for line in compiled("c", path, parts.c(one), prefix)] == []


def test_a_part_in_cpp_compiles(prefix: Path) -> None:
    PLACE.mkdir(parents=True, exist_ok=True)
    assert len(parts_of("cpp")) > 12
    some = parts_of("cpp") + [one for one in of("cpp", whole=True) if one not in RUN_IN_CPP]
    assert compiled("cpp", PLACE / "parts.cpp", parts.cpp(some), prefix) == []


def test_a_part_in_rust_compiles() -> None:
    PLACE.mkdir(parents=True, exist_ok=True)
    # What needs a feature of tokio that the tests are not built with, or crates that are the user's.
    theirs = ("tokio::signal", "opentelemetry", "zookeeper_client::")
    some = [one for one in parts_of("rust") if all(word not in one.text for word in theirs)]
    assert len(some) > 12
    path = PLACE / "parts.rs"
    path.write_text(parts.rust(some))
    assert rust(path, "--crate-type=lib", "--emit=metadata", "-o", str(path.with_suffix(".rmeta"))) == ""


def test_a_part_in_python_has_names_and_arguments_that_are_there() -> None:
    PLACE.mkdir(parents=True, exist_ok=True)
    path = PLACE / "parts_of_python.py"
    assert len(parts_of("python")) > 20
    path.write_text(parts.python(parts_of("python")))
    # The reader's own names are nowhere, and parts need not be typed.
    allowed = "name-defined", "func-returns-value", "used-before-def", "union-attr", "assignment"
    checks = ["--config-file=", "--check-untyped-defs", "--no-error-summary"]
    checks += [f"--disable-error-code={one}" for one in allowed]
    done = subprocess.run([sys.executable, "-m", "mypy", *checks, "--cache-dir", PLACE / "mypy", path], cwd=ROOT / "python", capture_output=True, text=True,
                          env={**os.environ, "MYPYPATH": str(ROOT / "python")})  # fmt: skip
    assert done.stdout == ""


def test_a_part_in_node_is_of_the_language_that_every_supported_node_speaks() -> None:
    """The compiler takes more than Node 18 does, and makes it fit."""
    newer = re.compile(r"^\s*(for \()?(await )?using\b", re.MULTILINE)
    assert [str(part) for part in parts_of("js") if newer.search(part.text)] == []


def test_a_part_in_node_has_names_and_arguments_that_are_there() -> None:
    place = ROOT / "node/test/types/parts"
    place.mkdir(exist_ok=True)
    try:
        assert len(parts_of("js")) > 15
        for part in parts_of("js"):
            (place / f"{part.page.removesuffix('.md').replace('/', '-')}-{part.line}.mts").write_text(parts.node(part))
        (place / "tsconfig.json").write_text(
            '{ "extends": "../tsconfig.json", "compilerOptions": { "noImplicitAny": false, "strict": false, "exactOptionalPropertyTypes": false, "noEmit": true }, "include": ["*.mts"] }'
        )
        types = [*sorted((ROOT / "node/lib").glob("*.d.*ts")), ROOT / "node/node_modules/.package-lock.json"]
        inputs = [*sorted(place.iterdir()), ROOT / "node/test/types/tsconfig.json", ROOT / "node/package.json", *types]
        compiler = [ROOT / "node/node_modules/.bin/tsc", "-p", place]
        # Parts have names that are nowhere, so it always ends with one of the other two.
        done = asked(compiler, inputs, PLACE / "parts-of-node.kept", answers=(0, 1, 2), cwd=ROOT / "node")
    finally:
        shutil.rmtree(place)
    # Names that are nowhere are the reader's own.
    theirs = ("TS2304", "TS2552", "TS18004", "TS2580")
    assert [
        line for line in done.stdout.splitlines() if "error" in line and not any(code in line for code in theirs)
    ] == []
