#!/usr/bin/env bash
# Python without a GIL: a wheel is built for a free-threaded CPython, takes a lock there, and Python's tests run.
#
#   tests/elsewhere/free-threaded.sh HOSTS            of a real ZooKeeper
#   tests/elsewhere/free-threaded.sh HOSTS thread     under ThreadSanitizer: the module, CPython, and the tests with many threads
#
# PYTHON is such an interpreter (python3.14t) where there is one. Else one is built of Debian's sources and kept below .cache: 3.14
# of `testing`, or 3.13 of `stable` where a mirror has the sources of nothing newer. For 3.13 PyO3 makes no promise, and no wheel
# is released; what is tested is tested there as well.
cd "$(dirname "$0")/../.." || exit
source tests/elsewhere/parts.sh

hosts=$1 mode=${2-plain}
place=$PWD/target/elsewhere/free-threaded
kept=$PWD/.cache/free-threaded
python=${PYTHON-}
export PATH=$PWD/.venv/bin:$PATH
unset VIRTUAL_ENV PYTHONPATH PYTHON_GIL
mkdir -p "$place" "$kept"

# --- the interpreter

# The archive that this machine's packages come from has other suites, too.
has_sources() {
    local apt=$kept/apt mirror suite
    [ ! -e "$kept/source/done" ] || return 0
    # shellcheck disable=SC2016 # for apt
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | grep -v security | head -n 1)
    [ -n "$mirror" ] || { echo 'this is no Debian: name an interpreter in PYTHON' && return 1; }
    rm -rf "$apt" "$kept/source"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/parts" "$kept/source"
    : >"$apt/status"
    cat >"$apt/apt.conf" <<CONF
APT::Sandbox::User "root";
Debug::NoLocking "true";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::State::extended_states "$apt/extended_states";
Dir::Cache "$apt";
Dir::Cache::archives "$apt/archives";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "$apt/parts";
CONF
    for suite in testing:3.14 stable:3.13; do
        echo "deb-src $mirror ${suite%:*} main" >"$apt/sources.list"
        (
            export APT_CONFIG=$apt/apt.conf
            cd "$apt"
            apt-get --quiet --quiet update && apt-get --quiet --quiet source --download-only --only-source "python${suite#*:}"
        ) && tar -xf "$apt/python${suite#*:}"_*.orig.tar.xz -C "$kept/source" --strip-components 1 && touch "$kept/source/done" && return
    done
    return 1
}
# has_python FOLDER OPTION…: what configure takes.
has_python() {
    local folder=$1
    [ ! -x "$kept/$folder/bin/python3" ] || return 0
    has_sources
    needs_packages gcc make zlib1g-dev libffi-dev libssl-dev
    rm -rf "$place/build" && mkdir -p "$place/build"
    cd "$place/build"
    "$kept/source/configure" --prefix="$kept/$folder" --disable-gil --disable-test-modules "${@:2}"
    make "-j${JOBS:-$(nproc)}"
    make install
    rm -rf "$place/build"
}
needs_packages() {
    local package missing=()
    for package; do dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package"); done
    [ ${#missing[@]} -eq 0 ] || as_root env DEBIAN_FRONTEND=noninteractive apt-get install --quiet --quiet --yes --no-install-recommends "${missing[@]}"
}
python_of_debian() { has_python python; }
# What clang makes of CPython is what its developers run under ThreadSanitizer.
python_with_thread_sanitizer() {
    local clang
    clang=$(command -v clang-16 || command -v clang)
    needs_packages llvm "libclang-rt-$("$clang" -dumpversion | cut -d. -f1)-dev"
    CC=$clang CXX=${clang/clang/clang++} has_python thread --with-thread-sanitizer
}

# --- the wheel

# PyO3 refuses 3.13t, although its objects are laid out as those of 3.14t.
for_pyo3() {
    if [ "$("$python" -c 'import sys; print(sys.version_info >= (3, 14))')" = False ]; then export UNSAFE_PYO3_SKIP_VERSION_CHECK=1; fi
}
# wheel FOLDER OPTION…: what maturin takes.
wheel() {
    for_pyo3
    rm -rf "$1"
    (cd python && exec maturin build --locked --quiet --profile dev --interpreter "$python" --compatibility linux --out "$@")
}
builds() {
    wheel "$place/wheel"
    "$python" -m venv --clear "$place/venv"
    "$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index "$place"/wheel/zkrecipes-*t-linux_*.whl
}
lock() { "$place/venv/bin/python" -W error::RuntimeWarning tests/elsewhere/lock.py "$1" "$place/venv/bin/zkrecipes"; }

# has_packages PYTHON OPTION…: the versions of the other tests, but for what checks types and what builds: some of that has no
# free-threaded wheels.
has_packages() {
    awk '/^[^ #]/ { left_out = /^(ast-serialize|librt|maturin|mypy|ruff)==/ } !left_out' python/requirements-dev.txt >"$place/requirements.txt"
    "$1" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$place/requirements.txt" "${@:2}"
}
# What is installed is tested: beside python/zkrecipes, which is built for the ordinary interpreter, that would be found.
tests_of_python() {
    local tests=$PWD/python/tests
    has_packages "$place/venv/bin/python"
    mkdir -p "$place/empty"
    cd "$place/empty"
    PYTHON_GIL=0 ZKR_HOSTS=$hosts "$place/venv/bin/python" -m pytest -q -p no:cacheprovider -c "${tests%/*}/pyproject.toml" --ignore "$tests/test_typing.py" "$tests"
}

# --- under ThreadSanitizer

# The library itself is looked at here, which it keeps a sanitizer of its users from: hence the cfg.
builds_with_thread_sanitizer() {
    RUSTUP_TOOLCHAIN=nightly RUSTFLAGS='-Zsanitizer=thread --cfg zkr_instrumented' CARGO_TARGET_DIR=$place/target \
        wheel "$place/thread" --target "$(uname -m)-unknown-linux-gnu" -Z build-std --strip false
    rm -rf "$place/site"
    python3 -m zipfile -e "$place"/thread/zkrecipes-*t-linux_*.whl "$place/site"
}
many_threads() {
    local root=$PWD symbolizer
    [ -d "$place/packages/pytest" ] || has_packages python3 --target "$place/packages"
    mkdir -p "$place/empty"
    rm -f "$place"/races.*
    cat "$kept/source/Tools/tsan/suppressions_free_threading.txt" tests/elsewhere/free-threaded.supp >"$place/suppressions"
    # Without one no name is suppressed.
    symbolizer=$(command -v llvm-symbolizer)
    cd "$place/empty"
    TSAN_OPTIONS="suppressions=$place/suppressions log_path=$place/races external_symbolizer_path=$symbolizer" PYTHON_GIL=0 PYTHONPATH=$place/site:$place/packages \
        "$python" -m pytest -q -p no:cacheprovider -c "$root/python/pyproject.toml" "$root/python/tests/test_many_threads.py" || { cat "$place"/races.* && return 1; }
}

case $mode in
plain)
    [ -n "$python" ] || { python=$kept/python/bin/python3 && part 'no GIL: CPython of Debian' python_of_debian; }
    ! $is_well || part 'no GIL: the wheel' builds
    if $is_well; then
        part 'no GIL: a lock, on embedded:' lock embedded:
        part 'no GIL: a lock' lock "$hosts"
        part 'no GIL: the tests of Python' tests_of_python
    fi
    ;;
thread)
    python=$kept/thread/bin/python3
    if ! cargo +nightly --version >/dev/null 2>&1; then
        not_here 'ThreadSanitizer: many threads' 'it needs a nightly Rust, with rust-src'
        table
        exit
    fi
    part 'ThreadSanitizer: CPython of Debian' python_with_thread_sanitizer
    ! $is_well || part 'ThreadSanitizer: the module' builds_with_thread_sanitizer
    ! $is_well || part 'ThreadSanitizer: many threads' many_threads
    ;;
esac
table
