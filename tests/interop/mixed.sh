#!/usr/bin/env bash
# Everybody on one path at once, in Rust, C, Python, asyncio, Node, Curator and kazoo, on real ZooKeeper.
#
#   tests/interop/mixed.sh                   10 seconds
#   tests/interop/mixed.sh --seconds 60      longer; --help says what else
#   tests/interop/mixed.sh --on semaphore    two permits, with Curator (kazoo-semaphore: with kazoo)
set -euo pipefail
cd "$(dirname "$0")"

exec "$(./environment.sh)" mixed.py "$@"
