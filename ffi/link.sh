#!/usr/bin/env bash
# Makes the shared library of the static one: ffi/link.sh ARCHIVE libzkrecipes.so. Cargo makes one, too, without versions of
# symbols: rustc brings a list of what is exported, which says nothing of versions, and linkers take only one such list.
#
# The testing kit, libzkrecipes_testing.so, is linked against the libzkrecipes.so in the same folder, which comes first: what it
# takes of it has the versions that it has there.
#
# For Windows it makes a zkrecipes.dll, and beside it what programs are linked with: libzkrecipes.dll.a for gcc and clang, and
# zkrecipes.def, of which every other linker makes its own.
#
# CC is the compiler that links, and ZKR_CC that for another system.
set -euo pipefail
archive=$1 library=$2
cd "$(dirname "$0")/.."
major=$(sed -n 's/^version = "\([0-9]*\).*"/\1/p' Cargo.toml | head -n 1)

if [ "${library%.dll}" != "$library" ]; then
    name=$(basename "${library%.dll}") folder=$(dirname "$library") needs=()
    [ "$name" = zkrecipes ] || needs=("$folder/libzkrecipes.dll.a")
    {
        echo "LIBRARY $name.dll"
        echo EXPORTS
        "${NM:-nm}" --extern-only --defined-only "$archive" 2>/dev/null | awk '$2 == "T" && $3 ~ /^zkr_/ { print "    " $3 }' | sort -u
    } >"$folder/$name.def"
    # Nothing of the compiler's own is needed at run time.
    # shellcheck disable=SC2086 # the compiler may be several words
    exec ${ZKR_CC:-${CC:-cc}} -shared -static -o "$library" "$folder/$name.def" -Wl,--gc-sections -Wl,--out-implib,"$folder/lib$name.dll.a" \
        "$archive" ${needs[@]+"${needs[@]}"} -lws2_32 -lbcrypt -lntdll -luserenv
fi

map=ffi/zkrecipes.map needs=()
if [ "$(basename "$library")" = libzkrecipes_testing.so ]; then
    map=ffi/testing/zkrecipes_testing.map needs=(-L"$(dirname "$library")" -lzkrecipes)
fi

# shellcheck disable=SC2054
flags=(-Wl,-soname,"$(basename "$library").$major" -Wl,--version-script="$map" -Wl,--gc-sections -Wl,--as-needed
    # What the C library lacks for which this is linked would be missed when a program starts.
    -Wl,-z,relro,-z,now,-z,noexecstack,-z,defs
    # The two stand side by side.
    -Wl,-rpath,"\$ORIGIN"
    # The library's threads outlive a dlclose: never unmap their code.
    -Wl,-z,nodelete)
# Bounds of sections that a dependency keeps are nobody else's business. zig does not know the option.
# shellcheck disable=SC2054
case ${ZKR_CC-} in *zig*) ;; *) flags+=(-Wl,-z,start-stop-visibility=hidden) ;; esac

# shellcheck disable=SC2086 # the compiler may be several words
${ZKR_CC:-${CC:-cc}} -shared -o "$library" "${flags[@]}" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive \
    ${needs[@]+"${needs[@]}"} -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc
