#!/usr/bin/env python3
"""build.py NONHOLO SOURCE OUT: the manual as HTML, without a network. Pages in docs/*.md and those made from the program (gallery, methods,
commands, C reference) go through pandoc with MathML; a warning of pandoc or a link that leads nowhere is an error."""

import html
import os
import re
import shutil
import subprocess
import sys

import gallery
import reference
import which

PROGRAM, SOURCE, OUT = map(os.path.abspath, sys.argv[1:4])
DOCS = os.path.join(SOURCE, "docs")

MATH_FONT = "/usr/share/fonts/opentype/stix-word/STIXMath-Regular.otf"

CONTENTS = [
    ("", ["index", "tutorial", "gallery", "cookbook", "python"]),
    ("Reference", ["language", "figure-files", "commands", "c-api"]),
    ("Understanding", ["which-method", "methods", "figures", "papers", "performance", "long-runs", "reproducibility"]),
    ("Changing", ["architecture", "adding", "contributing"]),
]
TITLES = {"index": "Overview", "long-runs": "Long runs"}


def read(*path):
    with open(os.path.join(*path)) as file:
        return file.read()


ACCENTS = {"\u0307": "\u02d9", "\u0302": "\u02c6", "\u0303": "\u02dc"}  # combining characters, which browsers misplace


def mend_math(text):
    """Accents above their letters, and parentheses that are as tall as what is in them."""
    for combining, alone in ACCENTS.items():
        text = re.sub(rf'<mover>((?:(?!<mover>).)*?)<mo accent="true">{combining}</mo></mover>',
                      rf'<mover accent="true">\1<mo stretchy="false">{alone}</mo></mover>', text)
    opened = []
    parts = re.split(r'(<mo stretchy="true" form="(?:prefix|postfix)">)', text)
    for i, part in enumerate(parts):
        if part.endswith('"prefix">'):
            opened.append(i)
        elif part.endswith('"postfix">') and opened:
            first = opened.pop()
            if not re.search("<mfrac|<mtable", "".join(parts[first:i])):
                parts[first], parts[i] = (parts[k].replace("true", "false") for k in (first, i))
    return "".join(parts)


def pandoc(text, reader, *options):
    words = ["pandoc", "--from", reader, "--to", "html5", "--mathml", "--wrap=none", "--fail-if-warnings", *options]
    done = subprocess.run(words, input=text, capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise SystemExit(f"pandoc: {done.stderr or done.returncode}")
    return mend_math(done.stdout)


MAN_PAGES = {"nonholo": "commands", "nonholo-model": "language", "nonholo-figure": "figure-files"}


def man_page(name):
    """A manual page as a page of the manual: without its NAME, examples as code, other pages linked."""
    roff = subprocess.run(["scdoc"], input=read(SOURCE, "man", name + ".scd"), capture_output=True, text=True, check=True).stdout
    body = pandoc(roff, "man", "--shift-heading-level-by=1")
    body = re.sub(r"<h2[^>]*>NAME</h2>\s*<p>[\w-]+ - (.*?)</p>", lambda m: f"<p>{m[1][0].upper()}{m[1][1:]}.</p>", body, flags=re.S)
    body = re.sub(r"<h2[^>]*>([A-Z ]+)</h2>", lambda m: f'<h2 id="{m[1].lower().replace(" ", "-")}">{m[1].capitalize()}</h2>', body)
    body = re.sub(r"<p>(nonholo [^<]*|mpirun [^<]*)</p>", r"<pre><code>\1</code></pre>", body)
    link = lambda m: f'<a href="{MAN_PAGES[m[1]]}.html">{m[1]}</a>' if m[1] in MAN_PAGES else m[0]
    return re.sub(r"<strong>([\w-]+)</strong>\(\d\)", link, body)


def figure_rows():
    """A row for each figure that can be reproduced, out of its file."""
    folder = os.path.join(SOURCE, "figures")
    for name in sorted(os.listdir(folder) if os.path.isdir(folder) else []):
        said = dict(re.findall(r"^(figure|title|source) (.*)$", read(folder, name), re.M))
        if "figure" in said:
            yield f"| `{said['figure']}` | {said.get('title', '')} | {said.get('source', '')} |"


def papers():
    """The figures, and what is written in docs/papers about the papers."""
    folder = os.path.join(DOCS, "papers")
    names = sorted(n for n in os.listdir(folder) if n.endswith(".md")) if os.path.isdir(folder) else []
    text = ["# Papers", "", "The figures of the papers behind the methods, and our own. `nonholo reproduce NAME` computes one anew, draws it, and prints",
            "each finding with the value that it measured; `nonholo reproduce all` does so for every one.", "",
            "| figure | what | source |", "|---|---|---|", *figure_rows(), ""]
    return "\n".join(text + [re.sub(r"^#", "##", read(folder, n), flags=re.M).replace("(../images/", "(images/") for n in names])


def paper_place(name):
    """Where a paper's page begins on the page of all papers: pandoc's mark of its heading."""
    heading = re.search(r"^# (.*)$", read(DOCS, "papers", name), re.M)[1]
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


def made_pages():
    markdown = {
        "gallery": lambda: gallery.page(OUT),
        "which-method": lambda: which.page(PROGRAM),
        "c-api": lambda: reference.page(os.path.join(SOURCE, "include", "nonholo.h")),
        "papers": papers,
        "contributing": lambda: read(SOURCE, "CONTRIBUTING.md"),
    }
    finished = {
        "language": lambda: "<h1>The model language</h1>\n" + man_page("nonholo-model.5"),
        "figure-files": lambda: "<h1>Figure files</h1>\n" + man_page("nonholo-figure.5"),
        "commands": lambda: "<h1>The commands</h1>\n" + man_page("nonholo.1"),
    }
    return markdown, finished


def body_of(name):
    markdown, finished = made_pages()
    if name in finished:
        return finished[name]()
    text = markdown[name]() if name in markdown else read(DOCS, name + ".md")
    return pandoc(text, "gfm+tex_math_dollars")


def local_links(body):
    """Links between pages lead to HTML; what lies outside of the manual is named, not linked."""

    def change(match):
        target, text = match[1], match[2]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, _, anchor = target.partition("#")
        if re.fullmatch(r"(docs/)?papers/\w[\w-]*\.md", path):
            return f'<a href="papers.html#{paper_place(os.path.basename(path))}">{text}</a>'
        if path.endswith(".md") and "/" not in path.removeprefix("docs/"):
            name = os.path.basename(path)[:-3].lower()
            return f'<a href="{name}.html{"#" + anchor if anchor else ""}">{text}</a>'
        return match[0] if re.fullmatch(r"[a-z-]+\.html", path) else text

    body = re.sub(r'<a href="([^"]+)"[^>]*>(.*?)</a>', change, body, flags=re.S)
    body = body.replace('src="docs/', 'src="')
    return re.sub(r'<img src="(images/figures/[^"]+)"[^>]*>', r'<a href="\1" title="in full size">\g<0></a>', body)


def title_of(name, body):
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.S)
    return TITLES.get(name) or re.sub("<[^>]+>", "", heading[1])


def navigation(here, titles, body):
    """The list of pages; under the one that is open, its parts."""
    found = re.findall(r'<h2 id="([^"]+)"[^>]*>(.*?)</h2>', body, re.S)
    parts = [f'<a class="part" href="#{mark}">{re.sub("<[^>]+>", "", text)}</a>' for mark, text in found]
    lines = []
    for group, names in CONTENTS:
        lines += [f"<p>{group}</p>"] if group else []
        for name in names:
            mark = ' class="here"' if name == here else ""
            lines.append(f'<a href="{name}.html"{mark}>{titles[name]}</a>')
            lines += parts if name == here else []
    return "\n".join(lines)


def write_pages():
    names = [name for _, group in CONTENTS for name in group]
    bodies = {name: local_links(body_of(name)) for name in names}
    titles = {name: title_of(name, body) for name, body in bodies.items()}
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    template = read(DOCS, "tools", "page.html")
    for name, body in bodies.items():
        values = {"title": titles[name], "version": version, "nav": navigation(name, titles, body), "body": body}
        page = re.sub(r"\$(\w+)\$", lambda m: values[m[1]], template)
        with open(os.path.join(OUT, name + ".html"), "w") as file:
            file.write(page)
    write_whole(bodies, template, version)


def write_whole(bodies, template, version):
    """All pages on one, for printing and PDF; places are told apart by the page they are on."""
    parts = ['<a id="whole"></a>']
    for name, body in bodies.items():
        body = re.sub(r'href="#', f'href="#{name}-', body)
        body = re.sub(r'href="([a-z][a-z-]*)\.html#', r'href="#\1-', body)
        body = re.sub(r'href="([a-z][a-z-]*)\.html"', r'href="#\1"', body)
        body = re.sub(r'\bid="', f'id="{name}-', body)
        parts.append(f'<section id="{name}">\n{body}\n</section>')
    values = {"title": "Manual", "version": version, "nav": "", "body": "\n".join(parts)}
    with open(os.path.join(OUT, "whole.html"), "w") as file:
        file.write(re.sub(r"\$(\w+)\$", lambda m: values[m[1]], template))


def check_links():
    """Every relative link and picture of every page; complains about all at once."""
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
                wrong.append(f"{name}: {target} is not there")
            elif anchor and path in anchors and anchor not in anchors[path]:
                wrong.append(f"{name}: {target} has no such place")
    print("\n".join(wrong))
    print(f"{len(pages)} pages, {checked} links, {len(wrong)} broken")
    return wrong


def copy_math_font():
    """STIX (SIL Open Font Licence), where Debian's fonts-stix is installed; else readers' browsers take what they have."""
    if os.path.exists(MATH_FONT):
        shutil.copy(MATH_FONT, os.path.join(OUT, "math.otf"))


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    shutil.copy(os.path.join(DOCS, "tools", "manual.css"), OUT)
    shutil.copytree(os.path.join(DOCS, "images"), os.path.join(OUT, "images"))
    copy_math_font()
    write_pages()
    return bool(check_links())


if __name__ == "__main__":
    sys.exit(main())
