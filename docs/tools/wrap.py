#!/usr/bin/env python3
"""wrap.py [--check] [PAGE.md...]: wraps the prose of Markdown pages at 100 columns; of all pages unless some are named.

Paragraphs and list items are filled; headings, tables, code, displayed formulas, HTML and comments are left as they
are. Code spans, formulas and links are not broken where they fit on a line. --check changes nothing and fails when
a page is not wrapped."""

import glob
import os
import re
import sys

WIDTH = 100
ROOT = os.path.relpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
ITEM = re.compile(r"(\s*)([-*]|\d+\.) +")
KEPT = re.compile(r"\s*(#|\||<|!\[|\$\$|$)")  # lines that are no prose: headings, tables, HTML, pictures, formulas
UNBROKEN = re.compile(r"[^\s`$]*(?:`[^`]*`|\$[^$]+\$)[^\s`$]*(?:(?:`[^`]*`|\$[^$]+\$)[^\s`$]*)*|\S+")
MARK = re.compile(r"([-+*#>|]|\d+[.)])$")  # what would become a mark of Markdown at the beginning of a line


def fill(words, first, rest):
    """Lines of at most WIDTH columns; the first is indented by first, the others by rest."""
    lines, line = [], first
    for i, word in enumerate(words):
        gap = "" if line.strip() == "" or line == first else " "
        follows = len(words[i + 1]) + 1 if i + 1 < len(words) and MARK.match(words[i + 1]) else 0
        if len(line) + len(gap) + len(word) + follows > WIDTH and line not in (first, rest):
            lines.append(line)
            line, gap = rest, ""
        line += gap + word
    return lines + [line]


def blocks(lines):
    """(kind, lines): 'prose' for a paragraph or a list item, 'kept' for everything else."""
    i = 0
    while i < len(lines):
        if re.match(r"\s*```", lines[i]) or lines[i].strip() == "$$" or re.match(r"\$\$(?!.*\$\$)", lines[i]):
            fence = "```" if "```" in lines[i] else "$$"
            end = i + 1
            while end < len(lines) and fence not in lines[end]:
                end += 1
            yield "kept", lines[i : end + 1]
            i = end + 1
        elif KEPT.match(lines[i]):
            yield "kept", [lines[i]]
            i += 1
        else:
            end = i + 1
            while end < len(lines) and not KEPT.match(lines[end]) and not ITEM.match(lines[end]) and "```" not in lines[end]:
                end += 1
            yield "prose", lines[i:end]
            i = end


def wrapped(text):
    out = []
    for kind, lines in blocks(text.split("\n")):
        if kind == "kept":
            out += lines
            continue
        item = ITEM.match(lines[0])
        indent = re.match(r"\s*", lines[0])[0]
        first = item[0] if item else indent
        rest = " " * len(item[0]) if item else indent
        words = UNBROKEN.findall(" ".join(line.strip() for line in lines)[len(first.lstrip()) if item else 0 :])
        out += fill(words, first, rest)
    return "\n".join(out)


def main():
    wrong = []
    named = [a for a in sys.argv[1:] if a != "--check"]
    pages = named or [p for folder in ("", "docs", "docs/papers") for p in sorted(glob.glob(os.path.join(ROOT, folder, "*.md")))]
    for path in pages:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        new = wrapped(text)
        if new != text and "--check" in sys.argv:
            first = next(i for i, (a, b) in enumerate(zip(text.split("\n"), new.split("\n"))) if a != b)
            wrong.append(f"{path}:{first + 1}: not wrapped at {WIDTH} columns (docs/tools/wrap.py {path} does it)")
        elif new != text:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
    print("\n".join(wrong) or f"{len(pages)} pages")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
