"""What type checkers are told is true, and enough for users who are strict."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import zkrecipes

PACKAGE = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["mypy", "--strict", "zkrecipes", "tests"],
        ["mypy", "--strict", "--python-version", "3.10", "zkrecipes"],
    ],
    ids=["strict", "oldest"],
)
def test_types_check(arguments: list[str]) -> None:
    """That the stub is what the module has is a linter's business: stubtest, in scripts/lint."""
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=PACKAGE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_type_checker_names_what_users_have_in_their_hands(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import zkrecipes\nzkrecipes.Client("embedded:").lock("/lock").acquire("five")\n')
    done = subprocess.run([sys.executable, "-m", "mypy", wrong], cwd=PACKAGE, capture_output=True, text=True)
    assert 'No overload variant of "acquire" of "Handle" matches argument type "str"' in done.stdout, done.stdout


def test_help_of_the_options_teaches_each_of_them() -> None:
    told = inspect.getdoc(zkrecipes.ClientOptions) or ""
    rows = {line.split()[0]: line for line in told.splitlines() if re.match(r"\w+ {2,}\S", line)}
    assert rows.keys() - {"option"} == zkrecipes.ClientOptions.__annotations__.keys()
    assert all(len(line.split()) > 2 for line in rows.values())


def test_no_verb_for_asyncio_is_an_assignment() -> None:
    """Of those pyright, and so VS Code, takes the type from the base class: see `_bridge.instead`."""
    assigned = [
        f"{file.name}: {ast.unparse(statement.targets[0])}"
        for file in (PACKAGE / "zkrecipes").glob("*.py")
        for kind in ast.walk(ast.parse(file.read_text()))
        if isinstance(kind, ast.ClassDef)
        for statement in kind.body
        if isinstance(statement, ast.Assign) and re.match(r"(awaited|feeding|Answers\[)", ast.unparse(statement.value))
    ]
    # The base class has no such name.
    assert assigned == ["aio.py: _win"]
