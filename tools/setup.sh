#!/bin/sh
# Installs the Debian packages that the build needs and does not find. Asks the package manager
# only when something is missing; without the right to install it prints the command and stops.
# NONHOLO_SETUP=no skips all of it. 'setup.sh extras' adds what optional parts need: the Python module and its
# tests, MPI, the manual, the tests of pages, valgrind, fuzzing and coverage, the solvers of others that 'make
# bench' compares with.
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
pkg-config --exists hdf5-serial 2>/dev/null || missing="$missing libhdf5-dev"
system_python=/usr/bin/python3 # the one that Debian's packages are for
[ -x "$system_python" ] || system_python=python3
need_module() { # module package
    "$system_python" -c "import $1" >/dev/null 2>&1 || missing="$missing $2"
}
if [ "${1:-}" = extras ]; then
    need_module numpy python3-numpy
    need_module scipy python3-scipy
    need_module sympy python3-sympy
    need_module xarray python3-xarray
    need_module mesonpy python3-mesonpy
    need_module ensurepip python3-venv
    need_module h5py python3-h5py
    need_module h5netcdf python3-h5netcdf
    need_module netCDF4 python3-netcdf4
    command -v mpicc >/dev/null 2>&1 || missing="$missing libopenmpi-dev openmpi-bin"
    [ -e /usr/include/ida/ida.h ] || missing="$missing libsundials-dev"
    pkg-config --exists gsl 2>/dev/null || missing="$missing libgsl-dev"
    need pandoc pandoc
    [ -e /usr/share/fonts/opentype/stix-word/STIXMath-Regular.otf ] || missing="$missing fonts-stix" # formulas of the manual
    need patchelf patchelf
    need valgrind valgrind # looks at the examples in the tests
    need clang clang       # 'make fuzz'
    need gcovr gcovr       # 'make coverage'
    need chromium chromium # looks at pages of --plot FILE.html in the tests
fi
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
