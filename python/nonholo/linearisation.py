"""linearise(): steady motions, their eigenvalues, and how these depend on a parameter."""

from __future__ import annotations

import ctypes as C
from dataclasses import dataclass, field
from typing import Any, Mapping

import numpy as np

from . import _header as H
from ._library import call, create, lib, remarks, warn
from ._names import helpful
from .inputs import Inputs, functions
from .notebook import facts_table, table
from .system import Projection, Setting, Start, System, _address, _text, as_system, projection_names, start_text, vector


@dataclass
class Located:
    """A value of the parameter at which eigenvalues cross the imaginary axis ("hopf" for a pair, "zero") or meet ("double" if they are
    real, "collision" if they are imaginary). ``frequency`` and ``re`` are the imaginary and the real part there, ``rate`` the derivative
    of the eigenvalue by the parameter, NaN where eigenvalues meet."""

    kind: str
    value: float
    frequency: float
    re: float
    rate: complex


@dataclass
class Linearisation:
    """The result of :func:`linearise`: x' = A x + B u, y = C x + D u about a steady motion. ``names``, ``inputs`` and ``outputs`` name the
    perturbations x, u and y. ``state`` has the coordinates and velocities of the steady motion by name, ``rates`` its rates along the
    symmetries. ``eigenvalues`` are those other than zeros, those with larger real parts first; ``modes`` has an eigenvector in each column,
    and ``frequency``, ``damping``, ``condition`` and ``error`` (the effect of rounding) have an entry for each. ``zeros`` says where
    zeros come from: symmetries and families of steady motions.

    With a sweep, ``values`` are those of the parameter, ``swept`` the eigenvalues for each of them (empty where no steady motion was
    found), and ``located`` the points between them."""

    state: dict[str, float]
    rates: dict[str, float]
    residual: float
    names: list[str]
    inputs: list[str]
    outputs: list[str]
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    eigenvalues: np.ndarray
    modes: np.ndarray
    frequency: np.ndarray
    damping: np.ndarray
    condition: np.ndarray
    error: np.ndarray
    zeros: dict[str, int]
    remarks: list[str]
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    swept: list[np.ndarray] = field(default_factory=list)
    located: list[Located] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<linearisation: {', '.join(self.names)}; eigenvalues {', '.join(f'{value:.4g}' for value in self.eigenvalues)}>"

    def _repr_html_(self) -> str:
        rows = [[f"{value:.6g}", f"{f:.4g}", f"{d:.3g}"] for value, f, d in zip(self.eigenvalues, self.frequency, self.damping)]
        facts = {"state": ", ".join(self.names), "zeros": ", ".join(self.zeros) or "none"}
        return facts_table(facts) + table(["eigenvalue", "frequency", "damping"], rows)


def _numbers(address: int | None, *shape: int) -> np.ndarray:
    count = int(np.prod(shape))
    if not address or count == 0:
        return np.zeros(shape)
    return np.array((C.c_double * count).from_address(address)).reshape(shape)


def _listed(handle: int, count: int, name: Any) -> list[str]:
    return [_text(name(handle, i)) for i in range(count)]


def _collect(handle: int | None, system: System) -> Linearisation:
    """A copy of what the library found; with NULL, nothing."""
    if not handle:
        none = np.zeros(0)
        return Linearisation({}, {}, float("nan"), [], [], [], *[np.zeros((0, 0))] * 4, none, np.zeros((0, 0)), none, none, none, none, {}, [])
    n, u, y = lib.nh_linearisation_order(handle), lib.nh_linearisation_inputs(handle), lib.nh_linearisation_outputs(handle)
    modes = [lib.nh_linearisation_mode(handle, i) for i in range(lib.nh_linearisation_modes(handle))]
    q, v = np.zeros(len(system.coordinates)), np.zeros(len(system.velocities))
    lib.nh_linearisation_state(handle, _address(q), _address(v))
    symmetries = range(lib.nh_linearisation_symmetries(handle))
    zeros = range(lib.nh_linearisation_zeros(handle))
    matrix = lambda name, *shape: _numbers(lib.nh_linearisation_matrix(handle, name), *shape)
    vectors = [_numbers(mode.vector_re, n) + 1j * _numbers(mode.vector_im, n) for mode in modes]
    each = lambda name: np.array([getattr(mode, name) for mode in modes])
    return Linearisation(
        state={name: float(value) for name, value in zip(system.coordinates + system.velocities, np.concatenate([q, v]))},
        rates={_text(lib.nh_linearisation_symmetry_name(handle, i)): lib.nh_linearisation_symmetry_rate(handle, i) for i in symmetries},
        residual=lib.nh_linearisation_residual(handle),
        names=_listed(handle, n, lib.nh_linearisation_state_name),
        inputs=_listed(handle, u, lib.nh_linearisation_input_name),
        outputs=_listed(handle, y, lib.nh_linearisation_output_name),
        A=matrix(b"A", n, n), B=matrix(b"B", n, u), C=matrix(b"C", y, n), D=matrix(b"D", y, u),
        eigenvalues=each("re") + 1j * each("im"),
        modes=np.array(vectors).reshape(len(modes), n).T,
        frequency=each("frequency"), damping=each("damping"), condition=each("condition"), error=each("error"),
        zeros={_text(lib.nh_linearisation_zero_name(handle, i)): lib.nh_linearisation_zero_multiplicity(handle, i) for i in zeros},
        remarks=remarks(lib.nh_linearisation_remarks, lib.nh_linearisation_remark, handle),
    )


def _eigenvalues(handle: int, index: int) -> np.ndarray:
    re, im = C.c_double(), C.c_double()
    found = []
    for k in range(max(0, lib.nh_stability_eigenvalues(handle, index))):
        lib.nh_stability_eigenvalue(handle, index, k, C.addressof(re), C.addressof(im))
        found.append(complex(re.value, im.value))
    return np.array(found, dtype=complex)


def _sweep(system: System, options: Any, sweep: Mapping[str, tuple[float, float, int]], locate: bool) -> Linearisation:
    if len(sweep) != 1:
        raise ValueError(f"sweep takes one parameter, as in sweep={{'speed': (0, 10, 201)}}, not {sweep!r}")
    (name, (first, last, count)), = sweep.items()
    wanted = H.nh_sweep(name.encode(), first, last, count)
    handle = create(lib.nh_linearise_sweep, system._handle, C.addressof(options), C.addressof(wanted), H.NH_ALL_POINTS if locate else 0)
    try:
        found = _collect(lib.nh_stability_here(handle), system)
        found.values = np.array([lib.nh_stability_value(handle, i) for i in range(count)])
        found.swept = [_eigenvalues(handle, i) for i in range(count)]
        for i in range(lib.nh_stability_located(handle)):
            at = lib.nh_stability_located_at(handle, i)
            kind = _text(lib.nh_point_kind_name(at.kind))
            found.located.append(Located(kind, at.value, at.frequency, at.re, complex(at.rate_re, at.rate_im)))
        found.remarks += remarks(lib.nh_stability_remarks, lib.nh_stability_remark, handle)
    finally:
        lib.nh_stability_free(handle)
    return found


def problem(model: Any, set: Any, input: Any, start: Any, q: Any, v: Any, t0: float, project: Any, keep_symmetries: bool) -> tuple:
    """The system, the options of nh_linearise, and what these point to."""
    system = as_system(model, set, input)
    if functions(system._given):
        raise ValueError("an input that is a Python function cannot be differentiated; give it as an expression")
    given_q = None if q is None else vector(q, len(system.coordinates), "q")
    given_v = None if v is None else vector(v, len(system.velocities), "v")
    wanted = H.nh_start_options(size=C.sizeof(H.nh_start_options), t=t0, assignments=start_text(start))
    wanted.project, wanted.keep, wanted.solve = projection_names(project)
    wanted.q = None if given_q is None else _address(given_q)
    wanted.v = None if given_v is None else _address(given_v)
    options = H.nh_linearise_options(size=C.sizeof(H.nh_linearise_options), start=C.addressof(wanted), keep_symmetries=keep_symmetries)
    return system, options, (wanted, given_q, given_v)


@helpful
def linearise(
    model: Any,
    *,
    set: Setting | None = None,
    input: Inputs | None = None,
    start: Start = None,
    q: Any = None,
    v: Any = None,
    t0: float = 0.0,
    project: Projection = False,
    keep_symmetries: bool = False,
    sweep: Mapping[str, tuple[float, float, int]] | None = None,
    locate: bool = True,
) -> Linearisation:
    """Finds the steady motion nearest to the start (a rest, straight riding, a disk on a circle, a precessing top) and linearises about it,
    from exact derivatives, within the constraints. Shifts along symmetries are divided out, unless ``keep_symmetries``.
    ``sweep={"speed": (0, 10, 201)}`` does so for many values of a parameter, on which the start may depend, and ``locate`` finds
    where stability changes between them.

    >>> import nonholo
    >>> bicycle = nonholo.linearise("benchmark-bicycle", sweep={"speed": (0, 10, 201)})
    >>> bicycle.names
    ['lean', 'steer', "x'", "lean'", "steer'"]
    >>> [f"{value:.6f}" for value in bicycle.eigenvalues]
    ['-0.322866+0.000000j', '-0.775342+4.464868j', '-0.775342-4.464868j', '-14.078390+0.000000j']
    >>> [(point.kind, round(point.value, 9)) for point in bicycle.located]
    [('double', 0.684283079), ('hopf', 4.292382536), ('zero', 6.024262015)]
    """
    system, options, kept = problem(model, set, input, start, q, v, t0, project, keep_symmetries)
    if sweep is not None:
        found = _sweep(system, options, sweep, locate)
    else:
        handle = create(lib.nh_linearise, system._handle, C.addressof(options))
        try:
            found = _collect(handle, system)
        finally:
            lib.nh_linearisation_free(handle)
    warn(found.remarks)
    return found


__all__ = ["Linearisation", "Located", "linearise"]
