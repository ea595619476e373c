"""The command `zkrecipes` as the package brings it: what it starts gets nothing that Python did to the process."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zkrecipes
from conftest import contenders, eventually
from zkrecipes.testing import EmbeddedServer

COMMAND = [sys.executable, "-m", "zkrecipes"]
PATH = "/locks/report"
# Long enough for a loaded machine; a test that needs it has failed.
SOON = 30
UNTIL_A_LINE = "echo started; until read line; do :; done"


def environment(hosts: str) -> dict[str, str]:
    """No locale, so that Python has reason to set one."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(zkrecipes.__file__).parents[1]),
        "ZKRECIPES_HOSTS": hosts,
    }


def run(hosts: str, *args: str | bytes) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *args], capture_output=True, text=True, timeout=SOON, env=environment(hosts))


@contextmanager
def start(hosts: str, *args: str, command: list[str] = COMMAND) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [*command, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(hosts),
    )
    with child:
        try:
            yield child
        finally:
            child.kill()


def end(child: subprocess.Popen[str], line: str = "") -> tuple[int, str, str]:
    """Its end after a line on stdin: the status and everything that was not read before."""
    out, err = child.communicate(line, timeout=SOON)
    return child.returncode, out, err


def read_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout
    return child.stdout.readline()


@contextmanager
def holding(hosts: str, *args: str, script: str = UNTIL_A_LINE) -> Iterator[subprocess.Popen[str]]:
    """`zkrecipes lock … -- sh -c SCRIPT`, up to the script's first line."""
    with start(hosts, "lock", *args, "--", "sh", "-c", script) as child:
        assert read_line(child) == "started\n"
        yield child


def test_it_is_the_native_command() -> None:
    said = run("", "--version")
    assert (said.returncode, said.stdout, said.stderr) == (0, f"zkrecipes {zkrecipes.version()}\n", "")
    assert "zkrecipes lock" in run("", "--help").stdout
    wrong = run("", "lokc")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("zkrecipes: unrecognized subcommand 'lokc'; a similar subcommand exists: 'lock'")


@pytest.mark.parametrize(
    ("script", "status"),
    [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -TERM $$", 143), ("kill -KILL $$", 137)],
)
def test_the_status_is_the_commands(hosts: str, client: zkrecipes.Client, script: str, status: int) -> None:
    done = run(hosts, "lock", PATH, "--", "sh", "-c", f"echo ran; {script}")
    assert (done.returncode, done.stdout, done.stderr) == (status, "ran\n", "")
    assert contenders(client, PATH) == 0


def test_what_cannot_be_run_has_the_status_of_shells(hosts: str) -> None:
    assert run(hosts, "lock", PATH, "--", "/nowhere/to/be/found").returncode == 127
    assert run(hosts, "lock", PATH, "--", "/").returncode == 126


def test_the_command_knows_its_fencing_token(hosts: str, client: zkrecipes.Client) -> None:
    script = 'echo started; echo "$ZKR_FENCING_TOKEN $ZKR_SEQUENCER"; read line'
    tokens = []
    for _ in range(2):
        with holding(hosts, PATH, script=script) as child:
            token, sequencer = read_line(child).split()
            assert client.check_sequencer(sequencer)
            tokens.append(int(token))
            assert end(child, "\n") == (0, "", "")
            assert not client.check_sequencer(sequencer)
    with client.lock(PATH) as held:
        assert 0 < tokens[0] < tokens[1] < held.fencing_token


SIGNALS = ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "WINCH"]


def test_signals_are_passed_on(hosts: str, client: zkrecipes.Client) -> None:
    traps = "".join(f"trap 'echo {name}' {name}; " for name in SIGNALS)
    with holding(hosts, PATH, script=f"{traps}{UNTIL_A_LINE}; exit 7") as child:
        for name in SIGNALS:
            child.send_signal(signal.Signals[f"SIG{name}"])
            assert read_line(child) == f"{name}\n"
        assert end(child, "\n") == (7, "", "")
    assert contenders(client, PATH) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_command_is_its_status(hosts: str, client: zkrecipes.Client, number: int) -> None:
    with holding(hosts, PATH, script="echo started; exec cat") as child:
        child.send_signal(number)
        assert child.wait(SOON) == 128 + number
        assert end(child) == (128 + number, "", "")
    assert contenders(client, PATH) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_while_waiting_gives_up(hosts: str, client: zkrecipes.Client, number: int) -> None:
    with client.lock(PATH), start(hosts, "lock", PATH, "echo", "ran") as waiter:
        eventually(lambda: contenders(client, PATH) == 2)
        waiter.send_signal(number)
        assert end(waiter) == (128 + number, "", "")
        assert contenders(client, PATH) == 1


def test_ctrl_c_ends_what_catches_no_signals(server: EmbeddedServer) -> None:
    server.pause()
    with start(server.connect_string, "ls", PATH) as child:
        # Connected, as far as the kernel goes: the command runs, and nobody answers.
        eventually(lambda: "zkrecipes" in threads_of(child.pid))
        child.send_signal(signal.SIGINT)
        assert end(child) == (-signal.SIGINT, "", "")


def threads_of(process: int) -> str:
    """The names of its threads; nothing yet is a process that is only starting."""
    tasks = Path(f"/proc/{process}/task")
    try:
        return " ".join((task / "comm").read_text() for task in tasks.iterdir())
    except OSError:
        return ""


# Puts the command in the foreground of a terminal of its own.
ON_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_what_the_terminal_sends_reaches_the_command_once(hosts: str, client: zkrecipes.Client) -> None:
    keyboard, terminal = os.openpty()
    script = f"trap 'echo caught INT' INT; trap 'echo caught USR1' USR1; {UNTIL_A_LINE}; exit 3"
    arguments = [sys.executable, "-c", ON_TERMINAL, *COMMAND, "lock", PATH, "--", "sh", "-c", script]
    with subprocess.Popen(arguments, stdin=terminal, stdout=terminal, stderr=terminal, env=environment(hosts)) as child:
        os.close(terminal)
        shown = ""

        def show(what: str) -> None:
            nonlocal shown
            while what not in shown:
                assert select.select([keyboard], [], [], SOON)[0]
                shown += os.read(keyboard, 1000).decode()

        try:
            show("started")
            os.write(keyboard, b"\x03")
            show("caught INT")
            # Signals are passed on in their order: a second one would come before this.
            child.send_signal(signal.SIGUSR1)
            show("caught USR1")
            os.write(keyboard, b"\n")
            assert child.wait(SOON) == 3
        finally:
            child.kill()
            os.close(keyboard)
    assert shown.count("caught INT") == 1
    assert "Traceback" not in shown
    assert contenders(client, PATH) == 0


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(),
    reason="which signals a process ignores is told in /proc, which only Linux has",
)


@needs_proc
def test_the_command_starts_with_the_signals_as_we_found_them(hosts: str) -> None:
    show = ["grep", "^Sig[BI]", "/proc/self/status"]

    def signals(shown: str) -> list[int]:
        # Only what has a name: glibc uses two of the others itself.
        return [int(line.split()[1], 16) & 0x7FFF_FFFF for line in shown.splitlines()]

    bare = signals(subprocess.run(show, capture_output=True, text=True).stdout)
    assert len(bare) == 2
    assert signals(run(hosts, "lock", PATH, "--", *show).stdout) == bare


@pytest.mark.parametrize("name", ["INT", "HUP"])
def test_what_was_ignored_stays_ignored(hosts: str, client: zkrecipes.Client, name: str) -> None:
    ignoring = ["sh", "-c", f"trap '' {name}; exec \"$@\"", "sh", *COMMAND]
    with client.lock(PATH) as held, start(hosts, "lock", PATH, "echo", "ran", command=ignoring) as waiter:
        eventually(lambda: contenders(client, PATH) == 2)
        waiter.send_signal(signal.Signals[f"SIG{name}"])
        held.release()
        assert end(waiter) == (0, "ran\n", "")


@needs_proc
@pytest.mark.parametrize("locale", [{}, {"LC_CTYPE": "C"}, {"LC_CTYPE": "C.UTF-8"}, {"LC_ALL": "C"}], ids=str)
def test_the_command_has_the_environment_as_we_found_it(hosts: str, locale: dict[str, str]) -> None:
    given = {**environment(hosts), **locale}
    bare = subprocess.run(["env"], capture_output=True, text=True, env=given).stdout
    done = subprocess.run([*COMMAND, "lock", PATH, "env"], capture_output=True, text=True, env=given, timeout=SOON)
    ours = [line for line in done.stdout.splitlines() if not line.startswith("ZKR_")]
    assert sorted(ours) == sorted(bare.splitlines())


@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}, {"PYTHONUTF8": "1"}], ids=str)
def test_arguments_are_bytes(hosts: str, locale: dict[str, str]) -> None:
    done = subprocess.run(
        [*COMMAND, "lock", PATH, "--", "printf", "%s", b"\xff\xfe \xc3\xa4 \xed\xa0\x80"],
        capture_output=True,
        timeout=SOON,
        env={**environment(hosts), **locale},
    )
    assert (done.returncode, done.stdout) == (0, b"\xff\xfe \xc3\xa4 \xed\xa0\x80")
    refused = run(hosts, "lock", b"/locks/\xff", "true")
    assert refused.returncode == 2
    assert "UTF-8" in refused.stderr


def test_nobody_who_reads_is_no_error_but_a_status(hosts: str) -> None:
    with start(hosts, "ls", "--json", PATH) as child:
        assert child.stdout
        child.stdout.close()
        assert child.wait(SOON) == 128 + signal.SIGPIPE
        assert child.stderr
        assert child.stderr.read() == ""


def test_streams_that_are_closed_are_not_taken_for_others(hosts: str) -> None:
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(
            [
                "sh",
                "-c",
                f'"$@" {closed}; echo "$?"',
                "sh",
                *COMMAND,
                "lock",
                PATH,
                "--",
                "sh",
                "-c",
                "echo on; exit 3",
            ],
            capture_output=True,
            text=True,
            timeout=SOON,
            env=environment(hosts),
        )
        out = "3\n" if ">&- 2" in closed or closed == ">&-" else "on\n3\n"
        assert (done.stdout, done.stderr) == (out, "")
        listed = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *COMMAND, "ls", PATH], env=environment(hosts))
        assert listed.returncode == 0


def test_the_command_says_it_once_and_the_library_logs_nothing(server: EmbeddedServer) -> None:
    with holding(server.connect_string, "--session-timeout", "1h", PATH, script="echo started; exec cat") as child:
        server.drop_connections()
        server.expire(*server.sessions())
        assert child.wait(SOON) == 76
        (said,) = end(child)[2].splitlines()
        assert said.startswith("zkrecipes: lost: ")
