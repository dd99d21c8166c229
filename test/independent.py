"""An evaluator of the model language that shares nothing with the library, for the tests to compare with.

It reads a model's text with a tokenizer and a Pratt parser of its own (nonholo-model(5) is the language), evaluates it
with numbers that carry their first and second derivatives (forward mode), and solves the dense equations of motion

    [ M  -K^T ] [ v'     ]   [ rate   ]     M = d2L/dv2,  K = dk/dv,  drift = (dk/dq) v + dk/dt
    [ K    0  ] [ lambda ] = [ -drift ]     rate = dL/dq + f + gyroscopic - (d2L/dvdq) v - d2L/dvdt

by Gaussian elimination with pivoting. Only Python's standard library; written to be read, not for speed: what the
library does with an expression graph, simplification, reverse mode and sparse elimination is done the plain way here."""

import math
import re

# ---- numbers with derivatives ----


class Jet:
    """A value with its gradient d[i] and its Hessian dd[i, j], i <= j, by numbered variables; absent entries are 0."""

    def __init__(self, value, d=None, dd=None):
        self.value, self.d, self.dd = value, d or {}, dd or {}

    def chain(self, f, f1, f2):
        """A function of this number, from its value and first two derivatives."""
        dd = {ij: f1 * x for ij, x in self.dd.items()}
        for i, a in self.d.items():
            for j, b in self.d.items():
                if i <= j:
                    dd[i, j] = dd.get((i, j), 0.0) + f2 * a * b
        return Jet(f, {i: f1 * x for i, x in self.d.items()}, dd)

    def __add__(self, other):
        if not isinstance(other, Jet):
            return Jet(self.value + other, self.d, self.dd)
        d, dd = dict(self.d), dict(self.dd)
        for i, x in other.d.items():
            d[i] = d.get(i, 0.0) + x
        for ij, x in other.dd.items():
            dd[ij] = dd.get(ij, 0.0) + x
        return Jet(self.value + other.value, d, dd)

    def __mul__(self, other):
        if not isinstance(other, Jet):
            return self.chain(self.value * other, other, 0.0)
        a, b = self, other
        product = Jet(0.0, {i: x * b.value for i, x in a.d.items()}, {ij: x * b.value for ij, x in a.dd.items()})
        product += Jet(a.value * b.value, {i: x * a.value for i, x in b.d.items()},
                       {ij: x * a.value for ij, x in b.dd.items()})
        for i, x in a.d.items():
            for j, y in b.d.items():  # dd[i, j] is one of the two mixed derivatives, so i = j counts twice
                ij = (i, j) if i <= j else (j, i)
                product.dd[ij] = product.dd.get(ij, 0.0) + x * y * (2 if i == j else 1)
        return product

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -other

    def __rsub__(self, other):
        return -self + other

    def __truediv__(self, other):
        return self * power(other, -1.0)

    def __rtruediv__(self, other):
        return power(self, -1.0) * other


def power(base, exponent):
    if isinstance(exponent, Jet):
        return call("exp", exponent * call("log", base))
    if not isinstance(base, Jet):
        return base**exponent
    x, p = base.value, exponent
    slope = p * x ** (p - 1) if p != 0 else 0.0
    return base.chain(x**p, slope, p * (p - 1) * x ** (p - 2) if p not in (0, 1) else 0.0)


# The functions of one argument: value, and from argument x and value f the first two derivatives.
FUNCTIONS = {
    "sin": (math.sin, lambda x, f: (math.cos(x), -f)),
    "cos": (math.cos, lambda x, f: (-math.sin(x), -f)),
    "tan": (math.tan, lambda x, f: (1 + f * f, 2 * f * (1 + f * f))),
    "asin": (math.asin, lambda x, f: ((1 - x * x) ** -0.5, x * (1 - x * x) ** -1.5)),
    "acos": (math.acos, lambda x, f: (-((1 - x * x) ** -0.5), -x * (1 - x * x) ** -1.5)),
    "atan": (math.atan, lambda x, f: (1 / (1 + x * x), -2 * x / (1 + x * x) ** 2)),
    "sinh": (math.sinh, lambda x, f: (math.cosh(x), f)),
    "cosh": (math.cosh, lambda x, f: (math.sinh(x), f)),
    "tanh": (math.tanh, lambda x, f: (1 - f * f, -2 * f * (1 - f * f))),
    "exp": (math.exp, lambda x, f: (f, f)),
    "log": (math.log, lambda x, f: (1 / x, -1 / (x * x))),
    "sqrt": (math.sqrt, lambda x, f: (0.5 / f, -0.25 / (f * x))),
}


def call(name, *arguments):
    if name == "atan2":
        return atan2(*arguments)
    value, derivatives = FUNCTIONS[name]
    (x,) = arguments
    if not isinstance(x, Jet):
        return value(x)
    f = value(x.value)
    return x.chain(f, *derivatives(x.value, f))


def atan2(y, x):
    """With derivatives: turned by the angle itself, the rest is a small arc tangent."""
    angle = math.atan2(*(a.value if isinstance(a, Jet) else a for a in (y, x)))
    if not isinstance(y, Jet) and not isinstance(x, Jet):
        return angle
    c, s = math.cos(angle), math.sin(angle)
    return call("atan", (y * c - x * s) / (x * c + y * s)) + angle


# ---- from text to trees ----

TOKEN = re.compile(r"#[^\n]*|[ \t\r]+|(?P<sign>\.\.|[-+*/^()\[\],=:'\n])"
                   r"|(?P<number>(?:\d+\.(?!\.)\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_]\w*)")
BINDS = {"+": 10, "-": 10, "*": 20, "/": 20, "^": 40}
SIGNED = 30  # what a sign in front binds like: -2^2 is -4, 2^-1 is a half


def tokens(text):
    """Lists of (kind, text), one for each statement: a line, which goes on while a parenthesis is open."""
    statement, depth, at = [], 0, 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise ValueError(f"no token: {text[at:at + 20]!r}")
        at, kind, word = match.end(), match.lastgroup, match.group()
        if word == "\n" and depth == 0:
            if statement:
                yield statement
            statement = []
        elif kind and word != "\n":
            depth += (word in "([") - (word in ")]")
            statement.append((kind, word))
    if statement:
        yield statement


class Parser:
    """One statement's tokens. Trees are tuples: ("number", x), ("name", name, index, primed), ("call", name, arguments),
    ("sum", loop, body), ("list", elements), ("minus", a), and (operator, a, b)."""

    def __init__(self, statement):
        self.rest = statement[::-1]

    def peek(self):
        return self.rest[-1][1] if self.rest else None

    def take(self, expected=None):
        kind, word = self.rest.pop()
        if expected not in (None, word):
            raise ValueError(f"expected {expected!r}, found {word!r}")
        return word

    def accept(self, word):
        return self.peek() == word and bool(self.rest.pop())

    def separated(self, read):
        found = [read()]
        while self.accept(","):
            found.append(read())
        return found

    def expression(self, binding=0):
        if self.accept("-"):
            left = ("minus", self.expression(SIGNED))
        elif self.accept("+"):
            left = self.expression(SIGNED)
        else:
            left = self.primary()
        while BINDS.get(self.peek(), -1) > binding:
            operator = self.take()  # a power binds to the right, the others to the left
            left = (operator, left, self.expression(SIGNED if operator == "^" else BINDS[operator]))
        return left

    def primary(self):
        kind, word = self.rest[-1]
        if kind == "number":
            return ("number", float(self.take()))
        if self.accept("("):
            elements = self.separated(self.expression)
            self.take(")")
            return elements[0] if len(elements) == 1 else ("list", elements)
        if len(self.rest) < 2 or self.rest[-2][1] != "(":
            return self.reference()
        self.take(), self.take("(")
        found = ("sum", self.loop(), self.expression()) if word == "sum" else ("call", word, self.separated(self.expression))
        self.take(")")
        return found

    def reference(self):
        name, index = self.take(), None
        if self.accept("["):
            index = self.expression()
            self.take("]")
        return ("name", name, index, self.accept("'"))

    def range(self):
        low = self.expression()
        self.take("..")
        return low, self.expression()

    def loop(self):
        """i in 1..N: as (name, (low, high))."""
        name = self.take()
        self.take("in")
        bounds = self.range()
        self.take(":")
        return name, bounds

    def optional_loop(self):
        return self.loop() if self.accept("for") else None

    def at_solve(self):
        """start solve x', unless a coordinate has that name."""
        return self.peek() == "solve" and len(self.rest) > 1 and self.rest[-2][0] == "name"

    def definition(self):
        """NAME = expression, or f(a, b) = expression, as (name, arguments, tree)."""
        name, arguments = self.take(), None
        if self.accept("("):
            arguments = self.separated(self.take)
            self.take(")")
        self.take("=")
        return name, arguments, self.expression()

    def declaration(self):
        name, bounds = self.take(), None
        if self.accept("["):
            bounds = self.range()
            self.take("]")
        return name, bounds

    def equation(self):
        left = self.expression()
        self.take("=")
        return left, self.expression()

    def bracket(self):
        self.take("[")
        pair = self.separated(self.reference)
        self.take("]"), self.take("=")
        return pair, self.expression()


# ---- models ----


class Scope:
    """What names mean at a state: time, lists of coordinates and velocities (numbers or jets), and lets found so far."""

    def __init__(self, model, t, q, v):
        self.model, self.t, self.q, self.v, self.known = model, t, q, v, {}

    def value(self, tree, local):
        kind = tree[0]
        if kind == "number":
            return tree[1]
        if kind == "name":
            return self.name(tree, local)
        if kind == "minus":
            return -self.value(tree[1], local)
        if kind == "sum":
            return sum((self.value(tree[2], inner) for inner in self.loop(tree[1], local)), 0.0)
        if kind == "call":
            return self.call(tree[1], [self.value(a, local) for a in tree[2]])
        a, b = self.value(tree[1], local), self.value(tree[2], local)
        return (power(a, b) if kind == "^" else a + b if kind == "+" else a - b if kind == "-" else
                a * b if kind == "*" else a / b)

    def call(self, name, arguments):
        if name not in self.model.functions:
            return call(name, *arguments)
        names, body = self.model.functions[name]
        return self.value(body, dict(zip(names, arguments, strict=True)))

    def name(self, tree, local):
        _, name, index, primed = tree
        model = self.model
        if name in local:
            return local[name]
        if name in model.families:
            place = model.families[name][0 if index is None else self.whole(index, local)]
            return self.v[place] if primed or name in model.algebra else self.q[place]
        if name in model.lets:
            if name not in self.known:
                self.known[name] = self.value(model.lets[name], {})
            return self.known[name]
        return {"t": self.t, "pi": math.pi, **model.parameters}[name]

    def whole(self, tree, local):
        value = self.value(tree, local)
        if value != round(value):
            raise ValueError(f"{value} is not whole")
        return round(value)

    def loop(self, loop, local):
        """The local names of each iteration; without a loop the given ones, once."""
        if loop is None:
            yield local
            return
        name, (low, high) = loop
        for i in range(self.whole(low, local), self.whole(high, local) + 1):
            yield {**local, name: i}


class Starts:
    """Start values as a list that finds each entry when it is asked for; 0 where nothing is said."""

    def __init__(self, given):
        self.given, self.scope = given, None

    def __getitem__(self, place):
        _, tree, local = self.given.get(place, (0, ("number", 0.0), {}))
        return self.scope.value(tree, local)


class Model:
    """Sizes, names and trees of a model with its parameters settled."""

    def __init__(self, text):
        self.parameters, self.functions, self.lets, self.families, self.algebra = {}, {}, {}, {}, set()
        self.coordinates, self.velocities = [], []  # names
        self.lagrangian, self.structure, self.forces, self.constraints, self.observables = None, {}, {}, [], {}
        self.starts = {}, {}  # of coordinates and of velocities
        statements = [(p.take(), p) for p in map(Parser, tokens(text.lstrip("\ufeff")))]
        # Statements come in any order: first those that later ones need. Frames say nothing new.
        for kinds in (["parameter", "let"], ["coordinate"], ["velocity"],
                      ["lagrangian", "force", "constraint", "bracket", "start", "observe"]):
            for kind, p in statements:
                if kind in kinds:
                    getattr(self, "read_" + kind)(p)

    def numbers(self):
        return Scope(self, None, None, None)

    def read_parameter(self, p):
        for name, _, tree in p.separated(p.definition):
            self.parameters[name] = self.numbers().value(tree, {})

    def read_let(self, p):
        for name, arguments, tree in p.separated(p.definition):
            if arguments:
                self.functions[name] = arguments, tree
            else:
                self.lets[name] = tree

    def declared(self, p):
        """The next names of a statement, each with those of its members, which get their places."""
        for name, bounds in p.separated(p.declaration):
            indices = [0] if bounds is None else [local["i"] for local in self.numbers().loop(("i", bounds), {})]
            self.families[name] = {i: len(self.velocities) + at for at, i in enumerate(indices)}
            yield name, [name] if bounds is None else [f"{name}[{i}]" for i in indices]

    def read_coordinate(self, p):
        for _, members in self.declared(p):
            self.coordinates += members
            self.velocities += [member + "'" for member in members]

    def read_velocity(self, p):
        for name, members in self.declared(p):
            self.velocities += members
            self.algebra.add(name)

    def read_lagrangian(self, p):
        self.lagrangian = p.expression()

    def read_constraint(self, p):
        loop = p.optional_loop()
        if not loop and len(p.rest) > 1 and p.rest[-2][1] in (":", "for"):
            p.take()
            p.accept(":")
            loop = p.optional_loop()
        left, right = p.equation()
        self.constraints += [(("-", left, right), local) for local in self.numbers().loop(loop, {})]

    def read_force(self, p):
        loop = p.optional_loop()
        for target, tree in p.separated(lambda: (p.reference(), p.take("="), p.expression())[::2]):
            for local in self.numbers().loop(loop, {}):
                for place, _, part in self.members(target, tree, local):
                    self.forces[place] = part, local

    def read_observe(self, p):
        for name, _, tree in p.separated(p.definition):
            self.observables[name] = tree

    def read_bracket(self, p):
        """[w_a, w_b] = sum_c C w_c: the coefficients are read off as derivatives."""
        for pair, tree in p.separated(p.bracket):
            scope = Scope(self, 0.0, [], [Jet(0.0, {i: 1.0}) for i in range(len(self.velocities))])
            a, b = (min(scope.value(r, {}).d) for r in pair)
            combination = scope.value(tree, {})
            for c, x in combination.d.items() if isinstance(combination, Jet) else ():
                self.structure[a, b, c], self.structure[b, a, c] = x, -x

    def read_start(self, p):
        conditional = p.accept("when")
        if conditional:
            left, right = p.equation()
            p.take(":")
        loop = p.optional_loop()
        if p.at_solve():
            return  # which velocities follow from the constraints: nothing for an evaluator
        assignments = p.separated(lambda: (p.reference(), p.take("="), p.expression())[::2])
        scope = self.numbers()
        if conditional and scope.value(left, {}) != scope.value(right, {}):
            return
        for target, tree in assignments:
            starts = self.starts[1 if target[3] or target[1] in self.algebra else 0]
            for local in scope.loop(loop, {}):
                for place, special, part in self.members(target, tree, local):
                    strength = 1 + special + 2 * conditional
                    if strength > starts.get(place, (0,))[0]:
                        starts[place] = strength, part, local

    def members(self, target, tree, local):
        """What an assignment names, as (place, whether it is one member of a family, its value's tree)."""
        _, name, index, _ = target
        family = self.families[name]
        if index is not None:
            yield family[self.numbers().whole(index, local)], True, tree
            return
        parts = tree[1] if tree[0] == "list" else [tree] * len(family)
        for place, part in zip(family.values(), parts, strict=True):
            yield place, False, part

    # ---- at a state ----

    def start(self):
        q, v = (Starts(given) for given in self.starts)
        q.scope = v.scope = Scope(self, 0.0, q, v)
        return [float(q[i]) for i in range(len(self.coordinates))], [float(v[i]) for i in range(len(self.velocities))]

    def jets(self, t, q, v):
        """A scope in which variable 0 is t, then come q and v."""
        z = [Jet(x, {i: 1.0}) for i, x in enumerate([t, *q, *v])]
        return Scope(self, z[0], z[1:1 + len(q)], z[1 + len(q):])

    def observed(self, t, q, v):
        scope = Scope(self, t, q, v)
        return {name: scope.value(tree, {}) for name, tree in self.observables.items()}

    def constraint_jets(self, t, q, v):
        scope = self.jets(t, q, v)
        return [scope.value(tree, local) + Jet(0.0) for tree, local in self.constraints]

    def projected(self, t, q, v):
        """v moved to the constraints, by Newton's method with the shortest steps."""
        first = 1 + len(q)
        for _ in range(50):
            k = self.constraint_jets(t, q, v)
            if all(abs(c.value) < 1e-15 for c in k):
                break
            K = [[c.d.get(first + i, 0.0) for i in range(len(v))] for c in k]
            push = solve([[sum(a * b for a, b in zip(r, s)) for s in K] for r in K], [-c.value for c in k])
            v = [x + sum(l * row[i] for l, row in zip(push, K)) for i, x in enumerate(v)]
        return v

    def linear_system(self, t, q, v):
        """Energy, constraint values, and the matrix and right-hand side of the equations for (v', lambda)."""
        n, q1, v1 = len(v), 1, 1 + len(q)
        L = self.jets(t, q, v).value(self.lagrangian, {}) + Jet(0.0)
        k = self.constraint_jets(t, q, v)
        numbers = Scope(self, t, q, v)
        d, dd = L.d, lambda i, j: L.dd.get((min(i, j), max(i, j)), 0.0)
        p = [d.get(v1 + i, 0.0) for i in range(n)]
        rate = [-sum(dd(q1 + j, v1 + i) * v[j] for j in range(len(q))) - dd(0, v1 + i) for i in range(n)]
        for i in range(len(q)):
            rate[i] += d.get(q1 + i, 0.0)
        for i, (tree, local) in self.forces.items():
            rate[i] += numbers.value(tree, local)
        for (a, b, c), x in self.structure.items():  # Euler and Poincare: p'_b = C_ab^c w_a p_c
            rate[b] += x * v[a] * p[c]
        K = [[c.d.get(v1 + i, 0.0) for i in range(n)] for c in k]
        drift = [sum(c.d.get(q1 + j, 0.0) * v[j] for j in range(len(q))) + c.d.get(0, 0.0) for c in k]
        matrix = [[dd(v1 + i, v1 + j) for j in range(n)] + [-row[i] for row in K] for i in range(n)]
        matrix += [row + [0.0] * len(k) for row in K]
        energy = sum(a * b for a, b in zip(p, v)) - L.value
        return energy, [c.value for c in k], matrix, rate + [-x for x in drift]

    def equations(self, t, q, v):
        """Energy, constraint values, and (v', lambda) in one list."""
        energy, k, matrix, right = self.linear_system(t, q, v)
        return energy, k, solve(matrix, right)

    def least_pivot(self, t, q, v):
        """The smallest pivot of the equations, complete pivoting, relative to the largest: a measure of condition."""
        _, _, rows, _ = self.linear_system(t, q, v)
        pivots = []
        while rows:
            r, c = max(((r, c) for r in range(len(rows)) for c in range(len(rows))), key=lambda rc: abs(rows[rc[0]][rc[1]]))
            pivots.append(abs(rows[r][c]))
            if not rows[r][c]:
                break
            rows = [[x - row[c] / rows[r][c] * y for j, (x, y) in enumerate(zip(row, rows[r])) if j != c]
                    for i, row in enumerate(rows) if i != r]
        return min(pivots) / max(pivots)

    def defect(self, t, q, random):
        """Frobenius at a point: the largest |dw(X, Y)| over the forms w = K dq + k dt of constraints that are affine in
        the velocities, for a random pair X, Y on which all of them vanish. None: a constraint is not affine."""
        n, v1 = len(self.velocities), 1 + len(q)
        moving = self.constraint_jets(t, q, [random.uniform(0.5, 1) for _ in range(n)])
        if any(abs(x) > 1e-12 and i >= v1 for k in moving for (i, _), x in k.dd.items()):
            return None
        forms = self.constraint_jets(t, q, [0.0] * n)
        rows = [[k.value] + [k.d.get(v1 + i, 0.0) for i in range(n)] for k in forms]  # by dt, then by the velocities
        grams = [[sum(a * b for a, b in zip(r, s)) for s in rows] for r in rows]
        X, Y = ([random.uniform(-1, 1) for _ in range(1 + n)] for _ in range(2))
        for Z in (X, Y):
            parts = solve(grams, [sum(a * b for a, b in zip(row, Z)) for row in rows])
            Z[:] = [z - sum(c * row[i] for c, row in zip(parts, rows)) for i, z in enumerate(Z)]

        def along(k, X, Y):  # the derivative of w(Y) along X, with Y held
            return sum(X[z] * (k.d.get(z, 0.0) * Y[0] + sum(k.dd.get((z, v1 + i), 0.0) * Y[1 + i] for i in range(n)))
                       for z in range(v1))
        bracket = [sum(x * X[1 + a] * Y[1 + b] * row[1 + c] for (a, b, c), x in self.structure.items()) for row in rows]
        return max(abs(along(k, X, Y) - along(k, Y, X) - w) for k, w in zip(forms, bracket))


def solve(matrix, right):
    """Gaussian elimination; the pivot is the largest entry of its column relative to its row."""
    rows = [[*row, b] for row, b in zip(matrix, right)]
    n = len(rows)
    for c in range(n):
        best = max(range(c, n), key=lambda r: abs(rows[r][c]) / max(map(abs, rows[r][c:n]), default=0.0)
                   if rows[r][c] else 0.0)
        rows[c], rows[best] = rows[best], rows[c]
        for r in range(c + 1, n):
            factor = rows[r][c] / rows[c][c]
            if factor:
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[c])]
    x = [0.0] * n
    for r in reversed(range(n)):
        x[r] = (rows[r][n] - sum(a * b for a, b in zip(rows[r][r + 1:n], x[r + 1:]))) / rows[r][r]
    return x
