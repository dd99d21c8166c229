"""test_notebooks.py SOURCE [FOLDER]: executes the example notebooks; the HTML representation of objects is well-formed.

With a folder, the notebooks are left there as pages for viewing."""

import glob
import os
import re
import subprocess
import sys
import tempfile
from html.parser import HTMLParser

import numpy as np

import nonholo
from nonholo.notebook import curves

SOURCE = os.path.abspath(sys.argv[1])


class Balanced(HTMLParser):
    """Every element that is opened is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.tables, self.pictures = [], 0, 0

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tables += tag == "table"
        self.pictures += tag == "polyline"

    def handle_startendtag(self, tag, attributes):
        self.pictures += tag == "polyline"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


def check_curves():
    """A constant with its round-off is a flat line, and a gap is not bridged."""
    t = np.linspace(0, 1, 1000)
    flat = curves(t, {"energy": 3.5 + 1e-15 * np.sin(1e5 * t)})
    assert len(set(re.findall(r",([\d.]+)", flat.split("points=")[1]))) == 1 and "energy: 3.5<" in flat, flat
    gap = curves(t, {"x": np.where((t > 0.4) & (t < 0.6), np.nan, t)})
    assert gap.count("<polyline") == 2 and "nan" not in gap, gap
    assert max(float(b) - float(a) for a, b in re.findall(r"([\d.]+),[\d.]+ ([\d.]+),", gap)) < 5, gap


def check_html():
    text = "model evil\ncoordinate x, y\nlagrangian x'^2 + y'^2 - x^2   # <script>alert(1)</script>\nstart x = 1\n"
    model = nonholo.load(text)
    run = nonholo.run(model, "gauss", step=0.1, steps=50)
    compared = nonholo.compare(model, ["gauss"], step=0.1, steps=50, progress=False)
    shown = [model, model.system(), run, next(iter(compared.values())) if isinstance(compared, dict) else compared[0]]
    for thing in shown:
        parser = Balanced()
        html = thing._repr_html_()
        assert "<script" not in html
        parser.feed(html)
        assert not parser.open, type(thing)
        if thing is run:
            assert parser.tables == 2 and parser.pictures == len(run.columns) - 1, (parser.tables, parser.pictures)
    try:
        import pandas  # noqa: F401
    except ImportError:
        return
    frame = run.to_pandas()
    assert list(frame.columns) == run.columns[1:] and (frame["x"].to_numpy() == run["x"]).all() and frame.index.name == "t"


def check_progress():
    """In a terminal the line is wiped out; in a notebook its output becomes empty."""
    import io

    from nonholo import progress

    written, shown = io.StringIO(), []
    before, sys.stderr = sys.stderr, written
    try:
        bar = progress.Bar(True)
        bar.last = -1e9
        bar.update(0.5)
        bar.end()
    finally:
        sys.stderr = before
    assert "50%" in written.getvalue() and written.getvalue().split("\r")[-2].strip() == ""

    class Place:
        def update(self, line):
            shown.append(line._repr_html_())

    bar = progress.Bar(True)
    bar.place, bar.last = Place(), -1e9
    bar.update(0.25)
    bar.end()
    assert len(shown) == 2 and "25%" in shown[0] and shown[1] == "", shown


def can_optimise():
    """Whether the library was built with LAPACK and IPOPT, and finds them."""
    try:
        nonholo.optimise("model m\nparameter k = 1\ncoordinate x\nlagrangian x'^2/2\nstart x' = k\n", vary="k", end="x = 1", time=1, tries=1)
    except nonholo.Error as error:
        assert "LAPACK" in str(error) or "IPOPT" in str(error), error
        return False
    return True


def check_notebooks(folder):
    """All at once: the kernels take seconds to start."""
    books = sorted(glob.glob(os.path.join(SOURCE, "examples", "notebooks", "*.ipynb")))
    assert len(books) == 6
    if not can_optimise():
        books = [book for book in books if os.path.basename(book) not in ("fit.ipynb", "optimise.ipynb", "control.ipynb")]
    done = subprocess.run([sys.executable, "-m", "nbconvert", "--execute", "--to", "html", "--output-dir", folder, *books],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    for book in books:
        with open(os.path.join(folder, os.path.basename(book)[:-6] + ".html"), encoding="utf-8") as file:
            page = file.read()
        assert "<polyline" in page or "verdict" in page, book
        assert "% " not in page.partition("</style>")[0] and "s left" not in page, "a progress bar stayed behind"


def main():
    check_curves()
    check_html()
    check_progress()
    try:
        import ipykernel, nbconvert  # noqa: E401, F401
    except ImportError:
        print("skipped: no nbconvert and ipykernel (tools/setup.sh python)")
        sys.exit(77)
    if len(sys.argv) > 2:
        check_notebooks(sys.argv[2])
    else:
        with tempfile.TemporaryDirectory() as folder:
            check_notebooks(folder)
    print("notebooks executed")


if __name__ == "__main__":
    main()
