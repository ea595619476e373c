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
    platforms = json.loads((ROOT / "node/platforms.json").read_text())
    wanted = {f"{name}-{platform}" for name in ("wheel", "npm", "command") for platform in platforms}
    glibc = {platform for platform, about in platforms.items() if about.get("libc") == "glibc"}
    wanted |= {f"{name}-{platform}" for name in ("libzkrecipes", "libzkrecipes_testing") for platform in glibc}
    assert set(bills) == wanted - {"command-win32-x64"}
    names = {name: {component["name"] for component in bill["components"]} for name, bill in bills.items()}
    # Who runs in production has no server in memory, unless the package brings the testing kit.
    with_server = {name.split("-")[0] for name in bills if "zkrecipes-embedded" in names[name]}
    assert with_server == {"libzkrecipes_testing", "wheel", "npm"}
    # The package brings the command, where there is one.
    assert "clap" in names["npm-linux-x64-gnu"]
    assert "clap" not in names["npm-win32-x64"] | names["libzkrecipes-linux-x64-gnu"]
    # Each system has what only it needs.
    assert "windows-sys" in names["wheel-win32-x64"]
    assert "windows-sys" not in names["wheel-linux-arm64-musl"]
    # It only builds.
    assert all("rustls" in each and "cc" not in each for each in names.values())
    # A guest in Rust programs alone.
    assert not any({"zookeeper-client", "async-io", "async-net"} & each for each in names.values())
    for bill in bills.values():
        assert all(component["licenses"][0]["expression"] for component in bill["components"])
        assert all("hashes" in component for component in bill["components"] if "purl" in component)
