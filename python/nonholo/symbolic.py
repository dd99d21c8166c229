"""From SymPy to a model: Lagrangians, and the method objects of sympy.physics.mechanics.

SymPy is imported when it is needed. The result is a text in the model language (``model.text``), which the
library treats like any other."""

from __future__ import annotations

import re
from typing import Any, Iterable, Mapping

from .system import Model, load

FUNCTIONS = "sin cos tan asin acos atan atan2 sinh cosh tanh exp log sqrt".split()
RESERVED = set(FUNCTIONS) | {"abs", "sign", "min", "max", "if", "t", "pi", "sum", "in", "for", "energy", "angle", "driver_energy", "passenger_energy", "latitude"}
LINE = 90  # where long expressions are broken


class _Writer:
    """Writes expressions in the model language; knows the names of coordinates and parameters."""

    def __init__(self, q: Iterable[Any], time: Any):
        import sympy

        self.sympy, self.time = sympy, time
        self.names: dict[Any, str] = {}
        self.inputs: list[Any] = []  # functions of time that are not coordinates
        self.taken = set(RESERVED)
        for coordinate in q:
            self.name(coordinate)

    def name(self, symbol: Any) -> str:
        """A valid name of the model language, always the same for the same symbol."""
        if symbol not in self.names:
            wanted = symbol.func.__name__ if symbol.is_Function else symbol.name
            plain = re.sub(r"\W", "_", wanted.replace("{", "").replace("}", ""), flags=re.ASCII)
            plain = plain if re.match(r"[A-Za-z_]", plain) else "_" + plain
            while plain in self.taken:
                plain += "_"
            self.taken.add(plain)
            self.names[symbol] = plain
        return self.names[symbol]

    def write(self, expression: Any) -> str:
        s = self.sympy
        e = s.sympify(expression)
        if getattr(e, "is_Matrix", False):
            return self._matrix(e)
        if e.is_Integer or e.is_Float or e.is_Rational:
            return self._number(e)
        if e is s.pi:
            return "pi"
        if e is s.E:
            return "exp(1)"
        if e == self.time:
            return "t"
        if e.is_Symbol or e in self.names:
            return self.name(e)
        if isinstance(e, s.Derivative):
            return self._velocity(e)
        if e.is_Add:
            return "(" + self._broken(" + ".join, map(self.write, e.args)) + ")"
        if e.is_Mul:
            return "(" + "*".join(map(self.write, e.args)) + ")"
        if e.is_Pow:
            return self._power(e)
        return self._function(e)

    def _broken(self, join: Any, parts: Iterable[str]) -> str:
        """Breaks long sums into lines; a line continues while a parenthesis is open."""
        lines, line = [], ""
        for part in parts:
            candidate = join([line, part]) if line else part
            if line and len(candidate) > LINE:
                lines.append(line + " +")
                candidate = part
            line = candidate
        return "\n  ".join(lines + [line])

    def _matrix(self, e: Any) -> str:
        """A vector from one column or row, a number from a single entry."""
        if e.rows == 1 and e.cols == 1:
            return self.write(e[0, 0])
        if e.rows == 1 or e.cols == 1:
            return "(" + ", ".join(map(self.write, e)) + ")"
        return "(" + ", ".join(self._matrix(e[i, :]) for i in range(e.rows)) + ")"

    def _choice(self, condition: Any, yes: str, no: str) -> str:
        s = self.sympy
        if condition == True:  # noqa: E712 (SymPy's true is not Python's)
            return yes
        if condition == False:  # noqa: E712
            return no
        if isinstance(condition, s.And):
            for part in condition.args:
                yes = self._choice(part, yes, no)
            return yes
        if isinstance(condition, s.Or):
            for part in condition.args:
                no = self._choice(part, yes, no)
            return no
        if isinstance(condition, s.Not):
            return self._choice(condition.args[0], no, yes)
        if not isinstance(condition, (s.StrictLessThan, s.LessThan, s.StrictGreaterThan, s.GreaterThan)):
            raise ValueError(f"the model language has no condition {condition}; expected one with < > <= >=")
        return f"if({self.write(condition.lhs)} {condition.rel_op} {self.write(condition.rhs)}, {yes}, {no})"

    def _piecewise(self, e: Any) -> str:
        if e.args[-1].cond != True:  # noqa: E712
            raise ValueError(f"{e} has no value everywhere; expected a last piece (value, True)")
        text = ""
        for piece in reversed(e.args):
            text = self._choice(piece.cond, self.write(piece.expr), text)
        return text

    def _number(self, e: Any) -> str:
        if e.is_Float:
            text = repr(float(e))
        elif e.is_Integer:
            text = str(e)
        else:
            text = f"({e.p}/{e.q})"
        return f"({text})" if text.startswith("-") else text

    def _velocity(self, e: Any) -> str:
        if e.variables != (self.time,) or not (e.expr in self.names or self._is_input(e.expr)):
            raise ValueError(f"{e} is not the velocity of a coordinate")
        return self.write(e.expr) + "'"

    def _is_input(self, e: Any) -> bool:
        return isinstance(e, self.sympy.core.function.AppliedUndef) and e.args == (self.time,)

    def _power(self, e: Any) -> str:
        half = self.sympy.Rational(1, 2)
        if e.exp == half:
            return f"sqrt({self.write(e.base)})"
        if e.exp == -half:
            return f"(1/sqrt({self.write(e.base)}))"
        if e.exp == -1:
            return f"(1/{self.write(e.base)})"
        base, exponent = self.write(e.base), self.write(e.exp)
        # a prime or a function binds tighter than the power; everything else that needs parentheses has them
        return f"({base}^{exponent})"

    def _function(self, e: Any) -> str:
        s, name = self.sympy, type(e).__name__
        if self._is_input(e):
            self.inputs.append(e)
            return self.name(e)
        if isinstance(e, (s.Abs, s.sign)):
            return f"{'abs' if isinstance(e, s.Abs) else 'sign'}({self.write(e.args[0])})"
        if isinstance(e, (s.Max, s.Min)):
            chosen = "max" if isinstance(e, s.Max) else "min"
            parts = list(map(self.write, e.args))
            while len(parts) > 1:
                parts[:2] = [f"{chosen}({parts[0]}, {parts[1]})"]
            return parts[0]
        if isinstance(e, s.Piecewise):
            return self._piecewise(e)
        if isinstance(e, (s.sec, s.csc, s.cot)):
            return self.write(e.rewrite(s.cos) if not isinstance(e, s.csc) else 1 / s.sin(e.args[0]))
        if name not in FUNCTIONS:
            raise ValueError(f"the model language has no {e}")
        return f"{name}({', '.join(map(self.write, e.args))})"


def _statements(writer: _Writer, name: str, q: list, angles: set, L: Any, constraints: Any, forces: Any,
                parameters: Mapping, start: Mapping, observe: Mapping, solved: Iterable = ()) -> str:
    write = writer.write
    body = [f"lagrangian {write(L)}"]
    body += [f"force {writer.name(c)} = {write(f)}" for c, f in forces.items() if f != 0]
    body += [f"constraint {n}: {write(c)} = {_zero(c)}" for n, c in constraints.items()]
    body += [f"start {n} = {write(value)}" for n, value in start.items()]
    body += [f"start solve {write(c)}" for c in solved]
    body += [f"observe {n} = {write(value)}" for n, value in observe.items()]
    head = [f"model {name}"]
    given = {writer.sympy.sympify(k) if not isinstance(k, str) else writer.sympy.Symbol(k): v for k, v in parameters.items()}
    inputs = {e: given.pop(e, 0) for e in writer.inputs}
    named = {writer.name(k): v for k, v in given.items()}
    known = set(named) | {writer.names[c] for c in q} | {writer.names[e] for e in inputs}
    missing = [n for s, n in writer.names.items() if n not in known]
    if missing:
        raise ValueError(f"these symbols are neither coordinates nor parameters: {', '.join(sorted(missing))}")
    head += [f"parameter {n} = {write(v)}" for n, v in named.items()]
    head += [f"coordinate {writer.name(c)}{' angle' if c in angles else ''}" for c in q]
    head += [f"input {writer.names[e]} = {write(v)}" for e, v in inputs.items()]
    return "\n".join(head + body) + "\n"


def _zero(value: Any) -> str:
    """0, or a vector or matrix of zeros of the shape of a value."""
    rows, columns = getattr(value, "shape", (1, 1))
    row = "(" + ", ".join(["0"] * columns) + ")" if columns > 1 else "0"
    return row if rows == 1 else "(" + ", ".join([row] * rows) + ")"


def _named(constraints: Any) -> dict[str, Any]:
    items = constraints.items() if isinstance(constraints, Mapping) else ((f"k{i}", c) for i, c in enumerate(constraints, 1))
    return {name: c.lhs - c.rhs if hasattr(c, "lhs") else c for name, c in items}


def from_sympy(
    L: Any,
    q: Iterable[Any],
    constraints: Any = (),
    parameters: Mapping[Any, Any] | None = None,
    *,
    forces: Mapping[Any, Any] | None = None,
    start: Mapping[Any, Any] | None = None,
    observe: Mapping[str, Any] | None = None,
    angles: Iterable[Any] = (),
    name: str = "sympy",
    time: Any = None,
) -> Model:
    """A model from a Lagrangian in SymPy.

    ``q`` are functions of time (``dynamicsymbols``), and their derivatives are the velocities. ``constraints`` are
    expressions that vanish, or equations, in a list or in a dictionary by name; one without velocities is a condition
    on positions. They may be matrices, and so may observables. ``Max``, ``Min``, ``Abs``, ``sign`` and
    ``Piecewise`` are understood. ``parameters`` maps symbols to values,
    ``forces`` coordinates to generalised forces, ``start`` coordinates and velocities to start values, and ``observe``
    names to expressions. ``angles`` lists the periodic coordinates. Functions of time that are not coordinates,
    such as ``dynamicsymbols("F")``, become inputs; ``parameters`` may give their default, which is 0 otherwise.

    >>> import nonholo, sympy
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> x, y, th = dynamicsymbols("x y theta")
    >>> dx, dy, w = (a.diff() for a in (x, y, th))
    >>> m, J, a = sympy.symbols("m J a")
    >>> side = dy*sympy.cos(th) - dx*sympy.sin(th)
    >>> L = m*(dx**2 + dy**2)/2 + (J + m*a**2)*w**2/2 + m*a*w*side
    >>> sleigh = nonholo.from_sympy(L, [x, y, th], [side], {m: 1, J: 8, a: 1}, angles=[th], start={dx: 1, w: 0.1})
    >>> run = nonholo.simulate(sleigh, "gauss", step=0.1, time=10)
    >>> bool(run.constraint_max < 1e-14)
    True
    """
    return _model(L, q, constraints, parameters, forces, start, observe, angles, name, time)


def _model(L: Any, q: Iterable[Any], constraints: Any, parameters: Any, forces: Any, start: Any, observe: Any, angles: Any,
           name: str, time: Any = None, solved: Iterable[Any] = ()) -> Model:
    """As :func:`from_sympy`; the velocities ``solved`` follow from the others at the start."""
    from sympy.physics.vector import dynamicsymbols

    coordinates = list(q)
    writer = _Writer(coordinates, time if time is not None else getattr(dynamicsymbols, "_t"))
    first = {key if isinstance(key, str) else writer.write(key): value for key, value in (start or {}).items()}
    text = _statements(writer, name, coordinates, set(angles), L, _named(constraints), dict(forces or {}),
                       parameters or {}, first, observe or {}, solved)
    return load(text, file=name)


# ---- sympy.physics.mechanics -----------------------------------------------------------------------


def from_mechanics(
    method: Any,
    parameters: Mapping[Any, Any] | None = None,
    *,
    start: Mapping[Any, Any] | None = None,
    observe: Mapping[str, Any] | None = None,
    angles: Iterable[Any] = (),
    name: str = "mechanics",
) -> Model:
    """A model from a ``LagrangesMethod`` or a ``KanesMethod``.

    Loads that have a potential become part of the Lagrangian, so that the energy is known; other loads become
    forces. ``start`` may contain Kane's speeds. Functions of time that are not coordinates become inputs, as in
    :func:`from_sympy`. Configuration constraints become conditions on positions; their time derivatives among the
    velocity constraints are left out.

    If constraints were substituted into the velocities of a ``KanesMethod`` by hand, as with the contact point of SymPy's
    rolling disc, whose velocity is set to 0, the model gets coordinates for the places of the bodies concerned
    (``disc_x``, ``disc_y``) and constraints that give them these velocities. The accelerations are compared with Kane's,
    and the model is refused if they differ.
    """
    from sympy.physics.mechanics import KanesMethod, LagrangesMethod

    places: list[Any] = []
    if isinstance(method, LagrangesMethod):
        L, q, constraints, forces = _from_lagrange(method)
        first = dict(start or {})
    elif isinstance(method, KanesMethod):
        L, q, constraints, forces, places = _from_kane(method)
        first = _start_from_speeds(method, dict(start or {}))
    else:
        raise TypeError(f"expected a LagrangesMethod or a KanesMethod, not {type(method).__name__}")
    L, forces = _take_potential(L, q, forces)
    model = _model(L, q + places, _named(constraints), parameters, dict(zip(q, forces)), first, observe, angles, name,
                   solved=[place.diff() for place in places])
    if isinstance(method, KanesMethod):
        _compare_with_kane(method, model, parameters or {})
    return model


def _generalised_forces(loads: Any, frame: Any, velocities: list, change: Mapping) -> list:
    """Q_i = sum of F . dv/dq_i' over the loads: forces at points, torques on frames."""
    forces = [0] * len(velocities)
    for place, load_vector in loads or []:
        moved = place.vel(frame) if hasattr(place, "vel") else place.ang_vel_in(frame)
        moved, load_vector = moved.subs(change), load_vector.subs(change)
        for i, velocity in enumerate(velocities):
            forces[i] += moved.diff(velocity, frame, var_in_dcm=False) & load_vector
    return forces


def _from_lagrange(method: Any) -> tuple[Any, list, list, list]:
    q = list(method.q)
    velocities = [c.diff() for c in q]
    forces = _generalised_forces(method.forcelist, method.inertial, velocities, {})
    L = method._L[0] if hasattr(method._L, "shape") else method._L  # a 1 x 1 matrix in some versions
    return L, q, _with_positions(list(getattr(method, "_hol_coneqs", []) or []), list(method.coneqs), q), forces


def _with_positions(positions: list, rows: list, q: list) -> list:
    """Conditions on positions, and those rows of velocity constraints that their rates do not imply."""
    import numpy as np
    import sympy
    from sympy.physics.vector import dynamicsymbols

    if not positions:
        return rows
    time: Any = getattr(dynamicsymbols, "_t")
    velocities = sympy.Matrix([c.diff(time) for c in q])
    rates = [sympy.sympify(g).diff(time) for g in positions]
    jacobian = sympy.Matrix(rates + rows).jacobian(velocities)
    dice = np.random.default_rng(1)
    state = {a: dice.uniform(0.2, 0.9) for a in list(velocities)}
    state.update({a: dice.uniform(0.2, 0.9) for a in list(q) + sorted(jacobian.free_symbols - {time}, key=str)})
    A = np.array(jacobian.subs(state).subs(time, 0.4).evalf().tolist(), dtype=float)
    kept = list(range(len(rates)))
    for i in range(len(rates), len(A)):
        if np.linalg.matrix_rank(A[kept + [i]]) > np.linalg.matrix_rank(A[kept]):
            kept.append(i)
    return list(positions) + [rows[i - len(rates)] for i in kept[len(rates) :]]


def _speeds(method: Any) -> dict:
    """Kane's speeds u as functions of q and q'."""
    import sympy

    q = list(method.q)
    rates = sympy.Matrix([method.kindiffdict()[c.diff()] for c in q])
    u = list(method.u)
    Y = rates.jacobian(sympy.Matrix(u))
    rest = rates.subs({a: 0 for a in u})
    if Y.rows != Y.cols:
        raise ValueError("Kane's method needs as many speeds as coordinates here")
    solved = Y.LUsolve(sympy.Matrix([c.diff() for c in q]) - rest)
    return dict(zip(u, [sympy.simplify(e) for e in solved]))


def _from_kane(method: Any) -> tuple[Any, list, list, list, list]:
    import sympy

    q, u = list(method.q), list(method.u)
    frame, bodies = method._inertial, method.bodies
    if not bodies:
        raise ValueError("the KanesMethod has no bodies yet; call its kanes_equations(bodies, loads) first")
    change = {**_speeds(method), **{a: 0 for a in getattr(method, "_uaux", None) or []}}
    # SymPy requires the rates of configuration constraints among the velocity constraints
    constraints = list(method._k_nh * sympy.Matrix(u) + method._f_nh) if method._k_nh else []
    constraints = [sympy.simplify(sympy.sympify(c).subs(change)) for c in constraints]
    constraints = _with_positions(list(method._f_h) if method._f_h else [], constraints, q)
    kinetic, places = sympy.Integer(0), []
    for body in bodies:
        velocity = (body.masscenter if hasattr(body, "masscenter") else body.point).vel(frame)
        moves = velocity.subs(change).to_matrix(frame)
        kinetic += (body.kinetic_energy(frame) - body.mass / 2 * velocity.dot(velocity)).subs(change)
        for axis, component in zip("xyz", moves):
            if not _is_rate(component, q):
                places.append(_place(f"{body}_{axis}", q + places))
                constraints.append(places[-1].diff() - sympy.simplify(component))
                component = places[-1].diff()
            kinetic += body.mass / 2 * component**2
    potential = sum(body.potential_energy for body in bodies)
    forces = _generalised_forces(method.loads, frame, [c.diff() for c in q], change)
    # if the bodies' potentials are not in the loads, Kane's equations do not contain them either
    return sympy.simplify(kinetic) - (potential if not method.loads else 0), q, constraints, forces, places


def _place(name: str, taken: list) -> Any:
    from sympy.physics.vector import dynamicsymbols

    while any(c.func.__name__ == name for c in taken):
        name += "_"
    return dynamicsymbols(name)


def _numerical(e: Any, state: Mapping, dice: Any) -> float:
    """The value of an expression in a state; everything else that occurs in it gets a random value."""
    import sympy

    e = sympy.sympify(e).doit().subs(state)
    unknown = sorted(e.atoms(sympy.core.function.AppliedUndef) | e.free_symbols, key=str)
    return float(e.subs({a: dice.uniform(0.2, 0.9) for a in unknown if a.is_Function}).subs(
        {a: dice.uniform(0.2, 0.9) for a in unknown if not a.is_Function}).evalf())


def _is_rate(component: Any, q: list) -> bool:
    """Whether a velocity a_i(q, t) q_i' + b(q, t) is the rate of some function of q and t."""
    import numpy as np
    import sympy
    from sympy.physics.vector import dynamicsymbols

    time: Any = getattr(dynamicsymbols, "_t")
    still = {c.diff(time): 0 for c in q}
    plain = list(sympy.symbols(f"q_:{len(q)}", real=True))
    fixed = dict(zip(q, plain))
    a = [component.diff(c.diff(time)).subs(still).subs(fixed) for c in q] + [component.subs(still).subs(fixed)]
    by = plain + [time]
    for i in range(len(by)):
        for j in range(i):
            apart = a[i].diff(by[j]) - a[j].diff(by[i])
            if apart != 0 and any(abs(_numerical(apart, {}, np.random.default_rng(k))) > 1e-9 for k in range(3)):
                return False
    return True


def _take_potential(L: Any, q: list, forces: list) -> tuple[Any, list]:
    """L - V and the remaining forces, if the forces have a potential V(q) that SymPy finds."""
    import sympy
    from sympy.physics.vector import dynamicsymbols

    time: Any = getattr(dynamicsymbols, "_t")
    velocities = [c.diff() for c in q]
    plain = sympy.symbols(f"q_:{len(q)}", real=True)
    back = dict(zip(plain, q))
    Q = [sympy.simplify(sympy.sympify(f)) for f in forces]
    if not any(Q) or any(f.has(*velocities) for f in Q):
        return L, Q
    Q = [f.subs(dict(zip(q, plain))) for f in Q]
    V = sympy.Integer(0)
    for force, coordinate in zip(Q, plain):
        V -= sympy.integrate(sympy.simplify(force + V.diff(coordinate)), coordinate)
    left = [sympy.simplify(force + V.diff(c)) for force, c in zip(Q, plain)]
    if any(left) or V.has(sympy.Integral) or V.has(time):
        return L, [f.subs(back) for f in Q]
    return L - V.subs(back), [0] * len(q)


def _start_from_speeds(method: Any, start: dict) -> dict:
    """Start values of Kane's speeds as start values of the velocities."""
    u = list(method.u)
    if not any(a in start for a in u):
        return start
    values = {a: start.pop(a, 0) for a in u}
    return {**start, **{rate: e.subs(values) for rate, e in method.kindiffdict().items()}}


def _kane_accelerations(method: Any, fixed: dict, point: Any, v: Any) -> list[float]:
    """The numerical values of q'' by Kane's equations at a state."""
    import numpy as np
    import sympy

    q, u = list(method.q), list(method.u)
    rates = dict(zip([c.diff() for c in q], v))
    state = {**fixed, **dict(zip(q, point))}
    state.update({a: float(e.subs(rates).subs(state).evalf()) for a, e in _speeds(method).items()})

    def numbers(matrix: Any) -> Any:
        return np.array(sympy.Matrix(matrix).subs(rates).subs(state).evalf().tolist(), dtype=float).squeeze()

    solved = np.linalg.solve(numbers(method.mass_matrix_full), numbers(method.forcing_full))
    du = dict(zip([a.diff() for a in u], solved[len(q) : len(q) + len(u)]))
    kinematic = method.kindiffdict()
    return [float(kinematic[c.diff()].diff().subs(du).subs(rates).subs(state).evalf()) for c in q]


def _compare_with_kane(method: Any, model: Model, parameters: Mapping) -> None:
    """Compares Lagrange's accelerations with Kane's at a state, because a set-up may hide constraints in its velocities."""
    import numpy as np
    import sympy
    from sympy.physics.vector import dynamicsymbols

    system, count = model.system(), len(method.q)
    dice = np.random.default_rng(1)
    point = np.zeros(len(system.coordinates))
    point[:count] = dice.uniform(0.2, 0.9, count)
    v = system.project(point, dice.uniform(0.2, 0.9, len(point)))
    lagrange = system.acceleration(point, v)[0][:count]
    fixed = {sympy.sympify(k): sympy.sympify(value) for k, value in parameters.items()}
    still = {a: 0 for a in sympy.Matrix(method.forcing_full).atoms(sympy.core.function.AppliedUndef)
             if a not in fixed and a not in list(method.q) + list(method.u)}
    start = {getattr(dynamicsymbols, "_t"): 0}
    fixed = {**still, **{k: value.subs(fixed).subs(start) for k, value in fixed.items()}}
    kane = _kane_accelerations(method, fixed, point[:count], v[:count])
    apart = float(np.abs(np.array(kane) - lagrange).max())
    if not apart < 1e-6 * (1 + float(np.abs(lagrange).max())):
        raise ValueError(
            f"Lagrange's equations differ from Kane's for this setup (accelerations differ by {apart:.2g}): "
            + (_odd_turn(method) or "the velocities of its bodies seem to have constraints built in; give coordinates for "
               "every motion and the constraints as velocity_constraints")
        )


def _odd_turn(method: Any) -> str:
    """Names a body whose angular velocity, as it was set, is not that of its orientation."""
    import numpy as np
    import sympy
    from sympy.physics.vector import dynamicsymbols

    time, change = getattr(dynamicsymbols, "_t"), _speeds(method)
    for body in method.bodies:
        turned = getattr(body, "frame", None)
        if turned is None:
            continue
        R = turned.dcm(method._inertial).T  # columns: the axes of the body
        W = R.T * R.diff(time)
        w = turned.ang_vel_in(method._inertial).subs(change).to_matrix(turned)
        apart = w - sympy.Matrix([W[2, 1], W[0, 2], W[1, 0]])
        rates = {c.diff(time): sympy.Symbol(f"rate_{i}") for i, c in enumerate(method.q)}
        if any(abs(_numerical(e.subs(rates), {}, np.random.default_rng(2))) > 1e-9 for e in apart):
            return (f"the angular velocity of the frame '{turned.name}' of body '{body}' is not that of its orientation; "
                    f"change the line {turned.name}.set_ang_vel({method._inertial.name}, ...), or add coordinates for its turning")
    return ""


__all__ = ["from_mechanics", "from_sympy"]
