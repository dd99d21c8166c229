"""Texts of random small models, for comparison with independent.py. They use the features of the language: constant and
varying mass, forces, linear, affine, nonlinear and time-dependent constraints, families, sums, functions, Lie
algebras, and the ways to write numbers and operators. Masses stay definite and constraints independent: each
constraint has its own velocity, which the others do not use."""

ALGEBRAS = ["[w1, w2] = w3, [w2, w3] = w1, [w3, w1] = w2", "[w1, w2] = a*w3", "[w2, w1] = -w2 + 0.5*w3, [w1, w3] = w3"]
CALLS = ["sin({})", "cos({})", "tanh({})", "atan({})", "exp(-({})^2)", "sqrt(2 + ({})^2)", "1/(1.5 + ({})^2)",
         "log(3 + ({})^2)", "asin(0.5*sin({}))", "acos(0.4*cos({}))", "tan(0.3*sin({}))", "cosh(0.3*sin({}))",
         "sinh(tanh({}))", "(2 + sin({}))^1.5", "(1.5 + cos({})^2)^(0.5*a)", "2^-sin({})", "f({})", "-({})^2/3"]
NUMBERS = ["0.7", ".5", "2.", "1e-1", "-0.3", "2^-1", "(-2^2)/5", "3/4", "pi/6", "a", "b", "2^0.5^2", "(1 - 2 - 3)/7"]


class Generator:
    def __init__(self, chance):
        self.chance = chance
        self.names = [f"x{i}" for i in range(1, chance.randint(2, 4) + 1)]
        self.family = chance.randint(2, 4) if chance.random() < 0.5 else 0
        self.algebra = chance.choice(ALGEBRAS) if chance.random() < 0.25 else None
        self.lead = self.names[:chance.randint(0, len(self.names) - 1)]  # whose velocities constraints settle
        self.free = self.names[len(self.lead):]
        self.leading_family = bool(self.family) and chance.random() < 0.4
        self.time = chance.random() < 0.4

    def maybe(self, probability, text):
        return text if self.chance.random() < probability else ""

    def atom(self):
        atoms = [*self.names, self.chance.choice(NUMBERS), "shared"] + ["t"] * self.time
        if self.family:
            atoms += ["y[1]", "y[N]", "sum(j in 1..N-1: y[j]*y[j+1])", "total"]
        return self.chance.choice(atoms)

    def smooth(self, depth=2):
        """A smooth function of positions, and of time in some models."""
        if depth == 0:
            return self.atom()
        a, b = self.smooth(depth - 1), self.smooth(depth - 1)
        form = self.chance.choice(["({a} + {b})", "({a} - {b})", "({a})*({b})", "atan2({a}, 2 + ({b})^2)", "call"])
        return self.chance.choice(CALLS).format(a) if form == "call" else form.format(a=a, b=b)

    def bounded(self):
        return f"tanh({self.smooth()})"

    def velocities(self):
        return [name + "'" for name in self.names] + ["y[1]'", "y[N]'"] * bool(self.family) \
            + ["w1", "w2", "w3"] * bool(self.algebra)

    def lagrangian(self):
        chance, terms = self.chance, []
        for name in self.names:
            terms.append(f"{chance.uniform(1, 3):.3f}{self.maybe(0.4, f'*(1 + {self.bounded()}^2)')}*{name}'^2/2")
        for _ in range(chance.randint(0, 2)):  # small enough beside the diagonal
            u, v = chance.sample(self.velocities(), 2)
            terms.append(f"0.15{self.maybe(0.5, '*' + self.bounded())}*{u}*{v}")
        if chance.random() < 0.4:  # terms linear in the velocities
            terms.append(f"{self.bounded()}*{chance.choice(self.velocities())}")
        if chance.random() < 0.2:  # a mass that depends on the velocities
            terms.append(f"0.2*sqrt(1 + {chance.choice(self.velocities())}^2)")
        if self.family:
            terms.append("sum(i in 1..N: (1 + i/4)*y[i]'^2/2 - i/3*y[i]^2)")
        if self.algebra:
            terms.append("(w1^2 + 2*w2^2 + 3*w3^2)/2 + 0.2*w1*w3")
        return f"({' + '.join(terms)}\n  - {self.smooth(3)})"

    def right(self):
        """The value of a dependent velocity: linear, affine or nonlinear in the others."""
        kind, u = self.chance.random(), self.chance.choice(self.free) + "'"
        text = f"{self.bounded()}*{u}"
        if kind > 0.5:
            text += f" + {self.smooth()}"
        if kind > 0.75:
            text += f" + 0.2*{u}^2 - sin({self.chance.choice(self.free)}')/3"
        return text

    def constraints(self):
        for number, name in enumerate(self.lead):
            label = self.maybe(0.5, f"tie_{number}: ")
            left, right = (f"{name}'", self.right())
            yield f"constraint {label}{left} = {right}" if self.chance.random() < 0.5 \
                else f"constraint {label}{right} - {left} = 0"
        if self.leading_family:
            yield f"constraint for i in 1..N: y[i]' = cos(i*{self.names[-1]})*{self.free[-1]}' + {self.bounded()}*i/2"

    def forces(self):
        for name in self.names:
            if self.chance.random() < 0.3:
                yield f"force {name} = {self.smooth()} - 0.3*{self.chance.choice(self.velocities())}^3"
        if self.family and self.chance.random() < 0.3:
            yield f"force for i in 1..N: y[i] = -0.1*i*y[i]' + {self.bounded()}"

    def starts(self):
        for name in self.names:
            yield f"start {name} = {self.chance.uniform(-1, 1):.4f}, {name}' = {self.chance.uniform(-1, 1):.4f}*cos({name})"
        if self.family:
            yield self.chance.choice(["start y = 0.3, y[2]' = x1' - 0.2", "start for i in 1..N: y[i] = 0.2*i, y[i]' = 1/i"])
            yield f"start when N = 2: y' = (0.4, -a)"
        if self.algebra:
            yield "start w1 = 0.4, w2 = -x1, w3 = x1' + 0.1"

    def text(self):
        chance = self.chance
        first = ["model random", f"parameter a = {chance.uniform(0.5, 1.5):.3f}, b = a/2 - 1  # numbers"]
        if self.family:
            first += [f"parameter N = {self.family}", "coordinate y[1..N]", "let total = sum(i in 1..N: i*y[i])"]
        first += [f"coordinate {', '.join(self.names)}"]
        if self.algebra:
            first += ["velocity w1, w2, w3", f"bracket {self.algebra}"]
        first += [f"let f(s) = s/2 - {chance.choice(['sin(s)', 's^2/4', 'a*tanh(s)'])}", "let shared = f(x1*x2) - cos(a*x1)"]
        rest = [f"lagrangian {self.lagrangian()}", *self.constraints(), *self.forces(), *self.starts(),
                f"observe seen = {self.smooth()}*{chance.choice(self.velocities())}"]
        chance.shuffle(rest)
        return "\n".join(first + rest) + "\n"


class Coupled(Generator):
    """Models in which everything acts on everything: full mass matrices, of which some are not definite or have tiny
    entries on their diagonal, and constraints that share their velocities and depend on time in many ways."""

    def __init__(self, chance):
        super().__init__(chance)
        self.names = [f"x{i}" for i in range(1, chance.randint(2, 5) + 1)]
        self.family, self.algebra, self.leading_family = 0, None, False
        self.lead, self.free = [], self.names
        self.time = chance.random() < 0.6
        self.definite = chance.random() < 0.6

    def combination(self, lead):
        """A linear combination of all velocities in which one stands out."""
        terms = []
        for number, name in enumerate(self.names):
            size = 1.5 if number == lead else 0.5 * self.chance.uniform(-1, 1)
            terms.append(f"({size:.3f}{self.maybe(0.5, f' + 0.3*{self.bounded()}')})*{name}'")
        return " + ".join(terms)

    def lagrangian(self):
        chance, terms = self.chance, []
        for number in range(len(self.names)):
            sign = "-" if not self.definite and chance.random() < 0.5 else ""
            terms.append(f"{sign}{chance.uniform(1, 3):.3f}*({self.combination(number)})^2/2")
        if not self.definite and chance.random() < 0.5:  # no pivot on the diagonal
            terms = [f"{chance.choice(['1e-17', '0', '-1e-14'])}*x1'^2 + {chance.uniform(1, 2):.3f}*x1'*x2'"
                     + self.maybe(0.5, f" + 0.4*{self.bounded()}*x2'^2")] \
                + [f"{chance.uniform(1, 2):.3f}*{name}'^2/2 + 0.2*{self.bounded()}*{name}'*x1'" for name in self.names[2:]]
        if chance.random() < 0.4:
            terms.append(f"{self.bounded()}*{chance.choice(self.velocities())}")
        return f"({' + '.join(terms)}\n  - {self.smooth(3)})"

    def constraints(self):
        for number in range(self.chance.randint(0, len(self.names) - 1)):
            text, kind = self.combination(number), self.chance.random()
            if kind > 0.4:
                text += f" + {self.bounded()}"
            if kind > 0.6:
                u, v = self.chance.choice(self.velocities()), self.chance.choice(self.velocities())
                text += self.chance.choice([f" + 0.2*{u}*{v}", f" - 0.3*sqrt(1 + {u}^2)", f" + 0.2*sin({u} - {v})"])
            yield f"constraint {text} = 0"


def random_model(chance):
    return Generator(chance).text()


def random_coupled_model(chance):
    return Coupled(chance).text()
