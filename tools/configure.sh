#!/bin/sh
# configure.sh FOLDER [OPTION...]: the build folder FOLDER, made by meson with these options if it is new. Otherwise meson
# looks again only if something may have changed that it lists or looks for while it configures: the files in a folder, or
# the packages that are installed. Prints nothing unless it fails.
set -eu
folder=$(realpath -m "$1")
shift
cd "$(dirname "$0")/.."
packages=/var/lib/dpkg/status # changes with every package

quietly() {
    log=$(mktemp)
    code=0
    "$@" >"$log" 2>&1 || code=$?
    [ $code = 0 ] || cat "$log" >&2
    rm "$log"
    return $code
}

if [ ! -f "$folder/build.ninja" ]; then
    quietly meson setup "$folder" "$@"
elif [ "$packages" -nt "$folder/build.ninja" ]; then
    quietly meson configure "$folder" --clearcache
    quietly meson setup --reconfigure "$folder"
elif [ -n "$(find src cli models figures mpi playground python -type d -newer "$folder/build.ninja" | head -n 1)" ]; then
    quietly meson setup --reconfigure "$folder"
fi
