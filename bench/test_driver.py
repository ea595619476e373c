"""What the benchmarks make of their figures. No server is started here."""

from __future__ import annotations

import json
import sys
import xml.dom.minidom
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from driver import plots, report, restart
from driver.measure import Contestant, Turn, row
from driver.processes import parsed
from driver.reasons import reason
from driver.targets import Results, fitted, growths, targets


def measured(library: str, case: str, rounds: list[float], size: int = 0) -> dict[str, Any]:
    contestant = Contestant(library, case, lambda: Turn([], 0), list, size)
    contestant.turns = [Turn([time], 1, client_cpu=time / 2, requests=3) for time in rounds]
    return row(contestant)


def results(*rows: dict[str, Any], workload: str = "lock") -> Results:
    return Results({workload: {"rows": list(rows), "noise": QUIET, "problems": []}})


QUIET = {"seconds": 1.0, "cores_busy_with_other_work": 0.0}
BOTH = "acquire and release"


@pytest.mark.parametrize(("power", "word"), [(0.0, "flat"), (1.0, "linear"), (2.0, "worse")])
def test_growth_is_the_slope_of_the_logarithms(power: float, word: str) -> None:
    sizes = [10, 100, 1000]
    assert fitted([(size, 7 * size**power) for size in sizes]) == pytest.approx(power)
    rows = [measured("rust", f"{size} once", [7 * size**power], size) for size in sizes]
    (growth,) = growths(results(*rows, workload="handoff"))
    assert growth.word == word


def test_a_ratio_is_that_of_each_round_and_not_of_the_medians() -> None:
    # The machine was three times as slow in the second round, for both.
    found = results(measured("rust", BOTH, [110, 330, 120]), measured("raw", BOTH, [100, 300, 100]))
    assert found.ratio("lock", ("rust", BOTH), ("raw", BOTH)) == pytest.approx(1.1)


@pytest.mark.parametrize(("mine", "verdict"), [(125, "met"), (140, "missed")])
def test_a_target_is_met_or_missed(mine: float, verdict: str) -> None:
    found = results(measured("rust", BOTH, [mine]), measured("raw", BOTH, [100]))
    verdicts = {target.work: target.told()[2] for target in targets(found)}
    assert verdicts["acquire and release in Rust, awaited, of a raw create and delete"] == verdict
    assert verdicts["the same, of kazoo's"] == "not measured"


def test_every_target_that_can_be_missed_has_a_reason() -> None:
    # What has nothing to do with speed is met, or a defect.
    kept = ("queue: put", "queue: claim", "queue: get, 64", "queue: get, 8 clients, to 8", "threads of the library")
    unexplained = [target.work for target in targets(results()) if not reason(target.work)]
    assert [work for work in unexplained if not work.startswith(kept)] == []


def test_a_target_that_is_missed_says_why_and_shows_its_flame_graph(tmp_path: Path) -> None:
    (tmp_path / "flame-rust-lock.svg").write_text("<svg/>")
    missed = results(measured("rust", BOTH, [150.0]), measured("raw", BOTH, [100.0]))
    told = "\n".join(report.told_reasons(missed, tmp_path))
    assert "**acquire and release in Rust, awaited, of a raw create and delete**: " in told
    assert "(flame-rust-lock.svg)" in told
    met = results(measured("rust", BOTH, [100.0]), measured("raw", BOTH, [100.0]))
    assert not list(report.told_reasons(met, tmp_path))


def test_the_report_has_what_was_measured_and_its_plots_follow_the_reader(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    rows = [measured("rust", BOTH, [110_000.0]), measured("raw", BOTH, [100_000.0])]
    lock = {"rows": rows, "noise": QUIET | {"cores_busy_with_other_work": 1.5}, "problems": ["kazoo, lock: gone"]}
    (tmp_path / "data" / "lock.json").write_text(json.dumps(lock))
    run = {"command": "make bench", "machine": {"cores": 2}, "versions": {}, "missing": {"kazoo": "no network"}}
    (tmp_path / "run.json").write_text(json.dumps(run))
    report.write(tmp_path)
    text = (tmp_path / "report.md").read_text()
    for expected in ("left out**: kazoo", "kazoo, lock: gone", "not quiet", "| 1.10× | ≤ 1.30× | met |", "lock.svg"):
        assert expected in text
    svg = (tmp_path / "lock.svg").read_text()
    xml.dom.minidom.parseString(svg)
    assert "prefers-color-scheme: dark" in svg

    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.into_readme(tmp_path, readme)
    filled = readme.read_text()
    assert filled.startswith("before\n")
    assert filled.endswith("\nafter\n")
    assert "| 1.10 |" in filled
    assert "old" not in filled


def test_a_fleet_is_quiet_once_it_sends_what_it_sent_before() -> None:
    # 100 a second before; 300 a second for four seconds after the server was back, then as before.
    sent = [(second, 300 * min(second, 4) + 100 * max(0, second - 4)) for second in range(13)]
    samples = [restart.Sample(float(at), requests, 0, 0) for at, requests in sent]
    quiet = restart.first_quiet(samples, 100.0, back=2.0)
    assert quiet
    assert quiet.at == 4.0
    assert quiet.requests == 1200
    assert restart.first_quiet(samples[:8], 100.0, back=2.0) is None, "five seconds of silence have not passed"
    late = restart.first_quiet(samples, 100.0, back=5.5)
    assert late
    assert late.at == 6.0, "nobody is quiet who is not back"


def test_the_report_says_what_a_restart_cost_and_who_was_not_back(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    told = {
        "library": "rust", "case": "2,000 clients, restart 1", "size": 2000, "usual_requests_per_second": 100.0,
        "serves_s": 1.0, "quiet_s": 3.0, "back_s": 2.5, "requests": 4200, "server_cpu_s": 1.5, "client_cpu_s": 0.5,
        "uncertain_s": 0.0, "holders": 200, "lost": 0, "gave_up": 0,
    }  # fmt: skip
    late = told | {"library": "kazoo", "quiet_s": None, "back_s": None, "lost": 7}
    found = {"rows": [told, late], "session_ms": 10_000, "noise": QUIET, "problems": []}
    (tmp_path / "data" / "restart.json").write_text(json.dumps(found))
    run = {"command": "make bench", "machine": {"cores": 2}, "versions": {}, "missing": {}}
    (tmp_path / "run.json").write_text(json.dumps(run))
    report.write(tmp_path)
    text = (tmp_path / "report.md").read_text()
    # What it sends anyway in the two seconds from 1.0 to 3.0 is not counted.
    assert "| 1.00 | 2.50 | 0.00 | 200 | 0 | 0 | 3.00 | 4,200 | 2.0 | 1.50 | 0.50 |" in text
    assert "| not within a minute | 0.00 | 200 | 7 |" in text


def test_the_report_says_that_etcd_is_another_server_and_gives_no_ratio_to_our_floor(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    rows = [measured(name, BOTH, [200_000.0]) for name in ("rust", "raw", "etcd")]
    (tmp_path / "data" / "lock.json").write_text(json.dumps({"rows": rows, "noise": QUIET, "problems": []}))
    run = {"command": "make bench", "machine": {"cores": 2}, "versions": {}, "missing": {}}
    (tmp_path / "run.json").write_text(json.dumps(run))
    report.write(tmp_path)
    text = (tmp_path / "report.md").read_text()
    (ours,) = (line for line in text.splitlines() if line.startswith(f"| {BOTH} | zkrecipes, Rust"))
    (theirs,) = (line for line in text.splitlines() if line.startswith(f"| {BOTH} | etcd, Go"))
    assert ours.split(" | ")[4] == "1.00"
    assert theirs.split(" | ")[4] == ""
    assert report.OTHER_SERVER in text
    assert "etcd is another server" in (tmp_path / "lock.svg").read_text()


def test_an_answer_is_words_numbers_and_lists() -> None:
    assert parsed(["took=5", "both=1,2", "version=0.1.0"]) == {"took": 5, "both": [1, 2], "version": "0.1.0"}


def test_figures_are_told_in_three_digits() -> None:
    assert [plots.short(value) for value in (0.0, 0.01234, 1.234, 123.4, 12345.6)] == [
        "0",
        "0.0123",
        "1.23",
        "123",
        "12,346",
    ]
