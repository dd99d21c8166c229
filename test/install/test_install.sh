#!/bin/sh
# test_install.sh BUILD SOURCE: installs into a temporary prefix and uses the library from outside
# the tree, as a stranger would: pkg-config, a C compiler, the installed header and nothing else.
set -eu
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# DESTDIR rather than a new prefix: the build folder stays as it is configured.
DESTDIR=$work/stage meson install -C "$build" --no-rebuild --quiet
pc=$(find "$work/stage" -name nonholo.pc)
[ -n "$pc" ] || { echo "no nonholo.pc was installed"; exit 1; }

cp "$source/examples/functions.c" "$work/"
cd "$work"
export PKG_CONFIG_PATH="$(dirname "$pc")" PKG_CONFIG_SYSROOT_DIR="$work/stage"
# shellcheck disable=SC2046  # several flags
${CC:-cc} -std=c17 -Wall -Werror functions.c -o functions $(pkg-config --cflags --libs nonholo) -lm
library=$(find "$work/stage" -name 'libnonholo.so*' -type f | head -n 1)
LD_LIBRARY_PATH=$(dirname "$library") ./functions

# The same through CMake.
if command -v cmake >/dev/null 2>&1; then
    config=$(find "$work/stage" -name nonholoConfig.cmake)
    [ -n "$config" ] || { echo "no CMake package was installed"; exit 1; }
    mkdir "$work/cmake"
    cp "$source/test/install/CMakeLists.txt" functions.c "$work/cmake/"
    cmake -S "$work/cmake" -B "$work/cmake/build" -Dnonholo_DIR="$(dirname "$config")" >"$work/cmake.log" &&
        cmake --build "$work/cmake/build" >>"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
    "$work/cmake/build/functions"
else
    echo "cmake is not there: its package file was not tried"
fi

# The name that programs ask for at run time carries the version of the interface.
readelf -d "$library" | grep -q 'SONAME.*libnonholo\.so\.0' || { echo "no versioned soname"; exit 1; }

# Only our own names are visible, and the installed program runs by itself.
if nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /^nh_/ {print "exported: " $3; bad = 1}
                                         END {exit bad}'; then :; else exit 1; fi
program=$(find "$work/stage" -path '*/bin/nonholo')
LD_LIBRARY_PATH=$(dirname "$library") "$program" run pendulum-cvt --method dla01 --step .1 --steps 10 >/dev/null
for page in nonholo.1 nonholo-model.5; do
    find "$work/stage" -name "$page*" | grep -q . || { echo "$page was not installed"; exit 1; }
done
for script in bash-completion/completions/nonholo zsh/site-functions/_nonholo; do
    find "$work/stage" -path "*/$script" | grep -q . || { echo "$script was not installed"; exit 1; }
done

# The Python module finds the library from where both are installed.
module=$(find "$work/stage" -path '*/nonholo/__init__.py' | head -n 1)
[ -n "$module" ] || { echo "the Python module was not installed"; exit 1; }
if [ -n "${3:-}" ]; then
    PYTHONPATH=$(dirname "$(dirname "$module")") "$3" -c 'import nonholo
assert nonholo.simulate("pendulum-cvt", "dla01", step=.1, steps=10).constraint_max < 1e-14'
fi
echo "installed, linked and run from outside the tree"
