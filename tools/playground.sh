#!/bin/sh
# playground.sh BUILD: builds the library in WebAssembly with Debian's emscripten in BUILD/wasm, and its page
# in BUILD/playground.
set -eu
build=$1
source=$(cd "$(dirname "$0")/.." && pwd)
folder=$build/wasm
command -v emcc >/dev/null || { echo "playground: needs emscripten (tools/setup.sh playground)" >&2; exit 1; }
# the programs that emcc calls find their JavaScript modules here; building our own cache elsewhere would take minutes
NODE_PATH=${NODE_PATH:-/usr/share/nodejs}
export NODE_PATH
unset EM_CACHE
# meson does not know that emcc supports gnu17
"$source/tools/configure.sh" "$folder" --cross-file "$source/tools/emscripten.ini" --buildtype=release \
    -Dc_std=none -Dc_args=-std=gnu17 -Ddefault_library=static -Dhdf5=disabled -Db_staticpic=false
ninja -C "$folder"
"$source/playground/page.py" "$source" "$folder/playground" "$build/playground"
