#!/usr/bin/env python3
"""bars.py PAGE.md OUT.svg: draws the first table of the performance page as bars, one panel for each chosen column."""

import re
import sys

COLUMNS = {"dla01, CVT": "dla01, pendulum CVT", "dla01, chaotic N=3": "dla01, chaotic particle",
           "gauss s=3, CVT": "gauss (3 stages), pendulum CVT", "gauss s=3, chaotic N=3": "gauss (3 stages), chaotic particle"}
LABELS, PANEL, GAP, ROW, TOP, LARGEST = 240, 150, 22, 24, 58, 3.2
COLOURS = {"hand-written": "#888", "compiled": "#25a", "user": "#693", "tape": "#c80"}


def first_table(text):
    rows = re.search(r"(?:^\|.*\n)+", text, re.M)[0].strip().split("\n")
    cells = [[c.strip() for c in row.strip("|").split("|")] for row in rows]
    return cells[0], cells[2:]


def colour(label):
    return next(c for word, c in COLOURS.items() if label.startswith(word))


def length(value):
    """Of a bar: a multiple of the hand-written step; the first row has times, which are 1."""
    return (1.0 if value.endswith("ns") else float(value)) / LARGEST * PANEL


def bar(x, y, label, value):
    return f'<rect x="{x}" y="{y + 4}" width="{length(value):.1f}" height="{ROW - 8}" fill="{colour(label)}"/>'


def number(x, y, value):
    """Beside its bar, or inside if the bar is long; a white border keeps it apart from the line at 1."""
    end = x + length(value)
    if length(value) > PANEL - 40:
        return f'<text x="{end - 4:.1f}" y="{y + 16}" text-anchor="end" fill="#fff">{value}</text>'
    return f'<text x="{end + 4:.1f}" y="{y + 16}" fill="#333" stroke="#fff" stroke-width="4" paint-order="stroke">{value}</text>'


def picture(text):
    head, rows = first_table(text)
    width, height = LABELS + len(COLUMNS) * (PANEL + GAP), TOP + len(rows) * ROW + 14
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
             'font-family="sans-serif" font-size="12">', f'<rect width="{width}" height="{height}" fill="#fff"/>',
             f'<text x="{LABELS - 12}" y="20" text-anchor="end" font-weight="bold">time per step, hand-written C = 1</text>']
    for i, row in enumerate(rows):
        parts.append(f'<text x="{LABELS - 12}" y="{TOP + i * ROW + 16}" text-anchor="end" fill="#333">{row[0]}</text>')
    for panel, (column, title) in enumerate(COLUMNS.items()):
        x, place = LABELS + panel * (PANEL + GAP), head.index(column)
        method, _, model = title.partition(", ")
        parts.append(f'<text x="{x}" y="20" font-weight="bold">{method}</text><text x="{x}" y="38" fill="#555">{model}</text>')
        one = x + PANEL / LARGEST
        filled = [(TOP + i * ROW, row[0], row[place]) for i, row in enumerate(rows) if row[place]]
        parts += [bar(x, y, label, value) for y, label, value in filled]
        parts.append(f'<line x1="{one:.1f}" x2="{one:.1f}" y1="{TOP - 6}" y2="{height - 10}" stroke="#333" stroke-dasharray="3 3"/>')
        parts.append(f'<line x1="{x}" x2="{x}" y1="{TOP - 6}" y2="{height - 10}" stroke="#bbb"/>')
        parts += [number(x, y, value) for y, _, value in filled]
    return "\n".join(parts) + "\n</svg>\n"


def main():
    with open(sys.argv[1]) as page, open(sys.argv[2], "w") as out:
        out.write(picture(page.read()))


if __name__ == "__main__":
    main()
