#!/usr/bin/env python3
"""stage.py FOLDER HEADER.py FILE...: the Python module as a whole in the build folder, so that
PYTHONPATH=build/python uses what was just built. Run by the build."""

import os
import shutil
import sys

folder, header, *files = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
for name in os.listdir(folder):  # files that no longer exist
    if name.endswith(".py"):
        os.remove(os.path.join(folder, name))
for file in [header, *files]:
    shutil.copy(file, folder)
with open(os.path.join(folder, "_where.py"), "w") as file:
    file.write('"""The path of the shared library relative to this file."""\n\nLIBRARY_FOLDERS = ["../.."]\n')
with open(os.path.join(os.path.dirname(folder), "staged"), "w") as file:
    file.write("staged\n")
