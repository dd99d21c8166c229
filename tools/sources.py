#!/usr/bin/env python3
"""sources.py models | figures | templates | methods | kernels | kernel-headers | rooms | rooms-run-once | cli | python: lists files for
meson.build, a line each, so that a new model, method or room is built without being listed by hand."""
import glob
import os
import re

import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
methods = ["src/method/" + f for f in dict.fromkeys(
    re.findall(r'METHOD\(\w+, "([^"]+)"\)', open("src/method/methods.def").read()))]
# what is compiled for every kind of lanes and processor
kernels = methods + ["src/method/spark.c"]
rooms = set(glob.glob("src/*/*.c")) - set(kernels) - {"src/code/interpret.c"}
# what reads, derives, exports or judges: short loops, once for each command
once = {f for f in rooms if f.split("/")[1] in ("model", "mechanics", "code", "system", "method", "analysis", "export", "figure")}
lists = {
    "models": lambda: glob.glob("models/*.nh"),
    "templates": lambda: glob.glob("src/export/template/*"),
    "figures": lambda: glob.glob("figures/*.fig"),
    "methods": lambda: methods,
    "kernels": lambda: kernels,
    "kernel-headers": lambda: glob.glob("src/kernel/*.h") + glob.glob("src/method/*.h") + glob.glob("src/system/callback*.h") + ["src/base/dense.c"],
    "rooms": lambda: rooms - once,
    "rooms-run-once": lambda: once,
    "cli": lambda: glob.glob("cli/*.c"),
    "python": lambda: [os.path.basename(f) for f in glob.glob("python/nonholo/*") if not f.endswith(("__", ".in"))],
}
print("\n".join(sorted(lists[sys.argv[1]]())))
