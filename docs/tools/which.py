"""'Which method?': a page made from the methods' own descriptors, as 'nonholo methods --json' prints them."""

import json
import subprocess

HEAD = """# Which method?

`nonholo check MODEL` lists the methods that apply to a model and recommends one. In short:

- **One accurate trajectory**: `dop853` with a tolerance, which chooses its own steps. `nonholo run MODEL` does this, with `--tolerance 1e-9`. With `--tolerance 1e-12` it takes `verner98`.
- **Energy and constraints to round-off, step after step**: `discrete-gradient` (its default, also called `avf-p`), or `collocation` for higher order. They need linear constraints, no external forces, and no dependence on time.
- **Everything else**: `gauss`. It takes any Lagrangian, any force and any constraint; its order is twice the number of stages.
- **Millions of cheap steps**: `dla01`, if the mass matrix is constant. It needs one force evaluation per step and is explicit if reactions do not move any coordinate that the constraints depend on.
- **Conditions on positions** (rods, loops, wheels that stay on the ground): `discrete-gradient` for the energy, `gauss-lobatto` for everything else, `lobatto-ab` (RATTLE) for cheap steps.
- **Rotations**: the same methods, or `avf-so3`, `lie-newmark` and `dep-suslov`; [compared](rotations.md#quaternions-or-native-methods).
- **Very large sparse systems**: `dla01`, whose cost is proportional to the size of the model.
- **Higher order from a symmetric method**: `--compose suzuki` (order 4), `yoshida6`, `yoshida8`, `kahan-li8`.
- **A baseline to compare with**: `rk4`. **An accurate solution to compare with**: `reference`.

The table is made from the descriptors that the program itself uses. *Cost* is the number of evaluations of the model's functions in one step, on `pendulum-cvt` at step 0.1 (a dash for methods that need rotations); *order* and *keeps* are
for the default options. [Methods](methods.md) explains the mathematics.

What methods *keep* (preserve):

- **constraints**: at every node, to round-off.
- **energy**: to round-off. Other methods may still keep the energy near its start value for a very long time; `nonholo compare` measures this.
- **symmetry**: the method is its own adjoint, so a step with $-h$ undoes a step with $h$. Symmetric methods can be composed, and on reversible systems they are reversible.
- **fibration**: on systems with a driver and passengers, the passengers do not affect the driver, as in the exact motion.
- **positions**: conditions on positions and their time derivatives, at every node, to round-off. Systems that have such conditions are refused by the other methods.

What methods *need*:

- **constant mass**: the mass matrix $\\partial^2 L/\\partial v^2$ does not depend on the coordinates.
- **linear** or **affine constraints**: $A(q) v = 0$ or $A(q) v + b(q) = 0$; otherwise constraints may be nonlinear.
- **separable**: forces do not depend on velocities, and momenta do not depend on coordinates.
- **autonomous**, **no forces**: nothing depends on time; there is no `force` statement.
- **L = T - V**: $L = \\tfrac12 v^T M(q) v - V(q)$, without terms linear in $v$.
- **definite mass**: the mass matrix is positive definite.
- **rotations**: the model has a `rotation`, and no conditions on positions but those of its rotations.
- **model text**: not for systems given by C or Python functions, because the method needs symbolic derivatives.
"""


def names(words):
    return ", ".join(words) if words else "-"


def cost(method):
    """A method for rotations only does not take the model on which evaluations are counted."""
    return "-" if method["evaluations"] is None else f"{method['evaluations']:.3g}"


def option_lines(method):
    for option in method["options"]:
        yield f"- `{option['name']}` ({option['default']}): {option['help']}; {option['range'].replace('|', ', ')}"


def page(program):
    told = subprocess.run([program, "methods", "--json"], capture_output=True, text=True, check=True).stdout
    methods = json.loads(told)["methods"]
    text = [HEAD, "| method | order | cost | keeps | needs |", "|---|---|---|---|---|"]
    for m in methods:
        text.append(f"| [`{m['name']}`](#{m['name']}) | {m['order'] or 'any'} | {cost(m)} | {names(m['keeps'])} | {names(m['needs'])} |")
    for m in methods:
        text += ["", f"## {m['name']}", "", m["summary"][0].upper() + m["summary"][1:] + ".", "", "```", m["formulas"], "```", ""]
        text += list(option_lines(m))
        text += ["", f"Source: {m['reference']}."]
    return "\n".join(text) + "\n"
