#!/usr/bin/env bash
# A Debian with an older C library than ours, and in it a Python for which there is a wheel, which that Debian does not have:
#
#   tests/elsewhere/old-python.sh FOLDER     afterwards FOLDER/opt/python/bin/python3 runs there
#
# It is built of the sources of a later Debian, and has just what it needs to install and load a wheel.
set -euo pipefail

tree=$1 suite=${ZKR_DEBIAN:-bullseye} later=bookworm name=python3.11
[ ! -x "$tree/opt/python/bin/python3" ] || exit 0
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
command -v debootstrap >/dev/null || "${as_root[@]}" apt-get install --quiet --yes debootstrap
[ -e "$tree/etc/debian_version" ] || "${as_root[@]}" debootstrap --variant=minbase --include=gcc,libc6-dev,make,zlib1g-dev,dpkg-dev,xz-utils "$suite" "$tree"

mirror=$(sed -n 's/^deb \([^ ]*\) .*/\1/p' "$tree/etc/apt/sources.list" | head -n 1)
inside() { "${as_root[@]}" chroot "$tree" env HOME=/tmp LC_ALL=C.UTF-8 sh -ec "$1"; }
inside "
    echo 'deb-src $mirror $later main' >/etc/apt/sources.list.d/later.list
    apt-get -q -o APT::Sandbox::User=root update
    cd /tmp
    apt-get -q -o APT::Sandbox::User=root source --download-only $name
    rm -rf /tmp/python && mkdir /tmp/python
    tar -xf /tmp/${name}_*.orig.tar.* -C /tmp/python --strip-components 1
    cd /tmp/python
    ./configure --prefix=/opt/python --without-doc-strings --disable-test-modules >/dev/null
    make -j\$(nproc) >/dev/null
    make install >/dev/null
    rm -rf /tmp/python /tmp/${name}_*
"
