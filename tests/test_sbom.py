"""The bills of materials: each artefact has what it is built with, and not what only another one wants."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def test_a_bill_lists_what_its_artefact_is_built_with(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts/sbom.py", tmp_path], check=True, capture_output=True)
    bills: dict[str, Any] = {file.name.split(".")[0]: json.loads(file.read_text()) for file in tmp_path.iterdir()}
    assert set(bills) == {"libzkrecipes", "libzkrecipes_testing", "wheel", "npm", "command"}
    names = {name: {component["name"] for component in bill["components"]} for name, bill in bills.items()}
    # Who runs in production has no server in memory, unless the package brings the testing kit.
    assert {name for name in bills if "zkrecipes-embedded" in names[name]} == {"libzkrecipes_testing", "wheel", "npm"}
    # The package brings the command.
    assert "clap" in names["npm"]
    assert "clap" not in names["libzkrecipes"]
    # It only builds.
    assert all("zookeeper-client" in each and "cc" not in each for each in names.values())
    for bill in bills.values():
        assert all(component["licenses"][0]["expression"] for component in bill["components"])
        assert all("hashes" in component for component in bill["components"] if "purl" in component)
