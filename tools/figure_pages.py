#!/usr/bin/env python3
"""figure_pages.py NONHOLO [--from DIR JSON]: regenerates the pictures and the tables of findings in docs/.

Runs 'NONHOLO reproduce all --json', puts the PNGs into docs/images/figures (through pngquant, if it is installed),
writes each table of findings between its <!-- findings NAME --> and <!-- end -->, and the summary of a figure of
verdicts, which is computed again with half its step, between <!-- verdicts NAME --> and <!-- end -->."""
import csv
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


HEAD = ["| finding | measured | expected | |", "|---|---|---|---|"]


def row(finding):
    """The quantity (with its case, if the finding is about every case), measured, expected, result."""
    said = re.match(r'(?:"[^"]*"|[^"])*?(?= (?:=|<|>|is) )', finding["finding"])  # a label may also contain such a sign
    text = said[0] if said else finding["finding"]
    if finding["case"] and "every case" in finding["finding"]:
        text += " [%s]" % finding["case"]
    claimed = "claimed: " if "reproduced" in finding["result"] else ""
    return [text, finding["measured_text"], claimed + finding["expected_text"], finding["result"]]


def span(measured):
    """One text for the values measured in several cases: the largest bound, or the range of the numbers."""
    numbers = [re.fullmatch(r"(round-off, at most |bounded by |)(-?\d[-+.\de]*)", m) for m in measured]
    if not all(numbers) or len({n[1] for n in numbers}) > 1:
        return None
    ordered = sorted((n[2] for n in numbers), key=float)
    one = numbers[0][1] or ordered[0] == ordered[-1]
    return numbers[0][1] + (ordered[-1] if one else "%s to %s" % (ordered[0], ordered[-1]))


def merged(rows):
    """Rows of one finding in several cases become one row, if they have the same result and can be expressed in one text."""
    out = []
    while rows:
        text = rows[0][0].split(" in every case [")[0]
        same = [r for r in rows if " in every case [" in r[0] and [r[0].split(" in every case [")[0], *r[2:]] == [text, *rows[0][2:]]]
        measured = span([r[1] for r in same]) if len(same) > 1 else None
        if measured:
            cases = "both cases" if len(same) == 2 else "all %d cases" % len(same)
            out.append(["%s in %s" % (text, cases), measured, *rows[0][2:]])
            rows = [r for r in rows if r not in same]
        else:
            out.append(rows[0])
            rows = rows[1:]
    return out


def table(rows):
    return "\n".join(HEAD + [("| %s |" % " | ".join(r)).replace("|E", "E") for r in merged(rows)])


BADNESS = ["round-off", "bounded", "random walk", "linear drift", "lost", "exponential growth", "not finite"]


def short(number):
    """One digit, such as 3e-4."""
    return re.sub(r"e([-+])0", r"e\1", "%.0e" % number)


def worst_verdict(rows):
    return max((r["verdict"] for r in rows), key=BADNESS.index)


def worst(rows, halved):
    """The worst verdict over all cases, in words, with the size of the error and its trend; marked if it is another one at half the step."""
    if not rows:
        return ""
    verdict = worst_verdict(rows)
    same = [r for r in rows if r["verdict"] == verdict]
    size = short(max(float(r["largest"]) for r in same))
    said = verdict if verdict == "round-off" else "%s, %s" % (verdict if verdict == "bounded" else "**%s**" % verdict, size)
    if verdict == "linear drift":
        said = "%s, **drifts** by %s&nbsp;t" % (size, short(max((float(r["slope"]) for r in same), key=abs)))
    other = worst_verdict(halved)
    return said if other == verdict else "%s (h/2: %s)" % (said, "drifts" if other == "linear drift" else other)


def read_verdicts(folder, name):
    with open(os.path.join(folder, name + ".csv"), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def halve(program, folder, name):
    """Runs a figure with half its step, as NAME-half."""
    text = open(os.path.join(root, "figures", name + ".fig"), encoding="utf-8").read()
    step = re.search(r"^step (\S+)$", text, re.M)
    text = text.replace(step[0], "step %g" % (float(step[1]) / 2)).replace("figure " + name, "figure %s-half" % name)
    path = os.path.join(folder, name + "-half.fig")
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"(?m)^(long )?(finding|claim).*\n", "", text))
    subprocess.run([program, "reproduce", path, "--quiet", "--json", "--out", folder], stdout=subprocess.DEVNULL, check=True)


def verdicts(program, folder, name):
    """A row for each method, best first: its worst verdict for each quantity over all cases."""
    halve(program, folder, name)
    rows, halved = (read_verdicts(folder, which) for which in (name, name + "-half"))
    methods, quantities = ([*dict.fromkeys(r[key] for r in rows)] for key in ("method", "quantity"))
    lines = ["| method | " + " | ".join(q.replace("_", " ") for q in quantities) + " |", "|---" * (len(quantities) + 1) + "|"]
    for method in reversed(methods):
        cells = (worst(*([r for r in one if (r["method"], r["quantity"]) == (method, q)] for one in (rows, halved))) for q in quantities)
        lines.append("| %s | %s |" % (method, " | ".join(cells)))
    return "\n".join(lines)


def write_pages(program, figures, folder):
    def replace(match):
        if match[2] not in figures:
            print("%s was not computed; its table is left as it was" % match[2], file=sys.stderr)
            return match[0]
        new = table([row(f) for f in figures[match[2]]["findings"]]) if match[1] == "findings" else verdicts(program, folder, match[2])
        return "<!-- %s %s -->\n%s\n<!-- end -->" % (match[1], match[2], new)

    for page in glob.glob(os.path.join(root, "docs/*.md")) + glob.glob(os.path.join(root, "docs/papers/*.md")):
        text = open(page, encoding="utf-8").read()
        new = re.sub(r"<!-- (findings|verdicts) (\S+) -->\n.*?<!-- end -->", replace, text, flags=re.S)
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
    write_pages(sys.argv[1], figures, folder)
    copy_pictures(folder, figures)
    print("%d figures, %d findings passed, %d failed" % (len(figures), found["passed"], found["failed"]))


if __name__ == "__main__":
    main()
