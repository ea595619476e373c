#!/usr/bin/env bash
# What is for Windows runs there, as far as wine has it: the Rust crate, the C library, the addon of Node and the command.
#
#   tests/elsewhere/windows.sh HOSTS     of a real ZooKeeper
#
# It is built here with the compiler of mingw-w64, by cargo's dev profile. ZKR_PROFILE=release builds what users get.
cd "$(dirname "$0")/../.." || exit
source tests/elsewhere/parts.sh

hosts=$1
target=x86_64-pc-windows-gnu profile=${ZKR_PROFILE:-dev}
place=$PWD/target/elsewhere/windows
built=${CARGO_TARGET_DIR:-target}/$target/$([ "$profile" = dev ] && echo debug || echo "$profile")
# Of all that wine has to say, nothing is about us.
export WINEPREFIX=$place/wine WINEDEBUG=-all DISPLAY=
# The one with threads as the C library of Rust wants them.
export ZKR_CC=x86_64-w64-mingw32-gcc-posix ZKR_TARGET=$target
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=$ZKR_CC CC_x86_64_pc_windows_gnu=$ZKR_CC
mkdir -p "$place"

# runs PROGRAM ARGUMENT…: of the folder.
runs() { timeout 120 wine "$place/$1" "${@:2}" 2>"$place/stderr" || { status=$?; cat "$place/stderr" >&2; return "$status"; }; }
cc() { "$ZKR_CC" -O -Wall -Wextra -Werror "$@"; }

builds() {
    needs wine wine wine64
    needs "$ZKR_CC" gcc-mingw-w64-x86-64-posix
    needs nasm nasm
    rustup target add "$target"
    cargo build --locked --quiet --profile "$profile" --target "$target" --package zkrecipes --features embedded --example lock
    cargo build --locked --quiet --profile "$profile" --target "$target" --package zkrecipes-cli
    ffi/install-windows.sh PREFIX="$place/prefix" PROFILE="$profile"
    cp "$built/examples/lock.exe" "$place/rust.exe"
    cp "$built/zkrecipes.exe" "$place/prefix/bin/zkrecipes.dll" "$place/prefix/bin/zkrecipes_testing.dll" "$place"
    cc -std=c11 -I"$place/prefix/include" -o "$place/c.exe" tests/elsewhere/lock.c -L"$place/prefix/lib" -lzkrecipes -lws2_32
    cc -o "$place/child.exe" tests/elsewhere/child.c
    # wine has it since version 8.12.
    cc -shared -o "$place/bcryptprimitives.dll" tests/elsewhere/bcryptprimitives.c -ladvapi32
    # Its own folder, before a time is given. What it says of the system by itself is too old for Node.
    wine wineboot --init
    wine winecfg /v win10
}

# npm has that Node, pinned by hash in node/package-lock.json. What it offers to addons is what this one is linked with.
node_builds() {
    local nodes=$place/nodes library=$place/libnode node=$place/nodes/node_modules/node-20-win-x64/bin/node.exe
    mkdir -p "$nodes" "$library" "$place/node_modules/zkrecipes" "$place/node_modules/@zkrecipes/win32-x64"
    cp tests/elsewhere/node/.npmrc tests/elsewhere/node/package.json tests/elsewhere/node/package-lock.json "$nodes"
    (cd "$nodes" && npm ci --ignore-scripts --loglevel=error --os=win32 --cpu=x64)
    cp "$node" "$place/node.exe"
    {
        echo EXPORTS
        x86_64-w64-mingw32-objdump -p "$node" | awk '$NF ~ /^napi_/ { print $NF }' | sort -u
    } >"$library/node.def"
    x86_64-w64-mingw32-dlltool -D node.exe -d "$library/node.def" -l "$library/libnode.a"
    # Looked for, and not linked.
    touch "$library/libnode.dll"
    LIBNODE_PATH=$library cargo build --locked --quiet --profile "$profile" --target "$target" --package zkrecipes-node
    cp -r node/lib node/testing node/package.json "$place/node_modules/zkrecipes/"
    cp "$built/zkrecipes_node.dll" "$place/node_modules/@zkrecipes/win32-x64/index.node"
    echo '{ "main": "index.node" }' >"$place/node_modules/@zkrecipes/win32-x64/package.json"
    cp tests/elsewhere/lock.cjs "$place"
}

rust_takes_a_lock() { is_token "$(runs rust.exe "$1" | grep -o 'fencing token.*')"; }
c_takes_a_lock() { is_token "$(runs c.exe "$1")"; }
# Under wine it writes to files only.
node_takes_a_lock() {
    runs node.exe "Z:$place/lock.cjs" "$1" >"$place/out" || { cat "$place/out" && return 1; }
    grep '^node v20' "$place/out"
}
# The second has less time than the session of the first would last.
c_ends_its_session() {
    runs c.exe "$hosts" exits
    runs c.exe "$hosts"
}
command_takes_a_lock() {
    runs zkrecipes.exe --version
    # shellcheck disable=SC2016 # for the shell of Windows
    is_token "$(runs zkrecipes.exe --hosts "$hosts" lock /elsewhere/windows -- cmd /C 'echo %ZKR_FENCING_TOKEN%')"
    local status=0
    runs zkrecipes.exe --hosts "$hosts" lock /elsewhere/windows -- cmd /C 'exit 7' || status=$?
    [ "$status" -eq 7 ]
}
# begins NAME: a lock, and under it a command that starts another. The output ends only when none is left that could write to it; by
# themselves they stay for longer than this may take.
begins() {
    local begun=$SECONDS status=0
    runs zkrecipes.exe --hosts "$hosts" lock "/elsewhere/$1" -- child.exe "Z:$place/$1" again | cat || status=$?
    [ $((SECONDS - begun)) -lt 60 ] || status=99
    return "$status"
}
# until_done WORD… : waits until this succeeds.
until_done() {
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        "$@" && return
        sleep 0.1
    done
    return 1
}
# types WHEN COMMAND…: runs a program of the folder in a terminal, and types Ctrl-C when this succeeds.
types() {
    local line
    line=$(printf '%q ' wine "$place/zkrecipes.exe" --hosts "$hosts" "${@:2}")
    rm -f "$place/screen" "$place/status"
    {
        until_done eval "$1"
        printf '\003'
        until_done [ -e "$place/status" ]
    } | script -qfec "$line; echo \$? >$(printf %q "$place/status")" "$place/screen" >/dev/null
    cat "$place/screen"
    return "$(cat "$place/status")"
}
somebody_waits() { runs zkrecipes.exe --hosts "$hosts" ls --json "$1" | grep -q '"holds": *false'; }
command_ends_what_it_started_when_the_lock_is_lost() {
    local status=0
    rm -f "$place/lost"
    begins lost &
    local running=$!
    until_done [ -e "$place/lost" ]
    # While it is held, somebody gives up.
    types 'somebody_waits /elsewhere/lost' lock /elsewhere/lost -- cmd /C exit || status=$?
    [ "$status" -eq 130 ]
    runs zkrecipes.exe --hosts "$hosts" break /elsewhere/lost holder --force-after 0s
    wait "$running" || status=$?
    [ "$status" -eq 76 ]
}
command_ends_what_it_started_when_it_is_ended_itself() {
    rm -f "$place/ended"
    begins ended &
    local running=$! status=0
    until_done [ -e "$place/ended" ]
    # It says what the status is.
    wine taskkill /f /im zkrecipes.exe
    wait "$running" || status=$?
    [ "$status" -ne 99 ]
}
command_and_what_it_started_hear_ctrl_c() {
    local begun=$SECONDS
    rm -f "$place/heard"
    # The status is that of the command, which wine says is 0.
    types "[ -e '$place/heard' ]" lock /elsewhere/heard -- child.exe "Z:$place/heard" again || :
    [ $((SECONDS - begun)) -lt 60 ]
    is_token "$(runs zkrecipes.exe --hosts "$hosts" lock --timeout 2s /elsewhere/heard -- cmd /C 'echo %ZKR_FENCING_TOKEN%')"
}

part 'windows: everything builds' builds
$is_well || { table; exit 1; }
part 'windows: a lock in Rust, on embedded:' rust_takes_a_lock embedded:
part 'windows: a lock in Rust' rust_takes_a_lock "$hosts"
part 'windows: a lock in C, on embedded:' c_takes_a_lock embedded:
part 'windows: a lock in C' c_takes_a_lock "$hosts"
part 'windows: a program in C ends its session' c_ends_its_session
part 'windows: a lock by the command' command_takes_a_lock
part 'windows: a lost lock ends the command and its children' command_ends_what_it_started_when_the_lock_is_lost
part 'windows: so does the end of zkrecipes.exe' command_ends_what_it_started_when_it_is_ended_itself
part 'windows: they hear Ctrl-C' command_and_what_it_started_hear_ctrl_c
part 'windows: the addon of Node builds' node_builds
if $is_well; then
    part 'windows: a lock in Node, on embedded:' node_takes_a_lock embedded:
    part 'windows: a lock in Node' node_takes_a_lock "$hosts"
fi
not_here 'windows: a lock in Python' 'neither Debian nor PyPI has a Python for Windows'
table
