"""What each language really offers, as names: from rustdoc, the C header and its symbols, the C++ header, Python's
modules and their stubs, Node's exports and their declarations. Where two of these contradict each other, that is a
difference too.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROFILE = os.environ.get("ZKR_PROFILE", "dev")
TARGET = ROOT / "target" / ("debug" if PROFILE == "dev" else PROFILE)
# Where two sources of one language contradict each other.
contradictions: list[str] = []


def differ(sentence: str) -> None:
    contradictions.append(sentence)


def run(*command: str, cwd: Path = ROOT) -> str:
    return subprocess.run(command, cwd=cwd, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout


# --- Rust: what rustdoc documents


@cache
def documented() -> set[str]:
    # Pages of what is gone would stay behind.
    shutil.rmtree(ROOT / "target/doc/zkrecipes", ignore_errors=True)
    run("cargo", "doc", "--quiet", "--no-deps", "--package", "zkrecipes")
    names: set[str] = set()
    home = ROOT / "target/doc/zkrecipes"
    for page in home.rglob("*.html"):
        kind, _, rest = page.stem.partition(".")
        text = page.read_text()
        # Private modules have pages that lead to where their names are public.
        is_elsewhere = "<title>Redirection</title>" in text
        if kind not in {"struct", "enum", "trait", "fn", "type", "constant", "macro"} or is_elsewhere:
            continue
        module = "".join(f"{part}::" for part in page.parent.relative_to(home).parts)
        names.add(f"{module}{rest}")
        if kind == "type":
            continue
        # Only what the type itself brings, and what it has from its handle, not what blanket and derived traits add.
        parts = re.split(r'id="(?=trait-impl|synthetic-impl|blanket-impl|deref-methods)', text)
        own = "".join(part for at, part in enumerate(parts) if at == 0 or part.startswith("deref-methods-Handle"))
        for member in re.findall(r'id="(?:method|tymethod|variant|structfield|associatedconstant)\.(\w+)"', own):
            names.add(f"{module}{rest}::{member}")
    return names


def rust() -> set[str]:
    return {name for name in documented() if not name.startswith("blocking::")}


def blocking() -> set[str]:
    """What the blocking face shares with the other one is the same name."""
    own = {name.removeprefix("blocking::") for name in documented() if name.startswith("blocking::")}
    types = {name for name in own if "::" not in name}
    return own | {name for name in rust() if name.split("::")[0] not in types}


# --- C: each header and the dynamic symbols of its library must name the same functions


def c() -> set[str]:
    return c_library("zkrecipes") | c_library("zkrecipes_testing")


def c_library(name: str) -> set[str]:
    header = strip_comments((ROOT / f"include/{name}.h").read_text())
    functions = set(re.findall(r"\b(zkr_\w+)\s*\((?!\*)", header))
    exported = set(re.findall(r" T (\w+)", run("nm", "-D", "--defined-only", str(TARGET / f"lib{name}_c.so"))))
    if functions != exported:
        differ(f"in {name}.h but not exported: {sorted(functions - exported)}")
        differ(f"exported but not in {name}.h: {sorted(exported - functions)}")
    constants = set(re.findall(r"\b(ZKR_[A-Z0-9_]+)\b", header)) - {"ZKR_H", "ZKRECIPES_H", "ZKRECIPES_TESTING_H"}
    types = set(re.findall(r"\}\s*(zkr_\w+)\s*;|typedef struct \w+ (zkr_\w+)\s*;", header))
    fields: set[str] = set()
    for struct, body in re.findall(r"typedef struct (zkr_\w+) \{(.*?)\n\}", header, flags=re.S):
        fields |= {f"{struct}.{field}" for field in re.findall(r"(\w+)(?:\[\w+\])?;", body) if field[0] != "_"}
    return functions | constants | fields | {name for pair in types for name in pair if name}


def strip_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", "", text, flags=re.S))


# --- C++: the classes of the header, brace by brace

CPP_OPENING = re.compile(
    r"(?:(enum class|class|struct|namespace)\s+(?:\[\[\w+\]\]\s*)?([\w:]+)(?:\s+final)?(?:\s*:\s*[^;{}()]*)?\s*)?\{"
)


def cpp() -> set[str]:
    headers = (ROOT / "include" / name for name in ("zkrecipes.hpp", "zkrecipes_coro.hpp", "zkrecipes_testing.hpp"))
    text = strip_comments("\n".join(header.read_text() for header in headers))
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    names: set[str] = set()
    bases: dict[str, list[str]] = {}
    cpp_block(text, 0, [], None, names, bases)
    for _ in range(4):  # inheritance, a few levels deep
        for name, parents in bases.items():
            for parent in parents:
                inherited = [member for member in names if member.startswith(f"{parent}::")]
                names |= {f"{name}::{member.removeprefix(f'{parent}::')}" for member in inherited}
    return {name for name in names if re.match(r"zkr::(?!detail\b)[^(]*$", name) and not name.endswith("_")}


def cpp_block(
    text: str, at: int, scope: list[str], kind: str | None, names: set[str], bases: dict[str, list[str]]
) -> int:
    """Reads the block that begins at `at`, collects its public names, and returns where it ends."""
    public = kind != "class"
    statement = ""
    while at < len(text):
        label = re.match(r"(public|private|protected)\s*:(?!:)", text[at:]) if kind in {"class", "struct"} else None
        if label and not statement.strip():
            public, at = label.group(1) == "public", at + label.end()
        elif text[at] == "}":
            return at + 1
        elif text[at] == "{":
            opening = CPP_OPENING.search(statement + "{")
            inner, name = (opening.group(1), opening.group(2)) if opening else (None, None)
            seen = names if public else set()
            if inner == "namespace" and name:
                at = cpp_block(text, at + 1, [*scope, *name.split("::")], None, seen, bases)
            elif inner and name and inner != "namespace":
                seen.add("::".join([*scope, name]))
                # Whatever the template arguments; bases that are not ours bring nothing that we list.
                parents = re.findall(r"\bpublic\s+(?:detail::)?(\w+)<", statement)
                bases["::".join([*scope, name])] = [f"zkr::detail::{parent}" for parent in parents]
                at = cpp_block(text, at + 1, [*scope, name], inner, seen, bases)
            else:
                if kind in {"class", "struct", None} and public and not inner:
                    cpp_declared(statement, scope, names)
                at = cpp_block(text, at + 1, scope, "body", set(), {})
                # A body ends its statement; a brace initialiser goes on to the semicolon.
            statement = ""
        elif text[at] == ";":
            if kind in {"class", "struct"} and public:
                cpp_declared(statement, scope, names)
            elif kind is None and (constant := re.match(r"\s*inline constexpr [\w:]+ (\w+) =", statement)):
                names.add("::".join([*scope, constant.group(1)]))
            statement, at = "", at + 1
        else:
            statement, at = statement + text[at], at + 1
    return at


def cpp_declared(statement: str, scope: list[str], names: set[str]) -> None:
    statement = statement.strip()
    if not statement or re.search(r"\b(friend|using|static_assert|operator)\b|=\s*delete", statement):
        return
    found: list[str] = []
    if "(" in statement:
        # What is declared with its scope was declared before.
        function = re.search(r"(?<![:\w])([~\w]+)\s*\(", statement)
        found = [function.group(1)] if function else []
    elif " " in statement:
        declarators = re.sub(r"<[^<>]*(<[^<>]*>)*[^<>]*>", "", statement).split(",")
        # Declared before, as above.
        declarators = [part for part in declarators if not re.search(r"^[^=]*\w::\w+$", part.strip())]
        found = [match.group(1) for part in declarators if (match := re.search(r"(\w+)\s*(?:=.*)?$", part.strip()))]
    names |= {"::".join([*scope, name]) for name in found if name not in scope[-1:] and not name.startswith("~")}


# --- Python: what can be imported, and what the stubs say


# Only for annotations: what it brings is listed with each class that has it.
COMMON = {"Handle"}


def python_module(module: str) -> set[str]:
    sys.path.insert(0, str(ROOT / "python"))
    loaded = importlib.import_module(module)
    names: set[str] = set()
    public = getattr(loaded, "__all__", [name for name in dir(loaded) if not name.startswith("_")])
    for name in public:
        value = getattr(loaded, name)
        if inspect.ismodule(value):
            continue
        names.add(name)
        if inspect.isclass(value) and name not in COMMON:

            def known(owner: type) -> bool:
                """Not the base within the native module, which has the name of its public class."""
                is_public = getattr(loaded, owner.__name__, None) is owner and owner.__name__ in public
                return is_public and owner.__name__ not in COMMON

            # What a public base brings is listed there.
            owners = [owner for owner in value.__mro__ if is_ours(owner) and (owner is value or not known(owner))]
            members = {member for owner in owners for member in vars(owner)}
            # The keys of a dict of options, and nothing that only says more exactly what a public base has.
            members = set(value.__annotations__) if hasattr(value, "__total__") else members
            bases = [base for base in value.__mro__[1:] if is_ours(base) and known(base)]
            members -= {member for base in bases for member in vars(base)}
            names |= {f"{name}.{member}" for member in members if not member.startswith("_")}
    typed = python_typed(module)
    if untyped := {name for name in names if name not in typed and name.split(".")[0] in typed} | (
        {name for name in names if "." not in name} - typed
    ):
        differ(f"{module}: not in the type information: {sorted(untyped)}")
    return names


def is_ours(owner: type) -> bool:
    return owner.__module__.split(".")[0] == "zkrecipes"


def python_typed(module: str) -> set[str]:
    """The names in a module's stub, or in its source where that is annotated itself, imports and bases followed."""
    taken = {module: typed_alone(module)}
    todo = [module]
    while todo:
        for origin in typed_alone(todo.pop()).taken_from():
            if origin not in taken:
                taken[origin] = typed_alone(origin)
                todo.append(origin)
    names = {origin: set(typed.names) for origin, typed in taken.items()}
    more = True
    while more:
        more = False
        for origin, typed in taken.items():
            for given, (other, original) in typed.renamed:
                prefix = f"{original}."
                new = {f"{given}.{name.removeprefix(prefix)}" for name in names[other] if name.startswith(prefix)}
                more |= not new <= names[origin]
                names[origin] |= new
    return names[module]


@dataclass(frozen=True)
class Typed:
    """What a module says itself."""

    names: set[str]
    # A name that has the members of a name of a module: what it is imported from, or a base of it.
    renamed: list[tuple[str, tuple[str, str]]]

    def taken_from(self) -> set[str]:
        return {module for _, (module, _) in self.renamed}


@cache
def typed_alone(module: str) -> Typed:
    typed = Typed(set(), [])
    base = ROOT / "python" / Path(*module.split("."))
    candidates = [base / "__init__.pyi", base.with_suffix(".pyi"), base / "__init__.py", base.with_suffix(".py")]
    source = next((path for path in candidates if path.is_file()), None)
    if source is None:
        return typed
    package = module if source.stem == "__init__" else module.rpartition(".")[0]
    for statement in ast.walk(ast.parse(source.read_text())):
        if isinstance(statement, ast.ImportFrom) and (origin := ours(statement, package)):
            for alias in statement.names:
                given = alias.asname or alias.name
                typed.names.add(given)
                typed.renamed.append((given, (origin, alias.name)))
        elif isinstance(statement, ast.ClassDef):
            typed.names.add(statement.name)
            typed.names.update(f"{statement.name}.{name}" for member in statement.body for name in declared(member))
            for parent in statement.bases:
                holder, _, bare = ast.unparse(parent).split("[")[0].rpartition(".")
                typed.renamed.append((statement.name, (f"{package}.{holder}" if holder else module, bare)))
        else:
            typed.names.update(declared(statement))
    return typed


def ours(statement: ast.ImportFrom, package: str) -> str | None:
    """The module of the package that an import names, or None when it is somebody else's."""
    if statement.level:
        parents = package.split(".")
        return ".".join(filter(None, [*parents[: len(parents) - statement.level + 1], statement.module]))
    return statement.module if (statement.module or "").startswith("zkrecipes") else None


def declared(statement: ast.AST) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        yield statement.name
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id
    elif isinstance(statement, ast.Assign):
        yield from (target.id for target in statement.targets if isinstance(target, ast.Name))
    elif isinstance(statement, ast.If):
        for inner in statement.body:
            yield from declared(inner)


def python() -> set[str]:
    return python_module("zkrecipes") | {f"testing.{name}" for name in python_module("zkrecipes.testing")}


def aio() -> set[str]:
    return python_module("zkrecipes.aio")


# --- Node: what ESM and CommonJS export, and what the declarations say

PROBE = """
const isOurs = (type) => /^class\\b/.test(Function.prototype.toString.call(type))
const describe = (exported) => Object.fromEntries(Object.entries(exported).map(([name, value]) => {
  const names = (object) => Reflect.ownKeys(object).map((key) => typeof key === 'symbol' ? `[${key.description}]` : key)
  const isClass = typeof value === 'function' && isOurs(value)
  if (!isClass && !(typeof value === 'function' && value.prototype)) return [name, null]
  const statics = names(value).filter((key) => !['length', 'name', 'prototype'].includes(key))
  const members = []
  // What a public base brings is listed there.
  const isOwn = (type) => type === value || (isOurs(type) && !Object.values(exported).includes(type))
  let base = value
  for (; isOwn(base); base = Object.getPrototypeOf(base)) members.push(...names(base.prototype))
  // Nor is what only says more exactly what a public base has.
  const inherited = ['constructor', ...(base.prototype ? names(base.prototype) : [])]
  return [name, { statics, members: members.filter((key) => !inherited.includes(key)) }]
}))
const path = process.argv[1]
const out = (esm) => console.log(JSON.stringify({ esm: describe(esm), cjs: describe(require(path + '.cjs')) }))
import(path + '.js').then(({ default: _, ...rest }) => out(rest))
"""


def node_module(stem: str) -> set[str]:
    probe = json.loads(run("node", "-e", PROBE, str(ROOT / "node/lib" / stem)))
    if set(probe["esm"]) != set(probe["cjs"]):
        differ(f"node/{stem}: import gives {sorted(probe['esm'])}, require gives {sorted(probe['cjs'])}")
    declarations = strip_comments((ROOT / f"node/lib/{stem}.d.ts").read_text())
    # Those of the index are spread over a file for each part of it.
    spread = [file for file in sorted((ROOT / "node/lib").glob("*.d.cts")) if file.name != "testing.d.cts"]
    for shared in spread if stem == "index" else [ROOT / f"node/lib/{stem}.d.cts"]:
        declarations += strip_comments(shared.read_text())
    names: set[str] = set()
    for name, parts in probe["cjs"].items():
        names.add(name)
        names |= {f"{name}.{member}" for kind in ("statics", "members") for member in (parts or {}).get(kind, [])}
    names = {name for name in names if not re.search(r"\._|\.name$|\[nodejs|\[Symbol.toStringTag", name)}
    undeclared = []
    for name in names:
        last = name.split(".", maxsplit=1)[-1].strip("[]")
        if not re.search(rf"(?<!\w){re.escape(last)}(?!\w)", declarations):
            undeclared.append(name)
    if undeclared:
        differ(f"node/{stem}: not in the declarations: {sorted(undeclared)}")
    # What is only there for the type checker, and the fields of errors.
    names |= set(re.findall(r"^export type (\w+)", declarations, flags=re.M))
    kinds = r"^export (?:interface|class) (\w+)(?: extends [\w, ]+)? \{\n(.*?)^\}"
    for name, body in re.findall(kinds, declarations, flags=re.S | re.M):
        names.add(name)
        names |= {f"{name}.{member}" for member in re.findall(r"^  (?:readonly )?(\w+)\??:", body, flags=re.M)}
    return names


def node() -> set[str]:
    return node_module("index") | {f"testing.{name}" for name in node_module("testing")}


LANGUAGES: dict[str, Callable[[], set[str]]] = {
    "rust": rust,
    "blocking": blocking,
    "c": c,
    "c++": cpp,
    "python": python,
    "aio": aio,
    "node": node,
}
