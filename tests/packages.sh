#!/usr/bin/env bash
# Installs each package the way a user does, into an empty place, and takes a lock on a real ZooKeeper with it.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

place=$(mktemp -d "${TMPDIR:-/tmp}/zkrecipes-packages.XXXXXX")
trap 'rm -rf "$place"' EXIT

say() { printf 'packages: %s\n' "$*"; }

build_wheel() {
    say 'wheel into an empty environment'
    (cd python && maturin build --quiet --profile "${ZKR_PROFILE:-dev}" --out "$place/wheels")
    python3 -m venv "$place/venv"
    "$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index "$place"/wheels/zkrecipes-*.whl
    cat >"$place/python.py" <<'PY'
import importlib.metadata
import importlib.util
import sys

import zkrecipes

assert "site-packages" in zkrecipes.__file__, zkrecipes.__file__
(plugin,) = importlib.metadata.entry_points(group="pytest11")
assert importlib.util.find_spec(plugin.value), plugin
with zkrecipes.Client(sys.argv[1]) as client, client.lock("/packages/python") as held:
    assert held.is_held
    print("python", zkrecipes.__file__.split("/")[-2], held.fencing_token)
PY
}

build_npm() {
    say 'npm tarballs into an empty folder'
    mkdir "$place/node"
    (cd node && ZKR_PROFILE="${ZKR_PROFILE:-dev}" node scripts/build.mjs --package && node scripts/pack.mjs "$place/npm") >/dev/null
    (cd "$place/node" && npm init --yes >/dev/null && npm install --silent --no-audit --no-fund "$place"/npm/zkrecipes-*.tgz)
    say 'what npm gets, as bundlers, compilers and both kinds of modules resolve it'
    local tools=target/usage/node/node_modules/.bin
    $tools/publint run --strict "$place"/npm/zkrecipes-[0-9]*.tgz
    $tools/attw --format ascii "$place"/npm/zkrecipes-[0-9]*.tgz >"$place/attw" || { cat "$place/attw" && return 1; }
    cat >"$place/node/lock.mjs" <<'JS'
import { Client } from 'zkrecipes'
const client = await Client.connect(process.argv[2])
await client.lock('/packages/node').run((held) => console.log('node', held.isHeld, held.fencingToken))
await client.close()
JS
    cat >"$place/node/lock.cjs" <<'JS'
const { Client } = require('zkrecipes')
Client.connect(process.argv[2]).then(async (client) => {
  await client.lock('/packages/node').run((held) => console.log('node (require)', held.isHeld, held.fencingToken))
  await client.close()
})
JS
}

build_c() {
    say 'C, C++ and the command after make install'
    make install PREFIX="$place/prefix" PROFILE="${ZKR_PROFILE:-dev}" >/dev/null
    cat >"$place/lock.c" <<'C'
#include <stdio.h>
#include <zkrecipes.h>

int main(int argc, char **argv)
{
    zkr_error *error = NULL;
    zkr_client *client = NULL;
    zkr_lock *lock = NULL;
    zkr_options options = ZKR_OPTIONS_INIT;
    if (argc == 2 && zkr_client_connect(argv[1], &options, &client, &error) == ZKR_OK &&
        zkr_lock_new(client, "/packages/c", NULL, &lock, &error) == ZKR_OK &&
        zkr_lock_acquire(lock, 5000, NULL, &error) == ZKR_OK) {
        printf("c %llu\n", (unsigned long long)zkr_lock_fencing_token(lock));
        zkr_lock_release(lock, &error);
    }
    if (error != NULL)
        fprintf(stderr, "%s\n", zkr_error_message(error));
    int status = error != NULL;
    zkr_error_free(error);
    zkr_lock_free(lock);
    zkr_client_free(client);
    return status;
}
C
    cat >"$place/lock.cpp" <<'CPP'
#include <iostream>
#include <mutex>
#include <zkrecipes.hpp>

int main(int, char **argv)
{
    zkr::Client client(argv[1]);
    zkr::Lock lock = client.lock("/packages/cpp");
    std::lock_guard<zkr::Lock> guard(lock);
    std::cout << "c++ " << lock.fencing_token() << std::endl;
}
CPP
    export PKG_CONFIG_PATH="$place/prefix/lib/pkgconfig"
    # shellcheck disable=SC2046 # pkg-config's words are meant to be split
    cc -Wall -Wextra -Werror -o "$place/lock-c" "$place/lock.c" $(pkg-config --cflags --libs zkrecipes)
    # shellcheck disable=SC2046
    c++ -std=c++17 -Wall -Wextra -Werror -o "$place/lock-cpp" "$place/lock.cpp" $(pkg-config --cflags --libs zkrecipes)
}

build_crates() {
    say 'crates, packed, below a program outside the workspace'
    local version crates=(zkrecipes-protocol zkrecipes)
    version=$(scripts/version)
    # As they would be published; what they need of each other is taken from what is packed here, and not from a registry.
    cargo package --quiet --no-verify --allow-dirty --exclude-lockfile --target-dir "$place/packed" "${crates[@]/#/--package=}"
    # With the time of now, by which cargo knows what has changed.
    mkdir -p "$place/crates/rust/src"
    for crate in "${crates[@]}"; do tar -xzmf "$place/packed/package/$crate-$version.crate" -C "$place/crates"; done
    cat >"$place/crates/rust/Cargo.toml" <<TOML
[package]
name = "packed"
edition = "2024"

[dependencies]
libc = "0.2"
zkrecipes = "$version"

[patch.crates-io]
zkrecipes = { path = "../zkrecipes-$version" }
zkrecipes-protocol = { path = "../zkrecipes-protocol-$version" }

[workspace]
TOML
    cat >"$place/crates/rust/src/main.rs" <<'RUST'
use zkrecipes::blocking::Client;

fn take(hosts: &str) -> Result<(), zkrecipes::Error> {
    let client = Client::connect(hosts, Default::default())?;
    let held = client.lock("/packages/rust", Default::default())?.acquire()?;
    println!("rust (crate) {} {}", held.is_held(), held.fencing_token());
    held.release()?;
    client.close(None)
}

fn main() {
    let hosts = std::env::args().nth(1).expect("a connect string");
    take(&hosts).expect("a lock");
    // A child of a process that has connected can connect, too.
    match unsafe { libc::fork() } {
        0 => std::process::exit(i32::from(take(&hosts).is_err())),
        child => {
            let mut status = 0;
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0, "the child took no lock");
        }
    }
}
RUST
    # What was built is kept from one time to the next, in a place that stays: what has not changed is not compiled again.
    local kept=target/packed/crates
    if ! diff -rq -x Cargo.lock -x .cargo_vcs_info.json "$place/crates" $kept >/dev/null 2>&1; then
        rm -rf $kept
        mkdir -p target/packed
        mv "$place/crates" $kept
    fi
    # What was downloaded for this checkout is enough.
    cp Cargo.lock $kept/rust/Cargo.lock
    cargo build --quiet --offline --manifest-path $kept/rust/Cargo.toml --target-dir target/packed
    cp target/packed/debug/packed "$place/lock-rust"
    cargo tree --offline --manifest-path $kept/rust/Cargo.toml --edges normal --prefix none >"$place/tree"
    ! grep -E '^(async-io|async-net|spawns-core|zookeeper-client) ' "$place/tree"
}

build_wheel
build_npm
build_c
build_crates

cat >"$place/take-locks.sh" <<'SH'
set -euo pipefail
cd "$1"
venv/bin/python python.py "$2"
status=0
venv/bin/zkrecipes --hosts "$2" lock /packages/python -- sh -c 'echo "python (command) $ZKR_FENCING_TOKEN"; exit 7' || status=$?
[ "$status" -eq 7 ]
node node/lock.mjs "$2"
node node/lock.cjs "$2"
status=0
(cd node && npx --no-install zkrecipes --hosts "$2" lock /packages/node -- sh -c 'echo "node (command) $ZKR_FENCING_TOKEN"; exit 7') || status=$?
[ "$status" = 7 ]
./lock-rust "$2"
LD_LIBRARY_PATH=prefix/lib ./lock-c "$2"
LD_LIBRARY_PATH=prefix/lib ./lock-cpp "$2"
prefix/bin/zkrecipes --hosts "$2" lock /packages/command -- sh -c 'echo "command $ZKR_FENCING_TOKEN"'
SH
say 'each takes a lock on ZooKeeper'
env -u VIRTUAL_ENV "$root/tests/zookeeper/zookeeper.py" exec 3.9 -- bash "$place/take-locks.sh" "$place" '{}'
say 'all well'
