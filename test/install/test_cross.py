#!/usr/bin/env python3
"""test_cross.py FOREIGN NATIVE: a command for 64-bit ARM, run under qemu-user, against that of this machine.

Results agree to round-off over a short time; they are the same bits where both processors fuse multiplications with
additions in the same way, which is required on machines with FMA."""

import json
import subprocess
import sys

FOREIGN, NATIVE = sys.argv[1:3]
EMULATOR = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
CASES = [("chaplygin-sleigh", "gauss:stages=3"), ("pendulum-cvt", "dla01"), ("rolling-coin", "dop853"), ("rolling-disk", "discrete-gradient")]


def end(command, model, method):
    done = subprocess.run([*command, "run", model, "--method", method, "--step", "0.01", "--steps", "200", "--backend", "tape",
                           "--quiet", "--json", "--no-estimate"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found["q"] + found["v"]


def main():
    same = 0
    for model, method in CASES:
        there, here = end([*EMULATOR, FOREIGN], model, method), end([NATIVE], model, method)
        worst = max(abs(a - b) / max(1, abs(b)) for a, b in zip(there, here))
        assert worst < 1e-11, (model, method, worst)  # measured: 0
        same += there == here
    print(f"{len(CASES)} runs under qemu-aarch64, {same} with the same bits")


if __name__ == "__main__":
    main()
