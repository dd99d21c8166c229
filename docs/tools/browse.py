#!/usr/bin/env python3
"""browse.py NONHOLO SOURCE OUT: builds the manual and looks at it in headless Chromium: search, copy buttons, colours, live examples, and
pages that are not wider than the window. Exit code 77, 'skipped', without Chromium."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--virtual-time-budget=4000"]
# Appended to a copy of a page: what the reader would see goes into an attribute, where --dump-dom shows it.
PROBE = """<script>
addEventListener("load", () => setTimeout(() => {
    const root = document.documentElement, before = getComputedStyle(document.body).backgroundColor;
    document.getElementById("theme").click();
    root.setAttribute("data-probe", JSON.stringify({
        overflow: root.scrollWidth - root.clientWidth, pres: document.querySelectorAll("main pre").length,
        copies: document.querySelectorAll("button.copy").length, menu: getComputedStyle(document.querySelector("nav.pages")).display,
        before: before, after: getComputedStyle(document.body).backgroundColor,
        live: document.querySelectorAll("figure.live").length, moving: document.querySelectorAll("figure.live canvas").length,
        still: document.querySelectorAll("figure.live img").length,
    }));
}, 200));
</script>"""


class Browser:
    def __init__(self, program):
        self.program = program

    def dom(self, address, width):
        """The page as it is after its scripts have run."""
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run([self.program, *FLAGS, f"--window-size={width},800", f"--user-data-dir={profile}", "--dump-dom", address],
                                  capture_output=True, text=True, timeout=90)
        return done.stdout


def check(holds, text):
    if not holds:
        raise SystemExit(text)


def check_search(browser, manual):
    dom = browser.dom(f"file://{manual}/index.html?search=passenger+energy", 1200)
    found = re.search(r'<div id="found"[^>]*>(.*?)</div>', dom, re.S)
    check(found and " hidden" not in found[0].split(">")[0], "the search shows nothing")
    links = re.findall(r'<a href="([\w-]+\.html)', found[1])
    check(len(links) >= 5 and "<mark>" in found[1], f"the search for 'passenger energy' finds only {links}")
    dom = browser.dom(f"file://{manual}/index.html?search=poincare+sections", 1200)
    check("<mark>Poincaré</mark> <mark>section</mark>" in dom, "the search does not fold accents and plurals")
    dom = browser.dom(f"file://{manual}/index.html?search=glossary", 1200)
    first = re.search(r'<div id="found".*?<a href="([^"]*)"', dom, re.S)
    check(first and first[1].startswith("glossary.html"), "the search for 'glossary' does not begin with the glossary")


def check_page(browser, manual, name, width):
    """With the probe appended, in a copy beside the page."""
    with open(os.path.join(manual, name)) as file:
        text = file.read()
    copy = os.path.join(manual, "probe.html")
    with open(copy, "w") as file:
        file.write(text.replace("</body>", PROBE + "</body>"))
    try:
        dom = browser.dom("file://" + copy, width)
    finally:
        os.remove(copy)
    seen = re.search(r'data-probe="([^"]*)"', dom)
    check(seen, f"{name}: the script of the page did not run")
    values = json.loads(html.unescape(seen[1]))
    check(values["overflow"] <= 0, f"{name} is {values['overflow']} pixels too wide in a window of {width}")
    check(values["copies"] == values["pres"], f"{name} has {values['pres']} blocks of code and {values['copies']} copy buttons")
    check(values["before"] != values["after"], f"{name}: the button does not change the colours")
    check(values["live"] == values["moving"] == values["still"], f"{name}: {values['live']} live examples, of which {values['moving']} move")
    check((values["menu"] == "none") == (width < 800), f"{name}: the menu is {values['menu']} in a window of {width}")


def main():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        print("skipped: no Chromium (tools/setup.sh extras)")
        return SKIPPED
    browser, manual = Browser(program), os.path.abspath(sys.argv[3])
    build = os.path.join(os.path.dirname(os.path.abspath(__file__)), "build.py")
    subprocess.run([sys.executable, build, *sys.argv[1:4]], check=True)
    check_search(browser, manual)
    for name in ("tutorial.html", "performance.html", "python-api.html", "theory.html", "survey.html", "commands.html"):
        for width in (1400, 500):  # headless Chromium has no narrower window
            check_page(browser, manual, name, width)
    print("search, copy buttons, colours, live examples and widths are right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
