#!/bin/sh
# Writes include/zkrecipes.h anew from the sources of this crate.
set -eu
cd "$(dirname "$0")/.."
ZKR_UPDATE_HEADER=1 cargo test --quiet -p zkrecipes-ffi --test header
