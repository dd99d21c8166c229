#!/usr/bin/env python3
"""test_dense.py NONHOLO: the analysis of a model has a budget. Texts of 200 bytes with dense mass matrices, dense
constraints and long sums are checked within bounded memory, and check says what was not examined; if solving for
the mass matrix was postponed, a run still computes it correctly."""
import json
import math
import os
import resource
import subprocess
import sys
import tempfile

nonholo = os.path.abspath(sys.argv[1])
MEMORY = 500 << 20  # measured: 165 MB (dense mass matrix, N = 300), 125 MB (constraints), 45 MB (long sums)

START = "start for i in 1..N: x[i] = 0.1*i"
MODELS = {
    # name: (lines, N, does the mass matrix wait, verdict on integrability: None is unknown)
    "mass": ("lagrangian sum(i in 1..N: x[i]'^2)"
             " + sum(i in 1..N: sum(j in 1..N: (1 + sin(x[i])*sin(x[j])/N)*x[i]'*x[j]'))/N", 300, True, None),
    "square": ("lagrangian sum(i in 1..N: x[i]'^2) + (sum(i in 1..N: x[i]*x[i]'))^2", 300, True, None),
    "constraints": ("lagrangian sum(i in 1..N: x[i]'^2)\n"
                    "constraint for i in 1..N/2: sum(j in 1..N: sin(i*j + x[j])*x[j]') = 0", 300, False, True),
    "sums": ("lagrangian sum(i in 1..N: x[i]'^2)\n"
             "constraint sum(i in 1..N: sin(sum(j in 1..N: x[j]) + i)*x[i]') = 0", 1000, False, None),
    "small": ("lagrangian sum(i in 1..N: x[i]'^2) + (sum(i in 1..N: x[i]*x[i]'))^2", 30, False, None),
}
failures = 0


def expect(ok, *what):
    global failures
    if not ok:
        failures += 1
        print("FAILED:", *what)


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def command(*arguments):
    return subprocess.run([nonholo, *arguments], capture_output=True, text=True, preexec_fn=limit)


def write(folder, name, lines, n):
    path = os.path.join(folder, name + ".nh")
    with open(path, "w") as f:
        f.write(f"model {name}\nparameter N = {n}\ncoordinate x[1..N]\n{lines}\n{START}\n")
    return path


with tempfile.TemporaryDirectory() as folder:
    for name, (lines, n, waits, integrable) in MODELS.items():
        path = write(folder, name, lines, n)
        result = command("check", path, "--json")
        expect(result.returncode == 0, name, result.stderr)
        found = json.loads(result.stdout) if result.returncode == 0 else {}
        expect(found.get("mass_waits") is waits, name, "mass_waits", found.get("mass_waits"))
        expect(name in ("mass", "square", "small") or found.get("integrable", 0) is integrable, name, found.get("integrable"))
        text = command("check", path).stdout
        expect(("accelerations not derived" in text) == waits, name, text[:2000])
    # A constant matrix of 150 coordinates and a constraint: M^-1 and its reaction come when the run needs them.
    path = write(folder, "later", "lagrangian sum(i in 1..N: x[i]'^2 - x[i]^2)"
                 " + sum(i in 1..N: sum(j in 1..N: cos(i*j)*x[i]'*x[j]'))/(4*N)\n"
                 "constraint sum(i in 1..N: x[i]') = 0", 150)
    result = command("check", path, "--json")
    expect(result.returncode == 0 and json.loads(result.stdout)["mass_waits"], "later", result.stderr)
    table = os.path.join(folder, "later.csv")
    result = command("run", path, "--method", "gauss:stages=3", "--step", "0.05", "--steps", "20", "--no-estimate",
                     "-o", table)
    expect(result.returncode == 0, "later", result.stderr)
    rows = [line.split(",") for line in open(table) if not line.startswith("#")]
    energies, sums, moved = [], [], 0
    for values in rows[1:]:
        row = dict(zip((name.strip() for name in rows[0]), map(float, values)))
        x, v = ([row[f"x[{i}]{prime}"] for i in range(1, 151)] for prime in ("", "'"))
        energies.append(sum(a*a + b*b for a, b in zip(v, x)) + sum(
            math.cos((i + 1)*(j + 1))*v[i]*v[j] for i in range(150) for j in range(150))/600)
        sums.append(sum(v)/sum(map(abs, v)) if any(v) else 0)
        moved = max(map(abs, v))
    expect(moved > 1, "nothing moves", moved)
    # measured: 4e-16 and 2e-16
    expect(max(abs(e/energies[0] - 1) for e in energies) < 1e-13, "energy", energies)
    expect(max(map(abs, sums)) < 1e-14, "constraint", sums)
    # Not definite and this dense: refused with the reason.
    path = write(folder, "indefinite", "lagrangian sum(i in 1..N: sum(j in 1..N: sin(x[i] + x[j])*x[i]'*x[j]'))", 300)
    result = command("check", path)
    expect(result.returncode != 0 and "couples too many of the 300 coordinates" in result.stderr, result.stderr)
sys.exit(failures > 0)
