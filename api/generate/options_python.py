"""The options in Python: what type checkers and editors are told, and what reads them in the native module."""

from __future__ import annotations

import textwrap

from description import piped
from kinds import camel, snake
from options import Option, Options, spelled

WIDTH = 115
# By type: what users give, and what reads `value`.
TYPES = {
    "flag": ("bool", 'flag("{name}", value)?'),
    "time": ("float", 'duration("{name}", value)?'),
    "time?": ("float", 'Some(duration("{name}", value)?)'),
    "limit": ("float", 'duration("{name}", value)?'),
    "limit?": ("float", 'Some(duration("{name}", value)?)'),
    "pause": ("float", 'duration("{name}", value)?'),
    "text": ("str", 'text("{name}", value)?'),
    "text?": ("str", 'Some(text("{name}", value)?)'),
    "pem": ("str", 'Some(text("{name}", value)?)'),
    "number": ("int", 'count("{name}", value)?'),
    "signed": ("int", 'signed("{name}", value)?'),
    "count": ("int", 'permits("{name}", value)?'),
    "count?": ("int", 'Some(permits("{name}", value)?)'),
    # So many are as good as for ever.
    "attempts": ("int", 'u32::try_from(size("{name}", value)?).unwrap_or(u32::MAX)'),
    "choice": ("", 'word("{name}", value)?'),
    "choice?": ("", 'Some(word("{name}", value)?)'),
    "auth": ("tuple[str, str | bytes] | Sequence[tuple[str, str | bytes]]", "auth(value)?"),
    "acl": ('Literal["open", "creator"] | Sequence[tuple[str, str, str]]', "acl(value)?"),
}


def row(one: Option) -> tuple[str, str]:
    if one.is_group:
        read = f"{one.name}(value)?"
        return f"{camel(one.name)}Options", f"Some({read})" if one.type == "group?" else read
    if not one.is_choice:
        return TYPES[one.type]
    _, read = TYPES["choice?" if one.may_be_missing else "choice"]
    return "Literal[{}]".format(", ".join(f'"{word}"' for word in one.words)), read


def default(one: Option) -> str:
    """As Python writes it, in seconds; empty if it is none of its own."""
    if one.default in (None, "Default"):
        return ""
    if isinstance(one.default, bool):
        return str(one.default)
    if one.is_time:
        return f"{one.default / 1000:g}"
    return str(one.default) if isinstance(one.default, int) else f'"{snake(one.default)}"'


def said(of: Options, one: Option) -> str:
    words = spelled(one, {inner.name: inner.short for inner in of.every}, '"{word}"')
    unit = "In seconds." if one.is_time else ""
    known = "" if "unless told" in words or one.default in (None, False, "Default") else f"Unless told: {default(one)}."
    return " ".join(filter(None, [words, unit, known]))


# --- dicts of options


def members(of: Options, listed: list[Option]) -> str:
    made = ""
    for one in listed:
        kind = row(one)[0] + ("" if one.group else " | None")
        words = textwrap.wrap(said(of, one), WIDTH - 6)
        text = "\n    ".join(words)
        made += f'    {one.short}: {kind}\n    """{text}"""\n'
    return made


def table(of: Options) -> str:
    """What `help` says of them."""
    widths = (22, 14, 64)
    rule = "  ".join("=" * width for width in widths)
    lines = [rule, "option                  default         what it is", rule]
    for one in of.without("python"):
        known = default(one) or one.missing.replace("`", "") or "none"
        if one.is_group and one.type == "group":
            known = ", ".join(f"{inner.short} {default(inner)}" for inner in of.within(one) if default(inner))
        told = spelled(one, {inner.name: inner.short for inner in of.every}, '"{word}"')
        cells = [[one.name], textwrap.wrap(known, widths[1]), textwrap.wrap(told, widths[2])]
        for at in range(max(map(len, cells))):
            row_of = (cell[at] if at < len(cell) else "" for cell in cells)
            lines.append("  ".join(text.ljust(width) for text, width in zip(row_of, widths, strict=True)).rstrip())
    return textwrap.indent("\n".join([*lines, rule]), "    ") + "\n"


def keywords(of: Options) -> list[str]:
    """Those of a factory. Where C has another word for the default, None is that."""
    return [
        f"{one.name}: {row(one)[0]}{'' if known(one) != 'None' else ' | None'} = {known(one)}"
        for one in of.without("python")
    ]


def signature(of: Options) -> str:
    return f"*, {', '.join(keywords(of))}"


def for_asyncio(every: list[Options]) -> dict[str, str]:
    """The keywords of the factories that asyncio has by hand."""
    found = {}
    for of in (of for of in every if of.of != "client"):
        found[f"keywords of {of.of}"] = "".join(f"{one},\n" for one in keywords(of))
        found[f"keywords given to {of.of}"] = "".join(f"{one.name}={one.name},\n" for one in of.without("python"))
    return found


def known(one: Option) -> str:
    return (default(one) if one.type != "attempts" else "") or "None"


# --- the native module

FUNCTION = """
/// Of {says}.
pub fn {of}(given: Option<&Bound<'_, PyDict>>) -> PyResult<{core}> {{
    let mut made = {core}::default();
    keywords(given, &[{known}], |name, value| {{
        match name {{
            {arms}
            _ => unreachable!("the names were checked against the table"),
        }}
        Ok(())
    }})?;
    Ok(made)
}}
"""
GROUP = """
fn {name}(value: Arg) -> PyResult<{core}> {{
    let mut made = {core}::default();
    table("{name}", value, &[{known}], |name, value| {{
        match name {{
            {arms}
            _ => unreachable!("the names were checked against the table"),
        }}
        Ok(())
    }})?;
    Ok(made)
}}
"""
NEEDED = """
fn {name}(value: Arg) -> PyResult<{core}> {{
    let given = needed("{name}", value, &[{known}])?;
    let mut given = given.into_iter();
    Ok({core}::new({given}))
}}
"""


def listed_names(every: list[Option]) -> str:
    return ", ".join(f'"{one.short}"' for one in every)


def arms(every: list[Option]) -> str:
    return "".join(f'"{one.short}" => made.{one.short} = {row(one)[1].format(name=one.name)},\n' for one in every)


def native(every: list[Options]) -> str:
    code = ""
    for of in every:
        listed = of.without("python")
        code += FUNCTION.format(
            says="a client" if of.of == "client" else f"what a {of.of} is made with",
            of=of.of,
            core=of.rust_type,
            known=listed_names(listed),
            arms=arms(listed),
        )
        for one in (one for one in listed if one.is_group):
            inside = of.within(one)
            words = {"name": one.name, "core": f"{camel(one.name)}Options", "known": listed_names(inside)}
            if all(inner.type == "text" for inner in inside):
                code += NEEDED.format(**words, given=", ".join("given.next().unwrap_or_default()" for _ in inside))
            else:
                code += GROUP.format(**words, arms=arms(inside))
    core = sorted([*(of.rust_type for of in every), "RetryOptions", "SaslOptions", "TlsOptions"])
    uses = (
        "//! Generated from api/ by api/generate; do not edit.\n\n"
        "use pyo3::prelude::*;\nuse pyo3::types::PyDict;\n"
        f"use zkrecipes::{{{', '.join(core)}}};\n\n"
        "use crate::convert::{count, duration, flag, permits, signed, size, text, word};\nuse crate::face::Arg;\n"
        "use crate::options::{acl, auth, keywords, needed, table};\n"
    )
    return piped(f"{uses}{code}", "rustfmt", "--edition", "2024", "--config-path", ".")


CLASS = """
class {name}(TypedDict{total}):
    {docs}

{members}
"""


def a_class(of: Options, name: str, says: str, listed: list[Option]) -> str:
    docs = textwrap.indent(says.strip(), "    ").strip()
    end = "\n    " if "\n" in docs else ""
    return CLASS.format(
        name=name,
        total="" if all(one.type == "text" for one in listed) else ", total=False",
        docs=f'"""{docs}{end}"""',
        members=members(of, listed),
    )


def types(of: Options) -> str:
    """The options of a client as dicts, each behind those that it has in it."""
    made = ""
    for one in of.without("python"):
        if one.is_group:
            made += a_class(of, f"{camel(one.name)}Options", one.python, of.within(one))
    says = of.python.replace("{table}", textwrap.dedent(table(of)).strip())
    return made + a_class(of, of.rust_type, says, of.without("python"))
