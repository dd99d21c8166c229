#!/usr/bin/env python3
"""wheel.py BUILD FOLDER [ARCHITECTURE]: packs the Python module of a build with its library beside it into a wheel.

The module is Python that loads the library with ctypes, so one wheel serves every version of Python on machines of the
architecture. The library needs the C library alone, if it was built with -Dwheel=true, as `make wheel` does."""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import zipfile

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def version():
    with open(os.path.join(SOURCE, "meson.build")) as file:
        return re.search(r"version: *'([^']+)'", file.read()).group(1)


def library(build):
    found = [name for name in os.listdir(build) if re.fullmatch(r"libnonholo\.so(\.\d+)*", name)]
    if not found:
        sys.exit(f"{build} has no library; build it first")
    return os.path.realpath(os.path.join(build, max(found, key=len)))


def contents(build):
    """(name in the wheel, bytes)"""
    module = os.path.join(build, "python", "nonholo")
    for name in sorted(os.listdir(module)):
        if name.endswith(".py") or name == "py.typed":
            with open(os.path.join(module, name), "rb") as file:
                yield f"nonholo/{name}", file.read()
    with open(library(build), "rb") as file:
        yield "nonholo/libnonholo.so.0", file.read()


def metadata(tag):
    with open(os.path.join(SOURCE, "pyproject.toml")) as file:
        summary = re.search(r'^description = "(.*)"', file.read(), re.M).group(1)
    with open(os.path.join(SOURCE, "README.md")) as file:
        readme = file.read()
    yield "METADATA", (f"Metadata-Version: 2.1\nName: nonholo\nVersion: {version()}\nSummary: {summary}\nLicense: MIT\n"
                       "Requires-Python: >=3.9\nRequires-Dist: numpy\nDescription-Content-Type: text/markdown\n\n" + readme)
    yield "WHEEL", f"Wheel-Version: 1.0\nGenerator: nonholo\nRoot-Is-Purelib: false\nTag: {tag}\n"


def pack(build, folder, architecture):
    tag = f"py3-none-linux_{architecture}"
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"nonholo-{version()}-{tag}.whl")
    about = f"nonholo-{version()}.dist-info"
    record = ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in [*contents(build), *((f"{about}/{name}", text.encode()) for name, text in metadata(tag))]:
            entry = zipfile.ZipInfo(name)  # the same bytes at any time of building
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
        wheel.writestr(zipfile.ZipInfo(f"{about}/RECORD"), record + f"{about}/RECORD,,\n")
    return path


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    print(pack(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else platform.machine()))
