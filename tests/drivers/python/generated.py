"""The words and options of scenarios that are described. Generated from api/ by api/generate; do not edit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import zkrecipes

READ: dict[str, Callable[[str], Any]] = {
    "flag": lambda _: True,
    "time": lambda ms: int(ms) / 1000,
    "number": int,
    "text": str,
}
KINDS: dict[str, dict[str, str]] = {
    "client": {
        "session_timeout": "time",
        "connect_timeout": "time",
        "identity": "text",
        "allow_plaintext_auth": "flag",
        "refuse_open_parents": "flag",
        "naming": "text",
        "lease": "text",
        "read_only": "flag",
        "server_tick": "time",
        "max_in_flight": "number",
    },
    "counter": {"layout": "text"},
    "election": {"layout": "text", "priority": "number", "drain": "time"},
    "group": {"layout": "text", "replace": "flag"},
    "lock": {"reentrant": "flag", "local_handoff": "number"},
    "partitioner": {"weight": "number", "name": "text", "drain": "time"},
    "queue": {
        "max_items": "number",
        "ephemeral": "flag",
        "shards": "number",
        "max_attempts": "number",
        "layout": "text",
        "key_window": "time",
    },
}


def options_of(recipe: str, words: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        kind = KINDS[recipe].get(name)
        if kind is None:
            raise zkrecipes.InvalidType(f"invalid {name}: there is no such option")
        try:
            made[name] = READ[kind](value)
        except ValueError:
            raise zkrecipes.Invalid(f"{name} is no number") from None
    return made


class Word(NamedTuple):
    of: str
    name: str
    # new, waits, now or question, as in api/.
    kind: str
    takes: list[str]
    says: str


# What is described.
WORDS = {
    "barrier": Word("barrier", "barrier", "new", ["text"], ""),
    "barrier-create": Word("barrier", "create", "waits", [], ""),
    "barrier-remove": Word("barrier", "remove", "waits", [], ""),
    "barrier-up": Word("barrier", "is_up", "waits", [], "bool"),
    "barrier-wait": Word("barrier", "wait", "waits", ["limit"], ""),
    "config": Word("config", "config", "new", ["text"], ""),
    "config-get": Word("config", "get", "waits", [], "versioned"),
    "config-set": Word("config", "set", "waits", ["bytes", "version"], "i32"),
    "config-create": Word("config", "create", "waits", ["bytes"], "i32"),
    "config-compare-and-set": Word("config", "compare_and_set", "waits", ["bytes", "version"], "bool"),
    "counter": Word("counter", "counter", "new", ["text", "options"], ""),
    "value": Word("counter", "get", "waits", [], "i64"),
    "add": Word("counter", "add", "waits", ["i64"], "i64"),
    "set-value": Word("counter", "set", "waits", ["i64"], ""),
    "compare-and-set": Word("counter", "compare_and_set", "waits", ["i64", "i64"], "bool"),
    "discovery": Word("discovery", "discovery", "new", ["text"], ""),
    "services": Word("discovery", "names", "waits", [], "strings"),
    "failed": Word("discovery", "failed", "now", ["text", "text"], ""),
    "double-barrier": Word("double_barrier", "double_barrier", "new", ["text", "count", "text?"], ""),
    "barrier-entered": Word("double_barrier", "has_entered", "question", [], "bool"),
    "barrier-enter": Word("double_barrier", "enter", "waits", ["limit"], ""),
    "barrier-leave": Word("double_barrier", "leave", "waits", ["limit"], ""),
    "barrier-withdraw": Word("double_barrier", "withdraw", "now", [], ""),
    "group": Word("group", "group", "new", ["text", "options"], ""),
    "join": Word("group", "join", "waits", ["text", "bytes"], ""),
    "leave": Word("group", "leave", "waits", [], ""),
    "update": Word("group", "update", "waits", ["bytes"], ""),
    "members": Word("group", "members", "waits", [], "entries"),
    "wait-for": Word("group", "wait_for", "waits", ["count", "limit"], "entries"),
    "latch": Word("latch", "latch", "new", ["text", "count"], ""),
    "count-down": Word("latch", "count_down", "waits", ["count"], "count"),
    "remaining": Word("latch", "remaining", "waits", [], "count"),
    "latch-reset": Word("latch", "reset", "waits", ["count"], ""),
    "latch-wait": Word("latch", "wait", "waits", ["limit"], ""),
    "names": Word("names", "names", "new", ["text"], ""),
    "bind": Word("names", "bind", "waits", ["text", "bytes", "bool"], ""),
    "lookup": Word("names", "lookup", "waits", ["text"], "bytes_or_none"),
    "unbind": Word("names", "unbind", "waits", ["text"], ""),
    "list": Word("names", "list", "waits", [], "strings"),
    "partitioner": Word("partitioner", "partitioner", "new", ["text", "partitions", "options"], ""),
    "leave-partitions": Word("partitioner", "leave", "waits", [], ""),
    "owners": Word("partitioner", "owners", "waits", [], "owners"),
    "partition-members": Word("partitioner", "members", "waits", [], "weights"),
}
