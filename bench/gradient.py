#!/usr/bin/env python3
"""gradient.py NONHOLO PICTURE.svg [MOST]: time and memory of `nonholo gradient` against the number of steps, for a chain of 60 masses
by all 121 parameters and 120 start values, with 1 MB for states. Times are those of this machine; compare them within one run."""

import json
import os
import subprocess
import sys

CHAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "cases", "models", "adj-chain.nh")
PLOT = """set terminal svg size 720,300 font 'sans,12'
set output '%s'
set multiplot layout 1,2
set logscale xy
set format x '10^{%%T}'
set format y '10^{%%T}'
set xlabel 'steps'
set key left top
set title 'seconds'
plot '-' using 1:2 with linespoints pt 7 ps 0.5 title 'run', '-' using 1:3 with linespoints pt 7 ps 0.5 title 'way back'
%se
%se
set title 'bytes of states at once'
set yrange [1e4:1e10]
plot '-' using 1:4 with linespoints pt 7 ps 0.5 title 'with --memory 1M', '-' using 1:5 with lines dt 2 title 'all states'
%se
%se
"""


def measure(program, steps):
    words = [program, "gradient", CHAIN, "--of", "cost", "--by", "all", "--method", "leapfrog", "--step", "0.05", "--steps", str(steps),
             "--memory", "1M", "--json", "--quiet"]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return steps, found["seconds"], found["seconds_back"], found["memory"], 480 * 8 * steps


def main():
    program, picture, most = sys.argv[1], sys.argv[2], int(float(sys.argv[3])) if len(sys.argv) > 3 else 10**6
    steps, rows = 100, []
    while steps <= most:
        rows.append(measure(program, steps))
        print("%8d steps: run %.3g s, way back %.3g s, %.3g MB" % (rows[-1][0], rows[-1][1], rows[-1][2], rows[-1][3] / 1e6), flush=True)
        steps *= 10
    data = "".join("%d %g %g %d %d\n" % row for row in rows)
    subprocess.run(["gnuplot"], input=PLOT % (picture, data, data, data, data), text=True, check=True)


if __name__ == "__main__":
    main()
