#!/usr/bin/env bash
# What the scripts of other systems have in common: parts that run, and a table of them in the end. Sourced by them.
#
#   part NAME COMMAND…     runs the command, whose output is seen where it fails; `is_well` says whether it has not
#   not_here NAME WHY      what cannot be had on this machine
#   table                  what ran; fails if a part has
# shellcheck shell=bash disable=SC2034

set -uo pipefail
rows=() failures=0 is_well=true
log=$(mktemp "${TMPDIR:-/tmp}/zkrecipes-elsewhere.XXXXXX")
trap 'rm -f "$log"' EXIT

part() {
    local name=$1 begun=$SECONDS status=0
    # Not as a condition, and not called as one: there `set -e` has no effect.
    (set -e && "${@:2}") >"$log" 2>&1
    status=$?
    if [ "$status" -eq 0 ]; then
        is_well=true
        rows+=("$name|ran in $((SECONDS - begun)) s") && echo "ok     $name"
    else
        is_well=false
        rows+=("$name|FAILED") && failures=$((failures + 1))
        echo "FAILED $name" && tail -n 40 "$log" | sed 's/^/  /'
    fi
}
not_here() {
    rows+=("$1|not here: $2") && echo "none   $1: $2"
}
table() {
    printf '\nWhat ran:\n'
    printf '%s\n' "${rows[@]}" | awk -F'|' '{ printf "%-56s %s\n", $1, $2 }'
    [ "$failures" -eq 0 ]
}

# as_root COMMAND…
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }
# needs PROGRAM PACKAGE…: installs the packages of Debian unless the program is there.
needs() { command -v "$1" >/dev/null || as_root env DEBIAN_FRONTEND=noninteractive apt-get install --quiet --quiet --yes --no-install-recommends "${@:2}" >&2; }
# is_token TEXT: whether it ends with a fencing token.
is_token() { [[ $1 =~ [1-9][0-9]*[[:space:]]*$ ]]; }
