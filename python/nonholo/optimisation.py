"""optimise(): inputs that reach a goal at the least cost."""

from __future__ import annotations

import ctypes as C
import os
from typing import Any, Mapping, Sequence

import numpy as np

from . import _header as H
from ._library import call, create, lib, own, remarks, warn
from ._names import helpful
from ._work import guarded
from .fitting import _unknowns
from .inputs import Inputs, functions
from .linearisation import _numbers
from .notebook import facts_table
from .system import Projection, Setting, Start, System, _address, _text, as_system, start_options, vector
from .trajectory import fill_options, method_text

PROGRESS = dict(H.nh_optimise_options._fields_)["progress"]
KINDS = {"": H.NH_CONTROL_AUTO, "held": H.NH_CONTROL_HELD, "linear": H.NH_CONTROL_LINEAR}


class Optimum:
    """The result of :func:`optimise`. ``inputs`` has the values of each control, at the times ``t[:-1]`` if it is held, at ``t`` if it
    is interpolated (``t`` has the ends of all pieces); ``table`` is what ``input=`` of other functions takes. ``q`` and ``v`` are the states
    at ``t``, ``state`` the last one by name, ``values`` what was varied. ``violation`` is the largest of the conditions, ``slope`` what is
    left of the cost's slope."""

    def __init__(self, handle: int, system: System, controls: list[str], varied: list[str], kept: Any) -> None:
        self._handle, self.system, self.controls, self.varied, self._kept = handle, system, controls, varied, kept
        own(self, lib.nh_optimum_free, handle)
        self.remarks: list[str] = remarks(lib.nh_optimum_remarks, lib.nh_optimum_remark, handle)

    @property
    def cost(self) -> float:
        return lib.nh_optimum_cost(self._handle)

    @property
    def time(self) -> float:
        return lib.nh_optimum_time(self._handle)

    @property
    def violation(self) -> float:
        return lib.nh_optimum_violation(self._handle)

    @property
    def slope(self) -> float:
        return lib.nh_optimum_slope(self._handle)

    @property
    def iterations(self) -> int:
        return lib.nh_optimum_iterations(self._handle)

    @property
    def motions(self) -> int:
        """How many runs with derivatives the search took."""
        return lib.nh_optimum_motions(self._handle)

    @property
    def method(self) -> str:
        return _text(lib.nh_optimum_method(self._handle))

    @property
    def steps(self) -> int:
        """Steps in each piece."""
        return lib.nh_optimum_steps(self._handle)

    @property
    def pieces(self) -> int:
        return lib.nh_optimum_pieces(self._handle)

    @property
    def t(self) -> np.ndarray:
        return np.array([lib.nh_optimum_point_time(self._handle, i) for i in range(self.pieces + 1)])

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        return {name: _numbers(lib.nh_optimum_inputs(self._handle, i), lib.nh_optimum_points(self._handle, i))
                for i, name in enumerate(self.controls)}

    @property
    def table(self) -> dict[str, str]:
        texts = (_text(lib.nh_optimum_setting(self._handle, i)) for i in range(len(self.controls)))
        return {name: table for name, _, table in (text.partition("=") for text in texts)}

    @property
    def values(self) -> dict[str, float]:
        return {name: lib.nh_optimum_value(self._handle, i) for i, name in enumerate(self.varied)}

    def _states(self) -> tuple[np.ndarray, np.ndarray]:
        q, v = np.empty((self.pieces + 1, len(self.system.coordinates))), np.empty((self.pieces + 1, len(self.system.velocities)))
        for i in range(self.pieces + 1):
            lib.nh_optimum_state(self._handle, i, None, _address(q[i]), _address(v[i]))
        return q, v

    @property
    def q(self) -> np.ndarray:
        return self._states()[0]

    @property
    def v(self) -> np.ndarray:
        return self._states()[1]

    @property
    def state(self) -> dict[str, float]:
        q, v = self._states()
        return dict(zip(list(self.system.coordinates) + list(self.system.velocities), np.concatenate([q[-1], v[-1]]).tolist()))

    def track(self, Q: Any = None, R: Any = None, F: Any = None) -> np.ndarray:
        """Gains of feedback along the optimum, ``gain[piece, control, state]``: at the beginning of piece k,
        ``u = u[k] - gain[k] @ (x - x[k])`` for x = (q, v) brings a disturbed motion back. ``Q``, ``R`` and ``F`` are weights of the squares of
        deviations of states, of inputs, and of states at the end: a number for each, or one for all (1, 1, and 100)."""
        states = lib.nh_system_directions(self.system._handle) + len(self.system.velocities)
        sizes = {"Q": (Q, states), "R": (R, len(self.controls)), "F": (F, states)}
        kept = {name: np.ascontiguousarray(np.broadcast_to(np.asarray(w, dtype=float), n)) for name, (w, n) in sizes.items() if w is not None}
        wanted = H.nh_tracking_options(size=C.sizeof(H.nh_tracking_options), **{name: _address(w) for name, w in kept.items()})
        call(lib.nh_optimum_track, self._handle, C.addressof(wanted))
        return np.array([_numbers(lib.nh_optimum_gain(self._handle, k), len(self.controls), states) for k in range(self.pieces)])

    def laws(self) -> dict[str, str]:
        """The feedback of :meth:`Optimum.track` as expressions for ``input=``, with the duration of a piece as ``input_period=``."""
        return {f"{name}:held": _text(lib.nh_optimum_law(self._handle, i)) for i, name in enumerate(self.controls)}

    def again(self, q: Any, v: Any = None, t: float = 0.0, *, shift: int = 0, iterations: int = 0) -> Optimum:
        """Solves it again from another state, beginning with the present inputs moved forward by ``shift`` pieces: a receding horizon.
        Changes this optimum and returns it; ``iterations`` is the most that a search may take."""
        start_q = vector(q, len(self.system.coordinates), "q")
        start_v = vector(np.zeros(len(self.system.velocities)) if v is None else v, len(self.system.velocities), "v")
        call(lib.nh_optimise_again, self._handle, t, _address(start_q), _address(start_v), shift, iterations)
        return self

    def __repr__(self) -> str:
        return f"<optimum of {self.system.name}: cost {self.cost:.8g}, time {self.time:.6g}, conditions off by {self.violation:.2g}>"

    def _repr_html_(self) -> str:
        return facts_table({"cost": f"{self.cost:.10g}", "time": f"{self.time:.8g}", "conditions": f"off by {self.violation:.2g}",
                            "search": f"{self.iterations} iterations, {self.motions} motions"})


def _controls(wanted: Any) -> tuple[Any, list[bytes], list[bytes]]:
    """As in _unknowns, with ":held" or ":linear" after names."""
    unknowns, names = _unknowns(wanted)
    bare = [name.partition(b":")[0] for name in names]
    array = (H.nh_control * max(1, len(names)))()
    for i, name in enumerate(names):
        kind = name.partition(b":")[2].decode()
        if kind not in KINDS:
            raise ValueError(f"control {name.decode()!r}: unknown interpolation {kind!r}; expected held or linear")
        array[i] = H.nh_control(name=bare[i], kind=KINDS[kind], lower=unknowns[i].lower, upper=unknowns[i].upper)
    return array, bare, names


def _conditions(wanted: str | Mapping[str, Any] | None) -> bytes | None:
    if isinstance(wanted, Mapping):
        wanted = ", ".join(f"{name} = {value!r}" if not isinstance(value, str) else f"{name} = {value}" for name, value in wanted.items())
    return wanted.encode() if wanted else None


@helpful
def optimise(
    model: Any,
    control: str | Sequence[str] | Mapping[str, Any] = (),
    end: str | Mapping[str, Any] | None = None,
    minimise: str | None = None,
    *,
    time: float | str | tuple[float, float] | None = None,
    pieces: int = 20,
    along: str | None = None,
    vary: str | Sequence[str] | Mapping[str, Any] = (),
    tries: int = 8, seed: int = 0, iterations: int = 500,
    method: str | None = None,
    step: float | None = None, tolerance: float | None = None,
    start: Start = None, set: Setting | None = None, input: Inputs | None = None, input_period: float | None = None,
    q: Any = None, v: Any = None, t0: float = 0.0, project: Projection = False,
    compose: str | None = None, compensated: bool | None = None,
    save: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Optimum:
    """The inputs for which the motion reaches a goal at the least cost. ``control`` names inputs, as a list, or as a dictionary with bounds
    ``{"push": (-1, 1), "steer:linear": None}``; they have a value in each of ``pieces`` of equal length. ``end`` are conditions at the end,
    ``"x = 1, x' = 0"`` or a dictionary, ``along`` inequalities at the ends of all pieces. ``minimise`` is an expression at the end,
    ``"integral EXPRESSION"`` or their sum; ``time`` in it is the duration. ``time`` is the duration, ``"free"``, or bounds of a free one.
    ``vary`` names parameters and start values to be chosen, too. The search begins at the present inputs and at random ones, ``tries``
    in all. ``save`` is a file for the best inputs so far, which is written about once a second: if the search is interrupted or killed,
    ``input={"u:held": FILE}`` continues from there. Other arguments are those of :func:`simulate`.

    >>> import nonholo
    >>> cart = nonholo.load('''model cart
    ... coordinate x
    ... input u = 0
    ... lagrangian x'^2/2
    ... force x = u
    ... ''')
    >>> best = nonholo.optimise(cart, "u", "x = 1, x' = 0", "integral u^2", time=2)
    >>> round(best.cost, 9)
    1.503759398
    >>> round(nonholo.simulate(cart, "gauss", step=0.02, time=2, input=best.table)["x"][-1], 9)
    1.0
    """
    system = as_system(model, set, input, input_period)
    if functions(system._given):
        raise ValueError("an input that is a Python function cannot be differentiated; give it as an expression or a table")
    controls, bare, _kept = _controls(control)
    varied, names = _unknowns(vary)
    begin, kept_start = start_options(system, start, q, v, t0, project)
    how = H.nh_run_options(size=C.sizeof(H.nh_run_options))
    text = method_text(method, options).encode() if method else None
    fill_options(how, text, step or 0.0, 0, compose, compensated, "auto")  # type: ignore[arg-type]
    how.tolerance = tolerance or 0.0
    wanted = H.nh_optimise_options(
        size=C.sizeof(H.nh_optimise_options), control=C.addressof(controls), controls=len(bare), pieces=pieces, vary=C.addressof(varied),
        varied=len(names), minimise=minimise.encode() if minimise else None, end=_conditions(end), along=_conditions(along),
        start=C.addressof(begin), run=C.addressof(how), tries=tries, seed=seed, iterations=iterations,
        progress=PROGRESS(guarded(lambda guess, iteration, cost, violation: None)), save=os.fsencode(save) if save is not None else None)
    if isinstance(time, str) or isinstance(time, tuple):
        if isinstance(time, str) and time != "free":
            raise ValueError(f"time={time!r}: expected a duration, 'free' or bounds (least, greatest)")
        wanted.free_time = True
        wanted.time_least, wanted.time_most = time if isinstance(time, tuple) else (0.0, 0.0)
    else:
        wanted.time = time or 0.0
    handle = create(lib.nh_optimise, system._handle, C.addressof(wanted))
    found = Optimum(handle, system, [name.decode() for name in bare], [name.decode() for name in names],
                    (controls, bare, varied, names, begin, kept_start, how, text, wanted))
    warn(found.remarks)
    return found


__all__ = ["Optimum", "optimise"]
