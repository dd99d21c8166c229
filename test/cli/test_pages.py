#!/usr/bin/env python3
"""Pages of --plot FILE.html in a real browser: they draw, ask nothing of the network, and no text of a user
can get out of its quotes. Skipped (exit code 77) when there is no chromium."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import PATIENCE, Program, check, run_all, same

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

HOSTILE = """model hostile
coordinate x, y
lagrangian (x'^2 + y'^2 - x^2 - 2*y^2)/2
constraint a: x' + y*y' = 0
start x = 1, y = 1
"""


def show(folder, path):
    """The page's elements after its scripts have run, and what the browser complained about."""
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
               "--user-data-dir=" + tempfile.mkdtemp(dir=folder), "--virtual-time-budget=3000", "--dump-dom",
               "file://" + path]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
    log = done.stderr.decode(errors="replace")
    same(done.returncode, 0, log)
    return done.stdout.decode(errors="replace"), "\n".join(l for l in log.splitlines() if "CONSOLE" in l)


def drawn(folder, path, plots):
    text = open(path, encoding="utf-8").read()
    outside = re.findall(r"(?:src|href)\s*=\s*[\"']?[^\"'> ]+", re.sub(r"<script>.*?</script>", "", text, flags=re.S))
    same(outside, [], "a page that needs nothing else")
    check("Permission is hereby granted" in text, "uPlot's licence is in the page")
    page, log = show(folder, path)
    root = re.search(r"<html[^>]*>", page).group(0)
    check("data-error" not in root and log == "", f"{root} {log}")
    check(f'data-plots="{plots}"' in root, root)
    same(page.count("<canvas"), plots, "canvases")
    return page


def a_run(program, folder):
    path = os.path.join(folder, "run.html")
    program.json("run", "pendulum-cvt", "--method", "dla01", "--step", 0.1, "--time", 500, "--plot", path)
    page = drawn(folder, path, 4)
    check("passenger_energy" in page and "latitude" in page, "legend")


def a_comparison(program, folder):
    path = os.path.join(folder, "compare.html")
    program.json("compare", "pendulum-cvt", "--methods", "dla01,leapfrog,rk4", "--step", 0.1, "--time", 100,
                 "--plot", path)
    drawn(folder, path, 5)


def orders(program, folder):
    path = os.path.join(folder, "order.html")
    program.json("order", "pendulum-cvt", "--methods", "dla01,gauss", "--plot", path)
    drawn(folder, path, 1)


def texts_stay_texts(program, folder):
    figure = ("figure hostile\ntitle </script><script>document.documentElement.dataset.error='out'</script>\n"
              "model hostile.nh\nstep .1\ntime 10\nmethod gauss \"</title><b>\\\"\n"
              "panel \"</script><script>throw 1</script>\"\ndraw x\n")
    for name, text in ("hostile.fig", figure), ("hostile.nh", HOSTILE):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    done = program("reproduce", "hostile.fig", "--out", "out", cwd=folder)
    same(done.returncode, 0, done.stderr)
    drawn(folder, os.path.join(folder, "out", "hostile.html"), 1)


def main():
    if not BROWSER:
        print("skipped: there is no chromium to look at pages with (tools/setup.sh browser)")
        return 77
    program = Program(sys.argv[1])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cases = [(f.__name__, lambda f=f: f(program, folder)) for f in (a_run, a_comparison, orders, texts_stay_texts)]
        return run_all(cases)


sys.exit(main())
