#!/usr/bin/env python3
"""What the native module says of its classes and functions, as docstrings in its stub: an editor shows those, since it
cannot look into the module.

    tests/stub_docs.py            complains where the stub says something else
    tests/stub_docs.py --write    writes them
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PYTHON = Path(__file__).resolve().parent.parent / "python"
STUB = PYTHON / "zkrecipes/_native.pyi"
MODULE = "zkrecipes._native"

Documented = ast.ClassDef | ast.FunctionDef


def said(thing: Any) -> str | None:
    """Its own docstring, without what Python says of every constructor."""
    text = getattr(thing, "__doc__", None)
    if not text or not isinstance(text, str):
        return None
    return inspect.cleandoc(text).rstrip()


def documented(tree: ast.Module) -> Iterator[tuple[Documented, str]]:
    """Each class and function of the stub with what the module says of it."""
    sys.path.insert(0, str(PYTHON))
    module = importlib.import_module(MODULE)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and (text := said(getattr(module, node.name, None))):
            yield node, text
        if not isinstance(node, ast.ClassDef) or not hasattr(module, node.name):
            continue
        kind = getattr(module, node.name)
        if "__doc__" in vars(kind) and (text := said(kind)):
            yield node, text
        for member in node.body:
            # What two underscores begin with is Python's, and has its own words everywhere.
            if not isinstance(member, ast.FunctionDef) or member.name.startswith("_"):
                continue
            if member.name in vars(kind) and (text := said(getattr(kind, member.name))):
                yield member, text


def literal(text: str, indent: str) -> str:
    lines = text.split("\n")
    body = "\n".join([lines[0], *(indent + line if line else "" for line in lines[1:])])
    quotes = '"""'
    end = "\n" + indent + quotes if len(lines) > 1 else quotes
    return f"{indent}{'r' if chr(92) in body else ''}{quotes}{body}{end}"


def bare(source: str) -> str:
    """The stub without docstrings: they are taken out first, so that one that is gone does not stay."""
    lines = source.splitlines(keepends=True)
    for node in sorted(ast.walk(ast.parse(source)), key=lambda node: -getattr(node, "lineno", 0)):
        if not isinstance(node, Documented) or ast.get_docstring(node) is None:
            continue
        text = node.body[0]
        assert text.end_lineno is not None
        rest = node.body[1:]
        lines[text.lineno - 1 : text.end_lineno] = [] if rest else [" " * text.col_offset + "...\n"]
    return "".join(lines)


def written(source: str) -> str:
    """The stub with its docstrings."""
    source = bare(source)
    lines = source.splitlines(keepends=True)
    found = sorted(documented(ast.parse(source)), key=lambda found: -found[0].lineno)
    for node, text in found:
        first = node.body[0]
        indent = " " * (node.col_offset + 4)
        is_empty = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and first.value.value is ...
        if not is_empty:
            at = first.lineno - 1
            decorators = getattr(first, "decorator_list", [])
            at = min([at, *(decorator.lineno - 1 for decorator in decorators)])
            # What is said of the first member stays with it.
            while lines[at - 1].lstrip().startswith("#"):
                at -= 1
            lines.insert(at, literal(text, indent) + "\n\n")
            continue
        line = lines[first.lineno - 1]
        head = line[: first.col_offset].rstrip()
        tail = line[first.end_col_offset :].strip()
        head = f"{head}  {tail}" if tail else head
        above = [head + "\n"] if head else []
        lines[first.lineno - 1 : first.lineno] = [*above, literal(text, indent) + "\n"]
    return "".join(lines)


def settled(source: str) -> str:
    """As ruff leaves it, which knows nothing of what is said."""
    return ast.dump(ast.parse(source))


def main() -> int:
    source = STUB.read_text()
    wanted = written(source)
    if settled(source) == settled(wanted):
        return 0
    if "--write" in sys.argv[1:]:
        STUB.write_text(wanted)
        return 0
    print(f"{STUB} does not say what the module says: tests/stub_docs.py --write, then make fmt", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
