#!/usr/bin/env bash
# Very many at once on real ZooKeeper, while processes and servers fail; README.md says what there is.
#
#   run.sh elections|queues ARGUMENT…
set -euo pipefail
cd "$(dirname "$0")"

exec "$(../interop/environment.sh)" "${1:?elections or queues}.py" "${@:2}"
