"""control(): feedback that keeps a machine near a steady motion."""

from __future__ import annotations

import ctypes as C
from dataclasses import dataclass
from typing import Any, Mapping

import numpy as np

from . import _header as H
from ._library import create, lib, remarks, warn
from ._names import helpful
from .inputs import Inputs
from .linearisation import Linearisation, _collect, _numbers, problem
from .system import Projection, Setting, Start, _address, _text


@dataclass
class Regulator:
    """The result of :func:`control`: u = u0 - ``gain`` (x - x0) about the steady motion ``about``, computed every ``period``. ``A``, ``B``,
    ``C`` and ``D`` are those of the sampled system, ``eigenvalues`` those of its closed loop. ``filter`` is the gain L of the estimator
    x = x + L (y - C x - D u), or None, and ``filter_eigenvalues`` are those of its error. ``law`` has the feedback as expressions, for
    ``input=`` together with ``input_period=``."""

    about: Linearisation
    period: float
    gain: np.ndarray
    eigenvalues: np.ndarray
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    P: np.ndarray
    filter: np.ndarray | None
    filter_eigenvalues: np.ndarray | None
    law: dict[str, str]
    remarks: list[str]

    @property
    def names(self) -> list[str]:
        return self.about.names

    @property
    def inputs(self) -> list[str]:
        return self.about.inputs

    @property
    def outputs(self) -> list[str]:
        return self.about.outputs

    def __repr__(self) -> str:
        largest = max(abs(self.eigenvalues), default=0)
        return f"<regulator: {', '.join(self.inputs)} from {', '.join(self.names)} every {self.period:g}; largest |eigenvalue| {largest:.4g}>"


def _weights(about: Linearisation, weights: Any) -> tuple[np.ndarray, np.ndarray]:
    """Q and R from weights by name, or from the two matrices."""
    n, inputs = len(about.names), len(about.inputs)
    if not isinstance(weights, Mapping):
        Q, R = weights
        Q, R = np.ascontiguousarray(Q, dtype=float), np.ascontiguousarray(np.atleast_2d(R), dtype=float)
        if Q.shape != (n, n) or R.shape != (inputs, inputs):
            raise ValueError(f"the weights of {n} states and {inputs} inputs must have the shapes {(n, n)} and {(inputs, inputs)}")
        return Q, R
    _known(weights, about, "weights")
    Q = np.diag([float(weights.get(name, 1)) for name in about.names])
    for row, name in zip(about.C, about.outputs):
        Q += float(weights.get(name, 0)) * np.outer(row, row)
    return np.ascontiguousarray(Q), np.diag([float(weights.get(name, 1)) for name in about.inputs])


def _known(given: Mapping[str, float], about: Linearisation, what: str) -> None:
    names = about.names + about.inputs + about.outputs
    for name in given:
        if name not in names:
            raise ValueError(f"{what}: {name!r} is unknown; there are {', '.join(names)}")


def _noise(about: Linearisation, noise: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    _known(noise, about, "noise")
    disturbance = np.array([float(noise.get(name, 0)) for name in about.names + about.inputs])
    if not disturbance.any():
        disturbance[len(about.names):] = 1
    return disturbance, np.array([float(noise.get(name, np.inf)) for name in about.outputs])


def _loop(handle: int, loop: bytes, n: int) -> np.ndarray:
    re, im, found = C.c_double(), C.c_double(), []
    for i in range(n):
        lib.nh_regulator_eigenvalue(handle, loop, i, C.addressof(re), C.addressof(im))
        found.append(complex(re.value, im.value))
    return np.array(found)


def _gather(handle: int, about: Linearisation) -> Regulator:
    n, u, y = len(about.names), len(about.inputs), len(about.outputs)
    matrix = lambda name, *shape: _numbers(lib.nh_regulator_matrix(handle, name), *shape)
    estimates = bool(lib.nh_regulator_matrix(handle, b"L"))
    laws = {name: lib.nh_regulator_law(handle, i) for i, name in enumerate(about.inputs)}
    return Regulator(
        about=about, period=lib.nh_regulator_period(handle),
        gain=matrix(b"K", u, n), eigenvalues=_loop(handle, b"K", n),
        A=matrix(b"A", n, n), B=matrix(b"B", n, u), C=matrix(b"C", y, n), D=matrix(b"D", y, u), P=matrix(b"P", n, n),
        filter=matrix(b"L", n, y) if estimates else None, filter_eigenvalues=_loop(handle, b"L", n) if estimates else None,
        law={name: _text(law) for name, law in laws.items() if law},
        remarks=remarks(lib.nh_regulator_remarks, lib.nh_regulator_remark, handle),
    )


@helpful
def control(
    model: Any,
    *,
    period: float,
    weights: Any = {},
    noise: Mapping[str, float] | None = None,
    set: Setting | None = None,
    input: Inputs | None = None,
    start: Start = None,
    q: Any = None,
    v: Any = None,
    t0: float = 0.0,
    project: Projection = False,
    keep_symmetries: bool = False,
) -> Regulator:
    """Feedback that keeps a machine near the steady motion nearest to the start: linearises about it (:func:`linearise`) and finds the gain
    that minimises the sum of weighted squares over samples ``period`` apart, between which inputs are held. ``weights`` has a number for
    each state, input or observable that does not have the usual weight (1; observables 0), or is a pair of matrices. ``noise`` has
    standard deviations of measured observables and of what disturbs inputs and states: then there is an estimator (a Kalman filter), too.

    >>> import nonholo
    >>> cart = nonholo.load('''model cart
    ... input push = 0
    ... coordinate x, a
    ... lagrangian x'^2 + 5/2*((x' + cos(a)*a'/2)^2 + (sin(a)*a'/2)^2) - 5*9.81/2*cos(a)
    ... force x = push
    ... ''')
    >>> regulator = nonholo.control(cart, period=0.01, weights={"a": 10}, keep_symmetries=True)
    >>> bool(abs(regulator.eigenvalues).max() < 1)
    True
    """
    system, options, kept = problem(model, set, input, start, q, v, t0, project, keep_symmetries)
    base = create(lib.nh_linearise, system._handle, C.addressof(options))
    try:
        about = _collect(base, system)
        Q, R = _weights(about, weights)
        wanted = H.nh_regulator_options(size=C.sizeof(H.nh_regulator_options), period=period, Q=_address(Q), R=_address(R))
        if noise is not None:
            disturbance, errors = _noise(about, noise)
            wanted.disturbance, wanted.noise = _address(disturbance), _address(errors)
        handle = create(lib.nh_regulate, base, C.addressof(wanted))
        try:
            found = _gather(handle, about)
        finally:
            lib.nh_regulator_free(handle)
    finally:
        lib.nh_linearisation_free(base)
    warn(about.remarks + found.remarks)
    return found


__all__ = ["Regulator", "control"]
