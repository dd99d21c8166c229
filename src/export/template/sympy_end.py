
SYMBOLS = [t, *q, *v, *PARAMETERS]

# ---- equations of motion ----


@functools.cache
def derivative(f, x):
    """df/dx as sp.diff gives it, except that shared parts of f remain shared; otherwise formulas of large models would never end."""
    if not f.args:
        return sp.Integer(1 if f == x else 0)
    if f.is_Piecewise:
        return sp.Piecewise(*((derivative(value, x), condition) for value, condition in f.args))
    inner = [derivative(argument, x) for argument in f.args]
    if f.is_Add:
        return sp.Add(*inner)
    if f.is_Mul:
        return sp.Add(*(sp.Mul(d, *f.args[:i], *f.args[i + 1:]) for i, d in enumerate(inner) if d != 0))
    if f.is_Pow and inner[1] == 0:
        return sp.Mul(f.exp, f.base ** (f.exp - 1), inner[0])
    if f.is_Pow:
        return f * (inner[1] * sp.log(f.base) + f.exp * inner[0] / f.base)
    return sp.Add(*(f.fdiff(i + 1) * d for i, d in enumerate(inner) if d != 0))


def total_derivative(f):
    """df/dt without the accelerations."""
    return sp.Add(derivative(f, t), *(derivative(f, x) * rate for x, rate in zip(q, v)))


@functools.cache
def equations():
    """M v' = f + K^T lambda, K v' + d = 0; velocities after those of the coordinates belong to the Lie algebra of BRACKETS."""
    p = [derivative(L, rate) for rate in v]
    f = [derivative(L, x) for x in q] + [sp.Integer(0)] * (len(v) - len(q))
    f = [a + b - total_derivative(c) for a, b, c in zip(f, FORCES, p)]
    for a, b, result, c in BRACKETS:  # [v_a, v_b] has c v_result
        f[b] += c * v[a] * p[result]
    k = list(CONSTRAINTS.values()) + [total_derivative(g) for g in POSITIONS.values()]
    M = sp.Matrix(len(v), len(v), lambda i, j: derivative(p[i], v[j]))
    K = sp.Matrix(len(k), len(v), lambda i, j: derivative(k[i], v[j]))
    return M, sp.Matrix(f), K, sp.Matrix([total_derivative(row) for row in k])


def symbolic_accelerations():
    """v' and lambda by Gaussian elimination; the formulas of large models are long."""
    M, f, K, d = equations()
    n, m = len(v), K.rows
    whole = M.row_join(-K.T).col_join(K.row_join(sp.zeros(m, m))) if m else M
    solution = whole.LUsolve(f.col_join(-d) if m else f)
    return solution[:n], solution[n:]


def _number(f, known):
    """The value of a formula; each part is computed once."""
    if f in known:
        return known[f]
    if f.is_Rational:
        value = mpmath.mpf(f.p) / f.q
    elif f.is_Float:
        value = mpmath.make_mpf(f._mpf_)
    elif f.is_Piecewise:
        value = next(_number(part, known) for part, condition in f.args
                     if condition == True or _number(condition.gts, known) > _number(condition.lts, known))  # noqa: E712
    else:
        parts = [_number(part, known) for part in f.args]
        value = (mpmath.fsum(parts) if f.is_Add else mpmath.fprod(parts) if f.is_Mul else parts[0] ** parts[1] if f.is_Pow
                 else getattr(mpmath, {"Abs": "fabs"}.get(f.func.__name__, f.func.__name__))(*parts))
    known[f] = value
    return value


def _inner(q, v):
    """With the rates of quaternions instead of body rates."""
    v, out = list(v), []
    while len(out) < len(FORCES):
        if len(out) not in ROTATIONS:
            out.append(v.pop(0))
            continue
        (p, a, b, c), (x, y, z), v = q[len(out):len(out) + 4], v[:3], v[3:]
        out += [-(a * x + b * y + c * z) / 2, (p * x + b * z - c * y) / 2,
                (p * y + c * x - a * z) / 2, (p * z + a * y - b * x) / 2]
    return out


def _shown(q, w):
    """The inverse, for accelerations."""
    out, i = [], 0
    while i < len(w):
        if i not in ROTATIONS:
            out.append(w[i])
            i += 1
            continue
        (p, a, b, c), (e, x, y, z) = q[i:i + 4], w[i:i + 4]
        out += [2 * (p * x - a * e - b * z + c * y), 2 * (p * y - b * e - c * x + a * z),
                2 * (p * z - c * e - a * y + b * x)]
        i += 4
    return out


def accelerations(t, q, v, parameters=None, inputs=None, digits=30):
    """The accelerations and the multipliers in a state, as lists of numbers of mpmath.

    `parameters` replaces some of PARAMETERS: {"m": 2}; `inputs` are numbers for those of INPUTS, which
    are what the model says else."""
    known = {str(symbol): value for symbol, value in PARAMETERS.items()}
    unknown = set(parameters or ()) - set(known)
    if unknown:
        raise ValueError(f"not among the parameters: {', '.join(unknown)}")
    known.update(parameters or {})
    with mpmath.workdps(digits):
        q, v = [mpmath.mpf(x) for x in q], [mpmath.mpf(x) for x in v]
        w = _inner(q, v)
        values = [mpmath.mpf(t), *q, *w, *map(mpmath.mpf, known.values())]
        known = dict(zip(SYMBOLS, values))
        u = inputs if inputs is not None else [_number(sp.sympify(value), known) for value in INPUTS.values()]
        known.update(zip(INPUTS, map(mpmath.mpf, u)))
        M, f, K, d = ([_number(entry, known) for entry in part] for part in equations())
        n, m = len(f), len(d)
        whole, right = mpmath.zeros(n + m), mpmath.zeros(n + m, 1)
        for i in range(n):
            right[i] = f[i]
            for j in range(n):
                whole[i, j] = M[n * i + j]
        for i in range(m):
            right[n + i] = -d[i]
            for j in range(n):
                whole[n + i, j], whole[j, n + i] = K[n * i + j], -K[n * i + j]
        solution = list(mpmath.lu_solve(whole, right))
        return _shown(q, solution[:n]), solution[n:]


if __name__ == "__main__":
    for name, value in zip(VELOCITIES, accelerations(*START)[0]):
        print(f"d({name})/dt = {mpmath.nstr(value, 17)}")
