#!/usr/bin/env python3
"""test_scripts.py SOURCE: the scripts of pages are JavaScript, the editor knows the words of the language, and the parts
of the playground that need no browser are correct. Without node only the words are checked."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile


def main():
    source = os.path.abspath(sys.argv[1])
    sys.path.insert(0, os.path.join(source, "playground"))
    from page import words  # pylint: disable=import-outside-toplevel

    known = words(source)
    with open(os.path.join(source, "src/model/parser.c"), encoding="utf-8") as file:
        statements = re.findall(r'^    \{"(\w+)", STATEMENT_', file.read(), re.M)
    missing = sorted(set(statements) - set(known["statements"]))
    if len(statements) < 15 or missing:
        raise SystemExit(f"docs/tools/nh.xml lacks statements: {missing}")
    node = shutil.which("node")
    if not node:
        print("skipped: no node (tools/setup.sh playground); the words of the language are complete")
        return 77
    scripts = sorted(glob.glob(os.path.join(source, "playground/*.js")) + glob.glob(os.path.join(source, "src/output/*.js")))
    for script in scripts:
        subprocess.run([node, "--check", script], check=True)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(known, file)
        file.flush()
        here = os.path.dirname(os.path.abspath(__file__))
        subprocess.run([node, os.path.join(here, "scripts.js"), os.path.join(source, "playground"), file.name], check=True)
    print(f"{len(scripts)} scripts, {len(statements)} statements")
    return 0


if __name__ == "__main__":
    sys.exit(main())
