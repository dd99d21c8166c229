"""The search index: the text of every section of every page, as a script that also loads from a disk without a server."""

import html
import json
import re

HEADING = re.compile(r'<h([1-4])(?: id="([^"]*)")?[^>]*>(.*?)</h\1>', re.S)


def plain(markup):
    """The text of a piece of HTML; formulas by their letters, displayed ones not at all."""
    markup = re.sub(r'<math display="block".*?</math>', " … ", markup, flags=re.S)
    markup = re.sub(r"<annotation.*?</annotation>", "", markup, flags=re.S)
    markup = re.sub(r"<(?:script|style).*?</(?:script|style)>", " ", markup, flags=re.S)
    markup = re.sub(r"</?(?:p|div|li|td|th|tr|pre|dd|dt|h\d|details|summary|br)\b[^>]*>", " ", markup)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", markup))).strip()


def sections(name, title, body):
    """Page, address, heading and text of each section; the part before the first heading belongs to the page."""
    marks = list(HEADING.finditer(body))
    for mark, following in zip(marks, marks[1:] + [None]):
        text = plain(body[mark.end() : following.start() if following else len(body)])
        place = "" if mark[1] == "1" or not mark[2] else "#" + mark[2]
        yield [title, name + ".html" + place, "" if mark[1] == "1" else plain(mark[3]), text]


def script(bodies, titles):
    index = [entry for name, body in bodies.items() for entry in sections(name, titles[name], body)]
    return "window.SEARCH = " + json.dumps(index, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/") + ";\n"
