"""The equations of motion in many states at once: what System.acceleration and its neighbours evaluate."""

from __future__ import annotations

import ctypes as C
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple

import numpy as np

from . import _header as H
from ._library import call, create, lib, own

if TYPE_CHECKING:
    from .system import System


class Jacobian(NamedTuple):
    """The derivatives of the acceleration v': by positions (three for a rotation: small turns about the axes of the body), by velocities
    and by inputs. The last two axes are those of a matrix; those before are the states'."""

    by_position: np.ndarray
    by_velocity: np.ndarray
    by_input: np.ndarray


class Dynamics:
    """An nh_dynamics of a system."""

    def __init__(self, system: System):
        self._system = system
        self._handle = create(lib.nh_dynamics_create, system._handle)
        own(self, lib.nh_dynamics_free, self._handle)

    def _inputs(self, given: Mapping[str, Any], shape: tuple[int, ...]) -> np.ndarray:
        names = self._system.inputs
        values = np.full(shape + (len(names),), np.nan)
        for name, value in given.items():
            if name not in names:
                raise ValueError(f"inputs: {name!r} is unknown; {self._system.name} has {', '.join(names) or 'no inputs'}")
            values[..., names.index(name)] = value
        return values

    def _states(self, q: Any, v: Any, t: Any, inputs: Mapping[str, Any] | None) -> tuple[tuple[int, ...], list[np.ndarray], H.nh_states]:
        """The shape of the states, arrays that live as long as they are needed, and the argument."""
        q = _rows(q, len(self._system.coordinates), "q")
        v = _rows(v, len(self._system.velocities), "v")
        t = np.asarray(t, dtype=float)
        shape = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], t.shape, *[np.shape(value) for value in (inputs or {}).values()])
        arrays = [np.ascontiguousarray(np.broadcast_to(q, shape + q.shape[-1:])), np.ascontiguousarray(np.broadcast_to(v, shape + v.shape[-1:])),
                  np.ascontiguousarray(np.broadcast_to(t, shape))]
        if inputs:
            arrays.append(self._inputs(inputs, shape))
        at = H.nh_states(count=int(np.prod(shape)), q=arrays[0].ctypes.data, v=arrays[1].ctypes.data, t=arrays[2].ctypes.data,
                         inputs=arrays[3].ctypes.data if inputs else None)
        return shape, arrays, at

    def evaluate(self, function: Any, sizes: list[tuple[int, ...]], q: Any, v: Any, t: Any, inputs: Any) -> list[np.ndarray]:
        shape, kept, at = self._states(q, v, t, inputs)
        out = [np.zeros(shape + size) for size in sizes]
        call(function, self._handle, C.addressof(at), *[values.ctypes.data for values in out])
        return out


def _rows(values: Any, count: int, what: str) -> np.ndarray:
    rows = np.asarray(values, dtype=float)
    if rows.ndim == 0 or rows.shape[-1] != count:
        raise ValueError(f"{what} needs {count} numbers in its last axis, not {rows.shape[-1] if rows.ndim else 'one number'}")
    return rows


__all__ = ["Dynamics", "Jacobian"]
