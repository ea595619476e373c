"""CONTRIBUTING.md sends nobody to a file that is not there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = re.compile(r"[\w./-]+\.(?:[ch]|cjs|cpp|cts|hpp|js|md|mjs|mts|py|pyi|rs|scn|sh|toml|txt)|[\w./-]+/")


def named() -> list[list[str]]:
    """The files that each row of a table names."""
    rows = (line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if line.startswith("|"))
    words = ([word for word in re.findall(r"`([^`]+)`", row) if FILE.fullmatch(word)] for row in rows)
    return [files for files in words if files]


def missing(files: list[str]) -> list[str]:
    """A name may leave out folders that one before it in its row has, or those of the core."""
    folders, gone = [ROOT, ROOT / "core/src"], []
    for name in files:
        found = next((folder / name for folder in folders if (folder / name).exists()), None)
        if found is None:
            gone.append(name)
        else:
            folders = [*(one for one in (found, *found.parents) if one.is_dir() and one.is_relative_to(ROOT)), *folders]
    return gone


def test_every_file_that_a_table_names_is_there() -> None:
    assert len(named()) > 60
    assert [name for files in named() for name in missing(files)] == []


def test_a_file_that_is_gone_is_noticed() -> None:
    assert missing(["core/src/turn/leaving.rs"]) == ["core/src/turn/leaving.rs"]
    assert missing(["core/src/turn/place.rs", "mod.rs", "leaving.rs"]) == ["leaving.rs"]
