"""The structs of options in C, as Rust reads them, and the macros with their defaults.

No struct has padding: what would be some is a reserved field. What was there first is followed by what came later, each
filled up to eight bytes, so that no field ever moves.
"""

from __future__ import annotations

from dataclasses import dataclass

from description import ROOT, rust_docs
from kinds import camel, snake
from options import Option, Options, described, spelled

DEFAULTS = ROOT / "ffi/src/generated/defaults.h"

STRUCT = """
{docs}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct {name} {{
    /// sizeof({name}), as {init} sets it.
    pub size: usize,
    {fields}
}}

impl SelfSized for {name} {{
    const INIT: &'static str = "{init}";
    const LEAST: usize = {least};
    {otherwise}

    fn defaults() -> {name} {{
        {name} {{ size: size_of::<{name}>(), {defaults} }}
    }}

    fn reserved(&self) -> Vec<u8> {{
        {reserved}
    }}
}}

impl {name} {{
    pub(crate) fn convert(&self) -> Result<zkrecipes::{core}> {{
        let mut options = zkrecipes::{core}::default();
        {reads}
        Ok(options)
    }}

    {groups}
}}
"""
GROUP = """
    fn {name}_options(&self) -> Result<zkrecipes::{core}> {{
        let mut options = zkrecipes::{core}::default();
        {reads}
        Ok(options)
    }}
"""
CHOICE = """
{docs}
#[repr(C)]
#[derive(Copy, Clone)]
pub enum {c} {{
    {values}
}}

/// A {c} from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct Given{name}(i32);
"""
SIZES = {"i64": 8, "u32": 4, "i32": 4, "usize": 8, "Flag": 1}


@dataclass
class Field:
    name: str
    type: str
    # Of the option in the macro of C, and in Rust.
    macro: str
    rust: str
    docs: str = ""

    @property
    def size(self) -> int:
        return SIZES.get(self.type, 4 if self.type.startswith("Given") else 8)


# By type of option: the suffix of the field, its type, and what reads it into `options`.
TYPES = {
    "flag": ("", "Flag", 'options.{to} = self.{n}.get("{n}")?;'),
    "time": ("_ms", "i64", 'options.{to} = input::millis("{n}", self.{n})?;'),
    "time?": ("_ms", "i64", 'if self.{n} != 0 {{ options.{to} = Some(input::millis("{n}", self.{n})?); }}'),
    "limit": ("_ms", "i64", 'options.{to} = time::from_millis("{n}", self.{n}).unwrap_or(FOR_EVER);'),
    "limit?": ("_ms", "i64", 'options.{to} = time::from_millis("{n}", self.{n});'),
    "pause": ("_ms", "i64", 'options.{to} = input::millis("{n}", self.{n})?;'),
    "text": ("", "*const c_char", ""),
    "text?": ("", "*const c_char", 'options.{to} = input::optional_text("{n}", self.{n})?;'),
    "pem": ("", "*const c_char", 'options.{to} = input::optional_text("{n}", self.{n})?;'),
    "number": ("", "u32", "options.{to} = self.{n};"),
    "signed": ("", "i32", "options.{to} = self.{n};"),
    "count": ("", "usize", "options.{to} = self.{n};"),
    # What is more than fits is no bound that anybody reaches.
    "count?": ("", "i64", "options.{to} = usize::try_from(self.{n}).ok();"),
    "attempts": (
        "",
        "i64",
        "if self.{n} >= 0 {{ options.{to} = self.{n}.try_into().unwrap_or(u32::MAX); }}",
    ),
    "auth": ("", "*const zkr_auth", "options.{to} = self.{n}()?;"),
    "acl": ("", "GivenAcl", "options.{to} = self.{n}()?;"),
    "group?": ("", "Flag", ""),
}
# The field where the option is not given, and what it means.
NONE = {"time?": "0", "limit?": "-1", "count?": "-1", "attempts": "-1"}
SAID = {
    "time?": "0: nobody knows.",
    "group?": "Set it to true together with what it needs.",
    "limit": "Any negative is for ever.",
    "limit?": "Any negative is not given.",
    "count?": "Any negative: there is no bound.",
    "attempts": "Any negative is the default.",
}
# What stands behind a field, of which it says how many there are or what it chose.
MORE = {
    "auth": [Field("auth_count", "usize", "0", "0", "How many credentials there are at auth.")],
    "acl": [
        Field("acl_list", "*const zkr_acl_entry", "NULL", "std::ptr::null()", "The entries, for ZKR_ACL_LIST."),
        Field("acl_count", "usize", "0", "0", "How many entries there are at acl_list."),
    ],
}


def c_name(one: Option) -> str:
    return f"{one.flat}{TYPES[one.type][0] if one.type in TYPES else ''}"


def names(of: Options) -> dict[str, str]:
    """What C calls the options, and errors and questions."""
    asked = {"client.session_timeout": "zkr_client_session_timeout", "error": "ZKR_{WORD}"}
    return {one.name: c_name(one) for one in of.in_c} | asked


def enum_of(of: Options, one: Option) -> tuple[str, str]:
    """The type of a choice in C, and what its values begin with."""
    c = described("enums").get(one.enum, {}).get("c", f"{of.c_type.removesuffix('_options')}_{one.name}")
    return c, c.upper()


def said(of: Options, one: Option) -> str:
    prefix = "ZKR_ACL" if one.type == "acl" else enum_of(of, one)[1]
    words = spelled(one, names(of), f"{prefix}_{{C}}").replace("`", "")
    more = SAID.get(one.type, "")
    default = unless_told(of, one)
    return " ".join(filter(None, [words, more, default]))


def unless_told(of: Options, one: Option) -> str:
    if one.default in (None, False, "Default") or "unless told" in one.says:
        return ""
    value = field(of, one).macro if not isinstance(one.default, int) or one.default is True else f"{one.default:,}"
    return f"Unless told: {value}."


def field(of: Options, one: Option) -> Field:
    if one.is_choice:
        c, prefix = enum_of(of, one)
        given = f"Given{camel(c.removeprefix('zkr_'))}"
        at = list(one.values).index(one.default)
        return Field(one.flat, given, f"{prefix}_{snake(one.default).upper()}", f"{given}({at})")
    _, kind, _ = TYPES[one.type]
    if kind.startswith("*"):
        return Field(c_name(one), kind, "NULL", "std::ptr::null()")
    if kind == "Flag":
        value = str(bool(one.default)).lower()
        return Field(c_name(one), kind, value, f"Flag({int(bool(one.default))})")
    if kind == "GivenAcl":
        return Field(c_name(one), kind, "ZKR_ACL_DEFAULT", "GivenAcl(0)")
    value = NONE.get(one.type, f"{one.default}")
    return Field(c_name(one), kind, value, f"{int(value):_}" if int(value) >= 0 else value)


def fields_of(of: Options, listed: list[str], fills_each: bool, numbered: int, only: bool) -> list[Field]:
    """With what fills them up."""
    found: list[Field] = []
    at = 0

    def fill(most: int) -> None:
        nonlocal at, numbered
        if at % most == 0:
            return
        size = most - at % most
        numbered += 1
        kind, zero = ("u32", "0") if size == 4 else (f"[u8; {size}]", f"[0; {size}]")
        macro = "0" if size == 4 else "{0}"
        found.append(Field("reserved" if only else f"reserved_{numbered}", kind, macro, zero, "Zero."))
        at += size

    for name in listed:
        one = of.named(name)
        first = field(of, one)
        first.docs = said(of, one)
        for each in (first, *MORE.get(one.type, [])):
            fill(8 if fills_each else each.size)
            found.append(each)
            at += each.size
    fill(8)
    return found


def layout(of: Options) -> tuple[list[Field], int]:
    """All fields, and how many of them were there first."""
    first = fields_of(of, of.c, False, 0, True)
    reserved = [one for one in first if one.name == "reserved"]
    if len(reserved) > 1:
        first = fields_of(of, of.c, False, 0, False)
    return first + fields_of(of, of.c_later, True, len(reserved), False), len(first)


def reads(of: Options, every: list[Option]) -> str:
    made = ""
    for one in every:
        to, n = one.name if of.named_group(one) == "group" else one.short, c_name(one)
        if one.is_choice:
            c, prefix = enum_of(of, one)
            every_value = ", ".join(f"{c}::{prefix}_{snake(value).upper()}" for value in one.values)
            arms = "".join(f"{c}::{prefix}_{snake(value).upper()} => {chosen(one, value)},\n" for value in one.values)
            made += f'options.{to} = match choice("{n}", self.{n}.0, &[{every_value}])? {{\n{arms}}};\n'
        elif one.type == "group?":
            made += f"options.{one.name} = self.{one.name}()?;\n"
        elif one.type in TYPES:
            made += TYPES[one.type][2].format(n=n, to=to) + "\n"
    return made


def chosen(one: Option, value: str) -> str:
    if value == "Default":
        return "None"
    name = f"zkrecipes::{one.enum}::{value}"
    return f"Some({name})" if one.may_be_missing else name


def groups(of: Options) -> str:
    """What is left out as a whole, as far as its fields say it: whether it is there is decided by hand."""
    made = ""
    for one in of.every:
        if one.type == "group?" and not one.by_hand:
            core = f"{camel(one.name)}Options"
            made += GROUP.format(name=one.name, core=core, reads=reads(of, of.within(one)))
    return made


def choices(of: Options) -> str:
    made = ""
    for one in (one for one in of.every if one.choice):
        c, prefix = enum_of(of, one)
        numbered = enumerate(one.values.items())
        values = "".join(f"{rust_docs(doc)}\n{prefix}_{snake(it).upper()} = {at},\n" for at, (it, doc) in numbered)
        made += CHOICE.format(docs=rust_docs(one.choice), c=c, values=values, name=one.enum)
    return made


def struct(of: Options) -> str:
    fields, first = layout(of)
    init = f"{of.c_type.upper()}_INIT"
    last = fields[first - 1]
    grown = first < len(fields)
    reserved = [one for one in fields if one.docs == "Zero."]
    zeros = [
        f"&self.{one.name}.to_ne_bytes()[..]" if one.type == "u32" else f"&self.{one.name}[..]" for one in reserved
    ]
    return choices(of) + STRUCT.format(
        docs=rust_docs(f"{of.says} Start from {init}, which has the defaults."),
        name=of.c_type,
        init=init,
        fields="".join(f"{rust_docs(one.docs)}\npub {one.name}: {one.type},\n" for one in fields),
        least=f"std::mem::offset_of!({of.c_type}, {last.name}) + size_of::<{last.type}>()"
        if grown
        else f"size_of::<{of.c_type}>()",
        defaults="".join(f"{one.name}: {one.rust},\n" for one in fields),
        reserved=f"[{', '.join(zeros)}].concat()" if zeros else "Vec::new()",
        otherwise=named_otherwise(of),
        core=of.rust_type,
        reads=reads(of, [one for one in of.every if not one.only and of.named_group(one) != "group?"]),
        groups=groups(of),
    )


def named_otherwise(of: Options) -> str:
    pairs = ", ".join(f'("{one.name}", "{c_name(one)}")' for one in of.in_c if c_name(one) not in (one.name, one.flat))
    return f"const NAMED_OTHERWISE: &'static [(&'static str, &'static str)] = &[{pairs}];" if pairs else ""


def macro(of: Options) -> str:
    values = ", ".join([f"sizeof({of.c_type})", *(one.macro for one in layout(of)[0])])
    line = f"#define {of.c_type.upper()}_INIT {{ {values} }}"
    if len(line) > 110:
        lines, rest = [f"#define {of.c_type.upper()}_INIT"], f"{{ {values} }}"
        while len(rest) > 106:
            at = rest.rindex(" ", 0, 106)
            lines.append(f"{'  ' if len(lines) == 1 else '    '}{rest[:at]}")
            rest = rest[at + 1 :]
        line = " \\\n".join([*lines, f"    {rest}"])
    return f"/** The defaults of {of.c_type}. */\n{line}\n"


def macros(every: list[Options]) -> str:
    return "\n".join(macro(of) for of in every)
