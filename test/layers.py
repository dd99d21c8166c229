#!/usr/bin/env python3
"""layers.py SOURCE: every folder of src/ includes only earlier folders and base; the command
line and the examples include only nonholo.h; MPI and HDF5 stay out of nonholo.h."""
import glob
import os
import re
import sys

root = sys.argv[1]
order = ["base", "model", "mechanics", "kernel", "code", "system", "method", "run", "analysis", "output", "simulate", "export", "figure"]
wrong, checked = [], 0
for path in sorted(glob.glob(root + "/src/*/*.[ch]")):
    room = os.path.basename(os.path.dirname(path))
    for other in re.findall(r'#include "(\w+)/[^"]+"', open(path).read()):
        checked += 1
        if other in order and order.index(other) > order.index(room):
            wrong.append("%s: %s may not include %s" % (os.path.relpath(path, root), room, other))
for path in sorted(glob.glob(root + "/cli/*.[ch]") + glob.glob(root + "/examples/*.c")):
    for name in re.findall(r'#include "([^"]+)"', open(path).read()):
        checked += 1
        if "/" in name:
            wrong.append("%s: includes %s; the public header is enough" % (os.path.relpath(path, root), name))
if re.search(r"\b(MPI_|hid_t|H5)", open(root + "/include/nonholo.h").read()):
    wrong.append("include/nonholo.h: types of MPI or HDF5")
print("\n".join(wrong))
print("%d passed, %d failed" % (checked - len(wrong), len(wrong)))
sys.exit(bool(wrong) or checked == 0)
