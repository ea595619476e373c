#!/usr/bin/env bash
# What an installed library must be like: tests/c/installed.sh PREFIX, with the prefix of ffi/install.sh.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

prefix=$1
library=$prefix/lib/libzkrecipes.so
place=$(mktemp -d "${TMPDIR:-/tmp}/zkrecipes-installed.XXXXXX")
trap 'rm -rf "$place"' EXIT
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
hosts=${ZKR_HOSTS:-embedded:}
warnings=(-Wall -Wextra -Wpedantic -Werror)

passed=0 failed=0
check() {
    if "$@" >"$place/log" 2>&1; then
        passed=$((passed + 1)) && printf 'ok     %s\n' "$1"
    else
        failed=$((failed + 1)) && printf 'FAILED %s\n' "$1" && sed 's/^/  /' "$place/log"
    fi
}

only_zkr_symbols_are_exported() {
    local others
    others=$(nm -D --defined-only "$library" | awk '$3 !~ /^zkr_/ { print $3 }')
    printf '%s\n' "$others"
    [ -z "$others" ]
}

every_function_of_the_header_is_exported() {
    diff <(nm -D --defined-only "$library" | awk '{ print $3 }' | sort) \
        <(sed 's|/\*.*||; /^ *\*/d' "$prefix/include/zkrecipes.h" | grep -oE '\bzkr_\w+\(' | tr -d '(' | sort -u)
}

# A program may link ZooKeeper's own C recipes too.
no_name_of_zookeepers_recipes_is_taken() {
    local taken
    taken=$(nm -D --defined-only "$library" | awk '{ print $3 }' |
        grep -xE 'zkr_lock_(init|init_cb|lock|unlock|getpath|isowner|getid|destroy)|zkr_queue_(init|offer|element|remove|take|destroy)')
    printf '%s\n' "$taken"
    [ -z "$taken" ]
}

the_soname_carries_the_interface_version() { readelf -d "$library" | grep -F 'soname: [libzkrecipes.so.0]'; }

# The library's threads outlive a dlclose.
it_is_never_unmapped() { readelf -d "$library" | grep -F NODELETE; }

headers_stand_alone() {
    echo '#include <zkrecipes.h>' | cc -x c -std=c11 -fsyntax-only "${warnings[@]}" -I"$prefix/include" - &&
        echo '#include <zkrecipes.h>' | c++ -x c++ -std=c++17 -fsyntax-only "${warnings[@]}" -I"$prefix/include" - &&
        echo '#include <zkrecipes.hpp>' | c++ -x c++ -std=c++17 -fsyntax-only "${warnings[@]}" -I"$prefix/include" - &&
        echo '#include <zkrecipes.hpp>' | c++ -x c++ -std=c++20 -fsyntax-only "${warnings[@]}" -I"$prefix/include" -
}

examples_build_with_pkg_config_and_run() {
    local flags example
    read -ra flags < <(pkg-config --cflags --libs zkrecipes)
    for example in examples/c/*.c; do
        cc "${warnings[@]}" -o "$place/example" "$example" "${flags[@]}" && "$place/example" "$hosts" || return
    done
    for example in examples/cpp/*.cpp; do
        c++ -std=c++17 "${warnings[@]}" -o "$place/example" "$example" "${flags[@]}" && "$place/example" "$hosts" || return
    done
}

a_program_links_statically() {
    local private
    read -ra private < <(sed -n 's/^Libs.private: //p' "$prefix/lib/pkgconfig/zkrecipes.pc")
    cc -o "$place/static" examples/c/lock.c -I"$prefix/include" "$prefix/lib/libzkrecipes.a" "${private[@]}" &&
        ! ldd "$place/static" | grep -F libzkrecipes && "$place/static" "$hosts"
}

cmake_finds_the_package() {
    mkdir "$place/cmake" && cat >"$place/cmake/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.16)
project(example C CXX)
find_package(zkrecipes 0.1 REQUIRED)
add_executable(c-shared $PWD/examples/c/lock.c)
target_link_libraries(c-shared PRIVATE zkrecipes::zkrecipes)
add_executable(c-static $PWD/examples/c/lock.c)
target_link_libraries(c-static PRIVATE zkrecipes::static)
add_executable(cpp-shared $PWD/examples/cpp/lock.cpp)
target_compile_features(cpp-shared PRIVATE cxx_std_17)
target_link_libraries(cpp-shared PRIVATE zkrecipes::zkrecipes)
EOF
    cmake -S "$place/cmake" -B "$place/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$place/cmake/build" &&
        "$place/cmake/build/c-shared" "$hosts" && "$place/cmake/build/c-static" "$hosts" &&
        "$place/cmake/build/cpp-shared" "$hosts"
}

check only_zkr_symbols_are_exported
check every_function_of_the_header_is_exported
check no_name_of_zookeepers_recipes_is_taken
check the_soname_carries_the_interface_version
check it_is_never_unmapped
check headers_stand_alone
check examples_build_with_pkg_config_and_run
check a_program_links_statically
if command -v cmake >/dev/null; then check cmake_finds_the_package; else echo 'skip   cmake_finds_the_package: no cmake here'; fi

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
