"""The code of the pages, as people copy it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))

WHOLE = {
    "python": re.compile(r"^(import|from) zkrecipes", re.MULTILINE),
    "js": re.compile(r"^import .* from 'zkrecipes'", re.MULTILINE),
    "rust": re.compile(r"^(async )?fn main\(\)", re.MULTILINE),
    "c": re.compile(r"^int main\(", re.MULTILINE),
    "cpp": re.compile(r"^int main\(", re.MULTILINE),
}


@dataclass(frozen=True)
class Snippet:
    """One block of code. A whole program imports what it needs; any other is a part of one."""

    page: str
    line: int
    heading: str
    language: str
    text: str

    @property
    def is_whole(self) -> bool:
        pattern = WHOLE.get(self.language)
        return pattern is not None and bool(pattern.search(self.text))

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def snippets() -> list[Snippet]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/start").glob("*.md"))]
    found = []
    for page in pages:
        heading, opened, language, lines = "", 0, "", list[str]()
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if line.startswith("```"):
                if opened:
                    text = "\n".join(lines) + "\n"
                    found.append(Snippet(page.relative_to(ROOT).as_posix(), opened, heading, language, text))
                    opened = 0
                else:
                    opened, language, lines = number, line[3:].strip(), []
            elif opened:
                lines.append(line)
            elif line.startswith("#"):
                heading = line.lstrip("# ")
    return found
