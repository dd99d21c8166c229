"""Writes a model again in other units: the same motion, other numbers.

Lengths (coordinates that are not angles) are multiplied by `length`, times by `time`, masses by `mass`; one coordinate
after the other also by the factors `own`, in turn. No table of units is needed, because any multiple of a coordinate is
a coordinate: every x of the text becomes x/length, every x' becomes x'*time/length, t becomes t/time, and the
Lagrangian, forces, constraints, frames and start values get the corresponding factors. The text is read with the
parser of independent.py."""

from independent import Parser, tokens

UNCHANGED = ("parameter", "coordinate", "rotation", "velocity", "bracket")


class Units:
    def __init__(self, text, mass=1.0, length=1.0, time=1.0, own=(1.0,)):
        self.mass, self.length, self.time, self.own = mass, length, time, own
        self.energy = mass * length**2 / time**2
        self.names, self.angles, self.algebra = [], set(), set()
        statements = [(s[0][1], s[1:]) for s in tokens(text)]
        for kind, rest in statements:
            if kind in ("coordinate", "velocity"):
                self.declare(kind, rest)
        self.text = "model scaled\n" + "".join(
            self.statement(kind, rest) + "\n" for kind, rest in statements if kind not in ("model", "draw"))

    def declare(self, kind, rest):
        angle = kind == "coordinate" and rest[-1][1] == "angle"
        names = [name for name, _ in (lambda p: p.separated(p.declaration))(Parser(rest[:-1] if angle else rest))]
        self.names += names
        self.angles |= set(names) if angle else set()
        self.algebra |= set(names) if kind == "velocity" else set()

    # ---- factors: the number in new units divided by the one in old units ----

    def of_position(self, name):
        if name in self.angles or name in self.algebra or "." in name:  # R.0, R.w1
            return 1.0
        return self.length * self.own[self.names.index(name) % len(self.own)]

    def of_velocity(self, name):
        return self.of_position(name) / self.time

    def of_target(self, tree):
        if tree[0] != "name":  # body(R)
            return 1 / self.time
        _, name, _, primed = tree
        if name not in self.names:  # a rotation
            return 1.0
        return self.of_velocity(name) if primed or name in self.algebra else self.of_position(name)

    # ---- expressions ----

    def show(self, tree):
        kind = tree[0]
        if kind == "number":
            return repr(tree[1]) if tree[1] >= 0 else f"({tree[1]!r})"
        if kind == "name":
            return self.name(tree)
        if kind == "minus":
            return f"(-{self.show(tree[1])})"
        if kind == "call":
            called = f"{tree[1]}({', '.join(map(self.show, tree[2]))})"
            factor = {"body": self.time, "space": self.time, "reaction": self.length / self.energy}.get(tree[1])
            return f"({factor!r}*{called})" if factor else called
        if kind == "sum":
            return f"sum({self.loop(tree[1])} {self.show(tree[2])})"
        if kind == "list":
            return f"({', '.join(map(self.show, tree[1]))})"
        if kind == "component":
            return self.show(tree[1]) + self.indices(tree[2])
        if kind == "rate":
            return f"((({self.show(tree[1])})')*{self.time!r})"
        return f"({self.show(tree[1])} {kind} {self.show(tree[2])})"

    def reference(self, tree):
        if tree[0] != "name":
            return "%s(%s)" % tree
        _, name, indices, primed = tree
        return name + self.indices(indices) + ("'" if primed else "")

    def indices(self, indices):
        return f"[{', '.join(map(self.show, indices))}]" if indices else ""

    def name(self, tree):
        if tree[1] in self.names:
            return f"({1 / self.of_target(tree)!r}*{self.reference(tree)})"  # a family without an index is a vector
        if tree[3]:
            return f"({self.reference(tree)}*{self.time!r})"
        return f"(t/{self.time!r})" if tree[1] == "t" else self.reference(tree)

    def loop(self, loop):
        name, (low, high) = loop
        return f"{name} in {self.show(low)}..{self.show(high)}:"

    def times(self, factor, tree):
        """Lists, component by component."""
        if factor is None:
            return self.show(tree)
        if tree[0] == "list":
            return f"({', '.join(self.times(factor, e) for e in tree[1])})"
        return f"{factor!r}*{self.show(tree)}"

    # ---- statements ----

    def statement(self, kind, rest):
        if kind in UNCHANGED:
            return f"{kind} {' '.join(word for _, word in rest)}".replace(" '", "'")
        return f"{kind} {getattr(self, 'write_' + kind)(Parser(rest))}"

    def write_let(self, p):
        loop, found = self.optional_loop(p), []
        while not found or p.accept(","):
            bracketed = p.rest[-2][1] == "["
            name, arguments, tree = p.definition()
            opening, closing = "[]" if bracketed else "()"
            head = opening + ", ".join(arguments) + closing if arguments else ""
            found.append(f"{name}{head} = {self.show(tree)}")
        return loop + ", ".join(found)

    def write_observe(self, p):
        return self.optional_loop(p) + self.assignments(p, lambda target: None)

    def write_span(self, p):
        return self.times(self.time, p.expression())

    def write_lagrangian(self, p):
        return self.times(self.energy, p.expression())

    def optional_loop(self, p):
        loop = p.optional_loop()
        return f"for {self.loop(loop)} " if loop else ""

    def assignments(self, p, factor):
        return ", ".join(
            f"{self.reference(target)} = {self.times(factor(target), tree)}"
            for target, tree in p.separated(lambda: (p.target(), p.take("="), p.expression())[::2]))

    def write_force(self, p):
        return self.optional_loop(p) + self.assignments(p, lambda target: self.energy / self.of_position(target[1]))

    def write_constraint(self, p):
        name = ""
        if p.peek() != "for" and len(p.rest) > 1 and p.rest[-2][1] in (":", "for"):
            name = p.take()
            name += ": " if p.accept(":") else " "
        loop = self.optional_loop(p)
        left, right = p.equation()
        rate = self.length / self.time
        return f"{name}{loop}{self.times(rate, left)} = {self.times(rate, right)}"

    def write_frame(self, p):
        loop = self.optional_loop(p)
        if p.peek() != "(":
            return loop + self.assignments(p, lambda target: self.of_position(target[1]))
        vectors = p.separated(p.expression)
        return loop + ", ".join(
            "(%s)" % ", ".join(self.times(self.of_position(name), e)
                               for name, e in zip(self.names, vector[1], strict=True))
            for vector in vectors)

    def write_start(self, p):
        when = ""
        if p.accept("when"):
            left, right = p.equation()
            p.take(":")
            when = f"when {self.show(left)} = {self.show(right)}: "
        before = when + self.optional_loop(p)
        if p.at_solve():
            p.take()
            return before + "solve " + ", ".join(map(self.reference, p.separated(p.reference)))
        return before + self.assignments(p, self.of_target)
