#!/bin/sh
# fuzz.sh BUILD SECONDS [TARGET...]: runs the fuzz targets of test/fuzz with libFuzzer (clang), the address
# and the undefined-behaviour sanitizer. Objects and the growing corpora are kept in BUILD/fuzz. Findings
# are stored there as TARGET-crash-*, TARGET-leak-* or TARGET-timeout-*; the exit code is then 1.
# Reduce findings and put them into test/fuzz/corpus/TARGET: the test 'fuzz corpora' replays them.
# An input that takes longer than FUZZ_PATIENCE seconds (20) is a finding: a loaded machine needs more.
# The target hdf5 runs only if it is named, because its findings are in the HDF5 library itself.
set -eu
build=$1 seconds=$2
shift 2
targets=${*:-commands calls model method checkpoint figure datafile table export emit}
root=$(cd "$(dirname "$0")/.." && pwd)
compiler=${FUZZ_CC:-clang}
command -v "$compiler" >/dev/null || { echo "nonholo: fuzzing needs clang" >&2; exit 1; }
out=$build/fuzz
mkdir -p "$out/objects"
sanitize="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined"
echo '#define NH_VERSION "fuzz"' >"$out/version.h"
flags="-std=gnu17 -O1 -g -w -include $out/version.h -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE"
flags="$flags -ffp-contract=off -fno-math-errno -I$root/include -I$root/src -I$build $sanitize"
case $(uname -m) in
x86_64) levels="base avx" wide=avx flags="$flags -DNH_HAVE_AVX2_VARIANTS" ;;
*) levels=base wide=base ;;
esac
libraries="-lm -ldl -lpthread"
if pkg-config --exists hdf5-serial 2>/dev/null; then
    flags="$flags -DNH_HAVE_HDF5 $(pkg-config --cflags hdf5-serial)"
    libraries="$libraries $(pkg-config --libs hdf5-serial) -lhdf5_serial_hl"
fi
if pkg-config --exists zlib 2>/dev/null; then
    flags="$flags -DNH_HAVE_ZLIB"
    libraries="$libraries -lz"
fi
export XDG_CACHE_HOME="$out/cache" # compiled kernels of nonsense are nobody else's

compile() { # source object flags...
    source=$1 object=$out/objects/$2.o
    shift 2
    { [ "$object" -nt "$source" ] && [ "$object" -nt "$newest" ]; } || echo "$compiler $flags $* -c $source -o $object"
}
cd "$root"
newest=$(ls -t include/*.h src/*/*.h | head -1)
{
    for source in $(python3 tools/sources.py rooms) $(python3 tools/sources.py rooms-run-once) $(python3 tools/sources.py rooms-of-text); do
        compile "$source" "$(echo "$source" | tr / _)"
    done
    for source in "$build"/shipped.c "$build"/shipped_figures.c "$build"/page_parts.c "$build"/embedded.c "$build"/templates.c \
        "$build"/program_items.c; do
        compile "$source" "$(basename "$source")"
    done
    for source in $(python3 tools/sources.py kernels) $(python3 tools/sources.py kernels-of-stages) src/code/interpret.c; do
        name=$(echo "$source" | tr / _)
        for level in $levels; do
            one=-DNH_DESCRIBE
            [ "$level" = avx ] && one="-mavx2 -mfma"
            # shellcheck disable=SC2086
            compile "$source" "$name.$level.1" -DLANES=1 -DNH_VARIANT="$level"1 $one
            # shellcheck disable=SC2086
            [ "$level" != "$wide" ] || compile "$source" "$name.$level.4" -DLANES=4 -DNH_VARIANT="$level"4 ${one#-DNH_DESCRIBE}
        done
    done
} | xargs -P "$(nproc)" -I LINE sh -c "LINE"
failed=0
for target in $targets; do
    if [ "$target" = commands ]; then # not by libFuzzer; some four lines a second
        program=$build/nonholo
        [ ! -x "$build/sanitize/nonholo" ] || program=$build/sanitize/nonholo
        echo "== commands, $((4 * seconds)) of them"
        python3 test/fuzz/test_commands.py "$program" $((4 * seconds)) "$(date +%s)" || failed=1
        continue
    fi
    # shellcheck disable=SC2086  # lists of words
    $compiler $flags -fsanitize=fuzzer "test/fuzz/fuzz_$target.c" "$out"/objects/*.o $libraries \
        -o "$out/fuzz_$target"
    corpus=$out/corpus-$target
    mkdir -p "$corpus"
    case $target in
    model | emit) seeds="models test/model/bad_models" words=model ;;
    export) seeds= words=model ;;
    figure) seeds=figures words=figure ;;
    *) seeds= words=$target ;;
    esac
    longest=3000
    [ "$target" = hdf5 ] && longest=30000
    patience=${FUZZ_PATIENCE:-20} # seconds until an input counts as a hang
    [ "$target" = emit ] && patience=$((6 * patience)) # a compiler's work is in it: seconds of a quiet processor
    options="-max_total_time=$seconds -timeout=$patience -rss_limit_mb=2048 -max_len=$longest -print_final_stats=1 -verbosity=0"
    [ ! -f "test/fuzz/$words.dict" ] || options="$options -dict=$root/test/fuzz/$words.dict"
    echo "== $target, $seconds seconds"
    # shellcheck disable=SC2086
    (cd "$out" && ./fuzz_"$target" $options -artifact_prefix="$target-" "$corpus" \
        $(for s in $seeds test/fuzz/corpus/$target; do echo "$root/$s"; done)) 2>"$out/$target.log" || failed=1
    least=$seconds # inputs; a target that ends after a few has not looked
    [ "$target" = emit ] && least=$((seconds / 20))
    tried=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$target.log")
    [ "${tried:-0}" -ge "$least" ] || { echo "nonholo: $target tried only ${tried:-0} inputs in $seconds seconds" >&2; failed=1; }
    grep -E "number_of_executed|new_units|ERROR|SUMMARY|runtime error|differ:" "$out/$target.log" || tail -5 "$out/$target.log"
    rm -rf "$XDG_CACHE_HOME"
done
exit $failed
