"""Live examples: `<!-- live MODEL -->` on a page stands for a shipped model that moves (live.js), and models that a page
shows as text can be opened in the playground, if that was built. Without script there is the still picture of the gallery."""

import base64
import html
import json
import re
import zlib

import nonholo

MARK = re.compile(r"<!-- live ([\w-]+) -->")
CODE = re.compile(r'<div class="sourceCode"><pre\s+class="sourceCode nh"><code[^>]*>(.*?)</code></pre></div>', re.S)
SCRIPTS = "".join(f'<script src="gallery/{name}.js"></script>\n' for name in ("three.min", "scene", "scene_paint", "scene_shapes", "scene_view", "live"))
PLAYGROUND = "playground/index.html"


def link_of(text):
    """The link of a model's text, as playground/share.js makes and reads it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(json.dumps({"text": text}).encode()) + packer.flush()
    return f"{PLAYGROUND}#m=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def figure(name, page, has_playground):
    title = html.escape(nonholo.models()[name].partition(":")[0])
    play = f' data-play="{PLAYGROUND}#model={name}"' if has_playground else ""
    caption = "" if page == "gallery" else f'\n<figcaption>{title} (<a href="gallery.html#{name}">{name}</a>)</figcaption>'
    return f'<figure class="live" data-model="{name}"{play}>\n<img src="gallery/{name}.svg" alt="{title}">{caption}\n</figure>'


def with_link(match):
    text = html.unescape(re.sub("<[^>]+>", "", match[1]))
    if not re.search(r"^model ", text, re.M):
        return match[0]
    return match[0] + f'\n<p class="play"><a href="{link_of(text)}">Open this model in the playground</a></p>'


def expand(body, page, has_playground):
    """The body of a page with its examples."""
    body, count = MARK.subn(lambda m: figure(m[1], page, has_playground), body)
    if has_playground and page != "gallery":
        body = CODE.sub(with_link, body)
    return body + (SCRIPTS if count else "")
