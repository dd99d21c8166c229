#!/bin/sh
# Installs the Debian packages that the build needs and does not find. Asks the package manager
# only when something is missing; without the right to install it prints the command and stops.
# NONHOLO_SETUP=no skips all of it.
set -eu
[ "${NONHOLO_SETUP:-yes}" = no ] && exit 0

missing=
need() { # command package
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need meson meson
need ninja ninja-build
need pkg-config pkg-config
need python3 python3
need gnuplot gnuplot-nox
need scdoc scdoc
[ -z "$missing" ] && exit 0

# shellcheck disable=SC2086  # a list of words
install() { # prefix
    export DEBIAN_FRONTEND=noninteractive
    $1 apt-get install -y --no-install-recommends $missing && return
    # a fresh system has no package lists yet
    $1 apt-get update && $1 apt-get install -y --no-install-recommends $missing
}

echo "nonholo: installing$missing" >&2
if ! command -v apt-get >/dev/null 2>&1; then
    echo "nonholo: these are missing; please install what your system calls:$missing" >&2
    exit 1
elif [ "$(id -u)" = 0 ]; then
    install "" >&2
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    install "sudo -n --preserve-env=DEBIAN_FRONTEND" >&2
else
    echo "nonholo: please run: sudo apt-get install$missing" >&2
    exit 1
fi
