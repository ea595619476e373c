"""What both Python drivers share: the words of the protocol, see ../README.md."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Literal, NamedTuple, TypedDict, cast

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


def connect_options(words: list[str]) -> zkrecipes.ClientOptions:
    options = zkrecipes.ClientOptions()
    for word in words:
        name, _, value = word.partition("=")
        if name == "session_timeout":
            options["session_timeout"] = float(value) / 1000
        elif name == "connect_timeout":
            options["connect_timeout"] = float(value) / 1000
        elif name == "server_tick":
            options["server_tick"] = float(value) / 1000
        elif name == "lease":
            options["lease"] = "relaxed" if value == "relaxed" else "strict"
        elif name == "identity":
            options["identity"] = value
        else:
            raise zkrecipes.InvalidType(f"invalid {name}: there is no such option")
    return options


class LockOptions(TypedDict, total=False):
    reentrant: bool
    local_handoff: int


def lock_options(words: list[str]) -> LockOptions:
    options = LockOptions()
    for word in words:
        name, _, value = word.partition("=")
        if word == "reentrant":
            options["reentrant"] = True
        elif name == "handoff":
            options["local_handoff"] = whole(value)
        else:
            raise zkrecipes.InvalidType(f"invalid {name}: there is no such option")
    return options


class ElectionOptions(TypedDict, total=False):
    data: str
    layout: Literal["latch", "selector"]


def election_options(words: list[str]) -> ElectionOptions:
    options = ElectionOptions()
    for word in words:
        name, _, value = word.partition("=")
        if name == "data":
            options["data"] = value
        elif name == "layout":
            options["layout"] = cast("Literal['latch', 'selector']", value)
        else:
            raise zkrecipes.InvalidType(f"invalid {name}: there is no such option")
    return options


def names_of(contenders: list[zkrecipes.Contender]) -> list[str]:
    return [contender.identity + ("*" if contender.holds else "") for contender in contenders]
