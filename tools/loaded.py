#!/usr/bin/env python3
"""Libraries that are loaded when they are needed, not when the program starts.

loaded.py calls OUT.h SOURCE...           the functions and variables of HDF5 that the sources use, as macros over a table of addresses
loaded.py name LIBRARY FOLDER COMPILER..  by what name the loader finds a library, as the compiler would link it"""
import os
import re
import subprocess
import sys


def used(files):
    """What the sources name, and what stands behind the library's own macros."""
    text = "".join(re.sub(r"/\*.*?\*/", "", open(f).read(), flags=re.S) for f in files)
    functions = set(re.findall(r"\b(H5[A-Z]*[a-z]\w*)\(", text)) | {"H5open", "H5check_version"}
    types = {t + "_g" for t in re.findall(r"\bH5T_(?:NATIVE_\w+|C_S1)\b", text)}
    lists = {"H5P_CLS_%s_ID_g" % p for p in re.findall(r"\bH5P_((?:FILE|DATASET)_\w+)\b", text)}
    return sorted(functions | types | lists)


def calls(out, files):
    lines = ["/* Made by tools/loaded.py. */", "#ifndef NH_OUTPUT_HDF5_CALLS_H", "#define NH_OUTPUT_HDF5_CALLS_H",
             "#include <hdf5.h>", "#include <hdf5_hl.h>"]
    names = used(files)
    # newer libraries have versions of some functions, between which a macro of the plain name chooses
    lines += ["#ifdef H5Literate", "#define NH_HDF5_VERSIONS(X) X(H5Literate1) X(H5Literate2)", "#else",
              "#define NH_HDF5_VERSIONS(X) X(H5Literate)", "#endif",
              "#define NH_HDF5_SYMBOLS(X) \\"]
    lines += ["    X(%s) \\" % n for n in names if n != "H5Literate"] + ["    NH_HDF5_VERSIONS(X)"]
    lines += ["#define NH_HDF5_PLACE(name) NH_AT_##name,", "enum { NH_HDF5_SYMBOLS(NH_HDF5_PLACE) NH_HDF5_SYMBOL_COUNT };",
              "extern void *nh_hdf5_symbol[NH_HDF5_SYMBOL_COUNT];",
              "#define NH_HDF5_LOADED(name) (*(__typeof__(name) *)nh_hdf5_symbol[NH_AT_##name])",
              "#ifndef NH_HDF5_NAMES_ONLY"]
    lines += ["#define %s NH_HDF5_LOADED(%s)" % (n, n) for n in names if n != "H5Literate"]
    lines += ["#ifdef H5Literate", "#define H5Literate1 NH_HDF5_LOADED(H5Literate1)",
              "#define H5Literate2 NH_HDF5_LOADED(H5Literate2)", "#else",
              "#define H5Literate NH_HDF5_LOADED(H5Literate)", "#endif", "#endif", "#endif", ""]
    open(out, "w").write("\n".join(lines))


def name(library, folder, compiler):
    file = "lib%s.so" % library
    path = subprocess.run(compiler + ["-print-file-name=" + file], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(path):
        path = os.path.join(folder, file)
    if not os.path.exists(path):
        sys.exit("no %s in the compiler's folders or in %s" % (file, folder))
    head = subprocess.run(["readelf", "-d", path], capture_output=True, text=True).stdout
    found = re.search(r"\(SONAME\).*\[(.*)\]", head)
    return found.group(1) if found else os.path.realpath(path)


if sys.argv[1] == "calls":
    calls(sys.argv[2], sys.argv[3:])
else:
    print(name(sys.argv[2], sys.argv[3], sys.argv[4:]))
