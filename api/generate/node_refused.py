"""Which arguments the tests of Node try wrong values for: those of every verb that is generated."""

from __future__ import annotations

from pathlib import Path

from description import ROOT, Description, Verb
from node_kinds import (
    arguments,
    arguments_of,
    factory_of,
    is_property,
    is_wait,
    lower_camel,
    name_of,
    own_verbs,
    type_name,
)

TABLE = ROOT / "node/test/generated/verbs.mjs"
HEAD = """// Generated from api/ by api/generate; do not edit.

/** The verbs that take something: their arguments by type, the options behind them, and the recipe that they make. */
export const VERBS = [
"""


def options_of(verb: Verb) -> list[str]:
    if verb.kind == "waits":
        return ["timeout", "signal"] if is_wait(verb) else ["signal"]
    return ["signal"] if verb.kind == "stream" else []


def row(of: Description, verb: Verb, type_of: str, options: list[str]) -> str:
    kinds = dict(arguments_of(verb))
    takes = ", ".join(f"{lower_camel(name)}: '{kinds[name]}'" for name, _ in arguments(of, verb))
    listed = ", ".join(f"'{option}'" for option in options)
    braces = f"{{ {takes} }}" if takes else "{}"
    makes = f", makes: '{type_name(of)}'" if verb.kind == "new" else ""
    return f"  {{ type: '{type_of}', verb: '{name_of(of, verb)}', takes: {braces}, options: [{listed}]{makes} }},\n"


def choices_of(of: Description) -> list[str]:
    return [lower_camel(one.name) for one in of.options.every if one.is_choice] if of.options else []


def table(every: dict[str, Description]) -> dict[Path, str]:
    text = HEAD
    for of in (of for of in every.values() if of.node is not None):
        if verb := factory_of(of, "node"):
            text += row(of, verb, "Client", choices_of(of))
        for verb in own_verbs(of, "node"):
            if not is_property(verb) and verb.kind != "subscription":
                text += row(of, verb, type_name(of), options_of(verb))
    return {TABLE: f"{text}]\n"}
