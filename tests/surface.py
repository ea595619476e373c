#!/usr/bin/env python3
"""Compares what each language really offers with tests/surface.txt, both ways.

A name that is listed but missing breaks users; one that is there but not listed became public by accident. Both fail.

    surface.py                  check everything that has been built
    surface.py --lang python    only one language
    surface.py --write          write the list anew, to be reviewed as a diff
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests/surface.txt"
PROFILE = os.environ.get("ZKR_PROFILE", "dev")
TARGET = ROOT / "target" / ("debug" if PROFILE == "dev" else PROFILE)


def run(*command: str, cwd: Path = ROOT) -> str:
    return subprocess.run(command, cwd=cwd, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout


# --- Rust: what rustdoc documents


def rust() -> set[str]:
    run("cargo", "doc", "--quiet", "--no-deps", "--package", "zkrecipes")
    names: set[str] = set()
    for crate in ["zkrecipes"]:
        home = ROOT / "target/doc" / crate
        for page in home.rglob("*.html"):
            kind, _, rest = page.stem.partition(".")
            if kind not in {"struct", "enum", "trait", "fn", "type", "constant", "macro"}:
                continue
            module = "".join(f"{part}::" for part in page.parent.relative_to(home).parts)
            names.add(f"{module}{rest}")
            text = page.read_text()
            # Only what the type itself brings, not what blanket and derived traits add.
            own = text.partition('id="trait-implementations"')[0].partition('id="deref-methods')[0]
            for member in re.findall(r'id="(?:method|tymethod|variant|structfield|associatedconstant)\.(\w+)"', own):
                names.add(f"{module}{rest}::{member}")
    return names


# --- C: the header and the dynamic symbols must name the same functions


def c() -> set[str]:
    header = strip_comments((ROOT / "include/zkrecipes.h").read_text())
    functions = set(re.findall(r"\b(zkr_\w+)\s*\((?!\*)", header))
    exported = set(re.findall(r" T (\w+)", run("nm", "-D", "--defined-only", str(TARGET / "libzkrecipes_c.so"))))
    if functions != exported:
        differ(f"in the header but not exported: {sorted(functions - exported)}")
        differ(f"exported but not in the header: {sorted(exported - functions)}")
    constants = set(re.findall(r"\b(ZKR_[A-Z0-9_]+)\b", header)) - {"ZKR_H", "ZKRECIPES_H"}
    types = set(re.findall(r"\}\s*(zkr_\w+)\s*;|typedef struct \w+ (zkr_\w+)\s*;", header))
    return functions | constants | {name for pair in types for name in pair if name}


def strip_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", "", text, flags=re.S))


# --- C++: the classes of the header, brace by brace


def cpp() -> set[str]:
    text = strip_comments((ROOT / "include/zkrecipes.hpp").read_text())
    names: set[str] = set()
    for match in re.finditer(r"\b(class|struct|enum class)\s+(\w+)(?:\s+final)?(?:\s*:[^;{]*)?\s*\{", text):
        kind, owner = match.group(1), match.group(2)
        scope = cpp_scope(text, match.start())
        if "detail" in scope:
            continue
        qualified = "::".join([*scope, owner])
        names.add(qualified)
        if kind == "enum class":
            continue
        for member in cpp_public_members(text, match.end(), default_public=kind == "struct"):
            if member != owner:
                names.add(f"{qualified}::{member}")
    return {name for name in names if name.startswith("zkr::") and private_cpp(name, text)}


def private_cpp(name: str, text: str) -> bool:
    """Whether nothing in the qualified name ends in an underscore, the header's mark for its own innards."""
    return not any(part.endswith("_") for part in name.split("::"))


def cpp_scope(text: str, at: int) -> list[str]:
    scope: list[str | None] = []
    for token in re.finditer(r"(?:namespace|class|struct)\s+([\w:]+)[^;{}()]*\{|[{}]", text[:at]):
        if token.group(0) == "}":
            if scope:
                scope.pop()
        else:
            scope.append(token.group(1))
    return [name for name in scope if name]


def cpp_public_members(text: str, at: int, default_public: bool) -> Iterator[str]:
    depth, public, statement = 1, default_public, ""
    while depth and at < len(text):
        char = text[at]
        if depth == 1 and (label := re.match(r"\s*(public|private|protected)\s*:", text[at:])):
            public = label.group(1) == "public"
            at += label.end()
            statement = ""
            continue
        if char == "{":
            if depth == 1 and public:
                yield from cpp_declared(statement)
            depth += 1
            statement = ""
        elif char == "}":
            depth -= 1
            statement = ""
        elif char == ";":
            if depth == 1 and public:
                yield from cpp_declared(statement)
            statement = ""
        elif depth == 1:
            statement += char
        at += 1


def cpp_declared(statement: str) -> Iterator[str]:
    if re.search(r"\b(friend|using|static_assert|class|struct|enum|operator)\b|= delete", statement):
        return
    if (function := re.search(r"(~?\w+)\s*\(", statement)) and not function.group(1).startswith("~"):
        yield function.group(1)
    elif field := re.search(r"(\w+)\s*(?:=[^=].*)?$", statement.strip()):
        if " " in statement.strip():
            yield field.group(1)


# --- Python: what can be imported, and what the stubs say


def python_module(module: str) -> set[str]:
    sys.path.insert(0, str(ROOT / "python"))
    loaded = importlib.import_module(module)
    names: set[str] = set()
    for name in getattr(loaded, "__all__", [name for name in dir(loaded) if not name.startswith("_")]):
        value = getattr(loaded, name)
        if inspect.ismodule(value):
            continue
        names.add(name)
        if inspect.isclass(value):
            members = {member for owner in value.__mro__ if is_ours(owner) for member in vars(owner)}
            names |= {f"{name}.{member}" for member in members if not member.startswith("_")}
    typed = python_typed(module)
    if untyped := {name for name in names if name not in typed and name.split(".")[0] in typed} | (
        {name for name in names if "." not in name} - typed
    ):
        differ(f"{module}: not in the type information: {sorted(untyped)}")
    return names


def is_ours(owner: type) -> bool:
    return owner.__module__.split(".")[0] == "zkrecipes"


def python_typed(module: str, seen: frozenset[str] = frozenset()) -> set[str]:
    """The names in a module's stub, or in its source where that is annotated itself, imports followed."""
    base = ROOT / "python" / Path(*module.split("."))
    candidates = [base / "__init__.pyi", base.with_suffix(".pyi"), base / "__init__.py", base.with_suffix(".py")]
    source = next((path for path in candidates if path.is_file()), None)
    if source is None or module in seen:
        return set()
    package = module if source.stem == "__init__" else module.rpartition(".")[0]
    names: set[str] = set()
    bases: dict[str, list[str]] = {}
    for statement in ast.walk(ast.parse(source.read_text())):
        if isinstance(statement, ast.ImportFrom) and (origin := ours(statement, package)):
            theirs = python_typed(origin, seen | {module})
            for alias in statement.names:
                given = alias.asname or alias.name
                names.add(given)
                prefix = f"{alias.name}."
                names |= {f"{given}.{name.removeprefix(prefix)}" for name in theirs if name.startswith(prefix)}
        elif isinstance(statement, ast.ClassDef):
            names.add(statement.name)
            bases[statement.name] = [ast.unparse(base).split("[")[0] for base in statement.bases]
            for member in statement.body:
                names |= {f"{statement.name}.{name}" for name in declared(member)}
        else:
            names |= set(declared(statement))
    for _ in range(4):  # inheritance, a few levels deep
        for name, parents in bases.items():
            for parent in parents:
                prefix = f"{parent.rpartition('.')[2]}."
                names |= {f"{name}.{n.removeprefix(prefix)}" for n in set(names) if n.startswith(prefix)}
    return names


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
const describe = (exported) => Object.fromEntries(Object.entries(exported).map(([name, value]) => {
  const names = (object) => Reflect.ownKeys(object).map((key) => typeof key === 'symbol' ? `[${key.description}]` : key)
  const isClass = typeof value === 'function' && /^class\\b/.test(Function.prototype.toString.call(value))
  if (!isClass && !(typeof value === 'function' && value.prototype)) return [name, null]
  const statics = names(value).filter((key) => !['length', 'name', 'prototype'].includes(key))
  const members = names(value.prototype).filter((key) => key !== 'constructor')
  return [name, { statics, members }]
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
    shared = ROOT / f"node/lib/{stem}.d.cts"
    if shared.exists():
        declarations += strip_comments(shared.read_text())
    names: set[str] = set()
    for name, parts in probe["cjs"].items():
        names.add(name)
        for member in (parts or {}).get("statics", []):
            names.add(f"{name}.{member}")
        for member in (parts or {}).get("members", []):
            names.add(f"{name}#{member}")
    names = {name for name in names if not re.search(r"[.#]_|\[nodejs|\[Symbol.toStringTag", name)}
    undeclared = []
    for name in names:
        last = re.split(r"[.#]", name, maxsplit=1)[-1].strip("[]")
        if not re.search(rf"(?<!\w){re.escape(last)}(?!\w)", declarations):
            undeclared.append(name)
    if undeclared:
        differ(f"node/{stem}: not in the declarations: {sorted(undeclared)}")
    return names


def node() -> set[str]:
    return node_module("index") | {f"testing.{name}" for name in node_module("testing")}


# --- comparing

LANGUAGES: dict[str, Callable[[], set[str]]] = {
    "rust": rust,
    "c": c,
    "cpp": cpp,
    "python": python,
    "aio": aio,
    "node": node,
}
differences: list[str] = []


def differ(sentence: str) -> None:
    differences.append(sentence)
    print(f"surface: {sentence}")


def listed() -> dict[str, set[str]]:
    names: dict[str, set[str]] = {language: set() for language in LANGUAGES}
    for line in LIST.read_text().splitlines() if LIST.exists() else []:
        if line and not line.startswith("#"):
            language, name = line.split(maxsplit=1)
            names[language].add(name.strip())
    return names


HEAD = """\
# Every public name, one line per language. `make surface` fails when one is missing and when one is there that is not
# listed here; `tests/surface.py --write` writes the list anew, and the diff is what a reviewer reads.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lang", action="append", choices=list(LANGUAGES))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    wanted = listed()
    for language in options.lang or LANGUAGES:
        found = LANGUAGES[language]()
        if options.write:
            wanted[language] = found
            continue
        for name in sorted(wanted[language] - found):
            differ(f"{language} lacks {name}")
        for name in sorted(found - wanted[language]):
            differ(f"{language} has {name}, which is not listed")
    if options.write:
        lines = [f"{language:<7} {name}" for language in LANGUAGES for name in sorted(wanted[language])]
        LIST.write_text(HEAD + "\n" + "\n".join(lines) + "\n")
    print(f"{sum(map(len, wanted.values()))} names, {len(differences)} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
