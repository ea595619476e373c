#!/bin/sh
# Measures the embedded server as it is released: pipelined creates a second, memory for each of a thousand sessions
# that watch, and how long it takes to start. Fails beyond the limits.
set -eu
cd "$(dirname "$0")/../.."
cargo test --release --package zkrecipes-embedded --test capacity -- --nocapture --test-threads=1 |
    grep -E 'creates/s|bytes for|started in|^test result'
