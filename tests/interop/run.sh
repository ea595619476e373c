#!/usr/bin/env bash
# Everybody else's clients and recipes, on our server and together with our locks. Fetches and builds what it needs.
#
#   tests/interop/run.sh                       on the embedded server and on real ZooKeeper
#   tests/interop/run.sh --server embedded     on that one only (or: real)
#   tests/interop/run.sh -k curator            what pytest selects by that
set -euo pipefail
cd "$(dirname "$0")"

exec "$(./environment.sh)" -m pytest -q -p no:cacheprovider "$@"
