"""The options in Node: their types, what checks them before they are given to the addon, and how that reads them."""

from __future__ import annotations

from description import piped
from kinds import camel, snake
from node_kinds import LIB, lower_camel
from node_types import docs
from options import Option, Options, spelled

FILE = LIB / "options.cjs"
HEAD = "Generated from api/ by api/generate; do not edit."


# By type: what users give, what checks {it} by its {name} (in groups without a range), the type in the addon, and what
# reads {it} into {to}.
READ_SPAN = '{to} = span("{name}", {it}, Duration::MAX, {to})?;'
READ_LIMIT = '{to} = span("{name}", {it}, LONGEST, {to})?;'
GIVEN = "{to} = {it}.unwrap_or({to});"
TYPES = {
    "flag": ("boolean", "check.flag('{name}', {it})", "bool", GIVEN),
    "time": ("number", "check.optionalMillis('{name}', {it})", "f64", READ_SPAN),
    "time?": (
        "number",
        "check.optionalMillis('{name}', {it})",
        "f64",
        '{to} = span_if_any("{name}", {it}, Duration::MAX)?;',
    ),
    "limit": ("number", "check.optionalMillis('{name}', {it})", "f64", READ_LIMIT),
    "limit?": (
        "number",
        "check.optionalMillis('{name}', {it})",
        "f64",
        '{to} = span_if_any("{name}", {it}, LONGEST)?;',
    ),
    "pause": ("number", "check.optionalMillis('{name}', {it})", "f64", READ_LIMIT),
    "text": ("string", "check.text('{name}', {it})", "String", ""),
    "text?": ("string", "check.optionalText('{name}', {it})", "String", "{to} = {it};"),
    "pem": ("string", "check.optionalText('{name}', {it})", "String", "{to} = {it};"),
    "number": ("number", "check.integer('{name}', {it}, {least}, 2 ** 32 - 1)", "u32", GIVEN),
    "signed": ("number", "check.integer('{name}', {it}, -(2 ** 31), 2 ** 31 - 1)", "i32", GIVEN),
    "count": (
        "number",
        "check.integer('{name}', {it}, {least}, 2 ** 32 - 1)",
        "u32",
        "{to} = {it}.map_or({to}, |n| n as usize);",
    ),
    "count?": (
        "number",
        "check.integer('{name}', {it}, {least}, 2 ** 32 - 1)",
        "u32",
        "{to} = {it}.map(|n| n as usize);",
    ),
    "attempts": ("number", "check.integer('{name}', {it}, {least}, 2 ** 32 - 1)", "u32", GIVEN),
    "choice": (
        "",
        "check.optionalText('{name}', {it})",
        "String",
        "{to} = {it}.map_or(Ok({to}), |word| word.parse())?;",
    ),
    "choice?": (
        "",
        "check.optionalText('{name}', {it})",
        "String",
        "{to} = {it}.map(|word| word.parse()).transpose()?;",
    ),
    "auth": ("Auth | readonly Auth[]", "check.credentials({it})", "Vec<Credential>", "{to} = credentials({it});"),
    "acl": (
        "'open' | 'creator' | readonly AclEntry[]",
        "check.accessList({it})",
        "Either<String, Vec<Grant>>",
        "{to} = acl({it})?;",
    ),
    "signal": ("AbortSignal", "check.signal({it})", "", ""),
}


def row(one: Option) -> tuple[str, str, str, str]:
    if not one.is_choice:
        return TYPES[one.type]
    words = " | ".join(f"'{word}'" for word in one.words)
    _, checks, kind, read = TYPES["choice?" if one.may_be_missing else "choice"]
    return words, checks, kind, read


def names(of: Options) -> dict[str, str]:
    own = {one.name: ".".join(map(lower_camel, one.name.split("."))) for one in of.every}
    return own | {"client.session_timeout": "client.sessionTimeout", "error": "{WORD}"}


# --- what users are told


def default(one: Option) -> str:
    if one.default is None or one.default == "Default":
        return ""
    if isinstance(one.default, bool):
        return f"`{str(one.default).lower()}`" if one.default else ""
    return f"{one.default:,}" if isinstance(one.default, int) else f"`{snake(one.default)}`"


def said(of: Options, one: Option) -> str:
    beside = {inner.name: lower_camel(inner.short) for inner in of.every if inner.group == one.group and one.group}
    words = spelled(one, names(of) | beside, "`{word}`")
    unit = "In milliseconds." if one.is_time else ""
    known = default(one) if "unless told" not in words else ""
    return " ".join(filter(None, [words, unit, f"Unless told: {known}." if known else ""]))


def declared(of: Options) -> str:
    """The properties of the interface."""
    text = ""
    for one in of.without("node"):
        name = lower_camel(one.name)
        if not one.is_group:
            text += f"{docs(said(of, one))}  {name}?: {row(one)[0]} | undefined\n"
            continue
        inside = ""
        for inner in of.within(one):
            told = f": {row(inner)[0]}" if inner.type == "text" else f"?: {row(inner)[0]} | undefined"
            inside += f"{docs(said(of, inner), '        ')}        {lower_camel(inner.short)}{told}\n"
        text += f"{docs(said(of, one))}  {name}?:\n    | {{\n{inside}      }}\n    | undefined\n"
    return text


def interface(of: Options) -> str:
    return f"export interface {of.node_type} {{\n{declared(of)}}}\n"


# --- node/lib

FUNCTION = """
function {name}(verb, value) {{
  const given = check.options(verb, value, [{known}])
  return {{
{checks}  }}
}}
"""


def checks(of: Options, one: Option, path: str) -> str:
    """What the addon gets of an option."""
    name = ".".join(map(lower_camel, one.name.split(".")))
    if not one.is_group:
        return row(one)[1].format(name=name, it=f"{path}.{lower_camel(one.short)}", least=one.least or 0)
    inside = ", ".join(f"{lower_camel(inner.short)}: {row(inner)[1].partition('(')[0]}" for inner in of.within(one))
    return f"check.group('{name}', {path}.{name}, {{ {inside} }})"


def lib(every: list[Options]) -> str:
    text = f"'use strict'\n\n// {HEAD}\n\nconst check = require('./check.cjs')\n"
    for of in every:
        listed = of.without("node")
        text += FUNCTION.format(
            name=f"{lower_camel(of.of)}Options",
            known=", ".join(f"'{lower_camel(one.name)}'" for one in listed),
            checks="".join(f"    {lower_camel(one.name)}: {checks(of, one, 'given')},\n" for one in listed),
        )
    exported = ", ".join(sorted(f"{lower_camel(of.of)}Options" for of in every))
    return f"{text}\nmodule.exports = {{ {exported} }}\n"


# --- the addon

OBJECT = """
#[napi(object)]
pub struct {name} {{
    {fields}
}}
"""
INTO_CORE = """
impl {name} {{
    pub fn into_core(self) -> Result<{core}> {{
        let mut options = {core}::default();
        {reads}
        Ok(options)
    }}
}}
"""


def settings(of: Options) -> str:
    return of.node_type if of.of == "client" else f"{camel(of.of)}Settings"


def reads(of: Options, one: Option) -> str:
    if not one.is_group:
        return row(one)[3].format(to=f"options.{one.name}", it=f"self.{one.name}", name=one.name) + "\n"
    inside = of.within(one)
    if all(inner.type == "text" for inner in inside):
        given = ", ".join(f"given.{inner.short}" for inner in inside)
        return f"options.{one.name} = self.{one.name}.map(|given| {camel(one.name)}Options::new({given}));\n"
    to = one.name if one.type == "group?" else f"options.{one.name}"
    made = "".join(
        row(inner)[3].format(to=f"{to}.{inner.short}", it=f"given.{inner.short}", name=inner.name) + "\n"
        for inner in inside
    )
    if one.type == "group?":
        made = f"let mut {to} = {camel(one.name)}Options::default();\n{made}options.{one.name} = Some({to});\n"
    return f"if let Some(given) = self.{one.name} {{\n{made}}}\n"


def fields(listed: list[Option]) -> str:
    made = ""
    for one in listed:
        kind = camel(one.name) if one.is_group else row(one)[2]
        made += f"pub {one.short}: {kind if one.type == 'text' else f'Option<{kind}>'},\n"
    return made


def addon(every: list[Options]) -> str:
    code = ""
    for of in every:
        listed = [one for one in of.without("node") if not one.only]
        # The secrets first: in the core's options they are overwritten, however this ends.
        secret = [one for one in listed if one.type in ("auth", "group?")]
        for one in (one for one in listed if one.is_group):
            code += OBJECT.format(name=camel(one.name), fields=fields(of.within(one)))
        code += OBJECT.format(name=settings(of), fields=fields(listed))
        ordered = [*secret, *(one for one in listed if one not in secret)]
        code += INTO_CORE.format(name=settings(of), core=of.rust_type, reads="".join(reads(of, one) for one in ordered))
    core = [*(of.rust_type for of in every), "Result", "SaslOptions", "TlsOptions"]
    uses = (
        f"//! {HEAD}\n\nuse std::time::Duration;\n\nuse napi::bindgen_prelude::Either;\nuse napi_derive::napi;\n"
        f"use zkrecipes::{{{', '.join(sorted(core))}}};\n\n"
        "use crate::options::{Credential, Grant, LONGEST, acl, credentials, span, span_if_any};\n"
    )
    return piped(f"{uses}{code}", "rustfmt", "--edition", "2024", "--config-path", ".")
