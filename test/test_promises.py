#!/usr/bin/env python3
"""test_promises.py SOURCE BUILD: every promise of docs/promises.md names tests, and these exist: as tests of meson, or as
targets of the Makefile. Every test belongs to the suite of its folder, so that 'make check ROOM=folder' runs it."""

import json
import os
import re
import sys

source, build = sys.argv[1:3]
with open(os.path.join(source, "docs", "promises.md"), encoding="utf-8") as file:
    page = file.read()
with open(os.path.join(source, "Makefile"), encoding="utf-8") as file:
    targets = set(re.findall(r"^([\w-]+):", file.read(), re.M))
with open(os.path.join(build, "meson-info", "intro-tests.json"), encoding="utf-8") as file:
    suites = {test["name"]: {suite.split(":")[-1] for suite in test["suite"]} for test in json.load(file)}
known = set(suites)
folders = {"source", "docs", "examples", *(entry.name for entry in os.scandir(os.path.join(source, "test")) if entry.is_dir())}
failed = promises = 0
for line in page.splitlines():
    cells = re.split(r"(?<!\\)\|", line)
    if len(cells) != 4 or cells[1].strip() in ("promise", "") or set(cells[1]) <= {"-"}:
        continue
    promises += 1
    names = re.findall(r"`([^`]+)`", cells[2])
    missing = [n for n in names if not (n[5:] in targets if n.startswith("make ") else n in known)]
    if not names or missing:
        failed += 1
        print(f"FAILED: {cells[1].strip()[:70]}: " + (f"no such test: {', '.join(missing)}" if missing else "names no test"))
for name, found in suites.items():
    if len(found & folders) != 1:
        failed += 1
        print(f"FAILED: test '{name}': expected the suite of its folder, found {sorted(found) or 'none'}")
print(f"{promises} promises, {failed} failed")
sys.exit(1 if failed or promises < 30 else 0)
