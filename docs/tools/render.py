"""Markdown and man pages to HTML: pandoc, with formulas and code blocks adjusted for browsers."""

import html
import os
import re
import subprocess

SYNTAX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nh.xml")  # colours of the model language
ACCENTS = {"\u0307": "\u02d9", "\u0302": "\u02c6", "\u0303": "\u02dc"}  # combining characters, which browsers misplace
MARKDOWN = "gfm+tex_math_dollars+attributes"


def mend_operators(text):
    """Spaces as in print: none around a letter that pandoc takes for an operator or after a sign, thin ones around names of functions."""
    text = text.replace("<mo>ℓ</mo>", "<mi>ℓ</mi>")
    text = re.sub(r'(form="prefix">[^<]*</mo>|<mo>[=,]</mo>(?:<mspace[^>]*></mspace>)?)<mo>−</mo>', r'\1<mo form="prefix">−</mo>', text)

    def spaced(match):
        left = "0" if match[1] else "0.17em"
        right = "0" if re.match(r'(?:<msup>)?<mrow><mo[^>]*form="prefix">|</|<annotation', match.string[match.end():]) else "0.17em"
        return f'{match[1]}<mo lspace="{left}" rspace="{right}">{match[2]}</mo>'

    return re.sub(r"(<semantics>(?:<mrow>)?|<mtd[^>]*>|)<mo>([a-z]{2,})</mo>", spaced, text)


def mend_math(text):
    """Puts accents above their letters, makes parentheses as tall as their contents, and mends spaces."""
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
    return mend_operators("".join(parts))


PROMPTS = {"console": r"\$ ", "pycon": r"(?:&gt;&gt;&gt;|\.\.\.) ?"}


def mark_input(kind, code):
    """Marks what a reader would type in a session; everything else is output."""
    lines, continued = [], False
    for line in code.split("\n"):
        prompt = re.match(PROMPTS[kind], line)
        if prompt:
            lines.append(f'<span class="prompt">{prompt[0]}</span><span class="typed">{line[prompt.end():]}</span>')
        else:
            lines.append(f'<span class="typed">{line}</span>' if continued else f'<span class="printed">{line}</span>')
        continued = (bool(prompt) or continued) and kind == "console" and line.endswith("\\")
    return "\n".join(lines)


def mend_code(text):
    """Drops pandoc's marks of single lines, and marks what is typed and what is printed in sessions."""
    text = re.sub(r'<span id="cb[\d-]+"><a href="#cb[\d-]+"[^>]*></a>(.*?)</span>(?=\n|</code>)', r"\1", text)
    text = re.sub(r'<div class="sourceCode" id="cb\d+">', '<div class="sourceCode">', text)
    return re.sub(r'(<pre class="(console|pycon)"><code>)(.*?)(</code></pre>)',
                  lambda m: m[1] + mark_input(m[2], m[3]) + m[4], text, flags=re.S)


def mark_long_code(text):
    """Code within a sentence is not broken at its hyphens, unless it is so long that it must be."""
    return re.sub(r"<code>([^<]{33,})</code>(?!</pre>)", r'<code class="long">\1</code>', text)


NOT_PROSE = re.compile(r"(<(pre|code|math|script)\b.*?</\2>|<[^>]+>)", re.S)
UNITS = "ns|us|µs|ms|s|kB|MB|GB|kHz|GHz|m/s|rad"


def keep_together(text):
    """Lines are not broken within 1e-9, between a number and its unit, or in N = 3."""

    def mend(prose):
        prose = re.sub(r"(?<![\w.])\d[\d.]*e[-+]\d+", r'<span class="number">\g<0></span>', prose)
        prose = re.sub(rf"(\d) ({UNITS})(?![\w-])", "\\1\u00a0\\2", prose)
        return re.sub(r"(?<![\w-])(\w|eps|alpha|beta|theta) = (?=[-.\d])", "\\1\u00a0=\u00a0", prose)

    parts = NOT_PROSE.split(text)  # prose, something else, the name of its tag, prose, ...
    return "".join(part if i % 3 == 1 else mend(part) for i, part in enumerate(parts) if i % 3 != 2)


MANY, ROW = 4, 55  # columns of a wide table, or letters in a row of three
SHORT, LONG = 18, 19  # letters of cells that are not broken, and of those that need some width


def wrap_table(match):
    table = re.sub(r"<code>([^<]{16,})</code>", r'<code class="wide">\1</code>', match[0])
    table = re.sub(r"<th([^>]*)>\s*</th>", r"<td\1></td>", table)  # a heading that says nothing is none
    table = re.sub(r"<th([^>]*)>((?:<math(?:(?!</math>).)*</math>[\s,]*)+)</th>", r'<th\1><span class="unseen">formula </span>\2</th>', table, flags=re.S)  # nor is one of formulas, for some readers
    size = lambda markup: len(re.sub(r"<[^>]+>\s*", "", markup))
    rows = table.split("</tr>")
    columns = len(re.findall(r"<t[hd]\b", rows[0]))
    many = columns >= MANY or columns == MANY - 1 and max(map(size, rows)) > ROW
    if many:
        kind = lambda cell: "short" if size(cell) <= SHORT else "long" if size(cell) >= LONG else ""
        table = re.sub(r"<td>(.*?)</td>", lambda m: f'<td class="{kind(m[1])}">{m[1]}</td>' if kind(m[1]) else m[0], table, flags=re.S)
    return f'<div class="table{" many" if many else ""}">{table}</div>'


def wrap_tables(text):
    """A box around each table, which scrolls where the table is wider than the screen."""
    return re.sub(r"<table.*?</table>", wrap_table, text, flags=re.S)


def pandoc(text, reader=MARKDOWN, *options):
    words = ["pandoc", "--from", reader, "--to", "html5", "--mathml", "--wrap=none", "--fail-if-warnings",
             f"--syntax-definition={SYNTAX}", *options]
    done = subprocess.run(words, input=text, capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise SystemExit(f"pandoc: {done.stderr or done.returncode}")
    return wrap_tables(keep_together(mark_long_code(mend_code(mend_math(done.stdout)))))


def coloured(match):
    """A block of plain code that is a model, with its syntax colours; others as they are."""
    code = html.unescape(match[1])
    return pandoc(f"```nh\n{code}\n```").strip() if re.match(r"(?:#.*\n)*model ", code) else match[0]


def table_head(match):
    """The first row of a man page's table, which is in bold, as its head."""
    return "<thead>" + re.sub(r"<td([^>]*)><strong>(.*?)</strong></td>", r"<th\1>\2</th>", match[1]) + "</thead><tbody>"


def man_page(path, pages):
    """A man page as a page of the manual: without NAME, examples as code, other man pages linked to their page."""
    with open(path) as file:
        roff = subprocess.run(["scdoc"], input=file.read(), capture_output=True, text=True, check=True).stdout
    body = pandoc(roff, "man", "--shift-heading-level-by=1")
    body = re.sub(r"<h2[^>]*>NAME</h2>\s*<p>[\w-]+ - (.*?)</p>", lambda m: f"<p>{m[1][0].upper()}{m[1][1:]}.</p>", body, flags=re.S)
    body = re.sub(r"<h2[^>]*>([A-Z ]+)</h2>", lambda m: f'<h2 id="{m[1].lower().replace(" ", "-")}">{m[1].capitalize()}</h2>', body)
    body = re.sub(r"<p>(nonholo [^<]*|mpirun [^<]*)</p>", r"<pre><code>\1</code></pre>", body)
    body = re.sub(r"<pre><code>(.*?)</code></pre>", coloured, body, flags=re.S)
    body = re.sub(r"<blockquote>\s*<p>·</p>\s*<p>(.*?)</p>\s*</blockquote>", r"<li>\1</li>", body, flags=re.S)
    body = re.sub(r"(?:<li>(?:(?!</li>).)*</li>\s*)+", r"<ul>\n\g<0></ul>\n", body, flags=re.S)
    body = re.sub(r"<tbody>\s*(<tr[^>]*>(?:\s*<td[^>]*><strong>[^<]*</strong></td>)+\s*</tr>)", table_head, body)
    body = re.sub(r"<strong>(-[^<]{,24})</strong>", r'<strong class="option">\1</strong>', body)
    link = lambda m: f'<a href="{pages[m[1]]}.html">{m[1]}</a>' if m[1] in pages else m[0]
    return re.sub(r"<strong>([\w-]+)</strong>\(\d\)", link, body)
