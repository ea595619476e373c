#!/usr/bin/env bash
# Installs the command, its manual pages, and what shells need to complete its words.
#
#   cli/install.sh PREFIX=/usr/local [DESTDIR=/stage] [PROFILE=release] [STRIP=no]
#
# DESTDIR stands before every path that is written, for packagers; STRIP=no leaves the debug symbols of a release build, for those
# who put them apart. The profile defaults to ZKR_PROFILE, then to release; the command is built first if it is not up to date.
# ZKR_TARGET is another target of cargo's than this machine, CARGO what builds for it; it has to run here, because it writes its
# pages itself.
set -euo pipefail
cd "$(dirname "$0")/.."

PREFIX=/usr/local DESTDIR='' PROFILE=${ZKR_PROFILE:-release} STRIP=yes
for argument in "$@"; do
    case $argument in
    PREFIX=* | DESTDIR=* | PROFILE=* | STRIP=*) declare "$argument" ;;
    *) echo "install: unknown setting ${argument%%=*}" >&2 && exit 2 ;;
    esac
done
case $PREFIX in
/*) ;;
*) PREFIX=$PWD/$PREFIX ;;
esac

"${CARGO:-cargo}" build --locked --quiet --profile "$PROFILE" ${ZKR_TARGET:+--target "$ZKR_TARGET"} -p zkrecipes-cli
built=${CARGO_TARGET_DIR:-target}
if [ -n "${ZKR_TARGET-}" ]; then built+=/${ZKR_TARGET%%.*}; fi
built+=/$([ "$PROFILE" = dev ] && echo debug || echo "$PROFILE")/zkrecipes

place=$DESTDIR$PREFIX share=$DESTDIR$PREFIX/share
mkdir -p "$place/bin"
# Into place by renaming: the old one may be running.
cp "$built" "$place/bin/zkrecipes.new"
# By the letter: macOS has no words for it.
[ "$PROFILE:$STRIP" != release:yes ] || strip -S "$place/bin/zkrecipes.new"
chmod 755 "$place/bin/zkrecipes.new"
mv -f "$place/bin/zkrecipes.new" "$place/bin/zkrecipes"

"$place/bin/zkrecipes" man "$share/man/man1"
# complete SHELL FILE
complete() {
    mkdir -p "${2%/*}"
    "$place/bin/zkrecipes" completions "$1" >"$2"
}
complete bash "$share/bash-completion/completions/zkrecipes"
complete zsh "$share/zsh/site-functions/_zkrecipes"
complete fish "$share/fish/vendor_completions.d/zkrecipes.fish"

echo "the command installed: $place/bin/zkrecipes, its pages and completions: $share"
