#!/usr/bin/env bash
# Builds the scenario driver for C: target/drivers/c-driver.
set -euo pipefail
cd "$(dirname "$0")/../../.."

prefix=$PWD/target/drivers/c-prefix
ffi/install.sh PREFIX="$prefix" PROFILE="${ZKR_PROFILE:-dev}" >/dev/null
cc -std=c11 -D_POSIX_C_SOURCE=200809L -g -O1 -Wall -Wextra -Werror -o target/drivers/c-driver tests/drivers/c/*.c \
    -I"$prefix/include" -L"$prefix/lib" -lzkrecipes -pthread -Wl,-rpath,"$prefix/lib"
