"""Compilers that are asked once: of the same text they would say the same again, and that takes them seconds."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path


def asked(
    command: Iterable[object],
    inputs: Iterable[Path],
    kept: Path,
    product: Path | None = None,
    answers: Sequence[int] = (0,),
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """What it says of the inputs. An answer with one of these statuses is kept, as long as its product is there."""
    words = [str(word) for word in command]
    contents = (f"{path}\0".encode() + path.read_bytes() for path in inputs)
    # Of another compiler by the same name nothing is known.
    compiler = Path(shutil.which(words[0]) or words[0]).resolve()
    which = [str(compiler), str(compiler.stat().st_mtime_ns) if compiler.exists() else "", *words]
    state = hashlib.sha256("\0".join(which).encode() + b"\0".join(contents)).hexdigest()
    if kept.exists() and (product is None or product.exists()):
        known = json.loads(kept.read_text())
        if known["state"] == state:
            return subprocess.CompletedProcess(words, known["status"], known["stdout"], known["stderr"])
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode in answers:
        answer = {"state": state, "status": done.returncode, "stdout": done.stdout, "stderr": done.stderr}
        # In one step: another run may read it, and this one may be cut off.
        partial = kept.with_name(f"{kept.name}.{os.getpid()}")
        partial.write_text(json.dumps(answer))
        partial.replace(kept)
    return done
