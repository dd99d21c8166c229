#!/usr/bin/env python3
"""figure_pages.py NONHOLO [--from DIR JSON]: makes the pictures and the tables of findings in docs/ anew.

Runs 'NONHOLO reproduce all --json', puts the PNGs into docs/images/figures (through pngquant, if it is there)
and writes each table of findings between its <!-- findings NAME --> and <!-- end -->."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
images = os.path.join(root, "docs/images/figures")


def table(figure):
    rows = ["| finding | measured | expected | |", "|---|---|---|---|"]
    for f in figure["findings"]:
        text = f["finding"] + (" [%s]" % f["case"] if f["case"] and "every case" in f["finding"] else "")
        said = re.match(r'(?:"[^"]*"|[^"])*?(?= (?:=|<|>|is) )', f["finding"])  # a label may hold such a sign too
        text = (said[0] if said else f["finding"]) + text[len(f["finding"]):]
        claimed = "claimed: " if "reproduced" in f["result"] else ""
        rows.append("| %s | %s | %s%s | %s |" % (text, f["measured_text"], claimed, f["expected_text"], f["result"]))
    return "\n".join(row.replace("|E", "E") for row in rows)


def write_pages(figures):
    for page in glob.glob(os.path.join(root, "docs/*.md")) + glob.glob(os.path.join(root, "docs/papers/*.md")):
        text = open(page, encoding="utf-8").read()
        new = re.sub(r"(<!-- findings (\S+) -->\n).*?(<!-- end -->)",
                     lambda m: m[1] + table(figures[m[2]]) + "\n" + m[3], text, flags=re.S)
        if new != text:
            open(page, "w", encoding="utf-8").write(new)


def copy_pictures(folder, names):
    os.makedirs(images, exist_ok=True)
    for name in names:
        target = os.path.join(images, name + ".png")
        shutil.copyfile(os.path.join(folder, name + ".png"), target)
        if shutil.which("pngquant"):
            subprocess.run(["pngquant", "--force", "--output", target, "24", target], check=True)


def main():
    if "--from" in sys.argv:
        folder, found = sys.argv[3], json.load(open(sys.argv[4]))
    else:
        folder = tempfile.mkdtemp()
        done = subprocess.run([sys.argv[1], "reproduce", "all", "--json", "--out", folder], stdout=subprocess.PIPE)
        found = json.loads(done.stdout)
    figures = {f["name"]: f for f in found["figures"]}
    write_pages(figures)
    copy_pictures(folder, figures)
    print("%d figures, %d findings passed, %d failed" % (len(figures), found["passed"], found["failed"]))


main()
