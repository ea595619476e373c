"""What the classes of Node are declared to have, with their documentation."""

from __future__ import annotations

import re

from description import Description, Verb, paragraphs
from errors import kinds
from kinds import camel
from node_kinds import (
    ARGUMENTS,
    Argument,
    answer,
    arguments,
    arguments_of,
    factory_of,
    is_property,
    is_wait,
    lower_camel,
    name_of,
    own_verbs,
    property_of,
    told,
    type_name,
)

# --- sentences


def in_words_of_node(text: str, waits: bool) -> str:
    """What is said to readers of C++, where it is the same for those of Node."""
    fails, failing = ("rejects with", "rejecting with") if waits else ("throws", "throwing")
    names = {kind.name: f"`{kind.word}`" for kind in kinds()}
    kind = rf"(?:ErrorKind::)?({'|'.join(sorted(names, key=len, reverse=True))})\b"
    text = re.sub(rf"\bThrows {kind}", lambda at: f"{fails.capitalize()} {names[at[1]]}", text)
    text = re.sub(rf"\bthrows {kind}", lambda at: f"{fails} {names[at[1]]}", text)
    text = re.sub(rf"\bthrowing {kind}", lambda at: f"{failing} {names[at[1]]}", text)
    text = re.sub(rf"\b(?:ErrorKind::{kind}|(ConnectionLost))\b", lambda at: names[at[1] or at[2]], text)
    if waits:
        text = re.sub(r"\breturns\b", "resolves with", text).replace("Returns ", "Resolves with ")
    text = re.sub(r"\b([A-Z]\w+)::(\w+)\b", lambda at: f"`{at[1].lower()}.{lower_camel(at[2])}`", text)
    return (
        text.replace("this object", "this handle")
        .replace("or nothing if", "or null if")
        .replace("; nothing ", "; null ")
    )


def docs(text: str, indent: str = "  ") -> str:
    """A comment; programs in it stay as they are."""
    if not text:
        return ""
    lines: list[str] = []
    for part in re.split(r"(?:^|\n\n)(```js\n.*?\n```)(?=\n\n|$)", text, flags=re.DOTALL):
        if part:
            lines += ["", *(part.splitlines() if part.startswith("```") else paragraphs(part, 126 - len(indent)))]
    lines = lines[1:]
    if len(lines) == 1 and len(lines[0]) < 130 - len(indent):
        return f"{indent}/** {lines[0]} */\n"
    return "".join([f"{indent}/**\n", *(f"{indent} * {line}".rstrip() + "\n" for line in lines), f"{indent} */\n"])


def sentence(verb: Verb) -> str:
    return verb.node or in_words_of_node(verb.cpp or "", verb.kind == "waits")


# --- declarations


def options_type(of: Description, verb: Verb) -> str:
    return "WaitOptions" if is_wait(verb) else "SignalOptions"


def signature(of: Description, verb: Verb) -> list[str]:
    """More than one where the last argument may be said in the options as well."""
    name = name_of(of, verb)
    if is_property(verb):
        return [f"readonly {name}: {verb.node_type or property_of(verb).ts}"]
    if verb.kind == "subscription":
        return [f"{name}(callback: (progress: WaitProgress) => unknown): () => void"]
    kinds_of = dict(arguments_of(verb))

    def optional(one: str, kind: Argument) -> str:
        return "?" if kinds_of[one].endswith("?") or kind.named else ""

    takes = [f"{lower_camel(one)}{optional(one, kind)}: {kind.ts}" for one, kind in arguments(of, verb)]
    if verb.cpp_chains:
        return [f"{name}({', '.join(takes)}): {verb.node_type}"]
    kind = answer(of, verb).ts
    gives = verb.node_type or (f"Feed<{kind}>" if verb.kind == "stream" else f"Promise<{kind}>")
    written = [f"{name}({', '.join([*takes, f'options?: {options_type(of, verb)}'])}): {gives}"]
    named = [one.named for _, one in arguments(of, verb)[-1:] if one.named]
    return written + [f"{name}({', '.join([*takes[:-1], f'options: {one}'])}): {gives}" for one in named]


def declared(of: Description, verb: Verb) -> str:
    return docs(sentence(verb)) + "".join(f"  {line}\n" for line in signature(of, verb))


def declared_members(of: Description) -> str:
    return "".join(declared(of, verb) for verb in own_verbs(of, "node"))


def declared_class(of: Description) -> str:
    head = f"{docs(told(of)['is'].strip(), '')}export class {type_name(of)} {{\n  private constructor()\n"
    return f"{head}{declared_members(of)}}}\n"


def declared_factories(every: list[Description]) -> str:
    text = ""
    for of in every:
        verb = factory_of(of, "node")
        if verb is None:
            continue
        takes = [
            f"{lower_camel(one)}{'?' if kind is ARGUMENTS['bytes?'] else ''}: {kind.ts}"
            for one, kind in arguments(of, verb)
        ]
        if verb.options_of:
            takes.append(f"options?: {camel(verb.options_of)}Options")
        text += f"{docs(sentence(verb))}  {name_of(of, verb)}({', '.join(takes)}): {type_name(of)}\n"
    return text


TYPES_FROM = {
    "Contender": "handle",
    "Data": "abort_signals",
    "Feed": "feed",
    "SignalOptions": "abort_signals",
    "VersionOptions": "nodes",
    "WaitOptions": "abort_signals",
    "WaitProgress": "handle",
}


def imports(code: str) -> str:
    bare = re.sub(r"/\*\*.*?\*/", "", code, flags=re.DOTALL)
    uses: dict[str, list[str]] = {}
    for name in sorted(TYPES_FROM):
        if re.search(rf"\b{name}\b", bare):
            uses.setdefault(TYPES_FROM[name], []).append(name)
    return "".join(f"import {{ {', '.join(names)} }} from './{file}.cjs'\n" for file, names in sorted(uses.items()))
