#!/usr/bin/env python3
"""test_page.py NONHOLO PAGE: the playground in headless Chromium, from disk and from a server: it moves, shows errors
where they are, follows sliders, shares by links, fits on a phone, makes no network requests, and no text becomes
anything else. Skipped (exit code 77) where there is no Chromium or no page."""

import functools
import http.server
import json
import os
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
from browser import PROGRAM, Browser  # noqa: E402
from harness import Program, check, run_all, same  # noqa: E402
from hostile_texts import TEXTS  # noqa: E402

DATA = "document.documentElement.dataset"
DONE = f"Number({DATA}.done || 0)"
FIELD = "document.querySelector('#editor textarea')"
OSCILLATOR = "model a\nparameter k = 2\ncoordinate x, y\nlagrangian (x'^2 + y'^2 - k*x^2)/2\nconstraint c: y' = x*x'\nstart x = 1, x' = 0.5, y' = 0.5\nspan 5\ndraw trace (x, y)\n"


class Page:
    def __init__(self, browser, address, program):
        self.browser, self.address, self.program = browser, address, program

    def open(self, fragment="", width=1400, dark=False):
        self.browser.page(width, 900, dark)
        self.browser.open(self.address + fragment)
        self.browser.until(f"{DATA}.ready", "the library")

    def after(self, action):
        """Does something and waits until the simulations have ended again."""
        before = self.browser.evaluate(DONE)
        self.browser.evaluate(action)
        self.browser.until(f"{DONE} > {before}", action)

    def finished(self):
        self.browser.until(DONE, "a simulation")

    def write(self, text):
        self.browser.evaluate(f"{FIELD}.focus(), {FIELD}.select()")
        self.browser.type(text)

    def clean(self):
        same(self.browser.complaints(), [], "complaints of the browser")
        same(self.browser.asked(), [], "requests")
        check(not self.browser.evaluate(f"{DATA}.error"), "a script failed")


def moves(page):
    page.open()
    page.finished()
    motion = page.browser.until(f"{DATA}.motion", "motion")
    print(f"first motion {motion} ms after the page was asked for from disk")
    first = page.browser.evaluate(f"Number({DATA}.time)")
    page.browser.until(f"Number({DATA}.time) !== {first}", "going on")
    same(page.browser.evaluate("document.querySelectorAll('#stage canvas').length"), 1, "canvases")
    check(page.browser.evaluate("document.querySelectorAll('#plots canvas').length") >= 5, "plots")
    check(page.browser.evaluate("""(() => { const c = document.querySelector('#stage canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        return new Set(new Uint32Array(d.buffer)).size; })()""") > 10, "something is drawn")
    page.clean()


def errors_are_under_their_line(page):
    page.open()
    page.finished()
    text = OSCILLATOR.replace("k*x^2", "kk*x^2")
    page.write(text)
    failed = page.browser.until(f"{DATA}.failed", "an error")
    done = page.program("check", "-", input=text)
    same(failed.replace("a.nh:", "<stdin>:"), done.stderr.rstrip("\n"), "message")
    seen = page.browser.evaluate("document.querySelector('.complaint').textContent")
    check(seen.startswith("unknown name 'kk'"), seen)
    same(page.browser.evaluate("[...document.querySelectorAll('.line')].findIndex((l) => l.classList.contains('wrong'))"), 3, "line")
    same(page.browser.evaluate("document.querySelector('.here').textContent"), "kk", "place")
    top = "document.querySelector('.complaint').getBoundingClientRect().top - document.querySelector('.line.wrong').getBoundingClientRect().bottom"
    check(-2 <= page.browser.evaluate(top) <= 6, "the message is under the line")
    before = page.browser.evaluate(DONE)
    page.write(OSCILLATOR)
    page.browser.until(f"{DONE} > {before}", "a simulation of the mended model")
    check(page.browser.evaluate("document.querySelector('.complaint').hidden && document.getElementById('message').hidden"), "forgiven")
    page.clean()


def completes(page):
    page.open()
    page.finished()
    page.write("model a\ncoordinate theta\nlagrangian theta'^2/2 - cos(th")
    offers = page.browser.until("[...document.querySelectorAll('.offers:not([hidden]) li')].map((l) => l.textContent).join()", "offers")
    same(offers, "theta", "offers")
    page.browser.key("Tab", 9)
    same(page.browser.evaluate(f"{FIELD}.value").split("\n")[-1], "lagrangian theta'^2/2 - cos(theta", "completed")
    page.write("model a\nlagr")
    same(page.browser.until("[...document.querySelectorAll('.offers:not([hidden]) li')].map((l) => l.textContent).join()", "offers"), "lagrangian", "statement")
    page.clean()


def sliders_and_start(page):
    page.open()
    page.finished()
    before = page.browser.evaluate(DONE)
    page.write(OSCILLATOR)
    page.browser.until(f"{DONE} > {before}", "the model")
    end = "playground.trajectories[0].columns.map((c) => c[c.length - 1])"
    first = page.browser.evaluate(end)
    page.after("(() => { const s = document.querySelector('#parameters input[type=range]'); s.value = 3; s.dispatchEvent(new Event('input')); })()")
    second = page.browser.evaluate(end)
    check(first != second, "the slider changes the motion")
    native = page.program.json("run", "-", "--set", "k=3", "--no-estimate", "--backend", "tape", input=OSCILLATOR, env={"NONHOLO_LEVEL": "basic"})
    same(second[1:5], native["q"] + native["v"], "end state")
    box = page.browser.evaluate("(() => { const b = document.querySelectorAll('#start label')[1]; b.scrollIntoView({block: 'center'}); const r = b.getBoundingClientRect(); return [r.left + 5, r.top + 8]; })()")
    before = page.browser.evaluate(DONE)
    page.browser.drag(box[0], box[1], 80)
    page.browser.until(f"{DONE} > {before}", "a dragged start")
    page.browser.until("playground.trajectories[0].columns[2][0] > 0.01", "the start has moved")
    page.after("document.querySelector('#start button').click()")
    same(page.browser.evaluate(end), second, "back to the start of the model")
    page.clean()


def compares(page):
    page.open("#model=rolling-disk")
    page.finished()
    page.after("""(() => { for (const [id, value] of [['method', 'gauss'], ['other', 'rk4'], ['control', 'step'], ['amount', '0.05'], ['time', '5']])
        document.getElementById(id).value = value; document.getElementById('compare').checked = true; document.getElementById('compare').onchange(); })()""")
    same(page.browser.evaluate("document.querySelectorAll('#stage canvas').length"), 2, "canvases")
    rows = page.browser.evaluate("[...document.querySelectorAll('#results tr')].map((r) => r.textContent)")
    check(len(rows) == 3 and "gauss" in rows[1] and "rk4" in rows[2], rows)
    for which, method in enumerate(("gauss", "rk4")):
        native = page.program.json("run", "rolling-disk", "--method", method, "--step", 0.05, "--time", 5, "--no-estimate", "--backend", "tape",
                                   env={"NONHOLO_LEVEL": "basic"})
        found = page.browser.evaluate(f"playground.trajectories[{which}].columns.map((c) => c[c.length - 1])")
        same(found[1:9], native["q"] + native["v"], method)
    page.clean()


def shares(page):
    page.open()
    page.finished()
    before = page.browser.evaluate(DONE)
    page.write(OSCILLATOR + "# ü, 漢 and <b>\n")
    page.browser.until(f"{DONE} > {before}", "the model")
    page.after("(() => { const s = document.querySelector('#parameters input[type=range]'); s.value = 3; s.dispatchEvent(new Event('input')); })()")
    page.browser.evaluate("document.getElementById('share').click()")
    link = page.browser.until("document.querySelector('#link input').value", "a link")
    page.open("#" + link.split("#")[1])
    page.finished()
    same(page.browser.evaluate(f"{FIELD}.value"), OSCILLATOR + "# ü, 漢 and <b>\n", "text")
    same(page.browser.evaluate("document.querySelector('#parameters input:not([type])').value"), "3", "setting")
    for strange in "#m=AAAA", "#m=%", "#model=nothing", "#<img src=x onerror=alert(1)>", "#m=" + "A" * 10000:
        page.open(strange)
        page.finished()
        page.clean()
    link = page.browser.evaluate("linkOf({text: 5, settings: {k: '<b>'}, __proto__: {method: 'x'}, compare: 'yes'})")
    same(page.browser.evaluate(f"contentOf({json.dumps(link)})"), None, "a link without a model")


def exports(page):
    page.open()
    page.finished()
    before = page.browser.evaluate(DONE)
    page.write(OSCILLATOR)
    page.browser.until(f"{DONE} > {before}", "the model")
    page.browser.evaluate("window.saved = {}, window.download = (name, type, content) => { saved[type] = [name, typeof content === 'string' ? content : new TextDecoder().decode(content)]; }")
    for kind in "csv", "svg", "nh":
        page.browser.evaluate(f"document.getElementById('export-{kind}').click()")
    page.browser.until("Object.keys(saved).length === 3", "files")
    saved = page.browser.evaluate("saved")
    same(saved["text/plain"], ["a.nh", OSCILLATOR], "model")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.csv")
        page.program.json("run", "-", "--no-estimate", "--backend", "tape", "-o", path, input=OSCILLATOR, env={"NONHOLO_LEVEL": "basic"})
        with open(path, encoding="utf-8", newline="") as file:
            same(saved["text/csv"], ["a.csv", file.read()], "table")
    shapes = page.browser.evaluate("(() => { const d = new DOMParser().parseFromString(saved['image/svg+xml'][1], 'image/svg+xml'); return d.querySelector('parsererror') ? 0 : d.querySelectorAll('path').length; })()")
    check(shapes > 20, f"{shapes} paths in the picture")
    page.clean()


def fits_on_a_phone(page):
    for dark in False, True:
        page.open("#model=rattleback", width=400, dark=dark)
        page.finished()
        same(page.browser.evaluate("document.documentElement.scrollWidth"), 400, "width")
        wide = "[...document.querySelectorAll('button, input, select, canvas, #editor')].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > 401).map((e) => e.id || e.tagName).join()"
        same(page.browser.evaluate(wide), "", "too wide")
        ground = page.browser.evaluate("getComputedStyle(document.body).backgroundColor")
        same(ground, "rgb(27, 29, 33)" if dark else "rgb(255, 255, 255)", "ground")
        page.clean()


def texts_stay_texts(page):
    """As a comment, a name, a statement and a parameter of a model, and in links."""
    page.open()
    page.finished()
    count = "['img', 'iframe', 'svg', 'base', 'b', 'object', 'style', 'script', 'meta', 'link', 'form', 'div[onmouseover]'].map((s) => s + document.querySelectorAll(s).length).join()"
    bold = page.browser.evaluate(count)
    same(len(TEXTS), 20, "texts")
    for text in TEXTS:
        page.browser.evaluate(f"{DATA}.failed = '', document.getElementById('time').value = ''")
        page.write(f"model {text}\n# {text}\nparameter {text} = 1\ncoordinate x\n{text}\n")
        page.browser.until(f"{DATA}.failed", "an error")
        same(page.browser.evaluate(count), bold, f"elements after {text}")
        link = page.browser.evaluate(f"linkOf({json.dumps({'text': OSCILLATOR + '# ' + text, 'settings': {text: 1}, 'start': {text: 2}, 'method': text, 'options': text, 'time': text, 'compare': True, 'other': text})})")
        page.browser.evaluate(f"{DATA}.failed = ''")
        page.browser.evaluate(f"location.hash = '#' + {json.dumps(link)}")
        page.browser.until(f"!document.getElementById('message').hidden || {DATA}.failed", "an answer to a link")
        same(page.browser.evaluate(count), bold, f"elements after a link with {text}")
        same(page.browser.evaluate(f"{DATA}.error || ''"), "", text)
        page.browser.evaluate("history.replaceState(null, '', location.href.replace(/#.*/, ''))")
    page.clean()


def works_from_a_server(page, folder):
    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}/index.html"
    served = Page(page.browser, address, page.program)
    served.open()
    served.finished()
    same(served.browser.complaints(), [], "complaints")
    same(served.browser.asked(), [address], "requests")
    server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def main():
    program, path = Program(sys.argv[1]), os.path.abspath(sys.argv[2])
    if not PROGRAM:
        print("skipped: no Chromium (tools/setup.sh playground)")
        return 77
    if not os.path.exists(path):
        print("skipped: there is no page ('make playground', which needs emscripten)")
        return 77
    cases = moves, errors_are_under_their_line, completes, sliders_and_start, compares, shares, exports, fits_on_a_phone, texts_stay_texts
    with Browser() as browser:
        page = Page(browser, "file://" + path, program)
        tests = [(case.__name__, lambda case=case: case(page)) for case in cases]
        tests.append(("works_from_a_server", lambda: works_from_a_server(page, os.path.dirname(path))))
        return run_all(tests, workers=1)


if __name__ == "__main__":
    sys.exit(main())
