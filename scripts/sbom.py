#!/usr/bin/env python3
"""Writes what each artefact is made of, in CycloneDX's format: sbom.py [FOLDER], by default target/sbom.

The artefacts have no dependencies but crates, which are linked in; Cargo.lock says which, with their checksums.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parent.parent
ARTEFACTS = {
    "libzkrecipes": "zkrecipes-ffi",
    "wheel": "zkrecipes-python",
    "npm": "zkrecipes-node",
    "command": "zkrecipes-cli",
}
Package = dict[str, Any]


def metadata() -> dict[str, Any]:
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    command += ["--filter-platform", "x86_64-unknown-linux-gnu"]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def linked(everything: dict[str, Any], crate: str) -> list[str]:
    """The ids of all that `crate` is linked with; what only builds or tests it is not, macros among it."""
    is_macro = {
        package["id"]: any("proc-macro" in target["kind"] for target in package["targets"])
        for package in everything["packages"]
    }
    nodes = {node["id"]: node for node in everything["resolve"]["nodes"]}
    (first,) = (package["id"] for package in everything["packages"] if package["name"] == crate)
    found, pending = {first}, [first]
    while pending:
        for dependency in nodes[pending.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_linked and not is_macro[dependency["pkg"]] and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                pending.append(dependency["pkg"])
    return [first, *sorted(found - {first})]


def component(package: Package, checksums: dict[tuple[str, str], str]) -> dict[str, Any]:
    name, version = package["name"], package["version"]
    described: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"{name}@{version}",
        "name": name,
        "version": version,
        "licenses": [{"expression": (package["license"] or "NOASSERTION").replace("/", " OR ")}],
    }
    if package["source"]:
        described["purl"] = f"pkg:cargo/{name}@{version}"
    if checksum := checksums.get((name, version)):
        described["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return described


def bill(everything: dict[str, Any], crate: str, checksums: dict[tuple[str, str], str]) -> dict[str, Any]:
    packages = {package["id"]: package for package in everything["packages"]}
    (first, *others) = (component(packages[each], checksums) for each in linked(everything, crate))
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([first, others]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": first},
        "components": others,
    }


def main() -> None:
    folder = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "target/sbom"
    folder.mkdir(parents=True, exist_ok=True)
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(one["name"], one["version"]): one["checksum"] for one in locked if "checksum" in one}
    everything = metadata()
    for name, crate in ARTEFACTS.items():
        file = folder / f"{name}.cdx.json"
        file.write_text(json.dumps(bill(everything, crate, checksums), indent=2) + "\n")
        print(f"{file}: {len(json.loads(file.read_text())['components'])} components")


if __name__ == "__main__":
    main()
