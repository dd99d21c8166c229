#!/usr/bin/env python3
"""test_start_up.py NONHOLO: what a short command waits for: libraries are loaded when they are needed."""
import os
import struct
import sys

from harness import Program, Skipped, cases_in_folders, check, run_all, same


def loaded(program, folder, line):
    """The libraries that the process loads, as the loader names them."""
    done = program(*line, cwd=folder, env={**os.environ, "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": os.path.join(folder, "files")})
    same(done.returncode, 0, done.stderr)
    files = [name for name in os.listdir(folder) if name.startswith("files.")]
    if not files:
        raise Skipped("this loader does not say what it loads")
    text = ""
    for name in files:
        with open(os.path.join(folder, name), errors="replace") as file:
            text += file.read()
        os.remove(os.path.join(folder, name))
    return text


def libraries(program, folder):
    """HDF5 brings thirty other libraries along, LAPACK four: they were most of the time of a short command (5.4 of 6.9 ms of
    --help)."""
    version = program("--version").stdout
    if "no HDF5" in version or "no LAPACK" in version:
        raise Skipped("built without them")
    for line in (["--help"], ["run", "rolling-coin"], ["run", "rolling-coin", "-o", "run.csv"], ["models"]):
        text = loaded(program, folder, line)
        check("libhdf5" not in text and "liblapack" not in text, f"{line} loads {text[:2000]}")
    check("libhdf5" not in loaded(program, folder, ["check", "rolling-coin"]), "check reads no files")
    check("libhdf5" in loaded(program, folder, ["run", "rolling-coin", "-o", "run.h5"]), "nothing writes HDF5")
    check("liblapack" in loaded(program, folder, ["linearise", "chaplygin-sleigh"]), "nothing linearises")


def storage_of_threads(program, folder):
    """A library that is loaded by a running process, as Python does, finds little room for its thread-local objects: with 2664
    bytes of them the module could not be loaded at all. Measured: 264."""
    path = os.path.join(os.path.dirname(program.path), "libnonholo.so")
    if not os.path.exists(path) or os.environ.get("UBSAN_OPTIONS"):
        raise Skipped("no plain library beside the program")
    with open(path, "rb") as file:
        data = file.read(64)
        if data[:5] != b"\x7fELF\x02":
            raise Skipped("not a library of 64-bit Linux")
        at, (size, count) = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<HH", data, 54)
        file.seek(at)
        headers = file.read(size * count)
    local = [struct.unpack_from("<Q", headers, i * size + 40)[0] for i in range(count) if struct.unpack_from("<I", headers, i * size)[0] == 7]
    check(sum(local) <= 512, f"{sum(local)} bytes of thread-local objects")


if __name__ == "__main__":
    sys.exit(run_all(cases_in_folders(globals(), Program(sys.argv[1]))))
