"""Chooses the method, the step and the number of steps if they are not given, as the command line does."""

from __future__ import annotations

import ctypes as C
from typing import Any, NamedTuple, Sequence

from . import _header as H
from ._library import call, lib
from .system import System, _address


class Plan(NamedTuple):
    method: str
    step: float
    steps: int


def plan(system: System, method: str | None, step: float | None, steps: int | None, time: float | None, t0: float,
         tolerance: float | None = None, absolute: float | None = None, q: Any = None, v: Any = None) -> Plan:
    """Without a step, a method that chooses its own steps is used; without a time, the duration is the model's span."""
    if steps is not None and time is not None:
        raise ValueError("give either steps or time")
    want = H.nh_run_options(size=C.sizeof(H.nh_run_options))
    want.method = method.encode() if method is not None else None
    want.step, want.time = step or 0.0, time or 0.0
    want.steps = steps if steps is not None else -1 if step is not None and time is None else 0
    want.tolerance, want.absolute = tolerance or 0.0, absolute or 0.0
    want.t0 = t0
    if q is not None:
        want.q, want.v = _address(q), _address(v)
    made = H.nh_plan()
    call(lib.nh_plan_make, C.byref(made), system._handle, C.byref(want))
    return Plan(made.method.decode(), made.step, made.steps + (made.rest > made.step / 2))


def describe(method: str, made: H.nh_plan) -> tuple[str, dict[str, Any]]:
    """How a run takes its steps: in words, "dop853, tolerance 1e-09" or "gauss, step 0.1"; and as attributes of a data set."""
    if made.tolerance > 0:
        # without what the words say anyway
        name, _, options = method.partition(":")
        rest = [o for o in options.split(",") if o and not o.startswith("tolerance=")]
        return f"{':'.join([name, ','.join(rest)] if rest else [name])}, tolerance {made.tolerance:g}", {"tolerance": made.tolerance}
    if made.pace > 0:
        return f"{method}, pace {made.pace:g}", {"pace": made.pace}
    return f"{method}, step {made.step:g}", {"step": made.step}


def _order(method: str) -> int:
    if lib.nh_composition_is_list(method.encode()):
        return lib.nh_composition_order(method.encode(), None, None)
    choice = H.nh_choice()
    call(lib.nh_choice_parse, C.byref(choice), method.encode())
    return lib.nh_choice_order(C.byref(choice))


def most_demanding(methods: Sequence[str]) -> str:
    """The method of the lowest order, above 1 if possible: a step that suits it also suits the others."""
    return min(methods, key=lambda method: (_order(method) <= 1, _order(method)))
