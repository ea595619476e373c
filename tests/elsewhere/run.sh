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
    local begun=$SECONDS status=0
    # Not as a condition: there `set -e` has no effect, and only the last command of a check would count.
    (set -e && "$@") >"$place/$1.log" 2>&1
    status=$?
    if [ "$status" -eq 0 ]; then
        passed=$((passed + 1)) && printf 'ok     %s (%d s)\n' "$1" $((SECONDS - begun))
        # What has parts of its own says so.
        sed -n '1,/^What ran:$/d;s/^/  /p' "$place/$1.log"
    else
        failed=$((failed + 1)) && printf 'FAILED %s\n' "$1" && tail -n 40 "$place/$1.log" | sed 's/^/  /'
    fi
}
on_zookeeper() { tests/zookeeper/zookeeper.py exec 3.9 -- "$@"; }
tool() { ".cache/portable/bin/$1" "${@:2}"; }

# --- built, and for what

what_is_released_can_be_built() { scripts/dist "$platform-gnu"; }

# What a wheel's name promises is true: pip believes it. The tag may be that of a still older system.
wheels_are_for_manylinux2014() {
    local wheel
    for wheel in target/dist/python/zkrecipes-*-manylinux*"$cpu".whl; do
        tool auditwheel show "$wheel" | tee "$place/wheel"
        tr '\n' ' ' <"$place/wheel" | grep -E "consistent with the following platform tag: \"(manylinux_2_([5-9]|1[0-7])|manylinux2014)_$cpu\""
    done
}
wheel_keeps_the_stable_abi() { tool abi3audit --strict --verbose target/dist/python/zkrecipes-*-abi3-manylinux*"$cpu".whl; }

# Each is mapped by every process that uses it: stripped, as it is released, in bytes.
what_is_loaded_is_small() {
    local unpacked=$place/unpacked most=6000000
    rm -rf "$unpacked"
    mkdir -p "$unpacked"
    python3 -m zipfile -e target/dist/python/zkrecipes-*-abi3-manylinux*"$cpu".whl "$unpacked/wheel"
    dpkg-deb --extract target/dist/deb/libzkrecipes0_*.deb "$unpacked/deb"
    cp "node/native/$platform-gnu/zkrecipes.node" "$unpacked/"
    find "$unpacked" -type f \( -name '_native*.so' -o -name 'libzkrecipes.so.*' -o -name zkrecipes.node \) -printf '%s %P\n' | tee "$place/sizes"
    [ "$(wc -l <"$place/sizes")" -eq 3 ]
    awk -v most=$most '$1 > most { print "larger than " most ": " $2; larger = 1 } END { exit larger }' "$place/sizes"
}

# --- the sources alone

crates_can_be_packed() {
    cargo package --quiet --no-verify --allow-dirty --package zkrecipes-protocol --package zkrecipes-embedded --package zkrecipes --package zkrecipes-cli
    # A crate has its licence and its page.
    tar -tzf target/package/zkrecipes-"$(scripts/version)".crate | grep -E '/(LICENSE|README.md)$' | sort | uniq | wc -l | grep -x 2
}

# --- installed

everything_takes_a_lock_here() { on_zookeeper tests/elsewhere/smoke.sh "$platform-gnu" {}; }

# An older C library than that of the machine which built it.
wheel_takes_a_lock_on_an_old_system() {
    local tree=$place/debian-python as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    tests/elsewhere/old-python.sh "$tree"
    "${as_root[@]}" rm -rf "$tree"/tmp/*
    "${as_root[@]}" cp target/dist/python/zkrecipes-*-abi3-manylinux*"$cpu".whl tests/elsewhere/lock.py "$tree/tmp/"
    "${as_root[@]}" chroot "$tree" sh -ec '/opt/python/bin/python3 -m venv /tmp/venv; /tmp/venv/bin/python -m pip install --quiet --no-index /tmp/*.whl'
    on_zookeeper "${as_root[@]}" chroot "$tree" /tmp/venv/bin/python /tmp/lock.py {} /tmp/venv/bin/zkrecipes
}

# npm has each major of Node as a package: pinned by hash in node/package-lock.json, which `npm update --package-lock-only` there renews.
npm_packages_take_a_lock_in_every_major_of_node() {
    local nodes=$place/nodes major
    mkdir -p "$nodes"
    cp tests/elsewhere/node/.npmrc tests/elsewhere/node/package.json tests/elsewhere/node/package-lock.json "$nodes"
    (cd "$nodes" && npm ci --ignore-scripts --loglevel=error)
    for major in 18 20 22 24; do
        NODE=$nodes/node_modules/node-$major-$platform/bin/node
        "$NODE" --version | grep -q "^v$major\."
        NODE=$NODE on_zookeeper tests/elsewhere/smoke.sh "$platform-gnu" {} node
    done
}

# Somebody for whom there is no wheel builds one of the sources, which have to be all there.
sources_make_a_wheel_that_takes_a_lock() {
    local environment=$place/sdist
    rm -rf "$environment"
    scripts/dist sdist
    python3 -m venv "$environment"
    CARGO_TARGET_DIR=$PWD/target/elsewhere/target "$environment/bin/python" -m pip install --quiet --disable-pip-version-check \
        target/dist/python/zkrecipes-"$(scripts/version --python)".tar.gz
    on_zookeeper "$environment/bin/python" tests/elsewhere/lock.py {} "$environment/bin/zkrecipes"
}

# shellcheck disable=SC2016 # for the shell that has the lock
HAS_A_TOKEN='test "$ZKR_FENCING_TOKEN" -gt 0'

# A Debian that has nothing but what every Debian has, and an older C library than ours: the packages go in with dpkg alone, the
# command takes a lock, and when they go nothing stays.
debian_packages_take_a_lock_on_a_clean_tree() {
    local tree=$place/debian suite=${ZKR_DEBIAN:-bullseye} as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    command -v debootstrap >/dev/null || "${as_root[@]}" apt-get install --quiet --yes debootstrap
    [ -e "$tree/etc/debian_version" ] || "${as_root[@]}" debootstrap --variant=minbase "$suite" "$tree"
    "${as_root[@]}" cp target/dist/deb/*.deb "$tree/tmp/"
    find "$tree" -xdev -path "$tree/var" -prune -o -path "$tree/tmp" -prune -o -path "$tree/etc" -prune -o -print | sort >"$place/before"
    "${as_root[@]}" chroot "$tree" sh -ec 'dpkg --install /tmp/*.deb'
    "${as_root[@]}" chroot "$tree" sh -ec 'ldconfig -p | grep -q libzkrecipes.so.0; zkrecipes --version; test -s /usr/include/zkrecipes.h'
    on_zookeeper "${as_root[@]}" chroot "$tree" zkrecipes --hosts {} lock /elsewhere/debian -- sh -c "$HAS_A_TOKEN"
    "${as_root[@]}" chroot "$tree" sh -ec 'dpkg --purge zkrecipes libzkrecipes-dev libzkrecipes-testing0 libzkrecipes0; rm /tmp/*.deb'
    find "$tree" -xdev -path "$tree/var" -prune -o -path "$tree/tmp" -prune -o -path "$tree/etc" -prune -o -print | sort >"$place/after"
    diff "$place/before" "$place/after"
}

# Who has another C library than glibc: the command has everything inside it, and so runs here as well.
command_for_musl_takes_a_lock() {
    rustup target add "$cpu-unknown-linux-musl"
    scripts/portable --musl node node/scripts/build.mjs --package --command
    local command=node/native/$platform-musl/zkrecipes
    # Nothing to load from elsewhere.
    if readelf -d "$command" | grep NEEDED; then return 1; fi
    on_zookeeper "$command" --hosts {} lock /elsewhere/musl -- sh -c "$HAS_A_TOKEN"
}

# --- other targets

# What the optimizer makes of it is the same everywhere.
what_is_for_windows_runs() { ZKR_PROFILE=dev on_zookeeper tests/elsewhere/windows.sh {}; }
what_is_for_arm64_runs() { on_zookeeper tests/elsewhere/arm64.sh {}; }

# Its threads run at the same time.
what_is_for_python_without_a_gil_runs() { on_zookeeper tests/elsewhere/free-threaded.sh {}; }
many_threads_of_python_do_not_race() { tests/elsewhere/free-threaded.sh embedded: thread; }

# Where the standard library of a target can be had, everything that is for it compiles.
other_targets_compile() { tests/elsewhere/targets.sh; }

all=(what_is_released_can_be_built wheels_are_for_manylinux2014 wheel_keeps_the_stable_abi what_is_loaded_is_small crates_can_be_packed
    everything_takes_a_lock_here wheel_takes_a_lock_on_an_old_system npm_packages_take_a_lock_in_every_major_of_node sources_make_a_wheel_that_takes_a_lock
    debian_packages_take_a_lock_on_a_clean_tree command_for_musl_takes_a_lock what_is_for_python_without_a_gil_runs many_threads_of_python_do_not_race other_targets_compile)
# On another processor there is nothing that has these two.
[ "$cpu" != x86_64 ] || all+=(what_is_for_windows_runs what_is_for_arm64_runs)
for name in "${@:-${all[@]}}"; do check "$name"; done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
