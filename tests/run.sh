#!/usr/bin/env bash
# Every test there is, part by part; the end says what passed and how long it took. Parts that mostly wait run together.
# Aim: 15 minutes on two cores when everything is built, 30 when nothing is.
#
#   tests/run.sh              all parts
#   ZKR_ALL=1 tests/run.sh    the same with every scenario in every language on every server, the peers' recipes beside ours, the guards,
#                             the interleavings and the simulation
#   tests/run.sh rust node    only these, one after the other; rust+node: at the same time; 2:c+node+docs: two at a time
#
# Each part is a function part_NAME below. With `build` in front of them: python, surface, scenarios, docs, usage, transfer,
# browser, secure, crowds, chaos, packages, demo, guest, and interop, which needs peers as well. The others build what they need.
# peers and interop are to be run whenever a format changes. Do not build while a part runs.
#
# A part that has not ended within its limit has failed: it is cut off with all its processes, and the next one begins.
# ZKR_LIMIT is another limit for every part, in seconds.
#
# With ZKR_AGAIN=1 a part that failed is run once more, alone, when the others are through; of the core and the crates,
# only the program that failed. If it passes then, the end says so: something in it depends on what else the machine does,
# which is to be found and mended. One such second try breaks no build, two do.
#
# What a part prints is in target/tests/PART.log; a terminal sees it as it comes. Else only the end of it is shown, and of
# a part that failed the lines that say why, once more after everything else.
set -uo pipefail

# Started in the background or by nohup, a shell ignores signals that tests send, and so would all it starts.
if [ -z "${ZKR_SIGNALS-}" ] && env --default-signal=HUP true 2>/dev/null; then
    ZKR_SIGNALS=default exec env --default-signal=HUP,INT,QUIT,TERM,USR1,USR2 "$0" "$@"
fi
cd "$(dirname "$0")/.." || exit
here=$PWD/tests/run.sh
# As make does it: Python with the packages of this checkout.
export VIRTUAL_ENV=$PWD/.venv PATH=$PWD/.venv/bin:$PATH

profile=${ZKR_PROFILE:-dev}
target=target/$([ "$profile" = dev ] && echo debug || echo "$profile")

# The parts, in order. Building comes first, so that a compile error is seen before anything is run.
# Also what the crowds run: beside other parts nothing is built again, for it would replace what they have loaded.
part_build() {
    make build-rust build-python build-node build-drivers && "$(tests/interop/environment.sh)" tests/interop/peers.py ours
}
test_crates() { cargo test --quiet --no-fail-fast --profile "$profile" "$@"; }
# The core and the C interface apart: the features that their tests need would have everything else built a second time.
# A leader that pauses again and again is watched for less long, unless all is to be tested.
part_core() {
    [ -n "${ZKR_ALL-}" ] || export ZKR_PAUSED_LEADER_SECONDS=20
    # The second has no tests; with it the first is the one that the faces are built with.
    tests/binaries.py 4 --profile "$profile" --package zkrecipes --package zkrecipes-ffi-testing
}
part_crates() {
    local status=0
    tests/binaries.py 2 --profile "$profile" --workspace --exclude=zkrecipes{,-ffi,-python,-node,-simulation} || status=$?
    # They compute all the time: 38 s of a processor, and 380 s without an optimiser.
    tests/binaries.py 1 --profile simulation --package zkrecipes-simulation || status=$?
    # Alone, it is built without the embedded server.
    ZKR_WITHOUT_EMBEDDED=1 test_crates --package zkrecipes-ffi || status=$?
    return "$status"
}
part_c() { tests/c/run.sh; }
part_python() { (cd python && python -m pytest -q); }
part_node() { (cd node && npm test --silent); }
part_surface() { python -m pytest -q tests/test_surface.py tests/test_contributing.py tests/test_api.py tests/test_version.py tests/test_sbom.py tests/test_release.py tests/test_packaging.py tests/test_real_servers.py tests/test_second_tries.py bench/test_driver.py && python tests/surface.py; }
# What the pages say: links, tables, programs. The site itself is `make docs`.
part_docs() { python -m pytest -q tests/docs; }
# The example of several processes, which are killed again and again.
part_transfer() { (cd python && python -m pytest -q ../tests/transfer); }
# The examples with frameworks, runners of tests and event loops.
# They mostly wait: several at a time.
part_usage() { python -m pytest -q -n 4 tests/usage; }
part_scenarios() { "$target/scenarios" ${ZKR_ALL:+--all}; }
# The promises of locks and elections over sessions of the crate zookeeper-client, and its answers beside those of our client.
part_guest() {
    local status=0 guest=(--profile "$profile" --features guest --package zkrecipes-harness)
    cargo build --quiet "${guest[@]}" --bin guest-driver &&
        "$target/scenarios" --lang guest --filter lock-,read-write,semaphore,revocation,local-handoff,election || status=$?
    test_crates --package zkrecipes --features zookeeper-client --test guest || status=$?
    test_crates --package zkrecipes --features zookeeper-client --lib both_transports || status=$?
    return "$status"
}
# The page of the command in a real browser; pictures go to target/pictures.
part_browser() { (cd python && python -m pytest -q ../tests/browser); }
# TLS, SASL and secrets, on servers of its own.
part_secure() { tests/secure/run.py; }
# The other sides, and our own faces for those who meet them.
part_peers() { env -u ZKR_IS_BUILT "$(tests/interop/environment.sh)" tests/interop/peers.py; }
part_interop() { tests/interop/run.sh; }
part_crowds() {
    local status=0 items=50000
    [ -z "${ZKR_ALL-}" ] || items=1000000
    tests/crowds/run.sh elections ${ZKR_ALL:+--seconds 300} || status=$?
    tests/crowds/run.sh queues --items "$items" || status=$?
    return "$status"
}
# The checker of histories, and a short history of everything; of ten minutes if all is to be tested.
part_chaos() {
    local status=0 servers seconds=12 rate=100 guests=
    python -m pytest -q tests/chaos || status=$?
    for servers in embedded zookeeper ${ZKR_ALL:+ensemble}; do
        if [ "$servers" = ensemble ]; then
            seconds=600 rate=250 guests=tests/chaos/with-guests.sh
        fi
        PYTHONPATH=python $guests tests/chaos/chaos.py --profile "$(basename "$target")" --servers "$servers" --seconds "$seconds" --rate "$rate" || status=$?
    done
    return "$status"
}
# The end of the sequence numbers, where creates alone would take weeks to get to.
part_range() { "$(tests/interop/environment.sh)" core/tests/range.py; }
# Every request that can go wrong, on a real server behind the fault proxy; of the requests some, unless all is to be tested.
part_real() {
    on_a_real_one any_request --test={faults,queue,barriers,two_phase_commit} || return
    [ -z "${ZKR_ALL-}" ] || on_a_real_one very_many_rounds --test crowds
}
on_a_real_one() {
    local name=$1
    shift
    tests/zookeeper/zookeeper.py exec 3.9 -- env ZKR_REAL={} cargo test --quiet --no-fail-fast --profile "$profile" \
        --package zkrecipes --package zkrecipes-ffi-testing "$@" "$name"
}
part_packages() { tests/packages.sh; }
# Packages for systems that this is not one of: old ones, other C libraries, what is made of the sources alone.
part_elsewhere() { tests/elsewhere/run.sh; }
# A hundred pauses and more of a real server, of the network and of a process of ours, at each of these session timeouts, and with `server_tick`.
part_pauses() {
    local asked status=0
    for asked in 4 6 10 30 10,2; do
        ZKR_PAUSES=$asked test_crates --release --package zkrecipes --test pauses -- --nocapture a_pause_of_the_ || status=$?
    done
    return "$status"
}
part_guards() { python tests/guards.py; }
part_interleavings() { make interleavings; }
part_sim() { make sim ARGS="--seeds 300" && make sim ARGS=--singles && make sim ARGS=--pairs && make defects; }
# The site with all references, without a warning and without a dead link; every page in a real browser.
part_site() { make docs && make docs-screenshots; }
# What it has in Python and Node was built ahead of all parts.
part_demo() { make demo-worker && make demo-run ARGS="--seconds 4"; }

# One part, as limit.py is told below to run it.
if [ -n "${ZKR_PART-}" ]; then
    "part_$ZKR_PART"
    exit
fi

# Many scenarios are played at the same time. Of what comes behind them most waits for servers and sessions, too.
all=(build rust scenarios 4:c+python+node+usage+crowds+chaos+surface+secure+docs+real+transfer+range+browser+packages demo)
[ -n "${ZKR_ALL-}" ] && all+=(peers interop guest elsewhere site pauses guards interleavings sim)

# In seconds: several times what a part takes on a machine with two busy cores.
limit_of() {
    case $1${ZKR_ALL:+-all} in
    guards-all | pauses-all | sim-all | chaos-all | scenarios-all | crowds-all | elsewhere*) echo 36000 ;;
    build* | core* | crates* | c | c-all | scenarios | guest* | crowds) echo 1500 ;;
    *) echo 900 ;;
    esac
}

logs=target/tests
mkdir -p "$logs"
# Each part leaves here how it ended.
notes=$(mktemp -d "${TMPDIR:-/tmp}/zkrecipes-tests.XXXXXX")
trap 'rm -rf "$notes"' EXIT

run_part() {
    local part=$1 log=$1${2-} begun=$SECONDS outcome=passed status=0 busy
    ZKR_PART=$part tests/limit.py "${ZKR_LIMIT-$(limit_of "$part")}" "$here" </dev/null >"$logs/$log.log" 2>&1 || status=$?
    [ "$status" -ne 0 ] && outcome=FAILED
    [ "$status" -eq 124 ] && outcome='CUT OFF'
    # Not in a pipe: another process has waited for nobody.
    times >"$notes/times.$part"
    busy=$(tail -n 1 "$notes/times.$part" | tr ms '  ' | awk '{ printf "%d", 60 * ($1 + $3) + $2 + $4 }')
    printf '%-10s %-7s  %4d s, processors %4d s\n' "$log" "$outcome" $((SECONDS - begun)) "$busy" | tee -a "$notes/report"
    [ "$outcome" = passed ] && return
    echo "$log" >>"$notes/failed"
    why "$log"
}

# The lines of a part's output that tell of failures.
failures() { grep -nE '^not ok|^ *✖|\bFAILED\b|panicked at|^E  |^error|[^0-9]0 passed|limit\.py' "$logs/$1.log" | cut -c1-300 | head -n "$2"; }

# What of a part's output tells why it failed.
why() {
    printf '\n--- %s: lines that tell of failures, and its end (the whole: %s) ---\n' "$1" "$logs/$1.log"
    failures "$1" 60
    printf -- '...\n'
    tail -n 60 "$logs/$1.log" | cut -c1-300
}

# The parts of a group run at the same time, or so many of them, in their order.
run_group() {
    local part parts names=$1 most=0 running=() watching=
    case $names in [0-9]*:*) most=${names%%:*} names=${names#*:} ;; esac
    IFS=+ read -ra parts <<<"${names/#rust/core+crates}"
    if [ -t 1 ]; then
        (cd "$logs" && touch "${parts[@]/%/.log}" && exec tail -q -n 0 -F "${parts[@]/%/.log}" --pid=$$) 2>/dev/null &
        watching=$!
        [ "$most" -eq 0 ] || most=$((most + 1))
    fi
    for part in "${parts[@]}"; do
        while [ "$most" -gt 0 ] && [ "$(jobs -pr | wc -l)" -ge "$most" ]; do wait -n; done
        run_part "$part" &
        running+=($!)
    done
    wait "${running[@]}"
    [ -z "$watching" ] || kill "$watching"
}

for group in "${@:-${all[@]}}"; do
    run_group "$group"
    # Nothing else makes sense on top of a build that failed.
    [ "$group" = build ] && [ -e "$notes/failed" ] && break
    # No part builds once more what another one uses.
    [ "$group" != build ] || export ZKR_IS_BUILT=1
done

# Of several, the machine is not the reason. `core` and `crates` have had the program that failed run again themselves.
if [ -n "${ZKR_AGAIN-}" ] && [ -e "$notes/failed" ] && [ "$(wc -l <"$notes/failed")" -eq 1 ] && ! grep -qxE 'build|core|crates' "$notes/failed"; then
    mv "$notes/failed" "$notes/unsure"
    # Each in a shell of its own, which is asked how busy it was.
    while read -r part; do (run_part "$part" -again); done <"$notes/unsure"
    [ -e "$notes/failed" ] || sed 's/$/ passed only when run again, alone: look into its log/' "$notes/unsure" >>"$notes/again"
fi

# What is said of single programs.
for part in core crates; do
    [ -e "$notes/times.$part" ] && grep -h 'passed only when run again' "$logs/$part.log" | sed "s/^/$part: /" >>"$notes/again"
done

printf '\n=== in all: %d s ===\n' "$SECONDS"
cat "$notes/report"
if [ -s "$notes/again" ]; then
    # Last, and short: of a machine that is gone often nothing is kept but the end of what was printed.
    while read -r line; do
        part=${line%%[: ]*}
        printf '%s\n' "$line"
        failures "$part" 6 | sed "s/^/  $part.log: /"
    done <"$notes/again"
fi
if [ -s "$notes/again" ] && [ "$(wc -l <"$notes/again")" -gt 1 ]; then
    printf '\nfailed: more than one thing passed only when it was run again\n'
    exit 1
fi
if [ -e "$notes/failed" ]; then
    while read -r part; do why "$part"; done <"$notes/failed"
    printf '\nfailed: %s\n' "$(paste -sd ' ' "$notes/failed")"
    exit 1
fi
# `make release` asks for it.
[ -z "${ZKR_ALL-}" ] || [ $# -gt 0 ] || scripts/passed test-all
