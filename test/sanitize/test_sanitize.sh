#!/bin/sh
# test_sanitize.sh BUILD SOURCE: builds everything once more with the address, leak and undefined
# behaviour sanitizers and runs the tests through it, without the suites that test/meson.build names. The command line
# tests compare standard error exactly, so that any complaint of a sanitizer fails them.
set -eu
build=$1/sanitize
source=$2
"$source/tools/configure.sh" "$build" -Db_sanitize=address,undefined -Db_lundef=false -Ddebug=true -Doptimization=1 \
    -Dprefix=/usr/local
ninja -C "$build" >"$1/sanitize.log" 2>&1 || { cat "$1/sanitize.log"; exit 1; }
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
meson test -C "$build" --no-rebuild --print-errorlogs \
    --no-suite slow --no-suite install --no-suite own-build --no-suite plain
