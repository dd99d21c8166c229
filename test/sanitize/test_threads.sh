#!/bin/sh
# test_threads.sh BUILD SOURCE [PYTHON]: builds the library once more with the thread sanitizer and runs what has threads:
# ensembles (their tests, and by command with files and checkpoints) and figures; and Python,
# whose threads share the library, if there is one with numpy. A race ends the program with
# exit code 66. This is the build without HDF5, too: what it says when asked for it is looked at.
set -eu
build=$1/threads
source=$2
"$source/tools/configure.sh" "$build" -Db_sanitize=thread -Dhdf5=disabled -Db_lundef=false -Dbuildtype=debug \
    -Doptimization=1 -Dprefix=/usr/local
ninja -C "$build" nonholo test/simulate/test_ensemble >"$1/threads.log" 2>&1 || { cat "$1/threads.log"; exit 1; }
export TSAN_OPTIONS=halt_on_error=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
timeout 3600 "$build/test/simulate/test_ensemble"
"$build/nonholo" --version | grep -q 'no HDF5'
run="run pendulum-cvt --method dla01 --step 0.1 --steps 50 --quiet"
for name in r.h5 r.nc; do
    code=0
    # shellcheck disable=SC2086
    "$build/nonholo" $run -o $name 2>message || code=$?
    [ $code = 2 ] && [ ! -e $name ]
    grep -q "built without HDF5; .csv, .npy and .npz are available" message
done
# shellcheck disable=SC2086
"$build/nonholo" $run -o r.npz >/dev/null
# rows that go to the disk beside the computation
timeout 3600 "$build/nonholo" run pendulum-cvt --method dla01 --step 0.1 --steps 20000 --every 1 --quiet -o r.csv \
    --checkpoint check --checkpoint-every 10000 >/dev/null
ensemble="ensemble chaotic-particle --members 150 --energy 1.535 --method dla01 --step 0.2 --steps 100 --every 20 --quiet"
for threads in 1 3; do
    # shellcheck disable=SC2086
    timeout 3600 "$build/nonholo" $ensemble --threads $threads -o statistics.csv --checkpoint check --checkpoint-every 500 \
        --backend tape --json | grep -v -E '"(seconds|ns_per_step|threads|output)"' >"result$threads"
done
cmp result1 result3
# shellcheck disable=SC2086
timeout 3600 "$build/nonholo" $ensemble --threads 3 -o members.csv --table members >/dev/null
[ "$(wc -l <members.csv)" = 151 ]
cat >small.fig <<'END'
figure small
model pendulum-cvt
step 0.1
time 5
members 3 energy 6
case a "one"
case b "other"
  set eps = 0.1
method dla01
method leapfrog
method gauss
panel
  draw error energy
END
timeout 3600 "$build/nonholo" reproduce ./small.fig --threads 3 --out . >/dev/null
# a Python that knows nothing of the sanitizer has to load it first; gcc has it as a library
sanitizer=$(${CC:-cc} -print-file-name=libtsan.so)
if [ -n "${3:-}" ] && [ -f "$sanitizer" ]; then
    NONHOLO_LIBRARY=$build/libnonholo.so PYTHONPATH=${build%/threads}/python LD_PRELOAD=$sanitizer \
        timeout 3600 "$3" "$source/test/sanitize/threads.py"
    echo "no race in Python"
fi
echo "no race in ensembles and figures on 3 threads"
