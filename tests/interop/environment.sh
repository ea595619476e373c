#!/usr/bin/env bash
# Prints the Python that has kazoo and pytest, after making it if need be.
set -euo pipefail
cd "$(dirname "$0")"

venv=$(realpath -m "${ZKRECIPES_CACHE:-../../.cache}/interop/venv")
if ! cmp -s requirements.txt "$venv/requirements.txt"; then
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
    cp requirements.txt "$venv/requirements.txt"
fi >&2
printf '%s\n' "$venv/bin/python"
