#!/usr/bin/env bash
# What an installed library must be like: tests/c/installed.sh PREFIX, with the prefix of ffi/install.sh.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

prefix=$1
library=$prefix/lib/libzkrecipes.so
kit=$prefix/lib/libzkrecipes_testing.so
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
    others=$(nm -D --defined-only "$library" "$kit" | awk 'NF == 3' | awk '$3 !~ /^(zkr_|ZKRECIPES_)/ { print $3 }')
    printf '%s\n' "$others"
    [ -z "$others" ]
}

# names LIBRARY: what it exports, without versions.
names() { nm -D --defined-only "$1" | awk '{ sub(/@.*/, "", $3); print $3 }'; }

# An older library says at the start of a program which function it lacks, and not in the middle.
every_symbol_has_a_version() {
    local without
    without=$(nm -D --defined-only "$library" | awk '$3 ~ /^zkr_/ && $3 !~ /@@ZKRECIPES_0\.[0-9]+$/ { print $3 }'
        nm -D --defined-only "$kit" | awk '$3 ~ /^zkr_/ && $3 !~ /@@ZKRECIPES_TESTING_0\.[0-9]+$/ { print $3 }'
        # What the kit takes of the library.
        nm -D --undefined-only "$kit" | awk '$2 ~ /^zkr_/ && $2 !~ /@ZKRECIPES_0\.[0-9]+$/ { print $2 }')
    printf '%s\n' "$without"
    [ -z "$without" ] && readelf -V "$library" | grep -F 'Name: ZKRECIPES_0.1' &&
        readelf -V "$kit" | grep -F 'Name: ZKRECIPES_TESTING_0.1' &&
        readelf -V "$kit" | grep -A 1 -F 'File: libzkrecipes.so.0' | grep -F 'Name: ZKRECIPES_0.1'
}

# exports LIBRARY HEADER: whether these are the same.
exports() {
    diff <(names "$1" | grep '^zkr_' | sort) \
        <(sed 's|/\*.*||; /^ *\*/d' "$prefix/include/$2" | grep -oE '\bzkr_\w+\(' | tr -d '(' | sort -u)
}

every_function_of_the_headers_is_exported() { exports "$library" zkrecipes.h && exports "$kit" zkrecipes_testing.h; }

# What runs in production has no server for tests in it.
the_server_is_in_the_testing_kit_alone() {
    # In the places that a panic names, which stay when symbols are stripped.
    grep -aqF embedded/src/machine "$kit" && ! grep -aqF embedded/src/machine "$library"
}

# A program may link ZooKeeper's own C recipes too.
no_name_of_zookeepers_recipes_is_taken() {
    local taken
    taken=$(names "$library" |
        grep -xE 'zkr_lock_(init|init_cb|lock|unlock|getpath|isowner|getid|destroy)|zkr_queue_(init|offer|element|remove|take|destroy)')
    printf '%s\n' "$taken"
    [ -z "$taken" ]
}

# The C interface is kept for a whole major version, 0 included: the soname, the documents and CMake say so.
the_soname_is_the_major_version() {
    readelf -d "$library" | grep -F 'soname: [libzkrecipes.so.0]' &&
        readelf -d "$kit" | grep -F 'soname: [libzkrecipes_testing.so.0]'
}

the_documents_say_the_same() {
    local document
    for document in CHANGELOG.md docs/support.md; do
        tr '\n' ' ' <"$document" | grep -oE 'a whole major version, 0 included, as (its|the) soname says \(.libzkrecipes\.so\.0.\)' || return
    done
}

# takes FILE VERSION…: what a version file of CMake says to who wants these.
takes() {
    local wanted file=$1 said=''
    for wanted in "${@:2}"; do
        cat >"$place/wanted.cmake" <<EOF
set(PACKAGE_FIND_VERSION $wanted)
set(PACKAGE_FIND_VERSION_MAJOR ${wanted%%.*})
string(REPLACE . ";" parts $wanted)
list(GET parts 1 PACKAGE_FIND_VERSION_MINOR)
include($file)
message("\${PACKAGE_VERSION_COMPATIBLE}")
EOF
        said+="$wanted $(cmake -P "$place/wanted.cmake" 2>&1) "
    done
    printf '%s\n' "${said% }"
}

cmake_takes_the_same_major_version_only() {
    local file=$prefix/lib/cmake/zkrecipes/zkrecipesConfigVersion.cmake version major
    version=$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$file") major=${version%%.*}
    # What later versions will say of those before them.
    sed "s/\"$version\"/\"$major.99.0\"/" "$file" >"$place/later.cmake"
    sed "s/\"$version\"/\"$((major + 1)).2.0\"/; s/\(MAJOR EQUAL\) $major/\1 $((major + 1))/" "$file" >"$place/next.cmake"
    {
        takes "$file" 0.1 0.99 1.0
        takes "$place/later.cmake" 0.1 0.99 1.0
        takes "$place/next.cmake" 0.1 1.0 1.2 2.0
    } | tee "$place/said"
    diff "$place/said" - <<EOF
0.1 TRUE 0.99 FALSE 1.0 FALSE
0.1 TRUE 0.99 TRUE 1.0 FALSE
0.1 FALSE 1.0 TRUE 1.2 TRUE 2.0 FALSE
EOF
}

# A program that was built against an older header of this major version runs with this library.
a_program_of_0_1_runs() {
    cc "${warnings[@]}" -DZKR_HEADER='"zkrecipes-0.1.h"' -DZKR_TESTING_HEADER='"zkrecipes_testing-0.1.h"' -o "$place/old" \
        tests/c/abi/program.c -L"$prefix/lib" -lzkrecipes_testing -lzkrecipes &&
        "$place/old"
}

# The same program as the compiler left it then, kept: made of tests/c/abi by `cc -O1 -s`, it needs glibc 2.34.
a_binary_of_0_1_runs() { tests/c/abi/program-0.1-x86_64-linux-gnu; }

todays_header_has_the_layout_of_0_1() {
    cc "${warnings[@]}" -I"$prefix/include" -DZKR_HEADER='<zkrecipes.h>' -DZKR_TESTING_HEADER='<zkrecipes_testing.h>' -o "$place/new" \
        tests/c/abi/program.c -L"$prefix/lib" -lzkrecipes_testing -lzkrecipes && "$place/new"
}

# Every function and callback with its types, one a line; every constant with its number.
declarations() {
    grep -v '^#' "$1" | cc -E -P -x c - | tr '\n' ' ' | sed 's/[{}]/;/g; s/  */ /g; s/, /,/g; s/( /(/g' | tr ';' '\n' |
        grep -F '(' | sort
}
constants() { grep -oE '\bZKR_\w+ = [0-9]+' "$1" | sort; }

nothing_of_0_1_is_gone() {
    local name old new gone=''
    for name in zkrecipes zkrecipes_testing; do
        old=tests/c/abi/$name-0.1.h new=$prefix/include/$name.h
        gone+=$(comm -23 <(declarations $old) <(declarations "$new") && comm -23 <(constants $old) <(constants "$new"))
        [ "$(declarations $old | wc -l)" -gt 40 ] || return
    done
    printf '%s\n' "$gone"
    [ -z "$gone" ]
}

# A later field may not land where an older caller has garbage. What the library fills may have padding.
no_struct_of_the_callers_has_padding() {
    echo '#include <zkrecipes.h>' | LC_ALL=C cc -x c -std=c11 -fsyntax-only -Wpadded -I"$prefix/include" - 2>&1 |
        grep -F Wpadded | grep -vF ephemeral_owner | cut -d: -f2 |
        while read -r line; do sed -n "${line}p" "$prefix/include/zkrecipes.h"; done >"$place/padding"
    cat "$place/padding"
    # What only the library makes.
    [ -s "$place/padding" ] && ! grep -vxE '\} zkr_(contender|dead_letter|instance|part_result|group_event|node_state|site_status|commit_status);|  const char \*problem;' "$place/padding"
}

# The library's threads outlive a dlclose.
it_is_never_unmapped() { readelf -d "$library" | grep -F NODELETE && readelf -d "$kit" | grep -F NODELETE; }

# A program that links nothing but the library.
without_the_kit_embedded_says_what_to_install() {
    mkdir "$place/alone" && cp "$library" "$place/alone/libzkrecipes.so.0" &&
        cc -o "$place/alone/lock" examples/c/lock.c -I"$prefix/include" -L"$prefix/lib" -lzkrecipes &&
        ! LD_LIBRARY_PATH=$place/alone "$place/alone/lock" embedded: 2>"$place/alone/said" &&
        cat "$place/alone/said" && grep -F libzkrecipes_testing.so.0 "$place/alone/said"
}

a_program_with_the_kit_links_with_pkg_config() {
    local flags
    read -ra flags < <(pkg-config --cflags --libs zkrecipes_testing)
    cc "${warnings[@]}" -DZKR_HEADER='<zkrecipes.h>' -DZKR_TESTING_HEADER='<zkrecipes_testing.h>' -o "$place/kit" \
        tests/c/abi/program.c "${flags[@]}" && "$place/kit"
}

headers_stand_alone() {
    local header
    for header in zkrecipes.h zkrecipes_testing.h; do
        echo "#include <$header>" | cc -x c -std=c11 -fsyntax-only "${warnings[@]}" -I"$prefix/include" - || return
    done
    # Those of C++ also in C++20, side by side, in tests/usage/test_cpp20.py.
    for header in zkrecipes.h/17 zkrecipes.h/20 zkrecipes_testing.h/17 zkrecipes_testing.h/20 zkrecipes.hpp/17 zkrecipes_testing.hpp/17; do
        echo "#include <${header%/*}>" |
            c++ -x c++ -std=c++"${header#*/}" -fsyntax-only "${warnings[@]}" -I"$prefix/include" - || return
    done
    echo "#include <zkrecipes_coro.hpp>" |
        c++ -x c++ -std=c++20 -fsyntax-only "${warnings[@]}" -I"$prefix/include" -
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
    local flags
    # A folder that has nothing but the static one, so that linkers take it.
    mkdir "$place/archive" && ln -s "$prefix/lib/libzkrecipes.a" "$place/archive/" || return
    read -ra flags < <(pkg-config --static --cflags --libs zkrecipes)
    cc -o "$place/static" examples/c/lock.c -L"$place/archive" "${flags[@]}" &&
        ! ldd "$place/static" | grep -F libzkrecipes && "$place/static" "$hosts"
}

# With the C library and everything else inside it, which has no shared form of what unwinds a stack.
a_program_is_static_as_a_whole() {
    local flags
    printf '#include <stdio.h>\n#include <zkrecipes.h>\nint main(void) { return puts(zkr_version()) < 0; }\n' >"$place/whole.c"
    read -ra flags < <(pkg-config --static --cflags --libs zkrecipes)
    cc -static -o "$place/whole" "$place/whole.c" "${flags[@]}" && ! readelf -d "$place/whole" | grep NEEDED && "$place/whole"
}

# What is shipped is one object, in which nothing is seen but the functions of C. For development it is what cargo makes.
nothing_else_is_seen_in_the_static_library() {
    local archive=$prefix/lib/libzkrecipes.a
    readelf -sW "$archive" | awk '$5 == "GLOBAL" && $7 != "UND" { print $8 }' | sort >"$place/seen"
    diff "$place/seen" <(names "$library" | grep '^zkr_' | sort)
}

# With its own panics, which unwind by tables of its own.
another_library_of_rust_may_stand_beside_it() {
    cat >"$place/other.rs" <<'EOF'
#[unsafe(no_mangle)]
pub extern "C" fn other() -> i32 {
    std::panic::set_hook(Box::new(|_| ()));
    std::panic::catch_unwind(|| std::env::args().nth(99).unwrap().len() as i32).unwrap_or(7)
}
EOF
    printf '#include <zkrecipes.h>\nint other(void);\nint main(void) { return !(other() == 7 && zkr_version()); }\n' >"$place/two.c"
    rustc --edition 2024 --crate-type staticlib -o "$place/libother.a" "$place/other.rs" || return
    local flags order
    read -ra flags < <(pkg-config --static --libs zkrecipes)
    for order in "$place/libother.a $prefix/lib/libzkrecipes.a" "$prefix/lib/libzkrecipes.a $place/libother.a"; do
        # shellcheck disable=SC2086 # two words
        cc -o "$place/two" "$place/two.c" -I"$prefix/include" $order "${flags[@]}" && "$place/two" || return
    done
}

# Nothing in them says where they were installed to, but for the prefix.
files_of_pkg_config_can_be_moved() {
    mkdir -p "$place/moved/lib" && cp -r "$prefix/lib/pkgconfig" "$place/moved/lib/" || return
    PKG_CONFIG_PATH=$place/moved/lib/pkgconfig pkg-config --define-prefix --cflags --libs zkrecipes | tee "$place/said"
    grep -F -- "-L$place/moved/lib" "$place/said" && ! grep -F "$prefix" "$place/said"
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
add_executable(kit $PWD/tests/c/abi/program.c)
target_compile_definitions(kit PRIVATE ZKR_HEADER=<zkrecipes.h> ZKR_TESTING_HEADER=<zkrecipes_testing.h>)
target_link_libraries(kit PRIVATE zkrecipes::testing)
EOF
    cmake -S "$place/cmake" -B "$place/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$place/cmake/build" &&
        "$place/cmake/build/c-shared" "$hosts" && "$place/cmake/build/c-static" "$hosts" &&
        "$place/cmake/build/cpp-shared" "$hosts" && "$place/cmake/build/kit"
}

# What lives as long as the process looks lost to it, and the file that is installed says so.
valgrind_has_nothing_to_say() {
    # Under valgrind everything takes its time.
    cat >"$place/held.c" <<'EOF'
#include <stdio.h>
#include <zkrecipes.h>

static void on_lost(const zkr_error *error, void *user_data) { (void)error, (void)user_data; }

int main(int count, char **words) {
  zkr_error *error = NULL;
  zkr_client *client = NULL;
  zkr_lock *lock = NULL;
  zkr_subscription *subscription = NULL;
  zkr_options options = ZKR_OPTIONS_INIT;
  options.connect_timeout_ms = -1;
  int ok = count == 2 && zkr_client_connect(words[1], &options, &client, &error) == ZKR_OK &&
           zkr_lock_new(client, "/valgrind", NULL, &lock, &error) == ZKR_OK &&
           zkr_lock_on_lost(lock, on_lost, NULL, &subscription, NULL) == ZKR_NOT_HELD &&
           zkr_lock_acquire(lock, -1, NULL, &error) == ZKR_OK;
  if (error) fprintf(stderr, "%s\n", zkr_error_message(error));
  zkr_lock_release(lock, NULL);
  zkr_client_close(client, -1, NULL);
  zkr_error_free(error);
  zkr_lock_free(lock);
  zkr_client_free(client);
  return !ok;
}
EOF
    cc "${warnings[@]}" -o "$place/held" "$place/held.c" -I"$prefix/include" -L"$prefix/lib" -lzkrecipes || return
    local memcheck=(valgrind --quiet --error-exitcode=9 --leak-check=full)
    "${memcheck[@]}" --suppressions="$prefix/share/zkrecipes/valgrind.supp" "$place/held" "$hosts" || return
    # Whatever else is lost is still told.
    printf '#include <stdlib.h>\n#include <zkrecipes.h>\nint main(void) { volatile char *lost = malloc(7); lost[0] = 1; lost = NULL; return zkr_version() == NULL; }\n' >"$place/lost.c"
    cc -o "$place/lost" "$place/lost.c" -I"$prefix/include" -L"$prefix/lib" -lzkrecipes || return
    ! "${memcheck[@]}" --suppressions="$prefix/share/zkrecipes/valgrind.supp" "$place/lost"
}

tests_of_users_run_with_ctest() {
    cmake -S examples/cpp/testing -B "$place/ctest" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$place/ctest" &&
        (cd "$place/ctest" && ctest --output-on-failure) | tee "$place/ctest.log" && grep -q '100% tests passed.* 3$' "$place/ctest.log"
}

# Whoever writes the report has a lock of its own, which keeps nobody out.
tests_of_users_fail_without_the_lock() {
    cp -r examples/cpp/testing "$place/unlocked" || return
    sed -i '/^static bool write_report/,/^}/s|"/locks/report"|"/locks/" + std::to_string(client.session_id())|' "$place/unlocked/report_test.cpp"
    [ "$(diff examples/cpp/testing/report_test.cpp "$place/unlocked/report_test.cpp" | grep -c '^>')" -eq 1 ] || return
    cmake -S "$place/unlocked" -B "$place/unlocked/built" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$place/unlocked/built" || return
    (cd "$place/unlocked/built" && ctest --timeout 120) | tee "$place/ctest.log"
    grep -q 'of_two_at_the_same_time_one_writes.*Failed' "$place/ctest.log" && grep -q 'survives_its_writer.*Failed' "$place/ctest.log"
}

check only_zkr_symbols_are_exported
check every_function_of_the_headers_is_exported
check the_server_is_in_the_testing_kit_alone
check no_name_of_zookeepers_recipes_is_taken
check the_soname_is_the_major_version
check the_documents_say_the_same
check a_program_of_0_1_runs
# Not a pipe: with `grep -q`, which goes at the first line that fits, ldd may end by SIGPIPE, and the test would be left out.
case "$(uname -sm) $(ldd --version 2>&1)" in
"Linux x86_64 "*GLIBC* | "Linux x86_64 "*"GNU libc"*) check a_binary_of_0_1_runs ;;
*) echo 'skip   a_binary_of_0_1_runs: it is for Linux on x86-64 with glibc' ;;
esac
check todays_header_has_the_layout_of_0_1
check nothing_of_0_1_is_gone
check no_struct_of_the_callers_has_padding
check every_symbol_has_a_version
check valgrind_has_nothing_to_say
check it_is_never_unmapped
check without_the_kit_embedded_says_what_to_install
check a_program_with_the_kit_links_with_pkg_config
check headers_stand_alone
check examples_build_with_pkg_config_and_run
check a_program_links_statically
if echo 'int main(void) { return 0; }' | cc -static -o "$place/empty" -x c - 2>/dev/null; then
    check a_program_is_static_as_a_whole
else
    echo 'skip   a_program_is_static_as_a_whole: the system has no static C library'
fi
if [ "$(ar t "$prefix/lib/libzkrecipes.a" | wc -l)" -eq 1 ]; then
    check nothing_else_is_seen_in_the_static_library
    if command -v rustc >/dev/null; then check another_library_of_rust_may_stand_beside_it; else echo 'skip   another_library_of_rust_may_stand_beside_it: no rustc here'; fi
else
    echo 'skip   nothing_else_is_seen_in_the_static_library: not a release build'
    echo 'skip   another_library_of_rust_may_stand_beside_it: not a release build'
fi
check files_of_pkg_config_can_be_moved
if command -v cmake >/dev/null; then check cmake_finds_the_package && check cmake_takes_the_same_major_version_only && check tests_of_users_run_with_ctest && check tests_of_users_fail_without_the_lock; else echo 'skip   cmake_finds_the_package: no cmake here'; fi

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
