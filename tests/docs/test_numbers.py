"""The numbers of the pages, times above all, are those of the sources. What a pause costs is asked of the lease itself, in
core/src/session/lease/pauses.rs; what requests there are, in the scenarios."""

from __future__ import annotations

import re
import subprocess
from math import ceil

import pytest
import tomllib
from snippets import ROOT

CORE = ROOT / "core/src"
WORDS = {"a": 1.0, "half a": 0.5, "five": 5.0, "ten": 10.0}
UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "second": 1.0, "seconds": 1.0, "minute": 60.0, "minutes": 60.0, "hour": 3600.0}

# The page, the sentence with its number in parentheses, and the constant.
NUMBERS = [
    ("elections.md", r"and then every (half a second):", "recipes/election/mod.rs", "HEALTH_INTERVAL"),
    ("elections.md", r"that do not go within (five seconds),", "recipes/election/transfer.rs", "LIMIT"),
    ("elections.md", r"asks when it has stood for ([\d.]+ s),", "turn/asking.rs", "SETTLING"),
    ("elections.md", r"has not moved ([\d.]+ s) after it was asked", "turn/asking.rs", "PATIENCE"),
    ("queues.md", r"`put` waits (half a second) more", "recipes/queue/put_answer.rs", "LATE_ANSWER"),
    ("queues.md", r"\*\*steps aside\*\*: for (a second) after", "recipes/queue/claim.rs", "FIRST_PAUSE"),
    ("queues.md", r"each further one, up to (five minutes),", "recipes/queue/claim.rs", "LONGEST_PAUSE"),
    ("queues.md", r"the first ([\d,]+) bytes are kept", "recipes/queue/dead_letter_header.rs", "LONGEST_REASON"),
    ("queues.md", r"text of at most ([\d,]+) bytes", "recipes/queue/keys.rs", "LONGEST_KEY"),
    ("queues.md", r"fit into a transaction, at most (\d+);", "recipes/queue/put.rs", "IN_ONE"),
    ("queues.md", r"Of more than ([\d,]+) paused items", "recipes/queue/listing.rs", "MOST_PAUSES"),
    ("queues.md", r"keeps its watches for (\d+ seconds)", "recipes/queue/next_item.rs", "KEPT"),
    ("queues.md", r"looked at again after (half a minute)", "session/call.rs", "LOOK_AFTER"),
    ("semaphore.md", r"more than ([\d,]+) at once", "recipes/semaphore/mod.rs", "MOST_PERMITS_AT_ONCE"),
    ("discovery.md", r"not picked by this handle for (\d+ seconds)", "recipes/discovery/set_aside.rs", "ASIDE_FOR"),
    ("partitioner.md", r"There may be ([\d,]+) partitions", "recipes/partitioner/mod.rs", "MOST"),
    ("lock.md", r"less than (a second) between two times", "turn/session_line/watched_path.rs", "SOON"),
    ("guide.md", r"At most (\d+) threads of a process", "pool.rs", "MOST"),
    ("guide.md", r"up to (\d+) states wait for it", "session/state.rs", "MOST_UNTOLD"),
    ("guide.md", r"The first call comes after (a second)", "recipes/wait_progress.rs", "FIRST"),
    ("guide.md", r"in the end once (a minute)", "recipes/wait_progress.rs", "RARELY"),
    ("guide.md", r"Of the log ([\d,]+) records wait", "drive/log.rs", "BACKLOG"),
    ("guide.md", r"records wait \(([\d,]+) before a subscriber", "log.rs", "MOST_UNSAID"),
    ("observability.md", r"a queue of (\d+) \(", "drive/log.rs", "BACKLOG"),
    ("observability.md", r"subscriber of `tracing` ([\d,]+) wait", "log.rs", "MOST_UNSAID"),
    ("observability.md", r"a callback took longer than (a second);", "session/delivery.rs", "SLOW"),
    ("production.md", r"first after a tenth of (a second),", "session/wire/machine/looking.rs", "SHORTEST * 10"),
    ("production.md", r"at last once (a minute)", "session/wire/machine/looking.rs", "LONGEST"),
]  # fmt: skip


def said(page: str, pattern: str) -> float:
    """What a page says, in seconds if it is a time."""
    text = re.sub(r"\s+", " ", (ROOT / "docs" / page).read_text())
    found = re.findall(pattern, text)
    assert len(found) == 1, f"{page}: {pattern}: {found}"
    number, unit = re.fullmatch(r"([\d.,]+|half a|[a-z]+)(?: ([a-z]+))?", found[0]).groups("")  # type: ignore[union-attr]
    value = WORDS[number] if number in WORDS else float(number.replace(",", ""))
    return value * UNITS[unit]


def constant(path: str, name: str) -> float:
    """What a source says; products of numbers, and times."""
    name, _, times = name.partition(" * ")
    (value,) = re.findall(rf"const {name}: \w+ = (.*?);", (CORE / path).read_text())
    scale = 0.001 if "from_millis" in value else 1.0
    factors = re.sub(r"Duration::from_\w+\((.*)\)", r"\1", value).replace("_", "").split(" * ")
    total = scale * float(times or 1)
    for factor in factors:
        total *= float(factor)
    return total


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number[0]}-{number[3]}")
def test_a_number_of_a_page_is_that_of_the_sources(number: tuple[str, str, str, str]) -> None:
    page, pattern, path, name = number
    assert said(page, pattern) == pytest.approx(constant(path, name))


def test_attempts_take_as_long_as_the_page_says() -> None:
    attempts = tomllib.loads((ROOT / "api/queue.toml").read_text())["option"]["max_attempts"]["default"]
    assert said("queues.md", r"After (\d+) attempts it goes to the dead letters") == attempts
    first, longest = (constant("recipes/queue/claim.rs", name) for name in ("FIRST_PAUSE", "LONGEST_PAUSE"))
    pauses = sum(min(first * 2**nth, longest) for nth in range(attempts - 1))
    assert said("queues.md", r"which takes (\d+ minutes)") == 60 * ceil(pauses / 60)


@pytest.mark.parametrize(
    ("page", "pattern", "file", "option"),
    [
        ("production.md", r"\*\*(\d+ seconds)\*\*, the default", "client", "session_timeout"),
        ("partitioner.md", r"After `drain`, (\d+ seconds) unless you say", "partitioner", "drain"),
        ("queues.md", r"within the `key_window`, (ten minutes) unless told", "queue", "key_window"),
    ],
)
def test_a_default_of_a_page_is_that_of_the_description(page: str, pattern: str, file: str, option: str) -> None:
    described = tomllib.loads((ROOT / f"api/{file}.toml").read_text())["option"][option]
    assert said(page, pattern) == described["default"] / 1000


def runs(server: str) -> tuple[int, int]:
    """How many scenarios are played on a server, and how many there are."""
    words = [str(ROOT / "target/debug/scenarios"), "--lang", "rust", "--server", server, "--list"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = re.fullmatch(r"(\d+) runs of (\d+) scenarios", told.splitlines()[-1])
    assert found, told
    return int(found[1]), int(found[2])


@pytest.mark.parametrize(
    ("row", "servers"),
    [
        (r"\| ZooKeeper 3.5.*?\| (\d+) on each \|", [f"zookeeper-3.{minor}" for minor in range(5, 10)]),
        (r"\| an ensemble of three, 3.9.5 \| (\d+):", ["ensemble-3.9"]),
        (r"\| the embedded server, as 3.9.5 \| (\d+) \|", ["embedded"]),
        (r"\| the same as ClickHouse Keeper 26.8 \| (\d+) \|", ["clickhouse"]),
        (r"\| the same as RaftKeeper \| (\d+) \|", ["raftkeeper"]),
    ],
)
def test_as_many_scenarios_are_played_as_the_page_says(row: str, servers: list[str]) -> None:
    """About: not each new one is to be counted on the page."""
    for server in servers:
        played, all_ = runs(server)
        assert said("support.md", row) == pytest.approx(100 * played / all_, abs=2), server
        more_than = said("support.md", r"written down once, as more than (\d+) scenarios")
        assert more_than < all_ < more_than + 50
