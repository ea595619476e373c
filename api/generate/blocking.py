"""The blocking face of Rust: each verb of the core, which blocks until it is done."""

from __future__ import annotations

import re

from description import Description, Verb, pairs, piped, rust_docs
from kinds import ANSWERS, INPUTS, OUTPUTS, STREAMS, TELLS, Input, snake

# Where the generated files find what is in none of the two roots, the blocking one and that of the crate.
HOMES = {
    "Arc": "std::sync",
    "BTreeMap": "std::collections",
    "Cancels": "crate::drive",
    "Deref": "std::ops",
    "Duration": "std::time",
    "check_may_wait": "crate::drive",
    "wait": "crate::drive",
}
PRELUDE = set("Clone Debug Default Fn FnOnce Into None Option Result Self Send String Sync Target Vec".split())  # noqa: SIM905
# Types of this face that are written by hand.
BY_HAND = {"Client", "DeadLetters", "Feed", "ReadWriteLock"}

STRUCT = """
/// [`crate::{name}`], blocking.{example}
{must_use}#[derive(Clone, Debug)]
pub struct {name} {{
    pub(in crate::blocking) core: crate::{name},
    {fields}
}}
"""
OF = """
    pub(in crate::blocking) fn of(core: crate::{name}) -> {name} {{
        {name} {{ {fields} }}
    }}
"""
DEREF = """
impl Deref for {name} {{
    type Target = {base};

    fn deref(&self) -> &{base} {{
        &self.base
    }}
}}
"""
FACTORY = """
impl Client {{
    /// See [`crate::Client::{verb}`].
    pub fn {verb}(&self, {takes}) -> Result<{name}> {{
        self.0.{verb}({given}).map({name}::of)
    }}
}}
"""
METHOD = """
    /// See [`crate::{name}::{verb}`].
    pub fn {verb}(&self{takes}){answer} {{
        {body}
    }}
"""
CANCELLED = "Ends the waits in progress on this handle with Cancelled; later ones are not affected."
CANCEL = """
    {docs}
    pub fn cancel(&self) {{
        self.cancels.cancel();
    }}
"""


def arguments(of: Description, verb: Verb) -> list[tuple[str, Input]]:
    """By the names of Rust, which has limits where C has milliseconds."""
    given = [(name, INPUTS[kind].of(of.argument)) for name, kind in pairs(verb.rust_takes or verb.takes)]
    for name, kind in given:
        if not kind.rust:
            raise SystemExit(f'api/{of.name}.toml: {verb.name}: {name} has no type in Rust; say by_hand = ["blocking"]')
    return [("limit" if name == "timeout_ms" else name.removesuffix("_ms"), kind) for name, kind in given]


def answer(verb: Verb) -> tuple[str, str]:
    """The type of what the core's verb answers, and what makes of it that of this face."""
    if verb.rust_type:
        return verb.rust_type, ""
    if verb.kind == "question":
        return ANSWERS[verb.gives][3], ""
    kinds = [OUTPUTS[kind] for _, kind, _ in verb.outputs]
    if len(kinds) == 1:
        return kinds[0].rust, kinds[0].wrap
    # The first of two says whether there is the other one.
    if verb.outputs and verb.outputs[0][1] == "whether":
        return f"Option<{kinds[1].rust}>", ""
    return f"({', '.join(kind.rust for kind in kinds)})", ""


def waits_with(verb: Verb, heeds: bool, names: list[tuple[str, Input]]) -> str:
    """What waits for the core's verb, which keeps what it is given."""
    owned = [(name, kind.own.format(n=name)) for name, kind in names if kind.own]
    kept, made = (
        ", ".join(["core", *(name for name, _ in owned)]),
        ", ".join(["self.core.clone()", *(own for _, own in owned)]),
    )
    lent = ", ".join(kind.lend.format(n=name) for name, kind in names)
    future = f"async move {{ core.{verb.name}({lent}).await }}"
    future = f"self.cancels.heed({future})" if heeds else future
    both = f"let ({kept}) = ({made});" if owned else f"let {kept} = {made};"
    return f"{both}\nwait({future}, None, None)"


def method(of: Description, name: str, verb: Verb, heeds: bool) -> str:
    if heeds and verb.begins:
        raise SystemExit(f'api/{of.name}.toml: {verb.name} begins, and can be withdrawn; say by_hand = ["blocking"]')
    names = arguments(of, verb)
    takes = "".join(f", {one}: {kind.rust}" for one, kind in names)
    call = f"self.core.{verb.name}({', '.join(kind.hand.format(n=one) for one, kind in names)})"
    if verb.kind == "subscription":
        takes, call = f", callback: {TELLS[verb.callback][2]}", f"self.core.{verb.name}(callback)"
        kind, wrap, fails = "Subscription", "", not verb.infallible
    elif verb.kind == "stream":
        kind, wrap, fails = f"Feed<{STREAMS[verb.callback][1]}>", "Feed::from", verb.fallible
    elif verb.kind == "waits":
        (kind, wrap), fails = answer(verb), True
        # What begins at once must not where nobody could wait for its end.
        call = f"check_may_wait()?;\nwait({call}, None, None)" if verb.begins else waits_with(verb, heeds, names)
    else:
        (kind, wrap), fails = answer(verb), verb.fallible if verb.kind == "question" else not verb.infallible
    if wrap:
        call = f"{call}.map({wrap})" if fails else f"{wrap}({call})"
    gives = f" -> {f'Result<{kind}>' if fails else kind}"
    if not fails and kind == "()":
        call, gives = f"{call};", ""
    return METHOD.format(name=name, verb=verb.name, takes=takes, answer=gives, body=call)


def a_type(of: Description, name: str, verbs: list[Verb]) -> str:
    """The type with its verbs; those of what it derefs to are there."""
    told = of.rust or {}
    base = told.get("derefs", "")
    own = [verb for verb in verbs if "blocking" not in verb.by_hand and not (base and verb.inherited)]
    heeds = any(verb.cancellable for verb in verbs) and all(verb.name != "cancel" for verb in verbs)
    lines = told.get("example", "").strip().splitlines()
    if lines:
        connects = 'let client = zkrecipes::blocking::Client::connect("embedded:", Default::default())?;'
        lines = ["", "```", "# fn main() -> zkrecipes::Result<()> {", connects, *lines, "# Ok(())", "# }", "```"]
    fields = ["core"]
    declared = []
    if base:
        fields.insert(0, f"base: {base}::of((*core).clone())")
        declared.append(f"base: {base},")
    if heeds:
        fields.append("cancels: Arc::default()")
        declared.append("pub(in crate::blocking) cancels: Arc<Cancels>,")
    parts = [
        STRUCT.format(
            name=name,
            example="".join(f"\n/// {line}".rstrip() for line in lines),
            must_use=f'#[must_use = "{told["must_use"]}"]\n' if "must_use" in told else "",
            fields="\n    ".join(declared),
        )
    ]
    factories, methods = [], [OF.format(name=name, fields=", ".join(fields))]
    for verb in own:
        if verb.kind == "new":
            names = arguments(of, verb)
            takes = ", ".join(f"{one}: {kind.rust}" for one, kind in names)
            given = ", ".join(one for one, _ in names)
            factories.append(FACTORY.format(name=name, verb=of.argument, takes=takes, given=given))
        elif verb.kind != "free":
            methods.append(method(of, name, verb, heeds and verb.cancellable))
    if heeds:
        methods.append(CANCEL.format(docs=rust_docs(f"{CANCELLED} {told.get('cancelled', '')}")))
    parts += [DEREF.format(name=name, base=base)] if base else []
    return "".join([*factories, *parts, f"\nimpl {name} {{", *methods, "}\n"])


def with_uses(code: str, blocking: set[str]) -> str:
    """The code under what it uses: blocking types where there are such ones, else those of the crate."""
    bare = re.sub(r"^\s*///.*$|crate::(?!blocking)\w+", "", code, flags=re.M)
    declared = set(re.findall(r"^pub struct (\w+)", code, flags=re.M))
    names = set(re.findall(r"(?<![.:\w])(?:[A-Z]\w+|wait|check_may_wait)\b(?!\w)", bare)) - declared
    names -= PRELUDE
    names |= {"Result"} if "Result<" in bare else set()
    uses: dict[str, list[str]] = {}
    for one in sorted(names):
        home = "crate::blocking" if one in blocking else HOMES.get(one, "crate")
        uses.setdefault(home, []).append(one)
    listed = [f"use {home}::{{{', '.join(found)}}};" for home, found in sorted(uses.items())]
    std, ours = ([one for one in listed if one.startswith(f"use {root}")] for root in ("std", "crate"))
    return "\n\n".join("\n".join(group) for group in (std, ours) if group) + f"\n\n{code}"


def blocking(every: dict[str, Description]) -> dict[str, str]:
    """By the name of its file, the code of each type; the verbs of one type may be in several descriptions."""
    types = {name: of for name, of in every.items() if of.rust is not None}
    named = {name: (of.rust or {}).get("name", of.core_type) for name, of in types.items()}
    found: dict[str, str] = {}
    modules = publics = ""
    for name, of in types.items():
        others = [one for one in every.values() if one.prefix and one.prefix == of.prefix and one.rust is None]
        verbs = [*of.verbs, *(verb for other in others for verb in other.verbs)]
        sources = " and ".join(f"api/{one.name}.toml" for one in (of, *others))
        body = with_uses(a_type(of, named[name], verbs), BY_HAND | set(named.values()))
        module = snake(named[name])
        found[f"{module}.rs"] = f"//! Generated from {sources} by api/generate; do not edit.\n\n{body}"
        modules += f"mod {module};\n"
        publics += f"pub use {module}::{named[name]};\n"
    allowed = '#![allow(clippy::len_without_is_empty, reason = "asking a server is no property")]\n'
    found["mod.rs"] = f"//! Generated from api/ by api/generate; do not edit.\n\n{allowed}\n{modules}\n{publics}"
    return {path: piped(text, "rustfmt", "--edition", "2024", "--config-path", ".") for path, text in found.items()}
