"""What types of arguments and answers mean in Node and in its addon, and what a description says of Node."""

from __future__ import annotations

import re
from dataclasses import dataclass

from description import ROOT, Description, Verb, pairs
from kinds import OUTPUTS, STREAMS, camel

LIB = ROOT / "node/lib"

# --- types


@dataclass(frozen=True)
class Argument:
    """Its type for users, and what checks it; its type in the addon, what is kept of it for the time of a call (itself
    if empty), what it is lent as to a method that waits, and to one that does not. {name} is what users call it."""

    ts: str
    check: str
    rust: str
    keep: str = ""
    lend: str = "{n}"
    hand: str = "{n}"
    # The interface of options in which it may be said as well, of what may be left out.
    named: str = ""
    # What it is where it is left out.
    default: str = "''"


ARGUMENTS = {
    "text": Argument("string", "check.text('{n}', {n})", "String", lend="&{n}", hand="&{n}"),
    "bytes": Argument("Data", "check.bytes('{n}', {n})", "&[u8]", keep="{n}.to_vec()", lend="&{n}"),
    "partitions": Argument(
        "number | string[]", "check.partitions('{n}', {n})", "Either<u32, Vec<String>>", hand="partition_names({n})"
    ),
    "i64": Argument("bigint | number", "check.long('{n}', {n})", "BigInt", lend="long(&{n})", hand="long(&{n})"),
    "count": Argument("number", "check.count('{n}', {n})", "u32", lend="{n} as usize", hand="{n} as usize"),
    "delay": Argument("number", "check.duration('{n}', {n})", "f64", lend='finite("{name}", {n})?'),
    "version": Argument("number", "check.version({n})", "Option<i32>", named="VersionOptions"),
    "count?": Argument(
        "number", "check.count('{n}', {n})", "u32", lend="{n} as usize", hand="{n} as usize", default="1"
    ),
    # What may be left out, and is empty then.
    "text?": Argument("string", "check.text('{n}', {n})", "String", lend="&{n}", hand="&{n}"),
    "bytes?": Argument("Data", "check.bytes('{n}', {n}, '{call}')", "&[u8]", keep="{n}.to_vec()", lend="&{n}"),
}


@dataclass(frozen=True)
class Answer:
    """By its type in the core: its type for users, what the addon makes of it, and what node/lib makes of that."""

    ts: str
    convert: str
    make: str = "{it}"


ANSWERS = {
    "()": Answer("void", "same"),
    "bool": Answer("boolean", "same"),
    "i32": Answer("number", "same"),
    "i64": Answer("bigint", "BigInt::from"),
    "usize": Answer("number", "count"),
    "String": Answer("string", "same"),
    "Vec<String>": Answer("string[]", "same"),
    "Option<Vec<u8>>": Answer("Buffer | null", "buffer"),
    "Vec<Vec<u8>>": Answer("Buffer[]", "buffers"),
    "BTreeMap<String, Vec<u8>>": Answer("Record<string, Buffer>", "named", "byName({it})"),
    "BTreeMap<String, Option<String>>": Answer("Record<string, string | null>", "owners", "ownersOf({it})"),
    "BTreeMap<String, u32>": Answer("Record<string, number>", "weights", "weightsOf({it})"),
    "Vec<Contender>": Answer("Contender[]", "contenders", "contendersOf({it})"),
    "Stat": Answer("Stat", "Stat::from", "statOf({it})"),
    "Option<Stat>": Answer("Stat | null", "stat", "statIfAny({it})"),
    "(Vec<u8>, Stat)": Answer("Content", "Content::from", "contentOf({it})"),
    "QueueStats": Answer("QueueStats", "Stats::from"),
    "Vec<PartResult>": Answer("PartResult[]", "parts", "resultsOf({it})"),
    "Option<Versioned>": Answer("Versioned | null", "versioned"),
    "Option<Cached>": Answer("Cached | null", "cached"),
    "Option<Leader>": Answer("Leader | null", "leader"),
    "GroupEvent": Answer("GroupEvent", "Event::from", "eventOf({it})"),
    "Outcome": Answer("CommitOutcome", "Outcome::name"),
    "Vec<CommitStatus>": Answer("CommitStatus[]", "statuses"),
    "Vec<Instance>": Answer("Instance[]", "instances"),
    "Option<CommitStatus>": Answer("CommitStatus | null", "status"),
}


@dataclass(frozen=True)
class Property:
    """A question: what it is for users and in the addon, and what makes this of what the core answers."""

    ts: str
    rust: str
    convert: str = "{it}"


PROPERTIES = {
    "path": Property("string", "&str"),
    "text": Property("string", "&str"),
    "String": Property("string", "String"),
    "bool": Property("boolean", "bool"),
    "u32": Property("number", "u32"),
    "u64": Property("bigint", "BigInt", "{it}.into()"),
    "count": Property("number", "f64", "{it} as f64"),
    "data": Property("Buffer", "Buffer", "{it}.into()"),
    "strings": Property("string[]", "Vec<String>", "{it}.to_vec()"),
    "commit_mode": Property("CommitMode", "&str", "{it}.name()"),
    "service": Property("Service", "Service", "{it}.into()"),
    "Option<Cached>": Property("Cached | null", "Option<Cached>", "{it}.map(Cached::from)"),
}


# --- what a description says


def lower_camel(name: str) -> str:
    return camel(name)[0].lower() + camel(name)[1:]


def told(of: Description) -> dict[str, str]:
    return of.node or {}


def type_name(of: Description) -> str:
    return told(of).get("name", of.core_type)


def is_property(verb: Verb) -> bool:
    return verb.kind == "question" or (verb.kind == "now" and verb.const) or answer_type(verb) == "Option<Cached>"


def is_wait(verb: Verb) -> bool:
    return verb.kind == "waits" and arguments_of(verb)[-1:] == [("timeout_ms", "limit")]


def own_verbs(of: Description, face: str) -> list[Verb]:
    """Those that are generated for a face: `node` is what users see, `addon` what is below."""
    inherits = "extends" in told(of)
    return [
        verb
        for verb in of.verbs
        if verb.kind not in ("new", "free") and face not in verb.by_hand and not (inherits and verb.inherited)
    ]


def factory_of(of: Description, face: str) -> Verb | None:
    return next((verb for verb in of.verbs if verb.kind == "new" and face not in verb.by_hand), None)


def arguments_of(verb: Verb) -> list[tuple[str, str]]:
    return pairs(verb.node_takes or verb.rust_takes or verb.takes)


def arguments(of: Description, verb: Verb) -> list[tuple[str, Argument]]:
    """Without the time that a verb takes at most, which is an option."""
    found = [(name, kind) for name, kind in arguments_of(verb) if kind not in ("limit", "options", "queue_options")]
    for name, kind in found:
        if kind not in ARGUMENTS:
            raise SystemExit(f'api/{of.name}.toml: {verb.name}: {name} has no type in Node; say by_hand = ["node"]')
    return [(name, ARGUMENTS[kind]) for name, kind in found]


def answer_type(verb: Verb) -> str:
    """What the core's verb answers, in Rust."""
    if verb.rust_type:
        return verb.rust_type
    found = [OUTPUTS[kind].rust for _, kind, _ in verb.outputs] if verb.kind != "question" else []
    if verb.outputs and verb.outputs[0][1] == "whether":
        return f"Option<{found[1]}>"
    return found[0] if len(found) == 1 else f"({', '.join(found)})"


def answer(of: Description, verb: Verb) -> Answer:
    kind = STREAMS[verb.callback][1] if verb.kind == "stream" else answer_type(verb)
    if kind not in ANSWERS:
        raise SystemExit(f'api/{of.name}.toml: {verb.name}: {kind} has no type in Node; say by_hand = ["node"]')
    return ANSWERS[kind]


def property_of(verb: Verb) -> Property:
    if verb.rust_type in PROPERTIES:
        return PROPERTIES[verb.rust_type]
    return PROPERTIES[verb.gives if verb.kind == "question" else verb.outputs[0][1]]


def name_of(of: Description, verb: Verb) -> str:
    return lower_camel(of.argument if verb.kind == "new" else verb.name)


def home(of: Description) -> str:
    """The file of a class: its own, unless it stands in one with others."""
    declares = re.compile(rf"^(class|// --- generated from api: class) {type_name(of)}\b", re.MULTILINE)
    return next((path.stem for path in sorted(LIB.glob("*.cjs")) if declares.search(path.read_text())), of.name)
