#!/usr/bin/env python3
"""page.py SOURCE WASM OUT: puts the page of the playground together, one file that needs nothing else: the module that
emscripten left in WASM is compressed and carried along as text, since pages from disk may fetch nothing."""

import base64
import gzip
import hashlib
import json
import os
import re
import sys

SCRIPTS = ["third_party/uplot/uPlot.iife.min.js", "third_party/three/three.min.js", "src/output/page.js", "src/output/scene.js",
           "src/output/scene_paint.js", "src/output/scene_shapes.js", "src/output/scene_view.js", "src/output/player.js", "src/output/plots.js",
           "playground/share.js", "playground/svg.js", "playground/editor.js", "playground/knobs.js", "playground/handles.js",
           "playground/playground.js", "playground/parts.js"]
STYLES = ["src/output/page.css", "src/output/animation.css", "third_party/uplot/uPlot.min.css", "playground/style.css"]
POLICY = ("default-src 'none'; script-src {scripts} 'wasm-unsafe-eval'; style-src {styles}; worker-src blob:; img-src data:; "
          "connect-src 'none'; base-uri 'none'; form-action 'none'")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def words(source):
    """The words of the language: those that editors colour, and those of drawings."""
    lists = re.findall(r'<list name="(\w+)">(.*?)</list>', read(source, "docs/tools/nh.xml"), re.S)
    found = {name: re.findall(r"<item>(\w+)</item>", items) for name, items in lists}
    drawing = read(source, "src/model/draw.def")
    found["shapes"] = re.findall(r"^SHAPE\(\w+, (\w+)", drawing, re.M)
    found["keys"] = re.findall(r"^KEY\(\w+, (\w+)", drawing, re.M)
    found["colours"] = re.findall(r"^COLOUR\((\w+)", drawing, re.M)
    return found


def digest(text):
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def block(kind, name, text):
    """Data for the scripts; nothing in it may end the element."""
    if re.search(r"</script|<!--", text, re.I):
        raise SystemExit(f"page.py: {name} would end the element that carries it")
    return f'<script type="{kind}" id="{name}">{text}</script>'


def without_comments(script):
    """Without lines that are comments: readers of the page have the source."""
    return re.sub(r"^ *//.*\n", "", script, flags=re.M)


def page(source, wasm):
    with open(os.path.join(wasm, "nonholo.wasm"), "rb") as file:
        module = base64.b64encode(gzip.compress(file.read(), 9, mtime=0)).decode()
    worker = read(wasm, "nonholo.js") + "\n" + without_comments(read(source, "playground/worker.js"))
    scripts = [read(source, name) if name.startswith("third_party") else without_comments(read(source, name)) for name in SCRIPTS]
    style = "\n" + "\n".join(read(source, name).strip() for name in STYLES) + "\n"
    policy = POLICY.format(scripts=" ".join(map(digest, scripts)), styles=digest(style))
    body = [block("application/json", "words", json.dumps(words(source))), block("text/plain", "worker-code", worker),
            block("text/plain", "wasm", module)] + [f"<script>{text}</script>" for text in scripts]
    values = {"POLICY": policy, "STYLES": style.strip(), "LICENCES": "\n".join(f"{name}:\n" + read(source, f"third_party/{name}/LICENSE").strip().replace("--", "- -") for name in ("uplot", "three")),
              "SCRIPTS": "\n".join(body)}
    return re.sub("@([A-Z]+)@", lambda m: values[m[1]], read(source, "playground/index.html"))


def main():
    source, wasm, out = sys.argv[1:4]
    os.makedirs(out, exist_ok=True)
    text = page(source, wasm).encode()
    with open(os.path.join(out, "index.html"), "wb") as file:
        file.write(text)
    print(f"playground: {os.path.join(out, 'index.html')}: {len(text) // 1000} kB, {len(gzip.compress(text, 9)) // 1000} kB compressed")


if __name__ == "__main__":
    main()
