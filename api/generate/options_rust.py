"""The options of the core: the structs, what they are unless told, their setters, and what is outside their ranges."""

from __future__ import annotations

from description import ROOT, piped, rust_docs
from kinds import camel
from options import Option, Options, spelled

FILE = ROOT / "core/src/options/generated.rs"
HEAD = "//! The options of clients and recipes. Generated from api/ by api/generate; do not edit.\n\n"
STRUCT = """
{docs}
#[derive({derives})]
#[non_exhaustive]
pub struct {name} {{
    {fields}
}}

impl Default for {name} {{
    fn default() -> Self {{
        {name} {{ {defaults} }}
    }}
}}

impl {name} {{
    {setters}
}}
"""
SETTER = """
    {docs}
    pub fn {n}(mut self, {n}: {takes}) -> Self {{
        self.{n} = {value};
        self
    }}
"""
RANGES = """
impl {name} {{
    /// Whether each is within its range; the error names the one that is not.
    pub(crate) fn check_ranges(&self) -> Result<()> {{
        {checks}
        Ok(())
    }}
}}
"""
ENUM = """
{docs}
#[derive(Copy, Clone, Debug, {default}PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum {name} {{
    {values}
}}
"""
# By type: that of the field, what the setter takes, and what it makes of it.
TYPES = {
    "flag": ("bool", "bool", "{n}"),
    "time": ("Duration", "Duration", "{n}"),
    "time?": ("Option<Duration>", "Duration", "Some({n})"),
    "limit": ("Duration", "Duration", "{n}"),
    "limit?": ("Option<Duration>", "Duration", "Some({n})"),
    "pause": ("Duration", "Duration", "{n}"),
    "text?": ("Option<String>", "impl Into<String>", "Some({n}.into())"),
    "pem": ("Option<String>", "impl Into<String>", "Some({n}.into())"),
    "number": ("u32", "u32", "{n}"),
    "signed": ("i32", "i32", "{n}"),
    "count": ("usize", "usize", "{n}"),
    "count?": ("Option<usize>", "usize", "Some({n})"),
    "attempts": ("u32", "u32", "{n}"),
    "acl": ("AclChoice", "AclChoice", "{n}"),
    # One more at a time, in a setter that is by hand.
    "auth": ("Vec<Auth>", "", ""),
}


def type_of(one: Option) -> tuple[str, str, str]:
    if one.is_group or one.is_choice:
        name = f"{camel(one.name)}Options" if one.is_group else one.enum
        return (f"Option<{name}>", name, "Some({n})") if one.may_be_missing else (name, name, "{n}")
    return TYPES[one.type]


def default(one: Option) -> str:
    kind, _, _ = type_of(one)
    if kind.startswith("Option<"):
        return "None"
    if kind == "Duration":
        return f"Duration::from_millis({one.default:_})"
    if isinstance(one.default, bool):
        return str(one.default).lower()
    if isinstance(one.default, int):
        return f"{one.default:_}"
    return f"{kind}::{one.default}" if one.default else "Default::default()"


def docs(one: Option, whole: bool = True) -> str:
    words = spelled(
        one,
        {"client.session_timeout": "client.session_timeout()"},
        "`{enum}::{value}`" if one.is_choice else "`{word}`",
    )
    if one.type == "acl":
        words = spelled(one, {}, "`AclChoice::{value}`")
    return rust_docs(words if whole else words.partition(". ")[0].removesuffix(".") + ".")


def struct(name: str, says: str, derives: str, every: list[Option]) -> str:
    setters = (
        SETTER.format(docs=docs(one, False), n=one.short, takes=takes, value=value.format(n=one.short))
        for one, (_, takes, value) in ((one, type_of(one)) for one in every)
        if takes
    )
    return STRUCT.format(
        docs="\n".join(f"/// {line}".rstrip() for line in says.splitlines()),
        derives=derives,
        name=name,
        fields="".join(f"{docs(one)}\npub {one.short}: {type_of(one)[0]},\n" for one in every),
        defaults="".join(f"{one.short}: {default(one)},\n" for one in every),
        setters="".join(setters),
    )


def enum(one: Option) -> str:
    values = ""
    for value, words in one.values.items():
        if value != "Default":
            values += f"{rust_docs(words)}\n{'#[default]' if value == one.default else ''}\n{value},\n"
    return ENUM.format(
        docs=rust_docs(one.choice),
        default="" if one.default == "Default" else "Default, ",
        name=one.enum,
        values=values,
    )


# --- ranges

IS_TIME = """
fn is_time(name: &str, value: Duration) -> Result<()> {
    // The wire carries milliseconds in a signed 32 bit number.
    match value {
        value if value < Duration::from_millis(1) => Err(Error::invalid(name, "must be at least one millisecond")),
        value if value > Duration::from_millis(i32::MAX as u64) => Err(Error::invalid(name, "must be at most 24 days")),
        _ => Ok(()),
    }
}
"""
BOUND = 'if {is_outside} {{ return Err(Error::invalid("{name}", {said})); }}\n'


def bounds(one: Option, value: str) -> str:
    """What refuses a value outside the range."""
    if one.is_time:
        return f'is_time("{one.name}", {value})?;\n'
    size, none = (f"{value}.len()", f"{value}.is_empty()") if one.type == "text?" else (value, f"{value} == 0")
    made = ""
    if one.least is not None:
        said = f'"{one.too_little or f"must be at least {one.least}"}"'
        made += BOUND.format(is_outside=none if one.least == 1 else f"{size} < {one.least}", name=one.name, said=said)
    if one.most is not None:
        said = f'"{one.too_much}"' if one.too_much else f'format!("{{}} are too many; take at most {one.most}", {size})'
        made += BOUND.format(is_outside=f"{size} > {one.most:_}", name=one.name, said=said)
    return made


def ranges(of: Options) -> str:
    checks = ""
    for one in of.every:
        # What is for ever is never too long.
        has_range = (one.is_time and one.type != "limit?") or one.least is not None or one.most is not None
        if not has_range:
            continue
        if type_of(one)[0].startswith("Option<"):
            by_reference = "&" if one.type == "text?" else ""
            inside = bounds(one, one.short)
            given = f"if let Some({one.short}) = {by_reference}self.{one.name}"
            is_single = inside.startswith("if ") and inside.count("\n") == 1
            checks += f"{given} && {inside.removeprefix('if ')}" if is_single else f"{given} {{\n{inside}}}\n"
        else:
            checks += bounds(one, f"self.{one.name}")
    return RANGES.format(name=of.rust_type, checks=checks) if checks else ""


def core(every: list[Options]) -> str:
    body = ""
    for of in every:
        body += struct(of.rust_type, of.rust, of.rust_has, of.in_rust())
        for one in of.in_rust():
            if one.is_group and "rust" not in one.by_hand:
                says = one.rust.strip() or one.says
                body += struct(f"{camel(one.name)}Options", says, one.rust_has, of.within(one))
            if one.choice:
                body += enum(one)
        body += ranges(of)
    uses = (
        "use std::time::Duration;\n\nuse super::{AclChoice, Auth, LeaseMode, Naming, SaslOptions};\n"
        "use crate::error::{Error, Result};\n"
    )
    return piped(f"{HEAD}{uses}{body}{IS_TIME}", "rustfmt", "--edition", "2024", "--config-path", ".")
