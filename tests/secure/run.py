#!/usr/bin/env python3
"""TLS, SASL, credentials, and what logs and metrics tell, on real servers: the core in full, and each face once.

Starts what the tests need and names it in the environment:

    ZKR_SECURE_DIR          the certificates
    ZKR_SECURE_SECRET       the password of the user "me": whatever a test says, that is not in it, nor is a private key
    ZKR_SECURE_TLS_39       an ensemble of three that asks for certificates
    ZKR_SECURE_TLS_38       one server that takes clients without
    ZKR_SECURE_EXPIRED, _ELSEWHERE, _ALONE
                            servers with a bad certificate
    ZKR_SECURE_PLAIN_38, _39
                            ports without TLS
    ZKR_SECURE_OPEN         a server that knows no users

    ZKR_HOSTS               one server without TLS: a partition is to be told from logs and metrics there, too

    tests/secure/run.py [NAME…]     core, c, static, cpp, python, aio, node, command, shapes, night-core, night-c,
                                    night-python, night-node; all if none is named
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "zookeeper"))

import certificates  # noqa: E402
from zookeeper import Ensemble, Secure, start_all  # noqa: E402

# Nobody says that by chance.
SECRET = "planted-hunter2"
FACES = ("c", "static", "cpp", "python", "aio", "node", "command")
# What these print when the tests that are named by a pattern were there and ran. Without any they would be content.
RAN = {
    "shapes": r"^[1-9]\d* passed, 0 failed$",
    "night-core": r"^test result: ok\. [1-9]\d* passed",
    "night-c": r"^[1-9]\d* passed, 0 failed$",
    "night-node": r"^# pass [1-9]",
}
USERS = (f"me={SECRET}", "you=other")


def start(folder: Path) -> tuple[list[Ensemble], dict[str, str]]:
    several = {
        # The second shows a chain, and has a key of RSA.
        "39": Ensemble("3.9", 3, secure=Secure(folder, ("server", "chained"), "need", USERS)),
        "38": Ensemble("3.8", 1, secure=Secure(folder, users=USERS)),
    }
    bad = {
        name.upper(): Ensemble("3.9", 1, secure=Secure(folder, certificates=[name]))
        for name in ("expired", "elsewhere", "alone")
    }
    ensembles = [*several.values(), *bad.values()]
    start_all(ensembles)
    names = {"DIR": str(folder)}
    for version, ensemble in several.items():
        names[f"TLS_{version}"] = ensemble.secure_connect_string
        names[f"PLAIN_{version}"] = ensemble.connect_string
    names["OPEN"] = bad["ALONE"].connect_string
    names |= {name: ensemble.secure_connect_string for name, ensemble in bad.items()}
    return ensembles, {f"ZKR_SECURE_{name}": value for name, value in names.items()}


def commands(place: Path) -> dict[str, list[str]]:
    """What there is to run; what is compiled goes to `place`."""
    profile = os.environ.get("ZKR_PROFILE", "dev")
    built = ROOT / "target" / ("debug" if profile == "dev" else profile)
    # With the second package the first is the one that the faces are built with.
    packages = "-p zkrecipes -p zkrecipes-ffi-testing"
    core = f"cargo test --quiet --no-fail-fast --profile {profile} {packages} --test".split()
    (place / "libzkrecipes.so.0").symlink_to(built / "libzkrecipes_c.so")
    here, include = HERE.relative_to(ROOT), f"-I{ROOT / 'include'}"
    shared = ["-Wall", "-Wextra", "-Werror", include, f"-L{built}", f"-Wl,-rpath,{place}", "-lzkrecipes_c"]
    static = [include, f"{built}/libzkrecipes_c.a", "-lpthread", "-lm", "-ldl"]

    # The testing kit's library is one of its own.
    (place / "libzkrecipes_testing.so.0").symlink_to(built / "libzkrecipes_testing_c.so")
    kit = ["-std=c11", "-D_GNU_SOURCE", *shared, "-lzkrecipes_testing_c", "-pthread", "-lm"]
    night, pytest = shlex.quote(str(place / "night")), [sys.executable, "-m", "pytest", "-q", "--rootdir=python"]

    def compiled(name: str, compiler: str, source: str, flags: list[str]) -> list[str]:
        program = str(place / name)
        return ["sh", "-c", shlex.join([compiler, "-o", program, f"{here}/{source}", *flags]) + f" && {program}"]

    return {
        "core": [*core, "session", "--test", "processes", "--", "tls::", "secrets::"],
        "c": compiled("c", "cc", "face.c", shared),
        "static": compiled("static", "cc", "face.c", static),
        "cpp": compiled("cpp", "c++", "face.cpp", ["-std=c++17", *shared]),
        "python": [sys.executable, f"{here}/face.py"],
        "aio": [sys.executable, f"{here}/face.py", "aio"],
        "node": ["node", f"{here}/face.mjs"],
        "command": [f"{here}/command.sh", f"{built}/zkrecipes"],
        "shapes": [sys.executable, f"{here}/shapes.py"],
        "night-core": [*core, "logs", "--", "on_real_servers"],
        "night-c": ["sh", "-c", f"cc -o {night} tests/c/*.c {shlex.join(kit)} && {night} told_from_logs"],
        "night-python": [*pytest, "-k", "zookeeper and partition", "python/tests/test_observability.py"],
        "night-node": [
            "node",
            "--test",
            "--test-reporter=tap",
            "--test-name-pattern=partition.*real",
            "node/test/observability.test.mjs",
        ],
    }


def keeps(secret: str, said: str) -> bool:
    """Whether nothing that was said contains the secret, or a line of it."""
    lines = [line for line in secret.splitlines() if "-----" not in line]
    return not any(line in said for line in lines)


def main() -> int:
    failed = []
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder = certificates.make(place / "certificates")
        ensembles, names = start(folder)
        for ensemble in ensembles:
            stack.callback(ensemble.close)
        names |= {"ZKR_HOSTS": names["ZKR_SECURE_PLAIN_39"].split(",")[0]}
        # Everything that there is to say.
        names |= {"ZKRECIPES_LOG": "trace"}
        names |= {"ZKR_SECURE_SECRET": SECRET, "PYTHONPATH": str(ROOT / "python")}
        secrets = [SECRET, *(key.read_text() for key in folder.glob("*.key"))]
        known = commands(place)
        for name in sys.argv[1:] or list(known):
            begun = time.monotonic()
            done = subprocess.run(
                known[name],
                cwd=ROOT,
                env=os.environ | names | ({"ZKRECIPES_FORBID_EMBEDDED": "1"} if name in FACES else {}),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            is_kept = all(keeps(secret, done.stdout) for secret in secrets)
            # The faces log all they can: what nobody says is kept by anybody.
            is_said = name not in FACES or "connected to ZooKeeper" in done.stdout
            has_run = bool(re.search(RAN.get(name, ""), done.stdout, re.MULTILINE))
            outcome = "ok" if done.returncode == 0 and is_kept and is_said and has_run else "FAILED"
            if outcome == "FAILED":
                failed.append(name)
                print(done.stdout)
            print(
                f"{name}: {outcome}, {time.monotonic() - begun:.1f} s"
                f"{'' if is_kept else '; it told a secret'}{'' if is_said else '; it said nothing'}"
                f"{'' if has_run else '; none of its tests has run'}",
                flush=True,
            )
    if failed:
        print(f"FAILED: {' '.join(failed)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
