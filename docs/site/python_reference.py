"""The reference of the Python package, as pages of the site: signatures of the stubs, documentation of what runs."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from types import ModuleType
from typing import Any, Generic

from pages import ROOT

PAGES = {
    "python-reference": ("zkrecipes", "Python: `zkrecipes`"),
    "asyncio-reference": ("zkrecipes.aio", "asyncio: `zkrecipes.aio`"),
    "testing-reference": ("zkrecipes.testing", "Python: `zkrecipes.testing`"),
    "otel-reference": ("zkrecipes.otel", "Python: `zkrecipes.otel`"),
}
# What classes have of their builtin bases.
OF_BUILTINS = {name for one in (str, tuple, dict, BaseException, OSError) for name in dir(one)}


def stubs() -> dict[str, dict[str, str]]:
    """By class, and "" for functions, how each name is written."""
    found: dict[str, dict[str, str]] = {"": {}}
    for node in ast.parse((ROOT / "python/zkrecipes/_native.pyi").read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found[""][node.name] = written(node)
        elif isinstance(node, ast.ClassDef):
            members = [item for item in node.body if isinstance(item, ast.FunctionDef)]
            # Of several forms the last one is the most general.
            found[node.name] = {item.name: written(item) for item in members}
    return found


def fields() -> dict[str, list[tuple[str, str, str]]]:
    """By class, the name, the type and the sentence of each field of the small values."""
    found = {}
    for node in ast.parse((ROOT / "python/zkrecipes/_values.py").read_text()).body:
        if not isinstance(node, ast.ClassDef):
            continue
        told = []
        for item, after in zip(node.body, [*node.body[1:], None], strict=True):
            said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                told.append((item.target.id, ast.unparse(item.annotation), str(said)))
            elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
                told.append((item.targets[0].id, ast.unparse(item.value), str(said)))
        found[node.name] = told
    return found


def written(node: ast.FunctionDef) -> str:
    decorators = {ast.unparse(one) for one in node.decorator_list}
    if node.args.args and node.args.args[0].arg in ("self", "cls"):
        node.args.args = node.args.args[1:]
    answer = ast.unparse(node.returns) if node.returns else "None"
    if "property" in decorators:
        return f"{node.name}: {answer}"
    # What both faces share has the name of what users have.
    return re.sub(r"\b(\w+)Base\b", r"\1", f"{node.name}({ast.unparse(node.args)}) -> {answer}")


def markdown(doc: str | None) -> str:
    """A docstring, with its examples as code."""
    parts, code = [], False
    for line in (doc or "").splitlines():
        begins = line.startswith(">>> ")
        if begins and not code:
            parts.append("```pycon")
            code = True
        elif code and not line.strip():
            parts.append("```")
            code = False
        parts.append(line)
    return "\n".join([*parts, *["```"] * code])


def signature(owner: type | None, name: str, value: Any, known: dict[str, dict[str, str]]) -> str:
    for one in owner.__mro__ if owner else ():
        if (
            name in vars(one)
            and name in known.get(one.__name__, {})
            and one.__module__.startswith("zkrecipes")
            and "aio" not in one.__module__
        ):
            return known[one.__name__][name]
    if isinstance(value, property) or inspect.isdatadescriptor(value) or not callable(value):
        return name
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return f"{name}(…)"
    text = re.sub(r"\((self|cls)(, )?/?(, )?", "(", text)
    return name + re.sub(r"\bzkrecipes\.(_\w+|aio)\.", "", text).replace("'", "")


def class_page(name: str, one: type, known: dict[str, dict[str, str]]) -> str:
    public = {name for module, _ in PAGES.values() for name in getattr(sys.modules.get(module), "__all__", ())}
    bases = [
        base.__name__
        for base in one.__bases__
        if base not in (object, Generic)
        and base.__module__ != "zkrecipes._native"
        and (base.__name__ in public or not base.__module__.startswith("zkrecipes"))
    ]
    begin = known.get(one.__name__, {}).get("__init__") or known.get(f"{one.__name__}Base", {}).get("__init__") or ""
    arguments = re.sub(r"__init__\((.*)\) -> None", r"(\1)", begin) if begin and "aio" not in one.__module__ else ""
    lines = [
        f"## {name}",
        "",
        "```python",
        f"class {name}{arguments}{'  # a ' + ', a '.join(bases) if bases else ''}",
        "```",
        "",
        markdown(inspect.getdoc(one)),
        "",
    ]
    of_value = fields().get(name, [])
    for field, kind, said in of_value:
        lines.append(f"- `{field}: {kind}`{': ' * bool(said)}{' '.join(said.split())}")
    lines += [""] * bool(of_value)
    for member in sorted(set(dir(one)) - {field for field, _, _ in of_value}):
        value = inspect.getattr_static(one, member)
        own = any(member in vars(base) for base in one.__mro__ if base.__module__.startswith("zkrecipes"))
        if member.startswith("_") or (member in OF_BUILTINS and not own):
            continue
        shown = signature(one, member, getattr(one, member), known)
        lines += [f"### {name}.{member}", "", "```python", shown, "```", ""]
        text = inspect.getdoc(value) or inspect.getdoc(getattr(one, member)) or ""
        if not isinstance(value, (str, bool, int)) and not text.startswith(("Alias for field", "str(object=", "bool(")):
            lines += [markdown(text), ""]
    return "\n".join(lines)


def module_page(module: ModuleType, title: str, known: dict[str, dict[str, str]]) -> str:
    names = getattr(module, "__all__", [name for name in vars(module) if name == "observe"])
    lines = [f"# {title}", "", markdown(inspect.getdoc(module)), ""]
    things = {name: getattr(module, name) for name in sorted(names, key=str.lower)}
    errors = {name for name, one in things.items() if isinstance(one, type) and issubclass(one, BaseException)}
    for name, one in things.items():
        if name in errors:
            continue
        if isinstance(one, type):
            lines.append(class_page(name, one, known))
        elif callable(one):
            lines += [
                f"## {name}",
                "",
                "```python",
                signature(None, name, one, known),
                "```",
                "",
                markdown(inspect.getdoc(one)),
                "",
            ]
    if errors:
        lines += ["## Errors", "", "The table is in [errors](errors.md).", ""]
        lines += [f"- `{name}`: {' '.join((inspect.getdoc(things[name]) or '').split())}" for name in sorted(errors)]
    return "\n".join(lines) + "\n"


def all_pages() -> dict[str, str]:
    known = stubs()
    return {page: module_page(importlib.import_module(module), title, known) for page, (module, title) in PAGES.items()}
