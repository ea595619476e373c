#!/bin/sh
# Takes a lock with what scripts/dist has built for a platform, the way a user installs it:
#
#   tests/elsewhere/smoke.sh PLATFORM [HOSTS]
#
# Without HOSTS the server is the embedded one. On a machine with glibc, what is for musl runs in containers of Alpine.
# PYTHON and NODE are others than those of the path.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
platform=$1
hosts=${2:-embedded:}
part=${3:-python node command}
: "${PYTHON:=python3}" "${NODE:=node}"

place=$(mktemp -d) bin=''
trap 'rm -rf "$place"' EXIT
cpu=x86_64
case $platform in *-arm64*) cpu='a*64' ;; esac

smoke_python() {
    case $platform in
    linux-*-gnu) tag="manylinux*_$cpu" ;;
    linux-*-musl) tag="musllinux*_$cpu" ;;
    darwin-*) tag="macosx*_$cpu" ;;
    win32-*) tag="win_amd64" ;;
    esac
    # Without a GIL it has no stable ABI.
    abi=$("$PYTHON" -c 'import sysconfig; print("cp314t" if sysconfig.get_config_var("Py_GIL_DISABLED") else "abi3")')
    "$PYTHON" -m venv "$place/venv"
    bin=$place/venv/bin
    [ -d "$bin" ] || bin=$place/venv/Scripts
    # shellcheck disable=SC2086 # a pattern
    "$bin/python" -m pip install --quiet --disable-pip-version-check --no-index "$root"/target/dist/python/zkrecipes-*-"$abi"-$tag*.whl
    "$bin/python" -W error::RuntimeWarning "$root/tests/elsewhere/lock.py" "$hosts" "$bin/zkrecipes"
}

smoke_node() {
    "$NODE" "$root/node/scripts/pack.mjs" "$place/npm" "$platform" >/dev/null
    mkdir "$place/node"
    (
        cd "$place/node"
        echo '{}' >package.json
        npm install --silent --offline --no-audit --no-fund "$place"/npm/*.tgz
        cp "$root/tests/elsewhere/lock.cjs" .
        case $platform in
        win32-*) "$NODE" lock.cjs "$hosts" ;;
        *) "$NODE" lock.cjs "$hosts" ./node_modules/.bin/zkrecipes ;;
        esac
    )
}

# The command alone, as a tar file has it; it needs a server, which Python's package has.
smoke_command() {
    case $platform in win32-*) return ;; esac
    tar -C "$place" -xzf "$root"/target/dist/command/zkrecipes-*-"$platform".tar.gz
    folder=$(echo "$place"/zkrecipes-*)
    [ -s "$folder/share/man/man1/zkrecipes-lock.1" ]
    "$folder/bin/zkrecipes" --version
    [ -z "$bin" ] || "$bin/python" "$root/tests/elsewhere/lock.py" "$hosts" "$folder/bin/zkrecipes"
}

case $platform in
*-musl)
    if ! ldd "$(command -v ls)" 2>&1 | grep -q musl; then
        for one in python node; do
            docker run --rm --network host -v "$root:/zkrecipes:ro" "$one:alpine" sh /zkrecipes/tests/elsewhere/smoke.sh "$platform" "$hosts" "$one"
        done
        part='command'
    fi
    ;;
esac
for one in $part; do "smoke_$one"; done
