#!/usr/bin/env python3
"""Compares what each language really offers with the table in tests/surface.txt, whose head says how to read it.

Red are: a name that the table promises and a language lacks, a public name that is in no row, and a language that lacks
what others have without a declared reason.

    surface.py                  check everything that has been built
    surface.py --lang python    only one language
    surface.py --write          add rows for the names that are in none; each hole in them, `-?`, waits for a reason
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from surface_names import LANGUAGES, ROOT, contradictions

TABLE = ROOT / "tests/surface.txt"
COLUMNS = list(LANGUAGES)
# Where the cells of a row begin, unless one before was longer.
STOPS = [33, 45, 55, 85, 105, 117, 129]
Names = dict[str, set[str]]


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def braces(name: str) -> list[str]:
    """As a shell expands them."""
    found = re.fullmatch(r"(.*?)\{(.*?)\}(.*)", name)
    if not found:
        return [name]
    start, choices, rest = found.groups()
    return [one for choice in choices.split(",") for one in braces(f"{start}{choice}{rest}")]


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match.group(1).upper(), name)


def of_type(language: str, name: str) -> str:
    """How a language calls the type that the table calls `name`."""
    bare = name.rpartition(".")[2]
    prefix = {"c": f"zkr_{'test_' if '.' in name else ''}", "c++": f"zkr::{'testing::' if '.' in name else ''}"}
    return {"c": prefix["c"] + snake(bare), "c++": prefix["c++"] + bare}.get(language, name)


def of_member(language: str, owner: str, member: str) -> list[str]:
    """How a language may call a member of the type that it calls `owner`."""
    if language == "c":
        kind = owner.removeprefix("zkr_")
        constants = [f"ZKR_{kind.upper()}_{snake(member).upper()}", f"ZKR_{snake(member).upper()}"]
        return (
            constants
            if member[0].isupper()
            else [f"{owner}{end}" for end in (f"_{member}", f".{member}", f".{member}_ms")]
        )
    if language in {"rust", "blocking", "c++"}:
        return [f"{owner}::{member}"]
    if member[0].isupper():  # a choice of an enumeration
        return [f"{owner}.{snake(member).upper()}"] if owner else [member]
    return [f"{owner}.{camel(member) if language == 'node' else member}"]


@dataclass
class Table:
    """The rows as they are written, and what they come to."""

    problems: list[str] = field(default_factory=list)
    # For each language the promised names, with the alternatives that keep the promise, and the row.
    promised: dict[str, list[tuple[list[str], str]]] = field(default_factory=lambda: {name: [] for name in COLUMNS})
    reasons: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    owners: dict[str, dict[str, str]] = field(default_factory=dict)

    def read(self, text: str) -> Table:
        for line in text.splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            word, *rest = line.split()
            if word.startswith("-"):
                self.reasons[word] = " ".join(rest)
            elif word == "only":
                self.only(rest, line)
            else:
                self.row(word, rest)
        self.problems += [
            f"the reason {reason} is not declared at the head" for reason in self.used - set(self.reasons)
        ]
        self.problems += [f"the reason {reason} is given nowhere" for reason in set(self.reasons) - self.used]
        return self

    def only(self, words: list[str], line: str) -> None:
        languages, reason, names = words[0].split(","), words[1:2], words[2:]
        if not names or set(languages) - set(COLUMNS) or not reason[0].startswith("-"):
            self.problems.append(f"not understood: {line}")
            return
        self.used |= set(reason)
        for language in languages:
            prefix = "zkr::" if language == "c++" else ""
            for name in names:
                self.promised[language] += [([prefix + one], "only") for one in braces(name)]

    def row(self, capability: str, cells: list[str]) -> None:
        if len(cells) != len(COLUMNS):
            self.problems.append(f"{capability}: {len(cells)} cells where there are {len(COLUMNS)} languages")
            return
        owner, _, member = capability.rpartition(".")
        is_type = not member.islower() and not (owner and owner in self.owners)
        if is_type:
            self.owners[capability] = {}
        for language, cell in zip(COLUMNS, cells, strict=True):
            if cell.startswith("-"):
                self.used.add(cell)
                if is_type:
                    self.owners[capability][language] = cell
                continue
            base, *more = cell.split("+")
            if base.startswith("/"):
                self.owners[capability][language] = base[1:]
                continue
            names = self.named(language, capability, base, is_type)
            if names is None:
                continue
            if is_type:
                self.owners[capability][language] = names[0]
            self.promised[language].append((names, capability))
            for further in self.further(language, names, more, is_type):
                self.promised[language].append(([further], capability))

    def named(self, language: str, capability: str, base: str, is_type: bool) -> list[str] | None:
        """What a cell says without its `+`; none when that goes without saying."""
        if base != ".":
            return [("zkr::" if language == "c++" else "") + base]
        if is_type:
            return [of_type(language, capability)]
        owner, _, member = capability.rpartition(".")
        if not owner:
            return [of_type(language, member)]
        known = self.owners.get(owner, {}).get(language)
        if known is None:
            self.problems.append(f"{capability}: there is no row of {owner} ahead of it")
            return None
        # What has no type has none of its members, for the same reason.
        return None if known.startswith("-") else of_member(language, known, member)

    def further(self, language: str, names: list[str], more: list[str], is_type: bool) -> list[str]:
        ends = {"a": ["async"], "ac": ["async", "cancellable", "cancellable_async"]}
        words = [end for word in more for end in ends.get(word, [word])]
        if is_type:
            return [of_member(language, names[0], word)[0] for word in words]
        return [f"{names[0]}_{word}" for word in words]


def compare(table: Table, found: Names) -> tuple[list[str], Names]:
    """What is wrong, in sentences, and the names of each language that are in no row."""
    problems, undeclared = list(table.problems), {}
    for language, names in found.items():
        declared: set[str] = set()
        for alternatives, row in table.promised[language]:
            there = [name for name in alternatives if name in names]
            declared |= set(there[:1])
            if not there:
                problems.append(f"{row}: {language} lacks {' or '.join(alternatives)}")
        undeclared[language] = names - declared
        problems += [f"{language} has {name}, which is in no row" for name in sorted(undeclared[language])]
    return problems, undeclared


def proposals(undeclared: Names) -> list[str]:
    """Rows for names that are in none: those that are the same but for the habits of their language make one row."""
    rows: dict[str, dict[str, str]] = {}
    further: dict[str, str] = {}
    for language, names in undeclared.items():
        folded = forms(language, names)
        further |= folded
        for name in names - {f"{base}{end}" for base, word in folded.items() for end in ENDS[word]}:
            key = re.sub(r"^zkr(_test)?(_|::)|^blocking::|^testing(::|\.)|_async$|(_ms)$", "", name, flags=re.I)
            if language == "c" and key.endswith("_new"):
                key = f"client{key.removesuffix('_new')}"
            rows.setdefault(re.sub(r"[^a-z0-9]", "", key.lower()), {})[language] = name
    lines = []
    for cells in rows.values():
        first = next(iter(cells.values()))
        first = re.sub(r"^(zkr::|blocking::)", "", cells.get("rust") or cells.get("python") or first)
        capability = re.sub(r"::", ".", first)
        owner, _, member = capability.rpartition(".")
        usual = [proposed(language, cells.get(language), capability, owner, member) for language in COLUMNS]
        written = [
            cell + further.get(cells.get(language, ""), "") for language, cell in zip(COLUMNS, usual, strict=True)
        ]
        lines.append(aligned(capability, written))
    return sorted(lines)


ENDS = {
    "+ac": ["_async", "_cancellable", "_cancellable_async"],
    "+a": ["_async"],
    "+free": ["_free"],
    "+handle": ["::handle"],
}


def forms(language: str, names: set[str]) -> dict[str, str]:
    """What a cell says, behind the name, of further names of the same."""
    words = {"c": ["+ac", "+a", "+free"], "c++": ["+handle"]}.get(language, [])
    return {
        name: next(word for word in words if all(f"{name}{end}" in names for end in ENDS[word]))
        for name in names
        if any(all(f"{name}{end}" in names for end in ENDS[word]) for word in words)
        and not name.endswith("_cancellable")
    }


def proposed(language: str, name: str | None, capability: str, owner: str, member: str) -> str:
    if name is None:
        return "-?"
    usual = of_member(language, of_type(language, owner), member) if owner else [of_type(language, capability)]
    return "." if name in usual else name.removeprefix("zkr::")


def aligned(capability: str, cells: list[str]) -> str:
    line = capability
    for stop, cell in zip(STOPS, cells, strict=True):
        line = f"{line:<{stop - 1}} {cell}"
    return line


# For these no row stands, but a list of their own: the other languages await the verb itself.
COROUTINE = "zkr::coro::"
AWAITED = re.compile(r"^only c\+\+ -awaited coro::\{.*\}$", re.MULTILINE)


def with_coroutines(text: str, undeclared: Names) -> str:
    """The table with the coroutines of C++ that are in no row, in their list; they are not undeclared any more."""
    new = {name for name in undeclared.get("c++", ()) if re.fullmatch(f"{COROUTINE}[a-z_]+", name)}
    lines = AWAITED.findall(text)
    if not new or not lines:
        return text
    undeclared["c++"] -= new
    known = {name for line in lines for name in braces(line.split()[-1])}
    names = sorted(known | {name.removeprefix("zkr::") for name in new})
    listed = textwrap.wrap(" ".join(name.removeprefix("coro::") for name in names), 120)
    first = text.index(lines[0])
    written = "\n".join(f"only c++ -awaited coro::{{{some.replace(' ', ',')}}}" for some in listed)
    return text[:first] + written + text[first + len("\n".join(lines)) :]


# In front of this heading are the recipes.
BEHIND_RECIPES = "\n# everywhere or nowhere "


def with_rows(text: str, rows: list[str]) -> str:
    """The table with rows for new names. Those of whole new types, with their factories, go where the recipes are, that
    of a member behind the last of its type."""
    new = {row.split()[0] for row in rows}
    types = {name.lower() for name in new if "." not in name}

    def is_whole(row: str) -> bool:
        owner, _, member = row.split()[0].partition(".")
        return owner in new or (owner == "Client" and member.replace("_", "") in types)

    whole = [row for row in rows if is_whole(row)]
    others = [row for row in rows if row not in whole]
    if whole:
        before, heading, after = text.partition(BEHIND_RECIPES)
        text = "\n".join([before.rstrip("\n"), *whole, "", f"{heading[1:]}{after}"])
    for row in list(others):
        owner = row.split()[0].partition(".")[0]
        of_the_type = list(re.finditer(rf"^{re.escape(owner)}(?:\.\S+)? .*\n", text, re.MULTILINE))
        if of_the_type and "." in row.split()[0]:
            text = f"{text[: of_the_type[-1].end()]}{row}\n{text[of_the_type[-1].end() :]}"
            others.remove(row)
    if others:
        heading = "# Put these where they belong, and a reason instead of each -?"
        text = "\n".join([text.rstrip("\n"), "", heading, *others, ""])
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lang", action="append", choices=COLUMNS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = TABLE.read_text()
    table = Table().read(text)
    found = {}
    for language in options.lang or COLUMNS:
        try:
            found[language] = LANGUAGES[language]()
        except (ImportError, OSError, subprocess.CalledProcessError) as error:
            print(f"surface: {language} cannot be asked for its names: {error}; `make build` builds all languages")
            return 2
    problems, undeclared = compare(table, found)
    for sentence in (problems := problems + contradictions):
        print(f"surface: {sentence}")
    listed = with_coroutines(text, undeclared)
    if listed != text and options.write:
        TABLE.write_text(text := listed)
        print(f"surface: added the new coroutines of C++ to their list in {TABLE.name}")
    elif listed != text:
        print("surface: --write adds the new coroutines of C++ to their list")
    rows = proposals(undeclared)
    if rows and options.write:
        TABLE.write_text(with_rows(text, rows))
        print(f"surface: added {len(rows)} rows to {TABLE.name}; its head says how to finish them")
    elif rows:
        print(
            "surface: rows to add to tests/surface.txt (--write does), with a reason instead of each -?:",
            *rows,
            sep="\n",
        )
    print(f"{sum(map(len, found.values()))} names, {len(problems)} differences")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
