"""The functions of C, in Rust."""

from __future__ import annotations

import re
from functools import cache

from description import ROOT, Description, Verb, describe, descriptions, load, piped, rust_docs
from kinds import ANSWERS, OUTPUTS, camel
from options_c import struct

# The sources of the testing kit, and those that it has in common with the library.
TESTING = "ffi/testing/src"
SHARED = ("guard", "handle", "input", "sized", "status")

MODULES = {
    "commits": "crate",
    "drive": "zkrecipes",
    "items": "crate",
    "election": "crate",
    "guard": "crate",
    "handle": "crate",
    "options": "crate",
    "time": "zkrecipes",
    "input": "crate",
    "nodes": "crate",
    "proxy": "crate",
    "server": "crate",
    "services": "crate",
    "verbs": "crate",
}


@cache
def testing_homes() -> dict[str, str]:
    """The same in the testing kit."""
    found = {"c_char": "std::ffi", "null": "std::ptr", "Error": "zkrecipes", "FaultId": "zkrecipes_embedded"}
    sources = [*(ROOT / f"ffi/src/{name}.rs" for name in SHARED), *sorted((ROOT / TESTING).glob("*.rs"))]
    for path in sources:
        found |= dict.fromkeys(re.findall(TYPES, path.read_text(), flags=re.M), f"crate::{path.stem}")
    return found


# What a source declares that generated functions may name.
TYPES = r"^(?:pub(?:\(crate\))? )?(?:struct|enum|type) (\w+)"


@cache
def homes() -> dict[str, str]:
    """Where the generated functions find what they name."""
    found = {"c_char": "std::ffi", "c_void": "std::ffi", "null": "std::ptr", "null_mut": "std::ptr"}
    found |= {"to_c": "crate::input", "Object": "crate::handle", "Result": "zkrecipes"}
    found |= {"SelfSized": "crate::sized", "choice": "crate::options"}
    for path in sorted((ROOT / "ffi/src").glob("*.rs")):
        declared = re.findall(TYPES, path.read_text(), flags=re.M)
        found |= dict.fromkeys(declared, f"crate::{path.stem}")
    for stem in descriptions():
        given = load(stem)
        for name in given.get("lists", {}):
            made = [f"zkr_{name}", f"zkr_{name}_callback", camel(name)]
            found |= dict.fromkeys(made, f"crate::{stem}")
        if "is" in given:
            home = "elections" if stem == "election" else stem
            found |= dict.fromkeys(declares(describe(stem)), f"crate::{home}")
    return found


def declares(of: Description) -> list[str]:
    """The types that a description makes."""
    if not of.options:
        return [of.type, of.handle]
    choices = (f"{of.type}_{one.name}" for one in of.options.every if one.choice)
    return [of.type, of.handle, of.options.c_type, *choices]


class Function:
    """One exported function."""

    def __init__(self, of: Description, verb: Verb, suffix: str, doc: str) -> None:
        self.of, self.verb, self.doc = of, verb, doc
        self.name = f"{of.prefix}_{verb.name}{suffix}"

    def written(self, arguments: list[str], body: str, answer: str = "zkr_status") -> str:
        constant = "const" if self.verb.const or self.verb.kind == "question" else "mut"
        listed = ", ".join([f"{self.of.argument}: *{constant} {self.of.type}", *arguments])
        gives = f" -> {answer}" if answer else ""
        return (
            f"{rust_docs(self.doc)}\n#[unsafe(no_mangle)]\n"
            f'pub extern "C" fn {self.name}({listed}){gives} {{\n{body}\n}}\n'
        )


def c_inputs(verb: Verb) -> list[str]:
    return [kind.c.format(n=name) for name, kind in verb.inputs]


def c_input_names(verb: Verb) -> list[str]:
    return [one.partition(":")[0] for given in c_inputs(verb) for one in given.split(", ")]


def lent(verb: Verb) -> str:
    return ", ".join(kind.lend.format(n=name) for name, kind in verb.inputs)


def read(verb: Verb) -> str:
    return "".join(f"let {n} = {kind.read.format(n=n)};\n" for n, kind in verb.inputs if kind.read)


def places(verb: Verb) -> str:
    made = []
    for name, kind, is_optional in verb.outputs:
        place = OUTPUTS[kind].place
        made.append(f"{place}::optional({name})" if is_optional else f'{place}::required("{name}", {name})?')
    if len(made) == 1:
        return made[0].removesuffix("?") if made[0].endswith("?") else f"Ok({made[0]})"
    return f"Ok(({', '.join(made)}))"


def places_type(verb: Verb) -> str:
    """The type of what `places` makes."""
    kinds = [OUTPUTS[kind] for _, kind, _ in verb.outputs]
    made = [f"{kind.place}<{kind.c.removeprefix('*mut ')}>" for kind in kinds]
    return made[0] if len(made) == 1 else f"({', '.join(made)})"


def c_outputs(verb: Verb) -> list[str]:
    return [f"{name}: *mut {OUTPUTS[kind].c}" for name, kind, _ in verb.outputs]


def begin(of: Description, verb: Verb) -> str:
    """What begins the verb on the object behind its handle."""
    if verb.begins:
        call = verb.call or f"{of.core}.{verb.name}({lent(verb)})"
        body = f"{read(verb)}Ok({call})"
    else:
        call = verb.call or f"core.{verb.name}({lent(verb)})"
        core = of.core if "(" in of.core else f"{of.core}.clone()"
        body = f"let core = {core};\n{read(verb)}Ok(async move {{ {call}.await }})"
    return f"|it: &{of.handle}| {{ {body} }}"


def waiting(of: Description, verb: Verb) -> list[str]:
    plain = f"{of.prefix}_{verb.name}"
    callback = verb.callback or (OUTPUTS[verb.outputs[0][1]].callback if verb.outputs else "zkr_done_callback")
    outputs, inputs = c_outputs(verb), c_inputs(verb)
    error = "error: *mut *mut zkr_error"
    ending = [f"callback: {callback}", "user_data: *mut c_void"]
    token = "token: *mut zkr_cancel_token"
    out_names = [name for name, _, _ in verb.outputs]
    given = ", ".join([of.argument, *c_input_names(verb)])

    both = plain.removeprefix("zkr_")

    def waits(token: str) -> str:
        return f"{both}({given}, Way::Waits {{ {token}, error, place: &|| {places(verb)} }})"

    def starts(token: str) -> str:
        return f"{both}({given}, Way::Starts {{ {token}, callback, user_data }})"

    way = f"way: Way<'_, {places_type(verb)}, {callback}>"
    listed = ", ".join([f"{of.argument}: *const {of.type}", *inputs, way])
    many = '#[expect(clippy::too_many_arguments, reason = "the verb has as many")]\n'
    # One beginning for both ways: each is a type of its own, and what is made of it is compiled for each type.
    shared = (
        f"{many if listed.count(': ') > 7 else ''}fn {both}({listed}) -> zkr_status "
        f"{{\nverbs::call({of.argument}, way, {begin(of, verb)})\n}}\n"
    )
    once = "ZKR_OK says that the callback will be called exactly once."
    background = f"{plain} in the background{verb.note}. {once}"
    if not verb.cancellable:
        return [
            Function(of, verb, "", verb.doc).written([*inputs, *outputs, error], waits("token: null()")),
            Function(of, verb, "_async", background).written([*inputs, *ending], starts("token: null()")),
            shared,
        ]
    withdrawing = f"{plain} that another thread can withdraw; token may be NULL. {verb.withdrawn}".strip()
    withdrawing_async = (
        f"{plain}_async with a token that withdraws it; token may be NULL, and may be freed before the end."
    )
    passed = ", ".join([given, "null_mut()", *out_names, "error"])
    return [
        Function(of, verb, "", verb.doc).written([*inputs, *outputs, error], f"{plain}_cancellable({passed})"),
        Function(of, verb, "_cancellable", withdrawing).written([*inputs, token, *outputs, error], waits("token")),
        Function(of, verb, "_async", background).written(
            [*inputs, *ending], f"{plain}_cancellable_async({given}, null_mut(), callback, user_data)"
        ),
        Function(of, verb, "_cancellable_async", withdrawing_async).written([*inputs, token, *ending], starts("token")),
        shared,
    ]


def at_once(of: Description, verb: Verb) -> list[str]:
    call = verb.call or f"{of.core}.{verb.name}({lent(verb)})"
    if verb.infallible:
        call = f"Ok({call})" if verb.outputs else f"{call};\nOk(())"
    body = f"verbs::now({of.argument}, error, || {places(verb)}, |it: &{of.handle}| {{ {read(verb)}{call} }})"
    arguments = [*c_inputs(verb), *c_outputs(verb), "error: *mut *mut zkr_error"]
    return [Function(of, verb, "", verb.doc).written(arguments, body)]


def question(of: Description, verb: Verb) -> list[str]:
    rust, otherwise, _, _ = ANSWERS[verb.gives]
    call = verb.call or ("it.path.as_ptr()" if verb.gives == "path" else f"{of.core}.{verb.name}()")
    answer = f"{call}.ok()" if verb.fallible else f"Some({call})"
    # An argument that is wrong has the answer of a handle that cannot be used.
    given = read(verb).replace(")?;", ").ok()?;")
    body = f"verbs::ask({of.argument}, {otherwise}, |it: &{of.handle}| {{ {given}{answer} }})"
    return [Function(of, verb, "", verb.doc).written(c_inputs(verb), body, rust)]


def subscription(of: Description, verb: Verb) -> list[str]:
    told = "()" if verb.callback == "revoke" else "found"
    call = f"{of.core}.{verb.name}(move |{told if told == 'found' else ''}| told.tell({told}))"
    enlist = f"Ok({call})" if verb.infallible else call
    # Of a client that is closed nobody asks for anything; what was lost with it is still told.
    if verb.infallible and verb.callback == "revoke":
        enlist = f"{{ verbs::check_open(it)?; {enlist} }}"
    arguments = [
        f"callback: zkr_{verb.callback}_callback",
        "user_data: *mut c_void",
        "subscription: *mut *mut zkr_subscription",
        "error: *mut *mut zkr_error",
    ]
    body = (
        f"verbs::subscribe({of.argument}, callback, user_data, subscription, error, |it: &{of.handle}, told| {enlist})"
    )
    return [Function(of, verb, "", verb.doc).written(arguments, body)]


def stream(of: Description, verb: Verb) -> list[str]:
    arguments = [
        *c_inputs(verb),
        # Of an answer that a verb may have as well it is that verb's.
        f"callback: {OUTPUTS[verb.callback].callback if verb.callback in OUTPUTS else f'zkr_{verb.callback}_callback'}",
        "user_data: *mut c_void",
        "subscription: *mut *mut zkr_subscription",
        "error: *mut *mut zkr_error",
    ]
    opened = verb.call or f"{of.core}.{verb.name}({lent(verb)})"
    opened = opened if verb.fallible else f"Ok({opened})"
    body = (
        f"verbs::stream({of.argument}, callback, user_data, subscription, error, "
        f"|it: &{of.handle}| {{ {read(verb)}{opened} }})"
    )
    return [Function(of, verb, "", verb.doc).written(arguments, body)]


def freeing(of: Description, verb: Verb) -> list[str]:
    body = f"verbs::free({of.argument}, |{'it' if verb.call else '_'}: &{of.handle}| {verb.call or '{}'});"
    return [Function(of, verb, "", verb.doc).written([], body, "")]


def making(of: Description, verb: Verb) -> list[str]:
    arguments = ["client: *mut zkr_client", *c_inputs(verb), f"{of.argument}: *mut *mut {of.type}"]
    listed = ", ".join([*arguments, "error: *mut *mut zkr_error"])
    body = (
        f'verbs::now(client, error, || HandlePlace::required("{of.argument}", {of.argument}), |it: &ClientHandle| {{ '
        f"{read(verb)}let core = {verb.call or f'it.core.{of.argument}({lent(verb)})?'};\n"
        "Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false }) })"
    )
    return [
        f'{rust_docs(verb.doc)}\n#[unsafe(no_mangle)]\npub extern "C" fn {of.prefix}_new({listed}) -> zkr_status '
        f"{{\n{body}\n}}\n"
    ]


def a_list(name: str, described: dict[str, str]) -> str:
    kind = f"zkr_{name}"
    if "takes" in described:
        one = camel(described["takes"].removeprefix("zkr_"))
        behind = f"Several<{one}Handle>"
        reading = (
            f"/// One of them, which is the caller's: free it with {described['takes']}_free. NULL past the end.\n"
            "#[unsafe(no_mangle)]\n"
            f'pub extern "C" fn {kind}_take({name}: *const {kind}, index: usize) -> *mut {described["takes"]} {{\n'
            f"guard::answer(null_mut(), || handle::get_anywhere::<{camel(name)}>({name})?.take(index))\n}}\n\n"
        )
    else:
        entry = described["entry"]
        behind = f"List<{entry}>"
        reading = (
            "/// One of them, or NULL past the end. Valid until the list is freed.\n#[unsafe(no_mangle)]\n"
            f'pub extern "C" fn {kind}_get({name}: *const {kind}, index: usize) -> *const {entry} {{\n'
            f"guard::answer(null(), || handle::get_anywhere::<{camel(name)}>({name})?.entry(index))\n}}\n\n"
        )
    ending = ""
    if "ends" in described:
        told = "On ZKR_OK the list belongs to the callback, otherwise it is NULL; the error is only lent."
        ending = (
            rust_docs(f"The end of {described['ends']}. {told}") + "\n"
            f'pub type {kind}_callback = Option<unsafe extern "C" fn(status: zkr_status, {name}: *mut {kind}, '
            "error: *const zkr_error, user_data: *mut c_void)>;\n\n"
        )
    return (
        f"{ending}{rust_docs(described['is'])}\npub struct {kind} {{ _opaque: [u8; 0] }}\n\n"
        f"pub(crate) type {camel(name)} = {behind};\n\n"
        f'impl Object for {camel(name)} {{\ntype Opaque = {kind};\nconst NAME: &\'static str = "{kind}";\n}}\n\n'
        f"/// How many there are.\n#[unsafe(no_mangle)]\n"
        f'pub extern "C" fn {kind}_count({name}: *const {kind}) -> usize {{\n'
        f"guard::answer(0, || handle::get_anywhere::<{camel(name)}>({name}).map(|list| list.count()))\n}}\n\n"
        f"{reading}/// Frees a list. NULL and freed ones are ignored.\n#[unsafe(no_mangle)]\n"
        f'pub extern "C" fn {kind}_free({name}: *mut {kind}) {{\n'
        f"guard::quietly(|| drop(handle::take::<{camel(name)}>({name})));\n}}\n"
    )


WRITERS = {
    "waits": waiting,
    "now": at_once,
    "question": question,
    "subscription": subscription,
    "stream": stream,
    "free": freeing,
    "new": making,
}


def functions(of: Description) -> str:
    body = "\n".join(function for verb in of.verbs for function in WRITERS[verb.kind](of, verb))
    if of.is_a:
        body = (
            f"{rust_docs(of.is_a)}\npub struct {of.type} {{ _opaque: [u8; 0] }}\n\n"
            f"pub(crate) type {of.handle} = Recipe<{of.holds}>;\n\n"
            f"impl Object for {of.handle} {{\ntype Opaque = {of.type};\n"
            f'const NAME: &\'static str = "{of.type}";\n\nfn is_part(&self) -> bool {{\nself.is_part\n}}\n}}\n\n'
            f"{struct(of.options) if of.options else ''}{body}"
        )
    body = "\n".join([*(a_list(name, described) for name, described in of.lists.items()), body])
    code = re.sub(r"^\s*///.*$", "", body, flags=re.M)

    used: dict[str, list[str]] = {}
    named = set(re.findall(r"(?<!::)\b\w+", code))
    known = testing_homes() if of.name.startswith("testing/") else homes()
    for name, home in sorted(known.items()):
        if name in named and not re.search(rf"\b(type|struct|enum) {name}\b", code):
            used.setdefault(home, []).append(name)
    uses = [f"use {home}::{{{', '.join(names)}}};" for home, names in used.items()]
    uses += [f"use {home}::{name};" for name, home in MODULES.items() if f"{name}::" in code]
    top = f"//! Generated from api/{of.name}.toml by api/generate; do not edit.\n"
    groups = [[use for use in sorted(uses) if use.startswith(f"use {root}")] for root in ("std", "zkrecipes", "crate")]
    imports = "\n\n".join("\n".join(group) for group in groups if group)
    return piped(f"{top}\n{imports}\n\n{body}", "rustfmt", "--edition", "2024", "--config-path", ".")
