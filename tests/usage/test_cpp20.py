"""std::stop_token and co_await: their cases, their examples, and the headers in both standards with two compilers."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from world import PROGRAMS, ROOT, World, built, compiled, eventually

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# Debian's newest one in a name of its own: before version 15 clang has no coroutines with GNU's library.
CLANG = next((found for found in ("clang++-16", "clang++-15", "clang++") if shutil.which(found)), "clang++")
COMPILERS = {"gcc": "g++", "clang": CLANG}
CASES = ROOT / "tests/usage/cpp20.cpp"


# A minute each to compile, where it has to be: but for one of them only if all is to be tested.
KINDS = ["gcc", *(["clang", "gcc-thread", "gcc-address,undefined"] if "ZKR_ALL" in os.environ else [])]


@pytest.mark.parametrize("kind", KINDS)
def test_every_case_of_stops_and_coroutines(kind: str, prefix: Path) -> None:
    name, _, sanitizer = kind.partition("-")
    flags = ["-O1", "-g", f"-fsanitize={sanitizer}"] if sanitizer else ["-O0", *WARNINGS]
    program = built(
        [CASES],
        f"cpp20-{name}-{sanitizer or 'plain'}".replace(",", "-"),
        [COMPILERS[name], "-std=c++20", *flags],
        prefix,
    )
    done = subprocess.run([program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(" 0 failed\n")


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
@pytest.mark.parametrize("compiler", COMPILERS.values(), ids=COMPILERS)
def test_the_headers_compile_without_a_warning(compiler: str, standard: str, prefix: Path) -> None:
    headers = ["zkrecipes.hpp", "zkrecipes_testing.hpp"]
    if standard == "c++20":
        headers.append("zkrecipes_coro.hpp")
    text = "".join(f"#include <{header}>\n" for header in headers)
    # Members of templates are looked at where they are used.
    text += "void use(zkr::Lock &l, zkr::Semaphore &s, const zkr::CancelToken &t) {\n"
    text += "  l.lock(t); (void)l.acquire(zkr::forever, t); (void)s.acquire(1, zkr::forever, t); }\n"
    name = f"headers-{compiler}-{standard}"
    source = PROGRAMS / f"{name}.cpp"
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    source.write_text(text)
    command = [compiler, f"-std={standard}", *WARNINGS, f"-I{prefix}/include", "-fsyntax-only", str(source)]
    compiled(command, [source], name, prefix)


def test_the_header_for_tests_stands_alone(prefix: Path) -> None:
    source = PROGRAMS / "header-for-tests.cpp"
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    source.write_text("#include <zkrecipes_testing.hpp>\n")
    command = ["c++", "-std=c++20", *WARNINGS, f"-I{prefix}/include", "-fsyntax-only", str(source)]
    compiled(command, [source], source.stem, prefix)


def test_the_header_of_coroutines_says_what_it_needs(prefix: Path) -> None:
    command = ["g++", "-std=c++17", f"-I{prefix}/include", "-fsyntax-only", "-x", "c++", "-"]
    done = subprocess.run(command, input="#include <zkrecipes_coro.hpp>\n", capture_output=True, text=True)
    assert done.returncode != 0
    assert "compile as C++20" in done.stderr


def example(name: str, prefix: Path) -> Path:
    return built([ROOT / f"examples/cpp/cpp20/{name}.cpp"], name, ["g++", "-std=c++20", "-O0", *WARNINGS], prefix)


def test_a_thread_is_stopped_while_it_waits_and_while_it_works(world: World, prefix: Path) -> None:
    program, path = example("stop_token", prefix), "/locks/report"
    with world.client.lock(path):
        waiting = world.start(program, world.server.connect_string)
        eventually(lambda: len(world.line(path)) == 2, "it waits")
        assert waiting.ends(signal.SIGTERM) == 0
        assert waiting.said == "stopped before it began\n"
    for loses in (False, True):
        working = world.start(program, world.server.connect_string)
        working.says("working, with token")
        if loses:
            world.lose(path)
            working.says("stopped")
        assert working.ends(signal.SIGTERM) == 0
        assert working.said.endswith("stopped\n")
        world.free_at_once(path)


def test_a_coroutine_works_on_a_queue(world: World, prefix: Path) -> None:
    queue = world.client.queue("/queues/mail", max_attempts=3)
    worker = world.start(example("coroutine", prefix), world.server.connect_string)
    worker.says("mail to alice")
    queue.put("bob@example.org")
    worker.says("mail to bob")
    # It gets a new session, and goes on.
    eventually(lambda: queue.len() == 0, "both are done")
    for session in set(world.server.sessions()) - {world.client.session_id}:
        world.server.expire(session)
    queue.put("carol@example.org")
    worker.says("mail to carol")
    assert worker.ends(signal.SIGTERM) == 0, worker.said
    assert worker.said.endswith("stopped\n")
    assert queue.len() == 0
