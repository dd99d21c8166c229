#!/usr/bin/env python3
"""sources.py models | figures | templates | methods | kernels | kernels-of-stages | dual | precise | kernel-headers | hdf5 | rooms | rooms-run-once | rooms-of-text |
cli | python: lists files for meson.build, a line each, so that a new model, method or room is built without being listed by hand."""
import glob
import os
import re

import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
methods = ["src/method/" + f for f in dict.fromkeys(
    re.findall(r'METHOD\(\w+, "([^"]+)"\)', open("src/method/methods.def").read()))]
# compiled for every number of lanes and processor level
kernels = methods + ["src/method/%s.c" % f for f in ("spark", "explicit", "shared")]
# those with loops over stages, or inside an iteration, which are up to 13% slower at -O2 (reference is not)
staged = {"src/method/%s.c" % f for f in ("spark", "discrete-gradient", "gonzalez-f")}
assert staged <= set(kernels), staged - set(kernels)
precise_step = "src/method/precise_step.c" # whose `double` has 113 bits
rooms = set(glob.glob("src/*/*.c")) - set(kernels) - {"src/code/interpret.c", precise_step}
def of(*folders):
    return {f for f in rooms if f.split("/")[1] in folders}


# writes exports, or reads and evaluates figures
text = of("export", "figure", "import")
# executed for every step, every check of a run, or every row of a file: -O1 makes this up to 2% slower
often = {"src/system/callbacks.c"} | {"src/run/%s.c" % f for f in (
    "careful", "condition", "event_find", "health", "leg", "loop", "measure", "sample", "solution", "stepper",
    "teams", "trace")} | {"src/output/%s.c" % f for f in ("csv", "number", "record", "writer")} | {"src/simulate/worker.c", "src/simulate/start_lanes.c"}
assert often <= rooms, often - rooms
# reads, derives, evaluates or lays out: short loops, once per command, file or block of steps
once = of("contact", "model", "mechanics", "code", "system", "method", "run", "analysis", "output", "simulate") - often
lists = {
    "models": lambda: glob.glob("models/*.nh"),
    "templates": lambda: glob.glob("src/export/template/*"),
    "figures": lambda: glob.glob("figures/*.fig"),
    "methods": lambda: methods,
    "kernels": lambda: set(kernels) - staged,
    "kernels-of-stages": lambda: staged,
    "dual": lambda: {f[len("src/"):] for f in kernels},
    "precise": lambda: set(kernels) | {precise_step, "src/code/interpret.c", "src/base/quadrature.c", "src/base/dense.c"},
    "kernel-headers": lambda: glob.glob("src/kernel/*.h") + glob.glob("src/method/*.h") + glob.glob("src/system/callback*.h") + ["src/base/dense.c"],
    "rooms": lambda: rooms - once - text,
    "rooms-run-once": lambda: once,
    "rooms-of-text": lambda: text,
    "hdf5": lambda: sorted(glob.glob("src/output/*hdf5*.[ch]") + ["src/output/part.c"]),
    "cli": lambda: glob.glob("cli/*.c"),
    "python": lambda: [os.path.basename(f) for f in glob.glob("python/nonholo/*") if not f.endswith(("__", ".in"))],
}
print("\n".join(sorted(lists[sys.argv[1]]())))
