#!/usr/bin/env python3
"""test_files.py NONHOLO: data files as other programs read them, and what happens when they cannot be written."""

import fcntl
import glob
import hashlib
import json
import os
import shutil
import struct
import stat
import subprocess
import sys
import tempfile
import zipfile

from harness import Program, Skipped, check, run_all, same

nonholo = Program(sys.argv[1])
HAS_HDF5 = "no HDF5" not in nonholo("--version").stdout
RUN = ["run", "pendulum-cvt", "--method", "dla01", "--step", "0.1", "--steps", "1000"]
ENSEMBLE = ["ensemble", "pendulum-cvt", "--members", "11", "--sweep", "eps=0:0.5:2", "--method", "gauss",
            "--step", "0.1", "--steps", "100", "--every", "10"]


def system_python(modules, code, *arguments):
    """The JSON output of the system's Python, which has h5py and xarray if they are installed."""
    probe = subprocess.run(["/usr/bin/python3", "-c", "import " + modules], capture_output=True, encoding="utf-8")
    if probe.returncode != 0:
        raise Skipped("the file was written, but not read: " + probe.stderr.splitlines()[-1])
    done = subprocess.run(["/usr/bin/python3", "-c", code, *arguments], capture_output=True, encoding="utf-8")
    check(done.returncode == 0, done.stderr[-1500:])
    return json.loads(done.stdout)


def needs_hdf5():
    if not HAS_HDF5:
        raise Skipped("built without HDF5")


READ_RUN = """
import sys, json, h5py, xarray, numpy
f = h5py.File(sys.argv[1], "r")
assert f["q"].dims[1][0].name == "/time" and f["q"].dims[2][0].name == "/coordinate"
assert [n.decode() for n in f["velocity"][:]] == ["x'", "y'", "xi'"]
assert "lagrangian" in f.attrs["model_text"] and f.attrs["method"] == "dla01"
out = {}
for engine in ("h5netcdf", "netcdf4"):
    d = xarray.open_dataset(sys.argv[1], engine=engine)
    assert d.q.dims == ("member", "time", "coordinate") and d.multiplier.dims == ("member", "time", "constraint")
    last = d.isel(member=0).sel(time=100.0)
    out[engine] = [float(last.q.sel(coordinate=c)) for c in ("x", "y", "xi")]
    out["energy"] = float(last.energy)
    out["records"] = int(d.records[0])
    out["multiplier"] = float(last.multiplier.sel(constraint="gear"))
print(json.dumps(out))
"""

READ_ENSEMBLE = """
import sys, json, xarray
d = xarray.open_dataset(sys.argv[1], engine="h5netcdf")
assert d.q.shape == (22, 11, 3) and d.attrs["seed"] == 0
assert (d.swept_eps.values == [0] * 11 + [0.5] * 11).all() and not d.failed.values.any()
error = d.energy - d.energy.isel(time=0)
assert (error.values == d.energy_error.values).all()
assert abs(error.mean("member") - d.energy_error_mean).max() < 1e-15
assert abs(error.var("member") - d.energy_error_variance).max() < 1e-15
assert (error.max("member") == d.energy_error_max).all()
print(json.dumps(d.q.isel(time=-1, member=13).values.tolist()))
"""


def test_hdf5_run():
    needs_hdf5()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.h5")
        end = nonholo.json(*RUN, "-o", path)
        found = system_python("h5py, xarray, h5netcdf, netCDF4", READ_RUN, path)
        same(found["h5netcdf"], end["q"])
        same(found["netcdf4"], end["q"])
        same(found["energy"], end["energy"])
        same(found["records"], 1001)
        check(abs(found["multiplier"]) < 10, found["multiplier"])


def test_hdf5_ensemble():
    needs_hdf5()
    with tempfile.TemporaryDirectory() as folder:
        path, table = os.path.join(folder, "e.nc"), os.path.join(folder, "m.csv")
        nonholo.json(*ENSEMBLE, "-o", path)
        nonholo.json(*ENSEMBLE, "-o", table, "--table", "members")
        row = open(table).read().splitlines()[14].split(",")
        found = system_python("xarray, h5netcdf", READ_ENSEMBLE, path)
        same(found, [float(x) for x in row[5:8]])


def test_hdf5_of_a_failed_run_is_cut():
    """A run that fails keeps the computed points, without NaN."""
    needs_hdf5()
    with tempfile.TemporaryDirectory() as folder:
        model, path = os.path.join(folder, "r.nh"), os.path.join(folder, "r.h5")
        open(model, "w").write("model runaway\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 + x^4\n"
                               "constraint y' = x*x'\nstart x = 5, x' = 30, y' = 150\n")
        done = nonholo("run", model, "--method", "dla01", "--step", 0.01, "--steps", 5000, "--every", 100, "-o", path,
                       "--json")
        same(done.returncode, 1, done.stderr)
        check("are saved in" in done.stderr, done.stderr)
        end = json.loads(done.stdout)
        found = system_python("xarray, h5netcdf", "import sys, json, xarray; d = xarray.open_dataset(sys.argv[1], engine='h5netcdf');"
                              "print(json.dumps([float(d.time[-1]), int(d.records[0]), d.sizes['time'],"
                              "d.q[0, -1].values.tolist(), int(d.q.isnull().sum())]))", path)
        same(found, [end["t"], found[2], found[2], end["q"], 0])


def test_npy():
    """Version 2 of the format: a structured array, read here by hand."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.npy")
        end = nonholo.json(*RUN, "-o", path)
        data = open(path, "rb").read()
        same(data[:8], b"\x93NUMPY\x02\x00")
        length = struct.unpack("<I", data[8:12])[0]
        header = eval(data[12:12 + length], {})  # a literal, written by us
        same((12 + length) % 64, 0)
        same(header["shape"], (1001,))
        names = [name for name, kind in header["descr"]]
        same(names[:7], ["t", "x", "y", "xi", "x'", "y'", "xi'"])
        rows = struct.iter_unpack("<%dd" % len(names), data[12 + length:])
        same(list(list(rows)[-1][1:4]), end["q"])


def read_npz(path):
    """Arrays by name, read by hand: (shape, type, numbers or words) of each."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        same(archive.testzip(), None, "checksums")
        for name in archive.namelist():
            data = archive.read(name)
            same(data[:8], b"\x93NUMPY\x01\x00", name)
            begin = 10 + struct.unpack("<H", data[8:10])[0]
            same(begin % 64, 0, name)
            header = eval(data[10:begin], {})  # a literal, written by us
            kind = header["descr"]
            if kind == "<f8":
                values = struct.unpack("<%dd" % ((len(data) - begin) // 8), data[begin:])
            else:
                letters, width = data[begin:].decode("utf-32-le"), int(kind[2:])
                values = tuple(letters[i:i + width].rstrip("\0") for i in range(0, len(letters), width))
            check(name.endswith(".npy"), name)
            found[name[:-4]] = (header["shape"], kind[:2], values)
    return found


def test_npz():
    """Arrays by name, the same numbers as in the table; numpy.load agrees where it is installed."""
    with tempfile.TemporaryDirectory() as folder:
        path, table = os.path.join(folder, "run.npz"), os.path.join(folder, "run.csv")
        line = [*RUN, "--every", "7"]
        nonholo.json(*line, "-o", path)
        nonholo.json(*line, "-o", table)
        same(sorted(os.listdir(folder)), ["run.csv", "run.npz"], "leftovers")
        head, *rows = [r.split(",") for r in open(table).read().splitlines()]
        rows = [list(map(float, row)) for row in rows]
        found = read_npz(path)
        same(found["t"], ((len(rows),), "<f", tuple(r[0] for r in rows)))
        same(found["q"], ((len(rows), 3), "<f", tuple(x for r in rows for x in r[1:4])))
        same(found["v"], ((len(rows), 3), "<f", tuple(x for r in rows for x in r[4:7])))
        same(found["multipliers"][0], (len(rows), 1))
        check(any(found["multipliers"][2]), "multipliers are all zero")
        for i, name in enumerate(head[7:], 7):
            same([x if x == x else None for x in found[name][2]], [r[i] if r[i] == r[i] else None for r in rows], name)
        same([found[n][2] for n in ("coordinates", "velocities", "constraints")],
             [("x", "y", "xi"), ("x'", "y'", "xi'"), ("gear",)])
        code = ("import sys, json, numpy; d = numpy.load(sys.argv[1]); print(json.dumps([d['q'].tolist(),"
                "d['t'].tolist(), d['coordinates'].tolist(), list(d['multipliers'].shape)]))")
        read = system_python("numpy", code, path)
        same(read, [[r[1:4] for r in rows], [r[0] for r in rows], ["x", "y", "xi"], [len(rows), 1]])


def test_npz_of_names_that_are_taken_and_without_constraints():
    with tempfile.TemporaryDirectory() as folder:
        model, path = os.path.join(folder, "m.nh"), os.path.join(folder, "m.npz")
        open(model, "w").write("model free\ncoordinate x\nlagrangian x'^2/2\nstart x' = 1\nobserve v = 2*x'\n")
        nonholo.json("run", model, "--method", "rk4", "--step", "0.5", "--steps", "2", "-o", path)
        found = read_npz(path)
        same(found["v"], ((3, 1), "<f", (1.0, 1.0, 1.0)))
        same(found["observable_v"], ((3,), "<f", (2.0, 2.0, 2.0)))
        same(found["multipliers"], ((3, 0), "<f", ()))
        same(found["constraints"], ((0,), "<U", ()))


def test_refused_files():
    """Refused before anything is computed, with the right exit code; nothing is left behind."""
    with tempfile.TemporaryDirectory() as folder:
        for arguments, code, message in [
            ([*RUN, "-o", "x.txt"], 2, "data is written to files ending in .h5, .nc, .csv, .npy or .npz"),
            ([*RUN, "-o", "missing/x.csv"], 1, "No such file or directory"),
            ([*ENSEMBLE, "-o", "x.npy"], 2, "trajectories of several members need .h5 or .nc"),
            ([*ENSEMBLE, "-o", "x.npz"], 2, "trajectories of several members need .h5 or .nc"),
            ([*RUN, "--checkpoint-every", "5"], 2, "--checkpoint-every needs --checkpoint FILE"),
            ([*RUN, "--checkpoint", "c", "--checkpoint-every", "5x"], 2, "needs a time such as 60s"),
            ([*RUN, "--resume", "missing"], 1, "cannot read missing: No such file or directory"),
        ]:
            done = nonholo(*arguments, cwd=folder)
            same(done.returncode, code, arguments)
            check(message in done.stderr, done.stderr)
            same(os.listdir(folder), [])


def test_full_device():
    for ending, message in (("csv", "No space left on device"), ("npy", "No space left on device"),
                            ("npz", ".npz needs a regular file")):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "full." + ending)
            os.symlink("/dev/full", path)
            done = nonholo(*RUN, "-o", path)
            same(done.returncode, 1, done.stderr)
            check(message in done.stderr, done.stderr)
            same(os.listdir(folder), ["full." + ending])
    if HAS_HDF5:
        with tempfile.TemporaryDirectory() as folder:
            os.symlink("/dev/full", os.path.join(folder, "full.h5"))
            done = nonholo(*RUN, "-o", os.path.join(folder, "full.h5"))
            same(done.returncode, 1, done.stderr)
            check("HDF5 needs a regular file" in done.stderr, done.stderr)


def without_privileges(folder):
    """Root may write everywhere, so this calls the program without root's privileges. Without them
    it might not have access to the checkout, so a copy in `folder` is called."""
    if os.geteuid() != 0:
        return [nonholo.path]
    for file in [nonholo.path, *glob.glob(os.path.join(os.path.dirname(nonholo.path), "libnonholo.so*"))]:
        if os.path.isfile(file):
            shutil.copy(file, folder)
    return ["setpriv", "--bounding-set=-dac_override", os.path.join(folder, os.path.basename(nonholo.path))]


def test_folder_that_cannot_be_written():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as copy:
        prefix = without_privileges(copy)
        os.chmod(folder, 0o555)
        for arguments in ([*RUN, "-o", folder + "/x.csv"], [*RUN, "-o", folder + "/x.npy"],
                          [*RUN, "-o", folder + "/x.npz"], [*RUN, "-o", folder + "/x.h5"],
                          [*RUN, "--plot", folder + "/x.svg"], [*RUN, "--plot", folder + "/x.html"],
                          [*ENSEMBLE, "-o", folder + "/x.h5"], [*ENSEMBLE, "-o", folder + "/x.csv"],
                          [*RUN, "--checkpoint", folder + "/c", "--checkpoint-every", "100"]):
            if "x.h5" in arguments[-1] and not HAS_HDF5:
                continue
            done = subprocess.run([*prefix, *arguments], capture_output=True, encoding="utf-8",
                                  env=dict(os.environ, NO_COLOR="1", LC_ALL="C", HOME="/dev/null"))
            same(done.returncode, 1, done.stderr)
            check("Permission denied" in done.stderr, done.stderr)
            same(os.listdir(folder), [])
        os.chmod(folder, 0o755)


def test_leftovers_of_killed_processes():
    """A process that was killed while it wrote leaves .NAME.PID.tmp; the next that writes NAME removes it. A file
    that is still being written (it is locked) and files with similar names stay."""
    for name in ["x.csv", "x.npy", "x.npz"] + ["x.h5"] * HAS_HDF5:
        with tempfile.TemporaryDirectory() as folder:
            alive, alike = f".{name}.999998.tmp", [f".{name}.tmp", f".{name}.12a.tmp", f".y{name}.7.tmp", f"{name}.7.tmp"]
            for leftover in [f".{name}.999999.tmp", f".{name}.1.tmp", alive, *alike]:
                open(os.path.join(folder, leftover), "w").close()
            with open(os.path.join(folder, alive)) as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                done = nonholo(*RUN, "-o", os.path.join(folder, name))
            same(done.returncode, 0, done.stderr)
            same(sorted(os.listdir(folder)), sorted([name, alive, *alike]))


def has_content(path):
    """A program tests at its start whether it can write: the file is created and removed before it is created for good."""
    try:
        return os.path.getsize(path) > 0
    except FileNotFoundError:
        return False


def test_a_file_that_is_written_is_locked():
    """A second process that wants to write the file says which process is writing it and ends at once. A lock ends with its process."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.csv")
        child = subprocess.Popen([nonholo.path, *RUN[:-1], "1e9", "--every", "100", "--quiet", "-o", path],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        own = os.path.join(folder, f".x.csv.{child.pid}.tmp")
        while not has_content(own):  # the first block is there
            check(child.poll() is None, "it ended")
        done = nonholo(*RUN, "-o", path)
        same((done.returncode, done.stderr), (1, f"nonholo: {path} is being written by process {child.pid}\n"))
        check(os.path.exists(own), "the file of a process at work was removed")
        child.kill()
        child.wait()
        same(nonholo(*RUN, "-o", path).returncode, 0)
        same(os.listdir(folder), ["x.csv"])


def test_full_disk():
    """A tmpfs of 64 kB, if we have permission to mount one."""
    with tempfile.TemporaryDirectory() as folder:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], capture_output=True)
        if mounted.returncode != 0:
            raise Skipped("no right to mount a small disk")
        try:
            for ending in ["csv", "npy", "npz"] + ["h5"] * HAS_HDF5:
                path = os.path.join(folder, "x." + ending)
                open(path, "w").write("old")
                done = nonholo(*RUN[:-1], "20000", "-o", path)
                same(done.returncode, 1, done.stderr)
                check("No space left" in done.stderr or "the disk has" in done.stderr, done.stderr)
                same(open(path).read(), "old", "the old file is gone")
                same(os.listdir(folder), ["x." + ending])
                os.remove(path)
            if HAS_HDF5:
                done = nonholo(*ENSEMBLE[:-4], "--steps", "2000", "--every", "1", "-o", os.path.join(folder, "e.h5"))
                same(done.returncode, 1, done.stderr)
                same(os.listdir(folder), [])
            # no space for a checkpoint: there is a message, and the previous checkpoint stays unchanged
            check_file = os.path.join(folder, "check")
            open(check_file, "w").write("old")
            with open(os.path.join(folder, "filler"), "wb") as filler:
                try:
                    while True:
                        os.write(filler.fileno(), b"x" * 4096)
                except OSError:
                    pass
            for line in ([*RUN, "--checkpoint", check_file, "--checkpoint-every", "100"],
                         [*ENSEMBLE, "--checkpoint", check_file, "--checkpoint-every", "100"]):
                done = nonholo(*line)
                same(done.returncode, 1, done.stderr)
                check("No space left" in done.stderr, done.stderr)
                same(open(check_file).read(), "old", "the old checkpoint is gone")
                same(sorted(os.listdir(folder)), ["check", "filler"])
        finally:
            subprocess.run(["umount", folder], check=True)


def test_cache_and_compiler():
    """Without a folder for compiled kernels, or without a compiler, the numbers are the same or there is a message."""
    line = [*RUN, "--backend", "compiled"]
    end = nonholo.json(*RUN, "--backend", "tape")["q"]
    with tempfile.TemporaryDirectory() as folder:
        gone = os.path.join(folder, "gone", "deeper")
        same(nonholo.json(*line, env={"XDG_CACHE_HOME": gone})["q"], end)
        blocked = os.path.join(folder, "file")
        open(blocked, "w").close()
        same(nonholo.json(*line, env={"XDG_CACHE_HOME": blocked})["q"], end)
        done = nonholo(*line, env={"XDG_CACHE_HOME": blocked, "TMPDIR": os.path.join(folder, "nowhere")})
        same(done.returncode, 1, done.stderr)
        check("cannot create a working folder for the compiler" in done.stderr, done.stderr)
        done = nonholo(*line, env={"XDG_CACHE_HOME": folder, "NONHOLO_CC": "/dev/null/cc"})
        same(done.returncode, 1, done.stderr)
        check("the tape needs no compiler (--backend tape)" in done.stderr, done.stderr)
        found = nonholo.json(*RUN, env={"XDG_CACHE_HOME": folder, "NONHOLO_CC": "/dev/null/cc"})
        same((found["q"], found["backend"]), (end, "tape"))


def test_checkpoints_of_others_are_refused():
    with tempfile.TemporaryDirectory() as folder:
        open(os.path.join(folder, "other.nh"), "w").write(
            "model pendulum-cvt\nparameter eps = 0\nparameter sign = 1\nparameter shift = 0\n"
            "coordinate x, y\ncoordinate xi angle\nlagrangian (x'^2 + y'^2 + xi'^2)/2 - x^2\n"
            "constraint gear: y' + sin(xi)*x' = 0\nstart xi' = 1\n")
        child = subprocess.Popen([nonholo.path, *RUN[:-1], "1e9", "--checkpoint", "c", "--checkpoint-every", "1000"],
                                 cwd=folder, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while not os.path.exists(os.path.join(folder, "c")):
            check(child.poll() is None, "it ended")
        child.kill()
        child.wait()
        line = [*RUN[:-1], "1e9", "--resume", "c"]

        def refused(arguments, message, code=2):
            done = nonholo(*arguments, cwd=folder)
            same(done.returncode, code, done.stderr)
            check(message in done.stderr, done.stderr)

        refused(["run", "other.nh", *line[2:]], "from another model named pendulum-cvt: its equations differ")
        refused(["run", "harmonic-cvt", *line[2:]], "its model is pendulum-cvt, here it is harmonic-cvt")
        refused([*line, "--set", "eps=0.25"], "its eps is 0, here it is 0.25")
        refused([*line, "--step", "0.2"], "its step is 0.1, here it is 0.2")
        refused([*line, "--method", "leapfrog"], "its method is dla01, here it is leapfrog")
        refused([*line, "--compensated", "on"], "its choice of compensated sums is 0, here it is 1")
        refused([*line, "--compose", "suzuki"], "its number of parts of a composed step is 1, here it is 5")
        refused([*line, "--start", "x=1.5"], "recorded from a different start state")
        refused([*line, "-o", "x.csv"], "belongs to a run without an output file")
        refused([*ENSEMBLE, "--resume", "c"], "this is not a checkpoint of an ensemble")
        data = open(os.path.join(folder, "c"), "rb").read()
        # written on a processor of another level: its bits would not be continued
        level = data[:-64].replace(b"AVX2 with FMA", b"AVX9 with FMA").replace(b"basic", b"other")
        check(level != data[:-64], "the checkpoint does not say on what it was written")
        open(os.path.join(folder, "level"), "wb").write(level + hashlib.sha256(level).hexdigest().encode())
        refused([*line[:-1], "level"], "its processor level is")
        for name, bad in (("cut", data[:-40]), ("flipped", data[:200] + bytes([data[200] ^ 1]) + data[201:]),
                          ("empty", b""), ("text", b"hello" * 100)):
            open(os.path.join(folder, name), "wb").write(bad)
            refused([*line[:-1], name], "checkpoint")


def test_checkpoints_are_regular_files():
    """The file that each checkpoint replaces and that is finally removed must not be a pipe or a device."""
    rest = ["pendulum-cvt", "--method", "dla01", "--step", "0.1", "--steps", "10"]
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(os.path.join(folder, "pipe"))
        for line in (["run", *rest], ["ensemble", *rest, "--members", "2"]):
            for path in ("pipe", "/dev/null"):
                done = nonholo(*line, "--checkpoint", path, cwd=folder)
                same((done.returncode, done.stderr), (1, f"nonholo: cannot write {path}: a checkpoint needs a regular file\n"))
            done = nonholo(*line, "--resume", "pipe", cwd=folder)
            check(done.returncode in (1, 2) and "pipe: this is not a checkpoint" in done.stderr, done.stderr)
        same(os.listdir(folder), ["pipe"], "what is left")
        check(stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null is gone")


def test_progress_json():
    done = nonholo("run", "pendulum-cvt", "--method", "gauss:stages=6", "--step", "0.01", "--steps", "200000",
                   "--progress", "json", "--quiet", "--every", "100")
    same(done.returncode, 0, done.stderr)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    check(lines and lines[-1]["done"] == lines[-1]["total"] == 200000, done.stderr)
    same(set(lines[-1]), {"done", "total", "seconds", "steps_per_second", "seconds_left", "energy_error"})


sys.exit(run_all([(name, test) for name, test in list(globals().items()) if name.startswith("test_")]))
