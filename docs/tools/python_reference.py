"""The reference of the Python module, made from the docstrings in python/nonholo without importing it."""

import ast
import glob
import os
import re
import textwrap

# Every public name belongs to one group; a name that is missing here fails the build of the manual.
GROUPS = {
    "Models and systems": ["load", "models", "methods", "from_functions", "import_urdf", "from_sympy", "from_mechanics"],
    "Computations": ["simulate", "run", "precise", "ensemble", "compare", "order", "drift", "gradient", "linearise", "control", "fit", "optimise", "lyapunov", "periodic"],
    "In a loop and elsewhere": ["Stepper", "Map", "export"],
    "Results": ["Trajectory", "PreciseTrajectory", "Event", "Ensemble", "Comparison", "Order", "Drift", "DriftLaw", "Linearisation", "Located", "Gradient", "Regulator", "Fit", "Optimum", "Lyapunov", "Periodic", "Orbit"],
    "Classes of models and systems": ["Model", "System", "Facts"],
    "Errors": ["Error", "UsageError", "ModelError", "ComputationError", "NotHere", "Remark"],
}
WIDTH = 88

HEAD = """# The Python module

This page describes every function and class of `nonholo`; it is made from the docstrings, which `help()` shows too. See
[Python](python.md) for an introduction.

In the signatures, `Setting` is a dictionary of parameter values, `Start` a dictionary of start values or a text like
`"x=1, x'=0.2"`, `Progress` a truth value or a function of the completed fraction, and `Function` a function of q that returns
a number or an array.
"""


def public_names(folder):
    with open(os.path.join(folder, "__init__.py")) as file:
        tree = ast.parse(file.read())
    found = next(n for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "__all__")
    return ast.literal_eval(found.value)


def definitions(folder):
    """Name -> definition, or for a second name of something (``run = simulate``) that, over all files of the module."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.py"))):
        with open(path) as file:
            for node in ast.parse(file.read()).body:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    found[node.name] = node
                elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                    found[node.targets[0].id] = node.value
    return found


def anchor(name):
    return ("class-" if name[0].isupper() else "") + name.lower()


def inline(text):
    """The marks of docstrings as Markdown; names of the module become links."""
    def link(match):
        name = match[1].removeprefix("nonholo.").split(".")[0]
        return f"[`{match[1]}`](#{anchor(name)})"

    parts = re.split(r"(``.*?``)", text)
    escaped = [p if p.startswith("``") else re.sub(r"(?<![`\w])([*_<>])", r"\\\1", p) for p in parts]
    text = re.sub(r"``(.*?)``", r"`\1`", "".join(escaped))
    text = re.sub(r":(?:func|class|meth):`([\w.]+)`", link, text)
    return re.sub(r":attr:`([\w.]+)`", r"`\1`", text)


def prose(docstring):
    """Paragraphs, and examples as Python sessions."""
    lines = []
    for block in re.split(r"\n\s*\n", docstring or ""):
        lines += ["```pycon", block, "```", ""] if block.startswith(">>>") else [inline(re.sub(r"\s*\n\s*", " ", block)), ""]
    return lines


def arguments(function, method=False):
    """Each argument as it is written, without self."""
    a = function.args
    typed = lambda arg, default: ast.unparse(arg) + (f" = {ast.unparse(default)}" if default is not None else "")
    plain = a.posonlyargs + a.args
    defaults = [None] * (len(plain) - len(a.defaults)) + list(a.defaults)
    out = [typed(x, d) for x, d in zip(plain, defaults)][1 if method else 0:]
    out += ["*" + ast.unparse(a.vararg)] if a.vararg else ["*"] if a.kwonlyargs else []
    out += [typed(x, d) for x, d in zip(a.kwonlyargs, a.kw_defaults)]
    return out + (["**" + ast.unparse(a.kwarg)] if a.kwarg else [])


def signature(function, method=False):
    parts = arguments(function, method)
    result = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    whole = f"{function.name}({', '.join(parts)}){result}"
    if len(whole) <= WIDTH:
        return whole
    filled = textwrap.wrap(", ".join(p.replace(" ", "\0") for p in parts), WIDTH - 4)  # an argument stays on a line
    return f"{function.name}(\n" + "\n".join("    " + line.replace("\0", " ") for line in filled) + f"\n){result}"


def is_property(node):
    return any(ast.unparse(d).split(".")[-1] in ("property", "cached_property") for d in node.decorator_list)


def is_setter(node):
    return any(ast.unparse(d).endswith(".setter") for d in node.decorator_list)


def fields(node):
    """The fields of a dataclass."""
    if not any("dataclass" in ast.unparse(d) for d in node.decorator_list):
        return []
    return [f"{n.target.id}: {ast.unparse(n.annotation)}" for n in node.body if isinstance(n, ast.AnnAssign) and not n.target.id.startswith("_")]


def members(node):
    """Properties in a table, then methods."""
    found = [n for n in node.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_") and not is_setter(n)]
    lines = ["```python", *fields(node), "```", ""] if fields(node) else []
    properties = [n for n in found if is_property(n)]
    if properties:
        lines += ["| attribute | |", "|---|---|"]
        blocks = {n.name: re.split(r"\n\s*\n", ast.get_docstring(n) or "") for n in properties}
        is_example = lambda block: block.startswith(">>>")
        for name, parts in blocks.items():
            said = " ".join(line for part in parts if not is_example(part) for line in prose(part) if line)
            lines.append(f"| `{name}` | {said} |")
        lines.append("")  # examples do not fit into a table
        lines += [line for parts in blocks.values() for part in parts if is_example(part) for line in prose(part)]
    for n in found:
        if n not in properties:
            lines += [f"#### {node.name}.{n.name} {{#{node.name.lower()}-{n.name}}}", "", "```python", signature(n, True), "```", ""]
            lines += prose(ast.get_docstring(n))
    return lines


def entry(node):
    lines = [f"### {node.name} {{#{anchor(node.name)}}}", ""]
    if isinstance(node, ast.FunctionDef):
        lines += ["```python", signature(node), "```", ""]
    if not ast.get_docstring(node):
        raise SystemExit(f"{node.name} of the Python module has no docstring")
    lines += prose(ast.get_docstring(node))
    return lines + (members(node) if isinstance(node, ast.ClassDef) else [])


def second_name(name, first):
    return [f"### {name} {{#{anchor(name)}}}", "", f"Another name of [`{first}`](#{anchor(first)}).", ""]


def page(folder):
    grouped = [name for names in GROUPS.values() for name in names]
    if sorted(grouped) != sorted(public_names(folder)):
        raise SystemExit(f"the reference of the Python module lists other names than __all__: {set(grouped) ^ set(public_names(folder))}")
    found = definitions(folder)
    text = [HEAD]
    for group, names in GROUPS.items():
        text += [f"## {group}", ""]
        for name in names:
            text += second_name(name, found[name].id) if isinstance(found[name], ast.Name) else entry(found[name])
    return "\n".join(text) + "\n"
