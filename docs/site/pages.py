"""Which file becomes which page of the site, and how the links between them are found."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Outside docs/: those that a reader of the site has a use for.
OTHERS = {
    "cli/README.md": "command",
    "CHANGELOG.md": "changelog",
    "SECURITY.md": "security-policy",
    "CONTRIBUTING.md": "contributing",
    "api/README.md": "inside/api",
    "ffi/README.md": "inside/ffi",
    "tests/scenarios/README.md": "inside/scenarios",
    "tests/drivers/README.md": "inside/drivers",
    "tests/interop/README.md": "inside/interop",
}


def recipes() -> tuple[list[str], list[str]]:
    """The rows of the recipes in README.md, as a page of docs/ has them, and the pages that they lead to."""
    table = (ROOT / "README.md").read_text().split("\n## What it has\n")[1].split("\n## ")[0]
    rows = [line.replace("](docs/", "](") for line in table.splitlines() if line.startswith("| [")]
    return rows, [name for row in rows for name in re.findall(r"\]\(([\w-]+)\.md\)", row)]


# The order of the pages in the menu.
MENU = {
    "Begin": ["install", "start/python", "start/node", "start/rust", "start/c", "start/cpp", "start/shell", "concepts", "how-to", "long-running", "frameworks"],
    "Recipes": recipes()[1],
    "Look up": ["guide", "options", "errors", "observability", "command", "reference", "python-reference", "asyncio-reference", "testing-reference", "otel-reference", "rust-guest"],
    "In production": ["production", "fencing", "sizing", "security", "forks", "testing", "evidence"],
    "Beside others": ["interop", "from-kazoo", "from-curator", "comparison"],
    "The project": [
        "faq", "support", "changelog", "security-policy", "contributing", "inside/api", "inside/ffi", "inside/scenarios",
        "inside/drivers", "inside/interop",
    ],
}  # fmt: skip
# A line that is nothing but a link to an example: the page shows the file itself.
SHOWN = re.compile(r"\[`[^`]+`\]\(([^)\s]*examples/[^)\s#]+)\)\Z")
LANGUAGES = {".c": "c", ".cpp": "cpp", ".js": "js", ".mjs": "js", ".py": "python", ".rs": "rust", ".yaml": "yaml"}
FENCE = re.compile(r"^(```|~~~)")
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")


def pages() -> dict[str, str]:
    """By the path of its Markdown file in the tree, the name of each page."""
    found = {}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        if "site" in path.relative_to(ROOT / "docs").parts:
            continue
        name = path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        found[path.relative_to(ROOT).as_posix()] = "index" if name == "README" else name
    return {**found, **OTHERS}


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not code, with their numbers."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        begins = FENCE.match(line.strip())
        if begins and (not fence or begins[1] == fence):
            fence = "" if fence else begins[1]
        elif not fence:
            yield number, line


def links(text: str) -> Iterator[tuple[int, str]]:
    """Where each link of a page leads, with its line."""
    for number, line in prose(text):
        # Code in a line has no links.
        line = re.sub(r"`[^`]*`", lambda code: "`" * len(code[0]), line)
        for pattern, group in ((LINK, 2), (IMAGE, 1)):
            for found in pattern.finditer(line):
                yield number, found[group]


def slug(heading: str) -> str:
    """The anchor of a heading, as code hosts and MyST make it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text: str) -> set[str]:
    found: set[str] = set()
    for _, line in prose(text):
        if heading := re.match(r"#{1,6}\s+(.*?)\s*#*\Z", line):
            name, number = slug(heading[1]), 0
            while f"{name}-{number}" * bool(number) in found or (not number and name in found):
                number += 1
            found.add(f"{name}-{number}" if number else name)
    return found


def target(source: str, link: str) -> tuple[str, str]:
    """The file, as a path in the tree, and the anchor that a link in a file means."""
    path, _, anchor = link.partition("#")
    if not path:
        return source, anchor
    return os.path.normpath(os.path.join(os.path.dirname(source), path)), anchor


def shown(source: str, line: str) -> Iterator[tuple[str, str]]:
    """The file that a line of a page shows, if it does, as a path in the tree, and as a block of code."""
    if found := SHOWN.match(line):
        path, _ = target(source, found[1])
        language = LANGUAGES.get(os.path.splitext(path)[1])
        if language:
            yield path, f"```{language}\n{(ROOT / path).read_text().rstrip()}\n```"


def elsewhere(link: str) -> bool:
    return bool(re.match(r"[a-z][a-z+.-]*:", link))


def problems(source: str, text: str) -> Iterator[str]:
    """The links of a page that lead nowhere."""
    for number, link in links(text):
        if elsewhere(link):
            continue
        path, anchor = target(source, link)
        if not (ROOT / path).exists():
            yield f"{source}:{number}: {link}: there is no {path}"
        elif anchor and path.endswith(".md") and anchor not in anchors((ROOT / path).read_text()):
            yield f"{source}:{number}: {link}: no heading of {path} has this anchor"
