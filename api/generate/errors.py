"""The kinds of errors in every language, between the marks of the files that say more about errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import tomllib
from description import API
from kinds import snake


@dataclass
class Kind:
    name: str
    code: int
    again: bool
    # What happened, and the same for readers of C and C++.
    told: str
    to_do: str
    c: str
    cpp: str
    # The class in Python, what it is besides, and what it has besides.
    python: str
    also: str
    has: str
    # How the command ends; empty where that is a bug.
    exit: str

    @property
    def word(self) -> str:
        return snake(self.name).upper()


KEYS = {"code", "again", "is", "do", "c", "cpp", "python", "also", "has", "exit"}


def kinds() -> list[Kind]:
    found = []
    for name, given in tomllib.loads((API / "errors.toml").read_text()).items():
        if unknown := given.keys() - KEYS:
            raise SystemExit(f"api/errors.toml: {name}: {', '.join(sorted(unknown))} is no key of a kind")
        found.append(
            Kind(
                name,
                given["code"],
                given["again"],
                given["is"],
                given["do"],
                given.get("c", given["is"]),
                given.get("cpp", given["is"]),
                given.get("python", name),
                given.get("also", ""),
                given.get("has", ""),
                given.get("exit", ""),
            )
        )
    if [kind.code for kind in found] != list(range(1, len(found) + 1)):
        raise SystemExit("api/errors.toml: the codes are not 1, 2, 3 and so on")
    return found


def flag(value: bool) -> str:
    return "true" if value else "false"


def by(what: str, listed: list[Kind]) -> list[tuple[str, str]]:
    """What kinds have in common, and a pattern of Rust for those, in the order in which it comes first."""
    common = dict.fromkeys(getattr(kind, what) for kind in listed if getattr(kind, what))
    return [
        (one, " | ".join(f"ErrorKind::{kind.name}" for kind in listed if getattr(kind, what) == one)) for one in common
    ]


def core(listed: list[Kind]) -> str:
    rows = (
        f'    {kind.name}, {kind.code}, "{kind.word}", "{kind.python}", {flag(kind.again)}, "{kind.told}";\n'
        for kind in listed
    )
    return "".join(rows)


def status_values(listed: list[Kind]) -> str:
    docs = ("".join(f"/// {line}\n" for line in kind.c.splitlines()) for kind in listed)
    return "".join(f"{doc}ZKR_{kind.word} = {kind.code},\n" for doc, kind in zip(docs, listed, strict=True))


def statuses(listed: list[Kind]) -> str:
    # What the core has and this library does not know, as when only one of them was built anew, is the last one.
    return "".join(f"ErrorKind::{kind.name} => ZKR_{kind.word},\n" for kind in listed[:-1])


def status_names(listed: list[Kind]) -> str:
    return "".join(f'{kind.code} => c"{kind.word}",\n' for kind in listed)


def cpp_kinds(listed: list[Kind]) -> str:
    constants = "".join(f"inline constexpr ErrorKind ErrorKind::{one.name}{{ZKR_{one.word}}};\n" for one in listed)
    return (
        "/** What Error::code() can be. The names are those of every other language. */\n"
        "struct ErrorKind : detail::Reported<zkr_status> {\nusing Reported::Reported;\n"
        f"static const ErrorKind {', '.join(kind.name for kind in listed)};\n}};\n{constants}"
    )


def cpp_classes(listed: list[Kind]) -> str:
    return "\n".join(
        f"/** {kind.cpp} */\nclass {kind.name} : public detail::ErrorOf<ZKR_{kind.word}> {{\n"
        "using ErrorOf::ErrorOf;\n};\n"
        for kind in listed
    )


def cpp_cases(listed: list[Kind]) -> str:
    return "".join(f"case ZKR_{kind.word}:\nreturn take({kind.name}(said));\n" for kind in listed)


def python_classes(listed: list[Kind]) -> str:
    made = []
    for kind in listed:
        bases = ", ".join(filter(None, ["Error", kind.also]))
        more = f"\n    {kind.has}\n" if kind.has else ""
        made.append(f'class {kind.python}({bases}):\n    """{kind.told}"""\n{more}')
    return "\n".join([*made, ""])


def python_bases(listed: list[Kind]) -> str:
    return "".join(f"{kinds} => Some(py.get_type::<builtin::Py{base}>()),\n" for base, kinds in by("also", listed))


def node_codes(listed: list[Kind]) -> str:
    return "".join(f"  | '{kind.word}'\n" for kind in listed)


def exits(listed: list[Kind]) -> str:
    return "".join(f"{kinds} => {status},\n" for status, kinds in by("exit", listed))


def table(listed: list[Kind]) -> str:
    lines = ["| Rust, C++ | C | Python | Node | again? | what happened |", "|---|---|---|---|---|---|"]
    for kind in listed:
        python = f"`{kind.python}`" + (f", a `{kind.also}`" if kind.also else "")
        names = f"`{kind.name}` | `ZKR_{kind.word}` ({kind.code}) | {python} | `{kind.word}`"
        lines.append(f"| {names} | {'yes' if kind.again else 'no'} | {kind.told.removesuffix('.')} |")
    return "\n".join(["", *lines, "", ""])


def what_to_do(listed: list[Kind]) -> str:
    found: dict[str, list[str]] = {}
    for kind in listed:
        found.setdefault(" ".join(kind.to_do.split()), []).append(f"`{kind.name}`")
    lines = (f"| {', '.join(names)} | {to_do} |" for to_do, names in found.items())
    return "\n".join(["", "| kind | do |", "|---|---|", *lines, "", ""])


PARTS = {
    "table of errors": table,
    "what to do about errors": what_to_do,
    "kinds of errors": core,
    "statuses": status_values,
    "statuses of the core": statuses,
    "names of statuses": status_names,
    "built-in exceptions": python_bases,
    "exceptions": python_classes,
    "codes of errors": node_codes,
    "exit statuses": exits,
}
IN_CPP = {"kinds of errors": cpp_kinds, "exceptions": cpp_classes, "cases of errors": cpp_cases}


def parts(of: Mapping[str, Callable[[list[Kind]], str]]) -> dict[str, str]:
    listed = kinds()
    return {part: made(listed) for part, made in of.items()}
