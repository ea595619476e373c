"""What tests/surface.py sees, tried on doctored input: the real table, and names that keep all of its promises."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from surface import AWAITED, COLUMNS, TABLE, Names, Table, braces, compare, proposals, with_coroutines, with_rows

TEXT = TABLE.read_text()


def promised(text: str) -> Names:
    """For each language just what the table asks for."""
    rows = Table().read(text).promised
    return {language: {names[0] for names, _ in rows[language]} for language in COLUMNS}


def problems(text: str, names: Names) -> list[str]:
    return compare(Table().read(text), names)[0]


def test_what_is_promised_is_enough() -> None:
    assert problems(TEXT, promised(TEXT)) == []


def test_every_single_name_is_missed_where_it_goes() -> None:
    table = Table().read(TEXT)
    for language, names in promised(TEXT).items():
        for name in names:
            found, _ = compare(table, {language: names - {name}})
            assert any(f"{language} lacks {name}" in problem for problem in found), (language, name)


def test_each_language_has_a_row_of_a_handles_on_revoke() -> None:
    for language, rows in Table().read(TEXT).promised.items():
        assert "Lock.on_revoke" in {row for _, row in rows}, language


def test_a_name_in_no_row_is_told_with_the_row_to_add() -> None:
    names = promised(TEXT)
    names["python"].add("Lock.grab")
    names["aio"].add("Lock.grab")
    found, undeclared = compare(Table().read(TEXT), names)
    assert found == [f"{language} has Lock.grab, which is in no row" for language in ("python", "aio")]
    (row,) = proposals(undeclared)
    assert row.split() == ["Lock.grab", "-?", "-?", "-?", "-?", ".", ".", "-?"]
    # With the row as it is proposed the holes are still to be explained.
    assert problems(f"{TEXT}\n{row}", names) == ["the reason -? is not declared at the head"]


def test_the_rows_of_a_new_recipe_are_those_that_stand_for_one_like_it() -> None:
    rows = [line for line in TEXT.splitlines() if re.match(r"(Client\.barrier|Barrier)\b", line)]
    assert len(rows) == 8
    without = "\n".join(line for line in TEXT.splitlines() if line not in rows)
    _, undeclared = compare(Table().read(without), promised(TEXT))
    assert sorted(line.split() for line in proposals(undeclared)) == sorted(line.split() for line in rows)
    # Behind the other recipes, as they are: nothing is left to do by hand.
    written = with_rows(without, proposals(undeclared))
    assert problems(written, promised(TEXT)) == []
    assert written.index("\nBarrier ") < written.index("\n# everywhere or nowhere ")


def test_a_verb_of_what_is_there_goes_behind_the_last_of_its_type() -> None:
    line = next(line for line in TEXT.splitlines() if line.startswith("Barrier.is_up "))
    without = TEXT.replace(f"{line}\n", "")
    _, undeclared = compare(Table().read(without), promised(TEXT))
    written = with_rows(without, proposals(undeclared))
    rows = [row.split()[0] for row in written.splitlines() if row.startswith("Barrier")]
    assert (rows[0], rows[-1]) == ("Barrier", "Barrier.is_up")
    assert problems(written, promised(TEXT)) == []


def test_a_coroutine_of_a_new_verb_is_added_to_their_list() -> None:
    names = promised(TEXT)
    names["c++"] |= {"zkr::coro::aim", "zkr::coro::zoom"}
    _, undeclared = compare(Table().read(TEXT), names)
    written = with_coroutines(TEXT, undeclared)
    assert proposals(undeclared) == []
    assert problems(written, names) == []
    # Nothing else has changed but that list, which is in order.
    kept = [line for line in TEXT.splitlines() if not AWAITED.match(line)]
    assert [line for line in written.splitlines() if not AWAITED.match(line)] == kept
    listed = [name for line in AWAITED.findall(written) for name in braces(line.split()[-1])]
    assert listed == sorted(listed)
    assert max(map(len, AWAITED.findall(written))) < 160


def test_a_hole_without_a_reason_is_refused() -> None:
    line = next(line for line in TEXT.splitlines() if line.startswith("Lock.try_acquire"))
    capability, *cells = line.split()
    for at, _ in enumerate(cells):
        for hole in ("", "-", "-because"):
            doctored = " ".join([capability, *cells[:at], hole, *cells[at + 1 :]])
            assert problems(TEXT.replace(line, doctored), promised(TEXT)), doctored


def test_a_reason_that_is_used_nowhere_is_told() -> None:
    assert problems(f"{TEXT}\n-idle nothing", promised(TEXT)) == ["the reason -idle is given nowhere"]
