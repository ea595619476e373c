"""What both Python drivers share: the words of the protocol, see ../README.md."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))

import zkrecipes

_output = threading.Lock()


class Command(NamedTuple):
    seq: str
    client: str
    verb: str
    args: list[str]


def parse(line: str) -> Command | None:
    """The command of a line; None for `quit`."""
    fields = line.rstrip("\n").split(" ")
    if fields == ["quit"]:
        return None
    seq, client, verb, *args = fields
    return Command(seq, client, verb, ["" if arg == "-" else arg for arg in args])


def say(*words: str) -> None:
    with _output:
        print(*(word for word in words if word), flush=True)


def hush() -> None:
    """Nobody prints any more: an interpreter that exits aborts on a stdout that one of its threads has locked."""
    _output.acquire()


def answer(seq: str, *values: str) -> None:
    say(seq, "ok", *values)


def refuse(seq: str, error: BaseException) -> None:
    if isinstance(error, zkrecipes.Lost):
        say(seq, "error", error.code, error.reason or "")
    elif isinstance(error, zkrecipes.Error):
        say(seq, "error", error.code)
    else:
        say(seq, "error", type(error).__name__.upper(), repr(error))


def truth(value: object) -> str:
    return "true" if value else "false"


def seconds(milliseconds: list[str]) -> float | None:
    """An optional argument in milliseconds; absent is for ever."""
    return float(milliseconds[0]) / 1000 if milliseconds and milliseconds[0] else None


def whole(number: str) -> int:
    try:
        return int(number)
    except ValueError:
        raise zkrecipes.Invalid(f"{number} is not a whole number") from None


def permits(number: list[str]) -> int:
    """An optional argument that only semaphores heed."""
    return whole(number[0]) if number and number[0] else 1


def names_of(contenders: list[zkrecipes.Contender]) -> list[str]:
    return [contender.identity + ("*" if contender.holds else "") for contender in contenders]
