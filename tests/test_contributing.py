"""CONTRIBUTING.md is short and names files that are there. A call goes its way, and a recipe has its files."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILE = re.compile(
    r"[\w./-]*\w\.(?:[ch]|cjs|cpp|cts|hpp|js|json|md|mjs|mts|py|pyi|rs|scn|sh|toml|txt|yml)|[\w.-]+/[\w./-]*"
)
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
# How a file speaks of the counter, which is the example of "Add a recipe".
COUNTER = (
    r"zkr_counter|zkrecipes counter|(^|[^[:alnum:]_])counter\(|class Counter($|[^s])"
    r"|counter\.(rs|md|py|mjs|cjs|toml|scn)|counter (NAME|C \$P)|mod counter;"
    r"|recipes(/|::)counter|\(counter\)|\"counter\", \"config\"|^- \*\*Counter\*\*"
)
# What speaks of it and needs nothing for another recipe: programs and pages about something else.
BESIDE = re.compile(
    r"CONTRIBUTING\.md|tests/test_(api|contributing)\.py|bench/(results/|workers/kazoo)|docs/(latch|site/screenshots|start/)|tests/(crowds|chaos|usage|c/abi)/"
    r"|core/tests/(crowds/|logs/|counter/versions|counter_(crowd|versions)|open_parents)|python/tests/test_(input|many_threads)\.py|examples/rust/opentelemetry/"
)
# What a command writes and neither `.gitattributes` nor a mark says so.
WRITTEN_BY_A_COMMAND = {"docs/README.md", "docs/options.md", "ffi/src/lib.rs", "tests/surface.txt"}
MARKED = re.compile(r"^[^\n]*--- generated from .*?^[^\n]*end of generated", re.MULTILINE | re.DOTALL)


def section(title: str, page: str) -> str:
    return page.split(f"\n## {title}\n")[1].split("\n## ")[0]


def words(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def named(page: str = PAGE) -> list[list[str]]:
    """The files that each line names."""
    lines = ([word for word in words(line) if FILE.fullmatch(word)] for line in page.splitlines())
    return [files for files in lines if files]


def found(files: list[str]) -> list[Path | None]:
    """A name may leave out folders that one before it in its line has, or those of the core."""
    folders, paths = [ROOT, ROOT / "core/src"], list[Path | None]()
    for name in files:
        path = next((folder / name for folder in folders if (folder / name).exists()), None)
        paths.append(path)
        if path is not None:
            folders = [*(one for one in (path, *path.parents) if one.is_dir() and one.is_relative_to(ROOT)), *folders]
    return paths


def missing(files: list[str]) -> list[str]:
    return [name for name, path in zip(files, found(files), strict=True) if path is None]


# The way of a call.


def way(page: str = PAGE) -> list[tuple[str, str]]:
    """The functions of a call in their order, each with its file."""
    steps, path = list[tuple[str, str]](), ""
    for line in re.findall(r"^\d+\. .*$", section("The way of a call", page), re.MULTILINE):
        paths = iter(found([name for name in words(line) if FILE.fullmatch(name)]))
        for name in words(line):
            if FILE.fullmatch(name):
                path = str((next(paths) or ROOT / name).relative_to(ROOT))
            else:
                steps.append((path, name))
    return steps


def bodies(path: str, name: str) -> list[str]:
    """What each function of that name in a file says."""
    text = (ROOT / path).read_text()
    starts = re.finditer(rf"^( *)(?:pub(?:\([^)]*\))? )?(?:async )?fn {name}\b(?!.*;$)", text, re.MULTILINE)
    return [text[start.end() :].split(f"\n{start[1]}}}\n")[0] for start in starts]


def broken(steps: list[tuple[str, str]]) -> list[str]:
    """Functions that are not in their file, or do not call the next one; where that was named before, it goes on."""
    problems = [f"{path} has no {name}" for path, name in steps if not bodies(path, name)]
    for at, ((path, name), following) in enumerate(pairwise(steps), start=1):
        calls = any(re.search(rf"\b{following[1]}\(", body) for body in bodies(path, name))
        if not calls and following not in steps[:at]:
            problems.append(f"{name} of {path} does not call {following[1]}")
    return problems


def test_each_function_on_the_way_of_a_call_calls_the_next_one() -> None:
    assert len({path for path, _ in way()}) > 15
    assert broken(way()) == []


def test_a_call_that_goes_another_way_is_noticed() -> None:
    (file, first), *_, (_, last) = steps = way()
    assert broken([steps[0], steps[-1]]) == [f"{first} of {file} does not call {last}"]
    assert broken([(file, "steal")]) == [f"{file} has no steal"]


# The files of a recipe.


def generated(files: list[str]) -> set[str]:
    command = ["git", "check-attr", "--stdin", "linguist-generated"]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, input="\n".join(files))
    return {line.split(": ")[0] for line in said.stdout.splitlines() if line.endswith(": set")}


@cache
def of_the_counter() -> set[Path]:
    """Each file that the counter has and people have written; for those in a folder of its name, that folder."""
    listed = subprocess.run(["git", "grep", "-lIE", COUNTER], cwd=ROOT, check=True, capture_output=True, text=True)
    files = [name for name in listed.stdout.split() if not BESIDE.match(name)]
    by_hand = set(files) - generated(files) - WRITTEN_BY_A_COMMAND
    spoken = re.compile(COUNTER.replace("[:alnum:]", "a-zA-Z0-9"), re.MULTILINE)
    by_hand = {name for name in by_hand if spoken.search(MARKED.sub("", (ROOT / name).read_text()))}
    return {ROOT / re.sub(r"(/counter/).*", r"\1", name) for name in by_hand}


def places(page: str, begins: str) -> list[Path]:
    """The files and folders in the rows of "Add a recipe" that begin so; scripts are there to be called."""
    table = (line for line in section("Add a recipe", page).splitlines() if re.match(rf"\| {begins}", line))
    names = ([word for word in words(row) if FILE.fullmatch(word) and not word.endswith(".sh")] for row in table)
    return [path for row in names for path in found(row) if path is not None]


def within(path: Path, places: list[Path]) -> bool:
    return any(path.is_relative_to(place) for place in places)


def left_out(page: str) -> list[str]:
    """What speaks of the counter and is not in "Add a recipe"."""
    return [str(path.relative_to(ROOT)) for path in of_the_counter() if not within(path, places(page, ""))]


def to_write(page: str) -> set[Path]:
    """What any recipe needs."""
    always, sometimes = places(page, "(?!only)"), places(page, "only")
    return {path for path in of_the_counter() if within(path, always) and not within(path, sometimes)}


def needless(page: str) -> list[str]:
    """What any recipe needs by "Add a recipe", and the counter does without."""
    of_it = of_the_counter()
    lacking = [place for place in places(page, "(?!only)") if not any(path.is_relative_to(place) for path in of_it)]
    return [str(place.relative_to(ROOT)) for place in lacking]


def test_add_a_recipe_names_every_file_that_the_counter_has() -> None:
    assert left_out(PAGE) == []
    assert left_out(PAGE.replace(", `node/test/counter.test.mjs`", "")) == ["node/test/counter.test.mjs"]


def test_add_a_recipe_names_no_file_that_the_counter_does_without() -> None:
    assert needless(PAGE) == []
    assert needless(PAGE.replace("`tests/guards.toml`", "`tests/guards.toml`, `tests/limit.py`")) == ["tests/limit.py"]


def test_the_files_of_a_recipe_are_counted() -> None:
    files = to_write(PAGE)
    assert {ROOT / "core/src/lib.rs", ROOT / "core/src/recipes/counter", ROOT / "examples/node/counter.mjs"} <= files
    assert f"The counter has {len(files)} files that are written by hand" in PAGE


# All of it.


def test_the_page_can_be_read_in_one_sitting() -> None:
    assert len(PAGE.encode()) <= 12_000


def test_every_file_that_is_named_is_there() -> None:
    assert len(named()) > 40
    assert [name for files in named() for name in missing(files)] == []


def test_a_file_that_is_gone_is_noticed() -> None:
    assert missing(["core/src/turn/leaving.rs"]) == ["core/src/turn/leaving.rs"]
    assert missing(["core/src/turn/place.rs", "mod.rs", "leaving.rs"]) == ["leaving.rs"]


def by_hand(path: Path) -> str:
    """What of a file no command writes."""
    return re.sub(r"generated from api: .*?end of generated", "", path.read_text(), flags=re.DOTALL)


def tracked(*folders: str) -> list[Path]:
    """The files of folders that no command writes as a whole."""
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    attributes = ["git", "check-attr", "--stdin", "linguist-generated"]
    told = subprocess.run(attributes, cwd=ROOT, check=True, input=listed, capture_output=True, text=True).stdout
    names = (line.removesuffix(": linguist-generated: unspecified") for line in told.splitlines())
    return [ROOT / name for name in names if not name.endswith(" set") and (ROOT / name).is_file()]


@pytest.mark.parametrize("option", ["server_tick", "max_in_flight", "refuse_open_parents"])
def test_no_language_has_an_option_by_hand(option: str) -> None:
    faces = [
        "ffi",
        "include",
        "bindings",
        "python/zkrecipes",
        "node/lib",
        "tests/drivers",
        "docs/site",
        "docs/options.md",
    ]
    text = re.compile(option.replace("_", "_?"), re.IGNORECASE)
    assert [path.relative_to(ROOT) for path in tracked(*faces) if text.search(by_hand(path))] == []
    assert [path.name for path in tracked("api/*.toml") if option in path.read_text()] == ["client.toml"]
