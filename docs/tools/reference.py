"""The reference of the C library, out of the comments of nonholo.h."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import header


def plain(paragraph):
    """Comments are plain text: what Markdown would take for marks is escaped outside of `code`."""
    parts = re.split(r"(`[^`]*`)", re.sub(r"\n\s*", " ", paragraph))
    return "".join(p if p.startswith("`") else re.sub(r"([*_<>\[\]|])", r"\\\1", p) for p in parts)


def prose(comment):
    """Paragraphs, and lists whose points begin with '- '."""
    points = re.split(r"\n\s*\n|\n(?=\s*- )", comment)
    lines = ["- " + plain(p.strip()[2:]) if p.strip().startswith("- ") else "\n" + plain(p) + "\n" for p in points]
    return "\n".join(lines).strip("\n")


def page(path):
    text = ["# The C library", "", "One header, `nonholo.h`; this page is made from its comments. Programs outside the tree build with",
            "`cc mine.c $(pkg-config --cflags --libs nonholo)`, or in CMake with `find_package(nonholo)` and the target `nonholo::nonholo`.",
            "`examples/` has a small program for each way to use it.", ""]
    items = header.read(path)
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
    return "\n".join(text)
