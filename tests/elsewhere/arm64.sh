#!/usr/bin/env bash
# What is for 64-bit ARM runs there, as qemu has that processor: with glibc the core's tests of locks, and a lock in C, Python, Node and by the
# command; with musl the core's tests of locks, and a lock in C and by the command.
#
#   tests/elsewhere/arm64.sh HOSTS     of a real ZooKeeper
#
# It is built here, as scripts/portable builds for old systems, by cargo's dev profile. Debian has the Python and the Node.
cd "$(dirname "$0")/../.." || exit
source tests/elsewhere/parts.sh

hosts=$1
export ZKR_PROFILE=dev ZKR_MACHINE=aarch64
place=$PWD/target/elsewhere/arm64
root=$place/root
target=${CARGO_TARGET_DIR:-$PWD/target}
gnu=aarch64-unknown-linux-gnu musl=aarch64-unknown-linux-musl
# A part of the core's tests that has all of it below: a processor in a processor is slow.
tests=(--test locks)
mkdir -p "$place"

qemu() { timeout 300 qemu-aarch64-static -L "$root" "$@"; }
zig_cc() { "$PWD/.cache/portable/bin/python" -m ziglang cc -O1 -Wall -Wextra -Werror -std=c11 -D_DEFAULT_SOURCE "$@"; }
# with_cargo TARGET ARGUMENT…
with_cargo() { scripts/portable cargo-zigbuild "$2" --quiet --target "$1" "${@:3}"; }

# Debian's packages for that processor, side by side with those of this machine: apt looks for them with a state of its own.
has_a_root() {
    local apt=$place/apt
    needs qemu-aarch64-static qemu-user-static
    [ ! -x "$root/usr/bin/node" ] || return 0
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$root"
    : >"$apt/status"
    cat >"$apt/apt.conf" <<EOF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Debug::NoLocking "true";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::State::extended_states "$apt/extended_states";
Dir::Cache "$apt";
Dir::Cache::archives "$apt/archives";
EOF
    APT_CONFIG=$apt/apt.conf apt-get --quiet --quiet update
    APT_CONFIG=$apt/apt.conf apt-get --quiet --quiet install --download-only --yes --no-install-recommends python3-minimal libpython3-stdlib nodejs
    local package
    for package in "$apt"/archives/*.deb; do dpkg -x "$package" "$root"; done
}

gnu_builds() {
    rustup target add $gnu $musl
    with_cargo $gnu.2.17 test --no-run --package zkrecipes "${tests[@]}"
    scripts/portable ffi/install.sh PREFIX="$place/prefix" PROFILE=dev
    scripts/portable node node/scripts/build.mjs >/dev/null
    (cd python && exec ../scripts/portable maturin build --locked --quiet --profile dev --target $gnu --zig --compatibility manylinux2014 --out "$place/wheel")
    zig_cc -target aarch64-linux-gnu.2.17 -I"$place/prefix/include" -o "$place/c" tests/elsewhere/lock.c -L"$place/prefix/lib" -lzkrecipes
    rm -rf "$place/site-packages" "$place/node_modules"
    python3 -m zipfile -e "$place"/wheel/zkrecipes-*-manylinux*_aarch64.whl "$place/site-packages"
    # What is native stands beside it, as in the package of a platform.
    mkdir -p "$place/node_modules"
    ln -s "$PWD/node" "$place/node_modules/zkrecipes"
    cp tests/elsewhere/lock.cjs "$place"
}
# It counts what happens within a time, and has the emulated processor for itself.
alone=a_session_watches_so_many_paths_and_no_more
# core TARGET
core() {
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64-static -L $root"
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER=qemu-aarch64-static
    with_cargo "$1" test --package zkrecipes "${tests[@]}" -- --skip $alone
    with_cargo "$1" test --package zkrecipes "${tests[@]}" -- $alone
}
gnu_c() {
    is_token "$(qemu -E LD_LIBRARY_PATH="$place/prefix/lib" "$place/c" "$1")"
    qemu -E LD_LIBRARY_PATH="$place/prefix/lib" "$place/c" "$1" exits
}
gnu_python() { PYTHONPATH=$place/site-packages qemu "$root/usr/bin/python3.11" tests/elsewhere/lock.py "$1"; }
gnu_node() { qemu "$root/usr/bin/node" "$place/lock.cjs" "$1"; }
# shellcheck disable=SC2016 # for the shell that has the lock, which is one of this machine
takes_a_lock() { "$@" --hosts "$hosts" lock /elsewhere/arm64 -- sh -c 'test "$ZKR_FENCING_TOKEN" -gt 0'; }
gnu_command() { takes_a_lock qemu node/native/linux-arm64-gnu/zkrecipes; }

musl_builds() {
    with_cargo $musl test --no-run --package zkrecipes "${tests[@]}"
    with_cargo $musl rustc --package zkrecipes-ffi --lib --crate-type staticlib
    scripts/portable --musl node node/scripts/build.mjs --command
    zig_cc -target aarch64-linux-musl -static -Iinclude -o "$place/c-musl" tests/elsewhere/lock.c "$target/$musl/debug/libzkrecipes_c.a" -lunwind
}
musl_c() {
    is_token "$(qemu-aarch64-static "$place/c-musl" "$hosts")"
    qemu-aarch64-static "$place/c-musl" "$hosts" exits
}
musl_command() { takes_a_lock qemu-aarch64-static node/native/linux-arm64-musl/zkrecipes; }

part 'arm64: qemu, Python and Node of Debian' has_a_root
$is_well || { table; exit 1; }
part 'arm64, glibc: everything builds' gnu_builds
if $is_well; then
    part "arm64, glibc: the core's tests of locks" core $gnu.2.17
    part 'arm64, glibc: a lock in C, on embedded:' gnu_c embedded:
    part 'arm64, glibc: a lock in C' gnu_c "$hosts"
    part 'arm64, glibc: a lock in Python, on embedded:' gnu_python embedded:
    part 'arm64, glibc: a lock in Python' gnu_python "$hosts"
    part 'arm64, glibc: a lock in Node, on embedded:' gnu_node embedded:
    part 'arm64, glibc: a lock in Node' gnu_node "$hosts"
    part 'arm64, glibc: a lock by the command' gnu_command
fi
part 'arm64, musl: everything builds' musl_builds
if $is_well; then
    part "arm64, musl: the core's tests of locks" core $musl
    part 'arm64, musl: a lock in C' musl_c
    part 'arm64, musl: a lock by the command' musl_command
fi
not_here 'arm64, musl: a lock in Python, in Node' 'Debian has neither with musl'
table
