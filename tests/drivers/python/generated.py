"""The options that scenarios give. Generated from api/ by api/generate; do not edit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    "election": {"layout": "text"},
    "group": {"layout": "text"},
    "lock": {"reentrant": "flag", "local_handoff": "number"},
    "queue": {
        "max_items": "number",
        "ephemeral": "flag",
        "shards": "number",
        "max_attempts": "number",
        "layout": "text",
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
