#!/usr/bin/env python3
"""Figures through the command line: reading and refusing, findings, files, threads, exit codes; and every
shipped figure, quickly."""
import csv
import json
import os
import re
import sys
import tempfile
import xml.etree.ElementTree

from harness import Program, check, models_without_contacts, run_all, same

SMALL = """figure small
title A small figure
model pendulum-cvt
set eps = .1, sign = -1, shift = 1
step 0.1
time 100
case low "oscillating"
  start xi' = 1.8973666
case high "rotating"
method dla01 "DLA01"
method leapfrog
panel "passenger energy"
  draw mean 3 error passenger_energy
  cases high
panel "latitude"
  draw abs error latitude
  cases low
  log y
"""

# a text, and the first line of the message that refuses it
BAD = [
    ("", "bad.fig: the figure lacks its name: 'figure NAME'"),
    ("model pendulum-cvt\n", "bad.fig:1:1: a figure file begins with 'figure NAME'"),
    ("figure a\nmodle x\n", "bad.fig:2:1: there is no statement 'modle'; did you mean 'model'?"),
    ("figure a\nmodel pendulum-cvt\npanel\n draw energy\n", "bad.fig: the figure lacks a method"),
    ("figure a\nmethod dla02\n", "bad.fig:2:8: unknown method 'dla02'; did you mean 'dla01'?"),
    ('figure a\nmethod dla01 "a\n', "bad.fig:2:14: a quote is not closed on its line"),
    ("figure a\nstep -1\n", "bad.fig:2:6: expected a step greater than 0"),
    ("figure a\nstep small\n", "bad.fig:2:6: expected a step, a number, not 'small'"),
    ("figure a\ntime\n", "bad.fig:2:5: expected a time"),
    ("figure a\ndraw energy\n", "bad.fig:2:1: 'draw' is not allowed at the beginning"),
    ("figure ../a\n", "bad.fig:1:8: a figure's name consists of letters, digits, '-', '_' and '.'"),
    ("figure .a\n", "bad.fig:1:8: a figure's name consists of letters, digits, '-', '_' and '.'"),
    ("figure a b\n", "bad.fig:1:10: expected the end of the line"),
    ("figure a\nmethod dla01\nfinding max energy of rk4 < 1\n",
     "bad.fig:3:23: there is no method labelled 'rk4' above"),
    ("figure a\nmethod dla01\nfinding slop energy of dla01 < 1\n",
     "bad.fig:3:9: expected a measure: max, last, slope, drift, line, rate, exponent, order, growth or "
     "verdict; did you mean 'slope'?"),
    ("figure a\nmethod dla01\nfinding slope energy of dla01 about 1\n",
     "bad.fig:3:31: expected '=', '<', '>' or 'is'"),
    ("figure a\nmethod dla01\nfinding slope energy of dla01 = 1\n",
     "bad.fig:3:34: expected 'within' and a tolerance (1%, factor 2, or a number), or 'from' and 'to'"),
    ("figure a\nmethod dla01\nfinding slope energy of dla01 = 1 from 2 to 3\n",
     "bad.fig:3:46: the value must lie between the two"),
    ("figure a\nmethod dla01\nclaim slope energy of dla01 = 1 from 0 3\n", "bad.fig:3:40: expected 'to' and the greatest value"),
    ("figure a\nmethod dla01\nlong time\n", "bad.fig:3:6: expected 'finding', 'claim' or 'claimed finding'"),
    ("figure a\nmethod dla01\nfinding verdict energy of dla01 < 1\n",
     "bad.fig:3:36: a verdict is compared with 'is', a number with '=', '<' or '>'"),
    ("figure a\ncase b\nmethod dla01\npanel\ncases c\n", "bad.fig:5:7: there is no case 'c' above"),
    ("figure a\nmethod dla01\npanel\ndraw per energy mean 3 error energy\n", "bad.fig:4:22: 'mean' must precede 'per energy'"),
    ("figure a\nmethod dla01\npanel\ndraw per h^x energy\n", "bad.fig:4:10: expected a power of the step, like h^4"),
    ("figure a\nmethod dla01\npanel\npoint 1\n", "bad.fig:4:8: expected the vertical position of the point"),
    ("figure a\nset eps\n", "bad.fig:2:5: expected NAME = VALUE"),
    ("figure a\nmodel none\nstep .1\ntime 1\nmethod dla01\npanel\ndraw energy\n",
     "nonholo: bad.fig, dla01 of case 'all': there is no model 'none'"),
    ("figure a\nmodel pendulum-cvt\nstep .1\ntime 1\nmethod dla01\npanel\ndraw speed\n",
     "nonholo: bad.fig, dla01 of case 'all': pendulum-cvt has no quantity 'speed'"),
    ("figure a\nmodel chaplygin-sleigh\nstep .1\ntime 1\nmethod gauss\npanel\ndraw latitude\n",
     "nonholo: bad.fig, gauss of case 'all': chaplygin-sleigh has no latitude"),
]


def refuses(program, folder, text, message):
    with tempfile.TemporaryDirectory(dir=folder) as place:
        with open(os.path.join(place, "bad.fig"), "w") as file:
            file.write(text)
        done = program("reproduce", "bad.fig", cwd=place)
        same(done.returncode, 2, f"exit code: {done.stderr}")
        check(done.stderr.startswith(message), f"expected {message!r}\nfound    {done.stderr!r}")


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def ones_own_figure(program, folder):
    text = SMALL + ("finding max error driver_energy of leapfrog in every case < 1\n"
                    "finding verdict constraint of DLA01 in high is round-off\n"
                    "finding slope error passenger_energy of DLA01 in high > slope error passenger_energy of leapfrog in high\n")
    path, out = write(folder, "small.fig", text), os.path.join(folder, "own")
    found = program.json("reproduce", path, "--out", out)
    same((found["passed"], found["failed"], found["not_checked"]), (4, 0, 0))
    xml.etree.ElementTree.parse(os.path.join(out, "small.svg"))
    check(open(os.path.join(out, "small.png"), "rb").read(4) == b"\x89PNG", "a picture")
    with open(os.path.join(out, "small.csv")) as file:
        rows = list(csv.DictReader(file))
    same({row["panel"] for row in rows}, {"passenger energy", "latitude"})
    same({row["curve"] for row in rows}, {"DLA01", "leapfrog"})
    check(all(0 <= float(row["x"]) <= 100 for row in rows), "times")


def a_finding_that_fails(program, folder):
    path = write(folder, "fails.fig", SMALL + "finding max error energy of DLA01 in low < 1e-9\n")
    done = program("reproduce", path, "--out", os.path.join(folder, "fails"))
    same(done.returncode, 1, done.stderr)
    check(re.search(r"FAIL  .*max error energy of DLA01 in low < 1e-9", done.stdout), done.stdout)
    check("measured 0.0" in done.stdout and "expected < 1e-09" in done.stdout, done.stdout)


def a_claim_is_told(program, folder):
    text = SMALL + ("claim max error energy of DLA01 in low < 1e-9\nclaim max error energy of DLA01 in low < 1\n"
                    "finding max error energy of DLA01 in low = 1e-3 from 0 to 1\n"
                    "finding line error passenger_energy of DLA01 in high > 0\n"
                    "claimed finding max error energy of DLA01 in low < 2\n")
    path = write(folder, "claims.fig", text)
    done = program("reproduce", path, "--out", os.path.join(folder, "claims"))
    same(done.returncode, 0, done.stderr)  # a claim by others is not a test of ours
    check(re.search(r"not reproduced max error energy of DLA01 in low < 1e-9 \[oscillating\]\n +measured 0.0\d+, claimed < 1e-09", done.stdout),
          done.stdout)
    check("2 findings passed, 0 failed\nclaims: 2 reproduced, 1 not\n" in done.stdout, done.stdout)
    check("expected 0.001 from 0 to 1" in done.stdout, done.stdout)
    path = write(folder, "broken.fig", SMALL + "claimed finding max error energy of DLA01 in low < 1e-9\n")
    done = program("reproduce", path, "--out", os.path.join(folder, "broken"))
    same(done.returncode, 1, done.stderr)
    check(re.search(r"FAIL  .*max error energy of DLA01 in low < 1e-9", done.stdout), done.stdout)


def hidden_curves_points_and_letters(program, folder):
    text = ("figure marks\ntitle A sum over xi\nmodel knife-edge\nset eps = .1\nstep .1\ntime 20\n"
            "method dla01 one\nmethod si-dla two\nmethod leapfrog three\n"
            "panel\ndraw error energy\npoint 1 0\npanel\ndraw x1\nagainst x2\ny \"x1\" from 1 to 0\n"
            "finding last per energy energy of one = 1 within 1e-15\n"
            "finding last per speed_squared energy of one < 1\n")
    out = os.path.join(folder, "marks")
    same(program.json("reproduce", write(folder, "marks.fig", text), "--out", out)["passed"], 2)
    picture = open(os.path.join(out, "marks.svg"), encoding="utf-8").read()
    page = open(os.path.join(out, "marks.html"), encoding="utf-8").read()
    check(picture.count("one lies under two") == 2 and "three lies under" not in picture, "hidden curves are named")
    check("A sum over ξ" in picture and "x₁" in picture, "letters as in print")
    check("one lies under two" in page and "x₁" in page, "and on the page")


def threads_do_not_matter(program, folder):
    text = SMALL.replace("time 100", "time 20\nmembers 6 energy 5 seed 3").replace("draw mean 3 error", "draw variance error")
    path, data = write(folder, "many.fig", text), []
    for threads in 1, 2:
        out = os.path.join(folder, f"many{threads}")
        program.json("reproduce", path, "--out", out, "--threads", threads)
        data.append(open(os.path.join(out, "small.csv"), "rb").read())
    check(data[0] == data[1] and len(data[0]) > 1000, "the same data for 1 and 2 threads")


def a_method_that_fails_is_told(program, folder):
    text = ("figure wild\nmodel chaotic-particle\nstep 3\ntime 300\nmethod rk4\nmethod gauss\n"
            "panel\ndraw energy\nfinding max energy of rk4 < 1e300\n")
    path = write(folder, "wild.fig", text)
    done = program("reproduce", path, "--out", os.path.join(folder, "wild"))
    same(done.returncode, 1, done.stderr)
    check("note" in done.stdout and "rk4" in done.stdout, done.stdout)


def what_is_lost_is_told(program, folder):
    """dla with alpha = .4 reduces the passenger energy from 1 to 1e-14, which is not bounded. A table has a colour for it,
    and a quantity of two successive states has a verdict although its first value is missing."""
    text = ("figure gone\nmodel pendulum-cvt\nset eps = 0, sign = -1, shift = 1\nstart xi' = 2.82842712\nstep 0.1\ntime 1500\n"
            "method dla:alpha=.4 \"DLA .4\"\nmethod leapfrog \"leapfrog\"\n")
    findings = ("finding verdict error passenger_energy of \"DLA .4\" is lost\nfinding verdict error passenger_energy of \"leapfrog\" is bounded\n"
                "finding verdict error leapfrog_invariant of \"leapfrog\" is round-off\n")
    panel = "panel \"energy\"\n  draw error passenger_energy\npanel \"discrete\"\n  draw error leapfrog_invariant\n"
    same(program.json("reproduce", write(folder, "gone.fig", text + panel + findings), "--out", folder)["passed"], 3)
    table = "table verdict\n  column \"passengers\" error passenger_energy\n"
    done = program("reproduce", write(folder, "gone.fig", text + table + findings.replace("leapfrog_invariant", "energy").replace("round-off", "bounded")),
                   "--out", folder)
    same(done.returncode, 0, done.stdout + done.stderr)
    with open(os.path.join(folder, "gone.svg")) as picture:
        check("lost" in picture.read(), "no legend for what is lost")


def the_list(program, folder):
    names = [one["name"] for one in program.json("reproduce")["figures"]]
    for name in ("newmark-fig1 newmark-fig2 newmark-fig3 newmark-fig4 newmark-fig5 modin-verdier-fig4 modin-verdier-fig5 "
                 "modin-verdier-fig6 modin-verdier-fig7 modin-verdier-fig8 celledoni-fig2 celledoni-fig2-walks celledoni-fig3 celledoni-fig4 "
                 "jay-fig1 jay-fig2 jay-fig3 jay-fig4 jay-standard").split():
        check(name in names, f"{name} is not among {names}")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../figures/orders.fig")
    cases = set(re.findall(r"^case (\S+)$", open(source).read(), re.M))
    same(set(models_without_contacts(program)) - cases, set(), "models without a column in figures/orders.fig")
    done = program("reproduce", "jay-fig11")
    same(done.returncode, 2)
    check("did you mean 'jay-fig1'?" in done.stderr, done.stderr)


def every_figure_quickly(program, folder):
    out = os.path.join(folder, "all")
    done = program("reproduce", "all", "--quick", "--json", "--out", out)
    found = json.loads(done.stdout)
    failed = [(figure["name"], one) for figure in found["figures"] for one in figure["findings"] if one["result"] == "FAIL"]
    check(not failed and done.returncode == 0, f"{failed} {done.stderr}")
    check(found["passed"] > 100, f"{found['passed']} findings")
    for figure in found["figures"]:
        check(figure["findings"], f"{figure['name']} has no finding")
        for ending in "svg", "png", "csv":
            check(os.path.getsize(os.path.join(out, f"{figure['name']}.{ending}")) > 1000, figure["name"])


def main():
    program = Program(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        def case(function, *arguments):
            return lambda: function(program, folder, *arguments)
        cases = [(f"refuses {message}", case(refuses, text, message)) for text, message in BAD]
        for function in (ones_own_figure, a_finding_that_fails, a_claim_is_told, hidden_curves_points_and_letters, threads_do_not_matter, a_method_that_fails_is_told,
                         the_list, every_figure_quickly):
            cases.append((function.__name__, case(function)))
        return run_all(cases)


sys.exit(main())
