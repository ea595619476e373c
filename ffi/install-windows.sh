#!/usr/bin/env bash
# Builds and installs the C and C++ library for Windows: the DLLs, what programs are linked with, the headers and pkg-config files.
#
#   ffi/install-windows.sh PREFIX=FOLDER [PROFILE=release]
#
# It takes the compiler of mingw-w64, on Windows itself (MSYS2) or on Linux; there ZKR_CC is its name, by default that of Debian's.
set -euo pipefail
cd "$(dirname "$0")/.."

PREFIX='' PROFILE=${ZKR_PROFILE:-release}
for argument in "$@"; do
    case $argument in
    PREFIX=* | PROFILE=*) declare "$argument" ;;
    *) echo "install: unknown setting ${argument%%=*}" >&2 && exit 2 ;;
    esac
done
[ -n "$PREFIX" ] || { echo 'install: PREFIX is missing' >&2 && exit 2; }

target=x86_64-pc-windows-gnu
export ZKR_CC=${ZKR_CC:-x86_64-w64-mingw32-gcc-posix}
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=$ZKR_CC CC_x86_64_pc_windows_gnu=$ZKR_CC
built=${CARGO_TARGET_DIR:-target}/$target/$([ "$PROFILE" = dev ] && echo debug || echo "$PROFILE")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

mkdir -p "$PREFIX/bin" "$PREFIX/lib/pkgconfig" "$PREFIX/include"
for name in zkrecipes zkrecipes_testing; do
    # A DLL of cargo's would have another name, and the testing kit needs the other library beside it.
    crate=zkrecipes-ffi${name#zkrecipes} && crate=${crate/_/-}
    "${CARGO:-cargo}" rustc --locked --quiet --profile "$PROFILE" --target "$target" --package "$crate" --lib --crate-type staticlib
    ffi/link.sh "$built/lib${name}_c.a" "$PREFIX/lib/$name.dll"
done
mv -f "$PREFIX"/lib/*.dll "$PREFIX/bin/"
cp include/*.h include/*.hpp "$PREFIX/include/"

# pkgconfig NAME DESCRIPTION [REQUIRES]
pkgconfig() {
    cat >"$PREFIX/lib/pkgconfig/$1.pc" <<EOF
prefix=\${pcfiledir}/../..

Name: $1
Description: $2
Version: $version
License: Apache-2.0
${3:+Requires: $3
}Libs: -L\${prefix}/lib -l$1
Cflags: -I\${prefix}/include
EOF
}
pkgconfig zkrecipes 'Distributed-coordination recipes on Apache ZooKeeper'
pkgconfig zkrecipes_testing 'The testing kit of zkrecipes: ZooKeeper servers inside the process that can misbehave' "zkrecipes = $version"
echo "zkrecipes $version installed: $PREFIX/bin/zkrecipes.dll, $PREFIX/bin/zkrecipes_testing.dll, $PREFIX/include/zkrecipes.h"
