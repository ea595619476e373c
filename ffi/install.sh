#!/usr/bin/env bash
# Installs the C and C++ library: the shared and the static one, the headers, pkg-config files, a CMake package, manual pages,
# and what valgrind need not say.
# The testing kit is a shared library of its own.
#
#   ffi/install.sh PREFIX=/usr/local [DESTDIR=/stage] [LIBDIR=/usr/local/lib] [PROFILE=release] [STRIP=no]
#
# A path alone is the prefix. DESTDIR stands before every path that is written, for packagers; STRIP=no leaves the debug symbols of
# a release build, for those who put them apart. The profile defaults to ZKR_PROFILE, then to release; the library is built first
# if it is not up to date. ZKR_TARGET is another target of cargo's than this machine, CARGO what builds for it.
set -euo pipefail
cd "$(dirname "$0")/.."

PREFIX=/usr/local DESTDIR='' LIBDIR='' PROFILE=${ZKR_PROFILE:-release} STRIP=yes
for argument in "$@"; do
    case $argument in
    PREFIX=* | DESTDIR=* | LIBDIR=* | PROFILE=* | STRIP=*) declare "$argument" ;;
    *=*) echo "install: unknown setting ${argument%%=*}" >&2 && exit 2 ;;
    *) PREFIX=$argument ;;
    esac
done
case $PREFIX in
/*) ;;
*) PREFIX=$PWD/$PREFIX ;;
esac
: "${LIBDIR:=$PREFIX/lib}"

"${CARGO:-cargo}" build --locked --quiet --profile "$PROFILE" ${ZKR_TARGET:+--target "$ZKR_TARGET"} -p zkrecipes-ffi -p zkrecipes-ffi-testing
built=${CARGO_TARGET_DIR:-target}
# With cargo-zigbuild, a target may end with a version of glibc, of which the folder knows nothing.
if [ -n "${ZKR_TARGET-}" ]; then built+=/${ZKR_TARGET%%.*}; fi
built+=/$([ "$PROFILE" = dev ] && echo debug || echo "$PROFILE")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# The C interface of one major version is kept, 0 included: what was built against 0.1 runs with every later 0.x.
major=${version%%.*}

lib=$DESTDIR$LIBDIR include=$DESTDIR$PREFIX/include share=$DESTDIR$PREFIX/share/zkrecipes
mkdir -p "$lib/pkgconfig" "$lib/cmake/zkrecipes" "$include" "$share"

# Into place by renaming, so that a program which runs with the old library keeps it. What is the same already stays, and
# nobody builds anything anew because of it.
place() {
    if [ "$PROFILE" = dev ] && cmp -s "$1" "$2"; then return; fi
    cp "$1" "$2.new"
    # Programs link by what stays. Line tables would make the static library four times as large; a shared one needs no names but
    # those that it exports.
    case $PROFILE:$STRIP:$1 in
    release:yes:*.so) strip --strip-unneeded "$2.new" ;;
    release:yes:*.a) strip --strip-debug "$2.new" ;;
    esac
    chmod "$3" "$2.new"
    if cmp -s "$2.new" "$2"; then rm "$2.new"; else mv -f "$2.new" "$2"; fi
}
# Beside the archives, so that one can be had under another name.
linked=$(mktemp -d "$built/install.XXXXXX")
trap 'rm -rf "$linked"' EXIT
# To link for development takes five seconds of a processor, and the tests install a dozen times: what is linked is kept, by compiler.
# Cargo may bring an older archive back, so a link says of which it was made.
kept=$built/linked-$(echo "${ZKR_CC:-${CC:-cc}}" | cksum | cut -d ' ' -f 1)
is_kept() {
    local source name
    [ "$PROFILE" = dev ] || return
    for source in "$built"/libzkrecipes{,_testing}_c.a; do [ "$kept/${source##*/}" -ef "$source" ] || return; done
    for source in "$built"/libzkrecipes{,_testing}_c.a ffi/link.sh ffi/{,testing/}*.map Cargo.toml; do
        for name in zkrecipes zkrecipes_testing; do [ "$kept/lib$name.so" -nt "$source" ] || return; done
    done
}
if is_kept; then
    cp "$kept"/*.so "$linked"
else
    # Cargo may put others in their place meanwhile.
    for name in zkrecipes zkrecipes_testing; do
        ln "$built/lib${name}_c.a" "$linked" 2>/dev/null || cp "$built/lib${name}_c.a" "$linked"
        ffi/link.sh "$linked/lib${name}_c.a" "$linked/lib$name.so"
    done
    if [ "$PROFILE" = dev ]; then
        # Others may be at it, too: the links come last.
        mkdir -p "$kept"
        rm -f "$kept"/*.a
        for name in zkrecipes zkrecipes_testing; do
            cp "$linked/lib$name.so" "$kept/lib$name.so.$$"
            mv -f "$kept/lib$name.so.$$" "$kept/lib$name.so"
        done
        mv -f "$linked"/libzkrecipes{,_testing}_c.a "$kept"
    fi
fi
for name in zkrecipes zkrecipes_testing; do
    place "$linked/lib$name.so" "$lib/lib$name.so.$version" 755
    ln -sfn "lib$name.so.$version" "$lib/lib$name.so.$major"
    ln -sfn "lib$name.so.$major" "$lib/lib$name.so"
done
archive=$built/libzkrecipes_c.a
# Other linkers know nothing of groups that are dissolved.
LD=${LD:-$(command -v ld.bfd || echo ld)} OBJCOPY=${OBJCOPY:-objcopy} AR=${AR:-ar} READELF=${READELF:-readelf}
if [ "$PROFILE" = release ]; then
    for tool in "$LD" "$OBJCOPY" "$AR" "$READELF"; do
        command -v "$tool" >/dev/null || { echo "install.sh: the static library takes $tool of the GNU binutils" >&2 && exit 1; }
    done
    # One object, of the functions of C and of what they call. Nothing else in it is seen outside, so that a program may have
    # other libraries of Rust beside it. Groups of sections are what linkers keep one of, whichever comes first: they are dissolved.
    "$READELF" -sW "$archive" | awk '$5 == "GLOBAL" && $7 != "UND" && $8 ~ /^zkr_/ { print $8 }' | sort -u >"$linked/names"
    sed 's/^/-u /' "$linked/names" >"$linked/roots"
    "$LD" -r --gc-sections --force-group-allocation -o "$linked/zkrecipes.o" "@$linked/roots" "$archive"
    # What a compiler of its own version could still optimize is nothing for the tools of others.
    "$OBJCOPY" --keep-global-symbols="$linked/names" --remove-section=.llvmbc --remove-section=.llvmcmd "$linked/zkrecipes.o"
    "$AR" rcsD "$linked/libzkrecipes.a" "$linked/zkrecipes.o"
    archive=$linked/libzkrecipes.a
fi
place "$archive" "$lib/libzkrecipes.a" 644
for header in zkrecipes.h zkrecipes.hpp zkrecipes_coro.hpp zkrecipes_testing.h zkrecipes_testing.hpp; do
    place "include/$header" "$include/$header" 644
done

place ffi/zkrecipes.supp "$share/valgrind.supp" 644
python3 api/generate/man.py "$DESTDIR$PREFIX/share/man/man3" >/dev/null

# What the static library needs from the system. What unwinds a stack comes from the compiler, which knows where it is in a program
# that is static as a whole.
private='-lutil -lrt -lpthread -lm -ldl'
# Below the prefix it moves with it.
case $LIBDIR in
"$PREFIX"/*) libdir="\${prefix}${LIBDIR#"$PREFIX"}" ;;
*) libdir=$LIBDIR ;;
esac

cat >"$lib/pkgconfig/zkrecipes.pc" <<EOF
prefix=$PREFIX
libdir=$libdir
includedir=\${prefix}/include

Name: zkrecipes
Description: Distributed-coordination recipes on Apache ZooKeeper
Version: $version
License: Apache-2.0
Libs: -L\${libdir} -lzkrecipes
Libs.private: $private
Cflags: -I\${includedir}
EOF

cat >"$lib/pkgconfig/zkrecipes_testing.pc" <<EOF
prefix=$PREFIX
libdir=$libdir
includedir=\${prefix}/include

Name: zkrecipes_testing
Description: The testing kit of zkrecipes: ZooKeeper servers inside the process that can misbehave
Version: $version
License: Apache-2.0
Requires: zkrecipes = $version
Libs: -L\${libdir} -lzkrecipes_testing
Cflags: -I\${includedir}
EOF

cat >"$lib/cmake/zkrecipes/zkrecipesConfig.cmake" <<EOF
# zkrecipes::zkrecipes is the shared library, zkrecipes::static the static one, zkrecipes::testing the testing kit.
get_filename_component(_zkrecipes_lib "\${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
get_filename_component(_zkrecipes_include "\${_zkrecipes_lib}/../include" ABSOLUTE)
if(NOT EXISTS "\${_zkrecipes_include}/zkrecipes.h") # the libraries are elsewhere
  set(_zkrecipes_include "$PREFIX/include")
endif()

if(NOT TARGET zkrecipes::zkrecipes)
  add_library(zkrecipes::zkrecipes SHARED IMPORTED)
  set_target_properties(zkrecipes::zkrecipes PROPERTIES
    IMPORTED_LOCATION "\${_zkrecipes_lib}/libzkrecipes.so.$version"
    IMPORTED_SONAME "libzkrecipes.so.$major"
    INTERFACE_INCLUDE_DIRECTORIES "\${_zkrecipes_include}")

  add_library(zkrecipes::testing SHARED IMPORTED)
  set_target_properties(zkrecipes::testing PROPERTIES
    IMPORTED_LOCATION "\${_zkrecipes_lib}/libzkrecipes_testing.so.$version"
    IMPORTED_SONAME "libzkrecipes_testing.so.$major"
    INTERFACE_INCLUDE_DIRECTORIES "\${_zkrecipes_include}"
    INTERFACE_LINK_LIBRARIES zkrecipes::zkrecipes)

  add_library(zkrecipes::static STATIC IMPORTED)
  set_target_properties(zkrecipes::static PROPERTIES
    IMPORTED_LOCATION "\${_zkrecipes_lib}/libzkrecipes.a"
    INTERFACE_INCLUDE_DIRECTORIES "\${_zkrecipes_include}"
    INTERFACE_LINK_LIBRARIES "${private// /;}")
endif()
EOF

cat >"$lib/cmake/zkrecipes/zkrecipesConfigVersion.cmake" <<EOF
set(PACKAGE_VERSION "$version")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION OR NOT PACKAGE_FIND_VERSION_MAJOR EQUAL $major)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
EOF

echo "zkrecipes $version installed: $lib/libzkrecipes.so.$version, $lib/libzkrecipes_testing.so.$version, $include/zkrecipes.h"
# What is staged is installed by a package, which sees to the loader itself.
if [ -z "$DESTDIR" ]; then
    case $LIBDIR in
    /lib | /lib/* | /lib64 | /usr/lib | /usr/lib/* | /usr/lib64 | /usr/local/lib | /usr/local/lib/*)
        echo 'Run ldconfig as root: only then does the loader find the library.'
        ;;
    *) echo "The loader finds the library with LD_LIBRARY_PATH=$LIBDIR, or with that folder in /etc/ld.so.conf.d and ldconfig." ;;
    esac
fi
