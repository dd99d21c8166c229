#!/usr/bin/env python3
"""test_starts.py NONHOLO: which start states are accepted, in whatever units; how --project changes the others, with
all velocities free, some kept or some solved for; and `start solve` in a model."""

import itertools
import json
import math
import os
import random
import sys
import tempfile

from harness import Program, check, run_all, same

nonholo = Program(sys.argv[1])
SKATE = """model skate
parameter scale = 1
coordinate x, y
coordinate theta angle
lagrangian (x'^2 + y'^2 + theta'^2)/2
constraint edge: scale*(y'*cos(theta) - x'*sin(theta)) = 0
"""
FAR_BEHIND = "model gears\ncoordinate x, a, b\nlagrangian (x'^2 + a'^2 + b'^2)/2\nconstraint a' = b'\nstart x' = 1e8\n"
TURNTABLE = "model table\nparameter y0 = 0.3\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2\nconstraint x' = 2*(y - y0)\nstart y = 0.1*3\n"


def temporary(text):
    def decorated(test):
        def run():
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.nh")
                with open(path, "w") as file:
                    file.write(text)
                test(path)
        return run
    return decorated


def start(path, *arguments):
    return nonholo("run", path, "--method", "gauss", "--step", "0.01", "--steps", "0", "--json", *arguments)


def velocities(path, *arguments):
    done = start(path, *arguments)
    check(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)["v"]


def near(found, expected):
    """Equal up to rounding; measured: 2e-16."""
    check(len(found) == len(expected) and all(abs(x - y) <= 1e-15 * max(1, abs(y)) for x, y in zip(found, expected)),
          f"{found} instead of {expected}")


def refused(path, *arguments, words):
    done = start(path, *arguments)
    same(done.returncode, 2, f"{arguments}: {done.stderr}")
    for word in words:
        check(word in done.stderr, f"{arguments}: no '{word}' in: {done.stderr}")
    return done.stderr


# ---- what satisfies the constraints ----


@temporary(SKATE)
def slow_and_scaled(path):
    """Entirely off is off, and on is on, at every speed and with every factor of the row."""
    for speed, scale in itertools.product((1e-12, 1e-10, 1e-3, 1, 1e12), (1e-12, 1, 1e12)):
        arguments = ["--set", f"scale={scale}", "--start"]
        refused(path, *arguments, f"theta = 0.3, x' = {speed}", words=["edge", "--project"])
        refused(path, *arguments, f"theta = 0.3, x' = {speed}*cos(0.3), y' = {speed}*sin(0.3)*(1 + 1e-6)", words=["edge"])
        velocities(path, *arguments, f"theta = 0.3, x' = {speed}*cos(0.3), y' = {speed}*sin(0.3)")
        velocities(path, *arguments, f"theta = 0.3, x' = {speed}*cos(0.3), y' = {speed}*sin(0.3)*(1 + 1e-10)")


@temporary(SKATE)
def rounding(path):
    """sin(pi) is not 0; ten digits of an angle are good enough, five are not."""
    for angle in ("pi", "3.141592653589793", "3.141592654", "1000001*pi"):
        velocities(path, "--start", f"theta = {angle}, x' = -1")
    velocities(path, "--start", "theta = 0.1*3 - 0.3, x' = -1")
    velocities(path, "--start", "x' = -1, y' = 1e-17")
    refused(path, "--start", "theta = 3.1416, x' = -1", words=["edge"])
    refused(path, "--start", "x' = -1, y' = 1e-8", words=["edge"])


def zero_row():
    """A projection leaves rounding errors where a velocity should vanish."""
    text = ("model two\nparameter m = 1\ncoordinate x, y\ncoordinate theta angle\nlagrangian m/2*(x'^2 + y'^2 + x'*y'/3 + theta'^2)\n"
            "constraint y'*cos(theta) = x'*sin(theta)\nconstraint theta' = 0.3*x' + y'\nstart x' = 3, theta' = 7\n")
    for mass in (1e-12, 1, 1e12):
        done = nonholo("run", "-", "--method", "gauss", "--step", "0.1", "--steps", "0", "--project", "--set", f"m={mass}",
                       input=text)
        same(done.returncode, 0, done.stderr)


@temporary(FAR_BEHIND)
def other_velocities(path):
    """A fast body elsewhere does not make an inconsistent start acceptable."""
    velocities(path)
    refused(path, "--start", "a' = 0.001", words=["constraint 1 has residual 0.001"])


@temporary(TURNTABLE)
def positions_count(path):
    """0.1*3 - 0.3 is 6e-17, which is negligible compared with 0.3."""
    velocities(path)
    refused(path, "--start", "y = 0.3001", words=["constraint 1"])


def rank_of_large_wheels():
    """Two independent conditions stay so in small units of length."""
    for radius in (1e-12, 1, 1e12):
        text = (f"model wheel\nparameter r = {radius}\ncoordinate x, y\ncoordinate heading, turn angle\n"
                "lagrangian (x'^2 + y'^2)/2 + r^2*(heading'^2 + turn'^2)/2\nconstraint x' = r*cos(heading)*turn'\n"
                "constraint y' = r*sin(heading)*turn'\nstart heading = 0.3, turn' = 1, x' = r*cos(0.3), y' = r*sin(0.3)\n")
        found = nonholo("check", "-", "--json", input=text)
        same(found.returncode, 0, found.stderr)
        same(json.loads(found.stdout)["rank"], 2)


# ---- the nearest velocities ----

NONLINEAR = [  # constraint, one velocity that it gives from the two others, mass
    ("x'^2 + y'^2 = 1 + z'", "z", lambda a, b: a * a + b * b - 1, (1, 4, 1)),
    ("z'^3 + z' = x'*y' + 1", "z", lambda a, b: cubic(a * b + 1), (1, 1, 2)),
    ("z' = sin(2*x') + y'^2/2", "z", lambda a, b: math.sin(2 * a) + b * b / 2, (3, 1, 1)),
]


def cubic(c):
    """z^3 + z = c"""
    z = math.copysign(abs(c) ** (1 / 3), c)
    for _ in range(60):
        z -= (z**3 + z - c) / (3 * z * z + 1)
    return z


def brute_force(solved, mass, v0):
    """The least distance over a grid, refined."""
    def square(a, b):
        v = (a, b, solved(a, b))
        return sum(m * (x - y) ** 2 for m, x, y in zip(mass, v, v0))
    best = min((square(i / 10, j / 10), i / 10, j / 10) for i in range(-45, 46) for j in range(-45, 46))
    h = 0.1
    while h > 1e-9:
        found = min((square(best[1] + i * h, best[2] + j * h), best[1] + i * h, best[2] + j * h)
                    for i in (-1, 0, 1) for j in (-1, 0, 1))
        h, best = (h, found) if found[0] < best[0] else (h / 2, best)
    return best[0]


def nearest():
    chance = random.Random(3)
    for constraint, _, solved, mass in NONLINEAR:
        text = ("model near\ncoordinate x, y, z\nlagrangian (%g*x'^2 + %g*y'^2 + %g*z'^2)/2\nconstraint c: %s\n"
                % (*mass, constraint))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "near.nh")
            with open(path, "w") as file:
                file.write(text)
            starts = [(0, 0, 0), (3, 0, 0), (0.1, 0, 3)] + [[chance.uniform(-3, 3) for _ in range(3)] for _ in range(7)]
            for v0 in starts:
                v = velocities(path, "--v", ",".join(map(repr, v0)), "--project")
                check(abs(v[2] - solved(v[0], v[1])) < 1e-14 * max(1, *map(abs, v)) * 10, f"{constraint} {v0}: off at {v}")
                distance = sum(m * (x - y) ** 2 for m, x, y in zip(mass, v, v0))
                least = brute_force(solved, mass, v0)
                check(distance <= least * (1 + 1e-12) + 1e-24, f"{constraint} {v0}: {distance!r} instead of {least!r}")


@temporary("model no\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2\nconstraint never: x'^2 + y'^2 = -1\n")
def impossible(path):
    """If the projection fails, the message says so and does not recommend it."""
    text = refused(path, "--project", words=["never", "no velocities were found"])
    check("--project" not in text, text)


def in_other_units():
    """The same velocities whatever the units: masses and lengths from tiny to huge."""
    for mass, length in itertools.product((1e-12, 1, 1e12), repeat=2):
        text = (f"model wheel\nparameter m = {mass}, r = {length}\ncoordinate x, y\ncoordinate heading, turn angle\n"
                "lagrangian m/2*(x'^2 + y'^2 + r^2*heading'^2 + 3*r^2*turn'^2)\n"
                "constraint x' = r*cos(heading)*turn'\nconstraint x'^2 + y'^2 = r^2*turn'^2\n"
                "start heading = 0.3, turn' = 1, x' = 2*r, y' = -r\n")
        done = nonholo("run", "-", "--method", "gauss", "--step", "0.1", "--steps", "0", "--json", "--project", input=text)
        same(done.returncode, 0, done.stderr)
        v = json.loads(done.stdout)["v"]
        found = [v[0] / length, v[1] / length, v[2], v[3]]
        if mass == length == 1e-12:
            expected = found
        check(max(abs(x - y) for x, y in zip(found, expected)) < 1e-13, f"{found} instead of {expected}")


# ---- keep, solve ----

CAR = """model car
coordinate x, y
coordinate theta, turn angle
coordinate b[1..2]
lagrangian (x'^2 + y'^2 + theta'^2 + turn'^2 + b[1]'^2 + b[2]'^2)/2
constraint along: x' = turn'*cos(theta)
constraint across: y' = turn'*sin(theta)
constraint belt: b[1]' + b[2]' = turn'
"""


@temporary(CAR)
def keep_and_solve(path):
    v = ["--start", "turn' = 2, x' = 7, theta' = 1"]
    near(velocities(path, *v, "--project", "keep=theta',turn'"), [2, 0, 1, 2, 1, 1])
    near(velocities(path, *v, "--project=solve=x',y',b'"), [2, 0, 1, 2, 1, 1])
    near(velocities(path, *v, "--project", "solve=x',y',b[2]'"), [2, 0, 1, 2, 0, 2])
    near(velocities(path, *v, "--project", "keep=theta'", "--project", "keep=turn'"), [2, 0, 1, 2, 1, 1])
    check(velocities(path, *v, "--project")[3] != 2, "all velocities may change")


@temporary(CAR)
def wrong_names(path):
    v = ["--start", "turn' = 2", "--project"]
    refused(path, *v, "solve=x',thta'", words=["unknown name 'thta'", "did you mean 'theta'"])
    refused(path, *v, "solve=x", words=["'x' is a coordinate", "expected a velocity such as x'"])
    refused(path, *v, "keep=b[3]'", words=["3"])
    refused(path, *v, "solve=x',y'", words=["belt has residual -2", "none of the velocities", "(x', y')"])
    refused(path, *v, "solve=b'", words=["along has residual -2", "none of the velocities"])
    refused(path, "--start", "turn' = 2, theta = 0.5", "--project", "solve=x',theta',b'", words=["across"])
    refused(path, *v, "keep=x'", "--project", "solve=y'", words=["either keep= or solve="])
    refused(path, "--project=all", words=["keep=NAMES or solve=NAMES", "'all'"])
    refused(path, "--project", "keep=", words=["keep=NAMES"])


@temporary("model one\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2\nconstraint a: x' = 1\nconstraint b: x' + y' = 3\n")
def contradiction(path):
    """More constraints than velocities that may change, and dependent ones."""
    text = refused(path, "--project", "solve=x'", words=["1 velocity that may change (x')", "2 constraints"])
    check("--project" not in text, text)


@temporary(CAR + "start turn' = 2, theta = 0.5\nstart solve x', y', b'\n")
def model_solves(path):
    c, s = 2 * math.cos(0.5), 2 * math.sin(0.5)
    near(velocities(path), [c, s, 0, 2, 1, 1])
    near(velocities(path, "--start", "turn' = 4"), [2 * c, 2 * s, 0, 4, 2, 2])
    near(velocities(path, "--start", "b[1]' = 5"), [c, s, 0, 2, 5, -3])
    near(velocities(path, "--q", "0,0,0,0,0,0"), [2, 0, 0, 2, 1, 1])
    near(velocities(path, "--project"), [c, s, 0, 2, 1, 1])
    refused(path, "--start", "x' = 1", words=["along", "none of the velocities that may change (y', b[1]', b[2]')"])
    refused(path, "--v", "1,1,1,1,1,1", words=["is off the constraints", "--project"])
    check(velocities(path, "--project", "keep=x'")[0] == 0, "keep= prevails over the model")
    sweep = nonholo.json("ensemble", path, "--starts", "/dev/stdin", "--method", "gauss", "--step", "0.01", "--steps", "1",
                         input="turn'\n1\n3\n")
    same(sweep["members"], 2)
    same(sweep["failures"], [])


@temporary("model p\nparameter N = 3\ncoordinate x[1..N], solve\nlagrangian (sum(i in 1..N: x[i]'^2) + solve'^2)/2\n"
           "constraint for i in 1..N: x[i]' = i*solve'\nstart solve' = 2, solve = 1\nstart for i in 2..N: solve x[i]'\n"
           "start when N = 3: solve x[1]'\n")
def grammar_of_solve(path):
    """A coordinate may be called solve, and `for` and `when` work as elsewhere."""
    near(velocities(path), [2, 4, 6, 2])
    refused(path, "--set", "N=4", words=["constraint 1"])


def bad_solve():
    for line, words in (("start solve x", ["'x' is a coordinate", "expected a velocity such as x'"]),
                        ("start solve x', q'", ["unknown name 'q'"]), ("start solve x' = 1", ["','"]),
                        ("start solve m", ["'m' is a parameter"])):
        text = f"model bad\nparameter m = 1\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2\nconstraint x' = y'\n{line}\n"
        done = nonholo("check", "-", input=text)
        same(done.returncode, 2)
        for word in ["<stdin>:6:", *words]:
            check(word in done.stderr, f"{line}: {done.stderr}")


def time_counts():
    """A model's start is solved for at the time of the start."""
    text = ("model moving\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2\nconstraint x' = t + 1\nstart solve x'\n")
    for t0 in (0, 2):
        done = nonholo("run", "-", "--method", "gauss", "--step", "0.01", "--steps", "0", "--json", "--t0", t0, input=text)
        same(done.returncode, 0, done.stderr)
        same(json.loads(done.stdout)["v"], [t0 + 1, 0])


# ---- starts where a rank is lost ----

LOST = {  # the text after 'model m', what is lost there, a start where nothing is
    "crossing lines": ("coordinate x, y\nlagrangian (x'^2 + y'^2)/2\nconstraint x*y = 0\nstart x' = 1\n", 0, "x=1"),
    "a cusp": ("coordinate x, y\nlagrangian (x'^2 + y'^2)/2 - x\nconstraint y^2 = x^3\n", 0, "x=1,y=1"),
    "a folded chain": ("coordinate a, b, c angle\nlagrangian (a'^2 + b'^2 + c'^2)/2\nconstraint cos(a) + cos(b) + cos(c) = 1\n"
                       "constraint sin(a) + sin(b) + sin(c) = 0\nstart c = 3.14159265358979\n", 1, "b=2,c=2-pi"),
    "touching spheres": ("coordinate x, y, z\nlagrangian (x'^2 + y'^2 + z'^2)/2 - y\nconstraint x^2 + y^2 + z^2 = 1\n"
                         "constraint (x - 1.5)^2 + y^2 + z^2 = 0.25\nstart x = 1\n", 1, None),
    "parallel rows": ("coordinate x, y, z\nlagrangian (x'^2 + y'^2 + z'^2)/2 - z\nconstraint y' = x*z'\nconstraint y' = 0\n"
                      "start x' = 1\n", 1, "x=1"),
    "a row that vanishes": ("coordinate x, y, z\nlagrangian (x'^2 + y'^2 + z'^2)/2 - z\nconstraint x*x' + y*y' = 0\nstart z' = 1\n",
                            0, "x=1"),
    "an input": ("coordinate x, y\ninput u = 0\nlagrangian (x'^2 + y'^2)/2\nconstraint u*x' = sin(x)*y'\nstart y' = 1\n", 0, "x=1,y'=0"),
    "a pole": ("coordinate a, b angle\nlagrangian (a'^2 + sin(a)^2*b'^2)/2 - cos(a)\nstart a = pi\nstart a' = 1\n", None, "a=1"),
    "angles of Euler": ("coordinate a, c angle\ncoordinate b\nlagrangian (a'*sin(b)*sin(c) + b'*cos(c))^2/2"
                        " + (a'*sin(b)*cos(c) - b'*sin(c))^2 + 3/2*(a'*cos(b) + c')^2\nstart a' = 1\n", None, "b=1"),
}


def lost_ranks():
    """Every method refuses a start where a rank is lost, in the same words, and check says which rank is left; elsewhere
    they start."""
    methods = [m["name"] for m in json.loads(nonholo("methods", "--json").stdout)["methods"]]
    for what, (text, rank, elsewhere) in LOST.items():
        text, said = "model m\n" + text, set()
        for method in methods:
            done = nonholo("run", "-", "--method", method, "--step", "0.01", "--time", "0.02", input=text)
            if done.returncode != 2:  # otherwise the method does not apply
                same(done.returncode, 1, f"{what}, {method}: {done.stderr}")
                said.add(done.stderr)
        same(len(said), 1, f"{what}: {said}")
        check("the motion cannot start from such a state" in said.pop(), what)
        found = nonholo("check", "-", input=text)
        check(found.returncode == 0 and "no motion can start there" in found.stdout, f"{what}: {found.stdout}")
        facts = json.loads(nonholo("check", "-", "--json", input=text).stdout)
        if rank is None:
            check(facts["singular_mass"], what)
        else:
            same((facts["rank"], facts["generic_rank"]), (rank, len(facts["constraints"])), what)
            check(f"of rank {rank} at the start (elsewhere {facts['generic_rank']})" in found.stdout, found.stdout)
        if elsewhere:
            done = nonholo("run", "-", "--method", "gauss", "--step", "0.001", "--time", "0.002", "--start", elsewhere, input=text)
            same(done.returncode, 0, f"{what}: {done.stderr}")
            facts = json.loads(nonholo("check", "-", "--json", "--start", elsewhere, input=text).stdout)
            check(facts["rank"] == facts["generic_rank"] and not facts["singular_mass"], f"{what}: {facts['rank']}")


CASES = [slow_and_scaled, rounding, zero_row, other_velocities, positions_count, rank_of_large_wheels, nearest, impossible,
         in_other_units, keep_and_solve, wrong_names, contradiction, model_solves, grammar_of_solve, bad_solve, time_counts, lost_ranks]
NAMES = ["slow and scaled", "rounding", "zero row", "other velocities", "positions count", "rank of large wheels", "nearest",
         "impossible", "in other units", "keep and solve", "wrong names", "contradiction", "model solves",
         "grammar of solve", "bad solve", "time counts", "lost ranks"]
sys.exit(run_all(list(zip(NAMES, CASES, strict=True))))
