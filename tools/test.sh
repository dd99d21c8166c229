#!/bin/sh
# test.sh BUILD: runs every test and ends with the line "N passed, N failed". Exit code: meson's.
set -u
build=$1
log=$build/meson-logs/testlog.txt
code=0
meson test -C "$build" --print-errorlogs || code=$?

count() { # what meson calls it
    sed -n "s/^$1: *\([0-9][0-9]*\) *\$/\1/p" "$log" 2>/dev/null | tail -n 1
}
ok=$(count Ok) expected=$(count 'Expected Fail') skipped=$(count Skipped)
fail=$(count Fail) unexpected=$(count 'Unexpected Pass') timeout=$(count Timeout)
# tests, and parts of tests, that could not be run here, each with the reason
sed -n '/^skipped/p; /: skipped$/p' "$log" 2>/dev/null
[ "${skipped:-0}" -gt 0 ] && echo "$skipped skipped"
echo "$((${ok:-0} + ${expected:-0})) passed, $((${fail:-0} + ${unexpected:-0} + ${timeout:-0})) failed"
exit $code
