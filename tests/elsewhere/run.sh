#!/usr/bin/env bash
# Packages for systems that this is not one of. Everything is built as it is released (scripts/dist), looked at by the tools of
# those who know what old systems have, installed where nothing else of ours is, and takes a lock on a real ZooKeeper.
#
#   tests/elsewhere/run.sh            all of it
#   tests/elsewhere/run.sh NAME…      only these, of what is built: see `all` below
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

cpu=$(uname -m)
platform=linux-$(node -p process.arch)
place=$PWD/target/elsewhere
mkdir -p "$place"
# What is shipped, whatever the other tests are built with.
export ZKR_PROFILE=release
unset VIRTUAL_ENV PYTHONPATH

passed=0 failed=0
check() {
    local begun=$SECONDS
    if (set -e && "$@") >"$place/$1.log" 2>&1; then
        passed=$((passed + 1)) && printf 'ok     %s (%d s)\n' "$1" $((SECONDS - begun))
    else
        failed=$((failed + 1)) && printf 'FAILED %s\n' "$1" && tail -n 40 "$place/$1.log" | sed 's/^/  /'
    fi
}
on_zookeeper() { tests/zookeeper/zookeeper.py exec 3.9 -- "$@"; }
tool() { ".cache/portable/bin/$1" "${@:2}"; }

# --- built, and for what

what_is_released_can_be_built() { scripts/dist "$platform-gnu"; }

# What a wheel's name promises is true: pip believes it. The tag may be that of a still older system.
wheel_is_for_manylinux2014() {
    tool auditwheel show target/dist/python/zkrecipes-*-manylinux*"$cpu".whl | tee "$place/wheel"
    tr '\n' ' ' <"$place/wheel" | grep -E "consistent with the following platform tag: \"(manylinux_2_([5-9]|1[0-7])|manylinux2014)_$cpu\""
}
wheel_keeps_the_stable_abi() { tool abi3audit --strict --verbose target/dist/python/zkrecipes-*-manylinux*"$cpu".whl; }

# --- the sources alone

crates_can_be_packed() {
    cargo package --quiet --no-verify --allow-dirty --package zkrecipes-embedded --package zkrecipes --package zkrecipes-cli
    # A crate has its licence and its page.
    tar -tzf target/package/zkrecipes-"$(scripts/version)".crate | grep -E '/(LICENSE|README.md)$' | sort | uniq | wc -l | grep -x 2
}

# --- installed

everything_takes_a_lock_here() { on_zookeeper tests/elsewhere/smoke.sh "$platform-gnu" {}; }

# --- other targets

# Where the standard library of a target can be had, everything that is for it compiles.
other_targets_compile() { tests/elsewhere/targets.sh; }

all=(what_is_released_can_be_built wheel_is_for_manylinux2014 wheel_keeps_the_stable_abi crates_can_be_packed
    everything_takes_a_lock_here other_targets_compile)
for name in "${@:-${all[@]}}"; do check "$name"; done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
