#!/bin/sh
# wheel.sh BUILD [ARCHITECTURE]: builds the library for a wheel in BUILD/wheel-ARCHITECTURE and packs it into BUILD/dist.
# With aarch64 it is cross-compiled, and the command and an example are run under qemu-user if that is installed.
set -eu
build=$1 here=$(uname -m) architecture=${2:-$(uname -m)}
source=$(cd "$(dirname "$0")/.." && pwd)
folder=$build/wheel-$architecture
if [ "$architecture" = "$here" ]; then
    cross=
else
    cross="--cross-file $source/tools/$architecture.ini"
    [ -e "$source/tools/$architecture.ini" ] || { echo "there is no tools/$architecture.ini" >&2; exit 2; }
fi
# shellcheck disable=SC2086
"$source/tools/configure.sh" "$folder" --buildtype=release -Dwheel=true $cross
ninja -C "$folder" libnonholo.so nonholo python/_header.py python/staged >/dev/null
"$source/tools/wheel.py" "$folder" "$build/dist" "$architecture"
if [ -n "$cross" ] && command -v qemu-aarch64 >/dev/null; then
    "$source/test/install/test_cross.py" "$folder/nonholo" "$build/nonholo"
fi
