"""Files that are written by hand but for what stands between two marks."""

from __future__ import annotations

import re
from pathlib import Path

from description import ROOT, piped, with_parts

# Where such files are, but for the headers of C++, which are made by cpp.py and coro.py.
FOLDERS = ("core/src", "ffi/src", "bindings", "python/zkrecipes", "node/lib", "cli/src")
RUFF = ("ruff", "format", "--quiet", "--no-cache", "--stdin-filename", "{path}", "-")
FORMATTERS = {".rs": ("rustfmt", "--edition", "2024", "--config-path", "."), ".py": RUFF, ".pyi": RUFF}
MARK = re.compile(r"^ *(//|#|<!--) --- generated from api: (.*?)(?: -->)?$", re.MULTILINE)


def filled(parts: dict[str, str]) -> dict[Path, str]:
    """The files with their parts anew."""
    found: dict[Path, str] = {}
    sources = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.*")))
    pages = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "tests/drivers/README.md"]
    for path in (*pages, *(path for path in sources if path.suffix in (".rs", ".py", ".pyi", ".cts", ".cjs"))):
        text = path.read_text()
        marks = MARK.findall(text)
        if unknown := [name for _, name in marks if name not in parts]:
            raise SystemExit(f"{path.relative_to(ROOT)}: api/ has nothing for {', '.join(unknown)}")
        for comment, name in marks:
            text = with_parts(path, text, {name: parts[name]}, comment)
        if marks:
            formatter = FORMATTERS.get(path.suffix, ())
            found[path] = piped(text, *(one.format(path=path) for one in formatter)) if formatter else text
    return found
