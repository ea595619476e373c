#!/usr/bin/env bash
# Makes the shared library of the static one: ffi/link.sh libzkrecipes.a libzkrecipes.so. Cargo makes one, too, without versions of
# symbols: rustc brings a list of what is exported, which says nothing of versions, and linkers take only one such list.
#
# CC is the compiler that links, and ZKR_CC that for another system.
set -euo pipefail
archive=$1 library=$2
cd "$(dirname "$0")/.."
major=$(sed -n 's/^version = "\([0-9]*\).*"/\1/p' Cargo.toml | head -n 1)

# shellcheck disable=SC2054
flags=(-Wl,-soname,"libzkrecipes.so.$major" -Wl,--version-script=ffi/zkrecipes.map -Wl,--gc-sections -Wl,--as-needed
    -Wl,-z,relro,-z,now,-z,noexecstack
    # The testing kit stands beside it.
    -Wl,-rpath,"\$ORIGIN"
    # The library's threads outlive a dlclose: never unmap their code.
    -Wl,-z,nodelete)
# Bounds of sections that a dependency keeps are nobody else's business. zig does not know the option.
# shellcheck disable=SC2054
case ${ZKR_CC-} in *zig*) ;; *) flags+=(-Wl,-z,start-stop-visibility=hidden) ;; esac

# shellcheck disable=SC2086 # the compiler may be several words
${ZKR_CC:-${CC:-cc}} -shared -o "$library" "${flags[@]}" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive \
    -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc
