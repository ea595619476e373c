"""The default time limits are the core's, wherever a language has to write them down itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OPTIONS = ["session_timeout", "connect_timeout"]


def milliseconds(path: str, pattern: str) -> int:
    """The one number that the pattern finds in a file."""
    found = re.findall(pattern, (ROOT / path).read_text())
    assert len(found) == 1, f"{path}: {pattern} is there {len(found)} times"
    return int(re.sub(r"[_,']", "", found[0]))


def written(option: str) -> dict[str, int]:
    before = r"\d+, " * OPTIONS.index(option)
    camel = option.replace("_t", "T")
    python = r'"""Seconds [^"]*; (\d+) by default\."""'
    return {
        "C": milliseconds("ffi/src/options.rs", rf"{option}_ms: ([\d_]+),"),
        "C's macro": milliseconds("include/zkrecipes.h", rf"sizeof\(zkr_options\), {before}(\d+)"),
        "C++": milliseconds("include/zkrecipes.hpp", rf"Milliseconds {option}\{{([\d']+)\}}"),
        "C's header": milliseconds("include/zkrecipes.h", rf"\(([\d,]+)\)[^*]*\*/\s*int64_t {option}_ms"),
        "Node": milliseconds("node/lib/client.d.cts", rf"([\d,]+) unless told\. \*/\s*{camel}\?"),
        "Python": 1000 * milliseconds("python/zkrecipes/_values.py", rf"{option}: float \| None\s*{python}"),
    }


@pytest.mark.parametrize("option", OPTIONS)
def test_a_time_limit_has_one_default(option: str) -> None:
    core = 1000 * milliseconds("core/src/options.rs", rf"{option}: Duration::from_secs\((\d+)\),")
    assert written(option) == dict.fromkeys(written(option), core)
