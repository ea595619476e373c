#!/usr/bin/env bash
# Every test there is, one part after the other; the end says what passed and how long it took.
#
#   tests/run.sh              all parts
#   tests/run.sh rust node    only these
set -uo pipefail

# Started in the background or by nohup, a shell ignores signals that tests send, and so would all it starts.
if [ -z "${ZKR_SIGNALS-}" ] && env --default-signal=HUP true 2>/dev/null; then
    ZKR_SIGNALS=default exec env --default-signal=HUP,INT,QUIT,TERM,USR1,USR2 "$0" "$@"
fi
cd "$(dirname "$0")/.." || exit

profile=${ZKR_PROFILE:-dev}
target=target/$([ "$profile" = dev ] && echo debug || echo "$profile")
rust=(--workspace --exclude zkrecipes-python --exclude zkrecipes-node)
failed=()
report=()

# The parts, in order. Building comes first, so that a compile error is seen before anything is run.
part_build() { make build-rust build-python build-node build-drivers; }
part_rust() { cargo test --quiet --no-fail-fast --profile "$profile" "${rust[@]}"; }
part_c() { tests/c/run.sh; }
part_python() { (cd python && python -m pytest -q); }
part_node() { (cd node && npm test --silent); }
part_surface() { python tests/surface.py; }
part_scenarios() { "$target/scenarios"; }
part_interop() { tests/interop/run.sh; }
# The end of the sequence numbers, where creates alone would take weeks to get to.
part_range() { "$(tests/interop/environment.sh)" core/tests/range.py; }
part_packages() { tests/packages.sh; }
part_demo() { make demo-build && make demo-run ARGS="--seconds 4"; }
all=(build rust c python node surface scenarios interop range packages demo)

run_part() {
    local part=$1 begun=$SECONDS outcome=passed
    printf '\n=== %s ===\n' "$part"
    "part_$part" </dev/null || {
        outcome=FAILED
        failed+=("$part")
    }
    report+=("$(printf '%-10s %s  %4d s' "$part" "$outcome" $((SECONDS - begun)))")
}

for part in "${@:-${all[@]}}"; do
    run_part "$part"
    # Nothing else makes sense on top of a build that failed.
    [ "$part" = build ] && [ ${#failed[@]} -gt 0 ] && break
done

printf '\n=== in all: %d s ===\n' "$SECONDS"
printf '%s\n' "${report[@]}"
if [ ${#failed[@]} -gt 0 ]; then
    printf '\nfailed: %s\n' "${failed[*]}"
    exit 1
fi
