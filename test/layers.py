#!/usr/bin/env python3
"""layers.py SOURCE: every folder of src/ includes only earlier folders and base; the command
line and the examples include only nonholo.h; MPI and HDF5 stay out of nonholo.h."""
import glob
import os
import re
import sys

root = sys.argv[1]
order = ["base", "contact", "model", "mechanics", "kernel", "code", "system", "method", "run", "analysis", "output", "simulate", "export", "figure", "import"]
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


def functions(text):
    """The bodies of a C file's functions, by name."""
    for name, body in re.findall(r"^[a-z][^;={}]*?(\w+)\([^;{}]*\)\n\{\n(.*?)^\}$", text, re.M | re.S):
        yield name, body


callers, described = set(), set()
for path in sorted(glob.glob(root + "/src/*/*.c")):
    folder, name = path.split("/")[-2:]
    text = open(path).read()
    if folder in order[order.index("method"):] and re.search(r"(kernel|\be)->(start|advance)\(|kernel->\w+->", text):
        callers.add(folder + "/" + name)
    kept = set(re.findall(r"\b(\w+) = run->(?:\w+->)?\1;", text))
    for field in sorted(kept):
        checked += 1
        if re.search(r"\brun->(?:\w+->)?%s = (?:[\w.>\[\]-]*[.>])?%s;" % (field, field), text):
            wrong.append("src/%s/%s: run->%s is kept and put back: let what is in use have a place of its own" % (folder, name, field))
    described.update(re.findall(r"^const nh_attachment nh_attachment_(\w+) =", text, re.M))
    for function, body in functions(text):
        checked += 1
        given = re.findall(r"\b(?:run|twin|pilot)->(\w+) = ", body)
        for field in sorted({f for f in given if given.count(f) > 1}):
            wrong.append("src/%s/%s: %s changes run->%s twice: make it an argument of what happens in between"
                         % (folder, name, function, field))
if callers != {"run/leg.c", "method/precise_step.c"}:
    wrong.append("kernels are called by %s; only run/leg.c and, in quadruple precision, method/precise_step.c may" % ", ".join(sorted(callers)))
listed = re.findall(r"^NH_ATTACHMENT\((\w+)\)", open(root + "/src/run/attach.def").read(), re.M)
if sorted(listed) != sorted(described):
    wrong.append("src/run/attach.def lists %s; there are %s" % (listed, sorted(described)))
loop = open(root + "/src/run/loop.c").read()
for name in listed:
    if re.search(r"\bnh_%s|run->%s\b" % (name, name), loop):
        wrong.append("src/run/loop.c: names the attachment '%s'; the loop knows them only by attach.def" % name)
checked += 2 + len(listed)
print("\n".join(wrong))
print("%d passed, %d failed" % (checked - len(wrong), len(wrong)))
sys.exit(bool(wrong) or checked == 0)
