#!/usr/bin/env python3
"""test_optimise.py NONHOLO: `nonholo optimise`, against closed forms and against optima that were found by SLSQP and Newton's method."""

import math
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
from harness import Program, cases_in_folders, check, run_all  # noqa: E402

CART = """model cart
parameter m = 1
coordinate x
input u = 0
lagrangian m/2*x'^2
force x = u
"""
PLANE = """model plane
coordinate x, y, z
input u = 0, v = 0
lagrangian (x'^2 + y'^2 + z'^2)/2
constraint x' = u
constraint y' = v
constraint z' = (x*y' - y*x')/2
"""
BEAD = """model bead
parameter g = 9.81
coordinate x, y
input a = 0.9
lagrangian (x'^2 + y'^2)/2 + g*y
constraint x'*sin(a) = y'*cos(a)
"""
TRAILER = """model trailer
parameter l = 1
coordinate x, y
coordinate th, f angle
input s = 0, w = 0
lagrangian (x'^2 + y'^2 + th'^2 + f'^2)/2
constraint x'*cos(th) + y'*sin(th) = s
constraint y'*cos(th) - x'*sin(th) = 0
constraint th' = w
constraint l*f' = s*sin(th - f)
"""
PENDULUM = """model pendulum
coordinate a
input u = 0
lagrangian a'^2/2 + cos(a)
force a = u
"""


def write(folder, text):
    path = os.path.join(folder, "model.nh")
    with open(path, "w") as file:
        file.write(text)
    return path


def near(a, b, tolerance, what):
    check(abs(a - b) <= tolerance, f"{what}: {a}, expected {b}")


def optimum(program, folder, model, *arguments):
    return program.json("optimise", write(folder, model), *arguments, "--quiet")


def double_integrator(program, folder):
    """Held inputs: u_k is linear in k, and the cost 12 d^2/T^3 N^2/(N^2 - 1)."""
    for n in (2, 20, 33):
        r = optimum(program, folder, CART, "--control", "u", "--pieces", str(n), "--time", "2", "--end", "x=1,x'=0")
        near(r["cost"], 1.5 * n * n / (n * n - 1), 1e-10, f"cost of {n} pieces")
        top = 6 / 4 * n * (n - 1) / (n * n - 1)
        for k, u in enumerate(r["inputs"]["u"]):
            near(u, top * (1 - 2 * k / (n - 1)), 1e-8, f"input {k} of {n}")
        near(r["state"]["x"], 1, 1e-12, "end")
        near(r["state"]["x'"], 0, 1e-12, "end")


def linear_inputs_are_exact_where_the_optimum_is(program, folder):
    r = optimum(program, folder, CART, "--control", "u:linear", "--pieces", "5", "--time", "2", "--end", "x=1,x'=0")
    near(r["cost"], 1.5, 1e-10, "cost")
    check(len(r["inputs"]["u"]) == 6, "a value at each end of a piece")


def bounds(program, folder):
    """Bang-bang: |u| <= 1 moves the cart by 1 in time 2 at best, and free time finds that."""
    r = optimum(program, folder, CART, "--control", "u=-1:1", "--pieces", "10", "--time", "1:9", "--minimise", "time", "--end", "x=1,x'=0")
    near(r["time"], 2, 1e-6, "time")
    check(all(abs(abs(u) - 1) < 1e-5 for u in r["inputs"]["u"]), "inputs at their bounds")


def brockett(program, folder):
    r = optimum(program, folder, PLANE, "--control", "u,v", "--pieces", "12", "--time", "1", "--end", "x=0,y=0,z=0.5")
    near(r["cost"], 48 * math.tan(math.pi / 12) * 0.5, 1e-7, "regular polygon")
    check(max(abs(r["state"][k] - e) for k, e in (("x", 0), ("y", 0), ("z", 0.5))) < 1e-12, "end")


def brachistochrone(program, folder):
    r = optimum(program, folder, BEAD, "--control", "a", "--minimise", "time", "--end", "x=2,y=1", "--time", "free", "--tries", "2")
    near(r["cost"], 0.8055638295163989, 1e-9, "time of the cycloid")
    a = r["inputs"]["a"]
    near(a[0], math.pi / 2, 1e-4, "begins downwards")
    rate = (a[0] - a[-1]) / r["time"]
    near(rate, 2.177585834899415, 1e-4, "turns at a constant rate")


def trailer(program, folder):
    r = optimum(program, folder, TRAILER, "--control", "s,w", "--time", "4", "--end", "x=0,y=1,th=0,f=0")
    check(r["cost"] <= 9.22986, f"cost {r['cost']}")
    check(max(abs(r["state"][k] - e) for k, e in (("x", 0), ("y", 1), ("th", 0), ("f", 0))) < 1e-9, "pose at the end")
    check(any("impulse" in text for text in r["remarks"]), "a remark on impulses")


def swing_up(program, folder):
    r = optimum(program, folder, PENDULUM, "--control", "u", "--pieces", "30", "--time", "6", "--end", "a=pi,a'=0")
    check(r["cost"] <= 2.328796, f"cost {r['cost']}")


def tables_repeat_the_motion(program, folder):
    """A run with the inputs that were written ends where the optimum ends; so does the motion that was written."""
    table, motion = os.path.join(folder, "u.csv"), os.path.join(folder, "motion.csv")
    for kind in ("held", "linear"):
        optimum(program, folder, PENDULUM, "--control", f"u:{kind}", "--time", "6", "--end", "a=pi,a'=0", "--inputs", table, "-o", motion,
                "--tries", "3")
        r = program.json("run", os.path.join(folder, "model.nh"), "--input", f"u:{kind}={table}", "--time", "6", "--tolerance", "1e-12")
        near(r["q"][0], math.pi, 1e-7, f"end of the run, {kind}")
        with open(motion) as file:
            near(float(file.readlines()[-1].split(",")[1]), math.pi, 1e-7, f"end of the motion, {kind}")


def cost_of_states(program, folder):
    """Linear-quadratic: the cost of a long motion tends to that of the Riccati equation, x0^T P x0 with P = [[sqrt 3, 1], [1, sqrt 3]]."""
    r = optimum(program, folder, CART, "--control", "u:linear", "--pieces", "60", "--time", "12", "--start", "x=1",
                "--minimise", "integral x^2 + x'^2 + u^2", "--tries", "1")
    near(r["cost"], math.sqrt(3), 2e-4, "cost")


def sums_of_costs(program, folder):
    """min over u of x(T)^2 + 0.5 integral u^2 for a cart at x = 1: u is linear, and solves a small linear system."""
    r = optimum(program, folder, CART, "--control", "u:linear", "--pieces", "3", "--time", "1", "--start", "x=1",
                "--minimise", "x^2 + 0.5*integral u^2", "--tries", "2")
    # x(1) = 1 + integral (1 - t) u, optimal u = -2 x(1) (1 - t): x(1) = 1 - 2 x(1)/3
    end = 1 / (1 + 2 / 3)
    near(r["state"]["x"], end, 1e-7, "end")
    near(r["cost"], end ** 2 + 0.5 * 4 * end ** 2 / 3, 1e-9, "cost")


def free_time_with_events(program, folder):
    """A ball falls by 1, bounces and is at 0.5 for the second time; its distance takes the least push, which is constant between the
    bounces, where the ball loses a tenth of its speed along the floor."""
    ball = """model ball
coordinate x, z
input u = 0
lagrangian (x'^2 + z'^2)/2 - 9.81*z
force x = u
event floor: z falling
when floor: z' = -0.8*z', x' = 0.9*x'
start z = 1
"""
    r = optimum(program, folder, ball, "--control", "u", "--end", "x=2,z=0.5", "--time", "0.9:1.1", "--tries", "3")
    fall, up = math.sqrt(2 / 9.81), 0.8 * math.sqrt(2 * 9.81)
    near(r["time"], fall + (up + math.sqrt(up**2 - 9.81)) / 9.81, 1e-9, "time")
    check(r["slope"] < 1e-8 and r["violation"] < 1e-12, f"slope {r['slope']}")


def what_is_varied(program, folder):
    """The mass that a given push moves by 1: m = integral (T - t) u dt = 2; a length on which the mass depends; and the start from
    which it gets there."""
    rod = CART.replace("m = 1", "r = 1, m = r^3/4")
    r = optimum(program, folder, rod, "--vary", "r=0.1:10", "--input", "u=1", "--minimise", "0", "--time", "2", "--end", "x=1")
    near(r["varied"]["r"], 2, 1e-9, "length")
    r = optimum(program, folder, CART, "--vary", "m=0.1:10", "--set", "m=1", "--input", "u=1", "--minimise", "0", "--time", "2", "--end", "x=1")
    near(r["varied"]["m"], 2, 1e-9, "mass")
    r = optimum(program, folder, CART, "--control", "u", "--vary", "start x'=-5:5", "--time", "2", "--end", "x=1,x'=0.5")
    near(r["varied"]["start x'"], 0.5, 1e-6, "start")
    near(r["cost"], 0, 1e-9, "no push is needed")


def conditions_along(program, folder):
    r = optimum(program, folder, CART, "--control", "u", "--time", "2", "--end", "x=1,x'=0", "--along", "x'<=0.6", "--tries", "2")
    check(1.5037 < r["cost"] < 2.5, f"cost {r['cost']}")
    r = optimum(program, folder, CART, "--control", "u", "--time", "2", "--end", "x>=1,x'=0", "--tries", "2")
    near(r["cost"], 1.5 * 400 / 399, 1e-7, "an inequality at the end")


def feedback_along_the_optimum(program, folder):
    law = os.path.join(folder, "law")
    r = optimum(program, folder, TRAILER, "--control", "s,w", "--time", "4", "--end", "x=0,y=1,th=0,f=0", "--tries", "4",
                "--track", law, "--weights", "x=10,y=10,th=10,f=10")
    check(len(r["gains"]) == 20 and len(r["gains"][0]) == 2 and len(r["gains"][0][0]) == 8, "gains")
    run = program.json("run", os.path.join(folder, "model.nh"), "--input", "@" + law, "--input-period", "0.2", "--time", "4",
                       "--tolerance", "1e-9", "--start", "x=0.07,y=-0.07,th=0.0873", "--project")
    check(math.hypot(run["q"][0], run["q"][1] - 1) < 0.01, f"end of the disturbed motion: {run['q']}")


def what_is_killed_leaves_the_best(program, folder):
    """The inputs found so far are in their file after kill -9, and a search that begins with them is at most as costly."""
    model, table = write(folder, TRAILER), os.path.join(folder, "best.csv")
    arguments = ["optimise", model, "--control", "s,w", "--time", "4", "--end", "x=0,y=1,th=0,f=0", "--quiet"]
    with subprocess.Popen([program.path, *arguments, "--pieces", "40", "--tries", "10000", "--inputs", table]) as endless:
        try:
            while not os.path.exists(table) and endless.poll() is None:
                time.sleep(0.05)
        finally:
            endless.kill()
    with open(table) as file:
        rows = [[float(x) for x in line.split(",")] for line in file.readlines()[1:]]
    check(len(rows) == 41 and rows[-1][0] == 4, f"{len(rows)} rows")
    cost = sum(0.1 * (s * s + w * w) for _, s, w in rows[:-1])
    found = program.json(*arguments, "--pieces", "40", "--tries", "1", "--input", f"s:held={table}", "--input", f"w:held={table}")
    check(9 < found["cost"] <= 9.3, f"{found['cost']} after {cost}")  # measured: 9.1128 and 9.1131


REFUSED = [
    (["--end", "x=1", "--time", "1"], 2, "--control"),
    (["--control", "s", "--time", "1"], 2, "not an input"),
    (["--control", "u,u", "--time", "1"], 2, "twice"),
    (["--control", "u:cubic", "--time", "1"], 2, "held or linear"),
    (["--control", "u=2:1", "--time", "1"], 2, "bounds"),
    (["--control", "u", "--end", "x=1"], 2, "--time"),
    (["--control", "u", "--end", "x=1", "--time", "0"], 2, "--time"),
    (["--control", "u", "--end", "q=1", "--time", "1"], 2, "unknown name 'q'"),
    (["--control", "u", "--end", "x", "--time", "1"], 2, "expected"),
    (["--control", "u", "--along", "x=1", "--time", "1"], 2, "expected"),
    (["--control", "u", "--minimise", "integral", "--time", "1"], 2, "--minimise"),
    (["--control", "u", "--minimise", "p^2", "--time", "1"], 2, "unknown name 'p'"),
    (["--control", "u", "--vary", "n", "--time", "1"], 2, "no parameter 'n'"),
    (["--control", "u", "--end", "m=2", "--time", "1"], 1, "nothing that is chosen moves the condition"),
    (["--control", "u", "--end", "x=1,2*x=1", "--time", "1"], 1, "only combinations"),
    (["--control", "u=-1:1", "--end", "x=9,x'=0", "--time", "1", "--tries", "2"], 1, "missed by"),
    (["--control", "u", "--minimise", "-exp(x)", "--time", "1"], 1, "the cost has no least value"),
    (["--control", "u", "--minimise", "-x'^4", "--end", "x=0", "--time", "1"], 1, "the cost has no least value"),
    (["--control", "u", "--end", "x=1", "--pieces", "0", "--time", "1"], 2, "--pieces"),
    (["--control", "u", "--end", "x=1", "--weights", "x=2", "--time", "1"], 2, "--track"),
]


def what_is_refused(program, folder):
    for arguments, code, words in REFUSED:
        answer = program("optimise", write(folder, CART), *arguments)
        check(answer.returncode == code and words in answer.stderr, f"{arguments}: {answer}")


def main():
    program = Program(sys.argv[1])
    for library in ("no LAPACK", "no IPOPT"):
        if library in program("--version").stdout:
            print(f"skipped: this build has {library}")
            return 77
    return run_all(cases_in_folders(globals(), program))


if __name__ == "__main__":
    sys.exit(main())
