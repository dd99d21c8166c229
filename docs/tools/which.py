"""'Which method?': a page made from the methods' own descriptors, as 'nonholo methods --json' prints them."""

import json
import subprocess

HEAD = """# Which method?

`nonholo check MODEL` tells which methods apply to a model and advises one. In short:

- **Energy and constraints to round-off**: `discrete-gradient` (its default, also called `avf-p`), or `collocation` for higher order. For linear constraints, no forces, nothing that depends on time.
- **Everything else**: `gauss`. Any Lagrangian, any force, any constraint; order twice the number of stages.
- **Millions of steps, cheaply**: `dla01`, where the mass matrix is constant. One force a step; explicit where reactions do not move what the constraints depend on.
- **Very large sparse systems**: `dla01`, whose cost grows like the model.
- **Higher order from a symmetric method**: `--compose suzuki`, `yoshida6`, `yoshida8`.

The table is made from the descriptors that the program itself uses. *Cost* counts evaluations of the model's functions in one step, on `pendulum-cvt` at step 0.1; order and what is kept are
for default options. The mathematics: [Methods](methods.md).
"""


def names(words):
    return ", ".join(words) if words else "-"


def option_lines(method):
    for option in method["options"]:
        yield f"- `{option['name']}` ({option['default']}): {option['help']}; {option['range'].replace('|', ', ')}"


def page(program):
    told = subprocess.run([program, "methods", "--json"], capture_output=True, text=True, check=True).stdout
    methods = json.loads(told)["methods"]
    text = [HEAD, "| method | order | cost | keeps | needs |", "|---|---|---|---|---|"]
    for m in methods:
        text.append(f"| [`{m['name']}`](#{m['name']}) | {m['order']} | {m['evaluations']:.3g} | {names(m['keeps'])} | {names(m['needs'])} |")
    for m in methods:
        text += ["", f"## {m['name']}", "", m["summary"][0].upper() + m["summary"][1:] + ".", "", "```", m["formulas"], "```", ""]
        text += list(option_lines(m))
        text += ["", f"Source: {m['reference']}."]
    return "\n".join(text) + "\n"
