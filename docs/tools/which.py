"""'Which method?': a page made from the methods' own descriptors, as 'nonholo methods --json' prints them."""

import json
import subprocess

HEAD = """# Which method?

`nonholo check MODEL` tells which methods apply to a model and advises one. In short:

- **Energy and constraints to round-off**: `discrete-gradient` (its default, also called `avf-p`), or `collocation` for higher order. For linear constraints, no forces, nothing that depends on time.
- **Everything else**: `gauss`. Any Lagrangian, any force, any constraint; order twice the number of stages.
- **Millions of steps, cheaply**: `dla01`, where the mass matrix is constant. One force a step; explicit where reactions do not move what the constraints depend on.
- **Very large sparse systems**: `dla01`, whose cost grows like the model.
- **Higher order from a symmetric method**: `--compose suzuki` (order 4), `yoshida6`, `yoshida8`, `kahan-li8`.
- **A baseline to compare with**: `rk4`; **the truth to compare with**: `reference`.

The table is made from the descriptors that the program itself uses. *Cost* counts evaluations of the model's functions in one step, on `pendulum-cvt` at step 0.1; order and what is kept are
for default options. The mathematics: [Methods](methods.md).

What methods *keep*:

- **constraints**: at every node, to round-off.
- **energy**: to round-off. Methods without it may still keep the energy near its start for very long; `nonholo compare` measures what they do.
- **symmetry**: the method is its own adjoint, so that a step with $-h$ undoes a step with $h$. Symmetric methods can be composed, and on reversible systems they are reversible.
- **fibration**: on systems with a driver and passengers the driver does not feel the passengers, as in the motion itself.

What methods *need*:

- **constant mass**: the mass matrix $\\partial^2 L/\\partial v^2$ does not depend on the coordinates.
- **linear** or **affine constraints**: $A(q) v = 0$ or $A(q) v + b(q) = 0$; without the word, constraints may be nonlinear.
- **separable**: forces do not depend on velocities, nor momenta on coordinates.
- **autonomous**, **no forces**: nothing depends on time; there is no `force` statement.
- **L = T - V**: $L = \\tfrac12 v^T M(q) v - V(q)$, without terms linear in $v$.
- **model text**: not for systems given by functions of C or Python, because derivatives are taken of the text.
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
        text.append(f"| [`{m['name']}`](#{m['name']}) | {m['order'] or 'any'} | {m['evaluations']:.3g} | {names(m['keeps'])} | {names(m['needs'])} |")
    for m in methods:
        text += ["", f"## {m['name']}", "", m["summary"][0].upper() + m["summary"][1:] + ".", "", "```", m["formulas"], "```", ""]
        text += list(option_lines(m))
        text += ["", f"Source: {m['reference']}."]
    return "\n".join(text) + "\n"
