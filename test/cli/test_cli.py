#!/usr/bin/env python3
"""test_cli.py NONHOLO: the command line as a user sees it.

bad_commands.txt holds the command lines that must be refused, with exit code and exact message; the
functions below are the ones that must work, or fail while computing."""

import csv
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

from harness import PATIENCE, Program, cases_in_folders, check, like, run_all, same, terminal

HERE = os.path.dirname(os.path.abspath(__file__))
SLEIGH = ("run", "chaplygin-sleigh", "--method", "gauss", "--step", "0.1")
PARTICLE = ("run", "nonholonomic-particle", "--method", "dla01", "--step", "0.1")
TIMES = ("seconds", "ns_per_step", "methods", "backend")  # these values differ from run to run
KEYS = """model method step steps t q v energy energy_error_max constraint_max observables seconds
          ns_per_step""".split()


def read_bad_commands():
    """Blocks separated by blank lines: "$ words", "exit CODE", the message."""
    with open(os.path.join(HERE, "bad_commands.txt")) as file:
        text = "".join(line for line in file if not line.startswith("#"))
    for block in re.split(r"\n\s*\n", text.strip()):
        command, code, *message = block.strip().split("\n")
        check(command.startswith("$ ") and code.startswith("exit "), f"bad_commands.txt: {block}")
        yield command[2:], int(code[5:]), "\n".join(message)


def bad_command(program, command, code, message):
    with tempfile.TemporaryDirectory() as folder:
        done = program(*shlex.split(command.replace("TMP", folder)), cwd=folder)
        like(done.stderr.replace(folder, "TMP").rstrip("\n"), message, "message")
        same(done.returncode, code, "exit code")
        same(done.stdout, "", "standard output")
        same(os.listdir(folder), [], "files left behind")


def read_csv(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], rows[1:]


# ---- runs --------------------------------------------------------------------------------------


def json_has_its_keys(program, folder):
    found = program.json(*SLEIGH, "--steps", 100)
    same(list(found)[: len(KEYS)], KEYS, "keys")
    same((found["model"], found["method"], found["steps"]), ("chaplygin-sleigh", "gauss", 100))
    check(abs(found["t"] - 10) < 1e-12, "t")
    check(len(found["q"]) == 3 and len(found["v"]) == 3, "sizes")
    check(0 <= found["energy_error_max"] < 1e-6, f"energy error {found['energy_error_max']}")
    check(0 <= found["constraint_max"] < 1e-12, f"constraint {found['constraint_max']}")
    check(found["seconds"] > 0 and found["ns_per_step"] > 0, "times")
    check("forward" in found["observables"], "observables")
    parameters = found["parameters"]
    same([parameters[name] for name in ("m", "J", "a")], [1, 8, 1], "parameters")
    same(found["coordinates"], ["x1", "x2", "theta"], "names")


def json_numbers_have_17_digits(program, folder):
    text = program(*SLEIGH, "--steps", 10, "--json").stdout
    numbers = re.findall(r"-?\d[\d.e+-]*", re.search(r'"q": \[(.*?)\]', text)[1])
    same([format(float(n), ".17g") for n in numbers], numbers, "numbers")


def text_names_everything(program, folder):
    done = program(*SLEIGH, "--steps", 100, "--estimate")
    same((done.returncode, done.stderr), (0, ""))
    lines = done.stdout.splitlines()
    same(lines[0], "chaplygin-sleigh, gauss, step 0.1, 100 steps to t = 10")
    words = [line.split()[0] for line in lines[1:]]
    same(words, "x1 x2 theta x1' x2' theta' energy constraints forward end cost".split())
    words = [line.split()[0] for line in program(*SLEIGH, "--steps", 100, "--no-estimate").stdout.splitlines()[1:]]
    same(words, "x1 x2 theta x1' x2' theta' energy constraints forward cost".split(), "without an estimate")


def time_and_steps_agree(program, folder):
    a = program.json(*SLEIGH, "--time", "10")
    b = program.json(*SLEIGH, "--steps", "100")
    same((a["steps"], a["q"]), (100, b["q"]))
    same(program.json(*SLEIGH, "--steps", "1e2")["q"], b["q"], "1e2")


def odd_time_ends_with_a_shorter_step(program, folder):
    done = program(*SLEIGH, "--time", "0.34", "--json")
    same(done.returncode, 0)
    same((json.loads(done.stdout)["steps"], json.loads(done.stdout)["t"]), (3, 0.34))
    same(
        done.stderr,
        "nonholo: --time 0.34 is not a whole number of steps of 0.1; the last step is 0.04\n",
    )
    same(program(*SLEIGH, "--time", "0.34", "--quiet").stderr, "")


def no_steps_at_all(program, folder):
    found = program.json(*SLEIGH, "--steps", 0)
    same((found["steps"], found["t"], found["rows"], found["ns_per_step"]), (0, 0, 1, None))
    same(found["q"], [-5, 0, 0.1], "start")


def every_counts(program, folder):
    for steps, every, times in [(10, 3, [0, 3, 6, 9, 10]), (9, 3, [0, 3, 6, 9]), (4, 9, [0, 4])]:
        path = os.path.join(folder, "a.csv")
        found = program.json(*SLEIGH, "--steps", steps, "--every", every, "-o", path)
        _, rows = read_csv(path)
        same([round(float(row[0]) * 10) for row in rows], times, f"every {every} of {steps}")
        same(found["rows"], len(times))
    same(program.json(*PARTICLE, "--steps", 25000)["every"], 3, "default")
    same(program.json(*PARTICLE, "--steps", 10000)["every"], 1, "default")


def csv_is_complete_and_exact(program, folder):
    path = os.path.join(folder, "a.csv")
    found = program.json(*SLEIGH, "--steps", 50, "-o", path)
    header, rows = read_csv(path)
    same(header, "t x1 x2 theta x1' x2' theta' energy forward".split())
    same(len(rows), 51)
    last = [float(cell) for cell in rows[-1]]
    same(last[1:4], found["q"], "last q")
    same(last[4:7], found["v"], "last v")
    same(last[7], found["energy"], "last energy")
    same(last[8], found["observables"]["forward"], "observable")
    same([float(cell) for cell in rows[0][:4]], [0, -5, 0, 0.1], "first row")
    for row in rows:  # no number is longer than the shortest that reads back exactly
        for cell in row:
            digits = lambda text: re.sub(r"e.*|[-.]", "", text).strip("0")
            same(digits(cell), digits(repr(float(cell))), f"digits of {cell}")


def csv_columns_of_coupled_systems(program, folder):
    path = os.path.join(folder, "cvt.csv")
    program.json("run", "pendulum-cvt", "--method", "dla01", "--step", ".1", "--steps", 5, "-o", path)
    header, _ = read_csv(path)
    same(header[:8], "t x y xi x' y' xi' energy".split())
    same(header[8:], ["driver_energy", "passenger_energy", "latitude"], "observables")


def file_is_replaced_whole(program, folder):
    path = os.path.join(folder, "a.csv")
    with open(path, "w") as file:
        file.write("old")
    os.symlink("a.csv", os.path.join(folder, "link.csv"))
    program.json(*SLEIGH, "--steps", 5, "-o", os.path.join(folder, "link.csv"))
    same(len(read_csv(path)[1]), 5 + 1)
    check(os.path.islink(os.path.join(folder, "link.csv")), "the link was replaced")
    same(sorted(os.listdir(folder)), ["a.csv", "link.csv"], "files")


def starts_and_parameters(program, folder):
    a = program.json(*PARTICLE, "--steps", 0, "--q", "1,2,3", "--v", "-1,.5,-2")
    same((a["q"], a["v"]), ([1, 2, 3], [-1, 0.5, -2]))
    b = program.json(*PARTICLE, "--steps", 0, "--start", "q2=2,q1=1", "--start", "q1'=1, q3'=2")
    same((b["q"], b["v"]), ([1, 2, 0], [1, 1, 2]))
    c = program.json(*SLEIGH, "--steps", 0, "--set", "J=3,m=2", "--set", "a=atan2(0,1)+0.5")
    same([c["parameters"][name] for name in ("m", "J", "a")], [2, 3, 0.5])
    d = program.json(*PARTICLE, "--steps", 2, "--t0", "5")
    check(abs(d["t"] - 5.2) < 1e-14, "t0")


def projection(program, folder):
    off = PARTICLE + ("--steps", 10, "--v", "1,1,1")
    done = program(*off)
    same(done.returncode, 2)
    check("--project" in done.stderr and re.search(r"\b1\b", done.stderr), done.stderr)
    found = program.json(*off, "--project")
    check(found["constraint_max"] < 1e-14, f"constraint {found['constraint_max']}")


def going_on_from_the_end(program, folder):
    """Autonomous, no memory, no compensation: two halves make the whole, to the last bit."""
    method = ("run", "nonholonomic-particle", "--method", "dla01", "--step", "0.125")
    method += ("--compensated", "off")
    whole = program.json(*method, "--steps", 40)
    half = program.json(*method, "--steps", 20)
    text = lambda values: ",".join(map(repr, values))
    rest = program.json(*method, "--steps", 20, "--q", text(half["q"]), "--v", text(half["v"]))
    same((rest["q"], rest["v"]), (whole["q"], whole["v"]))


def backends_agree(program, folder):
    for model in ("chaplygin-sleigh", "rolling-disk"):
        words = ("run", model, "--method", "gauss", "--step", ".1", "--steps", 30, "--backend")
        tape, compiled = program.json(*words, "tape"), program.json(*words, "compiled")
        same((tape["backend"], compiled["backend"]), ("tape", "compiled"))
        same((tape["q"], tape["v"]), (compiled["q"], compiled["v"]), model)


def options_in_any_order(program, folder):
    plain = program.json(*SLEIGH, "--steps", 5)
    words = "run --json --steps=5 --step=.1 --method=gauss -- chaplygin-sleigh".split()
    same(json.loads(program(*words).stdout)["q"], plain["q"])


# ---- pictures ----------------------------------------------------------------------------------


def pictures(program, folder):
    path = lambda ending: os.path.join(folder, "a." + ending)
    for ending, start in [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]:
        found = program.json(*SLEIGH, "--steps", 100, "--plot", path(ending))
        same(found["plot"], path(ending))
        with open(path(ending), "rb") as file:
            data = file.read()
        check(data.startswith(start) and len(data) > 5000, f"{ending}: {data[:20]!r}")
    text = "".join(xml.etree.ElementTree.parse(path("svg")).getroot().itertext())
    for word in ("chaplygin-sleigh", "path", "coordinates", "errors", "θ", "forward"):
        check(word in text, f"the picture does not name {word}")
    same(sorted(os.listdir(folder)), ["a.pdf", "a.png", "a.svg"], "files")


def picture_of_one_point(program, folder):
    program.json(*SLEIGH, "--steps", 0, "--plot", os.path.join(folder, "a.svg"))


def picture_without_gnuplot(program, folder):
    done = program(*SLEIGH, "--steps", 9, "--plot", "a.svg", cwd=folder, env={"PATH": folder})
    same(done.returncode, 1)
    check("gnuplot" in done.stderr and "apt-get install" in done.stderr, done.stderr)
    same((done.stdout, os.listdir(folder)), ("", []), "nothing is computed or left")


# ---- failures ----------------------------------------------------------------------------------


def failing_run_keeps_what_it_has(program, folder):
    """rk4 with a huge step overflows."""
    words = "run chaotic-particle --method rk4 --step 2 --steps 1000 --every 1".split()
    path = os.path.join(folder, "a.csv")
    done = program(*words, "-o", path, "--json")
    same(done.returncode, 1)
    found = json.loads(done.stdout)
    check(0 < found["steps"] < 1000, f"steps {found['steps']}")
    same(found["failure"]["step"], found["steps"] + 1)
    check(done.stderr.startswith(f"nonholo: step {found['steps'] + 1}, t = "), done.stderr)
    check(f"{found['steps']} steps are saved in {path}" in done.stderr, done.stderr)
    _, rows = read_csv(path)
    same(len(rows), found["steps"] + 1)
    same([float(cell) for cell in rows[-1]][1:6], found["q"])
    check(all(map(math.isfinite, found["q"])), "a state that is not finite was accepted")


def full_disk(program, folder):
    os.symlink("/dev/full", os.path.join(folder, "full.csv"))
    os.symlink("/dev/full", os.path.join(folder, "full.svg"))
    for option, name in [("-o", "full.csv"), ("--plot", "full.svg")]:
        done = program(*SLEIGH, "--steps", 9, option, name, cwd=folder)
        same(done.returncode, 1, name)
        check(done.stderr.startswith("nonholo: "), done.stderr)
    check("No space left on device" in program(*SLEIGH, "--steps", 9, "-o", "full.csv", cwd=folder).stderr, "why")
    with open("/dev/full", "w") as full:
        done = program(*SLEIGH, "--steps", 9, "--json", stdout=full)
    same((done.returncode, "standard output" in done.stderr), (1, True))


def unwritable_is_found_out_first(program, folder):
    """A run of a million years must not start when its file cannot be written."""
    for option, name in [("-o", "no/such/a.csv"), ("--plot", "no/such/a.svg")]:
        done = program(*SLEIGH, "--steps", "1e15", option, name, cwd=folder)
        same(done.returncode, 1)
        check(f"cannot create {name}: No such file or directory" in done.stderr, done.stderr)


def closed_streams(program, folder):
    line = shlex.join([program.path, *SLEIGH, "--steps", "5", "-o", "a.csv", "--plot", "a.svg"])
    subprocess.run(["sh", "-c", f"exec {line} <&- >&- 2>&-"], cwd=folder, timeout=PATIENCE)
    same(len(read_csv(os.path.join(folder, "a.csv"))[1]), 6)
    xml.etree.ElementTree.parse(os.path.join(folder, "a.svg"))


def data_to_standard_output(program, folder):
    """-o -: the CSV of -o FILE.csv on standard output and nothing else there; the report goes to standard error."""
    ensemble = ("ensemble", "pendulum-cvt", "--members", 3, "--method", "dla01", "--step", 0.1, "--steps", 20)
    for line in ((*SLEIGH, "--steps", 7), ensemble, (*ensemble, "--table", "members")):
        done = program(*line, "-o", "-", cwd=folder)
        same(done.returncode, 0, done.stderr)
        told = program(*line, "-o", "a.csv", cwd=folder)
        with open(os.path.join(folder, "a.csv")) as file:
            same(done.stdout, file.read())
        check(done.stderr.splitlines()[:3] == told.stdout.splitlines()[:3], done.stderr)
        os.remove(os.path.join(folder, "a.csv"))
        same(os.listdir(folder), [])
    with open("/dev/full", "w") as full:
        done = program(*SLEIGH, "--steps", 9, "-o", "-", stdout=full)
    same(done.returncode, 1)
    check("cannot write standard output: No space left on device" in done.stderr, done.stderr)


def models_from_standard_input(program, folder):
    """'-' is a model for every command that takes one; messages call it <stdin>."""
    text = program("models", "chaplygin-sleigh").stdout
    for line in (("check",), ("run", "--method", "gauss", "--step", 0.1, "--steps", 3, "--backend", "tape"),
                 ("compare", "--methods", "gauss", "--step", 0.1, "--steps", 9),
                 ("order", "--methods", "gauss", "--time", 1), ("models",),
                 ("ensemble", "--members", 3, "--method", "gauss", "--step", 0.1, "--steps", 3)):
        timeless = lambda done: {k: v for k, v in json.loads(done.stdout).items() if k not in TIMES}
        named = program(line[0], "chaplygin-sleigh", *line[1:], "--json")
        piped = program(line[0], "-", *line[1:], "--json", input=text)
        same((piped.returncode, piped.stderr), (0, ""), line)
        same(timeless(piped), timeless(named), line)
    done = program("check", "-", input="model x\ncoordinate x\nlagrangian y\n")
    same(done.returncode, 2)
    check(done.stderr.startswith("<stdin>:3:12: "), done.stderr)
    done = program("check", "-", input="#" * (9 << 20))
    same(done.returncode, 2, "no end")


def counted_nouns(program, folder):
    """'1 step', not '1 steps'."""
    done = program(*SLEIGH, "--steps", 1, "-o", "a.csv", cwd=folder)
    check(", 1 step to t" in done.stdout and "(2 points)" in done.stdout, done.stdout)
    done = program("ensemble", "pendulum-cvt", "--members", 1, "--method", "dla01", "--step", 0.1, "--steps", 1)
    check(", 1 step to t" in done.stdout and ", 1 member\n" in done.stdout, done.stdout)
    for line in program("check", "chaplygin-sleigh").stdout.splitlines() + done.stdout.splitlines():
        check(not re.search(r"(?<![\d.])1 \w+s\b(?<!ns|us|ms)", line), line)


def durations_have_units_that_fit(program, folder):
    """Three digits before or after the point, and no power of ten."""
    for model, method in (("pendulum-cvt", "dla01"), ("chaplygin-sleigh", "gauss:stages=8")):
        done = program("run", model, "--method", method, "--step", 0.1, "--steps", 300, "--backend", "tape")
        cost = re.search(r"cost +(\S+) (ns|us|ms|s) per step, (\S+) (ns|us|ms|s), tape", done.stdout)
        check(cost and all(0 < float(cost[i]) < 1000 and "e" not in cost[i] for i in (1, 3)), done.stdout)


def a_missing_model_is_told_first(program, folder):
    """Even before missing options; a part of a name is enough for a suggestion."""
    for name in ("run", "compare", "order", "ensemble", "check", "bench"):
        done = program(name, "sleigh")
        same((done.returncode, done.stdout), (2, ""), name)
        check(done.stderr.startswith("nonholo: there is no model 'sleigh'; did you mean 'chaplygin-sleigh'?"), done.stderr)


# ---- talking -----------------------------------------------------------------------------------


def on_a_terminal(program, *words, env=None):
    """What a user at a terminal sees on standard error."""
    ours, theirs = terminal()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    environment.update(env or {})
    child = subprocess.Popen(
        [program.path, *map(str, words)], stdout=subprocess.DEVNULL, stderr=theirs, env=environment
    )
    os.close(theirs)
    seen = b""
    try:
        while data := os.read(ours, 4096):
            seen += data
    except OSError:  # Linux returns EIO when the other side is closed
        pass
    os.close(ours)
    child.wait(PATIENCE)
    return seen.decode()


def progress_only_on_terminals(program, folder):
    words = PARTICLE[:5] + ("1e-4", "--steps", "2e7", "--backend", "tape")
    seen = on_a_terminal(program, *words)
    check("steps/s" in seen and "left" in seen and "#" in seen, f"no bar: {seen!r}")
    check(seen.endswith("\r\033[K"), "the bar is not cleared")
    same(on_a_terminal(program, *words[:7], "1e6", "--quiet"), "")


def colour_only_on_terminals(program, folder):
    check("\033[" in on_a_terminal(program, "walk"), "no colour")
    check("\033[" not in on_a_terminal(program, "walk", env={"NO_COLOR": "1"}), "colour")


def help_and_version(program, folder):
    done = program("--version")
    same((done.returncode, done.stderr), (0, ""))
    check(re.match(r"nonholo \d+\.\d+\.\d+\n", done.stdout), done.stdout)
    done = program("--help")
    same((done.returncode, done.stderr), (0, ""))
    for name in ("run", "check", "models", "methods"):
        check(re.search(rf"^  {name} +\w", done.stdout, re.M), name)
        first = program(name, "--help")
        same((first.returncode, first.stderr), (0, ""), name)
        same(program("help", name).stdout, first.stdout, "help NAME")
        check("Examples:" in first.stdout, f"{name} has no examples")


def examples_of_the_help_run(program, folder):
    os.symlink(program.path, os.path.join(folder, "nonholo"))
    without_hdf5 = "no HDF5" in program("--version").stdout
    for name in ("run", "check", "models", "methods"):
        text = program(name, "--help").stdout.split("Examples:\n")[1]
        for line in text.replace("\\\n", " ").splitlines():
            line = line.replace("--steps 1e6", "--steps 1e4").replace("mine.nh", "./mine.nh")
            if "./mine.nh" in line and ">" not in line:
                text = program("models", "chaotic-particle").stdout
                with open(os.path.join(folder, "mine.nh"), "w") as file:
                    file.write(text)
            env = dict(os.environ, PATH=folder + ":" + os.environ["PATH"])
            done = subprocess.run(["sh", "-c", line], cwd=folder, env=env, capture_output=True)
            same(done.returncode, 2 if without_hdf5 and ".h5" in line else 0, f"{line}: {done.stderr.decode()}")


# ---- lists and checks --------------------------------------------------------------------------


def models_are_listed_and_checked(program, folder):
    names = [model["name"] for model in program.json("models")["models"]]
    same([line.split()[0] for line in program("models").stdout.splitlines()], names)
    check(len(names) >= 13, f"{len(names)} models")
    for name in names:
        text = program("models", name).stdout
        path = os.path.join(folder, name + ".nh")
        with open(path, "w") as file:
            file.write(text)
        same(program.json("check", path), program.json("check", name), name)
        done = program("check", name)
        same((done.returncode, done.stderr), (0, ""), name)
        check(done.stdout.startswith(name + "\n"), name)


def methods_are_listed_and_explained(program, folder):
    methods = program.json("methods")["methods"]
    table = program("methods").stdout.splitlines()
    same([line.split()[0] for line in table[1:]], [method["name"] for method in methods])
    for method in methods:
        done = program("methods", method["name"])
        same((done.returncode, done.stderr), (0, ""))
        check(done.stdout.startswith(method["name"] + ": "), method["name"])
        check(method["reference"] in done.stdout, "reference")
        same(program.json("methods", method["name"]), method)
    for method in ("dd", "gonzalez-f", "leapfrog"):  # their steps equal their adjoints
        said = program("methods", method).stdout
        check("not symmetric" not in said and f"does not compose {method}" in said, said)


def missing_method_is_the_advised_one(program, folder):
    for method in ([], ["--method", "auto"]):
        found = program.json("run", "chaplygin-sleigh", "--step", ".1", "--steps", 10, *method)
        same(found["method"], program.json("check", "chaplygin-sleigh")["advised"])


def friction_by_reactions(program, folder):
    for method, bound in ("gauss", 1e-6), ("lobatto-abd:stages=3", 1e-6), ("rk4", 1e-4), ("dop853", 1e-6):
        found = program.json("run", "dry-skate", "--method", method, "--step", ".1", "--time", 20)
        check(abs(found["observables"]["speed"] - math.exp(-2)) < bound, f"{method}: {found['observables']}")
    same(program.json("check", "dry-skate")["nonideal"], True)
    done = program("run", "dry-skate", "--method", "newmark", "--step", ".1", "--steps", 1)
    same(done.returncode, 2)
    check("newmark needs ideal constraints" in done.stderr, done.stderr)
    path = os.path.join(folder, "both.nh")
    with open(path, "w") as file:
        file.write("model both\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2\nconstraint rod: x^2 + y^2 = 1\n"
                   "force x = -0.1*abs(reaction(rod))*x'\nstart x = 1, y' = 1\n")
    for method, length, bound in ("gauss", ("--step", .05), 1e-7), ("dop853", ("--tolerance", 1e-12), 1e-10):  # gauss: 2.2e-8
        found = program.json("run", path, "--method", method, *length, "--time", 5)
        check(math.dist(found["q"], [0.0190463289245, -0.999818602225]) < bound, found["q"])


def leapfrog_keeps_a_discrete_energy(program, folder):
    """For the passengers, for a whole system, with a constant force and without constraints; measured: at most 2e-12 of 1
    (knife-edge, whose skate becomes fast), the others 1e-14; dla01 errs by 4e-4 and more."""
    swing = os.path.join(folder, "swing.nh")
    with open(swing, "w") as file:
        file.write("model swing\ncoordinate x, y, z\nlagrangian (x'^2 + 2*y'^2 + z'^2 + x'*y')/2 - x^2 - x*y - y^2 + 0.3*z\n"
                   "constraint z' = y*x'\nstart x = 1, y' = 0.5, z = 0.2\n")
    for model, bound in ((swing, 1e-12), ("knife-edge", 1e-11), ("inclined-skate", 1e-11), ("mobile-robot", 1e-11)):
        how = "--step", ".1", "--time", 100
        for method in ("leapfrog", "leapfrog:start=zero", "jay-negrut", "dla01"):
            path = os.path.join(folder, "table.csv")
            found = program.json("run", model, "--method", method, *how, "--observe", "leapfrog_invariant", "-o", path)
            names, rows = read_csv(path)
            column = [float(row[names.index("leapfrog_invariant")]) for row in rows]
            same(found["observables"]["leapfrog_invariant"], column[-1], model)
            check(math.isnan(column[0]), column[0])
            largest = max(abs(value - column[1]) for value in column[1:])
            check((largest < bound) == (method != "dla01"), f"{model}, {method}: {largest}")
        table = program.json("compare", model, "--methods", "leapfrog,leapfrog:start=zero,dla01", *how)
        kept, zero, other = (m["errors"]["leapfrog_invariant"] for m in table["methods"])
        same((kept["verdict"], zero["verdict"]), ("round-off", "round-off"), model)
        check(kept["max"] < bound < other["max"] and other["verdict"] != "round-off", f"{model}: {kept}, {other}")
        check("leapfrog also preserves a discrete energy" in program("check", model).stdout, model)
        same(program.json("check", model)["quadratic"], True)
    for model in ("rattleback", "chaotic-particle", "turntable-ball", "heavy-top"):
        check("leapfrog_invariant" not in program.json("compare", model, "--methods", "gauss", "--steps", 300)["quantities"], model)
        same(program.json("check", model)["quadratic"], False)


def observed_columns_resume(program, folder):
    """Rows that use the previous state are the same with pauses, and a run resumes only with the same columns."""
    path = lambda name: os.path.join(folder, name)
    how = ["run", "pendulum-cvt", "--method", "leapfrog", "--step", ".1", "--steps", 3000, "--every", 7, "--quiet"]
    observed = ["--observe", "leapfrog_invariant, midpoint:gear,constraint"]
    same(program(*how, *observed, "-o", path("whole.csv")).returncode, 0)
    names, rows = read_csv(path("whole.csv"))
    same(names[-3:], ["leapfrog_invariant", "midpoint:gear", "constraint"])
    all_rows = program(*how[:-3], "--every", 1, *observed, "-o", path("every.csv"))
    same(all_rows.returncode, 0)
    each = read_csv(path("every.csv"))[1]
    check(all(str(row) == str(each[7 * i]) for i, row in enumerate(rows[:-1])), "rows differ from those of every step")
    long = ["run", "pendulum-cvt", "--method", "leapfrog", "--step", ".1", "--steps", 300000, "--every", 7, "--quiet"]
    same(program(*long, *observed, "-o", path("long.csv")).returncode, 0)
    keep = [*long, "-o", path("part.csv"), "--checkpoint", path("c"), "--checkpoint-every", 1000]
    killed = subprocess.Popen([program.path, *map(str, [*keep, *observed])], stdout=subprocess.DEVNULL)
    while not os.path.exists(path("c")) and killed.poll() is None:
        time.sleep(0.001)
    killed.kill()
    killed.wait()
    check(os.path.exists(path("c")), "it was complete before it could be killed")
    done = program(*keep, "--resume", path("c"))
    same(done.returncode, 2)
    check("belongs to a run with other columns; with an output file the observed quantities must stay the same" in done.stderr, done.stderr)
    done = program(*keep, "--resume", path("c"), *observed)
    same(done.returncode, 0, done.stderr)
    with open(path("part.csv")) as part, open(path("long.csv")) as whole:
        check(part.read() == whole.read(), "the resumed table differs")


def check_finds_the_structure(program, folder):
    facts = lambda name: program.json("check", name)
    same(facts("chaotic-particle-holonomic")["integrable"], True)
    same(facts("chaotic-particle")["integrable"], False)
    drivers = {"pendulum-cvt": "xi", "harmonic-cvt": "xi", "knife-edge": "xi", "rolling-disk": "theta"}
    for name, driver in drivers.items():
        same((facts(name)["coupled"], facts(name)["driver"]), (True, driver), name)
    groups = {"pendulum-cvt": ("SO(3)", 0, 3, 2), "knife-edge": ("R", 2, 2, 1), "rolling-disk": ("1", 3, 2, 1)}
    for name, found in groups.items():
        same(tuple(facts(name)["fibration"].values()), found, f"{name}: group, fibre, integrals, angles")
    particle = program.json("check", "harmonic-cvt", "--set", "k1=0")["fibration"]
    same(tuple(particle.values()), ("SO(2)", 1, 2, 2), "the nonholonomic particle")
    same(facts("chaplygin-sleigh")["fibration"], None)
    sleigh = facts("chaplygin-sleigh")
    same((sleigh["constant_mass"], sleigh["rank"], sleigh["coupled"]), (False, 1, False))
    same(sleigh["constraints"][0]["kind"], "linear")
    check("energy" in sleigh["conserved"], "energy is conserved")
    check(sleigh["start"]["consistent"] and sleigh["start"]["residual"] < 1e-15, "start")
    refused = {method["name"]: method["reason"] for method in sleigh["methods"] if not method["applies"]}
    check("mass" in refused.get("leapfrog", ""), f"leapfrog on the sleigh: {refused}")
    check(sleigh["advised"].split(":")[0] not in refused, "an advised method must apply")


def check_finds_parts_that_are_holonomic(program, folder):
    robot = program.json("check", "two-wheeled-robot")
    same((robot["integrable"], robot["holonomic"], robot["growth"]), (False, 1, [2, 3, 4]))
    same(robot["surfaces"], ["0.8*theta - 0.15*right + 0.15*left"])
    text = program("check", "two-wheeled-robot").stdout
    check("  integrable    partly: 1 of 3 is holonomic\n  growth        2, 3, 4 of 5 dimensions\n" in text, text)
    same(program.json("check", "tractor-trailers")["growth"], [2, 3, 4, 5, 6, 7])
    same(program.json("check", "chaotic-particle-holonomic")["holonomic"], 1)
    same(program.json("check", "appell-hamel")["holonomic"], None)


def check_judges_at_the_state_that_is_given(program, folder):
    path = os.path.join(folder, "far.nh")
    with open(path, "w") as file:
        file.write("model far\ncoordinate x, y, z\nlagrangian (x'^2 + y'^2 + z'^2)/2\n"
                   "constraint x' = sqrt(y - 500)*z'\nstart x = 1, y = 1, z = 1\n")
    same(json.loads(program("check", path, "--json").stdout)["integrable"], None)
    there = program.json("check", path, "--start", "y=700")
    same((there["integrable"], there["growth"]), (False, [2, 3]))


def check_finds_moving_energies(program, folder):
    found = program.json("check", "turntable-ball", "--set", "alpha=0")["conserved"]
    check(any(name.startswith("energy + momentum of ") for name in found), found)
    same([name for name in found if "energy" in name and "momentum" not in name], [])
    report = program.json("compare", "turntable-ball", "--set", "alpha=0", "--methods", "gauss:stages=3", "--step", ".01",
                          "--time", "5")
    check("energy + momentum of" in json.dumps(report), report)


def large_dense_masses_are_not_singular(program, folder):
    """Bounds on round-off grow with every pivot: after forty pivots they no longer distinguish a pivot from zero."""
    found = program.json("check", "tractor-trailers", "--set", "K=40")
    same((len(found["coordinates"]), len(found["constraints"])), (44, 42))


def check_reports_a_bad_start(program, folder):
    done = program("check", "nonholonomic-particle", "--v", "1,1,1")
    same(done.returncode, 2)
    check("--project" in done.stderr, done.stderr)
    same(program("check", "nonholonomic-particle", "--v", "1,1,1", "--project").returncode, 0)


def main():
    program = Program(sys.argv[1])
    cases = cases_in_folders(globals(), program)
    bad = list(read_bad_commands())
    check(len(bad) >= 100, f"only {len(bad)} bad command lines")
    print(f"{len(bad)} command lines that must be refused, each by its message")
    for case in bad:
        cases.append((f"$ {case[0]}", lambda case=case: bad_command(program, *case)))
    return run_all(cases)


if __name__ == "__main__":
    sys.exit(main())
