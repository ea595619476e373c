"""The options of clients and recipes, as the descriptions have them: each once, for every language."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import tomllib
from kinds import camel, snake

API = Path(__file__).resolve().parent.parent

# The types of options besides choices, and the unit that readers are told unless the option has another one.
UNITS = {
    "flag": "yes or no",
    # A time that has to end; one that may be left out; a limit, which may be for ever; the longest of pauses.
    "time": "time",
    "time?": "time",
    "limit": "time",
    "limit?": "time",
    "pause": "time",
    "text": "text",
    "text?": "text",
    "pem": "file or PEM",
    # A number of 32 bits, one with a sign, one that counts what there is, and one in which C has less than 0 for the
    # default.
    "number": "number",
    "signed": "number",
    "count": "number",
    "count?": "number",
    "attempts": "number",
    # Several that stand together, which a caller gives if there are any; `group?`: or leaves out as a whole.
    "group": "",
    "group?": "",
    "auth": "pairs",
    "acl": "choice",
    "signal": "AbortSignal",
}


@dataclass
class Option:
    """One of them. What is in a group has its name before a dot, such as tls.ca."""

    name: str
    type: str = ""
    # What it is unless told, times in milliseconds; and what readers are told of that where it is none.
    default: Any = None
    missing: str = ""
    # The range, and what is said of what is outside.
    least: int | None = None
    too_little: str = ""
    most: int | None = None
    too_much: str = ""
    unit: str = ""
    # The one sentence, and what Rust and Python say of a group.
    says: str = ""
    rust: str = ""
    python: str = ""
    # Of a choice with values of its own: what its type is, what C++ says of that, each value and what it means.
    choice: str = ""
    cpp: str = ""
    values: dict[str, str] = field(default_factory=dict)
    only: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)
    # What Rust derives for a group, which has the rest by hand.
    rust_has: str = "Clone, Debug"
    # What it is an option of: the client, or a recipe.
    of: str = ""

    @property
    def group(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def flat(self) -> str:
        return self.name.replace(".", "_")

    @property
    def is_time(self) -> bool:
        return UNITS.get(self.type) == "time"

    @property
    def may_be_missing(self) -> bool:
        return self.type.endswith("?") or self.type == "pem" or self.default == "Default"

    @property
    def is_group(self) -> bool:
        return self.type.startswith("group")

    @property
    def is_choice(self) -> bool:
        return self.type not in UNITS

    @property
    def enum(self) -> str:
        """The type of a choice."""
        return self.type or f"{camel(self.of)}{camel(self.name)}"

    @property
    def words(self) -> list[str]:
        """What a choice may be; what goes without saying is none of them."""
        return [snake(value) for value in self.values if value != "Default"]


@dataclass
class Options:
    """The options of one thing."""

    of: str
    says: str
    rust: str
    python: str
    c_type: str
    cpp_type: str
    node_type: str
    c: list[str]
    c_later: list[str]
    every: list[Option]

    @property
    def rust_type(self) -> str:
        return f"{camel(self.of)}Options"

    def without(self, face: str) -> list[Option]:
        """What users of a face may say, without what is in groups."""
        return [one for one in self.every if not one.group and (not one.only or face in one.only)]

    def in_rust(self) -> list[Option]:
        return self.without("rust")

    def within(self, group: Option) -> list[Option]:
        return [one for one in self.every if one.group == group.name]

    def named_group(self, one: Option) -> str:
        """The type of the group that it is in."""
        return self.named(one.group).type if one.group else "group"

    def named(self, name: str) -> Option:
        return next(one for one in self.every if one.name == name)

    @property
    def rust_has(self) -> str:
        """What Rust derives."""
        return "Clone, Debug" if any(one.is_group for one in self.every) else "Clone, Debug, PartialEq, Eq"

    @property
    def in_c(self) -> list[Option]:
        return [self.named(name) for name in (*self.c, *self.c_later)]


STRUCT_KEYS = {"is", "rust", "python", "c_type", "cpp_type", "node_type", "c", "c_later"}
OPTION_KEYS = {key.name for key in fields(Option)} - {"name", "of", "says"} | {"is"}


@cache
def described(name: str) -> dict[str, Any]:
    return tomllib.loads((API / f"{name}.toml").read_text())


def read(name: str, given: dict[str, Any]) -> Options:
    """What api/{name}.toml says of options."""
    told, of = given["options"], name
    problems = [f"{key} is no key of [options]" for key in told.keys() - STRUCT_KEYS]
    every: list[Option] = []
    for option, keys in given["option"].items():
        problems += [f"{option}: {key} is no key of an option" for key in keys.keys() - OPTION_KEYS]
        known = {key: value for key, value in keys.items() if key in OPTION_KEYS - {"is"}}
        one = Option(option, of=of, says=" ".join(keys["is"].split()), **known)
        enum = "AclChoice" if one.type == "acl" else one.type
        one.values = one.values or described("enums").get(enum, {}).get("values", {})
        if one.is_choice and not one.values:
            problems.append(f"{option}: {one.type or 'without a type'} is no type of an option, and no enum")
        every.append(one)
    stands = [*told["c"], *told.get("c_later", [])]
    for one in (one for one in every if not one.only and (not one.is_group or one.name in stands)):
        if one.name not in stands:
            problems.append(f"{one.name}: say where it stands in C: at the end of c_later of [options]")
    if problems:
        raise SystemExit("\n".join(f"api/{name}.toml: {problem}" for problem in sorted(problems)))
    return Options(
        of,
        told["is"],
        told.get("rust", told["is"]).strip(),
        told.get("python", ""),
        told.get("c_type", f"zkr_{of}_options"),
        told.get("cpp_type", f"{camel(of)}Options"),
        told.get("node_type", f"{camel(of)}Options"),
        told["c"],
        told.get("c_later", []),
        every,
    )


@cache
def options_of(name: str) -> Options:
    return read(name, described(name))


def client() -> Options:
    return options_of("client")


# --- sentences, in which names are those of the core, and words of choices stand between stars


def spelled(one: Option, names: dict[str, str], word: str) -> str:
    """With the names of a language. `word` says how it writes a word of a choice: {C}, {value} or {word}."""
    errors = described("errors")

    def name(found: re.Match[str]) -> str:
        told = found[1]
        if told in errors and "error" in names:
            return f"`{names['error'].format(WORD=snake(told).upper(), name=told)}`"
        beside = f"{one.group}.{told}" if one.group else told
        return f"`{names.get(beside, names.get(told, told))}`"

    def value(found: re.Match[str]) -> str:
        return word.format(word=found[1], value=camel(found[1]), enum=one.enum, C=found[1].upper())

    return re.sub(r"\*(\w+)\*", value, re.sub(r"`([\w.]+)`", name, one.says))
