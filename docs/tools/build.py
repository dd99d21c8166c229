#!/usr/bin/env python3
"""build.py NONHOLO SOURCE OUT: builds the manual as a website that works without a network, also from a disk.

The pages in docs/*.md and those made from the program (gallery, methods, commands, references) go through pandoc with
MathML. A warning of pandoc or a broken link is an error."""

import html
import os
import re
import shutil
import subprocess
import sys

import bars
import gallery
import live
import python_reference
import reference
import search
import which
from render import man_page, pandoc

PROGRAM, SOURCE, OUT = map(os.path.abspath, sys.argv[1:4])
DOCS = os.path.join(SOURCE, "docs")
TOOLS = os.path.join(DOCS, "tools")

MATH_FONT = "/usr/share/fonts/opentype/stix-word/STIXMath-Regular.otf"

CONTENTS = [
    ("", ["index", "tutorial", "bodies", "bicycle", "gallery", "animation", "playground", "cookbook", "python", "from-others"]),
    ("Guides", ["which-method", "rotations", "inputs", "events", "contacts", "linearisation", "periodic", "chaos", "control", "fit", "gradient", "optimise", "derivatives", "export", "long-runs", "scaling-out", "precision", "remarks"]),
    ("Reference", ["language", "figure-files", "commands", "c-api", "python-api", "glossary"]),
    ("Background", ["methods", "theory", "results", "figures", "survey", "papers", "performance", "reproducibility", "promises"]),
    ("Development", ["architecture", "kernel", "adding", "contributing"]),
]
NAMES = [name for _, group in CONTENTS for name in group]
TITLES = {"index": "Overview", "export": "Export", "animation": "Seeing it move", "playground": "Playground", "long-runs": "Long runs", "precision": "Thirty digits", "scaling-out": "Many machines", "rotations": "Rotations", "events": "Events", "contacts": "Contacts and grips", "gradient": "Gradients", "derivatives": "What is differentiated", "promises": "Promises", "results": "Results on drift", "adding": "Adding things"}
MAN_PAGES = {"nonholo": "commands", "nonholo-model": "language", "nonholo-figure": "figure-files"}


def read(*path):
    with open(os.path.join(*path)) as file:
        return file.read()


def write(name, text):
    with open(os.path.join(OUT, name), "w") as file:
        file.write(text)


def figure_rows():
    """A table row for each figure that can be reproduced, from its file."""
    folder = os.path.join(SOURCE, "figures")
    for name in sorted(os.listdir(folder) if os.path.isdir(folder) else []):
        said = dict(re.findall(r"^(figure|title|source) (.*)$", read(folder, name), re.M))
        if "figure" in said:
            yield f"| `{said['figure']}` | {said.get('title', '')} | {said.get('source', '')} |"


def papers():
    """The table of figures, and the pages in docs/papers."""
    folder = os.path.join(DOCS, "papers")
    names = sorted(n for n in os.listdir(folder) if n.endswith(".md")) if os.path.isdir(folder) else []
    text = ["# Papers", "", "The figures of the papers behind the methods, and our own. `nonholo reproduce NAME` computes a figure, draws it, and prints",
            "each finding with the measured value; `nonholo reproduce all` does this for all figures.", "",
            "| figure | what | source |", "|---|---|---|", *figure_rows(), ""]
    return "\n".join(text + [re.sub(r"^#", "##", read(folder, n), flags=re.M).replace("(../images/", "(images/") for n in names])


def paper_place(name):
    """The anchor of a paper on the page of all papers: pandoc's identifier of its heading."""
    heading = re.search(r"^# (.*)$", read(DOCS, "papers", name), re.M)[1]
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


def made_pages():
    """Pages that are not files in docs/: their Markdown, or their HTML."""
    markdown = {
        "gallery": lambda: gallery.page(OUT),
        "which-method": lambda: which.page(PROGRAM),
        "c-api": lambda: reference.page(os.path.join(SOURCE, "include")),
        "python-api": lambda: python_reference.page(os.path.join(SOURCE, "python", "nonholo")),
        "papers": papers,
        "contributing": lambda: read(SOURCE, "CONTRIBUTING.md"),
    }
    man = lambda name: man_page(os.path.join(SOURCE, "man", name + ".scd"), MAN_PAGES)
    finished = {
        "language": lambda: "<h1>The model language</h1>\n" + man("nonholo-model.5"),
        "figure-files": lambda: "<h1>Figure files</h1>\n" + man("nonholo-figure.5"),
        "commands": lambda: "<h1>The commands</h1>\n" + man("nonholo.1"),
    }
    return markdown, finished


def body_of(name):
    markdown, finished = made_pages()
    if name in finished:
        return finished[name]()
    return pandoc(markdown[name]() if name in markdown else read(DOCS, name + ".md"))


def local_links(body):
    """Links between pages lead to HTML; files outside of the manual are named, not linked."""

    def change(match):
        target, text = match[1], match[2]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, _, anchor = target.partition("#")
        path = path.removeprefix("../")  # from the folder of papers
        if re.fullmatch(r"(docs/)?papers/\w[\w-]*\.md", path):
            return f'<a href="papers.html#{anchor or paper_place(os.path.basename(path))}">{text}</a>'
        if path.endswith(".md") and "/" not in path.removeprefix("docs/"):
            name = os.path.basename(path)[:-3].lower()
            return f'<a href="{name}.html{"#" + anchor if anchor else ""}">{text}</a>'
        return match[0] if re.fullmatch(r"[a-z-]+\.html", path) else text

    body = re.sub(r'<a href="([^"]+)"[^>]*>(.*?)</a>', change, body, flags=re.S)
    body = body.replace('src="docs/', 'src="')
    return re.sub(r'<img src="(images/[^"]+)"[^>]*>', r'<a href="\1" title="in full size">\g<0></a>', body)


def title_of(name, body):
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.S)
    return TITLES.get(name) or re.sub("<[^>]+>", "", heading[1])


def navigation(here, titles, body):
    """The list of pages; below the current one, its sections."""
    found = re.findall(r'<h2 id="([^"]+)"[^>]*>(.*?)</h2>', body, re.S)
    parts = [f'<a class="part" href="#{mark}">{re.sub("<[^>]+>", "", text)}</a>' for mark, text in found]
    lines = []
    for group, names in CONTENTS:
        lines += [f"<p>{group}</p>"] if group else []
        for name in names:
            mark = ' class="here" aria-current="page"' if name == here else ""
            lines.append(f'<a href="{name}.html"{mark}>{titles[name]}</a>')
            lines += parts if name == here else []
    return "\n".join(lines)


def pager(here, titles):
    """Links to the previous and the next page."""
    place = NAMES.index(here)
    before = NAMES[place - 1] if place else None
    after = NAMES[place + 1] if place + 1 < len(NAMES) else None
    link = lambda name, kind, arrow: f'<a class="{kind}" rel="{kind}" href="{name}.html">{arrow.format(titles[name])}</a>' if name else ""
    return f'<nav class="pager" aria-label="Neighbouring pages">{link(before, "prev", "← {}")}{link(after, "next", "{} →")}</nav>'


def fill_template(**values):
    return re.sub(r"\$(\w+)\$", lambda m: values[m[1]], read(TOOLS, "page.html"))


def write_pages():
    has_playground = copy_playground()
    bodies = {name: live.expand(local_links(body_of(name)), name, has_playground) for name in NAMES}
    titles = {name: title_of(name, body) for name, body in bodies.items()}
    named = lambda body: re.sub(r'(<a href="([a-z-]+)\.html">)docs/\2\.md</a>', lambda m: f"{m[1]}{titles[m[2]]}</a>", body)
    bodies = {name: named(body) for name, body in bodies.items()}
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    for name, body in bodies.items():
        write(name + ".html", fill_template(title=titles[name], version=version, nav=navigation(name, titles, body), body=body,
                                            pager=pager(name, titles), kind="page"))
    write("search.js", search.script(bodies, titles))
    write_whole(bodies, version)


def write_whole(bodies, version):
    """All pages on one, for printing and PDF; anchors are prefixed with the name of their page."""
    parts = ['<a id="whole"></a>']
    for name, body in bodies.items():
        body = re.sub(r'href="#', f'href="#{name}-', body)
        body = re.sub(r'href="([a-z][a-z-]*)\.html#', r'href="#\1-', body)
        body = re.sub(r'href="([a-z][a-z-]*)\.html"', r'href="#\1"', body)
        body = re.sub(r'\bid="', f'id="{name}-', body)
        parts.append(f'<section id="{name}">\n{body}\n</section>')
    back = '<a href="index.html">The manual page by page</a>'
    write("whole.html", fill_template(title="Manual", version=version, nav=back, body="\n".join(parts), pager="", kind="whole"))


def check_links():
    """Checks every relative link and picture of every page; prints all that are broken."""
    pages = {n: read(OUT, n) for n in sorted(os.listdir(OUT)) if n.endswith(".html")}
    anchors = {n: set(re.findall(r'\bid="([^"]+)"', text)) for n, text in pages.items()}
    wrong, checked = [], 0
    for name, text in pages.items():
        for target in re.findall(r'(?:href|src)="([^"]+)"', text):
            target = html.unescape(target)
            if re.match(r"[a-z]+:", target):
                continue
            checked += 1
            path, _, anchor = target.partition("#")
            path = path or name
            if not os.path.exists(os.path.join(OUT, path)):
                wrong.append(f"{name}: {target} does not exist")
            elif anchor and path in anchors and anchor not in anchors[path]:
                wrong.append(f"{name}: {target} has no such anchor")
    print("\n".join(wrong))
    print(f"{len(pages)} pages, {checked} links, {len(wrong)} broken")
    return wrong


def copy_files():
    """Style, script and pictures; the math font (STIX, SIL Open Font Licence) if Debian's fonts-stix is installed."""
    for name in ("manual.css", "manual.js"):
        shutil.copy(os.path.join(TOOLS, name), OUT)
    shutil.copytree(os.path.join(DOCS, "images"), os.path.join(OUT, "images"))
    if os.path.exists(MATH_FONT):
        shutil.copy(MATH_FONT, os.path.join(OUT, "math.otf"))


def copy_playground():
    """The playground, if it was built beside the manual; whether there is one."""
    page = os.path.join(os.path.dirname(OUT), "playground", "index.html")
    if not os.path.exists(page):
        return False
    os.makedirs(os.path.join(OUT, "playground"))
    shutil.copy(page, os.path.join(OUT, "playground"))
    return True


def check_picture():
    """The picture of the performance page shows the numbers of its table."""
    if bars.picture(read(DOCS, "performance.md")) == read(DOCS, "images", "performance.svg"):
        return []
    return ["docs/images/performance.svg does not show the table of docs/performance.md; docs/tools/bars.py draws it"]


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    copy_files()
    write_pages()
    stale = check_picture()
    print("\n".join(stale))
    return bool(check_links() + stale)


if __name__ == "__main__":
    sys.exit(main())
