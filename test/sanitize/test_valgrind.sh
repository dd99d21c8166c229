#!/bin/sh
# test_valgrind.sh PROGRAM...: the examples of the C library under valgrind: no invalid access, nothing lost.
set -eu
command -v valgrind >/dev/null || { echo "skipped: there is no valgrind (tools/setup.sh fuzz)"; exit 77; }
for program in "$@"; do
    valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,indirect,possible "$program"
done
