"""The recipes in packaging/ are true: their lists have what is installed, and what they run is there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGING = ROOT / "packaging"
SPEC = (PACKAGING / "rpm/zkrecipes.spec").read_text()
MACROS = {
    "%{_bindir}": "/usr/bin",
    "%{_datadir}": "/usr/share",
    "%{_includedir}": "/usr/include",
    "%{_libdir}": "/usr/lib64",
    "%{_mandir}": "/usr/share/man",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Where ffi/install.sh and cli/install.sh put their files. For what is built, files of the same names stand."""
    place = tmp_path_factory.mktemp("installed")
    built, stage = place / "target/debug", place / "stage"
    built.mkdir(parents=True)
    for name in ("libzkrecipes_c.a", "libzkrecipes_testing_c.a"):
        (built / name).touch()
    # It writes its pages itself.
    script(built / "zkrecipes", 'case $1 in man) mkdir -p "$2" && touch "$2/zkrecipes.1" "$2/zkrecipes-lock.1" ;; esac')
    script(place / "cc", 'while [ "$1" != -o ]; do shift; done; touch "$2"')
    environment = {
        **os.environ,
        "CARGO": "true",
        "CARGO_TARGET_DIR": str(place / "target"),
        "ZKR_CC": str(place / "cc"),
    }
    for part in ("ffi/install.sh", "cli/install.sh"):
        settings = ["PREFIX=/usr", f"DESTDIR={stage}", "PROFILE=dev"]
        if part.startswith("ffi"):
            settings.append("LIBDIR=/usr/lib64")
        subprocess.run([ROOT / part, *settings], env=environment, check=True, capture_output=True)
    found = (path for path in stage.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(f"/{path.relative_to(stage)}" for path in found)


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def listed() -> dict[str, list[str]]:
    """By package, the patterns of its files."""
    found: dict[str, list[str]] = {}
    for block in re.split(r"^%files", SPEC, flags=re.MULTILINE)[1:]:
        name, *lines = block.split("\n%changelog")[0].splitlines()
        patterns = [line for line in lines if line and not line.startswith(("%license", "%doc"))]
        for macro, path in MACROS.items():
            patterns = [pattern.replace(macro, path) for pattern in patterns]
        found[name.strip() or "zkrecipes"] = patterns
    return found


def fits(path: str, pattern: str) -> bool:
    return path.startswith(pattern) if pattern.endswith("/") else fnmatch(path, pattern)


def test_each_installed_file_is_in_one_package(installed: list[str]) -> None:
    packages = listed()
    assert len(packages) == 4
    assert len(installed) > 30
    for path in installed:
        of = [name for name, patterns in packages.items() if any(fits(path, pattern) for pattern in patterns)]
        # A link by which programs are built is no library that they load.
        assert len(of) == 1, f"{path}: in {of or 'no package'}"
    for name, patterns in packages.items():
        for pattern in patterns:
            assert any(fits(path, pattern) for path in installed), f"{name}: nothing is {pattern}"
    for path in re.findall(r"^%(?:license|doc) (.*)$", SPEC, re.MULTILINE):
        assert all((ROOT / one).exists() for one in path.split())


def test_what_the_recipes_run_is_there() -> None:
    recipes = [path for path in PACKAGING.rglob("*") if path.is_file()]
    assert len(recipes) > 8
    named = {
        name for path in recipes for name in re.findall(r"\b(?:ffi|cli)/install\.sh\b|\bscripts/\w+", path.read_text())
    }
    assert {"ffi/install.sh", "cli/install.sh", "scripts/dist"} <= named
    for name in named:
        assert os.access(ROOT / name, os.X_OK), name
    # Settings that no script knows would be refused there.
    for path in recipes:
        for part, words in re.findall(r"((?:ffi|cli)/install\.sh)((?:\"? *\"?[A-Z]+=\S+)+)", path.read_text()):
            for setting in re.findall(r"\b([A-Z]+)=", words):
                assert f"{setting}=*" in (ROOT / part).read_text(), f"{path.name}: {setting}"


def test_they_need_the_rust_that_is_needed() -> None:
    (wanted,) = re.findall(r'^rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert re.findall(r"^BuildRequires: +cargo >= (.*)$", SPEC, re.MULTILINE) == [wanted]
    assert f"Rust {wanted} or later" in (PACKAGING / "README.md").read_text()


def test_the_image_takes_what_is_built_for_musl() -> None:
    text = (PACKAGING / "container/Containerfile").read_text()
    platforms = json.loads((ROOT / "node/platforms.json").read_text())
    (archive,) = re.findall(r"^ADD (\S+)", text, re.MULTILINE)
    for cpu in ("x64", "arm64"):
        name = archive.replace("${VERSION}", "1.2.3").replace("${CPU}", cpu)
        (platform,) = re.findall(r"^zkrecipes-1\.2\.3-(.*)\.tar\.gz$", name)
        assert platforms[platform]["libc"] == "musl"
    assert "/command/zkrecipes-$version-$platform.tar.gz" in (ROOT / "scripts/dist").read_text()


def test_the_port_says_what_vcpkg_asks(tmp_path: Path) -> None:
    port = PACKAGING / "vcpkg/zkrecipes"
    about = json.loads((port / "vcpkg.json").read_text())
    assert about["name"] == port.name
    assert about["license"] == "Apache-2.0"
    if shutil.which("cmake") is None:
        pytest.skip("no cmake here")
    # As vcpkg reads it. What vcpkg brings along is told in place of being done.
    brings = ("vcpkg_execute_required_process", "vcpkg_fixup_pkgconfig", "vcpkg_install_copyright")
    stubs = [f'function({name})\nmessage(STATUS "{name} ${{ARGN}}")\nendfunction()' for name in brings]
    settings = ["set(CURRENT_PACKAGES_DIR /packages)", "set(TARGET_TRIPLET x64-linux)"]
    (tmp_path / "read.cmake").write_text("\n".join([*stubs, *settings, f'include("{port / "portfile.cmake"}")', ""]))
    read = subprocess.run(["cmake", "-P", tmp_path / "read.cmake"], check=True, capture_output=True, text=True)
    assert f"{brings[0]} COMMAND;{ROOT}/ffi/install.sh;PREFIX=/;DESTDIR=/packages;" in read.stdout
    assert f"{brings[2]} FILE_LIST;{ROOT}/LICENSE" in read.stdout


def test_the_formula_is_ruby() -> None:
    formula = PACKAGING / "homebrew/zkrecipes.rb"
    if shutil.which("ruby") is None:
        pytest.skip("no ruby here")
    subprocess.run(["ruby", "-wc", formula], check=True, capture_output=True)
