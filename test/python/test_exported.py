"""Equations for other programs: functions of CasADi, function files of MATLAB, models of Modelica, of every shipped model and of
one with all difficult features, compared with the library.

    test_exported.py COMMAND SOURCE

MATLAB's are run by Octave, if it is installed. CasADi's are run by CasADi if it is installed, and otherwise by a stand-in below
that evaluates the same calls. Modelica's are read by a small reader of the subset that is written: no compiler for it is packaged.
"""

import importlib.util
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

import numpy as np

import nonholo

SOURCE, COMMAND = os.path.abspath(sys.argv.pop()), os.path.abspath(sys.argv.pop())
sys.path[:0] = [os.path.join(SOURCE, "test", "cli"), os.path.join(SOURCE, "test", "python")]
from harness import run_unittest  # noqa: E402

sys.argv += [COMMAND, SOURCE]
from test_equations import load, names, near, states  # noqa: E402


def exported(folder, name, format, ending, *options):
    from test_equations import HOSTILE
    model = name
    if name == "hostile":
        model = os.path.join(folder, "hostile.nh")
        with open(model, "w") as file:
            file.write(HOSTILE)
    path = os.path.join(folder, "m_" + re.sub(r"\W", "_", name) + ending)
    done = subprocess.run([COMMAND, "export", model, "--format", format, "-o", path, "--quiet", *options], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), (name, done)
    return path


# ---- CasADi ----


class Symbol:
    """Stands in for casadi.SX: an expression is a function of the values of the arguments."""

    def __init__(self, value):
        self.compute = value if callable(value) else lambda given, fixed=value: fixed

    def value(self, given):
        """Computed once for each set of arguments."""
        known = given.setdefault(None, {})
        if self not in known:
            known[self] = self.compute(given)
        return known[self]

    def __getitem__(self, i):
        return Symbol(lambda given: np.asarray(self.value(given), float).reshape(-1)[i])

    @staticmethod
    def sym(name, size=1):
        return Symbol(lambda given: given[name] if size != 1 or name != "t" else float(given[name]))

    @staticmethod
    def zeros(rows, columns):
        return Filled(rows, columns)


def operate(action):
    def made(*args):
        parts = [a if isinstance(a, Symbol) else Symbol(a) for a in args]
        return Symbol(lambda given: action(*(part.value(given) for part in parts)))
    return made


for sign, action in {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "truediv": lambda a, b: a / b,
                     "pow": lambda a, b: a**b}.items():
    setattr(Symbol, f"__{sign}__", operate(action))
    setattr(Symbol, f"__r{sign}__", operate(lambda a, b, action=action: action(b, a)))
Symbol.__neg__ = operate(lambda a: -a)
Symbol.__gt__ = operate(lambda a, b: a > b)


class Filled(Symbol):
    def __init__(self, rows, columns):
        self.shape, self.entry = (rows, columns), {}
        super().__init__(self.matrix)

    def __setitem__(self, place, value):
        self.entry[place] = value if isinstance(value, Symbol) else Symbol(value)

    def matrix(self, given):
        out = np.zeros(self.shape)
        for place, value in self.entry.items():
            out[place] = value.value(given)
        return out


class Called:
    """Stands in for casadi.Function."""

    def __init__(self, name, arguments, results, takes, gives):
        self.result, self.takes = results[0], takes
        assert (len(arguments), gives) == (len(takes), [name])

    def __call__(self, *given):
        if any(isinstance(a, Symbol) for a in given):
            return Symbol(lambda values: self.result.value({n: a.value(values) for n, a in zip(self.takes, given)}))
        return self.result.value({n: np.asarray(a, float) for n, a in zip(self.takes, given)})


def stand_in():
    ca = types.ModuleType("casadi")
    ca.SX, ca.Function = Symbol, Called
    ca.if_else = operate(lambda c, a, b: a if c else b)
    ca.vertcat = lambda *parts: Symbol(lambda given: np.concatenate([np.reshape(p.value(given), -1) for p in parts]))
    for name in "sin cos tan asin acos atan atan2 sinh cosh tanh exp log sqrt".split():
        setattr(ca, name, operate(getattr(math, name)))
    return ca


def casadi_module(path):
    if "casadi" not in sys.modules and not importlib.util.find_spec("casadi"):
        sys.modules["casadi"] = stand_in()
    spec = importlib.util.spec_from_file_location("exported", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


# ---- Modelica ----


def python_of(expression):
    """An expression of the subset in Python."""
    text = " ".join(expression.replace("^", "**").split())
    while "(if " in text:
        begin = text.rindex("(if ")
        depth, end = 1, begin + 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        condition, rest = text[begin + 4 : end - 1].split(" then ", 1)
        yes, no = rest.rsplit(" else ", 1)
        text = f"{text[:begin]}choose({condition}, lambda: {yes}, lambda: {no}){text[end:]}"
    return text


class Modelica:
    """The declarations and equations of a model; `rates` gives the right-hand sides at values of the states."""

    def __init__(self, text):
        text = re.sub(r"//[^\n]*", "", text)
        found = re.fullmatch(r'model (\w+) "[^"]*"\s(.*?)(?:protected\n(.*?))?equation\n(.*)end \1;\n', text, re.S)
        assert found, text[:500]
        self.values, self.starts, self.declared = {}, {}, set()
        for line in (found[2] + (found[3] or "")).split(";\n"):
            if not line.strip():
                continue
            part = re.fullmatch(r'\s*(parameter |constant |output |input |)Real (\w+)(?: = (\S+))?(?:\(start = (\S+), fixed = true\))?(?: "(?:[^"\\]|\\.)*")?', line)
            assert part, line
            assert part[2] not in self.declared, part[2]
            self.declared.add(part[2])
            if part[3]:
                self.values[part[2]] = float(part[3])
            if part[4]:
                self.starts[part[2]] = float(part[4])
        self.equations = [re.fullmatch(r"\s*(der\(\w+\)|\w+) = (.*)", e, re.S).groups() for e in found[4].split(";\n") if e.strip()]
        assert len(self.equations) == len(self.declared) - len(self.values) - found[2].count("  input Real")
        self.code = [(left, compile(f"({python_of(right)})", left, "eval")) for left, right in self.equations]

    def rates(self, t, state):
        space = {n: getattr(math, n) for n in "sin cos tan asin acos atan atan2 sinh cosh tanh exp log sqrt".split()}
        space.update(self.values, __builtins__={}, time=t, choose=lambda c, yes, no: yes() if c else no(), **state)
        out = {}
        for left, code in self.code:
            value = eval(code, space)
            if left.startswith("der("):
                out[left[4:-1]] = value
            else:
                space[left] = value
        return out, space


# ---- Octave ----

SCRIPT = """format long
fid = fopen('states.txt'); out = fopen('found.txt', 'w');
while true
    name = fgetl(fid);
    if ~ischar(name), break, end
    n = str2num(fgetl(fid));
    state = str2num(fgetl(fid))';
    model = feval(name);
    t = state(1); q = state(2:n(1) + 1); v = state(n(1) + 2:end);
    y = model.right_hand_side(t, [q; v]);
    parts = {model.accelerations(t, q, v), model.multipliers(t, q, v), model.energy(t, q, v), model.constraints(t, q, v), ...
             y(numel(q) + 1:end)};
    for i = 1:numel(parts)
        fprintf(out, '%.17g ', parts{i}); fprintf(out, '\\n');
    end
end
fclose(out);
m = m_heavy_top(); p = m.parameters; p.I1 = 1.5;
q = m.start(1:4); v = m.start(5:7);
o = fopen('parameter.txt', 'w'); fprintf(o, '%.17g ', m.accelerations(0, q, v, p)); fclose(o);
h = m_hostile(); o = fopen('input.txt', 'w');
n = numel(h.coordinates);
fprintf(o, '%.17g ', h.accelerations(0, h.start(1:n), h.start(n + 1:end), [], 2)); fclose(o);
[t, y] = ode45(@(t, y) m.right_hand_side(t, y), [0 1], m.start, odeset('RelTol', 1e-10, 'AbsTol', 1e-10));
o = fopen('end.txt', 'w'); fprintf(o, '%.17g ', y(end, :)); fclose(o);
"""


def read(folder, name):
    with open(os.path.join(folder, name)) as file:
        return [np.array([float(x) for x in line.split()]) for line in file]


class Exported(unittest.TestCase):
    def test_casadi(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in names():
                system, code = load(name), casadi_module(exported(folder, name, "casadi", ".py"))
                for t, q, v in states(system):
                    flat = lambda f: np.asarray(f(t, q, v, code.U, code.P), float).reshape(-1)
                    a, multipliers = system.acceleration(q, v, t)
                    near(flat(code.accelerations), a, name)
                    near(flat(code.multipliers), multipliers, name, np.abs(a).max())
                    near(flat(code.energy), [system.energy(q, v, t)], name)
            code = casadi_module(exported(folder, "hostile", "casadi", ".py", "--input", "drive:held"))
            t, q, v = code.START
            other = nonholo.load(open(os.path.join(folder, "hostile.nh")).read()).system(input={"drive": 2.0})
            near(np.asarray(code.accelerations(t, q, v, [2.0], code.P)).reshape(-1), other.acceleration(q, v)[0], "an input")

    def test_modelica(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in names():
                with open(exported(folder, name, "modelica", ".mo")) as file:
                    model = Modelica(file.read())
                system = load(name)
                states_of = list(model.starts)
                self.assertEqual(list(model.starts.values()), [*system.start()[0], *system.start()[1]])
                for t, q, v in states(system):
                    a, multipliers = system.acceleration(q, v, t)
                    rates, space = model.rates(t, dict(zip(states_of, map(float, [*q, *v]))))
                    near([rates[s] for s in states_of[len(q):]], a, name)
                    near([space[f"multiplier_{i + 1}"] for i in range(len(multipliers))], multipliers, name, np.abs(a).max())
                    near(space["energy"], system.energy(q, v, t), name)

    def test_matlab(self):
        octave = shutil.which("octave")
        if not octave:
            self.skipTest("there is no Octave (octave)")
        with tempfile.TemporaryDirectory() as folder:
            expected = []
            with open(os.path.join(folder, "states.txt"), "w") as file:
                for name in names():
                    held = ("--input", "drive:held") if name == "hostile" else ()
                    system, path = load(name), exported(folder, name, "matlab", ".m", *held)
                    for t, q, v in states(system):
                        file.write(f"{os.path.basename(path)[:-2]}\n{len(q)}\n" + " ".join(repr(float(x)) for x in (t, *q, *v)) + "\n")
                        a, multipliers = system.acceleration(q, v, t)
                        expected += [(name, a), (name, multipliers), (name, [system.energy(q, v, t)]), (name, system.residual(q, v, t)), (name, a)]
            with open(os.path.join(folder, "all.m"), "w") as file:
                file.write(SCRIPT)
            done = subprocess.run([octave, "--no-gui", "--no-init-file", "--quiet", "all.m"], cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = read(folder, "found.txt")
            self.assertEqual(len(found), len(expected))
            for values, (name, right) in zip(found, expected):
                near(values, right, name, max(np.abs(r).max(initial=0) for n, r in expected if n == name))
            q, v = load("heavy-top").start()
            near(read(folder, "parameter.txt")[0], nonholo.load("heavy-top").system({"I1": 1.5}).acceleration(q, v)[0], "a parameter")
            with open(os.path.join(folder, "hostile.nh")) as file:
                other = nonholo.load(file.read()).system(input={"drive": 2.0})
            near(read(folder, "input.txt")[0], other.acceleration(*load("hostile").start())[0], "an input")
            run = nonholo.simulate("heavy-top", method="gauss", step=0.01, steps=100, stages=5)
            self.assertLess(np.abs(read(folder, "end.txt")[0] - np.concatenate([run.q[-1], run.v[-1]])).max(), 1e-8)


if __name__ == "__main__":
    run_unittest()
