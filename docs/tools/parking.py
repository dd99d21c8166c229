#!/usr/bin/env python3
"""parking.py NONHOLO PICTURE.svg: the picture of docs/optimise.md: a tractor parks two trailers (examples/parking.nh)."""

import csv
import math
import os
import subprocess
import sys
import tempfile

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "parking.nh")
COMMAND = ["optimise", MODEL, "--control", "speed:linear,turn:linear", "--end", "x=0, y=1, th=0, a=0, b=0", "--along",
           "cos(th - a)>=0.5, cos(a - b)>=0.5", "--time", "6", "--tries", "2", "--quiet", "-o"]
LENGTH, STEPS = 0.5, 10
PLOT = """set terminal svg size 720,400 font 'sans,12'
set output '%s'
set size ratio -1
set xlabel 'x'
set ylabel 'y'
set key outside bottom center horizontal
plot '-' with lines lc rgb '#bbbbbb' lw 1.5 notitle, \\
     '-' with lines lc rgb '#0072b2' lw 2 title 'tractor', '-' with lines lc rgb '#d55e00' lw 2 title 'first trailer', \\
     '-' with lines lc rgb '#009e73' lw 2 title 'second trailer'
%s"""


def axle(x, y, heading, half=0.09):
    """The ends of an axle, and a gap."""
    s, c = half * math.sin(heading), half * math.cos(heading)
    return [(x - s, y + c), (x + s, y - c), None]


def main(program, picture):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "parking.csv")
        subprocess.run([program, *COMMAND, path], check=True, stdout=subprocess.DEVNULL)
        with open(path) as file:
            rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    bars, paths = [], ([], [], [])
    for k, row in enumerate(rows):
        point, parts = (row["x"], row["y"]), []
        for heading in (row["th"], row["a"], row["b"]):
            if parts:
                point = (point[0] - LENGTH * math.cos(heading), point[1] - LENGTH * math.sin(heading))
            parts.append((*point, heading))
        for line, (x, y, heading) in zip(paths, parts):
            line.append((x, y))
        if k % STEPS == 0 or k == len(rows) - 1:
            bars += [part[:2] for part in parts] + [None]
            for part in parts:
                bars += axle(*part)
    blocks = "".join("".join("\n" if p is None else f"{p[0]:.4f} {p[1]:.4f}\n" for p in line) + "e\n" for line in (bars, *paths))
    subprocess.run(["gnuplot"], input=PLOT % (picture, blocks), text=True, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
