"""A process believes the clock and the disk that it is told of, while it runs."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from machine import Machine, Machines

# Obeys lines, and says what it sees.
PROGRAM = """
import errno, os, sys, time
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for line in sys.stdin:
    match line.split():
        case ["clocks"]:
            print(time.time(), time.monotonic(), flush=True)
        case ["sync"]:
            began = time.monotonic()
            os.fdatasync(file)
            os.fsync(file)
            print(time.monotonic() - began, flush=True)
        case ["write"]:
            try:
                told = os.write(file, b"x") + os.pwrite(file, b"y", 10)
            except OSError as error:
                told = errno.errorcode[error.errno]
            print(told, flush=True)
"""


class Process:
    def __init__(self, machine: Machine, file: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, file],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=machine.environment,
        )

    def ask(self, word: str) -> list[str]:
        assert self._process.stdin
        assert self._process.stdout
        print(word, file=self._process.stdin, flush=True)
        return self._process.stdout.readline().split()

    def clocks(self) -> tuple[float, float]:
        wall, monotonic = map(float, self.ask("clocks"))
        return wall, monotonic

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(10)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machines = Machines(tmp_path)
    if machines.why_not:
        pytest.skip(machines.why_not)
    machine = machines.of("one")
    assert machine
    yield machine
    machines.close()


@pytest.fixture
def process(machine: Machine, tmp_path: Path) -> Iterator[Process]:
    process = Process(machine, tmp_path / "data")
    yield process
    process.close()


@pytest.mark.parametrize("seconds", [3600, -3600, 0.75, -0.75])
def test_a_step_of_the_wall_clock_leaves_the_monotonic_one(machine: Machine, process: Process, seconds: float) -> None:
    wall, monotonic = process.clocks()
    machine.step_clock(seconds)
    wall_after, monotonic_after = process.clocks()
    passed = monotonic_after - monotonic
    assert 0 <= passed < 10
    # Between the two clocks a busy machine may do something else.
    assert abs(wall_after - wall - passed - seconds) < 0.4
    machine.heal()
    assert abs(process.clocks()[0] - time.time()) < 1


def test_a_slow_disk_lets_a_sync_wait(machine: Machine, process: Process) -> None:
    machine.slow_disk(1)
    assert float(process.ask("sync")[0]) >= 2
    machine.slow_disk(0)
    assert float(process.ask("sync")[0]) < 1


def test_a_full_disk_takes_nothing_and_what_is_printed_is_no_file_of_it(machine: Machine, process: Process) -> None:
    assert process.ask("write") == ["2"]
    machine.fill_disk(True)
    assert process.ask("write") == ["ENOSPC"]
    machine.fill_disk(False)
    assert process.ask("write") == ["2"]


def test_each_machine_has_a_clock_of_its_own(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    if machines.why_not:
        pytest.skip(machines.why_not)
    one, other = machines.of("one"), machines.of("other")
    assert one
    assert other
    assert machines.of("one") is one
    processes = [Process(machine, tmp_path / "data") for machine in (one, other)]
    one.step_clock(1000)
    walls = [process.clocks()[0] for process in processes]
    assert 990 < walls[0] - walls[1] < 1010
    for process in processes:
        process.close()
    machines.close()
