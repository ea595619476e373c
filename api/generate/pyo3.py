"""The native module of Python: each verb is *convert, drive, convert*, as its description says.

What is written by hand says `#[doc = doc_of!(Class.member)]`: what it does is said in the stub, which has its types.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from description import Description, Verb, piped
from kinds import snake
from python_kinds import OBJECTS, PROPERTIES, Argument

from python import CANCEL, Type, arguments, docs, is_property, kind_of, said

# Where the generated files find what they use.
HOMES = {
    "Answer": "crate::answer",
    "Answered": "crate::face",
    "Arg": "crate::face",
    "FeedBase": "crate::feed",
    "Fresh": "crate::face",
    "OrRaise": "crate::errors",
    "Origin": "crate::client",
    "PyBytes": "pyo3::types",
    "PyCFunction": "pyo3::types",
    "PyDict": "pyo3::types",
    "Seed": "crate::face",
    "Waiting": "crate::waiting",
    "convert": "crate",
    "drive": "zkrecipes",
    "held": "crate",
    "item": "crate",
    "list": "crate::answer",
    "DeadLettersBase": "crate::queue",
    "queue": "crate::queue",
    "services": "crate",
    "recipe": "crate::face",
}
HAND = re.MULTILINE | re.DOTALL
MACROS = {"": "recipe", "Backlog": "queue"}

CLASS = """
{macro}!({name}Base of {core}, {name}, "{name}");

#[pymethods]
impl {name}Base {{
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<{name}Base> {{
        seed.get().take()
    }}

    {methods}
}}

{docs}
#[pyclass(frozen, weakref, extends = {name}Base, module = "zkrecipes")]
pub struct {name};
"""
METHOD = """
    {docs}
    {signature}fn {name}(slf: &Bound<'_, Self>{takes}) -> {gives} {{
        {body}
    }}
"""
FACTORY = """
    {docs}
    {signature}fn {name}(slf: &Bound<'_, Self>{takes}) -> Answered {{
        {reads}make(slf, path, |client, path| client.{name}({lent}){into}, crate::{home}::{type}Base::of)
    }}
"""
PROPERTY = """
    {docs}
    #[getter]
    fn {name}{takes} -> {gives} {{
        {body}
    }}
"""
SUBSCRIPTION = """
    {docs}
    fn {name}<'py>(slf: &Bound<'py, Self>, callback: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCFunction>> {{
        slf.get().core.{name}(Self::origin(slf), callback, |one, tell| one.{name}(tell))
    }}
"""
CANCELS = """
    {docs}
    fn cancel(slf: &Bound<'_, Self>) -> PyResult<()> {{
        slf.get().core.cancel(Self::origin(slf), slf.py())
    }}
"""
SHOWS = """
    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {{
        let core = &slf.get().core;
        Ok(format!("<{{}} {{}}>", slf.get_type().name()?, {shows}))
    }}
"""


def rust(text: str) -> str:
    return "\n".join(f"/// {line}".rstrip() for line in docs(text))


def signature(given: list[tuple[str, Argument | None]]) -> str:
    """What may be left out, and what Python's `help` says of it where that is not None."""
    if all(one and not one.default and not one.several for _, one in given):
        return ""
    short, whole = [], []
    for name, one in given:
        default = one.default if one else ""
        short.append(f"**{name}" if one and one.several else f"{name}=None" if default else name)
        plain = re.sub(r": [^,=]*?(?:\[.*?\])?[^,=]*? = ", "=", one.several) if one else ""
        whole.append(plain or (f"{name}={default}" if default else name))
    if short == whole:
        return f"#[pyo3(signature = ({', '.join(short)}))]\n"
    told = ", ".join(whole).replace('"', "'")
    return f'#[pyo3(signature = ({", ".join(short)}), text_signature = "($self, {told})")]\n'


def parameters(given: list[tuple[str, Argument | None]]) -> str:
    kinds = (
        (name, "Option<&Bound<'_, PyDict>>" if it.several else "Option<Arg>" if it.default else "Arg")
        for name, it in given
        if it
    )
    return "".join(f", {name}: {kind}" for name, kind in kinds)


def driven(one: Type, verb: Verb, lent: str) -> str:
    """What begins the verb, and drives it to its answer."""
    heeds = one.cancels and verb.cancellable
    call = verb.python_call or (f"it.core.{verb.name}({lent})" if verb.begins else "")
    if call:
        kept, future = "let it = slf.get();", call
    else:
        kept = f"let core = zkrecipes::{one.name}::clone(&slf.get().core);"
        future = f"async move {{ core.{verb.name}({lent}).await }}"
    future = f"slf.get().core.heed({future})" if heeds else future
    kind = kind_of(verb)
    if kind not in OBJECTS:
        return f"{kept}\nSelf::origin(slf).run(slf.py(), || {future})"
    kept += "\nlet origin = Origin::clone(Self::origin(slf));"
    made = OBJECTS[kind].made
    return f"{kept}\nSelf::origin(slf).run_to(slf.py(), || {future}, move |py, answer| {made})"


def at_once(verb: Verb, lent: str) -> tuple[str, str]:
    """The type and the body of what asks no server."""
    call = verb.python_call or f"slf.get().core.{verb.name}({lent})"
    if verb.infallible or verb.kind == "question":
        call = f"Ok({call})" if verb.gives else f"{{ {call}; Ok(()) }}"
    guarded = f"Self::origin(slf).guard(|| {call}).or_raise(slf.py())"
    kind = kind_of(verb)
    if kind in OBJECTS:
        made = OBJECTS[kind].made.format(origin="Self::origin(slf)", answer="made").replace("py,", "slf.py(),")
        return "Answered", f"let made = {guarded}?;\n{made}"
    return ("Answered", f"{guarded}?.answer(slf.py())") if verb.gives else ("PyResult<()>", guarded)


def method(one: Type, verb: Verb) -> str:
    words = rust(said(one.of, verb))
    if verb.kind == "subscription":
        return SUBSCRIPTION.format(name=verb.name, docs=words)
    given = arguments(one.of, verb)
    lent = ", ".join(it.lend.format(n=name) for name, it in given if it and it.read)
    if is_property(verb):
        kind = PROPERTIES.get(kind_of(verb))
        if verb.python_changes or kind is None:
            gives, body = at_once(verb, lent)
            return PROPERTY.format(name=verb.name, docs=words, takes="(slf: &Bound<'_, Self>)", gives=gives, body=body)
        takes = "<'py>(&self, py: Python<'py>)" if "'py" in kind.rust else "(&self)"
        body = kind.made.format(call=f"self.core.{verb.name}()")
        return PROPERTY.format(name=verb.name, docs=words, takes=takes, gives=kind.rust, body=body)
    reads = "".join(f"let {name} = {it.read.format(n=name)};\n" for name, it in given if it and it.read)
    gives = "Answered"
    if verb.kind == "stream":
        call = f"slf.get().core.{verb.name}({lent})"
        body = f"FeedBase::follow(slf.py(), Self::origin(slf), || {call if verb.fallible else f'Ok({call})'})"
    elif verb.kind == "waits":
        body = driven(one, verb, lent)
    else:
        gives, body = at_once(verb, lent)
    return METHOD.format(
        name=verb.name,
        docs=words,
        signature=signature(given),
        takes=parameters(given),
        gives=gives,
        body=reads + body,
    )


def factory(one: Type, new: Verb) -> str:
    given = arguments(one.of, new)
    rest = [(name, it) for name, it in given if it and name != "path"]
    reads = "".join(f"let {name} = {it.read.format(n=name)};\n" for name, it in rest)
    home = one.of.argument if one.is_by_hand else "generated"
    lent = dict.fromkeys(it.lend.format(n=name) for name, it in rest)
    return FACTORY.format(
        name=one.of.argument,
        type=one.name,
        home=home,
        docs=rust(said(one.of, new)),
        signature=signature(given),
        takes=parameters(given),
        reads=reads,
        lent=", ".join(["path", *lent]),
        into=".map(Into::into)" if waits(one) else "",
    )


def waits(one: Type) -> bool:
    """Whether it is kept with who hears of its waits, and what ends them."""
    return one.cancels or any(verb.kind == "subscription" for verb in one.verbs)


def methods(one: Type) -> str:
    made = [method(one, verb) for verb in one.verbs]
    if one.cancels:
        made.append(CANCELS.format(docs=rust(CANCEL.format(more=one.told.get("cancel", "")))))
    named = [verb.name for verb in one.verbs if verb.name in ("path", "id")]
    shows = one.told.get("shows", f"core.{named[0]}()" if named else "")
    if shows and not one.is_by_hand:
        made.append(SHOWS.format(shows=shows))
    return "".join(made)


def with_uses(code: str, ours: set[str]) -> str:
    bare = re.sub(r"^\s*///.*$", "", code, flags=re.MULTILINE)
    names = set(re.findall(r"(?<![.:\w\"])(?<!fn )[A-Za-z]\w+\b(?=[^\"\w])", bare))
    names |= {"OrRaise"} if ".or_raise(" in bare else set()
    names |= {"Answer"} if ".answer(" in bare else set()
    homes = HOMES | {f"{name}Base": "super" for name in ours}
    declared = set(re.findall(r"!\((\w+) of", bare))
    uses: dict[str, list[str]] = {}
    for name in sorted((names & homes.keys()) - declared):
        uses.setdefault(homes[name], []).append(name)
    listed = [f"use {home}::{{{', '.join(found)}}};" for home, found in sorted(uses.items())]
    own = [one for one in listed if one.startswith(("use crate", "use super"))]
    others = [one for one in listed if one not in own]
    return "\n".join(["use pyo3::prelude::*;", *others, "", *own, code])


def source_of(one: Type, every: dict[str, Description]) -> str:
    others = [it.name for it in every.values() if it.prefix and it.prefix == one.of.prefix and it.rust is None]
    return " and ".join(f"api/{name}.toml" for name in (one.of.name, *others))


def native(listed: list[Type], every: dict[str, Description], stub: str) -> dict[str, str]:
    """By the name of its file, the code of each class."""
    whole = [one for one in listed if not one.is_shared and not one.is_by_hand]
    found: dict[str, str] = {}
    for one in whole:
        core = f"zkrecipes::{one.name}"
        code = CLASS.format(
            macro=MACROS[one.base],
            name=one.name,
            core=f"Waiting<{core}>" if waits(one) else core,
            methods=methods(one),
            docs=rust(one.told["doc"]),
        )
        head = f"//! Generated from {source_of(one, every)} by api/generate; do not edit.\n\n"
        found[f"{snake(one.name)}.rs"] = head + with_uses(code, {it.name for it in whole})
    modules = "".join(f"mod {snake(one.name)};\n" for one in whole)
    publics = "".join(f"pub use {snake(one.name)}::{{{one.name}, {one.name}Base}};\n" for one in whole)
    found["docs.rs"] = docs_by_hand(stub)
    head = "//! Generated from api/ by api/generate; do not edit.\n\npub mod docs;\npub mod options;\n"
    found["mod.rs"] = f"{head}{modules}\n{publics}"
    return {path: piped(text, "rustfmt", "--edition", "2024", "--config-path", ".") for path, text in found.items()}


def native_parts(listed: list[Type]) -> dict[str, str]:
    """What stands in files by hand: the methods of classes that have others as well, factories, lists of classes."""
    whole = [one for one in listed if not one.is_shared and not one.is_by_hand]
    names = ", ".join(one.name for one in whole)
    return {
        **{f"methods of {one.name}": methods(one) for one in listed if one.is_shared or one.is_by_hand},
        "factories of Python": "".join(factory(one, one.new) for one in listed if one.new),
        "classes of recipes": f"#[pymodule_export]\nuse crate::generated::{{{names}}};\n",
        "bases of recipes": "".join(f"            generated::{one.name}Base,\n" for one in whole),
    }


def by_hand(stub: str) -> Iterator[tuple[str, str]]:
    """What the stub says of classes and members that are not generated."""
    tree = ast.parse(re.sub(r"^ *# --- generated from api: .*?^ *# --- end of generated$", "", stub, flags=HAND))
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        if text := ast.get_docstring(node):
            yield node.name, text
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and (text := ast.get_docstring(member)):
                yield f"{node.name}.{member.name}", text


def docs_by_hand(stub: str) -> str:
    """The macro `doc_of!`."""
    rows = "".join(f"({name}) => {{\n{literal(text)}\n}};\n" for name, text in dict(by_hand(stub)).items())
    head = "//! What python/zkrecipes/_native.pyi says. Generated from it by api/generate; do not edit.\n\n"
    return f"{head}macro_rules! doc_of {{\n{rows}}}\npub(crate) use doc_of;\n"


def literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
