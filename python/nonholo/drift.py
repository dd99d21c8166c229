"""drift(): how fast methods let the energy of the passengers of a coupled system drift, as predicted from their equations."""

from __future__ import annotations

import ctypes as C
from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

from . import _header as H
from ._library import call, lib, own
from .notebook import facts_table
from .system import Projection, Setting, Start, _address, as_system, _text
from .trajectory import Beginning


@dataclass(frozen=True)
class DriftLaw:
    """What is predicted for a method: the energy changes at the rate ``coefficient * step**power`` at the start (``power`` is 0 if it
    does not drift at any order). ``formula`` is that of docs/theory.md, ``standing`` says whether it is proved."""

    method: str
    power: int
    formula: str
    standing: str
    coefficient: float
    _law: Any

    def change(self, step: float, t: Any) -> Any:
        """The change of the passengers' energy after the time ``t``, a number or an array."""
        values = [lib.nh_drift_change(C.byref(self._law), step, float(x)) for x in np.ravel(t)]
        return values[0] if np.ndim(t) == 0 else np.reshape(values, np.shape(t))

    def rate(self, step: float, time: float) -> float:
        """The slope of that change over ``time``, fitted as those that :func:`nonholo.compare` measures."""
        t = np.linspace(0, time, 20001)
        change = np.ascontiguousarray(self.change(step, t))
        return float(lib.nh_fit_slope(_address(t), _address(change), len(t)).slope)

    def _repr_html_(self) -> str:
        return facts_table({"method": self.method, "formula": self.formula, "standing": self.standing, "coefficient": f"{self.coefficient:.6g}"})


class Drift:
    """The result of :func:`drift`: the driver's ``period``, the ``angles`` by which one period turns the passengers (0 is an axis) and
    the ``energies`` that the start has in these modes; ``law(method)`` is what is predicted for a method."""

    def __init__(self, beginning: Beginning):
        handle = C.c_void_p()
        call(lib.nh_drift_create, C.byref(handle), beginning.system._handle, _address(beginning.q), _address(beginning.v))
        self._handle = handle
        own(self, lib.nh_drift_free, handle.value)
        modes = range(lib.nh_drift_modes(handle))
        self.period: float = lib.nh_drift_period(handle)
        self.angles: list[float] = [lib.nh_drift_angle(handle, i) for i in modes]
        self.energies: list[float] = [lib.nh_drift_share(handle, i) for i in modes]

    def law(self, method: str) -> DriftLaw:
        """Raises :class:`nonholo.Error` if no formula is known."""
        law = H.nh_drift_law()
        call(lib.nh_drift_law_of, C.byref(law), self._handle, method.encode())
        return DriftLaw(method, law.power, _text(law.formula), _text(law.standing), law.coefficient, law)

    def laws(self, methods: Sequence[str]) -> list[DriftLaw]:
        return [self.law(method) for method in methods]


def drift(
    model: Any, *, start: Start = None, set: Setting | None = None, q: Any = None, v: Any = None, t0: float = 0.0, project: Projection = False,
) -> Drift:
    """The drift of methods on a coupled system with linear passengers and a driver that moves periodically, as
    ``nonholo order --drift`` predicts it.

    >>> import nonholo
    >>> found = nonholo.drift("three-shaft-cvt")
    >>> f"{found.period:.4f}", [f"{angle:.4f}" for angle in found.angles]
    ('2.6264', ['0.1767', '1.9904'])
    >>> law = found.law("dla01")
    >>> law.formula, f"{law.rate(0.025, 3000):.3e}"
    ('h^2 <r.J>/8', '4.926e-06')
    >>> found.law("staggered").rate(0.1, 3000)
    0.0
    """
    return Drift(Beginning(as_system(model, set), t0, start, q, v, project))
