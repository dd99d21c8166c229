#!/bin/sh
# test.sh BUILD all|check|FOLDER: runs every test; or those of src/ and the cases with known end states; or those of a
# folder of test/. Ends with the line "N passed, N failed", after what could not be run here and why. Exit code: meson's.
set -u
build=$1 which=$2
root=$(cd "$(dirname "$0")/.." && pwd)
log=$build/meson-logs/testlog.txt
folders=$(cd "$root" && ls test/*/meson.build docs/meson.build examples/meson.build | xargs -n 1 dirname | sed 's,.*/,,')
case $which in
all) chosen= ;;
check)
    chosen="--no-suite slow --suite source --suite cases"
    for folder in "$root"/src/*/; do
        chosen="$chosen --suite $(basename "$folder")"
    done
    ;;
*)
    if ! echo source $folders | grep -qw -- "$which"; then
        echo "nonholo: there are no tests of '$which'; there are tests of:" source $folders >&2
        exit 2
    fi
    chosen="--suite $which"
    ;;
esac
code=0
# shellcheck disable=SC2086  # a list of words
meson test -C "$build" --print-errorlogs $chosen || code=$?

count() { # what meson calls it
    sed -n "s/^$1: *\([0-9][0-9]*\) *\$/\1/p" "$log" 2>/dev/null | tail -n 1
}
ok=$(count Ok) expected=$(count 'Expected Fail') skipped=$(count Skipped)
fail=$(count Fail) unexpected=$(count 'Unexpected Pass') timeout=$(count Timeout)
# tests, and parts of tests, that could not be run here, each with the reason
awk '/^test: / { sub(/^test: .* \/ /, ""); name = $0 }
     /^skipped/ { sub(/^skipped:? */, ""); if (!any++) print "skipped (tools/setup.sh tests installs what can be):"
                  print "  " name ": " $0 }
     ' "$log" 2>/dev/null
[ "${skipped:-0}" -gt 0 ] && echo "$skipped tests skipped"
echo "$((${ok:-0} + ${expected:-0})) passed, $((${fail:-0} + ${unexpected:-0} + ${timeout:-0})) failed"
exit $code
