"""The descriptions in api/, read."""

from __future__ import annotations

import os
import re
import subprocess
import textwrap
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import tomllib
from kinds import INPUTS, OUTPUTS, Input, camel
from options import Options, read

ROOT = Path(__file__).resolve().parent.parent.parent
API = ROOT / "api"


@dataclass
class Verb:
    name: str
    inherited: bool
    # What it is a verb of, such as counter.
    of: str
    doc: str = ""
    kind: str = "waits"
    takes: str = ""
    gives: str = ""
    cancellable: bool = False
    # The core's method takes effect when it is called, not when its future is polled; its name if it has another one.
    begins: bool = False
    call: str = ""
    callback: str = ""
    # Of a verb that cannot fail though others of its kind can, and of a question that can though others cannot.
    infallible: bool = False
    fallible: bool = False
    const: bool = False
    # What the documentation of the further forms says as well.
    note: str = ""
    withdrawn: str = ""
    # The documentation of the C++ member; no member without it.
    cpp: str | None = None
    cpp_name: str = ""
    cpp_takes: str = ""
    cpp_const: bool = False
    cpp_chains: bool = False
    # What a member returns and what makes that of the answers, where no single answer is what it returns.
    cpp_type: str = ""
    cpp_result: str = ""
    # The faces that have it by hand, or in another form.
    by_hand: list[str] = field(default_factory=list)
    # How scenarios call it; without it the drivers have it by hand, if at all.
    word: str = ""
    # What differs in Rust: the names of the arguments, and the type of the answer.
    rust_takes: str = ""
    rust_type: str = ""
    # The documentation in Node, where it is not that of C++ in the words of Node; what differs there, as for Rust.
    node: str = ""
    node_takes: str = ""
    node_type: str = ""
    # What differs in Python: the documentation, the arguments, the type of the answer, what the native module calls;
    # whether the answer changes, so that a forked child must not ask; what type checkers are told, where one signature
    # says too little.
    python: str = ""
    python_takes: str = ""
    python_gives: str = ""
    python_call: str = ""
    python_changes: bool = False
    python_overloads: list[str] = field(default_factory=list)

    @property
    def inputs(self) -> list[tuple[str, Input]]:
        return [(name, INPUTS[kind].of(self.of)) for name, kind in pairs(self.takes)]

    @property
    def options_of(self) -> str:
        """Of which recipe it takes the options, if it does."""
        kinds = [kind for _, kind in pairs(self.takes) if kind.endswith("options")]
        return (kinds[0].removesuffix("options").rstrip("_") or self.of) if kinds else ""

    @property
    def outputs(self) -> list[tuple[str, str, bool]]:
        return [(name, kind.rstrip("?"), kind.endswith("?")) for name, kind in pairs(self.gives)]


def pairs(listed: str) -> list[tuple[str, str]]:
    found = []
    for one in filter(None, listed.split(", ")):
        name, _, kind = one.partition(": ")
        found.append((name, kind))
    return found


@dataclass
class Description:
    name: str
    type: str
    prefix: str
    core: str
    verbs_table: str
    is_a: str
    lists: dict[str, dict[str, str]]
    # The documentation of the whole class in C++, if that is generated.
    cpp: str
    options: Options | None
    # What stands behind the handle.
    holds: str = ""
    # How the functions call the handle.
    argument: str = ""
    # What blocking Rust is told of the type, where that is generated.
    rust: dict[str, str] | None = None
    # The same of Node.
    node: dict[str, str] | None = None
    # The same of the classes of Python.
    python: dict[str, Any] | None = None
    verbs: list[Verb] = field(default_factory=list)

    @property
    def handle(self) -> str:
        return f"{self.core_type}Handle"

    @property
    def core_type(self) -> str:
        return camel(self.argument)


# Besides what a Description keeps by the same name.
KEYS = {"like", "without", "words", "heading", "is", "option"}
RUST_KEYS = {"name", "derefs", "must_use", "cancelled", "example"}
NODE_KEYS = {"name", "is", "extends", "asks", "core", "of"}
# The faces that are generated one for one, so that a verb can be by hand in one of them.
FACES = {"cpp", "blocking", "node", "addon", "python", "asyncio"}
PYTHON_KEYS = {"doc", "asyncio", "cancel", "shows", "bases", "stub", "blocking_stub", "by_hand"}
VERB_KINDS = {"waits", "now", "question", "subscription", "stream", "new", "free"}


# What there is besides.
NO_VERBS = {"client", "enums", "errors"}


def descriptions(folder: str = "") -> list[str]:
    """What has verbs."""
    return sorted(folder + path.stem for path in (API / folder).glob("*.toml") if path.stem not in NO_VERBS)


def load(name: str) -> dict[str, Any]:
    """One of them as it is written. A key that nobody reads is a mistake: what it says would be left out in silence."""
    given = tomllib.loads((API / f"{name}.toml").read_text())
    known = KEYS | {key.name for key in fields(Description)} - {"name", "is_a"}
    problems = [f"{key} is no key of a description" for key in given.keys() - known]
    known = {key.name for key in fields(Verb)} - {"name", "inherited", "of"}
    for verb, described in given.get("verbs", {}).items():
        problems += [f"{verb}: {key} is no key of a verb" for key in described.keys() - known]
        problems += [f"{verb}: {face} is no face" for face in set(described.get("by_hand", [])) - FACES]
        kind = described.get("kind", "waits")
        problems += [f"{verb}: {kind} is no kind of verb"] if kind not in VERB_KINDS else []
        for key in ("takes", "rust_takes"):
            types = {one for _, one in pairs(described.get(key, ""))}
            problems += [f"{verb}: {one} is no type of an argument" for one in types - INPUTS.keys()]
        answers = {one.rstrip("?") for _, one in pairs(described.get("gives", "")) if one}
        problems += [f"{verb}: {one} is no type of an answer" for one in answers - OUTPUTS.keys()]
    for table, keys in (("rust", RUST_KEYS), ("node", NODE_KEYS), ("python", PYTHON_KEYS)):
        problems += [f"{key} is no key of [{table}]" for key in given.get(table, {}).keys() - keys]
    if problems:
        told = [f"api/{name}.toml: {problem}" for problem in sorted(problems)]
        raise SystemExit("\n".join([*told, "api/README.md has the keys and kinds, api/generate/kinds.py the types"]))
    return given


def inherited(given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The verbs that a description takes over, and the words in which it speaks of them."""
    shared: dict[str, Any] = {}
    words: dict[str, str] = {}
    if "like" in given:
        other = load(given["like"])
        shared, words = inherited(other)
        for verb, described in other.get("verbs", {}).items():
            shared[verb] = {**shared.get(verb, {}), **described}
    for left_out in given.get("without", []):
        del shared[left_out]
    return shared, words | {word: text.strip() for word, text in given.get("words", {}).items()}


def check(of: Description) -> None:
    """That each verb says what it is: in C, from which the others take what they lack, and in C++."""
    problems = [f"{verb.name} has no doc, the sentences for readers of C" for verb in of.verbs if not verb.doc] + [
        f'{verb.name} has no cpp, the sentence for readers of C++; without a member there, say by_hand = ["cpp"]'
        for verb in of.verbs
        if verb.cpp is None and "cpp" not in verb.by_hand and verb.kind != "free"
    ]
    if problems:
        raise SystemExit("\n".join(f"api/{of.name}.toml: {problem}" for problem in problems))


def describe(name: str) -> Description:
    given = load(name)
    kind = given.get("type", "")
    found = Description(
        name=name,
        type=kind,
        prefix=given.get("prefix", kind),
        core=given.get("core", "it.core"),
        verbs_table=given.get("verbs_table", ""),
        is_a=given.get("is", "").strip(),
        lists=given.get("lists", {}),
        cpp=given.get("cpp", "").strip(),
        options=read(name, given) if "options" in given else None,
        rust=given.get("rust"),
        node=given.get("node"),
        python=given.get("python"),
        argument=given.get("argument", kind.removeprefix("zkr_")),
    )
    found.holds = given.get("holds", f"zkrecipes::{found.core_type}")
    shared, words = inherited(given)
    words |= {"type": kind}
    own = given.get("verbs", {})
    for verb in [*shared, *(one for one in own if one not in shared)]:
        described = {**shared.get(verb, {}), **own.get(verb, {})}
        for part in ("doc", "note", "withdrawn", "cpp", "node", "python"):
            if part in described:
                described[part] = re.sub(r"\{(\w+)\}", lambda at: words.get(at[1], at[0]), described[part].strip())
        # A verb that is described in full stands where its recipe wants it, not where the shared ones are.
        found.verbs.append(Verb(verb, verb in shared, found.argument, **described))
    return found


def paragraphs(text: str, width: int) -> list[str]:
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        if lines:
            lines.append("")
        lines += textwrap.wrap(" ".join(paragraph.split()), width, break_long_words=False, break_on_hyphens=False)
    return lines


def rust_docs(text: str) -> str:
    return "\n".join(f"/// {line}".rstrip() for line in paragraphs(text, 116))


# The formatters that `make setup` installs come first.
TOOLS = os.environ | {"PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}"}


def piped(text: str, *command: str) -> str:
    return subprocess.run(
        command, cwd=ROOT, env=TOOLS, input=text, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def with_parts(path: Path, text: str, parts: dict[str, str], comment: str = "//") -> str:
    """A file with its marked parts anew."""
    closed = " -->" if comment == "<!--" else ""
    for name, part in parts.items():
        begins = f"{comment} --- generated from api: {name}{closed}\n"
        before, found, rest = text.partition(begins)
        if found:
            ends = re.search(rf"^ *{comment} --- end of generated{closed}$", rest, flags=re.M)
            assert ends, f"{path}: {name} has no end"
            text = f"{before}{begins}{part}{rest[ends.start() :]}"
        elif part.strip():
            raise SystemExit(f"{path.relative_to(ROOT)} has no part for api: {name}")
    return text
