#!/usr/bin/env bash
# The tests of the C and the C++ interface, against the library as it is installed, and of the installation.
#
#   tests/c/run.sh                    all of them
#   tests/c/run.sh --valgrind         the programs of tests under valgrind as well
#   tests/c/run.sh --filter cancel    only the tests whose name has this in it
#
# ZKR_HOSTS is a server to test on (the default is the embedded one); ZKR_PROFILE is the cargo profile.
set -euo pipefail
cd "$(dirname "$0")/../.."

valgrind='' filter=()
while [ $# -gt 0 ]; do
    case $1 in
    --valgrind) valgrind=yes ;;
    --filter) filter=("$2") && shift ;;
    *) echo "unknown: $1" >&2 && exit 2 ;;
    esac
    shift
done

place=$PWD/target/tests-c
mkdir -p "$place"
ffi/install.sh PREFIX="$place/prefix" PROFILE="${ZKR_PROFILE:-dev}" >/dev/null
export LD_LIBRARY_PATH=$place/prefix/lib
cflags=(-I"$place/prefix/include") libs=(-L"$place/prefix/lib" -lzkrecipes -pthread)
warnings=(-g -O1 -Wall -Wextra -Wpedantic -Werror)

cc -std=c11 -D_GNU_SOURCE "${warnings[@]}" "${cflags[@]}" -o "$place/c-tests" tests/c/*.c "${libs[@]}"
c++ -std=c++17 "${warnings[@]}" "${cflags[@]}" -o "$place/cpp-tests" tests/c/*.cpp "${libs[@]}"

passed=0 failed=0
run() {
    local name=$1 log=$place/$1.log status=0
    shift
    printf '== %s\n' "$name"
    "$@" 2>&1 | tee "$log" || status=$?
    local last
    last=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1) || true
    if [ -z "$last" ]; then # it ended early
        failed=$((failed + 1))
        return
    fi
    passed=$((passed + ${last%% passed*})) last=${last#*, }
    failed=$((failed + ${last%% failed*}))
    if [ "$status" -ne 0 ] && [ "${last%% failed*}" -eq 0 ]; then failed=$((failed + 1)); fi
}

run c "$place/c-tests" "${filter[@]}"
run c++ "$place/cpp-tests" "${filter[@]}"
run installed tests/c/installed.sh "$place/prefix"
if [ -n "$valgrind" ]; then
    # The library's own threads live as long as the process, so what they hold is still there at the end, not lost.
    valgrind=(valgrind --quiet --error-exitcode=9 --fair-sched=yes --child-silent-after-fork=yes
        --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite)
    run valgrind "${valgrind[@]}" "$place/c-tests" "${filter[@]}"
    run valgrind-c++ "${valgrind[@]}" "$place/cpp-tests" "${filter[@]}"
fi
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
