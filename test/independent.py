"""An evaluator of the model language that shares nothing with the library, for the tests to compare with.

It reads a model's text with its own tokenizer and Pratt parser (the language is described in nonholo-model(5)), evaluates it
with numbers that carry their first and second derivatives (forward mode), and solves the dense equations of motion

    [ M  -K^T ] [ v'     ]   [ rate   ]     M = d2L/dv2,  K = dk/dv,  drift = (dk/dq) v + dk/dt
    [ K    0  ] [ lambda ] = [ -drift ]     rate = dL/dq + f + gyroscopic - (d2L/dvdq) v - d2L/dvdt

by Gaussian elimination with pivoting. A condition on positions g = 0 follows the other constraints, as g' = 0.
Vectors and matrices are lists. The derivative of an expression is computed by evaluating it again, with numbers that carry
their rate along the motion. A rotation is a unit quaternion, four coordinates with a radial mass like the others;
angular velocities are read off R^T R'. Only Python's standard library; written to be readable, not fast: it
does without the library's expression graph, simplification, reverse mode and sparse elimination."""

import functools
import math
import re
import subprocess

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


class Along(Jet):
    """A number that moves: its value and its rate, both jets or plain numbers."""

    def __init__(self, value, rate):
        self.value, self.rate = value, rate

    def __add__(self, other):
        return Along(self.value + still(other), self.rate + rate(other))

    def __mul__(self, other):
        return Along(self.value * still(other), self.rate * still(other) + self.value * rate(other))

    __radd__, __rmul__ = __add__, __mul__


def still(x):
    return x.value if isinstance(x, Along) else x


def rate(x):
    return x.rate if isinstance(x, Along) else 0.0


def power(base, exponent):
    if isinstance(exponent, Jet):
        return call("exp", exponent * call("log", base))
    if isinstance(base, Along):
        slope = exponent * power(base.value, exponent - 1) if exponent else 0.0
        return Along(power(base.value, exponent), base.rate * slope)
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

# Their slopes at x, which may be a jet.
SLOPES = {
    "sin": lambda x: call("cos", x),
    "cos": lambda x: -call("sin", x),
    "tan": lambda x: power(call("cos", x), -2),
    "asin": lambda x: power(1 - x * x, -0.5),
    "acos": lambda x: -power(1 - x * x, -0.5),
    "atan": lambda x: power(1 + x * x, -1),
    "sinh": lambda x: call("cosh", x),
    "cosh": lambda x: call("sinh", x),
    "tanh": lambda x: power(call("cosh", x), -2),
    "exp": lambda x: call("exp", x),
    "log": lambda x: power(x, -1),
    "sqrt": lambda x: power(x, -0.5) * 0.5,
}


def call(name, *arguments):
    if name == "atan2":
        return atan2(*arguments)
    if name in VECTOR_FUNCTIONS:
        return VECTOR_FUNCTIONS[name](*arguments)
    value, derivatives = FUNCTIONS[name]
    (x,) = arguments
    if isinstance(x, Along):
        return Along(call(name, x.value), x.rate * SLOPES[name](x.value))
    if not isinstance(x, Jet):
        return value(x)
    f = value(x.value)
    return x.chain(f, *derivatives(x.value, f))


def atan2(y, x):
    """With derivatives: after a rotation by the angle itself, the rest is a small arc tangent."""
    angle = math.atan2(plain(y), plain(x))
    if not isinstance(y, Jet) and not isinstance(x, Jet):
        return angle
    c, s = math.cos(angle), math.sin(angle)
    return call("atan", (y * c - x * s) / (x * c + y * s)) + angle


def plain(x):
    """Without derivatives and rates."""
    return plain(x.value) if isinstance(x, Jet) else x


# ---- vectors and matrices: lists, and lists of lists ----


def each(f, *operands):
    """f, component by component where the operands are lists of the same length."""
    if not isinstance(operands[0], list):
        return f(*operands)
    return [each(f, *parts) for parts in zip(*operands, strict=True)]


def product(a, b):
    if not isinstance(a, list):
        return each(lambda x: a * x, b)
    if not isinstance(b, list):
        return each(lambda x: x * b, a)
    if isinstance(b[0], list):
        return [[dot(row, column) for column in transpose(b)] for row in a]
    return [dot(row, b) for row in a]


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), 0.0)


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def transpose(a):
    return [list(column) for column in zip(*a, strict=True)]


def norm(a):
    return call("sqrt", dot(a, a))


def skew(a):
    """The matrix of the cross product with a."""
    return [[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]]


def turn(axis, angle):
    """Rodrigues: 1 + sin E + (1 - cos) E E."""
    E = skew([x / norm(axis) for x in axis])
    s, c = call("sin", angle), call("cos", angle)
    return [[(i == j) + s * e + (1 - c) * ee for j, (e, ee) in enumerate(zip(*rows))]
            for i, rows in enumerate(zip(E, product(E, E)))]


VECTOR_FUNCTIONS = {
    "dot": dot, "cross": cross, "transpose": transpose, "norm": norm, "turn": turn,
    "yaw": lambda R: atan2(R[1][0], R[0][0]), "roll": lambda R: atan2(R[2][1], R[2][2]),
    "pitch": lambda R: atan2(-R[2][0], call("sqrt", R[2][1] * R[2][1] + R[2][2] * R[2][2])),
}


def matrix_of(p):
    """The rotation of a quaternion, from body to space."""
    a, b, c, d = p
    return [[a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d]]


def quaternion_of(R):
    """With the largest component first, which it is safe to divide by; of the two the one with p0 >= 0."""
    squares = [1 + R[0][0] + R[1][1] + R[2][2]] + [1 + 2 * R[i][i] - R[0][0] - R[1][1] - R[2][2] for i in range(3)]
    k = max(range(4), key=squares.__getitem__)
    pairs = [R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]]
    if k == 0:
        p = [squares[0], *pairs]
    else:
        p = [pairs[k - 1], *(R[k - 1][j] + R[j][k - 1] for j in range(3))]
        p[k] = squares[k]
    size = math.copysign(2 * math.sqrt(squares[k]), p[0])
    return [x / size for x in p]


def quaternion_rate(p, w):
    """p' = p (0, w)/2, with w in body axes."""
    across = cross(p[1:], w)
    return [-dot(p[1:], w) / 2, *((p[0] * x + c) / 2 for x, c in zip(w, across))]


def body_rate(p, rate):
    """The w of a p', or w' of a p'': the rest is along p."""
    across = cross(p[1:], rate[1:])
    return [2 * (p[0] * x - y * rate[0] - c) for x, y, c in zip(rate[1:], p[1:], across)]


def components(value, name):
    """Numbers with their names: NAME[1], NAME[2] of a vector."""
    if not isinstance(value, list):
        return {name: value}
    return {f"{name}[{i}]": x for i, x in enumerate(value, 1)}


# ---- from text to trees ----

TOKEN = re.compile(r"#[^\n]*|[ \t\r]+|(?P<sign>\.\.|>=|[-+*/^()\[\],=:'\n])"
                   r"|(?P<number>(?:\d+\.(?!\.)\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
BINDS = {"+": 10, "-": 10, "*": 20, "/": 20, "^": 40}
SIGNED = 30  # what a sign in front binds like: -2^2 is -4, 2^-1 is a half


def ordinary(program, text):
    """The text with ordinary statements in place of bodies, wheels, blades and springs, as the program expands it: that is
    the text which the program reads."""
    if not re.search(r"^(gravity|body|wheel|blade|spring|damper)\b", text, re.M):
        return text
    return subprocess.run([program, "check", "-", "--expand"], input=text, check=True, capture_output=True, encoding="utf-8").stdout


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
    """One statement's tokens. Trees are tuples: ("number", x), ("name", name, indices, primed), ("call", name, arguments),
    ("sum", loop, body), ("list", elements), ("component", a, indices), ("rate", a), ("minus", a), (operator, a, b)."""

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
            return self.postfix(elements[0] if len(elements) == 1 else ("list", elements))
        if len(self.rest) < 2 or self.rest[-2][1] != "(":
            return self.reference()
        self.take(), self.take("(")
        found = ("sum", self.loop(), self.expression()) if word == "sum" else ("call", word, self.separated(self.expression))
        self.take(")")
        return self.postfix(found)

    def postfix(self, tree):
        while True:
            if self.peek() == "[":
                tree = ("component", tree, self.indices())
            elif self.accept("'"):
                tree = ("rate", tree)
            else:
                return tree

    def indices(self):
        """[i] or [i, j], or nothing."""
        found = []
        if self.accept("["):
            found = self.separated(self.expression)
            self.take("]")
        return found

    def reference(self):
        name, indices = self.take(), self.indices()
        tree = ("name", name, indices, self.accept("'"))
        return self.postfix(tree) if self.peek() == "[" else tree

    def target(self):
        """The target of a start value: x, x[2]', R, body(R)."""
        if len(self.rest) < 2 or self.rest[-2][1] != "(":
            return self.reference()
        axes, _, rotation, _ = self.take(), self.take("("), self.take(), self.take(")")
        return (axes, rotation)

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
        """NAME = expression, f(a, b) = expression or r[i] = expression, as (name, arguments, tree)."""
        name, arguments = self.take(), None
        for opening, closing in ("()", "[]"):
            if self.accept(opening):
                arguments = self.separated(self.take)
                self.take(closing)
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


class HasVelocity(Exception):
    """A velocity was used where there are none."""


class NoVelocities:
    def __getitem__(self, place):
        raise HasVelocity


class Moving:
    """The coordinates of a scope with their rates, each computed on demand."""

    def __init__(self, scope):
        self.scope = scope

    def __getitem__(self, place):
        return Along(self.scope.q[place], self.scope.v[place])


class Argument:
    """An argument of a function call: evaluated where the function uses it, once in each scope."""

    def __init__(self, tree, local):
        self.tree, self.local, self.known = tree, local, {}

    def value(self, scope):
        if scope not in self.known:
            self.known[scope] = scope.value(self.tree, self.local)
        return self.known[scope]


class Scope:
    """The meaning of names at a state: time, lists of coordinates and velocities (numbers or jets), and lets found so far."""

    def __init__(self, model, t, q, v):
        self.model, self.t, self.q, self.v, self.known = model, t, q, v, {}

    def moving(self):
        """The scope in which time and coordinates carry their rates, and in which there are no velocities."""
        if "moving" not in self.known:
            self.known["moving"] = Scope(self.model, Along(self.t, 1.0), Moving(self), NoVelocities())
        return self.known["moving"]

    def value(self, tree, local):
        kind = tree[0]
        if kind == "number":
            return tree[1]
        if kind == "name":
            return self.name(tree, local)
        if kind == "list":
            return [self.value(part, local) for part in tree[1]]
        if kind == "component":
            return self.component(self.value(tree[1], local), tree[2], local)
        if kind == "rate":
            return each(rate, self.moving().value(tree[1], local))
        if kind == "minus":
            return each(lambda x: -x, self.value(tree[1], local))
        if kind == "sum":
            terms = [self.value(tree[2], inner) for inner in self.loop(tree[1], local)]
            return functools.reduce(lambda a, b: each(lambda x, y: x + y, a, b), terms) if terms else 0.0
        if kind == "call":
            return self.call(tree[1], tree[2], local)
        if kind == "quaternion":
            return quaternion_of(self.value(tree[1], local))[tree[2]]
        if kind == "turning":
            return self.turning(*tree[1:], local)
        a, b = self.value(tree[1], local), self.value(tree[2], local)
        if kind == "*":
            return product(a, b)
        return (power(a, b) if kind == "^" else each(lambda x, y: x + y, a, b) if kind == "+" else
                each(lambda x, y: x - y, a, b) if kind == "-" else each(lambda x: x / b, a))

    def component(self, value, indices, local):
        for index in indices:
            value = value[self.whole(index, local) - 1]
        return value

    def call(self, name, arguments, local):
        if name in ("body", "space") and name not in self.model.functions:
            R, turned = self.value(arguments[0], local), self.value(("rate", arguments[0]), local)
            W = product(transpose(R), turned) if name == "body" else product(turned, transpose(R))
            return [W[2][1], W[0][2], W[1][0]]
        if name not in self.model.functions:
            return call(name, *(self.value(a, local) for a in arguments))
        names, body = self.model.functions[name]
        return self.value(body, dict(zip(names, (Argument(a, local) for a in arguments), strict=True)))

    def name(self, tree, local):
        _, name, indices, primed = tree
        if primed and (name not in self.model.families or name in self.model.rotations):
            return self.value(("rate", ("name", name, indices, False)), local)
        if name in self.model.families:
            return self.member(name, indices, primed, local)
        if name in self.model.functions:  # a let with an index: the rest of the indices are a component's
            names, body = self.model.functions[name]
            given = {n: self.whole(index, local) for n, index in zip(names, indices)}
            return self.component(self.value(body, given), indices[len(names):], local)
        return self.component(self.lookup(name, local), indices, local)

    def lookup(self, name, local):
        model = self.model
        if name in local:
            return local[name].value(self) if isinstance(local[name], Argument) else local[name]
        if name in model.lets:
            if name not in self.known:
                self.known[name] = self.value(model.lets[name], {})
            return self.known[name]
        return {"t": self.t, "pi": math.pi, **model.parameters}[name]

    def turning(self, axes, rotation, tree, i, local):
        """Component i of the p' that an angular velocity means."""
        first = self.model.rotations[rotation]
        p, w = [self.q[first + k] for k in range(4)], self.value(tree, local)
        return quaternion_rate(p, w if axes == "body" else product(transpose(matrix_of(p)), w))[i]

    def member(self, name, indices, primed, local):
        """A coordinate or velocity, or the vector of a family's, or the matrix of a rotation."""
        if name in self.model.rotations:
            first = self.model.rotations[name]
            return self.component(matrix_of([self.q[first + i] for i in range(4)]), indices, local)
        family = self.model.families[name]
        source = self.v if primed or name in self.model.algebra else self.q
        if indices:
            return source[family[self.whole(indices[0], local)]]
        return source[family[0]] if name in self.model.single else [source[place] for place in family.values()]

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
    """Start values as a list whose entries are computed on demand; 0 if not given."""

    def __init__(self, given):
        self.given, self.scope = given, None

    def __getitem__(self, place):
        _, tree, local = self.given.get(place, (0, ("number", 0.0), {}))
        return self.scope.value(tree, local)


class Model:
    """Sizes, names and trees of a model with its parameters settled."""

    def __init__(self, text):
        self.parameters, self.functions, self.lets, self.families, self.algebra = {}, {}, {}, {}, set()
        self.coordinates, self.velocities, self.single = [], [], set()  # names; those without an index
        self.rotations = {}  # the place of the first of four coordinates
        self.lagrangian, self.structure, self.forces, self.constraints, self.observables = None, {}, {}, [], {}
        self.starts = {}, {}  # of coordinates and of velocities
        self.solved = set(), set()  # the places that follow from the constraints
        statements = [(p.take(), p) for p in map(Parser, tokens(text.lstrip("\ufeff")))]
        # Statements come in any order: first those that later ones need. Frames add nothing.
        for kinds in (["parameter", "let", "input"], ["coordinate", "rotation"], ["velocity"],
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
        p.optional_loop()  # the bounds of an index
        for name, arguments, tree in p.separated(p.definition):
            if arguments:
                self.functions[name] = arguments, tree
            else:
                self.lets[name] = tree

    def read_input(self, p):
        """Without a command line it has its default."""
        for name, _, tree in p.separated(p.definition):
            self.lets[name] = tree

    def declared(self, p):
        """The next names of a statement, each with those of its members, which get their places."""
        for name, bounds in p.separated(p.declaration):
            indices = [0] if bounds is None else [local["i"] for local in self.numbers().loop(("i", bounds), {})]
            if bounds is None:
                self.single.add(name)
            self.families[name] = {i: len(self.velocities) + at for at, i in enumerate(indices)}
            yield name, [name] if bounds is None else [f"{name}[{i}]" for i in indices]

    def read_coordinate(self, p):
        for _, members in self.declared(p):
            self.coordinates += members
            self.velocities += [member + "'" for member in members]

    def read_rotation(self, p):
        for name in p.separated(p.take):
            self.rotations[name] = len(self.coordinates)
            self.families[name] = {i: len(self.coordinates) + i for i in range(4)}
            self.coordinates += [f"{name}.{i}" for i in range(4)]
            self.velocities += [f"{name}.{i}'" for i in range(4)]
            self.starts[0][self.rotations[name]] = 0, ("number", 1.0), {}

    def read_velocity(self, p):
        for name, members in self.declared(p):
            self.velocities += members
            self.algebra.add(name)

    def read_lagrangian(self, p):
        self.lagrangian = p.expression()

    def read_constraint(self, p):
        if any(text == "grip" for _, text in p.rest):
            return  # it may slip: not a constraint of the model without any mode
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
        loop = p.optional_loop()
        for target, tree in p.separated(lambda: (p.reference(), p.take("="), p.expression())[::2]):
            for local in self.numbers().loop(loop, {}):
                index = f"[{self.numbers().whole(target[2][0], local)}]" if target[2] else ""
                self.observables[target[1] + index] = tree, local

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
            p.take()
            for target in p.separated(p.reference):
                places = {place for place, _, _ in self.members(target, ("number", 0.0), {})}
                self.solved[1 if target[3] or target[1] in self.algebra else 0].update(places)
            return
        assignments = p.separated(lambda: (p.target(), p.take("="), p.expression())[::2])
        scope = self.numbers()
        if conditional and scope.value(left, {}) != scope.value(right, {}):
            return
        for target, tree in assignments:
            if target[0] in ("body", "space"):
                for i, place in enumerate(self.families[target[1]].values()):
                    self.starts[1][place] = 1, ("turning", *target, tree, i), {}
                continue
            if target[1] in self.rotations:
                for i, place in enumerate(self.families[target[1]].values()):
                    self.starts[0][place] = 1, ("quaternion", tree, i), {}
                continue
            starts = self.starts[1 if target[3] or target[1] in self.algebra else 0]
            for local in scope.loop(loop, {}):
                for place, special, part in self.members(target, tree, local):
                    strength = 1 + special + 2 * conditional
                    if strength > starts.get(place, (0,))[0]:
                        starts[place] = strength, part, local

    def members(self, target, tree, local):
        """The targets of an assignment, as (place, whether it is one member of a family, the tree of its value)."""
        _, name, indices, _ = target
        family = self.families[name]
        if indices:
            yield family[self.numbers().whole(indices[0], local)], True, tree
            return
        parts = tree[1] if tree[0] == "list" else [tree] * len(family)
        for place, part in zip(family.values(), parts, strict=True):
            yield place, False, part

    # ---- at a state ----

    def start(self):
        q, v = (Starts(given) for given in self.starts)
        q.scope = v.scope = Scope(self, 0.0, q, v)
        q, v = [float(q[i]) for i in range(len(self.coordinates))], [float(v[i]) for i in range(len(self.velocities))]
        if self.solved[0]:
            q = newton(lambda x: self.position_jets(x), q, sorted(self.solved[0]), 1)
        if self.solved[1]:
            v = newton(lambda x: self.constraint_jets(0.0, q, x), v, sorted(self.solved[1]), 1 + len(q))
        return q, v

    def position_jets(self, q):
        scope = self.jets(0.0, q, [0.0] * len(self.velocities))
        return [x + Jet(0.0) for tree, local in self.constraints if self.on_positions(tree, local)
                for x in self.rows(scope, tree, local)]

    def jets(self, t, q, v):
        """A scope in which variable 0 is t, then come q and v."""
        z = [Jet(x, {i: 1.0}) for i, x in enumerate([t, *q, *v])]
        return Scope(self, z[0], z[1:1 + len(q)], z[1 + len(q):])

    def observed(self, t, q, v):
        scope = Scope(self, t, q, v)
        found = {}
        for name, (tree, local) in self.observables.items():
            found.update(components(scope.value(tree, local), name))
        return found

    def rows(self, scope, tree, local):
        value = scope.value(tree, local)
        return value if isinstance(value, list) else [value]

    def positions(self, t, q):
        """The values of the conditions on positions."""
        scope = Scope(self, t, q, NoVelocities())
        found = [x for tree, local in self.constraints if self.on_positions(tree, local)
                 for x in self.rows(scope, tree, local)]
        return found + [(dot(q[first:first + 4], q[first:first + 4]) - 1) / 2 for first in self.rotations.values()]

    def on_positions(self, tree, local):
        """Whether an equation has no velocities: it can be evaluated where there are none."""
        try:  # with nan, for which every function has a value
            Scope(self, math.nan, [math.nan] * len(self.coordinates), NoVelocities()).value(tree, local)
        except HasVelocity:
            return False
        return True

    def constraint_rows(self, scope):
        """Constraints on velocities, then the rates of conditions on positions."""
        on_velocities, on_positions = [], []
        for tree, local in self.constraints:
            if self.on_positions(tree, local):
                on_positions += self.rows(scope, ("rate", tree), local)
            else:
                on_velocities += self.rows(scope, tree, local)
        for first in self.rotations.values():
            on_positions.append(self.radial(scope, first))
        return on_velocities + on_positions

    def radial(self, scope, first):
        """p.p', half of the rate of a quaternion's square."""
        return dot([scope.q[first + i] for i in range(4)], [scope.v[first + i] for i in range(4)])

    def shown_names(self):
        """The velocities as users see them: the body rate of a rotation in place of four numbers."""
        names = list(self.velocities)
        for name, first in reversed(self.rotations.items()):
            names[first:first + 4] = [f"{name}.w{i}" for i in (1, 2, 3)]
        return names

    def shown(self, q, inner):
        found = list(inner)
        for first in reversed(self.rotations.values()):
            found[first:first + 4] = body_rate(q[first:first + 4], inner[first:first + 4])
        return found

    def inner(self, q, shown):
        found = list(shown)
        for first in self.rotations.values():
            found[first:first + 3] = quaternion_rate(q[first:first + 4], shown[first:first + 3])
        return found

    def constraint_jets(self, t, q, v):
        return [row + Jet(0.0) for row in self.constraint_rows(self.jets(t, q, v))]

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
        scope = self.jets(t, q, v)
        L = scope.value(self.lagrangian, {}) + Jet(0.0)
        for first in self.rotations.values():
            size = sum(L.dd.get((v1 + first + i, v1 + first + i), 0.0) for i in range(4)) / 16
            L += 2 * size * power(self.radial(scope, first), 2)
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


def newton(f, x, places, first):
    """x with f(x) = 0, where the numbers at `places` may move: as many as f determines, or fewer. Variable `first` of the
    jets is x[0]."""
    for _ in range(50):
        rows = f(x)
        if all(abs(row.value) < 1e-15 for row in rows):
            break
        slopes = [[row.d.get(first + i, 0.0) for row in rows] for i in places]
        step = solve([[dot(a, b) for b in slopes] for a in slopes], [-dot(a, [row.value for row in rows]) for a in slopes])
        x = [y + (step[places.index(i)] if i in places else 0.0) for i, y in enumerate(x)]
    return x


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
