"""Writes the manual pages of the C interface, section 3, from the comments of its headers.

man.py FOLDER      into FOLDER, one page for each part of a header, and a link to it for each function
man.py --check     nothing, but fails if something of a header would be on no page, or speaks of what there is not

The headers are all it reads, so a package can be made of them without building anything.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OVERVIEW = {"zkrecipes.h": "zkrecipes", "zkrecipes_testing.h": "zkrecipes_testing"}
TITLES = {
    "zkrecipes": "distributed-coordination recipes on Apache ZooKeeper",
    "zkrecipes_testing": "the testing kit of zkrecipes: ZooKeeper servers inside the process that can misbehave",
}
# A page is called like the type whose functions it has, so that nobody has to know a second name. But for these, whose
# functions begin with the name of another type, or of none.
PAGES = {"Metrics": "zkr_metrics", "Logs": "zkr_log", "Sequencers": "zkr_sequencer", "Nodes": "zkr_nodes"}
NAME = r"(?:zkr|ZKR)_\w+"


@dataclass
class Declaration:
    """A function, a type or a macro, with its comment."""

    name: str
    kind: str
    text: str
    doc: str

    @cached_property
    def mentions(self) -> set[str]:
        return set(re.findall(rf"\b{NAME}", self.text)) - {self.name}


@dataclass
class Page:
    name: str
    heading: str
    header: str
    about: str = ""
    declarations: list[Declaration] = field(default_factory=list)

    def of(self, kind: str) -> list[Declaration]:
        return [one for one in self.declarations if one.kind == kind]


def uncommented(comment: str) -> str:
    """The words of a comment, without its stars."""
    inside = re.sub(r"^/\*+ ?|\s*\*/$", "", comment.strip())
    return "\n".join(re.sub(r"^ \* ?|^ \*$", "", line) for line in inside.splitlines()).strip("\n")


def declarations(text: str) -> Iterator[Declaration]:
    """What follows comments, in order; a comment may be missing before a macro or an opaque type of the same kind."""
    token = re.compile(
        r"(?P<doc>/\*\*(?:[^*]|\*(?!/))*\*/)"
        r"|(?P<macro>^\#define (?P<m>ZKR_\w+)(?:[^\n]*\\\n)*[^\n]*)"
        r"|(?P<type>^typedef (?:struct|enum) (?P<t>\w+) \{.*?^\} \w+;)"
        r"|(?P<opaque>^typedef struct (?P<o>\w+) \w+;)"
        r"|(?P<callback>^typedef [^;{]*?\(\*(?P<c>\w+)\)[^;]*;)"
        r"|(?P<function>^[a-z][\w ]*?[\s*]+(?P<f>zkr_\w+)\([^;]*;)",
        re.MULTILINE | re.DOTALL,
    )
    doc = ""
    for found in token.finditer(text):
        if found["doc"]:
            doc = uncommented(found["doc"])
            continue
        kind = next(kind for kind in ("macro", "type", "opaque", "callback", "function") if found[kind])
        name = found[kind[0]]
        if name not in ("ZKRECIPES_H", "ZKRECIPES_TESTING_H"):
            yield Declaration(name, kind, found[kind], doc)
        doc = ""


def page_name(heading: str, functions: list[str], types: list[str]) -> str:
    """The type that most functions of a part begin with."""
    owners = [max((one for one in types if name.startswith(f"{one}_")), key=len, default="") for name in functions]
    found = PAGES.get(heading) or max(filter(None, owners), key=owners.count, default="")
    if not found:
        raise SystemExit(
            f"man: no function of the part {heading!r} begins with the name of a type; name its page in PAGES"
        )
    return found


def pages() -> list[Page]:
    found: list[Page] = []
    for header, name in OVERVIEW.items():
        text = (ROOT / "include" / header).read_text()
        before, *parts = re.split(r"^/\* ([^\n]*?) -{10,} \*/$", text, flags=re.MULTILINE)
        about = uncommented(before[: before.index("*/") + 2])
        types = re.findall(r"^typedef (?:struct|enum) (\w+) (?:\w+;|\{)", text, flags=re.MULTILINE)
        # Without the licence and the title.
        overview = Page(name, TITLES[name], header, about.split("\n\n", 2)[2])
        of_header = [overview]
        for heading, body in zip(parts[::2], parts[1::2], strict=True):
            declared = list(declarations(body))
            name = page_name(heading, [one.name for one in declared if one.kind == "function"], types)
            of_header.append(Page(name, heading, header, "", declared))
        shared(list(declarations(before)), of_header)
        found += of_header
    return found


def shared(rest: list[Declaration], of_header: list[Page]) -> None:
    """Puts each type to those who use it: the page whose name its own begins with, else the first that uses it."""
    overview, *others = of_header
    for one in rest:
        name = one.name.lower()
        fitting = [page for page in others if name == page.name or name.startswith(f"{page.name}_")]
        using = [page for page in others if any(one.name in used.mentions for used in page.of("function"))]
        if fitting:
            max(fitting, key=lambda page: len(page.name)).declarations.append(one)
        elif using:
            using[0].declarations.append(one)
        else:
            overview.declarations.append(one)
    # What only another type uses belongs to that one.
    for one in list(overview.declarations):
        users = (page for page in others if any(one.name in used.mentions for used in page.declarations))
        if page := next(users, None):
            overview.declarations.remove(one)
            page.declarations.append(one)


def escaped(text: str) -> str:
    text = (
        text.replace("\\", "\\e")
        .replace("-", "\\-")
        .replace("'", "\\(aq")
        .replace("`", "\\(ga")
        .replace("^", "\\(ha")
        .replace("~", "\\(ti")
    )
    return re.sub(r"^\.", r"\\&.", text, flags=re.MULTILINE).replace("…", "...").replace("–", "\\(en")


def verbatim(text: str) -> str:
    return f".nf\n{escaped(text)}\n.fi"


def prose(doc: str) -> str:
    """Paragraphs; lines further in are code, and those that begin with a dash are points."""
    out = []
    for paragraph in re.split(r"\n\s*\n", doc):
        lines = paragraph.splitlines()
        if all(line.startswith("  ") or (line.endswith(":") and " " not in line) for line in lines):
            out.append(f".PP\n.RS 4\n{verbatim(paragraph)}\n.RE")
        elif lines[0].startswith(("- ", "* ")):
            points = re.split(r"^[-*] ", paragraph, flags=re.MULTILINE)[1:]
            out += [f".IP \\(bu 2\n{escaped(' '.join(point.split()))}" for point in points]
        else:
            out.append(f".PP\n{escaped(' '.join(paragraph.split()))}")
    return "\n".join(out)


def rendered(page: Page, everything: list[Page], version: str) -> str:
    heading = page.heading[0].lower() + page.heading[1:]
    out = [
        # A page says what it is made of, so that nobody edits it.
        f'.\\" Made of include/{page.header}; do not edit.',
        f'.TH {page.name} 3 "" "zkrecipes {version}" "zkrecipes"',
        ".SH NAME",
        f"{page.name} \\- {escaped(heading)}",
        ".SH SYNOPSIS",
        verbatim(f"#include <{page.header}>"),
    ]
    for one in [*page.of("opaque"), *page.of("function")]:
        out.append(f".PP\n{verbatim(one.text)}")
    library = Path(page.header).stem
    out += [".PP", escaped(f"Compile with $(pkg-config --cflags --libs {library}).")]
    if page.about or page.of("opaque"):
        out.append(".SH DESCRIPTION")
    if page.about:
        out.append(prose(page.about))
    out += [prose(one.doc) for one in page.of("opaque") if one.doc]
    if page.of("function"):
        out.append(".SH FUNCTIONS")
        for one in page.of("function"):
            out += [f".SS {one.name}", prose(one.doc)]
    rest = [one for one in page.declarations if one.kind in ("type", "callback", "macro")]
    if rest:
        out.append(".SH TYPES AND CONSTANTS")
        for one in rest:
            out += [f".SS {one.name}", *([prose(one.doc)] if one.doc else []), f".PP\n{verbatim(one.text)}"]
    mentioned = set(re.findall(rf"\b{NAME}", "\n".join(one.text + one.doc for one in page.declarations)))
    home = {one.name: other.name for other in everything for one in other.declarations}
    others = {home[name] for name in mentioned if name in home} - {page.name}
    if page.about:
        others = {other.name for other in everything if other.header == page.header} - {page.name}
    others |= {OVERVIEW[page.header]} - {page.name}
    out.append(".SH SEE ALSO")
    out.append(escaped(", ".join(f"{name}(3)" for name in sorted(others - {page.name}))))
    return "\n".join(out) + "\n"


def problems(everything: list[Page]) -> Iterator[str]:
    home = [one.name for page in everything for one in page.declarations]
    for header in OVERVIEW:
        text = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / header).read_text(), flags=re.DOTALL)
        for name in sorted(set(re.findall(r"\b(zkr_\w+)\(", text))):
            if name not in home:
                yield f"{header}: {name} is on no page"
        for name in sorted(
            set(re.findall(r"^(?:typedef struct (\w+) |\} (\w+);|typedef .*\(\*(\w+)\))", text, re.MULTILINE))
        ):
            if "".join(name) not in home and (name[0] or name[1] or name[2]) not in home:
                yield f"{header}: {next(filter(None, name))} is on no page"
    for page in everything:
        if page.name not in OVERVIEW.values() and not page.of("function"):
            yield f"{page.name}: there is no function on it"
        for one in page.of("function"):
            if not one.doc:
                yield f"{page.name}: {one.name} has no comment"
    constants = set(re.findall(r"\bZKR_\w+", "\n".join(one.text for page in everything for one in page.declarations)))
    known = {*home, *constants}
    for page in everything:
        for one in page.declarations:
            for name in sorted(set(re.findall(rf"\b{NAME}", one.doc))):
                if name not in known and not any(each.startswith(name) for each in known):
                    yield f"{page.name}: {one.name} speaks of {name}, which there is not"


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("usage: man.py FOLDER | --check")
    everything = pages()
    found = list(problems(everything))
    if found:
        raise SystemExit("\n".join(found))
    if sys.argv[1] == "--check":
        return
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert version is not None
    for page in everything:
        (folder / f"{page.name}.3").write_text(rendered(page, everything, version[1]))
        for one in (one for one in page.of("function") if one.name != page.name):
            link = folder / f"{one.name}.3"
            link.unlink(missing_ok=True)
            link.symlink_to(f"{page.name}.3")
    print(f"{len(everything)} pages, {sum(len(page.of('function')) for page in everything)} functions")


if __name__ == "__main__":
    main()
