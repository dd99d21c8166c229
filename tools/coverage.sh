#!/bin/sh
# coverage.sh BUILD: builds with counters in BUILD/coverage, runs the tests, reports the line coverage of src/
# file by file. Fails below COVERAGE_LEAST per cent (90). Tests that use their own build are not run, because nothing
# they execute is counted.
set -eu
build=$1/coverage
command -v gcovr >/dev/null || { echo "nonholo: coverage needs gcovr" >&2; exit 1; }
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
tools/configure.sh "$build" -Db_coverage=true --buildtype=debugoptimized -Dc_args=-fprofile-update=atomic
ninja -C "$build" >/dev/null
find "$build" -name '*.gcda' -delete
meson test -C "$build" --no-suite own-build --no-suite install ||
    echo "some tests failed: the coverage is of those too" >&2
gcovr -r "$root" --object-directory "$build" -f src/ --sort-percentage \
    --print-summary --fail-under-line "${COVERAGE_LEAST:-90}"
