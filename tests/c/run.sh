#!/usr/bin/env bash
# The tests of the C and the C++ interface, against the library as it is installed, and of the installation.
#
#   tests/c/run.sh                    all of them
#   tests/c/run.sh --valgrind         the programs of tests under valgrind as well
#   tests/c/run.sh --filter cancel    only the tests whose name has this in it
#
# The programs of tests run under ThreadSanitizer and AddressSanitizer too, with the library as it is for everybody:
# what callbacks and lock holders write is plain memory there.
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
make --no-print-directory -f tests/c/Makefile -j 2 PLACE="$place"

# Nothing but what the tests of fork need: users have no options set. The library keeps ThreadSanitizer from looking at
# what it does with malloc and memcpy itself.
export TSAN_OPTIONS=die_after_fork=0
# Whether the race of a user is still reported: ThreadSanitizer's exit status for that is 66.
race_is_seen() {
    local status=0
    "$place/race" >/dev/null 2>&1 || status=$?
    if [ "$status" -eq 66 ]; then echo '1 passed, 0 failed'; else echo '0 passed, 1 failed'; fi
}
# Whether the library stands any arguments; `make fuzz ARGS=calls` tries for longer.
calls_end() {
    local status=0
    tests/fuzz/calls.py --seconds 9 --library "$place/prefix/lib/libzkrecipes.so" || status=$?
    if [ "$status" -eq 0 ]; then echo '1 passed, 0 failed'; else echo '0 passed, 1 failed'; fi
}
# Whether a program that ends the library leaves nothing, without suppressions.
leaves_nothing() {
    if ! command -v valgrind >/dev/null; then
        "$place/ended"
        return
    fi
    valgrind --quiet --error-exitcode=9 --fair-sched=yes --child-silent-after-fork=yes --leak-check=full \
        --show-leak-kinds=definite,possible --errors-for-leak-kinds=definite,possible "$place/ended"
}
# Who throws away what is held lets go of it at once: compilers warn, of that alone.
is_warned_of() {
    local said
    said=$(printf '#include <zkrecipes.hpp>\nvoid it(zkr::Lock &l, zkr::Election &e, zkr::Queue &q) {\n%s\n%s\n%s\n}\n' \
        'l.acquire();' 'e.campaign();' 'q.claim();' |
        LC_ALL=C c++ -std=c++17 -Wall -Wextra -Wpedantic -I"$place/prefix/include" -fsyntax-only -x c++ - 2>&1 |
        grep -E 'warning:|error:' | cut -d : -f 1,2 | tr '\n' ' ')
    if [ "$said" = '<stdin>:3 <stdin>:4 <stdin>:5 ' ]; then echo '1 passed, 0 failed'; else echo '0 passed, 1 failed'; fi
}
# The library's own threads live as long as the process, so what they hold is still there at the end, not lost.
memcheck=(valgrind --quiet --error-exitcode=9 --fair-sched=yes --child-silent-after-fork=yes
    --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite)
# In the background a shell has signals ignored that the tests send.
signals=(env "--default-signal=INT,QUIT")

run() {
    case $1 in
    installed) tests/c/installed.sh "$place/prefix" ;;
    race) race_is_seen ;;
    ended) leaves_nothing ;;
    throwing-away) is_warned_of ;;
    calls) calls_end ;;
    valgrind-*) "${signals[@]}" "${memcheck[@]}" "$place/${1#valgrind-}" "${filter[@]}" ;;
    *) "${signals[@]}" "$place/$1" "${filter[@]}" ;;
    esac
}

# Each leaves what it said, and its status.
all() {
    local name
    for name in "$@"; do
        rm -f "$place/$name.status"
        local status=0
        run "$name" >"$place/$name.log" 2>&1 || status=$?
        echo "$status" >"$place/$name.status"
    done
}

trap 'tail -n 5 "$place"/*.log; exit 1' TERM # cut off
# Two at a time, as they mostly wait.
one=(c c++-thread installed c++-address) other=(c++ c-thread c-address race ended throwing-away calls)
[ -n "$valgrind" ] && one+=(valgrind-c) && other+=(valgrind-c++)
all "${one[@]}" &
all "${other[@]}"
wait

passed=0 failed=0
for name in "${one[@]}" "${other[@]}"; do
    printf '== %s\n' "$name"
    cat "$place/$name.log"
    last=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$place/$name.log" | tail -n 1) || true
    if [ -z "$last" ]; then # it ended early
        failed=$((failed + 1))
        continue
    fi
    passed=$((passed + ${last%% passed*})) last=${last#*, }
    failed=$((failed + ${last%% failed*}))
    if [ "$(cat "$place/$name.status")" -ne 0 ] && [ "${last%% failed*}" -eq 0 ]; then failed=$((failed + 1)); fi
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
