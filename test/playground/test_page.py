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

    def open(self, fragment="#model=chaplygin-sleigh", width=1400, dark=False):
        self.browser.page(width, 900, dark)
        self.browser.open(self.address + fragment)
        self.browser.until(f"{DATA}.ready", "the library")

    def after(self, action):
        """Does something and waits until the simulations have ended again."""
        before = self.browser.evaluate(DONE)
        self.browser.evaluate(action)
        self.browser.until(f"{DONE} > {before} && playground.finished === playground.id && !playground.asked && !playground.timer", action)

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


def start_is_dragged(page):
    """Rings move bodies and tips change velocities, as far as the constraints let them; rotations have starts, too."""
    def ready():
        page.browser.until("playground.handles.list.length && playground.finished === playground.id && !playground.asked && !playground.timer", "the handles of a start")

    def drag(what, across):
        place = f"(() => {{ const b = playground.views[0].canvas.getBoundingClientRect(), p = playground.handles.seen(playground.handles.list[0]).{what}; return [b.left + p[0], b.top + p[1]]; }})()"
        before, count = page.browser.evaluate(place), page.browser.evaluate(DONE)
        page.browser.drag(*before, across)
        page.browser.until(f"{DONE} > {count}", "another simulation")
        ready()
        return before, page.browser.evaluate(place)

    own = "Object.fromEntries(playground.start.own)"
    page.open("#model=rolling-disk")
    page.finished()
    azimuth = page.browser.evaluate("playground.views[0].camera.azimuth")
    page.browser.evaluate("document.getElementById('handles').click()")
    ready()
    drag("ring", 40)
    same(sorted(page.browser.evaluate(own)), ["x1", "x2"], "a disk is moved along the ground")
    speed = page.browser.evaluate("playground.handles.list[0].velocity")
    drag("tip", 30)
    after = page.browser.evaluate("playground.handles.list[0].velocity")
    check(sum(a * a for a in after) > 1.05 * sum(a * a for a in speed), f"a longer arrow is a larger velocity: {speed} {after}")
    check(page.browser.evaluate("playground.trajectories[0].columns.at(-1)[0]") < 1e-12, "the start satisfies the constraints")
    same(page.browser.evaluate("playground.views[0].camera.azimuth"), azimuth, "the camera stays")
    page.open("#model=heavy-top")
    page.finished()
    page.browser.evaluate("document.getElementById('handles').click()")
    ready()
    tip = page.browser.evaluate("playground.handles.list[0].place")
    drag("ring", 40)
    same(sorted(page.browser.evaluate(own)), ["R.0", "R.1", "R.2", "R.3"], "a top is turned")
    moved = page.browser.evaluate("playground.handles.list[0].place")
    same(round(sum(a * a for a in tip), 6), round(sum(a * a for a in moved), 6), "it keeps its length")
    page.after("(() => { const n = document.querySelector('#start input[data-name=\"R.w3\"]'); n.value = '-2'; n.onchange(); })()")
    same(page.browser.evaluate("playground.system.v.map((x) => Math.round(1e9 * x) / 1e9)"), [0, 0.3, -2], "a body rate that is typed")
    page.browser.evaluate("document.getElementById('handles').click()")
    page.browser.drag(*page.browser.evaluate("(() => { const b = playground.views[0].canvas.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()"), 40)
    check(page.browser.evaluate("playground.views[0].camera.azimuth") != azimuth, "without handles the view turns")
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


def set_up(values, compare=False):
    return f"""(() => {{ for (const [id, value] of Object.entries({json.dumps(values)})) document.getElementById(id).value = value;
        document.getElementById('compare').checked = {json.dumps(compare)}; document.getElementById('compare').onchange(); }})()"""


# The dark pixels of each column of a plot that are farthest up and down, as parts of its height.
INK = """(() => { const u = playground.plots.list[%d].plot, c = u.root.querySelector('canvas'), b = u.bbox, d = c.getContext('2d').getImageData(b.left, b.top, b.width, b.height);
    return Array.from({ length: b.width }, (x, i) => { const rows = []; for (let j = 0; j < b.height; j++) { const k = 4 * (j * b.width + i); if (d.data[k + 3] > 128 && d.data[k] < 80 && d.data[k + 2] > 120) rows.push(j / b.height); }
        return rows.length ? [rows[0], rows[rows.length - 1], rows.length / b.height] : null; }); })()"""


def plots_cover_the_data(page):
    """The drawn envelope of an angle that goes round evenly, and of what the columns contain."""
    page.open("#model=pendulum-cvt")
    page.finished()
    page.after(set_up({"method": "dla01", "control": "step", "amount": "0.1", "time": "500"}))
    titles = page.browser.evaluate("playground.plots.panels.map((p) => p.title)")
    check(titles[0] == "path" and titles[-1] == "errors" and titles.index("observables") < titles.index("coordinates"), titles)
    which = titles.index("angles")
    page.browser.evaluate("new Promise((done) => setTimeout(done, 300))")
    ink = page.browser.evaluate(INK % which)
    columns = [one for one in ink if one]
    check(len(columns) > 0.97 * len(ink), "a curve in every column")
    # 225 turns in 200 to 400 pixels: every column is covered from nearly -pi to nearly pi
    data = page.browser.evaluate("""(() => { const t = playground.trajectories[0], c = t.kinds.indexOf('angle'), u = playground.plots.list[%d].plot, found = Array.from({ length: u.bbox.width }, () => [Infinity, -Infinity]);
        t.columns[c].forEach((v, i) => { const x = Math.floor(u.valToPos(t.columns[0][i], 'x', true) - u.bbox.left), y = (u.valToPos(wrapped(v), 'y', true) - u.bbox.top) / u.bbox.height, one = found[Math.min(x, found.length - 1)]; one[0] = Math.min(one[0], y); one[1] = Math.max(one[1], y); });
        return found; })()""" % which)
    beside = [[one for one in ink[i - 1:i + 2] if one] for i in range(2, len(ink) - 2)]  # a line is wider than a pixel
    wrong = sum(1 for drawn, computed in zip(beside, data[2:-2]) if min(drawn)[0] > computed[0] + 0.03 or max(one[1] for one in drawn) < computed[1] - 0.03)
    same(wrong, 0, "columns that the drawing does not cover")
    # a slow angle has a gap at each wrap, and no vertical line
    page.after(set_up({"method": "dla01", "control": "step", "amount": "0.1", "time": "12"}))
    page.browser.evaluate("new Promise((done) => setTimeout(done, 300))")
    tall = [one for one in page.browser.evaluate(INK % page.browser.evaluate("playground.plots.panels.findIndex((p) => p.title === 'angles')")) if one and one[2] > 0.5]
    same(tall, [], "vertical lines")
    rows = page.browser.evaluate("[...document.querySelectorAll('#results tr')].map((r) => r.textContent)")
    check("drift" not in rows[0], rows)
    page.clean()


def plots_follow_the_time(page):
    page.open("#model=pendulum-cvt")
    page.finished()
    page.browser.evaluate("playground.player.pause(), playground.player.go(1.25)")
    box = "(() => { const s = document.querySelector('.spot').getBoundingClientRect(), o = document.querySelector('.spot').parentElement.getBoundingClientRect(); return [s.left + s.width / 2 - o.left, s.top + s.height / 2 - o.top]; })()"
    expected = """(() => { const c = playground.plots.panels[0].curves[0], u = playground.plots.list[0].plot, at = stateAt(c, 1.25); return [u.valToPos(at[0], 'x'), u.valToPos(at[1], 'y')]; })()"""
    found, wanted = page.browser.evaluate(box), page.browser.evaluate(expected)
    check(max(abs(a - b) for a, b in zip(found, wanted)) < 2, f"the dot of the path: {found} instead of {wanted}")
    page.browser.until("[...document.querySelectorAll('.u-legend')].filter((l) => l.textContent.includes('1.25')).length > 3", "values in the legends")
    at = page.browser.evaluate("""(() => { const list = playground.plots.list, one = list[list.length - 1]; one.plot.over.scrollIntoView({ block: 'center' }); const r = one.plot.over.getBoundingClientRect();
        return [r.left + one.plot.valToPos(3, 'x'), r.top + r.height / 2]; })()""")
    page.browser.drag(at[0], at[1], 0)
    same(round(page.browser.evaluate("playground.player.time"), 1), 3.0, "a click sets the time")
    page.browser.evaluate("(() => { const [x, y] = document.querySelectorAll('.chooser select'); x.value = 'xi'; y.value = \"xi'\"; document.querySelector('.chooser button').click(); })()")
    check(page.browser.evaluate("playground.plots.panels.some((p) => p.path && p.curves[0].turns.x)"), "a phase portrait")
    page.after(set_up({"time": "50"}))
    check(page.browser.evaluate("playground.plots.panels.filter((p) => p.path).length") == 2, "it stays")
    page.clean()


def runs_are_told_apart(page):
    """Colours of methods, remarks, a section, and a run that fails."""
    page.open("#model=rolling-disk")
    page.finished()
    page.after(set_up({"method": "gauss", "other": "rk4", "control": "step", "amount": "0.05", "time": "5"}, compare=True))
    colours = page.browser.evaluate("playground.plots.panels.map((p) => p.curves.map((c) => c.run === undefined ? -1 : [c.run, c.colour]).filter((x) => x !== -1))")
    same(sorted({tuple(one) for panel in colours for one in panel}), [(0, "#0072B2"), (1, "#D55E00")], "colours")
    same(page.browser.evaluate("[...document.querySelectorAll('figcaption b')].map((b) => b.style.background)"), ["rgb(0, 114, 178)", "rgb(213, 94, 0)"], "colours of the pictures")
    page.after(set_up({"time": "20", "amount": "50"}))
    check("not a whole number of steps" in page.browser.evaluate("document.getElementById('remarks').textContent"), "remarks as on the command line")
    page.browser.evaluate(f"{DATA}.failed = ''")
    page.write(OSCILLATOR + "event top: x'\n")
    page.browser.until("document.querySelectorAll('#section option').length === 2", "the events")
    page.after(set_up({"section": "top", "time": "40", "control": ""}))
    page.browser.until("playground.plots.panels.some((p) => p.title.startsWith('section at top'))", "a section")
    page.after(set_up({"section": ""}))
    page.write("model blows\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 + x^4/4\nconstraint c: y' = 0\nstart x = 1, x' = 1\nspan 5\ndraw trace (x, y)\n")
    page.browser.until("playground.system && playground.system.name === 'blows'", "another model")
    page.after(set_up({"method": "gauss", "other": "rk4", "control": "step", "amount": "0.01", "time": "5"}, compare=True))
    captions = page.browser.evaluate("[...document.querySelectorAll('figcaption')].map((c) => c.textContent)")
    check(all("ended at t = " in one for one in captions), captions)
    check("gauss: " in page.browser.evaluate("document.getElementById('message').textContent"), "the failed run is named")
    page.clean()


def camera_has_limits(page):
    """Never below the ground, to nothing or beyond; the wheel zooms, one finger scrolls the page, two turn and zoom."""
    page.open("#model=rolling-coin", width=400)
    page.finished()
    page.browser.evaluate("playground.player.pause()")
    camera = "(({ height, zoom, azimuth, toward }) => ({ height, zoom, azimuth, up: toward[2] }))(playground.views[0].camera)"
    at = page.browser.evaluate("(() => { const c = document.querySelector('#stage canvas'); c.scrollIntoView({ block: 'center' }); const r = c.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()")
    before = page.browser.evaluate(camera)
    for down in -9, 9:
        for _ in range(9):
            page.browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=at[0], y=at[1], deltaX=0, deltaY=300 * down)
        check(0.05 <= page.browser.evaluate(camera)["zoom"] <= 50, "limits of the zoom")
    page.browser.evaluate("document.querySelector('#stage canvas').focus()")
    for key, code in ("ArrowDown", 40), ("ArrowUp", 38):
        for _ in range(60):
            page.browser.key(key, code)
        seen = page.browser.evaluate(camera)
        check(seen["up"] > 0 and seen["height"] < 1.6, f"the camera is above the ground: {seen}")
    page.browser.key("Home", 36)
    same(page.browser.evaluate(camera), before, "Home resets the view")
    touch = lambda kind, *points: page.browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])
    scrolled = page.browser.evaluate("scrollY")
    touch("touchStart", at)
    for k in range(1, 9):
        touch("touchMove", (at[0], at[1] - 15 * k))
    touch("touchEnd")
    page.browser.until(f"scrollY > {scrolled} + 20", "one finger scrolls the page")
    same(page.browser.evaluate(camera), before, "one finger leaves the view alone")
    page.browser.evaluate(f"scrollTo(0, {scrolled}), new Promise((done) => setTimeout(done, 100))")
    touch("touchStart", (at[0] - 30, at[1]), (at[0] + 30, at[1]))
    for k in range(1, 6):
        touch("touchMove", (at[0] - 30 - 8 * k, at[1]), (at[0] + 30 + 12 * k, at[1]))
    touch("touchEnd")
    seen = page.browser.evaluate(camera)
    check(seen["zoom"] > 1.5 and seen["azimuth"] != before["azimuth"], f"two fingers zoom and turn: {seen}")
    page.clean()


def says_that_there_is_no_webgl(page):
    page.open("#model=rolling-coin")
    page.finished()
    said = page.browser.evaluate("""(() => { const texts = [], view = playground.views[0], context = view.canvas.getContext('2d'), fill = context.fillText;
        const made = renderers.made; renderers.made = { smooth: null, rough: null }; context.fillText = (text) => texts.push(text); view.draw(1); context.fillText = fill; renderers.made = made; return texts.join(); })()""")
    check("no WebGL" in said, said)
    page.clean()


def work_is_not_lost(page):
    """Edits survive a reload, a page opened anew, the gallery and Back; the address is that of the model."""
    text = OSCILLATOR + "# kept\n"
    page.open()
    page.finished()
    before = page.browser.evaluate(DONE)
    page.write(text)
    page.browser.until(f"{DONE} > {before} && location.hash.startsWith('#m=')", "the edited model in the address")
    page.browser.call("Page.reload")
    page.browser.until(f"document.readyState === 'complete' && {DATA}.done && document.querySelector('#editor textarea').value.length", "the page again")
    same(page.browser.evaluate(f"{FIELD}.value"), text, "text after a reload")
    page.open("")
    page.finished()
    same(page.browser.evaluate(f"{FIELD}.value"), text, "text after the page was opened anew")
    page.after("[...document.querySelectorAll('.card')].find((c) => c.textContent.startsWith('heavy-top')).click()")
    same(page.browser.evaluate("location.hash"), "#model=heavy-top", "address")
    check("Undo" in page.browser.evaluate("document.getElementById('notice').textContent"), "a way back")
    page.after("history.back()")
    same(page.browser.evaluate(f"{FIELD}.value"), text, "text after Back")
    page.after("[...document.querySelectorAll('.card')].find((c) => c.textContent.startsWith('heavy-top')).click()")
    page.after("document.querySelector('#notice button').click()")
    same(page.browser.evaluate(f"{FIELD}.value"), text, "text after Undo")
    page.clean()


def bad_links_say_so(page):
    for link, said in ("#model=nothing", "no model “nothing”"), ("#m=AAAA", "damaged"), ("#m=%", "damaged"):
        page.open(link)
        page.finished()
        check(said in page.browser.evaluate("document.getElementById('notice').innerText"), f"{link} is named")
        page.clean()
    page.open("#model=rattleback")
    page.finished()
    same(page.browser.evaluate("document.getElementById('notice').hidden"), True, "no notice")


def gallery_moves(page):
    """Every model is in a group, and those that are seen move, except for readers who want no motion."""
    page.open("#model=rolling-disk")
    page.finished()
    groups = page.browser.evaluate("[...document.querySelectorAll('#gallery section')].filter((s) => !s.hidden).map((s) => [s.querySelector('h2').textContent, s.querySelectorAll('.card').length])")
    known = page.browser.evaluate("playground.library.models.map((m) => m.name)")
    same((len(groups), sum(count for _, count in groups)), (8, len(known)), "groups")
    same(page.browser.evaluate("Object.values(GROUPS).flat().sort().filter((name) => !playground.library.models.some((m) => m.name === name))"), [], "names in groups that are no models")
    page.browser.evaluate("document.getElementById('gallery-open').click()")
    page.browser.until(f"Number({DATA}.thumbnails || 0) >= 3", "moving pictures")
    shot = "document.querySelector('.card canvas').toDataURL()"
    first = page.browser.evaluate(shot)
    page.browser.until(f"{shot} !== {json.dumps(first)}", "the first picture to move")
    page.browser.evaluate("document.getElementById('gallery').close()")
    page.clean()


def trials_change_the_settings(page):
    page.open("#model=rattleback")
    page.finished()
    trial = lambda text: page.after(f"[...document.querySelectorAll('#trials button')].find((b) => b.textContent === '{text}').click()")
    before = page.browser.evaluate("playground.system.v[2]")
    trial("the other way round")
    check(abs(page.browser.evaluate("playground.system.v[2]") + before) < 1e-9, "the spin has the other sign")
    trial("tolerance 1e-2")
    check("tolerance=0.01" in page.browser.evaluate("playground.trajectories[0].method"), "the tolerance")
    trial("compare with rk4")
    check(page.browser.evaluate("playground.trajectories[1].method").startswith("rk4"), "the comparison")
    page.clean()


def films_are_recorded(page):
    page.open("#model=rattleback")
    page.finished()
    page.browser.evaluate("document.querySelector('.record').click(); playground.player.speed = 4")
    size = int(page.browser.until(f"{DATA}.recorded", "a film"))
    check(size > 2000, f"a film of {size} bytes")
    same(page.browser.evaluate("document.querySelector('.record').textContent"), "● Record", "the button is back")
    page.clean()


def arrows_show_their_number(page):
    """The force that a constraint exerts is drawn, and the pointer on its arrow reads it."""
    page.open("#model=rolling-disk")
    page.finished()
    before = page.browser.evaluate(DONE)
    page.write("model b\nparameter m = 2\ncoordinate x, y\ncoordinate a angle\nlagrangian m/2*(x'^2 + y'^2) + a'^2/2\n"
               "constraint side: x'*sin(a) - y'*cos(a) = 0\nstart a' = 1, x' = 1\nspan 3\ndraw trace (x, y)\ndraw reaction side\n")
    page.browser.until(f"{DONE} > {before} && playground.system.name === 'b'", "the model")
    told = page.browser.evaluate("""(() => { const view = playground.views[0]; playground.player.pause(); playground.player.go(1); const v = view.kit.vectors[0], box = view.canvas.getBoundingClientRect();
        const lens = view.camera.lens(box.width, box.height); lens.updateMatrixWorld(); const p = new THREE.Vector3(...v.from.map((c, k) => (c + v.to[k]) / 2)).project(lens);
        view.canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + (1 + p.x) * box.width / 2, clientY: box.top + (1 - p.y) * box.height / 2 })); return view.told; })()""")
    same(told, "side: 2", "m times speed times turning")
    page.clean()


def pausing_stays_paused(page):
    page.open("#model=rolling-disk")
    page.finished()
    page.browser.evaluate("document.querySelector('.controls button').click(), playground.player.go(1)")
    page.after("(() => { const s = document.querySelector('#parameters input[type=range]'); s.value = 2; s.dispatchEvent(new Event('input')); })()")
    page.browser.evaluate("new Promise((done) => setTimeout(done, 300))")
    same(page.browser.evaluate("[playground.player.playing, playground.player.time]"), [False, 1], "paused at the same time")
    page.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    page.browser.open("about:blank")
    page.browser.open(page.address + "#model=rolling-disk")
    page.finished()
    same(page.browser.evaluate("playground.player.playing"), False, "nothing moves by itself for those who want no motion")
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
    cases = moves, errors_are_under_their_line, completes, sliders_and_start, start_is_dragged, compares, plots_cover_the_data, plots_follow_the_time, runs_are_told_apart, camera_has_limits, says_that_there_is_no_webgl, work_is_not_lost, bad_links_say_so, gallery_moves, trials_change_the_settings, films_are_recorded, arrows_show_their_number, pausing_stays_paused, shares, exports, fits_on_a_phone, texts_stay_texts
    with Browser() as browser:
        page = Page(browser, "file://" + path, program)
        tests = [(case.__name__, lambda case=case: case(page)) for case in cases]
        tests.append(("works_from_a_server", lambda: works_from_a_server(page, os.path.dirname(path))))
        return run_all(tests, workers=1)


if __name__ == "__main__":
    sys.exit(main())
