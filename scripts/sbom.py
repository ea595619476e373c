#!/usr/bin/env python3
"""Writes what each artefact is made of, in CycloneDX's format: sbom.py [FOLDER], by default target/sbom.

The artefacts have no dependencies but crates, which are linked in, on each system others. Cargo says which, with the
features that it is built with: in the whole workspace a crate has those that any other one wants. Cargo.lock has their
checksums. There is a file for each artefact and each platform for which it is released: wheel-linux-x64-gnu.cdx.json.
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
PLATFORMS: dict[str, dict[str, str]] = json.loads((ROOT / "node/platforms.json").read_text())
# Of what each consists: a crate, and those that cargo builds in the same run, which decide on its features, too.
ARTEFACTS: dict[str, list[tuple[str, list[str]]]] = {
    "libzkrecipes": [("zkrecipes-ffi", ["zkrecipes-ffi-testing"])],
    "libzkrecipes_testing": [("zkrecipes-ffi-testing", ["zkrecipes-ffi"])],
    "wheel": [("zkrecipes-python", [])],
    "npm": [("zkrecipes-node", []), ("zkrecipes-cli", [])],
    "command": [("zkrecipes-cli", [])],
}
# What is not built for every platform: the libraries come as Debian's packages, and npm has no command for Windows.
ONLY: dict[str, tuple[str, str]] = {
    "libzkrecipes": ("libc", "glibc"),
    "libzkrecipes_testing": ("libc", "glibc"),
}
Package = dict[str, Any]
# Name and version, and the features.
Linked = dict[tuple[str, str], set[str]]


def cargo(*arguments: str) -> str:
    command = ["cargo", *arguments, "--locked"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def linked(crate: str, beside: list[str], target: str) -> Linked:
    """All that `crate` is linked with, itself first; what only builds or tests it is not, macros among it."""
    wanted = [f"--package={each}" for each in (crate, *beside)]
    shape = ["--edges=normal,no-proc-macro", "--prefix=none", "--format={p}|{f}", f"--target={target}"]
    # A tree for each package, and each of them whole.
    trees = cargo("tree", "--no-dedupe", *wanted, *shape).strip().split("\n\n")
    (tree,) = (tree for tree in trees if tree.startswith(f"{crate} "))
    found: Linked = {}
    for line in tree.splitlines():
        package, features = line.split("|")
        name, version = package.split(" ")[:2]
        found.setdefault((name, version.removeprefix("v")), set()).update(filter(None, features.split(",")))
    (first, *others) = found
    return {one: found[one] for one in (first, *sorted(others))}


def component(package: Package, features: set[str], checksums: dict[tuple[str, str], str]) -> dict[str, Any]:
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
    if features:
        described["properties"] = [{"name": "cargo:features", "value": ",".join(sorted(features))}]
    if checksum := checksums.get((name, version)):
        described["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return described


def bill(
    builds: list[tuple[str, list[str]]],
    packages: dict[tuple[str, str], Package],
    checksums: dict[tuple[str, str], str],
    target: str,
) -> dict[str, Any]:
    found: Linked = {}
    for crate, beside in builds:
        for one, features in linked(crate, beside, target).items():
            found.setdefault(one, set()).update(features)
    (first, *others) = (component(packages[one], features, checksums) for one, features in found.items())
    first["properties"] = [*first.get("properties", []), {"name": "cargo:target", "value": target}]
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
    metadata = json.loads(cargo("metadata", "--format-version=1"))
    packages = {(package["name"], package["version"]): package for package in metadata["packages"]}
    for platform, about in PLATFORMS.items():
        for name, builds in artefacts_of(about).items():
            file = folder / f"{name}-{platform}.cdx.json"
            written = bill(builds, packages, checksums, about["target"])
            file.write_text(json.dumps(written, indent=2) + "\n")
            print(f"{file}: {len(written['components'])} components")


def artefacts_of(platform: dict[str, str]) -> dict[str, list[tuple[str, list[str]]]]:
    """Those that are released for it, each with the crates that are in it there."""
    found = {}
    for name, builds in ARTEFACTS.items():
        key, value = ONLY.get(name, ("os", platform["os"]))
        has_command = platform["os"] != "win32"
        built = [build for build in builds if has_command or build[0] != "zkrecipes-cli"]
        if platform.get(key) == value and built:
            found[name] = built
    return found


if __name__ == "__main__":
    main()
