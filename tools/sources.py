#!/usr/bin/env python3
"""sources.py models | figures | templates | methods | kernels | kernels-of-stages | kernel-headers | rooms | rooms-run-once | rooms-of-text |
cli | python: lists files for meson.build, a line each, so that a new model, method or room is built without being listed by hand."""
import glob
import os
import re

import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
methods = ["src/method/" + f for f in dict.fromkeys(
    re.findall(r'METHOD\(\w+, "([^"]+)"\)', open("src/method/methods.def").read()))]
# compiled for every number of lanes and processor level
kernels = methods + ["src/method/spark.c", "src/method/shared.c"]
# those with loops over stages, or inside an iteration, that -O3 makes faster by more than 3% (reference gains nothing)
staged = {"src/method/%s.c" % f for f in ("spark", "discrete-gradient", "gonzalez-f")}
assert staged <= set(kernels), staged - set(kernels)
rooms = set(glob.glob("src/*/*.c")) - set(kernels) - {"src/code/interpret.c"}
def of(*folders):
    return {f for f in rooms if f.split("/")[1] in folders}


# writes exports, or reads and evaluates figures
text = of("export", "figure")
# reads, derives or evaluates: short loops, once per command; not the code that calls the user's functions in every step
once = of("model", "mechanics", "code", "system", "method", "analysis") - {"src/system/callbacks.c"}
lists = {
    "models": lambda: glob.glob("models/*.nh"),
    "templates": lambda: glob.glob("src/export/template/*"),
    "figures": lambda: glob.glob("figures/*.fig"),
    "methods": lambda: methods,
    "kernels": lambda: set(kernels) - staged,
    "kernels-of-stages": lambda: staged,
    "kernel-headers": lambda: glob.glob("src/kernel/*.h") + glob.glob("src/method/*.h") + glob.glob("src/system/callback*.h") + ["src/base/dense.c"],
    "rooms": lambda: rooms - once - text,
    "rooms-run-once": lambda: once,
    "rooms-of-text": lambda: text,
    "cli": lambda: glob.glob("cli/*.c"),
    "python": lambda: [os.path.basename(f) for f in glob.glob("python/nonholo/*") if not f.endswith(("__", ".in"))],
}
print("\n".join(sorted(lists[sys.argv[1]]())))
