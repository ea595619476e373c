"""What a release is made by: no job that publishes builds anything, and what is fetched is what was looked at."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest
import tomllib
import yaml

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PUBLISHES = {"crates": "--publish-crates", "npm": "--publish-npm", "python": "gh-action-pypi-publish"}


def jobs() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    return found


def steps(job: dict[str, Any]) -> str:
    return json.dumps(job["steps"])


def test_actions_are_pinned_by_commit() -> None:
    used = [use for path in WORKFLOWS for use in re.findall(r"uses: (.*)", path.read_text())]
    assert used
    for use in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use), use


def test_each_registry_has_a_job_of_its_own_that_builds_nothing() -> None:
    all_of = jobs()
    for name, publishes in PUBLISHES.items():
        job = all_of[name]
        assert publishes in steps(job), name
        assert [other for other in PUBLISHES.values() if other in steps(job)] == [publishes]
        assert job["permissions"] == {"contents": "read", "id-token": "write"}
        assert job["environment"] == name
        assert "scripts/dist" not in steps(job)
        assert "npm ci" not in steps(job)
        assert "cargo " not in steps(job)
    for name, job in all_of.items():
        if name not in (*PUBLISHES, "page"):
            assert "permissions" not in job, f"{name} builds, and has no rights"
    page = all_of["page"]
    assert page["permissions"] == {"contents": "write", "id-token": "write", "attestations": "write"}
    attached = re.search(r"target/dist/\{([\w,-]+)\}", steps(page))
    assert attached is not None
    for folder in attached[1].split(","):
        assert f"target/dist/{folder}/*" in steps(page), f"{folder} is attached and not attested"


def test_what_publishes_runs_no_scripts() -> None:
    text = (ROOT / "scripts/release").read_text()
    assert '"cargo", "publish", "--locked", "--no-verify"' in text
    assert '"npm", "publish", "--ignore-scripts"' in text


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("scripts/dist", "maturin build --locked"),
        ("scripts/release", '"cargo", "package", "--locked"'),
        ("node/scripts/build.mjs", "'--locked'"),
        ("cli/install.sh", "build --locked"),
        ("ffi/install.sh", "build --locked"),
    ],
)
def test_what_is_released_is_built_of_what_is_locked(script: str, words: str) -> None:
    assert words in (ROOT / script).read_text()


def test_all_targets_are_audited() -> None:
    platforms = json.loads((ROOT / "node/platforms.json").read_text())
    audited = tomllib.loads((ROOT / "deny.toml").read_text())["graph"]["targets"]
    assert sorted(audited) == sorted(platform["target"] for platform in platforms.values())


def test_pip_installs_only_what_has_hashes_or_was_made_here() -> None:
    command = ["git", "grep", "-n", "-e", "-m pip install", "--", "scripts", "tests/*.sh", ".ci", ".github"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(found) > 5
    without = [line for line in found if "--require-hashes" not in line and "--no-index" not in line]
    # The source distribution, as somebody builds it for whom there is no wheel.
    assert [line.split(":")[0] for line in without] == ["tests/elsewhere/run.sh"], without


def test_what_pip_installs_has_hashes() -> None:
    listed = subprocess.run(["git", "ls-files", "*requirements*"], cwd=ROOT, check=True, capture_output=True, text=True)
    wanted = [ROOT / name for name in listed.stdout.split() if name.endswith(".in")]
    assert wanted
    for asked in wanted:
        locked = asked.with_suffix(".txt").read_text()
        packages = [block for block in re.split(r"\n(?=\S)", locked) if block and not block.startswith("#")]
        assert packages, asked
        assert all("--hash=sha256:" in block for block in packages), asked
        names = {re.split(r"[=\[ ]", block)[0].lower().replace("_", "-") for block in packages}
        for line in asked.read_text().splitlines():
            name = re.split(r"[<>=\[ ]", line)[0].lower().replace("_", "-")
            assert not name or name.startswith("#") or name in names, f"{line} of {asked}: scripts/requirements"


def script(name: str) -> Any:
    loader = SourceFileLoader(name, str(ROOT / "scripts" / name))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Where a dataclass looks for the types of its fields.
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def release() -> Any:
    return script("release")


def test_a_public_name_that_goes_is_noticed() -> None:
    now = (ROOT / "tests/surface.txt").read_text()
    gone = release().gone
    assert gone(now, now) == []
    row = next(line for line in now.splitlines() if line.startswith("Backlog.purge "))
    assert {"rust: Backlog::purge", "node: Backlog.purge"} < set(gone(now, now.replace(row + "\n", "")))
    # In one language alone.
    alone = row.rstrip().removesuffix(".") + "-inherited"
    assert [name.split(":")[0] for name in gone(now, now.replace(row, alone))] == ["node"]
    # What comes is no loss.
    assert gone(now.replace(row + "\n", ""), now) == []


def test_what_a_program_of_c_calls_is_noticed_when_it_goes() -> None:
    declared = release().declared
    for name in ("zkrecipes", "zkrecipes_testing"):
        header = (ROOT / f"include/{name}.h").read_text()
        before = declared(header)
        assert len(before) > 40
        # What is said of a function, and what comes, is no loss.
        assert before <= declared("/* A word more. */\n" + header + "\nvoid zkr_later(int32_t answer);\n")
    without = re.sub(r"\nzkr_status zkr_lock_release\([^;]*;", "", header := (ROOT / "include/zkrecipes.h").read_text())
    assert without != header
    assert [one.split("(")[0] for one in declared(header) - declared(without)] == ["zkr_status zkr_lock_release"]
    # Nor may a type become another one, a field go elsewhere, or a constant become another number.
    changed = re.sub(r"(zkr_lock_acquire\(zkr_lock \*lock,\s+)int64_t", r"\1int32_t", header)
    assert [one.split("(")[0] for one in declared(header) - declared(changed)] == ["zkr_status zkr_lock_acquire"]
    moved = re.sub(r"(typedef struct zkr_options \{)", r"\1 bool first;", header)
    assert {one.split(" ")[0] for one in declared(header) - declared(moved)} == {"zkr_options"}
    assert declared(header) - declared(re.sub(r"(\bZKR_LOST = )\d+", r"\g<1>99", header)) == {
        next(one for one in declared(header) if one.startswith("ZKR_LOST = "))
    }


def test_what_is_built_is_known_by_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    module, platforms = release(), json.loads((ROOT / "node/platforms.json").read_text())
    monkeypatch.setattr(module, "version", lambda: "1.2.0-rc.3")
    here = module.built_for("linux-arm64-gnu", platforms["linux-arm64-gnu"])
    # Each registry has its own way to write it.
    assert "npm/zkrecipes-linux-arm64-gnu-1.2.0-rc.3.tgz" in here
    assert "python/zkrecipes-1.2.0rc3-cp310-abi3-manylinux*_aarch64.whl" in here
    assert "python/zkrecipes-1.2.0rc3-cp314-cp314t-manylinux*_aarch64.whl" in here
    assert "deb/libzkrecipes0_1.2.0~rc.3_arm64.deb" in here
    assert "deb-debug/zkrecipes-dbgsym_1.2.0~rc.3_arm64.deb" in here
    assert module.comes_before()


def test_a_rehearsal_builds_and_tries_each_artefact_and_says_what_is_left() -> None:
    listed = subprocess.run([ROOT / "scripts/rehearse", "--list"], check=True, capture_output=True, text=True).stdout
    builds = (
        "scripts/setup",
        "scripts/dist",
        "dist source",
        "--built",
        "sbom",
        "audit",
        "--try-crates",
        "installed.sh",
    )
    for needed in (*builds, ".whl", ".tgz", ".deb"):
        assert needed in listed, needed
    # Each is installed where nothing else is, and takes a lock on a real server: the command has no other.
    by_step = dict(re.findall(r"^# \d+: (.*)\n((?:(?!# ).*\n)+)", listed, re.MULTILINE))
    alone = {what: command for what, command in by_step.items() if what.endswith(" alone")}
    assert len(alone) >= 3
    for what, command in alone.items():
        assert "zookeeper.py exec" in command, what
        assert "bin/zkrecipes" in command, what
        assert not re.search(r"bin/zkrecipes[^&]*embedded:", command), what
    for words in ("sign the tag", "registry"):
        assert words in listed.split("What only a person can do:")[1]
    subprocess.run(["bash", "-n", "-c", listed.split("\nWhat only")[0]], check=True)


def committed(root: Path) -> str:
    """A tree whose scripts/release is content, and its commit."""
    (root / "scripts").mkdir(parents=True)
    (root / "scripts/release").write_text("#!/bin/sh\ncat target/passed/*\n")
    (root / "scripts/release").chmod(0o755)
    author = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    for command in (["init", "--quiet"], ["add", "."], [*author, "commit", "--quiet", "--message", "All of it"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_rehearsal_that_failed_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    rehearse, root = script("rehearse"), tmp_path / "root"
    commit = committed(root)
    (root / "target/passed").mkdir(parents=True)
    (root / "target/passed/test-all").write_text(commit + "\n")
    (root / "target/passed/audit").write_text("another commit\n")
    wanted = [
        rehearse.Step("the first", "echo first >>../said"),
        rehearse.Step("the second", "test -e ../mended"),
        rehearse.Step("what needs the network", "false", is_told_later=True),
        rehearse.Step("the last, alone", 'test ! -e scripts && echo last >>"$CLONE"/../said', in_place=True),
    ]
    monkeypatch.setattr(rehearse, "ROOT", root)
    monkeypatch.setattr(rehearse, "platform", lambda: "linux-x64-gnu")
    monkeypatch.setattr(rehearse, "steps", lambda _: wanted)

    def run(*arguments: str) -> object:
        monkeypatch.setattr(sys, "argv", ["rehearse", *arguments])
        with pytest.raises(SystemExit) as ended:
            rehearse.main()
        return ended.value.code

    place = tmp_path / "place"
    assert f"--from 2 {place}" in str(run(str(place)))
    # It would be built anew, and not be what failed.
    assert "there already" in str(run(str(place)))
    assert run("--from", "2", str(tmp_path / "another")) == 2
    (place / "mended").touch()
    capfd.readouterr()
    assert run("--from", "2", str(place)) == 0
    assert (place / "said").read_text() == "first\nlast\n"
    said = capfd.readouterr().out
    assert re.search(r"^ +\d+ s  the second$", said, re.MULTILINE)
    assert "what needs the network: failed" in said
    assert "another commit" in said

    # Another version is another commit, of which the same has passed.
    def set_version(clone: Path, version: str) -> None:
        (clone / "VERSION").write_text(version)
        author = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
        subprocess.run(["git", "add", "VERSION"], cwd=clone, check=True)
        subprocess.run(["git", *author, "commit", "--quiet", "--message", version], cwd=clone, check=True)

    monkeypatch.setattr(rehearse, "set_version", set_version)
    other = tmp_path / "other"
    other.mkdir()
    (other / "mended").touch()
    assert run("--as", "0.2.0-rc.1", str(other)) == 0
    stamp = (other / "zkrecipes/target/passed/test-all").read_text().strip()
    assert stamp != commit
    assert stamp == rehearse.commit_of(other / "zkrecipes")
    assert (other / "zkrecipes/target/passed/audit").read_text() == "another commit\n"
