#!/usr/bin/env python3
"""bicycle.py PICTURE.svg [FILM.gif]: the picture and the film of docs/control.md: a bicycle at 2 m/s is kept upright (examples/python/bicycle.py).
PYTHONPATH=build/python; the film needs chromium and ffmpeg."""

import os
import runpy
import subprocess
import sys

import numpy as np

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python", "bicycle.py")
PLOT = """set terminal svg size 720,360 font 'sans,12'
set output '%s'
set multiplot layout 2,1
set key top right horizontal
set grid
set lmargin 9
set ylabel 'degrees'
set yrange [-30:60]
set format x ''
set bmargin 0.5
plot '-' using 1:2 with lines lc rgb '#0072b2' lw 2 title 'lean', '-' using 1:3 with lines lc rgb '#d55e00' lw 1.5 title 'steering angle', \\
     '-' using 1:2 with lines lc rgb '#0072b2' lw 1.5 dt 2 title 'lean, nobody steers'
%se
%se
%se
set format x
set bmargin
set tmargin 0.5
set xlabel 't in s'
set ylabel 'N m'
set yrange [-12:12]
plot '-' using 1:4 with lines lc rgb '#009e73' lw 1.5 title 'torque at the handlebars'
%se
"""


def main(picture, film=None):
    example = runpy.run_path(EXAMPLE)
    rider = example["rider"]()
    rows, fall = example["ride"](rider), example["ride"](rider, seconds=3, feedback=False)
    fall = fall[:np.argmax(abs(fall[:, 1]) > 0.4)]
    lines = ["".join("%g %g %g %g\n" % (t, *np.degrees([lean, steer]), torque) for t, lean, steer, torque in part[::2]) for part in (rows, fall)]
    subprocess.run(["gnuplot"], input=PLOT % (picture, lines[0], lines[0], lines[1], lines[0]), text=True, check=True)
    if film:
        import nonholo

        struck = " + ".join(f"if(t >= {k * 0.01 - 0.001}, if(t < {k * 0.01 + 0.009}, {blow / 0.01}, 0), 0)" for k, blow in example["BLOWS"].items())
        run = nonholo.run(example["bicycle"]("torque", "blow"), "gauss", step=0.01, time=8, set={"speed": 2},
                          input={"torque": rider.law["torque"], "blow": struck}, input_period=0.01)
        run.plot(film, size="320x180", fps=10, caption="t = {t} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
