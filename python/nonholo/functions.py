"""Systems given by Python functions instead of a model text."""

from __future__ import annotations

import ctypes as C
from typing import Any, Callable

import numpy as np

from . import _header as H
from ._library import array_at, create, lib
from ._names import helpful
from ._work import guarded
from .system import System

Function = Callable[[np.ndarray], Any]
Reaction = Callable[[float, np.ndarray, np.ndarray, np.ndarray], Any]
TYPES: dict[str, Any] = dict(H.nh_functions._fields_)


class NotHere(Exception):
    """Raise this in a function that cannot be evaluated at a state; the method may then try a smaller change."""


def _copy(address: int, count: int) -> np.ndarray:
    """A copy, because the memory belongs to the library and becomes invalid later."""
    return array_at(address, count).copy()


class _Callbacks:
    """The functions in the form in which C calls them."""

    def __init__(self, n: int, m: int):
        self.n, self.m = n, m
        self.kept: list[Any] = []

    def wrap(self, name: str, function: Function, shapes: list[tuple[int, ...]]) -> Any:
        """A C function of (user, q, outputs...) that calls a Python function of q, which returns the outputs."""

        n = self.n  # not this object, which refers to the function: a cycle would be freed late

        def evaluate(q: int, *outputs: int) -> None:
            values = function(_copy(q, n))
            parts = values if isinstance(values, tuple) else (values,)
            if len(parts) > len(shapes):
                raise ValueError(f"{name} returned {len(parts)} arrays; expected at most {len(shapes)}")
            for part, address, shape in zip(parts, outputs, shapes):
                into = array_at(address, *shape)
                if np.size(part) != into.size:  # one number would be taken for all
                    raise ValueError(f"{name} returned an array of shape {np.shape(part)}; expected {shape}")
                into[...] = part

        return self._keep(name, evaluate)

    def wrap_reaction(self, function: Reaction) -> Any:
        n, m = self.n, self.m

        def evaluate(t: float, q: int, v: int, psi: int, force: int) -> None:
            array_at(force, n)[...] = function(t, _copy(q, n), _copy(v, n), _copy(psi, m))

        return self._keep("reaction", evaluate)

    def _keep(self, name: str, evaluate: Callable[..., None]) -> Any:
        callback = TYPES[name](guarded(evaluate, refusals=(NotHere,)))
        self.kept.append(callback)
        return callback


@helpful
def from_functions(
    coordinates: int,
    constraints: int = 0,
    *,
    mass: Function | None = None,
    mass_derivative: Function | None = None,
    potential: Function | None = None,
    gradient: Function | None = None,
    constraint: Function | None = None,
    reaction: Reaction | None = None,
    constant_mass: bool = False,
    reaction_is_linear: bool = False,
    name: str = "functions",
) -> System:
    """A system with L = v.M(q)v/2 - V(q) and constraints A(q)v + b(q) = 0, given by Python functions of q.

    ``mass`` returns M (n x n; the identity unless given), ``mass_derivative`` returns dM with
    dM[i, j, k] = dM_jk/dq_i, ``potential`` returns V, ``gradient`` its gradient, and ``constraint`` A (m x n) or
    (A, b). Derivatives that are not given are approximated by differences. ``reaction`` is for constraints that are
    not ideal, for example with friction: a function of (t, q, v, psi) that returns the force of the constraints
    instead of A(q)^T psi; the SPARK methods (gauss, lobatto, euler) accept it. With ``reaction_is_linear`` you promise
    that no reaction moves a coordinate that A and b depend on; steps are then explicit. An exception in a function
    stops the run and becomes the cause of the error.

    >>> import numpy as np, nonholo
    >>> skate = nonholo.from_functions(
    ...     3, 1,
    ...     potential=lambda q: -q[0],
    ...     gradient=lambda q: np.array([-1.0, 0, 0]),
    ...     constraint=lambda q: np.array([[-np.sin(q[2]), np.cos(q[2]), 0]]),
    ...     constant_mass=True)
    >>> run = nonholo.simulate(skate, "dla01", step=0.01, time=10, v=[0, 0, 1])
    >>> bool(run.constraint_max < 1e-14)
    True
    """
    n, m = int(coordinates), int(constraints)
    callbacks = _Callbacks(n, m)
    functions = H.nh_functions()
    label = name.encode()
    functions.name, functions.coordinates, functions.constraints = label, n, m
    functions.constant_mass = constant_mass or mass is None
    functions.reaction_is_linear = reaction_is_linear
    shapes: dict[str, tuple[Function | None, list[tuple[int, ...]]]] = {
        "mass": (mass, [(n, n)]),
        "mass_derivative": (mass_derivative, [(n, n, n)]),
        "potential": (potential, [()]),
        "gradient": (gradient, [(n,)]),
        "constraint": (constraint, [(m, n), (m,)]),
    }
    for key, (function, outputs) in shapes.items():
        if function is not None:
            setattr(functions, key, callbacks.wrap(key, function, outputs))
    if reaction is not None:
        functions.reaction = callbacks.wrap_reaction(reaction)
    callbacks.kept.append(label)
    return System(create(lib.nh_system_from_functions, C.byref(functions)), keep=callbacks)


__all__ = ["NotHere", "from_functions"]
