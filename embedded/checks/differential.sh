#!/bin/sh
# Compares the embedded server with a real one, operation by operation.
#
#   embedded/checks/differential.sh [VERSION [OPERATIONS]]      default: 3.9 120000
#
# ZKRECIPES_SEED replays a run; each run prints its seed.
set -eu
cd "$(dirname "$0")/../.."
version=${1:-3.9}
cargo test --package zkrecipes-embedded --test differential --no-run
# A real server that reaps containers by its own clock would differ now and then.
JAVA_TOOL_OPTIONS=-Dznode.container.checkIntervalMs=100000000
export JAVA_TOOL_OPTIONS
exec python3 tests/zookeeper/zookeeper.py exec "$version" -- \
    env "ZKRECIPES_REAL={}" "ZKRECIPES_EMULATE=$version" "ZKRECIPES_OPS=${2:-120000}" RUST_TEST_NOCAPTURE=1 \
    cargo test --package zkrecipes-embedded --test differential
