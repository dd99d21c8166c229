#!/bin/sh
# test_sanitize.sh BUILD SOURCE: builds everything once more with the address, leak and undefined
# behaviour sanitizers and runs the library, the program and the examples through it. The command line
# tests compare standard error exactly, so that any complaint of a sanitizer fails them.
set -eu
build=$1/sanitize
source=$2
if [ ! -f "$build/build.ninja" ]; then
    meson setup "$build" "$source" -Db_sanitize=address,undefined -Db_lundef=false \
        -Dbuildtype=debugoptimized -Dprefix=/usr/local >"$1/sanitize.log" 2>&1 || { cat "$1/sanitize.log"; exit 1; }
fi
ninja -C "$build" >"$1/sanitize.log" 2>&1 || { cat "$1/sanitize.log"; exit 1; }
# Not the tests of numbers over long times, of installation and of the manual.
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
meson test -C "$build" --no-rebuild --print-errorlogs \
    'model language' 'code roll' 'run trace' 'method tables' 'analysis statistics' 'run ensemble' 'analysis verdict' \
    'output follow' 'output number' 'system functions' 'method matrix of broken methods' \
    'method matrix of compositions' 'method identities' 'fuzz model' 'fuzz method' 'fuzz checkpoint' 'fuzz figure' \
    'cli' 'cli bad models' 'cli elementary' 'cli reference' 'cli general' 'cli ensemble' 'cli files' \
    'example minimal' 'example text' 'example functions' 'example ensemble'
