"""The gallery: a page with a picture and a short text for every shipped model, drawn from runs of the library itself."""

import json
import math
import os
import shutil

import nonholo

WIDTH, HEIGHT, EDGE = 340, 250, 34

# What the picture of each model shows: one column against another, with equal scales unless alike=False, and how it is
# run; "others" are further curves in the same picture, "moves" how much time the moving picture shows. For a model that is not listed here, the first coordinate is drawn
# against time.
CONTACTS = dict(method="dop853")  # of contacts and grips

VIEWS = {
    "appell-hamel": dict(x="x", y="y", time=12),
    "asymmetric-gearbox": dict(x="xi", y="xi'", time=8, alike=False),
    "ball-in-bowl": dict(x="x", y="y", time=20, step=0.01),
    "ball-in-cone": dict(x="x", y="y", time=8, step=0.005),
    "benchmark-bicycle": dict(x="t", y="lean", time=6, step=0.01, alike=False, others=[("t", "steer")]),
    "bicycle": dict(x="t", y="lean", time=6, step=0.01, alike=False, others=[("t", "steer")]),
    "billiard-ball": dict(x="x", y="y", time=1, step=0.01, how=CONTACTS),
    "bowling-ball": dict(x="t", y="slip", time=3, step=0.01, alike=False, how=CONTACTS),
    "braking-robot": dict(x="t", y="speed", time=1.5, step=0.01, alike=False, how=CONTACTS),
    "chaotic-particle": dict(x="x", y="y[1]", time=60),
    "chaotic-particle-holonomic": dict(x="x", y="y[1]", time=60),
    "chaplygin-ball": dict(x="x", y="y", time=60),
    "chaplygin-sleigh": dict(x="x1", y="x2", time=250, moves=180),
    "chaplygin-sphere": dict(x="x", y="y", time=40),
    "closed-chain": dict(x="t", y="width", time=4, step=0.005, alike=False),
    "disk-chain": dict(x="x[1]", y="y[1]", time=40, set={"N": 3}, others=[("x[2]", "y[2]"), ("x[3]", "y[3]")]),
    "driven-sleigh": dict(x="x1", y="x2", time=120),
    "dry-skate": dict(x="x", y="y", time=20, moves=20),
    "falling-rod": dict(x="x", y="z", time=0.9, step=0.01, how=CONTACTS),
    "fourbar-skate": dict(x="x", y="y", time=12, step=0.02),
    "free-particle": dict(x="x", y="z", time=10),
    "harmonic-cvt": dict(x="x1", y="x2", time=60),
    "heavy-top": dict(x="t", y="nutation", time=30, step=0.02, alike=False),
    "hopping-hoop": dict(x="x", y="z", time=2, step=0.01, alike=False, how=CONTACTS),
    "inclined-skate": dict(x="x1", y="x2", time=30),
    "knife-edge": dict(x="x1", y="x2", time=30),
    "mobile-robot": dict(x="x1", y="x2", time=40),
    "mobile-robot-wheel": dict(x="t", y="psi'", time=20, alike=False),
    "nonholonomic-particle": dict(x="q1", y="q3", time=60),
    "one-spring-cvt": dict(x="x", y="y", time=60),
    "pendulum-cvt": dict(x="x", y="y", time=60),
    "rattleback": dict(x="t", y="spin_rate", time=8, step=0.002, alike=False),
    "rattleback-rotation": dict(x="t", y="spin_rate", time=8, step=0.002, alike=False),
    "reduced-cvt": dict(x="x", y="x'", time=60),
    "reduced-disk": dict(x="theta", y="phi", time=20),
    "reduced-sleigh": dict(x="x1", y="theta", time=60),
    "rocking-block": dict(x="t", y="th", time=12, step=0.02, alike=False, how=CONTACTS),
    "roller-racer": dict(x="x", y="y", time=25, step=0.02),
    "rolling-coin": dict(x="x", y="y", time=60),
    "rolling-coin-rotation": dict(x="x", y="y", time=20, step=0.01),
    "rolling-disk": dict(x="x1", y="x2", time=20),
    "routh-sphere": dict(x="x", y="y", time=60, step=0.05),
    "slipping-sleigh": dict(x="x", y="y", time=10, moves=10, how=CONTACTS),
    "snakeboard": dict(x="x", y="y", time=25, step=0.02),
    "sphere-on-sphere": dict(x="x", y="z", time=2.5, step=0.01, how=CONTACTS),
    "spherical-robot": dict(x="x", y="y", time=20, step=0.01),
    "suslov": dict(x="w1", y="w2", time=40),
    "three-shaft-cvt": dict(x="x1", y="x2", time=60),
    "tippe-top": dict(x="x", y="y", time=1, step=0.002, how=CONTACTS),
    "tractor-trailers": dict(x="x", y="y", time=30),
    "turntable-ball": dict(x="x", y="y", time=25),
    "two-wheeled-robot": dict(x="x", y="y", time=40),
    "veselova": dict(x="R.w1", y="R.w2", time=40),
}


def simulate(name, view):
    step = view.get("step", 0.05)
    every = max(1, round(view["time"] / step / 4000))
    how = view.get("how", dict(method="gauss", stages=3))
    return nonholo.simulate(name, step=step, time=view["time"], set=view.get("set"), every=every, progress=False, **how)


def bounds(values):
    least, greatest = min(values), max(values)
    margin = 0.06 * (greatest - least) or 1.0
    return least - margin, greatest + margin


def ticks(least, greatest):
    """A few round numbers."""
    raw = (greatest - least) / 6
    unit = 10 ** math.floor(math.log10(raw))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= raw)
    first = math.ceil(least / step)
    return [round(i * step, 12) for i in range(first, math.floor(greatest / step) + 1)]


class Sheet:
    """A small picture with axes, as SVG."""

    def __init__(self, xs, ys, alike):
        self.x, self.y = bounds(xs), bounds(ys)
        if alike:
            self._make_alike()

    def _make_alike(self):
        scale = max((self.x[1] - self.x[0]) / (WIDTH - 2 * EDGE), (self.y[1] - self.y[0]) / (HEIGHT - 2 * EDGE))
        for name, length in (("x", WIDTH - 2 * EDGE), ("y", HEIGHT - 2 * EDGE)):
            least, greatest = getattr(self, name)
            half = scale * length / 2
            setattr(self, name, ((least + greatest) / 2 - half, (least + greatest) / 2 + half))

    def place(self, x, y):
        across = EDGE + (x - self.x[0]) / (self.x[1] - self.x[0]) * (WIDTH - 2 * EDGE)
        down = HEIGHT - EDGE - (y - self.y[0]) / (self.y[1] - self.y[0]) * (HEIGHT - 2 * EDGE)
        return f"{across:.1f},{down:.1f}"

    def axes(self, x_label, y_label):
        left, right, top, low = EDGE, WIDTH - EDGE, EDGE, HEIGHT - EDGE
        yield f'<rect x="{left}" y="{top}" width="{right - left}" height="{low - top}" class="frame"/>'
        for value in ticks(*self.x):
            x = self.place(value, self.y[0]).split(",")[0]
            yield f'<line x1="{x}" x2="{x}" y1="{low}" y2="{low - 4}" class="frame"/>'
            yield f'<text x="{x}" y="{low + 13}" text-anchor="middle">{value:g}</text>'
        for value in ticks(*self.y):
            y = self.place(self.x[0], value).split(",")[1]
            yield f'<line x1="{left}" x2="{left + 4}" y1="{y}" y2="{y}" class="frame"/>'
            yield f'<text x="{left - 4}" y="{float(y) + 3.5:.1f}" text-anchor="end">{value:g}</text>'
        yield f'<text x="{right}" y="{low + 26}" text-anchor="end" class="name">{x_label}</text>'
        yield f'<text x="{left - 6}" y="{top - 8}" class="name">{y_label}</text>'

    def curve(self, xs, ys, colour):
        places = [self.place(a, b) for a, b in zip(xs, ys)]
        kept = [p for i, p in enumerate(places) if i == 0 or p != places[i - 1]]
        yield f'<polyline points="{" ".join(kept)}" fill="none" stroke="{colour}" stroke-width="1.3"/>'

    def ends(self, xs, ys):
        for i, style in ((0, 'fill="white" stroke="#a33"'), (-1, 'fill="#a33"')):
            x, y = self.place(xs[i], ys[i]).split(",")
            yield f'<circle cx="{x}" cy="{y}" r="3.4" {style}/>'


STYLE = "text{font:10px sans-serif;fill:#555}.name{font-style:italic;fill:#111;font-size:12px}.frame{fill:none;stroke:#bbb}"


COLOURS = ("#25a", "#c90", "#393", "#939")


def draw(run, view):
    """One curve, or several in the same axes with names in their colours."""
    pairs = [(view["x"], view["y"]), *view.get("others", [])]
    curves = [(run[x].tolist(), run[y].tolist()) for x, y in pairs]
    alike = view.get("alike", True)
    sheet = Sheet([a for xs, _ in curves for a in xs], [a for _, ys in curves for a in ys], alike)
    names = ", ".join(f'<tspan fill="{colour}">{y}</tspan>' for (_, y), colour in zip(pairs, COLOURS)) if len(pairs) > 1 else view["y"]
    parts = list(sheet.axes(view["x"] if len(pairs) == 1 or not alike else view["x"].split("[")[0], names))
    for (xs, ys), colour in reversed(list(zip(curves, COLOURS))):
        parts += sheet.curve(xs, ys, colour)
        parts += sheet.ends(xs, ys) if alike else []
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">\n'
        f"<style>{STYLE}</style>\n{body}\n</svg>\n"
    )


FRAMES, LONGEST = 200, 15  # of the moving pictures: frames, and time at most unless the view says how much


def moving(name, view):
    """The scene of a model and its frames, for live.js."""
    run = simulate(name, dict(view, time=view.get("moves", min(view["time"], LONGEST))))
    system = nonholo.load(name).system(view.get("set"))
    rows = [round(i * (len(run.t) - 1) / (FRAMES - 1)) for i in range(FRAMES)]
    frames = [system.drawn(run.q[i], run.v[i], run.t[i]) for i in rows]
    channels = [[float(f"{frame[c]:.5g}") for frame in frames] for c in range(system.scene["channels"])]
    return {"scene": system.scene, "times": [float(f"{run.t[i]:.5g}") for i in rows], "channels": channels}


def put_scripts(folder):
    """The scripts that draw the scenes, beside the pictures."""
    here = os.path.dirname(os.path.abspath(__file__))
    for source in ("../../third_party/three/three.min.js", "../../src/output/scene.js", "../../src/output/scene_paint.js", "../../src/output/scene_shapes.js", "../../src/output/scene_view.js", "live.js"):
        shutil.copy(os.path.join(here, source), os.path.join(folder, "gallery"))


def kinds(facts):
    count = len(facts.constraints)
    words = sorted(set(facts.constraints.values()))
    said = f"{len(facts.velocities)} velocities, {count} {' and '.join(words)} constraint{'s' if count != 1 else ''}"
    said += ", integrable" if facts.integrable else ""
    said += f", driver `{facts.driver}`" if facts.driver else ""
    said += "" if facts.conservative else ", external forces"
    return said + ("" if facts.autonomous else ", depends on time")


HEAD = """# Gallery

This page shows every shipped model, drawn from a run with `gauss:stages=3`. Paths have equal scales on both axes; an open circle
marks the start and a filled one the end. Above, the mechanism moves as its model draws it ([seeing it move](animation.md)).
`nonholo models NAME` prints a model, and `nonholo check NAME` describes it. Each model was
compared with a solution found without nonholo (`test/cli/test_models.py`).

<div class="models">
"""


def entry(name, summary, folder):
    """Draws one model into a folder; returns its part of the page."""
    model = nonholo.load(name)
    view = VIEWS.get(name)
    facts = model.check(view.get("set") if view else None)
    view = view or dict(x="t", y=(facts.coordinates + facts.velocities)[0], time=20, alike=False)
    with open(os.path.join(folder, "gallery", name + ".svg"), "w") as file:
        file.write(draw(simulate(name, view), view))
    with open(os.path.join(folder, "gallery", name + ".js"), "w") as file:
        scene = json.dumps(moving(name, view), separators=(",", ":"))
        file.write(f"(window.liveScenes = window.liveScenes || {{}})[{json.dumps(name)}] = {scene};\n")
    title, _, rest = summary.partition(":")
    changed = "".join(f", {k} = {v:g}" for k, v in view.get("set", {}).items())
    said = f"{kinds(facts)}; drawn to t = {view['time']:g}{changed}. Advised: `{facts.advised}`."
    return ["<div>", "", f"## {name}", "", f"<!-- live {name} -->", "", f"**{title}:**{rest}" if rest else f"**{title}**", "", said[0].upper() + said[1:], "",
            "<details><summary>Model text</summary>", "", "```nh", model.text.strip(), "```", "", "</details>", "", "</div>", ""]


def page(folder):
    """Draws the pictures into a folder; returns the text of the page."""
    os.makedirs(os.path.join(folder, "gallery"), exist_ok=True)
    parts = [line for name, summary in nonholo.models().items() for line in entry(name, summary, folder)]
    put_scripts(folder)
    return HEAD + "\n".join(parts) + "</div>\n"


if __name__ == "__main__":
    import sys

    os.makedirs(sys.argv[1], exist_ok=True)
    with open(os.path.join(sys.argv[1], "gallery.md"), "w") as file:
        file.write(page(sys.argv[1]))
