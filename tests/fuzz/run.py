#!/usr/bin/env python3
"""libFuzzer over what takes bytes from outside: names of nodes, connect strings, items, instances, what a server sends.

    tests/fuzz/run.py                            a minute for each target
    tests/fuzz/run.py --minutes 10 machine       ten for one
    tests/fuzz/run.py --keep                     what reaches more than what was kept, is kept from now on
    tests/fuzz/run.py calls                      the functions of C alone (see calls.py)

The targets are those of core/src/fuzzing.rs. An input that breaks a promise ends the run, and is printed as a line to
be added to corpus/TARGET.txt, once it is mended: a test of the core plays all of those lines.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = ROOT / "target" / "fuzz"
CORPUS = HERE / "corpus"
# What libFuzzer learns by; stable Rust has these flags, but for the address sanitizer, which safe code does not need.
COVERAGE = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
]
LONGEST = 1024
MOST_KEPT = 150


def build() -> Path:
    host = re.search(r"host: (\S+)", subprocess.check_output(["rustc", "-vV"], text=True))[1]
    env = {**os.environ, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(COVERAGE)}
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--target", host, "--target-dir", OUT]
    subprocess.run([*command, "--manifest-path", HERE / "Cargo.toml"], env=env, check=True)
    return OUT / host / "release" / "fuzz"


def unpacked(target: str) -> Path:
    folder = OUT / "corpus" / target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, line in enumerate((CORPUS / f"{target}.txt").read_text().split("\n")[:-1]):
        (folder / f"kept-{number}").write_bytes(bytes.fromhex(line))
    return folder


def fuzz(binary: Path, target: str, seconds: int, keep: bool) -> bool:
    folder, found = unpacked(target), OUT / f"{target}-"
    env = {**os.environ, "ZKR_FUZZ": target, "RUST_BACKTRACE": "1"}
    limits = ["-timeout=10", "-rss_limit_mb=1024", f"-max_len={LONGEST}", f"-artifact_prefix={found}"]
    command = [binary, folder, f"-max_total_time={seconds}", "-print_final_stats=1", *limits]
    done = subprocess.run(command, env=env, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    runs = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    reached = re.findall(r"cov: (\d+)", done.stderr)
    kept = len(list(folder.glob("kept-*")))
    if done.returncode != 0 or not runs or not reached:
        print(done.stderr[-6000:])
        broken = re.search(r"Test unit written to (\S+)", done.stderr)
        print(f"{target}: broken; a line for tests/fuzz/corpus/{target}.txt, once it is mended:")
        print(Path(broken[1]).read_bytes().hex() if broken else "(none: it did not run)")
        return False
    print(
        f"{target:12} {int(runs[1]):>10} inputs in {seconds} s, {reached[-1]:>5} places reached, {kept} inputs kept",
        flush=True,
    )
    if keep:
        keep_least(binary, target, folder, env)
    return True


def keep_least(binary: Path, target: str, folder: Path, env: dict[str, str]) -> None:
    """Of what reaches the same places the least, and of that short and long ones."""
    least = OUT / "least"
    shutil.rmtree(least, ignore_errors=True)
    least.mkdir()
    command = [binary, "-set_cover_merge=1", f"-max_len={LONGEST}", least, folder]
    subprocess.run(command, env=env, stderr=subprocess.DEVNULL, check=True)
    found = sorted({path.read_bytes().hex() for path in least.iterdir()}, key=lambda line: (len(line), line))
    step = max(1, -(-len(found) // MOST_KEPT))
    (CORPUS / f"{target}.txt").write_text("".join(f"{line}\n" for line in found[::step]))


def calls(seconds: int) -> bool:
    """The functions of C."""
    place = ROOT / "target" / "fuzz" / "prefix"
    subprocess.run([ROOT / "ffi/install.sh", f"PREFIX={place}", "PROFILE=dev"], stdout=subprocess.DEVNULL, check=True)
    command = [HERE / "calls.py", f"--seconds={seconds}", "--library", place / "lib/libzkrecipes.so"]
    return subprocess.run(command, check=False).returncode == 0


def main() -> int:
    known = [*sorted(path.stem for path in CORPUS.glob("*.txt")), "calls"]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"some of {', '.join(known)}; all of them unless told"
    )
    parser.add_argument("--minutes", type=float, default=1, help="for each target (1)")
    parser.add_argument("--keep", action="store_true", help="writes what reaches more into the corpus")
    args = parser.parse_args()
    if unknown := set(args.targets) - set(known):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    targets, seconds = args.targets or known, max(1, round(60 * args.minutes))
    binary = build() if targets != ["calls"] else None
    good = [calls(seconds) if target == "calls" else fuzz(binary, target, seconds, args.keep) for target in targets]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
