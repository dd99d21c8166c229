"""How objects are displayed in notebooks: tables and small pictures, as HTML without scripts."""

from __future__ import annotations

import os
import re
import tempfile
from html import escape
from typing import Any, Callable, Mapping, Sequence

import numpy as np

POINTS, WIDTH, HEIGHT, MOST = 400, 260, 90, 12  # the size of a small picture, and how many there are
STILL = 1e-7  # of its size: what a constant moves by


class Picture:
    """A picture in SVG; notebooks show it."""

    def __init__(self, svg: str):
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def __repr__(self) -> str:
        return f"<picture, {len(self.svg)} characters of SVG>"


class Frame:
    """A page with scripts of its own; notebooks show it in a frame that can reach nothing outside of it."""

    def __init__(self, html: str, height: int):
        self.html, self.height = html, height

    def _repr_html_(self) -> str:
        return f'<iframe sandbox="allow-scripts" srcdoc="{escape(self.html)}" style="width: 100%; height: {self.height}px; border: 0"></iframe>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def __repr__(self) -> str:
        return f"<page, {len(self.html)} characters of HTML>"


def size_of(text: str | None) -> tuple[float, float, bool]:
    """Width and height of "800x450", "85mm" or "85x60mm", and whether they are millimetres; 0 is as advised."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(?:x(\d+(?:\.\d+)?))?(mm|px)?", text) if text is not None else None
    if text is not None and not found:
        raise ValueError(f"size: expected W, WxH, Wmm or WxHmm, as in 800x450 or 85mm, not {text!r}")
    return (float(found[1]), float(found[2] or 0), found[3] == "mm") if found else (0.0, 0.0, False)


def written(write: Callable[[str], Any], name: str) -> str:
    """The text that a function writes into a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        write(path)
        with open(path, encoding="utf-8") as file:
            return file.read()


def drawn(draw: Callable[[str], Any]) -> Picture:
    """The picture that a function draws into a file."""
    text = written(draw, "picture.svg")
    return Picture(text[text.index("<svg"):])  # an HTML page must not contain the XML declaration


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; texts are escaped."""
    line = lambda tag, cells: "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"
    return "<table>" + (line("th", head) if any(head) else "") + "".join(line("td", row) for row in rows) + "</table>"


def facts_table(facts: Mapping[str, Any]) -> str:
    """A table of names and values, one per line."""
    return table([], [[name, value] for name, value in facts.items()])


def text_block(text: str) -> str:
    """A preformatted text."""
    return f"<pre>{escape(text)}</pre>"


def remark_list(remarks: Sequence[str]) -> str:
    """Remarks, if there are any."""
    return "<ul>" + "".join(f"<li>{escape(remark)}</li>" for remark in remarks) + "</ul>" if remarks else ""


def _curve(name: str, t: np.ndarray, values: np.ndarray) -> str:
    """A small picture of one column: the least and the greatest of each group of points, with gaps where values are not finite. A
    constant is a flat line, as in other pictures."""
    finite = np.isfinite(values)
    if finite.sum() < 2:
        return ""
    low, high = float(values[finite].min()), float(values[finite].max())
    still = high - low <= STILL * max(abs(low), abs(high))
    pieces: list[list[int]] = [[]]
    for group in np.array_split(np.arange(len(t)), min(len(t), POINTS)):
        known = group[finite[group]]
        if len(known):
            pieces[-1] += sorted({int(known[f(values[known])]) for f in (np.argmin, np.argmax)})
        if len(known) < len(group):
            pieces.append([])
    x = (t - t[0]) / ((t[-1] - t[0]) or 1) * (WIDTH - 8) + 4
    y = HEIGHT - 6 - (np.full(len(t), 0.5) if still else (values - low) / (high - low)) * (HEIGHT - 24)
    lines = "".join('<polyline fill="none" stroke="#1f77b4" points="' + " ".join(f"{x[i]:.1f},{y[i]:.1f}" for i in piece) + '"/>' for piece in pieces if piece)
    return (f'<svg width="{WIDTH}" height="{HEIGHT}" style="display:inline-block"><text x="4" y="12" font-size="11" fill="currentColor">{escape(name)}: '
            f'{low:.4g}{"" if still else f" … {high:.4g}"}</text>{lines}</svg>')


def curves(t: np.ndarray, columns: Mapping[str, np.ndarray]) -> str:
    """Small pictures of all columns, side by side; those after the first dozen are folded away."""
    every = [_curve(name, t, np.asarray(values)) for name, values in columns.items()]
    more = every[MOST:]
    folded = f"<details><summary>{len(more)} more columns</summary>{''.join(more)}</details>" if more else ""
    return "<div>" + "".join(every[:MOST]) + folded + "</div>"
