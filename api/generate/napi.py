"""The methods of the addon of Node, in Rust: each verb of the core, which answers later through the event loop."""

from __future__ import annotations

import re

from description import Description, Verb, piped
from kinds import camel, snake
from node_kinds import (
    answer,
    arguments,
    factory_of,
    is_property,
    is_wait,
    lower_camel,
    own_verbs,
    property_of,
    told,
    type_name,
)

STRUCT = """
#[napi(custom_finalize)]
pub struct {name}(pub(crate) Remote<zkrecipes::{name}>);

drop_quietly!({name});
{waits}
impl {name} {{
    pub fn new(core: zkrecipes::{name}, inbox: &Inbox) -> {name} {{
        {name}(Remote::new(core, inbox))
    }}
}}
"""
METHOD = """
    #[napi(catch_unwind)]
    pub fn {verb}(&self{takes}) -> {gives} {{
        {body}
    }}
"""
FACTORY = """
    #[napi(catch_unwind)]
    pub fn {verb}(&self, env: &Env{takes}) -> napi::Result<{name}> {{
        let made = {before}self.0.{verb}({given}){after};
        Ok({name}::new(made.or_throw(env)?, &self.0.inbox))
    }}
"""
# Where the methods find what they use.
HOMES = {
    "BigInt": "napi::bindgen_prelude",
    "Buffer": "napi::bindgen_prelude",
    "Cached": "crate::config",
    "Client": "crate::client",
    "Content": "crate::nodes",
    "DelayQueue": "crate::queue",
    "Either": "napi",
    "Election": "crate::election",
    "Env": "napi",
    "Event": "crate::group",
    "Feed": "crate::feed",
    "Held": "crate::held",
    "Inbox": "crate::event_loop",
    "OrThrow": "crate::failure",
    "Outcome": "zkrecipes",
    "PriorityQueue": "crate::queue",
    "Queue": "crate::queue",
    "Remote": "crate::remote",
    "Service": "crate::services",
    "Stat": "crate::nodes",
    "Stats": "crate::queue",
    "buffer": "crate::remote",
    "buffers": "crate::remote",
    "contenders": "crate::handle",
    "count": "crate::remote",
    "drop_quietly": "crate::event_loop",
    "finite": "crate::options",
    "instances": "crate::services",
    "leader": "crate::election",
    "long": "crate::remote",
    "named": "crate::names",
    "partition_names": "crate::partitioner",
    "napi": "napi_derive",
    "owners": "crate::partitioner",
    "parts": "crate::nodes",
    "same": "crate::remote",
    "stat": "crate::nodes",
    "status": "crate::commit",
    "statuses": "crate::commit",
    "tell_of_waits": "crate::remote",
    "versioned": "crate::config",
    "weights": "crate::partitioner",
}


def method(of: Description, verb: Verb) -> str:
    core = told(of).get("core", "self.0")
    if is_property(verb):
        kind = property_of(verb)
        body = kind.convert.format(it=f"{core}.{verb.name}()")
        return METHOD.format(verb=verb.name, takes="", gives=kind.rust, body=body)
    names = arguments(of, verb)
    takes = "".join(f", {name}: {kind.rust}" for name, kind in names)
    if verb.kind == "now":
        given = ", ".join(kind.hand.format(n=name) for name, kind in names)
        call = f"{core}.{verb.name}({given}).or_throw(env)"
        return METHOD.format(verb=verb.name, takes=f", env: &Env{takes}", gives="napi::Result<()>", body=call)
    convert = answer(of, verb).convert
    if verb.kind == "stream":
        call = f"Feed::new({core}.{verb.name}(), &{core}.inbox, {convert})"
        return METHOD.format(verb=verb.name, takes=takes, gives="Feed", body=call)
    kept = "".join(f"let {name} = {kind.keep.format(n=name)};\n" for name, kind in names if kind.keep)
    lent = [kind.lend.format(n=name, name=lower_camel(name)) for name, kind in names]
    if is_wait(verb):
        call = f"|it, limit| async move {{ it.{verb.name}({', '.join([*lent, 'limit'])}).await }}"
        body = f"{kept}{core}.wait(timeout, {call}, {convert})"
        return METHOD.format(verb=verb.name, takes=f"{takes}, timeout: f64", gives="f64", body=body)
    call = f"it.{verb.name}({', '.join(lent)})"
    # What begins when it is called keeps nothing of the handle.
    call = call if verb.begins else f"async move {{ {call}.await }}"
    return METHOD.format(verb=verb.name, takes=takes, gives="f64", body=f"{kept}{core}.ask(|it| {call}, {convert})")


def a_type(name: str, of: list[Description]) -> str:
    """The methods of a class, of all descriptions that have some, with the type unless that is by hand."""
    verbs = [(one, verb) for one in of for verb in own_verbs(one, "addon")]
    methods = "".join(method(one, verb) for one, verb in verbs if verb.kind != "subscription")
    waits = any(verb.kind == "subscription" for _, verb in verbs)
    text = (
        ""
        if any("core" in told(one) for one in of)
        else STRUCT.format(name=name, waits=f"\ntell_of_waits!({name});\n" if waits else "")
    )
    return f"{text}\n#[napi]\nimpl {name} {{{methods}}}\n" if methods else text


def factories(every: list[Description]) -> str:
    """What makes the handles, of the client."""
    made = ""
    for of in every:
        verb = factory_of(of, "addon")
        if verb is None:
            continue
        name, names = type_name(of), arguments(of, verb)
        takes = [f"{one}: {kind.rust}" for one, kind in names]
        given = [kind.hand.format(n=one) for one, kind in names]
        before = after = ""
        if verb.options_of:
            takes.append(f"options: {camel(verb.options_of)}Settings")
            before, after = "options.into_core().and_then(|options| ", ")"
            given.append("options")
        made += FACTORY.format(
            verb=of.argument,
            name=name,
            takes="".join(f", {one}" for one in takes),
            before=before,
            after=after,
            given=", ".join(given),
        )
    return f"\n#[napi]\nimpl Client {{{made}}}\n"


def with_uses(code: str, homes: dict[str, str]) -> str:
    """The code under what it uses."""
    declared = set(re.findall(r"^pub struct (\w+)", code, flags=re.M))
    # Not the names of arguments, nor what is made of these.
    words = set(re.findall(r"(?<![.:\w])(\w+)\b(?!: | as )", code)) | ({"OrThrow"} if ".or_throw(" in code else set())
    uses: dict[str, list[str]] = {}
    for name in sorted((words & homes.keys()) - declared):
        uses.setdefault(homes[name], []).append(name)
    listed = [f"use {home}::{{{', '.join(found)}}};\n" for home, found in sorted(uses.items())]
    outside, ours = ("".join(one for one in listed if one.startswith("use crate") == ours) for ours in (False, True))
    return f"{outside}\n{ours}{code}"


def addon(every: dict[str, Description]) -> dict[str, str]:
    """By the name of its file, the code of each class."""
    types: dict[str, list[Description]] = {}
    for of in (of for of in every.values() if of.node is not None):
        types.setdefault(type_name(of), []).append(of)
    code = {snake(name): a_type(name, of) for name, of in types.items()}
    code["factories"] = factories([of for of in every.values() if of.node is not None])
    code = {module: text for module, text in code.items() if text}
    made = [name for name in types if f"pub struct {name}(" in code.get(snake(name), "")]
    homes = dict.fromkeys(made, "crate::generated") | HOMES
    homes |= {f"{of.core_type}Settings": "crate::generated" for of in every.values() if of.options}
    files = {f"{module}.rs": with_uses(text, homes) for module, text in code.items()}
    modules = "".join(f"mod {module};\n" for module in sorted([*code, "options"]))
    own = "".join(f"pub use {snake(name)}::{name};\n" for name in sorted(made))
    files["mod.rs"] = f"{modules}\npub use options::*;\n{own}"
    head = "//! Generated from api/ by api/generate; do not edit.\n\n"
    rustfmt = ("rustfmt", "--edition", "2024", "--config-path", ".")
    return {path: piped(f"{head}{text}", *rustfmt) for path, text in files.items()}
