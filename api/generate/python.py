"""The Python face: what type checkers and editors are told of the native module, and the verbs of asyncio."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from description import Description, Verb, pairs, paragraphs, piped
from options import options_of
from options_python import signature
from python_kinds import ANSWERS, ARGUMENTS, OBJECTS, PROPERTIES, STREAMS, TELLS, Argument

# So that a docstring fits into a line of Rust as well as of Python.
WIDTH = 108

BASE = """
@disjoint_base
class {name}Base{base}:
{docs}

    def __new__(cls, seed: Seed) -> Self: ...
{members}
"""
PUBLIC = """
@final
class {name}({bases}{name}Base):
{docs}
{members}
"""
METHOD = """
    def {name}(self{takes}) -> {gives}:
{docs}
"""
OVERLOAD = """
    @overload
    def {name}(self, {signature}:
{docs}
"""
PROPERTY = """
    @property
    def {name}(self) -> {gives}:
{docs}
"""
CANCEL = "Ends the waits in progress on this object with Cancelled, never later ones{more}."
ASYNCIO = """

class {name}({bases}_native.{name}Base):
{docs}

{verbs}
"""
INSTEAD = """
    @instead({made}(_native.{name}Base.{verb}))
    def {verb}(self) -> None: ...
"""
CLAIMING = """
    def {verb}(self{takes}, cancel_on_lost: bool = False, **unknown: NoReturn) -> {name}:
{docs}
        _refuse(unknown, Client.{verb})
        made = super().{verb}({given})
        return _cancelling(cancel_on_lost, cast({name}, made))

"""
CANCELS = "With `cancel_on_lost`, losing an item cancels the body of its `async with`, which then raises Lost."
RECIPES = '''# The bases say what the verbs answer when they block; here they answer a coroutine of it.
# mypy: disable-error-code="assignment,override"
"""The recipes that are nothing but their verbs, for asyncio. Generated from api/ by api/generate; do not edit."""

from __future__ import annotations

from . import _native
from ._bridge import Answers, awaited, instead
from ._feeds import feeding
from ._queues import Backlog
{classes}
'''


@dataclass
class Type:
    """A class of Python, with the verbs that are not those of its base."""

    of: Description
    name: str
    base: str
    verbs: list[Verb]
    cancels: bool
    # What makes it, of a client.
    new: Verb | None

    @property
    def told(self) -> dict[str, str]:
        return self.of.python or {}

    @property
    def is_shared(self) -> bool:
        """Nothing of its own, but what others have in common."""
        return not self.of.type

    @property
    def is_by_hand(self) -> bool:
        """A class that has generated verbs besides its own."""
        return "python" in self.told.get("by_hand", [])


def types(every: dict[str, Description]) -> list[Type]:
    """Those that are generated; the verbs of one may be in several descriptions."""
    found = []
    for of in every.values():
        if of.python is None:
            continue
        rust = of.rust or {}
        base = rust.get("derefs", "")
        others = [one for one in every.values() if one.prefix and one.prefix == of.prefix and one.rust is None]
        verbs = [*of.verbs, *(verb for other in others for verb in other.verbs)]
        own = [verb for verb in verbs if "python" not in verb.by_hand and not (base and verb.inherited)]
        own = [verb for verb in own if verb.kind not in ("new", "free")]
        cancels = any(verb.cancellable for verb in verbs) and all(verb.name != "cancel" for verb in verbs)
        new = next((verb for verb in of.verbs if verb.kind == "new" and "python" not in verb.by_hand), None)
        found.append(Type(of, rust.get("name", of.core_type), base, own, cancels, new))
    return sorted(found, key=lambda one: (not one.is_shared, one.name))


def arguments(of: Description, verb: Verb) -> list[tuple[str, Argument | None]]:
    """By the names of Python, which has seconds where C has milliseconds; behind a star they have to be named."""
    found: list[tuple[str, Argument | None]] = []
    for name, kind in pairs(verb.python_takes or verb.rust_takes or verb.takes):
        if verb.options_of and kind.endswith("options"):
            read = f"crate::generated::options::{verb.options_of}({{n}})?"
            found.append((name, Argument("", read, several=signature(options_of(verb.options_of)))))
            continue
        if name != "*" and kind not in ARGUMENTS:
            raise SystemExit(f'api/{of.name}.toml: {verb.name}: {name} has no type in Python; say by_hand = ["python"]')
        found.append((name.removesuffix("_ms"), ARGUMENTS.get(kind)))
    return found


def is_property(verb: Verb) -> bool:
    """What is there without asking anybody. A transaction is another one each time."""
    answers = verb.kind == "now" and verb.infallible and bool(verb.gives)
    return verb.kind == "question" or (answers and kind_of(verb) != "transaction")


def kind_of(verb: Verb) -> str:
    return verb.gives if verb.kind == "question" else verb.outputs[0][1] if verb.outputs else ""


def answer(of: Description, verb: Verb) -> str:
    """The type of what it answers, where it blocks."""
    if verb.python_gives:
        return verb.python_gives
    if verb.kind == "stream":
        return f"Feed[{STREAMS[verb.callback]}]"
    kind = kind_of(verb)
    if is_property(verb) and kind in PROPERTIES:
        return PROPERTIES[kind].type
    if kind not in ANSWERS or len([one for one in verb.outputs if one[1] != "whether"]) > 1:
        raise SystemExit(f"api/{of.name}.toml: {verb.name}: say in python_gives what it answers")
    return ANSWERS[kind].type


def said(of: Description, verb: Verb) -> str:
    """Its documentation: that of C++ in the words of Python, unless Python has its own."""
    if verb.python:
        return verb.python
    text = verb.cpp or verb.doc
    ends = {"": "e", "s": "es", "ing": "ing"}
    text = re.sub(r"\b([Tt])hrow(s|ing|)\b", lambda at: f"{'R' if at[1] == 'T' else 'r'}ais{ends[at[2]]}", text)
    if not text or "zkr_" in text.lower():
        raise SystemExit(
            f"api/{of.name}.toml: {verb.name}: nothing is said of it in Python; say it in python, or in cpp"
        )
    return text


def docs(text: str) -> list[str]:
    """The lines of a docstring; examples stay as they are."""
    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        if lines:
            lines.append("")
        lines += paragraph.split("\n") if paragraph.startswith(">>>") else paragraphs(paragraph, WIDTH)
    return lines


def docstring(text: str, indent: int) -> str:
    lines = docs(text)
    quotes = f'{"r" if chr(92) in text else ""}"""'
    end = '"""' if len(lines) == 1 else '\n"""'
    return textwrap.indent("\n".join([quotes + lines[0], *lines[1:]]) + end, " " * indent)


def takes(given: list[tuple[str, Argument | None]]) -> str:
    return "".join(f", {told(name, one)}" for name, one in given)


def told(name: str, one: Argument | None) -> str:
    """As type checkers see it."""
    if not one:
        return name
    return one.several or f"{name}: {one.type}{f' = {one.default}' if one.default else ''}"


def member(of: Description, verb: Verb) -> str:
    words = docstring(said(of, verb), 8)
    if verb.python_overloads:
        signatures = (one.replace(" -> ", ") -> ") for one in verb.python_overloads)
        return "".join(OVERLOAD.format(name=verb.name, signature=one, docs=words) for one in signatures)
    if is_property(verb):
        return PROPERTY.format(name=verb.name, gives=answer(of, verb), docs=words)
    if verb.kind == "subscription":
        heard = f", callback: Callable[{TELLS[verb.callback]}, object]"
        return METHOD.format(name=verb.name, takes=heard, gives="Callable[[], None]", docs=words)
    return METHOD.format(name=verb.name, takes=takes(arguments(of, verb)), gives=answer(of, verb), docs=words)


def stub(listed: list[Type]) -> str:
    """The classes as type checkers and editors see them."""
    made = []
    for one in (one for one in listed if not one.is_by_hand):
        members = [member(one.of, verb) for verb in one.verbs]
        if one.cancels:
            words = docstring(CANCEL.format(more=one.told.get("cancel", "")), 8)
            members.append(METHOD.format(name="cancel", takes="", gives="None", docs=words))
        members.append(textwrap.indent(one.told.get("stub", ""), "    "))
        words = one.told["doc"] if one.is_shared else f"What `{one.name}` is on both faces."
        base = f"({one.base}Base)" if one.base else ""
        made.append(BASE.format(name=one.name, base=base, docs=docstring(words, 4), members="".join(members)))
        if not one.is_shared:
            bases = f"{one.told['bases']}, " if "bases" in one.told else ""
            more = textwrap.indent(one.told.get("blocking_stub", ""), "    ")
            words = docstring(one.told["doc"], 4)
            made.append(PUBLIC.format(name=one.name, bases=bases, docs=words, members=more))
    return "".join(made)


def factories(listed: list[Type]) -> str:
    """What a client makes."""
    made = ""
    for one in listed:
        if one.new:
            words, given = docstring(said(one.of, one.new), 8), takes(arguments(one.of, one.new))
            made += METHOD.format(name=one.of.argument, takes=given, gives=one.name, docs=words)
    return made


def without_examples(text: str) -> str:
    return "\n\n".join(one for one in text.strip().split("\n\n") if not one.startswith(">>>"))


def awaited(one: Type) -> str:
    """The verbs that asyncio awaits or iterates, in place of those that block."""
    made = []
    for verb in (verb for verb in one.verbs if "asyncio" not in verb.by_hand):
        kind = kind_of(verb)
        of_its_own = f"Answers[{quoted(OBJECTS[kind].type)}]." if kind in OBJECTS else ""
        if verb.kind == "waits":
            made.append(INSTEAD.format(made=f"{of_its_own}awaited", name=one.name, verb=verb.name))
        elif verb.kind == "stream":
            made.append(INSTEAD.format(made="feeding", name=one.name, verb=verb.name))
        elif of_its_own and not is_property(verb):
            made.append(INSTEAD.format(made=f"{of_its_own}at_once", name=one.name, verb=verb.name))
    return "".join(line for verb in made for line in verb.splitlines(keepends=True) if line.strip())


# Classes that stand behind those whose verbs answer them.
LATER = {"Registration"}


def quoted(type_: str) -> str:
    return type_ if type_.isidentifier() and type_ not in LATER else f'"{type_}"'


def asyncio_classes(listed: list[Type]) -> str:
    made = []
    for one in listed:
        if one.is_shared or "asyncio" in one.told.get("by_hand", []):
            continue
        words = docstring(one.told.get("asyncio", without_examples(one.told["doc"])), 4)
        bases = f"{one.base}, " if one.base else ""
        made.append(ASYNCIO.format(name=one.name, bases=bases, docs=words, verbs=awaited(one)))
    return "".join(made)


def formatted(text: str, name: str) -> str:
    return piped(text, "ruff", "format", "--quiet", "--no-cache", "--stdin-filename", name, "-")


def asyncio_factories(listed: list[Type]) -> str:
    made = (
        claiming(one, one.new)
        if one.base == "Backlog"
        else INSTEAD.format(made=f"Answers[{one.name}].at_once", name="Client", verb=one.of.argument)
        for one in listed
        if one.new and "asyncio" not in one.new.by_hand
    )
    return "".join(one.lstrip("\n") for one in made)


def claiming(one: Type, new: Verb) -> str:
    """A factory of what items are claimed of."""
    given = arguments(one.of, new)
    names = [name for name, _ in given if not name.endswith("options")]
    options = [option.name for option in options_of(new.options_of).without("python")]
    return CLAIMING.format(
        verb=one.of.argument,
        name=one.name,
        takes=takes(given),
        given=", ".join([*names, *(f"{option}={option}" for option in options)]),
        docs=docstring(f"{said(one.of, new)}\n\n{CANCELS}", 8),
    )


def asyncio_parts(listed: list[Type]) -> dict[str, str]:
    """The verbs of classes that are written by hand for what is no verb, and what type checkers are told of them."""
    members = {
        f"members of {one.name}": "".join(member(one.of, verb) for verb in one.verbs)
        for one in listed
        if one.is_by_hand
    }
    return (
        {"factories of asyncio": asyncio_factories(listed)}
        | members
        | {
            f"verbs of {one.name} for asyncio": awaited(one)
            for one in listed
            if one.is_shared or "asyncio" in one.told.get("by_hand", [])
        }
    )
