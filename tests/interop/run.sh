#!/usr/bin/env bash
# Everybody else's clients and recipes, on our server and together with our locks. Fetches and builds what it needs.
#
#   tests/interop/run.sh                       on the embedded server and on real ZooKeeper, at the same time
#   tests/interop/run.sh --server embedded     on that one only (or: real)
#   tests/interop/run.sh -k curator            what pytest selects by that, on one server after the other
set -euo pipefail
cd "$(dirname "$0")"

python=$(./environment.sh)
[ $# -gt 0 ] || exec "$python" both.py
exec "$python" -m pytest -q -p no:cacheprovider "$@"
