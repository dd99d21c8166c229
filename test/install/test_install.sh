#!/bin/sh
# test_install.sh BUILD SOURCE [PYTHON]: installs for the whole machine, in a copy of it that is forgotten afterwards, and uses
# the library from outside the tree, as any user would: no variable is set. PYTHON is the one that the module is
# for, when it has numpy.
set -eu
here=$(dirname "$0")
if [ "${1:-}" != --inside ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    # What was built goes along, because the copy need not see the folder where it lies.
    DESTDIR=$work/stage meson install -C "$1" --no-rebuild --quiet
    cp "$2/examples/functions.c" "$2/test/install/CMakeLists.txt" "$here/test_install.sh" "$work/"
    unset LD_LIBRARY_PATH PKG_CONFIG_PATH PYTHONPATH # meson sets the first for its tests
    code=0
    "$here/throwaway.sh" "$work" "$work/test_install.sh" --inside "$work" "${3:-}" || code=$?
    exit $code
fi

work=$2
python=$3
cp -a "$work/stage/." /
PATH=$PATH:/sbin:/usr/sbin ldconfig
cd "$work"
# Only below a prefix that nothing searches by itself, what the README says.
prefix=$(cd "$work/stage" && find . -name nonholo.h | sed 's,^\.,,; s,/include/nonholo.h$,,')
case $prefix in
/usr | /usr/local) ;;
*)
    export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib" PATH="$prefix/bin:$PATH"
    PYTHONPATH=$(echo "$prefix"/lib/python3*/site-packages)
    export PYTHONPATH CMAKE_PREFIX_PATH="$prefix"
    ;;
esac
# shellcheck disable=SC2046  # several flags
${CC:-cc} -std=c17 -Wall -Werror functions.c -o functions $(pkg-config --cflags --libs nonholo) -lm
./functions

# The same through CMake.
if command -v cmake >/dev/null 2>&1; then
    mkdir "$work/cmake"
    cp CMakeLists.txt functions.c "$work/cmake/"
    cmake -S "$work/cmake" -B "$work/cmake/build" >"$work/cmake.log" &&
        cmake --build "$work/cmake/build" >>"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
    "$work/cmake/build/functions"
else
    echo "skipped the CMake package file: there is no cmake"
fi

# The name that programs ask for at run time carries the version of the interface.
library=$(pkg-config --variable=libdir nonholo)/libnonholo.so
readelf -d "$library" | grep -q 'SONAME.*libnonholo\.so\.0' || { echo "no versioned soname"; exit 1; }

# Only our own names are visible, and the installed program runs by itself.
if nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /^nh_/ {print "exported: " $3; bad = 1}
                                         END {exit bad}'; then :; else exit 1; fi
nonholo run pendulum-cvt --method dla01 --step .1 --steps 10 >/dev/null
for page in nonholo.1 nonholo-model.5; do
    find "$work/stage" -name "$page*" | grep -q . || { echo "$page was not installed"; exit 1; }
done
for script in bash-completion/completions/nonholo zsh/site-functions/_nonholo; do
    find "$work/stage" -path "*/$script" | grep -q . || { echo "$script was not installed"; exit 1; }
done

# The Python module is found by the Python that it is for, and finds the library.
if [ -n "$python" ]; then
    "$python" -c 'import nonholo
assert nonholo.simulate("pendulum-cvt", "dla01", step=.1, steps=10).constraint_max < 1e-14'
else
    echo "skipped the Python module: no Python with numpy"
fi
echo "installed, linked and run from outside the tree"
