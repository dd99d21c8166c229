"""periodic(): periodic motions, their multipliers, and families of them."""

from __future__ import annotations

import ctypes as C
from dataclasses import dataclass, field
from typing import Any, Mapping

import numpy as np

from . import _header as H
from ._library import create, lib, remarks, warn
from ._names import helpful
from .inputs import Inputs
from .notebook import facts_table
from .system import Projection, Setting, Start, System, _address, _text, as_system
from .trajectory import Beginning, fill_options, method_text


@dataclass
class Orbit:
    """A periodic motion of a family: ``kind`` is "orbit", "fold", "period-doubling" or "neimark-sacker", ``value`` that of the parameter,
    ``state`` the start by name, and ``multipliers`` those of perturbations within the constraints."""

    kind: str
    value: float
    period: float
    state: dict[str, float]
    multipliers: np.ndarray


@dataclass
class Periodic:
    """The result of :func:`periodic`: the ``period``, the ``state`` at the start by name, ``q`` and ``v``, the ``multipliers`` of
    perturbations within the constraints, and, for a motion that is periodic up to symmetries, by how much each shifts the state in a
    period (``shifts``). ``residual`` says how exactly it comes back. With ``follow``, ``family`` has the motions along the parameter and
    ``points`` those where it turns back or its stability changes."""

    period: float
    state: dict[str, float]
    q: np.ndarray
    v: np.ndarray
    multipliers: np.ndarray
    shifts: dict[str, float]
    residual: float
    iterations: int
    remarks: list[str]
    family: list[Orbit] = field(default_factory=list)

    @property
    def points(self) -> list[Orbit]:
        return [orbit for orbit in self.family if orbit.kind != "orbit"]

    def __repr__(self) -> str:
        return f"<periodic motion: period {self.period:.10g}, multipliers {', '.join(f'{value:.4g}' for value in self.multipliers)}>"

    def _repr_html_(self) -> str:
        return facts_table({"period": f"{self.period:.10g}", "multipliers": ", ".join(f"{value:.6g}" for value in self.multipliers)})


def _named(system: System, q: np.ndarray, v: np.ndarray) -> dict[str, float]:
    return {name: float(value) for name, value in zip(system.coordinates + system.velocities, np.concatenate([q, v]))}


def _multipliers(count: int, one: Any) -> np.ndarray:
    re, im, found = C.c_double(), C.c_double(), []
    for i in range(count):
        one(i, C.addressof(re), C.addressof(im))
        found.append(complex(re.value, im.value))
    return np.array(found, dtype=complex)


def _numbers(address: int, count: int) -> np.ndarray:
    return np.array((C.c_double * count).from_address(address)) if count else np.zeros(0)


def _member(handle: int, system: System, index: int) -> Orbit:
    orbit = lib.nh_periodic_member(handle, index)
    q, v = _numbers(orbit.q, len(system.coordinates)), _numbers(orbit.v, len(system.velocities))
    multipliers = _multipliers(orbit.multipliers, lambda i, re, im: lib.nh_periodic_member_multiplier(handle, index, i, re, im))
    return Orbit(_text(lib.nh_orbit_kind_name(orbit.kind)), orbit.value, orbit.period, _named(system, q, v), multipliers)


def _gather(handle: int, system: System) -> Periodic:
    q, v = np.zeros(len(system.coordinates)), np.zeros(len(system.velocities))
    lib.nh_periodic_state(handle, _address(q), _address(v))
    shifts = range(lib.nh_periodic_symmetries(handle))
    return Periodic(
        period=lib.nh_periodic_period(handle), state=_named(system, q, v), q=q, v=v,
        multipliers=_multipliers(lib.nh_periodic_multipliers(handle), lambda i, re, im: lib.nh_periodic_multiplier(handle, i, re, im)),
        shifts={_text(lib.nh_periodic_symmetry_name(handle, i)): lib.nh_periodic_shift(handle, i) for i in shifts},
        residual=lib.nh_periodic_residual(handle), iterations=lib.nh_periodic_iterations(handle),
        remarks=remarks(lib.nh_periodic_remarks, lib.nh_periodic_remark, handle),
        family=[_member(handle, system, i) for i in range(lib.nh_periodic_family(handle))],
    )


@helpful
def periodic(
    model: Any,
    method: str | None = None,
    *,
    period: float | None = None,
    relative: bool = False,
    follow: Mapping[str, tuple[float, float]] | None = None,
    step: float | None = None, tolerance: float | None = None, absolute: float | None = None,
    start: Start = None, set: Setting | None = None, input: Inputs | None = None,
    q: Any = None, v: Any = None, t0: float = 0.0, project: Projection = False,
    compose: str | None = None, compensated: bool | None = None, backend: str = "auto",
    **options: Any,
) -> Periodic:
    """The periodic motion nearest to the start, by Newton's method on the map of a period. ``period`` is that of the forces, if they are not
    sines and cosines of time, or a first guess of that of the motion; ``relative`` allows a symmetry to bring the state back, and
    ``follow={"rate": (0.6, 3)}`` follows the family along a parameter. Other arguments are those of :func:`simulate`.

    >>> import nonholo
    >>> pendulum = nonholo.load('''model pendulum
    ... coordinate a
    ... lagrangian a'^2/2 + cos(a)
    ... start a = 2
    ... ''')
    >>> f"{nonholo.periodic(pendulum).period:.9f}"
    '8.349752927'
    """
    beginning = Beginning(as_system(model, set, input), t0, start, q, v, project)
    how = H.nh_run_options(size=C.sizeof(H.nh_run_options))
    text = method_text(method, options).encode() if method else None
    fill_options(how, text, step or 0.0, 0, compose, compensated, backend)  # type: ignore[arg-type]
    how.tolerance, how.absolute = tolerance or 0.0, absolute or 0.0
    how.t0, how.q, how.v = t0, _address(beginning.q), _address(beginning.v)
    wanted = H.nh_periodic_options(size=C.sizeof(H.nh_periodic_options), run=C.addressof(how), period=period or 0.0, relative=relative)
    if follow is not None:
        if len(follow) != 1:
            raise ValueError(f"follow takes one parameter, as in follow={{'rate': (0.6, 3)}}, not {follow!r}")
        (name, (first, last)), = follow.items()
        kept = name.encode()
        wanted.follow, wanted.to = kept, last
        setattr(wanted, "from", first)
    handle = create(lib.nh_periodic_find, beginning.system._handle, C.addressof(wanted))
    try:
        found = _gather(handle, beginning.system)
    finally:
        lib.nh_periodic_free(handle)
    warn(found.remarks)
    return found


__all__ = ["Orbit", "Periodic", "periodic"]
