"""Inputs of models: converts what users give in Python to the form that the library reads."""

from __future__ import annotations

import ctypes as C
import os
from typing import Any, Callable, Mapping, Union

import numpy as np

from . import _header as H
from ._library import array_at, number
from ._work import guarded

#: a number, an expression, a file (.csv), points (times, values), or a function of (t, q, v)
Input = Union[float, str, "os.PathLike[str]", Callable[[float, np.ndarray, np.ndarray], float], Any]
Inputs = Mapping[str, Input]


def _points(name: str, value: Any) -> str:
    """``(times, values)``, or rows of both, as the text of a table."""
    pair = isinstance(value, tuple) and len(value) == 2 and np.ndim(value[0]) == 1
    try:
        array = np.array(value, dtype=float).T if pair else np.array(value, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0:
        raise ValueError(f"input {name!r} needs a number, an expression, a function of (t, q, v), a file, or points "
                         f"(times, values) of equal lengths, not {type(value).__name__}"
                         + (f" of shape {np.shape(value)}" if np.ndim(array) > 0 and array.size else ""))
    return "[" + "; ".join(f"{t!r} {u!r}" for t, u in array.tolist()) + "]"


def setting(name: str, value: Input) -> str:
    """One input as a setting of the library. The name may say how a table is interpolated: ``"u:held"``.

    >>> setting("u", 0.5), setting("u", "sin(t)"), setting("u:held", ([0, 1], [2, 3]))
    ('input u=0.5', 'input u=sin(t)', 'input u:held=[0.0 2.0; 1.0 3.0]')
    """
    if value is None or callable(value):  # left open
        return f"input {name.partition(':')[0]}:held"
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str) or np.ndim(value) == 0:
        return f"input {name}={number(value)}"
    return f"input {name}={_points(name, value)}"


def settings(inputs: Inputs | None, period: float | None) -> list[str]:
    """All inputs as settings."""
    if inputs is not None and not isinstance(inputs, Mapping):
        raise ValueError('input needs a mapping such as {"u": "sin(t)"}, not ' + type(inputs).__name__)
    found = [setting(name, value) for name, value in (inputs or {}).items()]
    if period is not None:
        if not period > 0:
            raise ValueError(f"input_period must be a positive number, not {period!r}")
        found.append(f"input-period={number(period)}")
    return found


def functions(inputs: Inputs | None) -> dict[str, Callable[..., Any]]:
    """The inputs that are given by functions."""
    return {name.partition(":")[0]: value for name, value in (inputs or {}).items() if callable(value)}


def members(names: list[str], name: str) -> list[int]:
    """The positions of an input, or of the members of its family, among all inputs."""
    return [i for i, other in enumerate(names) if other == name or other.partition("[")[0] == name]


def evaluate(given: dict[str, Callable[..., Any]], names: list[str], out: np.ndarray, t: float, q: np.ndarray, v: np.ndarray) -> None:
    """Writes what the user's functions return in a state to ``out``, which has an entry for each of the inputs ``names``."""
    for name, function in given.items():
        value, places = np.asarray(function(t, q.copy(), v.copy()), dtype=float), members(names, name)
        if value.shape not in ((), (1,), (len(places),)):
            raise ValueError(f"the function of input {name!r} returned an array of shape {value.shape}")
        out[places] = value


def callback(system: Any, given: dict[str, Callable[..., Any]]) -> Any:
    """A function for C that calls the user's functions."""
    nq, nv, names = len(system.coordinates), len(system.velocities), list(system.inputs)

    def ask(member: int, t: float, q: int, v: int, u: int) -> None:
        evaluate(given, names, array_at(u, len(names)), t, array_at(q, nq), array_at(v, nv))

    kind = dict(H.nh_run_options._fields_)["inputs"]
    return kind(guarded(ask)) if given else C.cast(None, kind)
