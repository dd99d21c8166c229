#!/bin/sh
# demo.sh NONHOLO FOLDER: three simulations with their pictures, in a second.
set -eu
nonholo=$1
folder=$2
mkdir -p "$folder"

echo "A coin rolls on a plane, free to lean. The page shows it moving, from any side."
echo
"$nonholo" run rolling-coin --time 12 --plot "$folder/coin.html" -o "$folder/coin.csv"
"$nonholo" plot "$folder/coin.csv" -o "$folder/coin.svg"
echo
echo "The Chaplygin sleigh: a body on one skate and two free sliders. Pushed backwards it turns"
echo "around and ends gliding forwards, at the speed it began with."
echo
"$nonholo" run chaplygin-sleigh --method gauss:stages=3 --step 0.1 --time 250 \
    -o "$folder/sleigh.csv" --plot "$folder/sleigh.svg"
echo
echo "The pendulum CVT: a pendulum drives a continuously variable transmission between two"
echo "oscillators. The method keeps the constraint to round-off and the energies near their start."
echo
"$nonholo" run pendulum-cvt --method dla01 --step 0.05 --time 100 \
    -o "$folder/cvt.csv" --plot "$folder/cvt.svg"
echo
echo "It moves:  $folder/coin.html (open it in a browser)"
echo "Pictures:  $folder/coin.svg"
echo "           $folder/sleigh.svg"
echo "           $folder/cvt.svg"
