"""CONTRIBUTING.md names no file that is not there, and of those that a recipe needs all and no others."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = re.compile(r"[\w./-]+\.(?:[ch]|cjs|cpp|cts|hpp|js|md|mjs|mts|py|pyi|rs|scn|sh|toml|txt)|[\w./-]+/")
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
# How a file speaks of the counter, which is the example of "Add a recipe".
COUNTER = (
    r"zkr_counter|(^|[^[:alnum:]_])counter\(|class Counter($|[^s])|counter\.(rs|md|py|mjs|cjs|toml|scn)|counter NAME"
)
# What speaks of it and needs nothing for another recipe: programs and pages about something else.
BESIDE = re.compile(
    r"CONTRIBUTING\.md|tests/test_(api|contributing)\.py|bench/(results/|workers/kazoo)|docs/(site/screenshots|start/)|tests/(crowds|usage|c/abi)/"
    r"|core/tests/(counter/versions|crowds/counter|logs/open_parents)\.rs|python/tests/test_input\.py|examples/rust/opentelemetry/"
)


def named(page: str = PAGE) -> list[list[str]]:
    """The files that each row of a table names."""
    rows = (line for line in page.splitlines() if line.startswith("|"))
    words = ([word for word in re.findall(r"`([^`]+)`", row) if FILE.fullmatch(word)] for row in rows)
    return [files for files in words if files]


def found(files: list[str]) -> list[Path | None]:
    """A name may leave out folders that one before it in its row has, or those of the core."""
    folders, paths = [ROOT, ROOT / "core/src"], list[Path | None]()
    for name in files:
        path = next((folder / name for folder in folders if (folder / name).exists()), None)
        paths.append(path)
        if path is not None:
            folders = [*(one for one in (path, *path.parents) if one.is_dir() and one.is_relative_to(ROOT)), *folders]
    return paths


def missing(files: list[str]) -> list[str]:
    return [name for name, path in zip(files, found(files), strict=True) if path is None]


def add_a_recipe(page: str) -> str:
    return page.split("\n## Add a recipe\n")[1].split("\n## ")[0]


def to_write(page: str) -> set[Path]:
    """What a recipe needs by "Add a recipe" in any case, and no command writes."""
    rows = (line.split("|")[1:3] for line in add_a_recipe(page).splitlines() if line.startswith("| `"))
    cells = [files for files, what in rows if not re.match(r" (only|generated)\b", what)]
    return {path for cell in cells for files in named(f"|{cell}|") for path in found(files) if path is not None}


def left_out(page: str) -> list[str]:
    """What speaks of the counter and is not in "Add a recipe"."""
    paths = [path for files in named(add_a_recipe(page)) for path in found(files) if path is not None]
    files = {path for path in paths if path.is_file()}
    # A recipe may be a folder, of which only the first file is named.
    folders = [*(path for path in paths if path.is_dir()), ROOT / "core/src/recipes/counter"]
    listed = subprocess.run(["git", "grep", "-lIE", COUNTER], cwd=ROOT, check=True, capture_output=True, text=True)
    others = [ROOT / name for name in listed.stdout.split() if not BESIDE.match(name)]
    return [
        str(path.relative_to(ROOT))
        for path in others
        if path not in files and not any(path.is_relative_to(folder) for folder in folders)
    ]


def test_every_file_that_a_table_names_is_there() -> None:
    assert len(named()) > 60
    assert [name for files in named() for name in missing(files)] == []


def test_a_file_that_is_gone_is_noticed() -> None:
    assert missing(["core/src/turn/leaving.rs"]) == ["core/src/turn/leaving.rs"]
    assert missing(["core/src/turn/place.rs", "mod.rs", "leaving.rs"]) == ["leaving.rs"]


def test_add_a_recipe_names_every_file_that_the_counter_has() -> None:
    assert left_out(PAGE) == []


def test_a_file_that_add_a_recipe_leaves_out_is_noticed() -> None:
    rows = PAGE.splitlines()
    without = [row for row in rows if not row.startswith("| `node/test/counter.test.mjs`")]
    assert len(without) == len(rows) - 1
    assert left_out("\n".join(without)) == ["node/test/counter.test.mjs"]


def test_add_a_recipe_names_no_file_that_the_counter_does_without() -> None:
    files = to_write(PAGE)
    assert {ROOT / "core/src/lib.rs", ROOT / "examples/node/counter.mjs"} <= files
    assert {path.name for path in files if not re.search("counter", path.read_text(), re.IGNORECASE)} == set()
    assert f"That is {len(files)} files to write in any case." in PAGE
    with_another = PAGE.replace("| `tests/guards.toml` |", "| `tests/guards.toml`, `tests/c/input.c` |")
    assert to_write(with_another) == files | {ROOT / "tests/c/input.c"}


def test_every_part_of_the_tests_has_its_row() -> None:
    parts = set(re.findall(r"^part_(\w+)\(\)", (ROOT / "tests/run.sh").read_text(), re.MULTILINE))
    table = PAGE.split("\n### Some of the tests\n")[1].split("\n## ")[0]
    rows = (row.split("|")[1] for row in table.splitlines() if row.startswith("| `"))
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == parts - {"build"}
