"""The classes of node/lib that pass calls on, and the index of the package.

What is declared of them is made by node_types.py, what they call by napi.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import options_node
from description import Description, Verb
from node_kinds import (
    LIB,
    answer,
    arguments,
    arguments_of,
    factory_of,
    home,
    is_property,
    is_wait,
    lower_camel,
    name_of,
    own_verbs,
    told,
    type_name,
)
from node_types import declared_class, declared_factories, declared_members, imports
from options import client

WIDTH = 140
CLASS = """
class {name} extends {base} {{
{members}}}
"""
LISTENERS = """  #listeners = new Listeners({asks})

"""
PROPERTY_LIST = """  static {{ properties(this, {names}) }}

"""
GETTER = """  get {name}() {{
    return call({asks}, '{verb}')
  }}

"""
ON_WAIT = """  {name}(callback) {{
    return this.#listeners.add(callback)
  }}

"""
FEED = """  {name}({takes}) {{
    return feed({asks}, '{verb}', options, {convert}{given})
  }}

"""
CHAINED = """  {name}({takes}) {{
    call({asks}, '{verb}'{given})
    return this
  }}

"""
WAITS = """  async {name}({takes}) {{
    {gives}
  }}

"""
# A verb whose last argument may be said in the options, too.
WAITS_OR_OPTION = """  async {name}({takes}) {{
    const args = [{checked}]
    const given = check.orOption('{name}', '{last}', {last}, options, ['signal'])
    {gives}
  }}

"""
FACTORY = """  {name}({takes}) {{
    return make({type}, this, '{name}'{given})
  }}

"""


def parameters(of: Description, verb: Verb) -> list[str]:
    """With what is taken where they are left out."""
    kinds_of = dict(arguments_of(verb))
    return [
        f"{lower_camel(name)}{' = ' + kind.default if kinds_of[name].endswith('?') else ''}"
        for name, kind in arguments(of, verb)
    ]


def checked(of: Description, verb: Verb) -> list[str]:
    names = [lower_camel(name) for name, _ in arguments(of, verb)]
    call = f"{name_of(of, verb)}({', '.join([*names, 'options'])})"
    return [kind.check.format(n=lower_camel(name), call=call) for name, kind in arguments(of, verb)]


def answered(convert: str, call: str) -> str:
    if convert == "{it}":
        return f"return {call}"
    return f"return {convert.format(it=f'await {call}')}"


def method(of: Description, verb: Verb) -> str:
    asks = told(of).get("asks", "this")
    name, takes, given = name_of(of, verb), parameters(of, verb), checked(of, verb)
    words = {"name": name, "verb": name, "asks": asks}
    if verb.kind == "subscription":
        return ON_WAIT.format(**words)
    if verb.cpp_chains:
        return CHAINED.format(**words, takes=", ".join(takes), given="".join(f", {one}" for one in given))
    words["takes"] = ", ".join([*takes, "options"])
    if verb.kind == "stream":
        convert = answer(of, verb).make.partition("(")[0].replace("{it}", "asIs")
        return FEED.format(**words, convert=convert, given="".join(f", {one}" for one in given))
    if verb.kind != "waits":
        raise SystemExit(f'api/{of.name}.toml: {verb.name} is nothing that Node has by itself; say by_hand = ["node"]')
    last = arguments(of, verb)[-1:]
    convert = answer(of, verb).make
    nothing = answer(of, verb).ts == "void"

    def gives(call: str) -> str:
        return f"await {call}" if nothing else answered(convert, call)

    if last and last[0][1].named:
        n = lower_camel(last[0][0])
        check = last[0][1].check.format(n=f"given.{n}")
        call = f"ask({asks}, '{name}', {{ signal: given.signal }}, ...args, {check})"
        return WAITS_OR_OPTION.format(**words, checked=", ".join(given[:-1]), last=n, gives=gives(call))
    how = "wait" if is_wait(verb) else "ask"
    return WAITS.format(**words, gives=gives(f"{how}({asks}, '{name}', options{''.join(f', {one}' for one in given)})"))


def members(of: Description) -> str:
    verbs = own_verbs(of, "node")
    asks = told(of).get("asks", "this")
    asked = [lower_camel(verb.name) for verb in verbs if is_property(verb)]
    text = LISTENERS.format(asks=asks) if any(verb.kind == "subscription" for verb in verbs) else ""
    if asked and asks == "this":
        text += PROPERTY_LIST.format(names=", ".join(f"'{name}'" for name in asked))
    elif asked:
        text += "".join(GETTER.format(asks=asks, name=name, verb=name) for name in asked)
    text += "".join(method(of, verb) for verb in verbs if not is_property(verb))
    return text and f"{text.rstrip()}\n"


def factories(every: list[Description]) -> str:
    """What makes the handles, in Client."""
    text = ""
    for of in every:
        verb = factory_of(of, "node")
        if verb is None:
            continue
        name, takes, given = name_of(of, verb), parameters(of, verb), checked(of, verb)
        if verb.options_of:
            takes.append("options")
            given.append(f"{lower_camel(verb.options_of)}Options('{name}', options)")
        text += FACTORY.format(
            name=name, takes=", ".join(takes), type=type_name(of), given="".join(f", {one}" for one in given)
        )
    return f"{text.rstrip()}\n"


def options_of(every: list[Description]) -> list[str]:
    """What checks the options of those."""
    verbs = (factory_of(of, "node") for of in every)
    return sorted({f"{lower_camel(verb.options_of)}Options" for verb in verbs if verb and verb.options_of})


def recipes(every: list[Description], line: str, with_options: bool) -> str:
    """What the client asks for, to make handles of it, or to declare what makes them."""
    found: dict[str, list[str]] = {}
    for of in (of for of in every if factory_of(of, "node")):
        options = [of.options.node_type] if of.options and with_options else []
        found.setdefault(home(of), []).extend([type_name(of), *options])
    return "".join(line.format(names=", ".join(sorted(names)), file=file) for file, names in sorted(found.items()))


# Where the classes find what they use.
HOMES = {
    "Listeners": "listeners",
    "asIs": "feed",
    "byName": "names",
    "contendersOf": "handle",
    "feed": "feed",
} | dict.fromkeys(("Remote", "ask", "call", "properties", "wait"), "remote")


def requires(code: str) -> str:
    """What a file of its own asks for."""
    bare = re.sub(r"^  (?:async )?\w+(?=\()", "", code, flags=re.M)
    uses: dict[str, list[str]] = {}
    for name in sorted(HOMES, key=lambda one: (one[0].islower(), one)):
        if re.search(rf"(?<![.'#\w]){name}\b(?!')", bare):
            uses.setdefault(HOMES[name], []).append(name)
    listed = [f"const {{ {', '.join(names)} }} = require('./{file}.cjs')\n" for file, names in sorted(uses.items())]
    return ("const check = require('./check.cjs')\n" if "check." in code else "") + "".join(listed)


# --- files

GENERATED = "// Generated from {of} by api/generate; do not edit.\n"


def parts(every: dict[str, Description]) -> dict[str, str]:
    """What stands between marks in node/lib: verbs and types by the names of their classes, and what makes them."""
    types = [of for of in every.values() if of.node is not None]
    found = {
        "recipes of the client": recipes(types, "const {{ {names} }} = require('./{file}.cjs')\n", with_options=False)
        + f"const {{ {', '.join(options_of(types))} }} = require('./options.cjs')\n",
        "options of Client": options_node.interface(client()),
        "factories": factories(types),
        "types of recipes": recipes(types, "import {{ {names} }} from './{file}.cjs'\n", with_options=True),
        "types of factories": declared_factories(types),
    }

    def add(name: str, part: str) -> None:
        found[name] = found.get(name, "") + part

    for of in types:
        name = type_name(of)
        if "is" in told(of):
            whole = CLASS.format(name=name, base=told(of).get("extends", "Remote"), members=members(of))
            add(f"class {name}", whole.removeprefix("\n"))
            interface = f"{options_node.interface(of.options)}\n" if of.options else ""
            add(f"types of {name}", interface + declared_class(of))
        else:
            add(f"verbs of {name}", members(of))
            add(f"types of {name}", declared_members(of))
    for of in every.values():
        if of.options and "is" not in told(of):
            add(f"options of {of.core_type}", options_node.interface(of.options))
    return {name: part for name, part in found.items() if part}


def files(every: dict[str, Description]) -> dict[Path, str]:
    """Those of the classes that stand between no marks."""
    marked = "".join(path.read_text() for path in LIB.glob("*.*"))
    found: dict[Path, str] = {}
    homeless = {name: part for name, part in parts(every).items() if f"generated from api: {name}\n" not in marked}
    for of in (of for of in every.values() if of.node is not None):
        name, head = type_name(of), GENERATED.format(of=f"api/{of.name}.toml")
        if part := homeless.pop(f"class {name}", ""):
            exports = f"\nmodule.exports = {{ {name} }}\n"
            found[LIB / f"{of.name}.cjs"] = f"'use strict'\n\n{head}\n{requires(part)}\n{part}{exports}"
        if "is" in told(of) and (part := homeless.pop(f"types of {name}", "")):
            found[LIB / f"{of.name}.d.cts"] = f"{head}\n{imports(part)}\n{part}"
    if homeless:
        raise SystemExit(f"node/lib has no part for api: {', '.join(sorted(homeless))}")
    return found


# Files that users do not see as a whole, and what they see of them: types alone.
SEEN = {
    "handle": ["Contender", "Guard", "Handle", "RevokeOptions", "WaitProgress"],
    "index": [],
    "metrics": ["Histogram", "Metrics"],
    "opentelemetry": [],
    "testing": [],
}


def wrapped(names: list[str]) -> str:
    lines = [""]
    for name in names:
        if len(f" {lines[-1]} {name},") > WIDTH:
            lines.append("")
        lines[-1] += f" {name},"
    return "{\n" + "".join(f" {line}\n" for line in lines) + "}"


def declarations(written: dict[Path, str]) -> Iterator[tuple[str, str]]:
    paths = {path for path in (*LIB.glob("*.d.cts"), *written) if path.name.endswith(".d.cts") and path.parent == LIB}
    for path in sorted(paths, key=lambda one: one.name.removesuffix(".d.cts")):
        yield path.name.removesuffix(".d.cts"), written.get(path) or path.read_text()


def index(written: dict[Path, str]) -> dict[Path, str]:
    """What the package exports is what the declarations do, but for those of another entry of it."""
    types = required = ""
    every: list[str] = []
    for file, text in declarations(written):
        if seen := SEEN.get(file):
            types += f"export type {{ {', '.join(seen)} }} from './{file}.cjs'\n"
        if file in SEEN:
            continue
        types += f"export * from './{file}.cjs'\n"
        names = sorted(re.findall(r"^export (?:class|function) (\w+)", text, flags=re.M))
        if names:
            required += f"const {{ {', '.join(names)} }} = require('./{file}.cjs')\n"
        every += names
    names_of_all, head = wrapped(sorted(every)), GENERATED.format(of="api/")
    return {
        LIB / "index.cjs": f"'use strict'\n\n{head}\n{required}\nmodule.exports = {names_of_all}\n",
        LIB / "index.d.cts": f"{head}\n{types}",
        # Modules have to name their exports before they run.
        LIB / "index.js": f"{head}\nimport zkrecipes from './index.cjs'\n\nexport const {names_of_all} = zkrecipes\n",
    }


def left_over(written: dict[Path, str]) -> set[Path]:
    """What was generated once, and is not any more."""
    begins = GENERATED.partition("{of}")[0]
    return {path for path in LIB.glob("*.*") if path not in written and f"\n{begins}" in f"\n{path.read_text()}"}
