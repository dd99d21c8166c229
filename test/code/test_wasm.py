#!/usr/bin/env python3
"""test_wasm.py DUMP: tapes as WebAssembly, run by Node.js, give the interpreter's bits (dump_wasm.c, run_wasm.js)."""
import os
import shutil
import subprocess
import sys

node = shutil.which("node") or shutil.which("nodejs")
if not node:
    print("skipped: Node.js is not installed, which runs WebAssembly")
    sys.exit(77)
with subprocess.Popen([sys.argv[1]], stdout=subprocess.PIPE) as dump:
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_wasm.js")
    result = subprocess.run([node, script], stdin=dump.stdout)
sys.exit(result.returncode or dump.returncode)
