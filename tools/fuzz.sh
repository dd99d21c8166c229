#!/bin/sh
# fuzz.sh BUILD SECONDS [TARGET...]: runs the fuzz targets of test/fuzz with libFuzzer (clang), the address
# and the undefined-behaviour sanitizer. The library is built for them in BUILD/fuzz, with all its parts; the
# growing corpora are kept there. Findings are stored there as TARGET-crash-*, TARGET-leak-* or
# TARGET-timeout-*; the exit code is then 1.
# Reduce findings and put them into test/fuzz/corpus/TARGET: the test 'fuzz corpora' replays them.
# An input that takes longer than FUZZ_PATIENCE seconds (20) is a finding: a loaded machine needs more.
# The target hdf5 runs only if it is named, because its findings are in the HDF5 library itself.
set -eu
build=$1 seconds=$2
shift 2
targets=${*:-commands calls results model method checkpoint figure datafile table export emit urdf}
root=$(cd "$(dirname "$0")/.." && pwd)
compiler=${FUZZ_CC:-clang}
command -v "$compiler" >/dev/null || { echo "nonholo: fuzzing needs clang" >&2; exit 1; }
cd "$root"
out=$build/fuzz
CC=$compiler CXX=$compiler++ tools/configure.sh "$out" -Db_sanitize=address,undefined -Db_lundef=false -Dwerror=false \
    -Doptimization=1 -Ddebug=true -Dc_args="-fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined -w" \
    -Dcpp_args="-fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined -w"
ninja -C "$out" test/libnonholo_inside.a >"$out/build.log" 2>&1 || { tail -30 "$out/build.log"; exit 1; }
libraries="-lm -ldl -lpthread $(pkg-config --libs zlib expat 2>/dev/null || true)"
export XDG_CACHE_HOME="$out/cache" # compiled kernels of nonsense are nobody else's
failed=0
for target in $targets; do
    if [ "$target" = commands ]; then # not by libFuzzer; some four lines a second
        program=$build/nonholo
        [ ! -x "$build/sanitize/nonholo" ] || program=$build/sanitize/nonholo
        echo "== commands, $((4 * seconds)) of them"
        python3 test/fuzz/test_commands.py "$program" $((4 * seconds)) "$(date +%s)" || failed=1
        continue
    fi
    # shellcheck disable=SC2086  # a list of words
    $compiler -std=gnu17 -g -w -Iinclude -Isrc -fsanitize=fuzzer,address,undefined -fsanitize-link-c++-runtime -fno-sanitize-recover=undefined \
        "test/fuzz/fuzz_$target.c" -Wl,--start-group "$out/test/libnonholo_inside.a" $libraries -Wl,--end-group -lstdc++ \
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
