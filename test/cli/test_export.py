#!/usr/bin/env python3
"""test_export.py NONHOLO [all]

What 'nonholo export' writes: C programs compiled with all warnings as errors, against 'nonholo run' bit by bit.
Without 'all' every model and every method is in some pair; with it, all pairs are tried."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import Program, Skipped, cases_in_folders, check, models_without_contacts, run_all, same

STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
# Functions that compilers call by themselves, and the mathematical library.
ALLOWED = set("memcpy memset memmove __stack_chk_fail _GLOBAL_OFFSET_TABLE_ fma sqrt fabs fmax fmin sin cos tan asin acos "
              "atan sinh cosh tanh exp log atan2 pow sincos".split())
STEP, STEPS = "0.01", 1000


def compiler(name="cc"):
    path = shutil.which(os.environ.get("CC", name) if name == "cc" else name)
    if not path:
        raise Skipped(f"there is no {name}")
    return path


def compile_program(source, *flags, cc="cc"):
    done = subprocess.run([compiler(cc), *STRICT, *flags, "-DNONHOLO_MAIN", source, "-o", source[:-2], "-lm"],
                          capture_output=True, text=True)
    check(done.returncode == 0, done.stderr[:2000])
    return source[:-2]


def execute(path, steps=STEPS):
    done = subprocess.run([path, str(steps)], capture_output=True, text=True)
    return done.returncode, [float(x) for x in done.stdout.split()], done.stderr


def export(program, folder, model, *options, name="exported"):
    source = os.path.join(folder, name + ".c")
    done = program("export", model, "--format", "c", *options, "-o", source, "--quiet")
    check(done.returncode == 0, done.stderr)
    same(done.stdout, "")
    return source


def end_of_run(program, model, *options, steps=STEPS):
    end = program.json("run", model, *options, "--steps", steps, "--no-estimate", "--quiet")
    return [end["t"], *end["q"], *end["v"]]


def compare_pair(program, folder, model, method):
    """The same bits after 1000 steps; a run that fails does so at the same step. False: the method does not apply."""
    how = ["--method", method, "--step", STEP]
    run = program("run", model, *how, "--steps", STEPS, "--no-estimate", "--quiet", "--json")
    if run.returncode == 2:
        return False
    code, found, message = execute(compile_program(export(program, folder, model, *how), "-O0"))
    same(code, run.returncode, f"exit code; {message} {run.stderr}")
    if run.returncode == 0:
        end = json.loads(run.stdout)
        same(found, [end["t"], *end["q"], *end["v"]])
    else:
        same(re.search(r"step (\d+)", message)[1], re.search(r"step (\d+)", run.stderr)[1])
    return True


def cases_of_pairs(program, everything):
    """Every model with one method, so that each method has its turn; or all pairs."""
    models = models_without_contacts(program)
    methods = [m["name"] for m in program.json("methods")["methods"]]
    for place, model in enumerate(models):
        def one(model=model, place=place):
            with tempfile.TemporaryDirectory() as folder:
                fits = 0
                for turn in range(len(methods)):
                    fits += compare_pair(program, folder, model, methods[(place * 7 + turn) % len(methods)])
                    if fits and not everything:
                        return
                check(fits > 0, "no method applies")
        yield model, one


def test_flags(program, folder):
    """The bits are the same for all flags and compilers."""
    for model, method in [("pendulum-cvt", "gauss"), ("rolling-coin", "newmark"), ("rolling-disk", "leapfrog"),
                          ("rolling-coin-rotation", "discrete-gradient")]:
        source = export(program, folder, model, "--method", method, "--step", "0.05", name=method.replace("-", "_"))
        expected = end_of_run(program, model, "--method", method, "--step", "0.05")
        machine = open("/proc/cpuinfo").read() if os.path.exists("/proc/cpuinfo") else ""
        fused = ["-mavx2", "-mfma"] if " avx2" in machine and " fma" in machine else []
        for flags in (["-O0"], ["-O2"], ["-O2", *fused], ["-O3", "-DNONHOLO_UNROLL", "-w", *fused], ["-O2", "-std=gnu17", *fused]):
            same(execute(compile_program(source, *flags))[1], expected, f"{model} {method} {flags}")
        if shutil.which("clang"):
            same(execute(compile_program(source, "-O2", *fused, cc="clang"))[1], expected, f"{model} {method} clang")


def test_symbols(program, folder):
    """Only the mathematical library is needed, and there is no mutable data."""
    if not shutil.which("nm"):
        raise Skipped("there is no nm")
    source = export(program, folder, "disk-chain", "--method", "gauss", "--step", "0.1")
    subprocess.run([compiler(), *STRICT, "-O2", "-c", source, "-o", source + ".o"], check=True)
    lines = subprocess.run(["nm", source + ".o"], capture_output=True, text=True, check=True).stdout.split("\n")
    symbols = [line.split()[-2:] for line in lines if line.strip()]
    same(sorted({name for kind, name in symbols if kind == "U"} - ALLOWED), [], "undefined")
    same([name for kind, name in symbols if kind in "bBdDC"], [], "data that can change")
    same(sorted(name for kind, name in symbols if kind == "T"),
         ["exported_" + name for name in sorted("init set_state step advance time energy residual state_of observe".split())])


def test_hard_steps(program, folder):
    """Steps that need Newton's method or pieces, composed ones too; compensated sums off and on."""
    for case, (model, *how) in enumerate([
            ("appell-hamel", "--method", "gauss", "--step", "0.5"),
            ("pendulum-cvt", "--method", "gauss", "--step", "1.2"),
            ("pendulum-cvt", "--method", "dla", "--step", "0.9"),
            ("rolling-coin", "--method", "lobatto-ab", "--step", "0.3"),
            ("pendulum-cvt", "--method", "gauss:stages=1", "--step", "0.9", "--compose", "suzuki"),
            ("pendulum-cvt", "--method", "dla01", "--step", "0.2", "--compose", "yoshida6", "--compensated", "on"),
            ("pendulum-cvt", "--method", "gauss", "--step", "0.1", "--compensated", "off"),
    ]):
        source = export(program, folder, model, *how, name=f"hard{case}")
        code, found, message = execute(compile_program(source, "-O0"), 200)
        run = program("run", model, *how, "--steps", "200", "--no-estimate", "--quiet", "--json")
        same(code, run.returncode, f"{model} {how}: {message} {run.stderr}")
        if code == 0:
            end = json.loads(run.stdout)
            same(found, [end["t"], *end["q"], *end["v"]], f"{model} {how}")
        else:
            same(re.search(r"step (\d+)", message)[1], re.search(r"step (\d+)", run.stderr)[1], f"{model} {how}")


OWN = """
#include "exported.h"
#include <stdio.h>
int main(void)
{
    exported_model s, other;
    exported_real t, q[exported_COORDINATES], v[exported_VELOCITIES], values[exported_OBSERVABLES + 1];
    if (exported_init(&s) != exported_OK)
        return 1;
    for (int i = 0; i < 500; i++)
        if (exported_step(&s) != exported_OK)
            return 1;
    other = s;                                   /* a state is what the struct is */
    exported_advance(&other, 500);
    exported_advance(&s, 500);
    exported_observe(&s, values);
    exported_state_of(&s, &t, q, v);
    printf("%.17g %.17g %.17g %.17g %d %.17g\\n", exported_energy(&s), exported_residual(&s), values[exported_observable_forward],
           q[exported_q_theta], other.now.q[0] == s.now.q[0], exported_time(&s));
    exported_set_state(&s, t, q, v);
    printf("%.17g %.17g\\n", exported_energy(&s), exported_time(&s));
    return 0;
}
"""


def test_interface(program, folder):
    """Steps one by one, copies of a state, energy, residual, observables, a state that is set."""
    how = ["--method", "gauss", "--step", "0.01", "--set", "J=2"]
    source = export(program, folder, "chaplygin-sleigh", *how)
    own = os.path.join(folder, "own.c")
    with open(own, "w") as file:
        file.write(OWN)
    subprocess.run([compiler(), *STRICT, "-O1", own, source, "-o", own[:-2], "-lm"], check=True)
    lines = subprocess.run([own[:-2]], capture_output=True, text=True, check=True).stdout.split("\n")
    end = program.json("run", "chaplygin-sleigh", *how, "--steps", 1000, "--no-estimate")
    found = [float(x) for x in lines[0].split()]
    same([found[0], found[2], found[3], found[4], found[5]], [end["energy"], end["observables"]["forward"], end["q"][2], 1, end["t"]])
    check(found[1] <= end["constraint_max"], f"residual {found[1]}")
    energy, t = map(float, lines[1].split())
    check(abs(energy - end["energy"]) < 1e-14 and t == end["t"], lines[1])


def test_single_precision(program, folder):
    """A program in single precision: only time is a double, and the results agree with the run to single precision."""
    for method, near in [("dla01", 5e-5), ("gauss", 5e-5), ("rk4", 5e-5), ("newmark", 5e-5)]:  # measured: up to 5e-6
        how = ["--method", method, "--step", "0.05"]
        source = export(program, folder, "pendulum-cvt", *how, "--real", "float", name=method)
        path = compile_program(source, "-O2", "-Wdouble-promotion")
        code, found, message = execute(path, 200)
        same(code, 0, message)
        expected = end_of_run(program, "pendulum-cvt", *how, steps=200)
        apart = max(abs(a - b) for a, b in zip(found, expected))
        check(apart < near, f"{method}: {apart}")


def test_conditions_on_time(program, folder):
    """Runs divide steps there and programs do not, which a remark says; until then the bits are the same."""
    model = os.path.join(folder, "pushed.nh")
    with open(model, "w") as file:
        file.write("model pushed\ncoordinate x\nlagrangian x'^2/2 - x^2/2\nforce x = if(t > 0.55, 1, 0)\nstart x = 1\n")
    how = ["--method", "rk4", "--step", "0.1"]
    done = program("export", model, "--format", "c", *how, "-o", os.path.join(folder, "pushed.c"))
    check("divides steps where a condition on time changes" in done.stderr, done.stderr)
    path = compile_program(os.path.join(folder, "pushed.c"), "-O1")
    same(execute(path, 5)[1], end_of_run(program, model, *how, steps=5))
    done = program("export", "rolling-disk", "--format", "c", *how, "-o", os.path.join(folder, "pushed.c"))
    same(done.stderr, "")


def test_inputs(program, folder):
    """Inputs that the export would not contain are refused: a program had enumerators without names, or kept the first value."""
    model = os.path.join(folder, "pulled.nh")
    with open(model, "w") as file:
        file.write("model pulled\ncoordinate x\ninput u = 0\nlagrangian x'^2/2\nforce x = u\n")
    for form in ("c", "fmu", "python", "modelica", "json", "latex"):
        for given in ("u=[0 1; 1 2]", "u:spline=[0 1; 1 2; 2 0]", "u:held=[0 1; 1 2]", "u:held=sin(t)"):
            steps = form in ("c", "fmu")
            done = program("export", model, "--format", form, "--step", "0.1", "--input", given, *(["-o", os.path.join(folder, "x.fmu")] * (form == "fmu")))
            fine = not steps and "held" in given
            same((done.returncode, "which exports do not contain" in done.stderr), (0, False) if fine else (2, True), f"{form} {given}")
    export(program, folder, model, "--method", "gauss", "--step", "0.1", "--input", "u:held")


def test_standard_output(program, folder):
    """Without -o the program is one text."""
    text = program("export", "rolling-disk", "--format", "c", "--method", "leapfrog", "--step", "0.1").stdout
    path = os.path.join(folder, "one.c")
    with open(path, "w") as file:
        file.write(text)
    same(execute(compile_program(path, "-O1"), 10)[1],
         end_of_run(program, "rolling-disk", "--method", "leapfrog", "--step", "0.1", steps=10))
    usage = subprocess.run([path[:-2], "many"], capture_output=True, text=True)
    same((usage.returncode, usage.stdout), (2, ""))


def test_names_of_files(program, folder):
    """The header is included by the name that its file has, whatever the names in the program are."""
    for name in ("chaplygin-sleigh", "2 skates", "über"):
        source = export(program, folder, "chaplygin-sleigh", "--method", "gauss", "--step", "0.1", name=name)
        same(execute(compile_program(source, "-O1"), 3)[0], 0, name)
    done = program("export", "chaplygin-sleigh", "--format", "c", "--step", "0.1", "-o", os.path.join(folder, 'a"b.c'))
    same((done.returncode, "cannot be included" in done.stderr), (2, True))
    done = program("export", "chaplygin-sleigh", "--format", "c", "--method", "gauss:pace=0.2", "--step", "0.1")
    same((done.returncode, "fixed length" in done.stderr), (2, True))


def main():
    program = Program(sys.argv[1])
    compiler()
    cases = cases_in_folders(globals(), program)
    cases += cases_of_pairs(program, "all" in sys.argv[2:])
    return run_all(cases)


if __name__ == "__main__":
    sys.exit(main())
