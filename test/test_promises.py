#!/usr/bin/env python3
"""test_promises.py SOURCE BUILD: every promise of docs/promises.md names tests, and these exist: as tests of meson, or as
targets of the Makefile."""

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
    known = {test["name"] for test in json.load(file)}
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
print(f"{promises} promises, {failed} failed")
sys.exit(1 if failed or promises < 30 else 0)
