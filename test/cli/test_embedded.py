#!/usr/bin/env python3
"""test_embedded.py NONHOLO [sizes]

Exported C programs on a Cortex-M4F: cross-compiled with all warnings as errors and run by QEMU, against this machine.
With 'sizes' it prints the table of docs/export.md instead."""

import os
import shutil
import subprocess
import sys

from harness import Program, cases_in_folders, check, run_all, same

HERE = os.path.dirname(os.path.abspath(__file__))
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
CROSS = ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
EMULATOR = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none"]
STEPS = 400
# The double precision of this processor is software: without fused operations the bits are those of machines without.
BASIC = {"NONHOLO_LEVEL": "basic"}


def export(program, folder, model, method, real="double", step="0.05"):
    source = os.path.join(folder, "exported.c")
    done = program("export", model, "--format", "c", "--method", method, "--step", step, "--real", real, "-o", source, "--quiet")
    same((done.returncode, done.stdout), (0, ""), done.stderr)
    return source


def build(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    check(done.returncode == 0, done.stderr[:2000])


def on_processor(folder, source, *flags):
    """The numbers that the program prints there."""
    path = os.path.join(folder, "exported.elf")
    build(*CROSS, *STRICT, *flags, "-DNONHOLO_MAIN", source, os.path.join(HERE, "cortex_m4.c"), "--specs=rdimon.specs",
          "-Wl,--section-start=.vectors=0", "-lm", "-o", path)
    done = subprocess.run([*EMULATOR, "-kernel", path, "-semihosting-config", f"enable=on,target=native,arg=a,arg={STEPS}"],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
    return [float(x) for x in done.stdout.split()]


def test_double(program, folder):
    """The bits of a run at every optimisation level, even with newlib's own fma, which rounds twice."""
    for model, method, flags in [("pendulum-cvt", "dla01", ["-Os"]), ("pendulum-cvt", "gauss", ["-O2"]), ("pendulum-cvt", "leapfrog", ["-O0"]),
                                 ("rolling-coin", "discrete-gradient", ["-Os"]), ("rolling-coin-rotation", "gauss", ["-Os"]),
                                 ("heavy-top", "dop853", ["-O3"])]:
        end = program.json("run", model, "--method", method, "--step", "0.05", "--steps", STEPS, "--no-estimate", "--quiet", env=BASIC)
        found = on_processor(folder, export(program, folder, model, method), *flags, "-DNONHOLO_UNFUSED")
        same(found, [end["t"], *end["q"], *end["v"]], f"{model} {method}")


def test_float(program, folder):
    """Fused operations are instructions; without functions of the C library the bits are those of this machine."""
    for model, method in [("harmonic-cvt", "dla01"), ("nonholonomic-particle", "gauss"), ("harmonic-cvt", "rk4")]:
        source = export(program, folder, model, method, "float")
        build("cc", *STRICT, "-O2", "-DNONHOLO_MAIN", source, "-lm", "-o", source[:-2])
        here = subprocess.run([source[:-2], str(STEPS)], capture_output=True, text=True, check=True).stdout
        for flags in (["-Os"], ["-O2", "-std=gnu11"]):
            same(on_processor(folder, source, *flags), [float(x) for x in here.split()], f"{model} {method} {flags}")


def test_float_functions(program, folder):
    """The sines come from another C library, so the results agree with the run to single precision."""
    for method in ("dla01", "gauss", "rk4"):
        end = program.json("run", "pendulum-cvt", "--method", method, "--step", "0.05", "--steps", STEPS, "--no-estimate", "--quiet")
        found = on_processor(folder, export(program, folder, "pendulum-cvt", method, "float"), "-Os")
        apart = max(abs(a - b) / max(1, abs(b)) for a, b in zip(found, [end["t"], *end["q"], *end["v"]]))
        check(apart < 1e-5, f"{method}: {apart}")  # measured: up to 2.8e-6


def print_sizes(program, folder):
    """Bytes of code and tables of the exported program, and of a model's struct."""
    print("| model | method | double: code | struct | float: code | struct |\n|---|---|---|---|---|---|")
    for model, method in [("pendulum-cvt", "dla01"), ("pendulum-cvt", "leapfrog"), ("pendulum-cvt", "rk4"), ("pendulum-cvt", "gauss"),
                          ("rolling-coin", "gauss"), ("rolling-coin", "discrete-gradient"), ("two-wheeled-robot", "gauss"),
                          ("heavy-top", "gauss")]:
        cells = [model, method]
        for real in ("double", "float"):
            source = export(program, folder, model, method, real)
            own = os.path.join(folder, "own.c")
            with open(own, "w") as file:
                file.write('#include "exported.h"\nexported_model s;\n')
            for path in (source, own):
                build(*CROSS, *STRICT, "-Os", "-DNONHOLO_UNFUSED", "-c", path, "-o", path + ".o")
            sizes = [subprocess.run(["arm-none-eabi-size", path + ".o"], capture_output=True, text=True, check=True).stdout.split()[6:9]
                     for path in (source, own)]
            cells += [sizes[0][0], sizes[1][2]]
        print("|", " | ".join(cells), "|")


def main():
    program = Program(sys.argv[1])
    for needed in (CROSS[0], EMULATOR[0], "cc"):
        if not shutil.which(needed):
            print(f"skipped: there is no {needed} (tools/setup.sh embedded)")
            raise SystemExit(77)
    if "sizes" in sys.argv[2:]:
        return run_all([case for case in cases_in_folders({"print_sizes": print_sizes}, program)])
    return run_all([case for case in cases_in_folders(globals(), program) if case[0].startswith("test_")])


if __name__ == "__main__":
    sys.exit(main())
