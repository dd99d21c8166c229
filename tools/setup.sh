#!/bin/sh
# setup.sh [PURPOSE...]: installs missing Debian packages that the build needs, and those
# for each named purpose:
#     tests    what 'make test' can use: pip, python, mpi, docs, browser, embedded and tex, and other compilers,
#              interpreters and checkers, so that no test is skipped that this machine can run
#     pip      'pip install .' without a package index
#     python   packages that the Python module works with: SciPy, SymPy, xarray, pandas, notebooks and readers of HDF5 files
#     cross    'make wheel ARCHITECTURE=aarch64'
#     embedded  the tests of exported programs on a Cortex-M4F
#     tex      the tests that compile exported equations
#     octave   the tests that run exported equations in Octave
#     mpi      ensembles on several machines
#     docs     the manual as HTML
#     bench    the solvers that 'make bench' compares with
#     fuzz     'make fuzz', 'make coverage' and valgrind
#     browser  the tests of pages made by --plot FILE.html
#     playground  'make playground' and its tests
#     extras   all of them
# Calls the package manager only if something is missing; without permission to install, it prints the command
# and exits with 1, or with 0 if only tests need what is missing: these are skipped then. NONHOLO_SETUP=no skips all of it.
# One more package is one more line in the function of its purpose.
set -eu
purposes="pip python mpi docs bench fuzz browser cross embedded tex octave playground"

missing=
add() { # package...
    for package in "$@"; do
        case " $missing " in *" $package "*) ;; *) missing="$missing $package" ;; esac
    done
}
need() { # command package
    command -v "$1" >/dev/null 2>&1 || add "$2"
}
need_file() { # file package
    [ -e "$1" ] || add "$2"
}
need_library() { # name in pkg-config, package
    pkg-config --exists "$1" 2>/dev/null || add "$2"
}
system_python=/usr/bin/python3 # the one that Debian's packages are for
[ -x "$system_python" ] || system_python=python3
has_module() { # python module
    "$1" -c "import importlib.util, sys; sys.exit(not importlib.util.find_spec('$2'))" >/dev/null 2>&1
}
need_module() { # module package
    has_module "$system_python" "$1" || add "$2"
}

need_build() {
    need meson meson
    need ninja ninja-build
    need pkg-config pkg-config
    need python3 python3
    need gnuplot gnuplot-nox
    need scdoc scdoc
    need g++ g++ # derivatives of runs
    need_library hdf5-serial libhdf5-dev
    need_library zlib zlib1g-dev
    need_library lapack liblapack-dev
    need_library ipopt coinor-libipopt-dev
    need_library expat libexpat1-dev
    # the Python module is installed with the rest, for the first of these that has numpy
    has_module python3 numpy || need_module numpy python3-numpy
}

need_pip() {
    need_module numpy python3-numpy
    need_module mesonpy python3-mesonpy
    need_module ensurepip python3-venv
    need patchelf patchelf
}

need_python() {
    need_module numpy python3-numpy
    need_module scipy python3-scipy
    need_module sympy python3-sympy
    need_module xarray python3-xarray
    need_module h5py python3-h5py
    need_module h5netcdf python3-h5netcdf
    need_module netCDF4 python3-netcdf4
    need_module pandas python3-pandas
    need_module nbconvert python3-nbconvert
    need_module ipykernel python3-ipykernel
}

need_cross() {
    need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
    need_file /usr/aarch64-linux-gnu/lib/crti.o libc6-dev-arm64-cross
    need qemu-aarch64 qemu-user
}

need_embedded() {
    need arm-none-eabi-gcc gcc-arm-none-eabi
    need_file /usr/lib/arm-none-eabi/newlib/thumb/v7e-m+fp/hard/rdimon.specs libnewlib-arm-none-eabi
    need_file /usr/include/newlib/math.h libnewlib-dev
    need qemu-system-arm qemu-system-arm
}

need_tex() {
    need pdflatex texlive-latex-base
    need_file /usr/share/texlive/texmf-dist/tex/latex/pgfplots/pgfplots.sty texlive-pictures
}

need_octave() {
    need octave octave
}

need_mpi() {
    command -v mpicc >/dev/null 2>&1 || add libopenmpi-dev openmpi-bin
    need_module mpi4py python3-mpi4py
    need_module distributed python3-distributed
}

need_docs() {
    need pandoc pandoc
    need_file /usr/share/fonts/opentype/stix-word/STIXMath-Regular.otf fonts-stix # formulas
    need_module numpy python3-numpy
}

need_bench() {
    need_file /usr/include/ida/ida.h libsundials-dev
    need_library gsl libgsl-dev
}

need_fuzz() {
    need clang clang
    need gcovr gcovr
    need valgrind valgrind
}

need_browser() {
    need ffmpeg ffmpeg # films
    need chromium chromium
}

need_playground() {
    need emcc emscripten
    need node nodejs
    need chromium chromium
}

need_tests() {
    need_pip
    need_python
    need_mpi
    need_docs
    need_browser
    need_embedded
    need_tex
    need_octave
    need clang clang
    need cmake cmake
    need node nodejs
    need valgrind valgrind
    need_file /usr/share/i18n/locales/de_DE locales # numbers with a decimal comma
}

for purpose in "$@"; do
    case " $purposes tests extras " in
    *" $purpose "*) ;;
    *)
        echo "nonholo: setup.sh knows no '$purpose'; there are: $purposes tests extras" >&2
        exit 2
        ;;
    esac
done
[ "${NONHOLO_SETUP:-yes}" = no ] && exit 0

need_build
tests=no
for purpose in "$@"; do
    case $purpose in
    tests) tests=yes ;;
    extras)
        for each in $purposes; do
            "need_$each"
        done
        ;;
    *) "need_$purpose" ;;
    esac
done
required=$missing
[ $tests = no ] || need_tests
[ -z "$missing" ] && exit 0

# shellcheck disable=SC2086  # a list of words
install() { # prefix
    export DEBIAN_FRONTEND=noninteractive
    $1 apt-get install -y --no-install-recommends $missing && return
    # a fresh system has no package lists yet
    $1 apt-get update && $1 apt-get install -y --no-install-recommends $missing
}

give_up() { # the reason or the remedy, which the packages follow
    echo "nonholo: $1$missing" >&2
    [ -z "$required" ] || exit 1
    echo "nonholo: tests that need these packages are skipped" >&2
    exit 0
}

command -v apt-get >/dev/null 2>&1 || give_up "these are missing; please install what your system calls:"
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n --preserve-env=DEBIAN_FRONTEND"
else
    give_up "only root can install packages; please run: sudo apt-get install --no-install-recommends"
fi
echo "nonholo: installing$missing" >&2
install "$as_root" >&2 || give_up "these could not be installed:"
