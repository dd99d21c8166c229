#!/usr/bin/env python3
"""Pages of --plot FILE.html in a real browser: they draw, make no network requests, and no user text
can escape from its quotes. Skipped (exit code 77) when there is no chromium."""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "playground"))
from browser import Browser  # noqa: E402
from harness import PATIENCE, Program, check, run_all, same
from hostile_texts import TEXTS

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

HOSTILE = """model hostile
coordinate x, y
lagrangian (x'^2 + y'^2 - x^2 - 2*y^2)/2
constraint a: x' + y*y' = 0
start x = 1, y = 1
"""


def show(folder, path):
    """The page's elements after its scripts have run, and the browser's error messages."""
    command = [BROWSER, "--headless", "--no-sandbox", "--enable-unsafe-swiftshader", "--enable-logging=stderr", "--v=0",
               "--user-data-dir=" + tempfile.mkdtemp(dir=folder), "--virtual-time-budget=3000", "--dump-dom",
               "file://" + path]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
    log = done.stderr.decode(errors="replace")
    same(done.returncode, 0, log)
    return done.stdout.decode(errors="replace"), "\n".join(l for l in log.splitlines() if "CONSOLE" in l and "GL Driver Message" not in l)


def drawn(folder, path, plots, moving=0):
    text = open(path, encoding="utf-8").read()
    outside = re.findall(r"(?:src|href)\s*=\s*[\"']?[^\"'> ]+", re.sub(r"<script.*?</script>", "", text, flags=re.S))
    same([one for one in outside if not re.match(r"href=.data:", one)], [], "a page that needs nothing else")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    check(policy.startswith("default-src 'none'") and "unsafe-eval" not in policy and "http" not in policy, policy)
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.S)
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    same(re.findall(r"'sha256-([^']+)'", policy), digests, "the policy names the scripts of the page and no others")
    check("Permission is hereby granted" in text, "uPlot's licence is in the page")
    page, log = show(folder, path)
    root = re.search(r"<html[^>]*>", page).group(0)
    check("data-error" not in root and log == "", f"{root} {log}")
    check(f'data-plots="{plots}"' in root, root)
    same(page.count("<canvas"), plots + moving, "canvases")
    if moving:
        check(re.search(r'data-frames="[1-9]', root), "frames: " + root)
    return page


def a_run(program, folder):
    path = os.path.join(folder, "run.html")
    program.json("run", "pendulum-cvt", "--method", "dla01", "--step", 0.1, "--time", 500, "--plot", path)
    page = drawn(folder, path, 7, moving=1)
    check("passenger_energy" in page and "latitude" in page, "legend")


def a_comparison(program, folder):
    path = os.path.join(folder, "compare.html")
    program.json("compare", "pendulum-cvt", "--methods", "dla01,leapfrog,rk4", "--step", 0.1, "--time", 100,
                 "--plot", path)
    drawn(folder, path, 6)  # leapfrog's discrete energy is the fifth


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


def twenty_hostile_texts(program, folder):
    """As titles of panels and labels of methods, which may be any text, and as folders of models."""
    methods = "".join(f'method gauss "{text}"\n'.replace("\\", "\\\\") for text in TEXTS[:1])
    panels = "".join(f'panel "{text}"\ndraw x\n' for text in TEXTS if '"' not in text)
    figure = f"figure texts\ntitle {TEXTS[0]}\nmodel hostile.nh\nstep .1\ntime 5\n{methods}{panels}"
    for name, text in ("texts.fig", figure), ("hostile.nh", HOSTILE):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    done = program("reproduce", "texts.fig", "--out", "out", cwd=folder)
    same(done.returncode, 0, done.stderr)
    page = drawn(folder, os.path.join(folder, "out", "texts.html"), len(TEXTS))
    for forbidden in "<img", "<iframe", "<svg", "<base", "http-equiv=\"refresh":
        check(forbidden not in page.split("<body>")[1].replace("&lt;", ""), f"{forbidden} in the page")
    hostile = os.path.join(folder, "<img src=x onerror=throw(1)>")
    os.makedirs(hostile)
    model = os.path.join(hostile, "</script>.nh".replace("/", "\u2215"))
    with open(model, "w") as file:
        file.write(HOSTILE.replace("model hostile", "model a-b.c") + "draw trace (x, y)\n")
    path = os.path.join(folder, "moving.html")
    program.json("run", model, "--plot", path)
    drawn(folder, path, 4, moving=1)


def looked_at(browser, program, folder, model, at, *words):
    path = os.path.join(folder, model + ".html")
    program.json("run", model, *words, "--plot", path)
    browser.page(1400, 900)
    browser.open("file://" + path + at)
    browser.until("document.documentElement.dataset.plots", "the plots of " + path)


# The place of the dot in the first plot, and where these values are in a plot of the same size.
DOT = """(() => { const data = JSON.parse(document.getElementById('data').textContent), spot = document.querySelector('.spot'), box = spot.getBoundingClientRect(), over = spot.parentElement.getBoundingClientRect();
    const same = new Plots(document.getElementById('plots'), () => {}, () => 1); same.update(data, [runOf(data)]);
    return new Promise((done) => requestAnimationFrame(() => { const plot = same.list[0].plot; done([box.left + box.width / 2 - over.left - plot.valToPos(%r, 'x'), box.top + box.height / 2 - over.top - plot.valToPos(%r, 'y')]); })); })()"""
# How many pixels shadows change, how many show bodies, and how many do both.
SHADES = """(() => { const data = JSON.parse(document.getElementById('data').textContent), canvas = document.createElement('canvas'), view = new SceneView(canvas, data.scene, { still: true, best: true, width: 300, height: 300, ratio: 1 });
    view.setFrames(unpack(data.frames.t), data.frames.channels.map(unpack));
    const shot = () => { view.draw(%r); return new Uint32Array(canvas.getContext('2d').getImageData(0, 0, 300, 300).data.buffer); }, whole = shot();
    for (const [, shadow] of view.kit.shadows) shadow.material.visible = false;
    const light = shot();
    for (const [body] of view.kit.shadows) body.material.visible = false;
    const empty = shot(), count = (wanted) => whole.reduce((sum, x, i) => sum + Number(wanted(x !== light[i], light[i] !== empty[i])), 0);
    return [count((shade) => shade), count((shade, body) => body), count((shade, body) => shade && body)]; })()"""


# Which pictures of a motion have smooth edges: two of it, and the one that follows by itself. All, with a graphics processor.
ROUGH = """(() => { const data = JSON.parse(document.getElementById('data').textContent), view = new SceneView(document.createElement('canvas'), data.scene, { still: true, width: 300, height: 300, ratio: 1 }), kinds = [];
    view.setFrames(unpack(data.frames.t), data.frames.channels.map(unpack));
    view.isSmooth = () => { kinds.push(SceneView.prototype.isSmooth.call(view)); return kinds.at(-1); };
    view.draw(1); view.draw(1.01);
    return new Promise((done) => setTimeout(() => done(renderers.slow ? kinds : 'not slow'), 4 * REST)); })()"""


def a_page_in_use(program, folder):
    """The dot of a path, panels of angles of different size, and shadows, which lie below the bodies."""
    with Browser() as browser:
        looked_at(browser, program, folder, "pendulum-cvt", "#t=3.5")
        end = program.json("run", "pendulum-cvt", "--time", 3.5, "--no-estimate")["q"]
        off = browser.evaluate(DOT % (end[0], end[1]))
        check(max(map(abs, off)) < 2, f"the dot at t = 3.5 is {off} pixels away")
        looked_at(browser, program, folder, "benchmark-bicycle", "#t=1")
        titles = browser.evaluate("[...document.querySelectorAll('.u-title')].map((t) => t.textContent)")
        same(titles.count("angles"), 3, f"panels of angles among {titles}")
        looked_at(browser, program, folder, "heavy-top", "#t=1")
        shade, body, both = browser.evaluate(SHADES % 1)
        check(shade > 1000 and body > 1000 and both < 0.2 * shade, f"{shade} pixels of shadows, {body} of bodies, {both} of both")  # 0.034 at edges; 0.62 if drawn above
        check(browser.evaluate(ROUGH) in ([False, False, True], "not slow"), "rough pictures while something moves, then a smooth one")


def films_say_what_is_missing(program, folder):
    """Without the programs a film is refused before anything is computed."""
    done = program("run", "rolling-disk", "--plot", os.path.join(folder, "a.gif"), env={**os.environ, "PATH": folder})
    same(done.returncode, 1, done.stderr)
    check("films need chromium and ffmpeg" in done.stderr, done.stderr)
    model = os.path.join(folder, "spin.nh")
    with open(model, "w") as file:
        file.write("model spin\nvelocity w1, w2, w3\nbracket [w1,w2] = w3, [w2,w3] = w1, [w3,w1] = w2\nlagrangian (w1^2 + 2*w2^2 + 3*w3^2)/2\nstart w1 = 1, w2 = 0.1\n")
    done = program("run", model, "--time", 1, "--plot", os.path.join(folder, "a.mp4"))
    check(done.returncode in (1, 2), done.stderr)  # without coordinates there is nothing to draw; or without ffmpeg
    check("has none" in done.stderr or "films need" in done.stderr, done.stderr)


def main():
    if not BROWSER:
        print("skipped: there is no chromium to look at pages with (tools/setup.sh browser)")
        return 77
    program = Program(sys.argv[1])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cases = [(f.__name__, lambda f=f: f(program, folder)) for f in (a_run, a_comparison, orders, texts_stay_texts,
                                                                  twenty_hostile_texts, a_page_in_use, films_say_what_is_missing)]
        return run_all(cases)


sys.exit(main())
