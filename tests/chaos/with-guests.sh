#!/usr/bin/env bash
# Runs a command whose environment says where the guests of a run are, kazoo's Python and Curator's jars, which are fetched if they
# are not there yet.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

ZKR_KAZOO_PYTHON=$("$here/../interop/environment.sh")
ZKR_CURATOR_JARS=$(python "$here/../interop/peers.py" curator)
export ZKR_KAZOO_PYTHON ZKR_CURATOR_JARS
exec "$@"
