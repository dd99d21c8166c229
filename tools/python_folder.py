#!/usr/bin/env python3
"""python_folder.py PREFIX: where modules go for the interpreter that runs this, when things are installed to PREFIX.

A folder below PREFIX that it searches by itself: on Debian /usr/local/lib/python3.11/dist-packages for its own Python, and
site-packages for others. A PREFIX for the whole machine (/usr, /usr/local) may hold nothing that the interpreter searches,
for instance when it was built by its user; then it is the interpreter's own folder. Below another PREFIX, the usual place:
PYTHONPATH has to name it."""

import os
import site
import sys
import sysconfig


def inside(folder, prefix):
    return os.path.commonpath([os.path.realpath(folder), os.path.realpath(prefix)]) == os.path.realpath(prefix)


def searched(prefix):
    """Folders for modules below prefix, without those of /usr/local when it is /usr."""
    folders = site.getsitepackages() + ([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])
    local = os.path.join(prefix, "local")
    return [f for f in folders if inside(f, prefix) and not inside(f, local)]


def folder(prefix):
    found = searched(prefix)
    if found:
        return found[0]
    if os.path.realpath(prefix) in ("/usr", "/usr/local"):
        return sysconfig.get_path("platlib")
    return os.path.join(prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")


if __name__ == "__main__":
    print(folder(os.path.abspath(sys.argv[1])))
