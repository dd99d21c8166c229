#!/usr/bin/env python3
"""test_pictures.py NONHOLO: sizes, letters and formats of still pictures and films."""
import os
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree

from harness import PATIENCE, Program, cases_in_folders, check, run_all, same

RUN = ("run", "rolling-coin", "--time", "3", "--quiet")


def draw(program, folder, name, *words):
    path = os.path.join(folder, name)
    done = program(*RUN, "--plot", path, *words)
    same((done.returncode, done.stderr), (0, ""), name)
    with open(path, "rb") as file:
        return file.read()


def refused(program, *words):
    done = program(*RUN, *words)
    same(done.returncode, 2, done.stderr)
    return done.stderr


def pixels(program, folder):
    same(struct.unpack(">II", draw(program, folder, "a.png", "--size", "640x700")[16:24]), (640, 700))
    same(struct.unpack(">II", draw(program, folder, "b.png", "--size", "900px")[16:20] + b"\0\0\0\1")[0], 900)
    svg = xml.etree.ElementTree.fromstring(draw(program, folder, "a.svg", "--size", "700x800"))
    same((svg.get("width"), svg.get("height")), ("700", "800"))


def box(pdf):
    return [float(x) for x in re.search(rb"/MediaBox \[([^]]*)\]", pdf).group(1).split()]


def millimetres(program, folder):
    """A column of a paper, and 300 dots per inch."""
    across = box(draw(program, folder, "a.pdf", "--size", "85mm"))[2]
    check(abs(across - 85 / 25.4 * 72) <= 1, across)
    across, up = box(draw(program, folder, "b.pdf", "--size", "120x200mm"))[2:]
    check(abs(across - 120 / 25.4 * 72) <= 1 and abs(up - 200 / 25.4 * 72) <= 1, (across, up))
    same(struct.unpack(">I", draw(program, folder, "a.png", "--size", "85mm")[16:20])[0], 1004)
    bounds = re.search(rb"%%BoundingBox: *(\d+) +(\d+) +(\d+) +(\d+)", draw(program, folder, "a.eps", "--size", "85mm"))
    check(abs(int(bounds[3]) - int(bounds[1]) - 241) <= 1, bounds[0])
    check(abs(box(draw(program, folder, "c.pdf"))[2] - 170 / 25.4 * 72) <= 1, "papers")


def fonts(program, folder, *words):
    return sorted(set(re.findall(rb'font-size="([0-9.]+)"', draw(program, folder, "f.svg", "--no-title", *words))))


def letters_keep_their_height(program, folder):
    """In points, whatever the width: 8 in millimetres are 10.67 pixels."""
    narrow, wide = (fonts(program, folder, "--size", size) for size in ("60mm", "170mm"))
    same(narrow, wide)
    check(max(map(float, narrow)) <= 10.7, narrow)  # gnuplot rounds to tenths
    same(max(map(float, fonts(program, folder, "--size", "170mm", "--font", "12"))), 16.0)


def axes_are_aligned(program, folder):
    """The left ends of all panels in a column of panels are below each other."""
    tex = draw(program, folder, "a.tex", "--size", "85mm").decode()
    lefts, widths = zip(*re.findall(r"at=\{\(([0-9.]+)mm,[0-9.]+mm\)\}, width=([0-9.]+)mm", tex))
    same((len(lefts) > 4, len(set(lefts)), len(set(widths))), (True, 1, 1))
    tops = [float(x) for x in re.findall(r"at=\{\([0-9.]+mm,([0-9.]+)mm\)\}", tex)]
    same(sorted(tops, reverse=True), tops)


def no_title(program, folder):
    text = lambda *words: "".join(xml.etree.ElementTree.fromstring(draw(program, folder, "t.svg", *words)).itertext())
    check("rolling-coin" in text() and "rolling-coin" not in text("--no-title"), "title")


def tex_compiles(program, folder):
    """Symbols as in the model's LaTeX."""
    tex = draw(program, folder, "a.tex", "--size", "85mm").decode()
    for word in (r"ylabel={$y$}", r"\addlegendentry{$\theta$}", r"$-\pi/2$", "ymode=log"):
        check(word in tex, word)
    if not shutil.which("pdflatex") or not shutil.which("kpsewhich") or subprocess.run(["kpsewhich", "pgfplots.sty"], stdout=subprocess.DEVNULL).returncode:
        return
    with open(os.path.join(folder, "doc.tex"), "w") as file:
        file.write("\\documentclass{article}\\usepackage{pgfplots}\\pgfplotsset{compat=1.17}\\usepgfplotslibrary{fillbetween}"
                   "\\begin{document}\\input{a.tex}\\end{document}\n")
    done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "doc.tex"], cwd=folder, stdout=subprocess.PIPE, timeout=PATIENCE)
    same(done.returncode, 0, done.stdout.decode(errors="replace")[-2000:])


def plot_of_a_file(program, folder):
    data, path = os.path.join(folder, "a.csv"), os.path.join(folder, "b.png")
    program.json(*RUN, "-o", data)
    same(program("plot", data, "--columns", "y/x,theta", "--size", "500x300", "-o", path).returncode, 0)
    with open(path, "rb") as file:
        same(struct.unpack(">II", file.read(24)[16:]), (500, 300))


def what_does_not_suit(program, folder):
    """Before anything is computed."""
    path = lambda name: os.path.join(folder, name)
    for words, message in ([["--size", "85mm"], "--plot"], [["--plot", path("a.svg"), "--size", "85cm"], "W[xH][mm|px]"],
                           [["--plot", path("a.svg"), "--size", "0x10"], "W[xH][mm|px]"], [["--plot", path("a.svg"), "--size", "1e5"], "W[xH][mm|px]"],
                           [["--plot", path("a.svg"), "--size", "99999"], "at most"], [["--plot", path("a.svg"), "--size", "10.5"], "whole numbers"],
                           [["--plot", path("a.svg"), "--fps", "10"], "only films"], [["--plot", path("a.gif"), "--size", "85mm"], "pixels"],
                           [["--plot", path("a.html"), "--size", "800x450"], "window"], [["--plot", path("a.gif"), "--camera", "up"], "AZIMUTH"],
                           [["--plot", path("a.gif"), "--camera", "1,2,3,4"], "AZIMUTH"], [["--plot", path("a.gif"), "--camera", "0,91"], "AZIMUTH"],
                           [["--plot", path("a.svg"), "--caption", "x"], "caption"], [["--plot", path("a.svg"), "--camera", "top"], "camera"],
                           [["--plot", path("a.svg"), "--size", "20x20"], "do not fit"], [["--plot", path("a.svg"), "--font", "-1"], "--font"]):
        check(message in refused(program, *words), words)
    same(os.listdir(folder), [])


def films(program, folder):
    """Their size, their pictures and their pace; skipped without the programs that make them."""
    if not shutil.which("ffprobe") or not (shutil.which("chromium") or shutil.which("google-chrome")):
        return
    draw(program, folder, "a.mp4", "--size", "320x180", "--fps", "10", "--speed", "3", "--camera", "30,15", "--caption", "t = {t}")
    found = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=width,height,r_frame_rate,nb_read_frames", "-of",
                            "csv=p=0", os.path.join(folder, "a.mp4")], stdout=subprocess.PIPE, timeout=PATIENCE).stdout.decode().strip()
    same(found, "320,180,10/1,10")
    check("even" in refused(program, "--plot", os.path.join(folder, "b.mp4"), "--size", "321x180"), "odd")


def main():
    program = Program(sys.argv[1])
    return run_all(cases_in_folders(globals(), program))


sys.exit(main())
