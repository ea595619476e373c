"""The structs of options in C++, and what gives them to C."""

from __future__ import annotations

from description import paragraphs
from kinds import camel
from options import Option, Options, spelled
from options_c import c_name

STRUCT = """{docs}
struct {name} {{
{groups}{fields}
private:
friend class Client;
{c} convert() const {{
{c} given = {init};
{gives}return given;
}}
}};
"""
# By type: the member, and what gives {it} to the field {c}; nothing where that is by hand.
TYPES = {
    "flag": ("bool {n} = {value};", "given.{c} = {it};"),
    "time": ("Milliseconds {n}{{{value}}};", "given.{c} = {it}.count();"),
    # 0 is none in C.
    "time?": (
        "std::optional<Milliseconds> {n};",
        "if ({it}) given.{c} = {it}->count() == 0 ? -1 : {it}->count();",
    ),
    "limit": ("Milliseconds {n}{{{value}}};", "given.{c} = detail::wait_ms({it});"),
    "limit?": ("std::optional<Milliseconds> {n};", "if ({it}) given.{c} = detail::limit_ms(*{it});"),
    "pause": ("Milliseconds {n}{{{value}}};", "given.{c} = {it}.count();"),
    "text": ("std::string {n};", 'given.{c} = detail::c_text("{words}", {it});'),
    "text?": ("std::string {n};", 'given.{c} = detail::c_text_if_any("{words}", {it});'),
    "pem": ("std::string {n};", 'given.{c} = detail::c_text_if_any("{words}", {it});'),
    "number": ("std::uint32_t {n} = {value};", "given.{c} = {it};"),
    "signed": ("std::int32_t {n} = {value};", "given.{c} = {it};"),
    "count": ("std::size_t {n} = {value};", "given.{c} = {it};"),
    "count?": ("std::optional<std::size_t> {n};", "if ({it}) given.{c} = static_cast<std::int64_t>(*{it});"),
    "attempts": ("std::optional<std::uint32_t> {n};", "if ({it}) given.{c} = *{it};"),
    "auth": ("std::vector<Auth> {n};", ""),
    "acl": ("AclChoice {n} = AclChoice::Default;\nstd::vector<AclEntry> {n}_list;", ""),
    "group": ("{Group} {n};", ""),
    "group?": ("std::optional<{Group}> {n};", ""),
}


# The types that those have besides.
NESTED = {
    "auth": "struct Auth {\nstd::string scheme, credential;\n};\n",
    "acl": "struct AclEntry {\nstd::string scheme, id, permissions;\n};\n",
}


def cpp_docs(text: str) -> str:
    lines = paragraphs(text, 102)
    if len(lines) == 1 and len(lines[0]) <= 101:
        return f"/** {lines[0]} */"
    return "\n".join(["/**", *(f" * {line}".rstrip() for line in lines), " */"])


def default(one: Option) -> str:
    """As C++ writes it, with apostrophes in long numbers; empty if it is none of its own."""
    if isinstance(one.default, bool):
        return str(one.default).lower()
    if isinstance(one.default, int):
        return f"{one.default:,}".replace(",", "'")
    return ""


def member(of: Options, one: Option) -> str:
    if one.is_choice:
        text = f"{one.enum} {one.short} = {one.enum}::{one.default};"
    else:
        text = TYPES[one.type][0].format(n=one.short, value=default(one), Group=camel(one.name))
    return f"{cpp_docs(said(of, one))}\n{text}\n"


def said(of: Options, one: Option) -> str:
    names = {"client.session_timeout": "client.session_timeout()"}
    enum = "AclChoice" if one.type == "acl" else one.enum
    words = spelled(one, names, f"{enum}::{{value}}").replace("`", "")
    if one.default in (None, False, "Default") or "unless told" in one.says:
        return words
    value = default(one).replace("'", ",") or f"{one.enum}::{one.default}"
    return f"{words} Unless told: {value}{' ms' if one.is_time else ''}."


def gives(of: Options, listed: list[Option]) -> str:
    made = ""
    for one in listed:
        if one.is_group:
            inside = of.within(one)
            given = gives(of, inside)
            # Of what is left out as a whole, C has a field of its own that says so, or takes nothing for it.
            flag = f"given.{one.name} = true;\n" if one.name in of.c else ""
            made += f"if ({one.name}) {{\n{flag}{given}}}\n" if one.type == "group?" else given
            continue
        group = of.named_group(one)
        it = f"{one.group}{'->' if group == 'group?' else '.'}{one.short}" if one.group else one.name
        kind = "given.{c} = {it};" if one.is_choice else TYPES[one.type][1]
        given = kind.format(c=c_name(one), it=it, words=one.name.replace(".", " "))
        made += f"{given}\n" if given else ""
    return made


def struct(of: Options) -> str:
    listed = of.without("cpp")
    groups = "".join(
        f"struct {camel(one.name)} {{\n{''.join(member(of, inner) for inner in of.within(one))}}};\n"
        for one in listed
        if one.is_group
    )
    return STRUCT.format(
        docs=cpp_docs(of.says),
        name=of.cpp_type,
        groups="".join(NESTED.get(one.type, "") for one in listed) + groups + "\n",
        fields="".join(member(of, one) for one in listed),
        c=of.c_type,
        init=f"{of.c_type.upper()}_INIT",
        gives=gives(of, listed),
    )


def names_in_c(every: list[Options], arguments: set[str]) -> str:
    """What errors of C call otherwise than C++ does: options, and arguments that say that they are milliseconds."""
    pairs = {c_name(one): one.name for of in every for one in of.in_c if c_name(one) != one.name}
    pairs |= {name: name.removesuffix("_ms") for name in arguments if name.endswith("_ms")}
    return "".join(f'{{"{in_c}", "{here}"}},\n' for in_c, here in sorted(pairs.items()))
