#!/bin/sh
# demo.sh NONHOLO FOLDER: two simulations with their pictures, in a second.
set -eu
nonholo=$1
folder=$2
mkdir -p "$folder"

echo "The Chaplygin sleigh: a body on one skate and two free sliders. Pushed backwards it turns"
echo "around and ends gliding forwards, at the speed it began with."
echo
"$nonholo" run chaplygin-sleigh --method gauss:stages=3 --step 0.1 --time 250 \
    -o "$folder/sleigh.csv" --plot "$folder/sleigh.svg"
echo
echo "The pendulum CVT: a pendulum drives a continuously variable transmission between two"
echo "oscillators. The method keeps the constraint to round-off and the energies near their start."
echo
"$nonholo" run pendulum-cvt --method dla01 --step 0.05 --time 500 \
    -o "$folder/cvt.csv" --plot "$folder/cvt.svg"
echo
echo "Pictures: $folder/sleigh.svg"
echo "          $folder/cvt.svg"
