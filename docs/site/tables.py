#!/usr/bin/env python3
"""Writes the table of recipes in docs/README.md from that of README.md. Tables of options and errors are made by api/generate.

docs/site/tables.py --write      writes it
docs/site/tables.py              fails if it is out of date (tests/docs/test_docs.py does the same)
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from pages import recipes

PAGE = Path(__file__).resolve().parents[2] / "docs/README.md"
MARK = re.compile(r"(<!-- table: recipes -->\n).*?(<!-- end -->)", re.DOTALL)


def with_table(text: str) -> str:
    table = "\n".join(["", "| | what for |", "|---|---|", *recipes()[0], "", ""])
    return MARK.sub(lambda found: f"{found[1]}{table}{found[2]}", text)


def is_stale() -> bool:
    return with_table(PAGE.read_text()) != PAGE.read_text()


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(with_table(PAGE.read_text()))
    elif is_stale():
        sys.exit("docs/README.md is out of date; docs/site/tables.py --write")
