#!/usr/bin/env python3
"""test_equilibria.py NONHOLO: systems that start at rest where the forces cancel: every method takes its steps, and there is no
remark about a motion that consists of rounding errors. Where the start is a little off, there is one."""

import sys

from harness import Program, check, run_all, same

nonholo = Program(sys.argv[1])
METHODS = ("dop853", "dopri5", "verner98", "gauss", "gauss:stages=4", "gauss-lobatto", "lobatto-abd", "lobatto-d", "newmark",
           "newmark-pair", "discrete-gradient", "leapfrog", "gonzalez-f", "lie-newmark")
REST = {
    "pendulum upright": "coordinate a angle\nlagrangian a'^2/2 + 9.81*cos(a)\nstart a = pi\n",
    "pendulum": "coordinate a angle\nlagrangian a'^2/2 + 9.81*cos(a)\n",
    "hanging": "coordinate x, y\nlagrangian (x'^2 + y'^2)/2 - 9.81*y\nconstraint x^2 + y^2 = 0.3^2\nstart y = -0.3\n",
    "standing": "coordinate x, y\nlagrangian (x'^2 + y'^2)/2 - 9.81*y\nconstraint x^2 + y^2 = 0.3^2\nstart y = 0.3\n",
    "hanging far away": "coordinate x, y, z\nlagrangian (x'^2 + y'^2 + z'^2)/2 - 9.81*y\n"
                        "constraint (x - 0.1)^2 + (y - 0.7)^2 + (z + 0.3)^2 = 0.49\nstart x = 0.1\nstart z = -0.3\n",
    "four bars": "coordinate a, b, c angle\nlet w = 0.7*(sin(a), -cos(a))\nlet u = w + 0.9*(cos(b), sin(b))\n"
                 "lagrangian a'^2/2 + b'^2/2 + c'^2/2 - 9.81*(w[2] + u[2])\n"
                 "constraint close: u = (1.3, 0) + 0.7*(sin(c), -cos(c))\nstart a = asin(0.2/0.7)\nstart c = -asin(0.2/0.7)\n",
    "springs": "coordinate x, y\nlagrangian (x'^2 + y'^2)/2 - (x - 0.1)^2/2 - (y - x - 0.3)^2/2\nstart x = 0.1\nstart y = 0.4\n",
    "body": "rotation R\nlagrangian dot(body(R), (0.3*body(R)[1], 0.4*body(R)[2], 0.5*body(R)[3]))/2 + 2*(R*(0, 0, 1))[3]\n",
    "body on a hinge": "rotation R\ncoordinate x, y, z\nlagrangian dot(body(R), (0.3*body(R)[1], 0.4*body(R)[2], 0.5*body(R)[3]))/2"
                       " + (x'^2 + y'^2 + z'^2)/2 - 9.81*z\nconstraint hinge: (x, y, z) + R*(0, 0, 0.3) = (0, 0, 0.3)\n",
}


def at_rest():
    for what, text in REST.items():
        for method in METHODS:
            steps = () if method in ("dop853", "dopri5", "verner98") else ("--step", "0.01")
            done = nonholo("run", "-", "--method", method, "--time", "1", "--backend", "tape", *steps, input="model m\n" + text)
            if done.returncode != 2:
                check(done.returncode == 0 and not done.stderr, f"{what}, {method}: {done.returncode} {done.stderr}")


def beside_it():
    """What a tolerance does not resolve is still said."""
    done = nonholo("run", "-", "--tolerance", "1e-4", "--time", "1", "--start", "a=pi-1e-9", input="model m\n" + REST["pendulum upright"])
    same(done.returncode, 0)
    check("not resolved" in done.stderr, done.stderr)


sys.exit(run_all([("at rest", at_rest), ("beside it", beside_it)]))
