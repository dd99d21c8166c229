#!/bin/sh
# playground.sh BUILD: the library in WebAssembly, by Debian's emscripten, in BUILD/wasm, and the page around it in
# BUILD/playground.
set -eu
build=$1
source=$(cd "$(dirname "$0")/.." && pwd)
folder=$build/wasm
command -v emcc >/dev/null || { echo "playground: needs emscripten (tools/setup.sh playground)" >&2; exit 1; }
# what emcc calls finds its JavaScript modules here; a cache of our own elsewhere would be built for minutes
NODE_PATH=${NODE_PATH:-/usr/share/nodejs}
export NODE_PATH
unset EM_CACHE
# meson knows no gnu17 for emcc, which has it
[ -f "$folder/build.ninja" ] || meson setup "$folder" "$source" --cross-file "$source/tools/emscripten.ini" --buildtype=release \
    -Dc_std=none -Dc_args=-std=gnu17 -Ddefault_library=static -Dhdf5=disabled -Db_staticpic=false >/dev/null
# a folder that changed may hold new files, which meson.build lists when it configures
(cd "$source" && test -z "$(find src cli models figures playground -type d -newer "$folder/build.ninja")") ||
    meson setup --reconfigure "$folder" >/dev/null
ninja -C "$folder"
"$source/playground/page.py" "$source" "$folder/playground" "$build/playground"
