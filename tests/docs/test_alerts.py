"""The alerts and the dashboard of examples/prometheus: promtool takes them, and what they ask for is there; no threshold is
reached while all is well, and each is when it should be, at every session timeout that is recommended."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
import zkrecipes
from snippets import ROOT
from zkrecipes.testing import EmbeddedServer

HERE = ROOT / "examples/prometheus"
ALERTS = HERE / "alerts.yaml"
RULES = {rule["alert"]: rule for rule in yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]}
# In seconds: those that docs/production.md has a table for.
TIMEOUTS = [
    int(row)
    for row in re.findall(r"^\| (\d+) s \|(?: [\d.]+ s \|){4}$", (ROOT / "docs/production.md").read_text(), re.M)
]


def promtool(*words: str | Path) -> None:
    done = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def asked(expression: str) -> set[str]:
    return set(re.findall(r"\bzkrecipes_\w+", expression))


def expressions_of_the_dashboard() -> list[str]:
    panels = json.loads((HERE / "dashboard.json").read_text())["panels"]
    found = [target["expr"] for panel in panels for target in panel["targets"]]
    return [one.replace("$__rate_interval", "5m").replace("$instance", ".*") for one in found]


@pytest.fixture(scope="module")
def served() -> set[str]:
    """What a client has for Prometheus."""
    with EmbeddedServer() as server, zkrecipes.Client(server.connect_string) as client:
        with client.lock("/locks/report"):
            pass
        lines = client.metrics.prometheus.splitlines()
    return {re.split(r"[ {]", line)[0] for line in lines if not line.startswith("#")} | {
        "zkrecipes_lease_margin_min_seconds"
    }


def test_what_alerts_and_dashboard_ask_for_is_there(served: set[str]) -> None:
    expressions = [*(rule["expr"] for rule in RULES.values()), *expressions_of_the_dashboard()]
    assert len(expressions) > 20
    assert set().union(*map(asked, expressions)) - served == set()


def test_promtool_takes_the_alerts_and_what_the_dashboard_asks(tmp_path: Path) -> None:
    promtool("check", "rules", ALERTS)
    rules = [{"record": f"of:{number}", "expr": one} for number, one in enumerate(expressions_of_the_dashboard())]
    (tmp_path / "rules.yaml").write_text(json.dumps({"groups": [{"name": "of", "rules": rules}]}))
    promtool("check", "rules", tmp_path / "rules.yaml")


def series(timeout: float, **values: str) -> list[dict[str, str]]:
    """A minute between two values, for an hour and a half."""
    usual = {
        "session_timeout_seconds": f"{timeout}x90",
        # 5/12 of the timeout, less the time of an answer.
        "lease_margin_min_seconds": f"{timeout * 5 / 12 - timeout / 25}x90",
        'losses_total{reason="session"}': "0x90",
        'losses_total{reason="closed"}': "0+1x90",
        "suspensions_total": "0x30 1x60",
        "waits_seconds_sum": "0+1x90",
        "waits_seconds_count": "0+60x90",
        "retries_total": "0+1x90",
        'requests_total{kind="create"}': "0+30x90",
        'requests_total{kind="sync"}': "0+30x90",
        "slow_callbacks_total": "0x90",
        "dead_letters_total": "0x90",
    }
    return [{"series": f"zkrecipes_{name}", "values": value} for name, value in {**usual, **values}.items()]


def plays(place: Path, given: list[dict[str, str]], wanted: dict[str, list[int]]) -> None:
    """Which alerts fire at which minutes: these at those, and no other."""
    minutes = sorted({45, *(minute for times in wanted.values() for minute in times)})
    expected: list[dict[str, Any]] = []
    for name, rule in RULES.items():
        for minute in minutes:
            labels = {**rule["labels"], **dict(re.findall(r'{(reason)="(\w+)"}', rule["expr"]))}
            fires = [{"exp_labels": labels}] if minute in wanted.get(name, []) else []
            expected.append({"eval_time": f"{minute}m", "alertname": name, "exp_alerts": fires})
    # What an alert says is not looked at: only whether it fires.
    bare = [{key: value for key, value in rule.items() if key != "annotations"} for rule in RULES.values()]
    rules, tests = place / "alerts.yaml", place / "tests.yaml"
    rules.write_text(json.dumps({"groups": [{"name": "bare", "rules": bare}]}))
    test = {"interval": "1m", "input_series": given, "alert_rule_test": expected}
    tests.write_text(json.dumps({"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": [test]}))
    promtool("test", "rules", tests)


def test_the_timeouts_are_those_of_the_page() -> None:
    assert TIMEOUTS == [4, 6, 10, 20, 30, 40]


@pytest.mark.parametrize("timeout", TIMEOUTS)
def test_nothing_is_told_while_all_is_well(timeout: int, tmp_path: Path) -> None:
    plays(tmp_path, series(timeout), {})


@pytest.mark.parametrize("timeout", TIMEOUTS)
def test_a_pause_that_costs_nothing_yet_is_told_once(timeout: int, tmp_path: Path) -> None:
    usual, short = timeout * 5 / 12 - timeout / 25, timeout * 0.12
    given = series(timeout, lease_margin_min_seconds=f"{usual}x40 {short}x50")
    plays(tmp_path, given, {"ZkrecipesLeaseRunsShort": [45]})
    # One of half that length is not.
    given = series(timeout, lease_margin_min_seconds=f"{usual}x40 {timeout * 0.22}x50")
    plays(tmp_path, given, {})
    # It is over after ten minutes.
    given = series(timeout, lease_margin_min_seconds=f"{usual}x20 {short}x70")
    plays(tmp_path, given, {"ZkrecipesLeaseRunsShort": [25]})


@pytest.mark.parametrize("timeout", TIMEOUTS)
def test_a_holder_that_was_killed_is_no_long_wait(timeout: int, tmp_path: Path) -> None:
    """Sessions end up to a tick late, and for a while nobody else acquires anything."""
    waited = timeout + 2
    given = series(timeout, waits_seconds_sum=f"0x30 {waited}x60", waits_seconds_count="0x30 1x60")
    plays(tmp_path, given, {})
    given = series(timeout, waits_seconds_sum=f"0+{timeout * 3}x90", waits_seconds_count="0+1x90")
    plays(tmp_path, given, {"ZkrecipesWaitsAreLong": [45, 80]})


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    plays(tmp_path, series(10, **{'losses_total{reason="session"}': "0x40 1x50"}), {"ZkrecipesLost": [45]})
    plays(tmp_path, series(10, suspensions_total="0+1x90"), {"ZkrecipesConnectionBreaks": [45]})
    plays(tmp_path, series(10, retries_total="0+6x90"), {"ZkrecipesAnswersAreMissing": [45]})
    plays(tmp_path, series(10, slow_callbacks_total="0x40 1x50"), {"ZkrecipesCallbacksAreSlow": [45]})
    plays(tmp_path, series(10, dead_letters_total="0x40 1x50"), {"ZkrecipesItemsDie": [45]})


def test_the_alert_of_the_lease_says_what_pauses_are_borne() -> None:
    row = re.search(
        r"^\| any \| ([\d.]+) T \| ([\d.]+) T \| ([\d.]+) T ", (ROOT / "docs/production.md").read_text(), re.M
    )
    assert row
    borne, with_tick, relaxed = row.groups()
    said = RULES["ZkrecipesLeaseRunsShort"]["annotations"]["description"]
    assert f"A pause of less than {borne} of the session timeout never costs a lock" in said
    assert f"({with_tick} with a server_tick of at most a quarter of it, {relaxed} with lease=relaxed)" in said
