#!/bin/sh
# Writes what is derived anew: the functions of the verbs in api/, their members of C++, include/zkrecipes.h.
set -eu
cd "$(dirname "$0")/.."
python3 api/generate
ZKR_UPDATE_HEADER=1 cargo test --quiet -p zkrecipes-ffi --test header
