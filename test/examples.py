#!/usr/bin/env python3
"""examples.py PROGRAM PATTERN: runs an example and checks the line it prints."""

import re
import subprocess
import sys

done = subprocess.run([sys.argv[1]], capture_output=True, text=True)
print(done.stdout, done.stderr, sep="", end="")
if done.returncode != 0 or done.stderr or not re.search(sys.argv[2], done.stdout):
    sys.exit(f"exit code {done.returncode}; expected a line like: {sys.argv[2]}")
