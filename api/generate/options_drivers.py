"""The options in scenarios, as each driver reads them: `name=value`, in milliseconds, and a flag by its name alone."""

from __future__ import annotations

from pathlib import Path

import drivers
from description import ROOT, piped
from drivers import Word
from node_kinds import lower_camel
from options import Option, Options
from options_c import c_name, enum_of

DRIVERS = ROOT / "tests/drivers"
HEAD = "The words and options of scenarios that are described. Generated from api/ by api/generate; do not edit."


def listed(of: Options) -> list[Option]:
    """What can be said in a word."""
    return [one for one in of.every if not (one.group or one.is_group or one.only or one.type in ("auth", "acl"))]


def is_number(one: Option) -> bool:
    return one.type in ("number", "signed", "count", "count?", "attempts")


# --- Rust

RUST = """
pub fn {of}_options(words: &[&str]) -> Result<{core}, Error> {{
    let mut options = {core}::default();
    for word in words {{
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {{
            {arms}
            _ => return Err(Error::invalid(name, "is no option")),
        }}
    }}
    Ok(options)
}}
"""
RUST_USES = "use super::reading::{Answer, Handles, Key, Said, bytes, millis, number, optional, partitions, text};\n"


def rust_value(one: Option) -> str:
    if one.type == "flag":
        return "true"
    read = "number(name, value)?" if is_number(one) else "value.parse()?"
    read = "number(name, value).map(Duration::from_millis)?" if one.is_time else read
    read = "value.to_owned()" if one.type == "text?" else read
    return f"Some({read})" if one.may_be_missing else read


def rust(every: list[Options], words: list[Word]) -> str:
    code = ""
    for of in every:
        arms = "".join(f'"{one.name}" => options.{one.name} = {rust_value(one)},\n' for one in listed(of))
        code += RUST.format(of=of.of, core=of.rust_type, arms=arms)
    obeyed, needed = drivers.rust(words)
    core = ", ".join(sorted({*(of.rust_type for of in every), "Error", *needed}))
    uses = f"//! {HEAD}\n\nuse std::time::Duration;\n\nuse zkrecipes::{{{core}}};\n\n{RUST_USES}"
    return piped(f"{uses}{obeyed}{code}", "rustfmt", "--edition", "2024", "--config-path", ".")


# --- C

C_HEAD = f"""/* SPDX-License-Identifier: Apache-2.0
 *
 * {HEAD}
 */

#include <stdlib.h>
#include <string.h>

#include "driver.h"
"""
C = """
static inline {c} {of}_options_of(const command *c) {{
{c} options = {init};
const char *value = NULL;
{reads}return options;
}}
"""


def c_read(of: Options, one: Option) -> str:
    field = f"options.{c_name(one)}"
    if one.type == "flag":
        return f'{field} = has_word(c, "{one.name}");\n'
    if one.is_choice:
        enum, prefix = enum_of(of, one)
        words = "".join(f'strcmp(value, "{word}") == 0 ? {prefix}_{word.upper()} : ' for word in one.words)
        read = f"{words}({enum})99"
    else:
        kind = {"number": "(uint32_t)", "signed": "(int32_t)", "count": "(size_t)"}.get(one.type, "")
        read = "value" if one.type == "text?" else f"{kind}strtoll(value, NULL, 10)"
    return f'if ((value = option(c, "{one.name}"))) {field} = {read};\n'


def c(every: list[Options]) -> str:
    code = C_HEAD
    for of in every:
        reads = "".join(c_read(of, one) for one in listed(of))
        code += C.format(c=of.c_type, of=of.of, init=f"{of.c_type.upper()}_INIT", reads=reads)
    return piped(code, "clang-format", "--assume-filename=tests/drivers/c/generated.h")


# --- Python and Node

PYTHON = '''"""{head}"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import zkrecipes

READ: dict[str, Callable[[str], Any]] = {{
    "flag": lambda _: True,
    "time": lambda ms: int(ms) / 1000,
    "number": int,
    "text": str,
}}
KINDS: dict[str, dict[str, str]] = {{
{rows}}}


def options_of(recipe: str, words: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {{}}
    for word in words:
        name, _, value = word.partition("=")
        kind = KINDS[recipe].get(name)
        if kind is None:
            raise zkrecipes.InvalidType(f"invalid {{name}}: there is no such option")
        try:
            made[name] = READ[kind](value)
        except ValueError:
            raise zkrecipes.Invalid(f"{{name}} is no number") from None
    return made
'''
NODE = """// {head}

const KINDS = {{
{rows}}}

export function optionsOf(recipe, words) {{
  return Object.fromEntries(words.map((word) => {{
    const [name, value] = word.split('=', 2)
    const kind = KINDS[recipe][name]
    const key = name.replace(/_(.)/g, (_, letter) => letter.toUpperCase())
    return [key, kind === 'flag' ? true : kind === 'number' ? Number(value) : value]
  }}))
}}
"""


def kind(one: Option) -> str:
    return "flag" if one.type == "flag" else "time" if one.is_time else "number" if is_number(one) else "text"


def python(every: list[Options], words: list[Word]) -> str:
    rows = ""
    for of in every:
        rows += f'    "{of.of}": {{' + ", ".join(f'"{one.name}": "{kind(one)}"' for one in listed(of)) + "},\n"
    text = PYTHON.format(head=HEAD, rows=rows) + drivers.python(words)
    return piped(text, "ruff", "format", "--quiet", "--no-cache", "--stdin-filename", "tests/drivers/python/a.py", "-")


def node(every: list[Options], words: list[Word]) -> str:
    rows = ""
    for of in every:
        kinds = ", ".join(f"{one.name}: '{kind(one).replace('time', 'number')}'" for one in listed(of))
        rows += f"  {lower_camel(of.of)}: {{ {kinds} }},\n"
    return NODE.format(head=HEAD, rows=rows) + drivers.node(words)


def files(every: list[Options], words: list[Word]) -> dict[Path, str]:
    return {
        DRIVERS / "rust/generated.rs": rust(every, words),
        DRIVERS / "c/generated.h": c(every),
        DRIVERS / "c/generated.c": drivers.c(words, HEAD),
        DRIVERS / "c/generated_recipes.h": drivers.c_recipes(words, HEAD),
        DRIVERS / "python/generated.py": python(every, words),
        DRIVERS / "node/generated.mjs": node(every, words),
    }
