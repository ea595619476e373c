"""The tables of options in docs/options.md: of each language, with its names and its defaults."""

from __future__ import annotations

from collections.abc import Callable

import options_c
import options_cpp
import options_node
import options_python
import options_rust
from kinds import snake
from node_kinds import lower_camel
from options import UNITS, Option, Options, spelled

FACES = {"Rust": "rust", "Python": "python", "Node": "node", "C": "c", "C++": "cpp"}
# What a time is told in, and how a field of an option that is a group is written, if it may be missing or not.
TIMES = {"Rust": "`Duration`", "Python": "seconds", "Node": "milliseconds", "C": "milliseconds", "C++": "`std::chrono`"}
ASKED = {"Rust": "client.session_timeout()", "Python": "client.session_timeout", "C++": "client.session_timeout()"}


def name(language: str, of: Options, one: Option) -> str:
    if language == "C":
        return options_c.c_name(one)
    if language == "Node":
        return options_node.names(of)[one.name]
    if language == "Python" and one.group:
        return f'{one.group}["{one.short}"]'
    return one.name.replace(".", "->") if language == "C++" and of.named_group(one) == "group?" else one.name


def names(language: str, of: Options) -> dict[str, str]:
    if language == "C":
        return options_c.names(of)
    if language == "Node":
        return options_node.names(of) | {inner.name: lower_camel(inner.short) for inner in of.every}
    own = {one.name: one.short for one in of.every}
    return own | {"client.session_timeout": ASKED[language]}


def in_python(of: Options, one: Option) -> str:
    return f"`{options_python.default(one)}`" if options_python.default(one) else ""


def in_node(of: Options, one: Option) -> str:
    if one.default in (None, "Default"):
        return ""
    plain = str(one.default).lower() if isinstance(one.default, int) else f"'{snake(one.default)}'"
    return f"`{plain}`"


def in_rust(of: Options, one: Option) -> str:
    value = options_rust.default(one)
    if one.is_time and one.default:
        return f"{one.default // 1000} s" if one.default % 1000 == 0 else f"{one.default} ms"
    return f"`{value.replace('_', '') if isinstance(one.default, int) else value}`"


def in_c(of: Options, one: Option) -> str:
    return f"`{options_c.field(of, one).macro}`"


def in_cpp(of: Options, one: Option) -> str:
    if one.default is None or one.type == "attempts":
        return ""
    value = options_cpp.default(one).replace("'", "") or ("AclChoice::Default" if one.type == "acl" else "")
    return f"`{value or f'{one.enum}::{one.default}'}{'ms' if one.is_time else ''}`"


DEFAULTS: dict[str, Callable[[Options, Option], str]] = {
    "Rust": in_rust,
    "Python": in_python,
    "Node": in_node,
    "C": in_c,
    "C++": in_cpp,
}


def default(language: str, of: Options, one: Option) -> str:
    if one.is_group and language != "C":
        return "the next rows" if one.type == "group" else "`None`" if language == "Rust" else "none"
    if one.type == "text" and language not in ("C", "C++"):
        return "needed"
    if one.type in ("auth", "text") and language in ("Rust", "C++"):
        return "empty"
    if one.type in ("text?", "pem") and language == "C++":
        return "empty"
    told = DEFAULTS[language](of, one)
    if told:
        return told
    missing = one.missing if language in ("Python", "Node") else ""
    return spelled_missing(language, of, missing) or "none"


def spelled_missing(language: str, of: Options, missing: str) -> str:
    own = names(language, of)
    bare = missing.strip("`")
    return f"`{own.get(bare, bare)}`" if bare in ("host:pid", *own) else missing


def unit(language: str, one: Option) -> str:
    if one.is_group:
        return "yes or no" if language == "C" else "the next rows"
    return TIMES[language] if one.is_time else "choice" if one.is_choice else one.unit or UNITS[one.type]


def rows(language: str, of: Options) -> list[str]:
    face = FACES[language]
    of_whom = {"client": "client", "queue": "queues"}.get(of.of, of.of)
    made = []
    for one in of.every:
        if (one.only and face not in one.only) or (language == "C" and one.is_group and one.name not in of.c):
            continue
        words = spelled(one, names(language, of), "*{word}*").removesuffix(".").replace("|", r"\|")
        if language == "Node":
            words = words.replace("`ConnectionLost`", "`CONNECTION_LOST`")
        told = f"{default(language, of, one)} | {unit(language, one)} | {words}"
        made.append(f"| {of_whom} | `{name(language, of, one)}` | {told} |")
        for more in options_c.MORE.get(one.type, []) if language == "C" else []:
            what = "entries" if more.type.startswith("*") else "number"
            made.append(f"| {of_whom} | `{more.name}` | `{more.macro}` | {what} | {more.docs.removesuffix('.')} |")
        if language == "C++" and one.type == "acl":
            made.append(f"| {of_whom} | `acl_list` | empty | entries | The entries, for `AclChoice::List` |")
    return made


def parts(every: list[Options]) -> dict[str, str]:
    """Those of locks first, and those of queues last, as the recipes stand on other pages."""
    order = ["client", "lock", "election", "group", "counter", "queue"]
    listed = sorted(every, key=lambda of: order.index(of.of) if of.of in order else len(order))
    head = ["", "| of | option | default | unit | meaning |", "|---|---|---|---|---|"]
    return {
        f"options of {language}": "\n".join([*head, *(row for of in listed for row in rows(language, of)), "", ""])
        for language in FACES
    }
