#!/usr/bin/env bash
# What is for other systems compiles there: tests/elsewhere/targets.sh [TARGET…]
#
# rustup has the standard library of each target, zig a C compiler, the headers and a linker for it. For macOS the command
# and the library for C are linked, and nothing is run: that is left to the machines of the workflows.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

read -ra crates < <(printf -- '--package %s ' zkrecipes zkrecipes-embedded zkrecipes-python zkrecipes-node zkrecipes-cli zkrecipes-ffi zkrecipes-ffi-testing)

[ $# -gt 0 ] || set -- aarch64-apple-darwin
place=$(mktemp -d "${TMPDIR:-/tmp}/zkrecipes-targets.XXXXXX")
trap 'rm -rf "$place"' EXIT
touch "$place/libnode.dll"
status=0
for target in "$@"; do
    rustup target add "$target" 2>/dev/null || {
        echo "FAILED $target: rustup cannot add it"
        status=1
        continue
    }
    # Python's extension is compiled without a Python of that system, Node's without its library, for which there has to be a file.
    if PYO3_CROSS_PYTHON_VERSION=3.10 LIBNODE_PATH=$place scripts/portable cargo-zigbuild check --quiet --target "$target" "${crates[@]}"; then
        echo "ok     $target"
    else
        echo "FAILED $target"
        status=1
    fi
    case $target in
    *apple*)
        if scripts/portable cargo-zigbuild build --quiet --target "$target" --package zkrecipes-cli --package zkrecipes-ffi; then
            echo "ok     $target: the command and the library for C are linked"
        else
            echo "FAILED $target: the command and the library for C are linked"
            status=1
        fi
        ;;
    esac
done
exit "$status"
