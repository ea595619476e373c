"""Choices, and what is told in one of a few words, of api/enums.toml and of the options of recipes."""

from __future__ import annotations

from dataclasses import dataclass

import tomllib
from description import API, Description, piped, rust_docs
from kinds import snake

KEYS = {"c", "prefix", "cpp", "given", "rust", "words", "option", "none", "values"}
NAME = """
impl {name} {{
    {docs}
    pub fn name(self) -> &'static str {{
        match self {{ {arms} }}
    }}
}}
"""
PARSE = """
impl FromStr for {name} {{
    type Err = Error;

    fn from_str(s: &str) -> Result<{name}> {{
        match s {{
            {arms}_ => Err(Error::invalid("{option}", format!("{{s:?}} is not one of {listed}"))),
        }}
    }}
}}
"""


@dataclass
class Enum:
    name: str
    c: str
    prefix: str
    cpp: str
    given: bool
    # In Rust: its name, what there is of it, and the argument of which an error speaks.
    rust: str
    words: list[str]
    option: str
    # A value that Rust has not.
    none: str
    # Each value, and what C says of it.
    values: dict[str, str]

    @property
    def in_rust(self) -> list[str]:
        return [value for value in self.values if value != self.none]

    def constant(self, value: str) -> str:
        return f"{self.prefix}{snake(value).upper()}"


def enums(every: dict[str, Description]) -> list[Enum]:
    """Those of enums.toml, and behind them those of the recipes, which are their only options."""
    found = []
    for name, given in tomllib.loads((API / "enums.toml").read_text()).items():
        if unknown := given.keys() - KEYS:
            raise SystemExit(f"api/enums.toml: {name}: {', '.join(sorted(unknown))} is no key of an enum")
        found.append(
            Enum(
                name,
                given["c"],
                given.get("prefix", f"{given['c'].upper()}_"),
                given["cpp"],
                given.get("given", False),
                given.get("rust", name),
                given.get("words", []),
                given.get("option", ""),
                given.get("none", ""),
                given["values"],
            )
        )
    for of in every.values():
        for one in of.options.every if of.options else []:
            c = f"{of.type}_{one.name}"
            if one.choice:
                cpp, words = one.cpp, ["parse"]
                found.append(
                    Enum(one.enum, c, f"{c.upper()}_", cpp, True, one.enum, words, one.name, "Default", one.values)
                )
    return found


def parts_of(listed: list[Enum]) -> dict[str, str]:
    """What stands in the enums of C that are declared by hand, in the functions that name values, and on a page."""
    parts = {"reasons of losses": reasons(listed)}
    for one in listed:
        numbered = list(enumerate(one.values.items()))
        docs = {value: "".join(f"/// {line}\n" for line in doc.splitlines()) for value, doc in one.values.items()}
        docs |= {value: f"{doc}#[default]\n" for value, doc in docs.items() if value == one.none}
        parts[f"values of {one.name}"] = "".join(f"{docs[it]}{one.constant(it)} = {at},\n" for at, (it, _) in numbered)
        parts[f"names of {one.name}"] = "".join(f'{at} => c"{snake(it)}",\n' for at, (it, _) in numbered)
    return parts


def in_cpp(listed: list[Enum]) -> str:
    made = []
    for one in listed:
        base = "Choice" if one.given else "Reported"
        constants = "".join(
            f"inline constexpr {one.name} {one.name}::{value}{{{one.constant(value)}}};\n" for value in one.values
        )
        made.append(
            f"/** {one.cpp} */\nstruct {one.name} : detail::{base}<{one.c}> {{\nusing {base}::{base};\n"
            f"static const {one.name} {', '.join(one.values)};\n}};\n{constants}"
        )
    return "\n".join(made)


def reasons(listed: list[Enum]) -> str:
    """The table of why something was lost."""
    one = next(one for one in listed if one.name == "LostReason")
    lines = (f"| `{snake(value)}` | {one.values[value].removesuffix('.')} |" for value in one.in_rust)
    return "\n".join(["", "| reason | what happened |", "|---|---|", *lines, "", ""])


def either(words: list[str]) -> str:
    quoted = [f"`{word}`" for word in words]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}."


def in_core(listed: list[Enum]) -> str:
    """What the core calls them, and makes of words."""
    body, used = "", []
    for one in (one for one in listed if one.words):
        words = {value: snake(value) for value in one.in_rust}
        used.append(one.rust)
        if "name" in one.words:
            arms = "".join(f'{one.rust}::{value} => "{word}",\n' for value, word in words.items())
            body += NAME.format(name=one.rust, docs=rust_docs(either(list(words.values()))), arms=arms)
        if "parse" in one.words:
            arms = "".join(f'"{word}" => Ok({one.rust}::{value}),\n' for value, word in words.items())
            listed_words = ", ".join(words.values())
            body += PARSE.format(name=one.rust, arms=arms, option=one.option, listed=listed_words)
    uses = f"use std::str::FromStr;\n\nuse crate::{{{', '.join(['Error', 'Result', *used])}}};\n"
    head = "//! The words for choices and for what is told. Generated from api/ by api/generate; do not edit.\n\n"
    return piped(f"{head}{uses}{body}", "rustfmt", "--edition", "2024", "--config-path", ".")
