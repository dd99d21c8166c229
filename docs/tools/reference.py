"""The reference of the C library, made from the comments in its headers."""

import os
import re
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import header


def plain(paragraph):
    """Comments are plain text: outside of `code`, characters that mean something in Markdown are escaped."""
    parts = re.split(r"(`[^`]*`)", re.sub(r"\n\s*", " ", paragraph))
    return "".join(p if p.startswith("`") else re.sub(r"([*_<>\[\]|])", r"\\\1", p) for p in parts)


def prose(comment):
    """Paragraphs, lists whose items begin with '- ', and code, which is indented."""

    def written(point):
        if re.match(" {4}", point):
            return f"\n```c\n{textwrap.dedent(point)}\n```\n"
        return "- " + plain(point.strip()[2:]) if point.strip().startswith("- ") else "\n" + plain(point) + "\n"

    points = re.split(r"\n[ \t]*\n|\n(?=\s*- )", comment)
    return "\n".join(map(written, points)).strip("\n")


def page(folder):
    text = ["# The C library", "", "The library has two headers: `nonholo.h`, the core, and `nonholo_analysis.h`, which is less stable. This page is",
            "made from their comments. Build a program of your own with `cc mine.c $(pkg-config --cflags --libs nonholo)`, or in",
            "CMake with `find_package(nonholo)` and the target `nonholo::nonholo`. `examples/` contains a small program for each",
            "way to use the library.", ""]
    for name in ("nonholo.h", "nonholo_analysis.h"):
        text += [f"# {name}", ""] + described(header.read(os.path.join(folder, name)))
    return "\n".join(text)


def described(items):
    """The items of a header as Markdown."""
    text = []
    if items and items[0].kind == "text":
        text += ["```", items[0].comment, "```", ""]
    code = []

    def flush():
        if code:
            text.extend(["```c", *code, "```", ""])
            code.clear()

    for item in items[1:] if items and items[0].kind == "text" else items:
        if item.kind == "section":
            flush()
            text += [f"## {item.name[0].upper()}{item.name[1:]}", ""]
            continue
        if item.comment and "\n" not in item.comment and item.kind == "function" and len(item.code.split("\n")[-1] + item.comment) < 90:
            code.append(f"{item.code} /* {item.comment} */")
            continue
        if item.comment:
            flush()
            text += [prose(item.comment), ""]
        if item.kind != "text":
            code.append(item.code)
    flush()
    return text
